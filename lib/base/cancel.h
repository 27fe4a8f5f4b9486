/* Cancels: a flag that stays up, and the threads that are to look at it.
 *
 * A thread that may sleep takes a seat, then looks at the flag; who fires puts the flag up, then wakes every seat: one
 * of the two sees the other. Seats are only added, and without a mutex: firing is allowed in a signal handler. */
#ifndef LSH_BASE_CANCEL_H
#define LSH_BASE_CANCEL_H

#include "base/park.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lsh_seat {
	struct lsh_seat *next;              /* older */
	_Atomic(struct lsh_parker *) parker; /* NULL: it is free */
};

struct leash_cancel {
	atomic_bool fired;
	uint64_t process; /* the one that made it: a forked child wakes nobody */
	_Atomic(struct lsh_seat *) seats;
};

struct leash_cancel *lsh_cancel_new(void); /* NULL: no memory */
void lsh_cancel_free(struct leash_cancel *cancel); /* nobody sits; NULL is allowed */

/* A seat for the thread of `parker`, to be left before the call ends. NULL: no memory. */
struct lsh_seat *lsh_cancel_sit(struct leash_cancel *cancel, struct lsh_parker *parker);
void lsh_cancel_rise(struct lsh_seat *seat); /* NULL is allowed */

/* Async-signal-safe. */
void lsh_cancel_fire(struct leash_cancel *cancel);

static inline bool
lsh_cancel_is_fired(const struct leash_cancel *cancel)
{
	return cancel != NULL && atomic_load(&cancel->fired);
}

#endif
