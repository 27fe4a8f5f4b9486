/* The watchdog: what comes due together, what is stale, and a thread that wakes when it must and only then. */
#include "watchdog/watchdog.h"

#include "base/clock.h"
#include "base/memory.h"
#include "tests/support/await.h"
#include "watchdog/pace.h"

#include <leash/memory.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

#define HOUR (3600 * LSH_S)

/* ---- Memory that can be counted, and withheld. ---- */

static atomic_bool no_memory;
static atomic_size_t allocations, largest;

static void *
counted_alloc(size_t size)
{
	atomic_fetch_add(&allocations, 1);
	return no_memory ? NULL : malloc(size);
}

static void *
counted_realloc(void *old, size_t size)
{
	atomic_fetch_add(&allocations, 1);
	if (size > largest)
		largest = size;
	return no_memory ? NULL : realloc(old, size);
}

static const leash_memory memory = {counted_alloc, counted_realloc, free};

/* ---- The system call by which the thread is woken: every one is counted. ---- */

static atomic_uint settings;
static _Atomic int64_t last_setting;

int
timerfd_settime(int fd, int flags, const struct itimerspec *new, struct itimerspec *old)
{
	atomic_store(&last_setting, new->it_value.tv_sec * LSH_S + new->it_value.tv_nsec);
	atomic_fetch_add(&settings, 1);
	return (int)syscall(SYS_timerfd_settime, fd, flags, new, old);
}

/* ---- Owners: what a lock is to the watchdog. ---- */

struct owner {
	struct lsh_timer timer; /* first, so that one is the other */
	pthread_mutex_t mutex;  /* guards what follows, and arms and forgets the timer */
	bool armed;
	bool again;             /* arm it anew when it fires, as a renewal does */
	int64_t from_ns;        /* not to fire before */
	unsigned fired;
	atomic_int references;
};

/* The context of a watchdog under test. */
struct kennel {
	struct lsh_watchdog *w;
	atomic_uint batches, fired, stale, wrong, largest_batch;
	atomic_int owners;
	atomic_bool hold, holding, left; /* whether fire() is to stay; stays; has returned */
};

static struct kennel *kennel; /* where drop() counts */

static struct owner *
owner_of(struct lsh_timer *timer)
{
	return (struct owner *)(void *)timer;
}

static struct owner *
new_owner(void)
{
	struct owner *o = calloc(1, sizeof *o);

	if (o == NULL)
		abort();
	pthread_mutex_init(&o->mutex, NULL);
	o->references = 1;
	atomic_fetch_add(&kennel->owners, 1);
	return o;
}

static void
drop(struct owner *o)
{
	if (atomic_fetch_sub(&o->references, 1) > 1)
		return;
	atomic_fetch_sub(&kennel->owners, 1);
	pthread_mutex_destroy(&o->mutex);
	free(o);
}

static void
arm(struct owner *o, int64_t due, int64_t slack)
{
	pthread_mutex_lock(&o->mutex);
	o->armed = true;
	o->from_ns = due == LSH_NEVER ? due : due - slack;
	lsh_watchdog_arm(kennel->w, &o->timer, due, slack);
	pthread_mutex_unlock(&o->mutex);
}

static void
forget(struct owner *o)
{
	pthread_mutex_lock(&o->mutex);
	o->armed = false;
	lsh_watchdog_forget(kennel->w, &o->timer);
	pthread_mutex_unlock(&o->mutex);
}

static void
retain(struct lsh_timer *timer)
{
	atomic_fetch_add(&owner_of(timer)->references, 1);
}

/* What everybody does who serves a timer. */
static void
serve(struct kennel *k, struct lsh_due due)
{
	struct owner *o = owner_of(due.timer);

	pthread_mutex_lock(&o->mutex);
	if (o->timer.generation != due.generation) {
		atomic_fetch_add(&k->stale, 1);
	} else {
		if (!o->armed || lsh_now_ns() < o->from_ns)
			atomic_fetch_add(&k->wrong, 1);
		o->fired++;
		if (o->again) {
			o->from_ns = lsh_now_ns();
			lsh_watchdog_arm(k->w, &o->timer, o->from_ns, 0);
		} else {
			o->armed = false;
		}
		atomic_fetch_add(&k->fired, 1);
	}
	pthread_mutex_unlock(&o->mutex);
	drop(o);
}

