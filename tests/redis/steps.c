/* See steps.h. */
#include "tests/redis/steps.h"

#include "tests/support/trouble.h"

enum { TEXT = 40000 };

#define KEY "leash:{orders}"

const char *const commands[COMMANDS] = {
	"time", "exists", "set", "get", "hset", "hget", "hdel", "hexists", "pexpire", "pttl", "del",
	"zadd", "zrem", "zscore", "zcount", "zrangebyscore", "zrevrange", "publish",
};

/* A script's arguments: n is the n-th of the step, n:default one that may be left out, and * all of them. */
static const struct script {
	const char *name;
	const struct lsh_script *script;
	const char *keys, *args;
} scripts[] = {
	{"ask", &lsh_script_acquire, "3", "1 2:600000 3:9000000000000000 cfg"},
	{"try", &lsh_script_acquire, "3", "1 2:600000 3:9000000000000000 try"},
	{"vote", &lsh_script_acquire, "3", "1 3:600000 4:9000000000000000 try 2"},
	{"word", &lsh_script_heartbeat, "3", "client 2:600000 1 cfg"},
	{"words", &lsh_script_heartbeat, "3", "* cfg"},
	{"keep", &lsh_script_heartbeat, "3", "D 2 1 try 3"},
	{"renew", &lsh_script_renew, "1", "1 2 3 4:3600000"},
	{"renewals", &lsh_script_renew, "0", "*"},
	{"release", &lsh_script_release, "3", "1 cfg"},
	{"resign", &lsh_script_release, "3", "1 cfg PUBLISH"},
	{"proclaim", &lsh_script_proclaim, "1", "1 2 3:PUBLISH 4:9000000000000000"},
	{"watch", &lsh_script_watch, "2", "0 1"},
	{"observe", &lsh_script_watch, "2", "10"},
	{"raise", &lsh_script_raise, "2", "1 3600000"},
	{"inspect", &lsh_script_inspect, "4", "1:100"},
	{"share", &lsh_script_share_acquire, "4", "1 2:600000 3:9000000000000000 cfg"},
	{"probe", &lsh_script_share_acquire, "4", "1 2:600000 3:9000000000000000 try"},
	{"beat", &lsh_script_share_heartbeat, "4", "client 2:600000 1 cfg"},
	{"beats", &lsh_script_share_heartbeat, "4", "* cfg"},
	{"prolong", &lsh_script_share_renew, "1", "1 2 3:3600000"},
	{"prolongs", &lsh_script_share_renew, "0", "*"},
	{"part", &lsh_script_share_release, "4", "1 cfg"},
	{"drop", &lsh_script_share_release, "1", "1 cfg"},
	{"trade", &lsh_script_share_trade, "4", "1 2 3:600000 4:9000000000000000 cfg"},
	{"arrive", &lsh_script_gate_arrive, "4", "1 2:86400000 cfg"},
	{"limit", &lsh_script_share_limit, "4", "1 2:600000 3:9000000000000000 cfg"},
	{"signal", &lsh_script_share_signal, "4", "1 cfg"},
	{"get_lock", &lsh_script_redisson, "1", "acquire 1 2:600000 3:9000000000000000"},
	{"keep_lock", &lsh_script_redisson, "1", "renew 1 2 3"},
	{"adopt_lock", &lsh_script_redisson, "1", "heartbeat 1 2:600000"},
	{"unlock", &lsh_script_redisson, "1", "release 1 PUBLISH 2:nobody"},
	{"look_at", &lsh_script_redisson, "1", "1:1"},
};

/* What the words of an answer may be called. */
static const struct {
	const char *name, *words[4];
} answers[] = {
	{"no", {"0", "*", "*"}}, {"late", {"-1", "0", "now"}}, {"held", {"*", "*", "last"}}, {"queued", {"*", "*", "0"}},
	{"none", {"*", "*", "-1"}},
};

