/* A simulated server does what a real one does, whatever it is told: random rounds of steps, each said to both
 * (mirror.h), with answers, keys and messages compared after every step.
 *
 * A round begins without keys, and at the same time as any other; so it can be repeated. Where one fails, its
 * steps are shown, up to the one after which the two differ. LEASH_TEST_SEED repeats a run, of which
 * LEASH_TEST_ROUNDS says how long it is. How fast the machine is changes nothing: see mirror.h. */
#include "lua/scripts.h"
#include "tests/sim/mirror.h"
#include "tests/support/knob.h"
#include "tests/support/test.h"
#include "tests/support/trouble.h"

#include <ctype.h>
#include <inttypes.h>
#include <time.h>

#define CLIENT_ANN "aaaaaaaa-0000-4000-8000-00000000000a" /* whom the steps tell that the lock is theirs */
#define CLIENT_BOB "bbbbbbbb-0000-4000-8000-00000000000b"
#define CLIENT_CID "cccccccc-0000-4000-8000-00000000000c"
#define KEYS \
	"leash:{orders}", "leash:{orders}:fence", "leash:{orders}:queue", "leash:{bills}", "leash:{bills}:fence", \
	"leash:{share}", "leash:{share}:fence", "leash:{share}:queue", "leash:{share}:limit"

enum { WORDS = 24, WORD_SIZE = 96 };

struct fuzz_step {
	int64_t now_us;  /* when it is */
	bool by_limited; /* given by a user, "ann", who may not do all */
	size_t count;
	char words[WORDS][WORD_SIZE];
};

/* In a rule "a|b" is one of the two, "3*a|b" mostly the first, and parentheses group. $name is a rule, #name the sum of
 * a script, @s a moment so many seconds from now. A space ends a word; '_' is one in a word, and '\' takes the next
 * character as it is. */
