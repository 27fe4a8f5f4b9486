/* Quorums (Redlock): a lock on N servers that know nothing of each other, held by whoever has a majority of their votes.
 *
 * A vote is the lock on that server alone; it is taken, kept and given back by the rules that hold for a single server, valid_until and
 * not_after included.
 *
 * THE RULE. The lease is valid until the majority-th largest valid_until of its votes: up to then a majority of the servers has voted for
 * nobody else, and any other owner would need one of those. So a vote that is lost, or counts no more, brings that moment nearer; a vote that
 * is won, or won again, puts it off; and what one server says decides nothing.
 *
 *   round    an acquire asks all servers at once, with a new token:
 *            ACQUIRING --a majority, its fence known to a majority--> HELD; who answers later only adds to it
 *                      --a majority is impossible, or the time is over--> ENDING: canceled wherever it was asked, and the next round
 *                        comes after a random pause that is longer than this one took
 *
 *   renewal  every vote is renewed, and when all of those have been heard of the others are asked again, by the same token. (Not sooner: what
 *            a majority has taken from it is lost, and must not be brought back one by one.) Succeeded when a majority has been renewed
 *
 *   guard    a server that was restarted without its data may give away what another owner still counts on. So its vote counts only once it has
 *            been up for restart_guard_ms, which is at least the longest lease that anybody uses; that it does not say how long it is
 *            up means that it never counts. It is asked all the same, so that the vote is there when it counts
 *
 *   adoption all servers are asked whether they have the token, and whose vote it is they keep for it. A majority of such votes is a lease as
 *            any other; so many that do not have it are none; and else it is not known
 *
 *   fence    the client proposes one, each server answers that or its last + 1, and the largest counts. Before the lock is held a majority must
 *            know it: where answers differ it is written back. So the next majority has one server that answers more
 *
 * Each answer is dealt with by whoever reads it, mostly the thread of that server: all servers in parallel, and one that hangs delays its own
 * votes only. Then the votes are counted. */
#include "lease/vote.h"

#include "base/error.h"
#include "lease/electorate.h"
#include "lease/tally.h"
#include "watchdog/pace.h"

#include <stdio.h>

/* What is kept of one server's vote besides. */
struct standing {
	int64_t valid_until;    /* until when it counts; 0: it does not. Outlives the vote itself where a restart has lost that */
	int64_t sent, asked_ms; /* of the command that it follows from */
	int64_t kept_at, kept_ms; /* of the last command by which it was won or kept, be it that it lasts for longer by an earlier one */
	int64_t stood_until;    /* what valid_until was when it began to end */
	int64_t asked_at;       /* the last time that it was asked for, sent or not */
	uint64_t asked_epoch;   /* over which connection */
	int64_t fence;          /* GRANTED: that the server knows */
	int64_t ttl_ms;         /* REFUSED: of whoever has that vote */
	leash_status trouble;   /* FAILED, or a cancel was refused: what kind; its words are in the round. OK: the node knows why */
	bool failing;           /* what came of the last try was not as it should be */
	bool mute;              /* it would not be told of a larger fence in this round */
};

struct lsh_round {
	int64_t began, limit;   /* ACQUIRING: 0: it has not begun */
	int64_t proposal;       /* of its fence, or the fence of the lease */
	int64_t fence;          /* that a majority has yet to know; 0: none */
	int64_t round_at;       /* HELD: when the last renewal was wanted */
	leash_error trouble;    /* what a server said last that was no answer */
	struct standing of[];
};

/* ---- one vote ---- */

static struct standing *
standing_of(const struct lsh_vote *v)
{
	return &v->lease->round->of[v - v->lease->votes];
}

static unsigned
majority_of(const struct lsh_lease *lease)
{
	return lease->resource->backend->majority;
}

/* Something of it is still to be heard of. */
static bool
is_open(const struct lsh_vote *v)
{
	return v->due || v->batch != NULL || v->call.out;
}

static uint64_t
epoch_of(const struct lsh_vote *v)
{
	return lsh_pipe_epoch(lsh_node_pipe(v->host->server.node));
}

/* There was no connection, or it was lost before an answer came: it is asked again over a new one. */
static bool
is_away(const struct lsh_vote *v)
{
	const struct standing *s = standing_of(v);

	return s->trouble == LEASH_OK && (!lsh_host_is_up(v->host) || epoch_of(v) != s->asked_epoch);
}

/* May the server answer yet? One that was not connected before it was asked may be a moment later. */
static bool
is_pending(const struct lsh_vote *v)
{
	const struct standing *s = standing_of(v);

	if (is_open(v) || s->asked_at == 0)
		return true;
	return v->state == LSH_VOTE_FAILED && s->trouble == LEASH_OK && !lsh_node_has_tried(v->host->server.node);
}

static bool
counts(const struct lsh_vote *v)
{
	return lsh_electorate_counts(v->host, v->lease->safety.restart_guard_ms, lsh_now_ns());
}

/* It is the token's, by a command sent then that asked for so long. */
static void
win(struct lsh_vote *v, int64_t sent, int64_t lease_ms)
{
	struct standing *s = standing_of(v);
	int64_t valid_until = lsh_pace_valid_until(sent, lease_ms * LSH_MS);

	v->state = LSH_VOTE_GRANTED;
	s->failing = !counts(v);
	if (s->failing)
		return;
	s->kept_at = sent;
	s->kept_ms = lease_ms;
	if (valid_until > s->valid_until) {
		s->valid_until = valid_until;
		s->sent = sent;
		s->asked_ms = lease_ms;
	}
}

