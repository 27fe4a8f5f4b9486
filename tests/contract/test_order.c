/* The order of calls: releases without a hold, nesting to the limit, and handles that are freed with a hold. */
#include "tests/contract/refusal.h"

#include "tests/support/monitor.h"
#include "tests/support/test.h"

#include <pthread.h>

PLACE(refusal_open);

/* ---- the order of calls ---- */

SENTENCE(a_release_without_a_hold_is_told_so_and_disturbs_nobody)
{
	leash_client *client = open_client(), *other = open_client();
	leash_lock *lock = leashed_lock(client, "order", NULL), *twin = leashed_lock(client, "order", NULL),
		*theirs = leashed_lock(other, "order", NULL);
	struct monitor *monitor = monitor_start(place_at("order"));

	assert_refused(LEASH_NOT_HELD, "lock 'order'", leash_lock_release(lock, &err));
	assert_refused(LEASH_NOT_HELD, "lock 'order'", leash_lock_extend(lock, 1000, &err));
	assert_status(LEASH_OK, leash_lock_acquire(theirs, 0, &err));
	monitor_mark(monitor);
	assert_refused(LEASH_NOT_HELD, "lock 'order'", leash_lock_release(lock, &err));
	assert_refused(LEASH_NOT_HELD, "lock 'order'", leash_lock_extend(lock, 1000, &err));
	assert_int_equal(monitor_count(monitor, "evalsha"), 0); /* nothing is asked of the server for it */
	assert_true(leash_lock_held(theirs));
	assert_status(LEASH_OK, leash_lock_release(theirs, &err));

	/* twice */
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	assert_refused(LEASH_NOT_HELD, "lock 'order'", leash_lock_release(lock, &err));
	assert_status(LEASH_OK, leash_lock_acquire(theirs, 0, &err));
	assert_refused(LEASH_NOT_HELD, "lock 'order'", leash_lock_release(lock, &err));
	assert_true(leash_lock_held(theirs));
	assert_status(LEASH_OK, leash_lock_release(theirs, &err));

	/* once more than it was nested, through either handle */
	for (int i = 0; i < 3; i++)
		assert_status(LEASH_OK, leash_lock_acquire(i == 1 ? twin : lock, 0, &err));
	for (unsigned i = 3; i > 0; i--) {
		assert_int_equal(leash_lock_depth(twin), i);
		assert_status(LEASH_OK, leash_lock_release(twin, &err));
	}
	assert_refused(LEASH_NOT_HELD, "lock 'order'", leash_lock_release(lock, &err));
	assert_refused(LEASH_NOT_HELD, "lock 'order'", leash_lock_release(twin, &err));
	assert_int_equal(leash_lock_depth(lock), 0);
	place_assert_free("order");
	monitor_stop(monitor);
	leash_lock_free(lock);
	leash_lock_free(twin);
	leash_lock_free(theirs);
	leash_close(client);
	leash_close(other);
}

static void *
use_what_another_thread_holds(void *arg)
{
	leash_lock *lock = arg;

	assert_refused(LEASH_NOT_HELD, "lock 'threads'", leash_lock_release(lock, &err));
	assert_refused(LEASH_NOT_HELD, "lock 'threads'", leash_lock_extend(lock, 1000, &err));
	assert_refused(LEASH_TIMEOUT, "lock 'threads'", leash_lock_acquire(lock, 0, &err));
	assert_refused(LEASH_TIMEOUT, "lock 'threads'", leash_lock_acquire(lock, 30, &err));
	assert_holds_nothing(lock);
	leash_lock_alive(lock);
	return NULL;
}

SENTENCE(another_thread_cannot_release_extend_or_see_a_hold)
{
	leash_client *client = open_client();
	leash_lock *lock = leashed_lock(client, "threads", NULL);
	pthread_t thread;

	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	assert_int_equal(pthread_create(&thread, NULL, use_what_another_thread_holds, lock), 0);
	pthread_join(thread, NULL);
	assert_true(leash_lock_held(lock));
	assert_int_equal(leash_lock_depth(lock), 2);
	await_true(place_integer("threads", "HLEN leash:{threads}") == 1); /* of a quorum some servers may be late */
	assert_int_equal(place_integer("threads", "EXISTS leash:{threads}:queue"), 0);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	leash_lock_free(lock);
	leash_close(client);
}

