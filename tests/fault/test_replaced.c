/* Keys that others put where ours should be, before, while and after we hold: theirs is left alone, and who held or waits is told. */
#include "tests/fault/real.h"
#include "tests/fault/refused.h"
#include "tests/support/test.h"

static _Thread_local leash_error err; /* what the last call said */

FIXTURE(start_real, stop_real);

SENTENCE(a_key_of_another_type_is_a_mismatch_and_left_alone)
{
	static const struct {
		const char *key, *make, *look, *looks;
	} theirs[] = {
		{"leash:{refused}", "SET leash:{refused} theirs", "GET leash:{refused}", "theirs"},
		{"leash:{refused}", "RPUSH leash:{refused} the irs", "LRANGE leash:{refused} 0 -1", "the irs"},
		{"leash:{refused}:fence", "RPUSH leash:{refused}:fence theirs", "LRANGE leash:{refused}:fence 0 -1", "theirs"},
		{"leash:{refused}:fence", "HSET leash:{refused}:fence the irs", "HGETALL leash:{refused}:fence", "the irs"},
		{"leash:{refused}:queue", "SET leash:{refused}:queue theirs", "GET leash:{refused}:queue", "theirs"},
		{"leash:{refused}:queue", "RPUSH leash:{refused}:queue theirs", "LRANGE leash:{refused}:queue 0 -1", "theirs"},
	};

	char named[80];

	for (size_t i = 0; i < sizeof theirs / sizeof *theirs; i++) {
		check_that_all_is_well();
		freeReplyObject(server_command(server, "DEL %s", theirs[i].key));
		ask_server(server, theirs[i].make);
		assert_refused(LEASH_MISMATCH, server_uri(server), "WRONGTYPE", leash_lock_acquire(lock, 0, &err));
		snprintf(named, sizeof named, "the key '%s' holds something else", theirs[i].key);
		check_text(err.text, named);
		assert_refused(LEASH_MISMATCH, server_uri(server), "lock 'refused'", leash_lock_acquire(lock, 30000, &err));
		assert_refused(LEASH_MISMATCH, server_uri(server), "WRONGTYPE", leash_lock_acquire(lock, LEASH_FOREVER, &err));
		assert_false(leash_lock_held(lock));
		await_ms(20); /* should there be a cancel of it */
		assert_string_equal(server_text(server, theirs[i].look), theirs[i].looks);
		assert_int_equal(server_integer(server, "PTTL %s", theirs[i].key), -1);
		assert_int_equal(server_integer(server, "EXISTS leash:{refused} leash:{refused}:queue") > (i < 2 || i > 3), false);
		freeReplyObject(server_command(server, "DEL %s", theirs[i].key));
	}
	check_that_all_is_well();
	check_ttls(server);
}

SENTENCE(a_lock_whose_key_was_replaced_is_lost_and_what_is_there_left_alone)
{
	int64_t lease_ms = slow_ms(6000), replaced;
	leash_lock *renewed = leashed_lock(client, "renewed", LEASH_LOCK_OPTIONS(.lease_ms = lease_ms));
	leash_lock *extended = leashed_lock(client, "extended", NULL), *released = leashed_lock(client, "released", NULL);

	assert_status(LEASH_OK, leash_lock_acquire(extended, 0, &err));
	assert_status(LEASH_OK, leash_lock_acquire(released, 0, &err));
	assert_status(LEASH_OK, leash_lock_acquire(renewed, 0, &err));
	replaced = await_now_ns();
	ask_server(server, "MSET leash:{renewed} theirs leash:{extended} theirs leash:{released} theirs");
	assert_status(LEASH_LOST, leash_lock_release(released, &err));
	check_text(err.text, "lock 'released'");
	assert_status(LEASH_LOST, leash_lock_extend(extended, 30000, &err));
	check_text(err.text, "lock 'extended'");
	assert_false(leash_lock_held(extended));
	assert_status(LEASH_LOST, leash_lock_release(extended, &err));
	/* within one renewal period and a trip: with another third of the lease to spare, and not at the end of the lease */
	await_true(events.count[LEASH_EVENT_LOST] == 2);
	assert_false(leash_lock_held(renewed));
	assert_true(events.at_ns[LEASH_EVENT_LOST] - replaced < lease_ms * 1000000 * 2 / 3);
	assert_status(LEASH_LOST, leash_lock_release(renewed, &err));
	await_ms(50); /* should there be a cancel of it */
	assert_string_equal(server_text(server, "MGET leash:{renewed} leash:{extended} leash:{released}"), "theirs theirs theirs");
	leash_lock_free(renewed);
	leash_lock_free(extended);
	leash_lock_free(released);
}

