#include "base/memory.h"

#include <leash/memory.h>

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static leash_memory hooks = {malloc, realloc, free};
static atomic_bool in_use; /* the hooks stay from the first allocation on: no allocator can free another's memory */

void *
lsh_alloc(size_t size)
{
	void *p;

	if (!atomic_load_explicit(&in_use, memory_order_relaxed))
		atomic_store(&in_use, true);
	p = hooks.alloc(size);
	if (p != NULL)
		memset(p, 0, size);
	else
		errno = ENOMEM; /* which an application's allocator need not say */
	return p;
}

void *
lsh_realloc(void *old, size_t size)
{
	void *p;

	if (!atomic_load_explicit(&in_use, memory_order_relaxed))
		atomic_store(&in_use, true);
	p = hooks.realloc(old, size);
	if (p == NULL)
		errno = ENOMEM;
	return p;
}

void
lsh_free(void *old)
{
	int e = errno; /* only glibc >= 2.33 promises that free() keeps it */

	if (old != NULL)
		hooks.free(old);
	errno = e;
}

leash_status
leash_set_memory(const leash_memory *memory)
{
	static const leash_memory standard = {malloc, realloc, free};

	if (memory == NULL)
		memory = &standard;
	if (memory->alloc == NULL || memory->realloc == NULL || memory->free == NULL || atomic_load(&in_use))
		return LEASH_INVALID;
	hooks = *memory;
	return LEASH_OK;
}
