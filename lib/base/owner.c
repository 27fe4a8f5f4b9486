#include "base/owner.h"

#include "base/memory.h"

#include <stddef.h>

uint64_t
lsh_owner_id(void)
{
	static _Atomic uint64_t last;

	return atomic_fetch_add(&last, 1) + 1;
}

void
lsh_owner_retain(struct leash_owner *owner)
{
	if (atomic_load_explicit(&owner->references, memory_order_relaxed) > 0)
		atomic_fetch_add_explicit(&owner->references, 1, memory_order_relaxed);
}

void
lsh_owner_unref(struct leash_owner *owner)
{
	if (owner != NULL && atomic_load_explicit(&owner->references, memory_order_relaxed) > 0 &&
	    atomic_fetch_sub(&owner->references, 1) == 1)
		lsh_free(owner);
}
