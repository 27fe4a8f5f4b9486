#include "lease/vote.h"

#include "base/mutation.h"
#include "base/mutex.h"
#include "lease/replicas.h"
#include "lease/resource.h"

#include <stdio.h>
#include <string.h>

static const leash_error no_error = {LEASH_OK, 0, ""};

enum {
	SLOT_MOVES_MS = 100, /* until a cancel is tried again that a slot on the move was in the way of */
	DAY_MS = 86400000,
	FENCE_LOOKS = 16,    /* so often while a fence is kept a renewal looks after it; the server acts at half time */
};

static struct lsh_backend *
backend_of(const struct lsh_vote *vote)
{
	return vote->lease->resource->backend;
}

/* ---- its server's thread ---- */

struct lsh_host *
lsh_vote_keeper(const struct lsh_vote *v)
{
	struct lsh_host *asks, *host = v->host;
	struct lsh_replicas *x;

	if (!lsh_lease_is_acknowledged(v->lease))
		return host;
	asks = lsh_resource_asks(v->lease->resource);
	if (asks != NULL)
		host = asks;
	lsh_locked(&host->mutex);
	x = lsh_replicas_find(host, &v->lease->safety);
	return x != NULL ? &x->host : host;
}

static void
put_into_due(struct lsh_vote *v, struct lsh_host *host)
{
	if (v->due)
		return;
	lsh_locked(&host->mutex);
	if (!atomic_load(&host->backend->stopped)) { /* else nobody comes for it any more */
		v->due = true;
		lsh_server_use(&host->server);
		lsh_lease_retain(v->lease);
		v->due_next = NULL;
		*host->due_end = v;
		host->due_end = &v->due_next;
	}
}

void
lsh_vote_due(struct lsh_vote *v)
{
	struct lsh_host *host = lsh_vote_keeper(v);

	put_into_due(v, host);
	if (!atomic_load(&host->backend->stopped))
		lsh_node_kick(host->server.node);
}

/* ---- what a server may still execute ---- */

/* Its clock is needed only while something may still be executed: who holds a lock for months is not to keep every
 * server that it was at. */
static void
note_nothing_comes(struct lsh_late *late)
{
	if (late->not_after_us == 0 && late->earlier_us == 0)
		lsh_host_keep(&late->host, NULL);
}

static void
note_unsent(struct lsh_vote *v, const struct lsh_saying *s)
{
	v->asked = s->asked_before && !LSH_MUTATES(LSH_UNSENT_ASKS_UNDO_SENT_ONES);
	v->late.not_after_us = s->not_after_before_us;
	note_nothing_comes(&v->late);
}

/* A request goes out; if it was refused at another server, or had no room, this is all that is out of it. */
static void
note_asked(struct lsh_vote *v, const struct lsh_saying *s, int64_t not_after_us, int64_t now)
{
	struct lsh_late *late = &v->late;
	uint64_t epoch = s->call.ticket.epoch;

	note_unsent(v, s);
	/* one that was not answered on an earlier connection may still come; on this one it comes before this one */
	if (v->asked && late->epoch != epoch && late->not_after_us > late->earlier_us &&
	    !LSH_MUTATES(LSH_EARLIER_ASKS_ARE_OVER))
		late->earlier_us = late->not_after_us;
	v->asked_again |= v->asked;
	if (!v->asked)
		v->counted_from = now;
	v->asked = true;
	late->epoch = epoch;
	if (not_after_us > late->not_after_us)
		late->not_after_us = not_after_us;
	lsh_host_keep(&late->host, lsh_host_of(s->call.server));
}

/* Does an error say that the server knows no more of the token than before? */
static bool
was_not_done(const struct lsh_result *r)
{
	if (strncmp(r->words, "ERR", 3) == 0) /* perhaps in the middle of the script */
		return strncmp(r->words, "ERR unknown command", 19) == 0 || LSH_MUTATES(LSH_ERRORS_DO_NOTHING);
	return r->fault != LSH_FAULT_MISMATCH && r->fault != LSH_FAULT_UNKNOWN;
}

