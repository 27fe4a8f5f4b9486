/* WAIT says how many replicas have all that its own connection wrote, and blocks what comes behind it. So it needs a
 * connection that carries nothing else, and a thread that has the time: one for each host and for each wish (so many
 * replicas, on disk or not), made when the first lease asks for it.
 *
 *   IDLE --due--> RENEWING: the leases of a batch are renewed, which says whether the token has the lock, and writes
 *                 where it has
 *   RENEWING --answered--> WAITING: one WAIT for all of them --answered, or not--> each is told; IDLE
 *
 * Whatever server that is: where the renewal found the token and enough replicas acknowledged that, they have it. (On a
 * new connection the WAIT goes out only once a renewal was done: the server may lack the script, and would then wait
 * for nothing.) Only an answer counts; without one there is another connection and another renewal.
 *
 * Making one takes memory, descriptors and threads, and so is done by a thread that has entered nothing: a caller
 * before it asks for the lock, or the thread of the host that a lock has moved to. Two may do it at once; one of theirs
 * is thrown away. */
#include "lease/replicas.h"

#include "base/error.h"
#include "base/memory.h"
#include "lease/host.h"
#include "lease/resource.h"
#include "watchdog/pace.h"

#include <errno.h>
#include <string.h>

/* What became of a renewal. */
struct outcome {
	bool counted;              /* the WAIT was answered: */
	unsigned acknowledged;
	bool written;
	leash_error trouble;       /* else, why not; */
	bool is_final;             /* it does not pass by itself */
	const char *event;         /* for a lease at risk; NULL: it is at none */
	bool may_ask;              /* before there is a new connection */
};

struct lsh_replicas {
	struct lsh_server server;  /* its own connection; the number is that of its host */
	struct lsh_replicas *next; /* of the host */
	struct lsh_host *host;
	unsigned min_replicas;
	bool fsynced;
	struct lsh_list due;       /* leases; host->mutex guards it */
	struct lsh_batch batch;    /* busy: RENEWING or WAITING; then the rest belongs to whoever tells the answer. A vote
	                              that is done with is NULL */
	struct lsh_call wait;      /* the batch's monitor guards it, and `waits` */
	bool waits;                /* the WAIT is out */
	bool renewed;              /* the renewals are answered, */
	bool refused;              /* and none as wanted: the WAIT says nothing then */
	struct outcome outcome;
	uint64_t ready;            /* the connection over which a renewal was done: its WAIT can go out with the next
	                              ones */
	int64_t limit;             /* until when the replicas may take */
};

static bool
is_live(const struct lsh_lease *lease)
{
	return lease->state == LSH_PENDING || lease->state == LSH_HELD;
}

/* ---- leases; entered ---- */

static struct lsh_replicas *
find(struct lsh_host *host, const struct lsh_safety *safety)
{
	struct lsh_replicas *x;

	pthread_mutex_lock(&host->mutex);
	for (x = host->replicas; x != NULL; x = x->next)
		if (x->min_replicas == safety->min_replicas && x->fsynced == safety->fsynced)
			break;
	pthread_mutex_unlock(&host->mutex);
	return x;
}

static void
due_at(struct lsh_lease *lease, struct lsh_host *host, bool asking)
{
	struct lsh_replicas *x;

	if (lease->wanted_at == 0)
		lease->wanted_at = lsh_now_ns();
	lsh_host_keep(&lease->replicas->at, host);
	lease->replicas->asking = asking;
	if (lease->replicas->due)
		return; /* and where that is not at this host, it is sent on */
	x = find(host, &lease->safety);
	if (x == NULL) {
		lsh_vote_due(&lease->votes[0]); /* whose thread has entered nothing, and makes one */
		return;
	}
	lease->replicas->due = true;
	lsh_lease_retain(lease);
	pthread_mutex_lock(&host->mutex);
	lsh_list_append(&x->due, &lease->replicas->link);
	pthread_mutex_unlock(&host->mutex);
	lsh_node_kick(x->server.node);
}

void
lsh_replicas_due(struct lsh_lease *lease)
{
	due_at(lease, lsh_resource_host(lease->resource), false);
}

