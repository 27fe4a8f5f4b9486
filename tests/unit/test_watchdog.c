/* The watchdog: what comes due together and what is stale, by a clock of our own; and its thread, which wakes when it
 * must, and only then. */
#include "watchdog/watchdog.h"

#include "base/clock.h"
#include "tests/support/counted.h"
#include "tests/support/random.h"
#include "tests/support/test.h"
#include "watchdog/pace.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define HOUR (3600 * LSH_S)

static struct lsh_watchdog *w;
static atomic_uint batches, largest_batch, fired, stale, wrong; /* wrong: too early, or disarmed */
static atomic_bool hold, holding, left;                         /* whether fire() is to stay; stays; has returned */

/* ---- the system call by which the thread is woken: every one is counted ---- */

static atomic_uint settings;
static _Atomic int64_t last_setting;

int
timerfd_settime(int fd, int flags, const struct itimerspec *new, struct itimerspec *old)
{
	last_setting = new->it_value.tv_sec * LSH_S + new->it_value.tv_nsec;
	settings++;
	return (int)syscall(SYS_timerfd_settime, fd, flags, new, old);
}

/* ---- owners: what a lock is to the watchdog ---- */

struct owner {
	struct lsh_timer timer; /* first, so that one is the other */
	pthread_mutex_t mutex;  /* guards what follows, and arms and forgets the timer */
	bool armed;
	bool again;             /* arm it anew when it fires, as a renewal does */
	int64_t from_ns;        /* not to fire before */
	atomic_uint fired;      /* how often it has */
	atomic_int references;
};

static atomic_int owners;     /* there are */
static struct owner *o[1000]; /* those whose references the end of a test gives back */
static size_t count;

/* With room for its timer. */
static struct owner *
new_owner(void)
{
	struct owner *owner = calloc(1, sizeof *owner);

	if (owner == NULL || !lsh_watchdog_reserve(w))
		abort();
	pthread_mutex_init(&owner->mutex, NULL);
	owner->references = 1;
	owners++;
	return owner;
}

static void
drop(struct owner *owner)
{
	if (atomic_fetch_sub(&owner->references, 1) > 1)
		return;
	owners--;
	pthread_mutex_destroy(&owner->mutex);
	free(owner);
}

static void
arm(struct owner *owner, int64_t due, int64_t slack)
{
	pthread_mutex_lock(&owner->mutex);
	owner->armed = true;
	owner->from_ns = due == LSH_NEVER ? due : due - slack;
	lsh_watchdog_arm(w, &owner->timer, due, slack);
	pthread_mutex_unlock(&owner->mutex);
}

static void
arm_new(int64_t due, int64_t slack)
{
	o[count] = new_owner();
	arm(o[count++], due, slack);
}

static void
forget(struct owner *owner)
{
	pthread_mutex_lock(&owner->mutex);
	owner->armed = false;
	lsh_watchdog_forget(w, &owner->timer);
	pthread_mutex_unlock(&owner->mutex);
}

static struct owner *
owner_of(struct lsh_timer *timer)
{
	return (struct owner *)(void *)timer;
}

static void
retain(struct lsh_timer *timer)
{
	owner_of(timer)->references++;
}

/* What everybody does who serves a timer. */
static void
serve(struct lsh_due due)
{
	struct owner *owner = owner_of(due.timer);

	pthread_mutex_lock(&owner->mutex);
	if (owner->timer.generation != due.generation) {
		stale++;
	} else {
		wrong += !owner->armed || lsh_now_ns() < owner->from_ns;
		owner->fired++;
		owner->armed = owner->again;
		if (owner->again) {
			owner->from_ns = lsh_now_ns();
			lsh_watchdog_arm(w, &owner->timer, owner->from_ns, 0);
		}
		fired++;
	}
	pthread_mutex_unlock(&owner->mutex);
	drop(owner);
}

static void
fire(void *ctx, const struct lsh_due *due, size_t n)
{
	left = false;
	batches++;
	if (n > largest_batch)
		largest_batch = (unsigned)n;
	holding = hold;
	while (hold)
		await_ms(1);
	for (size_t i = 0; i < n; i++)
		serve(due[i]);
	left = ctx == &w;
}

static const struct lsh_watchdog_ops ops = {lsh_now_ns, retain, fire};

static void
begin_with(const struct lsh_watchdog_ops *how)
{
	batches = largest_batch = fired = stale = wrong = 0;
	hold = holding = left = false;
	counted_withhold(false);
	w = lsh_watchdog_new(how, &w);
	assert_non_null(w);
}

