/* The server goes away, stands still, or lacks a command: what those learn who hold, who wait, and who come. */
#include "tests/fault/real.h"
#include "tests/fault/refused.h"
#include "tests/support/lag.h"
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

SENTENCE(a_timed_acquire_ends_on_time_and_leaves_nothing)
{
	static const int64_t waits_ms[] = {1, 50, 300};

	for (int killed = 0; killed < 2; killed++) {
		if (killed)
			server_kill(server);
		else
			server_pause(server);
		for (size_t i = 0; i < COUNT(waits_ms); i++) {
			int64_t begun, late;

			lag_begin();
			begun = await_now_ns();
			assert_refused(LEASH_UNAVAILABLE, server_uri(server), "lock 'refused'",
			               leash_lock_acquire(lock, waits_ms[i], &err));
			late = await_now_ns() - begun - waits_ms[i] * MS;
			assert_true((double)(late - lag_end()) < 100e6 * await_slowness());
		}
		if (killed) {
			server_restart(server);
		} else {
			server_resume(server);
			/* the request is refused as too late, or canceled: never held by nobody */
			await_true(server_integer(server, "EXISTS leash:{refused} leash:{refused}:queue") == 0);
		}
	}
	check_that_all_is_well();
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

SENTENCE(an_outage_longer_than_the_lease_is_told_before_anybody_else_can_have_the_lock)
{
	leash_lock *brief = leashed_lock(client, "brief", LEASH_LOCK_OPTIONS(.lease_ms = 600));
	int64_t until;

	assert_status(LEASH_OK, leash_lock_acquire(brief, 0, &err));
	server_pause(server);
	until = await_now_ns() + leash_lock_remaining_ms(brief) * MS;
	await_true(events.count[LEASH_EVENT_LOST] == 1);
	assert_int_equal(events.count[LEASH_EVENT_JEOPARDY], 1);
	assert_true(events.at_ns[LEASH_EVENT_LOST] >= until - 2 * MS);
	assert_false(leash_lock_held(brief));
	server_resume(server);
	assert_status(LEASH_LOST, leash_lock_acquire(brief, 0, &err)); /* not before it is unwound */
	assert_status(LEASH_LOST, leash_lock_release(brief, &err));
	assert_status(LEASH_NOT_HELD, leash_lock_release(brief, &err));
	assert_status(LEASH_OK, leash_lock_acquire(brief, 5000, &err));
	leash_lock_release(brief, &err);
	leash_lock_free(brief);
}

SENTENCE(without_script_or_publish_all_goes_on, BETWEEN(NULL, NULL))
{
	static const char *const lacks[] = {"SCRIPT", "PUBLISH"};

	for (size_t i = 0; i < COUNT(lacks); i++) {
		static struct waiting next;
		struct server *lacking = server_start((const char *const[]){"--rename-command", lacks[i], "", NULL});
		leash_client *one = leashed_open(server_uri(lacking), NULL), *two = leashed_open(server_uri(lacking), NULL);
		leash_lock *held = leashed_lock(one, "lacking", LEASH_LOCK_OPTIONS(.lease_ms = slow_ms(1500)));

		assert_status(LEASH_OK, leash_lock_acquire(held, 0, &err));
		begin_waiting(&next, leashed_lock(two, "lacking", NULL), LEASH_FOREVER);
		await_true(server_integer(lacking, "ZCOUNT leash:{lacking}:queue (0 +inf") == 1);
		await_renewals(held, 1);
		assert_status(LEASH_OK, leash_lock_release(held, &err));
		end_waiting(&next, LEASH_OK);
		assert_int_equal(server_integer(lacking, "EXISTS leash:{lacking} leash:{lacking}:queue"), 0);
		leash_lock_free(held);
		leash_lock_free(next.wanted);
		leash_close(one);
		leash_close(two);
		server_stop(lacking);
	}
}
