/* What ends a hold by itself, and what prolongs it: max_hold_ms, alive_ms, no_renew, and leash_lock_extend(). */
#include "tests/support/leashed.h"
#include "tests/support/monitor.h"
#include "tests/support/place.h"
#include "tests/support/test.h"

#include <pthread.h>

static leash_client *client, *other;
static struct leashed_events events;

static void
start(void)
{
	memset(&events, 0, sizeof events);
	place_flush();
	client = place_client(LEASH_OPTIONS(.on_event = leashed_note_event, .event_arg = &events));
	other = place_client(NULL);
}

static void
stop(void)
{
	leash_close(client);
	leash_close(other);
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
	int64_t lease_ms = slow_ms(900), most_ms = slow_ms(2500), begun, acquired;
	leash_lock *lock = leashed_lock(client, "most", LEASH_LOCK_OPTIONS(.lease_ms = lease_ms, .max_hold_ms = most_ms));
	leash_error err;

	begun = await_now_ns();
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	acquired = await_now_ns();
	assert_true(ends_by(lock, acquired + most_ms * 1000000));
	assert_lost_and_unwound(lock);
	assert_true(events.at_ns[LEASH_EVENT_LOST] - begun >= 2 * lease_ms * 1000000); /* until then it was renewed */
	assert_int_equal(events.total, 1);
	await_true(place_is_free("most"));
	/* the next hold has its own time */
	assert_status(LEASH_OK, leash_lock_acquire(lock, 10000, &err));
	assert_true(leash_lock_remaining_ms(lock) > 0);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	leash_lock_free(lock);
}

SENTENCE(a_lease_longer_than_max_hold_ms_is_cut_from_the_start)
{
	int64_t most_ms = long_ms(40000, 5000);
	leash_lock *lock =
		leashed_lock(client, "cut", LEASH_LOCK_OPTIONS(.lease_ms = place_lease_ms(600000), .max_hold_ms = most_ms));
	leash_error err;
	int64_t left;

	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	assert_true(leash_lock_remaining_ms(lock) <= most_ms);
	left = place_left_ms("cut");
	assert_true(left > 0 && left <= most_ms);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	leash_lock_free(lock);
}

SENTENCE(a_holder_that_calls_alive_keeps_the_lock_and_one_that_stops_loses_it)
{
	int64_t lease_ms = slow_ms(900), alive_ms = slow_ms(450), end, last = 0;
	leash_lock *lock = leashed_lock(client, "hung", LEASH_LOCK_OPTIONS(.lease_ms = lease_ms, .alive_ms = alive_ms));
	leash_error err;

	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	end = await_now_ns() + 3 * lease_ms * 1000000;
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
	leash_lock_free(lock);
}

SENTENCE(a_holder_that_calls_alive_again_in_time_recovers)
{
	int64_t lease_ms = slow_ms(3000);
	leash_lock *lock =
		leashed_lock(client, "again", LEASH_LOCK_OPTIONS(.lease_ms = lease_ms, .alive_ms = slow_ms(300)));
	int64_t before;
	leash_error err;

	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	for (int i = 1; i <= 2; i++) {
		await_true(events.count[LEASH_EVENT_JEOPARDY] == i);
		assert_true(leash_lock_held(lock));
		assert_int_equal(events.count[LEASH_EVENT_RECOVERED], i - 1);
		before = leash_lock_remaining_ms(lock);
		leash_lock_alive(lock);
		await_true(events.count[LEASH_EVENT_RECOVERED] == i);
		await_true(leash_lock_remaining_ms(lock) > before); /* in a quorum once most have renewed it */
	}
	assert_int_equal(events.count[LEASH_EVENT_LOST], 0);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	leash_lock_free(lock);
}