/* The server does not have our vote. If a restart wiped it, the vote still blocks others until its valid_until: servers do not count while they
 * are younger than restart_guard_ms. */
static void
drop(struct lsh_vote *v, enum lsh_vote_state state)
{
	v->state = state;
	if (counts(v))
		standing_of(v)->valid_until = 0;
}

static void
note_trouble(struct lsh_vote *v, leash_status status, const char *text)
{
	standing_of(v)->trouble = status;
	lsh_fail(&v->lease->round->trouble, status, 0, "%.60s: %.138s", lsh_host_shown(v->host), text);
}

/* The fence of its vote. Of one that is out of all proportion to the clocks of most servers no other one is to hear, and the vote is none:
 * it is that server's fault, and false. */
static bool
take_fence(struct lsh_vote *v, int64_t fence)
{
	static const char why[] = "its vote does not count: its fence is a year or more ahead of the clocks (TIME) of most servers";
	struct lsh_backend *b = v->host->backend;
	struct standing *s = standing_of(v);

	if (fence <= lsh_electorate_fence_most(b, lsh_now_ns())) {
		lsh_electorate_learn_fence(b, fence);
		s->fence = fence;
		return true;
	}
	s->failing = true;
	note_trouble(v, LEASH_PROTOCOL, why);
	lsh_electorate_accuse(v->host, why);
	return false;
}

/* ---- asking one server ---- */

static void
not_sent(struct lsh_vote *v)
{
	struct standing *s = standing_of(v);

	if (v->state != LSH_VOTE_GRANTED)
		v->state = LSH_VOTE_FAILED;
	s->failing = true;
	s->trouble = LEASH_OK; /* the node knows why */
}

/* What an earlier round may have left there, over a connection that is gone, would be in the way of this one: its cancel goes first. */
static void
cancel_before(const struct lsh_vote *v)
{
	struct lsh_resource *r = v->lease->resource;
	size_t server = (size_t)(v - v->lease->votes);
	struct lsh_list *at, *after;

	if (atomic_load(&r->backend->ending) == 0)
		return;
	lsh_list_each(at, after, &r->leases) {
		struct lsh_lease *lease = lsh_container(at, struct lsh_lease, link);

		if (lease->state == LSH_ENDING && lease->votes[server].state == LSH_VOTE_ENDING)
			lsh_vote_cancel(&lease->votes[server], NULL);
	}
}

static void
ask(struct lsh_vote *v, int64_t lease_ms, int64_t limit, int64_t now)
{
	struct lsh_lease *lease = v->lease;
	struct standing *s = standing_of(v);
	bool sent;

	cancel_before(v);
	s->asked_at = now;
	s->asked_epoch = epoch_of(v);
	lsh_presence_tell(v->host, now);
	sent = lease->adopting ? lsh_vote_heartbeat(v, lease_ms, lease->round->proposal, NULL)
	                       : lsh_vote_acquire(v, lease_ms, false, lease->round->proposal, limit, NULL);
	if (!sent)
		not_sent(v);
	else if (lease->adopting)
		v->state = LSH_VOTE_SENT;
}

static void
raise(struct lsh_vote *v)
{
	if (!v->call.out && !lsh_vote_raise(v, v->lease->round->fence))
		standing_of(v)->mute = true;
}

/* ---- why not ---- */

struct excuses {
	unsigned count;      /* servers that could not be asked, or do not count */
	unsigned lasting;    /* of those, with what does not pass by itself, */
	unsigned down;       /* and those to which there is no connection, or was none a moment ago */
	leash_error why;     /* of one of them: DENIED if there is such a one */
};

static bool
is_lasting(leash_status status)
{
	return status != LEASH_OK && status != LEASH_UNAVAILABLE;
}

static void
add_excuse(struct excuses *x, const leash_error *why)
{
	x->count++;
	x->lasting += is_lasting(why->status);
	if (x->count == 1 || (!is_lasting(x->why.status) && is_lasting(why->status)))
		x->why = *why;
}

/* Of the servers themselves, and of what they answered. Late: they should have. */
static void
gather(const struct lsh_lease *lease, bool late, int64_t guard_ms, int64_t now, struct excuses *x)
{
	*x = (struct excuses){.why.status = LEASH_UNAVAILABLE};
	for (size_t i = 0; i < lease->count; i++) {
		const struct lsh_vote *v = &lease->votes[i];
		const struct standing *s = &lease->round->of[i];
		bool fails = v->state == LSH_VOTE_FAILED || (v->state == LSH_VOTE_GRANTED && s->mute); /* it is not to be told of a fence */
		leash_error why;

		x->down += !lsh_host_is_up(v->host) || (v->state == LSH_VOTE_FAILED && s->trouble == LEASH_OK);
		if (fails && s->trouble != LEASH_OK) {
			why = lease->round->trouble;
			why.status = s->trouble;
			add_excuse(x, &why);
		} else if (lsh_electorate_excuse(v->host, guard_ms, now, &why)) {
			add_excuse(x, &why);
		} else if (fails || (v->state == LSH_VOTE_SENT && late)) {
			lsh_fail(&why, LEASH_UNAVAILABLE, 0, "%.100s: no answer in time", lsh_host_shown(v->host));
			add_excuse(x, &why);
		}
	}
}

