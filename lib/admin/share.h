/* What is shared: how much of it is out, and who has that; and an operator's limit. */
#ifndef LSH_ADMIN_SHARE_H
#define LSH_ADMIN_SHARE_H

#include "admin/query.h"

#include <leash/semaphore.h>

struct lsh_share {
	leash_semaphore_info info;
	size_t count;
	leash_permit_info permit[]; /* the longest leases first */
};

/* What the server says of it; `who`: also of each hold, up to LSH_HOLDS, and whose it is, as far as that is known.
 * `*out`, to be freed, is set only with LEASH_OK. */
leash_status lsh_share_inspect(struct lsh_share **out, struct lsh_lock *lock, bool who, leash_error *err);

/* For so long, let no more than `limit` be out; 0 ms: it ends. Where it fails it may be done all the same. */
leash_status lsh_share_limit(struct lsh_lock *lock, int64_t limit, int64_t for_ms, leash_error *err);

#endif
