/* The commands that a simulated server knows. See commands.h. They are run by sim_command_run(), which has counted
 * their words, and printed those that are numbers, and asked whether they are permitted. */
#include "tests/sim/commands.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { WRITES = 1, GROWS = 2, NO_SCRIPT = 4, KEYED = 8, MANY_KEYS = 16 };
enum { WORDS = 64, ANY = 1000000 }; /* of a command that is no script, at most */

struct sim_command {
	const char *name;
	void (*run)(const struct sim_call *c); /* NULL: it is run elsewhere */
	size_t least, most; /* words */
	unsigned flags;
};

#define COMMAND(name) static void run_##name(const struct sim_call *c)

static int64_t
now_ms(const struct sim_call *c)
{
	return c->context->now_us / 1000;
}

static struct sim_key **
find(const struct sim_call *c, size_t index)
{
	return sim_key_find(&c->context->keyspace, c->args[index].bytes, c->args[index].size, now_ms(c));
}

static bool
slot_of(const struct sim_call *c, enum sim_type type, struct sim_key ***slot)
{
	*slot = find(c, 1);
	return *slot == NULL || (**slot)->type == type ||
	       sim_reply_error(c->reply, "WRONGTYPE Operation against a key holding the wrong kind of value");
}

/* Of the key args[1]: *key is NULL if there is none. False: it is of another type, which is the reply. */
static bool
key_of(const struct sim_call *c, enum sim_type type, const struct sim_key **key)
{
	struct sim_key **s;
	bool is_right = slot_of(c, type, &s);

	*key = s != NULL ? *s : NULL;
	return is_right;
}

/* The same, made if there is none, and for a change. NULL: it is of another type. */
static struct sim_key *
key_for(const struct sim_call *c, enum sim_type type)
{
	struct sim_key **s;

	if (!slot_of(c, type, &s))
		return NULL;
	if (s == NULL)
		s = sim_key_make(&c->context->keyspace, c->args[1].bytes, c->args[1].size, type);
	return sim_key_change(s);
}

/* Of its member args[2]: *member is NULL if there is none. */
static bool
member_of(const struct sim_call *c, enum sim_type type, const struct sim_member **member)
{
	const struct sim_key *k;
	bool is_right = key_of(c, type, &k);
	size_t at = is_right && k != NULL ? sim_member_find(k, c->args[2].bytes, c->args[2].size) : 0;

	*member = is_right && k != NULL && at < k->count ? k->members[at] : NULL;
	return is_right;
}

/* The reply is how many of the members args[2] and so on are gone now; with the last one the key goes. */
static void
delete_members(const struct sim_call *c, enum sim_type type)
{
	struct sim_key **s;
	int64_t n = 0;

	if (!slot_of(c, type, &s))
		return;
	for (size_t i = 2; s != NULL && i < c->count; i++) {
		size_t at = sim_member_find(*s, c->args[i].bytes, c->args[i].size);

		if (at == (*s)->count)
			continue;
		sim_member_remove(sim_key_change(s), at);
		n++;
		if ((*s)->count > 0)
			continue;
		sim_key_delete(&c->context->keyspace, s);
		s = NULL;
	}
	sim_reply_integer(c->reply, n);
}

static bool
read_integer(const struct sim_call *c, size_t index, int64_t *out)
{
	return sim_arg_integer(&c->args[index], out) ||
	       sim_reply_error(c->reply, "ERR value is not an integer or out of range");
}

/* ---- of any type, or of none ---- */

COMMAND(ping)
{
	sim_reply_status(c->reply, "PONG");
}

COMMAND(time)
{
	char text[SIM_NUMBER_SIZE];

	sim_reply_array(c->reply);
	sim_reply_copy(c->reply, LSH_STRING, text, sim_number_print(text, (double)(c->context->now_us / 1000000)));
	sim_reply_copy(c->reply, LSH_STRING, text, sim_number_print(text, (double)(c->context->now_us % 1000000)));
}

COMMAND(publish)
{
	const struct sim_context *context = c->context;
	const struct sim_arg *channel = &c->args[1], *text = &c->args[2];

	sim_reply_integer(c->reply, context->publish == NULL ? 0 : context->publish(
	                  context->ctx, channel->bytes, channel->size, text->bytes, text->size));
}