/* It is because of these; or others were in the way. */
static void
explain(const struct lsh_lease *lease, struct lsh_wish *want, const struct excuses *x, leash_error *why)
{
	char text[200];

	want->contended = lease->count - x->count >= majority_of(lease);
	if (want->contended) {
		*why = (leash_error){LEASH_TIMEOUT, 0, ""};
		return;
	}
	lsh_electorate_say(text, sizeof text, x->count, lease->count, "could not be asked", x->why.text);
	lsh_fail(why, x->why.status, x->why.sys_errno, "%s", text);
}

/* What does not pass by itself, and leaves no majority. A refused password may be old news: only the second time. */
static bool
is_hopeless(const struct lsh_lease *lease, struct lsh_wish *want, const struct excuses *x)
{
	bool before = want->denied;

	want->denied = lease->count - x->lasting < majority_of(lease);
	return want->denied && (before || x->why.status != LEASH_DENIED);
}

/* Who only tries waits, within the time for one answer, for connections, and for nothing else. */
static bool
may_go_on(const struct lsh_lease *lease, struct lsh_wish *want, const struct excuses *x)
{
	unsigned majority = majority_of(lease);

	if (is_hopeless(lease, want, x))
		return false;
	return !want->tries || (lease->count - x->count < majority && lease->count - (x->count - x->down) >= majority);
}

/* ---- rounds ---- */

static leash_status
open(struct lsh_backend *b, leash_error *err)
{
	return lsh_electorate_await(b, err);
}

static bool
fits(const struct lsh_lease *lease, const struct lsh_wish *want)
{
	/* somebody else's round: how its votes count, and for how long, was by that one's terms */
	return lease->round->began == 0 || (lease->lease_ms == lsh_wish_lease_ms(want) && lease->safety.restart_guard_ms == want->safety.restart_guard_ms);
}

/* How long the round took that ended now, for the pauses after it. One that went on past its limit was not a long one: this process stood
 * still meanwhile, or its machine was suspended, and nobody else was in its way for so long. */
static int64_t
length_of(const struct lsh_round *round, int64_t now)
{
	return (now < round->limit ? now : round->limit) - round->began;
}

/* Whose time is so short that it would be over asks nevertheless. */
static int64_t
rests_until(const struct lsh_resource *r, const struct lsh_wish *want)
{
	if (want->tries || r->rests_until <= want->rests_until || r->rests_until >= want->until)
		return want->rests_until;
	return r->rests_until;
}

/* When a majority would be free if others let their votes lapse. */
static int64_t
lapses_at(const struct lsh_lease *lease, int64_t now)
{
	int64_t ttls[LSH_QUORUM_MAX], lapses_ms;
	unsigned votes = 0;
	size_t refusals = 0;

	for (size_t i = 0; i < lease->count; i++) {
		votes += lease->round->of[i].valid_until > 0;
		if (lease->votes[i].state == LSH_VOTE_REFUSED)
			ttls[refusals++] = lease->round->of[i].ttl_ms;
	}
	lapses_ms = lsh_tally_lapses_ms(ttls, refusals, votes, majority_of(lease));
	return lapses_ms < 0 ? LSH_NEVER : lsh_after_ms(now, lapses_ms + 1);
}

/* The waiter's time is over in the middle of a round, which says nothing then: others had the lock a round ago. */
static bool
is_cut_short(const struct lsh_lease *lease, const struct lsh_wish *want, int64_t now)
{
	return want->rounds > 0 && want->contended && now >= lease->round->limit && lease->round->limit >= want->until;
}

/* The round is over without a majority: the next one has a new token. */
static void
lose_round(struct lsh_lease *lease)
{
	const struct lsh_lease_events *events = lease->resource->events;
	struct lsh_wish *want = lease->want;
	int64_t now = lsh_now_ns(), lapses = lapses_at(lease, now);
	leash_error why = {LEASH_TIMEOUT, 0, ""};
	struct excuses x;
	bool goes_on;

	gather(lease, now >= lease->round->limit, lease->safety.restart_guard_ms, now, &x);
	if (!is_cut_short(lease, want, now))
		explain(lease, want, &x, &why);
	if (want->contended)
		lease->resource->contended_at = now;
	goes_on = may_go_on(lease, want, &x);
	want->rounds++;
	want->rests_until = lsh_after(now, lsh_tally_pause(length_of(lease->round, now), want->rounds, lsh_random32()));
	if (lapses < want->rests_until)
		want->rests_until = lapses;
	lsh_lease_give_up(lease);
	if (goes_on)
		events->waits(lease, &why, want->rests_until);
	else
		events->failed(lease, &why);
}

static void count(struct lsh_lease *lease);
static void describe(struct lsh_lease *lease, leash_error *why);

static int64_t
begin_round(struct lsh_lease *lease, struct lsh_wish *want, int64_t now)
{
	struct lsh_round *round = lease->round;
	int64_t limit = lsh_after(now, lease->resource->backend->options.timeout);
	leash_error why;
	struct excuses x;

	gather(lease, false, want->safety.restart_guard_ms, now, &x);
	if (lease->count - x.count < majority_of(lease)) { /* see what the connections bring */
		explain(lease, want, &x, &why);
		if (!may_go_on(lease, want, &x)) {
			lease->resource->events->failed(lease, &why);
			return LSH_NEVER;
		}
		lease->resource->events->waits(lease, &why, LSH_NEVER);
		return lsh_after(now, lsh_tally_pause(0, 16, lsh_random32()));
	}
	round->began = now;
	round->limit = limit < want->until ? limit : want->until;
	round->proposal = lsh_electorate_propose(lease->resource->backend);
	for (size_t i = 0; i < lease->count; i++)
		ask(&lease->votes[i], lease->lease_ms, round->limit, now);
	count(lease);
	return round->limit;
}

