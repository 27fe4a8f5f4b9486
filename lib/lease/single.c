/* One server at a time has the lock: a server of its own, the master that sentinels name, or in a cluster the one that
 * has its slot. It keeps a queue, and tells who is next. */
#include "base/error.h"
#include "base/mutation.h"
#include "lease/host.h"
#include "lease/resource.h"
#include "lease/subscription.h"
#include "watchdog/pace.h"

#include <string.h>

#define REST (5 * LSH_MS) /* for others to ask for what was released */

static const leash_error nothing = {LEASH_OK, 0, ""}, others = {LEASH_TIMEOUT, 0, ""};
static const leash_error late = {LEASH_UNAVAILABLE, 0, "the answer came too late"};
static const leash_error gone = {LEASH_LOST, 0, "the server did not have it any more"};

static void
look_again(struct lsh_lease *lease, const leash_error *why, int64_t at)
{
	lsh_events_of(lease)->waits(lease, why, at);
}

static int64_t
in_a_while(void)
{
	return lsh_after_ms(lsh_now_ns(), 50 + lsh_random32() % 200);
}

/* Its token is dead: whoever it is for begins with a new one. */
static void
give_up(struct lsh_lease *lease)
{
	if (lease->trades) {
		lsh_events_of(lease)->failed(lease, &late);
		return;
	}
	lsh_lease_give_up(lease);
	look_again(lease, &nothing, 0);
}

/* ---- acquiring ---- */

static bool
fits(const struct lsh_lease *lease, const struct lsh_wish *want)
{
	const struct lsh_vote *v = &lease->votes[0];

	/* somebody's request for a longer lease, perhaps an earlier one, or the heartbeat of who waited, was not answered:
	 * it might still be executed, and nothing shortens a lease */
	bool unanswered = v->asked_again || (lease->state == LSH_ACQUIRING ?
		v->asked : v->word_lost || v->batch != NULL || lsh_vote_is_out(v));

	if (unanswered && lease->longest_ms > want->lease_ms && !LSH_MUTATES(LSH_ANY_LEASE_FITS))
		return false;
	if (lease->state != LSH_ACQUIRING)
		return true;
	/* its request was lost on the way to a server where the lock does not live any more */
	return !v->asked || lsh_vote_is_out(v) || v->late.host == NULL || v->late.host == v->host;
}

/* A trade that may have been done: as what the lock is held must be known. So it is asked again, whatever is amiss. */
static bool
is_perhaps_traded(const struct lsh_lease *lease)
{
	return lease->trades && lease->votes[0].asked;
}

/* Wait out the time after a restart during which locks may be held that the server has forgotten. `*again_at`: when
 * that is over. */
static bool
is_guarded(struct lsh_lease *lease, const struct lsh_wish *want, int64_t now, int64_t *again_at)
{
	int64_t guard = want->restart_guard_ms * LSH_MS, uptime;
	leash_error why;

	*again_at = LSH_NEVER;
	if (guard == 0 || (uptime = lsh_node_uptime(lease->votes[0].host->server.node, now)) >= guard)
		return false;
	lsh_host_explain_guard(lease->votes[0].host, want->restart_guard_ms, now, ": nothing is granted", &why);
	if ((uptime < 0 || want->tries || lease->adopting) && !is_perhaps_traded(lease)) {
		lsh_events_of(lease)->failed(lease, &why);
		return true;
	}
	*again_at = lsh_after(now, guard - uptime);
	lease->want->answered = true;
	look_again(lease, &why, *again_at);
	return true;
}

/* What is the matter with the connection; unless what a server said before it was left tells more than that it is
 * gone. */
static bool
node_trouble(const struct lsh_lease *lease, leash_error *why)
{
	struct lsh_node *node = lease->votes[0].host->server.node;
	bool answered = lease->state < LSH_HELD ? lease->want->answered : why->text[0] != '\0';
	leash_error trouble;

	lsh_node_trouble(node, &trouble);
	if (answered && (lsh_node_is_up(node) || strstr(trouble.text, "the connection was lost") != NULL))
		return false;
	*why = trouble;
	return true;
}

