/* What is said of the kinds of this folder, and answered: all have scripts of one form; see lib/lua/README.md. */
#include "kind/kind.h"

#include "base/mutation.h"
#include "lua/scripts.h"

/* With so many of its keys. */
static void
begin(struct lsh_script_call *command, enum lsh_verb verb, const struct lsh_request *r, unsigned keys)
{
	lsh_script_begin(command, lsh_mutated(r->kind->script[verb]), keys);
	for (unsigned i = 0; i < keys; i++)
		lsh_script_push_joined(command, r->key, r->kind->suffix[i]);
}

/* With all that its steps name. */
static void
begin_whole(struct lsh_script_call *command, enum lsh_verb verb, const struct lsh_request *r)
{
	begin(command, verb, r, r->kind->keys);
}

static void
push_token(struct lsh_script_call *command, const struct lsh_request *r)
{
	lsh_script_push(command, (struct lsh_arg){r->token, r->token_size});
}

static void
push_not_after(struct lsh_script_call *command, const struct lsh_request *r)
{
	lsh_script_push_number(command, LSH_MUTATES(LSH_ASKS_LIVE_FOREVER) ? INT64_C(1) << 52 : r->not_after_us);
}

static const char *
publish(const struct lsh_request *r)
{
	return r->sharded ? "SPUBLISH" : "PUBLISH";
}

/* "<claim> <fence> <alive> <exact> <PUBLISH|SPUBLISH> <channel prefix>" */
static void
push_config(struct lsh_script_call *command, const struct lsh_request *r)
{
	char claim[LSH_DECIMAL_SIZE];

	lsh_script_push_joined(command, lsh_arg_decimal(claim, r->claim_ms),
	                       r->sharded ? r->protocol->sharded : r->protocol->config);
}

/* The config; and behind it, without a queue, the fence that is wanted. */
static void
push_wanted(struct lsh_script_call *command, const struct lsh_request *r)
{
	push_config(command, r);
	if (r->fence > 0)
		lsh_script_push_number(command, r->fence);
}

static void
make_acquire(struct lsh_script_call *command, enum lsh_verb verb, const struct lsh_request *r)
{
	begin_whole(command, verb, r);
	if (verb == LSH_TRADE)
		lsh_script_push(command, lsh_arg_text(r->old));
	push_token(command, r);
	lsh_script_push_number(command, r->lease_ms);
	push_not_after(command, r);
	push_wanted(command, r);
}

/* To look after a fence is a command more. */
static void
push_fence_ms(struct lsh_script_call *command, const struct lsh_request *r, size_t n)
{
	bool keeps = false;

	for (size_t i = 0; i < n; i++)
		keeps |= r[i].keeps_fence;
	lsh_script_push(command, lsh_arg_text(keeps ? r->protocol->fence_ms : "0"));
}

/* And the depth, for people who look. */
static void
push_lease(struct lsh_script_call *command, const struct lsh_request *r)
{
	lsh_script_push_number(command, r->lease_ms);
	if ((r->kind->flags & LSH_SHARED) == 0)
		lsh_script_push_number(command, r->depth);
}

static void
make_renew(struct lsh_script_call *command, const struct lsh_request *r)
{
	begin(command, LSH_RENEW, r, 1);
	push_token(command, r);
	push_lease(command, r);
	push_fence_ms(command, r, 1);
}

/* Many: no key is named, as one that is not permitted would keep all from being renewed. */
static void
make_renewals(struct lsh_script_call *command, const struct lsh_request *r, size_t n)
{
	begin(command, LSH_RENEW, r, 0);
	push_fence_ms(command, r, n);
	for (size_t i = 0; i < n; i++) {
		lsh_script_push(command, r[i].key);
		push_token(command, &r[i]);
		push_lease(command, &r[i]);
	}
}

static void
make_heartbeat(struct lsh_script_call *command, const struct lsh_request *r, size_t n)
{
	begin_whole(command, LSH_HEARTBEAT, r);
	lsh_script_push(command, (struct lsh_arg){r->protocol->uuid, LSH_UUID_SIZE});
	lsh_script_push_number(command, r->lease_ms);
	for (size_t i = 0; i < n; i++)
		push_token(command, &r[i]);
	push_wanted(command, r);
}

void
lsh_kind_make(struct lsh_script_call *command, enum lsh_verb verb, const struct lsh_request *r, size_t n)
{
	switch (verb) {
	case LSH_ACQUIRE:
	case LSH_TRADE:
		make_acquire(command, verb, r);
		break;
	case LSH_RENEW:
		if (n == 1)
			make_renew(command, r);
		else
			make_renewals(command, r, n);
		break;
	case LSH_RELEASE:
		begin_whole(command, verb, r);
		push_token(command, r);
		push_config(command, r);
		if (r->watched)
			lsh_script_push(command, lsh_arg_text(publish(r)));
		break;
	case LSH_HEARTBEAT:
		make_heartbeat(command, r, n);
		break;
	case LSH_RAISE:
		begin(command, verb, r, 2);
		lsh_script_push_number(command, r->fence);
		lsh_script_push(command, lsh_arg_text(r->protocol->fence_ms));
		break;
	case LSH_PROCLAIM:
		begin(command, verb, r, 1);
		push_token(command, r);
		lsh_script_push(command, lsh_arg_text(r->value));
		lsh_script_push(command, lsh_arg_text(publish(r)));
		push_not_after(command, r);
		break;
	case LSH_LIMIT:
		begin_whole(command, verb, r);
		lsh_script_push_number(command, r->limit);
		lsh_script_push_number(command, r->lease_ms);
		push_not_after(command, r);
		push_config(command, r);
		break;
	case LSH_SIGNAL:
		begin_whole(command, verb, r);
		lsh_script_push_number(command, r->limit);
		push_config(command, r);
		break;
	case LSH_ARRIVE:
		begin_whole(command, verb, r);
		push_token(command, r);
		lsh_script_push_number(command, r->lease_ms);
		push_config(command, r);
		break;
	default:
		break;
	}
}