COMMAND(dbsize)
{
	sim_reply_integer(c->reply, (int64_t)sim_keyspace_size(&c->context->keyspace, now_ms(c)));
}

COMMAND(flushall)
{
	sim_keyspace_clear(&c->context->keyspace);
	sim_reply_status(c->reply, "OK");
}

COMMAND(del)
{
	int64_t n = 0;

	for (size_t i = 1; i < c->count; i++) {
		struct sim_key **s = find(c, i);

		if (s == NULL)
			continue;
		sim_key_delete(&c->context->keyspace, s);
		n++;
	}
	sim_reply_integer(c->reply, n);
}

COMMAND(exists)
{
	int64_t n = 0;

	for (size_t i = 1; i < c->count; i++)
		n += find(c, i) != NULL;
	sim_reply_integer(c->reply, n);
}

COMMAND(pttl)
{
	struct sim_key *const *s = find(c, 1);
	int64_t expires_ms = s != NULL ? (*s)->expires_ms : 0;

	sim_reply_integer(c->reply, s == NULL ? -2 : expires_ms == SIM_NO_TTL ? -1 : expires_ms - now_ms(c));
}

COMMAND(persist)
{
	struct sim_key **s = find(c, 1);
	bool had_one = s != NULL && (*s)->expires_ms != SIM_NO_TTL;

	if (had_one)
		sim_key_change(s)->expires_ms = SIM_NO_TTL;
	sim_reply_integer(c->reply, had_one);
}

COMMAND(pexpire)
{
	struct sim_key **s = find(c, 1);
	int64_t ms;
	bool greater = false;

	for (size_t i = 3; i < c->count; i++) {
		greater = sim_arg_is(&c->args[i], "GT");
		if (!greater) {
			sim_reply_error(c->reply, "ERR Unsupported option %.*s", (int)c->args[i].size, c->args[i].bytes);
			return;
		}
	}
	if (!read_integer(c, 2, &ms))
		return;
	if (ms > INT64_MAX - now_ms(c)) {
		sim_reply_error(c->reply, "ERR invalid expire time in 'pexpire' command");
		return;
	}
	c->context->deadly += ms <= 0;
	ms += now_ms(c);
	bool is_done = s != NULL && (!greater || ms > (*s)->expires_ms); /* nothing is greater than no TTL */
	if (is_done && ms <= now_ms(c))
		sim_key_delete(&c->context->keyspace, s);
	else if (is_done)
		sim_key_change(s)->expires_ms = ms;
	sim_reply_integer(c->reply, is_done);
}

COMMAND(push)
{
	struct sim_key *k = key_for(c, SIM_LIST);
	char index[SIM_NUMBER_SIZE];

	if (k == NULL)
		return;
	/* Nobody here looks into a list: only its contents count, and they are a stranger's. */
	sim_member_set(k, index, sim_number_print(index, (double)k->count), c->args[2].bytes, c->args[2].size);
	sim_reply_integer(c->reply, (int64_t)k->count);
}

/* ---- strings ---- */

static void
reply_value(const struct sim_call *c, const struct sim_member *m)
{
	if (m == NULL)
		sim_reply_nil(c->reply);
	else
		sim_reply_text(c->reply, sim_member_value(m), m->value_size);
}

COMMAND(get)
{
	const struct sim_key *k;

	if (key_of(c, SIM_STRING, &k))
		reply_value(c, k != NULL ? k->members[0] : NULL);
}

COMMAND(getrange)
{
	const struct sim_key *k;
	int64_t from, to;

	if (!read_integer(c, 2, &from) || !read_integer(c, 3, &to) || !key_of(c, SIM_STRING, &k))
		return;
	int64_t size = k != NULL ? (int64_t)k->members[0]->value_size : 0;
	if (from < 0 && to < 0 && from > to)
		size = 0;
	from = from < 0 ? from + size : from;
	to = to < 0 ? to + size : to;
	from = from < 0 ? 0 : from;
	to = to < 0 ? 0 : to >= size ? size - 1 : to;
	if (size == 0 || from > to)
		sim_reply_text(c->reply, "", 0);
	else
		sim_reply_copy(c->reply, LSH_STRING, sim_member_value(k->members[0]) + from, (size_t)(to - from + 1));
}

