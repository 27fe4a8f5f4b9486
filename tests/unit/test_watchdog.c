/* The watchdog without its thread, by a clock of our own: what comes due together, and what is stale. */
#include "tests/support/test.h"
#include "tests/unit/watchdog_fixture.h"

#include "watchdog/pace.h"

FIXTURE(fixture_open, fixture_close);
GROUP(fixture_memory, NULL);

SENTENCE(what_is_due_is_handed_out_in_order_and_no_more)
{
	struct owner *o[5];
	struct lsh_due due[8];
	static const int64_t when[] = {30, 10, 20, 40, LSH_NEVER};

	for (size_t i = 0; i < 5; i++)
		arm(o[i] = new_owner(), when[i], 0);
	assert_true(lsh_watchdog_next(fixture->w) == 10);
	assert_int_equal(lsh_watchdog_take_due(fixture->w, 9, due, 8), 0);
	assert_int_equal(lsh_watchdog_take_due(fixture->w, 20, due, 8), 2);
	assert_ptr_equal(due[0].timer, &o[1]->timer);
	assert_ptr_equal(due[1].timer, &o[2]->timer);
	assert_int_equal(due[0].generation, o[1]->timer.generation);
	assert_int_equal(o[1]->references, 2);
	assert_int_equal(o[0]->references, 1);
	assert_true(lsh_watchdog_next(fixture->w) == 30);
	assert_int_equal(lsh_watchdog_take_due(fixture->w, LSH_NEVER - 1, due, 8), 2);
	assert_true(lsh_watchdog_next(fixture->w) == LSH_NEVER);
	forget(o[4]);
	drop_all(o, 4, 1);
	drop_all(o, 5, 1);
}

SENTENCE(what_is_nearly_due_goes_along_only_when_something_is_due)
{
	struct owner *o[4];
	struct lsh_due due[8];

	arm(o[0] = new_owner(), 100, 50);
	arm(o[1] = new_owner(), 110, 10);
	arm(o[2] = new_owner(), 120, 19); /* not yet at 100 */
	arm(o[3] = new_owner(), 130, 99); /* in its slack, but behind one that is not */
	assert_int_equal(lsh_watchdog_take_due(fixture->w, 99, due, 8), 0);
	assert_int_equal(lsh_watchdog_take_due(fixture->w, 100, due, 8), 2);
	assert_ptr_equal(due[0].timer, &o[0]->timer);
	assert_ptr_equal(due[1].timer, &o[1]->timer);
	assert_int_equal(lsh_watchdog_take_due(fixture->w, 101, due, 8), 0);
	assert_int_equal(lsh_watchdog_take_due(fixture->w, 120, due, 8), 2);
	drop_all(o, 4, 2);
}

SENTENCE(a_slack_below_zero_is_none)
{
	struct owner *o[2];
	struct lsh_due due[2];

	arm(o[0] = new_owner(), 100, 0);
	arm(o[1] = new_owner(), 110, -1000);
	assert_int_equal(lsh_watchdog_take_due(fixture->w, 109, due, 2), 1);
	assert_int_equal(lsh_watchdog_take_due(fixture->w, 110, due, 2), 1);
	drop_all(o, 2, 2);
}

SENTENCE(a_full_batch_leaves_the_rest_for_the_next)
{
	struct owner *o[10];
	struct lsh_due due[10];

	for (size_t i = 0; i < 10; i++)
		arm(o[i] = new_owner(), (int64_t)i, 0);
	assert_int_equal(lsh_watchdog_take_due(fixture->w, 50, due, 0), 0);
	assert_int_equal(lsh_watchdog_take_due(fixture->w, 50, due, 4), 4);
	assert_int_equal(lsh_watchdog_take_due(fixture->w, 50, due + 4, 4), 4);
	assert_int_equal(lsh_watchdog_take_due(fixture->w, 50, due + 8, 2), 2);
	for (size_t i = 0; i < 10; i++) {
		assert_ptr_equal(due[i].timer, &o[i]->timer);
		drop(o[i]);
		drop(o[i]);
	}
}

SENTENCE(every_arm_and_every_forget_makes_what_was_handed_out_stale)
{
	struct owner *o = new_owner();
	struct lsh_due first, second;

	arm(o, 10, 0);
	assert_int_equal(lsh_watchdog_take_due(fixture->w, 10, &first, 1), 1);
	assert_int_equal(first.generation, o->timer.generation);
	arm(o, 20, 0);
	assert_int_not_equal(first.generation, o->timer.generation);
	assert_int_equal(lsh_watchdog_take_due(fixture->w, 20, &second, 1), 1);
	assert_int_equal(second.generation, o->timer.generation);
	forget(o); /* which is in no heap any more */
	assert_int_not_equal(first.generation, o->timer.generation);
	assert_int_not_equal(second.generation, o->timer.generation);

	serve(fixture, first);
	serve(fixture, second);
	assert_int_equal(fixture->stale, 2);
	assert_int_equal(fixture->fired, 0);
	drop(o);
}

