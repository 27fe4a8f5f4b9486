/* The plain lock: what a kind is for the library, in one file and its Lua (plain.lua, which says what is kept). */
#include "tests/kinds/plain.h"

#include "client/handle.h"

static const char *const steps[LSH_VERBS] = {
	[LSH_ACQUIRE] = "acquire", [LSH_RENEW] = "renew", [LSH_RELEASE] = "release", [LSH_HEARTBEAT] = "heartbeat",
};

extern const struct lsh_script lsh_script_plain;

static void
make(struct lsh_script_call *command, enum lsh_verb verb, const struct lsh_request *r, size_t n)
{
	char claim[LSH_DECIMAL_SIZE];

	lsh_script_begin(command, &lsh_script_plain, 2);
	lsh_script_push(command, r->key);
	lsh_script_push_joined(command, r->key, plain_kind.suffix[1]);
	lsh_script_push(command, lsh_arg_text(steps[verb]));
	lsh_script_push_joined(command, lsh_arg_decimal(claim, r->claim_ms), r->protocol->config);
	lsh_script_push_number(command, r->lease_ms);
	lsh_script_push_number(command, r->not_after_us);
	for (size_t i = 0; i < n; i++)
		lsh_script_push(command, (struct lsh_arg){r[i].token, r[i].token_size});
}

/* ---- answers ---- */

static bool
are_integers(const struct lsh_message *m, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (m->count != count || m->item[i].type != LSH_INTEGER)
			return false;
	return (m->type == LSH_ARRAY) == (count > 1);
}

static bool
read_acquire(struct lsh_verdict *v, const struct lsh_message *m)
{
	*v = (struct lsh_verdict){.what = LSH_GRANTED, .fence = m->item[0].integer};
	if (are_integers(m, 1))
		return v->fence > 0 && v->fence <= LSH_FENCE_MAX;
	if (!are_integers(m, 3))
		return false;
	*v = (struct lsh_verdict){.what = m->item[0].integer == 0 ? LSH_TAKEN : LSH_TOO_LATE,
	                          .ttl_ms = m->item[1].integer, .server_us = m->item[2].integer};
	return true;
}

static bool
read_heartbeat(struct lsh_verdict *v, const struct lsh_message *m, size_t i, size_t n)
{
	int64_t s = m->item[2 + i].integer;

	*v = (struct lsh_verdict){.what = s > 0 ? LSH_GRANTED : s == 0 ? LSH_QUEUED : LSH_GONE, .fence = s,
	                          .ttl_ms = m->item[1].integer, .server_us = m->item[0].integer};
	return are_integers(m, (unsigned)n + 2) && s <= LSH_FENCE_MAX;
}

static bool
read(struct lsh_verdict *v, enum lsh_verb verb, const struct lsh_message *m, size_t i, size_t n)
{
	int64_t x = m->item[0].integer;

	if (verb == LSH_ACQUIRE)
		return read_acquire(v, m);
	if (verb == LSH_HEARTBEAT)
		return read_heartbeat(v, m, i, n);
	*v = (struct lsh_verdict){.what = x == 0 ? LSH_GONE : verb == LSH_RENEW ? LSH_KEPT : LSH_LET_GO, .waited = x == 2};
	return are_integers(m, 1) && x >= 0 && x <= 2;
}

const struct lsh_kind plain_kind = {
	.name = "plain lock",
	.taken = "another owner has it",
	.was_taken = "other owners had it",
	.suffix = {"", ":queue"},
	.batch = 1,
	.inspect = &lsh_script_plain,
	.make = make,
	.read = read,
};

leash_status
plain_lock_new(leash_lock **out, leash_client *client, const char *name, const leash_lock_options *options,
               leash_error *err)
{
	return lsh_handle_new(out, client, name, &plain_kind, options, err);
}
