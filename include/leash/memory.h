/* The functions with which leash allocates memory. */
#ifndef LEASH_MEMORY_H
#define LEASH_MEMORY_H

#include <leash/api.h>
#include <leash/status.h>

LEASH_BEGIN_DECLS

/** The three functions, with the meaning of their namesakes in C. All must be set. Any thread may call them. */
typedef struct leash_memory {
	void *(*alloc)(size_t size);
	void *(*realloc)(void *old, size_t size);
	void (*free)(void *old);
} leash_memory;

/**
 * Let leash allocate through `memory` instead of malloc(). The libraries below leash (hiredis, libsodium, OpenSSL,
 * libc) still allocate as before.
 *
 * @param memory  copied; NULL goes back to malloc().
 *
 * @retval LEASH_OK       done
 * @retval LEASH_INVALID  a function is NULL, or leash has allocated memory already: make this call before all others
 *
 * Threads: one, before any other call of leash. Since 0.1.
 */
LEASH_API leash_status leash_set_memory(const leash_memory *memory);

LEASH_END_DECLS

#endif
