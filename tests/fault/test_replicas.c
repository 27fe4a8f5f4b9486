/* min_replicas and fsynced: nothing counts that too few replicas have acknowledged. What was acknowledged outlives the
 * server; what was not is released again, or told in time. What else is asked meanwhile: test_replicas_calls.c. */
#include "tests/fault/replicas.h"
#include "tests/support/sentinel_set.h"
#include "tests/support/test.h"

/* The master is dead, and this replica takes its place and port; the other one follows it. */
static void
promote(int i)
{
	server_kill(master);
	server_text(replica[i], "REPLICAOF NO ONE");
	server_text(replica[i], "CONFIG SET bind 127.0.0.1");
	server_text(replica[i], "CONFIG SET port %d", server_port(master));
	if (replica[1 - i] != NULL)
		server_text(replica[1 - i], "REPLICAOF 127.0.0.1 %d", server_port(master));
}

FIXTURE(start_with_one, stop);

/* ---- acquiring ---- */

SENTENCE(an_acquire_returns_when_the_replica_has_the_lock)
{
	leash_lock *lock = leashed_lock(client, "known", LEASH_LOCK_OPTIONS(.min_replicas = 1));
	char token[LEASH_TOKEN_MAX];

	proxy_delay(link_to[0], PROXY_TO_CLIENT, 100000);
	for (int i = 0; i < 3; i++) {
		assert_status(LEASH_OK, leash_lock_acquire(lock, 30000, &err));
		leash_lock_token(lock, token, sizeof token);
		assert_int_equal(server_integer(replica[0], "HEXISTS leash:{known} %s", token), 1);
		assert_true(leash_lock_held(lock));
		assert_status(LEASH_OK, leash_lock_release(lock, &err));
	}
	leash_lock_free(lock);
}

SENTENCE(with_the_replica_frozen_an_acquire_fails_within_its_limit_and_the_lock_is_free_afterwards)
{
	leash_lock *lock = leashed_lock(client, "frozen", LEASH_LOCK_OPTIONS(.min_replicas = 1, .replicas_ms = 1000));
	leash_client *other = open_client();
	leash_lock *theirs = leashed_lock(other, "frozen", NULL);
	int64_t began;

	server_pause(replica[0]);
	for (int i = 0; i < 2; i++) {
		began = await_now_ns();
		assert_refused(LEASH_UNAVAILABLE, server_uri_tcp(master),
		               "0 of 1 replicas acknowledged it in time: released again",
		               leash_lock_acquire(lock, i == 0 ? 0 : LEASH_FOREVER, &err));
		assert_true(await_now_ns() - began >= 700 * MS);
		assert_true(await_now_ns() - began < 10000 * MS); /* and not the client's timeout */
		assert_holds_nothing(lock);
		assert_status(LEASH_NOT_HELD, leash_lock_release(lock, &err));
		await_true(is_free("leash:{frozen}"));
		assert_status(LEASH_OK, leash_lock_acquire(theirs, 30000, &err));
		assert_status(LEASH_OK, leash_lock_release(theirs, &err));
	}
	assert_int_equal(events.total, 0); /* nobody was told of it, so nobody is told that it is gone */
	server_resume(replica[0]);
	leash_lock_free(lock);
	lock = leashed_lock(client, "frozen", LEASH_LOCK_OPTIONS(.min_replicas = 1));
	assert_status(LEASH_OK, leash_lock_acquire(lock, 30000, &err));
	leash_close(other);
	leash_lock_free(theirs);
	leash_lock_free(lock);
}

