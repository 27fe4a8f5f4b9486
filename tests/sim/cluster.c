/* A simulated cluster. See site.h. */
#include "tests/sim/site.h"

#include <stdio.h>
#include <string.h>

static struct {
	unsigned char shard, to; /* the same: it does not move */
} slots[LSH_SLOTS];

void
sim_cluster_open(void)
{
	for (unsigned i = 0; i < LSH_SLOTS; i++)
		slots[i].shard = slots[i].to = (unsigned char)(i * SIM_SHARDS / LSH_SLOTS);
}

int
sim_cluster_shard(unsigned slot)
{
	return slots[slot].shard;
}

static bool
send_to(const struct sim_instance *n, const char *verb, unsigned slot, char *says, size_t size)
{
	snprintf(says, size, "%s %u 10.0.0.%d:6379", verb, slot, n->host.number + 1);
	return false;
}

bool
sim_cluster_may_run(const struct sim_instance *n, const struct lsh_arg *keys, size_t count, bool asking, char *says,
                    size_t size)
{
	unsigned slot = lsh_slot_of(keys[0].bytes, keys[0].size);
	bool takes = asking && slots[slot].to == n->shard;
	int64_t now_ms = sim_server_us(n->server, sim_world_us()) / 1000;
	size_t there = 0;

	/* a master of the past does not know that it is one */
	if (n->master != NULL || (slots[slot].shard != n->shard && !takes))
		return send_to(sim_site.masters[slots[slot].shard], "MOVED", slot, says, size);
	if (slots[slot].shard == slots[slot].to)
		return true;
	for (size_t i = 0; i < count; i++)
		there += sim_key_find(&n->server->context.keyspace, keys[i].bytes, keys[i].size, now_ms) != NULL;
	if (there == count || (takes && count == 1))
		return true;
	if (!takes && there == 0)
		return send_to(sim_site.masters[slots[slot].to], "ASK", slot, says, size);
	snprintf(says, size, "TRYAGAIN Multiple keys request during rehashing of slot");
	return false;
}

static struct sim_key **
first_of(const struct sim_instance *n, unsigned slot)
{
	const struct sim_keyspace *keyspace = &n->server->context.keyspace;

	for (size_t i = 0; i < keyspace->count; i++)
		if (lsh_slot_of(keyspace->keys[i]->name, keyspace->keys[i]->size) == slot)
			return &keyspace->keys[i];
	return NULL;
}

static void
go_on_moving(void *what, uint64_t turn)
{
	unsigned slot = (unsigned)turn;
	struct sim_instance *from = sim_site.masters[slots[slot].shard], *to = sim_site.masters[slots[slot].to];
	struct sim_key **at = first_of(from, slot);

	(void)what;
	if (from->host.down || to->host.down) {
		sim_at(sim_now + 100 * SIM_MS, go_on_moving, NULL, turn);
	} else if (at != NULL) {
		sim_key_move(&to->server->context.keyspace, &from->server->context.keyspace, at);
		sim_instance_wrote(from);
		sim_instance_wrote(to);
		to->imported = to->offset;
		sim_at(sim_now + sim_between(0, 20 * SIM_MS), go_on_moving, NULL, turn);
	} else {
		sim_trace("slot %u is at server %d", slot, to->host.number);
		slots[slot].shard = slots[slot].to;
		sim_site.epoch++;
		sim_speakers_leave_slot(from, slot);
	}
}

void
sim_cluster_move(unsigned slot)
{
	if (slots[slot].shard != slots[slot].to)
		return;
	slots[slot].to = (unsigned char)((slots[slot].shard + 1 + sim_random(SIM_SHARDS - 1)) % SIM_SHARDS);
	sim_trace("slot %u moves from server %d to server %d", slot, sim_site.masters[slots[slot].shard]->host.number,
	          sim_site.masters[slots[slot].to]->host.number);
	sim_at(sim_now + sim_between(0, 50 * SIM_MS), go_on_moving, NULL, slot);
}