/* There is no connection: the next one brings it up. Or there was none to where it was sent for once (ASK): whoever
 * sent it there is asked again. */
static int64_t
wait_for_node(struct lsh_lease *lease)
{
	int64_t again_at = lsh_host_is_up(lease->votes[0].host) ? in_a_while() : LSH_NEVER;
	leash_error why = nothing;

	if (node_trouble(lease, &why))
		lease->want->answered = false;
	look_again(lease, &why, again_at);
	return again_at;
}

/* Ask whether the token holds the lock. */
static int64_t
adopt(struct lsh_lease *lease, struct lsh_wish *want)
{
	struct lsh_vote *v = &lease->votes[0];
	int64_t again_at;

	if (lsh_host_is_up(v->host) && is_guarded(lease, want, lsh_now_ns(), &again_at))
		return again_at;
	lsh_presence_tell(v->host, lsh_now_ns());
	if (lsh_vote_say(v, LSH_HEARTBEAT, lease->lease_ms, 0, want->reader))
		return LSH_NEVER;
	return wait_for_node(lease);
}

static bool
has_no_queue(const struct lsh_resource *r)
{
	return r->kind->channel != NULL;
}

/* It took no place, because no message could have come, or there is none: it asks as soon as that is mended, or when
 * the lease ends, or a message came. Or others, who have no places either, are let ask first. */
static int64_t
not_before(struct lsh_lease *lease, bool heard)
{
	struct lsh_resource *r = lease->resource;
	const struct lsh_vote *v = &lease->votes[0];

	if (v->state == LSH_VOTE_REFUSED && (!heard || has_no_queue(r))) {
		lsh_subscription_want(r); /* it may have been refused to one who only tried, and listens to nothing */
		return v->again_at;
	}
	return has_no_queue(r) ? r->cluster->rests_until : 0;
}

static int64_t
acquire(struct lsh_lease *lease, struct lsh_wish *want)
{
	struct lsh_resource *r = lease->resource;
	struct lsh_vote *v = &lease->votes[0];
	int64_t now = lsh_now_ns(), again_at;
	bool heard, place;

	if (lease->state == LSH_WAITING)
		lsh_subscription_want(r);
	if (lease->state != LSH_ACQUIRING || lsh_vote_is_out(v))
		return LSH_NEVER;
	if (lease->adopting)
		return adopt(lease, want);
	if (!lsh_host_is_up(v->host))
		return wait_for_node(lease);
	if (is_guarded(lease, want, now, &again_at))
		return again_at;
	heard = lsh_subscription_is_heard(r, v->host);
	again_at = want->tries ? now : not_before(lease, heard);
	if (now < again_at)
		return again_at;
	place = !want->tries && !has_no_queue(r) && (heard || LSH_MUTATES(LSH_THE_DEAF_TAKE_PLACES));
	if (place)
		lsh_subscription_want(r);
	lsh_presence_tell(v->host, now);
	if (lsh_vote_acquire(v, lease->lease_ms, place, want->known, want->until, want->reader))
		return LSH_NEVER;
	return wait_for_node(lease);
}

static void
granted(struct lsh_lease *lease, int64_t fence, int64_t sent)
{
	lease->votes[0].state = LSH_VOTE_GRANTED;
	lease->votes[0].keep_fence_at = 0;
	if (!lsh_lease_is_acknowledged(lease)) {
		lsh_lease_held(lease, fence, sent);
		return;
	}
	lease->want->fence = fence;
	lsh_events_of(lease)->pending(lease, lsh_lease_pending_until(lease));
	lsh_lease_arm(lease, lease->valid_until, 0);
	lsh_vote_due(&lease->votes[0]);
}

