/* min_replicas and fsynced: nothing counts that too few replicas have acknowledged. What was acknowledged outlives the
 * server; what was not is released again, or told in time. What is made of each answer: core/test_single.
 *
 * The links to the replicas go through proxies, because a replica that was stopped reads, when it goes on, what the
 * kernel has kept for it. */
#include "tests/support/actor.h"
#include "tests/fault/refused.h"
#include "tests/support/kept.h"
#include "tests/support/test.h"

enum { REPLICAS = 2 };

static leash_error err;
static struct server *master, *replica[REPLICAS];
static struct proxy *link_to[REPLICAS];
static leash_client *client;
static struct leashed_events events; /* of all who come by open_client() */

static leash_client *
open_client(void)
{
	return kept(leashed_open(server_uri_tcp(master), LEASH_OPTIONS(
		.timeout_ms = patience_ms(), .on_event = leashed_note_event, .event_arg = &events)));
}

/* One more replica. Returns when it acknowledges what the master writes: that may begin a second after it has all that
 * was written before. */
static void
start_replica(int i)
{
	char target[40];

	snprintf(target, sizeof target, "127.0.0.1:%d", server_port(master));
	link_to[i] = kept(proxy_start_tcp(target));
	const char *port = strrchr(proxy_uri(link_to[i]), ':') + 1;
	replica[i] = kept(server_start((const char *const[]){"--replicaof", "127.0.0.1", port, NULL}));
	for (int written = 0; written < 2; written += server_integer(master, "WAIT %d 1000", i + 1) > i)
		server_text(master, "SET begun 1");
}

static void
start(void)
{
	memset(&events, 0, sizeof events);
	master = kept(server_start_tcp((const char *const[]){"--repl-diskless-sync-delay", "0", NULL}));
	for (int i = 0; i < REPLICAS; i++)
		start_replica(i);
	client = open_client();
}

FIXTURE(start, NULL);

static bool
is_free(const char *key)
{
	return server_integer(master, "EXISTS %s", key) == 0;
}

SENTENCE(with_too_few_replicas_an_acquire_fails_within_its_limit_and_the_lock_is_free_afterwards)
{
	leash_lock *both = kept(leashed_lock(client, "both", LEASH_LOCK_OPTIONS(.min_replicas = 2, .replicas_ms = 3000)));
	leash_lock *theirs = kept(leashed_lock(open_client(), "both", NULL));

	proxy_hold(link_to[1], PROXY_BOTH);
	int64_t began = await_now_ns();
	assert_refused(LEASH_UNAVAILABLE, server_uri_tcp(master), "1 of 2 replicas acknowledged it in time: released again",
	               leash_lock_acquire(both, LEASH_FOREVER, &err));
	assert_in_range(await_now_ns() - began, 2100 * MS, 20000 * MS); /* and not the client's timeout */
	assert_holds_nothing(both);
	assert_status(LEASH_NOT_HELD, leash_lock_release(both, &err));
	await_true(is_free("leash:{both}"));
	assert_status(LEASH_OK, leash_lock_acquire(theirs, 30000, &err));
	assert_status(LEASH_OK, leash_lock_release(theirs, &err));
	assert_int_equal(events.total, 0); /* nobody was told of it, so nobody is told that it is gone */
	proxy_release(link_to[1]);
	await_true(leash_lock_acquire(both, 30000, &err) == LEASH_OK);
	assert_status(LEASH_OK, leash_lock_release(both, &err));
}

SENTENCE(numbers_out_of_range_are_refused)
{
	static const struct {
		const char *named;
		leash_lock_options options;
	} wrong[] = {
#define ROW(name, ...) {name, {.size = sizeof(leash_lock_options), __VA_ARGS__}}
		ROW("min_replicas is 17", .min_replicas = 17), ROW("min_replicas", .min_replicas = -1),
		ROW("replicas_ms", .replicas_ms = -1), ROW("replicas_ms", .min_replicas = 1, .replicas_ms = 86400001),
	};
	leash_lock *none = NULL;

	for (size_t i = 0; i < COUNT(wrong); i++) {
		assert_status(LEASH_INVALID, leash_lock_new(&none, client, "range", &wrong[i].options, &err));
		check_text(err.text, wrong[i].named);
	}
	assert_null(none);
}

