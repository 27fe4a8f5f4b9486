/* See steps.h. */
#include "tests/redis/steps.h"

#include "tests/support/trouble.h"

enum { MAX_ARGS = 512, TEXT = 40000 };

#define KEY "leash:{orders}"

const char *const commands[COMMANDS] = {
	"time", "exists", "set", "get", "hset", "hget", "hdel", "hexists", "pexpire", "pttl", "del",
	"zadd", "zrem", "zscore", "zcount", "zrangebyscore", "zrevrange", "publish",
};

/* A script's arguments: n is the n-th of the step, n:default one that may be left out, and * all of them. */
static const struct verb {
	const char *name;
	const struct lsh_script *script;
	const char *keys, *args;
} verbs[] = {
	{"ask", &lsh_script_acquire, "3", "1 2:600000 3:9000000000000000 cfg"},
	{"try", &lsh_script_acquire, "3", "1 2:600000 3:9000000000000000 try"},
	{"vote", &lsh_script_acquire, "3", "1 3:600000 4:9000000000000000 try 2"},
	{"word", &lsh_script_heartbeat, "3", "client 2:600000 1 cfg"},
	{"words", &lsh_script_heartbeat, "3", "* cfg"},
	{"keep", &lsh_script_heartbeat, "3", "D 2 1 try 3"},
	{"renew", &lsh_script_renew, "1", "1 2 3 4:3600000"},
	{"renewals", &lsh_script_renew, "0", "*"},
	{"release", &lsh_script_release, "3", "1 cfg"},
	{"raise", &lsh_script_raise, "2", "1 3600000"},
};

/* What the words of an answer may be called. */
static const char *const answers[][2] = {
	{"no", "0 * *"}, {"late", "-1 0 now"}, {"held", "* * last"}, {"queued", "* * 0"}, {"none", "* * -1"},
};

static const struct {
	const char *name, *key;
} keys[] = {
	{"LOCK", KEY}, {"FENCE", KEY ":fence"}, {"QUEUE", KEY ":queue"}, {"BILLS", "leash:{bills}"}, {"MAILS", "leash:{mails}"},
};

struct server *server;
struct pubsub *listeners;
enum order order = ALL;

static redisContext *unlimited; /* a connection that may do anything */
static redisContext *limited;   /* NULL: none */
static char cfg[64];
static int64_t x, y, fence;

/* ---- what is in the server ---- */

const char *
token_of(const char *name)
{
	static char tokens[8][64];
	static unsigned next;
	char *out = tokens[next++ % 8], c = (char)(name[0] - 'A' + 'a');

	memset(out, c, 8);
	snprintf(out + 8, sizeof tokens[0] - 8, "-0000-4000-8000-00000000000%c%s%s", c, name[1] != '\0' ? ":" : "", name + 1);
	return out;
}

const char *
holder(void)
{
	return server_text(server, "HKEYS " KEY);
}

