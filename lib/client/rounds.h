/* Rounds: the servers of a deployment that keep its data, one after the other, for whoever looks at each. */
#ifndef LSH_CLIENT_ROUNDS_H
#define LSH_CLIENT_ROUNDS_H

#include "redis/uri.h"

#include <leash/status.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lsh_cluster;

/* One of them. */
struct lsh_stop {
	const struct lsh_uri *uri;         /* as that of a single server */
	enum lsh_deployment deployment;    /* which it belongs to */
	const struct lsh_cluster *cluster; /* NULL: it has all keys */
	int index;                         /* in the cluster */
};

/* Does this server keep the key? */
bool lsh_stop_has(const struct lsh_stop *stop, const char *key, size_t size);

/* Call `visit` with each: the one server; the master that the sentinels name; each master of the cluster that has a slot; all of the quorum. The
 * first failure, of finding them or of a visit, is what is returned; a failed visit keeps none of the others from being visited. */
leash_status lsh_rounds(const struct lsh_uri *uri, const char *name, int64_t timeout,
                        leash_status (*visit)(void *arg, const struct lsh_stop *stop, leash_error *err), void *arg, leash_error *err);

#endif