static const struct {
	const char *name, *key;
} keys[] = {
	{"LOCK", KEY}, {"FENCE", KEY ":fence"}, {"QUEUE", KEY ":queue"}, {"MOST", KEY ":limit"},
	{"BILLS", "leash:{bills}"}, {"MAILS", "leash:{mails}"},
};

struct pubsub *listeners;
struct answer answer;

/* How much of what `look` demands is to be had: not all while somebody else's keys are about, or rights are missing. */
static enum { ALL, TTLS, NOTHING } order;

static redisContext *unlimited; /* a connection that may do anything */
static redisContext *limited;   /* NULL: none */
static char cfg[64];
static int64_t fence, before_us; /* the server's time in front of a step, if it matters */

/* ---- what is in the server ---- */

const char *
token_of(const char *name)
{
	static char tokens[8][64];
	static unsigned next;
	char *out = tokens[next++ % 8], c = (char)(name[0] - 'A' + 'a');

	memset(out, c, 8);
	sprintf(out + 8, "-0000-4000-8000-00000000000%c%s%.16s", c, name[1] != '\0' ? ":" : "", name + 1);
	return out;
}

const char *
waiting(void)
{
	static char out[TEXT];

	snprintf(out, sizeof out, "%s", server_text(server, "ZRANGEBYSCORE " KEY ":queue (0 +inf"));
	for (char *claim = out; (claim = strstr(claim, " 60000")) != NULL;)
		memmove(claim, claim + 6, strlen(claim + 6) + 1);
	return out;
}

const char *
holders(void)
{
	const char *type = server_text(server, "TYPE " KEY);

	if (strcmp(type, "zset") != 0)
		return strcmp(type, "hash") == 0 ? server_text(server, "HKEYS " KEY) : "";
	return server_text(server, "ZRANGEBYSCORE " KEY " (%lld +inf", (long long)server_us());
}

int64_t
last_fence(void)
{
	const char *text = server_text(server, "GET " KEY ":fence");

	assert_non_null(text);
	return strtoll(text, NULL, 10);
}

int64_t
server_us(void)
{
	int64_t s, us;

	assert_int_equal(sscanf(server_text(server, "TIME"), "%" SCNd64 " %" SCNd64, &s, &us), 2);
	return s * 1000000 + us;
}

int64_t
alive_until(const char *name)
{
	redisReply *queue = server_command(server, "ZRANGE " KEY ":queue 0 -1 WITHSCORES");
	int64_t last = 0;

	for (size_t i = 0; i < queue->elements; i += 2) {
		int64_t score = llabs(strtoll(queue->element[i + 1]->str, NULL, 10));

		if (strncmp(queue->element[i]->str, token_of((char[]){name[0], '\0'}), 36) == 0 && score > last)
			last = score;
	}
	freeReplyObject(queue);
	return last > 0 ? last + ALIVE * 1000 : 0;
}

/* Whoever holds does not wait. */
static void
look_at_queue(void)
{
	redisReply *place = server_command(server, "ZRANGEBYSCORE " KEY ":queue (0 +inf");
	const char *in = holders();

	assert_true(place->elements > 0); /* or there is no queue */
	for (size_t i = 0; i < place->elements; i++) {
		char *who = place->element[i]->str;

		*strrchr(who, ' ') = '\0';
		if (strstr(in, who) != NULL)
			fail_msg("%s holds and waits", who);
	}
	freeReplyObject(place);
}

/* Who is alone is alone, and a hold of k has k members, with one moment. */
static void
look_at_shares(void)
{
	redisReply *in = server_command(server, "ZRANGEBYSCORE " KEY " (%lld +inf WITHSCORES", (long long)server_us());

	for (size_t i = 0; i < in->elements; i += 2) {
		const char *who = in->element[i]->str, *need = strchr(who, ' ') + 1, *more = strchr(need, ' ');
		size_t size = more != NULL ? (size_t)(more - who) : strlen(who);
		long k = strchr("w?+=", *need) != NULL ? 1 : atol(need);

		if (*need == 'w' && in->elements > 2)
			fail_msg("%s is not alone", who);
		for (size_t other = 0; other < in->elements; other += 2)
			k -= strncmp(in->element[other]->str, who, size) == 0 &&
			     strchr(" ", in->element[other]->str[size]) != NULL &&
			     strcmp(in->element[other + 1]->str, in->element[i + 1]->str) == 0;
		if (k != 0)
			fail_msg("%s has %ld members too few", who, k);
	}
	freeReplyObject(in);
}

