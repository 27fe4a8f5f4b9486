/* What the commands of a simulated server do with keys of any type, strings and hashes. See command_keys.h. */
#include "tests/sim/command_keys.h"

#include <string.h>

static int64_t
now_ms(const struct sim_context *context)
{
	return context->now_us / 1000;
}

static struct sim_slot *
find(const struct sim_context *context, const struct sim_arg *name)
{
	return sim_key_find(&context->keyspace, name->bytes, name->size, now_ms(context));
}

bool
sim_key_of(struct sim_context *context, const struct sim_arg *args, enum sim_type type, struct sim_slot **slot,
           struct sim_reply *reply)
{
	*slot = find(context, &args[1]);
	if (*slot == NULL || (*slot)->key->type == type)
		return true;
	sim_reply_error(reply, "WRONGTYPE Operation against a key holding the wrong kind of value");
	return false;
}

struct sim_key *
sim_key_for(struct sim_context *context, const struct sim_arg *args, enum sim_type type, struct sim_reply *reply)
{
	struct sim_slot *s;

	if (!sim_key_of(context, args, type, &s, reply))
		return NULL;
	if (s == NULL)
		s = sim_key_make(&context->keyspace, args[1].bytes, args[1].size, type);
	return sim_key_change(s);
}

void
sim_members_delete(struct sim_context *context, const struct sim_arg *args, size_t count, enum sim_type type,
                   struct sim_reply *reply)
{
	struct sim_slot *s;
	int64_t n = 0;

	if (!sim_key_of(context, args, type, &s, reply))
		return;
	for (size_t i = 2; s != NULL && i < count; i++) {
		size_t at = sim_member_find(s->key, args[i].bytes, args[i].size);

		if (at == s->key->count)
			continue;
		sim_member_remove(sim_key_change(s), at);
		n++;
		if (s->key->count > 0)
			continue;
		sim_key_delete(&context->keyspace, s);
		s = NULL;
	}
	sim_reply_integer(reply, n);
}

/* ---- of any type ---- */

void
sim_dbsize(struct sim_context *context, const struct sim_arg *args, size_t count, struct sim_reply *reply)
{
	(void)args, (void)count;
	sim_reply_integer(reply, (int64_t)sim_keyspace_size(&context->keyspace, now_ms(context)));
}

void
sim_flushall(struct sim_context *context, const struct sim_arg *args, size_t count, struct sim_reply *reply)
{
	(void)args, (void)count;
	sim_keyspace_clear(&context->keyspace);
	sim_reply_status(reply, "OK");
}

void
sim_del(struct sim_context *context, const struct sim_arg *args, size_t count, struct sim_reply *reply)
{
	int64_t n = 0;

	for (size_t i = 1; i < count; i++) {
		struct sim_slot *s = find(context, &args[i]);

		if (s == NULL)
			continue;
		sim_key_delete(&context->keyspace, s);
		n++;
	}
	sim_reply_integer(reply, n);
}

void
sim_exists(struct sim_context *context, const struct sim_arg *args, size_t count, struct sim_reply *reply)
{
	int64_t n = 0;

	for (size_t i = 1; i < count; i++)
		n += find(context, &args[i]) != NULL;
	sim_reply_integer(reply, n);
}

void
sim_pttl(struct sim_context *context, const struct sim_arg *args, size_t count, struct sim_reply *reply)
{
	const struct sim_slot *s = find(context, &args[1]);
	int64_t expires_ms = s != NULL ? s->key->expires_ms : 0;

	(void)count;
	sim_reply_integer(reply, s == NULL ? -2 : expires_ms == SIM_NO_TTL ? -1 : expires_ms - now_ms(context));
}

void
sim_persist(struct sim_context *context, const struct sim_arg *args, size_t count, struct sim_reply *reply)
{
	struct sim_slot *s = find(context, &args[1]);
	bool had_one = s != NULL && s->key->expires_ms != SIM_NO_TTL;

	(void)count;
	if (had_one)
		sim_key_change(s)->expires_ms = SIM_NO_TTL;
	sim_reply_integer(reply, had_one);
}

