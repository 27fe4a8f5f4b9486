/* Who leads: whoever has a lock that others may watch. */
#ifndef LSH_ADMIN_LEADER_H
#define LSH_ADMIN_LEADER_H

#include "core/engine.h"

#include <leash/leader.h>

struct lsh_query;

/* Who leads, by the lock that a handle of kind lsh_watch watches; `*state` is what the next wait goes on from. Who that
 * is is not asked. */
leash_status lsh_leader(struct lsh_lock *watch, leash_leader *leader, int64_t *state, leash_error *err);
/* The same in two: a query that asks, or NULL: no memory; and what it was answered. */
struct lsh_query *lsh_leader_query(struct lsh_lock *watch);
leash_status lsh_leader_read(const struct lsh_query *query, struct lsh_lock *watch, leash_leader *leader,
                             int64_t *state, leash_error *err);

#endif