static void
fire(void *ctx, const struct lsh_due *due, size_t count)
{
	struct kennel *k = ctx;

	atomic_store(&k->left, false);
	atomic_fetch_add(&k->batches, 1);
	if (count > k->largest_batch)
		atomic_store(&k->largest_batch, (unsigned)count);
	if (k->hold) {
		atomic_store(&k->holding, true);
		while (k->hold)
			await_ms(1);
	}
	for (size_t i = 0; i < count; i++)
		serve(k, due[i]);
	atomic_store(&k->left, true);
}

static const struct lsh_watchdog_ops ops = {lsh_now_ns, retain, fire};

static int
open_with(void **state, const struct lsh_watchdog_ops *how)
{
	kennel = calloc(1, sizeof *kennel);
	if (kennel == NULL)
		return -1;
	no_memory = false;
	kennel->w = lsh_watchdog_new(how, kennel);
	*state = kennel;
	return kennel->w != NULL ? 0 : -1;
}

static int
open_kennel(void **state)
{
	return open_with(state, &ops);
}

static int
close_kennel(void **state)
{
	int left;

	(void)state;
	kennel->hold = false; /* a test that failed may have left it */
	lsh_watchdog_free(kennel->w);
	left = kennel->owners;
	free(kennel);
	return left;
}

/* Start the thread, and wait until it sleeps. */
static void
start(struct kennel *k)
{
	atomic_store(&settings, 0);
	assert_int_equal(lsh_watchdog_start(k->w), 0);
	await_true(settings >= 1);
}

static void
reserve(struct kennel *k, size_t n)
{
	for (size_t i = 0; i < n; i++)
		assert_true(lsh_watchdog_reserve(k->w));
}

/* ---- Without the thread, by a clock of our own. ---- */

static void
what_is_due_is_handed_out_in_order_and_no_more(void **state)
{
	struct kennel *k = *state;
	struct owner *o[5];
	struct lsh_due due[8];
	static const int64_t when[] = {30, 10, 20, 40, LSH_NEVER};

	reserve(k, 5);
	for (size_t i = 0; i < 5; i++)
		arm(o[i] = new_owner(), when[i], 0);
	assert_true(lsh_watchdog_next(k->w) == 10);
	assert_int_equal(lsh_watchdog_take_due(k->w, 9, due, 8), 0);
	assert_int_equal(lsh_watchdog_take_due(k->w, 20, due, 8), 2);
	assert_ptr_equal(due[0].timer, &o[1]->timer);
	assert_ptr_equal(due[1].timer, &o[2]->timer);
	assert_int_equal(due[0].generation, o[1]->timer.generation);
	assert_int_equal(o[1]->references, 2);
	assert_int_equal(o[0]->references, 1);
	assert_true(lsh_watchdog_next(k->w) == 30);
	assert_int_equal(lsh_watchdog_take_due(k->w, LSH_NEVER - 1, due, 8), 2);
	assert_true(lsh_watchdog_next(k->w) == LSH_NEVER);
	forget(o[4]);
	for (size_t i = 0; i < 4; i++)
		drop(o[i]);
	for (size_t i = 0; i < 5; i++)
		drop(o[i]);
}

static void
what_is_nearly_due_goes_along_only_when_something_is_due(void **state)
{
	struct kennel *k = *state;
	struct owner *o[4];
	struct lsh_due due[8];

	reserve(k, 4);
	arm(o[0] = new_owner(), 100, 50);
	arm(o[1] = new_owner(), 110, 10);
	arm(o[2] = new_owner(), 120, 19); /* not yet at 100 */
	arm(o[3] = new_owner(), 130, 99); /* in its slack, but behind one that is not */
	assert_int_equal(lsh_watchdog_take_due(k->w, 99, due, 8), 0);
	assert_int_equal(lsh_watchdog_take_due(k->w, 100, due, 8), 2);
	assert_ptr_equal(due[0].timer, &o[0]->timer);
	assert_ptr_equal(due[1].timer, &o[1]->timer);
	assert_int_equal(lsh_watchdog_take_due(k->w, 101, due, 8), 0);
	assert_int_equal(lsh_watchdog_take_due(k->w, 120, due, 8), 2);
	for (size_t i = 0; i < 4; i++) {
		drop(o[i]);
		drop(o[i]);
	}
}

