/* The judge: of locks, and of what both locks and permits are answered. See judge.h. */
#include "tests/sim/judge_parts.h"

#include "client/handle.h"
#include "core/core.h"
#include "lease/round.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is known of a lock. */
static struct {
	uint64_t fence;     /* the largest that was seen, */
	uint64_t wrote;     /* and of who is alone: who reads beside others has another one where theirs was lost */
	int64_t free_since; /* nobody has it, though somebody waits */
} known[SIM_NAMES];

/* What was told of the last hold of a lock of a client; or, where several may hold it, of a person. */
static struct told {
	uint64_t fence;
	bool at_risk, lost;
	uint64_t past;        /* a hold of that fence has ended: what is told of one may be told of that */
	int64_t lost_since;   /* and it was not told that; 0: it was, or has not lost it */
} told[SIM_PROCESSES][SIM_LOCKS][SIM_THREADS];

static struct told *
told_of(const struct sim_person *p, int l)
{
	return &told[p->client->process.number][l][sim_terms.readwrite[l] ? p->number : 0];
}

/* Until when a person counted on its last hold; 0: it had another one of the same fence, which may be meant. */
static struct counted {
	uint64_t fence, token;
	int64_t until;
} counted[SIM_PROCESSES][SIM_LOCKS][SIM_THREADS];

/* ---- one at a time, or several who read ---- */

static bool
is_alone(const struct lsh_hold *hold)
{
	return hold->lock->hold == hold;
}

static void
note_counted(struct counted *last, const struct lsh_hold *hold)
{
	uint64_t token = hold->lease->token.number;

	if (last->fence == hold->fence && (last->token != token || last->until == 0))
		*last = (struct counted){hold->fence, token, 0};
	else
		*last = (struct counted){hold->fence, token, hold->lease->valid_until};
}

/* What is over is over; and nobody has it who is no more there, or for longer than max_hold_ms. */
static void
look_at_hold(const struct sim_client *c, int l, const struct lsh_hold *hold)
{
	static uint64_t over[SIM_PROCESSES][SIM_LOCKS][16]; /* by all that the client knew; by the numbers of tokens */
	uint64_t number = hold->lease->token.number, *ended = &over[c->process.number][l][number % 16];
	int64_t end = hold->lease->valid_until;

	if (hold->lock->hold != NULL && hold->lock->hold->lease != hold->lease && !hold->lock->hold->lease->traded)
		sim_breach("lock %d: client %d has it beside one of its own who is alone", l, c->process.number);
	if (end <= sim_now && !hold->lease->foreign)
		*ended = number;
	else if (number == *ended)
		sim_breach("lock %d: client %d has it again, though its lease was over", l, c->process.number);
	if (is_alone(hold) && (atomic_load(&hold->lock->valid_until) != end ||
	                       atomic_load(&hold->lock->holder) != (hold->depth > hold->reads ? hold->owner->id : 0)))
		sim_breach("lock %d: client %d tells another one, or another end, than there is", l, c->process.number);
	for (const struct sim_person *p = c->people; p < c->people + sim_terms.threads; p++) {
		if (p->owner != hold->owner->id)
			continue;
		note_counted(&counted[c->process.number][l][p->number], hold);
		if (p->ended && end > sim_now)
			sim_breach("lock %d: a thread of client %d has it that has ended", l, c->process.number);
		if (p->most_ms[l] > 0 && p->got_at[l] > 0 && end > p->got_at[l] + p->most_ms[l] * SIM_MS)
			sim_breach("lock %d: client %d has it for longer than max_hold_ms", l, c->process.number);
	}
}

/* Who loses it is told, even if it has been released meanwhile. */
static void
look_at_lost(const struct sim_client *c, int l, const struct lsh_lock *lock)
{
	for (const struct sim_person *p = c->people; p < c->people + sim_terms.threads; p++) {
		struct told *t = &told[c->process.number][l][p - c->people];

		for (const struct lsh_hold *hold = lock->lost; hold != NULL; hold = hold->next)
			if (hold->owner->id == p->owner && !t->lost && t->lost_since == 0)
				t->lost_since = sim_now;
		if (t->lost_since != 0 && sim_now - larger_of(t->lost_since, c->process.frozen_until) > 50 * SIM_MS)
			sim_breach("lock %d: client %d lost it, and one of its threads is not told", l, c->process.number);
	}
}

/* The first who waits is asked for, unless somebody here has it and is alone. */
static void
look_at_first(const struct sim_client *c, int l, const struct lsh_lock *lock)
{
	static int64_t busy_at[SIM_PROCESSES][SIM_LOCKS];
	int64_t *at = &busy_at[c->process.number][l];
	const struct lsh_op *first = NULL;

	lsh_each_op(op, &lock->waiting)
		if (first == NULL && op->queue == &lock->plain)
			first = op;
	if (first == NULL || first->lease != NULL || lock->hold != NULL || first->wakes_at != LSH_NEVER)
		*at = sim_now;
	else if (sim_now - larger_of(*at, c->process.frozen_until) > 100 * SIM_MS)
		sim_breach("lock %d: the first who waits in client %d is not asked for", l, c->process.number);
}

