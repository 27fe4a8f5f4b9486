/* Random steps for a real and a simulated server. See fuzz_steps.h. */
#include "tests/sim/fuzz_steps.h"

#include "lua/scripts.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static uint64_t state;
static int64_t now_us;
static struct fuzz_step last;

static unsigned
chance(unsigned n)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)((state >> 33) % n);
}

static bool
percent(unsigned n)
{
	return chance(100) < n;
}

#define ONE_OF(...) \
	(((const char *const[]){__VA_ARGS__})[chance(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))])

void
fuzz_begin(uint64_t seed)
{
	state = seed;
	now_us = INT64_C(1760000000000000);
	last = (struct fuzz_step){0};
}

__attribute__((format(printf, 2, 3))) static void
say(struct fuzz_step *step, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(step->words[step->count++], FUZZ_WORD_SIZE, format, args);
	va_end(args);
}

/* ---- words ---- */

static void
say_key(struct fuzz_step *step, const char *usual)
{
	say(step, "%s", percent(75) ? usual : ONE_OF(FUZZ_KEYS));
}

static const char *
client(void)
{
	return ONE_OF(FUZZ_CLIENT_ANN, FUZZ_CLIENT_BOB, FUZZ_CLIENT_CID);
}

static void
say_token(struct fuzz_step *step)
{
	say(step, "%s:%u", client(), 1 + chance(2));
}

/* A member of a queue. */
static void
say_member(struct fuzz_step *step)
{
	switch (chance(8)) {
	case 0:
		say(step, "%s", ONE_OF("", "rubbish", FUZZ_CLIENT_ANN ":1", FUZZ_CLIENT_ANN ":1 0"));
		break;
	case 1:
	case 2:
		say(step, "%s", client());
		break;
	default:
		say(step, "%s:%u %s", client(), 1 + chance(2), ONE_OF("3000", "60000"));
	}
}

static void
say_ms(struct fuzz_step *step)
{
	if (percent(85))
		say(step, "%s", ONE_OF("1", "5", "1000", "3000", "60000", "3600000", "86400000"));
	else
		say(step, "%s", ONE_OF("0", "-1", "86400001", "x", "", "1e300", "0.5", "007", "-0", "99999999999999999999"));
}

static void
say_moment(struct fuzz_step *step)
{
	static const int64_t s[] = {-3600, -1, 0, 1, 3600, 3601, 31535999, 31536001};

	if (percent(90))
		say(step, "%" PRId64, now_us + s[chance(8)] * 1000000 + chance(1000));
	else
		say(step, "%s", ONE_OF("orders", "", "nan", "inf", "-5", "1e300", "1", "0"));
}

static void
say_score(struct fuzz_step *step)
{
	if (percent(50))
		say(step, "%s%" PRId64, percent(50) ? "-" : "", now_us - chance(20000000));
	else
		say(step, "%s", ONE_OF("1", "2", "-7", "0", "inf", "-inf", "x", "nan", "", " 1", "9007199254740992"));
}

static void
say_cfg(struct fuzz_step *step)
{
	if (percent(95))
		say(step, "%s", ONE_OF("3000 3600000 10000 1 PUBLISH leash:wake:", "3000 3600000 10000 1 PUBLISH leash:wake:",
		                       "60000 3600000 200000 0 PUBLISH leash:wake:", "3000 3600000 10000 1 SPUBLISH -",
		                       "3000 5 10000 1 PUBLISH leash:wake:", "0 3600000 10000 1 PUBLISH leash:wake:"));
	else
		say(step, "%s", ONE_OF("", "rubbish", "3000", "3000 3600000 10000 1 EVAL -", "3000 3600000 10000 1 NONE -"));
}

/* ---- scripts ---- */

static void
say_script(struct fuzz_step *step, const struct lsh_script *script, int keys)
{
	static const char *const usual[] = {FUZZ_KEYS};

	say(step, "EVALSHA");
	say(step, "%s", script->sha1);
	say(step, "%d", keys);
	for (int i = 0; i < keys; i++)
		say(step, "%s", percent(97) ? usual[i] : ONE_OF(FUZZ_KEYS));
}

