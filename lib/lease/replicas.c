/* Whatever server that is: where the renewal found the token and enough replicas acknowledged that, they have it. Only
 * an answer counts; without one there is another connection and another renewal. The WAIT goes out right behind the
 * renewal; but over a new connection only once one was done: the server may lack the script, and would then wait for
 * nothing. If it has lost it since, the renewal is sent once more, and a WAIT behind it. */
#include "lease/replicas.h"

#include "base/error.h"
#include "base/mutation.h"
#include "lease/resource.h"

#include <string.h>

static struct lsh_replicas *
replicas_of(const struct lsh_batch *b)
{
	return lsh_container(b->server, struct lsh_replicas, host.server);
}

/* ---- what is asked for; entered ---- */

/* How long one WAIT may take: there is to be time for another one. */
static int64_t
share_of(const struct lsh_lease *lease)
{
	int64_t most = lsh_lease_time_for_replicas(lease), share = lease->lease_ms * LSH_MS / 4;

	return most < share ? most : share;
}

/* Until when the replicas may take; 0: that is not worth while any more. One WAIT serves a batch, and has one timeout:
 * so a lease whose owner is about to give up does not count, as it would shorten that of the others. And it is short,
 * since the renewals of all others come behind it; it is said again. */
static int64_t
limit_of(const struct lsh_lease *lease, int64_t now)
{
	int64_t until = lsh_lease_pending_until(lease), limit = lsh_after(now, share_of(lease));

	if (lease->state == LSH_HELD || lease->trades) /* whose owner waits to its end */
		return limit;
	if (until - now <= lsh_lease_time_for_replicas(lease) / 3)
		return 0;
	return until < limit ? until : limit;
}

/* Can it share a script, and what goes before that, with the first of the batch? */
static bool
fits(const struct lsh_replicas *x, const struct lsh_vote *v, bool asks)
{
	return !v->alone && !x->alone && x->host.filling->call.asks_first == asks &&
	       (!lsh_router_is_cluster(x->host.server.router) || x->slot == v->lease->resource->slot);
}

bool
lsh_replicas_renew(struct lsh_replicas *x, struct lsh_vote *v)
{
	struct lsh_lease *lease = v->lease;
	int64_t now = lsh_now_ns(), limit = limit_of(lease, now);
	int64_t ms = lease->state == LSH_HELD ? lsh_lease_wants_ms(lease, now) : lease->lease_ms;
	bool is_first = x->host.filling == NULL, asks = lsh_resource_asks(lease->resource) != NULL;

	if (limit == 0 || ms == 0 || now >= lease->valid_until) {
		lease->wanted_at = 0;
		return true;
	}
	if ((!is_first && !fits(x, v, asks)) ||
	    !lsh_batch_renew(&x->host, v, lsh_lease_up_to_end_ms(lease, ms, now)))
		return false;
	if (is_first) {
		x->host.filling->call.asks_first = asks;
		x->slot = lease->resource->slot;
		x->alone = v->alone;
	}
	if (is_first || limit < x->limit)
		x->limit = limit;
	if (lease->wanted_at == 0)
		lease->wanted_at = now;
	return true;
}

/* ---- what became of it ---- */

/* What is told to each vote of a batch. */
struct outcome {
	const struct lsh_call *call;
	struct lsh_result result;  /* of the renewal, or of the WAIT: */
	unsigned acknowledged;     /* by so many replicas, */
	bool written;              /* and by the server's own disk */
};

static void
say_count(const struct lsh_replicas *x, const struct outcome *o, leash_error *why)
{
	const char *shown = lsh_host_shown(&x->host);

	if (x->safety.fsynced && !o->written)
		lsh_fail(why, LEASH_UNAVAILABLE, 0, "%.100s: it was not written to disk there in time", shown);
	else
		lsh_fail(why, LEASH_UNAVAILABLE, 0, "%.100s: %u of %u replicas %s in time", shown, o->acknowledged,
		         x->safety.min_replicas, x->safety.fsynced ? "wrote it to disk" : "acknowledged it");
}

/* The replicas that have it are too few. */
static void
too_few(const struct lsh_replicas *x, const struct outcome *o, struct lsh_lease *lease)
{
	const struct lsh_lease_events *events = lsh_events_of(lease);
	int64_t now = lsh_now_ns();
	leash_error why;

	if (lsh_lease_is_over(lease, now))
		return;
	say_count(x, o, &why);
	if (lease->state == LSH_PENDING)
		events->waits(lease, &why, LSH_NEVER);
	else if (lease->extend_ms > 0)
		events->not_renewed(lease, &why, false);
	/* others in the batch had less time */
	if (lease->state == LSH_PENDING || now - lease->wanted_at < share_of(lease) / 4 * 3) {
		lsh_vote_due(&lease->votes[0]);
		return;
	}
	if (x->safety.fsynced && !o->written)
		events->at_risk(lease, 0, 0, "the renewal was not written to disk in time: retrying");
	else
		events->at_risk(lease, o->acknowledged, x->safety.min_replicas,
		                x->safety.fsynced ? "replicas wrote the renewal to disk: retrying"
		                                  : "replicas acknowledged the renewal: retrying");
	lsh_lease_not_renewed(lease, NULL, lsh_host_is_up(&x->host));
}