/* What came of a request, as far as it matters for what may come still. */
static void
note_result(struct lsh_vote *v, const struct lsh_saying *s, const struct lsh_voted *voted)
{
	const struct lsh_result *r = voted->result;
	struct lsh_late *late = &v->late;
	bool nothing = false;

	if (r->what == LSH_CALL_UNSENT) {
		note_unsent(v, s);
		return;
	}
	if (r->what == LSH_CALL_UNKNOWN || (r->what == LSH_CALL_NONSENSE && r->garbled))
		return;
	late->not_after_us = 0; /* nothing of it, nor of one before it on this connection, is still to come */
	if (r->what == LSH_CALL_REFUSED) /* what a trade has written before it was denied something it has taken back */
		nothing = was_not_done(r) || (s->verb == LSH_TRADE && r->fault == LSH_FAULT_DENIED);
	else if (r->what == LSH_CALL_ANSWERED)
		nothing = voted->verdict.what == LSH_TOO_LATE || (voted->verdict.what == LSH_TAKEN && !s->placed);
	if (nothing)
		v->asked = s->asked_before;
	note_nothing_comes(late);
}

/* Until when, by the server's clock, a request may be executed after a cancel that went over connection `epoch`; 0: no
 * longer. */
static int64_t
may_run_until_us(const struct lsh_late *late, uint64_t epoch)
{
	/* the last request went before the cancel if both went over one connection */
	return late->epoch != epoch && late->not_after_us > late->earlier_us ? late->not_after_us : late->earlier_us;
}

/* By the clock of the server that the requests went to, wherever the lock lives now, and whoever answered the cancel:
 * each not_after is a moment of that clock, which an estimate keeps running here although the server may be gone. Until
 * then a request that is stuck there could still be executed, should the lock live there again; elsewhere none can: in
 * a cluster each server refuses what is not its own. */
static int64_t
server_us_at_least(const struct lsh_vote *v, int64_t at)
{
	return lsh_node_server_us_at_least((v->late.host != NULL ? v->late.host : v->host)->server.node, at);
}

static bool
is_settled(const struct lsh_vote *v, const struct lsh_result *r)
{
	int64_t until_us = may_run_until_us(&v->late, r->epoch);

	return LSH_MUTATES(LSH_FIRST_CANCEL_IS_ENOUGH) || until_us == 0 || server_us_at_least(v, r->sent) > until_us;
}

/* When a cancel that is sent then would settle it. */
static int64_t
settles_at(const struct lsh_vote *v, uint64_t epoch, int64_t now)
{
	int64_t left_us = may_run_until_us(&v->late, epoch) - server_us_at_least(v, now);

	/* what is certain of the server's clock goes on 1 % slower than ours */
	return left_us > 0 ? lsh_after_ms(now, left_us / 990 + 2) : now;
}

bool
lsh_vote_is_open(const struct lsh_vote *v, const struct lsh_result *r)
{
	return v->asked && !is_settled(v, r);
}

int64_t
lsh_vote_closes_at(const struct lsh_vote *v, int64_t now)
{
	return settles_at(v, v->late.epoch, now);
}

void
lsh_vote_forget(struct lsh_vote *v)
{
	v->asked = v->late.not_after_us != 0 || v->late.earlier_us != 0;
}

/* ---- what is said ---- */

void
lsh_vote_request(const struct lsh_vote *v, struct lsh_request *r, char who[static LSH_WHO_SIZE], int64_t now)
{
	const struct lsh_lease *lease = v->lease;
	size_t size = lsh_lease_who(lease, who);

	*r = (struct lsh_request){
		.protocol = &backend_of(v)->protocol, .kind = lease->resource->kind,
		.key = {lsh_resource_key(lease->resource), lease->resource->key_size},
		.token = who, .token_size = size, .claim_ms = lease->claim_ms,
		.depth = lease->depth, .sharded = lease->sharded, .keeps_fence = now >= v->keep_fence_at,
		.watched = lease->watched || lease->breaks || lease->adopted,
	};
}

/* Is it a request, by which the server may come to know the token? */
static bool
asks(const struct lsh_saying *s)
{
	return s->verb == LSH_ACQUIRE || s->verb == LSH_TRADE;
}

static struct lsh_vote *
vote_of(const struct lsh_call *call)
{
	return call->owner;
}

static struct lsh_saying *
saying_of(const struct lsh_call *call)
{
	return lsh_container(call, struct lsh_saying, call);
}

