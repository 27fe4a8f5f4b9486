/* WAIT says how many replicas have all that its own connection wrote, and blocks what comes behind it. So it needs a connection that carries
 * nothing else, and a thread that has the time: one for each host and for each wish (so many replicas, on disk or not), made when the first
 * lease asks for it.
 *
 *   IDLE --due--> RENEWING: the leases of a batch are renewed, which says whether the token has the lock, and writes where it has
 *   RENEWING --answered--> WAITING: one WAIT for all of them --answered, or not--> each is told; IDLE
 *
 * Whatever server that is: where the renewal found the token and enough replicas acknowledged that, they have it. (On a new connection the WAIT goes
 * out only once a renewal was done: the server may lack the script, and would then wait for nothing.) Only an answer counts; without one
 * there is another connection and another renewal.
 *
 * Making one takes memory, descriptors and threads, and so is done by a thread that has entered nothing: a caller before it asks for the lock,
 * or the thread of the host that a lock has moved to. Two may do it at once; one of theirs is thrown away. */
#include "lease/replicas.h"

#include "base/error.h"
#include "base/memory.h"
#include "lease/batch.h"
#include "lease/host.h"
#include "lease/resource.h"
#include "lease/vote.h"
#include "watchdog/pace.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct job {
	struct lsh_lease *lease;   /* referenced; NULL: it is done with */
	int64_t limit;             /* until when it can wait for the replicas */
};

struct lsh_replicas {
	struct lsh_server server;  /* its own connection; the number is that of its host */
	struct lsh_replicas *next; /* of the host */
	struct lsh_host *host;
	unsigned min_replicas;
	bool fsynced;
	struct lsh_list due;       /* leases; host->mutex guards it */
	struct lsh_monitor monitor; /* guards the calls; a leaf */
	struct lsh_call renewal, wait;
	atomic_bool busy;          /* RENEWING or WAITING; then the rest belongs to whoever tells the answer */
	bool waits;                /* the WAIT is out */
	bool renewed;              /* the renewals are answered */
	bool refused;              /* but not as wanted: the WAIT says nothing then */
	bool counted;              /* the WAIT was: */
	unsigned acknowledged;
	bool written;
	leash_error trouble;       /* else, why not; */
	bool is_final;             /* it does not pass by itself */
	const char *event;         /* for a lease at risk; NULL: it is at none */
	uint64_t ready;            /* the connection over which a renewal was done: its WAIT can go out with the next ones */
	int64_t limit, sent;
	const struct lsh_kind *kind;
	size_t count;
	struct job jobs[LSH_BATCH];
	struct lsh_request requests[LSH_BATCH];
};

static const struct lsh_lease_events *
events_of(const struct lsh_lease *lease)
{
	return lease->resource->events;
}

/* ---- leases; entered ---- */

int64_t
lsh_replicas_time_for(const struct lsh_lease *lease)
{
	int64_t ms = lease->safety.replicas_ms > 0 ? lease->safety.replicas_ms : lease->resource->backend->options.timeout / LSH_MS;

	return (ms < lease->lease_ms ? ms : lease->lease_ms) * LSH_MS;
}

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

/* Take it out of the list that it is in, if it is in one; then its reference is the caller's. */
static bool
take_out(struct lsh_lease *lease)
{
	struct lsh_replicas *x = lease->replicas;

	if (x == NULL)
		return false;
	pthread_mutex_lock(&x->host->mutex);
	lsh_list_remove(&lease->replicas_link);
	lease->replicas = NULL;
	pthread_mutex_unlock(&x->host->mutex);
	return true;
}