static int64_t
acquire(struct lsh_lease *lease, struct lsh_wish *want)
{
	struct lsh_round *round = lease->round;
	int64_t now = lsh_now_ns(), rests = rests_until(lease->resource, want);

	if (lease->state != LSH_ACQUIRING)
		return LSH_NEVER;
	if (round->began == 0)
		return now < rests ? rests : begin_round(lease, want, now);
	if (now < round->limit)
		return round->limit;
	lose_round(lease);
	return want->rests_until;
}

/* A majority has voted for it. Its fence is the largest of theirs, once a majority knows it. */
static void
win_round(struct lsh_lease *lease, const int64_t *valid, unsigned open_votes)
{
	struct lsh_round *round = lease->round;
	unsigned majority = majority_of(lease), know = 0, may_know = open_votes;
	int64_t nth = lsh_tally_nth_largest(valid, lease->count, majority), fence = 0, now = lsh_now_ns();
	const struct standing *last = NULL;

	for (size_t i = 0; i < lease->count; i++)
		if (lease->votes[i].state == LSH_VOTE_GRANTED && round->of[i].fence > fence)
			fence = round->of[i].fence;
	round->fence = fence;
	for (size_t i = 0; i < lease->count; i++) {
		const struct standing *s = &round->of[i];

		if (s->valid_until == nth)
			last = s;
		if (lease->votes[i].state != LSH_VOTE_GRANTED)
			continue;
		know += s->fence == fence && s->valid_until > now; /* one that has lapsed may have gone to another since */
		may_know += s->fence == fence || !s->mute;
		if (s->fence < fence && !s->mute)
			raise(&lease->votes[i]);
	}
	if (know >= majority) {
		round->proposal = fence; /* whoever is asked again is to know it */
		round->fence = 0;
		if (lsh_lease_granted(lease, fence, last->sent, last->asked_ms * LSH_MS, false))
			count(lease); /* it may be at risk from the start */
		else
			lose_round(lease);
	} else if (may_know < majority) {
		lose_round(lease);
	}
}

static void
count_round(struct lsh_lease *lease)
{
	unsigned majority = majority_of(lease), votes = 0, open_votes = 0;
	int64_t valid[LSH_QUORUM_MAX], now = lsh_now_ns();

	for (size_t i = 0; i < lease->count; i++) {
		valid[i] = lease->round->of[i].valid_until;
		votes += valid[i] > now;
		open_votes += lease->votes[i].state == LSH_VOTE_SENT || lease->votes[i].state == LSH_VOTE_NEW;
	}
	if (votes >= majority)
		win_round(lease, valid, open_votes);
	else if (votes + open_votes < majority)
		lose_round(lease);
}

/* Fairness: losers pause, so a client that acquires again at once would always win. After its turn it pauses as they do, if others were seen
 * lately; with threads that wait here, every 16th turn regardless, to find out. */
static void
let_others(struct lsh_lease *lease)
{
	enum { MEMORY_MS = 5000, TURN_MS = 4, TURNS = 16 }; /* several short holds in a row are one turn */
	struct lsh_resource *r = lease->resource;
	int64_t now = lsh_now_ns(), round = lease->round->began > 0 ? length_of(lease->round, lease->turn_began) : 0; /* 0: it was adopted */
	bool waits = r->events->is_wanted(r), contended = r->contended_at > 0 && now - r->contended_at < MEMORY_MS * LSH_MS;

	if (lease->state != LSH_HELD || now < lsh_after_ms(r->rests_until, TURN_MS))
		return;
	if (contended || (waits && ++r->turns % TURNS == 0))
		r->rests_until = lsh_after(now, lsh_tally_pause(round, 1, lsh_random32()));
}

/* ---- a lease that is held ---- */

struct count {
	unsigned sound;    /* servers of which nothing bad is known */
	unsigned renewed;  /* votes since the last renewal was wanted */
	unsigned pending;  /* what that renewal is still to bring */
	unsigned away;     /* or may bring, over a new connection */
	bool retry;        /* it failed on a server that can be asked */
	int64_t nth;       /* the majority-th largest valid_until of votes that count */
};

static struct count
count_votes(const struct lsh_lease *lease)
{
	const struct lsh_round *round = lease->round;
	int64_t valid[LSH_QUORUM_MAX];
	struct count c = {0};

	for (size_t i = 0; i < lease->count; i++) {
		const struct standing *s = &round->of[i];

		valid[i] = s->valid_until;
		c.renewed += s->valid_until > 0 && s->kept_at >= round->round_at && s->kept_ms >= lease->extend_ms;
		c.sound += !s->failing;
		c.pending += is_open(&lease->votes[i]);
		c.away += s->failing && !is_open(&lease->votes[i]) && is_away(&lease->votes[i]);
		c.retry |= s->failing && lsh_host_is_up(lease->votes[i].host);
	}
	c.nth = lsh_tally_nth_largest(valid, lease->count, majority_of(lease));
	return c;
}

static bool
is_renewing(const struct lsh_lease *lease)
{
	for (size_t i = 0; i < lease->count; i++)
		if (lease->votes[i].state == LSH_VOTE_GRANTED && is_open(&lease->votes[i]))
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

		if (v->state != LSH_VOTE_GRANTED && !is_open(v) && (lease->round->of[i].asked_at < lease->round->round_at || lease->round->of[i].asked_at == 0))
			lsh_vote_due(v);
	}
}

