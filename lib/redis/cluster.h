/* A cluster: which of its servers has which slot, as far as they say. cluster.c explains whom it believes.
 *
 * Servers are numbered, from 0. One keeps its number and its URI while it has a slot or the number is in use, and is
 * given up some seconds later: addresses change, and whoever names ever new ones is not to fill the memory. The map may
 * have holes: slots that nobody serves, or only somebody to whom the URI does not let us be sent.
 *
 * A look into it is a load or two, from any thread. */
#ifndef LSH_REDIS_CLUSTER_H
#define LSH_REDIS_CLUSTER_H

#include "base/courier.h"
#include "redis/slot.h"
#include "redis/uri.h"

#include <leash/status.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lsh_cluster;

enum {
	LSH_SERVERS = 1024,  /* at a time */
	LSH_STRANGERS = 64,  /* of these, those that no node says to have a slot: no more redirections are followed */
	LSH_NO_SERVER = -1,
};

struct lsh_cluster_options {
	const struct lsh_uri *uri; /* of LSH_CLUSTER; must outlive the cluster */
	const char *name;          /* for CLIENT SETNAME; likewise */
	struct lsh_courier *courier; /* for the log; NULL: there is none */
	int64_t timeout;           /* ns, to connect and for one answer */
	int64_t period;            /* ns between two looks of its own accord, more or less; 0: 20 s */

	/* On the cluster's own thread, or that which opens it; no mutex held. NULL is allowed. */
	void (*changed)(void *ctx);             /* the map is another one */
	void (*given_up)(void *ctx, int index); /* nobody has this server or finds it any more; end what there is of it. It
	                                           may wait. NULL: none is ever given up */
	void *ctx;
};

/* NULL: no memory or descriptors. */
struct lsh_cluster *lsh_cluster_new(const struct lsh_cluster_options *options);

/* Await the first map, or what is in its way, no longer than `timeout`, and start the thread, also if this fails.
 *   DENIED       password or user, or CLUSTER SLOTS is not permitted
 *   UNSUPPORTED  that is no cluster
 *   UNAVAILABLE  nobody could be asked in time, or nobody serves anything
 *   PROTOCOL     those are no Redis servers
 *   NO_MEMORY */
leash_status lsh_cluster_open(struct lsh_cluster *cluster, leash_error *err);

void lsh_cluster_stop(struct lsh_cluster *cluster); /* ends its thread */
void lsh_cluster_free(struct lsh_cluster *cluster); /* when it is stopped, or was never opened; NULL is allowed */

/* The server that has a slot, or LSH_NO_SERVER. */
int lsh_cluster_at(const struct lsh_cluster *cluster, unsigned slot);

/* Grows with each change of the map. Read before the map, and it is never newer than what was found there. */
uint64_t lsh_cluster_version(const struct lsh_cluster *cluster);

/* NULL: nobody has the number, from 0 to LSH_SERVERS - 1. */
const struct lsh_uri *lsh_cluster_server(const struct lsh_cluster *cluster, int index);

bool lsh_cluster_serves(const struct lsh_cluster *cluster, int index); /* any slot, by the map */

/* Begin to use a number: false where nobody has it, or it is being given up. Use one once more that is in use. Each use
 * ends by lsh_cluster_leave(). */
bool lsh_cluster_use_number(struct lsh_cluster *cluster, int index);
void lsh_cluster_use(struct lsh_cluster *cluster, int index);
void lsh_cluster_leave(struct lsh_cluster *cluster, int index);

/* Have the map looked at anew, soon: a connection broke, CLUSTERDOWN. Costs nothing if that is on its way already. */
void lsh_cluster_refresh(struct lsh_cluster *cluster);

/* The server `from` said `text`: "MOVED <slot> <host>:<port>", which corrects that slot at once, and has the others
 * looked at anew; or, if it `asks`, "ASK <slot> <host>:<port>", which is good for one command. LEASH_OK: `*index` is in
 * use. PROTOCOL: that is no such text; DENIED: the URI does not let us be sent there; UNAVAILABLE: too many servers are
 * known only by such texts, or there is no memory. */
leash_status lsh_cluster_redirect(struct lsh_cluster *cluster, bool asks, const char *text, int from, int *index,
                                  leash_error *err);

/* Why a slot has no server, as far as it is known, for a message: "redis+cluster://...: ..." */
leash_status lsh_cluster_trouble(struct lsh_cluster *cluster, unsigned slot, leash_error *err);

#endif
