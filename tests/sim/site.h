/* The site: the servers of one deployment, and what may become of them.
 *
 *   single    one server
 *   replicas  one address; behind it a master with two replicas, of which the one that has more takes over
 *   quorum    three servers, or five, that know nothing of each other */
#ifndef LEASH_TEST_SIM_SITE_H
#define LEASH_TEST_SIM_SITE_H

#include "tests/sim/net.h"
#include "tests/sim/server.h"

enum sim_deployment { SIM_SINGLE, SIM_REPLICAS, SIM_QUORUM, SIM_DEPLOYMENTS };

enum { SIM_REPLICAS_MOST = 2, SIM_WORDS = 512 };

struct sim_speaker;

struct sim_replica {
	struct sim_keyspace data;
	uint64_t offset;       /* it has all that was written up to this */
	int64_t stalled_until; /* and gets no more */
	bool coming;           /* more is under way */
};

/* One server. */
struct sim_instance {
	struct sim_host host;  /* first */
	struct sim_server *server;
	struct sim_speaker *speakers;
	struct sim_replica replicas[SIM_REPLICAS_MOST];
	size_t replica_count;
	uint64_t offset;       /* writes so far */
	struct sim_keyspace saved; /* what was on its disk at some time */
	bool went_back;        /* it has had data again that were older */
	char run_id[41];
	int64_t started;
};

struct sim_site {
	enum sim_deployment deployment;
	struct sim_instance instances[SIM_HOSTS];
	size_t count;
	char uri[200];
};

extern struct sim_site sim_site;
extern const char *const sim_deployment_names[SIM_DEPLOYMENTS];

void sim_site_open(enum sim_deployment deployment);

/* Execute a command: the server's answer, and what follows from it for its replicas. */
const struct lsh_message *sim_instance_run(struct sim_instance *instance, const struct lsh_arg *args, size_t count);
/* How many replicas have what was written up to this. */
int64_t sim_instance_acknowledged(const struct sim_instance *instance, uint64_t offset);

enum sim_data { SIM_KEPT, SIM_SAVED, SIM_LOST };
void sim_instance_save(struct sim_instance *instance);
/* It ends, and is there again `after` so long, with all its data, or those that were saved last, or none; `vanishes`:
 * nobody is told. */
void sim_instance_restart(struct sim_instance *instance, enum sim_data data, bool vanishes, int64_t after);
/* A replica takes over: the one that has most. */
void sim_instance_fail_over(struct sim_instance *instance, bool vanishes, int64_t after);

int64_t sim_world_us(void); /* the wall clock of clients */

#endif
