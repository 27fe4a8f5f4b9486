#include "lease/batch.h"

#include "base/mutation.h"
#include "lease/host.h"

#include <stdio.h>
#include <string.h>

/* ---- the call ---- */

static struct lsh_batch *
batch_of(const struct lsh_call *call)
{
	return call->owner;
}

int64_t
lsh_batch_patience(const struct lsh_batch *b, int64_t most)
{
	for (size_t i = 0; i < b->count; i++)
		if (b->verb == LSH_RENEW && !LSH_MUTATES(LSH_SILENCE_IS_BORNE) && most > b->requests[i].lease_ms * LSH_MS / 4)
			most = b->requests[i].lease_ms * LSH_MS / 4;
	return most;
}

static bool
build(struct lsh_call *call, struct lsh_script_call *command, int64_t now, int64_t *patience)
{
	struct lsh_batch *b = batch_of(call);

	(void)now;
	if (b->count == 0)
		return false;
	*patience = lsh_batch_patience(b, *patience);
	b->kind->make(command, b->verb, b->requests, b->count);
	return true;
}

static bool
is_answer(const struct lsh_call *call, const struct lsh_message *message)
{
	const struct lsh_batch *b = batch_of(call);
	struct lsh_verdict verdict;

	for (size_t i = 0; i < b->count; i++)
		if (!b->kind->read(&verdict, b->verb, message, i, b->count))
			return false;
	return true;
}

void
lsh_batch_tell(struct lsh_batch *b, bool (*tell)(struct lsh_batch *b, size_t i, const void *arg), const void *arg)
{
	size_t stay = 0;

	lsh_monitor_leave(&b->monitor);
	for (size_t i = 0; i < b->count; i++) {
		struct lsh_vote *v = b->votes[i];
		struct lsh_lease *lease = v->lease;
		bool stays;

		lsh_monitor_enter(&lease->resource->monitor);
		v->batch = NULL;
		stays = tell(b, i, arg);
		lsh_monitor_leave(&lease->resource->monitor);
		if (stays) {
			b->votes[stay] = v;
			b->requests[stay++].lease_ms = b->requests[i].lease_ms;
		} else {
			lsh_lease_unref(lease);
		}
	}
	lsh_monitor_enter(&b->monitor);
	b->count = stay;
}

void
lsh_batch_free(struct lsh_batch *b)
{
	atomic_store(&b->busy, false);
	lsh_node_kick(b->server->node); /* there may be more */
}

static bool
tell(struct lsh_batch *b, size_t i, const void *result)
{
	const struct lsh_result *r = result;
	struct lsh_vote *v = b->votes[i];
	struct lsh_lease *lease = v->lease;
	struct lsh_voted voted = {.verb = b->verb, .result = r, .call = &b->call, .lease_ms = b->requests[i].lease_ms};

	/* each is to follow a redirection by itself; or what is wrong may be wrong with one of them only */
	v->alone = r->what == LSH_CALL_REFUSED && (r->fault == LSH_FAULT_CLUSTER || (b->count > 1 && !r->again));
	if (r->what == LSH_CALL_ANSWERED) {
		b->kind->read(&voted.verdict, b->verb, r->message, i, b->count);
		v->alone = voted.verdict.what == LSH_BY_ITSELF;
	}
	if (v->alone && lease->state < LSH_ENDING)
		lsh_vote_due(v);
	else if (lease->state < LSH_ENDING || LSH_MUTATES(LSH_ANSWERS_FIT_ANY_HOLD))
		lsh_vote_tell(v, &voted);
	return false;
}

static void
done(struct lsh_call *call, const struct lsh_result *r)
{
	struct lsh_batch *b = batch_of(call);

	if (b->then != NULL) {
		b->done(b, r);
		return;
	}
	lsh_batch_tell(b, tell, r);
	lsh_batch_free(b);
}

static void
show_key(const struct lsh_call *call, unsigned n, char *out, size_t size)
{
	const struct lsh_batch *b = batch_of(call);

	snprintf(out, size, "%s", b->count == 1 && n == 1 ? b->requests[0].key.bytes : "");
}

static const struct lsh_call_ops ops = {
	.build = build, .is_answer = is_answer, .done = done, .show_key = show_key,
};

/* ---- filling ---- */