SENTENCE(a_hold_that_is_not_renewed_ends_with_its_lease)
{
	int64_t lease_ms = slow_ms(900), begun, acquired;
	leash_lock *lock = leashed_lock(client, "once", LEASH_LOCK_OPTIONS(.lease_ms = lease_ms, .no_renew = true));
	struct monitor *monitor = monitor_start(place_at("once"));
	leash_error err;

	begun = await_now_ns();
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	acquired = await_now_ns();
	monitor_mark(monitor);
	assert_true(ends_by(lock, acquired + lease_ms * 1000000));
	await_true(events.count[LEASH_EVENT_LOST] == 1);
	assert_true(events.at_ns[LEASH_EVENT_LOST] - begun >= lease_ms * 1000000 / 10 * 9);
	assert_int_equal(events.total, 1); /* no jeopardy: it was meant to be so */
	assert_true(monitor_count(monitor, "evalsha") <= 1); /* the cancel, when it was over */
	assert_lost_and_unwound(lock);
	monitor_stop(monitor);
	leash_lock_free(lock);
}

SENTENCE(an_extension_prolongs_a_hold_that_is_not_renewed)
{
	int64_t lease_ms = slow_ms(900), longer_ms = slow_ms(2500), begun, extended;
	leash_lock *lock = leashed_lock(client, "longer", LEASH_LOCK_OPTIONS(.lease_ms = lease_ms, .no_renew = true));
	leash_error err;

	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	begun = await_now_ns();
	assert_status(LEASH_OK, leash_lock_extend(lock, longer_ms, &err));
	extended = await_now_ns();
	assert_true(ends_by(lock, extended + longer_ms * 1000000));
	assert_lost_and_unwound(lock);
	assert_true(events.at_ns[LEASH_EVENT_LOST] - begun >= longer_ms * 1000000 / 10 * 9);
	leash_lock_free(lock);
}

struct waiter {
	leash_lock *lock;
	int64_t wait_ms;
	leash_status status;
	leash_error err;
	int64_t most_ms;    /* it must not be held longer than that */
	bool ended_in_time;
	pthread_t thread;
};

static void *
wait_and_watch_it_end(void *arg)
{
	struct waiter *w = arg;

	w->status = leash_lock_acquire(w->lock, w->wait_ms, &w->err);
	if (w->status == LEASH_OK) {
		w->ended_in_time = ends_by(w->lock, await_now_ns() + w->most_ms * 1000000);
		w->status = leash_lock_release(w->lock, &w->err);
	}
	return NULL;
}

static void
start_waiting(struct waiter *w)
{
	assert_int_equal(pthread_create(&w->thread, NULL, wait_and_watch_it_end, w), 0);
}

SENTENCE(a_hold_that_is_not_renewed_gets_its_full_lease_also_when_it_was_handed_on)
{
	int64_t lease_ms = slow_ms(2400) < 2900 ? slow_ms(2400) : 2900; /* a claim is as long as that */
	leash_lock *held = leashed_lock(other, "handed", NULL);
	leash_lock *lock = leashed_lock(client, "handed", LEASH_LOCK_OPTIONS(.lease_ms = lease_ms, .no_renew = true));
	struct waiter w = {.lock = lock, .wait_ms = LEASH_FOREVER, .most_ms = 2 * lease_ms};
	int64_t released;
	leash_error err;

	assert_status(LEASH_OK, leash_lock_acquire(held, 0, &err));
	start_waiting(&w);
	place_await_waiting("handed", 1);
	await_ms(lease_ms / 4); /* its word comes after a third; what is handed on counts from the one before */
	released = await_now_ns();
	assert_status(LEASH_OK, leash_lock_release(held, &err));
	pthread_join(w.thread, NULL);
	assert_status(LEASH_LOST, (err = w.err, w.status));
	assert_true(w.ended_in_time);
	await_true(events.count[LEASH_EVENT_LOST] == 1);
	assert_true(events.at_ns[LEASH_EVENT_LOST] - released >= lease_ms * 1000000 / 10 * 9);
	leash_lock_free(held);
	leash_lock_free(lock);
}

