/* Waiting for the lock, until it is acquired or a signal comes. */
#ifndef LEASH_TOOLS_LOCK_WAIT_H
#define LEASH_TOOLS_LOCK_WAIT_H

#include "tools/job.h"

#include <leash.h>

#include <stdint.h>

struct hold_set;
struct holding;

struct lock_wait {
	struct hold_set *set;
	int64_t wait_ms;  /* as leash_lock_acquire() */
	int64_t lease_ms; /* which the lock was made with */
	int64_t needs_ms; /* no CMD is started if no more than this is left of the lease */
	const struct holding *about; /* what is in the way, if it fails; NULL: unknown */
	int signal;       /* the one that ended the wait: HUP INT QUIT or TERM; 0: none */
};

/* Acquire, with a full lease. The signals of supervisor_signals() are blocked before and after; those that came
 * meanwhile are taken. If one of them ends leash it is in `signal`, the result is LEASH_CANCELED, and nothing is held;
 * the others were for CMD, which does not run yet. */
leash_status lock_wait_take(struct lock_wait *wait, const struct job *job, leash_error *err);

/* Take the signals that came since. Returns the first that ends leash, or 0. */
int lock_wait_signal(const struct job *job);

#endif
