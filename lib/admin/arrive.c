#include "admin/arrive.h"

#include "admin/query.h"
#include "base/memory.h"

#include <string.h>

leash_status
lsh_arrive(struct lsh_lock *lock, const char *token, leash_error *err)
{
	const struct lsh_resource *r = lsh_lock_resource(lock);
	struct lsh_query *q = lsh_query_new(r->backend, LSH_STEP, r->kind, lsh_resource_key(r), r->key_size);
	leash_status status;

	if (q != NULL && (q->words = lsh_alloc(strlen(token) + 2)) == NULL) {
		lsh_query_drop(q);
		q = NULL;
	}
	if (q != NULL) {
		strcpy(q->words, token);
		q->verb = LSH_ARRIVE;
		q->for_ms = LSH_ARRIVAL_MS;
	}
	status = lsh_query_run(q, lock, err);
	lsh_query_drop(q);
	return status;
}
