/* Quorums (Redlock): a lock on N servers that know nothing of each other, held by whoever has a majority of their
 * votes.
 *
 * A vote is the lock on that server alone, by the rules that hold for a single server, valid_until and not_after
 * included.
 *
 * THE RULE. The lease is valid until the majority-th largest valid_until of its votes: up to then a majority of the
 * servers has voted for nobody else, and any other owner would need one of those. What one server says decides nothing.
 *
 *   round    an acquire asks all servers at once, with a new token:
 *            ACQUIRING --a majority, its fence known to a majority--> HELD; who answers later only adds to it
 *                      --a majority is impossible, or the time is over--> ENDING: canceled wherever it was asked, and
 *                        the next round comes after a random pause that is longer than this one took
 *
 *   renewal  every vote is renewed, and when all of those have been heard of the others are asked again, by the same
 *            token. (Not sooner: what a majority has taken from it is lost, and must not be brought back one by one.)
 *            Succeeded when a majority has been renewed
 *
 *   guard    a server that was restarted without its data may give away what another owner still counts on. So its
 *            vote counts only once it has been up for restart_guard_ms, at least the longest lease that anybody uses;
 *            never, if it does not say how long it is up. It is asked all the same
 *
 *   adoption all servers are asked whether they have the token, and keep it if so. A majority of such votes is a lease
 *            as any other; so many that do not have it are none; and else it is not known
 *
 *   fence    the client proposes one, each server answers that or its last + 1, and the largest counts. Before the
 *            lock is held a majority must know it: where answers differ it is written back. So the next majority has
 *            one server that answers more
 *
 * Each answer is dealt with by whoever reads it, mostly its server's thread: one that hangs delays only its own
 * votes. */
#include "lease/round.h"

#include "base/error.h"
#include "base/mutation.h"

/* ---- a lease that is held ---- */

static void count(struct lsh_lease *lease);
static void describe(struct lsh_lease *lease, leash_error *why);

static void
granted(struct lsh_lease *lease, int64_t fence, int64_t sent)
{
	lsh_lease_held(lease, fence, sent);
	count(lease); /* it may be at risk from the start */
}

static bool
is_renewing(const struct lsh_lease *lease)
{
	for (size_t i = 0; i < lease->count && !LSH_MUTATES(LSH_VOTES_COME_BACK); i++)
		if (lease->votes[i].state == LSH_VOTE_GRANTED && lsh_quorum_is_open(&lease->votes[i]))
			return true;
	return false;
}

/* Where it has no vote, see whether it can have one; unless it may not be asked for. */
static void
ask_again(struct lsh_lease *lease, int64_t now)
{
	if (is_renewing(lease) || lsh_lease_wants_ms(lease, now) == 0)
		return;
	for (size_t i = 0; i < lease->count; i++) {
		struct lsh_vote *v = &lease->votes[i];
		int64_t asked_at = lsh_round_of(lease)->of[i].asked_at;

		if (v->state != LSH_VOTE_GRANTED && !lsh_quorum_is_open(v) &&
		    (asked_at < lsh_round_of(lease)->round_at || asked_at == 0))
			lsh_vote_due(v);
	}
}

static void
set_valid_until(struct lsh_lease *lease, int64_t valid_until)
{
	int64_t before = lease->valid_until;

	if (valid_until > lease->ends_at)
		valid_until = lease->ends_at;
	if (valid_until == before || (valid_until < before && LSH_MUTATES(LSH_LOST_VOTES_SHORTEN_NOTHING)))
		return;
	lease->valid_until = valid_until;
	lsh_events_of(lease)->revalued(lease);
	if (valid_until < before) /* the timer may be set for later; and the sooner the votes are won again the better */
		lsh_lease_arm(lease, lease->wanted_at == 0 ? lsh_now_ns() : valid_until, 0);
}

/* The renewal that is going on. */
static void
settle_renewal(struct lsh_lease *lease, const struct lsh_vote_count *c)
{
	int64_t ms = lease->extend_ms > lease->lease_ms ? lease->extend_ms : lease->lease_ms;

	if (lease->wanted_at == 0)
		return;
	if (c->renewed >= lease->resource->backend->majority) {
		lease->wanted_at = 0;
		lease->span_ms = (int32_t)ms;
		lsh_lease_renewed(lease, lsh_round_of(lease)->round_at, ms);
	} else if (c->open == 0) {
		lsh_lease_not_renewed(lease, NULL, c->retry); /* the others are asked as soon as there is a connection */
	}
}

