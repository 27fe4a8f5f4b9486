/* The thread of the watchdog: it wakes when it must, and only then. */
#include "tests/support/test.h"
#include "tests/unit/watchdog_fixture.h"

#include <errno.h>
#include <sched.h>
#include <sys/resource.h>

FIXTURE(fixture_open, fixture_close);
GROUP(counted_start, NULL);

SENTENCE(timers_fire_when_they_are_due_and_not_before_armed_before_the_start_or_after_it)
{
	struct owner *o[] = {new_owner(), new_owner(), new_owner(), new_owner()};

	arm(o[0], 0, 0);
	arm(o[1], lsh_now_ns() + LSH_MS, 0);
	start(fixture);
	arm(o[2], lsh_now_ns() + HOUR, 0);
	arm(o[3], lsh_now_ns() + 20 * LSH_MS, 0); /* it is earlier, and wakes the thread */
	await_true(fixture->fired == 3);
	assert_int_equal(fixture->wrong, 0);
	forget(o[2]);
	drop_all(o, COUNT(o), 1);
}

SENTENCE(only_an_earlier_arm_costs_a_system_call)
{
	struct owner *o[3];
	int64_t at = lsh_now_ns() + HOUR;

	for (size_t i = 0; i < 3; i++)
		o[i] = new_owner();
	start(fixture);
	assert_int_equal(settings, 1);
	assert_int_equal(last_setting, 0); /* disarmed */

	arm(o[0], at, 0);
	assert_int_equal(settings, 2);
	assert_true(last_setting == at);
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
	drop_all(o, 3, 1);
	assert_int_equal(settings, 3);
}

SENTENCE(a_wake_up_for_nothing_sets_the_timer_to_what_comes_next)
{
	struct owner *gone = new_owner(), *next = new_owner();
	int64_t at = lsh_now_ns() + HOUR;

	start(fixture);
	arm(gone, lsh_now_ns() + 20 * LSH_MS, 0);
	forget(gone);
	arm(next, at, 0);
	await_true(last_setting == at);
	assert_int_equal(fixture->wrong, 0);
	forget(next);
	drop(gone);
	drop(next);
}

SENTENCE(arming_while_the_thread_is_about_costs_no_system_call)
{
	struct owner *a = new_owner(), *b = new_owner();
	unsigned before;

	start(fixture);
	fixture->hold = true;
	arm(a, lsh_now_ns(), 0);
	await_true(fixture->holding);
	before = settings;
	arm(b, 0, 0); /* earlier than all that was armed so far */
	assert_int_equal(settings, before);
	fixture->hold = false;
	await_true(fixture->fired == 2);
	drop(a);
	drop(b);
}

SENTENCE(a_great_many_are_handed_out_in_batches)
{
	static struct owner *o[1000];
	int64_t at = lsh_now_ns() + 5 * LSH_MS;

	start(fixture);
	for (size_t i = 0; i < COUNT(o); i++)
		arm(o[i] = new_owner(), at, 0);
	await_true(fixture->fired == COUNT(o));
	assert_true(fixture->largest_batch <= LSH_WATCHDOG_BATCH);
	assert_true(fixture->batches >= 4);
	assert_int_equal(fixture->wrong, 0);
	drop_all(o, COUNT(o), 1);
}

SENTENCE(firing_allocates_nothing)
{
	struct owner *o = new_owner();
	size_t before;

	counted_withhold(true);
	before = (size_t)counted.calls;
	start(fixture);
	o->again = true;
	arm(o, 0, 0);
	await_true(fixture->fired >= 1000);
	lsh_watchdog_stop(fixture->w);
	assert_int_equal(counted.calls, before);
	forget(o);
	drop(o);
}

SENTENCE(what_is_forgotten_while_it_is_being_fired_is_stale)
{
	struct owner *o = new_owner();

	start(fixture);
	fixture->hold = true;
	arm(o, 0, 0);
	await_true(fixture->holding);
	forget(o);
	lsh_watchdog_unreserve(fixture->w);
	drop(o); /* the last reference is the one that fire() has */
	fixture->hold = false;
	await_true(fixture->owners == 0);
	assert_int_equal(fixture->stale, 1);
	assert_int_equal(fixture->fired, 0);
}

static void *
stop(void *arg)
{
	struct fixture *f = arg;

	lsh_watchdog_stop(f->w);
	return f->left ? f : NULL;
}

