/* A cluster: three masters with a third of the slots each, and a replica of each.
 *
 * Nodes are numbered: 0 to 2 the masters at first, 3 to 5 their replicas in the same order. It is all right (cluster_state:ok at
 * every node, replicas that follow) when cluster_start returns. Of no_replicas, nodes 3 to 5 are NULL.
 *
 * `doors` are for clients and for replicas, and their ports are what the nodes tell of each other (in CLUSTER SLOTS, MOVED, ASK);
 * the bus goes past them. See node.h for links that are held. */
#pragma once

#include "tests/support/node.h"

enum { CLUSTER_MASTERS = 3, CLUSTER_NODES = 6, CLUSTER_SLOTS = 16384, CLUSTER_NAME = 16 };

struct cluster {
	struct nodes all;
	char id[CLUSTER_NODES][48];
	struct cluster_move {
		signed char from, to;
	} move[CLUSTER_SLOTS]; /* of slots that move; equal: it does not */
};

struct cluster *cluster_start(const struct nodes_options *options);   /* NULL: none of them */
#define cluster_stop(cluster) nodes_stop(cluster)                     /* NULL is allowed */

#define cluster_uri(cluster) ((const char *)(cluster)->all.uri)       /* "redis+cluster://...": the first three nodes */
#define cluster_nodes(cluster) ((cluster)->all.node)
#define cluster_node(cluster, i) ((cluster)->all.node[i].server)
#define cluster_port(cluster, i) ((cluster)->all.node[i].told)        /* as clients are told it */

/* ---- who has what ---- */

int cluster_slot(const char *key);
/* A name whose locks' keys ("leash:{name}") are in that slot. */
void cluster_name_in_slot(int slot, char name[static CLUSTER_NAME]);
/* The node that is master of a slot, as most nodes that run say; -1: none, or they do not agree. */
int cluster_master_of_slot(struct cluster *cluster, int slot);
#define cluster_master_of(cluster, key) cluster_master_of_slot((cluster), cluster_slot(key))
struct server *cluster_server_of(struct cluster *cluster, const char *key);   /* it waits until there is one */
int cluster_replica_of(struct cluster *cluster, int master);                  /* one that runs and follows; -1: none */
#define cluster_is_master(cluster, i) node_is_master(&(cluster)->all.node[i])  /* says the node itself; false if it does not run */
#define cluster_keys(cluster, pattern, lasting) nodes_keys(&(cluster)->all, (pattern), (lasting))

/* ---- slots that move, while clients go on ---- */

void cluster_move_slot(struct cluster *cluster, int slot, int to); /* the whole of it, one step after the other */
/* And each step: from now on the old master says ASK for keys that it has not; move up to `n` keys, returns how many; the new one has it. */
void cluster_move_begin(struct cluster *cluster, int slot, int to);
size_t cluster_move_keys(struct cluster *cluster, int slot, size_t n);
void cluster_move_end(struct cluster *cluster, int slot);

/* ---- masters that fail ---- */

/* CLUSTER FAILOVER at its replica; returns the new master when all know. */
int cluster_failover(struct cluster *cluster, int master);
/* Wait until another has the slots that `master` had (which was killed or paused before); returns its number. */
int cluster_await_takeover(struct cluster *cluster, int master);
/* Wait until cluster_state:ok at every node that runs, and they agree about all slots. */
void cluster_await_ok(struct cluster *cluster);
/* Wait until each replica that runs has all that its master has, if that runs. */
void cluster_await_synced(struct cluster *cluster);
