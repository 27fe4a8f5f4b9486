/* A simulated cluster: who has which slot, slots that move, and what a node says to who asks the wrong one.
 *
 *   slot  SETTLED --a move begins--> MOVING (keys go over one by one) --all are there--> SETTLED, at the other master
 *
 * All nodes agree at once about who has what; but a master that was replaced takes itself for one until it is told. */
#pragma once

#include "tests/sim/site.h"

#include "redis/slot.h"

enum { SIM_SHARDS = 3 };

void sim_cluster_open(void); /* each shard has a third of the slots */

/* The shard that has it. */
int sim_cluster_shard(unsigned slot);

/* May this instance execute a command with these keys? `asking`: it was told that it is to be asked for once. Else
 * false, and what it says instead: "MOVED ...", "ASK ...", "TRYAGAIN ...". */
bool sim_cluster_may_run(const struct sim_instance *instance, const struct lsh_arg *keys, size_t count, bool asking,
                         char *says, size_t size);

/* A slot begins to move to another shard, unless it does already. */
void sim_cluster_move(unsigned slot);
