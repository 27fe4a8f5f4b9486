#include "tests/sim/mirror.h"

#include "tests/support/trouble.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 512, PATTERNS = 4 };

char mirror_published[4096];

static struct sim_server *simulated;
static struct sim_lua *lua;
static struct server *real;
static redisContext *beside;   /* a connection of ours */
static redisContext *limited;  /* is of the user with these rights */
static struct sim_rights rights;
static char patterns[PATTERNS][64];
static bool is_counting;       /* the real server's commands, of which ours would be some */
static bool same_words;        /* the real server's errors are worded as ours */
static char difference[8192];

static const char dump[] =
	"local out = {}\n"
	"for _, key in ipairs(redis.call('KEYS', '*')) do\n"
	"  local kind, v = redis.call('TYPE', key).ok\n"
	"  if kind == 'string' then v = {redis.call('GET', key)}\n"
	"  elseif kind == 'hash' then v = redis.call('HGETALL', key)\n"
	"  elseif kind == 'zset' then v = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')\n"
	"  else v = redis.call('LRANGE', key, 0, -1) end\n"
	"  out[#out + 1] = key .. ' ' .. kind .. ' ' .. redis.call('PTTL', key) .. ' ' .. table.concat(v, ' ') .. '\\n'\n"
	"end\n"
	"table.sort(out)\n"
	"return table.concat(out)";

/* Of the real server, by our own connection. */
static redisReply *
ask(int argc, const char *const *argv)
{
	char *wire;
	redisReply *reply;
	long long size = redisFormatCommandArgv(&wire, argc, (const char **)(uintptr_t)argv, NULL);

	redisAppendFormattedCommand(beside, wire, (size_t)size);
	redisFreeCommand(wire);
	if (redisGetReply(beside, (void **)&reply) != REDIS_OK)
		trouble("the mirrored server's connection: %s", beside->errstr);
	return reply;
}

/* Whoever listens does so at the real server. */
static int64_t
listeners_there(void *ctx, const char *channel, size_t channel_size, const char *text, size_t size)
{
	static const char *const ways[] = {"NUMSUB", "SHARDNUMSUB"}; /* the second not before 7.0 */
	size_t used = strlen(mirror_published);
	int64_t n = 0;

	(void)ctx, (void)channel_size;
	for (int i = 0; i < 2; i++) {
		redisReply *reply = ask(3, (const char *const[]){"PUBSUB", ways[i], channel});

		if (reply->type == REDIS_REPLY_ARRAY && reply->elements == 2)
			n += reply->element[1]->integer;
		freeReplyObject(reply);
	}
	if (n > 0)
		snprintf(mirror_published + used, sizeof mirror_published - used, "%.*s\n", (int)size, text);
	return n;
}

void
mirror_begin(struct server *server)
{
	real = server;
	beside = server_connect(server);
	lua = sim_lua_new();
	simulated = sim_server_new(lua, listeners_there, NULL);
	redisReply *reply = ask(2, (const char *const[]){"INFO", "server"});
	const char *version = strstr(reply->str, "redis_version:") + strlen("redis_version:");
	same_words = strncmp(version, "7.0.", 4) == 0 && strstr(reply->str, "valkey") == NULL;
	simulated->version = atoi(version) >= 7 ? SIM_VERSION : 0;
	freeReplyObject(reply);
}

void
mirror_end(void)
{
	redisFree(beside);
	sim_server_free(simulated);
	sim_lua_free(lua);
	simulated = NULL;
	limited = NULL;
}

/* ---- replies ---- */

/* Only those of 7.0 are worded as ours. In others there is the first word, somewhere: "OOM", "WRONGTYPE". */
static bool
is_same_error(const char *theirs, const char *ours)
{
	char word[32];

	if (same_words)
		return strcmp(theirs, ours) == 0;
	snprintf(word, sizeof word, "%.*s", (int)strcspn(ours, " "), ours);
	return strstr(theirs, word) != NULL;
}

static bool
is_same_item(const redisReply *theirs, const struct lsh_item *ours)
{
	switch (theirs->type) {
	case REDIS_REPLY_INTEGER:
		return ours->type == LSH_INTEGER && ours->integer == theirs->integer;
	case REDIS_REPLY_NIL:
		return ours->type == LSH_NIL;
	case REDIS_REPLY_ERROR:
		return ours->type == LSH_ERROR && is_same_error(theirs->str, ours->text);
	default:
		return ours->type == (theirs->type == REDIS_REPLY_STATUS ? LSH_STATUS : LSH_STRING) &&
		       ours->length == theirs->len && memcmp(ours->text, theirs->str, ours->length) == 0;
	}
}

static bool
is_same_reply(const redisReply *theirs, const struct lsh_message *ours)
{
	if (theirs->type != REDIS_REPLY_ARRAY)
		return ours->type != LSH_ARRAY && is_same_item(theirs, &ours->item[0]);
	if (ours->type != LSH_ARRAY || (ours->count != theirs->elements && ours->count != LSH_ITEMS))
		return false;
	for (unsigned i = 0; i < ours->count; i++)
		if (!is_same_item(theirs->element[i], &ours->item[i]))
			return false;
	return true;
}

