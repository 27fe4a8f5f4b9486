/* The server half, step by step: every line that lib/lua/README.md promises, one interleaving at a time.
 *
 * The scripts run as the build embeds them, on a real server and over plain connections; no other part of the library
 * takes part. Time does not pass in these tests: a lease that ran out is a lock key that was deleted, a client that died
 * is one whose entry in the queue says so. After every step `step` looks at all keys; what it demands is what must hold
 * after any step of any client (see `look`). */
#include "lua/scripts.h"
#include "tests/support/await.h"
#include "tests/support/server.h"
#include "tests/support/trouble.h"

#include <hiredis/hiredis.h>

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LOCK  "leash:{orders}"
#define FENCE "leash:{orders}:fence"
#define QUEUE "leash:{orders}:queue"

/* Clients, and tokens of theirs. */
#define ANN "aaaaaaaa-0000-4000-8000-00000000000a"
#define BOB "bbbbbbbb-0000-4000-8000-00000000000b"
#define CID "cccccccc-0000-4000-8000-00000000000c"
#define DAN "dddddddd-0000-4000-8000-00000000000d"
#define ANN1 ANN ":1"
#define ANN2 ANN ":2"
#define BOB1 BOB ":1"
#define BOB2 BOB ":2"
#define CID1 CID ":1"
#define CID2 CID ":2"
#define DAN1 DAN ":1"

enum { LEASE = 600000, CLAIM = 60000, ALIVE = 200000, DAY = 86400000, MAX_ITEMS = 12, MAX_ARGS = 20 };

#define EXACT   "60000 200000 1 PUBLISH leash:wake:"
#define INEXACT "60000 200000 0 PUBLISH leash:wake:"
#define TRY     "0 200000 1 PUBLISH leash:wake:"

#define NEVER_LATE "9000000000000000"

/* Every command that a step gives. */
static const char *const commands[] = {
	"time", "exists", "set", "get", "hset", "hget", "hdel", "hexists", "pexpire", "pttl", "del",
	"zadd", "zrem", "zscore", "zcount", "zrangebyscore", "zrevrange", "publish",
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static struct server *server;
static redisContext *unlimited;  /* a connection that may do anything */
static redisContext *connection; /* the one that the steps are run on */
static struct listener *listeners;

/* How much of what `look` demands is to be had: not all while somebody else's keys are about, or rights are missing. */
static enum { ALL, TTLS, NOTHING } order = ALL;

/* ---- what a step answers ---- */

struct answer {
	int type; /* REDIS_REPLY_INTEGER, _ARRAY or _ERROR */
	int64_t integer;
	size_t count;
	int64_t item[MAX_ITEMS];
	char text[256]; /* of an error */
};

static struct answer
answer_of(const redisReply *reply)
{
	struct answer answer = { .type = reply->type, .integer = reply->integer, .count = reply->elements };

	if (reply->type == REDIS_REPLY_ERROR)
		snprintf(answer.text, sizeof answer.text, "%s", reply->str);
	if (reply->elements > MAX_ITEMS)
		trouble("a reply of %zu elements", reply->elements);
	for (size_t i = 0; i < reply->elements; i++) {
		if (reply->element[i]->type != REDIS_REPLY_INTEGER)
			trouble("element %zu of a reply is no integer", i);
		answer.item[i] = reply->element[i]->integer;
	}
	return answer;
}

static bool
is_fence(struct answer answer)
{
	return answer.type == REDIS_REPLY_INTEGER && answer.integer > 0;
}

/* The fence of an ask that was granted. */
static int64_t
fence_of(struct answer answer)
{
	if (!is_fence(answer))
		fail_msg("not held: type %d, %s", answer.type, answer.text);
	return answer.integer;
}

static void
assert_not_held(struct answer answer)
{
	if (answer.type != REDIS_REPLY_ARRAY)
		fail_msg("not the answer of a lock that is not held: type %d, %s", answer.type, answer.text);
	assert_int_equal(answer.count, 3);
	assert_int_equal(answer.item[0], 0);
}

static void
assert_number(struct answer answer, int64_t number)
{
	if (answer.type != REDIS_REPLY_INTEGER)
		fail_msg("no integer but type %d, %s", answer.type, answer.text);
	assert_int_equal(answer.integer, number);
}

/* An error in a script begins with its word, and in Redis 6.2 with the place in the script, its word coming later. */
static void
assert_error(struct answer answer, const char *first_word)
{
	const char *text = answer.text;

	if (answer.type != REDIS_REPLY_ERROR)
		fail_msg("no error but type %d, %" PRId64, answer.type, answer.integer);
	if (strncmp(text, "ERR Error running script", 24) == 0 || strncmp(text, "@user_script", 12) == 0) {
		if (strcmp(first_word, "ERR") == 0)
			return;
		text = strstr(text, first_word);
	}
	if (!text || strncmp(text, first_word, strlen(first_word)) != 0)
		fail_msg("not %s: %s", first_word, answer.text);
}

/* ---- what is in the server ---- */

static const char *
holder(void)
{
	return server_text(server, "HKEYS " LOCK);
}

/* In their order, with a space between. */
static const char *
places(void)
{
	return server_text(server, "ZRANGEBYSCORE " QUEUE " (0 +inf");
}

static bool
exists(const char *key)
{
	return server_integer(server, "EXISTS %s", key) == 1;
}

static int64_t
ttl_of(const char *key)
{
	return server_integer(server, "PTTL %s", key);
}

static int64_t
last_fence(void)
{
	const char *text = server_text(server, "GET " FENCE);

	assert_non_null(text);
	return strtoll(text, NULL, 10);
}

static void
assert_last_fence(int64_t fence)
{
	assert_int_equal(fence, last_fence());
}

static int64_t
server_us(void)
{
	const char *text = server_text(server, "TIME");
	char *us;
	int64_t s = strtoll(text, &us, 10);

	return s * 1000000 + strtoll(us, NULL, 10);
}

/* The moment, in us, until which a client counts as alive. */
static int64_t
alive_until(const char *client)
{
	const char *score = server_text(server, "ZSCORE " QUEUE " %s", client);

	assert_non_null(score);
	return -strtoll(score, NULL, 10);
}

static void
assert_between(int64_t n, int64_t low, int64_t high)
{
	if (n < low || n > high)
		fail_msg("%" PRId64 " is not between %" PRId64 " and %" PRId64, n, low, high);
}

/* A TTL in ms that was set a moment ago: time passes, but a minute does not. */
static void
assert_ttl(const char *key, int64_t ms)
{
	assert_between(ttl_of(key), ms > 60000 ? ms - 60000 : 1, ms);
}

/* What holds after any step of any client. */
static void
look(void)
{
	redisReply *keys;

	if (order == NOTHING)
		return;
	keys = server_command(server, "KEYS leash:*");
	for (size_t i = 0; i < keys->elements; i++)
		if (ttl_of(keys->element[i]->str) == -1)
			fail_msg("%s has no TTL", keys->element[i]->str);
	freeReplyObject(keys);
	if (order == TTLS)
		return;
	assert_in_range(server_integer(server, "HLEN " LOCK), 0, 1);
	assert_in_range(ttl_of(LOCK) + 2, 0, DAY + 2);
	assert_in_range(ttl_of(FENCE) + 2, 0, DAY + 2);
	if (exists(LOCK))
		assert_true(exists(FENCE));
	if (exists(QUEUE)) {
		redisReply *place = server_command(server, "ZRANGEBYSCORE " QUEUE " (0 +inf");

		if (place->elements == 0)
			fail_msg("the queue exists and nobody waits");
		for (size_t i = 0; i < place->elements; i++) {
			char *token = place->element[i]->str;

			if (!server_text(server, "ZSCORE " QUEUE " %b", token, (size_t)36))
				fail_msg("the place '%s' has no client", token);
			*strchr(token, ' ') = '\0';
			if (server_integer(server, "HEXISTS " LOCK " %s", token))
				fail_msg("%s holds and waits", token);
		}
		freeReplyObject(place);
	}
}

/* ---- the steps ---- */

static struct answer
run(const struct lsh_script *script, int keys, const char *const *args)
{
	const char *argv[MAX_ARGS] = { "EVALSHA", script->sha1, keys == 1 ? "1" : "3", LOCK, FENCE, QUEUE };
	int argc = 3 + keys;
	redisReply *reply;
	struct answer answer;

	while (*args && argc < MAX_ARGS)
		argv[argc++] = *args++;
	reply = redisCommandArgv(connection, argc, argv, NULL);
	if (!reply)
		trouble("no answer to %s: %s", script->name, connection->errstr);
	answer = answer_of(reply);
	freeReplyObject(reply);
	look();
	return answer;
}

#define step(script, keys, ...) run(&lsh_script_##script, keys, (const char *const[]){ __VA_ARGS__, NULL })

static struct answer
ask_with(const char *token, const char *lease_ms, const char *not_after_us, const char *cfg)
{
	return step(acquire, 3, token, lease_ms, not_after_us, cfg);
}

static struct answer
ask(const char *token)
{
	return ask_with(token, "600000", NEVER_LATE, EXACT);
}

static struct answer
try(const char *token)
{
	return ask_with(token, "600000", NEVER_LATE, TRY);
}

static struct answer
release(const char *token)
{
	return step(release, 3, token, EXACT);
}

static struct answer
word(const char *client, const char *token)
{
	return step(word, 3, client, "600000", token, EXACT);
}

static struct answer
renew(const char *token, const char *lease_ms, const char *depth)
{
	return step(renew, 1, token, lease_ms, depth);
}

/* `now`, the second item, and the token's state of a word of one token. */
static int64_t
state_of(struct answer answer)
{
	if (answer.type != REDIS_REPLY_ARRAY)
		fail_msg("not the answer to a word: type %d, %s", answer.type, answer.text);
	assert_int_equal(answer.count, 3);
	return answer.item[2];
}

/* ---- time and death ---- */

static void
expire(const char *key)
{
	server_integer(server, "DEL %s", key);
}

/* The client has not been heard of for longer than `alive`. */
static void
bury(const char *client)
{
	assert_int_equal(server_integer(server, "ZADD " QUEUE " XX CH %lld %s", (long long)-(server_us() - 1000), client), 1);
}

/* ---- who listens ---- */

struct listener {
	redisContext *connection;
	int messages;   /* so far */
	char last[128];
	struct listener *next;
};

static redisReply *
heard(struct listener *listener)
{
	redisReply *reply;

	if (redisGetReply(listener->connection, (void **)&reply) != REDIS_OK)
		trouble("the listener's connection: %s", listener->connection->errstr);
	return reply;
}

static struct listener *
listen_on(const char *command, const char *channel)
{
	struct listener *listener = calloc(1, sizeof *listener);

	if (!listener)
		trouble("no memory");
	listener->connection = server_connect(server);
	listener->next = listeners;
	listeners = listener;
	redisAppendCommand(listener->connection, "%s %s", command, channel);
	freeReplyObject(heard(listener));
	return listener;
}

static struct listener *
listen_for(const char *client)
{
	char channel[64];

	snprintf(channel, sizeof channel, "leash:wake:%s", client);
	return listen_on("SUBSCRIBE", channel);
}

/* How many messages have come since it began; what was published before this call is among them. */
static int
messages(struct listener *listener)
{
	redisAppendCommand(listener->connection, "PING");
	for (;;) {
		redisReply *reply = heard(listener);
		bool pong = reply->elements < 3;

		if (!pong) {
			listener->messages++;
			snprintf(listener->last, sizeof listener->last, "%s", reply->element[2]->str);
		}
		freeReplyObject(reply);
		if (pong)
			return listener->messages;
	}
}

/* The one message that has come is a grant of `token`, with the fence that is the last one issued. */
static void
assert_told(struct listener *listener, const char *token)
{
	char expected[128];

	assert_int_equal(messages(listener), 1);
	snprintf(expected, sizeof expected, "g %s %" PRId64 " " LOCK, token, last_fence());
	assert_string_equal(listener->last, expected);
}

/* ---- a fresh server for each test ---- */

static void
load(redisContext *c, const struct lsh_script *script)
{
	redisReply *reply = redisCommand(c, "SCRIPT LOAD %b", script->text, script->size);

	if (!reply || reply->type != REDIS_REPLY_STRING)
		trouble("cannot load %s: %s", script->name, reply ? reply->str : c->errstr);
	if (strcmp(reply->str, script->sha1) != 0)
		trouble("%s is %s here and %s there", script->name, script->sha1, reply->str);
	freeReplyObject(reply);
}

static void
load_all(redisContext *c)
{
	load(c, &lsh_script_acquire);
	load(c, &lsh_script_release);
	load(c, &lsh_script_word);
	load(c, &lsh_script_renew);
}

static void
listen_no_more(void)
{
	while (listeners) {
		struct listener *listener = listeners;

		listeners = listener->next;
		redisFree(listener->connection);
		free(listener);
	}
}

static int
start(void **state)
{
	(void)state;
	server = server_start(NULL);
	unlimited = server_connect(server);
	load_all(unlimited);
	return 0;
}

static int
stop(void **state)
{
	(void)state;
	redisFree(unlimited);
	server_stop(server);
	return 0;
}

static int
clean(void **state)
{
	(void)state;
	order = ALL;
	connection = unlimited;
	server_text(server, "REPLICAOF NO ONE");
	server_text(server, "CONFIG SET maxmemory 0");
	server_text(server, "FLUSHALL");
	return 0;
}

static int
close_listeners(void **state)
{
	(void)state;
	listen_no_more();
	return 0;
}

/* ---- ask: the lock is free ---- */

static void
a_free_lock_is_held_by_whoever_asks(void **state)
{
	(void)state;
	int64_t fence = fence_of(ask(ANN1));

	assert_string_equal(server_text(server, "HGETALL " LOCK), ANN1 " 1");
	assert_ttl(LOCK, LEASE);
	assert_int_equal(last_fence(), fence);
	assert_ttl(FENCE, DAY);
	assert_false(exists(QUEUE));
}

static void
a_fence_is_the_servers_time_in_microseconds(void **state)
{
	(void)state;
	/* TIME answers microseconds without their leading zeros, so there must be some. */
	await_true(server_us() % 1000000 < 50000);
	for (int i = 0; i < 10; i++) {
		int64_t before = server_us(), fence = fence_of(ask(ANN1));

		assert_between(fence, before, server_us());
		assert_int_equal(last_fence(), fence);
		assert_number(release(ANN1), 1);
	}
}

static void
fences_grow_when_the_clock_is_behind_the_last(void **state)
{
	(void)state;
	int64_t ahead = server_us() + INT64_C(3600000000);

	server_text(server, "SET " FENCE " %lld", (long long)ahead);
	assert_int_equal(fence_of(ask(ANN1)), ahead + 1);
	assert_int_equal(last_fence(), ahead + 1);
	assert_ttl(FENCE, DAY);
	assert_number(release(ANN1), 1);
	assert_int_equal(fence_of(ask(BOB1)), ahead + 2);
}

static void
a_fence_that_cannot_be_counted_on_from_is_replaced(void **state)
{
	(void)state;
	const char *const odd[] = { "orders", "", "nan", "inf", "1e300", "9007199254740992", "-5" };

	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
		int64_t before = server_us();

		server_text(server, "SET " FENCE " %s", odd[i]);
		int64_t fence = fence_of(ask(ANN1));
		assert_between(fence, before, server_us());
		assert_number(release(ANN1), 1);
	}
}

