/* min_replicas, call by call: many who acquire at once cost few commands, who is handed a lock waits for the replicas
 * as who asks for it, and so do an extension and an adoption; a cancel and a close end that wait, and nobody stays
 * behind one whom the replicas refused. */
#include "tests/fault/replicas.h"
#include "tests/support/monitor.h"
#include "tests/support/test.h"
#include "tests/support/trouble.h"

#include <leash/cancel.h>
#include <leash/owner.h>

/* ---- few commands ---- */

/* Actors with a lock each, of this name and a number. */
static void
gather(struct actor *actor, int count, const char *name, const leash_lock_options *options)
{
	memset(actor, 0, (size_t)count * sizeof *actor);
	for (int i = 0; i < count; i++) {
		char numbered[16];

		snprintf(numbered, sizeof numbered, "%s-%d", name, i);
		actor_begin(&actor[i], leashed_lock(client, numbered, options), 30000);
	}
}

static void
acquire_at_once(struct actor *actor, int count)
{
	for (int i = 0; i < count; i++)
		actor_tell(&actor[i], actor_acquire);
	for (int i = 0; i < count; i++)
		assert_heard(LEASH_OK, &actor[i]);
}

FIXTURE(start_with_one, stop);

SENTENCE(fifty_locks_are_confirmed_by_few_waits)
{
	enum { LOCKS = 50 };
	static struct actor actor[LOCKS];
	struct monitor *monitor = monitor_start(master);
	size_t waits;

	proxy_delay(link_to[0], PROXY_BOTH, 100000);
	gather(actor, LOCKS, "many", LEASH_LOCK_OPTIONS(.min_replicas = 1, .lease_ms = slow_ms(60000)));
	monitor_mark(monitor);
	acquire_at_once(actor, LOCKS);
	waits = monitor_count(monitor, "\"WAIT\"");
	print_message("%zu WAITs for %d locks\n", waits, LOCKS);
	assert_in_range(waits, 1, LOCKS / 5);
	monitor_mark(monitor);
	for (int i = 0; i < LOCKS; i++)
		assert_done(LEASH_OK, &actor[i], actor_release);
	assert_int_equal(monitor_count(monitor, "\"WAIT\""), 0);
	for (int i = 0; i < LOCKS; i++)
		actor_dismiss(&actor[i]);
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
SENTENCE(many_that_come_first_share_a_connection)
{
	enum { LOCKS = 8 };
	static struct actor actor[LOCKS];
	struct monitor *monitor;

	gather(actor, LOCKS, "first", LEASH_LOCK_OPTIONS(.min_replicas = 1));
	acquire_at_once(actor, LOCKS);
	for (int i = 0; i < LOCKS; i++)
		assert_done(LEASH_OK, &actor[i], actor_release);
	monitor = monitor_start(master);
	for (int i = 0; i < LOCKS; i++) {
		assert_done(LEASH_OK, &actor[i], actor_acquire);
		assert_done(LEASH_OK, &actor[i], actor_release);
		actor_dismiss(&actor[i]);
	}
	assert_int_equal(monitor_count(monitor, "\"WAIT\""), LOCKS);
	monitor_stop(monitor);
	await_true(connections() == 3);
}

SENTENCE(nesting_and_handing_on_within_the_process_ask_no_replica)
{
	const leash_lock_options *options =
		LEASH_LOCK_OPTIONS(.min_replicas = 1, .handoff_ms = 60000, .lease_ms = slow_ms(60000));
	leash_lock *lock = leashed_lock(client, "handed", options);
	struct actor next = {.lock = leashed_lock(client, "handed", options), .wait_ms = LEASH_FOREVER};
	struct actor wants_more = {
		.lock = leashed_lock(client, "handed",
		                     LEASH_LOCK_OPTIONS(.min_replicas = 2, .replicas_ms = 1000, .handoff_ms = 60000,
		                                        .lease_ms = slow_ms(60000))),
		.wait_ms = LEASH_FOREVER,
	};
	struct monitor *monitor = monitor_start(master);

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
	actor_dismiss(&wants_more);
	actor_dismiss(&next);
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

SENTENCE(whoever_is_handed_the_lock_returns_when_the_replica_knows_it)
{
	leash_client *other = open_client();
	struct actor actor[4];

	proxy_delay(link_to[0], PROXY_TO_CLIENT, 5000);
	memset(actor, 0, sizeof actor);
	for (int i = 0; i < 4; i++) {
		actor[i] = (struct actor){.lock = leashed_lock(i % 2 == 0 ? client : other, "turns",
		                                               LEASH_LOCK_OPTIONS(.min_replicas = 1, .no_handoff = i < 2)),
		                          .wait_ms = LEASH_FOREVER, .turns = 20};
		actor_start(&actor[i]);
	}
	for (int i = 0; i < 4; i++)
		actor_tell(&actor[i], take_turns);
	for (int i = 0; i < 4; i++) {
		assert_heard(LEASH_OK, &actor[i]);
		assert_int_equal(actor[i].count, 20);
		actor_dismiss(&actor[i]);
	}
	leash_close(other);
	assert_int_equal(events.total, 0);
}

SENTENCE(who_waits_behind_one_who_is_refused_gets_the_lock)
{
	leash_client *other = open_client();

	hold_link(0);
	for (int fair = 0; fair < 2; fair++) {
		const char *name = fair ? "fair" : "plain";
		struct actor first = {.lock = leashed_lock(client, name, LEASH_LOCK_OPTIONS(.min_replicas = 1,
		                                                                            .replicas_ms = 1000, .fair = fair)),
		                      .wait_ms = LEASH_FOREVER};
		struct actor second =
			{.lock = leashed_lock(client, name, LEASH_LOCK_OPTIONS(.fair = fair)), .wait_ms = LEASH_FOREVER};
		struct actor third =
			{.lock = leashed_lock(other, name, LEASH_LOCK_OPTIONS(.fair = fair)), .wait_ms = LEASH_FOREVER};

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
		actor_dismiss(&third);
		actor_dismiss(&second);
		actor_dismiss(&first);
	}
	leash_close(other);
}

/* ---- meanwhile ---- */

SENTENCE(until_it_is_confirmed_nobody_holds_it)
{
	leash_owner *owner;
	leash_lock *lock;
	struct actor actor;
	leash_stats stats = {.size = sizeof stats};

	assert_status(LEASH_OK, leash_owner_new(&owner, &err));
	lock = leashed_lock(client, "nobody's",
	                    LEASH_LOCK_OPTIONS(.min_replicas = 1, .owner = owner, .replicas_ms = slow_ms(20000)));
	actor_begin(&actor, lock, 30000);
	hold_link(0);
	actor_tell(&actor, actor_acquire);
	await_true(!is_free("leash:{nobody's}"));
	actor_await_asleep(&actor);
	assert_holds_nothing(lock);
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
	actor_dismiss(&actor);
	leash_owner_free(owner);
}

SENTENCE(a_cancel_ends_the_wait_for_replicas_and_releases)
{
	leash_cancel *cancel = leashed_cancel();
	struct actor actor = {
		.lock = leashed_lock(client, "canceled", LEASH_LOCK_OPTIONS(.min_replicas = 1, .replicas_ms = 86400000)),
		.wait_ms = 0,
	};

	actor.cancel = cancel;
	actor_start(&actor);
	hold_link(0);
	actor_tell(&actor, actor_acquire);
	await_true(!is_free("leash:{canceled}"));
	actor_await_asleep(&actor);
	leash_cancel_fire(cancel);
	assert_heard(LEASH_CANCELED, &actor);
	await_true(is_free("leash:{canceled}"));
	actor_dismiss(&actor);
	leash_cancel_free(cancel);
	assert_int_equal(events.total, 0);
}

SENTENCE(a_close_ends_the_wait_for_replicas_and_releases)
{
	leash_client *other = open_client();
	struct actor actor = {
		.lock = leashed_lock(other, "closed", LEASH_LOCK_OPTIONS(.min_replicas = 1, .replicas_ms = 86400000)),
		.wait_ms = 0,
	};
	leash_lock *held = leashed_lock(other, "held", LEASH_LOCK_OPTIONS(.min_replicas = 1));

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
	actor_dismiss(&actor);
	leash_lock_free(held);
}

SENTENCE(an_extension_counts_once_it_is_acknowledged)
{
	leash_lock *lock =
		leashed_lock(client, "extended",
		             LEASH_LOCK_OPTIONS(.min_replicas = 1, .lease_ms = slow_ms(20000), .replicas_ms = 1000));

	assert_status(LEASH_OK, leash_lock_acquire(lock, 30000, &err));
	hold_link(0);
	assert_refused(LEASH_UNAVAILABLE, server_uri_tcp(master), "not extended: ",
	               leash_lock_extend(lock, slow_ms(60000), &err));
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
SENTENCE(an_extension_near_its_end_cuts_no_wait_short)
{
	leash_lock *lock = leashed_lock(client, "late", LEASH_LOCK_OPTIONS(.min_replicas = 1, .lease_ms = slow_ms(60000),
	                                                                   .replicas_ms = 2000));
	struct monitor *monitor = monitor_start(master);

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
note_persistent(void *said, leash_log_level level, const char *line)
{
	if (level == LEASH_LOG_WARNING && strstr(line, "lock 'kept'") != NULL && strstr(line, "its key had no TTL") != NULL)
		*(_Atomic int *)said = 1;
}

SENTENCE(a_key_that_was_made_persistent_is_told_of_in_the_log_here_too)
{
	_Atomic int said = 0;
	leash_client *heard =
		leashed_open(server_uri_tcp(master),
		             LEASH_OPTIONS(.timeout_ms = patience_ms(), .on_log = note_persistent, .log_arg = &said));
	leash_lock *lock = leashed_lock(heard, "kept", LEASH_LOCK_OPTIONS(.min_replicas = 1));

	assert_status(LEASH_OK, leash_lock_acquire(lock, 30000, &err));
	assert_int_equal(server_integer(master, "PERSIST leash:{kept}"), 1);
	assert_status(LEASH_OK, leash_lock_extend(lock, 60000, &err));
	await_true(said);
	assert_true(server_integer(master, "PTTL leash:{kept}") > 0);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	leash_lock_free(lock);
	leash_close(heard);
}

SENTENCE(what_is_adopted_counts_once_it_is_acknowledged)
{
	leash_client *other = open_client();
	leash_lock *lock =
		leashed_lock(client, "adopted", LEASH_LOCK_OPTIONS(.no_renew = true, .lease_ms = slow_ms(60000)));
	leash_lock *heir = leashed_lock(other, "adopted", LEASH_LOCK_OPTIONS(.min_replicas = 1, .lease_ms = slow_ms(60000),
	                                                                     .replicas_ms = 1000));
	char token[LEASH_TOKEN_MAX];

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
SENTENCE(an_adoption_that_is_refused_lets_those_behind_it_go_on)
{
	leash_client *other = open_client();
	leash_lock *lock = leashed_lock(client, "heirless", LEASH_LOCK_OPTIONS(.lease_ms = slow_ms(60000)));
	struct actor heir = {
		.lock = leashed_lock(other, "heirless", LEASH_LOCK_OPTIONS(.min_replicas = 1, .lease_ms = slow_ms(60000),
		                                                          .replicas_ms = slow_ms(3000))),
	};
	struct actor next = {.lock = leashed_lock(other, "heirless", NULL), .wait_ms = LEASH_FOREVER};
	char token[LEASH_TOKEN_MAX];

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
	actor_dismiss(&next);
	actor_dismiss(&heir);
	leash_close(other);
	leash_lock_free(lock);
}
