/* Cancels: a flag that stays up, and who is to look at it: threads that wait, by their seats, and whoever polls its
 * descriptor.
 *
 * A thread that may sleep takes a seat, then looks at the flag; who fires puts the flag up, then wakes every seat: one
 * of the two sees the other. Seats are only added, and without a mutex: firing is allowed in a signal handler. */
#ifndef LSH_CORE_CANCEL_H
#define LSH_CORE_CANCEL_H

#include <leash/cancel.h>

#include <stdatomic.h>
#include <stdint.h>

struct lsh_parker;
struct lsh_seat;

struct leash_cancel {
	atomic_bool fired;
	atomic_int fd;               /* an eventfd; -1: nobody has asked for it */
	atomic_uint references;      /* lsh_share(): its owner's, and one for each terms that have it */
	uint64_t process;            /* the one that made it: a forked child wakes nobody */
	_Atomic(struct lsh_seat *) seats;
};

leash_cancel *lsh_cancel_new(void); /* NULL: no memory */
void lsh_cancel_unref(leash_cancel *cancel); /* NULL is allowed */
void lsh_cancel_fire(leash_cancel *cancel);

/* A seat for the thread of `parker`, to be left before the call ends. NULL: no memory. */
struct lsh_seat *lsh_cancel_sit(leash_cancel *cancel, struct lsh_parker *parker);
void lsh_cancel_rise(struct lsh_seat *seat); /* NULL is allowed */

/* Its descriptor, made if there is none. -1: errno says what there is no more of. */
int lsh_cancel_fd(leash_cancel *cancel);
/* The flag goes down. */
void lsh_cancel_reset(leash_cancel *cancel);

#endif
