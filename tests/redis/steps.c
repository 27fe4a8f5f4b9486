/* See steps.h. */
#include "tests/redis/steps.h"

#include "tests/support/trouble.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const commands[COMMANDS] = {
	"time", "exists", "set", "get", "hset", "hget", "hdel", "hexists", "pexpire", "pttl", "del",
	"zadd", "zrem", "zscore", "zcount", "zrangebyscore", "zrevrange", "publish",
};

struct server *server;
redisContext *unlimited;
redisContext *connection;
struct pubsub *listeners;
enum order order = ALL;

/* ---- what a step answers ---- */

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

bool
is_fence(struct answer answer)
{
	return answer.type == REDIS_REPLY_INTEGER && answer.integer > 0;
}

int64_t
fence_of(struct answer answer)
{
	if (!is_fence(answer))
		fail_msg("not held: type %d, %s", answer.type, answer.text);
	return answer.integer;
}

void
assert_not_held(struct answer answer)
{
	if (answer.type != REDIS_REPLY_ARRAY)
		fail_msg("not the answer of a lock that is not held: type %d, %s", answer.type, answer.text);
	assert_int_equal(answer.count, 3);
	assert_int_equal(answer.item[0], 0);
}

void
assert_number(struct answer answer, int64_t number)
{
	if (answer.type != REDIS_REPLY_INTEGER)
		fail_msg("no integer but type %d, %s", answer.type, answer.text);
	assert_int_equal(answer.integer, number);
}

void
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

const char *
holder(void)
{
	return server_text(server, "HKEYS " LOCK);
}

const char *
places(void)
{
	return server_text(server, "ZRANGEBYSCORE " QUEUE " (0 +inf");
}

bool
exists(const char *key)
{
	return server_integer(server, "EXISTS %s", key) == 1;
}

int64_t
ttl_of(const char *key)
{
	return server_integer(server, "PTTL %s", key);
}

int64_t
last_fence(void)
{
	const char *text = server_text(server, "GET " FENCE);

	assert_non_null(text);
	return strtoll(text, NULL, 10);
}

void
assert_last_fence(int64_t fence)
{
	assert_int_equal(fence, last_fence());
}

int64_t
server_us(void)
{
	const char *text = server_text(server, "TIME");
	char *us;
	int64_t s = strtoll(text, &us, 10);

	return s * 1000000 + strtoll(us, NULL, 10);
}

int64_t
alive_until(const char *client)
{
	redisReply *queue = server_command(server, "ZRANGE " QUEUE " 0 -1 WITHSCORES");
	int64_t heard = 0;

	for (size_t i = 0; i < queue->elements; i += 2) {
		int64_t score = llabs(strtoll(queue->element[i + 1]->str, NULL, 10));

		if (strncmp(queue->element[i]->str, client, 36) == 0 && score > heard)
			heard = score;
	}
	freeReplyObject(queue);
	assert_int_not_equal(heard, 0);
	return heard + ALIVE * 1000;
}

void
assert_between(int64_t n, int64_t low, int64_t high)
{
	if (n < low || n > high)
		fail_msg("%" PRId64 " is not between %" PRId64 " and %" PRId64, n, low, high);
}

void
assert_ttl(const char *key, int64_t ms)
{
	assert_between(ttl_of(key), ms > 60000 ? ms - 60000 : 1, ms);
}

int64_t
fence_ahead_ms(void)
{
	int64_t ahead_us = last_fence() - server_us();

	return ahead_us > 0 ? ahead_us / 1000 + 1000 : 1000;
}

void
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
	if (exists(LOCK))
		assert_true(exists(FENCE));
	if (exists(FENCE) && last_fence() > 0 && last_fence() <= server_us() + YEAR_US)
		assert_true(ttl_of(FENCE) <= DAY + fence_ahead_ms());
	if (exists(QUEUE)) {
		redisReply *place = server_command(server, "ZRANGEBYSCORE " QUEUE " (0 +inf");

		if (place->elements == 0)
			fail_msg("the queue exists and nobody waits");
		for (size_t i = 0; i < place->elements; i++) {
			char *token = place->element[i]->str;

			*strchr(token, ' ') = '\0';
			if (server_integer(server, "HEXISTS " LOCK " %s", token))
				fail_msg("%s holds and waits", token);
		}
		freeReplyObject(place);
	}
}

/* ---- the steps ---- */

