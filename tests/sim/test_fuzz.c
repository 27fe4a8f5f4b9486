/* A simulated server does what a real one does, whatever it is told: random rounds of steps (fuzz_steps.h), each said
 * to both (mirror.h), with answers, keys and messages compared after every step.
 *
 * A round begins without keys, and at the same time as any other; so it can be repeated. Where one fails, steps are
 * left out of it for as long as it fails without them; what remains is shown. LEASH_TEST_SEED repeats a run, of which
 * LEASH_TEST_ROUNDS says how long it is. How fast the machine is changes nothing: see mirror.h. */
#include "lua/scripts.h"
#include "tests/sim/fuzz_steps.h"
#include "tests/sim/mirror.h"
#include "tests/support/knob.h"
#include "tests/support/test.h"
#include "tests/support/trouble.h"

#include <inttypes.h>
#include <time.h>

enum { STEPS = 60, ROUNDS = 400, WRONG_SIZE = 8192 };

static redisContext *unlimited, *limited, *listener;
static struct fuzz_step steps[STEPS];
static bool left_out[STEPS];
static int64_t now_us;
static const int64_t begin_us = INT64_C(1760000000000000);

/* Say it to both; NULL, or what is different. */
static const char *
say_words(redisContext *c, const char *const *words, size_t count)
{
	redisReply *reply;
	char *wire;
	long long size = redisFormatCommandArgv(&wire, (int)count, (const char **)(uintptr_t)words, NULL);

	const char *wrong = mirror_run(c, wire, (size_t)size, now_us, &reply);
	if (reply == NULL)
		trouble("the real server's connection: %s", c->errstr);
	freeReplyObject(reply);
	return wrong;
}

#define WORDS(...)  ((const char *const[]){__VA_ARGS__})
#define say(...)    say_words(unlimited, WORDS(__VA_ARGS__), sizeof WORDS(__VA_ARGS__) / sizeof(char *))

/* ---- messages ---- */

/* What the listener has heard since it was asked last, a line for each message, is what the simulated server said. */
static const char *
compare_messages(void)
{
	static char wrong[WRONG_SIZE];
	char heard[sizeof mirror_published] = "";
	size_t used = 0;

	redisAppendCommand(listener, "PING");
	for (;;) {
		redisReply *reply;

		if (redisGetReply(listener, (void **)&reply) != REDIS_OK)
			trouble("the listener's connection: %s", listener->errstr);
		bool pong = reply->elements < 3;
		if (!pong)
			used += (size_t)snprintf(heard + used, sizeof heard - used, "%s\n", reply->element[2]->str);
		freeReplyObject(reply);
		if (pong)
			break;
	}
	bool same = strcmp(heard, mirror_published) == 0;
	if (!same)
		snprintf(wrong, sizeof wrong, "the real server tells\n%sand the simulated one\n%s", heard, mirror_published);
	mirror_published[0] = '\0';
	return same ? NULL : wrong;
}

static void
listen_for(const char *client)
{
	redisReply *reply;

	redisAppendCommand(listener, "SUBSCRIBE leash:wake:%s", client);
	if (redisGetReply(listener, (void **)&reply) != REDIS_OK)
		trouble("the listener's connection: %s", listener->errstr);
	freeReplyObject(reply);
}

/* ---- rounds ---- */

static void
must_be_same(const char *wrong)
{
	if (wrong != NULL)
		trouble("between two steps: %s", wrong);
}

static void
begin_round(void)
{
	now_us = begin_us;
	must_be_same(say("REPLICAOF", "NO", "ONE"));
	must_be_same(say("CONFIG", "SET", "maxmemory", "0"));
	must_be_same(say("ACL", "SETUSER", "ann", "reset", "on", "nopass", "~*", "&*", "+@all"));
	must_be_same(say("FLUSHALL"));
	compare_messages();
}

