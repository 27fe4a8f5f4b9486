/* Who waits: leash_lock_waiters() tells of each place in the queue, first comes first, whatever the server says. */
#include "tests/support/child.h"
#include "tests/support/fake.h"
#include "tests/support/place.h"
#include "tests/support/test.h"

#include <pthread.h>
#include <unistd.h>

static leash_client *client;
static leash_lock *lock;
static leash_error err;

static void
open_one(void)
{
	place_flush();
	client = place_client(LEASH_OPTIONS(.timeout_ms = 20000));
	lock = leashed_lock(client, "wanted", NULL);
}

static void
close_one(void)
{
	leash_lock_free(lock);
	leash_close(client);
}

FIXTURE(open_one, close_one);
PLACE(place_open);

struct seen {
	size_t count, most, unknown;
	leash_waiter_info waiter[8]; /* the first */
	int64_t since_ms;            /* of the last */
	uint64_t position;
};

static bool
see(void *arg, const leash_waiter_info *waiter)
{
	struct seen *seen = arg;

	assert_int_equal(waiter->size, sizeof *waiter);
	assert_int_equal(waiter->position, seen->position + 1);
	assert_true(waiter->waiting_since_ms >= seen->since_ms);
	if (seen->count < 8)
		seen->waiter[seen->count] = *waiter;
	seen->position = waiter->position;
	seen->since_ms = waiter->waiting_since_ms;
	seen->unknown += waiter->who.pid == 0;
	return ++seen->count != seen->most;
}

/* So many places, of 7 clients that nobody knows. */
static void
make_places(long long places)
{
	place_integer("wanted", "EVAL %s 1 leash:{wanted}:queue %lld",
	               "for i = 1, tonumber(ARGV[1]) do "
	               "local place = string.format('0c6f1d52-8a1e-4b7e-9d0a-3f1c5e7a9b1%d:%d 3000', i % 7, i) "
	               "redis.call('ZADD', KEYS[1], 1760000000000000 + i * 1000, place) end "
	               "for i = 0, 6 do redis.call('ZADD', KEYS[1], -1760000010000000, '0c6f1d52-8a1e-4b7e-9d0a-3f1c5e7a9b1' .. i) end return 1",
	               places);
}

struct waiter {
	leash_client *client;
	leash_lock *lock;
	pthread_t thread;
};

static void *
wait_for_it(void *arg)
{
	struct waiter *w = arg;

	if (leash_lock_acquire(w->lock, LEASH_FOREVER, NULL) == LEASH_OK && leash_lock_release(w->lock, NULL) == LEASH_OK)
		return w;
	return NULL;
}

SENTENCE(who_waits_is_told_in_order_with_all_that_is_known, .but = PLACE_NO_QUEUE)
{
	enum { WAITERS = 4 };
	struct waiter w[WAITERS];
	struct seen seen = {0};
	void *served;

	assert_status(LEASH_OK, leash_lock_waiters(lock, see, &seen, &err));
	assert_int_equal(seen.count, 0);
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	for (int i = 0; i < WAITERS; i++) {
		char name[16];

		snprintf(name, sizeof name, "waiter-%d", i);
		w[i].client = place_client(LEASH_OPTIONS(.client_name = name));
		w[i].lock = leashed_lock(w[i].client, "wanted", LEASH_LOCK_OPTIONS(.lease_ms = i == 0 ? 200 : 0));
		pthread_create(&w[i].thread, NULL, wait_for_it, &w[i]);
		place_await_waiting("wanted", i + 1);
	}
	assert_status(LEASH_OK, leash_lock_waiters(lock, see, &seen, &err));
	assert_int_equal(seen.count, WAITERS);
	for (int i = 0; i < WAITERS; i++) {
		char name[16];

		snprintf(name, sizeof name, "waiter-%d", i);
		assert_string_equal(seen.waiter[i].who.program, name);
		assert_int_equal(seen.waiter[i].who.pid, getpid());
		assert_string_not_equal(seen.waiter[i].who.host, "");
		assert_in_range(seen.waiter[i].waiting_since_ms, seen.waiter[i].who.since_ms - 1000, seen.waiter[i].who.since_ms + 100000);
		assert_int_equal(seen.waiter[i].position, i + 1);
	}
	memset(&seen, 0, sizeof seen);
	seen.most = 2;
	assert_status(LEASH_OK, leash_lock_waiters(lock, see, &seen, &err));
	assert_int_equal(seen.count, 2);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	for (int i = 0; i < WAITERS; i++) {
		pthread_join(w[i].thread, &served);
		assert_non_null(served);
		leash_lock_free(w[i].lock);
		leash_close(w[i].client);
	}
}