SENTENCE(a_waiter_that_inherits_a_place_keeps_its_own_max_hold_ms)
{
	leash_lock *held = leashed_lock(other, "heir", NULL), *first = leashed_lock(client, "heir", NULL);
	leash_lock *lock = leashed_lock(client, "heir", LEASH_LOCK_OPTIONS(.max_hold_ms = slow_ms(600)));
	struct waiter a = {.lock = first, .wait_ms = slow_ms(400)};
	struct waiter b = {.lock = lock, .wait_ms = LEASH_FOREVER, .most_ms = slow_ms(600)};
	leash_error err;

	assert_status(LEASH_OK, leash_lock_acquire(held, 0, &err));
	start_waiting(&a);
	place_await_waiting("heir", 1);
	start_waiting(&b);
	pthread_join(a.thread, NULL);
	assert_status(LEASH_TIMEOUT, (err = a.err, a.status));
	await_ms(100);
	assert_status(LEASH_OK, leash_lock_release(held, &err));
	pthread_join(b.thread, NULL);
	assert_true(b.ended_in_time);
	assert_status(LEASH_LOST, (err = b.err, b.status));
	await_true(place_is_free("heir"));
	leash_lock_free(held);
	leash_lock_free(first);
	leash_lock_free(lock);
}

SENTENCE(an_extension_never_shortens_a_lease_and_is_what_was_asked_for)
{
	int64_t lease_ms = long_ms(300000, 6000), longer_ms = long_ms(900000, 10000), span_ms = long_ms(100000, 3000);
	leash_lock *lock = leashed_lock(client, "extended", LEASH_LOCK_OPTIONS(.lease_ms = lease_ms));
	leash_error err;
	int64_t left;

	assert_status(LEASH_NOT_HELD, leash_lock_extend(lock, 1000, &err));
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	assert_status(LEASH_OK, leash_lock_extend(lock, 100, &err));
	left = place_left_ms("extended");
	assert_true(left > lease_ms - span_ms && left <= lease_ms);
	left = leash_lock_remaining_ms(lock);
	assert_true(left > lease_ms - span_ms && left <= lease_ms);
	assert_status(LEASH_OK, leash_lock_extend(lock, longer_ms, &err));
	left = place_left_ms("extended");
	assert_true(left > longer_ms - span_ms && left <= longer_ms);
	left = leash_lock_remaining_ms(lock);
	assert_true(left > longer_ms - span_ms && left <= longer_ms);
	assert_status(LEASH_OK, leash_lock_extend(lock, lease_ms, &err));
	assert_true(place_left_ms("extended") > longer_ms - span_ms);
	assert_true(leash_lock_remaining_ms(lock) > longer_ms - span_ms);
	assert_status(LEASH_INVALID, leash_lock_extend(lock, 99, &err));
	assert_status(LEASH_INVALID, leash_lock_extend(lock, 86400001, &err));
	assert_status(LEASH_OK, leash_lock_extend(lock, place_lease_ms(86400000), &err));
	assert_true(leash_lock_held(lock));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	place_assert_free("extended");
	leash_lock_free(lock);
}

SENTENCE(an_extension_is_cut_to_what_max_hold_ms_leaves)
{
	int64_t most_ms = long_ms(400000, 8000), span_ms = long_ms(100000, 4000);
	leash_lock *lock = leashed_lock(client, "bounded", LEASH_LOCK_OPTIONS(.lease_ms = span_ms, .max_hold_ms = most_ms));
	leash_error err;
	int64_t left;

	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	assert_status(LEASH_OK, leash_lock_extend(lock, place_lease_ms(86400000), &err));
	left = place_left_ms("bounded");
	assert_true(left > most_ms - span_ms && left <= most_ms);
	left = leash_lock_remaining_ms(lock);
	assert_true(left > most_ms - span_ms && left <= most_ms);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	leash_lock_free(lock);
}

SENTENCE(the_renewals_of_a_short_lease_leave_a_long_extension_alone)
{
	int64_t longer_ms = place_lease_ms(600000), span_ms = long_ms(100000, 5000);
	leash_lock *lock = leashed_lock(client, "both", LEASH_LOCK_OPTIONS(.lease_ms = 900));
	leash_error err;

	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	assert_status(LEASH_OK, leash_lock_extend(lock, longer_ms, &err));
	await_ms(1000); /* whether they are sent or not */
	assert_true(place_left_ms("both") > longer_ms - span_ms);
	assert_true(leash_lock_remaining_ms(lock) > longer_ms - span_ms);
	assert_int_equal(events.total - place_thin(&events), 0);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	leash_lock_free(lock);
}