static void
due_at(struct lsh_lease *lease, struct lsh_host *host, bool asking)
{
	struct lsh_replicas *x = find(host, &lease->safety);

	if (lease->wanted_at == 0)
		lease->wanted_at = lsh_now_ns();
	lsh_host_keep(&lease->acknowledged_at, host);
	lease->acknowledged_asking = asking;
	if (x == NULL) {
		lsh_vote_due(&lease->votes[0]); /* whose thread has entered nothing, and makes one */
		return;
	}
	if (lease->replicas != x && !take_out(lease))
		lsh_lease_retain(lease);
	if (lease->replicas == NULL) {
		pthread_mutex_lock(&host->mutex);
		lsh_list_append(&x->due, &lease->replicas_link);
		lease->replicas = x;
		pthread_mutex_unlock(&host->mutex);
	}
	lsh_node_kick(x->server.node);
}

void
lsh_replicas_due(struct lsh_lease *lease)
{
	due_at(lease, lsh_resource_host(lease->resource), false);
}

void
lsh_replicas_begin(struct lsh_lease *lease, int64_t now)
{
	lease->pending_until = lsh_after(now, lsh_replicas_time_for(lease));
	lsh_host_keep(&lease->acknowledged_at, lsh_resource_host(lease->resource));
	events_of(lease)->pending(lease, lease->pending_until);
	lsh_lease_arm(lease, lease->valid_until, 0);
	lsh_replicas_due(lease);
}

void
lsh_replicas_forget(struct lsh_lease *lease)
{
	lsh_host_keep(&lease->acknowledged_at, NULL);
	if (take_out(lease))
		lsh_lease_unref(lease); /* not the last: whoever ends it has one */
}

void
lsh_replicas_describe(const struct lsh_lease *lease, leash_error *why)
{
	lsh_fail(why, LEASH_UNAVAILABLE, 0, "%.100s: no answer in time", lsh_host_shown(lsh_resource_host(lease->resource)));
}

/* ---- what is asked for; entered ---- */

/* Until when the replicas may take; 0: that is not worth while any more. One WAIT serves a batch, and has one timeout: so a lease whose
 * owner is about to give up does not count, as it would shorten that of the others. */
static int64_t
limit_of(const struct lsh_lease *lease, int64_t now)
{
	int64_t most = lsh_replicas_time_for(lease), share = lease->lease_ms * LSH_MS / 4;

	if (lease->state == LSH_HELD)
		return lsh_after(now, most < share ? most : share); /* there is to be time for another one */
	return lease->pending_until - now > most / 3 ? lease->pending_until : 0;
}

/* For how long; 0: it is not to be sent. */
static int64_t
lease_for(struct lsh_lease *lease, int64_t now)
{
	int64_t ms = lease->state == LSH_HELD ? lsh_lease_wants_ms(lease, now) : lease->lease_ms;

	if (ms > 0 && lease->ends_at != LSH_NEVER && lease->ends_at - now < ms * LSH_MS)
		ms = lease->ends_at - now >= LSH_MS ? (lease->ends_at - now) / LSH_MS : 1;
	return ms;
}

/* Is this where the lease is to be acknowledged? */
static bool
is_mine(const struct lsh_replicas *x, const struct lsh_lease *lease)
{
	return (lease->state == LSH_PENDING || lease->state == LSH_HELD) && lease->safety.min_replicas == x->min_replicas &&
	       lease->safety.fsynced == x->fsynced && lease->acknowledged_at == x->host &&
	       (lease->acknowledged_asking || lsh_resource_host(lease->resource) == x->host);
}

/* Entered. Add it to the batch. False: it does not fit, and comes next. */
static bool
add(struct lsh_replicas *x, struct lsh_lease *lease, int64_t now)
{
	struct lsh_resource *r = lease->resource;
	int64_t limit = limit_of(lease, now), lease_ms = lease_for(lease, now);

	if (limit == 0 || lease_ms <= 0 || now >= lease->valid_until) {
		lease->wanted_at = 0;
		return true;
	}
	if (x->count > 0 && (x->count >= r->kind->batch || lease->votes[0].alone || x->jobs[0].lease->votes[0].alone || x->kind != r->kind || x->renewal.asks_first != lease->acknowledged_asking ||
	                     (lsh_router_is_cluster(r->backend->router) && x->jobs[0].lease->resource->slot != r->slot)))
		return false;
	x->kind = r->kind;
	x->renewal.asks_first = lease->acknowledged_asking;
	lsh_lease_ask_for(lease, lease_ms);
	lsh_vote_request(&lease->votes[0], &x->requests[x->count], now);
	x->requests[x->count].lease_ms = lease_ms;
	lsh_lease_retain(lease);
	x->jobs[x->count++] = (struct job){.lease = lease, .limit = limit};
	if (limit < x->limit)
		x->limit = limit;
	return true;
}