static void
a_full_batch_leaves_the_rest_for_the_next(void **state)
{
	struct kennel *k = *state;
	struct owner *o[10];
	struct lsh_due due[10];

	reserve(k, 10);
	for (size_t i = 0; i < 10; i++)
		arm(o[i] = new_owner(), (int64_t)i, 0);
	assert_int_equal(lsh_watchdog_take_due(k->w, 50, due, 0), 0);
	assert_int_equal(lsh_watchdog_take_due(k->w, 50, due, 4), 4);
	assert_int_equal(lsh_watchdog_take_due(k->w, 50, due + 4, 4), 4);
	assert_int_equal(lsh_watchdog_take_due(k->w, 50, due + 8, 2), 2);
	for (size_t i = 0; i < 10; i++) {
		assert_ptr_equal(due[i].timer, &o[i]->timer);
		drop(o[i]);
		drop(o[i]);
	}
}

static void
every_arm_and_every_forget_makes_what_was_handed_out_stale(void **state)
{
	struct kennel *k = *state;
	struct owner *o = new_owner();
	struct lsh_due first, second;

	reserve(k, 1);
	arm(o, 10, 0);
	assert_int_equal(lsh_watchdog_take_due(k->w, 10, &first, 1), 1);
	assert_int_equal(first.generation, o->timer.generation);
	arm(o, 20, 0);
	assert_int_not_equal(first.generation, o->timer.generation);
	assert_int_equal(lsh_watchdog_take_due(k->w, 20, &second, 1), 1);
	assert_int_equal(second.generation, o->timer.generation);
	forget(o); /* which is in no heap any more */
	assert_int_not_equal(first.generation, o->timer.generation);
	assert_int_not_equal(second.generation, o->timer.generation);

	serve(k, first);
	serve(k, second);
	assert_int_equal(k->stale, 2);
	assert_int_equal(k->fired, 0);
	drop(o);
}

static void
what_is_forgotten_is_not_handed_out(void **state)
{
	struct kennel *k = *state;
	struct owner *o[3];
	struct lsh_due due[3];

	reserve(k, 3);
	for (size_t i = 0; i < 3; i++)
		arm(o[i] = new_owner(), 10, 0);
	forget(o[1]);
	forget(o[1]);
	assert_int_equal(lsh_watchdog_take_due(k->w, 10, due, 3), 2);
	for (size_t i = 0; i < 2; i++) {
		assert_ptr_not_equal(due[i].timer, &o[1]->timer);
		drop(owner_of(due[i].timer));
	}
	for (size_t i = 0; i < 3; i++)
		drop(o[i]);
}

static void
an_armed_timer_can_be_moved_both_ways(void **state)
{
	struct kennel *k = *state;
	struct owner *a = new_owner(), *b = new_owner();

	reserve(k, 2);
	arm(a, 10, 0);
	arm(b, 20, 0);
	arm(a, 30, 0);
	assert_true(lsh_watchdog_next(k->w) == 20);
	arm(a, 5, 0);
	assert_true(lsh_watchdog_next(k->w) == 5);
	arm(a, LSH_NEVER, 0);
	forget(b);
	assert_true(lsh_watchdog_next(k->w) == LSH_NEVER);
	forget(a);
	drop(a);
	drop(b);
}

static void
without_a_clock_everything_is_due(void **state)
{
	struct kennel *k = *state;
	struct owner *a = new_owner(), *b = new_owner();
	struct lsh_due due[2];

	reserve(k, 2);
	arm(a, LSH_NEVER, 0);
	arm(b, HOUR, 0);
	assert_int_equal(lsh_watchdog_take_due(k->w, LSH_NEVER, due, 2), 2);
	assert_ptr_equal(due[0].timer, &b->timer);
	for (int i = 0; i < 2; i++) {
		drop(a);
		drop(b);
	}
}