/* What holds after any step of any client. */
static void
look(void)
{
	int64_t ahead_us;

	if (order == NOTHING)
		return;
	redisReply *all = server_command(server, "KEYS leash:*");
	for (size_t i = 0; i < all->elements; i++)
		if (ttl_of(all->element[i]->str) == -1)
			fail_msg("%s has no TTL", all->element[i]->str);
	freeReplyObject(all);
	if (order == TTLS)
		return;
	bool shared = strcmp(server_text(server, "TYPE " KEY), "zset") == 0;
	if (shared)
		look_at_shares();
	else
		assert_in_range(server_integer(server, "HLEN " KEY), 0, 1);
	assert_in_range(ttl_of(KEY) + 2, 0, DAY + 2);
	if (exists(KEY) && !(shared && strpbrk(holders(), "+=") != NULL))
		assert_true(exists(KEY ":fence"));
	if (exists(KEY ":fence") && last_fence() > 0 && (ahead_us = last_fence() - server_us()) <= YEAR_US)
		assert_true(ttl_of(KEY ":fence") <= DAY + (ahead_us > 0 ? ahead_us / 1000 : 0) + 1000);
	if (exists(KEY ":queue"))
		look_at_queue();
}

/* ---- words ---- */

/* Digits, f, last or now, and so much more or less. */
static bool
is_number(const char *word, int64_t *out)
{
	size_t n = strspn(word, "flastnow");
	char *end = (char *)(uintptr_t)word + n;

	if (n == 0)
		*out = strtoll(word, &end, 10);
	else if (n == 1 && word[0] == 'f')
		*out = fence;
	else if (n == 4 && strncmp(word, "last", 4) == 0)
		*out = last_fence();
	else if (n == 3 && strncmp(word, "now", 3) == 0)
		*out = server_us();
	else
		return false;
	if (end != word && (*end == '+' || *end == '-'))
		*out += strtoll(end, &end, 10);
	return end != word && *end == '\0';
}

/* As the server has it: of a key, a client, a token or a place its name, of a number its digits. */
static void
expand(char *out, size_t size, const char *word)
{
	size_t n = word[0] >= 'A' && word[0] <= 'D' ? 1 + strspn(word + 1, "0123456789") : 0;
	int64_t number;
	char name[16];

	for (size_t i = 0; i < COUNT(keys); i++) {
		if (strncmp(word, keys[i].name, strlen(keys[i].name)) == 0) {
			snprintf(out, size, "%s%s", keys[i].key, word + strlen(keys[i].name));
			return;
		}
	}
	if (n > 0 && n < sizeof name && strchr(" _", word[n]) != NULL) {
		snprintf(name, sizeof name, "%.*s", (int)n, word);
		snprintf(out, size, "%s%s%s", token_of(name), word[n] == '_' ? " " : "", word + n + (word[n] == '_'));
	} else if (is_number(word, &number)) {
		snprintf(out, size, "%" PRId64, number);
	} else {
		snprintf(out, size, "%s", word);
	}
}

struct args {
	char text[TEXT];
	const char *arg[WORDS];
	size_t used;
	int count;
};

static void
push(struct args *args, const char *word)
{
	size_t room = sizeof args->text - args->used;

	assert_true(args->count < WORDS && room > 256);
	expand(args->text + args->used, room, word);
	args->arg[args->count++] = args->text + args->used;
	args->used += strlen(args->text + args->used) + 1;
}

