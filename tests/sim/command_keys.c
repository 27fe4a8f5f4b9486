/* What the commands of a simulated server do with keys of any type, strings and hashes. See command_keys.h. */
#include "tests/sim/command_keys.h"

#include <string.h>

static int64_t
now_ms(const struct sim_call *c)
{
	return c->context->now_us / 1000;
}

static struct sim_slot *
find(const struct sim_call *c, size_t index)
{
	return sim_key_find(&c->context->keyspace, c->args[index].bytes, c->args[index].size, now_ms(c));
}

static bool
slot_of(const struct sim_call *c, enum sim_type type, struct sim_slot **slot)
{
	*slot = find(c, 1);
	return *slot == NULL || (*slot)->key->type == type ||
	       sim_reply_error(c->reply, "WRONGTYPE Operation against a key holding the wrong kind of value");
}

bool
sim_key_of(const struct sim_call *c, enum sim_type type, const struct sim_key **key)
{
	struct sim_slot *s;
	bool is_right = slot_of(c, type, &s);

	*key = s != NULL ? s->key : NULL;
	return is_right;
}

struct sim_key *
sim_key_for(const struct sim_call *c, enum sim_type type)
{
	struct sim_slot *s;

	if (!slot_of(c, type, &s))
		return NULL;
	if (s == NULL)
		s = sim_key_make(&c->context->keyspace, c->args[1].bytes, c->args[1].size, type);
	return sim_key_change(s);
}

bool
sim_member_of(const struct sim_call *c, enum sim_type type, const struct sim_member **member)
{
	const struct sim_key *k;
	bool is_right = sim_key_of(c, type, &k);
	size_t at = is_right && k != NULL ? sim_member_find(k, c->args[2].bytes, c->args[2].size) : 0;

	*member = is_right && k != NULL && at < k->count ? k->members[at] : NULL;
	return is_right;
}

void
sim_members_delete(const struct sim_call *c, enum sim_type type)
{
	struct sim_slot *s;
	int64_t n = 0;

	if (!slot_of(c, type, &s))
		return;
	for (size_t i = 2; s != NULL && i < c->count; i++) {
		size_t at = sim_member_find(s->key, c->args[i].bytes, c->args[i].size);

		if (at == s->key->count)
			continue;
		sim_member_remove(sim_key_change(s), at);
		n++;
		if (s->key->count > 0)
			continue;
		sim_key_delete(&c->context->keyspace, s);
		s = NULL;
	}
	sim_reply_integer(c->reply, n);
}

bool
sim_read_integer(const struct sim_call *c, size_t index, int64_t *out)
{
	return sim_arg_integer(&c->args[index], out) ||
	       sim_reply_error(c->reply, "ERR value is not an integer or out of range");
}

/* ---- of any type ---- */

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
		struct sim_slot *s = find(c, i);

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
	const struct sim_slot *s = find(c, 1);
	int64_t expires_ms = s != NULL ? s->key->expires_ms : 0;

	sim_reply_integer(c->reply, s == NULL ? -2 : expires_ms == SIM_NO_TTL ? -1 : expires_ms - now_ms(c));
}

COMMAND(persist)
{
	struct sim_slot *s = find(c, 1);
	bool had_one = s != NULL && s->key->expires_ms != SIM_NO_TTL;

	if (had_one)
		sim_key_change(s)->expires_ms = SIM_NO_TTL;
	sim_reply_integer(c->reply, had_one);
}

COMMAND(pexpire)
{
	struct sim_slot *s = find(c, 1);
	int64_t ms;
	bool greater = false;

	for (size_t i = 3; i < c->count; i++) {
		greater = sim_arg_is(&c->args[i], "GT");
		if (!greater) {
			sim_reply_error(c->reply, "ERR Unsupported option %.*s", (int)c->args[i].size, c->args[i].bytes);
			return;
		}
	}
	if (!sim_read_integer(c, 2, &ms))
		return;
	if (ms > INT64_MAX - now_ms(c)) {
		sim_reply_error(c->reply, "ERR invalid expire time in 'pexpire' command");
		return;
	}
	c->context->deadly += ms <= 0;
	ms += now_ms(c);
	bool is_done = s != NULL && (!greater || ms > s->key->expires_ms); /* nothing is greater than no TTL */
	if (is_done && ms <= now_ms(c))
		sim_key_delete(&c->context->keyspace, s);
	else if (is_done)
		sim_key_change(s)->expires_ms = ms;
	sim_reply_integer(c->reply, is_done);
}

COMMAND(push)
{
	struct sim_key *k = sim_key_for(c, SIM_LIST);
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

	if (sim_key_of(c, SIM_STRING, &k))
		reply_value(c, k != NULL ? k->members[0] : NULL);
}

COMMAND(getrange)
{
	const struct sim_key *k;
	int64_t from, to;

	if (!sim_read_integer(c, 2, &from) || !sim_read_integer(c, 3, &to) || !sim_key_of(c, SIM_STRING, &k))
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
	return sim_read_integer(c, options->ttl, &options->ms) &&
	       ((options->ms > 0 && options->ms <= INT64_MAX - now_ms(c)) ||
	        sim_reply_error(c->reply, "ERR invalid expire time in 'set' command"));
}

COMMAND(set)
{
	struct set_options options = {0};
	const struct sim_key *old;

	if (!read_set(c, &options) || (options.get && !sim_key_of(c, SIM_STRING, &old)))
		return;
	if (options.get && old != NULL) /* which is gone then */
		sim_reply_copy(c->reply, LSH_STRING, sim_member_value(old->members[0]), old->members[0]->value_size);
	else if (options.get || (options.only_new && find(c, 1) != NULL))
		sim_reply_nil(c->reply);
	else
		sim_reply_status(c->reply, "OK");
	if (options.only_new && find(c, 1) != NULL)
		return;
	struct sim_slot *s = sim_key_make(&c->context->keyspace, c->args[1].bytes, c->args[1].size, SIM_STRING);
	sim_member_set(s->key, "", 0, c->args[2].bytes, c->args[2].size);
	if (options.ttl != 0)
		s->key->expires_ms = now_ms(c) + options.ms;
}

/* ---- hashes ---- */

COMMAND(hget)
{
	const struct sim_member *m;

	if (sim_member_of(c, SIM_HASH, &m))
		reply_value(c, m);
}

COMMAND(hexists)
{
	const struct sim_member *m;

	if (sim_member_of(c, SIM_HASH, &m))
		sim_reply_integer(c->reply, m != NULL);
}

COMMAND(hgetall)
{
	const struct sim_key *k;

	if (!sim_key_of(c, SIM_HASH, &k))
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

	if (sim_key_of(c, SIM_HASH, &k))
		sim_reply_integer(c->reply, k != NULL ? (int64_t)k->count : 0);
}

COMMAND(hset)
{
	if (c->count % 2 != 0) {
		sim_reply_error(c->reply, "ERR wrong number of arguments for 'hset' command");
		return;
	}
	struct sim_key *k = sim_key_for(c, SIM_HASH);
	if (k == NULL)
		return;
	size_t before = k->count;
	for (size_t i = 2; i < c->count; i += 2)
		sim_member_set(k, c->args[i].bytes, c->args[i].size, c->args[i + 1].bytes, c->args[i + 1].size);
	sim_reply_integer(c->reply, (int64_t)(k->count - before));
}

COMMAND(hdel)
{
	sim_members_delete(c, SIM_HASH);
}