static void
begin(void)
{
	begin_with(&ops);
}

static void
end(void)
{
	hold = false; /* a test that failed may have left it */
	counted_withhold(false);
	lsh_watchdog_stop(w);
	for (; count > 0; count--) {
		forget(o[count - 1]);
		assert_int_equal(o[count - 1]->references, 1);
		drop(o[count - 1]);
	}
	lsh_watchdog_free(w);
	assert_int_equal(owners, 0);
	assert_int_equal(wrong, 0);
}

FIXTURE(begin, end);
GROUP(counted_start, NULL);

/* ---- without its thread ---- */

/* These of the owners are handed out, up to a -1. */
static void
check_taken(int64_t now, size_t room, const int *which)
{
	struct lsh_due due[16];
	size_t n = lsh_watchdog_take_due(w, now, due, room);

	for (size_t i = 0; i < n; i++, which++) {
		assert_true(*which >= 0);
		assert_ptr_equal(due[i].timer, &o[*which]->timer);
		assert_int_equal(due[i].generation, o[*which]->timer.generation);
		assert_int_equal(o[*which]->references, 2);
		drop(o[*which]);
	}
	assert_int_equal(*which, -1);
}

#define takes(now, room, ...) check_taken((now), (room), (const int[]){__VA_ARGS__})

static void
comes_next(int64_t due)
{
	assert_true(lsh_watchdog_next(w) == due);
}

SENTENCE(what_is_due_is_handed_out_in_order_and_no_more)
{
	static const int64_t when[] = {30, 10, 20, 40, LSH_NEVER};

	for (size_t i = 0; i < COUNT(when); i++)
		arm_new(when[i], 0);
	comes_next(10);
	takes(9, 8, -1);
	takes(20, 8, 1, 2, -1);
	comes_next(30);
	takes(LSH_NEVER - 1, 8, 0, 3, -1);
	comes_next(LSH_NEVER);
}

SENTENCE(what_is_nearly_due_goes_along_only_when_something_is_due)
{
	arm_new(100, 50);
	arm_new(110, 10);
	arm_new(120, 19); /* not yet at 100 */
	arm_new(130, 99); /* in its slack, but behind one that is not */
	arm_new(140, -1000); /* which is none */
	takes(99, 8, -1);
	takes(100, 8, 0, 1, -1);
	takes(101, 8, -1);
	takes(120, 8, 2, 3, -1);
	takes(139, 8, -1);
	takes(140, 8, 4, -1);
}

SENTENCE(a_full_batch_leaves_the_rest_for_the_next)
{
	for (int64_t i = 0; i < 10; i++)
		arm_new(i, 0);
	takes(50, 0, -1);
	takes(50, 4, 0, 1, 2, 3, -1);
	takes(50, 4, 4, 5, 6, 7, -1);
	takes(50, 2, 8, 9, -1);
}

SENTENCE(every_arm_and_every_forget_makes_what_was_handed_out_stale)
{
	struct lsh_due first, second;

	arm_new(10, 0);
	assert_int_equal(lsh_watchdog_take_due(w, 10, &first, 1), 1);
	assert_int_equal(first.generation, o[0]->timer.generation);
	arm(o[0], 20, 0);
	assert_int_equal(lsh_watchdog_take_due(w, 20, &second, 1), 1);
	assert_int_equal(second.generation, o[0]->timer.generation);
	forget(o[0]); /* which is in no heap any more */
	serve(first);
	serve(second);
	assert_int_equal(stale, 2);
	assert_int_equal(fired, 0);
}

SENTENCE(moments_at_the_ends_of_the_range_are_fine)
{
	arm_new(INT64_MIN, 0);
	arm_new(0, 0);
	pthread_mutex_lock(&o[1]->mutex);
	lsh_watchdog_arm(w, &o[1]->timer, INT64_MIN + 1, INT64_MAX);
	pthread_mutex_unlock(&o[1]->mutex);
	takes(INT64_MIN, 8, 0, 1, -1);
}

SENTENCE(a_million_locks_and_releases_leave_nothing_behind)
{
	int64_t bytes;

	arm_new(0, 0);
	counted.most = bytes = counted.bytes;
	for (int64_t i = 0; i < 1000000; i++) {
		if (!lsh_watchdog_reserve(w))
			fail();
		arm(o[0], i, 0);
		forget(o[0]);
		lsh_watchdog_unreserve(w);
	}
	comes_next(LSH_NEVER);
	takes(LSH_NEVER, 8, -1);
	assert_int_equal(o[0]->timer.generation, 2000001);
	assert_true(counted.most - bytes <= 1024);
}