static void
set_valid_until(struct lsh_lease *lease, int64_t valid_until)
{
	int64_t before = lease->valid_until;

	if (valid_until > lease->ends_at)
		valid_until = lease->ends_at;
	if (valid_until == before)
		return;
	lease->valid_until = valid_until;
	lease->resource->events->revalued(lease);
	if (valid_until < before) /* the timer may be set for later; and the sooner the votes are won again the better */
		lsh_lease_arm(lease, lease->wanted_at == 0 ? lsh_now_ns() : valid_until, 0);
}

/* The renewal that is going on. */
static void
settle_renewal(struct lsh_lease *lease, const struct count *c, int64_t now)
{
	const struct lsh_lease_events *events = lease->resource->events;
	int64_t again = lease->valid_until;

	if (lease->wanted_at == 0)
		return;
	if (c->renewed >= majority_of(lease)) {
		lease->wanted_at = 0;
		lease->failures = 0;
		lease->full = true;
		lease->renewed_at = lease->round->round_at;
		lease->renewed_ms = lease->extend_ms > lease->lease_ms ? lease->extend_ms : lease->lease_ms;
		lease->span = lease->renewed_ms * LSH_MS;
		lsh_lease_schedule(lease, lease->round->round_at, lease->lease_ms * LSH_MS);
		events->renewed(lease);
	} else if (c->pending == 0) {
		lease->wanted_at = 0;
		lease->failures++;
		if (c->retry) /* the others are asked as soon as there is a connection */
			again = lsh_pace_retry(now, lease->failures, lease->valid_until, lsh_random32());
		lsh_lease_arm(lease, again, (again - now) / 2);
		events->not_renewed(lease, NULL, false);
	}
}

/* An extension that no majority can grant any more. */
static void
settle_extension(struct lsh_lease *lease, const struct count *c)
{
	leash_error why = {0};

	if (lease->extend_ms == 0 || c->renewed + c->pending + c->away >= majority_of(lease))
		return;
	describe(lease, &why);
	if (why.status != LEASH_DENIED)
		why.status = LEASH_UNAVAILABLE;
	lease->resource->events->not_renewed(lease, &why, true);
}

static void
lose(struct lsh_lease *lease, const char *why)
{
	if (lease->wanted_at != 0)
		lease->resource->events->not_renewed(lease, NULL, true);
	lsh_lease_lose(lease, why);
}

static void
count_held(struct lsh_lease *lease)
{
	const struct lsh_lease_events *events = lease->resource->events;
	unsigned majority = majority_of(lease);
	int64_t now = lsh_now_ns();
	struct count c;

	if (now >= lease->valid_until) {
		lose(lease, events->why_over(lease, now));
		return;
	}
	c = count_votes(lease);
	if (c.nth <= now) {
		lose(lease, "a majority of the servers did not have it any more");
		return;
	}
	set_valid_until(lease, c.nth);
	settle_renewal(lease, &c, now);
	settle_extension(lease, &c);
	if (lease->state != LSH_HELD)
		return;
	ask_again(lease, now);
	if (c.sound < majority)
		events->at_risk(lease, 0, 0, "a majority of the servers does not renew it: trying again");
	else if (c.sound == majority)
		events->at_risk(lease, 0, 0, "just a majority of the servers has it: one more that fails, and it is lost");
	else if (events->wants_ms(lease, now) >= 0) /* else its owner puts renewals off */
		events->at_risk(lease, 0, 0, NULL);
}

static void
renew(struct lsh_lease *lease, int64_t now)
{
	lease->round->round_at = now;
	for (size_t i = 0; i < lease->count; i++)
		lsh_vote_due(&lease->votes[i]);
}

static void
want(struct lsh_lease *lease, int64_t now)
{
	int64_t look = now + lease->lease_ms * LSH_MS / 4;

	lease->wanted_at = now;
	lsh_lease_arm(lease, look < lease->valid_until ? look : lease->valid_until, 0);
}

static bool
extend(struct lsh_lease *lease, struct lsh_parker *reader)
{
	int64_t now = lsh_now_ns();

	(void)reader;
	lease->round->trouble.status = LEASH_OK;
	want(lease, now);
	renew(lease, now);
	return true;
}

static void
silent(struct lsh_lease *lease)
{
	for (size_t i = 0; i < lease->count; i++)
		if (is_open(&lease->votes[i]))
			lsh_pipe_break_if_silent(lsh_node_pipe(lease->votes[i].host->server.node), lease->wanted_at);
}

/* ---- adoption ---- */

struct keeping {
	unsigned votes;    /* that count, and last still */
	unsigned refusals; /* by servers that count */
	unsigned pending;  /* may answer yet, or are to hear of a larger fence */
	unsigned away;     /* may come back */
	unsigned knowing;  /* of the votes: servers that know `fence` */
	int64_t fence;     /* that a majority of the servers knows; or the largest */
	const struct standing *nth; /* the majority-th to end, where there are so many */
};

static void
count_fences(const struct lsh_lease *lease, int64_t now, struct keeping *k)
{
	const struct standing *of = lease->round->of;
	unsigned majority = majority_of(lease);

	for (size_t i = 0; i < lease->count && k->knowing < majority; i++) {
		unsigned knowing = 0;

		for (size_t j = 0; j < lease->count; j++)
			knowing += of[j].valid_until > now && of[j].fence == of[i].fence;
		if (knowing >= majority || of[i].fence > k->fence) {
			k->fence = of[i].fence;
			k->knowing = knowing;
		}
	}
}

