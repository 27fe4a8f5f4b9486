/* Waiters: threads of this process that want a lock, in lines. Each lies on its thread's stack for the time of its call. */
#include "lock/ask.h"

void
lsh_waiter_wake(struct lsh_waiter *waiter)
{
	struct lsh_thread *thread = waiter->thread;

	/* from here on the waiter may be gone */
	atomic_store(&waiter->signaled, true);
	if (thread != lsh_self_if_known())
		lsh_unpark(&thread->parker);
}

bool
lsh_waiter_is_over(const struct lsh_waiter *waiter)
{
	return lsh_cancel_is_fired(waiter->cancel) || atomic_load(&waiter->lock->engine->closing);
}

bool
lsh_waiter_is_signaled(const struct lsh_waiter *waiter)
{
	return atomic_load(&waiter->signaled) || lsh_waiter_is_over(waiter);
}

void
lsh_waiter_sleep(struct lsh_waiter *waiter, int64_t at)
{
	pthread_mutex_t *mutex = &waiter->lock->mutex;

	if (at > waiter->deadline)
		at = waiter->deadline;
	pthread_mutex_unlock(mutex);
	while (!lsh_waiter_is_signaled(waiter) && lsh_now_ns() < at)
		lsh_park(&waiter->thread->parker, at);
	pthread_mutex_lock(mutex);
}

void
lsh_engine_go_in(struct lsh_engine *e)
{
	atomic_fetch_add(&e->inside, 1);
}

void
lsh_engine_go_out(struct lsh_engine *e)
{
	struct lsh_parker *closer;

	if (atomic_fetch_sub(&e->inside, 1) == 1 && (closer = atomic_load(&e->closer)) != NULL)
		lsh_unpark(closer);
}

struct lsh_waiter *
lsh_line_first(const struct lsh_line *line)
{
	struct lsh_list *first = lsh_list_first(&line->waiters);

	return first != NULL ? lsh_container(first, struct lsh_waiter, link) : NULL;
}

void
lsh_line_wake(struct lsh_line *line)
{
	struct lsh_waiter *first = lsh_line_first(line);

	if (first != NULL)
		lsh_waiter_wake(first);
}

void
lsh_lines_deny(struct lsh_lock *lock, const leash_error *why)
{
	struct lsh_list *line, *next_line, *at, *next;

	lsh_list_each(line, next_line, &lock->lines)
		lsh_list_each(at, next, &lsh_container(line, struct lsh_line, link)->waiters) {
			struct lsh_waiter *w = lsh_container(at, struct lsh_waiter, link);

			lsh_waiter_blame(w, why->status, why->sys_errno, why->text);
			w->denied = true;
			lsh_waiter_wake(w);
		}
}

void
lsh_lock_wake(struct lsh_lock *lock)
{
	if (!lock->fair)
		lsh_line_wake(&lock->plain);
}