static void
moments_at_the_ends_of_the_range_are_fine(void **state)
{
	struct kennel *k = *state;
	struct owner *a = new_owner(), *b = new_owner();
	struct lsh_due due[2];

	reserve(k, 2);
	arm(a, INT64_MIN, 0);
	pthread_mutex_lock(&b->mutex);
	lsh_watchdog_arm(k->w, &b->timer, INT64_MIN + 1, INT64_MAX);
	pthread_mutex_unlock(&b->mutex);
	assert_int_equal(lsh_watchdog_take_due(k->w, INT64_MIN, due, 2), 2);
	for (int i = 0; i < 2; i++) {
		drop(a);
		drop(b);
	}
}

static void
a_million_locks_and_releases_leave_nothing_behind(void **state)
{
	struct kennel *k = *state;
	struct owner *o = new_owner();
	struct lsh_due due[1];

	atomic_store(&largest, 0);
	for (int64_t i = 0; i < 1000000; i++) {
		if (!lsh_watchdog_reserve(k->w))
			fail();
		arm(o, i, 0);
		forget(o);
		lsh_watchdog_unreserve(k->w);
	}
	assert_true(lsh_watchdog_next(k->w) == LSH_NEVER);
	assert_int_equal(lsh_watchdog_take_due(k->w, LSH_NEVER, due, 1), 0);
	assert_int_equal(o->timer.generation, 2000000);
	assert_int_equal(o->references, 1);
	assert_true(largest <= 1024);
	drop(o);
}

static void
what_was_reserved_can_be_armed_without_memory(void **state)
{
	struct kennel *k = *state;
	struct owner *o[300];
	size_t before;

	reserve(k, COUNT(o));
	no_memory = true;
	before = allocations;
	for (size_t i = 0; i < COUNT(o); i++)
		arm(o[i] = new_owner(), (int64_t)(i * 7919 % COUNT(o)), 0);
	for (size_t i = 0; i < COUNT(o); i++)
		forget(o[i]);
	assert_int_equal(allocations, before);
	for (size_t i = 0; i < COUNT(o); i++) {
		lsh_watchdog_unreserve(k->w); /* may try to shrink, and may not fail */
		drop(o[i]);
	}
	assert_null(lsh_watchdog_new(&ops, NULL));
}

static void
a_reservation_without_memory_fails(void **state)
{
	struct kennel *k = *state;

	no_memory = true;
	assert_false(lsh_watchdog_reserve(k->w));
	no_memory = false;
	assert_true(lsh_watchdog_reserve(k->w));
}

/* However their starts are scattered, the leases of one program are renewed together: see SLACK_SHARE in pace.c. */
static void
a_thousand_leases_are_renewed_in_a_dozen_batches_per_period(void **state)
{
	static struct owner *o[1000];
	static struct lsh_due due[COUNT(o)];
	const int64_t lease = 30 * LSH_S;
	struct kennel *k = *state;
	uint32_t random = 1;
	int64_t now = 0;
	unsigned batches = 0, renewals = 0;

	reserve(k, COUNT(o));
	for (size_t i = 0; i < COUNT(o); i++) {
		random = random * 1664525 + 1013904223;
		arm(o[i] = new_owner(), (int64_t)(random % 10000) * LSH_MS, lsh_pace_slack(lease));
	}
	while ((now = lsh_watchdog_next(k->w)) < 110 * LSH_S) {
		size_t n = lsh_watchdog_take_due(k->w, now, due, COUNT(due));

		assert_true(n > 0);
		if (now >= 10 * LSH_S) { /* ten thirds of a lease, after one to settle in */
			batches++;
			renewals += (unsigned)n;
		}
		for (size_t i = 0; i < n; i++) {
			random = random * 1664525 + 1013904223;
			arm(owner_of(due[i].timer), lsh_pace_next(now, lease, random), lsh_pace_slack(lease));
			drop(owner_of(due[i].timer));
		}
	}
	assert_true(batches <= 120);
	assert_true(renewals <= 13000); /* 10,000 were the least; what being early costs */
	for (size_t i = 0; i < COUNT(o); i++) {
		forget(o[i]);
		drop(o[i]);
	}
}

/* ---- With the thread. ---- */

