/* An operator's limit on what is shared. */
#ifndef LSH_ADMIN_LIMIT_H
#define LSH_ADMIN_LIMIT_H

#include "admin/query.h"

/* For so long, let no more than `limit` be out; 0 ms: it ends. Where it fails it may be done all the same. */
leash_status lsh_limit(struct lsh_lock *lock, int64_t limit, int64_t for_ms, leash_error *err);

#endif
