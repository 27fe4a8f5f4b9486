/* Clusters. See cluster.h; slots that move and links that are held: cluster_trouble.c. */
#include "tests/support/cluster_inside.h"

#include "tests/support/await.h"
#include "tests/support/ports.h"
#include "tests/support/trouble.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- slots ---- */

/* CRC16/XMODEM, as the specification of the cluster has it. */
static unsigned
crc16(const char *at, size_t size)
{
	unsigned crc = 0;

	while (size-- > 0) {
		crc ^= (unsigned)(unsigned char)*at++ << 8;
		for (int i = 0; i < 8; i++)
			crc = (crc & 0x8000 ? crc << 1 ^ 0x1021 : crc << 1) & 0xffff;
	}
	return crc;
}

int
cluster_slot(const char *key)
{
	const char *open = strchr(key, '{'), *close = open ? strchr(open, '}') : NULL;

	if (close && close > open + 1)
		return (int)(crc16(open + 1, (size_t)(close - open) - 1) % CLUSTER_SLOTS);
	return (int)(crc16(key, strlen(key)) % CLUSTER_SLOTS);
}

void
cluster_name_in_slot(int slot, char name[static CLUSTER_NAME])
{
	for (unsigned n = 0;; n++) {
		snprintf(name, CLUSTER_NAME, "%x", n);
		if (cluster_slot(name) == slot)
			return;
	}
}

/* ---- who has what ---- */

static int
by_id(const struct cluster *c, const char *id)
{
	for (int i = 0; i < c->count; i++)
		if (strcmp(c->id[i], id) == 0)
			return i;
	return -1;
}

bool
cluster_read_map(const struct cluster *c, int node, struct cluster_map *map)
{
	redisReply *reply = node_ask(&c->node[node], "CLUSTER SLOTS");

	memset(map->master, -1, sizeof map->master);
	if (!reply)
		return false;
	for (size_t i = 0; i < reply->elements; i++) {
		redisReply **range = reply->element[i]->element;
		int master = by_id(c, range[2]->element[2]->str);

		for (long long slot = range[0]->integer; slot <= range[1]->integer; slot++)
			map->master[slot] = (signed char)master;
	}
	freeReplyObject(reply);
	return true;
}

int
cluster_master_of_slot(struct cluster *c, int slot)
{
	int votes[CLUSTER_NODES] = { 0 }, voters = 0;
	struct cluster_map map;

	for (int i = 0; i < c->count; i++)
		if (cluster_read_map(c, i, &map)) {
			voters++;
			if (map.master[slot] >= 0)
				votes[(int)map.master[slot]]++;
		}
	for (int i = 0; i < c->count; i++)
		if (2 * votes[i] > voters)
			return i;
	return -1;
}

int
cluster_master_of(struct cluster *c, const char *key)
{
	return cluster_master_of_slot(c, cluster_slot(key));
}

struct server *
cluster_server_of(struct cluster *c, const char *key)
{
	int master = -1;

	await_true_for((master = cluster_master_of(c, key)) >= 0 && node_runs(&c->node[master]), 60);
	return c->node[master].server;
}

bool
cluster_is_master(struct cluster *c, int i)
{
	char role[64];

	return node_field(&c->node[i], "INFO replication", "role", role) && strcmp(role, "master") == 0;
}

/* Whom a node follows: -1 if it is a master, does not run, or follows nobody that we know. */
static int
master_of(const struct cluster *c, int replica)
{
	int64_t told = node_number(&c->node[replica], "INFO replication", "master_port");

	for (int i = 0; i < c->count; i++)
		if (c->node[i].told == told)
			return i;
	return -1;
}

int
cluster_replica_of(struct cluster *c, int master)
{
	for (int i = 0; i < c->count; i++)
		if (i != master && master_of(c, i) == master)
			return i;
	return -1;
}

int64_t
cluster_keys(struct cluster *c, const char *pattern, bool lasting)
{
	int64_t n = 0;

	for (int i = 0; i < c->count; i++)
		if (cluster_is_master(c, i))
			n += node_keys(&c->node[i], pattern, lasting);
	return n;
}

/* ---- waiting for it ---- */

/* All that run say ok, and the same of all slots. */
static bool
is_ok(const struct cluster *c)
{
	struct cluster_map first, other;
	bool any = false;
	char state[64];

	for (int i = 0; i < c->count; i++) {
		if (!node_runs(&c->node[i]))
			continue;
		if (!node_field(&c->node[i], "CLUSTER INFO", "cluster_state", state) || strcmp(state, "ok") != 0)
			return false;
		if (!cluster_read_map(c, i, any ? &other : &first) || memchr(any ? other.master : first.master, -1, CLUSTER_SLOTS))
			return false;
		if (any && memcmp(first.master, other.master, sizeof first.master) != 0)
			return false;
		any = true;
	}
	return any;
}

void
cluster_await_ok(struct cluster *c)
{
	await_true_for(is_ok(c), 90);
}

void
cluster_await_synced(struct cluster *c)
{
	for (int i = 0; i < c->count; i++) {
		int master = master_of(c, i);
		int64_t offset = master >= 0 ? node_number(&c->node[master], "INFO replication", "master_repl_offset") : -1;

		if (offset < 0)
			continue;
		await_true_for(node_has_all_of(&c->node[i], c->node[master].told, offset), 60);
		await_true_for(node_replicas(&c->node[master]) >= 1, 60);
	}
}