SENTENCE(what_is_to_be_fsynced_is_or_the_reason_is_named)
{
	leash_lock *here = kept(leashed_lock(client, "here", LEASH_LOCK_OPTIONS(.fsynced = true, .replicas_ms = slow_ms(20000))));
	leash_lock *both = kept(leashed_lock(client, "both", LEASH_LOCK_OPTIONS(.fsynced = true, .min_replicas = 1,
	                                                                   .replicas_ms = slow_ms(3000))));

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
		for (int i = 0; i < REPLICAS; i++)
			server_text(replica[i], "CONFIG SET appendonly yes");
		await_true(leash_lock_acquire(both, 30000, &err) == LEASH_OK);
		assert_status(LEASH_OK, leash_lock_release(both, &err));
		server_kill(master);
		server_text(replica[0], "PING");
		assert_status(LEASH_UNKNOWN, leash_lock_release(here, &err));
	}
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

SENTENCE(fifty_locks_are_confirmed_by_few_waits)
{
	enum { LOCKS = 50 };
	static struct actor actor[LOCKS];
	struct monitor *monitor = kept(monitor_start(master));

	for (int i = 0; i < REPLICAS; i++)
		proxy_delay(link_to[i], PROXY_BOTH, 100000);
	for (int i = 0; i < LOCKS; i++) {
		char name[16];

		snprintf(name, sizeof name, "many-%d", i);
		actor_begin(&actor[i], leashed_lock(client, name, LEASH_LOCK_OPTIONS(.min_replicas = 1, .lease_ms = slow_ms(60000))),
		            30000);
	}
	monitor_mark(monitor);
	for (int i = 0; i < LOCKS; i++)
		actor_tell(&actor[i], actor_acquire);
	for (int i = 0; i < LOCKS; i++)
		assert_heard(LEASH_OK, &actor[i]);
	size_t waits = monitor_count(monitor, "\"WAIT\"");
	print_message("%zu WAITs for %d locks\n", waits, LOCKS);
	assert_in_range(waits, 1, LOCKS / 5);
	await_true(connections() == 3); /* each of them made what confirms, as it was not there: one of those stays */
	monitor_mark(monitor);
	for (int i = 0; i < LOCKS; i++)
		assert_done(LEASH_OK, &actor[i], actor_release);
	assert_int_equal(monitor_count(monitor, "\"WAIT\""), 0);
	for (int i = 0; i < LOCKS; i++)
		actor_dismiss(&actor[i]);
}

/* The master is dead, and the first replica takes its place and port. */
static void
promote(void)
{
	server_kill(master);
	server_text(replica[0], "REPLICAOF NO ONE");
	server_text(replica[0], "CONFIG SET bind 127.0.0.1");
	server_text(replica[0], "CONFIG SET port %d", server_port(master));
}

SENTENCE(what_was_not_acknowledged_was_not_acquired_and_without_min_replicas_its_loss_is_told)
{
	/* a WAIT is for a quarter of the lease, so that the first of two says it in any case */
	const leash_lock_options *patient = LEASH_LOCK_OPTIONS(.lease_ms = 8000, .min_replicas = 1, .replicas_ms = 4000);
	leash_lock *sure = kept(leashed_lock(client, "sure", patient));
	leash_lock *unsure = kept(leashed_lock(client, "unsure", LEASH_LOCK_OPTIONS(.lease_ms = slow_ms(20000))));

	for (int i = 0; i < REPLICAS; i++)
		proxy_hold(link_to[i], PROXY_BOTH);
	assert_refused(LEASH_UNAVAILABLE, server_uri_tcp(master), "0 of 1 replicas", leash_lock_acquire(sure, 30000, &err));
	assert_status(LEASH_OK, leash_lock_acquire(unsure, 30000, &err));
	uint64_t fence = leash_lock_fence(unsure);
	promote();
	leash_client *other = open_client();
	leash_lock *theirs = kept(leashed_lock(other, "unsure", NULL));
	assert_status(LEASH_OK, leash_lock_acquire(theirs, 30000, &err));
	assert_true(leash_lock_fence(theirs) > fence);
	await_true(events.count[LEASH_EVENT_LOST] == 1);
	assert_false(leash_lock_held(unsure));
	assert_status(LEASH_LOST, leash_lock_release(unsure, &err));
	assert_status(LEASH_OK, leash_lock_release(theirs, &err));
}
