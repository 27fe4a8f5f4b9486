#include "admin/share.h"

#include "admin/inspect.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"

#include <errno.h>
#include <string.h>

/* To the server, until it has answered. */
static leash_status
ask(struct lsh_query *q, const struct lsh_resource *r, int64_t deadline, leash_error *err)
{
	leash_status status = lsh_queries_ask(r->backend, &q, 1, deadline, err);
	leash_error why;

	if (status != LEASH_OK || q->asks[0].state == LSH_REPLIED)
		return status;
	lsh_ask_explain(&q->asks[0], &why);
	return lsh_fail(err, why.status, why.sys_errno, "%s", why.text);
}

static leash_status
look(struct lsh_share *share, const struct lsh_resource *r, unsigned most, int64_t deadline, leash_error *err)
{
	struct lsh_query *q = lsh_query_new(r->backend, LSH_WHO_SHARES, r->kind, lsh_resource_key(r), r->key_size);
	leash_status status;

	if (q != NULL)
		q->most = most;
	status = ask(q, r, deadline, err);
	if (status == LEASH_OK &&
	    !lsh_share_lines_read(q->asks[0].text, &share->info, share->permit, most, &share->count))
		status = lsh_fail(err, LEASH_MISMATCH, 0, "its key holds something that is not held by a semaphore");
	lsh_query_drop(q);
	return status;
}

static leash_status
identify(struct lsh_share *share, struct lsh_backend *b, int64_t deadline, leash_error *err)
{
	leash_party *who[LSH_QUERIES];
	leash_status status = LEASH_OK;

	for (size_t i = 0, n; i < share->count && status == LEASH_OK; i += n) {
		for (n = 0; n < LSH_QUERIES && i + n < share->count; n++)
			who[n] = &share->permit[i + n].who;
		status = lsh_identify(b, NULL, who, n, deadline, err);
	}
	return status;
}

leash_status
lsh_share_inspect(struct lsh_share **out, struct lsh_lock *lock, bool who, leash_error *err)
{
	const struct lsh_resource *r = lsh_lock_resource(lock);
	unsigned most = who ? LSH_HOLDS : 0;
	struct lsh_share *share = lsh_alloc(sizeof *share + most * sizeof share->permit[0]);
	int64_t deadline = lsh_after(lsh_now_ns(), r->backend->options.timeout);
	leash_status status = share != NULL ? look(share, r, most, deadline, err)
	                                    : lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "out of memory");

	if (status == LEASH_OK)
		status = identify(share, r->backend, deadline, err);
	if (status != LEASH_OK) {
		lsh_free(share);
		return lsh_fail_about(err, status, r->kind->name, lsh_resource_shown(r));
	}
	share->info.size = sizeof share->info;
	strcpy(share->info.name, lsh_lock_name(lock));
	*out = share;
	return LEASH_OK;
}

leash_status
lsh_share_limit(struct lsh_lock *lock, int64_t limit, int64_t for_ms, leash_error *err)
{
	const struct lsh_resource *r = lsh_lock_resource(lock);
	struct lsh_query *q = lsh_query_new(r->backend, LSH_LET_IN, r->kind, lsh_resource_key(r), r->key_size);
	leash_status status;

	if (q != NULL) {
		q->limit = limit;
		q->for_ms = for_ms;
	}
	status = ask(q, r, lsh_after(lsh_now_ns(), r->backend->options.timeout), err);
	lsh_query_drop(q);
	return lsh_fail_about(err, status, r->kind->name, lsh_resource_shown(r));
}