/* ---- sending; its own thread ---- */

static struct lsh_lease *
take(struct lsh_replicas *x)
{
	struct lsh_list *first;

	pthread_mutex_lock(&x->host->mutex);
	first = lsh_list_first(&x->due);
	if (first != NULL) {
		lsh_list_remove(first);
		lsh_container(first, struct lsh_lease, replicas_link)->replicas = NULL;
	}
	pthread_mutex_unlock(&x->host->mutex);
	return first != NULL ? lsh_container(first, struct lsh_lease, replicas_link) : NULL;
}

static void
fill(struct lsh_replicas *x)
{
	struct lsh_lease *lease;
	bool fits = true;

	x->count = 0;
	x->limit = LSH_NEVER;
	while (fits && x->count < LSH_BATCH && (lease = take(x)) != NULL) {
		lsh_monitor_enter(&lease->resource->monitor);
		if (is_mine(x, lease))
			fits = add(x, lease, lsh_now_ns());
		else if (lease->state == LSH_PENDING || lease->state == LSH_HELD)
			lsh_replicas_due(lease); /* it has moved */
		if (!fits)
			lsh_replicas_due(lease);
		lsh_monitor_leave(&lease->resource->monitor);
		lsh_lease_unref(lease);
	}
}

/* The monitor entered. */
static bool
start_wait(struct lsh_replicas *x)
{
	x->waits = lsh_call_start(&x->wait, NULL);
	return x->waits;
}

static void settle(struct lsh_replicas *x);

static void
send(struct lsh_replicas *x)
{
	bool started;

	x->waits = x->renewed = x->refused = x->counted = x->is_final = false;
	x->event = "a renewal was not answered: trying again";
	lsh_monitor_enter(&x->monitor);
	started = lsh_call_start(&x->renewal, NULL);
	if (started && x->ready == x->renewal.ticket.epoch)
		start_wait(x);
	lsh_monitor_leave(&x->monitor);
	if (started)
		return;
	x->trouble = (leash_error){LEASH_OK, 0, ""};
	x->trouble.status = lsh_node_trouble(x->server.node, x->trouble.text, sizeof x->trouble.text, &x->trouble.sys_errno);
	if (lsh_pipe_epoch(lsh_node_pipe(x->server.node)) == 0 && x->trouble.status == LEASH_UNAVAILABLE && x->trouble.sys_errno == 0) {
		x->trouble.text[0] = '\0'; /* it is being made for the first time: nothing was lost */
		x->event = NULL;
	}
	settle(x);
}

static void
work(void *ctx)
{
	struct lsh_replicas *x = ctx;

	lsh_call_resume(&x->server);
	while (!atomic_load(&x->host->backend->closing) && !atomic_exchange(&x->busy, true)) {
		fill(x);
		if (x->count == 0) {
			atomic_store(&x->busy, false);
			return;
		}
		send(x);
	}
}

/* ---- what became of it: told to each lease ---- */

/* It was not acknowledged, and is tried again later. */
static void
put_off(struct lsh_lease *lease, const struct lsh_replicas *x, int64_t now)
{
	int64_t again = lsh_pace_retry(now, ++lease->failures, lease->valid_until, lsh_random32());

	lease->wanted_at = 0;
	if (lease->state == LSH_HELD)
		events_of(lease)->not_renewed(lease, NULL, false);
	/* if there is to be a first connection soon: see whether there is; else all is due again as soon as there is a connection */
	if (x->event == NULL || lsh_node_is_up(x->server.node))
		lsh_lease_arm(lease, again, (again - now) / 2);
	else
		lsh_lease_arm(lease, lease->valid_until, 0);
}

