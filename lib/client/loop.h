/* The loop of a client: operations that nobody waits for. Each is an op whose front puts it among the news; whoever
 * dispatches looks at the news, ticks what is due, and tells what is done. One descriptor, a timerfd, is readable while
 * there is something of that.
 *
 *   begun --> UNDER WAY --stirred: is to be looked at--> among the NEWS --looked at--> UNDER WAY, with a tick
 *             either --done--> among the NEWS, DONE --told--> gone
 *
 * Replies are read by the threads of the connections. When the client is closed all is over, and is told. */
#ifndef LSH_CLIENT_LOOP_H
#define LSH_CLIENT_LOOP_H

#include "client/handle.h"
#include "watchdog/heap.h"

#include <leash/loop_kinds.h>

struct leash_op {
	struct lsh_op op;           /* first */
	struct lsh_loop *loop;
	leash_client *client;       /* referenced */
	atomic_uint references;     /* whoever begins it, and whoever tells */
	struct lsh_list link;       /* among the news */
	struct lsh_timer tick;
	bool is_done, was_looked_at;
	void (*end)(struct leash_op *op); /* before it is told; or NULL */
	leash_permit *permit;       /* for that */
	leash_permit **out;
	union {                     /* of one that stands for something else, see */
		struct lsh_query *query;             /* start_step.c, */
		struct lsh_set_op *set;              /* start_multi.c, */
		struct lsh_watch_op *watch;          /* start_watch.c, */
		struct lsh_condition_op *condition;  /* and start_condition.c; */
	};
	void (*leave)(struct leash_op *op); /* of that: note that it is canceled, with the loop's mutex, */
	void (*look)(struct leash_op *op);  /* and it was stirred, or its tick has come; else NULL */
	leash_done_fn done;
	void *arg;
};

/* For an op of this handle, with lsh_handle_op(). NO_MEMORY */
leash_status lsh_loop_make(leash_op **out, const leash_lock *lock, leash_done_fn done, void *arg, leash_error *err);
/* `out` may be NULL. CLOSED: it is no more, and `*out` is NULL. */
leash_status lsh_loop_begin(leash_op *op, const struct lsh_op_verb *verb, leash_op **out, leash_error *err);
/* It does not begin, but is looked at; or is over. The same. */
leash_status lsh_loop_stir(leash_op *op, leash_op **out, leash_error *err);
leash_status lsh_loop_over(leash_op *op, leash_op **out, leash_error *err);

/* It is looked at then, too. */
void lsh_loop_tick_at(leash_op *op, int64_t at);

/* Of one that stands for something else: look at it; it is over. */
void lsh_loop_stirred(void *op);
void lsh_loop_end(leash_op *op, leash_status status, const leash_error *why);

/* The end of one that may have made holds for an owner that was occupied. */
void lsh_loop_vacate(leash_op *op);

/* May a call begin something of this handle? Else INVALID (no handle, or none with an owner), FORKED or CLOSED. */
leash_status lsh_loop_check(const leash_lock *lock, const char *call, leash_error *err);
/* May it acquire so? Else INVALID (`cancel`, or as lsh_handle_read_acquire()) */
leash_status lsh_loop_read_acquire(const leash_lock *lock, leash_acquire *a, const leash_acquire *how,
                                   const char *call, leash_error *err);
leash_status lsh_loop_check_acquire(const leash_lock *lock, const leash_acquire *how, const char *call,
                                    leash_error *err);

#endif