/* Not who has come only now, or goes soon. */
static bool
somebody_waits(int l)
{
	each_person(p)
		if (judge_waits_for(p, l) && p->waits_since < known[l].free_since)
			return true;
	return false;
}

/* ---- what servers know ---- */

/* Does the client know that its token may be there? */
static bool
is_known(const char *token, size_t size, int l)
{
	const struct sim_client *c = size > LSH_UUID_SIZE ? judge_owner_of(token) : NULL;

	return c == NULL || c->watched[l] == NULL || lsh_lease_find(&c->watched[l]->lock->resource, token, size) != NULL;
}

/* Who has a lock there; or NULL. */
static const char *
holder_of(const struct sim_instance *n, int l)
{
	const struct sim_key *key = judge_key_at(n, l, "");

	return key != NULL ? key->members[0]->bytes : NULL;
}

static bool went_back; /* a server has older data than it had, or more than a client owes a cancel for, */
static bool lost_data; /* or lacks what counts */

static struct holder {
	char token[LSH_TOKEN_SIZE]; /* that had it last */
	int64_t unknown_since;     /* its client takes the token that has it now for dead; 0: it does not */
	char old[LSH_TOKEN_SIZE];  /* came back with older data, which no client is told */
	int64_t gone_since;        /* `token` has it no more; 0: it has */
	int64_t changed;           /* who has it, or that somebody has, was another before */
	char now[LSH_TOKEN_SIZE];  /* that; or "" */
} holders[SIM_HOSTS][SIM_LOCKS];

/* Only the servers of a quorum are for themselves. */
static struct holder *
seen_at(const struct sim_instance *n, int l)
{
	return &holders[sim_site.deployment == SIM_QUORUM ? n->host.number : 0][l];
}

void
sim_judge_went_back(const struct sim_instance *n)
{
	went_back = true;
	for (int l = 0; l < sim_terms.locks; l++) {
		const char *token = holder_of(n, l);

		if (token != NULL)
			snprintf(seen_at(n, l)->old, LSH_TOKEN_SIZE, "%s", token);
	}
}

void
sim_judge_cut_off(int64_t ns)
{
	went_back = went_back || (ns > 10 * SIM_S && sim_site.deployment != SIM_QUORUM); /* which has no places */
}

bool
sim_judge_is_everywhere(int l)
{
	const char *holder = holder_of(&sim_site.instances[0], l), *other;

	for (size_t i = 0; i < sim_site.count && sim_site.deployment == SIM_QUORUM; i++) {
		other = holder_of(&sim_site.instances[i], l);
		if (holder == NULL || other == NULL || strcmp(holder, other) != 0)
			return false;
	}
	return true;
}

/* Has somebody adopted it, or tries to? */
static bool
has_heir(const char *token, int l)
{
	for (const struct sim_client *c = sim_clients; c < sim_clients + sim_client_count; c++)
		if (judge_lock_in(c, l) != NULL && lsh_lease_find(&judge_lock_in(c, l)->resource, token, strlen(token)) != NULL)
			return true;
	return false;
}

/* Is it of one that died, as the server knows? Then nobody hears of a grant. */
static bool
is_of_dead(const char *token, const struct sim_instance *n)
{
	for (const struct sim_client *c = sim_clients; c < sim_clients + sim_client_count; c++)
		if (c->process.dead && sim_judge_is_of(token, c))
			return !sim_is_connected(&c->process, &n->host);
	return false;
}

/* Who has a lease has that one, and none beside who is alone. */
static void
look_at_chain(const struct sim_client *c, int l, const struct lsh_lease *lease)
{
	const struct lsh_hold *hold = lease->user;
	int left = sim_terms.threads;

	do
		if (hold == NULL || hold->lease != lease || left-- == 0 || (is_alone(hold) && hold->beside != NULL))
			sim_breach("lock %d: a lease of client %d is not that of its holds", l, c->process.number);
	while ((hold = hold->beside) != NULL);
}

/* The states of a lease are in their order, and it never goes back. */
static void
look_at_leases(void)
{
	static struct seen {
		uint64_t token;
		enum lsh_lease_state state;
	} seen[SIM_PROCESSES][SIM_LOCKS][16];

	for (int i = 0; i < sim_client_count; i++)
		for (int l = 0; l < sim_terms.locks; l++) {
			const struct lsh_lock *lock = judge_lock_in(&sim_clients[i], l);

			if (lock == NULL)
				continue;
			lsh_each_lease(lease, &lock->resource) {
				struct seen *s = &seen[i][l][lease->token.number % 16];

				if (lease->state == LSH_HELD)
					look_at_chain(&sim_clients[i], l, lease);
				if (lease->breaks || lease->foreign)
					continue; /* of a token that another lease may have, too */
				if (s->token == lease->token.number && s->state > lease->state)
					sim_breach("lock %d: a lease of client %d goes from state %d to %d", l, i, s->state, lease->state);
				*s = (struct seen){lease->token.number, lease->state};
			}
		}
}