static struct keeping
count_kept(const struct lsh_lease *lease)
{
	int64_t valid[LSH_QUORUM_MAX], now = lsh_now_ns(), nth;
	struct keeping k = {0};

	for (size_t i = 0; i < lease->count; i++) {
		const struct lsh_vote *v = &lease->votes[i];
		const struct standing *s = &lease->round->of[i];

		valid[i] = s->valid_until;
		k.votes += s->valid_until > now;
		k.refusals += v->state == LSH_VOTE_REFUSED && lsh_electorate_counts(v->host, lease->safety.restart_guard_ms, now);
		k.pending += is_pending(v) || (v->state == LSH_VOTE_GRANTED && s->fence < lease->round->fence && !s->mute);
		k.away += !is_pending(v) && v->state == LSH_VOTE_FAILED && is_away(v);
	}
	count_fences(lease, now, &k);
	nth = lsh_tally_nth_largest(valid, lease->count, majority_of(lease));
	for (size_t i = 0; i < lease->count && k.votes >= majority_of(lease); i++)
		if (lease->round->of[i].valid_until == nth)
			k.nth = &lease->round->of[i];
	return k;
}

/* They do not agree on the fence: the largest it is, and a majority is to know that first. False: that was tried. */
static bool
raise_fence(struct lsh_lease *lease, const struct keeping *k)
{
	if (lease->round->fence >= k->fence)
		return false;
	lease->round->fence = k->fence;
	for (size_t i = 0; i < lease->count; i++)
		if (lease->votes[i].state == LSH_VOTE_GRANTED && lease->round->of[i].fence < k->fence && !lease->round->of[i].mute)
			raise(&lease->votes[i]);
	return true;
}

static void
take_over(struct lsh_lease *lease, const struct keeping *k)
{
	leash_error why;

	lease->round->proposal = k->fence; /* whoever is asked later is to know it */
	lease->round->fence = 0;
	lease->adopted = true;
	/* wherever it may be: its release goes to all */
	for (size_t i = 0; i < lease->count; i++)
		lease->votes[i].late.asked = true;
	if (lsh_lease_granted(lease, k->fence, k->nth->sent, k->nth->asked_ms * LSH_MS, false)) {
		count(lease); /* it may be at risk from the start */
		return;
	}
	if (lease->state != LSH_ACQUIRING)
		return;
	for (size_t i = 0; i < lease->count; i++)
		lease->votes[i].late.asked = false;
	lsh_fail(&why, LEASH_UNAVAILABLE, 0, "not adopted: the answer came when the lease that it speaks of was over");
	lease->resource->events->failed(lease, &why);
}

/* Of those of which no answer is awaited any more. */
static void
say_excuses(const struct lsh_lease *lease, leash_error *why)
{
	struct excuses x;
	char text[200];

	gather(lease, true, lease->safety.restart_guard_ms, lsh_now_ns(), &x);
	if (x.count > 0)
		lsh_electorate_say(text, sizeof text, x.count, lease->count, "could not be asked", x.why.text);
	else
		snprintf(text, sizeof text, "the answers came too late to count");
	lsh_fail(why, x.why.status, x.why.sys_errno, "%s", text);
}

static void
count_adoption(struct lsh_lease *lease)
{
	struct keeping k = count_kept(lease);
	unsigned majority = majority_of(lease);
	leash_error why;

	if (k.knowing >= majority) {
		take_over(lease, &k);
	} else if (k.refusals + majority > lease->count) {
		lsh_fail(&why, LEASH_NOT_HELD, 0, "nobody holds it by that token: %u of %zu servers do not have it", k.refusals, lease->count);
		lease->resource->events->failed(lease, &why);
	} else if (k.pending == 0 && (k.votes < majority ? k.away == 0 : !raise_fence(lease, &k))) {
		/* the fence is raised among those who are there; whether there is a majority depends on the others, too */
		say_excuses(lease, &why);
		lease->resource->events->failed(lease, &why);
	}
}

/* Is there a server that is connected to for the first time? Nobody tells when that has failed. */
static bool
awaits_first_dial(const struct lsh_lease *lease)
{
	for (size_t i = 0; i < lease->count; i++)
		if (!is_open(&lease->votes[i]) && is_pending(&lease->votes[i]))
			return true;
	return false;
}

static int64_t
adopt(struct lsh_lease *lease, struct lsh_wish *want)
{
	int64_t now = lsh_now_ns(), again;

	if (lease->state != LSH_ACQUIRING)
		return LSH_NEVER;
	if (lease->round->limit == 0) {
		lease->round->limit = want->until;
		lease->round->proposal = lsh_electorate_propose(lease->resource->backend);
		for (size_t i = 0; i < lease->count; i++)
			ask(&lease->votes[i], lease->lease_ms, want->until, now);
	}
	again = awaits_first_dial(lease) ? lsh_after_ms(now, 10) : LSH_NEVER;
	count(lease);
	return again;
}

/* ---- the end ---- */

struct released {
	unsigned released, gone; /* by the servers' answers; gone too where there never was one */
	unsigned open;           /* may answer yet, */
	unsigned willing;        /* and have not refused */
};