static void
a_timer_fires_when_it_is_due_and_not_before(void **state)
{
	struct kennel *k = *state;
	struct owner *o = new_owner();

	reserve(k, 1);
	start(k);
	arm(o, lsh_now_ns() + 20 * LSH_MS, 0);
	await_true(k->fired == 1);
	assert_int_equal(k->wrong, 0);
	drop(o);
}

static void
timers_that_were_armed_before_the_start_fire(void **state)
{
	struct kennel *k = *state;
	struct owner *a = new_owner(), *b = new_owner();

	reserve(k, 2);
	arm(a, 0, 0);
	arm(b, lsh_now_ns() + LSH_MS, 0);
	start(k);
	await_true(k->fired == 2);
	assert_int_equal(k->wrong, 0);
	drop(a);
	drop(b);
}

static void
an_earlier_timer_wakes_the_thread(void **state)
{
	struct kennel *k = *state;
	struct owner *late = new_owner(), *early = new_owner();

	reserve(k, 2);
	start(k);
	arm(late, lsh_now_ns() + HOUR, 0);
	arm(early, lsh_now_ns() + 2 * LSH_MS, 0);
	await_true(k->fired == 1);
	pthread_mutex_lock(&early->mutex);
	assert_int_equal(early->fired, 1);
	pthread_mutex_unlock(&early->mutex);
	forget(late);
	drop(late);
	drop(early);
}

static void
only_an_earlier_arm_costs_a_system_call(void **state)
{
	struct kennel *k = *state;
	struct owner *o[3];
	int64_t at = lsh_now_ns() + HOUR;

	reserve(k, 3);
	for (size_t i = 0; i < 3; i++)
		o[i] = new_owner();
	start(k);
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
	for (size_t i = 0; i < 3; i++) {
		forget(o[i]);
		drop(o[i]);
	}
	assert_int_equal(settings, 3);
}

static void
a_wake_up_for_nothing_sets_the_timer_to_what_comes_next(void **state)
{
	struct kennel *k = *state;
	struct owner *gone = new_owner(), *next = new_owner();
	int64_t at = lsh_now_ns() + HOUR;

	reserve(k, 2);
	start(k);
	arm(gone, lsh_now_ns() + 20 * LSH_MS, 0);
	forget(gone);
	arm(next, at, 0);
	await_true(last_setting == at);
	assert_int_equal(k->wrong, 0);
	forget(next);
	drop(gone);
	drop(next);
}

static void
arming_while_the_thread_is_about_costs_no_system_call(void **state)
{
	struct kennel *k = *state;
	struct owner *a = new_owner(), *b = new_owner();
	unsigned before;

	reserve(k, 2);
	start(k);
	k->hold = true;
	arm(a, lsh_now_ns(), 0);
	await_true(k->holding);
	before = settings;
	arm(b, 0, 0); /* earlier than all that was armed so far */
	assert_int_equal(settings, before);
	k->hold = false;
	await_true(k->fired == 2);
	drop(a);
	drop(b);
}

static void
a_great_many_are_handed_out_in_batches(void **state)
{
	static struct owner *o[1000];
	struct kennel *k = *state;
	int64_t at = lsh_now_ns() + 5 * LSH_MS;

	reserve(k, COUNT(o));
	start(k);
	for (size_t i = 0; i < COUNT(o); i++)
		arm(o[i] = new_owner(), at, 0);
	await_true(k->fired == COUNT(o));
	assert_true(k->largest_batch <= LSH_WATCHDOG_BATCH);
	assert_true(k->batches >= 4);
	assert_int_equal(k->wrong, 0);
	for (size_t i = 0; i < COUNT(o); i++)
		drop(o[i]);
}

static void
firing_allocates_nothing(void **state)
{
	struct kennel *k = *state;
	struct owner *o = new_owner();
	size_t before;

	reserve(k, 1);
	no_memory = true;
	before = allocations;
	start(k);
	o->again = true;
	arm(o, 0, 0);
	await_true(k->fired >= 1000);
	lsh_watchdog_stop(k->w);
	assert_int_equal(allocations, before);
	forget(o);
	drop(o);
}

