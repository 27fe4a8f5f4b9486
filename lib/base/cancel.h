/* A cancel, as far as those have to know it who look whether it was fired. The rest is in client/cancel.c. */
#ifndef LSH_BASE_CANCEL_H
#define LSH_BASE_CANCEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lsh_seat;

struct leash_cancel {
	atomic_bool fired;
	uint64_t process; /* the one that made it: a forked child wakes nobody */
	_Atomic(struct lsh_seat *) seats;
};

static inline bool
lsh_cancel_is_fired(const struct leash_cancel *cancel)
{
	return cancel != NULL && atomic_load(&cancel->fired);
}

#endif