void
sim_judge_each_place(struct sim_instance *n, int l, sim_visit_place *visit)
{
	const struct sim_key *queue = judge_key_at(n, l, ":queue");
	const char *prefix = sim_site.deployment == SIM_CLUSTER ? sim_judge_key(l) : "leash";
	char token[LSH_TOKEN_SIZE], channel[120];

	for (size_t i = 0; queue != NULL && i < queue->count; i++) {
		const char *member = queue->members[i]->bytes;

		if (strchr(member, ' ') == NULL)
			continue;
		snprintf(token, sizeof token, "%.*s", (int)strcspn(member, " "), member);
		snprintf(channel, sizeof channel, "%s:wake:%.*s", prefix, LSH_UUID_SIZE, member);
		visit(n, l, token, channel);
	}
}

/* Who would not be told takes no place. */
static void
look_at_place(struct sim_instance *n, int l, const char *token, const char *channel)
{
	if (!sim_speakers_listen(n, channel))
		sim_breach("lock %d: server %d has %s in its queue, which does not listen", l, n->host.number, token);
}

/* While nothing goes wrong a token loses all servers of a quorum in one moment, as by a break, and they are not brought
 * back one by one. What is on its way then may come still. */
static void
look_at_return(const struct sim_instance *n, int l, const char *token)
{
	int64_t *gone_since = &seen_at(n, l)->gone_since;
	bool has = token != NULL && strcmp(token, seen_at(n, l)->token) == 0;

	if (has && *gone_since != 0 && sim_now - *gone_since > 100 * SIM_MS)
		sim_breach("lock %d: server %d gives it back to %s, which had lost it", l, n->host.number, token);
	if (has || *gone_since == 0)
		*gone_since = has ? 0 : sim_now;
}

/* Has its client waited for a lock there for a second, and hears what it is told? Who waits for nothing may hear of a
 * grant late; and who has a connection on which nothing comes any more does not know that before it says something. */
static bool
is_of_waiting(const char *token, const struct sim_instance *n)
{
	double before = (double)(judge_us_at(n) - 1000000);

	for (int c = 0; c < sim_client_count; c++)
		if (sim_judge_is_of(token, &sim_clients[c]) && sim_forgets_wires(&sim_clients[c].process, &n->host))
			return false;
	for (int l = 0; l < sim_terms.locks; l++) {
		const struct sim_key *queue = judge_key_at(n, l, ":queue");

		for (size_t i = 0; queue != NULL && i < queue->count; i++) {
			const struct sim_member *member = queue->members[i];
			const char *end = strchr(member->bytes, ' ');

			if (end != NULL && memcmp(member->bytes, token, LSH_UUID_SIZE) == 0 && member->score < before &&
			    is_known(member->bytes, (size_t)(end - member->bytes), l))
				return true;
		}
	}
	return false;
}

/* A token that its client takes for dead has a lock: it would be nobody's. Where a server has had older data again, or
 * a client was cut off until its cancels were over, a place of the past may get it; but then the client is told, and
 * gives it back. In a cluster all listen to one channel of the lock, and elsewhere a client may be there no more though
 * its connection still is: that somebody heard does not say who, and a grant stands for its claim of up to 3 s. */
static void
look_at_holder(const struct sim_instance *n, int l)
{
	const char *token = holder_of(n, l);
	struct holder *seen = seen_at(n, l);
	bool is_old = token != NULL && strcmp(token, seen->old) == 0;

	if (strcmp(seen->now, token != NULL ? token : "") != 0) {
		snprintf(seen->now, LSH_TOKEN_SIZE, "%s", token != NULL ? token : "");
		seen->changed = sim_now;
	}
	if (sim_climate == SIM_CALM && sim_site.deployment == SIM_QUORUM)
		look_at_return(n, l, token);
	if (token == NULL || is_known(token, strlen(token), l) || is_old)
		seen->unknown_since = 0;
	else if (seen->unknown_since == 0 || strcmp(token, seen->token) != 0)
		seen->unknown_since = sim_now;
	if (seen->unknown_since != 0 &&
	    (!went_back || (sim_now - seen->unknown_since > SIM_S && judge_is_settled(0) && is_of_waiting(token, n))))
		sim_breach("lock %d: server %d gave it to %s, which its client takes for dead", l, n->host.number, token);
	if (token == NULL || strcmp(token, seen->token) == 0)
		return;
	if (is_of_dead(token, n) && !has_heir(token, l) && sim_site.deployment != SIM_CLUSTER && !is_old)
		sim_breach("lock %d: server %d gave it to %s, whose client is dead", l, n->host.number, token);
	snprintf(seen->token, LSH_TOKEN_SIZE, "%s", token);
	seen->gone_since = 0;
}

void
sim_judge_served(struct sim_instance *n)
{
	look_at_leases();
	if (n->server->context.deadly > 0)
		sim_breach("server %d was told a TTL of zero or less", n->host.number);
	if (n != sim_site.masters[n->shard] && sim_site.deployment != SIM_QUORUM) {
		/* what it grants the next one may grant, too, unless replicas have to know; what is canceled is so elsewhere */
		for (int l = 0; l < SIM_NAMES; l++)
			if (n->master == NULL && sim_terms.min_replicas == 0 && holder_of(n, l) != NULL)
				judge_doubt(l, 2 * sim_terms.longest_ms);
		return;
	}
	for (int l = 0; l < sim_terms.locks; l++) {
		if (sim_climate == SIM_CALM)
			sim_judge_each_place(n, l, look_at_place);
		if (!sim_terms.readwrite[l])
			look_at_holder(n, l);
	}
}