struct set_options {
	bool only_new, get;
	size_t ttl; /* the word that says it; 0: none does */
	int64_t ms;
};

static bool
read_set(const struct sim_call *c, struct set_options *options)
{
	for (size_t i = 3; i < c->count; i++)
		if (sim_arg_is(&c->args[i], "NX"))
			options->only_new = true;
		else if (sim_arg_is(&c->args[i], "GET"))
			options->get = true;
		else if (sim_arg_is(&c->args[i], "PX") && options->ttl == 0 && i + 1 < c->count)
			options->ttl = ++i;
		else
			return sim_reply_error(c->reply, "ERR syntax error");
	if (options->ttl == 0)
		return true;
	return read_integer(c, options->ttl, &options->ms) &&
	       ((options->ms > 0 && options->ms <= INT64_MAX - now_ms(c)) ||
	        sim_reply_error(c->reply, "ERR invalid expire time in 'set' command"));
}

COMMAND(set)
{
	struct set_options options = {0};
	const struct sim_key *old;

	if (!read_set(c, &options) || (options.get && !key_of(c, SIM_STRING, &old)))
		return;
	if (options.get && old != NULL) /* which is gone then */
		sim_reply_copy(c->reply, LSH_STRING, sim_member_value(old->members[0]), old->members[0]->value_size);
	else if (options.get || (options.only_new && find(c, 1) != NULL))
		sim_reply_nil(c->reply);
	else
		sim_reply_status(c->reply, "OK");
	if (options.only_new && find(c, 1) != NULL)
		return;
	struct sim_key **s = sim_key_make(&c->context->keyspace, c->args[1].bytes, c->args[1].size, SIM_STRING);
	sim_member_set(*s, "", 0, c->args[2].bytes, c->args[2].size);
	if (options.ttl != 0)
		(*s)->expires_ms = now_ms(c) + options.ms;
}

/* ---- hashes ---- */

COMMAND(hget)
{
	const struct sim_member *m;

	if (member_of(c, SIM_HASH, &m))
		reply_value(c, m);
}

COMMAND(hexists)
{
	const struct sim_member *m;

	if (member_of(c, SIM_HASH, &m))
		sim_reply_integer(c->reply, m != NULL);
}

COMMAND(hgetall)
{
	const struct sim_key *k;

	if (!key_of(c, SIM_HASH, &k))
		return;
	sim_reply_array(c->reply);
	for (size_t i = 0; k != NULL && i < k->count; i++) {
		sim_reply_text(c->reply, k->members[i]->bytes, k->members[i]->size);
		reply_value(c, k->members[i]);
	}
}

COMMAND(hlen)
{
	const struct sim_key *k;

	if (key_of(c, SIM_HASH, &k))
		sim_reply_integer(c->reply, k != NULL ? (int64_t)k->count : 0);
}

COMMAND(hset)
{
	if (c->count % 2 != 0) {
		sim_reply_error(c->reply, "ERR wrong number of arguments for 'hset' command");
		return;
	}
	struct sim_key *k = key_for(c, SIM_HASH);
	if (k == NULL)
		return;
	size_t before = k->count;
	for (size_t i = 2; i < c->count; i += 2)
		sim_member_set(k, c->args[i].bytes, c->args[i].size, c->args[i + 1].bytes, c->args[i + 1].size);
	sim_reply_integer(c->reply, (int64_t)(k->count - before));
}

COMMAND(hdel)
{
	delete_members(c, SIM_HASH);
}

/* ---- sorted sets ---- */

/* The usual: up to 15 digits and perhaps a sign. */
static bool
read_short(const struct sim_arg *arg, double *out)
{
	bool negative = arg->size > 0 && arg->bytes[0] == '-';
	int64_t n = 0;

	if (arg->size - negative > 15 || arg->size == (size_t)negative)
		return false;
	for (size_t i = negative; i < arg->size; i++) {
		if (arg->bytes[i] < '0' || arg->bytes[i] > '9')
			return false;
		n = n * 10 + (arg->bytes[i] - '0');
	}
	*out = negative ? -(double)n : (double)n;
	return true;
}

/* All of `size` bytes is a number. */
static bool
read_double(const char *bytes, size_t size, double *out)
{
	char text[64], *end;

	if (size >= sizeof text)
		return false;
	memcpy(text, bytes, size);
	text[size] = '\0';
	errno = 0;
	*out = strtod(text, &end);
	return end == text + size && !isnan(*out);
}