SENTENCE(too_few_are_counted, ON_TWO)
{
	leash_lock *both = leashed_lock(client, "both", LEASH_LOCK_OPTIONS(.min_replicas = 2, .replicas_ms = 1000));
	leash_lock *one = leashed_lock(client, "one", LEASH_LOCK_OPTIONS(.min_replicas = 1, .replicas_ms = slow_ms(20000)));
	leash_lock *many = leashed_lock(client, "many", LEASH_LOCK_OPTIONS(.min_replicas = 16, .replicas_ms = 1000));

	assert_status(LEASH_OK, leash_lock_acquire(one, 30000, &err));
	assert_refused(LEASH_UNAVAILABLE, server_uri_tcp(master),
	               "2 of 16 replicas acknowledged it in time: released again",
	               leash_lock_acquire(many, 30000, &err));
	hold_link(1);
	assert_refused(LEASH_UNAVAILABLE, server_uri_tcp(master), "1 of 2 replicas acknowledged it in time: released again",
	               leash_lock_acquire(both, 30000, &err));
	assert_status(LEASH_OK, leash_lock_release(one, &err));
	assert_status(LEASH_OK, leash_lock_acquire(one, 30000, &err));
	server_kill(replica[1]);
	assert_refused(LEASH_UNAVAILABLE, server_uri_tcp(master), "1 of 2 replicas acknowledged it in time: released again",
	               leash_lock_acquire(both, 30000, &err));
	await_true(is_free("leash:{both}") && is_free("leash:{many}"));
	leash_lock_free(many);
	leash_lock_free(one);
	leash_lock_free(both);
}

/* ---- the server dies ---- */

SENTENCE(what_was_acknowledged_outlives_the_master, ON_TWO)
{
	leash_lock *lock = leashed_lock(client, "kept", LEASH_LOCK_OPTIONS(.min_replicas = 1, .lease_ms = slow_ms(20000)));
	int64_t recovered;
	uint64_t fence;

	assert_status(LEASH_OK, leash_lock_acquire(lock, 30000, &err));
	fence = leash_lock_fence(lock);
	recovered = events.count[LEASH_EVENT_RECOVERED];
	/* of two one has it: the one with the larger offset is promoted, as a sentinel does */
	promote(server_integer(replica[0], "EXISTS leash:{kept}") == 1 ? 0 : 1);
	await_true(events.count[LEASH_EVENT_JEOPARDY] == recovered + 1 || leash_lock_remaining_ms(lock) > slow_ms(19000));
	await_true(leash_lock_remaining_ms(lock) > slow_ms(15000));
	await_true(events.count[LEASH_EVENT_JEOPARDY] == events.count[LEASH_EVENT_RECOVERED]);
	assert_int_equal(events.count[LEASH_EVENT_LOST], 0);
	assert_true(leash_lock_held(lock));
	assert_int_equal(leash_lock_fence(lock), fence);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	leash_lock_free(lock);
}

/* One of two replicas has each lock, perhaps not the same: the sentinels promote the one that has received most, which
 * has all. */
SENTENCE(what_was_acknowledged_outlives_a_failover_by_sentinels, BETWEEN(NULL, NULL))
{
	enum { LOCKS = 20 };
	struct sentinel_set *set = sentinel_set_start(NULL);
	leash_client *of_set =
		leashed_open(sentinel_set_uri(set),
		             LEASH_OPTIONS(.timeout_ms = 1000, .on_event = leashed_note_event, .event_arg = &events));
	leash_lock *lock[LOCKS];
	int before = sentinel_set_master_number(set);

	memset(&events, 0, sizeof events);
	for (int i = 0; i < LOCKS; i++) {
		char name[16];

		snprintf(name, sizeof name, "kept-%d", i);
		lock[i] = leashed_lock(of_set, name, LEASH_LOCK_OPTIONS(.min_replicas = 1, .lease_ms = slow_ms(60000),
		                                                        .replicas_ms = slow_ms(20000)));
		assert_status(LEASH_OK, leash_lock_acquire(lock[i], 30000, &err));
	}
	server_kill(sentinel_set_server(set, before));
	sentinel_set_await_failover(set, before);
	for (int i = 0; i < LOCKS; i++) {
		int64_t left = leash_lock_remaining_ms(lock[i]);

		await_true_for(leash_lock_remaining_ms(lock[i]) > left || leash_lock_remaining_ms(lock[i]) > slow_ms(55000),
		               60);
		assert_true(leash_lock_held(lock[i]));
	}
	await_true(events.count[LEASH_EVENT_JEOPARDY] == events.count[LEASH_EVENT_RECOVERED]);
	assert_int_equal(events.count[LEASH_EVENT_LOST], 0);
	for (int i = 0; i < LOCKS; i++) {
		assert_status(LEASH_OK, leash_lock_release(lock[i], &err));
		leash_lock_free(lock[i]);
	}
	leash_close(of_set);
	sentinel_set_stop(set);
}

