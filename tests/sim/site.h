/* The site: the servers of one deployment, and what may become of them.
 *
 *   single    one server
 *   replicas  one address; behind it a master with two replicas, of which the one that has more takes over
 *   sentinel  a master and two replicas, each with an address of its own, and three sentinels
 *   cluster   three masters, each with a replica
 *   quorum    three servers, or five, that know nothing of each other */
#pragma once

#include "redis/command.h"
#include "redis/slot.h"
#include "tests/sim/net.h"
#include "tests/sim/server.h"

enum sim_deployment { SIM_SINGLE, SIM_REPLICAS, SIM_SENTINEL, SIM_CLUSTER, SIM_QUORUM, SIM_DEPLOYMENTS };

enum { SIM_WORDS = 512, SIM_SENTINELS = 3, SIM_SHARDS = 3 };

struct sim_speaker;

/* One server; or a sentinel, which is one for its connections. */
struct sim_instance {
	struct sim_host host;      /* first */
	struct sim_server *server; /* NULL: it is a sentinel */
	struct sim_speaker *speakers;
	struct sim_instance *master; /* NULL: it is one */
	int shard;                 /* of a cluster; else 0 */
	uint64_t offset;           /* writes so far; of a replica: those that it has */
	uint64_t imported;         /* of those, the last that came from another master: a slot that moved here, or all */
	int64_t stalled_until;     /* a replica: it gets no more */
	bool coming;               /* likewise: more is under way */
	struct sim_keyspace saved; /* what was on its disk at some time */
	bool fails;                /* its next script ends with an error, when it has done all that it does */
	const char *refusal;       /* what it answers to each command about keys, */
	int64_t refuses_until;
	bool was_replica;          /* it has been one in this life */
	bool names_no_key;         /* the script that it executes, so what that looks at is looked at; */
	bool was_asked_for;        /* and it came behind ASKING */
	char run_id[41];
	int64_t started, promoted;
};

struct sim_site {
	enum sim_deployment deployment;
	struct sim_instance instances[SIM_HOSTS]; /* the servers, and then the sentinels */
	size_t count;            /* of servers that clients ask; or, of sentinel, that they may be sent to */
	struct sim_instance *masters[SIM_SHARDS]; /* of each shard, by the sentinels, or by the cluster */
	uint64_t epoch;
	char uri[200];
};

extern struct sim_site sim_site;
extern const char *const sim_deployment_names[SIM_DEPLOYMENTS];

void sim_site_open(enum sim_deployment deployment);

/* Execute a command: the server's answer, and what follows from it for its replicas. */
const struct lsh_message *sim_instance_run(struct sim_instance *instance, const struct lsh_arg *args, size_t count);
void sim_instance_wrote(struct sim_instance *instance); /* its data have changed */
/* How many replicas have what was written up to this; 0: how many there are. */
int64_t sim_instance_acknowledged(const struct sim_instance *instance, uint64_t offset);

enum sim_data { SIM_KEPT, SIM_SAVED, SIM_LOST };
void sim_instance_save(struct sim_instance *instance);
/* It ends, and is there again `after` so long, with these data; `vanishes`: nobody is told. */
void sim_instance_restart(struct sim_instance *instance, enum sim_data data, bool vanishes, int64_t after);
/* A master ends, or is cut off, for so long; the replica that has most takes over. */
void sim_site_fail_over(bool vanishes, int64_t after);

int64_t sim_world_us(void); /* the wall clock of clients */

/* ---- speaker.c: what a server does with one connection. It reads commands, has them executed, and answers in their
 * order; it knows subscriptions, and waits for replicas ---- */

void *sim_speaker_new(struct sim_host *host, struct sim_wire *wire);
void sim_speaker_hear(void *speaker, const char *bytes, size_t size);
void sim_speaker_gone(void *speaker);
bool sim_speaker_is_idle(const void *speaker);

/* How many of the instance's connections are subscribed to the channel; each is told. */
int64_t sim_speakers_publish(void *instance, const char *channel, size_t channel_size, const char *text, size_t size);
bool sim_speakers_listen(const struct sim_instance *instance, const char *channel); /* does somebody? */
/* The instance has no more to do with the slot: who is subscribed to one of its channels is told. */
void sim_speakers_leave_slot(struct sim_instance *instance, unsigned slot);

/* ---- cluster.c: who has which slot, slots that move, and what a node says to who asks the wrong one ----
 *
 *   slot  SETTLED --a move begins--> MOVING (keys go over one by one) --all are there--> SETTLED, at the other master
 *
 * All nodes agree at once about who has what; but a master that was replaced takes itself for one until it is told. */

void sim_cluster_open(void); /* each shard has a third of the slots */
int sim_cluster_shard(unsigned slot); /* the shard that has it */

/* May this instance execute a command with these keys? `asking`: it was told that it is to be asked for once. Else
 * false, and what it says instead: "MOVED ...", "ASK ...", "TRYAGAIN ...". */
bool sim_cluster_may_run(const struct sim_instance *instance, const struct lsh_arg *keys, size_t count, bool asking,
                         char *says, size_t size);

void sim_cluster_move(unsigned slot); /* a slot begins to move to another shard, unless it does already */