static void
what_is_forgotten_while_it_is_being_fired_is_stale(void **state)
{
	struct kennel *k = *state;
	struct owner *o = new_owner();

	reserve(k, 1);
	start(k);
	k->hold = true;
	arm(o, 0, 0);
	await_true(k->holding);
	forget(o);
	lsh_watchdog_unreserve(k->w);
	drop(o); /* the last reference is the one that fire() has */
	k->hold = false;
	await_true(k->owners == 0);
	assert_int_equal(k->stale, 1);
	assert_int_equal(k->fired, 0);
}

static void *
stop(void *arg)
{
	struct kennel *k = arg;

	lsh_watchdog_stop(k->w);
	return k->left ? k : NULL;
}

static void
stop_returns_when_what_is_being_fired_has_been_and_nothing_fires_after_it(void **state)
{
	struct kennel *k = *state;
	struct owner *a = new_owner(), *b = new_owner();
	pthread_t stopper;
	void *had_left;

	reserve(k, 2);
	start(k);
	k->hold = true;
	arm(a, 0, 0);
	await_true(k->holding);
	arm(b, 0, 0);
	assert_int_equal(pthread_create(&stopper, NULL, stop, k), 0);
	await_true(last_setting == 1 && settings >= 3); /* start, arm, stop */
	k->hold = false;
	assert_int_equal(pthread_join(stopper, &had_left), 0);
	assert_ptr_equal(had_left, k);

	assert_int_equal(k->fired, 1);
	arm(a, -1, 0);
	await_ms(5);
	assert_int_equal(k->fired, 1);
	assert_int_equal(settings, 3);
	forget(a);
	forget(b);
	drop(a);
	drop(b);
}

static void
a_sleeping_thread_can_be_stopped(void **state)
{
	struct kennel *k = *state;
	struct owner *o = new_owner();

	reserve(k, 1);
	lsh_watchdog_stop(k->w); /* which has not been started */
	start(k);
	arm(o, lsh_now_ns() + HOUR, 0);
	lsh_watchdog_stop(k->w);
	lsh_watchdog_stop(k->w);

	/* and started again */
	arm(o, 0, 0);
	start(k);
	await_true(k->fired == 1);
	drop(o);
	lsh_watchdog_free(NULL);
}