SENTENCE(a_lock_is_nested_to_the_very_limit_and_not_beyond)
{
	leash_client *client = open_client();
	leash_lock *lock = leashed_lock(client, "deep", NULL);

	for (unsigned i = 1; i <= LEASH_DEPTH_MAX; i++) {
		assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
		assert_int_equal(leash_lock_depth(lock), i);
	}
	for (int i = 0; i < 3; i++)
		assert_refused(LEASH_INVALID, "lock 'deep'", leash_lock_acquire(lock, LEASH_FOREVER, &err));
	assert_int_equal(leash_lock_depth(lock), LEASH_DEPTH_MAX);
	assert_status(LEASH_OK, leash_lock_extend(lock, place_lease_ms(60000), &err)); /* which tells the depth, too */
	await_true(strcmp(place_text("deep", "HVALS leash:{deep}"), "65535") == 0);
	for (unsigned i = LEASH_DEPTH_MAX; i > 0; i--) {
		assert_true(leash_lock_held(lock));
		assert_status(LEASH_OK, leash_lock_release(lock, &err));
	}
	assert_refused(LEASH_NOT_HELD, "lock 'deep'", leash_lock_release(lock, &err));
	place_assert_free("deep");
	leash_lock_free(lock);
	leash_close(client);
}

/* ---- freeing ---- */

SENTENCE(the_last_handle_that_is_freed_takes_the_hold_with_it)
{
	struct leashed_events events = {0};
	leash_client *client = place_client(LEASH_OPTIONS(.on_event = leashed_note_event, .event_arg = &events));

	for (int depth = 1; depth <= 3; depth++) {
		leash_lock *lock = leashed_lock(client, "freed", NULL), *twin = leashed_lock(client, "freed", NULL);

		for (int i = 0; i < depth; i++)
			assert_status(LEASH_OK, leash_lock_acquire(lock, 5000, &err));
		leash_lock_free(lock);
		assert_true(leash_lock_held(twin)); /* not the last one yet */
		assert_int_equal(leash_lock_depth(twin), depth);
		await_true(place_integer("freed", "EXISTS leash:{freed}") == 1);
		assert_int_equal(events.count[LEASH_EVENT_ABANDONED], depth - 1);
		leash_lock_free(twin);
		await_true(place_is_free("freed")); /* long before the lease ends */
		await_true(events.count[LEASH_EVENT_ABANDONED] == depth);

		lock = leashed_lock(client, "freed", NULL);
		assert_int_equal(leash_lock_depth(lock), 0);
		assert_refused(LEASH_NOT_HELD, "lock 'freed'", leash_lock_release(lock, &err));
		leash_lock_free(lock);
	}
	assert_int_equal(events.total, 3);
	leash_close(client);
}

static void *
free_it(void *lock)
{
	leash_lock_free(lock);
	return NULL;
}

SENTENCE(a_hold_is_abandoned_whichever_thread_frees_the_last_handle)
{
	struct leashed_events events = {0};
	leash_client *client = place_client(NULL);
	leash_lock *lock = leashed_lock(client, "freed by another",
	                                LEASH_LOCK_OPTIONS(.on_event = leashed_note_event, .event_arg = &events)), *again;
	pthread_t thread;

	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	assert_int_equal(pthread_create(&thread, NULL, free_it, lock), 0);
	pthread_join(thread, NULL);
	await_true(events.count[LEASH_EVENT_ABANDONED] == 1);
	await_true(place_is_free("freed%20by%20another"));
	again = leashed_lock(client, "freed by another", NULL);
	assert_int_equal(leash_lock_depth(again), 0);
	assert_status(LEASH_OK, leash_lock_acquire(again, 5000, &err));
	assert_status(LEASH_OK, leash_lock_release(again, &err));
	leash_lock_free(again);
	leash_close(client);
}