/* The answer came past valid_until, because this process or the server stood still: it is lost, whatever was answered. */
static bool
is_too_late(struct lsh_lease *lease, int64_t now)
{
	if (now < lease->valid_until)
		return false;
	lsh_lease_lose(lease, lease->state == LSH_HELD ? events_of(lease)->why_over(lease, now) : "its lease ran out before enough replicas acknowledged it");
	return true;
}

static void
failed(struct lsh_lease *lease, const struct lsh_replicas *x)
{
	const struct lsh_lease_events *events = events_of(lease);
	int64_t now = lsh_now_ns();

	if (is_too_late(lease, now))
		return;
	if (lease->state == LSH_PENDING && x->is_final) {
		events->failed(lease, &x->trouble);
		return;
	}
	if (lease->state == LSH_PENDING && x->trouble.text[0] != '\0')
		events->waits(lease, &x->trouble, LSH_NEVER);
	if (lease->state == LSH_HELD && x->event != NULL) {
		if (lease->extend_ms > 0)
			events->not_renewed(lease, &x->trouble, x->is_final);
		events->at_risk(lease, 0, 0, x->event);
	}
	put_off(lease, x, now);
}

/* Enough replicas have it, as it was after the renewal that was sent at `sent`. */
static void
acknowledged(struct lsh_lease *lease, int64_t sent, int64_t lease_ms)
{
	int64_t now = lsh_now_ns(), lease_ns = lease_ms * LSH_MS, valid_until = lsh_pace_valid_until(sent, lease_ns);

	if (now >= lease->valid_until || now >= valid_until) {
		lsh_lease_lose(lease, "no renewal succeeded before its lease ran out");
		return;
	}
	lease->votes[0].alone = false;
	lease->failures = 0;
	lease->wanted_at = 0;
	lease->full |= lease_ms >= lease->lease_ms;
	if (lease->state == LSH_PENDING) {
		lease->valid_until = valid_until < lease->ends_at ? valid_until : lease->ends_at; /* not what the server alone has said since */
		lease->span = lease_ns;
		lease->sent = sent;
		lsh_lease_held(lease, now);
		return;
	}
	lsh_lease_prolong(lease, sent, lease_ns);
	lease->renewed_at = sent;
	lease->renewed_ms = lease_ms;
	events_of(lease)->renewed(lease);
	events_of(lease)->at_risk(lease, 0, 0, NULL);
	/* an extension puts no renewal off */
	lsh_lease_schedule(lease, sent, lease_ms < lease->lease_ms ? lease_ns : lease->lease_ms * LSH_MS);
}

static void
say_count(const struct lsh_replicas *x, leash_error *why)
{
	const char *shown = lsh_host_shown(x->host);

	if (x->fsynced && !x->written)
		lsh_fail(why, LEASH_UNAVAILABLE, 0, "%.100s: it was not written to disk there in time", shown);
	else
		lsh_fail(why, LEASH_UNAVAILABLE, 0, "%.100s: %u of %u replicas %s in time", shown, x->acknowledged, x->min_replicas,
		         x->fsynced ? "wrote it to disk" : "acknowledged it");
}

