/* Who waits: leash_lock_waiters() tells of each place in the queue, first comes first, whatever the server says. */
#include "tests/contract/interface.h"

#include <unistd.h>

static leash_client *client;
static leash_lock *lock; /* "wanted" */

static void
open_one(void)
{
	place_flush();
	client = kept(place_client(LEASH_OPTIONS(.timeout_ms = 20000)));
	lock = kept(leashed_lock(client, "wanted", NULL));
}

FIXTURE(open_one, NULL);
PLACE(interface_open);

/* What is told to who asks. */
struct seen {
	size_t count, most, unknown;
	leash_waiter_info waiter[8]; /* the first */
	int64_t since_ms;            /* of the last */
	uint64_t position;
};
static struct seen seen;

static bool
see(void *arg, const leash_waiter_info *waiter)
{
	(void)arg;
	assert_int_equal(waiter->size, sizeof *waiter);
	assert_int_equal(waiter->position, seen.position + 1);
	assert_true(waiter->waiting_since_ms >= seen.since_ms);
	if (seen.count < 8)
		seen.waiter[seen.count] = *waiter;
	seen.position = waiter->position;
	seen.since_ms = waiter->waiting_since_ms;
	seen.unknown += waiter->who.pid == 0;
	return ++seen.count != seen.most;
}

/* `most` are enough; 0: all. */
static leash_status
ask(size_t most)
{
	seen = (struct seen){.most = most};
	return leash_lock_waiters(lock, see, NULL, &err);
}

/* So many places, of 7 clients that nobody knows. */
static void
make_places(long long places)
{
	place_integer("wanted", "EVAL %s 1 leash:{wanted}:queue %lld",
	               "for i = 1, tonumber(ARGV[1]) do "
	               "local place = string.format('0c6f1d52-8a1e-4b7e-9d0a-3f1c5e7a9b1%d:%d 3000', i % 7, i) "
	               "redis.call('ZADD', KEYS[1], 1760000000000000 + i * 1000, place) end "
	               "for i = 0, 6 do local client = '0c6f1d52-8a1e-4b7e-9d0a-3f1c5e7a9b1' .. i "
	               "redis.call('ZADD', KEYS[1], -1760000010000000, client) end return 1",
	               places);
}

SENTENCE(who_waits_is_told_in_order_with_all_that_is_known, .but = PLACE_NO_QUEUE)
{
	static const char *const names[] = {"waiter-0", "waiter-1", "waiter-2", "waiter-3"};
	struct actor w[COUNT(names)];

	assert_status(LEASH_OK, ask(0));
	assert_int_equal(seen.count, 0);
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	for (size_t i = 0; i < COUNT(names); i++) {
		leash_client *theirs = kept(place_client(LEASH_OPTIONS(.client_name = names[i])));

		begin_turn(&w[i], kept(leashed_lock(theirs, "wanted", LEASH_LOCK_OPTIONS(.lease_ms = i == 0 ? 200 : 0))));
		place_await_waiting("wanted", (int64_t)i + 1);
	}
	assert_status(LEASH_OK, ask(0));
	assert_int_equal(seen.count, COUNT(names));
	for (size_t i = 0; i < COUNT(names); i++) {
		const leash_party *who = &seen.waiter[i].who;

		assert_string_equal(who->program, names[i]);
		assert_int_equal(who->pid, getpid());
		assert_string_not_equal(who->host, "");
		assert_in_range(seen.waiter[i].waiting_since_ms, who->since_ms - 1000, who->since_ms + 100000);
	}
	assert_status(LEASH_OK, ask(2));
	assert_int_equal(seen.count, 2);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	for (size_t i = 0; i < COUNT(names); i++)
		end_waiting(&w[i]);
}

/* From now on the server has a replica, to which nothing is sent but what it has, and which says nothing. */
static redisContext *
join_as_replica(struct server *of)
{
	redisContext *replica = server_connect(of);
	int done = 0;

	redisAppendCommand(replica, "SYNC");
	while (!done)
		assert_int_equal(redisBufferWrite(replica, &done), REDIS_OK);
	await_true(strstr(server_text(of, "INFO replication"), "connected_slaves:0") == NULL);
	return replica;
}