static void
fences_grow_after_the_last_was_deleted(void **state)
{
	(void)state;
	int64_t first = fence_of(ask(ANN1));

	assert_number(release(ANN1), 1);
	expire(FENCE);
	assert_true(fence_of(ask(BOB1)) > first);
}

static void
an_ask_that_comes_too_late_does_nothing_and_tells_the_time(void **state)
{
	(void)state;
	char moment[24];
	int64_t before = server_us();
	struct answer answer;

	snprintf(moment, sizeof moment, "%" PRId64, before - 1);
	answer = ask_with(ANN1, "600000", moment, EXACT);
	assert_int_equal(answer.type, REDIS_REPLY_ARRAY);
	assert_int_equal(answer.count, 3);
	assert_int_equal(answer.item[0], -1);
	assert_int_equal(answer.item[1], 0);
	assert_between(answer.item[2], before, server_us());
	assert_int_equal(server_integer(server, "DBSIZE"), 0);
}

static void
a_late_ask_of_a_holder_is_refused_too(void **state)
{
	(void)state;
	fence_of(ask_with(ANN1, "200000", NEVER_LATE, EXACT));
	assert_int_equal(ask_with(ANN1, "600000", "1", EXACT).item[0], -1);
	assert_ttl(LOCK, 200000);
}

static void
an_ask_in_time_is_not_refused(void **state)
{
	(void)state;
	char moment[24];

	snprintf(moment, sizeof moment, "%" PRId64, server_us() + 3600000000);
	fence_of(ask_with(ANN1, "600000", moment, EXACT));
}

static void
an_ask_takes_leases_of_a_millisecond_to_a_day_and_leaves_nothing_of_others(void **state)
{
	(void)state;
	const char *const odd[] = { "0", "-1", "86400001", "1e300", "0.5", "1.5", "nan", "inf", "orders", "" };

	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
		assert_error(ask_with(ANN1, odd[i], NEVER_LATE, EXACT), "ERR");
		assert_false(exists(LOCK));
	}
	fence_of(ask_with(ANN1, "1", NEVER_LATE, EXACT));
	assert_between(ttl_of(LOCK), -2, 1);
	await_true(!exists(LOCK));
	fence_of(ask_with(ANN1, "86400000", NEVER_LATE, EXACT));
	assert_ttl(LOCK, DAY);
}

/* How often a command was given since the last CONFIG RESETSTAT. */
static int
calls_of(const char *command)
{
	char line[40];
	const char *at;

	snprintf(line, sizeof line, "cmdstat_%s:calls=", command);
	at = strstr(server_text(server, "INFO commandstats"), line);
	return at ? atoi(at + strlen(line)) : 0;
}

static void
a_lock_that_nobody_waits_for_costs_seven_calls(void **state)
{
	(void)state;
	static const char *const used[] = { "time", "exists", "set", "hset", "pexpire", "hdel" };
	int calls = 0;

	order = NOTHING;
	server_text(server, "CONFIG RESETSTAT");
	fence_of(ask(ANN1));
	assert_number(release(ANN1), 1);
	assert_int_equal(calls_of("evalsha"), 2);
	for (size_t i = 0; i < sizeof used / sizeof *used; i++)
		calls += calls_of(used[i]);
	assert_int_equal(calls, 7);
	for (size_t i = 0; i < COMMANDS; i++)
		calls -= calls_of(commands[i]);
	assert_int_equal(calls, 0);
}

/* ---- ask: again ---- */

static void
an_ask_again_of_a_holder_is_answered_with_the_same_fence(void **state)
{
	(void)state;
	int64_t fence = fence_of(ask(ANN1));

	assert_int_equal(fence_of(ask(ANN1)), fence);
	assert_int_equal(fence_of(try(ANN1)), fence);
	assert_int_equal(last_fence(), fence);
	assert_string_equal(server_text(server, "HGETALL " LOCK), ANN1 " 1");
	assert_false(exists(QUEUE));
}

static void
an_ask_again_of_a_holder_is_good_for_the_whole_lease(void **state)
{
	(void)state;
	fence_of(ask_with(ANN1, "20000", NEVER_LATE, EXACT));
	fence_of(ask_with(ANN1, "12000000", NEVER_LATE, EXACT));
	assert_ttl(LOCK, 12000000);
}

static void
an_ask_again_of_a_holder_shortens_nothing(void **state)
{
	(void)state;
	fence_of(ask_with(ANN1, "12000000", NEVER_LATE, EXACT));
	fence_of(ask_with(ANN1, "20000", NEVER_LATE, EXACT));
	assert_ttl(LOCK, 12000000);
}

static void
an_ask_again_leaves_the_depth_alone(void **state)
{
	(void)state;
	fence_of(ask(ANN1));
	assert_number(renew(ANN1, "600000", "4"), 1);
	fence_of(ask(ANN1));
	assert_string_equal(server_text(server, "HGET " LOCK " " ANN1), "4");
}

static void
an_ask_again_gets_a_new_fence_where_the_old_one_is_gone(void **state)
{
	(void)state;
	int64_t fence = fence_of(ask(ANN1));

	expire(FENCE);
	assert_true(fence_of(ask(ANN1)) > fence);
	assert_ttl(FENCE, DAY);
}