const char *
waiting(void)
{
	static char out[TEXT];
	const char *places = server_text(server, "ZRANGEBYSCORE " KEY ":queue (0 +inf");
	size_t n = 0;

	for (; *places != '\0'; places++) {
		if (strncmp(places, " 60000", 6) == 0)
			places += 6;
		if (*places == '\0')
			break;
		out[n++] = *places;
	}
	out[n] = '\0';
	return out;
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
	const char *text = server_text(server, "GET " KEY ":fence");

	assert_non_null(text);
	return strtoll(text, NULL, 10);
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

static void
look_at_queue(void)
{
	redisReply *place = server_command(server, "ZRANGEBYSCORE " KEY ":queue (0 +inf");

	if (place->elements == 0)
		fail_msg("the queue exists and nobody waits");
	for (size_t i = 0; i < place->elements; i++) {
		char *token = place->element[i]->str;

		*strchr(token, ' ') = '\0';
		if (server_integer(server, "HEXISTS " KEY " %s", token))
			fail_msg("%s holds and waits", token);
	}
	freeReplyObject(place);
}

/* What holds after any step of any client. */
static void
look(void)
{
	redisReply *all;
	int64_t ahead_us;

	if (order == NOTHING)
		return;
	all = server_command(server, "KEYS leash:*");
	for (size_t i = 0; i < all->elements; i++)
		if (ttl_of(all->element[i]->str) == -1)
			fail_msg("%s has no TTL", all->element[i]->str);
	freeReplyObject(all);
	if (order == TTLS)
		return;
	assert_in_range(server_integer(server, "HLEN " KEY), 0, 1);
	assert_in_range(ttl_of(KEY) + 2, 0, DAY + 2);
	if (exists(KEY))
		assert_true(exists(KEY ":fence"));
	if (exists(KEY ":fence") && last_fence() > 0 && (ahead_us = last_fence() - server_us()) <= YEAR_US)
		assert_true(ttl_of(KEY ":fence") <= DAY + (ahead_us > 0 ? ahead_us / 1000 : 0) + 1000);
	if (exists(KEY ":queue"))
		look_at_queue();
}

/* ---- words ---- */

/* x, y, f, last and now, and so much more or less. */
static bool
is_number(const char *word, int64_t *out)
{
	static const char *const names[] = {"last", "now", "f", "x", "y"};
	const int64_t values[] = {0, 0, fence, x, y};
	char *end;

	for (size_t i = 0; i < COUNT(names); i++) {
		size_t n = strlen(names[i]);

		if (strncmp(word, names[i], n) == 0 && (word[n] == '\0' || word[n] == '+' || word[n] == '-')) {
			*out = i == 0 ? last_fence() : i == 1 ? server_us() : values[i];
			*out += strtoll(word + n, NULL, 10);
			return true;
		}
	}
	*out = strtoll(word, &end, 10);
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
	if (n > 0 && n < sizeof name && (word[n] == '\0' || word[n] == ' ')) {
		snprintf(name, sizeof name, "%.*s", (int)n, word);
		snprintf(out, size, "%s%s", token_of(name), word + n);
	} else if (strchr("nlfxy", word[0]) != NULL && is_number(word, &number)) {
		snprintf(out, size, "%" PRId64, number);
	} else {
		snprintf(out, size, "%s", word);
	}
}

/* The next word of `*text`, which is cut there; NULL: there is none. */
static char *
next_word(char **text)
{
	char *word = *text + strspn(*text, " ");
	const char end = *word == '\'' ? '\'' : ' ';

	if (*word == '\0')
		return NULL;
	word += end != ' ';
	*text = word + strcspn(word, (char[]){end, '\0'});
	if (**text != '\0')
		*(*text)++ = '\0';
	return word;
}

struct args {
	char text[TEXT];
	const char *arg[MAX_ARGS];
	size_t used;
	int count;
};

static void
push(struct args *args, const char *word)
{
	size_t room = sizeof args->text - args->used;

	assert_true(args->count < MAX_ARGS && room > 256);
	expand(args->text + args->used, room, word);
	args->arg[args->count++] = args->text + args->used;
	args->used += strlen(args->text + args->used) + 1;
}

/* ---- what is answered ---- */

static void
put(struct answer *answer, const redisReply *reply)
{
	size_t n = strlen(answer->text);

	if (reply->type == REDIS_REPLY_INTEGER)
		snprintf(answer->text + n, sizeof answer->text - n, "%lld", reply->integer);
	else if (reply->str != NULL)
		snprintf(answer->text + n, sizeof answer->text - n, "%s", reply->str);
	for (size_t i = 0; i < reply->elements; i++) {
		if (i > 0)
			strncat(answer->text, " ", sizeof answer->text - strlen(answer->text) - 1);
		put(answer, reply->element[i]);
	}
}

static struct answer
run(redisContext *c, struct args *args)
{
	redisReply *reply = redisCommandArgv(c, args->count, args->arg, NULL);
	struct answer answer = {.text = ""};

	if (reply == NULL)
		trouble("no answer to %s: %s", args->arg[0], c->errstr);
	answer.type = reply->type;
	put(&answer, reply);
	freeReplyObject(reply);
	return answer;
}

/* An error in a script begins with its word, and in Redis 6.2 with the place in the script, its word coming later. */
bool
is_error(const struct answer *answer, const char *first_word)
{
	const char *text = answer->text;

	if (answer->type != REDIS_REPLY_ERROR)
		return false;
	if (strncmp(text, "ERR Error running script", 24) == 0 || strncmp(text, "@user_script", 12) == 0) {
		if (strcmp(first_word, "ERR") == 0)
			return true;
		text = strstr(text, first_word);
	}
	return text != NULL && strncmp(text, first_word, strlen(first_word)) == 0;
}

static bool
is_word(const struct answer *answer, char *word, const char *text, int64_t before)
{
	int64_t n, is = strtoll(text, NULL, 10);
	char *dots = strstr(word, "..");
	char expected[128];

	if (strcmp(word, "*") == 0)
		return true;
	if (strcmp(word, "fence") == 0) {
		fence = is;
		return answer->type == REDIS_REPLY_INTEGER && is > DAY; /* a time, so no number by mistake */
	}
	if (strcmp(word, "now") == 0)
		return is >= before && is <= server_us();
	if (word[0] == '>')
		return is_number(word + 1, &n) && is > n;
	if (word[0] == '~')
		return is_number(word + 1, &n) && is <= n && is >= (n > 60000 ? n - 60000 : 1);
	if (dots != NULL) {
		*dots = '\0';
		return is_number(word, &n) && is >= n && is_number(dots + 2, &n) && is <= n;
	}
	expand(expected, sizeof expected, word);
	return strcmp(text, expected) == 0;
}

static bool
is_expected(const struct answer *answer, const char *expected, int64_t before)
{
	char words[512], texts[512], *word, *at = words, *rest = texts;

	if (expected[0] == '!')
		return is_error(answer, expected + 1);
	for (size_t i = 0; i < COUNT(answers); i++)
		if (strcmp(expected, answers[i][0]) == 0)
			expected = answers[i][1];
	snprintf(words, sizeof words, "%s", expected);
	snprintf(texts, sizeof texts, "%s", answer->text);
	while ((word = next_word(&at)) != NULL && strcmp(word, "-") != 0) {
		char *text = next_word(&rest);

		if (answer->type == REDIS_REPLY_ERROR || text == NULL || !is_word(answer, word, text, before))
			return false;
	}
	return next_word(&rest) == NULL;
}

/* ---- what is neither a script's nor Redis's: each is given what comes behind its name ---- */

static char said[512]; /* what is answered */

static struct pubsub *
listener(char name)
{
	struct pubsub *l = listeners;

	while (l != NULL && l->of != name)
		l = l->next;
	assert_non_null(l);
	return l;
}

redisReply *
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

		if (!pong) {
			pubsub->messages++;
			snprintf(pubsub->last, sizeof pubsub->last, "%s", reply->element[2]->str);
		}
		freeReplyObject(reply);
		if (pong)
			return pubsub->messages;
	}
}

