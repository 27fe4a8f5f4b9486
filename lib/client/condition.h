/* A wait for a condition, as a machine that goes on when one of its ops has news, or its tick has come: for a thread
 * that waits (condition.c), or a loop (start_condition.c). Its steps are drawn in condition_wait.c. Only this folder
 * includes it. Threads: one drives it; its ops are told on any. */
#ifndef LSH_CLIENT_CONDITION_H
#define LSH_CLIENT_CONDITION_H

#include "base/monitor.h"
#include "client/handle.h"

struct leash_condition {
	leash_lock *lock;   /* that it is of: the caller's */
	leash_lock *handle; /* of its queue */
	int64_t recheck_ms, reacquire_ms;
};

struct lsh_condition_wait {
	leash_lock *lock;              /* the caller's */
	leash_owner *owner;            /* NULL: a thread that has nothing */
	leash_acquire how;
	int64_t reacquire_ms;
	struct lsh_parker *reader;     /* of the thread that reads for it; NULL: the connection's own does */
	void (*stirred)(void *waiter); /* there are news; a lock may be entered. NULL: no memory to wait, and the */
	void *waiter;                  /* lock is given up in the background */

	/* the machine's */
	enum {
		LSH_BEGINS, LSH_LINES_UP, LSH_GIVES_UP, LSH_STANDS, LSH_LEAVES, LSH_TAKES_BACK, LSH_IS_OVER,
	} step;
	struct lsh_monitor monitor;    /* entered while something is told */
	leash_permit *place;           /* in the condition's queue; NULL: no memory */
	struct lsh_condition_part {    /* an op of it */
		struct lsh_op op;
		struct lsh_condition_wait *wait;
		bool is_open;              /* it was not done when it was looked at last */
		atomic_bool is_told;       /* that it is done */
	} standing, turn;              /* by the place; and what releases or acquires the lock, one level at a time */
	struct lsh_condition_part *at; /* the one that was looked at last */
	uint64_t number;               /* of the place, as the lock was given up; 0: none is known */
	int64_t deadline;              /* of the wait; */
	int64_t look_at;               /* it ends before that to look again, or with it */
	int64_t until, left_at;        /* it lines up until then; it left then */
	unsigned depth, left;          /* so deep it had the lock; so many levels are still to be given up, or taken back */
	bool in_line, is_given_up;
	leash_status status;           /* in the end, */
	leash_error why;               /* and why */
};

/* Of a checked call, with the owner occupied; `reader` and who is stirred are the caller's to set. */
void lsh_condition_wait_make(struct lsh_condition_wait *wait, const leash_condition *condition,
                             const leash_acquire *how);
/* False: it is over, as `status` says. Else the outlook until there are news, or its tick: a source in there is to be
 * read by the reader, or else left. */
bool lsh_condition_wait_goes_on(struct lsh_condition_wait *wait, struct lsh_outlook *outlook);
bool lsh_condition_wait_has_news(void *wait);
void lsh_condition_wait_end(struct lsh_condition_wait *wait); /* it is over, or did not begin */

#endif
