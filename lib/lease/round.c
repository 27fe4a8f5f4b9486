#include "lease/round.h"

#include "base/error.h"
#include "base/mutation.h"
#include "lease/resource.h"
#include "lease/tally.h"
#include "watchdog/pace.h"

/* ---- one vote ---- */

static bool
counts(const struct lsh_vote *v)
{
	return lsh_electorate_counts(v->host, lsh_round_of(v->lease)->guard_ms, lsh_now_ns());
}

void
lsh_quorum_win(struct lsh_vote *v, int64_t sent, int64_t lease_ms)
{
	struct lsh_quorum_vote *s = lsh_quorum_of(v);
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

/* The server does not have our vote. If a restart wiped it, the vote still blocks others until its valid_until: servers
 * do not count while they are younger than restart_guard_ms. */
void
lsh_quorum_drop(struct lsh_vote *v, enum lsh_vote_state state)
{
	v->state = state;
	if (counts(v) && !LSH_MUTATES(LSH_LOST_VOTES_COUNT))
		lsh_quorum_of(v)->valid_until = 0;
}

/* The fence of its vote. Of one that is out of all proportion to the clocks of most servers no other one is to hear,
 * and the vote is none: it is that server's fault, and false. */
bool
lsh_quorum_take_fence(struct lsh_vote *v, int64_t fence)
{
	struct lsh_quorum_vote *s = lsh_quorum_of(v);

	if (lsh_electorate_believes(v->host, fence, &lsh_round_of(v->lease)->trouble)) {
		s->fence = fence;
		return true;
	}
	s->failing = true;
	s->trouble = LEASH_PROTOCOL;
	return false;
}

void
lsh_quorum_refused(struct lsh_vote *v, const struct lsh_call *call, const struct lsh_result *r)
{
	leash_error why;

	lsh_call_explain(call, r, &why);
	lsh_quorum_of(v)->trouble = why.status;
	lsh_round_of(v->lease)->trouble = why;
}

/* ---- asking one server ---- */

void
lsh_quorum_failed(struct lsh_vote *v)
{
	struct lsh_quorum_vote *s = lsh_quorum_of(v);

	if (v->state != LSH_VOTE_GRANTED)
		v->state = LSH_VOTE_FAILED;
	s->failing = true;
	s->trouble = LEASH_OK; /* the node knows why */
}

/* What an earlier round may have left there, over a connection that is gone, would be in the way of this one: its
 * cancel goes first. */
static void
cancel_before(const struct lsh_vote *v)
{
	struct lsh_resource *r = v->lease->resource;
	size_t server = (size_t)(v - v->lease->votes);
	if (atomic_load(&r->backend->ending) == 0)
		return;
	lsh_each_lease(lease, r)
		if (lease->state == LSH_ENDING && lease->votes[server].state == LSH_VOTE_ENDING)
			lsh_vote_cancel(&lease->votes[server], NULL);
}

void
lsh_quorum_ask(struct lsh_vote *v, int64_t lease_ms, int64_t limit, int64_t now)
{
	struct lsh_lease *lease = v->lease;
	struct lsh_quorum_vote *s = lsh_quorum_of(v);
	bool sent;

	cancel_before(v);
	s->asked_at = now;
	s->asked_epoch = lsh_quorum_epoch(v);
	lsh_presence_tell(v->host, now);
	sent = lease->adopting ? lsh_vote_say(v, LSH_HEARTBEAT, lease_ms, lsh_round_of(lease)->proposal, NULL)
	                       : lsh_vote_acquire(v, lease_ms, false, lsh_round_of(lease)->proposal, limit, NULL);
	if (!sent)
		lsh_quorum_failed(v);
	else if (lease->adopting)
		v->state = LSH_VOTE_SENT;
}

/* ---- counting ---- */

static void
add(struct lsh_vote_count *c, const struct lsh_vote *v, int64_t now)
{
	const struct lsh_lease *lease = v->lease;
	const struct lsh_round *round = lsh_round_of(lease);
	const struct lsh_quorum_vote *s = lsh_quorum_of(v);
	bool is_old = s->kept_at < round->round_at || s->kept_ms < lease->extend_ms;
	bool fails = s->failing && (lease->state == LSH_HELD || v->state == LSH_VOTE_FAILED);

	c->votes += s->valid_until > now;
	c->asked += v->state == LSH_VOTE_SENT || v->state == LSH_VOTE_NEW;
	c->refusals += v->state == LSH_VOTE_REFUSED && counts(v);
	c->sound += !s->failing;
	c->renewed += s->valid_until > 0 && (!is_old || LSH_MUTATES(LSH_OLD_RENEWALS_COUNT));
	c->retry |= (s->failing || is_old) && lsh_host_is_up(v->host);
	if (lsh_quorum_is_open(v)) {
		c->open++;
	} else if (fails) {
		c->connecting += s->trouble == LEASH_OK && !lsh_node_has_tried(v->host->server.node);
		/* there was no connection, or it was lost before an answer came: it is asked again over a new one */
		c->away += s->trouble == LEASH_OK && (!lsh_host_is_up(v->host) || lsh_quorum_epoch(v) != s->asked_epoch);
	}
}

struct lsh_vote_count
lsh_quorum_count(const struct lsh_lease *lease, int64_t now)
{
	int64_t valid[LSH_QUORUM_MAX], nth;
	struct lsh_vote_count c = {0};

	for (size_t i = 0; i < lease->count; i++) {
		valid[i] = lsh_round_of(lease)->of[i].valid_until;
		add(&c, &lease->votes[i], now);
	}
	nth = lsh_tally_nth_largest(valid, lease->count, lease->resource->backend->majority);
	for (size_t i = 0; i < lease->count && nth != 0; i++)
		if (valid[i] == nth)
			c.last = &lsh_round_of(lease)->of[i];
	return c;
}

/* ---- why not ---- */

/* Of the servers themselves, and of what they answered. Late: they should have. */
static void
gather(const struct lsh_lease *lease, bool late, int64_t guard_ms, int64_t now, struct lsh_excuses *x)
{
	*x = (struct lsh_excuses){.why.status = LEASH_UNAVAILABLE};
	for (size_t i = 0; i < lease->count; i++) {
		const struct lsh_vote *v = &lease->votes[i];
		const struct lsh_quorum_vote *s = &lsh_round_of(lease)->of[i];
		/* mute: it is not to be told of a fence */
		bool fails = v->state == LSH_VOTE_FAILED || (v->state == LSH_VOTE_GRANTED && s->mute);
		leash_error why;

		x->down += !lsh_host_is_up(v->host) || (v->state == LSH_VOTE_FAILED && s->trouble == LEASH_OK);
		if (fails && s->trouble != LEASH_OK) {
			why = lsh_round_of(lease)->trouble;
			why.status = s->trouble;
			lsh_excuses_add(x, &why);
		} else if (lsh_electorate_excuse(v->host, guard_ms, now, &why)) {
			lsh_excuses_add(x, &why);
		} else if (fails || (v->state == LSH_VOTE_SENT && late)) {
			lsh_fail(&why, LEASH_UNAVAILABLE, 0, "%.100s: no answer in time", lsh_host_shown(v->host));
			lsh_excuses_add(x, &why);
		}
	}
}

/* It is because of these; or others were in the way. */
static void
explain(const struct lsh_lease *lease, struct lsh_wish *want, const struct lsh_excuses *x, leash_error *why)
{
	want->contended = lease->count - x->count >= lease->resource->backend->majority;
	if (want->contended) {
		*why = (leash_error){LEASH_TIMEOUT, 0, ""};
		return;
	}
	lsh_electorate_fail(why, x->count, lease->count, "could not be asked", &x->why);
}

/* What does not pass by itself, and leaves no majority. A refused password may be old news: only the second time. */
static bool
is_hopeless(const struct lsh_lease *lease, struct lsh_wish *want, const struct lsh_excuses *x)
{
	bool before = want->denied;

	want->denied = lease->count - x->lasting < lease->resource->backend->majority;
	return want->denied && (before || x->why.status != LEASH_DENIED);
}

/* Who only tries waits, within the time for one answer, for connections, and for nothing else. */
static bool
may_go_on(const struct lsh_lease *lease, struct lsh_wish *want, const struct lsh_excuses *x)
{
	unsigned majority = lease->resource->backend->majority;

	if (is_hopeless(lease, want, x))
		return false;
	return !want->tries || (lease->count - x->count < majority && lease->count - (x->count - x->down) >= majority);
}

/* ---- rounds ---- */

bool
lsh_round_fits(const struct lsh_lease *lease, const struct lsh_wish *want)
{
	const struct lsh_round *round = lsh_round_of(lease);

	/* somebody else's round: how its votes count, and for how long, was by that one's terms */
	return round->began == 0 ||
	       (lease->lease_ms == lsh_wish_lease_ms(want) && round->guard_ms == want->restart_guard_ms);
}

/* How long the round took that ended now, for the pauses after it. One that went on past its limit was not a long one:
 * this process stood still meanwhile, or its machine was suspended, and nobody else was in its way for so long. */
static int64_t
length_of(const struct lsh_round *round, int64_t now)
{
	return (now < round->limit ? now : round->limit) - round->began;
}

/* Whose time is so short that it would be over asks nevertheless. */
static int64_t
rests_until(const struct lsh_resource *r, const struct lsh_wish *want)
{
	if (want->tries || r->quorum->rests_until <= want->rests_until || r->quorum->rests_until >= want->until)
		return want->rests_until;
	return r->quorum->rests_until;
}

/* When a majority would be free if others let their votes lapse. */
static int64_t
lapses_at(const struct lsh_lease *lease, int64_t now)
{
	const struct lsh_round *round = lsh_round_of(lease);
	int64_t ttls[LSH_QUORUM_MAX], lapses_ms;
	unsigned votes = 0;
	size_t refusals = 0;

	for (size_t i = 0; i < lease->count; i++) {
		votes += round->of[i].valid_until > 0;
		if (lease->votes[i].state == LSH_VOTE_REFUSED)
			ttls[refusals++] = round->of[i].ttl_ms;
	}
	lapses_ms = lsh_tally_lapses_ms(ttls, refusals, votes, lease->resource->backend->majority);
	return lapses_ms < 0 ? LSH_NEVER : lsh_after_ms(now, lapses_ms + 1);
}

/* The waiter's time is over in the middle of a round, which says nothing then: others had the lock a round ago. */
static bool
is_cut_short(const struct lsh_round *round, const struct lsh_wish *want, int64_t now)
{
	return want->rounds > 0 && want->contended && now >= round->limit && round->limit >= want->until;
}

/* The round is over without a majority: the next one has a new token. */
static void
lose_round(struct lsh_lease *lease)
{
	const struct lsh_lease_events *events = lsh_events_of(lease);
	const struct lsh_round *round = lsh_round_of(lease);
	struct lsh_wish *want = lease->want;
	int64_t now = lsh_now_ns(), lapses = lapses_at(lease, now);
	leash_error why = {LEASH_TIMEOUT, 0, ""};
	struct lsh_excuses x;
	bool goes_on;

	gather(lease, now >= round->limit, round->guard_ms, now, &x);
	if (!is_cut_short(round, want, now))
		explain(lease, want, &x, &why);
	if (want->contended)
		lease->resource->quorum->contended_at = lsh_after(now, 0);
	goes_on = may_go_on(lease, want, &x);
	want->rounds++;
	want->rests_until = lsh_after(now, lsh_tally_pause(length_of(round, now), want->rounds, lsh_random32()));
	if (lapses < want->rests_until)
		want->rests_until = lapses;
	lsh_lease_give_up(lease);
	if (goes_on)
		events->waits(lease, &why, want->rests_until);
	else
		events->failed(lease, &why);
}

/* Have the others hear of the fence. False: there is none who does not know it, and would hear. */
static bool
raise(struct lsh_lease *lease, int64_t fence)
{
	bool any = false;

	for (size_t i = 0; i < lease->count; i++) {
		struct lsh_vote *v = &lease->votes[i];
		struct lsh_quorum_vote *s = lsh_quorum_of(v);

		if (v->state != LSH_VOTE_GRANTED || s->fence >= fence || s->mute)
			continue;
		any = true;
		if (!lsh_vote_is_out(v) && !lsh_vote_say(v, LSH_RAISE, 0, fence, NULL))
			s->mute = true;
	}
	return any;
}

/* A majority has voted for it. Its fence is the largest of theirs, once a majority knows it. */
static void
win_round(struct lsh_lease *lease, const struct lsh_vote_count *c, int64_t now)
{
	struct lsh_round *round = lsh_round_of(lease);
	unsigned majority = lease->resource->backend->majority, know = 0, may_know = c->asked;
	int64_t fence = 0;

	for (size_t i = 0; i < lease->count; i++)
		if (lease->votes[i].state == LSH_VOTE_GRANTED && round->of[i].fence > fence)
			fence = round->of[i].fence;
	for (size_t i = 0; i < lease->count; i++) {
		const struct lsh_quorum_vote *s = &round->of[i];

		if (lease->votes[i].state != LSH_VOTE_GRANTED)
			continue;
		know += s->fence == fence && s->valid_until > now; /* one that has lapsed may have gone to another since */
		may_know += s->fence == fence || !s->mute;
	}
	raise(lease, fence);
	if (know >= majority || LSH_MUTATES(LSH_FEW_KNOW_THE_FENCE)) {
		round->proposal = fence; /* whoever is asked again is to know it */
		if (!lsh_lease_granted(lease, fence, c->last->sent, c->last->asked_ms, false))
			lose_round(lease);
	} else if (may_know < majority) {
		lose_round(lease);
	}
}

static void
count_round(struct lsh_lease *lease)
{
	int64_t now = lsh_now_ns();
	struct lsh_vote_count c = lsh_quorum_count(lease, now);

	if (c.votes >= lease->resource->backend->majority)
		win_round(lease, &c, now);
	else if (c.votes + c.asked < lease->resource->backend->majority)
		lose_round(lease);
}

static void
ask_all(struct lsh_lease *lease, const struct lsh_wish *want, int64_t limit, int64_t now)
{
	struct lsh_round *round = lsh_round_of(lease);

	round->guard_ms = want->restart_guard_ms;
	round->limit = limit;
	round->proposal = lsh_electorate_propose(lease->resource->backend);
	for (size_t i = 0; i < lease->count; i++)
		lsh_quorum_ask(&lease->votes[i], lease->lease_ms, limit, now);
}

static int64_t
begin_round(struct lsh_lease *lease, struct lsh_wish *want, int64_t now)
{
	int64_t patience = lsh_after(now, lease->resource->backend->options.timeout);
	int64_t limit = patience < want->until ? patience : want->until;
	leash_error why;
	struct lsh_excuses x;

	gather(lease, false, want->restart_guard_ms, now, &x);
	if (lease->count - x.count < lease->resource->backend->majority) { /* see what the connections bring */
		explain(lease, want, &x, &why);
		if (!may_go_on(lease, want, &x)) {
			lsh_events_of(lease)->failed(lease, &why);
			return LSH_NEVER;
		}
		lsh_events_of(lease)->waits(lease, &why, LSH_NEVER);
		return lsh_after(now, lsh_tally_pause(0, 16, lsh_random32()));
	}
	lsh_round_of(lease)->began = now;
	ask_all(lease, want, limit, now);
	count_round(lease);
	return want->rests_until > now ? want->rests_until : limit; /* it may be lost already, and its lease gone */
}

/* Fairness: losers pause, so a client that acquires again at once would always win. After its turn it pauses as they
 * do, if others were seen lately; with threads that wait here, every 16th turn regardless, to find out. */
void
lsh_round_let_others(struct lsh_lease *lease)
{
	enum { MEMORY_MS = 5000, TURN_MS = 4, TURNS = 16 }; /* several short holds in a row are one turn */
	struct lsh_resource *r = lease->resource;
	struct lsh_turns *t = r->quorum;
	int64_t now = lsh_now_ns();
	int64_t round = lease->adopted ? 0 : length_of(lsh_round_of(lease), lease->turn_began);
	bool waits = lsh_events_of(lease)->is_wanted(r);
	bool contended = t->contended_at > 0 && now - t->contended_at < MEMORY_MS * LSH_MS;

	if (lease->state != LSH_HELD || now < lsh_after_ms(t->rests_until, TURN_MS))
		return;
	if (contended || (waits && ++t->turns % TURNS == 0))
		t->rests_until = lsh_after(now, lsh_tally_pause(round, 1, lsh_random32()));
}

/* ---- adoption ---- */

/* The fence that a majority of the servers knows; or, if there is none, the largest. Returns how many votes know it. */
static unsigned
find_fence(const struct lsh_lease *lease, int64_t now, int64_t *fence)
{
	const struct lsh_quorum_vote *of = lsh_round_of(lease)->of;
	unsigned majority = lease->resource->backend->majority, most = 0;

	*fence = 0;
	for (size_t i = 0; i < lease->count && most < majority; i++) {
		unsigned knowing = 0;

		for (size_t j = 0; j < lease->count; j++)
			knowing += of[j].valid_until > now && of[j].fence == of[i].fence;
		if (knowing >= majority || of[i].fence > *fence) {
			*fence = of[i].fence;
			most = knowing;
		}
	}
	return most;
}

/* Of those of which no answer is awaited any more. */
static void
say_excuses(const struct lsh_lease *lease, leash_error *why)
{
	struct lsh_excuses x;

	gather(lease, true, lsh_round_of(lease)->guard_ms, lsh_now_ns(), &x);
	if (x.count > 0)
		lsh_electorate_fail(why, x.count, lease->count, "could not be asked", &x.why);
	else
		lsh_fail(why, x.why.status, x.why.sys_errno, "the answers came too late to count");
}

static void
count_adoption(struct lsh_lease *lease)
{
	unsigned majority = lease->resource->backend->majority;
	int64_t now = lsh_now_ns(), fence;
	struct lsh_vote_count c = lsh_quorum_count(lease, now);
	leash_error why;

	if (find_fence(lease, now, &fence) >= majority) {
		lsh_round_of(lease)->proposal = fence; /* whoever is asked later is to know it */
		lsh_lease_adopted(lease, fence, c.last->sent, c.last->asked_ms);
	} else if (c.refusals + majority > lease->count) {
		lsh_fail(&why, LEASH_NOT_HELD, 0, "nobody holds it by that token: %u of %u servers do not have it", c.refusals,
		         lease->count);
		lsh_events_of(lease)->failed(lease, &why);
	} else if (c.open + c.connecting == 0 && (c.votes < majority ? c.away == 0 : !raise(lease, fence))) {
		/* the fence is raised among those who are there; whether there is a majority depends on the others, too */
		say_excuses(lease, &why);
		lsh_events_of(lease)->failed(lease, &why);
	}
}

static int64_t
adopt(struct lsh_lease *lease, struct lsh_wish *want)
{
	int64_t now = lsh_now_ns(), again;

	if (lsh_round_of(lease)->limit == 0)
		ask_all(lease, want, want->until, now);
	again = lsh_quorum_count(lease, now).connecting > 0 ? lsh_after_ms(now, 10) : LSH_NEVER;
	count_adoption(lease);
	return again;
}

/* ---- both ---- */

int64_t
lsh_round_acquire(struct lsh_lease *lease, struct lsh_wish *want)
{
	struct lsh_round *round = lsh_round_of(lease);
	int64_t now = lsh_now_ns(), rests = rests_until(lease->resource, want);

	if (lease->state != LSH_ACQUIRING)
		return LSH_NEVER;
	if (lease->adopting)
		return adopt(lease, want);
	if (round->began == 0)
		return now < rests ? rests : begin_round(lease, want, now);
	if (now < round->limit)
		return round->limit;
	lose_round(lease);
	return want->rests_until;
}

void
lsh_round_count(struct lsh_lease *lease)
{
	if (lease->adopting)
		count_adoption(lease);
	else if (lsh_round_of(lease)->began != 0)
		count_round(lease);
}

void
lsh_round_describe(const struct lsh_lease *lease, leash_error *why)
{
	const struct lsh_round *round = lsh_round_of(lease);
	int64_t now = lsh_now_ns();
	struct lsh_excuses x;

	if (lease->adopting) {
		say_excuses(lease, why);
	} else if (is_cut_short(round, lease->want, now)) {
		*why = (leash_error){LEASH_TIMEOUT, 0, ""};
	} else {
		gather(lease, round->began != 0, lease->want->restart_guard_ms, now, &x);
		explain(lease, lease->want, &x, why);
	}
}