static void
listen_as(char *rest)
{
	struct pubsub *pubsub = calloc(1, sizeof *pubsub);
	const char *name = next_word(&rest), *command = next_word(&rest), *channel = next_word(&rest);

	if (pubsub == NULL)
		trouble("no memory");
	*pubsub = (struct pubsub){.connection = server_connect(server), .of = name[0], .next = listeners};
	listeners = pubsub;
	redisAppendCommand(pubsub->connection, "%s %s%s", command != NULL ? command : "SUBSCRIBE",
	                   channel != NULL ? channel : "leash:wake:", token_of(name));
	freeReplyObject(heard(pubsub));
}

/* The one message that has come is a grant with the fence that is the last one issued. */
static void
told(char *rest)
{
	struct pubsub *pubsub = listener(rest[0]);
	char token[64] = "", key[64] = "";
	int64_t told_fence = 0;

	if (messages(pubsub) == 1 && sscanf(pubsub->last, "g %63s %" SCNd64 " %63s", token, &told_fence, key) == 3 &&
	    told_fence == last_fence() && strcmp(key, KEY) == 0)
		snprintf(said, sizeof said, "%s", token);
	else
		snprintf(said, sizeof said, "%d", pubsub->messages);
}

static void
line_up(char *rest)
{
	play("ask %s = fence", next_word(&rest));
	for (const char *token; (token = next_word(&rest)) != NULL;)
		play("ask %s = no", token);
}

