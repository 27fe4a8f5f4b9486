/* The inside of a cluster. Not for tests. */
#ifndef LEASH_TEST_CLUSTER_INSIDE_H
#define LEASH_TEST_CLUSTER_INSIDE_H

#include "tests/support/cluster.h"
#include "tests/support/node.h"
#include "tests/support/sweep.h"

/* A slot that moves; `from` and `to` are equal if it does not. */
struct cluster_move {
	signed char from, to;
};

struct cluster {
	struct sweep_item item;
	struct cluster_options options;
	int count;
	struct node node[CLUSTER_NODES];
	char id[CLUSTER_NODES][48];
	char *uri;
	struct cluster_move move[CLUSTER_SLOTS];
};

/* The master of each slot, -1: none. */
struct cluster_map {
	signed char master[CLUSTER_SLOTS];
};

/* As this node says; false: it does not answer. */
bool cluster_read_map(const struct cluster *cluster, int node, struct cluster_map *map);

#endif
