/* What a lock can live in, each started by one call: for tests that are the same for all deployments, and for the nemesis.
 *
 * What only one kind can do is asked of that kind: sentinel_set.h, cluster.h, quorum.h. All servers listen on free ports of
 * 127.0.0.1, each in a folder of its own, and end with the test process (sweep.h). What fails ends the test (trouble.h).
 * Functions may be called from any thread, but start and stop only when nobody else uses the deployment. */
#pragma once

#include "tests/support/node.h"

enum deployment_kind { DEPLOYMENT_SINGLE, DEPLOYMENT_TLS, DEPLOYMENT_SENTINEL, DEPLOYMENT_CLUSTER, DEPLOYMENT_QUORUM };

enum {
	DEPLOYMENT_KINDS = 5,
	DEPLOYMENT_GUARD_MS = 10000, /* restart_guard of the quorum's URI, hence the longest lease there */
};

/* What it is made of is NULL if it is another kind. */
struct deployment {
	struct sweep_item item;
	enum deployment_kind kind;
	struct nodes *all;
	struct server *server; /* of single and tls */
	struct sentinel_set *sentinels;
	struct cluster *cluster;
	struct quorum *quorum;
	char *least_uri;       /* NULL: whoever uses it may do everything */
};

const char *deployment_name(enum deployment_kind kind);   /* "single", "tls", "sentinel", "cluster", "quorum" */
enum deployment_kind deployment_chosen(void); /* what $LEASH_TEST_DEPLOYMENT says; single if it says nothing */

/* Returns when locks can be had there; of a quorum, once its servers have been up for the guard. `args` are further arguments for each server that keeps data; NULL: none. */
struct deployment *deployment_start_with(enum deployment_kind kind, const char *const *args);
void deployment_stop(struct deployment *deployment);   /* NULL is allowed */

#define deployment_kind(deployment) ((deployment)->kind)
/* Until it is stopped. With LEASH_TEST_USER=least it is that of the user whom docs/deployments.md describes: see least.h. */
const char *deployment_uri(const struct deployment *deployment);

/* Those that take writes now: one, the masters of a cluster, or all of a quorum. */
size_t deployment_masters(struct deployment *deployment);
struct server *deployment_master(struct deployment *deployment, size_t i);
/* The master that has a key, resp. would have it; of a quorum the first that runs. */
struct server *deployment_at(struct deployment *deployment, const char *key);
/* All of its servers: sentinels first, replicas too; NULL: no more. And how many those are. */
struct server *deployment_member(const struct deployment *deployment, int i);
#define deployment_members(deployment) ((deployment)->all->count)

/* Keys that match, over all masters; of a quorum each counts once for each server that has it. And how many have no TTL. */
#define deployment_keys(deployment, pattern) nodes_keys((deployment)->all, (pattern), false)
#define deployment_lasting_keys(deployment, pattern) nodes_keys((deployment)->all, (pattern), true)

/* As server_text and server_integer, with one key as the first argument: deployment_text(d, "leash:{law}", "HGET %s %s", key, field)
 * goes to the server that has `key`. */
#define deployment_text(deployment, key, ...) server_text(deployment_at((deployment), (key)), __VA_ARGS__)
#define deployment_integer(deployment, key, ...) server_integer(deployment_at((deployment), (key)), __VA_ARGS__)

/* All servers stand still, resp. go on: sentinels too, so nothing fails over. */
void deployment_pause(struct deployment *deployment);
void deployment_resume(struct deployment *deployment);

#define deployment_server(deployment) ((deployment)->server)
#define deployment_sentinel_set(deployment) ((deployment)->sentinels)
#define deployment_cluster(deployment) ((deployment)->cluster)
#define deployment_quorum(deployment) ((deployment)->quorum)