/* Is it still to be acknowledged here? If it has moved meanwhile, these replicas are no more those that it would be
 * found at. */
static bool
is_here(const struct lsh_replicas *x, struct lsh_vote *v)
{
	if (v->lease->state >= LSH_ENDING)
		return false;
	if (lsh_vote_keeper(v) == &x->host)
		return true;
	lsh_vote_due(v);
	return false;
}

static void
tell(struct lsh_batch *b, size_t i, const struct outcome *o, enum lsh_standing what)
{
	struct lsh_vote *v = b->votes[i];
	struct lsh_result r = o->result;
	struct lsh_voted voted =
		{.verb = LSH_RENEW, .result = &r, .verdict.what = what, .call = o->call, .lease_ms = b->requests[i].lease_ms};

	r.sent = LSH_MUTATES(LSH_ACKNOWLEDGMENTS_COUNT) ? lsh_now_ns() : b->call.sent;
	r.home = v->host->server.serial;
	lsh_vote_tell(v, &voted);
}

static bool
tell_of_wait(struct lsh_batch *b, size_t i, const void *outcome)
{
	const struct outcome *o = outcome;
	const struct lsh_replicas *x = replicas_of(b);
	struct lsh_vote *v = b->votes[i];

	if (!is_here(x, v))
		return false;
	lsh_resource_ask_at(v->lease->resource, NULL);
	if (o->result.what == LSH_CALL_ANSWERED && !LSH_MUTATES(LSH_REPLICAS_MAY_LACK_IT) &&
	    (o->acknowledged < x->safety.min_replicas || (x->safety.fsynced && !o->written)))
		too_few(x, o, v->lease);
	else
		tell(b, i, o, LSH_KEPT);
	return false;
}

/* True: it is kept, and waits for the replicas. */
static bool
tell_of_renewal(struct lsh_batch *b, size_t i, const void *outcome)
{
	const struct outcome *o = outcome;
	const struct lsh_result *r = &o->result;
	const struct lsh_replicas *x = replicas_of(b);
	struct lsh_vote *v = b->votes[i];
	struct lsh_lease *lease = v->lease;
	struct lsh_verdict verdict = {.what = LSH_GONE};

	if (!is_here(x, v))
		return false;
	if (r->what == LSH_CALL_ANSWERED)
		b->kind->read(&verdict, LSH_RENEW, r->message, i, b->count);
	if (verdict.had_no_ttl)
		lsh_lease_warn_of_no_ttl(lease, &x->host);
	if (verdict.what == LSH_KEPT && lease->state == LSH_PENDING) { /* that long the replicas have, too */
		lsh_lease_prolong(lease, r->sent, b->requests[i].lease_ms);
		lsh_lease_arm(lease, lease->valid_until, 0);
	}
	v->alone = verdict.what == LSH_BY_ITSELF || (r->fault == LSH_FAULT_MISMATCH && b->count > 1);
	if (verdict.what == LSH_KEPT)
		return true;
	if (r->fault == LSH_FAULT_CLUSTER && r->again)
		lsh_resource_settle(lease->resource);
	lsh_resource_ask_at(lease->resource, r->asks);
	if (v->alone || (r->fault == LSH_FAULT_CLUSTER && r->again))
		lsh_vote_due(v);
	else
		tell(b, i, o, verdict.what);
	return false;
}

/* ---- the calls ---- */

/* Why the WAIT was refused. */
static void
explain_wait(const struct lsh_replicas *x, const struct lsh_result *r, bool off, leash_error *why)
{
	const char *command = x->safety.fsynced ? "WAITAOF" : "WAIT", *shown = lsh_host_shown(&x->host);
	char says[LSH_FAULT_TEXT];

	if (off) {
		lsh_fail(why, LEASH_UNSUPPORTED, 0,
		         "%.60s: `fsynced` needs appendonly, which is off there: nothing is written to disk", shown);
	} else if (r->fault == LSH_FAULT_NOSCRIPT) {
		lsh_fail(why, LEASH_UNSUPPORTED, 0, "%.60s: the server has no %s%s", shown, command,
		         x->safety.fsynced ? ", which `fsynced` needs: Redis has it from 7.2 on" : "");
	} else {
		lsh_fault_say(says, r->words, command, NULL);
		lsh_fail(why, lsh_fault_status(r->fault), 0, "%.60s: %s", shown, says);
	}
}

