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

#include <leash/loop.h>

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
	leash_done_fn done;
	void *arg;
};

/* For an op of this handle, with lsh_handle_op(). NO_MEMORY */
leash_status lsh_loop_make(leash_op **out, const leash_lock *lock, leash_done_fn done, void *arg, leash_error *err);
/* `out` may be NULL. CLOSED: it is no more, and `*out` is NULL. */
leash_status lsh_loop_begin(leash_op *op, const struct lsh_op_verb *verb, leash_op **out, leash_error *err);

#endif
