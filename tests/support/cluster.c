#include "tests/support/cluster.h"

#include "tests/support/socket.h"
#include "tests/support/trouble.h"

#include <stdio.h>
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
	for (int i = 0; i < c->all.count; i++)
		if (strcmp(c->id[i], id) == 0)
			return i;
	return -1;
}

/* The master of each slot, -1: none. */
struct map {
	signed char master[CLUSTER_SLOTS];
};

/* As this node says; false: it does not answer. */
static bool
read_map(const struct cluster *c, int node, struct map *map)
{
	redisReply *reply = node_ask(&c->all.node[node], "CLUSTER SLOTS");

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
	struct map map;

	for (int i = 0; i < c->all.count; i++)
		if (read_map(c, i, &map)) {
			voters++;
			if (map.master[slot] >= 0)
				votes[(int)map.master[slot]]++;
		}
	for (int i = 0; i < c->all.count; i++)
		if (2 * votes[i] > voters)
			return i;
	return -1;
}

struct server *
cluster_server_of(struct cluster *c, const char *key)
{
	int master = -1;

	await_true((master = cluster_master_of(c, key)) >= 0 && node_runs(&c->all.node[master]));
	return c->all.node[master].server;
}

/* Whom a node follows: -1 if it is a master, does not run, or follows nobody that we know. */
static int
master_of(const struct cluster *c, int replica)
{
	return nodes_told_at(&c->all, node_number(&c->all.node[replica], "INFO replication", "master_port"));
}

int
cluster_replica_of(struct cluster *c, int master)
{
	for (int i = 0; i < c->all.count; i++)
		if (i != master && master_of(c, i) == master)
			return i;
	return -1;
}

/* ---- waiting for it ---- */

