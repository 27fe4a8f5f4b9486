/* Waiting for one's turn: acquiring the lock, until a signal ends it. */
#ifndef LEASH_TOOLS_TURN_H
#define LEASH_TOOLS_TURN_H

#include "tools/job.h"

#include <leash.h>

#include <stdint.h>

struct turn {
	leash_lock *lock;
	int64_t wait_ms;  /* as leash_lock_acquire() */
	int64_t lease_ms; /* which the lock was made with */
	int64_t needs_ms; /* no CMD is started under a lease of which no more than this is left */
	int signal;       /* the one that ended it: HUP INT QUIT or TERM; 0: none came */
};

/* Acquire, with a whole lease. Signals of vigil_signals() are blocked before and after. What came up to its end is taken: one that ends
 * leash is in `signal`, and then the result is LEASH_CANCELED and nothing is held; the others were for a CMD that is not there yet. */
leash_status turn_take(struct turn *turn, const struct job *job, leash_error *err);

/* The same for signals alone: those that came since. Returns the one that ends leash, or 0. */
int turn_pending_signal(const struct job *job);

#endif