/* The server gave it the lock. */
static void
take(struct lsh_lease *lease, const struct lsh_voted *voted)
{
	if (lsh_lease_is_guarded(lease, false) ||
	    !lsh_lease_granted(lease, voted->verdict.fence, voted->result->sent, voted->lease_ms, false))
		give_up(lease);
}

static void
queued(struct lsh_lease *lease, const struct lsh_voted *voted)
{
	struct lsh_vote *v = &lease->votes[0];
	int64_t claim = lease->claim_ms * LSH_MS;

	v->state = LSH_VOTE_PLACED;
	lease->state = LSH_WAITING;
	lease->waited = true;
	atomic_fetch_add(&lease->resource->backend->waiting, 1);
	lsh_lease_arm(lease, lsh_pace_word(voted->result->sent, lsh_now_ns(), claim, voted->verdict.ttl_ms),
	              lsh_pace_slack(claim));
	if (v->hinted)
		lsh_vote_due(v);
	v->hinted = false;
	look_again(lease, &others, LSH_NEVER);
}

/* Somebody else has it. */
static void
busy(struct lsh_lease *lease, const struct lsh_voted *voted)
{
	struct lsh_vote *v = &lease->votes[0];
	int64_t ttl_ms = voted->verdict.ttl_ms, now = lsh_now_ns();

	if (voted->placed) {
		queued(lease, voted);
		return;
	}
	if (lease->trades && lsh_vote_is_open(v, voted->result)) { /* an earlier one may still find room */
		look_again(lease, &nothing, lsh_vote_closes_at(v, now));
		return;
	}
	v->asked &= !lease->trades;
	lease->want->answered = false;
	v->state = LSH_VOTE_REFUSED;
	v->again_at = lsh_after_ms(now, ttl_ms >= 0 && ttl_ms < 1000 ? ttl_ms + 1 : 1000);
	if (lease->want->tries && ttl_ms != 0) { /* 0: nobody has it just now, ask again */
		lsh_events_of(lease)->failed(lease, &others);
		return;
	}
	if (lease->want->tries || (has_no_queue(lease->resource) && v->hinted))
		v->again_at = now; /* or it was told meanwhile to ask again */
	v->hinted &= !has_no_queue(lease->resource);
	lsh_subscription_want(lease->resource);
	look_again(lease, &others, lsh_subscription_is_heard(lease->resource, v->host) ? 0 : v->again_at);
}

/* It was refused; or what came is no answer. If it is no reply at all, then perhaps it was the line, and the next
 * connection does better. */
static void
not_answered(struct lsh_lease *lease, const struct lsh_voted *voted)
{
	const struct lsh_result *r = voted->result;
	bool tries = lease->want->tries && !lease->adopting, refused = r->what == LSH_CALL_REFUSED, again = !tries;
	bool denied = refused && r->fault == LSH_FAULT_DENIED;
	leash_error why;

	/* that is for a moment, while a slot moves */
	if (refused && lsh_router_is_cluster(r->server->router))
		again |= r->fault == LSH_FAULT_CLUSTER || lsh_starts_with_word(r->words, "TRYAGAIN");
	again |= is_perhaps_traded(lease);
	again &= refused ? r->again || (is_perhaps_traded(lease) && (denied || r->fault == LSH_FAULT_REFUSED)) : r->garbled;
	lease->votes[0].state = LSH_VOTE_FAILED;
	lease->want->answered = true;
	lsh_call_explain(voted->call, r, &why);
	if (refused ? denied && !again : !r->garbled)
		lsh_lease_give_up(lease); /* perhaps in the middle of the script */
	if (again)
		look_again(lease, &why, refused ? in_a_while() : LSH_NEVER);
	else
		lsh_events_of(lease)->failed(lease, &why);
}