/* Why it was refused: the renewal, or the WAIT. */
static void
explain(struct lsh_replicas *x, const struct lsh_call *call, const struct lsh_result *r, leash_error *why)
{
	bool waits = call == &x->wait, off = waits && x->safety.fsynced && strstr(r->words, "appendonly") != NULL;

	if (waits)
		explain_wait(x, r, off, why);
	else
		lsh_call_explain(call, r, why);
	if (r->fault == LSH_FAULT_CLUSTER)
		why->status = LEASH_UNAVAILABLE;
}

static void
renewal_done(struct lsh_batch *b, const struct lsh_result *r)
{
	struct lsh_replicas *x = replicas_of(b);
	struct outcome o = {.call = &b->call, .result = *r};
	leash_error why;

	if (r->what == LSH_CALL_REFUSED) {
		explain(x, &b->call, r, &why);
		o.result.why = &why;
	}
	lsh_batch_tell(b, tell_of_renewal, &o);
	if (b->count > 0)
		x->ready = r->epoch;
	x->renewed = x->wait.out || (b->count > 0 && lsh_call_start(&x->wait, NULL));
	if (x->renewed)
		return;
	o.result = (struct lsh_result){.what = LSH_CALL_UNSENT, .server = b->server};
	lsh_batch_tell(b, tell_of_wait, &o);
	lsh_batch_free(b);
}

/* Ask how many have what was sent before. The answer has a quarter of the time to come back. */
static bool
build_wait(struct lsh_call *call, struct lsh_script_call *command, int64_t now, int64_t *patience)
{
	const struct lsh_batch *b = call->owner;
	const struct lsh_replicas *x = replicas_of(b);
	int64_t ms = (x->limit - now) / 4 * 3 / LSH_MS;

	if ((call->ticket.epoch != b->call.ticket.epoch || (b->call.out && x->ready != call->ticket.epoch)) &&
	    !LSH_MUTATES(LSH_WAITS_GO_ANYWHERE))
		return false; /* over this connection nothing was renewed, perhaps: it would speak of nothing */
	if (ms < 1)
		ms = 1; /* 0 is for ever */
	lsh_script_push(command, x->safety.fsynced ? LSH_ARG("WAITAOF") : LSH_ARG("WAIT"));
	if (x->safety.fsynced)
		lsh_script_push_number(command, 1);
	lsh_script_push_number(command, x->safety.min_replicas);
	lsh_script_push_number(command, ms);
	*patience = lsh_after(ms * LSH_MS, lsh_batch_patience(b, *patience));
	return true;
}

static bool
is_answer_to_wait(const struct lsh_call *call, const struct lsh_message *m)
{
	if (!replicas_of(call->owner)->safety.fsynced)
		return m->type == LSH_INTEGER && m->item[0].integer >= 0;
	return m->type == LSH_ARRAY && m->count == 2 && m->item[0].type == LSH_INTEGER &&
	       m->item[1].type == LSH_INTEGER && m->item[0].integer >= 0 && m->item[1].integer >= 0;
}

static void
wait_done(struct lsh_call *call, const struct lsh_result *r)
{
	struct lsh_batch *b = call->owner;
	struct lsh_replicas *x = replicas_of(b);
	struct outcome o = {.call = call, .result = *r};
	leash_error why;

	if (!x->renewed)
		return; /* the renewal was sent once more, or was not answered either: what comes of that counts */
	x->renewed = false;
	if (r->what == LSH_CALL_ANSWERED) {
		o.acknowledged = (unsigned)r->message->item[x->safety.fsynced].integer;
		o.written = x->safety.fsynced && r->message->item[0].integer > 0;
	} else if (r->what == LSH_CALL_REFUSED) {
		explain(x, call, r, &why);
		o.result.why = &why;
	}
	lsh_batch_tell(b, tell_of_wait, &o);
	lsh_batch_free(b);
}

static const struct lsh_call_ops wait_ops = {
	.build = build_wait, .is_answer = is_answer_to_wait, .done = wait_done,
};

void
lsh_replicas_init(struct lsh_replicas *x, const struct lsh_safety *safety)
{
	struct lsh_batch *b = &x->host.batches[0];

	x->host.waits = true;
	x->safety = *safety;
	b->then = &x->wait;
	b->done = renewal_done;
	lsh_call_init(&x->wait, &wait_ops, &b->monitor, b);
	x->wait.at = &x->host.server;
	x->wait.stays = true;
	atomic_store(&x->host.batches[1].busy, true); /* one at a time: what comes meanwhile shares the next WAIT */
}
