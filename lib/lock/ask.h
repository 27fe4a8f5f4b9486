/* Asking for a lock, for the first in a line. lock->mutex held; released while something is awaited. */
#ifndef LSH_LOCK_ASK_H
#define LSH_LOCK_ASK_H

#include "lock/state.h"

enum lsh_asked {
	LSH_LOOK_AGAIN, /* something may have changed */
	LSH_ASK_FAILED, /* with waiter->trouble */
};

/* See that the line has a tenure. False: no memory. */
bool lsh_ask_prepare(struct lsh_lock *lock, struct lsh_waiter *waiter);

/* Ask and hear the answer, unless there is something to wait for first. */
enum lsh_asked lsh_ask(struct lsh_lock *lock, struct lsh_waiter *waiter);

/* See what becomes of the ask that is on its way for this waiter. */
enum lsh_asked lsh_ask_hear(struct lsh_lock *lock, struct lsh_waiter *waiter);

/* Why the waiter has not been served: in the server's words; or what is the matter with the connection. */
void lsh_waiter_blame(struct lsh_waiter *waiter, leash_status status, int sys_errno, const char *text);
void lsh_waiter_blame_node(struct lsh_lock *lock, struct lsh_waiter *waiter);

#endif