static void
acquire_answered(struct lsh_lease *lease, const struct lsh_voted *voted)
{
	const struct lsh_result *r = voted->result;
	struct lsh_node *node = r->server->node;
	int64_t fence = voted->verdict.fence;

	if (voted->verdict.what == LSH_TAKEN) {
		busy(lease, voted);
	} else if (voted->verdict.what == LSH_GRANTED) {
		/* a new fence is not behind the server's clock: if it is behind what we believe of that, the clock went back.
		 * Who shares may have that of others, who came in long ago */
		if (lsh_need_count(lease->need) == 0 && fence < lsh_node_server_us_at_least(node, r->sent) - 1000000)
			lsh_node_learn_clock(node, fence, r->sent, lsh_now_ns());
		take(lease, voted);
	} else if (voted->verdict.what == LSH_GONE) { /* nor is there what it was to be in place of */
		lsh_events_of(lease)->failed(lease, &gone);
	} else { /* too late, by our idea of its clock: that is better now */
		look_again(lease, &nothing, 0);
	}
}

/* ---- adopting ---- */

static void
adoption_answered(struct lsh_lease *lease, const struct lsh_voted *voted)
{
	const struct lsh_verdict *verdict = &voted->verdict;
	leash_error why;

	if (verdict->what == LSH_GRANTED) {
		lsh_lease_adopted(lease, verdict->fence, voted->result->sent, voted->lease_ms);
		return;
	}
	lsh_fail(&why, LEASH_NOT_HELD, 0, "nobody holds it by that token%s",
	         verdict->what == LSH_QUEUED ? ": it is in the queue" : "");
	lsh_events_of(lease)->failed(lease, &why);
}

/* ACQUIRING: what came of its request. */
static void
asked(struct lsh_lease *lease, const struct lsh_voted *voted)
{
	switch (voted->result->what) {
	case LSH_CALL_ANSWERED:
		(lease->adopting ? adoption_answered : acquire_answered)(lease, voted);
		break;
	case LSH_CALL_REFUSED:
	case LSH_CALL_NONSENSE:
		not_answered(lease, voted);
		break;
	default:
		lease->votes[0].state = LSH_VOTE_FAILED;
		wait_for_node(lease);
		break;
	}
}

/* ---- heartbeats ---- */

/* What does not pass by itself is for those who wait to hear, in the answer to a request of their own. */
static void
heartbeat_refused(struct lsh_lease *lease, const struct lsh_result *r)
{
	if (r->fault == LSH_FAULT_NOT_NOW && lsh_starts_with_word(r->words, "TRYAGAIN")) /* its slot is moving: a moment */
		lsh_lease_arm(lease, lsh_after_ms(lsh_now_ns(), 100), 0);
	else if (r->fault != LSH_FAULT_REFUSED && !r->again)
		give_up(lease);
}

static void
heartbeat_answered(struct lsh_lease *lease, const struct lsh_voted *voted)
{
	const struct lsh_result *r = voted->result;
	struct lsh_vote *v = &lease->votes[0];
	int64_t now = lsh_now_ns(), claim = lease->claim_ms * LSH_MS;

	v->word_lost |= r->what == LSH_CALL_UNKNOWN;
	if (r->what == LSH_CALL_REFUSED)
		heartbeat_refused(lease, r);
	if (r->what != LSH_CALL_ANSWERED)
		return; /* the timer goes on, and after a reconnect all heartbeats are said anew */
	switch (voted->verdict.what) {
	case LSH_GRANTED:
		take(lease, voted);
		break;
	case LSH_QUEUED:
		/* after a second request "queued" may mean a second place, with the message of a grant of the first still on
		 * its way */
		if (!v->asked_again || LSH_MUTATES(LSH_REPEATED_ASKS_COUNT))
			v->counted_from = r->sent;
		lsh_lease_arm(lease, lsh_pace_word(r->sent, now, claim, voted->verdict.ttl_ms), lsh_pace_slack(claim));
		if (v->hinted)
			lsh_vote_due(v);
		v->hinted = false;
		break;
	default:
		if (LSH_MUTATES(LSH_TOKENS_COME_BACK)) {
			atomic_fetch_sub(&lease->resource->backend->waiting, 1);
			lease->state = LSH_ACQUIRING;
			v->asked = false;
			look_again(lease, &others, 0);
		} else {
			give_up(lease);
		}
		break;
	}
}