SENTENCE(what_was_not_acknowledged_was_not_acquired_and_without_min_replicas_its_loss_is_told)
{
	leash_lock *sure = leashed_lock(client, "sure", LEASH_LOCK_OPTIONS(.min_replicas = 1, .replicas_ms = 1000));
	leash_lock *unsure = leashed_lock(client, "unsure", LEASH_LOCK_OPTIONS(.lease_ms = slow_ms(20000)));
	leash_client *other;
	leash_lock *theirs;
	uint64_t fence;

	hold_link(0);
	assert_refused(LEASH_UNAVAILABLE, server_uri_tcp(master), "0 of 1 replicas", leash_lock_acquire(sure, 30000, &err));
	assert_status(LEASH_OK, leash_lock_acquire(unsure, 30000, &err));
	fence = leash_lock_fence(unsure);
	promote(0);
	other = open_client();
	theirs = leashed_lock(other, "unsure", NULL);
	assert_status(LEASH_OK, leash_lock_acquire(theirs, 30000, &err));
	assert_true(leash_lock_fence(theirs) > fence);
	await_true(events.count[LEASH_EVENT_LOST] == 1);
	assert_false(leash_lock_held(unsure));
	assert_status(LEASH_LOST, leash_lock_release(unsure, &err));
	assert_status(LEASH_OK, leash_lock_release(theirs, &err));
	leash_close(other);
	leash_lock_free(theirs);
	leash_lock_free(unsure);
	leash_lock_free(sure);
}

/* ---- renewing ---- */

SENTENCE(renewals_that_no_replica_acknowledges_end_in_a_loss_that_is_told_before_the_lease_ends)
{
	enum { LEASE_MS = 1500 };
	leash_lock *lock = leashed_lock(client, "renewed", LEASH_LOCK_OPTIONS(.min_replicas = 1, .lease_ms = LEASE_MS));
	int64_t held = 0;

	assert_status(LEASH_OK, leash_lock_acquire(lock, 30000, &err));
	await_renewals(lock, 2);
	hold_link(0);
	held = await_now_ns(); /* an acknowledgement that came later would be one too many */
	await_true(events.count[LEASH_EVENT_JEOPARDY] == 1);
	assert_non_null(strstr(jeopardy_text, "0 of 1 replicas acknowledged the renewal: trying again"));
	await_true(!leash_lock_held(lock));
	assert_true(await_now_ns() - held < LEASE_MS * MS ||
	            events.at_ns[LEASH_EVENT_LOST] - held < (LEASE_MS + 1000) * MS);
	await_true(events.count[LEASH_EVENT_LOST] == 1);
	assert_int_equal(events.count[LEASH_EVENT_RECOVERED], 0);
	await_true(is_free("leash:{renewed}")); /* what the server has gone on renewing is canceled */
	assert_status(LEASH_LOST, leash_lock_release(lock, &err));
	let_go(0);
	assert_status(LEASH_OK, leash_lock_acquire(lock, 30000, &err));
	leash_lock_free(lock);
}

SENTENCE(a_replica_that_is_late_for_less_than_a_lease_costs_no_hold)
{
	leash_lock *lock = leashed_lock(client, "late", LEASH_LOCK_OPTIONS(.min_replicas = 1, .lease_ms = slow_ms(3000)));

	assert_status(LEASH_OK, leash_lock_acquire(lock, 30000, &err));
	for (int i = 0; i < 2; i++) {
		hold_link(0);
		await_true(events.count[LEASH_EVENT_JEOPARDY] == i + 1);
		let_go(0);
		await_true(events.count[LEASH_EVENT_RECOVERED] == i + 1);
	}
	assert_int_equal(events.count[LEASH_EVENT_LOST], 0);
	assert_true(leash_lock_held(lock));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	leash_lock_free(lock);
}