static void
counted(struct lsh_lease *lease, struct lsh_replicas *x, int64_t lease_ms)
{
	int64_t now = lsh_now_ns(), most = lsh_replicas_time_for(lease), share = lease->lease_ms * LSH_MS / 4;
	leash_error why;

	if (x->acknowledged >= x->min_replicas && (x->written || !x->fsynced)) {
		acknowledged(lease, x->sent, lease_ms);
		return;
	}
	if (is_too_late(lease, now))
		return;
	say_count(x, &why);
	if (lease->state == LSH_PENDING)
		events_of(lease)->waits(lease, &why, LSH_NEVER);
	else if (lease->extend_ms > 0)
		events_of(lease)->not_renewed(lease, &why, false);
	/* others in the batch had less time */
	if (lease->state == LSH_PENDING || now - lease->wanted_at < (most < share ? most : share) / 4 * 3) {
		due_at(lease, x->host, lease->acknowledged_asking);
		return;
	}
	if (x->fsynced && !x->written)
		events_of(lease)->at_risk(lease, 0, 0, "the renewal was not written to disk in time: trying again");
	else
		events_of(lease)->at_risk(lease, x->acknowledged, x->min_replicas,
		                          x->fsynced ? "replicas wrote the renewal to disk: trying again" : "replicas acknowledged the renewal: trying again");
	put_off(lease, x, now);
}

/* The batch is answered, as far as it is going to be. Nothing entered. */
static void
settle(struct lsh_replicas *x)
{
	for (size_t i = 0; i < x->count; i++) {
		struct lsh_lease *lease = x->jobs[i].lease;

		if (lease == NULL)
			continue;
		lsh_monitor_enter(&lease->resource->monitor);
		/* the lock may have moved meanwhile: these replicas are no more those that it would be found at */
		if (is_mine(x, lease) && x->counted)
			counted(lease, x, x->requests[i].lease_ms);
		else if (is_mine(x, lease))
			failed(lease, x);
		else if (lease->state == LSH_PENDING || lease->state == LSH_HELD)
			lsh_replicas_due(lease);
		lsh_monitor_leave(&lease->resource->monitor);
		lsh_lease_unref(lease);
	}
	atomic_store(&x->busy, false);
	lsh_node_kick(x->server.node); /* there may be more */
}

/* ---- the calls ---- */

static struct lsh_replicas *
replicas_of(const struct lsh_call *call)
{
	return call->owner;
}

static struct lsh_server *
home(struct lsh_call *call)
{
	return &replicas_of(call)->server;
}

static bool
build_renewal(struct lsh_call *call, struct lsh_script_call *command, int64_t now, int64_t *patience)
{
	struct lsh_replicas *x = replicas_of(call);

	x->sent = now;
	for (size_t i = 0; i < x->count; i++)
		if (*patience > x->requests[i].lease_ms * LSH_MS / 4)
			*patience = x->requests[i].lease_ms * LSH_MS / 4;
	x->kind->make(command, LSH_RENEW, x->requests, x->count);
	return true;
}

static bool
is_answer_to_renewal(const struct lsh_call *call, const struct lsh_message *message)
{
	const struct lsh_replicas *x = replicas_of(call);
	struct lsh_verdict verdict;

	for (size_t i = 0; i < x->count; i++)
		if (!x->kind->read(&verdict, LSH_RENEW, message, i, x->count))
			return false;
	return true;
}

/* It was refused among many. */
static void
alone_next(struct lsh_replicas *x, struct lsh_lease *lease)
{
	lease->votes[0].alone = true;
	due_at(lease, x->host, lease->acknowledged_asking);
}

/* The server says whether it has the lock. False: that settles it. */
static bool
is_renewed(struct lsh_replicas *x, size_t i, const struct lsh_message *message)
{
	struct lsh_lease *lease = x->jobs[i].lease;
	struct lsh_verdict verdict;
	bool kept = false;

	x->kind->read(&verdict, LSH_RENEW, message, i, x->count);
	lsh_monitor_enter(&lease->resource->monitor);
	if (lease->state == LSH_PENDING || lease->state == LSH_HELD) {
		kept = verdict.what == LSH_KEPT;
		if (verdict.what == LSH_BY_ITSELF)
			alone_next(x, lease);
		else if (!kept)
			lsh_lease_lose(lease, "the server did not have it any more");
		else if (lease->state == LSH_PENDING)
			lsh_lease_prolong(lease, x->sent, x->requests[i].lease_ms * LSH_MS);
		if (lease->state == LSH_PENDING)
			lsh_lease_arm(lease, lease->valid_until, 0);
		if (verdict.had_no_ttl)
			lsh_lease_warn_of_no_ttl(lease, x->host);
	}
	lsh_monitor_leave(&lease->resource->monitor);
	return kept;
}