/* ---- holding ---- */

static bool
extend(struct lsh_lease *lease, struct lsh_parker *reader)
{
	struct lsh_vote *v = &lease->votes[0];

	if (lsh_lease_is_acknowledged(lease)) {
		lsh_vote_due(v);
		return true;
	}
	if (lsh_vote_is_out(v))
		return true; /* whoever waits for less is told by what is on its way, and the others say it again then */
	return lsh_vote_say(v, LSH_RENEW, lsh_lease_up_to_end_ms(lease, lease->extend_ms, lsh_now_ns()), 0, reader);
}

static void
silent(struct lsh_lease *lease)
{
	if (!lsh_lease_is_acknowledged(lease))
		lsh_pipeline_break_if_silent(lsh_node_pipeline(lease->votes[0].host->server.node), lease->wanted_at);
}

/* Tell whoever waits for it: for the replicas, or for an extension, whose failure is no sign of anything. */
static void
tell_why_not(struct lsh_lease *lease, const struct lsh_voted *voted)
{
	const struct lsh_lease_events *events = lsh_events_of(lease);
	const struct lsh_result *r = voted->result;
	bool final = (r->what == LSH_CALL_REFUSED && !r->again) || (r->what == LSH_CALL_NONSENSE && !r->garbled);
	leash_error why;

	lsh_call_explain(voted->call, r, &why);
	if (lsh_lease_is_acknowledged(lease))
		final = lsh_status_stays(why.status);
	if (lease->state == LSH_HELD)
		events->not_renewed(lease, &why, final);
	else if (final && !is_perhaps_traded(lease))
		events->failed(lease, &why);
	else
		events->waits(lease, &why, LSH_NEVER);
}

/* The server says that it does not have it; else NULL. */
static const char *
why_gone(const struct lsh_voted *voted)
{
	const struct lsh_result *r = voted->result;

	if (r->what == LSH_CALL_REFUSED && r->fault == LSH_FAULT_MISMATCH)
		return "its key holds something else";
	if (r->what == LSH_CALL_ANSWERED && voted->verdict.what == LSH_GONE && !LSH_MUTATES(LSH_GONE_IS_NO_LOSS))
		return "the server did not have it any more";
	return NULL;
}

/* PENDING: enough replicas have it, as it was after the renewal that was sent then. */
static void
acknowledged(struct lsh_lease *lease, int64_t sent, int64_t lease_ms)
{
	lease->failures = 0;
	lease->full |= lease_ms >= lease->lease_ms;
	lease->valid_until = 0; /* not what the server alone has said since */
	lsh_lease_prolong(lease, sent, lease_ms);
	if (!lsh_lease_is_over(lease, lsh_now_ns()))
		lsh_lease_held(lease, lease->want->fence, sent);
}

static void
kept(struct lsh_lease *lease, const struct lsh_voted *voted)
{
	const struct lsh_result *r = voted->result;

	if (lease->state == LSH_PENDING) {
		acknowledged(lease, r->sent, voted->lease_ms);
		return;
	}
	lsh_lease_prolong(lease, r->sent, voted->lease_ms);
	lsh_lease_renewed(lease, r->sent, voted->lease_ms);
	lsh_events_of(lease)->at_risk(lease, 0, 0, NULL);
	if (voted->verdict.had_no_ttl)
		lsh_lease_warn_of_no_ttl(lease, lsh_host_of(r->server));
}

