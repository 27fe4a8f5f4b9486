/* min_replicas and fsynced: nothing counts that too few replicas have acknowledged. What was acknowledged outlives the server; what was not
 * is released again, or told in time. The links to the replicas go through proxies, because a replica that was stopped reads, when it goes
 * on, what the kernel has kept for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/contract/actor.h"
#include "tests/fault/refused.h"
#include "tests/support/await.h"
#include "tests/support/monitor.h"
#include "tests/support/proxy.h"
#include "tests/support/sentinel_set.h"
#include "tests/support/trouble.h"

#include <leash/cancel.h>
#include <leash/owner.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS INT64_C(1000000)

enum { REPLICAS = 2 };

static struct server *master, *replica[REPLICAS];
static struct proxy *link_to[REPLICAS];
static leash_client *client;
static struct leashed_events events;
static char jeopardy_text[160]; /* of the last one */
static leash_error err;         /* what the last call said */

/* ---- a master, its replicas, a client ---- */

static void
note_event(void *arg, const leash_event *event)
{
	if (event->type == LEASH_EVENT_JEOPARDY)
		snprintf(jeopardy_text, sizeof jeopardy_text, "%s", event->text);
	leashed_note_event(arg, event);
}

static leash_client *
open_client(void)
{
	return leashed_open(server_uri_tcp(master), LEASH_OPTIONS(.timeout_ms = patience_ms(), .on_event = note_event, .event_arg = &events));
}

/* One more replica. Returns when it acknowledges what the master writes: that may begin a second after it has all that was written before. */
static void
start_replica(int i)
{
	char target[40];
	const char *port;

	snprintf(target, sizeof target, "127.0.0.1:%d", server_port(master));
	link_to[i] = proxy_start_tcp(target);
	port = strrchr(proxy_uri(link_to[i]), ':') + 1;
	replica[i] = server_start((const char *const[]){"--replicaof", "127.0.0.1", port, NULL});
	for (int written = 0; written < 2; written += server_integer(master, "WAIT %d 1000", i + 1) > i)
		server_text(master, "SET begun 1");
}

static int
start(void **state)
{
	(void)state;
	memset(&events, 0, sizeof events);
	master = server_start_tcp((const char *const[]){"--repl-diskless-sync-delay", "0", NULL});
	start_replica(0);
	client = open_client();
	return 0;
}

static int
start_with_two(void **state)
{
	start(state);
	start_replica(1);
	return 0;
}

static int
stop(void **state)
{
	(void)state;
	leash_close(client);
	client = NULL;
	for (int i = 0; i < REPLICAS; i++) {
		server_stop(replica[i]);
		proxy_stop(link_to[i]);
		replica[i] = NULL;
		link_to[i] = NULL;
	}
	server_stop(master);
	return 0;
}

/* Nothing goes to the replica any more, and its silence back. */
static void
hold_link(int i)
{
	proxy_hold(link_to[i], PROXY_BOTH);
}

static void
let_go(int i)
{
	proxy_release(link_to[i]);
}

static bool
is_free(const char *key)
{
	return server_integer(master, "EXISTS %s", key) == 0;
}

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

static void
dismiss(struct actor *actor)
{
	actor_tell(actor, NULL);
	actor_join(actor);
	leash_lock_free(actor->lock);
}

/* ---- acquiring ---- */

