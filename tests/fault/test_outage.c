/* The server goes away, with its data or without: what those learn who hold, who wait, and who come. */
#include "tests/fault/real.h"
#include "tests/fault/refused.h"
#include "tests/support/test.h"

static leash_error err;

FIXTURE(start_real, stop_real);

SENTENCE(after_a_restart_without_data_the_holder_has_lost_and_the_waiter_gets_the_lock)
{
	static struct waiting w, local;
	leash_client *waiter = leashed_open(server_uri(server), NULL);
	leash_lock *held = leashed_lock(client, "held", LEASH_LOCK_OPTIONS(.lease_ms = slow_ms(120000)));

	assert_status(LEASH_OK, leash_lock_acquire(held, 0, &err));
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	begin_waiting(&w, leashed_lock(waiter, "refused", NULL), LEASH_FOREVER);
	begin_waiting(&local, lock, LEASH_FOREVER);
	await_true(server_integer(server, "ZCOUNT leash:{refused}:queue (0 +inf") == 1);
	server_kill(server);
	assert_true(leash_lock_held(held)); /* who knows */
	server_restart(server);
	/* far sooner than the lease would end */
	await_true(events.count[LEASH_EVENT_LOST] == 2);
	assert_false(leash_lock_held(held));
	end_waiting(&w, LEASH_OK);
	assert_status(LEASH_LOST, leash_lock_release(held, &err));
	assert_status(LEASH_LOST, leash_lock_release(lock, &err));
	end_waiting(&local, LEASH_OK);
	await_true(strcmp(server_text(server, "KEYS leash:{*"), "leash:{refused}:fence") == 0);
	leash_lock_free(held);
	leash_lock_free(w.wanted);
	leash_close(waiter);
}

SENTENCE(a_lock_outlives_a_short_outage_of_a_server_that_keeps_its_data, BETWEEN(NULL, NULL))
{
	struct server *keeps = server_start((const char *const[]){"--appendonly", "yes", "--appendfsync", "always", NULL});
	struct leashed_events told = {0};
	leash_client *holder = leashed_open(server_uri(keeps), LEASH_OPTIONS(.lease_ms = 60000, .event_arg = &told,
	                                                                     .on_event = leashed_note_event));
	leash_lock *kept = leashed_lock(holder, "kept", NULL);

	assert_status(LEASH_OK, leash_lock_acquire(kept, 0, &err));
	for (int i = 0; i < 2; i++) {
		int64_t before;

		await_ms(200); /* so that a renewal is seen */
		before = leash_lock_remaining_ms(kept);
		server_kill(keeps);
		server_restart(keeps);
		await_true(leash_lock_remaining_ms(kept) > before); /* renewed as soon as it could be */
	}
	assert_int_equal(told.count[LEASH_EVENT_LOST], 0);
	assert_status(LEASH_OK, leash_lock_release(kept, &err));
	leash_lock_free(kept);
	leash_close(holder);
	server_stop(keeps);
}