static void
acquire(struct fuzz_step *step)
{
	say_script(step, &lsh_script_acquire, 3);
	say_token(step);
	say_ms(step);
	if (percent(90))
		say(step, "9000000000000000");
	else
		say_moment(step);
	say_cfg(step);
	if (percent(10))
		say_moment(step);
}

static void
release(struct fuzz_step *step)
{
	say_script(step, &lsh_script_release, 3);
	say_token(step);
	say_cfg(step);
}

static void
heartbeat(struct fuzz_step *step)
{
	say_script(step, &lsh_script_heartbeat, 3);
	say(step, "%s", client());
	say_ms(step);
	for (unsigned n = 1 + chance(3); n > 0; n--)
		say_token(step);
	say_cfg(step);
	if (percent(10))
		say_moment(step);
}

static void
renew(struct fuzz_step *step)
{
	bool many = percent(50);

	say_script(step, &lsh_script_renew, many ? 0 : 1);
	if (many)
		say_ms(step);
	for (unsigned n = many ? 1 + chance(4) : 1; n > 0; n--) {
		if (many)
			say_key(step, "leash:{orders}");
		say_token(step);
		say_ms(step);
		say(step, "%s", ONE_OF("1", "2", "x"));
	}
	if (!many)
		say_ms(step);
}

static void
look_or_raise(struct fuzz_step *step)
{
	if (percent(60)) {
		say_script(step, &lsh_script_inspect, 3);
		return;
	}
	say_script(step, &lsh_script_raise, 2);
	say_moment(step);
	say_ms(step);
}

/* ---- commands ---- */

static void
of_strings(struct fuzz_step *step)
{
	const char *name = ONE_OF("SET", "SET", "SET", "GET", "GETRANGE");

	say(step, "%s", name);
	say_key(step, "leash:{orders}:fence");
	if (strcmp(name, "GETRANGE") == 0) {
		say(step, "%s", ONE_OF("0", "1", "-3", "100", "x"));
		say(step, "%s", ONE_OF("0", "2", "-1", "-5", "100"));
	}
	if (strcmp(name, "SET") != 0)
		return;
	say_moment(step);
	if (percent(70)) {
		say(step, "PX");
		say_ms(step);
	}
	if (percent(40))
		say(step, "%s", ONE_OF("NX", "GET", "get", "WHAT"));
}

static void
of_hashes(struct fuzz_step *step)
{
	const char *name = ONE_OF("HSET", "HSET", "HDEL", "HGET", "HEXISTS", "HLEN", "HGETALL");

	say(step, "%s", name);
	say_key(step, "leash:{orders}");
	if (strcmp(name, "HLEN") == 0 || strcmp(name, "HGETALL") == 0)
		return;
	say_token(step);
	if (strcmp(name, "HSET") == 0)
		say(step, "%s", ONE_OF("1", "2", ""));
}

static void
of_queues(struct fuzz_step *step)
{
	const char *name = ONE_OF("ZADD", "ZADD", "ZREM", "ZSCORE", "ZINCRBY");

	say(step, "%s", name);
	say_key(step, "leash:{orders}:queue");
	if (strcmp(name, "ZADD") == 0) {
		if (percent(50))
			say(step, "NX");
		say_score(step);
	} else if (strcmp(name, "ZINCRBY") == 0) {
		say(step, "%s", ONE_OF("-1000000", "1", "x"));
	}
	say_member(step);
}

static void
of_ranges(struct fuzz_step *step)
{
	const char *name = ONE_OF("ZRANGEBYSCORE", "ZRANGEBYSCORE", "ZCOUNT", "ZREVRANGE");
	bool by_rank = strcmp(name, "ZREVRANGE") == 0;

	say(step, "%s", name);
	say_key(step, "leash:{orders}:queue");
	say(step, "%s", by_rank ? ONE_OF("0", "1", "-2", "x") : ONE_OF("(0", "-inf", "(1", "1", "x", "("));
	say(step, "%s", by_rank ? ONE_OF("0", "2", "-1", "9") : ONE_OF("+inf", "(2", "0", "nan", "inf"));
	if (strcmp(name, "ZCOUNT") == 0)
		return;
	if (percent(60))
		say(step, "%s", ONE_OF("WITHSCORES", "withscores", "WITHSCORES", "WHAT"));
	if (!by_rank && percent(40)) {
		say(step, "LIMIT");
		say(step, "%s", ONE_OF("0", "1", "-1", "x"));
		say(step, "%s", ONE_OF("0", "2", "-1", "9"));
	}
}