static void
elsewhere(struct lsh_replicas *x, struct lsh_host *asks)
{
	for (size_t i = 0; i < x->count; i++) {
		struct lsh_lease *lease = x->jobs[i].lease;

		lsh_monitor_enter(&lease->resource->monitor);
		lsh_resource_settle(lease->resource);
		if (lease->state == LSH_PENDING || lease->state == LSH_HELD)
			due_at(lease, asks != NULL ? asks : lsh_resource_host(lease->resource), asks != NULL);
		lsh_monitor_leave(&lease->resource->monitor);
		lsh_lease_unref(lease);
		x->jobs[i].lease = NULL;
	}
}

/* The renewal's key holds something else. */
static void
mismatch(struct lsh_replicas *x)
{
	struct lsh_lease *lease = x->jobs[0].lease;

	lsh_monitor_enter(&lease->resource->monitor);
	if (lease->state == LSH_PENDING || lease->state == LSH_HELD)
		lsh_lease_lose(lease, "its key holds something else");
	lsh_monitor_leave(&lease->resource->monitor);
	lsh_lease_unref(lease);
	x->jobs[0].lease = NULL;
}

/* Why the WAIT was refused. */
static void
explain_wait(struct lsh_replicas *x, const struct lsh_result *r, bool off)
{
	const char *command = x->fsynced ? "WAITAOF" : "WAIT", *shown = lsh_host_shown(x->host);
	char says[LSH_FAULT_TEXT];

	if (off) {
		lsh_fail(&x->trouble, LEASH_UNSUPPORTED, 0,
		         "%.60s: its appendonly is off, so nothing there is written to disk as `fsynced` asks", shown);
	} else if (r->fault == LSH_FAULT_NOSCRIPT) {
		lsh_fail(&x->trouble, LEASH_UNSUPPORTED, 0, "%.60s: the server has no %s%s", shown, command,
		         x->fsynced ? ", which `fsynced` needs: Redis has it from 7.2 on" : "");
	} else {
		lsh_fault_say(says, r->words, command, NULL);
		lsh_fail(&x->trouble, lsh_fault_status(r->fault), 0, "%.60s: %s", shown, says);
	}
}

/* Why it came to nothing: of the renewal, or of the WAIT. */
static void
note_trouble(struct lsh_replicas *x, const struct lsh_call *call, const struct lsh_result *r)
{
	bool waits = call == &x->wait, off;

	lsh_call_explain(call, r, &x->trouble);
	if (r->what != LSH_CALL_REFUSED)
		return;
	off = waits && x->fsynced && strstr(r->words, "appendonly") != NULL;
	x->event = "a renewal was refused: trying again";
	if (waits)
		explain_wait(x, r, off);
	if (r->fault == LSH_FAULT_NOT_HERE || r->fault == LSH_FAULT_UNKNOWN || r->fault == LSH_FAULT_CLUSTER)
		x->trouble.status = off ? LEASH_UNSUPPORTED : LEASH_UNAVAILABLE; /* a master that became a replica ends each WAIT with a word of its own */
	if (r->fault == LSH_FAULT_UNKNOWN && !off)
		lsh_node_leave(x->server.node, r->epoch, r->words);
	x->is_final = x->trouble.status == LEASH_DENIED || x->trouble.status == LEASH_UNSUPPORTED;
}

/* Those that are not renewed leave. Is one left? */
static bool
keep_renewed(struct lsh_replicas *x, const struct lsh_message *message)
{
	bool any = false;

	for (size_t i = 0; i < x->count; i++) {
		struct lsh_lease *lease = x->jobs[i].lease;

		if (is_renewed(x, i, message)) {
			any = true;
		} else {
			lsh_lease_unref(lease);
			x->jobs[i].lease = NULL;
		}
	}
	return any;
}

