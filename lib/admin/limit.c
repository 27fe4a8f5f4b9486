#include "admin/limit.h"

#include "admin/query.h"

leash_status
lsh_limit(struct lsh_lock *lock, int64_t limit, int64_t for_ms, leash_error *err)
{
	const struct lsh_resource *r = lsh_lock_resource(lock);
	struct lsh_query *q = lsh_query_new(r->backend, LSH_LET_IN, r->kind, lsh_resource_key(r), r->key_size);
	leash_status status;

	if (q != NULL) {
		q->limit = limit;
		q->for_ms = for_ms;
	}
	status = lsh_query_run(q, lock, err);
	lsh_query_drop(q);
	return status;
}