static void
an_ask_again_after_a_grant_is_held_for_the_lease(void **state)
{
	(void)state;
	fence_of(ask(ANN1));
	listen_for(BOB);
	assert_not_held(ask(BOB1));
	assert_number(release(ANN1), 1);
	assert_ttl(LOCK, CLAIM);
	assert_last_fence(fence_of(ask(BOB1)));
	assert_between(ttl_of(LOCK), CLAIM + 1, LEASE);
	assert_false(exists(QUEUE));
}

/* ---- ask: somebody has it ---- */

static void
an_ask_for_a_held_lock_takes_a_place(void **state)
{
	(void)state;
	fence_of(ask_with(ANN1, "400000", NEVER_LATE, EXACT));
	int64_t before = server_us();
	struct answer answer = ask(BOB1);
	int64_t after = server_us();

	assert_not_held(answer);
	assert_between(answer.item[1], 1, 400000);
	assert_between(answer.item[2], before, after);
	assert_string_equal(holder(), ANN1);
	assert_string_equal(places(), BOB1 " 60000");
	assert_between(strtoll(server_text(server, "ZSCORE " QUEUE " %s", BOB1 " 60000"), NULL, 10), before, after);
	assert_between(alive_until(BOB), before + ALIVE * 1000, after + ALIVE * 1000);
	assert_int_equal(server_integer(server, "ZCARD " QUEUE), 2);
	assert_ttl(QUEUE, 2 * ALIVE);
}

static void
a_second_place_of_a_client_adds_no_second_client(void **state)
{
	(void)state;
	fence_of(ask(ANN1));
	assert_not_held(ask(BOB1));
	assert_not_held(ask(BOB2));
	assert_string_equal(places(), BOB1 " 60000 " BOB2 " 60000");
	assert_int_equal(server_integer(server, "ZCARD " QUEUE), 3);
}

static void
asking_again_keeps_the_place_and_says_that_the_client_lives(void **state)
{
	(void)state;
	fence_of(ask(ANN1));
	assert_not_held(ask(BOB1));
	assert_not_held(ask(CID1));
	bury(BOB);
	int64_t before = server_us();
	assert_not_held(ask(BOB1));
	assert_string_equal(places(), BOB1 " 60000 " CID1 " 60000");
	assert_true(alive_until(BOB) >= before + ALIVE * 1000);
	assert_ttl(QUEUE, 2 * ALIVE);
}

static void
places_come_in_the_order_of_their_asks_also_when_the_clock_went_back(void **state)
{
	(void)state;
	fence_of(ask(ANN1));
	assert_not_held(ask(CID1));
	server_text(server, "ZADD " QUEUE " %lld %s", (long long)(server_us() + INT64_C(3600000000)), CID1 " 60000");
	assert_not_held(ask(BOB1));
	assert_not_held(ask(BOB2));
	assert_string_equal(places(), CID1 " 60000 " BOB1 " 60000 " BOB2 " 60000");
}

static void
a_try_takes_no_place(void **state)
{
	(void)state;
	fence_of(ask(ANN1));
	assert_not_held(try(BOB1));
	assert_false(exists(QUEUE));
	assert_string_equal(holder(), ANN1);
}

static void
a_try_leaves_a_queue_as_it_is(void **state)
{
	(void)state;
	fence_of(ask(ANN1));
	assert_not_held(ask(BOB1));
	assert_not_held(try(CID1));
	assert_string_equal(places(), BOB1 " 60000");
	assert_int_equal(server_integer(server, "ZCARD " QUEUE), 2);
}

static void
a_lock_without_a_ttl_is_said_to_have_none(void **state)
{
	(void)state;
	struct answer answer;

	order = NOTHING;
	server_text(server, "HSET " LOCK " somebody 1");
	answer = ask(BOB1);
	assert_not_held(answer);
	assert_int_equal(answer.item[1], -1);
	answer = word(BOB, BOB1);
	assert_int_equal(state_of(answer), 0);
	assert_int_equal(answer.item[1], -1);
	assert_int_equal(try(CID1).item[1], -1);
	assert_int_equal(ttl_of(LOCK), -1);
	assert_string_equal(holder(), "somebody");
	assert_ttl(QUEUE, 2 * ALIVE);
}

static void
a_client_with_a_shorter_alive_does_not_shorten_the_queue(void **state)
{
	(void)state;
	fence_of(ask(ANN1));
	assert_not_held(ask_with(BOB1, "600000", NEVER_LATE, "60000 12000000 1 PUBLISH leash:wake:"));
	assert_ttl(QUEUE, 24000000);
	assert_not_held(ask(CID1));
	assert_ttl(QUEUE, 24000000);
	assert_not_held(ask(CID1));
	assert_int_equal(state_of(word(CID, CID1)), 0);
	assert_ttl(QUEUE, 24000000);
	assert_int_equal(server_integer(server, "PEXPIRE " QUEUE " 100000"), 1);
	assert_not_held(ask(CID1));
	assert_between(ttl_of(QUEUE), 100001, 2 * ALIVE);
}

/* ---- ask: the lock is free, and there is a queue ---- */

static void
an_ask_gives_an_abandoned_lock_to_the_first_in_the_queue(void **state)
{
	(void)state;
	struct listener *bob = listen_for(BOB);
	struct answer answer;

	fence_of(ask(ANN1));
	assert_not_held(ask(BOB1));
	expire(LOCK);
	answer = ask(CID1);
	assert_not_held(answer);
	assert_between(answer.item[1], 1, CLAIM);
	assert_string_equal(holder(), BOB1);
	assert_ttl(LOCK, CLAIM);
	assert_string_equal(places(), CID1 " 60000");
	assert_told(bob, BOB1);
}

static void
a_try_gives_an_abandoned_lock_to_the_first_in_the_queue(void **state)
{
	(void)state;
	struct listener *bob = listen_for(BOB);

	fence_of(ask(ANN1));
	assert_not_held(ask(BOB1));
	expire(LOCK);
	assert_not_held(try(CID1));
	assert_string_equal(holder(), BOB1);
	assert_false(exists(QUEUE));
	assert_told(bob, BOB1);
}

static void
the_first_in_the_queue_takes_an_abandoned_lock_by_asking_again(void **state)
{
	(void)state;
	struct listener *bob = listen_for(BOB);

	fence_of(ask(ANN1));
	assert_not_held(ask(BOB1));
	assert_not_held(ask(CID1));
	expire(LOCK);
	assert_last_fence(fence_of(ask(BOB1)));
	assert_string_equal(holder(), BOB1);
	assert_between(ttl_of(LOCK), CLAIM + 1, LEASE);
	assert_string_equal(places(), CID1 " 60000");
	assert_int_equal(messages(bob), 0); /* the answer says it */
}

static void
a_newcomer_takes_an_abandoned_lock_whose_queue_is_dead(void **state)
{
	(void)state;
	fence_of(ask(ANN1));
	assert_not_held(ask(BOB1));
	bury(BOB);
	expire(LOCK);
	fence_of(ask(CID1));
	assert_string_equal(holder(), CID1);
	assert_between(ttl_of(LOCK), CLAIM + 1, LEASE);
	assert_false(exists(QUEUE));
}

static void
a_try_takes_an_abandoned_lock_whose_queue_is_dead(void **state)
{
	(void)state;
	fence_of(ask(ANN1));
	assert_not_held(ask(BOB1));
	bury(BOB);
	expire(LOCK);
	assert_last_fence(fence_of(try(CID1)));
	assert_string_equal(server_text(server, "HGETALL " LOCK), CID1 " 1");
	assert_between(ttl_of(LOCK), CLAIM + 1, LEASE);
	assert_false(exists(QUEUE));
}

static void
a_try_takes_an_abandoned_lock_whose_queue_does_not_listen(void **state)
{
	(void)state;
	fence_of(ask(ANN1));
	assert_not_held(ask(BOB1));
	expire(LOCK);
	fence_of(try(CID1));
	assert_string_equal(holder(), CID1);
	assert_false(exists(QUEUE));
}

static void
a_queue_without_places_keeps_nobody_out(void **state)
{
	(void)state;
	order = TTLS;
	server_integer(server, "ZADD " QUEUE " %lld " BOB, (long long)-(server_us() + 10000000));
	server_integer(server, "PEXPIRE " QUEUE " 400000");
	fence_of(try(CID1));
	assert_string_equal(holder(), CID1);
	assert_false(exists(QUEUE));
}

/* More dead places than one step removes. */
static void
bury_many(int count)
{
	for (int i = 1; i <= count; i++) {
		char place[64];

		snprintf(place, sizeof place, DAN ":%d 60000", i);
		server_integer(server, "ZADD " QUEUE " %d %s", i, place);
	}
	server_integer(server, "ZADD " QUEUE " -1 " DAN);
	server_integer(server, "PEXPIRE " QUEUE " 400000");
}

static void
a_thousand_dead_places_go_in_one_step_and_the_rest_in_the_next(void **state)
{
	(void)state;
	struct answer answer;

	bury_many(1500);
	answer = try(ANN1);
	assert_not_held(answer);
	assert_int_equal(answer.item[1], 0);
	assert_int_equal(server_integer(server, "ZCOUNT " QUEUE " (0 +inf"), 500);
	assert_false(exists(LOCK));
	fence_of(try(ANN1));
	assert_false(exists(QUEUE));
}

static void
nobody_passes_a_thousand_dead_places_by_and_keeps_a_place_of_its_own(void **state)
{
	(void)state;
	struct answer answer;

	bury_many(1500);
	answer = ask(ANN1);
	assert_not_held(answer);
	assert_int_equal(answer.item[1], 0);
	assert_false(exists(LOCK));
	listen_for(ANN);
	answer = word(ANN, ANN1);
	assert_last_fence(state_of(answer));
	assert_string_equal(holder(), ANN1);
	assert_false(exists(QUEUE));
}

static void
a_word_among_thousands_of_dead_places_is_answered_queued_come_again(void **state)
{
	(void)state;
	struct answer answer;

	listen_for(ANN);
	bury_many(2500);
	assert_not_held(ask(ANN1));
	answer = word(ANN, ANN1);
	assert_int_equal(state_of(answer), 0);
	assert_int_equal(answer.item[1], 0);
	assert_true(state_of(word(ANN, ANN1)) > 0);
}

/* ---- release ---- */

static void
a_released_lock_is_free(void **state)
{
	(void)state;
	fence_of(ask(ANN1));
	assert_number(release(ANN1), 1);
	assert_false(exists(LOCK));
	assert_false(exists(QUEUE));
	assert_ttl(FENCE, DAY); /* of the last acquire */
}