static void
count_end(struct lsh_lease *lease)
{
	unsigned majority = majority_of(lease);
	struct released c = {0};
	enum lsh_found found = LSH_FOUND_NOT_YET;
	leash_error why = {LEASH_OK, 0, ""};

	if (lease->answered)
		return;
	for (size_t i = 0; i < lease->count; i++) {
		const struct lsh_vote *v = &lease->votes[i];
		bool open_vote = v->found != LSH_FOUND_HELD && v->found != LSH_FOUND_NOTHING && v->state == LSH_VOTE_ENDING;

		c.released += v->found == LSH_FOUND_HELD;
		c.gone += v->found == LSH_FOUND_NOTHING || (v->found == LSH_FOUND_NOT_YET && v->state == LSH_VOTE_ENDED);
		c.open += open_vote;
		c.willing += open_vote && v->found != LSH_FOUND_REFUSED;
	}
	if (c.released >= majority || (lease->breaks && c.released + c.gone >= majority)) {
		found = LSH_FOUND_HELD;
	} else if (!lease->breaks && c.released + c.open < majority) {
		found = LSH_FOUND_NOTHING;
		lsh_fail(&why, LEASH_LOST, 0, "only %u of %zu servers still had it", c.released, lease->count);
	} else if (c.willing == 0) { /* what may mend that comes too late for whoever waits */
		found = LSH_FOUND_REFUSED;
		lease->resource->backend->strategy->describe(lease, &why);
	} else {
		return;
	}
	lease->answered = found != LSH_FOUND_REFUSED;
	lease->resource->events->ended(lease, found, &why);
}

/* Has a restart lost a vote that counts still? Until it is over nobody can have got another one that counts. */
static bool
stands(const struct lsh_vote *v, int64_t now)
{
	const struct standing *s = standing_of(v);
	int64_t uptime = lsh_node_uptime(v->host->server.node, now);

	return s->stood_until > now && uptime >= 0 && uptime < now - s->sent;
}

static void
released(struct lsh_vote *v, const struct lsh_call *call, const struct lsh_result *r)
{
	leash_error why;

	if (v->found == LSH_FOUND_NOTHING && r->what == LSH_CALL_ANSWERED && stands(v, lsh_now_ns()))
		v->found = LSH_FOUND_HELD;
	if (r->what == LSH_CALL_REFUSED) {
		lsh_call_explain(call, r, &why);
		standing_of(v)->trouble = why.status;
		v->lease->round->trouble = why;
	}
	count_end(v->lease);
}

static void
ends(struct lsh_lease *lease)
{
	let_others(lease);
	lease->round->trouble.status = LEASH_OK;
	for (size_t i = 0; i < lease->count; i++) {
		struct standing *s = &lease->round->of[i];

		s->stood_until = s->valid_until;
		s->valid_until = 0;
		s->trouble = LEASH_OK;
	}
}

/* ---- what comes from the votes ---- */

static void
count(struct lsh_lease *lease)
{
	if (lease->state == LSH_HELD)
		count_held(lease);
	else if (lease->state == LSH_ACQUIRING && lease->adopting)
		count_adoption(lease);
	else if (lease->state == LSH_ACQUIRING && lease->round->began != 0)
		count_round(lease);
}

/* {0, ttl} or {-1} */
static void
not_granted(struct lsh_vote *v, const struct lsh_voted *voted)
{
	struct standing *s = standing_of(v);
	struct lsh_round *round = v->lease->round;
	int64_t now = lsh_now_ns();

	if (voted->verdict.what == LSH_TAKEN) {
		drop(v, LSH_VOTE_REFUSED);
		s->ttl_ms = voted->verdict.ttl_ms;
		/* losing a vote in the first round is normal contention; only a refused renewal puts the lease at risk */
		s->failing |= round->round_at > 0 && voted->result->sent >= round->round_at;
		return;
	}
	/* too late, by our idea of its clock: that is better now */
	s->asked_at = 0;
	v->state = LSH_VOTE_FAILED;
	if (v->lease->state == LSH_ACQUIRING && now < round->limit)
		ask(v, v->lease->lease_ms, round->limit, now);
}

static void
answered(struct lsh_vote *v, const struct lsh_voted *voted)
{
	const struct lsh_verdict *verdict = &voted->verdict;
	struct lsh_lease *lease = v->lease;
	struct standing *s = standing_of(v);

	switch (voted->verb) {
	case LSH_ACQUIRE:
		if (verdict->what != LSH_GRANTED)
			not_granted(v, voted);
		else if (take_fence(v, verdict->fence))
			win(v, voted->result->sent, voted->lease_ms);
		else
			v->state = LSH_VOTE_FAILED;
		break;
	case LSH_RENEW:
		if (verdict->what == LSH_KEPT) {
			win(v, voted->result->sent, voted->lease_ms);
			if (verdict->had_no_ttl)
				lsh_lease_warn_of_no_ttl(lease, v->host);
			break;
		}
		/* restarted, evicted, broken by somebody, or not renewed in time: to be asked again, unless that is so with a majority */
		drop(v, LSH_VOTE_FAILED);
		s->failing = true;
		s->asked_at = 0;
		s->trouble = LEASH_OK;
		break;
	case LSH_HEARTBEAT:
		if (verdict->what != LSH_GRANTED) {
			v->state = LSH_VOTE_REFUSED;
			s->ttl_ms = -1; /* nor is it known whether another has it */
			s->failing = true;
		} else if (take_fence(v, verdict->fence)) {
			if (verdict->ttl_ms > lease->longest_ms && verdict->ttl_ms <= 86400000)
				lease->longest_ms = verdict->ttl_ms; /* what its former holder asked for */
			win(v, voted->result->sent, voted->lease_ms);
		} else {
			v->state = LSH_VOTE_FAILED;
		}
		break;
	default:
		s->mute = verdict->fence <= s->fence || !take_fence(v, verdict->fence);
		break;
	}
}