/* For so long the server lets the lease have the lock. */
static int64_t
kept_at(const struct sim_instance *n, int l, const struct lsh_lease *lease)
{
	const struct sim_key *key = judge_key_at(n, l, "");
	char token[LSH_TOKEN_SIZE];

	lsh_lease_token(lease, token);
	if (sim_terms.readwrite[l])
		return judge_share_kept(n, l, token);
	if (key == NULL || !lsh_lease_has_token(lease, key->members[0]->bytes, key->members[0]->size))
		return 0;
	return (key->expires_ms * 1000 - judge_us_at(n)) * SIM_US;
}

/* Or has lost it, and lets nobody have it. What is traded may be there by the other name already. */
static int64_t
left_at(const struct sim_instance *n, int l, const struct lsh_hold *hold)
{
	int64_t left = larger_of(kept_at(n, l, hold->lease), judge_lost_until[n->host.number] - sim_now);

	if (hold->lease->traded)
		lsh_each_lease(lease, hold->lease->resource)
			if (lease->state < LSH_HELD)
				left = larger_of(left, kept_at(n, l, lease));
	return left;
}

/* Nobody counts on a lease for longer than the server keeps it; or a majority of them, also by all that it knows. */
static void
look_at_lease(const struct sim_client *c, int l, const struct lsh_hold *hold)
{
	bool is_quorum = sim_site.deployment == SIM_QUORUM;
	size_t count = is_quorum ? sim_site.count : 1, kept = 0, known_votes = 0;
	int64_t left = hold->lease->valid_until - sim_now;

	if (c->leaves)
		return;
	for (size_t i = 0; i < (is_quorum ? count : SIM_SHARDS); i++) {
		const struct sim_instance *n = is_quorum ? &sim_site.instances[i] : sim_site.masters[i];

		kept += n != NULL && left_at(n, l, hold) >= left;
		known_votes += is_quorum && lsh_round_of(hold->lease)->of[i].valid_until >= hold->lease->valid_until;
	}
	if (is_quorum && 2 * known_votes <= count)
		sim_breach("lock %d: client %d counts on votes that it knows to be gone", l, c->process.number);
	if (2 * kept <= count && !judge_is_doubted(l))
		sim_breach("lock %d: client %d counts on it for %" PRId64 " ms, for which no server keeps it", l,
		           c->process.number, left / SIM_MS);
}

/* ---- all of it ---- */

/* Two who have it at once both read, and have one fence; unless others may know already that one writes no more. */
static void
look_at_both(int l, const struct lsh_hold *a, const struct lsh_hold *b)
{
	if (a->lease == b->lease || judge_is_doubted(l) || a->lease->traded || b->lease->traded)
		return;
	if (is_alone(a) || is_alone(b))
		sim_breach("lock %d: two have it at once, though one is to be alone", l);
	if (a->fence != b->fence)
		sim_breach("lock %d: two read at once with fences %" PRIu64 " and %" PRIu64, l, a->fence, b->fence);
}

void
sim_judge_look(void)
{
	if (sim_terms.permits > 0)
		judge_permits_look();
	for (int l = 0; l < sim_terms.locks; l++) {
		const struct lsh_hold *first = NULL;

		for (int i = 0; i < sim_client_count; i++) {
			const struct lsh_lock *lock = judge_lock_in(&sim_clients[i], l);

			if (lock == NULL)
				continue;
			look_at_first(&sim_clients[i], l, lock);
			if (sim_terms.readwrite[l])
				look_at_lost(&sim_clients[i], l, lock);
			lsh_each_hold(hold, lock) {
				look_at_hold(&sim_clients[i], l, hold);
				if (hold->lease->valid_until <= sim_now)
					continue;
				look_at_lease(&sim_clients[i], l, hold);
				if (first != NULL)
					look_at_both(l, first, hold);
				else
					first = hold;
			}
		}
		if (sim_terms.readwrite[l])
			judge_look_for_passed(l);
		if (first != NULL || (sim_terms.redisson[l] && sim_java_has(l)))
			known[l].free_since = sim_now;
		else if (sim_now - known[l].free_since > judge_most_free(l) && judge_is_settled(judge_most_free(l)) &&
		         somebody_waits(l))
			sim_breach("lock %d is nobody's, though somebody waits", l);
	}
}

bool
sim_judge_is_last(int l, uint64_t fence, bool reads)
{
	return fence >= (reads ? known[l].wrote : known[l].fence);
}

/* ---- answers ---- */

/* Somebody, or something, was the reason. */
static bool
is_excused(const struct sim_client *c, leash_status status)
{
	return (status == LEASH_CLOSED && c->leaves) ||
	       (status == LEASH_PROTOCOL && (sim_has_struck[SIM_ERROR] || sim_has_struck[SIM_FENCE])) ||
	       ((status == LEASH_PROTOCOL || status == LEASH_DENIED) && sim_has_struck[SIM_REFUSE]) ||
	       (status == LEASH_NO_MEMORY && sim_has_struck[SIM_SHORT]);
}