static void
of_any_key(struct fuzz_step *step)
{
	const char *name = ONE_OF("DEL", "DEL", "EXISTS", "PTTL", "PEXPIRE", "PEXPIRE", "PERSIST", "RPUSH", "TIME", "NONE");

	say(step, "%s", name);
	if (strcmp(name, "TIME") == 0 || strcmp(name, "NONE") == 0)
		return;
	say_key(step, "leash:{orders}");
	if (strcmp(name, "RPUSH") == 0)
		say(step, "theirs");
	if (strcmp(name, "EXISTS") == 0 || strcmp(name, "DEL") == 0)
		for (unsigned n = chance(3); n > 0; n--)
			say_key(step, "leash:{orders}:queue");
	if (strcmp(name, "PEXPIRE") == 0) {
		if (percent(50))
			say_ms(step);
		else
			say(step, "%s", ONE_OF("0", "1", "1000", "3000"));
		if (percent(40))
			say(step, "%s", ONE_OF("GT", "GT", "gt", "WHAT"));
	}
}

/* ---- what befalls the server ---- */

static void
have_rights(struct fuzz_step *step)
{
	static const char *const words[] = {"ACL", "SETUSER", "ann", "reset", "on", "nopass", "&*", "+@all"};
	static const char *const commands[] = {
		"del",  "evalsha", "exists", "get",  "hdel", "hexists", "hget",   "hset",          "pexpire", "pttl",
		"publish", "set",  "time",   "zadd", "zcount", "zrangebyscore",   "zrem",          "zrevrange", "zscore",
	};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		say(step, "%s", words[i]);
	say(step, "%s", percent(60) ? "~*" : ONE_OF("~leash:{orders}", "~leash:{orders}*", "~leash:{bills}*"));
	for (unsigned n = chance(3); n > 0; n--)
		say(step, "-%s", commands[chance(sizeof commands / sizeof *commands)]);
}

static void
befall(struct fuzz_step *step)
{
	static const char *const words[][4] = {
		{"CONFIG", "SET", "maxmemory", "1"}, {"CONFIG", "SET", "maxmemory", "0"}, {"CONFIG", "SET", "maxmemory", "0"},
		{"REPLICAOF", "127.0.0.1", "1"},     {"REPLICAOF", "NO", "ONE"},          {"REPLICAOF", "NO", "ONE"},
	};
	unsigned what = chance(10);

	if (what >= sizeof words / sizeof *words) {
		have_rights(step);
		return;
	}
	for (int i = 0; i < 4 && words[what][i] != NULL; i++)
		say(step, "%s", words[what][i]);
}

/* Mostly it goes on a bit; sometimes for as long as a claim or a lease lasts, and sometimes it goes back. */
static void
let_time_pass(void)
{
	static const int64_t ms[] = {0, 1, 5, 1000, 3000, 10001, 60000, 3600000, -1, -2500};

	if (percent(65))
		now_us += percent(70) ? (int64_t)chance(1500) : ms[chance(10)] * 1000 + (int64_t)chance(1000);
}

void
fuzz_make(struct fuzz_step *step)
{
	static void (*const makers[])(struct fuzz_step *step) = {
		acquire,   acquire, acquire, acquire,   acquire,   release,   release,    release,    heartbeat, heartbeat,
		of_hashes, renew,   befall,  of_hashes, of_queues, of_queues, of_strings, of_any_key, of_ranges, look_or_raise,
	};
	void (*make)(struct fuzz_step *step);

	if (percent(8) && last.now_us == now_us) { /* once more, at the same moment */
		*step = last;
		return;
	}
	let_time_pass();
	make = makers[chance(sizeof makers / sizeof *makers)];
	step->count = 0;
	step->now_us = now_us;
	step->by_limited = make != befall && percent(15);
	make(step);
	last = *step;
}