/* A master that was replaced while it stood still passes on what its successor has published meanwhile, also for
 * clients that were counted as not hearing, and passed over. Here somebody has the lock, and who waits hears that it
 * got it. */
SENTENCE(what_a_replaced_master_passes_on_gives_nobody_the_lock, .but = PLACE_NO_QUEUE)
{
	bool is_sharded = deployment_cluster(place) != NULL;
	redisContext *replica = join_as_replica(deployment_master(place, 0));
	leash_client *theirs = kept(place_client(NULL));
	struct actor w;
	char channel[128], message[200];

	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	begin_turn(&w, kept(leashed_lock(theirs, "wanted", NULL)));
	place_await_waiting("wanted", 1);
	assert_status(LEASH_OK, ask(0));
	snprintf(channel, sizeof channel, "%s:wake:%.36s", is_sharded ? "leash:{wanted}" : "leash", seen.waiter[0].who.token);
	snprintf(message, sizeof message, "g %s %llu leash:{wanted}", seen.waiter[0].who.token,
	         (unsigned long long)leash_lock_fence(lock) / 256 + 1);
	uint64_t sent = stats_of(theirs).commands;
	await_true(place_integer("wanted", is_sharded ? "SPUBLISH %s %s" : "PUBLISH %s %s", channel, message) > 0);
	await_true(stats_of(theirs).commands > sent); /* it asks */
	assert_int_equal(stats_of(theirs).acquired, 0);
	assert_int_equal(place_integer("wanted", "HLEN leash:{wanted}"), 1);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	end_waiting(&w);
	redisFree(replica);
}

SENTENCE(a_long_queue_is_told_whole, .but = PLACE_NO_QUEUE)
{
	static const long long lengths[] = {1, 63, 64, 65, 199, 200, 201, 400, 12345};

	for (size_t i = 0; i < COUNT(lengths); i++) {
		place_say("leash:{wanted}", "DEL leash:{wanted}:queue");
		make_places(lengths[i]);
		assert_status(LEASH_OK, ask(0));
		assert_int_equal(seen.count, lengths[i]);
		assert_int_equal(seen.unknown, lengths[i]);
	}
	/* one question for each client, in a queue of 12345 places */
	place_say_all("CONFIG RESETSTAT");
	assert_status(LEASH_OK, ask(0));
	assert_int_equal(calls_of("getrange"), 7); /* in a cluster another server may know who a client is */
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
	seen = (struct seen){0};
	make_places(1000);
	assert_status(LEASH_OK, leash_lock_waiters(lock, let_them_go, NULL, &err));
	assert_int_equal(seen.count, 1000);
}

SENTENCE(a_queue_that_is_none_is_a_mismatch, .but = PLACE_NO_QUEUE)
{
	static const char *const queues[] = {
		"SET %s x", "HSET %s a b", "ZADD %s 5 x", "ZADD %s 5 " UUID ":1",
		"ZADD %s 1.5 " UUID ":1_3000",
		"ZADD %s 1e300 " UUID ":1_3000", "ZADD %s inf " UUID ":1_3000",
	};

	for (size_t i = 0; i < COUNT(queues); i++) {
		place_say("leash:{wanted}", "DEL leash:{wanted}:queue");
		place_say("leash:{wanted}", queues[i], "leash:{wanted}:queue");
		assert_refused(LEASH_MISMATCH, "lock 'wanted'", ask(0));
		assert_int_equal(seen.count, 0);
	}
}

static bool
close_it(void *theirs, const leash_waiter_info *waiter)
{
	(void)waiter;
	leash_close(theirs);
	return true;
}

SENTENCE(a_client_that_is_closed_meanwhile_ends_it, .but = PLACE_NO_QUEUE)
{
	leash_client *theirs = open_client();
	leash_lock *wanted = kept(leashed_lock(theirs, "wanted", NULL));

	make_places(1000);
	assert_status(LEASH_CLOSED, leash_lock_waiters(wanted, close_it, theirs, &err));
}
