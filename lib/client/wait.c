#include "client/wait.h"

#include "base/error.h"

#include <errno.h>
#include <string.h>

/* ---- the op's front ---- */

void
lsh_wait_wake(struct lsh_thread *thread)
{
	if (thread != lsh_self_if_known())
		lsh_unpark(&thread->parker);
}

static void
done(struct lsh_op *op)
{
	struct lsh_wait *w = lsh_container(op, struct lsh_wait, op);
	struct lsh_thread *thread = w->thread;

	atomic_store(&w->done, true); /* from here on the op may be gone */
	lsh_wait_wake(thread);
}

static void
stirred(struct lsh_op *op)
{
	lsh_wait_wake(lsh_container(op, struct lsh_wait, op)->thread);
}

/* ---- before it ---- */

leash_status
lsh_wait_no_memory(const leash_lock *lock, leash_error *err)
{
	return lsh_handle_named(lock, lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "out of memory"), err);
}

leash_status
lsh_wait_make(struct lsh_wait *w, leash_lock *lock, leash_error *err)
{
	static const struct lsh_front front = {.done = done, .stirred = stirred};
	struct lsh_thread *self = lsh_self();

	lsh_handle_op(&w->op, lock);
	if (self != NULL) {
		if (lock->owner == NULL)
			w->op.owner = &self->owner;
		w->op.front = &front;
		w->op.reader = &self->parker;
	}
	w->thread = self;
	atomic_init(&w->done, false);
	return self != NULL ? LEASH_OK : lsh_wait_no_memory(lock, err);
}

/* ---- until it is done ---- */

static bool
is_over(void *arg)
{
	const struct lsh_wait *w = arg;

	return atomic_load(&w->done) || atomic_load(&w->op.stirred) || lsh_op_is_canceled(&w->op);
}

void
lsh_wait_attend(struct lsh_outlook *outlook, struct lsh_parker *parker, bool (*over)(void *arg), void *arg)
{
	if (outlook->source.host != NULL)
		lsh_source_read(&outlook->source, parker, over, arg, outlook->tick_at);
	else
		while (!over(arg) && lsh_now_ns() < outlook->tick_at)
			lsh_park(parker, outlook->tick_at);
	outlook->source.host = NULL;
}

void
lsh_wait_until_done(struct lsh_wait *w)
{
	struct lsh_backend *b = lsh_lock_resource(w->op.lock)->backend;

	lsh_backend_enter(b);
	if (!b->strategy->has_queue) /* else who waits for its one server reads there, and flushes before */
		lsh_backend_flush(b);
	do {
		lsh_wait_attend(&w->outlook, &w->thread->parker, is_over, w);
		if (!atomic_load(&w->done) && (lsh_op_is_canceled(&w->op) || lsh_now_ns() >= w->outlook.tick_at))
			lsh_op_tick(&w->op);
	} while (!atomic_load(&w->done) && lsh_op_look(&w->op, &w->outlook));
	while (!atomic_load(&w->done))
		lsh_park(&w->thread->parker, LSH_NEVER); /* it is about to be told */
	lsh_backend_leave(b);
}

void
lsh_wait_let_go(leash_lock *lock)
{
	struct lsh_wait w;

	lsh_wait_make(&w, lock, NULL);
	w.op.front = NULL;
	w.op.reader = NULL;
	w.op.waits = true;
	lsh_wait_begin(&w, &lsh_releasing);
}