static void
a_second_release_finds_nothing(void **state)
{
	(void)state;
	fence_of(ask(ANN1));
	assert_number(release(ANN1), 1);
	assert_number(release(ANN1), 0);
}

static void
a_release_of_nothing_creates_nothing(void **state)
{
	(void)state;
	assert_number(release(ANN1), 0);
	assert_int_equal(server_integer(server, "DBSIZE"), 0);
}

static void
only_the_holder_releases(void **state)
{
	(void)state;
	fence_of(ask(ANN1));
	assert_number(release(BOB1), 0);
	assert_number(release(ANN2), 0);
	assert_string_equal(holder(), ANN1);
	assert_ttl(LOCK, LEASE);
}

static void
a_release_gives_the_lock_to_the_first_in_the_queue_and_tells_it(void **state)
{
	(void)state;
	struct listener *bob = listen_for(BOB), *cid = listen_for(CID);
	int64_t before;

	fence_of(ask(ANN1));
	assert_not_held(ask(BOB1));
	assert_not_held(ask(CID1));
	before = server_us();
	assert_number(release(ANN1), 1);
	assert_string_equal(server_text(server, "HGETALL " LOCK), BOB1 " 1");
	assert_ttl(LOCK, CLAIM);
	assert_string_equal(places(), CID1 " 60000");
	assert_told(bob, BOB1);
	assert_int_equal(messages(cid), 0);
	assert_true(last_fence() >= before);
	assert_ttl(FENCE, DAY);
}

static void
the_last_place_takes_the_queue_with_it(void **state)
{
	(void)state;
	listen_for(BOB);
	fence_of(ask(ANN1));
	assert_not_held(ask(BOB1));
	assert_number(release(ANN1), 1);
	assert_string_equal(holder(), BOB1);
	assert_false(exists(QUEUE));
}

static void
a_queue_is_served_in_its_order(void **state)
{
	(void)state;
	static const char *const tokens[] = { CID1, BOB2, ANN2, BOB1, CID2 };
	int64_t fence = fence_of(ask(ANN1));

	listen_for(ANN);
	listen_for(BOB);
	listen_for(CID);
	for (size_t i = 0; i < 5; i++)
		assert_not_held(ask(tokens[i]));
	assert_number(release(ANN1), 1);
	for (size_t i = 0; i < 5; i++) {
		assert_string_equal(holder(), tokens[i]);
		assert_true(last_fence() > fence);
		fence = last_fence();
		assert_number(release(tokens[i]), 1);
	}
	assert_false(exists(LOCK));
	assert_false(exists(QUEUE));
}

static void
fences_of_grants_grow_when_the_clock_is_behind_the_last(void **state)
{
	(void)state;
	struct listener *bob = listen_for(BOB);
	int64_t ahead;

	fence_of(ask(ANN1));
	assert_not_held(ask(BOB1));
	ahead = server_us() + INT64_C(3600000000);
	server_text(server, "SET " FENCE " %lld PX 20000", (long long)ahead);
	assert_number(release(ANN1), 1);
	assert_int_equal(last_fence(), ahead + 1);
	assert_ttl(FENCE, DAY);
	assert_told(bob, BOB1);
}

static void
a_grant_lasts_for_the_claim_of_its_own_place(void **state)
{
	(void)state;
	listen_for(BOB);
	fence_of(ask(ANN1));
	assert_not_held(ask_with(BOB1, "300", NEVER_LATE, "86400000 200000 1 PUBLISH leash:wake:"));
	assert_number(release(ANN1), 1);
	assert_string_equal(holder(), BOB1);
	assert_ttl(LOCK, DAY);
}

static void
a_client_that_does_not_listen_is_passed_over(void **state)
{
	(void)state;
	struct listener *cid = listen_for(CID);

	fence_of(ask(ANN1));
	assert_not_held(ask(BOB1));
	assert_not_held(ask(CID1));
	assert_number(release(ANN1), 1);
	assert_string_equal(server_text(server, "HGETALL " LOCK), CID1 " 1");
	assert_ttl(LOCK, CLAIM);
	assert_false(exists(QUEUE));
	assert_told(cid, CID1);
	assert_int_equal(state_of(word(BOB, BOB1)), -1);
}

static void
a_lock_that_nobody_listens_for_is_free(void **state)
{
	(void)state;
	fence_of(ask(ANN1));
	assert_not_held(ask(BOB1));
	assert_not_held(ask(CID1));
	assert_number(release(ANN1), 1);
	assert_false(exists(LOCK));
	assert_false(exists(QUEUE));
}

static void
silence_is_no_refusal_where_counts_are_not_exact(void **state)
{
	(void)state;
	fence_of(ask(ANN1));
	assert_not_held(ask(BOB1));
	assert_not_held(ask(CID1));
	assert_number(step(release, 3, ANN1, INEXACT), 1);
	assert_string_equal(holder(), BOB1);
	assert_ttl(LOCK, CLAIM);
	assert_string_equal(places(), CID1 " 60000");
}

static void
a_dead_client_is_passed_over(void **state)
{
	(void)state;
	struct listener *bob = listen_for(BOB), *cid = listen_for(CID);

	fence_of(ask(ANN1));
	assert_not_held(ask(BOB1));
	assert_not_held(ask(BOB2));
	assert_not_held(ask(CID1));
	bury(BOB);
	assert_number(release(ANN1), 1);
	assert_string_equal(holder(), CID1);
	assert_false(exists(QUEUE));
	assert_int_equal(messages(bob), 0);
	assert_told(cid, CID1);
}

static void
a_lock_whose_queue_is_dead_is_free(void **state)
{
	(void)state;
	listen_for(BOB);
	fence_of(ask(ANN1));
	assert_not_held(ask(BOB1));
	bury(BOB);
	assert_number(release(ANN1), 1);
	assert_false(exists(LOCK));
	assert_false(exists(QUEUE));
}

static void
what_is_no_place_is_passed_over(void **state)
{
	(void)state;
	static const char *const odd[] = { "rubbish", BOB1, BOB1 " ", BOB1 " 0", BOB1 " -1", BOB1 " 86400001", BOB1 " 60000 1", "" };

	order = TTLS;
	listen_for(BOB);
	listen_for(CID);
	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
		fence_of(ask(ANN1));
		assert_not_held(ask(BOB2));
		server_integer(server, "ZADD " QUEUE " 5 %s", odd[i]);
		assert_number(release(ANN1), 1);
		assert_string_equal(holder(), BOB2);
		assert_false(exists(QUEUE));
		assert_number(release(BOB2), 1);
	}
}

static void
a_grant_goes_out_by_spublish_where_the_client_says_so(void **state)
{
	(void)state;
	const char *info = strstr(server_text(server, "INFO server"), "redis_version:");
	const char *cfg = "60000 200000 1 SPUBLISH leash:{orders}:wake:";
	struct listener *bob;

	assert_non_null(info);
	if (atoi(info + strlen("redis_version:")) < 7)
		skip();
	bob = listen_on("SSUBSCRIBE", "leash:{orders}:wake:" BOB);
	fence_of(ask_with(ANN1, "600000", NEVER_LATE, cfg));
	assert_not_held(ask_with(BOB1, "600000", NEVER_LATE, cfg));
	assert_number(step(release, 3, ANN1, cfg), 1);
	assert_string_equal(holder(), BOB1);
	assert_told(bob, BOB1);
}

/* ---- leave and cancel ---- */

static void
who_leaves_has_no_place_any_more(void **state)
{
	(void)state;
	fence_of(ask(ANN1));
	assert_not_held(ask(BOB1));
	assert_not_held(ask(BOB2));
	assert_not_held(ask(CID1));
	assert_number(release(BOB1), 2);
	assert_string_equal(places(), BOB2 " 60000 " CID1 " 60000");
	assert_string_equal(holder(), ANN1);
	assert_number(release(BOB1), 0);
}

static void
who_leaves_last_removes_the_queue(void **state)
{
	(void)state;
	fence_of(ask(ANN1));
	assert_not_held(ask(BOB1));
	assert_number(release(BOB1), 2);
	assert_false(exists(QUEUE));
	assert_string_equal(holder(), ANN1);
}

static void
who_leaves_hands_an_abandoned_lock_on(void **state)
{
	(void)state;
	struct listener *cid = listen_for(CID);

	fence_of(ask(ANN1));
	assert_not_held(ask(BOB1));
	assert_not_held(ask(CID1));
	expire(LOCK);
	assert_number(release(BOB1), 2);
	assert_string_equal(holder(), CID1);
	assert_ttl(LOCK, CLAIM);
	assert_told(cid, CID1);
}

static void
the_cancel_of_a_granted_token_hands_the_lock_on(void **state)
{
	(void)state;
	struct listener *cid = listen_for(CID);

	listen_for(BOB);
	fence_of(ask(ANN1));
	assert_not_held(ask(BOB1));
	assert_not_held(ask(CID1));
	assert_number(release(ANN1), 1);
	assert_string_equal(holder(), BOB1);
	assert_number(release(BOB1), 1);
	assert_string_equal(holder(), CID1);
	assert_told(cid, CID1);
}

static void
the_cancel_of_an_unknown_token_hands_an_abandoned_lock_on(void **state)
{
	(void)state;
	struct listener *bob = listen_for(BOB);

	fence_of(ask(ANN1));
	assert_not_held(ask(BOB1));
	expire(LOCK);
	assert_number(release(ANN1), 0);
	assert_string_equal(holder(), BOB1);
	assert_told(bob, BOB1);
}

static void
the_cancel_of_an_unknown_token_takes_nothing_from_a_holder(void **state)
{
	(void)state;
	fence_of(ask(ANN1));
	assert_not_held(ask(BOB1));
	assert_number(release(CID1), 0);
	assert_string_equal(holder(), ANN1);
	assert_string_equal(places(), BOB1 " 60000");
	assert_ttl(LOCK, LEASE);
}

/* ---- word ---- */

static void
a_word_keeps_places_alive(void **state)
{
	(void)state;
	int64_t before;
	struct answer answer;

	fence_of(ask_with(ANN1, "400000", NEVER_LATE, EXACT));
	assert_not_held(ask(BOB1));
	bury(BOB);
	assert_int_equal(server_integer(server, "PEXPIRE " QUEUE " 100000"), 1);
	before = server_us();
	answer = word(BOB, BOB1);
	assert_int_equal(state_of(answer), 0);
	assert_between(answer.item[0], before, server_us());
	assert_between(answer.item[1], 1, 400000);
	assert_true(alive_until(BOB) >= before + ALIVE * 1000);
	assert_between(ttl_of(QUEUE), ALIVE + 1, 2 * ALIVE);
	assert_string_equal(places(), BOB1 " 60000");
	assert_string_equal(holder(), ANN1);
}