void
sim_pexpire(struct sim_context *context, const struct sim_arg *args, size_t count, struct sim_reply *reply)
{
	struct sim_slot *s = find(context, &args[1]);
	int64_t ms;
	bool greater = false;

	for (size_t i = 3; i < count; i++) {
		greater = sim_arg_is(&args[i], "GT");
		if (!greater) {
			sim_reply_error(reply, "ERR Unsupported option %.*s", (int)args[i].size, args[i].bytes);
			return;
		}
	}
	if (!sim_arg_integer(&args[2], &ms)) {
		sim_reply_error(reply, "ERR value is not an integer or out of range");
		return;
	}
	if (ms > INT64_MAX - now_ms(context)) {
		sim_reply_error(reply, "ERR invalid expire time in 'pexpire' command");
		return;
	}
	context->deadly += ms <= 0;
	ms += now_ms(context);
	if (s == NULL || (greater && ms <= s->key->expires_ms)) { /* nothing is greater than no TTL */
		sim_reply_integer(reply, 0);
		return;
	}
	if (ms <= now_ms(context))
		sim_key_delete(&context->keyspace, s);
	else
		sim_key_change(s)->expires_ms = ms;
	sim_reply_integer(reply, 1);
}

void
sim_push(struct sim_context *context, const struct sim_arg *args, size_t count, struct sim_reply *reply)
{
	struct sim_key *k = sim_key_for(context, args, SIM_LIST, reply);
	char index[SIM_NUMBER_SIZE];

	(void)count;
	if (k == NULL)
		return;
	/* Nobody here looks into a list: only its contents count, and they are a stranger's. */
	sim_member_set(k, index, sim_number_print(index, (double)k->count), args[2].bytes, args[2].size);
	sim_reply_integer(reply, (int64_t)k->count);
}

/* ---- strings ---- */

static bool
get(struct sim_context *context, const struct sim_arg *args, bool copied, struct sim_reply *reply)
{
	struct sim_slot *s;
	const struct sim_member *m;

	if (!sim_key_of(context, args, SIM_STRING, &s, reply))
		return false;
	if (s == NULL) {
		sim_reply_nil(reply);
		return true;
	}
	m = s->key->members[0];
	if (copied)
		sim_reply_copy(reply, LSH_STRING, sim_member_value(m), m->value_size);
	else
		sim_reply_add(reply, (struct lsh_item){LSH_STRING, 0, sim_member_value(m), m->value_size});
	return true;
}

void
sim_get(struct sim_context *context, const struct sim_arg *args, size_t count, struct sim_reply *reply)
{
	(void)count;
	get(context, args, false, reply);
}

void
sim_getrange(struct sim_context *context, const struct sim_arg *args, size_t count, struct sim_reply *reply)
{
	struct sim_slot *s;
	int64_t from, to, size;

	(void)count;
	if (!sim_arg_integer(&args[2], &from) || !sim_arg_integer(&args[3], &to)) {
		sim_reply_error(reply, "ERR value is not an integer or out of range");
		return;
	}
	if (!sim_key_of(context, args, SIM_STRING, &s, reply))
		return;
	size = s != NULL ? (int64_t)s->key->members[0]->value_size : 0;
	if (from < 0 && to < 0 && from > to)
		size = 0;
	from = from < 0 ? from + size : from;
	to = to < 0 ? to + size : to;
	from = from < 0 ? 0 : from;
	to = to < 0 ? 0 : to >= size ? size - 1 : to;
	if (size == 0 || from > to)
		sim_reply_copy(reply, LSH_STRING, "", 0);
	else
		sim_reply_copy(reply, LSH_STRING, sim_member_value(s->key->members[0]) + from, (size_t)(to - from + 1));
}

struct set_options {
	bool has_ttl, only_new, get;
	int64_t ms;
};

static bool
read_set(const struct sim_context *context, const struct sim_arg *args, size_t count, struct set_options *options,
         struct sim_reply *reply)
{
	const struct sim_arg *ttl = NULL;

	for (size_t i = 3; i < count; i++) {
		if (sim_arg_is(&args[i], "NX")) {
			options->only_new = true;
		} else if (sim_arg_is(&args[i], "GET")) {
			options->get = true;
		} else if (sim_arg_is(&args[i], "PX") && ttl == NULL && i + 1 < count) {
			ttl = &args[++i];
		} else {
			sim_reply_error(reply, "ERR syntax error");
			return false;
		}
	}
	if (ttl == NULL)
		return true;
	options->has_ttl = true;
	if (!sim_arg_integer(ttl, &options->ms)) {
		sim_reply_error(reply, "ERR value is not an integer or out of range");
		return false;
	}
	if (options->ms <= 0 || options->ms > INT64_MAX - now_ms(context)) {
		sim_reply_error(reply, "ERR invalid expire time in 'set' command");
		return false;
	}
	return true;
}