/* An extension that no majority can grant any more. */
static void
settle_extension(struct lsh_lease *lease, const struct lsh_vote_count *c)
{
	leash_error why = {0};

	if (lease->extend_ms == 0 || c->renewed + c->open + c->away >= lease->resource->backend->majority)
		return;
	describe(lease, &why);
	if (why.status != LEASH_DENIED)
		why.status = LEASH_UNAVAILABLE;
	lsh_events_of(lease)->not_renewed(lease, &why, true);
}

static void
count_held(struct lsh_lease *lease)
{
	const struct lsh_lease_events *events = lsh_events_of(lease);
	unsigned majority = lease->resource->backend->majority;
	int64_t now = lsh_now_ns();
	struct lsh_vote_count c = lsh_quorum_count(lease, now);

	if (now >= lease->valid_until || c.last == NULL || c.last->valid_until <= now) {
		if (lease->wanted_at != 0)
			events->not_renewed(lease, NULL, true);
		if (!lsh_lease_is_over(lease, now))
			lsh_lease_lose(lease, "a majority of the servers did not have it any more");
		return;
	}
	set_valid_until(lease, c.last->valid_until);
	settle_renewal(lease, &c);
	settle_extension(lease, &c);
	if (lease->state != LSH_HELD)
		return;
	ask_again(lease, now);
	if (c.sound < majority)
		events->at_risk(lease, 0, 0, "a majority of the servers does not renew it: retrying");
	else if (c.sound == majority)
		events->at_risk(lease, 0, 0, "only a bare majority of the servers has it: with one more failure it is lost");
	else if (events->wants_ms(lease, now) >= 0) /* else its owner puts renewals off */
		events->at_risk(lease, 0, 0, NULL);
}

static void
renews(struct lsh_lease *lease, int64_t now)
{
	lsh_round_of(lease)->round_at = now;
}

static bool
extend(struct lsh_lease *lease, struct lsh_parker *reader)
{
	int64_t now = lsh_now_ns();

	(void)reader;
	lsh_round_of(lease)->trouble.status = LEASH_OK;
	lsh_lease_want(lease, now);
	renews(lease, now);
	lsh_lease_check(lease);
	return true;
}

static void
silent(struct lsh_lease *lease)
{
	for (size_t i = 0; i < lease->count; i++)
		if (lsh_quorum_is_open(&lease->votes[i]))
			lsh_pipeline_break_if_silent(lsh_node_pipeline(lease->votes[i].host->server.node), lease->wanted_at);
}

/* ---- the end ---- */

/* Its cancel is not answered yet. */
static bool
is_unreleased(const struct lsh_vote *v)
{
	return v->found != LSH_FOUND_HELD && v->found != LSH_FOUND_NOTHING && v->state == LSH_VOTE_ENDING;
}

static void
count_end(struct lsh_lease *lease)
{
	unsigned majority = lease->resource->backend->majority;
	unsigned held = 0, gone = 0;       /* by the servers' answers */
	unsigned unknown = 0, willing = 0; /* not answered (yet); may answer yet, and have not refused */
	enum lsh_found found = LSH_FOUND_NOT_YET;
	leash_error why = {LEASH_OK, 0, ""};

	if (lease->answered)
		return;
	for (size_t i = 0; i < lease->count; i++) {
		const struct lsh_vote *v = &lease->votes[i];
		bool open_vote = is_unreleased(v);

		held += v->found == LSH_FOUND_HELD;
		gone += v->found == LSH_FOUND_NOTHING;
		unknown += open_vote || (v->found == LSH_FOUND_NOT_YET && v->state == LSH_VOTE_ENDED && v->asked);
		willing += open_vote && v->found != LSH_FOUND_REFUSED;
	}
	if (held >= majority || (lease->breaks && held + gone >= majority)) {
		found = LSH_FOUND_HELD;
	} else if (!lease->breaks && held + unknown < majority) {
		found = LSH_FOUND_NOTHING;
		lsh_fail(&why, LEASH_LOST, 0, "only %u of %u servers still had it", held, lease->count);
	} else if (willing == 0) { /* what may mend that comes too late for whoever waits */
		found = LSH_FOUND_REFUSED;
		lease->resource->backend->strategy->describe(lease, &why);
	} else {
		return;
	}
	lease->answered = found != LSH_FOUND_REFUSED;
	lsh_events_of(lease)->ended(lease, found, &why);
}

/* Has a restart lost a vote that counts still? Until it is over nobody can have got another one that counts. */
static bool
stands(const struct lsh_vote *v, int64_t now)
{
	const struct lsh_quorum_vote *s = lsh_quorum_of(v);
	int64_t uptime = lsh_node_uptime(v->host->server.node, now);

	return !LSH_MUTATES(LSH_WIPED_VOTES_ARE_LOST) && s->valid_until > now && uptime >= 0 && uptime < now - s->sent;
}