SENTENCE(stop_returns_when_what_is_being_fired_has_been_and_nothing_fires_after_it)
{
	struct owner *a = new_owner(), *b = new_owner();
	pthread_t stopper;
	void *had_left;

	start(fixture);
	fixture->hold = true;
	arm(a, 0, 0);
	await_true(fixture->holding);
	arm(b, 0, 0);
	assert_int_equal(pthread_create(&stopper, NULL, stop, fixture), 0);
	await_true(last_setting == 1 && settings >= 3); /* start, arm, stop */
	fixture->hold = false;
	assert_int_equal(pthread_join(stopper, &had_left), 0);
	assert_ptr_equal(had_left, fixture);

	assert_int_equal(fixture->fired, 1);
	arm(a, -1, 0);
	await_ms(5);
	assert_int_equal(fixture->fired, 1);
	assert_int_equal(settings, 3);
	forget(a);
	forget(b);
	drop(a);
	drop(b);
}

SENTENCE(a_sleeping_thread_can_be_stopped_and_started_again_once_there_is_a_descriptor)
{
	struct owner *o = new_owner();
	struct rlimit limit, none;

	lsh_watchdog_stop(fixture->w); /* which has not been started */
	start(fixture);
	arm(o, lsh_now_ns() + HOUR, 0);
	lsh_watchdog_stop(fixture->w);
	lsh_watchdog_stop(fixture->w);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = limit;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(lsh_watchdog_start(fixture->w), EMFILE);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	lsh_watchdog_stop(fixture->w);
	arm(o, 0, 0);
	start(fixture);
	await_true(fixture->fired == 1);
	drop(o);
	lsh_watchdog_free(NULL);
}

static atomic_uint looks;

static int64_t
no_clock(void)
{
	atomic_fetch_add(&looks, 1);
	return LSH_NEVER;
}

static void
open_without_clock(void)
{
	static const struct lsh_watchdog_ops blind = {no_clock, retain, fire};

	fixture_open_with(&blind);
}

SENTENCE(without_a_clock_all_fires_at_once_and_then_the_thread_sleeps,
         BETWEEN(open_without_clock, fixture_close))
{
	struct owner *o[] = {new_owner(), new_owner()};

	arm(o[0], LSH_NEVER, 0);
	arm(o[1], lsh_now_ns() + HOUR, 0);
	o[0]->from_ns = o[1]->from_ns = 0;
	atomic_store(&looks, 0);
	start(fixture);
	assert_int_equal(fixture->fired, 2);
	await_ms(5);
	assert_true(looks <= 3);
	drop_all(o, 2, 1);
}

/* ---- many threads ---- */

static atomic_bool forgotten_fires; /* set by churn(): a timer that was forgotten has fired after all */

/* Takes locks and releases them, some before they come due, some while, some after. */
static void *
churn(void *arg)
{
	uint32_t random = (uint32_t)(uintptr_t)arg;

	for (int i = 0; i < 3000; i++) {
		struct owner *o = new_owner();
		unsigned fired;

		random = random * 1664525 + 1013904223;
		o->again = random >> 30 == 0;
		arm(o, lsh_now_ns() + random % 100000, random % 7 * 10000);
		if (random >> 29 & 1)
			arm(o, lsh_now_ns() + random % 50000, 0);
		if (random >> 28 & 1)
			sched_yield();
		if ((random >> 24 & 15) == 0)
			await_ms(1);
		forget(o);
		pthread_mutex_lock(&o->mutex);
		fired = o->fired;
		pthread_mutex_unlock(&o->mutex);
		if (random >> 27 & 1)
			sched_yield();
		pthread_mutex_lock(&o->mutex);
		if (o->fired != fired)
			atomic_store(&forgotten_fires, true);
		pthread_mutex_unlock(&o->mutex);
		lsh_watchdog_unreserve(fixture->w);
		drop(o);
	}
	return NULL;
}

SENTENCE(no_timer_fires_after_it_was_forgotten_whatever_the_threads_do)
{
	pthread_t thread[3];
	unsigned fired = 0;

	forgotten_fires = false;
	start(fixture);
	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < COUNT(thread); i++)
			assert_int_equal(pthread_create(&thread[i], NULL, churn, (void *)(uintptr_t)(i + 1)), 0);
		await_true(fixture->fired > fired + 10);
		if (round == 1) /* and the same while it is being stopped */
			lsh_watchdog_stop(fixture->w);
		fired = fixture->fired;
		for (size_t i = 0; i < COUNT(thread); i++)
			assert_int_equal(pthread_join(thread[i], NULL), 0);
		assert_true(lsh_watchdog_next(fixture->w) == LSH_NEVER);
		if (round == 1)
			assert_int_equal(fixture->fired, fired);
		fired = fixture->fired;
	}
	assert_int_equal(fixture->wrong, 0);
	assert_false(forgotten_fires);
	assert_int_equal(fixture->owners, 0); /* every reference was given back */
}
