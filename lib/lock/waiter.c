/* Waiters: threads of this process that want a lock, in order of arrival. Each lies on its thread's stack for the time of its call. */
#include "lock/state.h"

void
lsh_waiter_wake(struct lsh_waiter *waiter)
{
	struct lsh_thread *thread = waiter->thread;

	/* from here on the waiter may be gone */
	atomic_store(&waiter->signaled, true);
	if (thread != lsh_self_if_known())
		lsh_unpark(&thread->parker);
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
lsh_waiter_first(struct lsh_lock *lock)
{
	struct lsh_list *first = lsh_list_first(&lock->waiters);

	return first != NULL ? lsh_container(first, struct lsh_waiter, link) : NULL;
}

void
lsh_lock_wake_first(struct lsh_lock *lock)
{
	struct lsh_waiter *first = lsh_waiter_first(lock);

	if (first != NULL)
		lsh_waiter_wake(first);
}