static void
without_a_descriptor_the_start_says_why_and_can_be_tried_again(void **state)
{
	struct kennel *k = *state;
	struct owner *o = new_owner();
	struct rlimit limit, none;

	reserve(k, 1);
	arm(o, 0, 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = limit;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(lsh_watchdog_start(k->w), EMFILE);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	lsh_watchdog_stop(k->w);
	arm(o, 0, 0);
	assert_int_equal(lsh_watchdog_start(k->w), 0);
	await_true(k->fired == 1);
	drop(o);
}

static atomic_uint looks;

static int64_t
no_clock(void)
{
	atomic_fetch_add(&looks, 1);
	return LSH_NEVER;
}

static int
open_without_clock(void **state)
{
	static const struct lsh_watchdog_ops blind = {no_clock, retain, fire};

	return open_with(state, &blind);
}

static void
without_a_clock_all_fires_at_once_and_then_the_thread_sleeps(void **state)
{
	struct kennel *k = *state;
	struct owner *a = new_owner(), *b = new_owner();

	reserve(k, 2);
	a->from_ns = b->from_ns = 0;
	pthread_mutex_lock(&a->mutex);
	a->armed = true;
	lsh_watchdog_arm(k->w, &a->timer, LSH_NEVER, 0);
	pthread_mutex_unlock(&a->mutex);
	pthread_mutex_lock(&b->mutex);
	b->armed = true;
	lsh_watchdog_arm(k->w, &b->timer, lsh_now_ns() + HOUR, 0);
	pthread_mutex_unlock(&b->mutex);
	atomic_store(&looks, 0);
	start(k);
	assert_int_equal(k->fired, 2);
	await_ms(5);
	assert_true(looks <= 3);
	drop(a);
	drop(b);
}

/* ---- Many threads. ---- */

static atomic_bool forgotten_fires; /* set by churn(): a timer that was forgotten has fired after all */

/* Takes locks and releases them, some before they come due, some while, some after. */
static void *
churn(void *arg)
{
	uint32_t random = (uint32_t)(uintptr_t)arg;

	for (int i = 0; i < 3000; i++) {
		struct owner *o = new_owner();
		unsigned fired;

		if (!lsh_watchdog_reserve(kennel->w))
			abort();
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
		lsh_watchdog_unreserve(kennel->w);
		drop(o);
	}
	return NULL;
}

static void
no_timer_fires_after_it_was_forgotten_whatever_the_threads_do(void **state)
{
	struct kennel *k = *state;
	pthread_t thread[3];
	unsigned fired;

	forgotten_fires = false;
	start(k);
	for (size_t i = 0; i < COUNT(thread); i++)
		assert_int_equal(pthread_create(&thread[i], NULL, churn, (void *)(uintptr_t)(i + 1)), 0);
	for (size_t i = 0; i < COUNT(thread); i++)
		assert_int_equal(pthread_join(thread[i], NULL), 0);
	assert_true(k->fired > 0);
	assert_true(lsh_watchdog_next(k->w) == LSH_NEVER);

	/* and the same while it is being stopped */
	for (size_t i = 0; i < COUNT(thread); i++)
		assert_int_equal(pthread_create(&thread[i], NULL, churn, (void *)(uintptr_t)(i + 4)), 0);
	fired = k->fired;
	await_true(k->fired > fired + 10);
	lsh_watchdog_stop(k->w);
	fired = k->fired;
	for (size_t i = 0; i < COUNT(thread); i++)
		assert_int_equal(pthread_join(thread[i], NULL), 0);
	assert_int_equal(k->fired, fired);
	assert_int_equal(k->wrong, 0);
	assert_false(forgotten_fires);
	assert_int_equal(k->owners, 0); /* every reference was given back */
	assert_true(lsh_watchdog_next(k->w) == LSH_NEVER);
}

#define watchdog_test(name) cmocka_unit_test_setup_teardown(name, open_kennel, close_kennel)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		watchdog_test(what_is_due_is_handed_out_in_order_and_no_more),
		watchdog_test(what_is_nearly_due_goes_along_only_when_something_is_due),
		watchdog_test(a_full_batch_leaves_the_rest_for_the_next),
		watchdog_test(every_arm_and_every_forget_makes_what_was_handed_out_stale),
		watchdog_test(what_is_forgotten_is_not_handed_out),
		watchdog_test(an_armed_timer_can_be_moved_both_ways),
		watchdog_test(without_a_clock_everything_is_due),
		watchdog_test(moments_at_the_ends_of_the_range_are_fine),
		watchdog_test(a_million_locks_and_releases_leave_nothing_behind),
		watchdog_test(what_was_reserved_can_be_armed_without_memory),
		watchdog_test(a_reservation_without_memory_fails),
		watchdog_test(a_thousand_leases_are_renewed_in_a_dozen_batches_per_period),
		watchdog_test(a_timer_fires_when_it_is_due_and_not_before),
		watchdog_test(timers_that_were_armed_before_the_start_fire),
		watchdog_test(an_earlier_timer_wakes_the_thread),
		watchdog_test(only_an_earlier_arm_costs_a_system_call),
		watchdog_test(a_wake_up_for_nothing_sets_the_timer_to_what_comes_next),
		watchdog_test(arming_while_the_thread_is_about_costs_no_system_call),
		watchdog_test(a_great_many_are_handed_out_in_batches),
		watchdog_test(firing_allocates_nothing),
		watchdog_test(what_is_forgotten_while_it_is_being_fired_is_stale),
		watchdog_test(stop_returns_when_what_is_being_fired_has_been_and_nothing_fires_after_it),
		watchdog_test(a_sleeping_thread_can_be_stopped),
		watchdog_test(without_a_descriptor_the_start_says_why_and_can_be_tried_again),
		cmocka_unit_test_setup_teardown(without_a_clock_all_fires_at_once_and_then_the_thread_sleeps, open_without_clock,
			close_kennel),
		watchdog_test(no_timer_fires_after_it_was_forgotten_whatever_the_threads_do),
	};

	if (leash_set_memory(&memory) != LEASH_OK)
		return 1;
	return cmocka_run_group_tests_name("watchdog", tests, NULL, NULL);
}