static void
a_word_keeps_the_places_of_its_own_client_only(void **state)
{
	(void)state;
	fence_of(ask(ANN1));
	assert_not_held(ask(BOB1));
	assert_not_held(ask(CID1));
	bury(BOB);
	assert_int_equal(state_of(word(CID, CID1)), 0);
	assert_true(alive_until(BOB) < server_us());
}

static void
a_word_of_an_unknown_token_creates_nothing(void **state)
{
	(void)state;
	struct answer answer = word(BOB, BOB1);

	assert_int_equal(state_of(answer), -1);
	assert_int_equal(answer.item[1], 0);
	assert_int_equal(server_integer(server, "DBSIZE"), 0);
}

static void
a_word_of_an_unknown_token_takes_no_place(void **state)
{
	(void)state;
	fence_of(ask(ANN1));
	assert_not_held(ask(CID1));
	assert_int_equal(state_of(word(BOB, BOB1)), -1);
	assert_string_equal(places(), CID1 " 60000");
	assert_string_equal(holder(), ANN1);
}

static void
a_word_of_an_unknown_token_takes_no_free_lock(void **state)
{
	(void)state;
	listen_for(BOB);
	fence_of(ask(ANN1));
	assert_not_held(ask(CID1));
	expire(LOCK);
	assert_int_equal(state_of(word(BOB, BOB1)), -1);
	assert_false(exists(LOCK));
}

static void
a_word_hands_an_abandoned_lock_to_the_first_in_the_queue(void **state)
{
	(void)state;
	struct listener *bob = listen_for(BOB);
	struct answer answer;

	fence_of(ask(ANN1));
	assert_not_held(ask(BOB1));
	assert_not_held(ask(CID1));
	expire(LOCK);
	answer = word(CID, CID1);
	assert_int_equal(state_of(answer), 0);
	assert_between(answer.item[1], 1, CLAIM);
	assert_string_equal(holder(), BOB1);
	assert_ttl(LOCK, CLAIM);
	assert_string_equal(places(), CID1 " 60000");
	assert_told(bob, BOB1);
}

static void
a_word_of_the_first_in_the_queue_is_answered_held_for_the_lease(void **state)
{
	(void)state;
	struct listener *bob = listen_for(BOB);
	struct answer answer;

	fence_of(ask(ANN1));
	assert_not_held(ask(BOB1));
	expire(LOCK);
	answer = word(BOB, BOB1);
	assert_last_fence(state_of(answer));
	assert_int_equal(answer.item[1], LEASE);
	assert_string_equal(holder(), BOB1);
	assert_between(ttl_of(LOCK), CLAIM + 1, LEASE);
	assert_false(exists(QUEUE));
	assert_told(bob, BOB1);
}

static void
a_word_revives_the_places_of_its_client_before_it_hands_on(void **state)
{
	(void)state;
	listen_for(BOB);
	fence_of(ask(ANN1));
	assert_not_held(ask(BOB1));
	bury(BOB);
	expire(LOCK);
	assert_true(state_of(word(BOB, BOB1)) > 0);
}

static void
a_word_learns_of_a_grant_whose_message_was_lost(void **state)
{
	(void)state;
	listen_for(BOB);
	fence_of(ask(ANN1));
	assert_not_held(ask(BOB1));
	assert_number(release(ANN1), 1);
	assert_ttl(LOCK, CLAIM);
	assert_last_fence(state_of(word(BOB, BOB1)));
	assert_between(ttl_of(LOCK), CLAIM + 1, LEASE);
}

static void
a_word_of_a_holder_shortens_nothing(void **state)
{
	(void)state;
	struct answer answer;

	fence_of(ask_with(ANN1, "12000000", NEVER_LATE, EXACT));
	answer = word(ANN, ANN1);
	assert_last_fence(state_of(answer));
	assert_between(answer.item[1], 11940000, 12000000);
	assert_ttl(LOCK, 12000000);
}

static void
a_word_of_a_holder_whose_fence_is_gone_gets_a_new_one(void **state)
{
	(void)state;
	int64_t fence = fence_of(ask(ANN1));

	expire(FENCE);
	assert_true(state_of(word(ANN, ANN1)) > fence);
	assert_ttl(FENCE, DAY);
}

static void
a_word_answers_for_each_of_its_tokens(void **state)
{
	(void)state;
	struct answer answer;

	listen_for(ANN);
	fence_of(ask(BOB1));
	assert_not_held(ask(ANN1));
	assert_not_held(ask(ANN2));
	assert_number(release(BOB1), 1);
	answer = step(word, 3, ANN, "600000", ANN ":7", ANN2, ANN1, ANN ":8", EXACT);
	assert_int_equal(answer.type, REDIS_REPLY_ARRAY);
	assert_int_equal(answer.count, 6);
	assert_int_equal(answer.item[1], LEASE);
	assert_int_equal(answer.item[2], -1);
	assert_int_equal(answer.item[3], 0);
	assert_last_fence(answer.item[4]);
	assert_int_equal(answer.item[5], -1);
}

static void
a_word_for_a_free_lock_whose_queue_is_dead_says_that_nobody_holds(void **state)
{
	(void)state;
	struct answer answer;

	fence_of(ask(ANN1));
	assert_not_held(ask(BOB1));
	bury(BOB);
	expire(LOCK);
	answer = word(CID, CID1);
	assert_int_equal(state_of(answer), -1);
	assert_int_equal(answer.item[1], 0);
	assert_false(exists(LOCK));
	assert_false(exists(QUEUE));
}

static void
a_word_takes_leases_of_a_millisecond_to_a_day(void **state)
{
	(void)state;
	fence_of(ask(ANN1));
	assert_error(step(word, 3, ANN, "0", ANN1, EXACT), "ERR");
	assert_error(step(word, 3, ANN, "86400001", ANN1, EXACT), "ERR");
	assert_ttl(LOCK, LEASE);
	assert_last_fence(state_of(step(word, 3, ANN, "1", ANN1, EXACT)));
	assert_ttl(LOCK, LEASE);
	assert_last_fence(state_of(step(word, 3, ANN, "86400000", ANN1, EXACT)));
	assert_ttl(LOCK, DAY);
}

/* ---- renew ---- */

static void
a_renewal_is_good_for_the_whole_lease(void **state)
{
	(void)state;
	fence_of(ask_with(ANN1, "20000", NEVER_LATE, EXACT));
	assert_number(renew(ANN1, "12000000", "1"), 1);
	assert_ttl(LOCK, 12000000);
}

static void
a_renewal_shortens_nothing(void **state)
{
	(void)state;
	fence_of(ask_with(ANN1, "12000000", NEVER_LATE, EXACT));
	assert_number(renew(ANN1, "20000", "1"), 1);
	assert_ttl(LOCK, 12000000);
}

static void
a_renewal_writes_the_depth_down(void **state)
{
	(void)state;
	fence_of(ask(ANN1));
	assert_number(renew(ANN1, "600000", "7"), 1);
	assert_string_equal(server_text(server, "HGETALL " LOCK), ANN1 " 7");
	assert_number(renew(ANN1, "600000", "2"), 1);
	assert_string_equal(server_text(server, "HGETALL " LOCK), ANN1 " 2");
}

static void
a_renewal_never_creates_the_lock(void **state)
{
	(void)state;
	assert_number(renew(ANN1, "600000", "1"), 0);
	assert_int_equal(server_integer(server, "DBSIZE"), 0);
}

static void
a_renewal_of_one_who_lost_it_leaves_the_holder_alone(void **state)
{
	(void)state;
	fence_of(ask_with(BOB1, "100000", NEVER_LATE, EXACT));
	assert_number(renew(ANN1, "600000", "3"), 0);
	assert_string_equal(server_text(server, "HGETALL " LOCK), BOB1 " 1");
	assert_ttl(LOCK, 100000);
}

static void
a_renewal_gives_a_ttl_to_a_lock_that_has_none(void **state)
{
	(void)state;
	fence_of(ask(ANN1));
	assert_int_equal(server_integer(server, "PERSIST " LOCK), 1);
	assert_number(renew(ANN1, "600000", "1"), 1);
	assert_ttl(LOCK, LEASE);
}

static void
a_renewal_takes_leases_of_a_millisecond_to_a_day(void **state)
{
	(void)state;
	fence_of(ask(ANN1));
	assert_error(renew(ANN1, "0", "1"), "ERR");
	assert_error(renew(ANN1, "-5", "1"), "ERR");
	assert_error(renew(ANN1, "86400001", "1"), "ERR");
	assert_ttl(LOCK, LEASE);
	assert_number(renew(ANN1, "1", "1"), 1);
	assert_ttl(LOCK, LEASE);
	assert_number(renew(ANN1, "86400000", "1"), 1);
	assert_ttl(LOCK, DAY);
}

/* ---- servers that cannot as they should ---- */

/* However long the TTL that it sees: what it sees may be old. */
static void
a_replica_never_says_held(void **state)
{
	(void)state;
	fence_of(ask_with(ANN1, "12000000", NEVER_LATE, EXACT));
	assert_not_held(ask(BOB1));
	server_text(server, "REPLICAOF 127.0.0.1 1");
	assert_error(renew(ANN1, "600000", "1"), "READONLY");
	assert_error(ask(ANN1), "READONLY");
	assert_error(word(ANN, ANN1), "READONLY");
	assert_error(release(ANN1), "READONLY");
	assert_error(ask(CID1), "READONLY");
}

static void
fill_up(void)
{
	server_text(server, "CONFIG SET maxmemory 1");
}

static void
a_full_server_refuses_who_asks_and_keeps_nothing_of_it(void **state)
{
	(void)state;
	fill_up();
	assert_error(ask(ANN1), "OOM");
	assert_error(try(ANN1), "OOM");
	assert_int_equal(server_integer(server, "DBSIZE"), 0);
}

static void
a_full_server_refuses_new_places(void **state)
{
	(void)state;
	fence_of(ask(ANN1));
	assert_not_held(ask(BOB1));
	fill_up();
	assert_error(ask(CID1), "OOM");
	assert_string_equal(places(), BOB1 " 60000");
	assert_not_held(try(CID1));
}