static void
put(const redisReply *reply, const char *between)
{
	size_t n = strlen(answer.text);

	if (reply->type == REDIS_REPLY_INTEGER)
		snprintf(answer.text + n, sizeof answer.text - n, "%s%lld", between, reply->integer);
	else
		snprintf(answer.text + n, sizeof answer.text - n, "%s%s", between, reply->str != NULL ? reply->str : "");
	for (size_t i = 0; i < reply->elements; i++)
		put(reply->element[i], i > 0 ? " " : "");
}

static const char *
run(redisContext *c, struct args *args)
{
	redisReply *reply = redisCommandArgv(c, args->count, args->arg, NULL);

	if (reply == NULL)
		trouble("no answer to %s: %s", args->arg[0], c->errstr);
	answer = (struct answer){.type = reply->type};
	put(reply, "");
	freeReplyObject(reply);
	return answer.text;
}

/* An error in a script begins with its word, and in Redis 6.2 with the place in the script, its word coming later. */
static bool
is_error(const char *first_word)
{
	const char *text = answer.text;

	if (strncmp(text, "ERR Error running script", 24) == 0 || strncmp(text, "@user_script", 12) == 0) {
		if (strcmp(first_word, "ERR") == 0)
			return true;
		text = strstr(text, first_word);
	}
	return text != NULL && strncmp(text, first_word, strlen(first_word)) == 0;
}

static bool
is_word(const char *word, const char *text)
{
	int64_t n, is = strtoll(text, NULL, 10);
	const char *dots = strstr(word, "..");
	char expected[128];

	if (strcmp(word, "*") == 0)
		return true;
	if (strcmp(word, "fence") == 0) {
		fence = is;
		return answer.type == REDIS_REPLY_INTEGER && is > DAY; /* a time, so no number by mistake */
	}
	if (strcmp(word, "now") == 0)
		return is >= before_us && is <= server_us();
	if (word[0] == '>')
		return is_number(word + 1, &n) && is > n;
	if (word[0] == '~')
		return is_number(word + 1, &n) && is <= n && is >= (n > 60000 ? n - 60000 : 1);
	if (dots != NULL) {
		snprintf(expected, sizeof expected, "%.*s", (int)(dots - word), word);
		return is_number(expected, &n) && is >= n && is_number(dots + 2, &n) && is <= n;
	}
	expand(expected, sizeof expected, word);
	return strcmp(text, expected) == 0;
}

/* What is expected, of which the first word may be the name of an answer. */
static const char *const *
in_words(const char *const *expected)
{
	for (size_t i = 0; i < COUNT(answers); i++)
		if (strcmp(expected[0], answers[i].name) == 0)
			return answers[i].words;
	return expected;
}

static bool
fits(const char *const *expected, const char *seen)
{
	const bool failed = seen == answer.text && answer.type == REDIS_REPLY_ERROR;
	char texts[sizeof answer.text], *text, *rest;

	if (expected == NULL || strcmp(expected[0], "?") == 0)
		return expected != NULL || !failed;
	if (failed || expected[0][0] == '!')
		return failed && expected[0][0] == '!' && is_error(expected[0] + 1);
	expected = in_words(expected);
	snprintf(texts, sizeof texts, "%s", seen);
	text = strtok_r(texts, " ", &rest);
	for (; *expected != NULL && strcmp(*expected, "-") != 0; expected++, text = strtok_r(NULL, " ", &rest))
		if (text == NULL || !is_word(*expected, text))
			return false;
	return text == NULL;
}

/* ---- what is neither a script's nor Redis's ---- */

struct pubsub *
listener(char name)
{
	struct pubsub *l = listeners;

	while (l != NULL && l->of != name)
		l = l->next;
	assert_non_null(l);
	return l;
}

/* The next that comes. */
static redisReply *
heard(struct pubsub *pubsub)
{
	redisReply *reply;

	if (redisGetReply(pubsub->connection, (void **)&reply) != REDIS_OK)
		trouble("the listener's connection: %s", pubsub->connection->errstr);
	return reply;
}

