/* The judge. See judge.h. */
#include "tests/sim/judge.h"

#include "client/handle.h"
#include "core/core.h"
#include "lease/round.h"
#include "tests/sim/cluster.h"
#include "tests/sim/faults.h"
#include "tests/sim/fiber.h"
#include "tests/sim/speaker.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum sim_climate sim_climate;

/* What is known of a lock. */
static struct {
	uint64_t fence;        /* the largest that was seen */
	int64_t doubted_until; /* who had it when data was lost may have it still, by then, beside another one */
	int64_t free_since;    /* nobody has it, though somebody waits */
} known[SIM_NAMES];

/* What was told of the last hold of a lock of a client. */
static struct told {
	uint64_t fence;
	bool at_risk, lost;
	uint64_t ended; /* this hold's lease was over, by all that the client knew */
} told[SIM_PROCESSES][SIM_LOCKS];

/* ---- one at a time ---- */

/* What the client knows of the lock; NULL: it is closed. */
static const struct lsh_lock *
lock_in(const struct sim_client *c, int l)
{
	return c->leash != NULL && !c->process.dead && c->watched[l] != NULL ? c->watched[l]->lock : NULL;
}

static uint64_t
holder_in(const struct lsh_lock *lock)
{
	return atomic_load_explicit(&lock->holder, memory_order_relaxed);
}

static int64_t
end_in(const struct lsh_lock *lock)
{
	return atomic_load_explicit(&lock->valid_until, memory_order_relaxed);
}

/* What is over is over; and nobody has it for longer than max_hold_ms. */
static void
look_at_hold(const struct sim_client *c, int l, const struct lsh_lock *lock)
{
	uint64_t *ended = &told[c->process.number][l].ended;

	if (holder_in(lock) == 0 || lock->hold == NULL)
		return;
	if (end_in(lock) <= sim_now)
		*ended = lock->hold->fence;
	else if (lock->hold->fence == *ended)
		sim_breach("lock %d: client %d has it again, though its lease was over", l, c->process.number);
	for (int k = 0; k < sim_terms.threads; k++) {
		const struct sim_person *p = &c->people[k];

		if (p->owner == holder_in(lock) && p->most_ms[l] > 0 && p->got_at[l] > 0 &&
		    end_in(lock) > p->got_at[l] + p->most_ms[l] * SIM_MS)
			sim_breach("lock %d: client %d has it for longer than max_hold_ms", l, c->process.number);
	}
}

static bool
is_doubted(int l)
{
	return known[l].doubted_until > sim_now;
}

/* For so long two may have it, rightly. */
static void
doubt(int l, int64_t ms)
{
	if (sim_now + ms * SIM_MS > known[l].doubted_until)
		known[l].doubted_until = sim_now + ms * SIM_MS;
}

static bool
somebody_waits(int l)
{
	for (int i = 0; i < sim_client_count; i++)
		for (int k = 0; k < sim_terms.threads; k++) {
			const struct sim_person *p = &sim_clients[i].people[k];

			/* who has come only now, or goes soon, is not kept waiting */
			if (p->waits && p->lock == l && !sim_clients[i].process.dead && p->waits_since < known[l].free_since &&
			    p->waits_until > sim_now)
				return true;
		}
	return false;
}

/* From then on nothing has been wrong. */
static int64_t
struck_until(void)
{
	int64_t at = sim_struck_until;

	for (int i = 0; i < sim_client_count; i++)
		if (sim_clients[i].process.frozen_until > at)
			at = sim_clients[i].process.frozen_until;
	return at;
}

/* So long after the last fault a client has learned what is there, and dealt with it. */
static int64_t
settling(void)
{
	return 3 * sim_terms.timeout_ms * SIM_MS + SIM_S;
}

/* How long a lock may be nobody's though somebody waits: what a crash or a loss leaves ends with its lease, and who was
 * not told looks then. */
static int64_t
most_free(void)
{
	return sim_climate == SIM_CALM ? sim_terms.lease_ms * SIM_MS :
	       (sim_terms.longest_ms + 2 * sim_terms.timeout_ms + sim_terms.guard_ms) * SIM_MS + 12 * SIM_S;
}

/* How long a call may take more than it should: two timeouts, and what its client stood still. */
static int64_t
grace(void)
{
	return sim_climate == SIM_CALM ? 100 * SIM_MS : 2 * sim_terms.timeout_ms * SIM_MS + SIM_S;
}

/* Has somebody had it who is no more there? */
static bool
is_of_ended(const struct sim_client *c, const struct lsh_lock *lock)
{
	for (int k = 0; k < sim_terms.threads; k++)
		if (c->people[k].ended && c->people[k].owner == holder_in(lock))
			return true;
	return false;
}

/* ---- what servers know ---- */

static const char *const lock_keys[SIM_NAMES] = {"leash:{apple}", "leash:{birch}", "leash:{cedar}", "leash:{dates}"};

const char *
sim_judge_key(int lock)
{
	return lock_keys[lock];
}

