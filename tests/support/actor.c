#include "tests/support/actor.h"

#include "tests/support/asleep.h"
#include "tests/support/await.h"
#include "tests/support/trouble.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *
play(void *arg)
{
	struct actor *a = arg;

	a->tid = gettid();
	for (uint32_t n = 1;; n++) {
		actor_act *act;

		/* not stage_await: an actor has nothing against being left alone for long */
		while (stage_now(&a->told) < n)
			syscall(SYS_futex, &a->told.n, FUTEX_WAIT, n - 1, NULL, NULL, 0);
		act = a->act;
		if (act != NULL)
			act(a);
		stage_set(&a->done, n);
		if (act == NULL)
			return NULL;
	}
}

void
actor_start(struct actor *a)
{
	if (pthread_create(&a->thread, NULL, play, a) != 0)
		trouble("no thread for an actor");
}

void
actor_begin(struct actor *a, leash_lock *lock, int64_t wait_ms)
{
	*a = (struct actor){.lock = lock, .wait_ms = wait_ms};
	actor_start(a);
}

void
actor_join(struct actor *a)
{
	pthread_join(a->thread, NULL);
}

void
actor_tell(struct actor *a, actor_act *act)
{
	if (!actor_is_done(a))
		trouble("an actor is told to do something while it does something else");
	a->act = act;
	a->began_ns = 0;
	stage_raise(&a->told);
}

void
actor_end(struct actor *a)
{
	actor_tell(a, NULL);
	actor_join(a);
}

void
actor_dismiss(struct actor *a)
{
	actor_end(a);
	leash_lock_free(a->lock);
}

bool
actor_is_done(const struct actor *a)
{
	return stage_now(&a->done) == stage_now(&a->told);
}

void
actor_hear(struct actor *a)
{
	stage_await(&a->done, stage_now(&a->told));
}

static bool
sleeps_on(const struct actor *a)
{
	unsigned long before = asleep_times(a->tid);

	if (a->began_ns == 0 || before == 0)
		return false;
	await_ms(20);
	return asleep_times(a->tid) == before;
}

void
actor_await_asleep(struct actor *a)
{
	await_true(sleeps_on(a) || actor_is_done(a));
	if (actor_is_done(a))
		trouble("an actor that was expected to wait does not: %s", leash_status_name(a->status));
}

void
actor_check(leash_status expected, struct actor *a, const char *file, int line)
{
	actor_hear(a);
	leashed_check(expected, a->status, &a->err, "what the actor did", file, line);
}

/* ---- acts ---- */

leash_status
actor_take(struct actor *a, const leash_acquire *how)
{
	if (a->semaphore == NULL)
		return leash_lock_acquire_with(a->lock, how, &a->err);
	return leash_semaphore_acquire_with(a->semaphore, 1, how, &a->permit, &a->err);
}

leash_status
actor_give(struct actor *a)
{
	leash_permit *permit = a->permit;

	if (a->semaphore == NULL)
		return leash_lock_release(a->lock, &a->err);
	a->permit = NULL;
	return leash_permit_release(permit, &a->err);
}

static void
look(struct actor *a)
{
	if (a->semaphore != NULL) {
		a->held = leash_permit_held(a->permit);
		a->depth = a->permit != NULL;
		return;
	}
	a->held = leash_lock_held(a->lock);
	a->depth = leash_lock_depth(a->lock);
	a->fence = leash_lock_fence(a->lock);
}

void
actor_look(struct actor *a)
{
	look(a);
	a->status = LEASH_OK;
}

void
actor_acquire(struct actor *a)
{
	a->began_ns = await_now_ns();
	a->status = actor_take(a, LEASH_ACQUIRE(.wait_ms = a->wait_ms, .cancel = a->cancel));
	a->ended_ns = await_now_ns();
	look(a);
}

void
actor_release(struct actor *a)
{
	a->began_ns = await_now_ns();
	a->status = actor_give(a);
	a->ended_ns = await_now_ns();
	look(a);
}

void
actor_fire(struct actor *a)
{
	a->began_ns = await_now_ns();
	leash_cancel_fire(a->cancel);
	a->ended_ns = await_now_ns();
	a->status = LEASH_OK;
}