static void
a_full_server_refuses_who_tries_for_an_abandoned_lock(void **state)
{
	(void)state;
	fence_of(ask(ANN1));
	assert_not_held(ask(BOB1));
	expire(LOCK);
	listen_for(BOB);
	fill_up();
	assert_error(try(CID1), "OOM");
	assert_false(exists(LOCK));
	assert_string_equal(places(), BOB1 " 60000");
}

static void
a_full_server_answers_a_holder_that_asks_again(void **state)
{
	(void)state;
	int64_t fence = fence_of(ask_with(ANN1, "20000", NEVER_LATE, EXACT));

	fill_up();
	assert_int_equal(fence_of(ask(ANN1)), fence);
	assert_between(ttl_of(LOCK), 20001, LEASE);
}

static void
a_full_server_renews_and_writes_the_depth_down(void **state)
{
	(void)state;
	fence_of(ask_with(ANN1, "20000", NEVER_LATE, EXACT));
	fill_up();
	assert_number(renew(ANN1, "12000000", "3"), 1);
	assert_ttl(LOCK, 12000000);
	assert_string_equal(server_text(server, "HGETALL " LOCK), ANN1 " 3");
	assert_number(renew(ANN1, "20000", "4"), 1);
	assert_string_equal(server_text(server, "HGETALL " LOCK), ANN1 " 4");
}

static void
a_full_server_releases_and_hands_on(void **state)
{
	(void)state;
	struct listener *bob = listen_for(BOB);

	fence_of(ask(ANN1));
	assert_not_held(ask(BOB1));
	fill_up();
	assert_number(release(ANN1), 1);
	assert_string_equal(holder(), BOB1);
	assert_ttl(LOCK, CLAIM);
	assert_told(bob, BOB1);
	assert_number(release(BOB1), 1);
	assert_false(exists(LOCK));
}

static void
a_full_server_lets_leave_and_hands_on(void **state)
{
	(void)state;
	struct listener *cid = listen_for(CID);

	fence_of(ask(ANN1));
	assert_not_held(ask(BOB1));
	assert_not_held(ask(CID1));
	expire(LOCK);
	fill_up();
	assert_number(release(BOB1), 2);
	assert_string_equal(holder(), CID1);
	assert_told(cid, CID1);
}

static void
a_full_server_takes_words_and_hands_on(void **state)
{
	(void)state;
	struct listener *bob = listen_for(BOB);
	int64_t before;

	fence_of(ask(ANN1));
	assert_not_held(ask(BOB1));
	assert_not_held(ask(CID1));
	bury(CID);
	fill_up();
	before = server_us();
	assert_int_equal(state_of(word(CID, CID1)), 0);
	assert_true(alive_until(CID) >= before + ALIVE * 1000);
	expire(LOCK);
	assert_int_equal(state_of(word(CID, CID1)), 0);
	assert_string_equal(holder(), BOB1);
	assert_told(bob, BOB1);
}

/* ---- keys that are somebody else's ---- */

static void
put_stranger(const char *key)
{
	order = NOTHING;
	server_integer(server, "DEL %s", key);
	server_integer(server, "RPUSH %s theirs", key);
}

static void
assert_stranger(const char *key)
{
	assert_string_equal(server_text(server, "TYPE %s", key), "list");
	assert_string_equal(server_text(server, "LRANGE %s 0 -1", key), "theirs");
	assert_int_equal(ttl_of(key), -1);
}

static void
a_lock_key_that_is_no_lock_is_left_alone(void **state)
{
	(void)state;
	put_stranger(LOCK);
	assert_error(ask(ANN1), "WRONGTYPE");
	assert_error(try(ANN1), "WRONGTYPE");
	assert_error(word(ANN, ANN1), "WRONGTYPE");
	assert_error(renew(ANN1, "600000", "1"), "WRONGTYPE");
	assert_error(release(ANN1), "WRONGTYPE");
	assert_stranger(LOCK);
	assert_int_equal(server_integer(server, "DBSIZE"), 1);
}

static void
a_queue_key_that_is_no_queue_is_left_alone(void **state)
{
	(void)state;
	put_stranger(QUEUE);
	assert_error(ask(BOB1), "WRONGTYPE");
	assert_error(try(BOB1), "WRONGTYPE");
	assert_error(word(BOB, BOB1), "WRONGTYPE");
	assert_error(release(BOB1), "WRONGTYPE");
	assert_false(exists(LOCK));
	expire(QUEUE);
	fence_of(ask(ANN1));
	put_stranger(QUEUE);
	assert_error(ask(BOB1), "WRONGTYPE");
	assert_not_held(try(BOB1));
	assert_error(word(ANN, ANN1), "WRONGTYPE");
	assert_number(renew(ANN1, "600000", "1"), 1);
	assert_number(release(ANN1), 1);
	assert_false(exists(LOCK));
	assert_stranger(QUEUE);
}

static void
a_fence_key_that_is_no_fence_is_left_alone(void **state)
{
	(void)state;
	listen_for(BOB);
	put_stranger(FENCE);
	assert_error(ask(ANN1), "WRONGTYPE");
	assert_false(exists(LOCK));
	expire(FENCE);
	fence_of(ask(ANN1));
	assert_not_held(ask(BOB1));
	put_stranger(FENCE);
	assert_error(ask(ANN1), "WRONGTYPE");
	assert_string_equal(holder(), ANN1);
	assert_number(release(ANN1), 1);
	assert_error(word(BOB, BOB1), "WRONGTYPE");
	assert_false(exists(LOCK));
	assert_string_equal(places(), BOB1 " 60000"); /* as nothing was given to it */
	assert_stranger(FENCE);
}

/* ---- rights that are missing ---- */

/* Those that come after something was written, or take it back: where two that are missing make a difference. */
static const char *const late_commands[] = { "set", "hset", "hdel", "pexpire", "del", "zrem", "publish" };
enum { LATE_COMMANDS = sizeof late_commands / sizeof *late_commands };

static void
hold_by_ann(void)
{
	ask(ANN1);
}

static void
hold_by_bob(void)
{
	ask(BOB1);
}

static void
bob_holds_ann_waits(void)
{
	ask(BOB1);
	ask(ANN1);
}

static void
bob_holds_ann_waits_for_another(void)
{
	ask(BOB1);
	ask(ANN2);
}

static void
bob_holds_cid_waits(void)
{
	ask(BOB1);
	ask(CID1);
}

static void
bob_holds_ann_and_cid_wait(void)
{
	ask(BOB1);
	ask(ANN1);
	ask(CID1);
}

static void
bob_holds_ann_who_died_waits(void)
{
	bob_holds_ann_waits();
	bury(ANN);
}

static void
ann_holds_bob_waits(void)
{
	ask(ANN1);
	ask(BOB1);
}

static void
ann_holds_bob_and_cid_wait(void)
{
	ask(ANN1);
	ask(BOB1);
	ask(CID1);
}

static void
ann_holds_dan_waits_who_does_not_listen(void)
{
	ask(ANN1);
	ask(DAN1);
}

static void
ann_holds_dan_and_cid_wait(void)
{
	ask(ANN1);
	ask(DAN1);
	ask(CID1);
}

static void
ann_holds_bob_who_died_and_cid_wait(void)
{
	ann_holds_bob_and_cid_wait();
	bury(BOB);
}

static void
ann_was_granted_it_cid_waits(void)
{
	bob_holds_ann_and_cid_wait();
	release(BOB1);
}

static void
ann_holds_without_a_fence(void)
{
	ask(ANN1);
	expire(FENCE);
}

static void
free_ann_waits(void)
{
	bob_holds_ann_waits();
	expire(LOCK);
}

static void
free_cid_waits(void)
{
	bob_holds_cid_waits();
	expire(LOCK);
}

static void
free_ann_and_cid_wait(void)
{
	bob_holds_ann_and_cid_wait();
	expire(LOCK);
}

static void
free_cid_and_ann_wait(void)
{
	bob_holds_cid_waits();
	ask(ANN1);
	expire(LOCK);
}

static void
free_cid_waits_who_died(void)
{
	free_cid_waits();
	bury(CID);
}

static void
nothing(void)
{
}

static struct answer ann_asks(void) { return ask(ANN1); }
static struct answer ann_tries(void) { return try(ANN1); }
static struct answer ann_releases(void) { return release(ANN1); }
static struct answer ann_says_a_word(void) { return word(ANN, ANN1); }
static struct answer ann_renews(void) { return renew(ANN1, "12000000", "2"); }

/* What ANN, lacking some right, does to what others with all rights have left. Each goes another way through a script. */
static const struct {
	void (*before)(void);
	struct answer (*act)(void);
} situations[] = {
	{ nothing, ann_asks },
	{ hold_by_bob, ann_asks },
	{ hold_by_bob, ann_tries },
	{ hold_by_ann, ann_asks },
	{ bob_holds_ann_waits, ann_asks },
	{ bob_holds_ann_who_died_waits, ann_asks },
	{ bob_holds_ann_waits_for_another, ann_asks },
	{ bob_holds_cid_waits, ann_asks },
	{ ann_was_granted_it_cid_waits, ann_asks },
	{ ann_holds_without_a_fence, ann_asks },
	{ free_ann_waits, ann_asks },
	{ free_ann_and_cid_wait, ann_asks },
	{ free_cid_waits, ann_asks },
	{ free_cid_waits, ann_tries },
	{ free_cid_waits_who_died, ann_asks },
	{ free_cid_waits_who_died, ann_tries },
	{ hold_by_ann, ann_releases },
	{ ann_holds_bob_waits, ann_releases },
	{ ann_holds_bob_and_cid_wait, ann_releases },
	{ ann_holds_bob_who_died_and_cid_wait, ann_releases },
	{ ann_holds_dan_waits_who_does_not_listen, ann_releases },
	{ ann_holds_dan_and_cid_wait, ann_releases },
	{ bob_holds_ann_waits, ann_releases },
	{ bob_holds_ann_and_cid_wait, ann_releases },
	{ free_ann_and_cid_wait, ann_releases },
	{ free_cid_waits, ann_releases },
	{ bob_holds_ann_waits, ann_says_a_word },
	{ bob_holds_ann_who_died_waits, ann_says_a_word },
	{ bob_holds_cid_waits, ann_says_a_word },
	{ ann_was_granted_it_cid_waits, ann_says_a_word },
	{ ann_holds_without_a_fence, ann_says_a_word },
	{ free_ann_waits, ann_says_a_word },
	{ free_ann_and_cid_wait, ann_says_a_word },
	{ free_cid_and_ann_wait, ann_says_a_word },
	{ free_cid_waits_who_died, ann_says_a_word },
	{ hold_by_ann, ann_renews },
	{ hold_by_bob, ann_renews },
};
enum { SITUATIONS = sizeof situations / sizeof *situations };