static void
released(struct lsh_vote *v, const struct lsh_call *call, const struct lsh_result *r, bool over)
{
	(void)over;
	if (v->found == LSH_FOUND_NOTHING && r->what == LSH_CALL_ANSWERED && stands(v, lsh_now_ns()))
		v->found = LSH_FOUND_HELD;
	if (r->what == LSH_CALL_REFUSED)
		lsh_quorum_refused(v, call, r);
	count_end(v->lease);
}

static void
ends(struct lsh_lease *lease)
{
	lsh_round_let_others(lease);
	lsh_round_of(lease)->trouble.status = LEASH_OK;
	for (size_t i = 0; i < lease->count; i++)
		lsh_round_of(lease)->of[i].trouble = LEASH_OK;
}

/* ---- what comes from the votes ---- */

static void
count(struct lsh_lease *lease)
{
	if (lease->state == LSH_HELD)
		count_held(lease);
	else if (lease->state == LSH_ACQUIRING)
		lsh_round_count(lease);
}

/* {0, ttl} or {-1} */
static void
not_granted(struct lsh_vote *v, const struct lsh_voted *voted)
{
	struct lsh_quorum_vote *s = lsh_quorum_of(v);
	struct lsh_round *round = lsh_round_of(v->lease);
	int64_t now = lsh_now_ns();

	if (voted->verb == LSH_HEARTBEAT) {
		v->state = LSH_VOTE_REFUSED;
		s->ttl_ms = -1; /* nor is it known whether another has it */
		s->failing = true;
		return;
	}
	if (voted->verdict.what == LSH_TAKEN) {
		lsh_quorum_drop(v, LSH_VOTE_REFUSED);
		s->ttl_ms = voted->verdict.ttl_ms;
		/* losing a vote in the first round is normal contention; only a refused renewal puts the lease at risk */
		s->failing |= round->round_at > 0 && voted->result->sent >= round->round_at;
		return;
	}
	/* too late, by our idea of its clock: that is better now */
	s->asked_at = 0;
	v->state = LSH_VOTE_FAILED;
	if (v->lease->state == LSH_ACQUIRING && now < round->limit)
		lsh_quorum_ask(v, v->lease->lease_ms, round->limit, now);
}

static void
answered(struct lsh_vote *v, const struct lsh_voted *voted)
{
	const struct lsh_verdict *verdict = &voted->verdict;
	struct lsh_quorum_vote *s = lsh_quorum_of(v);

	switch (voted->verb) {
	case LSH_ACQUIRE:
	case LSH_HEARTBEAT:
		if (verdict->what != LSH_GRANTED) {
			not_granted(v, voted);
		} else if (lsh_quorum_take_fence(v, verdict->fence)) {
			lsh_quorum_win(v, voted->result->sent, voted->lease_ms);
		} else {
			v->state = LSH_VOTE_FAILED;
		}
		break;
	case LSH_RENEW:
		if (verdict->what == LSH_KEPT) {
			lsh_quorum_win(v, voted->result->sent, voted->lease_ms);
			if (verdict->had_no_ttl)
				lsh_lease_warn_of_no_ttl(v->lease, v->host);
			break;
		}
		/* restarted, evicted, broken by somebody, or not renewed in time: to be asked again, unless a majority is so */
		lsh_quorum_drop(v, LSH_VOTE_FAILED);
		s->failing = true;
		s->asked_at = 0;
		s->trouble = LEASH_OK;
		break;
	default:
		s->mute = verdict->fence <= s->fence || !lsh_quorum_take_fence(v, verdict->fence);
		break;
	}
}

/* The server refused it, said nonsense, or nothing. */
static void
not_answered(struct lsh_vote *v, const struct lsh_voted *voted)
{
	const struct lsh_result *r = voted->result;

	lsh_quorum_failed(v);
	if (voted->verb == LSH_RAISE)
		lsh_quorum_of(v)->mute = true;
	else if (v->state == LSH_VOTE_GRANTED && r->what == LSH_CALL_REFUSED && r->fault == LSH_FAULT_MISMATCH)
		lsh_quorum_drop(v, LSH_VOTE_FAILED);
	if (r->what == LSH_CALL_REFUSED || r->what == LSH_CALL_NONSENSE)
		lsh_quorum_refused(v, voted->call, r); /* else the node knows why */
}

