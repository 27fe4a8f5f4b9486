#include "lease/quorum_vote.h"

#include "base/error.h"
#include "lease/tally.h"
#include "watchdog/pace.h"

static bool
counts(const struct lsh_vote *v)
{
	return lsh_electorate_counts(v->host, v->lease->safety.restart_guard_ms, lsh_now_ns());
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
	if (counts(v))
		lsh_quorum_of(v)->valid_until = 0;
}

/* The fence of its vote. Of one that is out of all proportion to the clocks of most servers no other one is to hear,
 * and the vote is none: it is that server's fault, and false. */
bool
lsh_quorum_take_fence(struct lsh_vote *v, int64_t fence)
{
	static const char why[] =
		"its vote does not count: its fence is a year or more ahead of the clocks (TIME) of most servers";
	struct lsh_backend *b = v->host->backend;
	struct lsh_quorum_vote *s = lsh_quorum_of(v);

	if (fence <= lsh_electorate_fence_most(b, lsh_now_ns())) {
		lsh_electorate_learn_fence(b, fence);
		s->fence = fence;
		return true;
	}
	s->failing = true;
	s->trouble = LEASH_PROTOCOL;
	lsh_fail(&v->lease->round->trouble, LEASH_PROTOCOL, 0, "%.60s: %.138s", lsh_host_shown(v->host), why);
	lsh_electorate_accuse(v->host, why);
	return false;
}

void
lsh_quorum_refused(struct lsh_vote *v, const struct lsh_call *call, const struct lsh_result *r)
{
	leash_error why;

	lsh_call_explain(call, r, &why);
	lsh_quorum_of(v)->trouble = why.status;
	v->lease->round->trouble = why;
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
	sent = lease->adopting ? lsh_vote_heartbeat(v, lease_ms, lease->round->proposal, NULL)
	                       : lsh_vote_acquire(v, lease_ms, false, lease->round->proposal, limit, NULL);
	if (!sent)
		lsh_quorum_failed(v);
	else if (lease->adopting)
		v->state = LSH_VOTE_SENT;
}

/* ---- counting ---- */

static void
add(struct lsh_count *c, const struct lsh_vote *v, int64_t now)
{
	const struct lsh_lease *lease = v->lease;
	const struct lsh_round *round = lease->round;
	const struct lsh_quorum_vote *s = lsh_quorum_of(v);
	bool kept = s->kept_at >= round->round_at && s->kept_ms >= lease->extend_ms;
	bool fails = s->failing && (lease->state == LSH_HELD || v->state == LSH_VOTE_FAILED);

	c->votes += s->valid_until > now;
	c->asked += v->state == LSH_VOTE_SENT || v->state == LSH_VOTE_NEW;
	c->refusals += v->state == LSH_VOTE_REFUSED && counts(v);
	c->sound += !s->failing;
	c->renewed += s->valid_until > 0 && kept;
	c->retry |= s->failing && lsh_host_is_up(v->host);
	if (lsh_quorum_is_open(v)) {
		c->open++;
	} else if (fails) {
		c->connecting += s->trouble == LEASH_OK && !lsh_node_has_tried(v->host->server.node);
		/* there was no connection, or it was lost before an answer came: it is asked again over a new one */
		c->away += s->trouble == LEASH_OK && (!lsh_host_is_up(v->host) || lsh_quorum_epoch(v) != s->asked_epoch);
	}
}

struct lsh_count
lsh_quorum_count(const struct lsh_lease *lease, int64_t now)
{
	int64_t valid[LSH_QUORUM_MAX], nth;
	struct lsh_count c = {0};

	for (size_t i = 0; i < lease->count; i++) {
		valid[i] = lease->round->of[i].valid_until;
		add(&c, &lease->votes[i], now);
	}
	nth = lsh_tally_nth_largest(valid, lease->count, lease->resource->backend->majority);
	for (size_t i = 0; i < lease->count && nth != 0; i++)
		if (valid[i] == nth)
			c.last = &lease->round->of[i];
	return c;
}