static struct lsh_server *
home(struct lsh_call *call)
{
	struct lsh_vote *v = vote_of(call);

	lsh_resource_settle(v->lease->resource); /* and with it the vote */
	return &v->host->server;
}

static bool
build(struct lsh_call *call, struct lsh_script_call *command, int64_t now, int64_t *patience)
{
	struct lsh_vote *v = vote_of(call);
	struct lsh_saying *s = saying_of(call);
	struct lsh_lease *lease = v->lease;
	const struct lsh_kind *kind = lease->resource->kind;
	struct lsh_request r;

	if (s->verb != LSH_RELEASE && lease->state >= LSH_ENDING && !LSH_MUTATES(LSH_RENEWALS_GO_ON))
		return false;
	lsh_vote_request(v, &r, s->token, now);
	r.lease_ms = s->lease_ms;
	r.fence = s->fence;
	r.old = lease->old;
	/* A dead connection is to be found out while there is time for another: what was traded is not renewed either. */
	if ((s->verb == LSH_RENEW || s->verb == LSH_TRADE) && !LSH_MUTATES(LSH_SILENCE_IS_BORNE) &&
	    *patience > lease->lease_ms * LSH_MS / 4)
		*patience = lease->lease_ms * LSH_MS / 4;
	if (asks(s)) {
		int64_t limit = lsh_after(now, *patience) < s->limit ? lsh_after(now, *patience) : s->limit;

		if (!s->placed)
			r.claim_ms = 0;
		r.not_after_us = lsh_node_server_us(call->server->node, now) + (limit - now) / LSH_US;
		note_asked(v, s, r.not_after_us, now);
	}
	if (s->verb == LSH_RELEASE) {
		v->cancel_epoch = call->ticket.epoch;
		v->again_at = LSH_NEVER;
	}
	lsh_lease_ask_for(lease, r.lease_ms);
	if (call->one_key)
		kind->make_one_key(command, &r);
	else
		kind->make(command, s->verb, &r, 1);
	return true;
}

static bool
is_answer(const struct lsh_call *call, const struct lsh_message *message)
{
	struct lsh_verdict verdict;

	return vote_of(call)->lease->resource->kind->read(&verdict, saying_of(call)->verb, message, 0, 1);
}

static void
show_key(const struct lsh_call *call, unsigned n, char *out, size_t size)
{
	const struct lsh_resource *resource = vote_of(call)->lease->resource;
	const char *suffix = n <= 5 ? resource->kind->suffix[n - 1] : NULL;

	snprintf(out, size, "%.*s%s", (int)lsh_resource_unmarked(resource), lsh_resource_key(resource),
	         suffix != NULL ? suffix : "");
}

static void
release(void *owner)
{
	lsh_lease_unref(((struct lsh_vote *)owner)->lease);
}

void
lsh_vote_tell(struct lsh_vote *v, struct lsh_voted *voted)
{
	const struct lsh_result *r = voted->result;

	voted->moved = r->home != v->host->server.serial;
	if (r->what == LSH_CALL_ANSWERED && voted->verdict.server_us > 0)
		lsh_node_learn_clock(r->server->node, voted->verdict.server_us, r->sent, lsh_now_ns());
	if (voted->verdict.what == LSH_KEPT && r->sent >= v->keep_fence_at)
		v->keep_fence_at = lsh_after_ms(r->sent, backend_of(v)->options.fence_ttl_ms / FENCE_LOOKS);
	if (voted->verdict.what == LSH_GRANTED && v->lease->adopting && voted->verdict.ttl_ms <= DAY_MS)
		lsh_lease_ask_for(v->lease, voted->verdict.ttl_ms); /* its former holder did */
	backend_of(v)->strategy->voted(v, voted);
}

/* ---- what comes of a cancel ---- */

static bool
has_lapsed(const struct lsh_vote *v, int64_t now)
{
	return now >= v->lease->lapses_at && now != LSH_NEVER;
}

