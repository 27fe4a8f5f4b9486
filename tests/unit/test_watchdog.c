/* The watchdog without its thread, by a clock of our own: what comes due together, and what is stale. */
#include "tests/support/test.h"
#include "tests/unit/watchdog_fixture.h"

#include "watchdog/pace.h"

static struct owner *o[1000];
static size_t count;

static void
end(void)
{
	counted_withhold(false);
	for (; count > 0; count--) {
		forget(o[count - 1]);
		assert_int_equal(o[count - 1]->references, 1);
		drop(o[count - 1]);
	}
	fixture_close();
}

FIXTURE(fixture_open, end);
GROUP(counted_start, NULL);

static void
arm_new(int64_t due, int64_t slack)
{
	o[count] = new_owner();
	arm(o[count++], due, slack);
}

/* These of the owners are handed out, up to a -1. */
static void
check_taken(int64_t now, size_t room, const int *which)
{
	struct lsh_due due[16];
	size_t n = lsh_watchdog_take_due(fixture->w, now, due, room);

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
	assert_true(lsh_watchdog_next(fixture->w) == due);
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
	assert_int_equal(lsh_watchdog_take_due(fixture->w, 10, &first, 1), 1);
	assert_int_equal(first.generation, o[0]->timer.generation);
	arm(o[0], 20, 0);
	assert_int_not_equal(first.generation, o[0]->timer.generation);
	assert_int_equal(lsh_watchdog_take_due(fixture->w, 20, &second, 1), 1);
	assert_int_equal(second.generation, o[0]->timer.generation);
	forget(o[0]); /* which is in no heap any more */
	serve(fixture, first);
	serve(fixture, second);
	assert_int_equal(fixture->stale, 2);
	assert_int_equal(fixture->fired, 0);
}

SENTENCE(an_armed_timer_can_be_moved_both_ways_and_forgotten)
{
	arm_new(10, 0);
	arm_new(20, 0);
	arm(o[0], 30, 0);
	comes_next(20);
	arm(o[0], 5, 0);
	comes_next(5);
	arm(o[0], LSH_NEVER, 0);
	forget(o[1]);
	forget(o[1]);
	comes_next(LSH_NEVER);
	takes(1000, 8, -1);
}

SENTENCE(without_a_clock_everything_is_due)
{
	arm_new(LSH_NEVER, 0);
	arm_new(HOUR, 0);
	takes(LSH_NEVER, 8, 1, 0, -1);
}

SENTENCE(moments_at_the_ends_of_the_range_are_fine)
{
	arm_new(INT64_MIN, 0);
	arm_new(0, 0);
	pthread_mutex_lock(&o[1]->mutex);
	lsh_watchdog_arm(fixture->w, &o[1]->timer, INT64_MIN + 1, INT64_MAX);
	pthread_mutex_unlock(&o[1]->mutex);
	takes(INT64_MIN, 8, 0, 1, -1);
}

SENTENCE(a_million_locks_and_releases_leave_nothing_behind)
{
	int64_t bytes;

	arm_new(0, 0);
	counted.most = bytes = counted.bytes;
	for (int64_t i = 0; i < 1000000; i++) {
		if (!lsh_watchdog_reserve(fixture->w))
			fail();
		arm(o[0], i, 0);
		forget(o[0]);
		lsh_watchdog_unreserve(fixture->w);
	}
	comes_next(LSH_NEVER);
	takes(LSH_NEVER, 8, -1);
	assert_int_equal(o[0]->timer.generation, 2000001);
	assert_true(counted.most - bytes <= 1024);
}

SENTENCE(what_was_reserved_can_be_armed_without_memory)
{
	size_t before;

	for (int64_t i = 0; i < 300; i++)
		arm_new(0, 0);
	counted_withhold(true);
	before = (size_t)counted.calls;
	for (size_t i = 0; i < count; i++)
		arm(o[i], (int64_t)(i * 7919 % count), 0);
	for (size_t i = 0; i < count; i++)
		forget(o[i]);
	assert_int_equal(counted.calls, before);
	for (size_t i = 0; i < count; i++)
		lsh_watchdog_unreserve(fixture->w); /* may try to shrink, and may not fail */
	assert_null(lsh_watchdog_new(&ops, NULL));
}

SENTENCE(a_reservation_without_memory_fails)
{
	counted_withhold(true);
	assert_false(lsh_watchdog_reserve(fixture->w));
	counted_withhold(false);
	assert_true(lsh_watchdog_reserve(fixture->w));
}

/* However their starts are scattered, the leases of one program are renewed together: see SLACK_SHARE in pace.c. */
SENTENCE(a_thousand_leases_are_renewed_in_a_dozen_batches_per_period)
{
	static struct lsh_due due[COUNT(o)];
	const int64_t lease = 30 * LSH_S;
	unsigned batches = 0, renewals = 0;
	uint32_t random = 1;

	for (size_t i = 0; i < COUNT(o); i++) {
		random = random * 1664525 + 1013904223;
		arm_new((int64_t)(random % 10000) * LSH_MS, lsh_pace_slack(lease));
	}
	for (int64_t now; (now = lsh_watchdog_next(fixture->w)) < 110 * LSH_S;) {
		size_t n = lsh_watchdog_take_due(fixture->w, now, due, COUNT(due));

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
}
