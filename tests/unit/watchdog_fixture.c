/* See watchdog_fixture.h. */
#include "tests/unit/watchdog_fixture.h"

#include "tests/support/await.h"

#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

atomic_uint settings;
_Atomic int64_t last_setting;
struct fixture *fixture;

/* ---- the system call by which the thread is woken: every one is counted ---- */

int
timerfd_settime(int fd, int flags, const struct itimerspec *new, struct itimerspec *old)
{
	atomic_store(&last_setting, new->it_value.tv_sec * LSH_S + new->it_value.tv_nsec);
	atomic_fetch_add(&settings, 1);
	return (int)syscall(SYS_timerfd_settime, fd, flags, new, old);
}

/* ---- owners: what a lock is to the watchdog ---- */

struct owner *
owner_of(struct lsh_timer *timer)
{
	return (struct owner *)(void *)timer;
}

struct owner *
new_owner(void)
{
	struct owner *o = calloc(1, sizeof *o);

	if (o == NULL || !lsh_watchdog_reserve(fixture->w))
		abort();
	pthread_mutex_init(&o->mutex, NULL);
	o->references = 1;
	atomic_fetch_add(&fixture->owners, 1);
	return o;
}

void
drop(struct owner *o)
{
	if (atomic_fetch_sub(&o->references, 1) > 1)
		return;
	atomic_fetch_sub(&fixture->owners, 1);
	pthread_mutex_destroy(&o->mutex);
	free(o);
}

void
drop_all(struct owner *const *o, size_t n, int times)
{
	for (size_t i = 0; i < n; i++)
		for (int j = 0; j < times; j++)
			drop(o[i]);
}

void
arm(struct owner *o, int64_t due, int64_t slack)
{
	pthread_mutex_lock(&o->mutex);
	o->armed = true;
	o->from_ns = due == LSH_NEVER ? due : due - slack;
	lsh_watchdog_arm(fixture->w, &o->timer, due, slack);
	pthread_mutex_unlock(&o->mutex);
}

void
forget(struct owner *o)
{
	pthread_mutex_lock(&o->mutex);
	o->armed = false;
	lsh_watchdog_forget(fixture->w, &o->timer);
	pthread_mutex_unlock(&o->mutex);
}

void
retain(struct lsh_timer *timer)
{
	atomic_fetch_add(&owner_of(timer)->references, 1);
}

void
serve(struct fixture *f, struct lsh_due due)
{
	struct owner *o = owner_of(due.timer);

	pthread_mutex_lock(&o->mutex);
	if (o->timer.generation != due.generation) {
		atomic_fetch_add(&f->stale, 1);
	} else {
		if (!o->armed || lsh_now_ns() < o->from_ns)
			atomic_fetch_add(&f->wrong, 1);
		o->fired++;
		if (o->again) {
			o->from_ns = lsh_now_ns();
			lsh_watchdog_arm(f->w, &o->timer, o->from_ns, 0);
		} else {
			o->armed = false;
		}
		atomic_fetch_add(&f->fired, 1);
	}
	pthread_mutex_unlock(&o->mutex);
	drop(o);
}

void
fire(void *ctx, const struct lsh_due *due, size_t count)
{
	struct fixture *f = ctx;

	atomic_store(&f->left, false);
	atomic_fetch_add(&f->batches, 1);
	if (count > f->largest_batch)
		atomic_store(&f->largest_batch, (unsigned)count);
	if (f->hold) {
		atomic_store(&f->holding, true);
		while (f->hold)
			await_ms(1);
	}
	for (size_t i = 0; i < count; i++)
		serve(f, due[i]);
	atomic_store(&f->left, true);
}

const struct lsh_watchdog_ops ops = {lsh_now_ns, retain, fire};

void
fixture_open_with(const struct lsh_watchdog_ops *how)
{
	fixture = calloc(1, sizeof *fixture);
	assert_non_null(fixture);
	counted_withhold(false);
	fixture->w = lsh_watchdog_new(how, fixture);
	assert_non_null(fixture->w);
}

void
fixture_open(void)
{
	fixture_open_with(&ops);
}

void
fixture_close(void)
{
	int left;

	fixture->hold = false; /* a test that failed may have left it */
	lsh_watchdog_free(fixture->w);
	left = fixture->owners;
	free(fixture);
	assert_int_equal(left, 0);
}

void
start(struct fixture *f)
{
	atomic_store(&settings, 0);
	assert_int_equal(lsh_watchdog_start(f->w), 0);
	await_true(settings >= 1);
}