/* Whose token it is: of one that is open, and does not close; or NULL. */
static const struct sim_client *
owner_of(const char *token)
{
	for (int i = 0; i < sim_client_count; i++) {
		const struct lsh_lock *lock = lock_in(&sim_clients[i], 0);

		if (lock != NULL && memcmp(token, lock->resource.backend->uuid, LSH_UUID_SIZE) == 0)
			return atomic_load(&lock->resource.backend->closing) ? NULL : &sim_clients[i];
	}
	return NULL;
}

/* Does the client know that its token may be there? */
static bool
is_known(const char *token, size_t size, int l)
{
	const struct sim_client *c = size > LSH_UUID_SIZE ? owner_of(token) : NULL;

	return c == NULL || c->watched[l] == NULL || lsh_lease_find(&c->watched[l]->lock->resource, token, size) != NULL;
}

static int64_t
us_at(const struct sim_instance *n)
{
	return sim_server_us(n->server, sim_world_us());
}

static const struct sim_key *
key_in(const struct sim_keyspace *keys, const struct sim_instance *n, int l, const char *suffix)
{
	char name[40];
	size_t size = (size_t)snprintf(name, sizeof name, "%s%s", lock_keys[l], suffix);
	const struct sim_slot *slot = sim_key_find(keys, name, size, us_at(n) / 1000);

	return slot != NULL && slot->key->count > 0 ? slot->key : NULL;
}

/* The lock's key there, or with a suffix another one of its keys; or NULL. */
static const struct sim_key *
key_at(const struct sim_instance *n, int l, const char *suffix)
{
	return key_in(&n->server->context.keyspace, n, l, suffix);
}

/* Who has a lock there; or NULL. */
static const char *
holder_of(const struct sim_instance *n, int l)
{
	const struct sim_key *key = key_at(n, l, "");

	return key != NULL ? key->members[0]->bytes : NULL;
}

static bool went_back; /* a server has older data than it had, or more than a client owes a cancel for, */
static bool lost_data; /* or lacks what counts, */
static int64_t lost_until[SIM_HOSTS]; /* and whoever had that may still count on it */

static struct {
	char token[LSH_TOKEN_SIZE]; /* that had it last */
	int64_t unknown_since;     /* its client takes the token that has it for dead; 0: it does not */
	char old[LSH_TOKEN_SIZE];  /* came back with older data, which no client is told */
	int64_t gone_since;        /* `token` has it no more; 0: it has */
} holders[SIM_HOSTS][SIM_LOCKS];

/* Only the servers of a quorum are for themselves. */
static int
index_of(const struct sim_instance *n)
{
	return sim_site.deployment == SIM_QUORUM ? n->host.number : 0;
}

void
sim_judge_went_back(const struct sim_instance *n)
{
	went_back = true;
	for (int l = 0; l < sim_terms.locks; l++) {
		const char *token = holder_of(n, l);

		if (token != NULL)
			snprintf(holders[index_of(n)][l].old, LSH_TOKEN_SIZE, "%s", token);
	}
}

void
sim_judge_cut_off(int64_t ns)
{
	went_back = went_back || (ns > 10 * SIM_S && sim_site.deployment != SIM_QUORUM); /* which has no places */
}

bool
sim_judge_is_of(const char *token, const struct sim_client *c)
{
	return c->watched[0] != NULL && memcmp(token, c->watched[0]->lock->resource.backend->uuid, LSH_UUID_SIZE) == 0;
}

bool
sim_judge_is_everywhere(int l)
{
	for (size_t i = 0; i < sim_site.count && sim_site.deployment == SIM_QUORUM; i++)
		if (holder_of(&sim_site.instances[i], l) == NULL)
			return false;
	return true;
}

/* Has somebody adopted it, or tries to? */
static bool
has_heir(const char *token, int l)
{
	for (int i = 0; i < sim_client_count; i++) {
		const struct lsh_lock *lock = lock_in(&sim_clients[i], l);

		if (lock != NULL && lsh_lease_find(&lock->resource, token, strlen(token)) != NULL)
			return true;
	}
	return false;
}

/* Is it of one that died, as the server knows? Then nobody hears of a grant. */
static bool
is_of_dead(const char *token, const struct sim_instance *n)
{
	for (int i = 0; i < sim_client_count; i++) {
		const struct sim_client *c = &sim_clients[i];

		if (c->process.dead && sim_judge_is_of(token, c))
			return !sim_is_connected(&c->process, &n->host);
	}
	return false;
}