static void
renewal_done(struct lsh_call *call, const struct lsh_result *r)
{
	struct lsh_replicas *x = replicas_of(call);
	bool any = false, waits;

	lsh_monitor_leave(&x->monitor);
	if (r->what == LSH_CALL_ANSWERED) {
		any = keep_renewed(x, r->message);
		if (any)
			x->ready = r->epoch;
	} else if (r->what == LSH_CALL_REFUSED && r->fault == LSH_FAULT_CLUSTER && r->again) {
		elsewhere(x, r->asks != NULL ? lsh_host_of(r->asks) : NULL);
	} else if (r->what == LSH_CALL_REFUSED && r->fault == LSH_FAULT_MISMATCH && x->count == 1) {
		mismatch(x);
	} else {
		note_trouble(x, call, r);
	}
	lsh_monitor_enter(&x->monitor);
	x->renewed = true;
	x->refused = !any;
	waits = x->waits || (any && start_wait(x));
	if (waits)
		return;
	lsh_monitor_leave(&x->monitor);
	if (any)
		note_trouble(x, call, &(struct lsh_result){.what = LSH_CALL_UNSENT, .server = &x->server});
	settle(x);
	lsh_monitor_enter(&x->monitor);
}

static void
release(struct lsh_call *call, void *owner)
{
	(void)call, (void)owner; /* its host outlives it */
}

static void
show_key(const struct lsh_call *call, unsigned n, char *out, size_t size)
{
	const struct lsh_replicas *x = replicas_of(call);

	snprintf(out, size, "%s", x->count == 1 && n == 1 ? x->requests[0].key.bytes : "");
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
	return m->type == LSH_ARRAY && m->count == 2 && m->item[0].type == LSH_INTEGER && m->item[1].type == LSH_INTEGER && m->item[0].integer >= 0 &&
	       m->item[1].integer >= 0;
}

static void
wait_done(struct lsh_call *call, const struct lsh_result *r)
{
	struct lsh_replicas *x = replicas_of(call);
	bool renewed = x->renewed;

	x->waits = false;
	lsh_monitor_leave(&x->monitor);
	if (x->refused) {
		/* nothing was written for it */
	} else if (r->what == LSH_CALL_ANSWERED) {
		x->counted = true;
		x->acknowledged = (unsigned)r->message->item[x->fsynced].integer;
		x->written = x->fsynced && r->message->item[0].integer > 0;
	} else {
		note_trouble(x, call, r);
	}
	if (renewed) /* else the connection broke, and the renewal is told next */
		settle(x);
	lsh_monitor_enter(&x->monitor);
}

static const struct lsh_call_ops renewal_ops = {
	.home = home, .build = build_renewal, .is_answer = is_answer_to_renewal, .done = renewal_done, .release = release, .show_key = show_key,
}, wait_ops = {
	.home = home, .build = build_wait, .is_answer = is_answer_to_wait, .done = wait_done, .release = release, .show_key = show_key,
};

/* ---- what its node calls ---- */

static void
give_held(struct lsh_resource *r, void *arg)
{
	const struct lsh_replicas *x = arg;
	struct lsh_list *at, *after;

	if (lsh_resource_host(r) != x->host)
		return;
	lsh_list_each(at, after, &r->leases) {
		struct lsh_lease *lease = lsh_container(at, struct lsh_lease, link);

		if (is_mine(x, lease))
			lsh_replicas_due(lease);
	}
}

static void
connected(void *ctx)
{
	struct lsh_replicas *x = ctx;
	struct lsh_backend *b = x->host->backend;

	b->ops->each(b->ctx, give_held, x);
}

static void
subscribed(void *ctx)
{
	(void)ctx;
}

static bool
expects_messages(void *ctx)
{
	(void)ctx;
	return false;
}

static void
message(void *ctx, const char *text, size_t size)
{
	(void)ctx, (void)text, (void)size;
}

/* The host's own node says so, too. */
static void
clock_jumped(void *ctx, int64_t by_us)
{
	(void)ctx, (void)by_us;
}