static void
an_acquire_returns_when_the_replica_has_the_lock(void **state)
{
	leash_lock *lock = leashed_lock(client, "known", LEASH_LOCK_OPTIONS(.min_replicas = 1));
	char token[LEASH_TOKEN_MAX];

	(void)state;
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

static void
with_the_replica_frozen_an_acquire_fails_within_its_limit_and_the_lock_is_free_afterwards(void **state)
{
	leash_lock *lock = leashed_lock(client, "frozen", LEASH_LOCK_OPTIONS(.min_replicas = 1, .replicas_ms = 1000));
	leash_client *other = open_client();
	leash_lock *theirs = leashed_lock(other, "frozen", NULL);
	int64_t began;

	(void)state;
	server_pause(replica[0]);
	for (int i = 0; i < 2; i++) {
		began = await_now_ns();
		assert_refused(LEASH_UNAVAILABLE, server_uri_tcp(master), "0 of 1 replicas acknowledged it in time: released again",
		               leash_lock_acquire(lock, i == 0 ? 0 : LEASH_FOREVER, &err));
		assert_true(await_now_ns() - began >= 700 * MS);
		assert_true(await_now_ns() - began < 10000 * MS); /* and not the client's timeout */
		assert_false(leash_lock_held(lock));
		assert_int_equal(leash_lock_depth(lock), 0);
		assert_int_equal(leash_lock_fence(lock), 0);
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

static void
too_few_are_counted(void **state)
{
	leash_lock *both = leashed_lock(client, "both", LEASH_LOCK_OPTIONS(.min_replicas = 2, .replicas_ms = 1000));
	leash_lock *one = leashed_lock(client, "one", LEASH_LOCK_OPTIONS(.min_replicas = 1, .replicas_ms = slow_ms(20000)));
	leash_lock *many = leashed_lock(client, "many", LEASH_LOCK_OPTIONS(.min_replicas = 16, .replicas_ms = 1000));

	(void)state;
	assert_status(LEASH_OK, leash_lock_acquire(one, 30000, &err));
	assert_refused(LEASH_UNAVAILABLE, server_uri_tcp(master), "2 of 16 replicas acknowledged it in time: released again",
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

static void
what_was_acknowledged_outlives_the_master(void **state)
{
	leash_lock *lock = leashed_lock(client, "kept", LEASH_LOCK_OPTIONS(.min_replicas = 1, .lease_ms = slow_ms(20000)));
	int64_t recovered;
	uint64_t fence;

	(void)state;
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

static void
what_was_not_acknowledged_was_not_acquired_and_without_min_replicas_its_loss_is_told(void **state)
{
	leash_lock *sure = leashed_lock(client, "sure", LEASH_LOCK_OPTIONS(.min_replicas = 1, .replicas_ms = 1000));
	leash_lock *unsure = leashed_lock(client, "unsure", LEASH_LOCK_OPTIONS(.lease_ms = slow_ms(20000)));
	leash_client *other;
	leash_lock *theirs;
	uint64_t fence;

	(void)state;
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

/* One of two replicas has each lock, perhaps not the same: the sentinels promote the one that has received most, which has all. */
static void
what_was_acknowledged_outlives_a_failover_by_sentinels(void **state)
{
	enum { LOCKS = 20 };
	struct sentinel_set *set = sentinel_set_start(NULL);
	leash_client *of_set = leashed_open(sentinel_set_uri(set), LEASH_OPTIONS(.timeout_ms = 1000, .on_event = note_event, .event_arg = &events));
	leash_lock *lock[LOCKS];
	int before = sentinel_set_master_number(set);

	(void)state;
	memset(&events, 0, sizeof events);
	for (int i = 0; i < LOCKS; i++) {
		char name[16];

		snprintf(name, sizeof name, "kept-%d", i);
		lock[i] = leashed_lock(of_set, name, LEASH_LOCK_OPTIONS(.min_replicas = 1, .lease_ms = slow_ms(60000), .replicas_ms = slow_ms(20000)));
		assert_status(LEASH_OK, leash_lock_acquire(lock[i], 30000, &err));
	}
	server_kill(sentinel_set_server(set, before));
	sentinel_set_await_failover(set, before);
	for (int i = 0; i < LOCKS; i++) {
		int64_t left = leash_lock_remaining_ms(lock[i]);

		await_true_for(leash_lock_remaining_ms(lock[i]) > left || leash_lock_remaining_ms(lock[i]) > slow_ms(55000), 60);
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

/* ---- renewing ---- */

static void
renewals_that_no_replica_acknowledges_end_in_a_loss_that_is_told_before_the_lease_ends(void **state)
{
	enum { LEASE_MS = 1500 };
	leash_lock *lock = leashed_lock(client, "renewed", LEASH_LOCK_OPTIONS(.min_replicas = 1, .lease_ms = LEASE_MS));
	int64_t held = 0;

	(void)state;
	assert_status(LEASH_OK, leash_lock_acquire(lock, 30000, &err));
	await_renewals(lock, 2);
	hold_link(0);
	held = await_now_ns(); /* an acknowledgement that came later would be one too many */
	await_true(events.count[LEASH_EVENT_JEOPARDY] == 1);
	assert_non_null(strstr(jeopardy_text, "0 of 1 replicas acknowledged the renewal: trying again"));
	await_true(!leash_lock_held(lock));
	assert_true(await_now_ns() - held < LEASE_MS * MS || events.at_ns[LEASH_EVENT_LOST] - held < (LEASE_MS + 1000) * MS);
	await_true(events.count[LEASH_EVENT_LOST] == 1);
	assert_int_equal(events.count[LEASH_EVENT_RECOVERED], 0);
	await_true(is_free("leash:{renewed}")); /* what the server has gone on renewing is canceled */
	assert_status(LEASH_LOST, leash_lock_release(lock, &err));
	let_go(0);
	assert_status(LEASH_OK, leash_lock_acquire(lock, 30000, &err));
	leash_lock_free(lock);
}

static void
a_replica_that_is_late_for_less_than_a_lease_costs_no_hold(void **state)
{
	leash_lock *lock = leashed_lock(client, "late", LEASH_LOCK_OPTIONS(.min_replicas = 1, .lease_ms = slow_ms(3000)));

	(void)state;
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

static void
a_replica_that_is_held_up_delays_nobody_who_does_not_ask_for_it(void **state)
{
	leash_lock *slow = leashed_lock(client, "slow", LEASH_LOCK_OPTIONS(.min_replicas = 2, .lease_ms = slow_ms(60000)));
	leash_lock *one = leashed_lock(client, "one", LEASH_LOCK_OPTIONS(.min_replicas = 1, .lease_ms = slow_ms(1500)));
	leash_lock *quick = leashed_lock(client, "quick", LEASH_LOCK_OPTIONS(.lease_ms = slow_ms(1500)));
	struct actor stuck = {.lock = leashed_lock(client, "stuck", LEASH_LOCK_OPTIONS(.min_replicas = 2, .replicas_ms = 86400000, .lease_ms = 3600000)),
	                      .wait_ms = LEASH_FOREVER};

	(void)state;
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
	dismiss(&stuck);
	leash_lock_free(quick);
	leash_lock_free(one);
	leash_lock_free(slow);
}

/* ---- few commands ---- */

static void
fifty_locks_are_confirmed_by_few_waits(void **state)
{
	enum { LOCKS = 50 };
	static struct actor actor[LOCKS];
	struct monitor *monitor = monitor_start(master);
	size_t waits;

	(void)state;
	memset(actor, 0, sizeof actor);
	proxy_delay(link_to[0], PROXY_BOTH, 100000);
	for (int i = 0; i < LOCKS; i++) {
		char name[16];

		snprintf(name, sizeof name, "many-%d", i);
		actor[i] = (struct actor){.lock = leashed_lock(client, name, LEASH_LOCK_OPTIONS(.min_replicas = 1, .lease_ms = slow_ms(60000))), .wait_ms = 30000};
		actor_start(&actor[i]);
	}
	monitor_mark(monitor);
	for (int i = 0; i < LOCKS; i++)
		actor_tell(&actor[i], actor_acquire);
	for (int i = 0; i < LOCKS; i++)
		assert_heard(LEASH_OK, &actor[i]);
	waits = monitor_count(monitor, "\"WAIT\"");
	print_message("%zu WAITs for %d locks\n", waits, LOCKS);
	assert_in_range(waits, 1, LOCKS / 5);
	monitor_mark(monitor);
	for (int i = 0; i < LOCKS; i++)
		assert_done(LEASH_OK, &actor[i], actor_release);
	assert_int_equal(monitor_count(monitor, "\"WAIT\""), 0);
	for (int i = 0; i < LOCKS; i++)
		dismiss(&actor[i]);
	monitor_stop(monitor);
}

/* That clients have to the master. */
static int
connections(void)
{
	int n = 0;

	for (const char *at = server_text(master, "CLIENT LIST"); (at = strstr(at, "name=leash:")) != NULL; at++)
		n++;
	return n;
}

/* Each of them makes what confirms, as it was not there when it came: one of those stays. */
static void
many_that_come_first_share_a_connection(void **state)
{
	enum { LOCKS = 8 };
	static struct actor actor[LOCKS];
	struct monitor *monitor;

	(void)state;
	memset(actor, 0, sizeof actor);
	for (int i = 0; i < LOCKS; i++) {
		char name[16];

		snprintf(name, sizeof name, "first-%d", i);
		actor[i] = (struct actor){.lock = leashed_lock(client, name, LEASH_LOCK_OPTIONS(.min_replicas = 1)), .wait_ms = 30000};
		actor_start(&actor[i]);
	}
	for (int i = 0; i < LOCKS; i++)
		actor_tell(&actor[i], actor_acquire);
	for (int i = 0; i < LOCKS; i++)
		assert_heard(LEASH_OK, &actor[i]);
	for (int i = 0; i < LOCKS; i++)
		assert_done(LEASH_OK, &actor[i], actor_release);
	monitor = monitor_start(master);
	for (int i = 0; i < LOCKS; i++) {
		assert_done(LEASH_OK, &actor[i], actor_acquire);
		assert_done(LEASH_OK, &actor[i], actor_release);
		dismiss(&actor[i]);
	}
	assert_int_equal(monitor_count(monitor, "\"WAIT\""), LOCKS);
	monitor_stop(monitor);
	await_true(connections() == 3);
}

static void
nesting_and_handing_on_within_the_process_ask_no_replica(void **state)
{
	const leash_lock_options *options = LEASH_LOCK_OPTIONS(.min_replicas = 1, .handoff_ms = 60000, .lease_ms = slow_ms(60000));
	leash_lock *lock = leashed_lock(client, "handed", options);
	struct actor next = {.lock = leashed_lock(client, "handed", options), .wait_ms = LEASH_FOREVER};
	struct actor wants_more = {.lock = leashed_lock(client, "handed", LEASH_LOCK_OPTIONS(.min_replicas = 2, .replicas_ms = 1000, .handoff_ms = 60000,
	                                                                                  .lease_ms = slow_ms(60000))), .wait_ms = LEASH_FOREVER};
	struct monitor *monitor = monitor_start(master);

	(void)state;
	actor_start(&next);
	actor_start(&wants_more);
	assert_status(LEASH_OK, leash_lock_acquire(lock, 30000, &err));
	monitor_mark(monitor);
	assert_status(LEASH_OK, leash_lock_acquire(lock, 30000, &err));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	actor_tell(&next, actor_acquire);
	actor_await_asleep(&next);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	assert_heard(LEASH_OK, &next);
	assert_true(next.held);
	assert_int_equal(monitor_count(monitor, "EVALSHA"), 0);
	assert_int_equal(monitor_count(monitor, "\"WAIT\""), 0);
	actor_tell(&wants_more, actor_acquire);
	actor_await_asleep(&wants_more);
	assert_done(LEASH_OK, &next, actor_release);
	assert_heard(LEASH_UNAVAILABLE, &wants_more);
	assert_non_null(strstr(wants_more.err.text, "1 of 2 replicas"));
	monitor_stop(monitor);
	dismiss(&wants_more);
	dismiss(&next);
	leash_lock_free(lock);
}

/* ---- contended ---- */

static void
take_turns(struct actor *actor)
{
	char token[LEASH_TOKEN_MAX], text[LEASH_TOKEN_MAX + 8];
	redisContext *ask = server_connect(replica[0]);

	actor->status = LEASH_OK;
	for (actor->count = 0; actor->count < actor->turns && actor->status == LEASH_OK; actor->count++) {
		redisReply *reply;

		actor->status = leash_lock_acquire(actor->lock, actor->wait_ms, &actor->err);
		if (actor->status != LEASH_OK)
			break;
		leash_lock_token(actor->lock, token, sizeof token);
		reply = redisCommand(ask, "HKEYS leash:{turns}");
		snprintf(text, sizeof text, "%s", reply != NULL && reply->elements == 1 ? reply->element[0]->str : "none");
		if (strcmp(text, token) != 0)
			trouble("the replica has %s, and %s was told that it holds", text, token);
		freeReplyObject(reply);
		actor->status = leash_lock_release(actor->lock, &actor->err);
	}
	redisFree(ask);
}

static void
whoever_is_handed_the_lock_returns_when_the_replica_knows_it(void **state)
{
	leash_client *other = open_client();
	struct actor actor[4];

	(void)state;
	proxy_delay(link_to[0], PROXY_TO_CLIENT, 5000);
	memset(actor, 0, sizeof actor);
	for (int i = 0; i < 4; i++) {
		actor[i] = (struct actor){.lock = leashed_lock(i % 2 == 0 ? client : other, "turns", LEASH_LOCK_OPTIONS(.min_replicas = 1, .no_handoff = i < 2)),
		                          .wait_ms = LEASH_FOREVER, .turns = 20};
		actor_start(&actor[i]);
	}
	for (int i = 0; i < 4; i++)
		actor_tell(&actor[i], take_turns);
	for (int i = 0; i < 4; i++) {
		assert_heard(LEASH_OK, &actor[i]);
		assert_int_equal(actor[i].count, 20);
		dismiss(&actor[i]);
	}
	leash_close(other);
	assert_int_equal(events.total, 0);
}

static void
who_waits_behind_one_who_is_refused_gets_the_lock(void **state)
{
	leash_client *other = open_client();

	(void)state;
	hold_link(0);
	for (int fair = 0; fair < 2; fair++) {
		const char *name = fair ? "fair" : "plain";
		struct actor first = {.lock = leashed_lock(client, name, LEASH_LOCK_OPTIONS(.min_replicas = 1, .replicas_ms = 1000, .fair = fair)),
		                      .wait_ms = LEASH_FOREVER};
		struct actor second = {.lock = leashed_lock(client, name, LEASH_LOCK_OPTIONS(.fair = fair)), .wait_ms = LEASH_FOREVER};
		struct actor third = {.lock = leashed_lock(other, name, LEASH_LOCK_OPTIONS(.fair = fair)), .wait_ms = LEASH_FOREVER};

		actor_start(&first);
		actor_start(&second);
		actor_start(&third);
		actor_tell(&first, actor_acquire);
		await_true(server_integer(master, "EXISTS leash:{%s}", name) == 1);
		actor_tell(&second, actor_acquire);
		actor_tell(&third, actor_acquire);
		assert_heard(LEASH_UNAVAILABLE, &first);
		await_true(actor_is_done(&second) || actor_is_done(&third));
		if (actor_is_done(&second)) {
			assert_heard(LEASH_OK, &second);
			assert_done(LEASH_OK, &second, actor_release);
			assert_heard(LEASH_OK, &third);
			assert_done(LEASH_OK, &third, actor_release);
		} else {
			assert_heard(LEASH_OK, &third);
			assert_done(LEASH_OK, &third, actor_release);
			assert_heard(LEASH_OK, &second);
			assert_done(LEASH_OK, &second, actor_release);
		}
		dismiss(&third);
		dismiss(&second);
		dismiss(&first);
	}
	leash_close(other);
}

/* ---- meanwhile ---- */

static void
until_it_is_confirmed_nobody_holds_it(void **state)
{
	leash_owner *owner;
	leash_lock *lock;
	struct actor actor = {.wait_ms = 30000};
	leash_stats stats = {.size = sizeof stats};

	(void)state;
	assert_status(LEASH_OK, leash_owner_new(&owner, &err));
	lock = leashed_lock(client, "nobody's", LEASH_LOCK_OPTIONS(.min_replicas = 1, .owner = owner, .replicas_ms = slow_ms(20000)));
	actor.lock = lock;
	actor_start(&actor);
	hold_link(0);
	actor_tell(&actor, actor_acquire);
	await_true(!is_free("leash:{nobody's}"));
	actor_await_asleep(&actor);
	assert_false(leash_lock_held(lock));
	assert_int_equal(leash_lock_remaining_ms(lock), 0);
	assert_int_equal(leash_lock_depth(lock), 0);
	assert_int_equal(leash_lock_fence(lock), 0);
	assert_int_equal(leash_lock_token(lock, NULL, 0), 0);
	assert_status(LEASH_NOT_HELD, leash_lock_release(lock, &err));
	assert_status(LEASH_NOT_HELD, leash_lock_extend(lock, 60000, &err));
	leash_client_stats(client, &stats, &err);
	assert_int_equal(stats.holding, 0);
	let_go(0);
	assert_heard(LEASH_OK, &actor);
	assert_true(leash_lock_held(lock));
	assert_int_equal(leash_lock_depth(lock), 1);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	await_true(is_free("leash:{nobody's}"));
	dismiss(&actor);
	leash_owner_free(owner);
}

static void
a_cancel_ends_the_wait_for_replicas_and_releases(void **state)
{
	leash_cancel *cancel;
	struct actor actor = {.lock = leashed_lock(client, "canceled", LEASH_LOCK_OPTIONS(.min_replicas = 1, .replicas_ms = 86400000)), .wait_ms = 0};

	(void)state;
	assert_status(LEASH_OK, leash_cancel_new(&cancel, &err));
	actor.cancel = cancel;
	actor_start(&actor);
	hold_link(0);
	actor_tell(&actor, actor_acquire);
	await_true(!is_free("leash:{canceled}"));
	actor_await_asleep(&actor);
	leash_cancel_fire(cancel);
	assert_heard(LEASH_CANCELED, &actor);
	await_true(is_free("leash:{canceled}"));
	dismiss(&actor);
	leash_cancel_free(cancel);
	assert_int_equal(events.total, 0);
}

static void
a_close_ends_the_wait_for_replicas_and_releases(void **state)
{
	leash_client *other = open_client();
	struct actor actor = {.lock = leashed_lock(other, "closed", LEASH_LOCK_OPTIONS(.min_replicas = 1, .replicas_ms = 86400000)), .wait_ms = 0};
	leash_lock *held = leashed_lock(other, "held", LEASH_LOCK_OPTIONS(.min_replicas = 1));

	(void)state;
	actor_start(&actor);
	assert_status(LEASH_OK, leash_lock_acquire(held, 30000, &err));
	hold_link(0);
	actor_tell(&actor, actor_acquire);
	await_true(!is_free("leash:{closed}"));
	actor_await_asleep(&actor);
	leash_close(other);
	assert_heard(LEASH_CLOSED, &actor);
	assert_true(is_free("leash:{closed}"));
	assert_true(is_free("leash:{held}"));
	assert_int_equal(leashed_introductions(master), 0);
	dismiss(&actor);
	leash_lock_free(held);
}

static void
an_extension_counts_once_it_is_acknowledged(void **state)
{
	leash_lock *lock = leashed_lock(client, "extended", LEASH_LOCK_OPTIONS(.min_replicas = 1, .lease_ms = slow_ms(20000), .replicas_ms = 1000));

	(void)state;
	assert_status(LEASH_OK, leash_lock_acquire(lock, 30000, &err));
	hold_link(0);
	assert_refused(LEASH_UNAVAILABLE, server_uri_tcp(master), "not extended: ", leash_lock_extend(lock, slow_ms(60000), &err));
	check_text(err.text, "0 of 1 replicas acknowledged it in time");
	assert_true(leash_lock_held(lock));
	assert_true(leash_lock_remaining_ms(lock) < slow_ms(20000));
	let_go(0);
	assert_status(LEASH_OK, leash_lock_extend(lock, slow_ms(60000), &err));
	assert_true(leash_lock_remaining_ms(lock) > slow_ms(50000));
	assert_true(server_integer(replica[0], "PTTL leash:{extended}") > slow_ms(50000));
	await_true(events.count[LEASH_EVENT_JEOPARDY] == events.count[LEASH_EVENT_RECOVERED]);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	leash_lock_free(lock);
}

/* All who wait with it would wait as shortly, again and again. */
static void
an_extension_near_its_end_cuts_no_wait_short(void **state)
{
	leash_lock *lock = leashed_lock(client, "late", LEASH_LOCK_OPTIONS(.min_replicas = 1, .lease_ms = slow_ms(60000), .replicas_ms = 2000));
	struct monitor *monitor = monitor_start(master);

	(void)state;
	assert_status(LEASH_OK, leash_lock_acquire(lock, 30000, &err));
	hold_link(0);
	monitor_mark(monitor);
	assert_status(LEASH_UNAVAILABLE, leash_lock_extend(lock, slow_ms(60000), &err));
	check_text(err.text, "0 of 1 replicas acknowledged it in time");
	assert_in_range(monitor_count(monitor, "\"WAIT\""), 1, 3);
	let_go(0);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	monitor_stop(monitor);
	leash_lock_free(lock);
}

static void
what_is_adopted_counts_once_it_is_acknowledged(void **state)
{
	leash_client *other = open_client();
	leash_lock *lock = leashed_lock(client, "adopted", LEASH_LOCK_OPTIONS(.no_renew = true, .lease_ms = slow_ms(60000)));
	leash_lock *heir = leashed_lock(other, "adopted", LEASH_LOCK_OPTIONS(.min_replicas = 1, .lease_ms = slow_ms(60000), .replicas_ms = 1000));
	char token[LEASH_TOKEN_MAX];

	(void)state;
	assert_status(LEASH_OK, leash_lock_acquire(lock, 30000, &err));
	leash_lock_token(lock, token, sizeof token);
	hold_link(0);
	assert_refused(LEASH_UNAVAILABLE, server_uri_tcp(master), "not adopted: ", leash_lock_adopt(heir, token, &err));
	assert_false(leash_lock_held(heir));
	assert_int_equal(server_integer(master, "HEXISTS leash:{adopted} %s", token), 1);
	let_go(0);
	assert_status(LEASH_OK, leash_lock_adopt(heir, token, &err));
	assert_true(leash_lock_held(heir));
	assert_int_equal(server_integer(replica[0], "HEXISTS leash:{adopted} %s", token), 1);
	assert_status(LEASH_OK, leash_lock_release(heir, &err));
	assert_true(is_free("leash:{adopted}"));
	assert_status(LEASH_LOST, leash_lock_release(lock, &err));
	assert_int_equal(leashed_introductions(master), 2);
	leash_close(other); /* which never had a lock but by adopting it */
	await_true(leashed_introductions(master) == 1);
	leash_lock_free(heir);
	leash_lock_free(lock);
}

static void
adopt(struct actor *actor)
{
	actor->began_ns = await_now_ns();
	actor->status = leash_lock_adopt(actor->lock, actor->ctx, &actor->err);
}

/* Who came meanwhile rests as long as the process has the lock. */
static void
an_adoption_that_is_refused_lets_those_behind_it_go_on(void **state)
{
	leash_client *other = open_client();
	leash_lock *lock = leashed_lock(client, "heirless", LEASH_LOCK_OPTIONS(.lease_ms = slow_ms(60000)));
	struct actor heir = {.lock = leashed_lock(other, "heirless", LEASH_LOCK_OPTIONS(.min_replicas = 1, .lease_ms = slow_ms(60000),
	                                                                              .replicas_ms = slow_ms(3000)))};
	struct actor next = {.lock = leashed_lock(other, "heirless", NULL), .wait_ms = LEASH_FOREVER};
	char token[LEASH_TOKEN_MAX];

	(void)state;
	assert_status(LEASH_OK, leash_lock_acquire(lock, 30000, &err));
	leash_lock_token(lock, token, sizeof token);
	heir.ctx = token;
	actor_start(&heir);
	actor_start(&next);
	hold_link(0);
	actor_tell(&heir, adopt);
	actor_await_asleep(&heir);
	actor_tell(&next, actor_acquire);
	actor_await_asleep(&next);
	assert_heard(LEASH_UNAVAILABLE, &heir);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	assert_heard(LEASH_OK, &next);
	assert_done(LEASH_OK, &next, actor_release);
	dismiss(&next);
	dismiss(&heir);
	leash_close(other);
	leash_lock_free(lock);
}

/* ---- on what terms ---- */

static void
one_that_is_not_renewed_or_has_a_limit_is_confirmed_all_the_same(void **state)
{
	leash_lock *brief = leashed_lock(client, "brief", LEASH_LOCK_OPTIONS(.min_replicas = 1, .no_renew = true, .lease_ms = slow_ms(1000)));
	leash_lock *limited = leashed_lock(client, "limited", LEASH_LOCK_OPTIONS(.min_replicas = 1, .max_hold_ms = slow_ms(1000)));
	leash_lock *watched = leashed_lock(client, "watched", LEASH_LOCK_OPTIONS(.min_replicas = 1, .alive_ms = slow_ms(1000), .lease_ms = slow_ms(1500)));

	(void)state;
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

static void
numbers_out_of_range_are_refused(void **state)
{
	leash_lock *lock = NULL;

	(void)state;
	assert_status(LEASH_INVALID, leash_lock_new(&lock, client, "range", LEASH_LOCK_OPTIONS(.min_replicas = 17), &err));
	check_text(err.text, "min_replicas is 17");
	assert_status(LEASH_INVALID, leash_lock_new(&lock, client, "range", LEASH_LOCK_OPTIONS(.min_replicas = -1), &err));
	assert_status(LEASH_INVALID, leash_lock_new(&lock, client, "range", LEASH_LOCK_OPTIONS(.replicas_ms = -1), &err));
	assert_status(LEASH_INVALID, leash_lock_new(&lock, client, "range", LEASH_LOCK_OPTIONS(.min_replicas = 1, .replicas_ms = 86400001), &err));
	assert_null(lock);
}

static void
a_wait_that_is_not_permitted_is_named_and_the_lock_released(void **state)
{
	leash_lock *lock = leashed_lock(client, "denied", LEASH_LOCK_OPTIONS(.min_replicas = 1, .replicas_ms = slow_ms(20000)));

	(void)state;
	assert_status(LEASH_OK, leash_lock_acquire(lock, 30000, &err));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	server_text(master, "ACL SETUSER default -wait");
	assert_refused(LEASH_DENIED, server_uri_tcp(master), "WAIT is not permitted", leash_lock_acquire(lock, 30000, &err));
	await_true(is_free("leash:{denied}"));
	server_text(master, "ACL SETUSER default +wait");
	assert_status(LEASH_OK, leash_lock_acquire(lock, 30000, &err));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	leash_lock_free(lock);
}

static void
the_scripts_may_be_gone_at_any_time(void **state)
{
	leash_lock *lock = leashed_lock(client, "flushed", LEASH_LOCK_OPTIONS(.min_replicas = 1, .lease_ms = slow_ms(3000)));

	(void)state;
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

static void
a_connection_that_breaks_while_it_waits_is_made_anew(void **state)
{
	leash_lock *lock = leashed_lock(client, "broken", LEASH_LOCK_OPTIONS(.min_replicas = 1, .lease_ms = slow_ms(6000)));
	struct actor actor = {.lock = leashed_lock(client, "asked", LEASH_LOCK_OPTIONS(.min_replicas = 1, .replicas_ms = slow_ms(20000))), .wait_ms = 30000};

	(void)state;
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
	dismiss(&actor);
	leash_lock_free(lock);
}

/* ---- on disk ---- */

static void
what_is_to_be_fsynced_is_or_the_reason_is_named(void **state)
{
	leash_lock *here = leashed_lock(client, "here", LEASH_LOCK_OPTIONS(.fsynced = true, .replicas_ms = slow_ms(20000)));
	leash_lock *both = leashed_lock(client, "both", LEASH_LOCK_OPTIONS(.fsynced = true, .min_replicas = 1, .replicas_ms = slow_ms(3000)));

	(void)state;
	if (server_integer(master, "EVAL %s 0", "return redis.call('COMMAND', 'INFO', 'WAITAOF')[1] and 1 or 0") == 0) {
		assert_refused(LEASH_UNSUPPORTED, server_uri_tcp(master), "the server has no WAITAOF", leash_lock_acquire(here, 30000, &err));
		check_text(err.text, "7.2");
		await_true(is_free("leash:{here}"));
	} else {
		assert_refused(LEASH_UNSUPPORTED, server_uri_tcp(master), "appendonly is off", leash_lock_acquire(here, 30000, &err));
		await_true(is_free("leash:{here}"));
		server_text(master, "CONFIG SET appendonly yes");
		await_true(strstr(server_text(master, "INFO persistence"), "aof_rewrite_in_progress:0") != NULL);
		assert_status(LEASH_OK, leash_lock_acquire(here, 30000, &err));
		assert_refused(LEASH_UNAVAILABLE, server_uri_tcp(master), "0 of 1 replicas wrote it to disk in time", leash_lock_acquire(both, 30000, &err));
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

#define on_one(test) cmocka_unit_test_setup_teardown(test, start, stop)
#define on_two(test) cmocka_unit_test_setup_teardown(test, start_with_two, stop)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		on_one(an_acquire_returns_when_the_replica_has_the_lock),
		on_one(with_the_replica_frozen_an_acquire_fails_within_its_limit_and_the_lock_is_free_afterwards),
		on_two(too_few_are_counted),
		on_two(what_was_acknowledged_outlives_the_master),
		cmocka_unit_test(what_was_acknowledged_outlives_a_failover_by_sentinels),
		on_one(what_was_not_acknowledged_was_not_acquired_and_without_min_replicas_its_loss_is_told),
		on_one(renewals_that_no_replica_acknowledges_end_in_a_loss_that_is_told_before_the_lease_ends),
		on_one(a_replica_that_is_late_for_less_than_a_lease_costs_no_hold),
		on_two(a_replica_that_is_held_up_delays_nobody_who_does_not_ask_for_it),
		on_one(fifty_locks_are_confirmed_by_few_waits),
		on_one(many_that_come_first_share_a_connection),
		on_one(nesting_and_handing_on_within_the_process_ask_no_replica),
		on_one(whoever_is_handed_the_lock_returns_when_the_replica_knows_it),
		on_one(who_waits_behind_one_who_is_refused_gets_the_lock),
		on_one(until_it_is_confirmed_nobody_holds_it),
		on_one(a_cancel_ends_the_wait_for_replicas_and_releases),
		on_one(a_close_ends_the_wait_for_replicas_and_releases),
		on_one(an_extension_counts_once_it_is_acknowledged),
		on_one(an_extension_near_its_end_cuts_no_wait_short),
		on_one(what_is_adopted_counts_once_it_is_acknowledged),
		on_one(an_adoption_that_is_refused_lets_those_behind_it_go_on),
		on_one(one_that_is_not_renewed_or_has_a_limit_is_confirmed_all_the_same),
		on_one(numbers_out_of_range_are_refused),
		on_one(a_wait_that_is_not_permitted_is_named_and_the_lock_released),
		on_one(the_scripts_may_be_gone_at_any_time),
		on_one(a_connection_that_breaks_while_it_waits_is_made_anew),
		on_one(what_is_to_be_fsynced_is_or_the_reason_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
