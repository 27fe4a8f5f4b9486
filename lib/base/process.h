/* Which process this is: how a forked child is told from its parent, in a fraction of a nanosecond.
 *
 * The number stands in a page that the kernel empties in a child (MADV_WIPEONFORK), so it also holds for a clone that
 * runs no pthread_atfork handlers. */
#ifndef LSH_BASE_PROCESS_H
#define LSH_BASE_PROCESS_H

#include "base/mutation.h"

#include <pthread.h>
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

/* Defines guard_fork(): from its call on `mutex` is held around each fork, so that the child finds whole what it
 * guards. There `in_child` is done before it is free. Returns 0 or an errno. */
#define LSH_GUARD_FORK(mutex, in_child)                                                                   \
	static void before_fork_(void) { pthread_mutex_lock(mutex); }                                         \
	static void in_parent_(void) { pthread_mutex_unlock(mutex); }                                         \
	static void in_child_(void) { in_child; pthread_mutex_unlock(mutex); }                                \
	static int guard_fork(void) { return pthread_atfork(before_fork_, in_parent_, in_child_); }

#endif