static const char *
take(const struct fuzz_step *step)
{
	const char *words[FUZZ_WORDS];

	/* What is over when the clock goes back, or when a master becomes a replica, a real server may have deleted by
	 * then, or not. So that it has: look at it; and let the simulated one see the clock. */
	if (step->now_us < now_us) {
		must_be_same(say("EXISTS", FUZZ_KEYS));
		now_us = step->now_us;
		must_be_same(say("TIME"));
	}
	now_us = step->now_us;
	if (strcmp(step->words[0], "REPLICAOF") == 0)
		must_be_same(say("EXISTS", FUZZ_KEYS));
	for (size_t i = 0; i < step->count; i++)
		words[i] = step->words[i];
	const char *wrong = say_words(step->by_limited ? limited : unlimited, words, step->count);
	return wrong != NULL || mirror_published[0] == '\0' ? wrong : compare_messages();
}

/* NULL, or what is different after one of the steps that are not left out, *end. */
static const char *
play(size_t count, size_t *end)
{
	begin_round();
	for (*end = 0; *end < count; ++*end) {
		const char *wrong = left_out[*end] ? NULL : take(&steps[*end]);

		if (wrong != NULL)
			return wrong;
	}
	return compare_messages();
}

/* From the last step that is needed to the first: leave out each without which it fails all the same. */
static void
shrink(size_t last)
{
	size_t end;

	for (size_t i = last; i-- > 0;) {
		left_out[i] = true;
		if (play(last + 1, &end) == NULL)
			left_out[i] = false;
	}
}

static void
show(const struct fuzz_step *step)
{
	print_error("%8.3f s%s:", (double)(step->now_us - begin_us) / 1e6, step->by_limited ? ", limited" : "");
	for (size_t i = 0; i < step->count; i++) {
		const char *word = step->words[i];

		for (const struct lsh_script *const *s = lsh_scripts; i == 1 && *s != NULL; s++)
			if (strcmp(word, (*s)->sha1) == 0)
				word = (*s)->name;
		print_error(" '%s'", word);
	}
	print_error("\n");
}

static void
tell(size_t last)
{
	size_t end;

	shrink(last);
	const char *wrong = play(last + 1, &end);
	for (size_t i = 0; i <= last; i++)
		if (!left_out[i])
			show(&steps[i]);
	fail_msg("%s", wrong != NULL ? wrong : "it does not fail again");
}

SENTENCE(both_do_the_same_whatever_they_are_told)
{
	uint64_t seed = (uint64_t)knob("LEASH_TEST_SEED", (long)time(NULL));
	long rounds = knob("LEASH_TEST_ROUNDS", ROUNDS);

	print_message("LEASH_TEST_SEED=%" PRIu64 "\n", seed);
	for (long round = 0; round < rounds; round++) {
		size_t end;

		fuzz_begin(seed * 1000003 + (uint64_t)round);
		for (size_t i = 0; i < STEPS; i++)
			fuzz_make(&steps[i]);
		memset(left_out, 0, sizeof left_out);
		if (play(STEPS, &end) != NULL)
			tell(end < STEPS ? end : STEPS - 1);
	}
}

static struct server *server;

static void
start(void)
{
	server = server_start_clocked(NULL);
	mirror_begin(server);
	unlimited = server_connect(server);
	limited = server_connect(server);
	listener = server_connect(server);
	listen_for(FUZZ_CLIENT_ANN);
	listen_for(FUZZ_CLIENT_BOB);
	now_us = begin_us;
	for (const struct lsh_script *const *s = lsh_scripts; *s != NULL; s++)
		must_be_same(say("SCRIPT", "LOAD", (*s)->text));
	must_be_same(say("ACL", "SETUSER", "ann", "reset", "on", "nopass", "~*", "&*", "+@all"));
	must_be_same(say_words(limited, (const char *const[]){"AUTH", "ann", "any"}, 3));
}

static void
stop(void)
{
	redisFree(unlimited);
	redisFree(limited);
	redisFree(listener);
	mirror_end();
	server_stop(server);
}

GROUP(start, stop);