void
lsh_vote_arm_end(struct lsh_lease *lease)
{
	int64_t at = lease->lapses_at;

	if (lease->state != LSH_ENDING || atomic_load(&lease->resource->backend->stopped))
		return;
	for (size_t i = 0; i < lease->count; i++) {
		const struct lsh_vote *v = &lease->votes[i];

		if (v->state == LSH_VOTE_ENDING && v->cancel == NULL && v->again_at < at)
			at = v->again_at;
	}
	lsh_lease_arm(lease, at, 0);
}

void
lsh_vote_ended(struct lsh_vote *v)
{
	struct lsh_lease *lease = v->lease;
	struct lsh_backend *b = lease->resource->backend;

	v->state = LSH_VOTE_ENDED;
	for (size_t i = 0; i < lease->count; i++)
		if (lease->votes[i].state != LSH_VOTE_ENDED)
			return;
	if (lease->state != LSH_ENDING)
		return;
	lease->state = LSH_ENDED;
	if (lease->left) /* without an answer */
		lsh_events_of(lease)->ended(lease, LSH_FOUND_REFUSED, &no_error);
	if (!LSH_MUTATES(LSH_RENEWALS_GO_ON))
		lsh_watchdog_forget(b->watchdog, &lease->timer);
	lsh_list_remove(&lease->link);
	if (atomic_fetch_sub(&b->ending, 1) == 1)
		lsh_backend_wake(b);
	if (!LSH_MUTATES(LSH_RENEWALS_GO_ON))
		lsh_lease_unref(lease); /* not the last: the caller has one */
}

/* Try it again in a while, and not after it would be settled. */
static void
try_again(struct lsh_vote *v, const struct lsh_result *r, int64_t now)
{
	unsigned doublings = v->failures < 5 ? v->failures++ : 5u;
	int64_t settles = settles_at(v, r->epoch, now);
	bool torn = r->what == LSH_CALL_REFUSED && r->fault == LSH_FAULT_NOT_NOW &&
	            lsh_router_is_cluster(r->server->router);

	/* To hand on takes all keys, and not all of them are in one place: for a moment, or until the map tells that it is
	 * over. */
	if (torn || (r->what == LSH_CALL_ANSWERED && r->one_key))
		v->again_at = lsh_after_ms(now, SLOT_MOVES_MS << doublings);
	else
		v->again_at = lsh_after(now, (250 + lsh_random32() % 250) * LSH_MS << doublings);
	if (r->what == LSH_CALL_ANSWERED && !r->one_key && settles < v->again_at)
		v->again_at = settles; /* somebody who closes the client may be waiting for that */
}

/* What the first answer says of what was released. */
static enum lsh_found
found_by(const struct lsh_vote *v, const struct lsh_verdict *verdict)
{
	if (verdict->what == LSH_LET_GO && !verdict->waited)
		return LSH_FOUND_HELD;
	/* After an earlier try whose answer was lost: that one released it, or it lapsed after it was left. Or somebody
	 * took it away before that try: the server keeps nothing that would tell. */
	return v->cancel_unknown && !LSH_MUTATES(LSH_TRIES_ARE_FORGOTTEN) ? LSH_FOUND_HELD : LSH_FOUND_NOTHING;
}

/* Keep what the answer to a cancel says; of what is counted the last one says it. True: the server has nothing of the
 * token, and can get nothing any more. */
static bool
note_canceled(struct lsh_vote *v, const struct lsh_result *r)
{
	struct lsh_verdict verdict = {.what = LSH_GONE};

	switch (r->what) {
	case LSH_CALL_ANSWERED:
		v->lease->resource->kind->read(&verdict, LSH_RELEASE, r->message, 0, 1);
		atomic_store(&v->host->cancels_epoch, r->epoch);
		if (v->found != LSH_FOUND_HELD &&
		    (v->found != LSH_FOUND_NOTHING || lsh_kind_is_counted(v->lease->resource->kind)))
			v->found = found_by(v, &verdict);
		if (!is_settled(v, r) || r->home != v->host->server.serial)
			return false;
		v->let_go |= r->one_key; /* that handed it on to nobody */
		return !r->one_key;
	case LSH_CALL_REFUSED:
		v->cancel_unknown |= !was_not_done(r);
		if (r->fault == LSH_FAULT_MISMATCH)
			v->found = LSH_FOUND_NOTHING;
		else if (v->found == LSH_FOUND_NOT_YET && !r->again)
			v->found = LSH_FOUND_REFUSED;
		return r->fault == LSH_FAULT_MISMATCH; /* there can be nothing of ours */
	default:
		v->cancel_unknown |= r->what != LSH_CALL_UNSENT;
		if (r->what == LSH_CALL_NONSENSE && !r->garbled && v->found == LSH_FOUND_NOT_YET)
			v->found = LSH_FOUND_REFUSED;
		return false;
	}
}