static void
age(char *rest)
{
	redisReply *place = server_command(server, "ZRANGEBYSCORE " KEY ":queue (0 +inf");

	for (size_t i = 0; i < place->elements; i++)
		server_text(server, "ZINCRBY " KEY ":queue -%lld %s", atoll(rest) * 1000, place->element[i]->str);
	freeReplyObject(place);
}

static void
bury(char *rest)
{
	const int64_t now = server_us();

	assert_true(alive_until(rest) > 0);
	for (const char *other = "A\0B\0C\0D"; *other != '\0'; other += 2)
		if (*other != rest[0] && alive_until(other) >= now)
			server_integer(server, "ZADD " KEY ":queue -%lld %s", (long long)now, token_of(other));
	age((char[]){"200001"});
	server_integer(server, "ZREM " KEY ":queue %s", token_of(rest));
}

static void
limit(char *rest)
{
	if (limited != NULL)
		redisFree(limited);
	limited = NULL;
	if (strcmp(rest, "all") == 0)
		return;
	play("ACL SETUSER ann reset on nopass &* +@all %s", rest);
	limited = server_connect(server);
	freeReplyObject(redisCommand(limited, "AUTH ann any"));
}

static void
calls(char *rest)
{
	int64_t sum = 0;

	for (size_t i = 0; rest[0] == '\0' && i < COMMANDS; i++)
		sum += server_calls(server, commands[i]);
	snprintf(said, sizeof said, "%" PRId64, rest[0] != '\0' ? server_calls(server, rest) : sum);
}

static void
say_holder(char *rest)
{
	(void)rest;
	snprintf(said, sizeof said, "%s", holder());
}

static void
say_waiting(char *rest)
{
	(void)rest;
	snprintf(said, sizeof said, "%s", waiting());
}

static void
say_until(char *rest)
{
	snprintf(said, sizeof said, "%" PRId64, alive_until(rest));
}

static void
set_cfg(char *rest)
{
	snprintf(cfg, sizeof cfg, "%s", rest);
}

static void
let(char *rest)
{
	assert_true(is_number(rest + 2, rest[0] == 'x' ? &x : &y));
}

static void
allow_no_order(char *rest)
{
	order = strcmp(rest, "but TTLs") == 0 ? TTLS : NOTHING;
}

static const struct {
	const char *name;
	void (*run)(char *rest);
} others[] = {
	{"listen", listen_as}, {"told", told}, {"line", line_up}, {"age", age}, {"bury", bury}, {"by", limit}, {"calls", calls},
	{"holder", say_holder}, {"waiting", say_waiting}, {"until", say_until}, {"cfg", set_cfg}, {"let", let},
	{"mess", allow_no_order},
};

/* ---- steps ---- */