void
lsh_replicas_begin(struct lsh_lease *lease, int64_t fence, int64_t now)
{
	lease->replicas->fence = fence;
	lease->replicas->pending_until = lsh_after(now, lsh_lease_time_for_replicas(lease));
	lsh_host_keep(&lease->replicas->at, lsh_resource_host(lease->resource));
	lsh_events_of(lease)->pending(lease, lease->replicas->pending_until);
	lsh_lease_arm(lease, lease->valid_until, 0);
	lsh_replicas_due(lease);
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
 * so a lease whose owner is about to give up does not count, as it would shorten that of the others. */
static int64_t
limit_of(const struct lsh_lease *lease, int64_t now)
{
	int64_t until = lease->replicas->pending_until;

	if (lease->state == LSH_HELD)
		return lsh_after(now, share_of(lease));
	return until - now > lsh_lease_time_for_replicas(lease) / 3 ? until : 0;
}

/* For how long; 0: it is not to be sent. */
static int64_t
lease_for(struct lsh_lease *lease, int64_t now)
{
	int64_t ms = lease->state == LSH_HELD ? lsh_lease_wants_ms(lease, now) : lease->lease_ms;

	return ms > 0 ? lsh_lease_up_to_end_ms(lease, ms, now) : 0;
}

/* Is this where the lease is to be acknowledged? */
static bool
is_mine(const struct lsh_replicas *x, const struct lsh_lease *lease)
{
	return is_live(lease) && lsh_lease_is_acknowledged(lease) && lease->replicas->at == x->host &&
	       lease->safety.min_replicas == x->min_replicas && lease->safety.fsynced == x->fsynced &&
	       (lease->replicas->asking || lsh_resource_host(lease->resource) == x->host);
}

/* Can it share a script, and what goes before that, with the first of the batch? */
static bool
fits(const struct lsh_replicas *x, const struct lsh_lease *lease)
{
	const struct lsh_batch *b = &x->batch;
	const struct lsh_resource *r = lease->resource;
	const struct lsh_vote *first = b->votes[0];

	return !lease->votes[0].alone && !first->alone && b->kind == r->kind &&
	       b->call.asks_first == lease->replicas->asking &&
	       (!lsh_router_is_cluster(r->backend->router) || first->lease->resource->slot == r->slot);
}

/* Add it to the batch. False: it does not fit, and comes next. */
static bool
add(struct lsh_replicas *x, struct lsh_lease *lease, int64_t now)
{
	int64_t limit = limit_of(lease, now), lease_ms = lease_for(lease, now);

	if (limit == 0 || lease_ms <= 0 || now >= lease->valid_until) {
		lease->wanted_at = 0;
		return true;
	}
	if (x->batch.count == 0) {
		lsh_batch_begin(&x->batch, LSH_RENEW, lease->resource->kind);
		x->batch.call.asks_first = lease->replicas->asking;
		x->limit = LSH_NEVER;
	} else if (!fits(x, lease)) {
		return false;
	}
	if (!lsh_batch_add(&x->batch, &lease->votes[0], lease_ms))
		return false;
	if (limit < x->limit)
		x->limit = limit;
	return true;
}

/* ---- sending; its own thread ---- */

/* Visit the leases that are due, in order; which are not, any more. False from `visit`: this one is due still, and was
 * the last. Entered. */
static void
visit_due(struct lsh_replicas *x, bool (*visit)(struct lsh_replicas *x, struct lsh_lease *lease))
{
	bool goes_on = true;

	while (goes_on) {
		struct lsh_list *first;
		struct lsh_lease *lease;

		pthread_mutex_lock(&x->host->mutex);
		first = lsh_list_first(&x->due);
		if (first != NULL)
			lsh_list_remove(first);
		pthread_mutex_unlock(&x->host->mutex);
		if (first == NULL)
			return;
		lease = lsh_container(first, struct lsh_acknowledged, link)->lease;
		lsh_monitor_enter(&lease->resource->monitor);
		lease->replicas->due = false;
		goes_on = !is_live(lease) || visit(x, lease);
		if (!goes_on)
			lsh_replicas_due(lease);
		lsh_monitor_leave(&lease->resource->monitor);
		lsh_lease_unref(lease);
	}
}

static bool
take(struct lsh_replicas *x, struct lsh_lease *lease)
{
	if (is_mine(x, lease))
		return add(x, lease, lsh_now_ns());
	lsh_replicas_due(lease); /* it has moved */
	return true;
}

/* There is no connection. */
static void
note_node(struct lsh_replicas *x)
{
	lsh_node_trouble(x->server.node, &x->outcome.trouble);
}

static void settle(struct lsh_replicas *x);

static void
send(struct lsh_replicas *x)
{
	struct outcome *o = &x->outcome;
	bool started;

	x->waits = x->renewed = x->refused = false;
	*o = (struct outcome){.event = "a renewal was not answered: trying again"};
	lsh_monitor_enter(&x->batch.monitor);
	started = lsh_call_start(&x->batch.call, NULL);
	if (started && x->ready == x->batch.call.ticket.epoch)
		x->waits = lsh_call_start(&x->wait, NULL);
	lsh_monitor_leave(&x->batch.monitor);
	if (started)
		return;
	note_node(x);
	if (lsh_pipeline_epoch(lsh_node_pipeline(x->server.node)) == 0 && o->trouble.status == LEASH_UNAVAILABLE &&
	    o->trouble.sys_errno == 0) {
		o->trouble.text[0] = '\0'; /* it is being made for the first time: nothing was lost */
		o->event = NULL;
	}
	settle(x);
}

static void
work(void *ctx)
{
	struct lsh_replicas *x = ctx;

	lsh_call_resume(&x->server);
	while (!atomic_load(&x->host->backend->closing) && !atomic_exchange(&x->batch.busy, true)) {
		x->batch.count = 0;
		visit_due(x, take);
		if (x->batch.count == 0) {
			atomic_store(&x->batch.busy, false);
			return;
		}
		send(x);
	}
}

/* ---- what became of it: told to each lease ---- */

static void
failed(struct lsh_lease *lease, const struct outcome *o)
{
	const struct lsh_lease_events *events = lsh_events_of(lease);

	if (lsh_lease_is_over(lease, lsh_now_ns()))
		return;
	if (lease->state == LSH_PENDING && o->is_final) {
		events->failed(lease, &o->trouble);
		return;
	}
	if (lease->state == LSH_PENDING && o->trouble.text[0] != '\0')
		events->waits(lease, &o->trouble, LSH_NEVER);
	if (lease->state == LSH_HELD && o->event != NULL && lease->extend_ms > 0)
		events->not_renewed(lease, &o->trouble, o->is_final);
	lsh_lease_not_renewed(lease, lease->state == LSH_HELD ? o->event : NULL, o->may_ask);
}

/* Enough replicas have it, as it was after the renewal that was sent at `sent`. */
static void
acknowledged(struct lsh_lease *lease, int64_t sent, int64_t lease_ms)
{
	int64_t now = lsh_now_ns(), valid_until = lsh_pace_valid_until(sent, lease_ms * LSH_MS);

	if (now >= lease->valid_until || now >= valid_until) {
		lsh_lease_lose(lease, "no renewal succeeded before its lease ran out");
		return;
	}
	lease->votes[0].alone = false;
	lease->wanted_at = 0;
	if (lease->state == LSH_PENDING) {
		lease->failures = 0;
		lease->full |= lease_ms >= lease->lease_ms;
		/* not what the server alone has said since */
		lease->valid_until = valid_until < lease->ends_at ? valid_until : lease->ends_at;
		lease->span_ms = (int32_t)lease_ms;
		lsh_lease_held(lease, lease->replicas->fence, sent);
		return;
	}
	lsh_lease_prolong(lease, sent, lease_ms);
	lsh_lease_renewed(lease, sent, lease_ms);
	lsh_events_of(lease)->at_risk(lease, 0, 0, NULL);
}

static void
say_count(const struct lsh_replicas *x, leash_error *why)
{
	const char *shown = lsh_host_shown(x->host);

	if (x->fsynced && !x->outcome.written)
		lsh_fail(why, LEASH_UNAVAILABLE, 0, "%.100s: it was not written to disk there in time", shown);
	else
		lsh_fail(why, LEASH_UNAVAILABLE, 0, "%.100s: %u of %u replicas %s in time", shown, x->outcome.acknowledged,
		         x->min_replicas, x->fsynced ? "wrote it to disk" : "acknowledged it");
}

/* The replicas that have it are too few. */
static void
too_few(struct lsh_replicas *x, struct lsh_lease *lease)
{
	const struct lsh_lease_events *events = lsh_events_of(lease);
	int64_t now = lsh_now_ns();
	leash_error why;

	if (lsh_lease_is_over(lease, now))
		return;
	say_count(x, &why);
	if (lease->state == LSH_PENDING)
		events->waits(lease, &why, LSH_NEVER);
	else if (lease->extend_ms > 0)
		events->not_renewed(lease, &why, false);
	/* others in the batch had less time */
	if (lease->state == LSH_PENDING || now - lease->wanted_at < share_of(lease) / 4 * 3) {
		due_at(lease, x->host, lease->replicas->asking);
		return;
	}
	if (x->fsynced && !x->outcome.written)
		events->at_risk(lease, 0, 0, "the renewal was not written to disk in time: trying again");
	else
		events->at_risk(lease, x->outcome.acknowledged, x->min_replicas,
		                x->fsynced ? "replicas wrote the renewal to disk: trying again"
		                           : "replicas acknowledged the renewal: trying again");
	lsh_lease_not_renewed(lease, NULL, x->outcome.may_ask);
}

/* Tell each lease of the batch that is not done with. It is, if `tell` says false, or it has ended. False: all are.
 * Nothing entered. */
static bool
tell_each(struct lsh_replicas *x,
          bool (*tell)(struct lsh_replicas *x, size_t i, struct lsh_lease *lease, const void *arg), const void *arg)
{
	bool any = false;

	for (size_t i = 0; i < x->batch.count; i++) {
		struct lsh_lease *lease = x->batch.votes[i] != NULL ? x->batch.votes[i]->lease : NULL;
		bool stays;

		if (lease == NULL)
			continue;
		lsh_monitor_enter(&lease->resource->monitor);
		stays = is_live(lease) && tell(x, i, lease, arg);
		lsh_monitor_leave(&lease->resource->monitor);
		any |= stays;
		if (!stays) {
			x->batch.votes[i] = NULL;
			lsh_lease_unref(lease);
		}
	}
	return any;
}

static bool
tell_outcome(struct lsh_replicas *x, size_t i, struct lsh_lease *lease, const void *arg)
{
	const struct outcome *o = &x->outcome;

	(void)arg;
	/* the lock may have moved meanwhile: these replicas are no more those that it would be found at */
	if (!is_mine(x, lease))
		lsh_replicas_due(lease);
	else if (!o->counted)
		failed(lease, o);
	else if (o->acknowledged >= x->min_replicas && (o->written || !x->fsynced))
		acknowledged(lease, x->batch.call.sent, x->batch.requests[i].lease_ms);
	else
		too_few(x, lease);
	return false;
}

/* The batch is answered, as far as it is going to be. Nothing entered. */
static void
settle(struct lsh_replicas *x)
{
	/* if there is to be a first connection soon: see whether there is; else all is due as soon as there is a
	 * connection */
	x->outcome.may_ask = x->outcome.event == NULL || lsh_node_is_up(x->server.node);
	tell_each(x, tell_outcome, NULL);
	atomic_store(&x->batch.busy, false);
	lsh_node_kick(x->server.node); /* there may be more */
}

/* ---- the calls ---- */

static struct lsh_replicas *
replicas_of(const struct lsh_call *call)
{
	return lsh_container(call->owner, struct lsh_replicas, batch);
}

/* The server says whether it has the lock. False: that settles it. */
static bool
is_renewed(struct lsh_replicas *x, size_t i, struct lsh_lease *lease, const void *message)
{
	const struct lsh_batch *b = &x->batch;
	struct lsh_verdict verdict;

	b->kind->read(&verdict, LSH_RENEW, message, i, b->count);
	if (verdict.had_no_ttl)
		lsh_lease_warn_of_no_ttl(lease, x->host);
	if (verdict.what == LSH_BY_ITSELF) { /* it was refused among many */
		lease->votes[0].alone = true;
		due_at(lease, x->host, lease->replicas->asking);
	} else if (verdict.what != LSH_KEPT) {
		lsh_lease_lose(lease, "the server did not have it any more");
	} else if (lease->state == LSH_PENDING) {
		lsh_lease_prolong(lease, b->call.sent, b->requests[i].lease_ms);
		lsh_lease_arm(lease, lease->valid_until, 0);
	}
	return verdict.what == LSH_KEPT;
}

/* Its key holds something else, or is elsewhere. */
static bool
not_there(struct lsh_replicas *x, size_t i, struct lsh_lease *lease, const void *result)
{
	const struct lsh_result *r = result;

	(void)x, (void)i;
	if (r->fault == LSH_FAULT_MISMATCH) {
		lsh_lease_lose(lease, "its key holds something else");
		return false;
	}
	lsh_resource_settle(lease->resource);
	due_at(lease, r->asks != NULL ? lsh_host_of(r->asks) : lsh_resource_host(lease->resource), r->asks != NULL);
	return false;
}

/* Why the WAIT was refused. */
static void
explain_wait(const struct lsh_replicas *x, const struct lsh_result *r, bool off, leash_error *why)
{
	const char *command = x->fsynced ? "WAITAOF" : "WAIT", *shown = lsh_host_shown(x->host);
	char says[LSH_FAULT_TEXT];

	if (off) {
		lsh_fail(why, LEASH_UNSUPPORTED, 0,
		         "%.60s: its appendonly is off, so nothing there is written to disk as `fsynced` asks", shown);
	} else if (r->fault == LSH_FAULT_NOSCRIPT) {
		lsh_fail(why, LEASH_UNSUPPORTED, 0, "%.60s: the server has no %s%s", shown, command,
		         x->fsynced ? ", which `fsynced` needs: Redis has it from 7.2 on" : "");
	} else {
		lsh_fault_say(says, r->words, command, NULL);
		lsh_fail(why, lsh_fault_status(r->fault), 0, "%.60s: %s", shown, says);
	}
}

/* Why it came to nothing: of the renewal, or of the WAIT. */
static void
note_trouble(struct lsh_replicas *x, const struct lsh_call *call, const struct lsh_result *r)
{
	struct outcome *o = &x->outcome;
	bool waits = call == &x->wait, off;

	lsh_call_explain(call, r, &o->trouble);
	if (r->what != LSH_CALL_REFUSED)
		return;
	off = waits && x->fsynced && strstr(r->words, "appendonly") != NULL;
	o->event = "a renewal was refused: trying again";
	if (waits)
		explain_wait(x, r, off, &o->trouble);
	/* a master that became a replica ends each WAIT with a word of its own */
	if (r->fault == LSH_FAULT_NOT_HERE || r->fault == LSH_FAULT_UNKNOWN || r->fault == LSH_FAULT_CLUSTER)
		o->trouble.status = off ? LEASH_UNSUPPORTED : LEASH_UNAVAILABLE;
	if (r->fault == LSH_FAULT_UNKNOWN && !off)
		lsh_node_leave(x->server.node, r->epoch, r->words);
	o->is_final = lsh_status_stays(o->trouble.status);
}

static void
renewal_done(struct lsh_call *call, const struct lsh_result *r)
{
	struct lsh_replicas *x = replicas_of(call);
	bool any = false, waits;

	lsh_monitor_leave(&x->batch.monitor);
	if (r->what == LSH_CALL_ANSWERED) {
		any = tell_each(x, is_renewed, r->message);
		if (any)
			x->ready = r->epoch;
	} else if (r->what == LSH_CALL_REFUSED && ((r->fault == LSH_FAULT_CLUSTER && r->again) ||
	                                           (r->fault == LSH_FAULT_MISMATCH && x->batch.count == 1))) {
		tell_each(x, not_there, r);
	} else {
		note_trouble(x, call, r);
	}
	lsh_monitor_enter(&x->batch.monitor);
	x->renewed = true;
	x->refused = !any;
	if (any && !x->waits)
		x->waits = lsh_call_start(&x->wait, NULL);
	waits = x->waits;
	if (waits)
		return;
	lsh_monitor_leave(&x->batch.monitor);
	if (any)
		note_node(x);
	settle(x);
	lsh_monitor_enter(&x->batch.monitor);
}

static void
release(struct lsh_call *call, void *owner)
{
	(void)call, (void)owner; /* its host outlives it */
}

/* Ask how many have what was sent before. The answer has a quarter of the time to come back. */
static bool
build_wait(struct lsh_call *call, struct lsh_script_call *command, int64_t now, int64_t *patience)
{
	const struct lsh_replicas *x = replicas_of(call);
	int64_t ms = (x->limit - now) / 4 * 3 / LSH_MS;

	if (ms < 1)
		ms = 1; /* 0 is for ever */
	lsh_script_push(command, x->fsynced ? LSH_ARG("WAITAOF") : LSH_ARG("WAIT"));
	if (x->fsynced)
		lsh_script_push_number(command, 1);
	lsh_script_push_number(command, x->min_replicas);
	lsh_script_push_number(command, ms);
	*patience = lsh_after(ms * LSH_MS, *patience);
	return true;
}

static bool
is_answer_to_wait(const struct lsh_call *call, const struct lsh_message *m)
{
	if (!replicas_of(call)->fsynced)
		return m->type == LSH_INTEGER && m->item[0].integer >= 0;
	return m->type == LSH_ARRAY && m->count == 2 && m->item[0].type == LSH_INTEGER &&
	       m->item[1].type == LSH_INTEGER && m->item[0].integer >= 0 && m->item[1].integer >= 0;
}

static void
wait_done(struct lsh_call *call, const struct lsh_result *r)
{
	struct lsh_replicas *x = replicas_of(call);
	bool renewed = x->renewed;

	x->waits = false;
	lsh_monitor_leave(&x->batch.monitor);
	if (x->refused) {
		/* nothing was written for it */
	} else if (r->what == LSH_CALL_ANSWERED) {
		x->outcome.counted = true;
		x->outcome.acknowledged = (unsigned)r->message->item[x->fsynced].integer;
		x->outcome.written = x->fsynced && r->message->item[0].integer > 0;
	} else {
		note_trouble(x, call, r);
	}
	if (renewed) /* else the connection broke, and the renewal is told next */
		settle(x);
	lsh_monitor_enter(&x->batch.monitor);
}

static const struct lsh_call_ops renewal_ops = {
	.home = lsh_batch_home, .build = lsh_batch_build, .is_answer = lsh_batch_is_answer, .done = renewal_done,
	.release = release, .show_key = lsh_batch_show_key,
}, wait_ops = {
	.home = lsh_batch_home, .build = build_wait, .is_answer = is_answer_to_wait, .done = wait_done, .release = release,
	.show_key = lsh_batch_show_key,
};

/* ---- what its node calls ---- */

static void
give_held(struct lsh_resource *r, void *arg)
{
	const struct lsh_replicas *x = arg;
	if (lsh_resource_host(r) != x->host)
		return;
	lsh_each_lease(lease, r)
		if (is_mine(x, lease))
			lsh_replicas_due(lease);
}

static void
connected(void *ctx)
{
	struct lsh_replicas *x = ctx;
	struct lsh_backend *b = x->host->backend;

	b->ops->each(b->ctx, give_held, x);
}

/* It has no connection for messages; and what there is to log the host's own node says, too. */
static const struct lsh_node_ops node_ops = {.connected = connected, .work = work};

/* ---- life ---- */

static void
free_one(struct lsh_replicas *x)
{
	lsh_node_free(x->server.node);
	lsh_monitor_destroy(&x->batch.monitor);
	lsh_server_destroy(&x->server);
	lsh_free(x);
}

static struct lsh_replicas *
new(struct lsh_host *host, const struct lsh_safety *safety)
{
	struct lsh_backend *b = host->backend;
	struct lsh_node_options options = {
		.uri = host->server.uri,
		.name = b->client_name,
		.timeout = b->options.timeout,
		.ask_every = b->options.lease_ms * LSH_MS / 3, /* renewals go here: as often as for the host */
	};
	struct lsh_replicas *x = lsh_new(struct lsh_replicas);
	int why;

	if (x == NULL)
		return NULL;
	lsh_server_init(&x->server, b->router, host->server.uri, host->server.number);
	x->host = host;
	x->min_replicas = safety->min_replicas;
	x->fsynced = safety->fsynced;
	lsh_list_init(&x->due);
	lsh_batch_init(&x->batch, &x->server, &renewal_ops);
	lsh_call_init(&x->wait, &wait_ops, &x->batch.monitor, &x->batch);
	x->wait.stays = true;
	x->server.node = lsh_node_new(&options, &node_ops, x);
	if (x->server.node != NULL && lsh_node_start(x->server.node))
		return x;
	why = errno;
	free_one(x);
	errno = why;
	return NULL;
}

bool
lsh_replicas_make(struct lsh_host *host, const struct lsh_safety *safety)
{
	struct lsh_replicas *fresh = NULL, *x = find(host, safety);
	bool closing;

	if (x != NULL)
		return true;
	fresh = new(host, safety);
	if (fresh == NULL)
		return false;
	x = find(host, safety);
	pthread_mutex_lock(&host->mutex);
	closing = atomic_load(&host->backend->closing);
	if (x == NULL && !closing) {
		x = fresh;
		fresh = NULL;
		x->next = host->replicas;
		host->replicas = x;
	}
	pthread_mutex_unlock(&host->mutex);
	if (fresh != NULL) { /* somebody else was faster: nothing was ever given to this one */
		lsh_node_stop(fresh->server.node);
		free_one(fresh);
	}
	return x != NULL;
}

void
lsh_replicas_work(struct lsh_lease *lease)
{
	struct outcome o = {
		.event = "not renewed for lack of memory, threads or descriptors: trying again", .may_ask = true,
	};
	char text[LSH_ERRNO_TEXT];
	struct lsh_host *at = NULL;
	struct lsh_safety safety;
	int e = 0;

	lsh_monitor_enter(&lease->resource->monitor);
	if (lsh_lease_is_acknowledged(lease) && is_live(lease) && !lease->replicas->due)
		lsh_host_keep(&at, lease->replicas->at);
	safety = lease->safety;
	lsh_monitor_leave(&lease->resource->monitor);
	if (at == NULL)
		return;
	if (!lsh_replicas_make(at, &safety))
		e = errno;
	lsh_monitor_enter(&lease->resource->monitor);
	if (is_live(lease) && e == 0) {
		due_at(lease, at, lease->replicas->asking);
	} else if (is_live(lease) && !atomic_load(&lease->resource->backend->closing)) {
		lsh_fail(&o.trouble, LEASH_NO_MEMORY, e, "%s", lsh_shortage_text(e, text));
		failed(lease, &o); /* the watchdog tries again */
	}
	lsh_monitor_leave(&lease->resource->monitor);
	lsh_host_keep(&at, NULL);
}

/* Its thread is gone: whatever it was given lapses with the client, or has moved. */
static bool
send_on(struct lsh_replicas *x, struct lsh_lease *lease)
{
	if (!atomic_load(&x->host->backend->closing))
		lsh_replicas_due(lease);
	return true;
}

void
lsh_replicas_stop(struct lsh_host *host)
{
	struct lsh_replicas *x;

	pthread_mutex_lock(&host->mutex);
	x = host->replicas; /* the client is closing, or nobody uses the host: from here on none is made, and nothing is
	                       due, any more */
	pthread_mutex_unlock(&host->mutex);
	for (; x != NULL; x = x->next) {
		lsh_pipeline_break(lsh_node_pipeline(x->server.node), 0); /* or the answer to a WAIT would be awaited */
		lsh_node_stop(x->server.node);
		visit_due(x, send_on);
	}
}

void
lsh_replicas_free(struct lsh_host *host)
{
	for (struct lsh_replicas *x = host->replicas, *next; x != NULL; x = next) {
		next = x->next;
		free_one(x);
	}
}

void
lsh_replicas_after_fork(struct lsh_host *host)
{
	for (struct lsh_replicas *x = host->replicas; x != NULL; x = x->next)
		lsh_node_after_fork(x->server.node);
}