SENTENCE(a_replica_that_is_held_up_delays_nobody_who_does_not_ask_for_it, ON_TWO)
{
	leash_lock *slow = leashed_lock(client, "slow", LEASH_LOCK_OPTIONS(.min_replicas = 2, .lease_ms = slow_ms(60000)));
	leash_lock *one = leashed_lock(client, "one", LEASH_LOCK_OPTIONS(.min_replicas = 1, .lease_ms = slow_ms(4000)));
	leash_lock *quick = leashed_lock(client, "quick", LEASH_LOCK_OPTIONS(.lease_ms = slow_ms(4000)));
	struct actor stuck = {
		.lock = leashed_lock(client, "stuck",
		                     LEASH_LOCK_OPTIONS(.min_replicas = 2, .replicas_ms = 86400000, .lease_ms = 3600000)),
		.wait_ms = LEASH_FOREVER,
	};

	assert_status(LEASH_OK, leash_lock_acquire(slow, 30000, &err));
	assert_status(LEASH_OK, leash_lock_acquire(one, 30000, &err));
	assert_status(LEASH_OK, leash_lock_acquire(quick, 30000, &err));
	hold_link(1);
	actor_start(&stuck);
	actor_tell(&stuck, actor_acquire);
	await_renewals(one, 4);
	await_renewals(quick, 4);
	assert_int_equal(events.total, 0);
	assert_false(actor_is_done(&stuck));
	assert_status(LEASH_OK, leash_lock_release(slow, &err)); /* waits for no replica */
	let_go(1);
	assert_heard(LEASH_OK, &stuck);
	assert_done(LEASH_OK, &stuck, actor_release);
	actor_dismiss(&stuck);
	leash_lock_free(quick);
	leash_lock_free(one);
	leash_lock_free(slow);
}

/* ---- on what terms ---- */

SENTENCE(one_that_is_not_renewed_or_has_a_limit_is_confirmed_all_the_same)
{
	leash_lock *brief = leashed_lock(client, "brief", LEASH_LOCK_OPTIONS(.min_replicas = 1, .no_renew = true,
	                                                                     .lease_ms = slow_ms(1000)));
	leash_lock *limited =
		leashed_lock(client, "limited", LEASH_LOCK_OPTIONS(.min_replicas = 1, .max_hold_ms = slow_ms(1000)));
	leash_lock *watched =
		leashed_lock(client, "watched",
		             LEASH_LOCK_OPTIONS(.min_replicas = 1, .alive_ms = slow_ms(1000), .lease_ms = slow_ms(1500)));

	proxy_delay(link_to[0], PROXY_TO_CLIENT, 20000);
	assert_status(LEASH_OK, leash_lock_acquire(brief, 30000, &err));
	assert_true(leash_lock_held(brief));
	assert_status(LEASH_OK, leash_lock_acquire(limited, 30000, &err));
	assert_true(leash_lock_held(limited));
	assert_true(leash_lock_remaining_ms(limited) <= slow_ms(1000));
	assert_status(LEASH_OK, leash_lock_acquire(watched, 30000, &err));
	await_true(events.count[LEASH_EVENT_LOST] == 3);
	assert_status(LEASH_LOST, leash_lock_release(brief, &err));
	assert_status(LEASH_LOST, leash_lock_release(limited, &err));
	assert_status(LEASH_LOST, leash_lock_release(watched, &err));
	leash_lock_free(watched);
	leash_lock_free(limited);
	leash_lock_free(brief);
}

SENTENCE(numbers_out_of_range_are_refused)
{
	leash_lock *lock = NULL;

	assert_status(LEASH_INVALID, leash_lock_new(&lock, client, "range", LEASH_LOCK_OPTIONS(.min_replicas = 17), &err));
	check_text(err.text, "min_replicas is 17");
	assert_status(LEASH_INVALID, leash_lock_new(&lock, client, "range", LEASH_LOCK_OPTIONS(.min_replicas = -1), &err));
	assert_status(LEASH_INVALID, leash_lock_new(&lock, client, "range", LEASH_LOCK_OPTIONS(.replicas_ms = -1), &err));
	assert_status(LEASH_INVALID, leash_lock_new(&lock, client, "range",
	                                            LEASH_LOCK_OPTIONS(.min_replicas = 1, .replicas_ms = 86400001), &err));
	assert_null(lock);
}

SENTENCE(a_wait_that_is_not_permitted_is_named_and_the_lock_released)
{
	leash_lock *lock =
		leashed_lock(client, "denied", LEASH_LOCK_OPTIONS(.min_replicas = 1, .replicas_ms = slow_ms(20000)));

	assert_status(LEASH_OK, leash_lock_acquire(lock, 30000, &err));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	server_text(master, "ACL SETUSER default -wait");
	assert_refused(LEASH_DENIED, server_uri_tcp(master), "WAIT is not permitted",
	               leash_lock_acquire(lock, 30000, &err));
	await_true(is_free("leash:{denied}"));
	server_text(master, "ACL SETUSER default +wait");
	assert_status(LEASH_OK, leash_lock_acquire(lock, 30000, &err));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	leash_lock_free(lock);
}