static void
log_line(void *ctx, leash_log_level level, const char *line)
{
	(void)ctx, (void)level, (void)line;
}

static const struct lsh_node_ops node_ops = {
	.connected = connected,
	.subscribed = subscribed,
	.work = work,
	.expects_messages = expects_messages,
	.message = message,
	.clock_jumped = clock_jumped,
	.log = log_line,
};

/* ---- life ---- */

static void
free_one(struct lsh_replicas *x)
{
	lsh_node_free(x->server.node);
	lsh_monitor_destroy(&x->monitor);
	lsh_server_destroy(&x->server);
	lsh_free(x);
}

static struct lsh_replicas *
new(struct lsh_host *host, const struct lsh_safety *safety)
{
	struct lsh_backend *b = host->backend;
	struct lsh_node_options options = {.uri = host->server.uri, .name = b->client_name, .channel = NULL, .timeout = b->options.timeout,
	                                   .ask_every = b->options.lease_ms * LSH_MS / 3}; /* renewals go here: as often as for the host */
	struct lsh_replicas *x = lsh_new(struct lsh_replicas);
	int why;

	if (x == NULL)
		return NULL;
	lsh_server_init(&x->server, b->router, host->server.uri, host->server.number);
	x->host = host;
	x->min_replicas = safety->min_replicas;
	x->fsynced = safety->fsynced;
	lsh_list_init(&x->due);
	lsh_monitor_init(&x->monitor);
	lsh_call_init(&x->renewal, &renewal_ops, &x->monitor, x);
	lsh_call_init(&x->wait, &wait_ops, &x->monitor, x);
	x->renewal.stays = x->wait.stays = true;
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

/* There was no memory, thread or descriptor: the watchdog tries again. */
static void
lacks_means(struct lsh_lease *lease, int e)
{
	struct lsh_replicas x = {.event = "not renewed for lack of memory, threads or descriptors: trying again", .server.node = lease->votes[0].host->server.node};
	char text[LSH_ERRNO_TEXT];

	lsh_fail(&x.trouble, LEASH_NO_MEMORY, e, "%s", lsh_shortage_text(e, text));
	failed(lease, &x);
}

void
lsh_replicas_work(struct lsh_lease *lease, struct lsh_host *host)
{
	struct lsh_host *at = NULL;
	struct lsh_safety safety;
	bool made;
	int e;

	lsh_monitor_enter(&lease->resource->monitor);
	if (lease->acknowledged_at != NULL && (lease->state == LSH_PENDING || lease->state == LSH_HELD) && lease->replicas == NULL)
		lsh_host_keep(&at, lease->acknowledged_at);
	safety = lease->safety;
	lsh_monitor_leave(&lease->resource->monitor);
	(void)host;
	if (at == NULL)
		return;
	made = lsh_replicas_make(at, &safety);
	e = errno;
	lsh_monitor_enter(&lease->resource->monitor);
	if (lease->state == LSH_PENDING || lease->state == LSH_HELD) {
		if (made)
			due_at(lease, at, lease->acknowledged_asking);
		else if (!atomic_load(&lease->resource->backend->closing))
			lacks_means(lease, e);
	}
	lsh_monitor_leave(&lease->resource->monitor);
	lsh_host_keep(&at, NULL);
}

void
lsh_replicas_stop(struct lsh_host *host)
{
	struct lsh_replicas *x;

	pthread_mutex_lock(&host->mutex);
	x = host->replicas; /* the client is closing, or nobody uses the host: from here on none is made, and nothing is due, any more */
	pthread_mutex_unlock(&host->mutex);
	for (; x != NULL; x = x->next) {
		struct lsh_lease *lease;

		lsh_pipe_break(lsh_node_pipe(x->server.node), 0); /* or the answer to a WAIT would be awaited */
		lsh_node_stop(x->server.node);
		while ((lease = take(x)) != NULL)
			lsh_lease_unref(lease);
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
		lsh_node_forsake(x->server.node);
}