static void
not_kept(struct lsh_lease *lease, const struct lsh_voted *voted)
{
	const struct lsh_result *r = voted->result;
	bool is_acknowledged = lsh_lease_is_acknowledged(lease);
	struct lsh_node *node = (is_acknowledged ? r->server : &lease->votes[0].host->server)->node;
	/* the first connection to what acknowledges is being made: nothing was lost */
	bool is_new = is_acknowledged && !lsh_node_has_tried(node);
	const char *event = "a renewal was not answered: retrying";

	if (lease->state == LSH_PENDING && !is_new && r->what != LSH_CALL_ANSWERED)
		tell_why_not(lease, voted);
	if (lease->state >= LSH_ENDING)
		return;
	if (r->what == LSH_CALL_REFUSED)
		event = "a renewal was refused: retrying";
	if (lease->state == LSH_PENDING || is_new)
		event = NULL;
	lsh_lease_not_renewed(lease, event, is_new || lsh_node_is_up(node));
}

static void
is_gone(struct lsh_lease *lease, const char *why)
{
	if (lease->traded) {
		lsh_lease_not_renewed(lease, NULL, true); /* the answer to the trade tells, or else the next one to this */
		return;
	}
	lsh_events_of(lease)->not_renewed(lease, NULL, true);
	lsh_lease_lose(lease, why);
}

/* PENDING, HELD. */
static void
renewal_answered(struct lsh_lease *lease, const struct lsh_voted *voted)
{
	const struct lsh_result *r = voted->result;
	bool extends = lease->extend_ms > 0 && (voted->by_itself || lsh_lease_is_acknowledged(lease));
	/* a batch that is out is going to tell */
	bool renews = !extends || (lease->wanted_at != 0 && lease->votes[0].batch == NULL);
	const char *why = why_gone(voted);

	if (renews)
		lease->wanted_at = 0;
	if (why != NULL) {
		is_gone(lease, why);
		return;
	}
	/* past valid_until it is lost for ever, whatever the answer */
	if (r->what == LSH_CALL_ANSWERED && r->sent != LSH_NEVER &&
	    (lsh_now_ns() < lease->valid_until || LSH_MUTATES(LSH_LATE_RENEWALS_COUNT))) {
		kept(lease, voted);
		return;
	}
	if (extends && r->what != LSH_CALL_ANSWERED) {
		tell_why_not(lease, voted);
		if (!renews)
			return;
	}
	not_kept(lease, voted);
}

/* ---- what comes from the votes ---- */

/* What becomes of a renewal concerns its own lease alone; but for a mutation. */
static struct lsh_lease *
concerned(struct lsh_lease *lease)
{
	if (LSH_MUTATES(LSH_ANSWERS_FIT_ANY_HOLD))
		lsh_each_lease(other, lease->resource)
			if (other->state == LSH_HELD)
				return other;
	return lease;
}

static void
heard_of_heartbeat(struct lsh_vote *v, const struct lsh_voted *voted)
{
	struct lsh_lease *lease = v->lease;

	if (lease->state == LSH_ACQUIRING && lease->adopting)
		asked(lease, voted);
	else if (lease->state == LSH_WAITING)
		heartbeat_answered(lease, voted);
	else if (lease->state == LSH_HELD && voted->result->what == LSH_CALL_ANSWERED)
		lsh_vote_due(v); /* it was granted by a message meanwhile */
}

static void
voted(struct lsh_vote *v, const struct lsh_voted *voted)
{
	struct lsh_lease *lease = voted->verb == LSH_RENEW ? concerned(v->lease) : v->lease;

	if (voted->moved && (lease->state == LSH_HELD || lease->state == LSH_WAITING)) {
		lsh_vote_due(v); /* whatever was done there, or was not, the server where it lives now knows better */
		if (voted->verb != LSH_ACQUIRE && voted->verb != LSH_TRADE)
			return;
	}
	if (voted->verb == LSH_HEARTBEAT)
		heard_of_heartbeat(v, voted);
	else if ((voted->verb == LSH_ACQUIRE || voted->verb == LSH_TRADE) && lease->state == LSH_ACQUIRING)
		asked(lease, voted); /* else it was granted by a message meanwhile */
	else if (voted->verb == LSH_RENEW && (lease->state == LSH_HELD || lease->state == LSH_PENDING))
		renewal_answered(lease, voted);
}

