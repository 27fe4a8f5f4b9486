/* What the judge goes by, whether it is about locks or permits: when two may have one, how long what may take, and what
 * servers have. See judge_parts.h. */
#include "tests/sim/judge_parts.h"

#include "client/handle.h"
#include "core/core.h"

#include <stdio.h>
#include <string.h>

enum sim_climate sim_climate;
int64_t judge_doubted_until[SIM_NAMES];
int64_t judge_lost_until[SIM_HOSTS];

bool
judge_is_doubted(int name)
{
	return judge_doubted_until[name] > sim_now;
}

void
judge_doubt(int name, int64_t ms)
{
	judge_doubted_until[name] = larger_of(judge_doubted_until[name], sim_now + ms * SIM_MS);
}

bool
judge_waits_for(const struct sim_person *p, int name)
{
	return p->waits && p->lock == name && p->waits_until > sim_now;
}

int64_t
judge_struck_until(void)
{
	int64_t at = sim_struck_until;

	for (int i = 0; i < sim_client_count; i++)
		at = larger_of(at, sim_clients[i].process.frozen_until);
	return at;
}

/* So long after the last fault a client has learned what is there, and dealt with it. */
bool
judge_is_settled(int64_t more)
{
	return sim_now - judge_struck_until() > 3 * sim_terms.timeout_ms * SIM_MS + SIM_S + more;
}

/* What a crash or a loss leaves ends with its lease, and who was not told looks then. */
int64_t
judge_most_free(int name)
{
	/* a Java service that dies tells nobody, and who waits asks once a second */
	int64_t calm_ms = sim_terms.redisson[name] ? larger_of(sim_terms.lease_ms, 1500) : sim_terms.lease_ms;

	return sim_climate == SIM_CALM ? calm_ms * SIM_MS :
	       (sim_terms.longest_ms + 2 * sim_terms.timeout_ms + sim_terms.guard_ms) * SIM_MS + 12 * SIM_S;
}

/* Two timeouts, and what its client stood still. */
int64_t
judge_grace(void)
{
	return sim_climate == SIM_CALM ? 100 * SIM_MS : 2 * sim_terms.timeout_ms * SIM_MS + SIM_S;
}

const struct lsh_lock *
judge_lock_in(const struct sim_client *c, int l)
{
	return c->leash != NULL && !c->process.dead && c->watched[l] != NULL ? c->watched[l]->lock : NULL;
}

const struct lsh_hold *
judge_hold_of(const struct sim_person *p, int name)
{
	const struct lsh_lock *lock = name != SIM_PERMITS ? judge_lock_in(p->client, name) : NULL;

	if (lock != NULL)
		lsh_each_hold(hold, lock)
			if (hold->owner->id == p->owner)
				return hold;
	return NULL;
}

bool
sim_judge_is_of(const char *token, const struct sim_client *c)
{
	return c->watched[0] != NULL && memcmp(token, c->watched[0]->lock->resource.backend->uuid, LSH_UUID_SIZE) == 0;
}

const struct sim_client *
judge_owner_of(const char *token)
{
	for (const struct sim_client *c = sim_clients; c < sim_clients + sim_client_count; c++)
		if (judge_lock_in(c, 0) != NULL && sim_judge_is_of(token, c))
			return atomic_load(&c->watched[0]->lock->resource.backend->closing) ? NULL : c;
	return NULL;
}

const char *
sim_judge_key(int name)
{
	static const char *const keys[SIM_NAMES] = {"leash:{apple}", "leash:{birch}", "leash:{cedar}", "leash:{dates}"};

	return sim_terms.redisson[name] ? sim_names[name] : keys[name];
}

int64_t
judge_us_at(const struct sim_instance *n)
{
	return sim_server_us(n->server, sim_world_us());
}

const struct sim_key *
judge_key_in(const struct sim_keyspace *keys, const struct sim_instance *n, int name, const char *suffix)
{
	char full[40];
	size_t size = (size_t)snprintf(full, sizeof full, "%s%s", sim_judge_key(name), suffix);
	struct sim_key *const *key = sim_key_find(keys, full, size, judge_us_at(n) / 1000);

	return key != NULL && (*key)->count > 0 ? *key : NULL;
}

const struct sim_key *
judge_key_at(const struct sim_instance *n, int name, const char *suffix)
{
	return judge_key_in(&n->server->context.keyspace, n, name, suffix);
}