static void
canceled(struct lsh_call *call, const struct lsh_result *r)
{
	struct lsh_vote *v = vote_of(call);
	int64_t now = lsh_now_ns();
	bool over;

	v->cancel = NULL;
	over = note_canceled(v, r) || has_lapsed(v, now);
	if (!over && (r->what == LSH_CALL_ANSWERED || r->what == LSH_CALL_REFUSED || call->ticket.asking))
		try_again(v, r, now); /* without an answer the next connection brings it up */
	backend_of(v)->strategy->released(v, call, r, over);
	if (over)
		lsh_vote_ended(v);
	lsh_vote_arm_end(v->lease);
}

/* ---- what comes of anything ---- */

static void
answered(struct lsh_call *call, const struct lsh_result *r)
{
	struct lsh_vote *v = vote_of(call);
	const struct lsh_saying *s = saying_of(call);
	struct lsh_voted voted = {
		.verb = s->verb, .result = r, .call = call, .lease_ms = s->lease_ms, .by_itself = true, .placed = s->placed,
	};

	v->saying = NULL;
	v->hops = call->hops;
	if (r->what == LSH_CALL_ANSWERED)
		v->lease->resource->kind->read(&voted.verdict, s->verb, r->message, 0, 1);
	if (asks(s))
		note_result(v, s, &voted);
	if (v->state < LSH_VOTE_ENDING) {
		v->alone &= r->what != LSH_CALL_ANSWERED;
		lsh_vote_tell(v, &voted);
		return;
	}
	/* it was overtaken by the end: what counts is whether there is anything to cancel */
	if (v->cancel != NULL)
		return;
	if (v->asked) {
		lsh_vote_cancel(v, NULL);
		return;
	}
	if (lsh_kind_is_counted(v->lease->resource->kind))
		lsh_events_of(v->lease)->ended(v->lease, LSH_FOUND_NOTHING, &no_error);
	lsh_vote_ended(v);
}

static void
done(struct lsh_call *call, const struct lsh_result *r)
{
	(saying_of(call)->verb == LSH_RELEASE ? canceled : answered)(call, r);
	lsh_saying_give_back(saying_of(call)); /* before whoever waited for it goes on */
}

static const struct lsh_call_ops call_ops = {
	.home = home, .build = build, .is_answer = is_answer, .done = done, .release = release, .show_key = show_key,
};

/* A cancel is one of its own behind a request that is on its way: else the next token's request would come before it.
 * NULL: no memory. */
static struct lsh_saying *
make(struct lsh_vote *v, enum lsh_verb verb, int64_t lease_ms, int64_t fence)
{
	struct lsh_saying *s = v->saying;

	if (s != NULL && !s->call.out)
		v->saying = NULL;
	else
		s = lsh_saying_borrow(v->host);
	if (s == NULL) { /* its host's thread comes again when one is back */
		put_into_due(v, v->host);
		atomic_store(&v->host->all_wanted, true);
		if (atomic_load(&v->host->unlent) != 0) /* since just now */
			lsh_node_kick(v->host->server.node);
		return NULL;
	}
	s->verb = verb;
	s->lease_ms = lease_ms;
	s->fence = fence;
	s->asked_before = v->asked;
	s->not_after_before_us = v->late.not_after_us;
	lsh_call_init(&s->call, &call_ops, &v->lease->resource->monitor, v);
	s->call.hops = verb == LSH_RELEASE ? 0 : v->hops;
	return s;
}

static bool
start(struct lsh_vote *v, struct lsh_saying *s, struct lsh_parker *reader)
{
	struct lsh_saying **place = s != NULL && s->verb == LSH_RELEASE ? &v->cancel : &v->saying;

	if (s == NULL)
		return false;
	*place = s;
	lsh_lease_retain(v->lease);
	if (lsh_call_start(&s->call, reader))
		return true;
	if (asks(s))
		note_unsent(v, s);
	*place = NULL;
	lsh_saying_give_back(s);
	lsh_lease_unref(v->lease); /* not the last: the caller has one */
	return false;
}

