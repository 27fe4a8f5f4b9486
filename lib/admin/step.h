/* What is said of a lock that is no hold. Where it fails it may be done all the same. */
#ifndef LSH_ADMIN_STEP_H
#define LSH_ADMIN_STEP_H

#include "core/engine.h"

struct lsh_query;

/* For so long, let no more than `limit` be out; 0 ms: it ends. */
leash_status lsh_limit(struct lsh_lock *lock, int64_t limit, int64_t for_ms, leash_error *err);

/* Wake so many who wait for the condition. Where it was sent twice it may be done twice. */
leash_status lsh_signal(struct lsh_lock *lock, int64_t most, leash_error *err);
struct lsh_query *lsh_signal_query(struct lsh_lock *lock, int64_t most); /* that says it; NULL: no memory */

enum { LSH_ARRIVAL_MS = 86400000 }; /* for how long it counts */

/* This token has arrived at the latch; said again it has arrived once. */
leash_status lsh_arrive(struct lsh_lock *lock, const char *token, leash_error *err);
struct lsh_query *lsh_arrive_query(struct lsh_lock *lock, const char *token);

/* Say the value of whoever holds it by that token. `*held`: it does. */
leash_status lsh_proclaim(struct lsh_lock *lock, const char *token, const char *value, bool *held, leash_error *err);
struct lsh_query *lsh_proclaim_query(struct lsh_lock *lock, const char *token, const char *value);
bool lsh_proclaim_found(const struct lsh_query *query); /* it is over: not if the server said that nobody holds it so */

#endif