static void
connected(struct lsh_vote *v)
{
	if (v->lease->state >= LSH_WAITING)
		lsh_vote_due(v);
}

/* By itself. */
static void
see_to(struct lsh_vote *v, int64_t now)
{
	struct lsh_lease *lease = v->lease;
	int64_t wants_ms;

	if (lsh_vote_is_out(v))
		return;
	if (lease->state == LSH_WAITING) {
		lsh_vote_say(v, LSH_HEARTBEAT, lease->lease_ms, 0, NULL);
	} else if (lease->state == LSH_HELD) {
		wants_ms = lsh_events_of(lease)->wants_ms(lease, now);
		if (wants_ms > 0 && now < lease->valid_until && lsh_vote_say(v, LSH_RENEW, wants_ms, 0, NULL))
			return;
		lease->wanted_at = 0;
	}
}

/* Without a queue, the next request of this process would come before those of all others: they are woken by the
 * release, and it went out right behind that. */
static void
ends(struct lsh_lease *lease)
{
	struct lsh_resource *r = lease->resource;

	if (has_no_queue(r) && lease->state == LSH_HELD && r->cluster->contended)
		r->cluster->rests_until = lsh_after(lsh_now_ns(), REST);
}

/* Who heard of the release waits for it, but for this client. */
static void
note_listeners(struct lsh_resource *r, const struct lsh_result *result)
{
	struct lsh_verdict verdict = {.what = LSH_GONE};

	r->kind->read(&verdict, LSH_RELEASE, result->message, 0, 1);
	if (verdict.what == LSH_LET_GO)
		r->cluster->contended = verdict.listeners > (r->cluster->subscribed == LSH_LISTENS);
}

static void
released(struct lsh_vote *v, const struct lsh_call *call, const struct lsh_result *r, bool over)
{
	struct lsh_lease *lease = v->lease;
	enum lsh_found found = v->found;
	leash_error why = {LEASH_OK, 0, ""};

	if (has_no_queue(lease->resource) && r->what == LSH_CALL_ANSWERED)
		note_listeners(lease->resource, r);
	if (lease->answered)
		return;
	if (r->what == LSH_CALL_REFUSED || r->what == LSH_CALL_NONSENSE)
		lsh_call_explain(call, r, &why);
	if (found != LSH_FOUND_REFUSED && !over && lsh_kind_is_counted(lease->resource->kind))
		found = LSH_FOUND_NOT_YET; /* the next answer may be another one */
	lease->answered = found == LSH_FOUND_HELD || found == LSH_FOUND_NOTHING;
	lsh_events_of(lease)->ended(lease, found, &why);
}

static void
describe(struct lsh_lease *lease, leash_error *why)
{
	if (lease->state == LSH_PENDING) {
		if (why->text[0] == '\0')
			lsh_fail(why, LEASH_UNAVAILABLE, 0, "%.100s: no answer in time", lsh_host_shown(lease->votes[0].host));
	} else if (lease->state == LSH_WAITING && lsh_host_is_up(lease->votes[0].host)) {
		*why = others;
	} else if (why->status != LEASH_TIMEOUT || !lsh_host_is_up(lease->votes[0].host)) {
		node_trouble(lease, why);
	}
	if (lease->state >= LSH_ENDING)
		why->status = LEASH_UNKNOWN;
}

const struct lsh_strategy lsh_single = {
	.why_over = "no renewal succeeded before its lease ran out",
	.has_queue = true, .fits = fits, .acquire = acquire, .granted = granted, .extend = extend, .silent = silent,
	.connected = connected, .see_to = see_to, .voted = voted, .ends = ends, .released = released, .describe = describe,
};
