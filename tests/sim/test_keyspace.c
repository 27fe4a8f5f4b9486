/* What a simulated server has besides its commands: copies and digests of its keys, time, restarts, hooks, counters.
 * That its commands and scripts do what a real server's do is shown by the other programs of this folder (mirror.h). */
#include "lua/scripts.h"
#include "tests/sim/server.h"
#include "tests/support/test.h"

#define S INT64_C(1000000)
#define LOCK "leash:{orders}"
#define ANN1 "aaaaaaaa-0000-4000-8000-00000000000a:1"
#define BOB1 "bbbbbbbb-0000-4000-8000-00000000000b:1"
#define CFG  "3000 3600000 10000 1 PUBLISH leash:wake:"

enum { WORDS = 12 };

static struct sim_lua *lua;
static struct sim_server *server;
static int64_t now_us;
static char heard[256];
static int64_t replicas;

static int64_t
publish(void *ctx, const char *channel, size_t channel_size, const char *text, size_t size)
{
	(void)ctx;
	snprintf(heard, sizeof heard, "%.*s: %.*s", (int)channel_size, channel, (int)size, text);
	return 1;
}

static int64_t
acknowledged(void *ctx, bool fsynced, bool *own)
{
	(void)ctx;
	*own = fsynced;
	return replicas;
}

static const struct sim_hooks hooks = {publish, acknowledged};

static void
begin(void)
{
	lua = sim_lua_new();
	server = sim_server_new(lua, &hooks, NULL);
	now_us = 1760000000 * S;
	replicas = 0;
}

static void
end(void)
{
	sim_server_free(server);
	sim_lua_free(lua);
}

FIXTURE(begin, end);

static const struct lsh_message *
say_words(const char *const *words)
{
	struct lsh_arg args[WORDS];
	size_t n = 0;

	for (; words[n] != NULL; n++)
		args[n] = lsh_arg_text(words[n]);
	return sim_server_run(server, args, n, now_us);
}

#define say(...) say_words((const char *const[]){__VA_ARGS__, NULL})
#define say_integer(...) say(__VA_ARGS__)->item[0].integer
#define expect_error(message, expected) \
	do { \
		const struct lsh_message *message_ = (message); \
		assert_int_equal(message_->type, LSH_ERROR); \
		assert_memory_equal(message_->item[0].text, expected, strlen(expected)); \
	} while (0)

static const struct lsh_message *
acquire(const char *token)
{
	return say("EVAL", lsh_script_acquire.text, "3", LOCK, LOCK ":fence", LOCK ":queue", token, "30000",
	           "9000000000000000", CFG);
}

static const struct lsh_message *
release(const char *token)
{
	return say("EVAL", lsh_script_release.text, "3", LOCK, LOCK ":fence", LOCK ":queue", token, CFG);
}

static uint64_t
digest(const struct sim_keyspace *keyspace)
{
	return sim_keyspace_digest(keyspace, now_us / 1000);
}

/* ---- copies ---- */

SENTENCE(a_copy_is_left_as_it_is_by_what_becomes_of_the_original)
{
	struct sim_keyspace copy = {0};
	uint64_t before;

	acquire(ANN1);
	acquire(BOB1);
	before = digest(&server->context.keyspace);
	sim_keyspace_copy(&copy, &server->context.keyspace);
	assert_true(digest(&copy) == before);
	say("HSET", LOCK, ANN1, "2");
	say("ZADD", LOCK ":queue", "1", "more");
	say("PEXPIRE", LOCK ":fence", "1");
	assert_true(digest(&server->context.keyspace) != before);
	say("FLUSHALL");
	assert_true(digest(&copy) == before);
	sim_server_restart(server, &copy);
	assert_true(digest(&server->context.keyspace) == before);
	assert_int_equal(say_integer("HEXISTS", LOCK, ANN1), 1);
	sim_keyspace_clear(&copy);
	assert_int_equal(say_integer("DBSIZE"), 3);
}

SENTENCE(a_digest_is_of_keys_contents_and_ttls_and_not_of_the_order_in_which_keys_came)
{
	uint64_t both, now;

	say("SET", "a", "1", "PX", "1000");
	say("HSET", "b", "field", "value");
	both = digest(&server->context.keyspace);
	say("DEL", "a");
	now = digest(&server->context.keyspace);
	assert_true(now != both);
	say("SET", "a", "1", "PX", "1000");
	assert_true(digest(&server->context.keyspace) == both);
	say("PEXPIRE", "a", "1001");
	assert_true(digest(&server->context.keyspace) != both);
	say("SET", "a", "2", "PX", "1000");
	assert_true(digest(&server->context.keyspace) != both);
	now_us += 1001 * 1000; /* without being looked at, a is over */
	assert_true(digest(&server->context.keyspace) == now);
}