struct answer
run(const struct lsh_script *script, int keys, const char *const *args)
{
	const char *argv[MAX_ARGS] =
		{ "EVALSHA", script->sha1, keys == 1 ? "1" : keys == 2 ? "2" : "3", LOCK, FENCE, QUEUE };
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

struct answer
ask_with(const char *token, const char *lease_ms, const char *not_after_us, const char *cfg)
{
	return step(acquire, 3, token, lease_ms, not_after_us, cfg);
}

struct answer
ask(const char *token)
{
	return ask_with(token, "600000", NEVER_LATE, EXACT);
}

struct answer
try(const char *token)
{
	return ask_with(token, "600000", NEVER_LATE, TRY);
}

void
line_up_tokens(const char *const tokens[])
{
	fence_of(ask(*tokens));
	while (*++tokens != NULL)
		assert_not_held(ask(*tokens));
}

struct answer
release(const char *token)
{
	return step(release, 3, token, EXACT);
}

struct answer
word(const char *client, const char *token)
{
	return step(heartbeat, 3, client, "600000", token, EXACT);
}

struct answer
renew(const char *token, const char *lease_ms, const char *depth)
{
	return step(renew, 1, token, lease_ms, depth, FENCE_MS);
}

int64_t
state_of(struct answer answer)
{
	if (answer.type != REDIS_REPLY_ARRAY)
		fail_msg("not the answer to a word: type %d, %s", answer.type, answer.text);
	assert_int_equal(answer.count, 3);
	return answer.item[2];
}

/* ---- time and death ---- */

void
expire(const char *key)
{
	server_integer(server, "DEL %s", key);
}

void
age_places(int64_t ms)
{
	redisReply *place = server_command(server, "ZRANGEBYSCORE " QUEUE " (0 +inf");

	for (size_t i = 0; i < place->elements; i++)
		server_text(server, "ZINCRBY " QUEUE " -%lld %s", (long long)ms * 1000, place->element[i]->str);
	freeReplyObject(place);
}

void
bury(const char *client)
{
	static const char *const all[] = { ANN, BOB, CID, DAN };
	const char *waiting = places();
	int64_t now = server_us();

	assert_non_null(strstr(waiting, client));
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (strcmp(all[i], client) != 0 && strstr(waiting, all[i]) != NULL && alive_until(all[i]) >= now)
			server_integer(server, "ZADD " QUEUE " -%lld %s", (long long)now, all[i]);
	age_places(ALIVE + 1);
	server_integer(server, "ZREM " QUEUE " %s", client);
}

/* ---- who listens ---- */

redisReply *
heard(struct pubsub *pubsub)
{
	redisReply *reply;

	if (redisGetReply(pubsub->connection, (void **)&reply) != REDIS_OK)
		trouble("the listener's connection: %s", pubsub->connection->errstr);
	return reply;
}

struct pubsub *
listen_on(const char *command, const char *channel)
{
	struct pubsub *pubsub = calloc(1, sizeof *pubsub);

	if (!pubsub)
		trouble("no memory");
	pubsub->connection = server_connect(server);
	pubsub->next = listeners;
	listeners = pubsub;
	redisAppendCommand(pubsub->connection, "%s %s", command, channel);
	freeReplyObject(heard(pubsub));
	return pubsub;
}

struct pubsub *
listen_for(const char *client)
{
	char channel[64];

	snprintf(channel, sizeof channel, "leash:wake:%s", client);
	return listen_on("SUBSCRIBE", channel);
}

int
messages(struct pubsub *pubsub)
{
	redisAppendCommand(pubsub->connection, "PING");
	for (;;) {
		redisReply *reply = heard(pubsub);
		bool pong = reply->elements < 3;

		if (!pong) {
			pubsub->messages++;
			snprintf(pubsub->last, sizeof pubsub->last, "%s", reply->element[2]->str);
		}
		freeReplyObject(reply);
		if (pong)
			return pubsub->messages;
	}
}

void
assert_told(struct pubsub *pubsub, const char *token)
{
	char expected[128];

	assert_int_equal(messages(pubsub), 1);
	snprintf(expected, sizeof expected, "g %s %" PRId64 " " LOCK, token, last_fence());
	assert_string_equal(pubsub->last, expected);
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
	load(c, &lsh_script_heartbeat);
	load(c, &lsh_script_renew);
	load(c, &lsh_script_raise);
}

static void
listen_no_more(void)
{
	while (listeners) {
		struct pubsub *pubsub = listeners;

		listeners = pubsub->next;
		redisFree(pubsub->connection);
		free(pubsub);
	}
}

void
start(void)
{
	server = server_start(NULL);
	unlimited = server_connect(server);
	load_all(unlimited);
}

void
stop(void)
{
	redisFree(unlimited);
	server_stop(server);
}

void
clean(void)
{
	order = ALL;
	connection = unlimited;
	server_text(server, "REPLICAOF NO ONE");
	server_text(server, "CONFIG SET maxmemory 0");
	server_text(server, "FLUSHALL");
}

void
close_listeners(void)
{
	listen_no_more();
}