/* On a quorum: so nobody gets a smaller one. */
static bool
is_known_to_most(int l, uint64_t fence)
{
	size_t know = 0;

	if (sim_site.deployment != SIM_QUORUM)
		return true;
	for (size_t i = 0; i < sim_site.count; i++) {
		const struct sim_key *key = judge_key_at(&sim_site.instances[i], l, ":fence");

		know += judge_lost_until[i] > sim_now || (i == 0 && sim_has_struck[SIM_FENCE]) ||
		        (key != NULL && strtoull(sim_member_value(key->members[0]), NULL, 10) >= fence);
	}
	return 2 * know > sim_site.count;
}

/* Should the client die now, the lock is free when the lease is over that this one wanted; or a claim, which may be the
 * one of somebody before it. */
static void
look_at_length(const struct sim_person *p)
{
	const struct lsh_hold *hold = judge_hold_of(p, p->lock);
	/* who reads beside it may have extended it before the thread goes on */
	int64_t wanted_ms = hold != NULL && hold->reads > 0 ? sim_terms.longest_ms : p->lease_ms;
	int64_t left_ms = sim_left_ms(p, p->lock), most_ms = larger_of(wanted_ms, 3000);

	for (size_t i = 0; hold != NULL && i < sim_site.count; i++)
		left_ms = larger_of(left_ms, kept_at(&sim_site.instances[i], p->lock, hold->lease) / SIM_MS);
	if (left_ms > most_ms)
		sim_breach("lock %d: %" PRId64 " ms are left of a lease of %" PRId64 " ms", p->lock, left_ms, p->lease_ms);
}

/* Is it the clock of whichever server answers, while these differ? */
static bool
is_by_clocks(int l)
{
	return sim_terms.redisson[l] && sim_has_struck[SIM_DRIFT] && sim_site.deployment != SIM_SINGLE;
}

static void
look_at_fence(int l, uint64_t fence, bool reads)
{
	if (is_by_clocks(l))
		known[l].fence = known[l].wrote = fence;
	else if (fence + reads <= known[l].fence && !judge_is_doubted(l))
		sim_breach("lock %d: fence %" PRIu64 " after %" PRIu64, l, fence, known[l].fence);
	if (!is_known_to_most(l, fence / 256))
		sim_breach("lock %d: fence %" PRIu64 " is not known to a majority", l, fence);
	if ((int64_t)(fence / 256) > sim_world_us() + SIM_FAR_US + 20 * 1000000) /* servers' clocks differ by so much */
		sim_breach("lock %d: fence %" PRIu64 " is out of all proportion to the clocks", l, fence);
	if (judge_is_doubted(l) && fence < known[l].wrote)
		known[l].fence = known[l].wrote = fence; /* where data were lost it goes on from what was left */
	known[l].fence = fence > known[l].fence ? fence : known[l].fence;
	if (!reads && fence > known[l].wrote)
		known[l].wrote = fence;
}

/* Who comes in beside others of its client passes nobody there who waits to write, and does so in their turn unless it
 * has waited itself. */
static void
look_at_joined(const struct sim_person *p, const struct lsh_hold *hold)
{
	if (hold == NULL || hold->beside == NULL)
		return;
	if (p->waited_until - p->waits_since < SIM_US &&
	    p->waits_since - hold->lease->turn_began >= hold->beside->terms->handoff_ms * SIM_MS)
		sim_breach("lock %d: client %d goes on reading past its turn", p->lock, p->client->process.number);
	lsh_each_op(op, &hold->lock->waiting)
		if (op->want.need == LSH_NEED_WRITE && op->queue == &hold->lock->plain && op->began < p->waits_since &&
		    op->deadline > sim_now && !lsh_op_is_canceled(op))
			sim_breach("lock %d: client %d reads past one of its own who waits to write", p->lock,
			           p->client->process.number);
}

static void
note_grant(const struct sim_person *p)
{
	sim_acquired++;
	if (judge_is_shared(p->lock))
		judge_share_granted(p);
	if (p->lock != SIM_PERMITS) {
		if (!leash_lock_held(p->handles[p->lock]))
			return; /* that was long ago */
		look_at_fence(p->lock, leash_lock_fence(p->handles[p->lock]), p->reads[p->lock]);
		look_at_joined(p, judge_hold_of(p, p->lock));
	}
	look_at_length(p);
}

void
sim_judge_acquired(const struct sim_person *p, leash_status status, bool canceled)
{
	if (status == LEASH_OK)
		note_grant(p);
	else if (status == LEASH_TIMEOUT ? p->waited_until < p->waits_until && p->waits_until > p->waits_since :
	         status == LEASH_CANCELED ? !canceled :
	         /* who gives up a moment after the server was asked is told that it did not answer */
	         status == LEASH_UNAVAILABLE ? sim_climate == SIM_CALM && p->waited_until < p->waits_until &&
	                                       judge_doubted_until[p->lock] <= p->waited_until :
	         !is_excused(p->client, status))
		sim_breach("lock %d: an acquire says %s: %s", p->lock, leash_status_name(status), p->error.text);
	if (!p->client->process.stood_still && p->waited_until > p->waits_until + judge_grace() && status != LEASH_OK)
		sim_breach("lock %d: an acquire ended %" PRId64 " ms after its time", p->lock,
		           (p->waited_until - p->waits_until) / SIM_MS);
}

