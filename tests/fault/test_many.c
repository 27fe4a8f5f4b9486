/* Very many locks of one process. Many who want one lock: contract/test_laws. */
#include "tests/support/kept.h"
#include "tests/support/knob.h"
#include "tests/support/leashed.h"
#include "tests/support/test.h"

static leash_error err; /* what the last call said */

SENTENCE(a_process_holds_thousands_of_locks_through_a_lease)
{
	int64_t count = knob("LEASH_TEST_MANY_LOCKS", 2000), lease_ms = (int64_t)((double)count * await_slowness());
	leash_lock **many = calloc((size_t)count, sizeof(leash_lock *));
	static struct leashed_events events;
	struct server *one = kept(server_start(NULL));
	leash_client *holder;
	long long calls;

	assert_non_null(many);
	if (lease_ms < 6000)
		lease_ms = 6000;
	holder = leashed_open(server_uri(one), LEASH_OPTIONS(.lease_ms = lease_ms, .timeout_ms = 60000, .on_event = leashed_note_event, .event_arg = &events));
	int64_t began = await_now_ns();
	for (int64_t i = 0; i < count; i++) {
		char name[32];

		snprintf(name, sizeof name, "many %lld", (long long)i);
		many[i] = leashed_lock(holder, name, NULL);
		assert_status(LEASH_OK, leash_lock_acquire(many[i], 30000, &err));
	}
	int64_t took = await_now_ns() - began;
	calls = server_calls(one, "hget"); /* one for each renewal, and many renewals in a script */
	await_ms(lease_ms + lease_ms / 4);
	calls = server_calls(one, "hget") - calls;
	for (int64_t i = 0; i < count; i++)
		if (!leash_lock_held(many[i]))
			fail_msg("lock %lld of %lld is not held", (long long)i, (long long)count);
	printf("# %lld locks acquired in %.2f s; then %lld renewals in a lease and a quarter\n", (long long)count, (double)took / 1e9, calls);
	assert_int_equal(events.count[LEASH_EVENT_LOST], 0);
	assert_true(calls >= 2 * count);     /* each every third of the lease, */
	assert_true(calls <= 6 * count);     /* and not much more often */
	assert_int_equal(server_integer(one, "DBSIZE"), 2 * count + 1); /* the locks, their fences, and who has them */
	for (int64_t i = 0; i < count; i++) {
		assert_status(LEASH_OK, leash_lock_release(many[i], &err));
		leash_lock_free(many[i]);
	}
	leash_close(holder);
	await_true(server_integer(one, "DBSIZE") == count);
	free(many);
}