/* ---- its life ---- */

static void
start_node(struct cluster *c, int i)
{
	struct node *node = &c->node[i];
	struct words words = { .count = 0 };

	node_words(node, &words);
	words_add_all(&words, (const char *const[]){ "--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf", NULL });
	words_add_number(&words, "--cluster-node-timeout", c->options.node_timeout_ms ? c->options.node_timeout_ms : 1500);
	words_add_all(&words, (const char *const[]){ "--cluster-require-full-coverage", c->options.all_or_nothing ? "yes" : "no",
	                                             "--cluster-allow-replica-migration", "no", "--cluster-replica-validity-factor", "0",
	                                             "--cluster-announce-ip", "127.0.0.1", NULL });
	if (node->tls)
		words_add_all(&words, (const char *const[]){ "--tls-cluster", "yes", NULL });
	words_add_number(&words, node->tls ? "--cluster-announce-tls-port" : "--cluster-announce-port", node->told);
	words_add_number(&words, "--cluster-announce-bus-port", node->port + PORTS_BUS);
	words_add_all(&words, c->options.args);
	node_start(node, &words);
	words_free(&words);
	snprintf(c->id[i], sizeof c->id[i], "%s", server_text(node->server, "CLUSTER MYID"));
}

static void
give_slots(struct cluster *c, int i)
{
	int first = i * CLUSTER_SLOTS / CLUSTER_MASTERS, last = (i + 1) * CLUSTER_SLOTS / CLUSTER_MASTERS - 1;
	redisReply *reply = server_command(c->node[i].server, "CLUSTER ADDSLOTSRANGE %d %d", first, last);
	bool known = reply->type != REDIS_REPLY_ERROR;

	freeReplyObject(reply);
	for (int slot = first; !known && slot <= last; slot++)   /* before 7.0 */
		node_tell(&c->node[i], "CLUSTER ADDSLOTS %d", slot);
	node_tell(&c->node[i], "CLUSTER SET-CONFIG-EPOCH %d", i + 1);
}

static bool
all_know_all(const struct cluster *c)
{
	for (int i = 0; i < c->count; i++)
		if (node_number(&c->node[i], "CLUSTER INFO", "cluster_known_nodes") != c->count)
			return false;
	return true;
}

/* A node may be a master's replica once it knows of that master. */
static bool
becomes_replica(const struct cluster *c, int i, const char *master)
{
	redisReply *reply = node_ask(&c->node[i], "CLUSTER REPLICATE %s", master);

	if (reply)
		freeReplyObject(reply);
	return reply != NULL;
}

static void
bring_together(struct cluster *c)
{
	for (int i = 0; i < CLUSTER_MASTERS; i++)
		give_slots(c, i);
	for (int i = 1; i < c->count; i++)
		for (int j = 0; j < i; j++)   /* all with all: nobody has to hear of anybody by gossip */
			node_tell(&c->node[i], "CLUSTER MEET 127.0.0.1 %d %d", c->node[j].told, c->node[j].port + PORTS_BUS);
	await_true_for(all_know_all(c), 60);
	for (int i = CLUSTER_MASTERS; i < c->count; i++)
		await_true_for(becomes_replica(c, i, c->id[i - CLUSTER_MASTERS]), 60);
	cluster_await_ok(c);
	for (int i = CLUSTER_MASTERS; i < c->count; i++)
		await_true_for(node_has_all_of(&c->node[i], c->node[i - CLUSTER_MASTERS].told, 0), 60);
	cluster_await_synced(c);
}

static void
stop(void *cluster)
{
	cluster_stop(cluster);
}

struct cluster *
cluster_start(const struct cluster_options *options)
{
	struct cluster *c = calloc(1, sizeof *c);

	if (!c)
		trouble("no memory");
	if (options)
		c->options = *options;
	c->count = c->options.no_replicas ? CLUSTER_MASTERS : CLUSTER_NODES;
	for (int i = 0; i < c->count; i++)
		node_prepare(&c->node[i], i, c->options.doors, c->options.tls, c->options.password);
	if (c->options.first)
		c->node[0].certs = c->options.first;
	for (int i = 0; i < c->count; i++)
		start_node(c, i);
	bring_together(c);
	c->uri = nodes_uri(c->node, CLUSTER_MASTERS, "cluster", c->options.password, "", "");
	sweep_add(&c->item, stop, c);   /* last: what was added last is stopped first, and this stops the rest */
	return c;
}

void
cluster_stop(struct cluster *c)
{
	if (!c || !sweep_drop(&c->item))
		return;
	for (int i = 0; i < c->count; i++)
		node_stop(&c->node[i]);
	free(c->uri);
	free(c);
}

const char *
cluster_uri(const struct cluster *c)
{
	return c->uri;
}

const struct node *
cluster_nodes(const struct cluster *c)
{
	return c->node;
}

struct server *
cluster_node(const struct cluster *c, int i)
{
	return c->node[i].server;
}

int
cluster_port(const struct cluster *c, int i)
{
	return c->node[i].told;
}