static bool
read_score(const struct sim_call *c, size_t index, double *out)
{
	const struct sim_arg *arg = &c->args[index];

	if (arg->bytes == NULL) {
		*out = arg->number;
		if (!isnan(*out))
			return true;
	} else if (read_short(arg, out)) {
		return true;
	} else if (arg->size > 0 && !isspace((unsigned char)arg->bytes[0]) && read_double(arg->bytes, arg->size, out) &&
	           (errno != ERANGE || (fabs(*out) != HUGE_VAL && *out != 0))) {
		return true;
	}
	return sim_reply_error(c->reply, "ERR value is not a valid float");
}

struct bound {
	double score;
	bool excluded;
};

static bool
read_bound(const struct sim_arg *arg, struct bound *out)
{
	out->excluded = arg->size > 0 && arg->bytes[0] == '(';
	return read_double(arg->bytes + out->excluded, arg->size - out->excluded, &out->score);
}

static bool
read_range(const struct sim_call *c, struct bound range[static 2])
{
	return (read_bound(&c->args[2], &range[0]) && read_bound(&c->args[3], &range[1])) ||
	       sim_reply_error(c->reply, "ERR min or max is not a float");
}

static bool
is_in(const struct bound range[static 2], double score)
{
	return (range[0].excluded ? score > range[0].score : score >= range[0].score) &&
	       (range[1].excluded ? score < range[1].score : score <= range[1].score);
}

static void
reply_score(const struct sim_call *c, double score)
{
	char text[SIM_NUMBER_SIZE];

	sim_reply_copy(c->reply, LSH_STRING, text, sim_number_print(text, score));
}

static void
reply_member(const struct sim_call *c, const struct sim_member *member, bool with_score)
{
	sim_reply_text(c->reply, member->bytes, member->size);
	if (with_score)
		reply_score(c, member->score);
}

COMMAND(zadd)
{
	size_t first = sim_arg_is(&c->args[2], "NX") ? 3 : 2;
	double scores[WORDS];

	if (c->count == first || (c->count - first) % 2 != 0) {
		sim_reply_error(c->reply, "ERR syntax error");
		return;
	}
	for (size_t i = first; i < c->count; i += 2)
		if (!read_score(c, i, &scores[i]))
			return;
	struct sim_key *k = key_for(c, SIM_ZSET);
	if (k == NULL)
		return;
	size_t before = k->count;
	for (size_t i = first; i < c->count; i += 2) {
		struct sim_arg name = c->args[i + 1];
		char digits[SIM_NUMBER_SIZE];

		if (name.bytes == NULL)
			name = (struct sim_arg){digits, sim_number_print(digits, name.number), 0};
		if (first == 2 || sim_member_find(k, name.bytes, name.size) == k->count)
			sim_member_score(k, name.bytes, name.size, scores[i]);
	}
	sim_reply_integer(c->reply, (int64_t)(k->count - before));
}

COMMAND(zincrby)
{
	const struct sim_arg *name = &c->args[3];
	double score;
	struct sim_key *k;

	if (!read_score(c, 2, &score) || (k = key_for(c, SIM_ZSET)) == NULL)
		return;
	size_t at = sim_member_find(k, name->bytes, name->size);
	score += at < k->count ? k->members[at]->score : 0;
	sim_member_score(k, name->bytes, name->size, score);
	reply_score(c, score);
}

COMMAND(zrem)
{
	delete_members(c, SIM_ZSET);
}

COMMAND(zscore)
{
	const struct sim_member *m;

	if (!member_of(c, SIM_ZSET, &m))
		return;
	if (m != NULL)
		reply_score(c, m->score);
	else
		sim_reply_nil(c->reply);
}

COMMAND(zcount)
{
	struct bound range[2];
	const struct sim_key *k;
	int64_t n = 0;

	if (!read_range(c, range) || !key_of(c, SIM_ZSET, &k))
		return;
	for (size_t i = 0; k != NULL && i < k->count; i++)
		n += is_in(range, k->members[i]->score);
	sim_reply_integer(c->reply, n);
}