/* At all servers: in a cluster who a client is may be known by another one than who waits. */
static long
calls_of_getrange(void)
{
	struct server *server;
	long calls = 0;

	for (size_t i = 0; (server = deployment_master(place, i)) != NULL; i++)
		calls += server_calls(server, "getrange");
	return calls;
}

static uint64_t
sent_by(leash_client *of)
{
	leash_stats stats = {.size = sizeof stats};

	assert_status(LEASH_OK, leash_client_stats(of, &stats, &err));
	return stats.commands;
}

/* From now on the server has a replica, to which nothing is sent but what it has, and which says nothing. */
static redisContext *
join_as_replica(struct server *server)
{
	redisContext *replica = server_connect(server);
	int done = 0;

	redisAppendCommand(replica, "SYNC");
	while (!done)
		assert_int_equal(redisBufferWrite(replica, &done), REDIS_OK);
	await_true(strstr(server_text(server, "INFO replication"), "connected_slaves:0") == NULL);
	return replica;
}

/* A master that was replaced while it stood still passes on what its successor has published meanwhile, also for clients that were counted
 * as not hearing, and passed over. Here somebody has the lock, and who waits hears that it got it. */
SENTENCE(what_a_replaced_master_passes_on_gives_nobody_the_lock, .but = PLACE_NO_QUEUE)
{
	leash_stats stats = {.size = sizeof stats};
	char channel[128], message[200];
	struct seen seen = {0};
	struct waiter w;
	const char *token = seen.waiter[0].who.token;
	bool sharded = deployment_cluster(place) != NULL;
	redisContext *replica = join_as_replica(deployment_master(place, 0));
	uint64_t sent;
	void *served;

	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	w.client = place_client(NULL);
	w.lock = leashed_lock(w.client, "wanted", NULL);
	pthread_create(&w.thread, NULL, wait_for_it, &w);
	place_await_waiting("wanted", 1);
	assert_status(LEASH_OK, leash_lock_waiters(lock, see, &seen, &err));
	snprintf(channel, sizeof channel, "%s:wake:%.36s", sharded ? "leash:{wanted}" : "leash", token);
	snprintf(message, sizeof message, "g %s %llu leash:{wanted}", token, (unsigned long long)leash_lock_fence(lock) / 256 + 1);
	sent = sent_by(w.client);
	await_true(place_integer("wanted", sharded ? "SPUBLISH %s %s" : "PUBLISH %s %s", channel, message) > 0);
	await_true(sent_by(w.client) > sent); /* it asks */
	assert_status(LEASH_OK, leash_client_stats(w.client, &stats, &err));
	assert_int_equal(stats.acquired, 0);
	assert_int_equal(place_integer("wanted", "HLEN leash:{wanted}"), 1);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	pthread_join(w.thread, &served);
	assert_non_null(served);
	leash_lock_free(w.lock);
	leash_close(w.client);
	redisFree(replica);
}

