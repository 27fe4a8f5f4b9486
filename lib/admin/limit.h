/* Who may come in to what is shared: an operator's limit, and the signal of a condition. */
#ifndef LSH_ADMIN_LIMIT_H
#define LSH_ADMIN_LIMIT_H

#include "admin/query.h"

/* For so long, let no more than `limit` be out; 0 ms: it ends. Where it fails it may be done all the same. */
leash_status lsh_limit(struct lsh_lock *lock, int64_t limit, int64_t for_ms, leash_error *err);

/* Wake so many who wait for the condition. Where it fails it may be done all the same, and where it was sent twice be
 * done twice. */
leash_status lsh_signal(struct lsh_lock *lock, int64_t most, leash_error *err);

#endif
