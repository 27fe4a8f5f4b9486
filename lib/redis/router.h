/* The router: which server a command goes to.
 *
 * A client of one server, or of sentinels, has one. A client of a quorum has all of them. A client of a cluster has one
 * for each server that has a slot: made when it is first heard of, and given up some seconds after its server has lost
 * its last slot and nobody uses it any more.
 *
 * In a cluster a server is used by each lock that lives there, and by whoever holds no monitor under which that stays
 * so. A use begins by lsh_server_use(), if there is one already, else by what returns a server "in use", and ends by
 * lsh_server_leave(). NULL is allowed. */
#ifndef LSH_REDIS_ROUTER_H
#define LSH_REDIS_ROUTER_H

#include "base/figure.h"
#include "base/list.h"
#include "redis/node.h"

#include <pthread.h>
#include <stdatomic.h>

struct lsh_router;

/* The first member of what the layer above keeps of a server. */
struct lsh_server {
	struct lsh_router *router;
	struct lsh_node *node;
	const struct lsh_uri *uri;  /* outlives it */
	uint64_t serial;            /* no two of the process have the same */
	int number;                 /* where lsh_router_at() finds it; in a cluster that of the slot map */
	pthread_mutex_t mutex;      /* guards the backlog */
	struct lsh_list backlog;    /* calls for which there was no room */
};

struct lsh_router_options {
	const struct lsh_uri *uri; /* must outlive the router */
	const char *client_name;   /* likewise */
	int64_t timeout;           /* ns */
	struct lsh_courier *courier; /* for the log */
};

struct lsh_router_ops {
	/* Make what stands for a server, and let its node connect by itself. NULL: errno says what there is no more of. */
	struct lsh_server *(*server_new)(void *ctx, const struct lsh_uri *uri, int number);
	void (*server_stop)(struct lsh_server *server); /* end its threads */
	void (*server_free)(struct lsh_server *server);
	void (*changed)(void *ctx); /* slots are elsewhere now; on the cluster's thread */
};

enum { LSH_REDIRECTIONS = 5 }; /* in a row that are followed */

/* NULL: no memory. */
struct lsh_router *lsh_router_new(const struct lsh_router_options *options, const struct lsh_router_ops *ops,
                                  void *ctx);

/* Make the servers and await their first hellos; of a quorum without waiting. */
leash_status lsh_router_open(struct lsh_router *router, leash_error *err);
void lsh_router_close(struct lsh_router *router); /* from here on no server is made or given up */
void lsh_router_free(struct lsh_router *router);  /* with the servers, which are stopped; NULL is allowed */

bool lsh_router_is_cluster(const struct lsh_router *router);
const struct lsh_router_options *lsh_router_options(const struct lsh_router *router);
unsigned lsh_router_slot_of(const struct lsh_router *router, const char *key, size_t size); /* 0 where there are none */

/* How long answers took, of all servers. */
const struct lsh_figure *lsh_router_round_trips(const struct lsh_router *router);
void lsh_router_answered(struct lsh_router *router, int64_t after_ns);

/* What those servers have counted that are given up. */
void lsh_router_gone(const struct lsh_router *router, uint64_t *commands, uint64_t *connects);

/* The servers, below the count: in use, or NULL. lsh_router_at() does without a use, where none is given up (no
 * cluster, or closed), or it is in use already. */
size_t lsh_router_count(const struct lsh_router *router);
struct lsh_server *lsh_router_get(struct lsh_router *router, size_t i);
struct lsh_server *lsh_router_at(const struct lsh_router *router, size_t i);

struct lsh_server *lsh_router_of_slot(struct lsh_router *router, unsigned slot); /* in use; or NULL */
bool lsh_router_has_slot(const struct lsh_server *server, unsigned slot);
bool lsh_server_serves(const struct lsh_server *server); /* in a cluster: some slot, by the map */
struct lsh_server *lsh_router_any(struct lsh_router *router); /* in use; rather one that is up */

void lsh_server_use(struct lsh_server *server);
void lsh_server_leave(struct lsh_server *server);

/* Use this one, and leave the one before; either may be NULL. */
void lsh_server_keep(struct lsh_server **kept, struct lsh_server *server);

/* `from` said that the key is elsewhere: MOVED, and the map is corrected; or ASK: `*asks`, in use, is to be asked for
 * this once. Else it cannot be followed, for the reason given. */
leash_status lsh_router_follow(struct lsh_server *from, const char *words, struct lsh_server **asks, leash_error *err);
void lsh_router_doubt(struct lsh_router *router); /* have the map looked at anew */
leash_status lsh_router_trouble(struct lsh_router *router, unsigned slot, leash_error *err); /* of one without server */

/* Make the rest of a server, for server_new(): its node is made, and not started yet. */
void lsh_server_init(struct lsh_server *server, struct lsh_router *router, const struct lsh_uri *uri, int number);
void lsh_server_destroy(struct lsh_server *server);

#endif