bool
lsh_vote_acquire(struct lsh_vote *v, int64_t lease_ms, bool place, int64_t fence, int64_t limit,
                 struct lsh_parker *reader)
{
	struct lsh_saying *s = make(v, v->lease->trades ? LSH_TRADE : LSH_ACQUIRE, lease_ms, fence);

	if (s != NULL) {
		s->placed = place;
		s->limit = limit;
	}
	if (!start(v, s, reader))
		return false;
	v->state = LSH_VOTE_SENT;
	return true;
}

bool
lsh_vote_say(struct lsh_vote *v, enum lsh_verb verb, int64_t lease_ms, int64_t fence, struct lsh_parker *reader)
{
	return start(v, make(v, verb, lease_ms, fence), reader);
}

/* ---- the end ---- */

static void
prepare_cancel(const struct lsh_vote *v, struct lsh_call *call, uint64_t epoch)
{
	const struct lsh_router *router = v->host->server.router;

	call->has_one_key = v->lease->resource->kind->make_one_key != NULL && lsh_router_is_cluster(router) && !v->let_go;
	/* Sent again with its source it would come behind the next token's request, which is refused because of this
	 * one. */
	call->with_source = !backend_of(v)->strategy->has_queue && atomic_load(&v->host->cancels_epoch) != epoch &&
	                    !lsh_router_options(router)->uri->preloaded;
}

void
lsh_vote_cancel(struct lsh_vote *v, struct lsh_parker *reader)
{
	struct lsh_pipeline *pipeline = lsh_node_pipeline(v->host->server.node);
	uint64_t epoch = lsh_pipeline_epoch(pipeline);
	int64_t now = lsh_now_ns(), settles = settles_at(v, epoch, now);
	struct lsh_saying *s;

	if (v->state != LSH_VOTE_ENDING || v->cancel != NULL)
		return;
	if (has_lapsed(v, now)) {
		lsh_vote_ended(v);
		return;
	}
	if (v->cancel_epoch == epoch && now < v->again_at)
		return;
	/* or what comes late would find neither a place nor a hold, and take a place */
	if (settles > now && lsh_kind_is_counted(v->lease->resource->kind) && !atomic_load(&backend_of(v)->closing)) {
		v->again_at = settles;
		lsh_vote_arm_end(v->lease);
		return;
	}
	s = make(v, LSH_RELEASE, 0, 0);
	if (s == NULL)
		return;
	prepare_cancel(v, &s->call, epoch);
	/* A server writes out first to whom it had something to say last. The answer to a release would go before the
	 * message to the next holder, and whoever is woken by it would run before the server writes on, where they share a
	 * CPU. An answer that is there already when the release is executed turns that round. */
	if (v->lease->waited && reader != NULL)
		lsh_pipeline_append_unheard(pipeline, &LSH_ARG("PING"), 1, now);
	if (!start(v, s, reader)) {
		v->cancel_epoch = epoch;
		v->again_at = LSH_NEVER; /* the next connection brings it up */
	}
}

/* May its server know the token? Of who only watches none does. */
static bool
is_known(const struct lsh_vote *v)
{
	return v->asked && v->lease->resource->kind->mark == NULL;
}

void
lsh_vote_end(struct lsh_vote *v, struct lsh_parker *reader)
{
	if (v->saying != NULL)
		lsh_call_unattend(&v->saying->call);
	v->state = LSH_VOTE_ENDING;
	v->cancel_epoch = 0;
	if ((LSH_MUTATES(LSH_CANCELS_ARE_NOT_SENT) && reader == NULL) || !is_known(v))
		lsh_vote_ended(v);
	else
		lsh_vote_cancel(v, reader);
}

/* ---- life ---- */

void
lsh_vote_init(struct lsh_vote *v, struct lsh_lease *lease, struct lsh_host *host)
{
	v->lease = lease;
	v->again_at = LSH_NEVER;
	lsh_host_keep(&v->host, host);
	v->saying = lsh_saying_borrow(host);
}
