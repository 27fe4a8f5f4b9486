#include "admin/limit.h"

#include "base/clock.h"
#include "base/error.h"

leash_status
lsh_limit(struct lsh_lock *lock, int64_t limit, int64_t for_ms, leash_error *err)
{
	const struct lsh_resource *r = lsh_lock_resource(lock);
	struct lsh_query *q = lsh_query_new(r->backend, LSH_LET_IN, r->kind, lsh_resource_key(r), r->key_size);
	leash_error why = {0};
	leash_status status;

	if (q != NULL) {
		q->limit = limit;
		q->for_ms = for_ms;
	}
	status = lsh_queries_ask(r->backend, &q, 1, lsh_after(lsh_now_ns(), r->backend->options.timeout), &why);
	if (status == LEASH_OK && q->asks[0].state != LSH_REPLIED)
		status = lsh_ask_explain(&q->asks[0], &why);
	lsh_query_drop(q);
	if (status != LEASH_OK)
		lsh_fail(err, status, why.sys_errno, "%s '%s': %s", r->kind->name, lsh_resource_shown(r), why.text);
	return status;
}