void
sim_judge_proclaimed(const struct sim_person *p, int l)
{
	if (p->said != LEASH_OK && p->said != LEASH_LOST && p->said != LEASH_NOT_HELD &&
	    (p->said != LEASH_UNAVAILABLE || sim_climate == SIM_CALM) && !is_excused(p->client, p->said))
		sim_breach("lock %d: who leads says so, and is told %s: %s", l, leash_status_name(p->said), p->error.text);
}

void
sim_judge_watched(const struct sim_person *p, const leash_leader *leader, int64_t began, int64_t wait_ms)
{
	const struct holder *seen = &holders[0][0];
	int64_t waited = sim_now - began;
	/* or the time, in whole ms, was over just after the server was asked */
	bool unanswered = sim_climate != SIM_CALM || waited + SIM_MS >= wait_ms * SIM_MS;

	if (p->said != LEASH_OK && p->said != LEASH_TIMEOUT && (p->said != LEASH_UNAVAILABLE || !unanswered) &&
	    !is_excused(p->client, p->said))
		sim_breach("who watches is told %s: %s", leash_status_name(p->said), p->error.text);
	if (p->said == LEASH_OK && leader->value[0] != '\0' && strcmp(leader->value, leader->token) != 0)
		sim_breach("who watches is told that %s says %s", leader->token, leader->value);
	if (p->said == LEASH_OK && !leader->leads && (leader->token[0] != '\0' || leader->value[0] != '\0'))
		sim_breach("who watches is told that nobody leads, but %s says %s", leader->token, leader->value);
	if (p->said == LEASH_TIMEOUT && sim_climate == SIM_CALM && waited > 1500 * SIM_MS && p->led_by[0] != '?' &&
	    sim_now - seen->changed > 1500 * SIM_MS && strcmp(seen->now, p->led_by) != 0)
		sim_breach("who watches was told of '%s', but not of '%s'", p->led_by, seen->now);
}

void
sim_judge_traded(const struct sim_person *p, int l, uint64_t had)
{
	uint64_t fence = leash_lock_fence(p->handles[l]);

	if (p->said == LEASH_OK && fence != 0) {
		if (fence != had) {
			look_at_fence(l, fence, true);
			known[l].wrote = known[l].fence;
		}
		told_of(p, l)->fence = fence;
		told_of(p, l)->lost = false;
	} else if (p->said != LEASH_OK && p->said != LEASH_TIMEOUT && p->said != LEASH_LOST && p->said != LEASH_NOT_HELD &&
	           (p->said != LEASH_UNAVAILABLE || sim_climate == SIM_CALM) && !is_excused(p->client, p->said)) {
		sim_breach("lock %d: a trade says %s: %s", l, leash_status_name(p->said), p->error.text);
	}
}

void
sim_judge_waited(const struct sim_person *p, int l)
{
	if (p->said != LEASH_OK && p->said != LEASH_TIMEOUT && p->said != LEASH_LOST && !is_excused(p->client, p->said) &&
	    (p->said != LEASH_UNAVAILABLE || (sim_climate == SIM_CALM && !judge_is_doubted(l))))
		sim_breach("lock %d: who waits for a signal, or says one, is told %s: %s", l, leash_status_name(p->said),
		           p->error.text);
}

void
sim_judge_released(const struct sim_person *p, int l, uint64_t fence, bool was_last)
{
	struct told *t = l != SIM_PERMITS ? told_of(p, l) : NULL;
	bool was_told = t == NULL ? p->lost : t->fence == fence && t->past != fence && t->lost;

	if (p->said == LEASH_OK && !p->nowait && !was_last && !judge_is_doubted(l))
		sim_breach("lock %d: another one had it, but its release says OK", l);
	if (p->said == LEASH_OK && was_told && !(p->nowait && p->loops) && !judge_is_doubted(l))
		sim_breach("lock %d: it was told to be lost, but its release says OK", l);
	if (p->said != LEASH_OK && p->said != LEASH_LOST && p->said != LEASH_NOT_HELD &&
	    (p->said == LEASH_UNKNOWN ? sim_climate == SIM_CALM : !is_excused(p->client, p->said)))
		sim_breach("lock %d: a release says %s: %s", l, leash_status_name(p->said), p->error.text);
	if (p->said == LEASH_OK && sim_climate == SIM_CALM && l == SIM_PERMITS && !p->nowait && judge_permits_kept(p) > 0)
		sim_breach("permits: a release says OK, but they are out");
	if (sim_terms.readwrite[l]) /* who reads next may have the same fence */
		*t = (struct told){.past = fence != 0 ? fence : known[l].fence, .lost_since = t->lost_since};
}