static void
print_theirs(FILE *out, const redisReply *reply)
{
	if (reply->type == REDIS_REPLY_INTEGER)
		fprintf(out, "%lld ", reply->integer);
	else if (reply->type != REDIS_REPLY_ARRAY)
		fprintf(out, "%s ", reply->type == REDIS_REPLY_NIL ? "nil" : reply->str);
	for (size_t i = 0; i < reply->elements; i++)
		print_theirs(out, reply->element[i]);
}

static const char *
different_replies(const redisReply *theirs, const struct lsh_message *ours)
{
	FILE *out = fmemopen(difference, sizeof difference, "w");

	fprintf(out, "the real server answers  %d: ", theirs->type);
	print_theirs(out, theirs);
	fprintf(out, "\nand the simulated one    %d: ", (int)ours->type);
	for (const struct lsh_item *item = ours->item; item < ours->item + ours->count; item++)
		if (item->type == LSH_INTEGER)
			fprintf(out, "%" PRId64 " ", item->integer);
		else
			fprintf(out, "%s ", item->type == LSH_NIL ? "nil" : item->text);
	fclose(out);
	return difference;
}

static const char *
compare_keys(void)
{
	redisReply *reply = ask(3, (const char *const[]){"EVAL", dump, "0"});
	char *ours;
	size_t size;
	FILE *out = open_memstream(&ours, &size);

	if (reply->type != REDIS_REPLY_STRING)
		trouble("the keys of the real server: %s", reply->str);
	sim_keyspace_print(&simulated->context.keyspace, simulated->context.now_us / 1000, out);
	fclose(out);
	bool same = strcmp(reply->str, ours) == 0;
	if (!same)
		snprintf(difference, sizeof difference, "the real server has\n%s\nand the simulated one\n%s", reply->str, ours);
	free(ours);
	freeReplyObject(reply);
	return same ? NULL : difference;
}

/* ---- commands ---- */

static size_t
read_words(const char *wire, struct lsh_arg *words)
{
	char *at;
	size_t count = (size_t)strtoul(wire + 1, &at, 10);

	if (count > WORDS)
		trouble("a command of %zu words", count);
	for (size_t i = 0; i < count; i++) {
		words[i].size = (size_t)strtoul(at + 3, &at, 10);
		words[i].bytes = at + 2;
		at += 2 + words[i].size;
	}
	return count;
}

static bool
is(struct lsh_arg word, const char *text)
{
	return word.size == strlen(text) && memcmp(word.bytes, text, word.size) == 0;
}

static void
set_rights(const struct lsh_arg *words, size_t count)
{
	size_t n = 0;

	rights = (struct sim_rights){0};
	for (size_t i = 3; i < count; i++) {
		const struct sim_command *command = sim_command_find(words[i].bytes + 1, words[i].size - 1);

		if (*words[i].bytes == '-' && command != NULL)
			rights.denied |= UINT64_C(1) << sim_command_number(command);
		if (*words[i].bytes != '~' || is(words[i], "~*"))
			continue;
		if (n == PATTERNS)
			trouble("more than %d patterns of keys", PATTERNS);
		snprintf(patterns[n], sizeof patterns[n], "%.*s", (int)words[i].size - 1, words[i].bytes + 1);
		rights.allowed[n] = patterns[n];
		n++;
	}
}

/* What changes the state of a server, but not its keys. */
static void
operate(redisContext *c, const struct lsh_arg *words, size_t count)
{
	if (is(words[0], "AUTH"))
		limited = c;
	else if (is(words[0], "REPLICAOF"))
		simulated->context.is_replica = !is(words[1], "NO");
	else if (is(words[1], "RESETSTAT"))
		is_counting = true;
	else if (count == 4 && is(words[2], "maxmemory"))
		simulated->context.is_full = !is(words[3], "0");
	else if (count > 3 && is(words[1], "SETUSER"))
		set_rights(words, count);
	else if (is(words[1], "DELUSER"))
		limited = NULL;
}

const char *
mirror_run(redisContext *c, char *wire, size_t size, int64_t now_us, redisReply **reply)
{
	struct lsh_arg words[WORDS];
	size_t count = read_words(wire, words);
	const struct lsh_message *ours;
	const char *wrong = NULL;

	server_stop_clock(real, now_us);
	redisAppendFormattedCommand(c, wire, size);
	if (redisGetReply(c, (void **)reply) != REDIS_OK) {
		*reply = NULL;
	} else if (sim_command_find(words[0].bytes, words[0].size) == NULL) {
		if (count > 1)
			operate(c, words, count);
	} else {
		is_counting &= !is(words[0], "FLUSHALL");
		simulated->context.rights = c == limited ? &rights : NULL;
		ours = sim_server_run(simulated, words, count, now_us);
		wrong = !is_same_reply(*reply, ours) ? different_replies(*reply, ours) : is_counting ? NULL : compare_keys();
	}
	redisFreeCommand(wire);
	return wrong;
}
