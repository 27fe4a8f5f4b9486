/* What befalls a cluster: slots that move, and masters that fail. See cluster.h. */
#include "tests/support/cluster_inside.h"

#include "tests/support/await.h"
#include "tests/support/trouble.h"

#include <string.h>

/* ---- slots that move ---- */

void
cluster_move_begin(struct cluster *c, int slot, int to)
{
	int from = -1;

	await_true_for((from = cluster_master_of_slot(c, slot)) >= 0, 60);
	if (c->move[slot].from != c->move[slot].to || from == to)
		trouble("slot %d moves already, or is there", slot);
	node_tell(&c->node[to], "CLUSTER SETSLOT %d IMPORTING %s", slot, c->id[from]);
	node_tell(&c->node[from], "CLUSTER SETSLOT %d MIGRATING %s", slot, c->id[to]);
	c->move[slot] = (struct cluster_move){ (signed char)from, (signed char)to };
}

static struct cluster_move
begun(const struct cluster *c, int slot)
{
	if (c->move[slot].from == c->move[slot].to)
		trouble("slot %d does not move", slot);
	return c->move[slot];
}

/* A key may run out meanwhile, which is no error. It may also be there already: a replica that took over from the old
 * master had not heard that it was gone. What the old one has counts, as for clients, who are asked elsewhere only for
 * what it has not. */
static void
migrate(const struct node *from, const struct node *to, const redisReply *key)
{
	if (to->password)
		node_tell(from, "MIGRATE 127.0.0.1 %d %b 0 10000 REPLACE AUTH %s", to->port, key->str, key->len, to->password);
	else
		node_tell(from, "MIGRATE 127.0.0.1 %d %b 0 10000 REPLACE", to->port, key->str, key->len);
}

static size_t
move_keys(const struct node *from, const struct node *to, int slot, size_t n)
{
	redisReply *keys = node_ask(from, "CLUSTER GETKEYSINSLOT %d %d", slot, (int)n);
	size_t moved;

	if (!keys)
		trouble("the server on port %d does not tell its keys", from->port);
	for (moved = 0; moved < keys->elements; moved++)
		migrate(from, to, keys->element[moved]);
	freeReplyObject(keys);
	return moved;
}

size_t
cluster_move_keys(struct cluster *c, int slot, size_t n)
{
	struct cluster_move move = begun(c, slot);

	return move_keys(&c->node[(int)move.from], &c->node[(int)move.to], slot, n);
}

/* The new one first, or nobody would have it for a moment; the other masters would hear it from these. */
void
cluster_move_end(struct cluster *c, int slot)
{
	struct cluster_move move = begun(c, slot);

	while (cluster_move_keys(c, slot, 100) > 0)
		continue;
	node_tell(&c->node[(int)move.to], "CLUSTER SETSLOT %d NODE %s", slot, c->id[(int)move.to]);
	node_tell(&c->node[(int)move.from], "CLUSTER SETSLOT %d NODE %s", slot, c->id[(int)move.to]);
	for (int i = 0; i < c->count; i++)
		if (i != move.from && i != move.to && cluster_is_master(c, i))
			node_tell(&c->node[i], "CLUSTER SETSLOT %d NODE %s", slot, c->id[(int)move.to]);
	c->move[slot] = (struct cluster_move){ 0, 0 };
}

void
cluster_move_undo(struct cluster *c, int slot)
{
	struct cluster_move move = begun(c, slot);
	const struct node *from = &c->node[(int)move.from], *to = &c->node[(int)move.to];

	node_tell(from, "CLUSTER SETSLOT %d STABLE", slot);
	while (move_keys(to, from, slot, 100) > 0)
		continue;
	node_tell(to, "CLUSTER SETSLOT %d STABLE", slot);
	c->move[slot] = (struct cluster_move){ 0, 0 };
}

void
cluster_move_slot(struct cluster *c, int slot, int to)
{
	cluster_move_begin(c, slot, to);
	cluster_move_end(c, slot);
}

/* ---- masters that fail ---- */

/* Each has one partner for ever: replicas do not migrate. */
static int
partner(const struct cluster *c, int i)
{
	if (c->count == CLUSTER_MASTERS)
		trouble("a cluster without replicas has nobody to take over");
	return (i + CLUSTER_MASTERS) % CLUSTER_NODES;
}

/* All that run say that its partner has its slots, and the partner agrees. */
static bool
is_succeeded(struct cluster *c, int master)
{
	int heir = partner(c, master);
	struct cluster_map map;

	for (int i = 0; i < c->count; i++) {
		if (!node_runs(&c->node[i]))
			continue;
		if (!cluster_read_map(c, i, &map) || memchr(map.master, master, sizeof map.master) || !memchr(map.master, heir, sizeof map.master))
			return false;
	}
	return cluster_is_master(c, heir);
}

int
cluster_await_takeover(struct cluster *c, int master)
{
	await_true_for(is_succeeded(c, master), 90);
	return partner(c, master);
}

/* A replica that was not let within five seconds gives up, so it is told again. */
static bool
fails_over(struct cluster *c, int master, int64_t *next_ns)
{
	int heir = partner(c, master);
	redisReply *reply;

	if (is_succeeded(c, master))
		return true;
	if (await_now_ns() < *next_ns)
		return false;
	reply = cluster_is_master(c, heir) ? NULL : node_ask(&c->node[heir], "CLUSTER FAILOVER");
	if (reply)
		freeReplyObject(reply);
	*next_ns = await_now_ns() + INT64_C(6000000000);
	return false;
}

int
cluster_failover(struct cluster *c, int master)
{
	int64_t next_ns = 0;

	await_true_for(fails_over(c, master, &next_ns), 90);
	return partner(c, master);
}