/* Who has it learns of that at its next renewal, after a third of its lease. */
void
sim_judge_broken(int l)
{
	judge_doubt(l, sim_climate != SIM_CALM ? 6 * sim_terms.longest_ms + 3 * sim_terms.timeout_ms :
	               sim_terms.limits ? 2 * sim_terms.longest_ms : sim_terms.longest_ms / 2 + 100);
}

void
sim_judge_lost(int l, const char *why)
{
	if ((!lost_data || sim_site.deployment == SIM_QUORUM) && !judge_is_doubted(l))
		sim_breach("lock %d: it is lost: %s", l, why);
}

void
sim_judge_extended(const struct sim_person *p, int l, int64_t began, int64_t lease_ms)
{
	int64_t passed_ms = (sim_now - began) / SIM_MS;

	/* less what a clock may drift; who has closed the client before the thread goes on has released it */
	if (p->said == LEASH_OK && !p->client->leaves && !p->client->process.stood_still && !p->limited &&
	    !judge_is_doubted(l) && sim_left_ms(p, l) + passed_ms + lease_ms / 50 + 10 < lease_ms)
		sim_breach("lock %d: an extension to %" PRId64 " ms says OK, but %" PRId64 " ms are left", l, lease_ms,
		           sim_left_ms(p, l));
}

void
sim_judge_looked(const struct sim_person *p, int l, bool holds, bool seen)
{
	bool has_no_queue = sim_site.deployment == SIM_QUORUM || sim_terms.redisson[l];

	if (p->said != LEASH_OK && !(p->said == LEASH_UNAVAILABLE && sim_climate != SIM_CALM) &&
	    !(p->said == LEASH_UNSUPPORTED && has_no_queue) && !is_excused(p->client, p->said))
		sim_breach("lock %d: who looks is told %s: %s", l, leash_status_name(p->said), p->error.text);
	if (p->said == LEASH_OK && sim_climate == SIM_CALM && holds && !seen && !judge_is_doubted(l))
		sim_breach("lock %d: client %d holds it, and does not see that", l, p->client->process.number);
}

void
sim_judge_unopened(const struct sim_client *c, leash_status status, const leash_error *err)
{
	if (status != LEASH_UNAVAILABLE ? !is_excused(c, status) : sim_climate == SIM_CALM)
		sim_breach("a client is not opened: %s: %s", leash_status_name(status), err->text);
}

/* ---- events ---- */

/* time enough for a connection that is silent, and another one; on a path on which little is under way at once all that
 * was not done meanwhile may come first */
static void
look_at_reason(int l, const leash_event *event, int64_t lease_ms, int64_t until)
{
	/* both tokens of a trade are given up that was not acknowledged in time, or before its master was lost, or not
	 * answered before the server refuses to say more */
	bool acknowledges = sim_climate != SIM_CALM && (sim_terms.fsynced || sim_terms.min_replicas > 0);
	bool is_trade = (acknowledges || sim_has_struck[SIM_FAILOVER] || sim_has_struck[SIM_STALL] ||
	                 sim_has_struck[SIM_REFUSE]) && strstr(event->text, "did not say in which mode") != NULL;

	if (event->type == LEASH_EVENT_LOST && sim_now < until && !is_trade)
		sim_judge_lost(l, event->text);
	if (event->type == LEASH_EVENT_LOST && strstr(event->text, "no renewal succeeded") != NULL && lease_ms > 0 &&
	    !sim_weather.narrow && sim_now - judge_struck_until() > (lease_ms / 2 + sim_terms.guard_ms) * SIM_MS + SIM_S)
		sim_breach("lock %d: it is lost for want of a renewal, though nothing was in the way", l);
	if (event->type == LEASH_EVENT_NOT_RELEASED && sim_climate == SIM_CALM)
		sim_breach("lock %d: it is not released: %s", l, event->text);
	if (event->type == LEASH_EVENT_FENCE_REGRESSION && !judge_is_doubted(l) && !is_by_clocks(l))
		sim_breach("lock %d: fences went back", l);
}

static void
look_at_told(struct told *t, int l, const leash_event *event, int64_t lease_ms, int64_t until)
{
	if (event->fence < t->fence && (event->type == LEASH_EVENT_LOST || event->type == LEASH_EVENT_NOT_RELEASED)) {
		look_at_reason(l, event, lease_ms, until); /* of an earlier hold, whose release was answered late */
		return;
	}
	if (t->fence != event->fence || event->fence == t->past)
		*t = (struct told){.fence = event->fence, .past = t->past, .lost_since = t->lost_since,
		                   .at_risk = sim_terms.readwrite[l] && event->type == LEASH_EVENT_RECOVERED};
	if (t->lost && event->type != LEASH_EVENT_FENCE_REGRESSION)
		sim_breach("lock %d: %s was told of a hold that was lost", l, leash_event_name(event->type));
	if (event->type == (t->at_risk ? LEASH_EVENT_JEOPARDY : LEASH_EVENT_RECOVERED))
		sim_breach("lock %d: %s was told twice in a row", l, leash_event_name(event->type));
	look_at_reason(l, event, lease_ms, until);
	if (event->type == LEASH_EVENT_JEOPARDY || event->type == LEASH_EVENT_RECOVERED)
		t->at_risk = event->type == LEASH_EVENT_JEOPARDY;
	t->lost = event->type == LEASH_EVENT_LOST;
	if (t->lost)
		t->lost_since = 0;
	if (event->type == LEASH_EVENT_ABANDONED)
		t->past = event->fence;
}