void
lsh_kind_make_one_key(struct lsh_script_call *command, const struct lsh_request *r)
{
	if (r->kind->let_go == NULL) {
		begin(command, LSH_RELEASE, r, 1);
		push_token(command, r);
		push_config(command, r);
		return;
	}
	command->args[0] = lsh_arg_text(r->kind->let_go);
	command->args[1] = r->key;
	command->args[2] = (struct lsh_arg){r->token, r->token_size};
	command->count = 3;
}

/* ---- answers ---- */

static bool
is_fence(const struct lsh_item *item)
{
	return item->type == LSH_INTEGER && item->integer > 0 && item->integer <= LSH_FENCE_MAX;
}

static bool
is_time(const struct lsh_item *item)
{
	return item->type == LSH_INTEGER && item->integer >= 0 && item->integer <= LSH_FENCE_MAX;
}

static bool
are_integers(const struct lsh_message *m, unsigned count)
{
	if (m->type != LSH_ARRAY || m->count != count)
		return false;
	for (unsigned i = 0; i < count; i++)
		if (m->item[i].type != LSH_INTEGER)
			return false;
	return true;
}

/* A fence; or {0, ttl, now} or {-1, 0, now}. */
static bool
read_acquire(struct lsh_verdict *v, const struct lsh_message *m)
{
	if (m->type != LSH_ARRAY) {
		*v = (struct lsh_verdict){.what = LSH_GRANTED, .fence = m->item[0].integer};
		return is_fence(&m->item[0]);
	}
	if (!are_integers(m, 3) || m->item[0].integer > 0 || !is_time(&m->item[2]))
		return false;
	*v = (struct lsh_verdict){.what = m->item[0].integer == 0 ? LSH_TAKEN : LSH_TOO_LATE,
	                          .ttl_ms = m->item[1].integer, .server_us = m->item[2].integer};
	return true;
}

/* {now, ttl, s...} */
static bool
read_heartbeat(struct lsh_verdict *v, const struct lsh_message *m, size_t i, size_t n)
{
	int64_t s;

	if (!are_integers(m, (unsigned)n + 2) || !is_time(&m->item[0]) || m->item[2 + i].integer > LSH_FENCE_MAX)
		return false;
	s = m->item[2 + i].integer;
	*v = (struct lsh_verdict){.what = s > 0 ? LSH_GRANTED : s == 0 ? LSH_QUEUED : LSH_GONE, .fence = s,
	                          .ttl_ms = m->item[1].integer, .server_us = m->item[0].integer};
	return true;
}

/* 1, 2 or 0; of many an array of these, with -1 for one that was refused. */
static bool
read_renewal(struct lsh_verdict *v, const struct lsh_message *m, size_t i, size_t n)
{
	int64_t x = m->item[n == 1 ? 0 : i].integer;

	if (n == 1 ? m->type != LSH_INTEGER : !are_integers(m, (unsigned)n))
		return false;
	*v = (struct lsh_verdict){.what = x > 0 ? LSH_KEPT : x == 0 ? LSH_GONE : LSH_BY_ITSELF, .had_no_ttl = x == 2};
	return x <= 2 && x >= (n == 1 ? 0 : -1);
}

/* 1: it is done; of a release 2, too: it had a place; 0, of what a token does: it has nothing. Of a signal: how many
 * came in. Of what has a not_after also the time, if that is past. */
static bool
read_done(struct lsh_verdict *v, enum lsh_verb verb, const struct lsh_message *m)
{
	int64_t x = m->item[0].integer, most = verb == LSH_RELEASE ? 2 : verb == LSH_SIGNAL ? LSH_NEED_COUNT_MAX : 1;

	*v = (struct lsh_verdict){.what = verb == LSH_RELEASE ? LSH_LET_GO : LSH_KEPT, .waited = x == 2};
	if (lsh_verb_has_end(verb) && x > 1) {
		*v = (struct lsh_verdict){.what = LSH_TOO_LATE, .server_us = x};
		most = LSH_FENCE_MAX;
	}
	if (x == 0)
		v->what = LSH_GONE;
	return m->type == LSH_INTEGER && x >= (verb == LSH_LIMIT) && x <= most;
}

bool
lsh_kind_read(struct lsh_verdict *v, enum lsh_verb verb, const struct lsh_message *m, size_t i, size_t n)
{
	switch (verb) {
	case LSH_TRADE:
		*v = (struct lsh_verdict){.what = LSH_GONE};
		if (m->type == LSH_INTEGER && m->item[0].integer == -1)
			return true;
		return read_acquire(v, m);
	case LSH_ACQUIRE:
		return read_acquire(v, m);
	case LSH_RENEW:
		return read_renewal(v, m, i, n);
	case LSH_HEARTBEAT:
		return read_heartbeat(v, m, i, n);
	case LSH_RAISE:
	case LSH_ARRIVE: /* how many have arrived */
		*v = (struct lsh_verdict){.what = LSH_KEPT, .fence = m->item[0].integer};
		return m->type == LSH_INTEGER && is_fence(&m->item[0]);
	default:
		return read_done(v, verb, m);
	}
}