static void
send(struct lsh_batch *b)
{
	struct lsh_result r = {.what = LSH_CALL_UNSENT, .server = b->server, .home = b->server->serial};

	lsh_monitor_enter(&b->monitor);
	b->sent = true;
	if (!lsh_call_start(&b->call, NULL))
		done(&b->call, &r);
	else if (b->then != NULL)
		lsh_call_start(b->then, NULL);
	lsh_monitor_leave(&b->monitor);
}

bool
lsh_batches_send(struct lsh_host *host)
{
	struct lsh_batch *b = host->filling;

	host->filling = NULL;
	if (b != NULL)
		send(b);
	return b != NULL;
}

/* One that is empty, or NULL. */
static struct lsh_batch *
take(struct lsh_host *host, enum lsh_verb verb, const struct lsh_kind *kind)
{
	for (size_t i = 0; i < LSH_BATCHES; i++) {
		struct lsh_batch *b = &host->batches[i];

		if (atomic_exchange(&b->busy, true))
			continue;
		b->verb = verb;
		b->kind = kind;
		b->count = 0;
		b->sent = false;
		return b;
	}
	return NULL;
}

static bool
add(struct lsh_batch *b, struct lsh_vote *v, int64_t lease_ms)
{
	lsh_within(&b->monitor);
	if (b->count == LSH_BATCH || (b->verb == LSH_RENEW && b->count == b->kind->batch))
		return false;
	lsh_vote_request(v, &b->requests[b->count], b->tokens[b->count], lsh_now_ns());
	b->requests[b->count].lease_ms = lease_ms;
	b->votes[b->count++] = v;
	v->batch = b;
	lsh_lease_ask_for(v->lease, lease_ms);
	lsh_lease_retain(v->lease);
	return true;
}

bool
lsh_batch_renew(struct lsh_host *host, struct lsh_vote *v, int64_t lease_ms)
{
	const struct lsh_kind *kind = v->lease->resource->kind;

	if (host->filling == NULL)
		host->filling = take(host, LSH_RENEW, kind);
	return host->filling != NULL && host->filling->verb == LSH_RENEW && host->filling->kind == kind &&
	       add(host->filling, v, lease_ms);
}

bool
lsh_batch_heartbeat(struct lsh_host *host, struct lsh_vote *v)
{
	struct lsh_resource *r = v->lease->resource;
	struct lsh_batch *b = host->filling == NULL ? take(host, LSH_HEARTBEAT, r->kind) : NULL;
	if (b == NULL)
		return false;
	host->filling = b;
	add(b, v, v->lease->lease_ms);
	lsh_each_lease(lease, r) {
		struct lsh_vote *other = &lease->votes[0];

		if (other != v && lease->state == LSH_WAITING && other->due && other->batch == NULL && !other->alone &&
		    other->host == v->host && lease->lease_ms == v->lease->lease_ms && lease->claim_ms == v->lease->claim_ms &&
		    lease->sharded == v->lease->sharded)
			if (!add(b, other, lease->lease_ms))
				break;
	}
	if (LSH_MUTATES(LSH_SENT_WORDS_COUNT))
		for (size_t i = 0; i < b->count; i++)
			b->votes[i]->counted_from = lsh_now_ns();
	return true;
}

void
lsh_batch_withdraw(struct lsh_vote *v)
{
	struct lsh_batch *b = v->batch;
	size_t i = 0;
	bool sent;

	if (b == NULL)
		return;
	lsh_monitor_enter(&b->monitor);
	sent = b->sent;
	if (!sent) {
		while (b->votes[i] != v)
			i++;
		b->count--;
		b->votes[i] = b->votes[b->count];
		b->requests[i] = b->requests[b->count];
		b->requests[i].token = memcpy(b->tokens[i], b->tokens[b->count], LSH_WHO_SIZE);
	}
	lsh_monitor_leave(&b->monitor);
	if (sent)
		return;
	v->batch = NULL;
	lsh_lease_unref(v->lease); /* not the last: the caller has one */
}

/* ---- life ---- */

void
lsh_batches_init(struct lsh_host *host)
{
	for (size_t i = 0; i < LSH_BATCHES; i++) {
		struct lsh_batch *b = &host->batches[i];

		b->server = &host->server;
		lsh_monitor_init(&b->monitor);
		lsh_call_init(&b->call, &ops, &b->monitor, b);
		b->call.at = b->server;
		b->call.stays = true;
	}
}
