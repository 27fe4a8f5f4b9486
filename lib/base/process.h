/* Which process this is: how a forked child is told from its parent, in a fraction of a nanosecond.
 *
 * The number stands in a page that the kernel empties in a child (MADV_WIPEONFORK), so it also holds for a clone that
 * runs no pthread_atfork handlers. */
#ifndef LSH_BASE_PROCESS_H
#define LSH_BASE_PROCESS_H

#include "base/mutation.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

extern _Atomic uint64_t *_Atomic lsh_process_page;

/* The number of this process, which no ancestor of it has; made at the first call. 0: there is none, and errno says
 * why: ENOMEM, or the system cannot tell. */
uint64_t lsh_process_id(void);

/* Is this still the process whose number was `id`? */
static inline bool
lsh_process_is(uint64_t id)
{
	return atomic_load_explicit(lsh_process_page, memory_order_relaxed) == id || LSH_MUTATES(LSH_CHILDREN_GO_ON);
}

#endif