static const struct rule {
	const char *name, *is;
} rules[] = {
	{"step", "5*$acquire|3*$release|2*$heartbeat|$renew|$look|2*$hash|2*$queue|$string|$range|$any|$befall|"
	         "5*$share|2*$crowd|4*$gate"},

	/* scripts */
	{"acquire", "EVALSHA #acquire 3 $keys $token $ms (9*9000000000000000|$moment) $cfg(9*| $moment)"},
	{"release", "EVALSHA #release 3 $keys $token $cfg(4*| PUBLISH)"},
	{"heartbeat", "EVALSHA #heartbeat 3 $keys $client $ms $token(| $token| $token $token) $cfg(9*| $moment)"},
	{"renew", "EVALSHA #renew (1 $lock $token $ms (1|2|x) $ms|0 $ms $item(| $item| $item $item| $item $item $item))"},
	{"look", "3*EVALSHA #inspect 4 $keys $limits (0|1|9|x)|2*EVALSHA #raise 2 $lock $fence $moment $ms|"
	         "EVALSHA #proclaim 1 $lock $token (a_value|1|) PUBLISH (9*9000000000000000|$moment)|"
	         "EVALSHA #watch 2 $lock $fence (1|0 (0|1|x))"},
	{"keys", "$lock $fence $queued"},
	{"lock", "32*leash:{orders}|$key"},
	{"limits", "32*leash:{orders}:limit|$key"},
	{"fence", "32*leash:{orders}:fence|$key"},
	{"queued", "32*leash:{orders}:queue|$key"},
	{"item", "(3*leash:{orders}|$key) $token $ms (1|2|x)"},
	{"cfg", "19*(2*3000_3600000_10000_1_$wake|60000_3600000_200000_0_$wake|3000_3600000_10000_1_SPUBLISH_-|"
	        "3000_5_10000_1_$wake|0_3600000_10000_1_$wake)|(|rubbish|3000|2*3000_3600000_10000_1_(EVAL|NONE)_-)"},
	{"wake", "PUBLISH_leash:wake:"},

	{"share", "5*EVALSHA #share_acquire 4 $pool $who $ms (9*9000000000000000|$moment) $cfg|"
	          "3*EVALSHA #share_release 4 $pool $who $cfg|"
	          "2*EVALSHA #share_heartbeat 4 $pool $client $ms $who(| $who| $who $who) $cfg|"
	          "2*EVALSHA #share_trade 4 $pool $who $who $ms (9*9000000000000000|$moment) $cfg|"
	          "EVALSHA #share_renew (1 leash:{share} $who $ms $ms|0 $ms $hold(| $hold| $hold $hold))|"
	          "EVALSHA #share_limit 4 $pool $most $ms (9*9000000000000000|$moment) $cfg|"
	          "EVALSHA #inspect 4 $pool (0|1|9|x)|"
	          "EVALSHA #share_signal 4 $pool $most $cfg"},
	{"pool", "32*leash:{share} leash:{share}:fence leash:{share}:queue leash:{share}:limit|$key $key $key $key"},
	{"who", "$client:(1|2)_(3*w|3*1/2|3*1/0|2*2/3|2*?|3/3|3/2|x|)"},
	{"hold", "(9*leash:{share}|$key) $who $ms"},
	{"most", "(2*0|2*1|2|x|1000001)"},
	{"crowd", "2*ZADD leash:{share} $score $who(|_2)|3*ZADD leash:{share}:queue $score ($who_(3000|60000)|$client)|"
	          "2*DEL leash:{share}(|:queue|:fence|:limit)|SET leash:{share}:limit $most PX $ms|"
	          "(PERSIST|PTTL) leash:{share}(|:queue)|PEXPIRE leash:{share}(|:queue|:fence) $ms"},

	{"gate", "4*EVALSHA #share_acquire 4 $pool $passer $ms 9000000000000000 $cfg|"
	         "2*EVALSHA #gate_arrive 4 $pool $token $ms $cfg|2*EVALSHA #share_release 4 $pool $passer $cfg|"
	         "2*EVALSHA #share_heartbeat 4 $pool $client $ms $passer(| $passer) $cfg|"
	         "2*ZADD leash:{share}:queue $score $passer_(3000|60000)|ZADD leash:{share} $score $passer|"
	         "EVALSHA #inspect 4 $pool (0|1|9)|DEL leash:{share}(|:queue)"},
	{"passer", "$client:(1|2)_(3*=2|2*=3|=1|2*>2|>1|+|=x|>0)"},

	/* commands */
	{"hash", "2*HSET $hashkey $token (1|2|)|3*(HDEL|HGET|HEXISTS) $hashkey $token|2*(HLEN|HGETALL) $hashkey"},
	{"hashkey", "3*leash:{orders}|$key"},
	{"queue", "2*ZADD $queuekey( NX|) $score $member|2*(ZREM|ZSCORE) $queuekey $member|"
	          "ZINCRBY $queuekey (-1000000|1|x) $member"},
	{"queuekey", "3*leash:{orders}:queue|$key"},
	{"range", "2*ZRANGEBYSCORE $queuekey $bounds(3* $scores|2*)(2* LIMIT (0|1|-1|x) (0|2|-1|9)|3*)|"
	          "ZCOUNT $queuekey $bounds|ZREVRANGE $queuekey (0|1|-2|x) (0|2|-1|9)(3* $scores|2*)"},
	{"bounds", "(\\(0|-inf|\\(1|1|x|\\() (+inf|\\(2|0|nan|inf)"},
	{"scores", "2*WITHSCORES|withscores|WHAT"},
	{"string", "3*SET $textkey $moment(7* PX $ms|3*)(2* (NX|GET|get|WHAT)|3*)|GET $textkey|"
	           "GETRANGE $textkey (0|1|-3|100|x) (0|2|-1|-5|100)"},
	{"textkey", "3*leash:{orders}:fence|$key"},
	{"any", "2*DEL $anykeys|EXISTS $anykeys|PTTL $hashkey|2*PEXPIRE $hashkey ($ms|0|1|1000|3000)(2* (2*GT|gt|WHAT)|3*)|"
	        "PERSIST $hashkey|RPUSH $hashkey theirs|TIME|NONE"},
	{"anykeys", "$hashkey(| $queuekey| $queuekey $queuekey)"},

	/* what befalls the server */
	{"befall", "3*CONFIG SET maxmemory (1|2*0)|3*REPLICAOF (127.0.0.1 1|2*NO ONE)|"
	           "4*ACL SETUSER ann reset on nopass &* +@all (3*~*|2*~leash:({orders}|{orders}*|{bills}*|{share}*))"
	           "(| -$command| -$command -$command)"},
	{"command", "del|evalsha|exists|get|hdel|hexists|hget|hset|pexpire|pttl|publish|set|time|zadd|zcount|zrangebyscore|"
	            "zrem|zrevrange|zscore"},

	/* words */
	{"key", "leash:{orders}|leash:{orders}:fence|leash:{orders}:queue|leash:{bills}|leash:{bills}:fence|leash:{share}"},
	{"client", CLIENT_ANN "|" CLIENT_BOB "|" CLIENT_CID},
	{"token", "$client:(1|2)"},
	{"member", "(|rubbish|2*" CLIENT_ANN ":1(|_0))|2*$client|5*$token_(3000|60000)"},
	{"ms", "17*(1|5|1000|3000|60000|3600000|86400000)|3*(0|-1|86400001|x||1e300|0.5|007|-0|99999999999999999999)"},
	{"moment", "9*@(-3600|-1|0|1|3600|3601|31535999|31536001)|(orders||nan|inf|-5|1e300|1|0)"},
	{"score", "(-|)@(-20|-7|-3|-1|0)|(1|2|-7|0|inf|-inf|x|nan||_1|9007199254740992)"},
};