/* However their starts are scattered, the leases of one program are renewed together: see SLACK_SHARE in pace.c. */
SENTENCE(a_thousand_leases_are_renewed_in_a_dozen_batches_per_period)
{
	static struct lsh_due due[COUNT(o)];
	const int64_t lease = 30 * LSH_S;
	unsigned together = 0, renewals = 0;
	uint64_t seed = 1;

	for (size_t i = 0; i < COUNT(o); i++)
		arm_new(random_below(&seed, 10000) * LSH_MS, lsh_pace_slack(lease));
	for (int64_t now; (now = lsh_watchdog_next(w)) < 110 * LSH_S;) {
		size_t n = lsh_watchdog_take_due(w, now, due, COUNT(due));

		assert_true(n > 0);
		if (now >= 10 * LSH_S) { /* ten thirds of a lease, after one to settle in */
			together++;
			renewals += (unsigned)n;
		}
		for (size_t i = 0; i < n; i++) {
			int64_t next = lsh_pace_next(now, lease, (uint32_t)random_next(&seed));

			arm(owner_of(due[i].timer), next, lsh_pace_slack(lease));
			drop(owner_of(due[i].timer));
		}
	}
	assert_true(together <= 120);
	assert_true(renewals <= 13000); /* 10,000 were the least; what being early costs */
}

/* ---- its thread ---- */

/* It sleeps when this returns. */
static void
start(void)
{
	settings = 0;
	assert_int_equal(lsh_watchdog_start(w), 0);
	await_true(settings >= 1);
}

static void
start_and_hold(int64_t due)
{
	start();
	hold = true;
	arm_new(due, 0);
	await_true(holding);
}

SENTENCE(timers_fire_when_they_are_due_and_not_before_armed_before_the_start_or_after_it)
{
	arm_new(0, 0);
	arm_new(lsh_now_ns() + LSH_MS, 0);
	start();
	arm_new(lsh_now_ns() + HOUR, 0);
	arm_new(lsh_now_ns() + 20 * LSH_MS, 0); /* it is earlier, and wakes the thread */
	await_true(fired == 3);
}

SENTENCE(only_an_earlier_arm_costs_a_system_call)
{
	int64_t at = lsh_now_ns() + HOUR;

	start();
	assert_int_equal(settings, 1);
	assert_int_equal(last_setting, 0); /* disarmed */
	arm_new(at, 0);
	assert_int_equal(settings, 2);
	assert_true(last_setting == at);
	arm_new(at, 0);
	arm_new(at, 0);
	for (int i = 0; i < 1000; i++) {
		arm(o[1], at + i, 0);
		arm(o[2], LSH_NEVER, 0);
		forget(o[1]);
		forget(o[2]);
	}
	forget(o[0]);
	arm(o[0], at + LSH_S, 0);
	assert_int_equal(settings, 2);
	arm(o[1], at - 1, 0);
	assert_int_equal(settings, 3);
	assert_true(last_setting == at - 1);
	for (size_t i = 0; i < 3; i++)
		forget(o[i]);
	assert_int_equal(settings, 3);
}

SENTENCE(a_wake_up_for_nothing_sets_the_timer_to_what_comes_next)
{
	int64_t at = lsh_now_ns() + HOUR;

	start();
	arm_new(lsh_now_ns() + 20 * LSH_MS, 0);
	forget(o[0]);
	arm_new(at, 0);
	await_true(last_setting == at);
}

SENTENCE(arming_while_the_thread_is_about_costs_no_system_call)
{
	start_and_hold(lsh_now_ns());
	unsigned before = settings;
	arm_new(0, 0); /* earlier than all that was armed so far */
	assert_int_equal(settings, before);
	hold = false;
	await_true(fired == 2);
}

SENTENCE(a_great_many_are_handed_out_in_batches)
{
	int64_t at = lsh_now_ns() + 5 * LSH_MS;

	start();
	while (count < COUNT(o))
		arm_new(at, 0);
	await_true(fired == COUNT(o));
	assert_true(largest_batch <= LSH_WATCHDOG_BATCH);
	assert_true(batches >= 4);
}

SENTENCE(firing_allocates_nothing)
{
	arm_new(LSH_NEVER - 1, 0);
	o[0]->again = true;
	counted_withhold(true);
	start();
	arm(o[0], 0, 0);
	await_true(fired >= 1000);
	lsh_watchdog_stop(w);
	assert_int_equal(counted.calls, 0);
}