/* All that run say ok, and the same of all slots. */
static bool
is_ok(const struct cluster *c)
{
	struct map first, other;
	bool any = false;

	for (int i = 0; i < c->all.count; i++) {
		if (!node_runs(&c->all.node[i]))
			continue;
		if (!node_says(&c->all.node[i], "CLUSTER INFO", "cluster_state", "ok"))
			return false;
		if (!read_map(c, i, any ? &other : &first) || memchr(any ? other.master : first.master, -1, CLUSTER_SLOTS))
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
	await_true(is_ok(c));
}

void
cluster_await_synced(struct cluster *c)
{
	for (int i = 0; i < c->all.count; i++) {
		int master = master_of(c, i);
		int64_t offset = master >= 0 ? node_number(&c->all.node[master], "INFO replication", "master_repl_offset") : -1;

		if (offset < 0)
			continue;
		await_true(node_has_all_of(&c->all.node[i], c->all.node[master].told, offset));
		await_true(node_replicas(&c->all.node[master]) >= 1);
	}
}

/* ---- its life ---- */

static void
start_node(struct cluster *c, int i)
{
	struct node *node = &c->all.node[i];
	struct words words = { .count = 0 };

	node_words(node, &words);
	words_add(&words, "--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf");
	words_add(&words, "--cluster-node-timeout", c->all.options.fails_over ? "1500" : "30000");
	words_add(&words, "--cluster-require-full-coverage", "no", "--cluster-allow-replica-migration", "no",
	          "--cluster-replica-validity-factor", "0", "--cluster-announce-ip", "127.0.0.1");
	if (node->tls)
		words_add(&words, "--tls-cluster", "yes");
	words_add_number(&words, node->tls ? "--cluster-announce-tls-port" : "--cluster-announce-port", node->told);
	words_add_number(&words, "--cluster-announce-bus-port", node->port + PORTS_BUS);
	nodes_start(&c->all, i, &words);
	snprintf(c->id[i], sizeof c->id[i], "%s", server_text(node->server, "CLUSTER MYID"));
}

static void
give_slots(struct cluster *c, int i)
{
	int first = i * CLUSTER_SLOTS / CLUSTER_MASTERS, last = (i + 1) * CLUSTER_SLOTS / CLUSTER_MASTERS - 1;
	redisReply *reply = server_command(c->all.node[i].server, "CLUSTER ADDSLOTSRANGE %d %d", first, last);
	bool known = reply->type != REDIS_REPLY_ERROR;

	freeReplyObject(reply);
	for (int slot = first; !known && slot <= last; slot++)   /* before 7.0 */
		server_say(c->all.node[i].server, "CLUSTER ADDSLOTS %d", slot);
	server_say(c->all.node[i].server, "CLUSTER SET-CONFIG-EPOCH %d", i + 1);
}

static bool
all_know_all(const struct cluster *c)
{
	for (int i = 0; i < c->all.count; i++)
		if (node_number(&c->all.node[i], "CLUSTER INFO", "cluster_known_nodes") != c->all.count)
			return false;
	return true;
}

static void
bring_together(struct cluster *c)
{
	for (int i = 0; i < CLUSTER_MASTERS; i++)
		give_slots(c, i);
	for (int i = 1; i < c->all.count; i++)
		for (int j = 0; j < i; j++)   /* all with all: nobody has to hear of anybody by gossip */
			server_say(c->all.node[i].server, "CLUSTER MEET 127.0.0.1 %d %d", c->all.node[j].told,
			           c->all.node[j].port + PORTS_BUS);
	await_true(all_know_all(c));
	for (int i = CLUSTER_MASTERS; i < c->all.count; i++) {
		redisReply *reply;

		/* once it knows of that master */
		await_true((reply = node_ask(&c->all.node[i], "CLUSTER REPLICATE %s", c->id[i - CLUSTER_MASTERS])) != NULL);
		freeReplyObject(reply);
	}
	cluster_await_ok(c);
	for (int i = CLUSTER_MASTERS; i < c->all.count; i++)
		await_true(node_has_all_of(&c->all.node[i], c->all.node[i - CLUSTER_MASTERS].told, 0));
	cluster_await_synced(c);
}

struct cluster *
cluster_start(const struct nodes_options *options)
{
	struct cluster *c = nodes_new(sizeof *c, options, options && options->no_replicas ? CLUSTER_MASTERS : CLUSTER_NODES);

	for (int i = 0; i < c->all.count; i++)
		start_node(c, i);
	bring_together(c);
	nodes_add(&c->all, nodes_uri(c->all.node, CLUSTER_MASTERS, "cluster", c->all.options.password, "", ""));
	return c;
}

/* ---- slots that move ---- */

void
cluster_move_begin(struct cluster *c, int slot, int to)
{
	int from = -1;

	await_true((from = cluster_master_of_slot(c, slot)) >= 0);
	if (c->move[slot].from != c->move[slot].to || from == to)
		trouble("slot %d moves already, or is there", slot);
	server_say(c->all.node[to].server, "CLUSTER SETSLOT %d IMPORTING %s", slot, c->id[from]);
	server_say(c->all.node[from].server, "CLUSTER SETSLOT %d MIGRATING %s", slot, c->id[to]);
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
size_t
cluster_move_keys(struct cluster *c, int slot, size_t n)
{
	struct cluster_move move = begun(c, slot);
	const struct node *from = &c->all.node[(int)move.from], *to = &c->all.node[(int)move.to];
	redisReply *keys = node_ask(from, "CLUSTER GETKEYSINSLOT %d %d", slot, (int)n);

	if (!keys)
		trouble("the server on port %d does not tell its keys", from->port);
	n = keys->elements;
	for (redisReply **key = keys->element; key < keys->element + n; key++)
		if (to->password)
			server_say(from->server, "MIGRATE 127.0.0.1 %d %b 0 10000 REPLACE AUTH %s", to->port, (*key)->str,
			           (*key)->len, to->password);
		else
			server_say(from->server, "MIGRATE 127.0.0.1 %d %b 0 10000 REPLACE", to->port, (*key)->str, (*key)->len);
	freeReplyObject(keys);
	return n;
}

/* The new one first, or nobody would have it for a moment; the other masters would hear it from these. */
void
cluster_move_end(struct cluster *c, int slot)
{
	struct cluster_move move = begun(c, slot);

	while (cluster_move_keys(c, slot, 100) > 0)
		continue;
	server_say(c->all.node[(int)move.to].server, "CLUSTER SETSLOT %d NODE %s", slot, c->id[(int)move.to]);
	server_say(c->all.node[(int)move.from].server, "CLUSTER SETSLOT %d NODE %s", slot, c->id[(int)move.to]);
	for (int i = 0; i < c->all.count; i++)
		if (i != move.from && i != move.to && cluster_is_master(c, i))
			server_say(c->all.node[i].server, "CLUSTER SETSLOT %d NODE %s", slot, c->id[(int)move.to]);
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
	if (c->all.count == CLUSTER_MASTERS)
		trouble("a cluster without replicas has nobody to take over");
	return (i + CLUSTER_MASTERS) % CLUSTER_NODES;
}

/* All that run say that its partner has its slots, and the partner agrees. */
static bool
is_succeeded(struct cluster *c, int master)
{
	int heir = partner(c, master);
	struct map map;

	for (int i = 0; i < c->all.count; i++) {
		if (!node_runs(&c->all.node[i]))
			continue;
		if (!read_map(c, i, &map) || memchr(map.master, master, sizeof map.master) || !memchr(map.master, heir, sizeof map.master))
			return false;
	}
	return cluster_is_master(c, heir);
}

int
cluster_await_takeover(struct cluster *c, int master)
{
	await_true(is_succeeded(c, master));
	return partner(c, master);
}

/* A replica that was not let within five seconds gives up, so it is told again. */
static bool
fails_over(struct cluster *c, int master, int64_t *next_ns)
{
	int heir = partner(c, master);

	if (is_succeeded(c, master))
		return true;
	if (await_now_ns() < *next_ns)
		return false;
	redisReply *reply = cluster_is_master(c, heir) ? NULL : node_ask(&c->all.node[heir], "CLUSTER FAILOVER");
	freeReplyObject(reply);
	*next_ns = await_now_ns() + INT64_C(6000000000);
	return false;
}

int
cluster_failover(struct cluster *c, int master)
{
	int64_t next_ns = 0;

	await_true(fails_over(c, master, &next_ns));
	return partner(c, master);
}