static int64_t
until_of(const struct sim_person *p, int l, const leash_event *event)
{
	const struct counted *last = &counted[p->client->process.number][l][p->number];

	return last->fence == event->fence ? last->until : 0;
}

void
sim_judge_told_person(void *arg, const leash_event *event)
{
	const struct sim_person *p = arg;
	int l = event->lock[0] - 'a';

	sim_trace("%d%c is told %s %s: %s", p->client->process.number, 'a' + p->number, leash_event_name(event->type),
	          event->lock, event->text);
	look_at_told(told_of(p, l), l, event, p->limited ? 0 : p->client->lease_ms[l], until_of(p, l, event));
}

void
sim_judge_told(void *arg, const leash_event *event)
{
	const struct sim_client *c = arg;
	int n = c->process.number;
	int64_t until = 0;

	sim_trace("client %d is told %s %s: %s", n, leash_event_name(event->type), event->lock != NULL ? event->lock : "",
	          event->text);
	if (event->lock == NULL)
		return;
	int l = event->lock[0] - 'a';
	if (l == SIM_PERMITS) {
		const struct sim_person *p = judge_permits_told(event);

		if (p != NULL)
			look_at_reason(l, event, p->permit_ms, p->permit_until);
		return;
	}
	for (const struct sim_person *p = c->people; p < c->people + sim_terms.threads; p++)
		until = larger_of(until, until_of(p, l, event));
	look_at_told(&told[n][l][0], l, event, c->lease_ms[l], until);
}

void
sim_judge_data_lost(const struct sim_instance *n, bool is_guarded)
{
	went_back = lost_data = true;
	judge_lost_until[n->host.number] = sim_now + sim_terms.longest_ms * SIM_MS;
	if (is_guarded && sim_terms.guard_ms > 0)
		return; /* who has it is waited for */
	for (int l = 0; l < SIM_NAMES; l++)
		judge_doubt(l, 2 * sim_terms.longest_ms);
}

void
sim_judge_took_over(const struct sim_instance *n, const struct sim_instance *from)
{
	judge_lost_until[n->host.number] = larger_of(judge_lost_until[n->host.number], judge_lost_until[from->host.number]);
}

const char *
sim_judge_last_fence(int l)
{
	static char text[24];

	snprintf(text, sizeof text, "%" PRIu64, known[l].fence / 256);
	return text;
}

/* ---- the end ---- */

void
sim_judge_closed(const struct sim_client *c)
{
	if (sim_open_fds(&c->process) > 0)
		sim_breach("client %d left %zu descriptors open", c->process.number, sim_open_fds(&c->process));
	memset(told[c->process.number], 0, sizeof told[0]);
}

/* How long a key of this name may stay when all have gone: fences, and who a client was, are of use to people. */
static int64_t
most_ms(const char *name)
{
	/* one that is ahead of the clock is kept until that has caught up; in a long life it comes to be believed */
	int64_t ahead_ms = sim_has_struck[SIM_FENCE] ? SIM_FAR_US / 1000 : 0;

	bool is_gate = strstr(name, ":{gate}") != NULL || strstr(name, ":{latch") != NULL;

	if (strstr(name, ":client:") != NULL || is_gate)
		return 86400000;
	if (strstr(name, "?more}") != NULL && strchr(strchr(name, '}'), ':') == NULL)
		return larger_of(sim_terms.longest_ms, 30000); /* a signal that nobody took up */
	return strstr(name, ":fence") != NULL ? 3600000 + 60000 + ahead_ms :
	       strstr(name, ":queue") != NULL ? 20000 + sim_terms.longest_ms : sim_terms.longest_ms;
}

/* Locks end with their holders, at the latest when their leases do. */
void
sim_judge_end(void)
{
	for (size_t i = 0; i < sim_site.count; i++) {
		const struct sim_instance *n = &sim_site.instances[i];
		const struct sim_keyspace *keyspace = &n->server->context.keyspace;
		int64_t now_ms = judge_us_at(n) / 1000;

		for (int l = 0; l < SIM_NAMES; l++)
			if (sim_climate == SIM_CALM && n->master == NULL && judge_is_shared(l) && judge_share_out(n, l) > 0)
				sim_breach("lock %d: server %zu has who holds it, though all have gone", l, i);
		for (size_t k = 0; k < keyspace->count; k++) {
			const struct sim_key *key = keyspace->keys[k];

			if (key->expires_ms <= now_ms)
				continue;
			if (key->expires_ms == SIM_NO_TTL)
				sim_breach("server %zu has key '%s' for ever", i, key->name);
			if (key->expires_ms > now_ms + most_ms(key->name) && sim_traces)
				sim_keyspace_print(keyspace, now_ms, stdout);
			if (key->expires_ms > now_ms + most_ms(key->name))
				sim_breach("server %zu has key '%s' for too long", i, key->name);
		}
	}
}