SENTENCE(what_is_forgotten_is_not_handed_out)
{
	struct owner *o[3];
	struct lsh_due due[3];

	for (size_t i = 0; i < 3; i++)
		arm(o[i] = new_owner(), 10, 0);
	forget(o[1]);
	forget(o[1]);
	assert_int_equal(lsh_watchdog_take_due(fixture->w, 10, due, 3), 2);
	for (size_t i = 0; i < 2; i++) {
		assert_ptr_not_equal(due[i].timer, &o[1]->timer);
		drop(owner_of(due[i].timer));
	}
	drop_all(o, 3, 1);
}

SENTENCE(an_armed_timer_can_be_moved_both_ways)
{
	struct owner *a = new_owner(), *b = new_owner();

	arm(a, 10, 0);
	arm(b, 20, 0);
	arm(a, 30, 0);
	assert_true(lsh_watchdog_next(fixture->w) == 20);
	arm(a, 5, 0);
	assert_true(lsh_watchdog_next(fixture->w) == 5);
	arm(a, LSH_NEVER, 0);
	forget(b);
	assert_true(lsh_watchdog_next(fixture->w) == LSH_NEVER);
	forget(a);
	drop(a);
	drop(b);
}

SENTENCE(without_a_clock_everything_is_due)
{
	struct owner *a = new_owner(), *b = new_owner();
	struct lsh_due due[2];

	arm(a, LSH_NEVER, 0);
	arm(b, HOUR, 0);
	assert_int_equal(lsh_watchdog_take_due(fixture->w, LSH_NEVER, due, 2), 2);
	assert_ptr_equal(due[0].timer, &b->timer);
	for (int i = 0; i < 2; i++) {
		drop(a);
		drop(b);
	}
}

SENTENCE(moments_at_the_ends_of_the_range_are_fine)
{
	struct owner *a = new_owner(), *b = new_owner();
	struct lsh_due due[2];

	arm(a, INT64_MIN, 0);
	pthread_mutex_lock(&b->mutex);
	lsh_watchdog_arm(fixture->w, &b->timer, INT64_MIN + 1, INT64_MAX);
	pthread_mutex_unlock(&b->mutex);
	assert_int_equal(lsh_watchdog_take_due(fixture->w, INT64_MIN, due, 2), 2);
	for (int i = 0; i < 2; i++) {
		drop(a);
		drop(b);
	}
}

SENTENCE(a_million_locks_and_releases_leave_nothing_behind)
{
	struct owner *o = new_owner();
	struct lsh_due due[1];

	atomic_store(&largest, 0);
	for (int64_t i = 0; i < 1000000; i++) {
		if (!lsh_watchdog_reserve(fixture->w))
			fail();
		arm(o, i, 0);
		forget(o);
		lsh_watchdog_unreserve(fixture->w);
	}
	assert_true(lsh_watchdog_next(fixture->w) == LSH_NEVER);
	assert_int_equal(lsh_watchdog_take_due(fixture->w, LSH_NEVER, due, 1), 0);
	assert_int_equal(o->timer.generation, 2000000);
	assert_int_equal(o->references, 1);
	assert_true(largest <= 1024);
	drop(o);
}

SENTENCE(what_was_reserved_can_be_armed_without_memory)
{
	struct owner *o[300];
	size_t before;

	for (size_t i = 0; i < COUNT(o); i++)
		o[i] = new_owner();
	no_memory = true;
	before = allocations;
	for (size_t i = 0; i < COUNT(o); i++)
		arm(o[i], (int64_t)(i * 7919 % COUNT(o)), 0);
	for (size_t i = 0; i < COUNT(o); i++)
		forget(o[i]);
	assert_int_equal(allocations, before);
	for (size_t i = 0; i < COUNT(o); i++) {
		lsh_watchdog_unreserve(fixture->w); /* may try to shrink, and may not fail */
		drop(o[i]);
	}
	assert_null(lsh_watchdog_new(&ops, NULL));
}

SENTENCE(a_reservation_without_memory_fails)
{
	no_memory = true;
	assert_false(lsh_watchdog_reserve(fixture->w));
	no_memory = false;
	assert_true(lsh_watchdog_reserve(fixture->w));
}

/* However their starts are scattered, the leases of one program are renewed together: see SLACK_SHARE in pace.c. */
SENTENCE(a_thousand_leases_are_renewed_in_a_dozen_batches_per_period)
{
	static struct owner *o[1000];
	static struct lsh_due due[COUNT(o)];
	const int64_t lease = 30 * LSH_S;
	uint32_t random = 1;
	int64_t now = 0;
	unsigned batches = 0, renewals = 0;

	for (size_t i = 0; i < COUNT(o); i++) {
		random = random * 1664525 + 1013904223;
		arm(o[i] = new_owner(), (int64_t)(random % 10000) * LSH_MS, lsh_pace_slack(lease));
	}
	while ((now = lsh_watchdog_next(fixture->w)) < 110 * LSH_S) {
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
	for (size_t i = 0; i < COUNT(o); i++) {
		forget(o[i]);
		drop(o[i]);
	}
}
