/* Waiting: an op on behalf of a thread, which reads where the op's news come from until it is done. Any number may be
 * begun before the first is waited for: what they ask goes out in as few writes as there are connections. */
#ifndef LSH_CLIENT_WAIT_H
#define LSH_CLIENT_WAIT_H

#include "client/handle.h"

struct lsh_wait {
	struct lsh_op op;
	struct lsh_thread *thread; /* NULL: no memory for it */
	bool waits;                /* it was not done at once */
	atomic_bool done;
	struct lsh_outlook outlook;
};

leash_status lsh_wait_no_memory(const leash_lock *lock, leash_error *err);
/* For one op. LEASH_NO_MEMORY: no thread can wait for it; begun all the same it is done in the background. */
leash_status lsh_wait_make(struct lsh_wait *w, leash_lock *lock, leash_error *err);

void lsh_wait_until_done(struct lsh_wait *w);

/* The thread of `parker` reads, or sleeps, as the outlook says: until `over(arg)`, or its tick. */
void lsh_wait_attend(struct lsh_outlook *outlook, struct lsh_parker *parker, bool (*over)(void *arg), void *arg);
void lsh_wait_wake(struct lsh_thread *thread); /* unless it is this one */

/* What was begun must be ended, by the same thread. */
static inline void
lsh_wait_begin(struct lsh_wait *w, const struct lsh_op_verb *verb)
{
	w->waits = !lsh_op_begin(&w->op, verb, &w->outlook);
}

static inline leash_status
lsh_wait_end(struct lsh_wait *w, leash_error *err)
{
	if (w->waits)
		lsh_wait_until_done(w);
	if (w->op.status != LEASH_OK && err != NULL)
		*err = w->op.why;
	return w->op.status;
}

static inline leash_status
lsh_wait_run(struct lsh_wait *w, const struct lsh_op_verb *verb, leash_error *err)
{
	lsh_wait_begin(w, verb);
	return lsh_wait_end(w, err);
}

/* Release what `lock` acquired, in the background: nobody waits for the answer. */
void lsh_wait_let_go(leash_lock *lock);

#endif