SENTENCE(a_long_queue_is_told_whole, .but = PLACE_NO_QUEUE)
{
	static const long long lengths[] = {1, 63, 64, 65, 199, 200, 201, 400, 12345};

	for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
		struct seen seen = {0};

		place_say("leash:{wanted}", "DEL leash:{wanted}:queue");
		make_places(lengths[i]);
		assert_status(LEASH_OK, leash_lock_waiters(lock, see, &seen, &err));
		assert_int_equal(seen.count, lengths[i]);
		assert_int_equal(seen.unknown, lengths[i]);
	}
	/* one question for each client, in a queue of 12345 places */
	place_say_all("CONFIG RESETSTAT");
	assert_status(LEASH_OK, leash_lock_waiters(lock, see, &(struct seen){0}, &err));
	assert_int_equal(calls_of_getrange(), 7);
}

/* The first 64, that is a batch, go while they are told of. */
static bool
let_them_go(void *arg, const leash_waiter_info *waiter)
{
	if (waiter->position == 1)
		place_say("leash:{wanted}", "ZREMRANGEBYSCORE leash:{wanted}:queue (0 1760000000064000");
	return see(arg, waiter);
}

SENTENCE(nobody_is_passed_over_who_moves_up_meanwhile, .but = PLACE_NO_QUEUE)
{
	struct seen seen = {0};

	make_places(1000);
	assert_status(LEASH_OK, leash_lock_waiters(lock, let_them_go, &seen, &err));
	assert_int_equal(seen.count, 1000);
}

SENTENCE(a_queue_that_is_none_is_a_mismatch, .but = PLACE_NO_QUEUE)
{
	static const char *const queues[] = {
		"SET %s x", "HSET %s a b", "ZADD %s 5 x", "ZADD %s 5 0c6f1d52-8a1e-4b7e-9d0a-3f1c5e7a9b10:1",
		"ZADD %s 1.5 0c6f1d52-8a1e-4b7e-9d0a-3f1c5e7a9b10:1_3000",
		"ZADD %s 1e300 0c6f1d52-8a1e-4b7e-9d0a-3f1c5e7a9b10:1_3000", "ZADD %s inf 0c6f1d52-8a1e-4b7e-9d0a-3f1c5e7a9b10:1_3000",
	};
	struct seen seen = {0};

	for (size_t i = 0; i < sizeof queues / sizeof *queues; i++) {
		place_say("leash:{wanted}", "DEL leash:{wanted}:queue");
		place_say("leash:{wanted}", queues[i], "leash:{wanted}:queue");
		assert_status(LEASH_MISMATCH, leash_lock_waiters(lock, see, &seen, &err));
		assert_non_null(strstr(err.text, "lock 'wanted'"));
	}
	assert_int_equal(seen.count, 0);
}

static bool
close_it(void *arg, const leash_waiter_info *waiter)
{
	(void)arg, (void)waiter;
	leash_close(client);
	return true;
}

SENTENCE(a_client_that_is_closed_meanwhile_ends_it, .but = PLACE_NO_QUEUE)
{
	leash_client *kept = client;

	make_places(1000);
	client = place_client(LEASH_OPTIONS(.timeout_ms = 20000));
	{
		leash_lock *theirs = leashed_lock(client, "wanted", NULL);

		assert_status(LEASH_CLOSED, leash_lock_waiters(theirs, close_it, NULL, &err));
		leash_lock_free(theirs);
	}
	client = kept;
}

static bool
pause_server(void *arg, const leash_waiter_info *waiter)
{
	(void)arg, (void)waiter;
	place_pause();
	return true;
}

SENTENCE(a_server_that_stands_still_meanwhile_is_unavailable, .but = PLACE_NO_QUEUE)
{
	leash_client *impatient = place_client(LEASH_OPTIONS(.timeout_ms = 300));
	leash_lock *theirs = leashed_lock(impatient, "wanted", NULL);

	make_places(1000);
	assert_status(LEASH_UNAVAILABLE, leash_lock_waiters(theirs, pause_server, NULL, &err));
	assert_non_null(strstr(err.text, "lock 'wanted'"));
	place_resume();
	leash_lock_free(theirs);
	leash_close(impatient);
}