SENTENCE(what_is_forgotten_while_it_is_being_fired_is_stale)
{
	start_and_hold(0);
	forget(o[0]);
	lsh_watchdog_unreserve(w);
	drop(o[--count]); /* the last reference is the one that fire() has */
	hold = false;
	await_true(owners == 0);
	assert_int_equal(stale, 1);
	assert_int_equal(fired, 0);
}

static void *
stop(void *arg)
{
	lsh_watchdog_stop(w);
	return left ? arg : NULL;
}

SENTENCE(stop_returns_when_what_is_being_fired_has_been_and_nothing_fires_after_it)
{
	pthread_t stopper;
	void *had_left;

	start_and_hold(0);
	arm_new(0, 0);
	assert_int_equal(pthread_create(&stopper, NULL, stop, w), 0);
	await_true(last_setting == 1 && settings >= 3); /* start, arm, stop */
	hold = false;
	assert_int_equal(pthread_join(stopper, &had_left), 0);
	assert_ptr_equal(had_left, w);
	assert_int_equal(fired, 1);
	arm(o[0], -1, 0);
	await_ms(5);
	assert_int_equal(fired, 1);
	assert_int_equal(settings, 3);
}

SENTENCE(a_sleeping_thread_can_be_stopped_and_started_again_once_there_is_a_descriptor)
{
	struct rlimit limit;

	lsh_watchdog_stop(w); /* which has not been started */
	start();
	arm_new(lsh_now_ns() + HOUR, 0);
	lsh_watchdog_stop(w);
	lsh_watchdog_stop(w);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	struct rlimit none = limit;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(lsh_watchdog_start(w), EMFILE);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	lsh_watchdog_stop(w);
	arm(o[0], 0, 0);
	start();
	await_true(fired == 1);
	lsh_watchdog_free(NULL);
}

static atomic_uint looks;

static int64_t
no_clock(void)
{
	looks++;
	return LSH_NEVER;
}

static void
begin_without_clock(void)
{
	static const struct lsh_watchdog_ops blind = {no_clock, retain, fire};

	begin_with(&blind);
}

SENTENCE(without_a_clock_all_fires_at_once_and_then_the_thread_sleeps, BETWEEN(begin_without_clock, end))
{
	arm_new(LSH_NEVER, 0);
	arm_new(lsh_now_ns() + HOUR, 0);
	o[0]->from_ns = o[1]->from_ns = 0;
	looks = 0;
	start();
	assert_int_equal(fired, 2);
	await_ms(5);
	assert_true(looks <= 3);
}

/* ---- many threads ---- */

static atomic_bool forgotten_fires; /* a timer that was forgotten has fired after all */

/* Takes locks and releases them, some before they come due, some while, some after. */
static void *
churn(void *arg)
{
	uint64_t seed = (uintptr_t)arg;

	for (int i = 0; i < 3000; i++) {
		struct owner *owner = new_owner();

		owner->again = random_below(&seed, 4) == 0;
		arm(owner, lsh_now_ns() + random_below(&seed, 100000), random_below(&seed, 7) * 10000);
		if (random_below(&seed, 2) == 0)
			arm(owner, lsh_now_ns() + random_below(&seed, 50000), 0);
		if (random_below(&seed, 2) == 0)
			sched_yield();
		if (random_below(&seed, 16) == 0)
			await_ms(1);
		forget(owner);
		unsigned before = owner->fired;
		if (random_below(&seed, 2) == 0)
			sched_yield();
		if (owner->fired != before)
			forgotten_fires = true;
		lsh_watchdog_unreserve(w);
		drop(owner);
	}
	return NULL;
}

SENTENCE(no_timer_fires_after_it_was_forgotten_whatever_the_threads_do)
{
	pthread_t thread[3];
	unsigned before = 0;

	forgotten_fires = false;
	start();
	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < COUNT(thread); i++)
			assert_int_equal(pthread_create(&thread[i], NULL, churn, (void *)(uintptr_t)(i + 1)), 0);
		await_true(fired > before + 10);
		if (round == 1) /* and the same while it is being stopped */
			lsh_watchdog_stop(w);
		before = fired;
		for (size_t i = 0; i < COUNT(thread); i++)
			assert_int_equal(pthread_join(thread[i], NULL), 0);
		comes_next(LSH_NEVER);
		if (round == 1)
			assert_int_equal(fired, before);
		before = fired;
	}
	assert_false(forgotten_fires);
}
