#include "admin/limit.h"

#include "admin/query.h"

static leash_status
let_in(struct lsh_lock *lock, enum lsh_verb verb, int64_t limit, int64_t for_ms, leash_error *err)
{
	const struct lsh_resource *r = lsh_lock_resource(lock);
	struct lsh_query *q = lsh_query_new(r->backend, LSH_STEP, r->kind, lsh_resource_key(r), r->key_size);
	leash_status status;

	if (q != NULL) {
		q->verb = verb;
		q->limit = limit;
		q->for_ms = for_ms;
	}
	status = lsh_query_run(q, lock, err);
	lsh_query_drop(q);
	return status;
}

leash_status
lsh_limit(struct lsh_lock *lock, int64_t limit, int64_t for_ms, leash_error *err)
{
	return let_in(lock, LSH_LIMIT, limit, for_ms, err);
}

leash_status
lsh_signal(struct lsh_lock *lock, int64_t most, leash_error *err)
{
	return let_in(lock, LSH_SIGNAL, most, 0, err);
}