static const char *const all_tokens[] = { ANN1, ANN2, BOB1, CID1, DAN1 };
enum { TOKENS = sizeof all_tokens / sizeof *all_tokens };

/* Who holds and who waits. */
struct scene {
	char holder[48];
	char fence[24];
	bool waits[TOKENS];
	bool lives[TOKENS]; /* has a place, and its client lives and listens */
};

static struct scene
take_scene(void)
{
	struct scene scene = { .holder = "" };
	const char *waiting = places(), *fence = server_text(server, "GET " FENCE);

	snprintf(scene.fence, sizeof scene.fence, "%s", fence ? fence : "");
	snprintf(scene.holder, sizeof scene.holder, "%s", holder());
	for (size_t i = 0; i < TOKENS; i++) {
		const char *token = all_tokens[i];
		char client[37];

		snprintf(client, sizeof client, "%s", token);
		scene.waits[i] = strstr(waiting, token) != NULL;
		scene.lives[i] = scene.waits[i] && strcmp(token, DAN1) != 0 && alive_until(client) > server_us();
	}
	return scene;
}

static bool
waits_or_holds(const struct scene *scene, size_t i)
{
	return scene->waits[i] || strcmp(scene->holder, all_tokens[i]) == 0;
}

static void
forget_messages(void)
{
	for (struct listener *l = listeners; l; l = l->next)
		messages(l);
}

/* Who was told that the lock is theirs: the token of the one new message; "" if there was none. */
static const char *
who_was_told(void)
{
	static char token[48];
	int told = 0;

	token[0] = '\0';
	for (struct listener *l = listeners; l; l = l->next) {
		int before = l->messages;

		if (messages(l) > before && sscanf(l->last, "g %47s", token) == 1)
			told += l->messages - before;
	}
	if (told > 1)
		fail_msg("%d were told", told);
	return token;
}

/* A string in the place of a lock or a queue is one that is just going. */
static bool
is_going(const char *key)
{
	return strcmp(server_text(server, "TYPE %s", key), "string") == 0;
}

/* What an ask or a word of ANN1's says of it: its fence, 0: queued, -1: neither. */
static int64_t
fence_in(struct answer answer, struct answer (*act)(void))
{
	if (answer.type == REDIS_REPLY_ERROR)
		return -1;
	if (act == ann_says_a_word)
		return state_of(answer);
	if (act != ann_asks && act != ann_tries)
		return -1;
	if (answer.type == REDIS_REPLY_INTEGER)
		assert_true(answer.integer > DAY); /* a time, so no number by mistake */
	else
		assert_not_held(answer);
	return answer.type == REDIS_REPLY_INTEGER ? answer.integer : act == ann_asks ? 0 : -1;
}

/* ANN does what she does in a situation, but may not give two commands (or one, twice named). */
static void
act_without(size_t situation, const char *first, const char *second, redisContext *limited)
{
	struct answer answer;
	struct scene was, is;
	int64_t fence;
	bool releases = situations[situation].act == ann_releases;
	bool lacks_hdel = strcmp(first, "hdel") == 0 || strcmp(second, "hdel") == 0;
	bool lacks_publish = strcmp(first, "publish") == 0 || strcmp(second, "publish") == 0;
	const char *told;

	order = NOTHING;
	server_text(server, "FLUSHALL");
	situations[situation].before();
	forget_messages();
	was = take_scene();
	server_text(server, "ACL SETUSER ann reset on nopass ~* &* +@all -%s -%s", first, second);
	connection = limited;
	order = TTLS;
	answer = situations[situation].act();
	order = NOTHING;
	connection = unlimited;
	await_true(!is_going(LOCK) && !is_going(QUEUE));
	is = take_scene();
	told = who_was_told();

	/* What is said is true. */
	fence = fence_in(answer, situations[situation].act);
	if (fence > 0) {
		assert_string_equal(is.holder, ANN1);
		assert_int_equal(fence, strtoll(is.fence, NULL, 10));
		if (strcmp(was.holder, ANN1) == 0 && *was.fence)
			assert_string_equal(is.fence, was.fence);
	} else if (fence == 0) {
		assert_true(is.waits[0]);
		assert_true(is.lives[0]);
	}
	if (*told)
		assert_string_equal(is.holder, told);
	if (releases && answer.type == REDIS_REPLY_INTEGER)
		assert_false(waits_or_holds(&is, 0));
	if (releases && strcmp(was.holder, ANN1) == 0 && !lacks_hdel)
		assert_number(answer, 1);
	if (releases && was.waits[0] && !is.waits[0])
		assert_number(answer, 2);
	if (strcmp(first, "publish") == 0 && strcmp(second, "publish") == 0)
		assert_int_not_equal(answer.type, REDIS_REPLY_ERROR);
	if (situations[situation].act == ann_renews && strcmp(first, "hset") == 0 && strcmp(second, "hset") == 0)
		assert_int_not_equal(answer.type, REDIS_REPLY_ERROR);

	/* Where nobody could be given the lock, nobody is told to come again at once. */
	if (fence >= 0)
		assert_string_not_equal(is.holder, "");

	/* What is true is said, or will be by the next word, before the claim is over. */
	if (*is.holder && strcmp(is.holder, was.holder) != 0 && fence <= 0 && !*told) {
		assert_true(lacks_publish || strcmp(is.holder, DAN1) == 0);
		assert_ttl(LOCK, CLAIM);
	}

	/* Nobody's place is lost. */
	for (size_t i = 0; i < TOKENS; i++)
		if (was.lives[i] && !(releases && i == 0))
			assert_true(waits_or_holds(&is, i));

	/* And all of it goes by cancels. */
	for (size_t i = 0; i < TOKENS; i++)
		release(all_tokens[i]);
	assert_false(exists(LOCK));
	assert_false(exists(QUEUE));
}

static void
act_with_rights_missing(bool two)
{
	redisContext *limited = server_connect(server);

	listen_for(ANN);
	listen_for(BOB);
	listen_for(CID);
	server_text(server, "ACL SETUSER ann reset on nopass ~* &* +@all");
	freeReplyObject(redisCommand(limited, "AUTH ann any"));
	for (size_t i = 0; i < SITUATIONS; i++) {
		for (size_t first = 0; !two && first < COMMANDS; first++)
			act_without(i, commands[first], commands[first], limited);
		for (size_t first = 0; two && first < LATE_COMMANDS; first++)
			for (size_t second = 0; second < first; second++)
				act_without(i, late_commands[first], late_commands[second], limited);
	}
	redisFree(limited);
	server_integer(server, "ACL DELUSER ann");
}

static void
a_right_that_is_missing_leaves_no_key_without_a_ttl_and_no_hold_untold(void **state)
{
	(void)state;
	act_with_rights_missing(false);
}

static void
two_rights_that_are_missing_leave_no_key_without_a_ttl_and_no_hold_untold(void **state)
{
	(void)state;
	act_with_rights_missing(true);
}

static void
who_may_not_set_a_ttl_is_told_so_and_gets_nothing(void **state)
{
	(void)state;
	redisContext *limited = server_connect(server);
	struct answer answer;

	server_text(server, "ACL SETUSER ann reset on nopass ~* &* +@all -pexpire");
	freeReplyObject(redisCommand(limited, "AUTH ann any"));
	connection = limited;
	answer = ask(ANN1);
	connection = unlimited;
	assert_error(answer, "ERR");
	assert_non_null(strstr(answer.text, "ser")); /* "The user executing ..." (6.2), "ACL failure ... User ..." (later) */
	assert_false(exists(LOCK));
	redisFree(limited);
	server_integer(server, "ACL DELUSER ann");
}

/* ---- many steps, against a model ---- */

/* What lib/lua/README.md says of one lock, in C: six tokens, two per client. */
struct model {
	int holder;      /* -1: nobody */
	int queue[6];
	int waiting;
	bool dead[3];    /* its entry in the queue is too old */
	bool listens[3];
	bool given;      /* the last step gave the lock to somebody */
};

static const char *const walkers[] = { ANN1, ANN2, BOB1, BOB2, CID1, CID2 };
static const char *const clients[] = { ANN, BOB, CID };

static int
place_of(const struct model *m, int token)
{
	for (int i = 0; i < m->waiting; i++)
		if (m->queue[i] == token)
			return i;
	return -1;
}

static void
drop(struct model *m, int place)
{
	for (m->waiting--; place < m->waiting; place++)
		m->queue[place] = m->queue[place + 1];
}

static void
give(struct model *m, int token)
{
	m->holder = token;
	m->given = true;
}

static void
hand_on(struct model *m, int me)
{
	while (m->holder < 0 && m->waiting > 0) {
		int token = m->queue[0];

		drop(m, 0);
		if (token == me || (!m->dead[token / 2] && m->listens[token / 2]))
			give(m, token);
	}
}

static void
model_ask(struct model *m, int token, bool wait)
{
	if (m->holder == token)
		return;
	if (m->holder < 0 && m->waiting == 0) {
		give(m, token);
		return;
	}
	if (wait) {
		if (place_of(m, token) < 0)
			m->queue[m->waiting++] = token;
		m->dead[token / 2] = false;
	}
	hand_on(m, token);
	if (m->holder < 0)
		give(m, token);
}

static int
model_release(struct model *m, int token)
{
	int place = place_of(m, token), found = 0;

	if (m->holder == token) {
		m->holder = -1;
		found = 1;
	} else if (place >= 0) {
		drop(m, place);
		found = 2;
	}
	hand_on(m, -1);
	return found;
}

static void
model_word(struct model *m, int token)
{
	if (m->waiting > 0)
		m->dead[token / 2] = false;
	hand_on(m, -1);
}

/* A number below n, the same ones in each run. */
static int
chance(uint64_t *seed, int n)
{
	*seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (int)((*seed >> 33) % (uint64_t)n);
}

static void
toggle_listener(struct model *m, int client, struct listener *listener)
{
	messages(listener);
	redisAppendCommand(listener->connection, "%s leash:wake:%s", m->listens[client] ? "UNSUBSCRIBE" : "SUBSCRIBE", clients[client]);
	freeReplyObject(heard(listener));
	m->listens[client] = !m->listens[client];
}