int
messages(struct pubsub *pubsub)
{
	redisAppendCommand(pubsub->connection, "PING");
	for (;;) {
		redisReply *reply = heard(pubsub);
		bool pong = reply->elements < 3;

		pubsub->messages += !pong;
		if (!pong)
			snprintf(pubsub->last, sizeof pubsub->last, "%s", reply->element[2]->str);
		freeReplyObject(reply);
		if (pong)
			return pubsub->messages;
	}
}

DEED(listen)
{
	struct pubsub *pubsub = calloc(1, sizeof *pubsub);
	const char *channel = *word[3] != '\0' ? word[3] : "leash:wake:";
	bool is_whole = channel[strlen(channel) - 1] != ':';

	*pubsub = (struct pubsub){.connection = server_connect(server), .of = word[1][0], .next = listeners};
	listeners = pubsub;
	redisAppendCommand(pubsub->connection, "%s %s%s", *word[2] != '\0' ? word[2] : "SUBSCRIBE", channel,
	                   is_whole ? "" : token_of(word[1]));
	freeReplyObject(heard(pubsub));
}

DEED(deafen)
{
	struct pubsub *pubsub = listener(word[1][0]);

	messages(pubsub);
	pubsub->is_deaf = !pubsub->is_deaf;
	redisAppendCommand(pubsub->connection, "%s leash:wake:%s", pubsub->is_deaf ? "UNSUBSCRIBE" : "SUBSCRIBE",
	                   token_of(word[1]));
	freeReplyObject(heard(pubsub));
}

/* The one message that has come is a grant with the fence that is the last one issued. */
VERB(told)
{
	struct pubsub *pubsub = listener(word[1][0]);
	char token[64], key[64];
	int64_t told_fence;

	if (messages(pubsub) == 1 && sscanf(pubsub->last, "g %63s %" SCNd64 " %63s", token, &told_fence, key) == 3 &&
	    told_fence == last_fence() && strcmp(key, KEY) == 0)
		return seen("%s", token);
	return seen_number(pubsub->messages);
}

SEES(messages_of, seen_number(messages(listener(word[1][0]))))
SEES(message, messages(listener(word[1][0])) > 0 ? listener(word[1][0])->last : "")

DEED(line)
{
	play("ask %s = fence", word[1]);
	for (char **token = word + 2; **token != '\0'; token++)
		play("ask %s = no", *token);
}

DOES(crowd, play("each w %s; share $w = ?", seen_words(word + 1)))

DEED(age)
{
	redisReply *place = server_command(server, "ZRANGEBYSCORE " KEY ":queue (0 +inf");

	for (size_t i = 0; i < place->elements; i++)
		server_text(server, "ZINCRBY " KEY ":queue -%lld %s", atoll(word[1]) * 1000, place->element[i]->str);
	freeReplyObject(place);
}

DEED(bury)
{
	const int64_t now = server_us();

	if (alive_until(word[1]) == 0)
		return;
	for (const char *other = "A\0B\0C\0D"; *other != '\0'; other += 2)
		if (*other != word[1][0] && alive_until(other) >= now)
			server_integer(server, "ZADD " KEY ":queue -%lld %s", (long long)now, token_of(other));
	play("age 200001");
	server_integer(server, "ZREM " KEY ":queue %s", token_of(word[1]));
}

DEED(fill)
{
	const char *at = strchr(word[3], '%');
	char words[4096] = "";

	for (int64_t i = 1, most = number_of(word[1], 0); i <= most; i++) {
		sprintf(words + strlen(words), " %s '%.*s%d%s'", word[2], (int)(at - word[3]), word[3], (int)i, at + 1);
		if (i % 20 != 0 && i != most)
			continue;
		play("ZADD QUEUE%s", words);
		words[0] = '\0';
	}
	play("PEXPIRE QUEUE 400000 = 1");
}