/* The server refused it, said nonsense, or nothing. */
static void
not_answered(struct lsh_vote *v, const struct lsh_voted *voted)
{
	const struct lsh_result *r = voted->result;
	struct standing *s = standing_of(v);
	leash_error why;

	s->failing = true;
	s->trouble = LEASH_OK;
	if (voted->verb == LSH_RAISE)
		s->mute = true;
	else if (v->state != LSH_VOTE_GRANTED)
		v->state = LSH_VOTE_FAILED;
	else if (r->what == LSH_CALL_REFUSED && r->fault == LSH_FAULT_MISMATCH)
		drop(v, LSH_VOTE_FAILED);
	if (r->what != LSH_CALL_REFUSED && r->what != LSH_CALL_NONSENSE)
		return; /* the node knows why */
	lsh_call_explain(voted->call, r, &why);
	s->trouble = why.status;
	v->lease->round->trouble = why;
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
	    lsh_lease_wants_ms(lease, lsh_now_ns()) > voted->lease_ms)
		lsh_vote_due(v); /* what was on its way asked for less than an extension wants that has come since */
	count(lease);
}

static void
connected(struct lsh_vote *v)
{
	struct lsh_lease *lease = v->lease;

	if (lease->state == LSH_HELD && lease->extend_ms > 0 && lease->wanted_at == 0)
		want(lease, lsh_now_ns()); /* the extension that failed over the connection before may succeed over this one */
	if (lease->state == LSH_HELD || lease->state == LSH_ENDING || (lease->state == LSH_ACQUIRING && lease->round->limit != 0))
		lsh_vote_due(v);
}

/* What is due of it besides renewals and cancels: its thread asks for the vote (again), or has it hear of a fence. */
static void
see_to(struct lsh_vote *v, int64_t now)
{
	struct lsh_lease *lease = v->lease;
	struct standing *s = standing_of(v);
	int64_t lease_ms, limit;

	if (v->call.out)
		return;
	if (lease->state == LSH_ACQUIRING && now < lease->round->limit) {
		if (v->state == LSH_VOTE_NEW || (v->state == LSH_VOTE_FAILED && s->asked_epoch != epoch_of(v)))
			ask(v, lease->lease_ms, lease->round->limit, now);
		count(lease);
		return;
	}
	if (lease->state != LSH_HELD || now >= lease->valid_until || (lease_ms = lsh_lease_wants_ms(lease, now)) == 0)
		return;
	if (v->state == LSH_VOTE_GRANTED) {
		if (!lsh_vote_renew(v, lease_ms, NULL))
			not_sent(v);
	} else if (is_renewing(lease)) {
		return; /* it comes next */
	} else {
		limit = lsh_after(now, lease->resource->backend->options.timeout);
		if (limit > lsh_after(now, lease->lease_ms * LSH_MS / 4))
			limit = lsh_after(now, lease->lease_ms * LSH_MS / 4); /* a server that hangs is to cost a part of the lease only */
		ask(v, lease_ms, limit, now);
	}
	count(lease);
}

/* Why it is not acquired, adopted, extended or released by now. */
static void
describe(struct lsh_lease *lease, leash_error *why)
{
	const struct lsh_round *round = lease->round;
	unsigned silent_votes = 0;
	leash_error down = {LEASH_UNAVAILABLE, 0, "no answer in time"};
	char text[200];
	struct excuses x;

	if (lease->state == LSH_ACQUIRING && lease->adopting) {
		say_excuses(lease, why);
		return;
	}
	if (lease->state == LSH_ACQUIRING) {
		gather(lease, round->began != 0, lease->want->safety.restart_guard_ms, lsh_now_ns(), &x);
		if (is_cut_short(lease, lease->want, lsh_now_ns()))
			*why = (leash_error){LEASH_TIMEOUT, 0, ""};
		else
			explain(lease, lease->want, &x, why);
		return;
	}
	for (size_t i = 0; i < lease->count; i++) {
		const struct lsh_vote *v = &lease->votes[i];

		silent_votes += lease->state == LSH_HELD ? round->of[i].kept_at < round->round_at || round->of[i].kept_ms < lease->extend_ms
		                                         : v->found != LSH_FOUND_HELD && v->found != LSH_FOUND_NOTHING && v->state == LSH_VOTE_ENDING;
		if (round->trouble.status == LEASH_OK && !lsh_host_is_up(v->host) && down.sys_errno == 0 && down.text[0] == 'n')
			down.status = lsh_node_trouble(v->host->server.node, down.text, sizeof down.text, &down.sys_errno);
	}
	if (round->trouble.status != LEASH_OK)
		down = round->trouble;
	lsh_electorate_say(text, sizeof text, silent_votes, lease->count, "did not answer", down.text);
	lsh_fail(why, down.status, down.sys_errno, "%s", text);
}

const struct lsh_strategy lsh_quorum = {
	.name = "quorum",
	.why_over = "no renewal succeeded with a majority of the servers before its lease ran out",
	.cancels_first = true,
	.round_size = sizeof(struct lsh_round),
	.round_vote_size = sizeof(struct standing),
	.open = open,
	.fits = fits,
	.acquire = acquire,
	.adopt = adopt,
	.renew = renew,
	.extend = extend,
	.silent = silent,
	.connected = connected,
	.host_connected = lsh_electorate_warn_of_twins,
	.see_to = see_to,
	.voted = voted,
	.ends = ends,
	.released = released,
	.describe = describe,
};
