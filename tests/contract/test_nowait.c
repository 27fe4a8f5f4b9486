/* Releases for whose answer nobody waits, or not for long. What one answer means is said by core/test_single. */
#include "tests/contract/interface.h"

static struct leashed_events events;
static leash_client *client;

static void
begin(void)
{
	memset(&events, 0, sizeof events);
	client = kept(open_client());
}

FIXTURE(begin, NULL);
PLACE(place_open_counted);

static leash_lock *
without_waiting(const char *name)
{
	return kept(leashed_lock(client, name, LEASH_LOCK_OPTIONS(.release_nowait = true, .on_event = leashed_note_event,
	                                                          .event_arg = &events)));
}

SENTENCE(what_is_released_without_waiting_can_be_had_by_another_client)
{
	leash_lock *lock = without_waiting("left"), *other = kept(leashed_lock(kept(open_client()), "left", NULL));

	for (int i = 0; i < 20; i++) {
		assert_status(LEASH_OK, leash_lock_acquire(lock, 20000, &err));
		assert_status(LEASH_OK, leash_lock_release(lock, &err));
		assert_holds_nothing(lock);
		assert_status(LEASH_NOT_HELD, leash_lock_release(lock, &err));
		assert_status(LEASH_OK, leash_lock_acquire(other, 20000, &err));
		assert_status(LEASH_OK, leash_lock_release_within(other, 0, &err));
	}
	assert_int_equal(events.total, 0);
}

SENTENCE(who_does_not_wait_hears_of_a_loss_that_the_release_finds)
{
	leash_lock *lock = without_waiting("lost");

	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	place_take_away("lost");
	leash_lock_release(lock, &err); /* OK, or LOST if it was known by then */
	await_true(events.count[LEASH_EVENT_LOST] == 1);
}

SENTENCE(a_server_that_stands_still_holds_up_a_release_for_no_longer_than_was_said)
{
	leash_lock *lock = kept(leashed_lock(client, "still", NULL)), *left = without_waiting("left");

	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	assert_status(LEASH_OK, leash_lock_acquire(left, 0, &err));
	place_pause();
	assert_status(LEASH_OK, leash_lock_release(left, &err));
	assert_status(LEASH_UNKNOWN, leash_lock_release_within(lock, 50, &err));
	place_resume();
	await_true(place_is_free("still") && place_is_free("left"));
}

SENTENCE(a_release_that_waits_for_a_time_that_is_none_releases_nothing)
{
	leash_lock *lock = kept(leashed_lock(client, "odd", NULL));

	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	assert_status(LEASH_INVALID, leash_lock_release_within(lock, -1, &err));
	assert_non_null(strstr(err.text, "wait_ms is -1, but must be from 0 to 86400000"));
	assert_status(LEASH_INVALID, leash_lock_release_within(lock, 86400001, &err));
	assert_status(LEASH_OK, leash_lock_release_within(lock, 86400000, &err));
	place_assert_free("odd");
}