SENTENCE(the_scripts_may_be_gone_at_any_time)
{
	leash_lock *lock =
		leashed_lock(client, "flushed", LEASH_LOCK_OPTIONS(.min_replicas = 1, .lease_ms = slow_ms(3000)));

	for (int i = 0; i < 3; i++) {
		server_text(master, "SCRIPT FLUSH");
		assert_status(LEASH_OK, leash_lock_acquire(lock, 30000, &err));
		server_text(master, "SCRIPT FLUSH");
		await_renewals(lock, 1);
		assert_status(LEASH_OK, leash_lock_release(lock, &err));
	}
	assert_int_equal(events.total, 0);
	leash_lock_free(lock);
}

SENTENCE(a_connection_that_breaks_while_it_waits_is_made_anew)
{
	leash_lock *lock = leashed_lock(client, "broken", LEASH_LOCK_OPTIONS(.min_replicas = 1, .lease_ms = slow_ms(6000)));
	struct actor actor = {
		.lock = leashed_lock(client, "asked", LEASH_LOCK_OPTIONS(.min_replicas = 1, .replicas_ms = slow_ms(20000))),
		.wait_ms = 30000,
	};

	actor_start(&actor);
	assert_status(LEASH_OK, leash_lock_acquire(lock, 30000, &err));
	hold_link(0);
	actor_tell(&actor, actor_acquire);
	await_true(!is_free("leash:{asked}"));
	actor_await_asleep(&actor);
	server_text(master, "CLIENT KILL TYPE normal SKIPME yes");
	let_go(0);
	assert_heard(LEASH_OK, &actor);
	await_renewals(lock, 2);
	assert_true(leash_lock_held(lock));
	assert_int_equal(events.count[LEASH_EVENT_LOST], 0);
	assert_done(LEASH_OK, &actor, actor_release);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	actor_dismiss(&actor);
	leash_lock_free(lock);
}

/* ---- on disk ---- */

SENTENCE(what_is_to_be_fsynced_is_or_the_reason_is_named)
{
	leash_lock *here = leashed_lock(client, "here", LEASH_LOCK_OPTIONS(.fsynced = true, .replicas_ms = slow_ms(20000)));
	leash_lock *both = leashed_lock(client, "both", LEASH_LOCK_OPTIONS(.fsynced = true, .min_replicas = 1,
	                                                                   .replicas_ms = slow_ms(3000)));

	if (server_integer(master, "EVAL %s 0", "return redis.call('COMMAND', 'INFO', 'WAITAOF')[1] and 1 or 0") == 0) {
		assert_refused(LEASH_UNSUPPORTED, server_uri_tcp(master), "the server has no WAITAOF",
		               leash_lock_acquire(here, 30000, &err));
		check_text(err.text, "7.2");
		await_true(is_free("leash:{here}"));
	} else {
		assert_refused(LEASH_UNSUPPORTED, server_uri_tcp(master), "appendonly is off",
		               leash_lock_acquire(here, 30000, &err));
		await_true(is_free("leash:{here}"));
		server_text(master, "CONFIG SET appendonly yes");
		await_true(strstr(server_text(master, "INFO persistence"), "aof_rewrite_in_progress:0") != NULL);
		assert_status(LEASH_OK, leash_lock_acquire(here, 30000, &err));
		assert_refused(LEASH_UNAVAILABLE, server_uri_tcp(master), "0 of 1 replicas wrote it to disk in time",
		               leash_lock_acquire(both, 30000, &err));
		server_text(replica[0], "CONFIG SET appendonly yes");
		await_true(leash_lock_acquire(both, 30000, &err) == LEASH_OK);
		assert_status(LEASH_OK, leash_lock_release(both, &err));
		server_kill(master);
		server_text(replica[0], "PING");
		assert_status(LEASH_UNKNOWN, leash_lock_release(here, &err));
	}
	leash_lock_free(both);
	leash_lock_free(here);
}
