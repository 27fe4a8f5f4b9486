#include "client/wait.h"

#include "admin/inspect.h"
#include "base/error.h"
#include "base/thread.h"

#include <errno.h>
#include <string.h>

static struct lsh_wait *
wait_of(struct lsh_op *op)
{
	return lsh_container(op, struct lsh_wait, op);
}

static void
wake(struct lsh_thread *thread)
{
	if (thread != lsh_self_if_known())
		lsh_unpark(&thread->parker);
}

static void
done(struct lsh_op *op)
{
	struct lsh_wait *w = wait_of(op);
	struct lsh_thread *thread = w->thread;

	atomic_store(&w->done, true); /* from here on the op may be gone */
	wake(thread);
}

static void
stirred(struct lsh_op *op)
{
	wake(wait_of(op)->thread);
}

static const struct lsh_front front = {.done = done, .stirred = stirred};

static bool
is_over(void *arg)
{
	const struct lsh_wait *w = arg;

	return atomic_load(&w->done) || atomic_load(&w->op.stirred) || lsh_cancel_is_fired(w->op.cancel);
}

/* Until the op is done. */
static void
wait_for(struct lsh_wait *w, struct lsh_outlook *outlook)
{
	struct lsh_engine *e = lsh_lock_engine(w->op.lock);

	lsh_engine_enter(e);
	lsh_backend_flush(lsh_engine_backend(e));
	do {
		if (outlook->source.host != NULL)
			lsh_source_read(&outlook->source, &w->thread->parker, is_over, w, outlook->tick_at);
		else
			while (!is_over(w) && lsh_now_ns() < outlook->tick_at)
				lsh_park(&w->thread->parker, outlook->tick_at);
		if (!atomic_load(&w->done) && (lsh_cancel_is_fired(w->op.cancel) || lsh_now_ns() >= outlook->tick_at))
			lsh_op_tick(&w->op);
	} while (!atomic_load(&w->done) && lsh_op_look(&w->op, outlook));
	while (!atomic_load(&w->done))
		lsh_park(&w->thread->parker, LSH_NEVER); /* it is about to be told */
	lsh_engine_leave(e);
}

static int64_t
timeout_of(struct lsh_lock *lock)
{
	return lsh_engine_backend(lsh_lock_engine(lock))->options.timeout;
}

static void
make(struct lsh_wait *w, struct lsh_lock *lock, struct leash_owner *owner, struct lsh_thread *self)
{
	/* but for the texts, of which only the first byte matters */
	memset(&w->op, 0, offsetof(struct lsh_op, why));
	w->op.why.status = LEASH_OK;
	w->op.why.sys_errno = 0;
	w->op.why.text[0] = '\0';
	w->op.lock = lock;
	w->op.owner = owner;
	w->op.front = &front;
	w->op.began = lsh_now_ns(); /* before the monitor, for which many may be waiting */
	/* An answer is awaited for one timeout and, if that breaks the connection, for another one on a new connection. */
	w->op.deadline = lsh_after(w->op.began, 2 * timeout_of(lock));
	w->thread = self;
	w->seat = NULL;
	if (self != NULL)
		w->op.reader = &self->parker;
	lsh_list_init(&w->op.link);
	atomic_init(&w->done, false);
}

/* What waits takes a thread that can be woken, and what acknowledges a thread and descriptors: made before the server
 * is asked. `terms` may be NULL. */
static leash_status
make_to_wait(struct lsh_wait *w, struct lsh_lock *lock, struct leash_owner *owner, struct lsh_terms *terms,
             leash_error *err)
{
	struct lsh_backend *b = lsh_engine_backend(lsh_lock_engine(lock));
	struct lsh_thread *self = lsh_self();
	char text[LSH_ERRNO_TEXT];
	int e;

	if (self == NULL)
		return lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "lock '%s': out of memory", lsh_lock_shown(lock));
	make(w, lock, owner, self);
	w->op.terms = terms;
	if (terms == NULL || lsh_backend_prepare(lsh_lock_resource(lock), &terms->safety) || atomic_load(&b->closing))
		return LEASH_OK;
	e = errno;
	return lsh_fail(err, LEASH_NO_MEMORY, e, "lock '%s': a connection for its replicas: %s", lsh_lock_shown(lock),
	                lsh_shortage_text(e, text));
}