COMMAND(zrangebyscore)
{
	struct bound range[2];
	bool with_scores = false;
	int64_t skipped = 0, most = -1;
	const struct sim_key *k;

	for (size_t i = 4; i < c->count; i++) {
		if (sim_arg_is(&c->args[i], "WITHSCORES")) {
			with_scores = true;
		} else if (sim_arg_is(&c->args[i], "LIMIT") && i + 2 < c->count) {
			if (!read_integer(c, i + 1, &skipped) || !read_integer(c, i + 2, &most))
				return;
			i += 2;
		} else {
			sim_reply_error(c->reply, "ERR syntax error");
			return;
		}
	}
	if (!read_range(c, range) || !key_of(c, SIM_ZSET, &k))
		return;
	sim_reply_array(c->reply);
	for (size_t i = 0; skipped >= 0 && k != NULL && i < k->count && most != 0; i++) {
		if (!is_in(range, k->members[i]->score) || skipped-- > 0)
			continue;
		skipped = 0;
		reply_member(c, k->members[i], with_scores);
		most--;
	}
}

COMMAND(zrevrange)
{
	bool with_scores = c->count == 5 && sim_arg_is(&c->args[4], "WITHSCORES");
	const struct sim_key *k;
	int64_t from, to;

	if (c->count > 4 && !with_scores) {
		sim_reply_error(c->reply, "ERR syntax error");
		return;
	}
	if (!read_integer(c, 2, &from) || !read_integer(c, 3, &to) || !key_of(c, SIM_ZSET, &k))
		return;
	int64_t size = k != NULL ? (int64_t)k->count : 0;
	from = from < 0 ? from + size : from;
	to = to < 0 ? to + size : to;
	sim_reply_array(c->reply);
	for (int64_t i = from < 0 ? 0 : from; i <= to && i < size; i++)
		reply_member(c, k->members[size - 1 - i], with_scores);
}

/* ---- all of them ---- */

static const struct sim_command commands[] = {
	{"dbsize", run_dbsize, 1, 1, 0},
	{"del", run_del, 2, ANY, WRITES | KEYED | MANY_KEYS},
	{"eval", NULL, 3, ANY, NO_SCRIPT},
	{"evalsha", NULL, 3, ANY, NO_SCRIPT},
	{"exists", run_exists, 2, ANY, KEYED | MANY_KEYS},
	{"flushall", run_flushall, 1, 2, WRITES},
	{"get", run_get, 2, 2, KEYED},
	{"getrange", run_getrange, 4, 4, KEYED},
	{"hdel", run_hdel, 3, ANY, WRITES | KEYED},
	{"hexists", run_hexists, 3, 3, KEYED},
	{"hget", run_hget, 3, 3, KEYED},
	{"hgetall", run_hgetall, 2, 2, KEYED},
	{"hlen", run_hlen, 2, 2, KEYED},
	{"hset", run_hset, 4, ANY, WRITES | GROWS | KEYED},
	{"persist", run_persist, 2, 2, WRITES | KEYED},
	{"pexpire", run_pexpire, 3, ANY, WRITES | KEYED},
	{"ping", run_ping, 1, 1, 0},
	{"pttl", run_pttl, 2, 2, KEYED},
	{"publish", run_publish, 3, 3, 0},
	{"rpush", run_push, 3, 3, WRITES | GROWS | KEYED},
	{"script", NULL, 2, ANY, NO_SCRIPT},
	{"set", run_set, 3, ANY, WRITES | GROWS | KEYED},
	{"spublish", run_publish, 3, 3, 0},
	{"time", run_time, 1, 1, 0},
	{"zadd", run_zadd, 4, ANY, WRITES | GROWS | KEYED},
	{"zcount", run_zcount, 4, 4, KEYED},
	{"zincrby", run_zincrby, 4, 4, WRITES | GROWS | KEYED},
	{"zrangebyscore", run_zrangebyscore, 4, ANY, KEYED},
	{"zrem", run_zrem, 3, ANY, WRITES | KEYED},
	{"zrevrange", run_zrevrange, 4, ANY, KEYED},
	{"zscore", run_zscore, 3, 3, KEYED},
};

const struct sim_command *
sim_command_find(const char *name, size_t size)
{
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
		if (strlen(commands[i].name) == size && strncasecmp(commands[i].name, name, size) == 0)
			return &commands[i];
	return NULL;
}

