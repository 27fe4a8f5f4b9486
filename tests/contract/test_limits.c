/* What ends a hold by itself, and what prolongs it, as real clocks tell it. All else of it is said by core/test_limits. */
#include "tests/support/kept.h"
#include "tests/support/leashed.h"
#include "tests/support/place.h"
#include "tests/support/test.h"

static leash_client *client;
static struct leashed_events events;

static void
start(void)
{
	memset(&events, 0, sizeof events);
	place_flush();
	client = place_client(LEASH_OPTIONS(.on_event = leashed_note_event, .event_arg = &events));
}

static void
stop(void)
{
	leash_close(client);
}

FIXTURE(start, stop);
PLACE(place_open);

/* A lease of minutes, or what comes near to it where none is that long. */
static int64_t
long_ms(int64_t ms, int64_t in_a_quorum_ms)
{
	return place_lease_ms(ms) == ms ? ms : in_a_quorum_ms;
}

/* Until it is not held any more. False: it still was after `latest` (ns). */
static bool
ends_by(leash_lock *lock, int64_t latest)
{
	int64_t before = await_now_ns();

	while (leash_lock_held(lock)) {
		if (before >= latest)
			return false;
		await_ms(1);
		before = await_now_ns();
	}
	return true;
}

static void
assert_lost_and_unwound(leash_lock *lock)
{
	leash_error err;

	await_true(events.count[LEASH_EVENT_LOST] == 1);
	assert_false(leash_lock_held(lock));
	assert_int_equal(leash_lock_remaining_ms(lock), 0);
	assert_status(LEASH_LOST, leash_lock_extend(lock, 1000, &err));
	assert_status(LEASH_LOST, leash_lock_release(lock, &err));
	assert_status(LEASH_NOT_HELD, leash_lock_release(lock, &err));
}

SENTENCE(max_hold_ms_ends_a_hold_that_would_be_renewed)
{
	int64_t lease_ms = slow_ms(900), most_ms = slow_ms(2500);
	leash_lock *lock = kept(leashed_lock(client, "most", LEASH_LOCK_OPTIONS(.lease_ms = lease_ms, .max_hold_ms = most_ms)));
	leash_error err;

	int64_t begun = await_now_ns();
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	int64_t acquired = await_now_ns();
	assert_true(ends_by(lock, acquired + most_ms * 1000000));
	assert_lost_and_unwound(lock);
	assert_true(events.at_ns[LEASH_EVENT_LOST] - begun >= 2 * lease_ms * 1000000); /* until then it was renewed */
	assert_int_equal(events.total, 1);
	await_true(place_is_free("most"));
	/* the next hold has its own time */
	assert_status(LEASH_OK, leash_lock_acquire(lock, 10000, &err));
	assert_true(leash_lock_remaining_ms(lock) > 0);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
}

SENTENCE(a_holder_that_calls_alive_keeps_the_lock_and_one_that_stops_loses_it)
{
	int64_t lease_ms = slow_ms(900), alive_ms = slow_ms(450), last = 0;
	leash_lock *lock = kept(leashed_lock(client, "hung", LEASH_LOCK_OPTIONS(.lease_ms = lease_ms, .alive_ms = alive_ms)));
	leash_error err;

	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	int64_t end = await_now_ns() + 3 * lease_ms * 1000000;
	while (await_now_ns() < end) {
		last = await_now_ns();
		leash_lock_alive(lock);
		assert_true(leash_lock_held(lock));
		await_ms(20);
	}
	assert_int_equal(events.count[LEASH_EVENT_LOST], 0);
	await_true(events.count[LEASH_EVENT_LOST] == 1);
	assert_true(events.order[events.total - 2] == LEASH_EVENT_JEOPARDY);
	assert_true(events.order[events.total - 1] == LEASH_EVENT_LOST);
	assert_true(events.at_ns[LEASH_EVENT_JEOPARDY] - last >= alive_ms * 1000000);
	leash_lock_alive(lock); /* too late */
	await_ms(20);
	assert_false(leash_lock_held(lock));
	assert_lost_and_unwound(lock);
	await_true(place_is_free("hung"));
}

SENTENCE(the_renewals_of_a_short_lease_leave_a_long_extension_alone)
{
	int64_t longer_ms = place_lease_ms(600000), span_ms = long_ms(100000, 5000);
	leash_lock *lock = kept(leashed_lock(client, "both", LEASH_LOCK_OPTIONS(.lease_ms = 900)));
	leash_error err;

	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	assert_status(LEASH_OK, leash_lock_extend(lock, longer_ms, &err));
	await_ms(1000); /* whether they are sent or not */
	assert_true(place_left_ms("both") > longer_ms - span_ms);
	assert_true(leash_lock_remaining_ms(lock) > longer_ms - span_ms);
	assert_int_equal(events.total - place_thin(&events), 0);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
}