DEED(by)
{
	if (limited != NULL)
		redisFree(limited);
	limited = NULL;
	if (strcmp(word[1], "all") == 0)
		return;
	play("ACL SETUSER ann reset on nopass &* +@all %s", seen_words(word + 1));
	limited = server_connect(server);
	freeReplyObject(redisCommand(limited, "AUTH ann any"));
}

VERB(calls)
{
	int64_t sum = 0;

	for (size_t i = 0; *word[1] == '\0' && i < COMMANDS; i++)
		sum += server_calls(server, commands[i]);
	return seen_number(*word[1] != '\0' ? server_calls(server, word[1]) : sum);
}

SEES(holder, holders())
SEES(waiting, waiting())
SEES(in, holders())
SEES(until, seen_number(alive_until(word[1])))
DOES(cfg, snprintf(cfg, sizeof cfg, "%s", seen_words(word + 1)))
DOES(mess, order = *word[1] != '\0' ? TTLS : NOTHING)

/* ---- scripts, and commands of Redis ---- */

static void
push_args(struct args *out, const struct script *script, char **word, int count)
{
	static const char *const key[] = {"LOCK", "FENCE", "QUEUE", "MOST"};
	char form[64], *rest;

	push(out, "EVALSHA");
	push(out, script->script->sha1);
	push(out, script->keys);
	for (int i = 0; i < script->keys[0] - '0'; i++)
		push(out, key[i]);
	snprintf(form, sizeof form, "%s", script->args);
	for (char *arg = strtok_r(form, " ", &rest); arg != NULL; arg = strtok_r(NULL, " ", &rest)) {
		int n = atoi(arg);

		if (strcmp(arg, "*") == 0)
			for (int i = 1; i < count; i++)
				push(out, word[i]);
		else if (n > 0 && n < 10)
			push(out, n < count ? word[n] : strchr(arg, ':') + 1);
		else if (strcmp(arg, "client") == 0)
			push(out, (char[]){word[1][0], '\0'});
		else if (strcmp(arg, "try") == 0)
			push(out, "0 3600000 200000 1 PUBLISH leash:wake:");
		else
			push(out, strcmp(arg, "cfg") == 0 ? cfg : arg);
	}
}

static const char *
act(char **word, int count, const char *const *expected)
{
	struct args args = {.count = 0};
	const char *const *at;
	int64_t number;

	if (count == 1 && is_number(word[0], &number))
		return seen_number(number);
	for (at = expected != NULL ? in_words(expected) : expected; at != NULL && *at != NULL; at++)
		if (strcmp(*at, "now") == 0)
			before_us = server_us();
	for (size_t i = 0; i < COUNT(scripts); i++) {
		if (strcmp(word[0], scripts[i].name) == 0) {
			push_args(&args, &scripts[i], word, count);
			run(limited != NULL ? limited : unlimited, &args);
			look();
			return answer.text;
		}
	}
	for (int i = 0; i < count; i++)
		push(&args, word[i]);
	return run(unlimited, &args);
}

/* ---- a server for all, which is clean before each test ---- */

/* The build and the server agree on the scripts' hashes. */
static void
start(void)
{
	static const struct language steps = {act, fits};

	language = &steps;
	start_server();
	unlimited = server_connect(server);
	for (size_t i = 0; i < COUNT(scripts); i++)
		assert_string_equal(server_text(server, "SCRIPT LOAD %s", scripts[i].script->text), scripts[i].script->sha1);
}

static void
stop(void)
{
	redisFree(unlimited);
	stop_server();
}

GROUP(start, stop);

void
clean(void)
{
	order = ALL;
	play("cfg 60000 3600000 200000 1 PUBLISH leash:wake:; REPLICAOF NO ONE; CONFIG SET maxmemory 0; FLUSHALL");
}

void
clean_up(void)
{
	play("by all");
	while (listeners != NULL) {
		struct pubsub *pubsub = listeners;

		listeners = pubsub->next;
		redisFree(pubsub->connection);
		free(pubsub);
	}
}