unsigned
sim_command_number(const struct sim_command *command)
{
	return (unsigned)(command - commands);
}

/* ---- what is refused ---- */

static bool
may_use(const struct sim_rights *rights, const struct sim_arg *key)
{
	if (rights->allowed[0] == NULL)
		return true;
	for (size_t i = 0; i < sizeof rights->allowed / sizeof *rights->allowed && rights->allowed[i] != NULL; i++) {
		const char *pattern = rights->allowed[i];
		size_t size = strlen(pattern);
		bool open = size > 0 && pattern[size - 1] == '*';

		size -= open;
		if ((open ? key->size >= size : key->size == size) && memcmp(key->bytes, pattern, size) == 0)
			return true;
	}
	return false;
}

/* In a script it is worded otherwise. */
static bool
forbid(const struct sim_call *c, const char *in_script, const char *elsewhere)
{
	if (c->context->in_script)
		return !sim_reply_error(c->reply, "ERR The user executing the script can't %s", in_script);
	return !sim_reply_error(c->reply, "NOPERM this user has no permissions to %s", elsewhere);
}

static bool
is_forbidden(const struct sim_command *command, const struct sim_call *c, size_t first, size_t keys)
{
	const struct sim_rights *r = c->context->rights;
	char run[60];

	snprintf(run, sizeof run, "run the '%s' command", command->name);
	if ((r->denied >> sim_command_number(command) & 1) != 0)
		return forbid(c, "run this command or subcommand", run);
	for (size_t i = first; i < first + keys; i++)
		if (!may_use(r, &c->args[i]))
			return forbid(c, "access at least one of the keys mentioned in the command arguments",
			              "access one of the keys used as arguments");
	return false;
}

bool
sim_command_refuse(const struct sim_command *command, const struct sim_call *c, size_t first, size_t keys)
{
	const struct sim_context *context = c->context;

	if (c->count < command->least || c->count > command->most)
		return !(context->in_script
		                 ? sim_reply_error(c->reply, "ERR Wrong number of args calling Redis command from script")
		                 : sim_reply_error(c->reply, "ERR wrong number of arguments for '%s' command", command->name));
	if (context->in_script && (command->flags & NO_SCRIPT) != 0)
		return !sim_reply_error(c->reply, "ERR This Redis command is not allowed from script");
	if (context->rights != NULL && is_forbidden(command, c, first, keys))
		return true;
	if (context->is_replica && (command->flags & WRITES) != 0)
		return !sim_reply_error(c->reply, "READONLY You can't write against a read only replica.");
	return context->is_full && (command->flags & GROWS) != 0 && !context->script_wrote &&
	       !sim_reply_error(c->reply, "OOM command not allowed when used memory > 'maxmemory'.");
}

void
sim_command_run(const struct sim_command *command, const struct sim_call *c)
{
	struct sim_arg words[WORDS];
	const struct sim_call printed = {c->context, words, c->count, c->reply};
	char digits[WORDS][SIM_NUMBER_SIZE];
	size_t keys = (command->flags & KEYED) == 0 ? 0 : (command->flags & MANY_KEYS) != 0 ? c->count - 1 : 1;

	c->reply->used = 0;
	c->reply->message.type = LSH_NIL;
	if (c->count > WORDS)
		abort();
	for (size_t i = 0; i < c->count; i++) {
		/* those few that take numbers look at them as they are */
		bool stays = command->run == run_pexpire ? i == 2 : command->run == run_zadd ? i != 1 :
		             command->run == run_set && i == 4;

		words[i] = c->args[i];
		if (i > 0 && words[i].bytes == NULL && !stays)
			words[i] = (struct sim_arg){digits[i], sim_number_print(digits[i], words[i].number), 0};
	}
	if (sim_command_refuse(command, &printed, 1, c->count > 1 ? keys : 0))
		return;
	for (size_t i = 1; i <= keys && c->context->in_script && c->context->is_local != NULL; i++)
		if (!c->context->is_local(c->context->ctx, words[i].bytes, words[i].size)) {
			sim_reply_error(c->reply, "ERR Script attempted to access a non local key in a cluster node");
			return;
		}
	c->context->script_wrote |= c->context->in_script && (command->flags & WRITES) != 0;
	command->run(&printed);
}