/* ---- time ---- */

SENTENCE(a_key_is_there_until_its_last_millisecond_is_over)
{
	say("SET", "a", "1", "PX", "1000");
	now_us += 1000 * 1000;
	assert_int_equal(say_integer("PTTL", "a"), 0);
	now_us += 1000;
	assert_int_equal(say_integer("PTTL", "a"), -2);
	assert_int_equal(say_integer("DBSIZE"), 0);
}

SENTENCE(a_clock_that_jumps_takes_the_ttls_with_it)
{
	say("SET", "a", "1", "PX", "1000");
	sim_server_set_clock(server, now_us, -60 * S, 0);
	assert_int_equal(say_integer("PTTL", "a"), 61000);
	sim_server_set_clock(server, now_us, 2 * S, 0);
	assert_int_equal(say_integer("PTTL", "a"), -2);
}

SENTENCE(a_clock_that_drifts_gains_from_when_it_was_set)
{
	const struct lsh_message *time;

	sim_server_set_clock(server, now_us, 5 * S, 1000);
	now_us += 3600 * S;
	assert_true(sim_server_us(server, now_us) == now_us + 5 * S + 3600 * 1000);
	time = say("TIME");
	assert_string_equal(time->item[0].text, "1760003608");
	assert_string_equal(time->item[1].text, "600000");
}

/* ---- restarts ---- */

SENTENCE(a_server_that_was_restarted_knows_no_script_and_has_the_keys_that_it_is_given)
{
	const char *sha1 = lsh_script_inspect.sha1;

	expect_error(say("EVALSHA", sha1, "3", LOCK, LOCK ":fence", LOCK ":queue"), "NOSCRIPT");
	assert_string_equal(say("SCRIPT", "LOAD", lsh_script_inspect.text)->item[0].text, sha1);
	assert_int_equal(say("EVALSHA", sha1, "3", LOCK, LOCK ":fence", LOCK ":queue")->type, LSH_STRING);
	say("SET", "a", "1");
	server->context.is_full = true;
	sim_server_restart(server, &server->context.keyspace);
	assert_int_equal(server->life, 2);
	expect_error(say("EVALSHA", sha1, "3", LOCK, LOCK ":fence", LOCK ":queue"), "NOSCRIPT");
	assert_int_equal(say_integer("EXISTS", "a"), 1);
	sim_server_restart(server, NULL);
	assert_int_equal(say_integer("EXISTS", "a"), 0);
}

SENTENCE(servers_share_an_interpreter_and_nothing_else)
{
	struct sim_server *first = server, *second = sim_server_new(lua, NULL, NULL);

	acquire(ANN1);
	server = second;
	second->version = 0;
	assert_int_equal(say("EVAL", "return redis.REDIS_VERSION_NUM or 'none'", "0")->type, LSH_STRING);
	assert_int_equal(say_integer("DBSIZE"), 0);
	expect_error(say("EVALSHA", lsh_script_acquire.sha1, "0"), "NOSCRIPT");
	server = first;
	assert_int_equal(say_integer("EVAL", "return redis.REDIS_VERSION_NUM or 'none'", "0"), SIM_VERSION);
	assert_int_equal(say_integer("DBSIZE"), 2);
	sim_server_free(second);
}

/* ---- hooks and counters ---- */

SENTENCE(who_is_given_the_lock_is_told_by_the_hook)
{
	acquire(ANN1);
	acquire(BOB1);
	assert_int_equal(release(ANN1)->item[0].integer, 1);
	assert_string_equal(heard, "leash:wake:bbbbbbbb-0000-4000-8000-00000000000b: g " BOB1 " 1760000000000001 " LOCK);
}

SENTENCE(wait_says_what_is_acknowledged_by_now)
{
	const struct lsh_message *both;

	assert_int_equal(say_integer("WAIT", "1", "100"), 0);
	replicas = 2;
	assert_int_equal(say_integer("WAIT", "1", "100"), 2);
	both = say("WAITAOF", "1", "1", "100");
	assert_int_equal(both->count, 2);
	assert_int_equal(both->item[0].integer, 1);
	assert_int_equal(both->item[1].integer, 2);
	server->context.is_replica = true;
	expect_error(say("WAIT", "1", "100"), "ERR");
}

SENTENCE(an_acquire_and_its_release_are_counted_as_seven_calls)
{
	uint64_t sum = 0;

	acquire(ANN1);
	release(ANN1);
	assert_int_equal(sim_server_calls(server, SIM_EVAL), 2);
	for (int i = 0; i < SIM_COMMANDS; i++)
		sum += sim_server_calls(server, (enum sim_command_id)i);
	assert_int_equal(sum, 2 + 7);
}