/* What a master of the past grants the next one may grant, too, unless replicas have to know. */
static void
doubt_what_is_past(const struct sim_instance *n)
{
	for (int l = 0; l < SIM_NAMES; l++)
		if (n->master == NULL && sim_terms.min_replicas == 0 && holder_of(n, l) != NULL)
			doubt(l, 2 * sim_terms.longest_ms);
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
			const struct lsh_lock *lock = lock_in(&sim_clients[i], l);

			if (lock == NULL)
				continue;
			lsh_each_lease(lease, &lock->resource) {
				struct seen *s = &seen[i][l][lease->token.number % 16];

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
	const struct sim_key *queue = key_at(n, l, ":queue");
	bool is_cluster = sim_site.deployment == SIM_CLUSTER;
	char token[LSH_TOKEN_SIZE], channel[120];

	for (size_t i = 0; queue != NULL && i < queue->count; i++) {
		const char *member = queue->members[i]->bytes;

		if (strchr(member, ' ') == NULL)
			continue;
		snprintf(token, sizeof token, "%.*s", (int)strcspn(member, " "), member);
		snprintf(channel, sizeof channel, "%s:wake:%.*s", is_cluster ? lock_keys[l] : "leash", LSH_UUID_SIZE, member);
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
	int64_t *gone_since = &holders[n->host.number][l].gone_since;
	bool has = token != NULL && strcmp(token, holders[n->host.number][l].token) == 0;

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
	double before = (double)(us_at(n) - 1000000);

	for (int c = 0; c < sim_client_count; c++)
		if (sim_judge_is_of(token, &sim_clients[c]) && sim_forgets_wires(&sim_clients[c].process, &n->host))
			return false;
	for (int l = 0; l < sim_terms.locks; l++) {
		const struct sim_key *queue = key_at(n, l, ":queue");

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
 * its connection still is: there that somebody heard does not say who, and the grant stands for its claim of up to
 * 3 s. */
void
sim_judge_served(struct sim_instance *n)
{
	look_at_leases();
	if (n->server->context.deadly > 0)
		sim_breach("server %d was told a TTL of zero or less", n->host.number);
	if (n != sim_site.masters[n->shard] && sim_site.deployment != SIM_QUORUM) {
		doubt_what_is_past(n); /* what is canceled is canceled elsewhere */
		return;
	}
	for (int l = 0; l < sim_terms.locks; l++) {
		if (sim_climate == SIM_CALM)
			sim_judge_each_place(n, l, look_at_place);
		const char *token = holder_of(n, l);
		int64_t *since = &holders[index_of(n)][l].unknown_since;

		if (sim_climate == SIM_CALM && sim_site.deployment == SIM_QUORUM)
			look_at_return(n, l, token);
		if (token == NULL || is_known(token, strlen(token), l) || strcmp(token, holders[index_of(n)][l].old) == 0)
			*since = 0;
		else if (*since == 0)
			*since = sim_now;
		if (*since != 0 && (!went_back || (sim_now - *since > SIM_S && sim_now - struck_until() > settling() &&
		                                   is_of_waiting(token, n))))
			sim_breach("lock %d: server %d gave it to %s, which its client takes for dead", l, n->host.number, token);
		if (token == NULL || strcmp(token, holders[index_of(n)][l].token) == 0)
			continue;
		if (is_of_dead(token, n) && !has_heir(token, l) && sim_site.deployment != SIM_CLUSTER &&
		    strcmp(token, holders[index_of(n)][l].old) != 0)
			sim_breach("lock %d: server %d gave it to %s, whose client is dead", l, n->host.number, token);
		snprintf(holders[index_of(n)][l].token, LSH_TOKEN_SIZE, "%s", token);
		holders[index_of(n)][l].gone_since = 0;
	}
}

/* For so long the server lets the hold have the lock. */
static int64_t
kept_at(const struct sim_instance *n, int l, const struct lsh_hold *hold)
{
	const struct sim_key *key = key_at(n, l, "");
	const char *token = key != NULL ? key->members[0]->bytes : "";

	if (!lsh_lease_has_token(hold->lease, token, strlen(token)))
		return 0;
	return (key->expires_ms * 1000 - us_at(n)) * SIM_US;
}

/* Or has lost it, and lets nobody have it. */
static int64_t
left_at(const struct sim_instance *n, int l, const struct lsh_hold *hold)
{
	int64_t lost = lost_until[n->host.number] - sim_now, left = kept_at(n, l, hold);

	return left > lost ? left : lost;
}

/* Nobody counts on a lease for longer than the server keeps it; or a majority of them, also by all that it knows. */
static void
look_at_lease(const struct sim_client *c, int l, const struct lsh_lock *lock)
{
	bool is_quorum = sim_site.deployment == SIM_QUORUM;
	size_t count = is_quorum ? sim_site.count : 1, kept = 0, known_votes = 0;
	int64_t left = end_in(lock) - sim_now;

	if (lock->hold == NULL || lock->hold->lost || c->leaves)
		return;
	for (size_t i = 0; is_quorum && i < count; i++) {
		kept += left_at(&sim_site.instances[i], l, lock->hold) >= left;
		known_votes += lock->hold->lease->round->of[i].valid_until >= end_in(lock);
	}
	if (is_quorum && 2 * known_votes <= count)
		sim_breach("lock %d: client %d counts on votes that it knows to be gone", l, c->process.number);
	for (size_t i = 0; !is_quorum && i < SIM_SHARDS && sim_site.masters[i] != NULL; i++)
		kept += left_at(sim_site.masters[i], l, lock->hold) >= left;
	if (2 * kept <= count && !is_doubted(l))
		sim_breach("lock %d: client %d counts on it for %" PRId64 " ms, for which no server keeps it", l,
		           c->process.number, left / SIM_MS);
}

/* ---- permits ---- */

/* A member is "<token> <count>/<limit>", and has a number behind that if it is another one of the same hold. A place is
 * the first of them, with its claim. */
static size_t
who_size(const char *member)
{
	size_t token = strcspn(member, " ");

	return token + 1 + strcspn(member + token + 1, " ");
}

static size_t
count_of(const struct sim_member *who)
{
	return strtoul(strchr(who->bytes, ' ') + 1, NULL, 10);
}

/* Is that one of them? NULL: there is none. Of a queue: its place. */
static const struct sim_member *
find_who(const struct sim_key *key, const char *who, size_t size)
{
	for (size_t i = 0; key != NULL && i < key->count; i++)
		if (strncmp(key->members[i]->bytes, who, size) == 0)
			return key->members[i];
	return NULL;
}

static size_t
permits_out(const struct sim_instance *n)
{
	const struct sim_key *key = key_at(n, SIM_PERMITS, "");
	size_t out = 0;

	for (size_t i = 0; key != NULL && i < key->count; i++)
		out += key->members[i]->score > (double)us_at(n);
	return out;
}

/* The permits of a hold end together, and before their key. */
static void
look_at_member(const struct sim_instance *n, const struct sim_key *key, const struct sim_member *m)
{
	int64_t most_ms = sim_terms.longest_ms > 3000 ? sim_terms.longest_ms : 3000;
	size_t size = who_size(m->bytes), same = 0;

	for (size_t i = 0; i < key->count; i++)
		same += strncmp(key->members[i]->bytes, m->bytes, size) == 0 && key->members[i]->score == m->score;
	if (same != count_of(m))
		sim_breach("permits: at server %d %zu of %s end together", n->host.number, same, m->bytes);
	if (m->score > (double)(us_at(n) + most_ms * 1000))
		sim_breach("permits: at server %d %s is out for too long", n->host.number, m->bytes);
	if (m->score > (double)(key->expires_ms + 1) * 1000)
		sim_breach("permits: at server %d %s outlasts its key", n->host.number, m->bytes);
}

static struct sim_keyspace before; /* what the server had that executes a command */

void
sim_judge_serves(const struct sim_instance *n)
{
	if (sim_terms.permits > 0)
		sim_keyspace_copy(&before, &n->server->context.keyspace);
}

static bool
names_four_keys(const struct lsh_arg *args)
{
	return strncasecmp(args[0].bytes, "EVAL", 4) == 0 && args[2].size == 1 && args[2].bytes[0] == '4';
}

/* Who came in last of a client, from the queue. */
static struct {
	char token[LSH_TOKEN_SIZE];
	int64_t at; /* 0: it has been seen to */
} let_in[SIM_PROCESSES];

static void
note_let_in(const struct sim_member *m)
{
	const struct sim_client *c = owner_of(m->bytes);

	if (c == NULL)
		return;
	snprintf(let_in[c->process.number].token, LSH_TOKEN_SIZE, "%.*s", (int)strcspn(m->bytes, " "), m->bytes);
	let_in[c->process.number].at = sim_now;
}

/* Who was not told by the message asks a second later. Another one later it is somebody's, or has been given back; unless
 * messages get lost and nobody notices. */
static void
look_for_ghosts(const struct sim_instance *n, const struct sim_key *key)
{
	for (int i = 0; i < sim_client_count; i++) {
		const char *token = let_in[i].token;
		const struct sim_member *m = find_who(key, token, strlen(token));
		bool is_known = owner_of(token) == NULL;

		if (let_in[i].at == 0 || sim_now - let_in[i].at < 2 * SIM_S)
			continue;
		for (int k = 0; k < SIM_THREADS; k++)
			is_known |= strcmp(sim_clients[i].people[k].token, token) == 0;
		if (!is_known && m != NULL && m->score > (double)us_at(n) && sim_now - struck_until() > settling() + 2 * SIM_S &&
		    !sim_has_struck[SIM_HOLE])
			sim_breach("permits: server %d has let %s in, and nobody knows", n->host.number, token);
		let_in[i].at = 0;
	}
}

/* Who comes in asked for that, and passes nobody in the queue. */
static void
look_at_order(const struct sim_instance *n, const struct lsh_arg *args, const struct sim_key *queue,
              const struct sim_member *m)
{
	size_t size = who_size(m->bytes);
	const struct sim_member *was = find_who(key_in(&before, n, SIM_PERMITS, ""), m->bytes, size);
	const struct sim_member *place = find_who(key_in(&before, n, SIM_PERMITS, ":queue"), m->bytes, size);

	if (m->score <= (double)us_at(n) || (was != NULL && was->score > (double)us_at(n)))
		return;
	if (place == NULL && !names_four_keys(args))
		sim_breach("permits: at server %d %s is back", n->host.number, m->bytes);
	if (place != NULL)
		note_let_in(m);
	for (size_t i = 0; queue != NULL && i < queue->count; i++)
		if (queue->members[i]->score > 0 && (place == NULL || queue->members[i]->score < place->score))
			sim_breach("permits: server %d lets %s in before %s", n->host.number, m->bytes, queue->members[i]->bytes);
}

/* Has its client come, or said a word, in the last 10 s? */
static bool
lives(const struct sim_instance *n, const struct sim_key *queue, const struct sim_member *place)
{
	double since = (double)(us_at(n) - 10 * 1000000);

	for (size_t i = 0; i < queue->count; i++)
		if (-queue->members[i]->score >= since && memcmp(queue->members[i]->bytes, place->bytes, LSH_UUID_SIZE) == 0)
			return true;
	return place->score >= since;
}

/* A step that lets in names four keys. Who is in already, came too late, or shall ask again, is told that and no
 * more. */
static bool
lets_in(const struct lsh_arg *args, const struct lsh_message *answer)
{
	if (!names_four_keys(args) || answer->type == LSH_ERROR)
		return false;
	return answer->type == LSH_INTEGER ? answer->item[0].integer <= 2 :
	                                     answer->item[0].integer >= 0 && answer->item[1].integer != 0;
}

void
sim_judge_let_in(const struct sim_instance *n, const struct lsh_arg *args, const struct lsh_message *answer)
{
	static const char *const suffixes[] = {"", ":fence", ":queue", ":limit"};
	const struct sim_key *key = key_at(n, SIM_PERMITS, ""), *queue = key_at(n, SIM_PERMITS, ":queue");
	size_t i = 0;

	if (sim_terms.permits == 0)
		return;
	for (size_t k = 0; k < 4; k++)
		if (key_at(n, SIM_PERMITS, suffixes[k]) != NULL &&
		    key_at(n, SIM_PERMITS, suffixes[k])->expires_ms == SIM_NO_TTL)
			sim_breach("permits: server %d has a key '%s' without a TTL", n->host.number, suffixes[k]);
	if (permits_out(n) > (size_t)sim_terms.permits)
		sim_breach("permits: %zu of %d are out at server %d", permits_out(n), sim_terms.permits, n->host.number);
	for (size_t k = 0; key != NULL && k < key->count; k++) {
		look_at_member(n, key, key->members[k]);
		look_at_order(n, args, queue, key->members[k]);
	}
	look_for_ghosts(n, key);
	while (queue != NULL && i < queue->count && queue->members[i]->score < 0)
		i++;
	if (queue != NULL && i < queue->count && lets_in(args, answer) && lives(n, queue, queue->members[i]) &&
	    permits_out(n) + count_of(queue->members[i]) <= (size_t)sim_terms.permits)
		sim_breach("permits: server %d does not let %s in", n->host.number, queue->members[i]->bytes);
}

/* For so long a server keeps what the person has, or has lost it, and lets nobody have it. */
static int64_t
permits_kept(const struct sim_person *p)
{
	int64_t kept = 0;

	for (size_t i = 0; i < SIM_SHARDS && sim_site.masters[i] != NULL; i++) {
		const struct sim_instance *n = sim_site.masters[i];
		const struct sim_member *m = find_who(key_at(n, SIM_PERMITS, ""), p->token, strlen(p->token));
		int64_t left = m != NULL ? ((int64_t)m->score - us_at(n)) * SIM_US : 0;

		kept = left > kept ? left : kept;
		left = lost_until[n->host.number] - sim_now;
		kept = left > kept ? left : kept;
	}
	return kept;
}

/* Visit all people of clients that live. */
#define each_person(p) \
	for (struct sim_client *c_ = sim_clients; c_ < sim_clients + sim_client_count; c_++) \
		for (struct sim_person *p = c_->people; p < c_->people + SIM_THREADS && !c_->process.dead; p++)

static bool
waits_for_permits(const struct sim_person *p)
{
	return p->waits && p->lock == SIM_PERMITS && p->waits_until > sim_now;
}

/* How many are out; nobody counts on them for longer than a server does. */
static int64_t
count_permits(void)
{
	int64_t out = 0;

	each_person(p) {
		int64_t left = leash_permit_remaining_ms(p->permit) * SIM_MS;

		if (!leash_permit_held(p->permit))
			continue;
		out += p->count;
		if (permits_kept(p) < left && !p->client->leaves && !is_doubted(SIM_PERMITS))
			sim_breach("permits: client %d counts on %s for %" PRId64 " ms, for which no server keeps it",
			           p->client->process.number, p->token, left / SIM_MS);
	}
	return out;
}

/* How many those want who came first. Nobody else gets any before them, while nothing goes wrong. */
static int64_t
count_wanted(void)
{
	int64_t first = SIM_NEVER, wanted = 0;

	each_person(p)
		if (waits_for_permits(p) && p->waits_since < first)
			first = p->waits_since;
	each_person(p) {
		if (!waits_for_permits(p))
			p->passed_since = 0;
		else if (p->passed_since != 0 && sim_now - p->passed_since > grace())
			sim_breach("permits: who came later has them, but client %d waits", p->client->process.number);
		else if (p->waits_since <= first + grace() && p->count > wanted)
			wanted = p->count;
	}
	return wanted;
}

/* What ended without a word is over at the server a little later, and who waits asks each second. */
static void
look_at_permits(void)
{
	int64_t out = count_permits(), wanted = count_wanted();
	int64_t most = sim_climate == SIM_CALM ? (sim_terms.longest_ms / 50 + 1500) * SIM_MS : most_free();

	if (out > sim_terms.permits && !is_doubted(SIM_PERMITS))
		sim_breach("permits: %" PRId64 " of %d are out", out, sim_terms.permits);
	if (wanted == 0 || out + wanted > sim_terms.permits)
		known[SIM_PERMITS].free_since = sim_now;
	else if (sim_now - known[SIM_PERMITS].free_since > most && sim_now - struck_until() > settling() + most)
		sim_breach("permits: there are %" PRId64 " for who came first, but it waits",
		           sim_terms.permits - out);
}

/* ---- all of it ---- */

void
sim_judge_look(void)
{
	if (sim_terms.permits > 0)
		look_at_permits();
	for (int l = 0; l < sim_terms.locks; l++) {
		int first = -1;

		for (int i = 0; i < sim_client_count; i++) {
			const struct lsh_lock *lock = lock_in(&sim_clients[i], l);

			if (lock != NULL)
				look_at_hold(&sim_clients[i], l, lock);
			if (lock == NULL || holder_in(lock) == 0 || end_in(lock) <= sim_now)
				continue;
			look_at_lease(&sim_clients[i], l, lock);
			if (first >= 0 && !is_doubted(l))
				sim_breach("lock %d: clients %d and %d have it at once", l, first, i);
			if (is_of_ended(&sim_clients[i], lock))
				sim_breach("lock %d: a thread of client %d has it that has ended", l, i);
			first = i;
		}
		if (first >= 0)
			known[l].free_since = sim_now;
		else if (sim_now - known[l].free_since > most_free() &&
		         sim_now - struck_until() > settling() + most_free() && somebody_waits(l))
			sim_breach("lock %d is nobody's, though somebody waits", l);
	}
}

bool
sim_judge_is_last(int l, uint64_t fence)
{
	return fence >= known[l].fence;
}

/* ---- answers ---- */

/* Somebody, or something, was the reason. */
static bool
is_excused(const struct sim_client *c, leash_status status)
{
	switch (status) {
	case LEASH_CLOSED:
		return c->leaves;
	case LEASH_PROTOCOL:
		return sim_has_struck[SIM_ERROR] || sim_has_struck[SIM_FENCE] || sim_has_struck[SIM_REFUSE];
	case LEASH_DENIED:
		return sim_has_struck[SIM_REFUSE];
	case LEASH_NO_MEMORY:
		return sim_has_struck[SIM_SHORT];
	default:
		return false;
	}
}

/* On a quorum: so nobody gets a smaller one. */
static bool
is_known_to_most(int l, uint64_t fence)
{
	size_t know = 0;

	if (sim_site.deployment != SIM_QUORUM)
		return true;
	for (size_t i = 0; i < sim_site.count; i++) {
		const struct sim_key *key = key_at(&sim_site.instances[i], l, ":fence");

		know += lost_until[i] > sim_now || (i == 0 && sim_has_struck[SIM_FENCE]) ||
		        (key != NULL && strtoull(sim_member_value(key->members[0]), NULL, 10) >= fence);
	}
	return 2 * know > sim_site.count;
}

/* Should the client die now, the lock is free when the lease is over that this one wanted; or a claim, which may be the
 * one of somebody before it. */
static void
look_at_length(const struct sim_person *p)
{
	int64_t left_ms = sim_left_ms(p, p->lock), most_ms = p->lease_ms > 3000 ? p->lease_ms : 3000;
	const struct lsh_lock *lock = p->lock != SIM_PERMITS ? lock_in(p->client, p->lock) : NULL;

	for (size_t i = 0; lock != NULL && lock->hold != NULL && i < sim_site.count; i++) {
		int64_t kept_ms = kept_at(&sim_site.instances[i], p->lock, lock->hold) / SIM_MS;

		left_ms = kept_ms > left_ms ? kept_ms : left_ms;
	}
	if (left_ms > most_ms)
		sim_breach("lock %d: %" PRId64 " ms are left of a lease of %" PRId64 " ms", p->lock, left_ms, p->lease_ms);
}

static void
note_permits(const struct sim_person *p)
{
	sim_acquired++;
	look_at_length(p);
	each_person(other)
		if (sim_climate == SIM_CALM && waits_for_permits(other) && other->passed_since == 0 &&
		    other->waits_since + grace() < p->waits_since)
			other->passed_since = sim_now;
}

static void
note_grant(const struct sim_person *p)
{
	leash_lock *handle = p->handles[p->lock];
	uint64_t fence = leash_lock_fence(handle);

	sim_acquired++;
	if (!leash_lock_held(handle))
		return; /* that was long ago */
	if (fence <= known[p->lock].fence && !is_doubted(p->lock))
		sim_breach("lock %d: fence %" PRIu64 " after %" PRIu64, p->lock, fence, known[p->lock].fence);
	if (!is_known_to_most(p->lock, fence / 256))
		sim_breach("lock %d: fence %" PRIu64 " is not known to a majority", p->lock, fence);
	if ((int64_t)(fence / 256) > sim_world_us() + SIM_FAR_US)
		sim_breach("lock %d: fence %" PRIu64 " is out of all proportion to the clocks", p->lock, fence);
	look_at_length(p);
	known[p->lock].fence = fence > known[p->lock].fence ? fence : known[p->lock].fence;
}

void
sim_judge_acquired(const struct sim_person *p, leash_status status, bool canceled, const leash_error *err)
{
	bool stood_still = p->client->process.stood_still;

	if (status == LEASH_OK && p->lock == SIM_PERMITS)
		note_permits(p);
	else if (status == LEASH_OK)
		note_grant(p);
	else if (status == LEASH_TIMEOUT ? p->waited_until < p->waits_until && p->waits_until > p->waits_since :
	         status == LEASH_CANCELED ? !canceled :
	         /* who gives up a moment after the server was asked is told that it did not answer */
	         status == LEASH_UNAVAILABLE ? sim_climate == SIM_CALM && p->waited_until < p->waits_until &&
	                                       known[p->lock].doubted_until <= p->waited_until :
	         !is_excused(p->client, status))
		sim_breach("lock %d: an acquire says %s: %s", p->lock, leash_status_name(status), err->text);
	if (!stood_still && p->waited_until > p->waits_until + grace() && status != LEASH_OK)
		sim_breach("lock %d: an acquire ended %" PRId64 " ms after its time", p->lock,
		           (p->waited_until - p->waits_until) / SIM_MS);
}

void
sim_judge_released(const struct sim_person *p, int l, uint64_t fence, bool was_last, leash_status status,
                   const leash_error *err)
{
	bool was_told = l == SIM_PERMITS ? p->lost : told[p->client->process.number][l].fence == fence &&
	                                                 told[p->client->process.number][l].lost;

	if (status == LEASH_OK && !was_last && !is_doubted(l))
		sim_breach("lock %d: another one had it, but its release says OK", l);
	if (status == LEASH_OK && was_told && !is_doubted(l))
		sim_breach("lock %d: it was told to be lost, but its release says OK", l);
	if (status != LEASH_OK && status != LEASH_LOST && status != LEASH_UNKNOWN && status != LEASH_NOT_HELD &&
	    !is_excused(p->client, status))
		sim_breach("lock %d: a release says %s: %s", l, leash_status_name(status), err->text);
	if (status == LEASH_UNKNOWN && sim_climate == SIM_CALM)
		sim_breach("lock %d: a release says %s: %s", l, leash_status_name(status), err->text);
	if (status == LEASH_OK && sim_climate == SIM_CALM && l == SIM_PERMITS && permits_kept(p) > 0)
		sim_breach("permits: a release says OK, but they are out");
}

/* Who has it learns of that at its next renewal, after a third of its lease. */
void
sim_judge_broken(int l)
{
	int64_t ms = 2 * sim_terms.longest_ms;

	if (sim_climate == SIM_CALM && !sim_terms.limits)
		ms = sim_terms.longest_ms / 2 + 100;
	else if (sim_climate != SIM_CALM)
		ms = 6 * sim_terms.longest_ms + 3 * sim_terms.timeout_ms;
	doubt(l, ms);
}

void
sim_judge_lost(int l, const char *why)
{
	if ((!lost_data || sim_site.deployment == SIM_QUORUM) && !is_doubted(l))
		sim_breach("lock %d: it is lost: %s", l, why);
}

void
sim_judge_extended(const struct sim_person *p, int l, int64_t began, int64_t lease_ms, leash_status status,
                   const leash_error *err)
{
	int64_t passed_ms = (sim_now - began) / SIM_MS;

	(void)err;
	/* less what a clock may drift; who has closed the client before the thread goes on has released it */
	if (status == LEASH_OK && !p->client->leaves && !p->client->process.stood_still && !p->limited &&
	    !is_doubted(l) &&
	    sim_left_ms(p, l) + passed_ms + lease_ms / 50 + 10 < lease_ms)
		sim_breach("lock %d: an extension to %" PRId64 " ms says OK, but %" PRId64 " ms are left", l, lease_ms,
		           sim_left_ms(p, l));
}

void
sim_judge_looked(const struct sim_person *p, int l, bool holds, bool seen, leash_status status, const leash_error *err)
{
	if (status != LEASH_OK && !(status == LEASH_UNAVAILABLE && sim_climate != SIM_CALM) &&
	    !(status == LEASH_UNSUPPORTED && sim_site.deployment == SIM_QUORUM) && !is_excused(p->client, status))
		sim_breach("lock %d: who looks is told %s: %s", l, leash_status_name(status), err->text);
	if (status == LEASH_OK && sim_climate == SIM_CALM && holds && !seen && !is_doubted(l))
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
look_at_reason(int l, const leash_event *event, int64_t lease_ms)
{
	if (event->type == LEASH_EVENT_LOST && event->remaining_ms > 0)
		sim_judge_lost(l, event->text);
	if (event->type == LEASH_EVENT_LOST && strstr(event->text, "no renewal succeeded") != NULL && lease_ms > 0 &&
	    !sim_weather.narrow && sim_now - struck_until() > (lease_ms / 2 + sim_terms.guard_ms) * SIM_MS + SIM_S)
		sim_breach("lock %d: it is lost for want of a renewal, though nothing was in the way", l);
	if (event->type == LEASH_EVENT_FENCE_REGRESSION && !is_doubted(l))
		sim_breach("lock %d: fences went back", l);
}

static void
told_of_permits(const leash_event *event)
{
	each_person(p) {
		if (p->permit == NULL || p->permit != event->permit)
			continue;
		if (p->lost)
			sim_breach("permits: %s was told of some that were lost", leash_event_name(event->type));
		p->lost = event->type == LEASH_EVENT_LOST;
		look_at_reason(SIM_PERMITS, event, p->permit_ms);
	}
}

void
sim_judge_told(void *arg, const leash_event *event)
{
	const struct sim_client *c = arg;
	int n = c->process.number;

	sim_trace("client %d is told %s %s: %s", n, leash_event_name(event->type), event->lock != NULL ? event->lock : "",
	          event->text);
	if (event->lock == NULL)
		return;
	int l = event->lock[0] - 'a';
	if (l == SIM_PERMITS) {
		told_of_permits(event);
		return;
	}
	struct told *t = &told[n][l];
	if (t->fence != event->fence)
		*t = (struct told){.fence = event->fence, .ended = t->ended};
	if (t->lost && event->type != LEASH_EVENT_FENCE_REGRESSION)
		sim_breach("lock %d: %s was told of a hold that was lost", l, leash_event_name(event->type));
	if (event->type == (t->at_risk ? LEASH_EVENT_JEOPARDY : LEASH_EVENT_RECOVERED))
		sim_breach("lock %d: %s was told twice in a row", l, leash_event_name(event->type));
	look_at_reason(l, event, c->lease_ms[l]);
	if (event->type == LEASH_EVENT_JEOPARDY || event->type == LEASH_EVENT_RECOVERED)
		t->at_risk = event->type == LEASH_EVENT_JEOPARDY;
	t->lost = event->type == LEASH_EVENT_LOST;
}

/* ---- data ---- */

void
sim_judge_data_lost(const struct sim_instance *n, bool is_guarded)
{
	went_back = lost_data = true;
	lost_until[n->host.number] = sim_now + sim_terms.longest_ms * SIM_MS;
	if (is_guarded && sim_terms.guard_ms > 0)
		return; /* who has it is waited for */
	for (int l = 0; l < SIM_NAMES; l++)
		doubt(l, 2 * sim_terms.longest_ms);
}

/* ---- the end ---- */

const char *
sim_judge_last_fence(int l)
{
	static char text[24];

	snprintf(text, sizeof text, "%" PRIu64, known[l].fence / 256);
	return text;
}

void
sim_judge_closed(const struct sim_client *c)
{
	size_t fds = sim_open_fds(&c->process);

	if (fds > 0)
		sim_breach("client %d left %zu descriptors open", c->process.number, fds);
}

/* How long a key of this name may stay when all have gone: fences, and who a client was, are of use to people. */
static int64_t
most_ms(const char *name)
{
	/* one that is ahead of the clock is kept until that has caught up; in a long life it comes to be believed */
	int64_t ahead_ms = sim_has_struck[SIM_FENCE] ? SIM_FAR_US / 1000 : 0;

	return strstr(name, ":client:") != NULL ? 86400000 : strstr(name, ":fence") != NULL ? 3600000 + 60000 + ahead_ms :
	       strstr(name, ":queue") != NULL ? 20000 + sim_terms.longest_ms : sim_terms.longest_ms;
}

/* Locks end with their holders, at the latest when their leases do. */
void
sim_judge_end(void)
{
	for (size_t i = 0; i < sim_site.count; i++) {
		if (sim_climate == SIM_CALM && sim_site.instances[i].master == NULL && permits_out(&sim_site.instances[i]) > 0)
			sim_breach("server %zu has permits that are out, though all have gone", i);
		const struct sim_server *server = sim_site.instances[i].server;
		const struct sim_keyspace *keys = &server->context.keyspace;
		int64_t now_ms = sim_server_us(server, sim_world_us()) / 1000;

		for (size_t k = 0; k < keys->count; k++) {
			const struct sim_key *key = keys->slots[k].key;

			if (key->expires_ms <= now_ms)
				continue;
			if (key->expires_ms == SIM_NO_TTL)
				sim_breach("server %zu has key '%s' for ever", i, key->name);
			if (key->expires_ms > now_ms + most_ms(key->name) && sim_traces)
				sim_keyspace_print(keys, now_ms, stdout);
			if (key->expires_ms > now_ms + most_ms(key->name))
				sim_breach("server %zu has key '%s' for too long", i, key->name);
		}
	}
}
