/* Memory, through the functions that leash_set_memory() was given. */
#ifndef LSH_BASE_MEMORY_H
#define LSH_BASE_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

void *lsh_alloc(size_t size);  /* zeroed; NULL if there is none */
void *lsh_realloc(void *old, size_t size);
void lsh_free(void *old);

#define lsh_new(type) ((type *)lsh_alloc(sizeof(type)))

/* References to what may be shared; of what stays there are 0, and they are not counted. */
static inline void
lsh_share(atomic_uint *references)
{
	if (atomic_load_explicit(references, memory_order_relaxed) > 0)
		atomic_fetch_add_explicit(references, 1, memory_order_relaxed);
}

/* One less. True: it was the last one. */
static inline bool
lsh_unshare(atomic_uint *references)
{
	return atomic_load_explicit(references, memory_order_relaxed) > 0 && atomic_fetch_sub(references, 1) == 1;
}

#endif
