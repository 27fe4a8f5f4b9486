/* Targets: the servers of a deployment that keep its data, one after the other. */
#ifndef LEASH_TOOLS_TARGETS_H
#define LEASH_TOOLS_TARGETS_H

#include "redis/uri.h"

#include <leash/status.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lsh_cluster;

struct target {
	const struct lsh_uri *uri;         /* as that of a single server */
	enum lsh_deployment deployment;    /* which it belongs to */
	const struct lsh_cluster *cluster; /* NULL: it has all keys */
	int index;                         /* in the cluster */
};

typedef leash_status target_fn(void *arg, const struct target *target, leash_error *err);

/* Does this server keep the key? */
bool target_has(const struct target *target, const char *key, size_t size);

/* Call `visit` with each: the one server; the master that the sentinels name; each master of the cluster that has a
 * slot; all of the quorum. Returns the first failure, of finding them or of a visit; a failed visit keeps none of the
 * others from being visited. */
leash_status targets_visit(const struct lsh_uri *uri, const char *name, int64_t timeout, target_fn *visit, void *arg,
                           leash_error *err);

#endif
