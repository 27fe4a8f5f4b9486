/* Leaders: whoever has a lock that others may watch, and what it says of itself. */
#ifndef LSH_ADMIN_LEADER_H
#define LSH_ADMIN_LEADER_H

#include "core/engine.h"

#include <leash/leader.h>

/* Who leads, by the lock that a handle of kind lsh_watch watches; `*state` is what the next wait goes on from. Who that
 * is is not asked. */
leash_status lsh_leader(struct lsh_lock *watch, leash_leader *leader, int64_t *state, leash_error *err);

/* Say the value of whoever holds it by that token. `*held`: it does. */
leash_status lsh_proclaim(struct lsh_lock *lock, const char *token, const char *value, bool *held, leash_error *err);

#endif
