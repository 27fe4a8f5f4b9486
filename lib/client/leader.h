/* What leaders and watches check, for calls that wait and for those that do not. */
#ifndef LSH_CLIENT_LEADER_H
#define LSH_CLIENT_LEADER_H

#include "client/handle.h"

#include <leash/leader.h>

/* May its owner proclaim this value? From here on its hold is not handed off. `view`: of that. NOT_HELD, LOST, INVALID,
 * UNSUPPORTED */
leash_status lsh_leader_begin(leash_lock *lock, const char *value, struct lsh_view *view, leash_error *err);
/* The server said that nobody holds the lock by that token: LOST. */
leash_status lsh_leader_lost(struct lsh_lock *lock, const leash_owner *owner, const char *token, leash_error *err);

leash_status lsh_watch_check(const leash_watch *watch, const leash_leader *leader, const char *call,
                             leash_status (*check_handle)(const leash_lock *, const char *, leash_error *),
                             leash_error *err);

#endif
