/* Clients that are closed in the middle of calls, and threads that end while they hold. What a close does to those who
 * hold and wait is said by the laws; who ends after a loss, by core/test_owner.c. */
#include "tests/contract/interface.h"

/* ---- close ---- */

FIXTURE(note_what_there_is, nothing_is_left);
PLACE(life_open);

SENTENCE(a_closed_client_answers_closed_for_as_long_as_there_are_handles)
{
	leash_client *client = open_client();
	leash_lock *lock = leashed_lock(client, "closed", NULL), *second = kept(leashed_lock(client, "second", NULL));
	struct callee callee;

	callee_open(&callee, client, lock);
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	leash_close(client);
	place_assert_free("closed");
	for (int i = 0; i < 2; i++) {
		assert_string_equal(calls_not_refused(&callee, LEASH_CLOSED), "");
		assert_holds_nothing(lock);
		leash_lock_alive(lock);
	}
	callee_close(&callee);
	leash_lock_free(lock);
	assert_status(LEASH_CLOSED, leash_lock_acquire(second, 0, &err));
}

SENTENCE(close_ends_calls_that_are_under_way_whatever_they_are_doing)
{
	for (int round = 0; round < 25; round++) {
		leash_client *client = open_client();
		struct busy busy[4];

		busy_begin(busy, COUNT(busy), client);
		await_true(busy[0].turns > 10 * (round % 5) && busy[3].turns > 0);
		leash_close(client);
		/* what was held, what was just being acquired, and what was just being released */
		place_assert_free("busy");
		place_assert_free("odd");
		place_assert_free("even");
		busy_end(busy, COUNT(busy));
		assert_int_equal(counted.blocks, at_first);
	}
}

/* ---- threads that end ---- */

static void *
hold_and_end(void *arg)
{
	leash_lock *const *lock = arg;

	for (int i = 0; lock[i] != NULL; i++)
		for (int depth = 0; depth <= i; depth++)
			if (leash_lock_acquire(lock[i], 5000, &err) != LEASH_OK)
				return err.text;
	if (lock[1] == NULL)
		pthread_exit(NULL); /* from wherever it is, or by returning */
	return NULL;
}

static void *
look_only(void *lock)
{
	char token[LEASH_TOKEN_MAX];

	assert_false(leash_lock_held(lock));
	assert_int_equal(leash_lock_depth(lock), 0);
	assert_int_equal(leash_lock_fence(lock), 0);
	assert_int_equal(leash_lock_token(lock, token, sizeof token), 0);
	leash_lock_alive(lock);
	return NULL;
}

SENTENCE(a_thread_that_has_never_called_may_look)
{
	leash_client *client = kept(open_client());
	leash_lock *lock = kept(leashed_lock(client, "look", NULL));

	assert_null(in_a_thread(look_only, lock));
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	assert_null(in_a_thread(look_only, lock));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
}

SENTENCE(what_a_thread_holds_when_it_ends_is_abandoned)
{
	static struct leashed_events events;
	leash_client *client = kept(place_client(LEASH_OPTIONS(.on_event = leashed_note_event, .event_arg = &events)));
	leash_lock *lock[] = {kept(leashed_lock(client, "e0", NULL)), kept(leashed_lock(client, "e1", NULL)),
	                      kept(leashed_lock(client, "e2", NULL)), NULL};
	leash_lock *one[] = {lock[0], NULL};
	int expected = 0;

	for (int i = 0; i < 6; i++) {
		/* the third one is nested to depth 3 */
		assert_null(in_a_thread(hold_and_end, i % 2 ? one : lock));
		expected += i % 2 ? 1 : 3;
		await_true(events.count[LEASH_EVENT_ABANDONED] == expected);
		await_true(place_is_free("e0") && place_is_free("e1") && place_is_free("e2")); /* long before the lease ends */
		/* it was that thread's, and is nobody's now: also not a later thread's that is given what the ended one left */
		assert_int_equal(leash_lock_depth(lock[0]), 0);
		assert_status(LEASH_OK, leash_lock_acquire(lock[2], 0, &err));
		assert_int_equal(leash_lock_depth(lock[2]), 1);
		assert_status(LEASH_OK, leash_lock_release(lock[2], &err));
	}
	assert_int_equal(events.total, expected);
}