/* What was on its way when an extension came: it was sent before that, or asks for less. */
static bool
is_overtaken(struct lsh_lease *lease, const struct lsh_voted *voted)
{
	return (lease->wanted_at != 0 && voted->result->sent < lsh_round_of(lease)->round_at) ||
	       lsh_lease_wants_ms(lease, lsh_now_ns()) > voted->lease_ms;
}

static void
voted(struct lsh_vote *v, const struct lsh_voted *voted)
{
	struct lsh_lease *lease = v->lease;

	if (voted->result->what == LSH_CALL_ANSWERED)
		answered(v, voted);
	else
		not_answered(v, voted);
	if (voted->verb == LSH_RENEW && voted->result->what == LSH_CALL_ANSWERED && lease->state == LSH_HELD &&
	    is_overtaken(lease, voted))
		lsh_vote_due(v);
	count(lease);
}

static void
connected(struct lsh_vote *v)
{
	struct lsh_lease *lease = v->lease;

	/* the extension that failed over the connection before may succeed over this one */
	if (lease->state == LSH_HELD && lease->extend_ms > 0 && lease->wanted_at == 0)
		lsh_lease_want(lease, lsh_now_ns());
	if (lease->state == LSH_HELD || lease->state == LSH_ENDING ||
	    (lease->state == LSH_ACQUIRING && lsh_round_of(lease)->limit != 0))
		lsh_vote_due(v);
}

/* What is due of it besides renewals and cancels: its thread asks for the vote (again), or has it hear of a fence. */
static void
see_to(struct lsh_vote *v, int64_t now)
{
	struct lsh_lease *lease = v->lease;
	struct lsh_quorum_vote *s = lsh_quorum_of(v);
	int64_t lease_ms, limit;

	if (lsh_vote_is_out(v))
		return;
	if (lease->state == LSH_ACQUIRING && now < lsh_round_of(lease)->limit) {
		if (v->state == LSH_VOTE_NEW || (v->state == LSH_VOTE_FAILED && s->asked_epoch != lsh_quorum_epoch(v)))
			lsh_quorum_ask(v, lease->lease_ms, lsh_round_of(lease)->limit, now);
		count(lease);
		return;
	}
	if (lease->state != LSH_HELD || now >= lease->valid_until || (lease_ms = lsh_lease_wants_ms(lease, now)) == 0)
		return;
	if (v->state == LSH_VOTE_GRANTED) {
		if (!lsh_vote_say(v, LSH_RENEW, lease_ms, 0, NULL))
			lsh_quorum_failed(v);
	} else if (is_renewing(lease)) {
		return; /* it comes next */
	} else {
		limit = lsh_after(now, lease->resource->backend->options.timeout);
		/* a server that hangs is to cost a part of the lease only */
		if (limit > lsh_after(now, lease->lease_ms * LSH_MS / 4))
			limit = lsh_after(now, lease->lease_ms * LSH_MS / 4);
		lsh_quorum_ask(v, lease_ms, limit, now);
	}
	count(lease);
}

/* Why it is not acquired, adopted, extended or released by now. */
static void
describe(struct lsh_lease *lease, leash_error *why)
{
	const struct lsh_round *round = lsh_round_of(lease);
	unsigned silent_votes = 0;
	leash_error down = {LEASH_UNAVAILABLE, 0, "no answer in time"};

	if (lease->state == LSH_ACQUIRING) {
		lsh_round_describe(lease, why);
		return;
	}
	for (size_t i = 0; i < lease->count; i++) {
		const struct lsh_vote *v = &lease->votes[i];
		const struct lsh_quorum_vote *s = &round->of[i];

		if (lease->state != LSH_HELD)
			silent_votes += is_unreleased(v);
		else
			silent_votes += s->kept_at < round->round_at || s->kept_ms < lease->extend_ms;
		if (round->trouble.status == LEASH_OK && !lsh_host_is_up(v->host) && down.sys_errno == 0 && down.text[0] == 'n')
			lsh_node_trouble(v->host->server.node, &down);
	}
	if (round->trouble.status != LEASH_OK)
		down = round->trouble;
	lsh_electorate_fail(why, silent_votes, lease->count, "did not answer", &down);
}

const struct lsh_strategy lsh_quorum = {
	.why_over = "no renewal succeeded with a majority of the servers before its lease ran out",
	.round_size = sizeof(struct lsh_round), .round_vote_size = sizeof(struct lsh_quorum_vote),
	.open = lsh_electorate_await, .host_connected = lsh_electorate_warn_of_twins,
	.fits = lsh_round_fits, .acquire = lsh_round_acquire, .granted = granted, .renews = renews, .extend = extend,
	.silent = silent, .connected = connected, .see_to = see_to, .voted = voted, .ends = ends, .released = released,
	.describe = describe,
};