static void
push_args(struct args *out, const struct verb *verb, char *rest)
{
	static const char *const key[] = {"LOCK", "FENCE", "QUEUE"};
	char form[64], *had[MAX_ARGS], *at = form, *word;
	int count = 0;

	while ((had[count] = next_word(&rest)) != NULL)
		count++;
	push(out, "EVALSHA");
	push(out, verb->script->sha1);
	push(out, verb->keys);
	for (int i = 0; i < verb->keys[0] - '0'; i++)
		push(out, key[i]);
	snprintf(form, sizeof form, "%s", verb->args);
	while ((word = next_word(&at)) != NULL) {
		int n = atoi(word);

		if (strcmp(word, "*") == 0)
			for (int i = 0; i < count; i++)
				push(out, had[i]);
		else if (n > 0 && n < 10)
			push(out, n <= count ? had[n - 1] : strchr(word, ':') + 1);
		else if (strcmp(word, "client") == 0)
			push(out, (char[]){had[0][0], '\0'});
		else
			push(out, strcmp(word, "cfg") == 0 ? cfg : strcmp(word, "try") == 0 ? "0 3600000 200000 1 PUBLISH leash:wake:" : word);
	}
}

static struct answer
say_step(char *text)
{
	struct args args = {.count = 0};
	struct answer answer = {.type = REDIS_REPLY_STRING};
	char *rest = text, *first = next_word(&rest);

	for (size_t i = 0; i < COUNT(others); i++) {
		if (strcmp(first, others[i].name) == 0) {
			said[0] = '\0';
			others[i].run(rest + strspn(rest, " "));
			snprintf(answer.text, sizeof answer.text, "%s", said);
			return answer;
		}
	}
	for (size_t i = 0; i < COUNT(verbs); i++) {
		if (strcmp(first, verbs[i].name) == 0) {
			push_args(&args, &verbs[i], rest);
			answer = run(limited != NULL ? limited : unlimited, &args);
			look();
			return answer;
		}
	}
	for (; first != NULL; first = next_word(&rest))
		push(&args, first);
	return run(unlimited, &args);
}

struct answer
say(const char *format, ...)
{
	char text[TEXT];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof text, format, list);
	va_end(list);
	return say_step(text);
}

static bool
play_step(const char *step, const char *expected, bool must)
{
	char text[TEXT];
	int64_t before = expected != NULL && strstr(expected, "now") != NULL ? server_us() : 0;
	struct answer answer;
	bool good;

	snprintf(text, sizeof text, "%s", step);
	answer = say_step(text);
	good = expected != NULL ? is_expected(&answer, expected, before) : answer.type != REDIS_REPLY_ERROR;
	if (!good && must)
		fail_msg("%s = %s, but it is: %s", step, expected != NULL ? expected : "no error", answer.text);
	return good;
}

void
play(const char *format, ...)
{
	char script[TEXT], *at = script, *step;
	va_list list;

	va_start(list, format);
	vsnprintf(script, sizeof script, format, list);
	va_end(list);
	while ((step = strsep(&at, ";")) != NULL) {
		char *expected = strstr(step, " =");

		step += strspn(step, " ");
		if (expected != NULL) {
			*expected = '\0';
			expected += 2 + strspn(expected + 2, " ");
		}
		if (strncmp(step, "await ", 6) == 0)
			await_true(play_step(step + 6, expected, false));
		else
			play_step(step, expected, true);
	}
}

void
play_given(void)
{
	play("%s", (const char *)given);
}

/* ---- a server for all, which is clean before each test ---- */

void
start(void)
{
	static const struct lsh_script *const scripts[] = {
		&lsh_script_acquire, &lsh_script_release, &lsh_script_heartbeat, &lsh_script_renew, &lsh_script_raise,
	};

	server = server_start(NULL);
	unlimited = server_connect(server);
	for (size_t i = 0; i < COUNT(scripts); i++)
		assert_string_equal(server_text(server, "SCRIPT LOAD %s", scripts[i]->text), scripts[i]->sha1);
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
	play("cfg 60000 3600000 200000 1 PUBLISH leash:wake:; REPLICAOF NO ONE; CONFIG SET maxmemory 0; FLUSHALL");
}

void
clean_up(void)
{
	limit((char[]){"all"});
	while (listeners != NULL) {
		struct pubsub *pubsub = listeners;

		listeners = pubsub->next;
		redisFree(pubsub->connection);
		free(pubsub);
	}
}