static const int64_t begin_us = INT64_C(1760000000000000);
static uint64_t state;
static int64_t step_us; /* the time of the last step */
static struct fuzz_step made;

static unsigned
chance(unsigned n)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)((state >> 33) % n);
}

/* ---- the grammar ---- */

static void say(struct fuzz_step *step, const char *rule, const char *end);

/* Where the alternative ends that begins there: at a '|', or at what ends the group. */
static const char *
end_of(const char *at, const char *end)
{
	for (int depth = 0; at < end && (depth > 0 || (*at != '|' && *at != ')')); at++) {
		depth += (*at == '(') - (*at == ')');
		at += *at == '\\';
	}
	return at;
}

/* One of the alternatives from there on; the end of all. */
static const char *
choose(struct fuzz_step *step, const char *from, const char *end)
{
	const char *chosen = from, *at = from;
	unsigned sum = 0;

	for (;;) {
		size_t digits = strspn(at, "0123456789");
		bool is_weighted = digits > 0 && at[digits] == '*';
		unsigned weight = is_weighted ? (unsigned)atoi(at) : 1;

		at += is_weighted ? digits + 1 : 0;
		sum += weight;
		if (chance(sum) < weight)
			chosen = at;
		at = end_of(at, end);
		if (at == end || *at == ')')
			break;
		at++;
	}
	say(step, chosen, end_of(chosen, end));
	return at;
}

static void
put(struct fuzz_step *step, const char *text, size_t size)
{
	char *word = step->words[step->count - 1];
	size_t used = strlen(word);

	if (used + size >= WORD_SIZE)
		abort();
	snprintf(word + used, size + 1, "%s", text);
}

static const char *
sum_of(const char *name, size_t size)
{
	for (const struct lsh_script *const *s = lsh_scripts; *s != NULL; s++)
		if (strlen((*s)->name) == size && memcmp((*s)->name, name, size) == 0)
			return (*s)->sha1;
	abort();
}

static const char *
rule_of(const char *name, size_t size)
{
	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
		if (strlen(rules[i].name) == size && memcmp(rules[i].name, name, size) == 0)
			return rules[i].is;
	abort();
}

/* The digits behind it, or a group of those, become a moment. */
static const char *
say_moment(struct fuzz_step *step, const char *at, const char *end)
{
	char *word = step->words[step->count - 1], *seconds = word + strlen(word);

	at = choose(step, at + 1, end);
	snprintf(seconds, 24, "%" PRId64, step_us + (int64_t)atoll(seconds) * 1000000 + chance(1000));
	return at + 1;
}

static void
say(struct fuzz_step *step, const char *at, const char *end)
{
	while (at < end) {
		size_t name = 1;

		while (at + name < end && ((islower(at[name]) && strchr("$#", *at) != NULL) || (*at == '#' && at[name] == '_')))
			name++;
		if (*at == '(') {
			at = choose(step, at + 1, end) + 1;
		} else if (*at == '@' && at[1] == '(') {
			at = say_moment(step, at + 1, end);
		} else if (*at == '$') {
			const char *rule = rule_of(at + 1, name - 1);

			choose(step, rule, rule + strlen(rule));
			at += name;
		} else if (*at == '#') {
			put(step, sum_of(at + 1, name - 1), 40);
			at += name;
		} else if (*at == ' ') {
			step->words[step->count++][0] = '\0';
			at++;
		} else {
			at += *at == '\\';
			put(step, *at == '_' ? " " : at, 1);
			at++;
		}
	}
}

/* ---- steps ---- */