/* One step by both, or something that happens to them. */
static void
walk(struct model *m, uint64_t *seed, struct listener *const *ears)
{
	int token = chance(seed, 6), client = token / 2, found;
	const char *name = walkers[token];
	struct answer answer;

	m->given = false;
	switch (chance(seed, 16)) {
	case 0:
	case 1:
	case 2:
	case 3:
		model_ask(m, token, true);
		answer = ask(name);
		assert_int_equal(is_fence(answer), m->holder == token);
		break;
	case 4:
		model_ask(m, token, false);
		answer = try(name);
		assert_int_equal(is_fence(answer), m->holder == token);
		break;
	case 5:
	case 6:
	case 7:
	case 8:
		if (chance(seed, 2) == 0 && m->holder >= 0)
			name = walkers[token = m->holder];
		found = model_release(m, token);
		assert_number(release(name), found);
		break;
	case 9:
	case 10:
		model_word(m, token);
		answer = word(clients[client], name);
		if (m->holder == token)
			assert_last_fence(state_of(answer));
		else
			assert_int_equal(state_of(answer), place_of(m, token) >= 0 ? 0 : -1);
		break;
	case 11:
		assert_number(renew(name, "600000", "2"), m->holder == token);
		break;
	case 12:
		expire(LOCK);
		m->holder = -1;
		break;
	case 13:
		if (place_of(m, token) >= 0 && !m->dead[client]) {
			bury(clients[client]);
			m->dead[client] = true;
		}
		break;
	case 14:
		toggle_listener(m, client, ears[client]);
		break;
	default:
		/* The clock goes back a second, as far as the fence can tell. */
		if (exists(FENCE))
			server_text(server, "SET " FENCE " %lld PX 86400000", (long long)last_fence() + 1000000);
	}
}

static void
assert_as_in(const struct model *m)
{
	char expected[512] = "";
	size_t n = 0;

	assert_string_equal(holder(), m->holder < 0 ? "" : walkers[m->holder]);
	for (int i = 0; i < m->waiting; i++)
		n += (size_t)snprintf(expected + n, sizeof expected - n, "%s%s 60000", i ? " " : "", walkers[m->queue[i]]);
	assert_string_equal(places(), expected);
}

static void
any_order_of_steps_does_what_the_model_does(void **state)
{
	(void)state;
	struct model m = { .holder = -1, .listens = { true, true, true } };
	struct listener *const ears[] = { listen_for(ANN), listen_for(BOB), listen_for(CID) };
	uint64_t seed = 1;
	int64_t fence = 0;

	for (int i = 0; i < 4000; i++) {
		walk(&m, &seed, ears);
		assert_as_in(&m);
		if (m.given)
			assert_true(last_fence() > fence);
		if (exists(FENCE))
			fence = last_fence();
	}
}

static void
the_build_and_the_server_agree_on_the_scripts_hashes(void **state)
{
	(void)state;
	static const struct lsh_script *const scripts[] = {
		&lsh_script_acquire, &lsh_script_release, &lsh_script_word, &lsh_script_renew,
	};

	for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
		assert_int_equal(scripts[i]->size, strlen(scripts[i]->text));
		assert_string_equal(server_text(server, "SCRIPT LOAD %s", scripts[i]->text), scripts[i]->sha1);
	}
}

/* Each in a server without keys. */
#define sentence(name) cmocka_unit_test_setup_teardown(name, clean, close_listeners)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		sentence(the_build_and_the_server_agree_on_the_scripts_hashes),
		sentence(a_free_lock_is_held_by_whoever_asks),
		sentence(a_fence_is_the_servers_time_in_microseconds),
		sentence(fences_grow_when_the_clock_is_behind_the_last),
		sentence(a_fence_that_cannot_be_counted_on_from_is_replaced),
		sentence(fences_grow_after_the_last_was_deleted),
		sentence(an_ask_that_comes_too_late_does_nothing_and_tells_the_time),
		sentence(a_late_ask_of_a_holder_is_refused_too),
		sentence(an_ask_in_time_is_not_refused),
		sentence(an_ask_takes_leases_of_a_millisecond_to_a_day_and_leaves_nothing_of_others),
		sentence(a_lock_that_nobody_waits_for_costs_seven_calls),
		sentence(an_ask_again_of_a_holder_is_answered_with_the_same_fence),
		sentence(an_ask_again_of_a_holder_is_good_for_the_whole_lease),
		sentence(an_ask_again_of_a_holder_shortens_nothing),
		sentence(an_ask_again_leaves_the_depth_alone),
		sentence(an_ask_again_gets_a_new_fence_where_the_old_one_is_gone),
		sentence(an_ask_again_after_a_grant_is_held_for_the_lease),
		sentence(an_ask_for_a_held_lock_takes_a_place),
		sentence(a_second_place_of_a_client_adds_no_second_client),
		sentence(asking_again_keeps_the_place_and_says_that_the_client_lives),
		sentence(places_come_in_the_order_of_their_asks_also_when_the_clock_went_back),
		sentence(a_try_takes_no_place),
		sentence(a_try_leaves_a_queue_as_it_is),
		sentence(a_lock_without_a_ttl_is_said_to_have_none),
		sentence(a_client_with_a_shorter_alive_does_not_shorten_the_queue),
		sentence(an_ask_gives_an_abandoned_lock_to_the_first_in_the_queue),
		sentence(a_try_gives_an_abandoned_lock_to_the_first_in_the_queue),
		sentence(the_first_in_the_queue_takes_an_abandoned_lock_by_asking_again),
		sentence(a_newcomer_takes_an_abandoned_lock_whose_queue_is_dead),
		sentence(a_try_takes_an_abandoned_lock_whose_queue_is_dead),
		sentence(a_try_takes_an_abandoned_lock_whose_queue_does_not_listen),
		sentence(a_queue_without_places_keeps_nobody_out),
		sentence(a_thousand_dead_places_go_in_one_step_and_the_rest_in_the_next),
		sentence(nobody_passes_a_thousand_dead_places_by_and_keeps_a_place_of_its_own),
		sentence(a_word_among_thousands_of_dead_places_is_answered_queued_come_again),
		sentence(a_released_lock_is_free),
		sentence(a_second_release_finds_nothing),
		sentence(a_release_of_nothing_creates_nothing),
		sentence(only_the_holder_releases),
		sentence(a_release_gives_the_lock_to_the_first_in_the_queue_and_tells_it),
		sentence(the_last_place_takes_the_queue_with_it),
		sentence(a_queue_is_served_in_its_order),
		sentence(fences_of_grants_grow_when_the_clock_is_behind_the_last),
		sentence(a_grant_lasts_for_the_claim_of_its_own_place),
		sentence(a_client_that_does_not_listen_is_passed_over),
		sentence(a_lock_that_nobody_listens_for_is_free),
		sentence(silence_is_no_refusal_where_counts_are_not_exact),
		sentence(a_dead_client_is_passed_over),
		sentence(a_lock_whose_queue_is_dead_is_free),
		sentence(what_is_no_place_is_passed_over),
		sentence(a_grant_goes_out_by_spublish_where_the_client_says_so),
		sentence(who_leaves_has_no_place_any_more),
		sentence(who_leaves_last_removes_the_queue),
		sentence(who_leaves_hands_an_abandoned_lock_on),
		sentence(the_cancel_of_a_granted_token_hands_the_lock_on),
		sentence(the_cancel_of_an_unknown_token_hands_an_abandoned_lock_on),
		sentence(the_cancel_of_an_unknown_token_takes_nothing_from_a_holder),
		sentence(a_word_keeps_places_alive),
		sentence(a_word_keeps_the_places_of_its_own_client_only),
		sentence(a_word_of_an_unknown_token_creates_nothing),
		sentence(a_word_of_an_unknown_token_takes_no_place),
		sentence(a_word_of_an_unknown_token_takes_no_free_lock),
		sentence(a_word_hands_an_abandoned_lock_to_the_first_in_the_queue),
		sentence(a_word_of_the_first_in_the_queue_is_answered_held_for_the_lease),
		sentence(a_word_revives_the_places_of_its_client_before_it_hands_on),
		sentence(a_word_learns_of_a_grant_whose_message_was_lost),
		sentence(a_word_of_a_holder_shortens_nothing),
		sentence(a_word_of_a_holder_whose_fence_is_gone_gets_a_new_one),
		sentence(a_word_answers_for_each_of_its_tokens),
		sentence(a_word_for_a_free_lock_whose_queue_is_dead_says_that_nobody_holds),
		sentence(a_word_takes_leases_of_a_millisecond_to_a_day),
		sentence(a_renewal_is_good_for_the_whole_lease),
		sentence(a_renewal_shortens_nothing),
		sentence(a_renewal_writes_the_depth_down),
		sentence(a_renewal_never_creates_the_lock),
		sentence(a_renewal_of_one_who_lost_it_leaves_the_holder_alone),
		sentence(a_renewal_gives_a_ttl_to_a_lock_that_has_none),
		sentence(a_renewal_takes_leases_of_a_millisecond_to_a_day),
		sentence(a_replica_never_says_held),
		sentence(a_full_server_refuses_who_asks_and_keeps_nothing_of_it),
		sentence(a_full_server_refuses_new_places),
		sentence(a_full_server_refuses_who_tries_for_an_abandoned_lock),
		sentence(a_full_server_answers_a_holder_that_asks_again),
		sentence(a_full_server_renews_and_writes_the_depth_down),
		sentence(a_full_server_releases_and_hands_on),
		sentence(a_full_server_lets_leave_and_hands_on),
		sentence(a_full_server_takes_words_and_hands_on),
		sentence(a_lock_key_that_is_no_lock_is_left_alone),
		sentence(a_queue_key_that_is_no_queue_is_left_alone),
		sentence(a_fence_key_that_is_no_fence_is_left_alone),
		sentence(a_right_that_is_missing_leaves_no_key_without_a_ttl_and_no_hold_untold),
		sentence(two_rights_that_are_missing_leave_no_key_without_a_ttl_and_no_hold_untold),
		sentence(who_may_not_set_a_ttl_is_told_so_and_gets_nothing),
		sentence(any_order_of_steps_does_what_the_model_does),
	};

	return cmocka_run_group_tests_name("scripts", tests, start, stop);
}