SENTENCE(what_is_not_asked_properly_or_not_permitted_is_refused, .but = PLACE_NO_QUEUE)
{
	struct seen seen = {0};

	assert_status(LEASH_INVALID, leash_lock_waiters(NULL, see, &seen, &err));
	assert_status(LEASH_INVALID, leash_lock_waiters(lock, NULL, &seen, &err));
	place_say_all("ACL SETUSER %s -zrangebyscore", place_user());
	assert_status(LEASH_DENIED, leash_lock_waiters(lock, see, &seen, &err));
	place_say_all("ACL SETUSER %s +zrangebyscore", place_user());
	assert_non_null(strstr(err.text, "ZRANGEBYSCORE is not permitted"));
}

SENTENCE(where_there_is_no_queue_that_is_said)
{
	struct seen seen = {0};

	assert_status(place_is(PLACE_NO_QUEUE) ? LEASH_UNSUPPORTED : LEASH_OK, leash_lock_waiters(lock, see, &seen, &err));
	assert_true(!place_is(PLACE_NO_QUEUE) || strstr(err.text, "lock 'wanted': a quorum has no queue") != NULL);
	assert_int_equal(seen.count, 0);
}

static int
ask_in_child(void *arg)
{
	struct seen seen = {0};

	(void)arg;
	return leash_lock_waiters(lock, see, &seen, NULL) == LEASH_FORKED ? 0 : 1;
}

SENTENCE(a_forked_child_is_told_so)
{
	child_wait(child_run(ask_in_child, NULL));
}

/* ---- a server that says anything ---- */

static size_t
lie(void *ctx, int argc, const char **argv, const size_t *argl, char *out, size_t size)
{
	if (!fake_is(argc, argv, argl, 0, "ZRANGEBYSCORE"))
		return FAKE_DEFAULT;
	return fake_say(out, size, "%s", (const char *)ctx);
}

#define A_PLACE "$43\r\n0c6f1d52-8a1e-4b7e-9d0a-3f1c5e7a9b10:1 3000\r\n"

/* The same 200 places again and again. */
static size_t
repeat(void *ctx, int argc, const char **argv, const size_t *argl, char *out, size_t size)
{
	size_t n;

	(void)ctx;
	if (!fake_is(argc, argv, argl, 0, "ZRANGEBYSCORE"))
		return FAKE_DEFAULT;
	n = fake_say(out, size, "*400\r\n");
	for (int i = 0; i < 200; i++)
		n += fake_say(out + n, size - n, A_PLACE "$16\r\n%d\r\n", 1700000000 + i);
	return n;
}

SENTENCE(what_no_server_would_say_is_a_protocol_error, BETWEEN(NULL, NULL), .but = PLACE_ONE_SOCKET)
{
	static const char *const answers[] = {
		"+OK\r\n", ":1\r\n", "$-1\r\n", "*-1\r\n", "*1\r\n" A_PLACE, "*2\r\n" A_PLACE ":5\r\n",
		"*2\r\n:5\r\n$1\r\n5\r\n", "*2\r\n" A_PLACE "$1\r\n0\r\n", "-WHAT is that\r\n",
		"*2\r\n" A_PLACE "*1\r\n$1\r\n5\r\n", "*4\r\n" A_PLACE "$1\r\n5\r\n" A_PLACE "$1\r\n4\r\n",
	};

	for (size_t i = 0; i <= sizeof answers / sizeof *answers; i++) {
		bool last = i == sizeof answers / sizeof *answers;
		struct fake *fake = last ? fake_start(repeat, NULL) : fake_start(lie, (void *)(uintptr_t)answers[i]);
		leash_client *c = leashed_open(fake_uri(fake), LEASH_OPTIONS(.timeout_ms = 5000));
		leash_lock *l = leashed_lock(c, "lied", NULL);
		struct seen seen = {0};
		leash_status status = leash_lock_waiters(l, see, &seen, &err);

		if (status != LEASH_PROTOCOL)
			fail_msg("%s: %s", last ? "again and again" : answers[i], leash_status_name(status));
		leash_lock_free(l);
		leash_close(c);
		fake_stop(fake);
	}
}
