/* A master, two replicas, and three sentinels that watch them: for tests of what happens when the master changes.
 *
 * Servers are numbered from 0, which is the master at first; sentinels likewise. The quorum is two, a master is down after
 * a second (`fails_over`) or ten, and the replicas have all that the master has when the set was started.
 *
 * With `doors` the proxies' ports are what the sentinels know: clients, sentinels and replicas all come that way. They can be
 * told to hold what goes from one server to one replica, which neither of the two notices. (A replica that was stopped reads, when
 * it goes on, what the kernel has kept for it: no write is lost.) */
#pragma once

#include "tests/support/node.h"

#define SENTINEL_NAME "main" /* what the sentinels call the master */
enum { SENTINEL_SERVERS = 3, SENTINEL_SENTINELS = 3 };

struct sentinel_set {
	struct nodes all; /* those that keep data, and then the sentinels */
};

struct sentinel_set *sentinel_set_start(const struct nodes_options *options);   /* NULL: none of them */
#define sentinel_set_stop(set) nodes_stop(set)                                  /* NULL is allowed */

#define sentinel_set_uri(set) ((const char *)(set)->all.uri)   /* "redis+sentinel://...", with the passwords and what TLS needs */
#define sentinel_set_nodes(set) ((set)->all.node)              /* of the servers, and then of the sentinels */
#define sentinel_set_server(set, i) ((set)->all.node[i].server)
#define sentinel_set_sentinel(set, i) ((set)->all.node[SENTINEL_SERVERS + (i)].server)
#define sentinel_set_port(set, i) ((set)->all.node[i].told)    /* where the others and clients find it: its door's, else its own */

/* The number of the master, according to the first sentinel that runs. */
int sentinel_set_master_number(struct sentinel_set *set);
#define sentinel_set_master(set) sentinel_set_server((set), sentinel_set_master_number(set))

/* Wait until all sentinels that run name the same master, another than `before` (-1: any), it says so itself (ROLE), and no sentinel
 * is in the middle of a failover. Returns its number. */
int sentinel_set_await_failover(struct sentinel_set *set, int before);
/* Force one, without a fault; returns when it is finished, with the number of the new master. The old one is a replica then, or becomes it. */
int sentinel_set_failover(struct sentinel_set *set);
void sentinel_set_begin_failover(struct sentinel_set *set); /* the same, but returns when a sentinel has begun */

/* How many times a sentinel that runs has said +switch-master since the start. */
int sentinel_set_switches(struct sentinel_set *set);

/* Wait until each server that runs but is no master follows the present one, and has all that it has. */
void sentinel_set_await_synced(struct sentinel_set *set);