/* Mostly it goes on a bit; sometimes for as long as a claim or a lease lasts, and sometimes it goes back. */
static void
let_time_pass(void)
{
	static const int64_t ms[] = {0, 1, 5, 1000, 3000, 10001, 60000, 3600000, -1, -2500};

	if (chance(100) < 65)
		step_us += chance(100) < 70 ? (int64_t)chance(1500) : ms[chance(10)] * 1000 + (int64_t)chance(1000);
}

static void
make_step(struct fuzz_step *step)
{
	static const char all[] = "$step";

	if (chance(100) < 8 && made.now_us == step_us) { /* once more, at the same moment */
		*step = made;
		return;
	}
	let_time_pass();
	*step = (struct fuzz_step){.now_us = step_us, .count = 1};
	say(step, all, all + strlen(all));
	const char *name = step->words[0];
	bool befalls = strcmp(name, "CONFIG") == 0 || strcmp(name, "REPLICAOF") == 0 || strcmp(name, "ACL") == 0;
	step->by_limited = !befalls && chance(100) < 15;
	made = *step;
}

enum { STEPS = 60, ROUNDS = 400, WRONG_SIZE = 8400 };

static redisContext *unlimited, *limited, *listener;
static struct fuzz_step steps[STEPS];
static int64_t now_us;

/* Say it to both; NULL, or what is different. */
static const char *
tell_both(redisContext *c, const char *const *words, size_t count)
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

#define LIST(...)   ((const char *const[]){__VA_ARGS__})
#define both(...)   tell_both(unlimited, LIST(__VA_ARGS__), sizeof LIST(__VA_ARGS__) / sizeof(char *))

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
	must_be_same(both("REPLICAOF", "NO", "ONE"));
	must_be_same(both("CONFIG", "SET", "maxmemory", "0"));
	must_be_same(both("ACL", "SETUSER", "ann", "reset", "on", "nopass", "~*", "&*", "+@all"));
	must_be_same(both("FLUSHALL"));
	compare_messages();
}

static const char *
take(const struct fuzz_step *step)
{
	const char *words[WORDS];

	/* What is over when the clock goes back, or when a master becomes a replica, a real server may have deleted by
	 * then, or not. So that it has: look at it; and let the simulated one see the clock. */
	if (step->now_us < now_us) {
		must_be_same(both("EXISTS", KEYS));
		now_us = step->now_us;
		must_be_same(both("TIME"));
	}
	now_us = step->now_us;
	if (strcmp(step->words[0], "REPLICAOF") == 0)
		must_be_same(both("EXISTS", KEYS));
	for (size_t i = 0; i < step->count; i++)
		words[i] = step->words[i];
	const char *wrong = tell_both(step->by_limited ? limited : unlimited, words, step->count);
	return wrong != NULL || mirror_published[0] == '\0' ? wrong : compare_messages();
}

/* NULL, or what is different after one of the steps, *end. */
static const char *
play(size_t *end)
{
	const char *wrong = NULL;

	begin_round();
	for (*end = 0; *end < STEPS && wrong == NULL; ++*end)
		wrong = take(&steps[*end]);
	return wrong != NULL ? wrong : compare_messages();
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

SENTENCE(both_do_the_same_whatever_they_are_told)
{
	uint64_t seed = (uint64_t)knob("LEASH_TEST_SEED", (long)time(NULL));
	long rounds = knob("LEASH_TEST_ROUNDS", ROUNDS);

	print_message("LEASH_TEST_SEED=%" PRIu64 "\n", seed);
	for (long round = 0; round < rounds; round++) {
		const char *wrong;
		size_t end;

		state = seed * 1000003 + (uint64_t)round;
		step_us = begin_us;
		made = (struct fuzz_step){0};
		for (size_t i = 0; i < STEPS; i++)
			make_step(&steps[i]);
		if ((wrong = play(&end)) == NULL)
			continue;
		for (size_t i = 0; i < end; i++)
			show(&steps[i]);
		fail_msg("%s", wrong);
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
	listen_for(CLIENT_ANN);
	listen_for(CLIENT_BOB);
	now_us = begin_us;
	for (const struct lsh_script *const *s = lsh_scripts; *s != NULL; s++)
		must_be_same(both("SCRIPT", "LOAD", (*s)->text));
	must_be_same(both("ACL", "SETUSER", "ann", "reset", "on", "nopass", "~*", "&*", "+@all"));
	must_be_same(tell_both(limited, (const char *const[]){"AUTH", "ann", "any"}, 3));
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