static leash_status
finish(struct lsh_wait *w, const struct lsh_op_verb *verb, leash_error *err)
{
	struct lsh_outlook outlook;

	if (!lsh_op_begin(&w->op, verb, &outlook))
		wait_for(w, &outlook);
	lsh_cancel_rise(w->seat);
	if (w->op.status != LEASH_OK && err != NULL)
		*err = w->op.why;
	return w->op.status;
}

leash_status
lsh_acquire(struct lsh_lock *lock, struct leash_owner *owner, struct lsh_terms *terms, int64_t wait_ms,
            int64_t lease_ms, struct leash_cancel *cancel, leash_error *err)
{
	struct lsh_wait w;
	leash_status status = make_to_wait(&w, lock, owner, terms, err);

	if (status != LEASH_OK)
		return status;
	if (cancel != NULL && (w.seat = lsh_cancel_sit(cancel, &w.thread->parker)) == NULL)
		return lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "lock '%s': out of memory", lsh_lock_shown(lock));
	w.op.cancel = cancel;
	w.op.wait_ms = wait_ms;
	w.op.lease_ms = lease_ms;
	if (wait_ms == 0)
		w.op.deadline = lsh_after(w.op.began, timeout_of(lock));
	else
		w.op.deadline = wait_ms == LEASH_FOREVER ? LSH_NEVER : lsh_after_ms(w.op.began, wait_ms);
	return finish(&w, &lsh_acquiring, err);
}

leash_status
lsh_release(struct lsh_lock *lock, struct leash_owner *owner, leash_error *err)
{
	struct lsh_wait w;

	make(&w, lock, owner, owner != NULL ? lsh_self() : NULL);
	return finish(&w, &lsh_releasing, err);
}

leash_status
lsh_extend(struct lsh_lock *lock, struct leash_owner *owner, int64_t lease_ms, leash_error *err)
{
	struct lsh_wait w;
	leash_status status = make_to_wait(&w, lock, owner, NULL, err);

	if (status != LEASH_OK)
		return status;
	w.op.lease_ms = lease_ms;
	return finish(&w, &lsh_extending, err);
}

leash_status
lsh_adopt(struct lsh_lock *lock, struct leash_owner *owner, struct lsh_terms *terms, const char *token,
          leash_error *err)
{
	const struct lsh_backend *b = lsh_engine_backend(lsh_lock_engine(lock));
	leash_status status;
	struct lsh_wait w;

	if (memcmp(token, b->uuid, LSH_UUID_SIZE) == 0)
		return lsh_fail(err, LEASH_INVALID, 0,
		                "lock '%s': that token is one of this client's own: share the handle's owner instead",
		                lsh_lock_shown(lock));
	status = make_to_wait(&w, lock, owner, terms, err);
	if (status != LEASH_OK)
		return status;
	w.op.token = token;
	return finish(&w, &lsh_adopting, err);
}

/* First it is found out who has it. */
leash_status
lsh_break(struct lsh_lock *lock, leash_error *err)
{
	leash_lock_info info = {.size = sizeof info};
	leash_status status = lsh_inspect(lock, false, &info, err);
	struct lsh_wait w;

	if (status == LEASH_OK && !info.held)
		return lsh_fail(err, LEASH_NOT_HELD, 0, "lock '%s': nobody has it", lsh_lock_shown(lock));
	if (status == LEASH_OK)
		status = make_to_wait(&w, lock, NULL, NULL, err);
	if (status != LEASH_OK)
		return status;
	w.op.token = info.holder.token;
	return finish(&w, &lsh_breaking, err);
}