void
sim_set(struct sim_context *context, const struct sim_arg *args, size_t count, struct sim_reply *reply)
{
	struct set_options options = {0};
	struct sim_slot *s;

	if (!read_set(context, args, count, &options, reply) || (options.get && !get(context, args, true, reply)))
		return;
	s = options.only_new ? find(context, &args[1]) : NULL;
	if (s != NULL) {
		if (!options.get)
			sim_reply_nil(reply);
		return;
	}
	s = sim_key_make(&context->keyspace, args[1].bytes, args[1].size, SIM_STRING);
	sim_member_set(s->key, "", 0, args[2].bytes, args[2].size);
	if (options.has_ttl)
		s->key->expires_ms = now_ms(context) + options.ms;
	if (!options.get)
		sim_reply_status(reply, "OK");
}

/* ---- hashes ---- */

/* The field args[2]; NULL: there is none, or the reply is an error, which *failed says. */
static const struct sim_member *
field(struct sim_context *context, const struct sim_arg *args, bool *failed, struct sim_reply *reply)
{
	struct sim_slot *s;
	size_t at;

	*failed = !sim_key_of(context, args, SIM_HASH, &s, reply);
	if (*failed || s == NULL)
		return NULL;
	at = sim_member_find(s->key, args[2].bytes, args[2].size);
	return at < s->key->count ? s->key->members[at] : NULL;
}

void
sim_hget(struct sim_context *context, const struct sim_arg *args, size_t count, struct sim_reply *reply)
{
	bool failed;
	const struct sim_member *m = field(context, args, &failed, reply);

	(void)count;
	if (m != NULL)
		sim_reply_add(reply, (struct lsh_item){LSH_STRING, 0, sim_member_value(m), m->value_size});
	else if (!failed)
		sim_reply_nil(reply);
}

void
sim_hexists(struct sim_context *context, const struct sim_arg *args, size_t count, struct sim_reply *reply)
{
	bool failed;
	const struct sim_member *m = field(context, args, &failed, reply);

	(void)count;
	if (!failed)
		sim_reply_integer(reply, m != NULL);
}

void
sim_hgetall(struct sim_context *context, const struct sim_arg *args, size_t count, struct sim_reply *reply)
{
	struct sim_slot *s;

	(void)count;
	if (!sim_key_of(context, args, SIM_HASH, &s, reply))
		return;
	sim_reply_array(reply);
	for (size_t i = 0; s != NULL && i < s->key->count; i++) {
		const struct sim_member *m = s->key->members[i];

		sim_reply_add(reply, (struct lsh_item){LSH_STRING, 0, m->bytes, m->size});
		sim_reply_add(reply, (struct lsh_item){LSH_STRING, 0, sim_member_value(m), m->value_size});
	}
}

void
sim_hlen(struct sim_context *context, const struct sim_arg *args, size_t count, struct sim_reply *reply)
{
	struct sim_slot *s;

	(void)count;
	if (sim_key_of(context, args, SIM_HASH, &s, reply))
		sim_reply_integer(reply, s != NULL ? (int64_t)s->key->count : 0);
}

void
sim_hset(struct sim_context *context, const struct sim_arg *args, size_t count, struct sim_reply *reply)
{
	struct sim_key *k;
	size_t before;

	if (count % 2 != 0) {
		sim_reply_error(reply, "ERR wrong number of arguments for 'hset' command");
		return;
	}
	k = sim_key_for(context, args, SIM_HASH, reply);
	if (k == NULL)
		return;
	before = k->count;
	for (size_t i = 2; i < count; i += 2)
		sim_member_set(k, args[i].bytes, args[i].size, args[i + 1].bytes, args[i + 1].size);
	sim_reply_integer(reply, (int64_t)(k->count - before));
}

void
sim_hdel(struct sim_context *context, const struct sim_arg *args, size_t count, struct sim_reply *reply)
{
	sim_members_delete(context, args, count, SIM_HASH, reply);
}
