/* Steps that are no hold, for a loop: to arrive at a latch, to signal a condition, to proclaim a value. The op never
 * begins: it stands for a query, at which whoever dispatches looks when an answer has come, or something is to be sent
 * again.
 *
 *   stirred --looked at--> ASKING --an answer: stirred--> looked at --enough is known, or it is too late--> told, gone
 *                             +------its tick has come---------^ */
#include "client/condition.h"
#include "client/leader.h"
#include "client/loop.h"
#include "client/wait.h"

#include "admin/query.h"
#include "admin/step.h"
#include "base/error.h"
#include "base/thread.h"
#include "client/options.h"

static void
look(leash_op *o)
{
	leash_status status;
	leash_error why;
	int64_t until;

	if (o->query->over)
		return;
	if (lsh_query_goes_on(o->query, &until)) {
		lsh_loop_tick_at(o, until);
		return;
	}
	status = lsh_query_result(o->query, o->op.lock, &why);
	if (o->query->verb == LSH_PROCLAIM && !lsh_proclaim_found(o->query))
		status = lsh_leader_lost(o->op.lock, o->op.owner, o->query->words, &why);
	lsh_loop_end(o, status, &why);
}

/* It cannot be taken back. */
static void
leave(leash_op *o)
{
	(void)o;
}

static void
end(leash_op *o)
{
	lsh_query_drop(o->query);
	if (o->permit != NULL)
		lsh_handle_end(&o->permit->handle);
}

/* About the lock of `handle`, which has an owner, or else has need of one. It may be freed meanwhile. `query` may be
 * NULL; it is the op's from here on. */
static leash_status
begin(const leash_lock *handle, struct lsh_query *query, leash_done_fn done, void *arg, leash_op **op,
      leash_error *err)
{
	leash_permit *permit = NULL;
	leash_status status = LEASH_OK;
	leash_op *o;

	if (query == NULL)
		status = lsh_handle_named(handle, lsh_query_none(lsh_lock_resource(handle->lock)->backend, err), err);
	else if (handle->owner == NULL && (permit = lsh_permit_new(handle, handle->extra->need)) == NULL)
		status = lsh_wait_no_memory(handle, err);
	if (status == LEASH_OK)
		status = lsh_loop_make(&o, permit != NULL ? &permit->handle : handle, done, arg, err);
	if (status != LEASH_OK) {
		lsh_query_drop(query);
		if (permit != NULL)
			lsh_handle_end(&permit->handle);
		return status;
	}
	query->stirred = lsh_loop_stirred;
	query->waiter = o;
	query->deadline = lsh_after(o->op.began, query->backend->options.timeout);
	o->query = query;
	o->permit = permit;
	o->leave = leave;
	o->look = look;
	o->end = end;
	return lsh_loop_stir(o, op, err);
}

leash_status
leash_latch_count_down_start(leash_latch *latch, const char *party, leash_done_fn done, void *arg, leash_op **op,
                             leash_error *err)
{
	static const char call[] = "leash_latch_count_down_start";
	lsh_guarded();
	const leash_lock *handle = (const leash_lock *)latch;
	char token[LSH_TOKEN_SIZE];
	leash_status status;

	if (latch == NULL)
		return lsh_fail(err, LEASH_INVALID, 0, "%s: the latch is NULL", call);
	status = lsh_handle_is_there(handle, call, err);
	if (status == LEASH_OK)
		status = lsh_latch_token(token, handle, party, err);
	return status == LEASH_OK ? begin(handle, lsh_arrive_query(handle->lock, token), done, arg, op, err) : status;
}

static leash_status
wake(leash_condition *c, int64_t most, leash_done_fn done, void *arg, leash_op **op, const char *call, leash_error *err)
{
	lsh_guarded();
	leash_status status;

	if (c == NULL)
		return lsh_fail(err, LEASH_INVALID, 0, "%s: the condition is NULL", call);
	status = lsh_handle_is_there(c->handle, call, err);
	if (status != LEASH_OK)
		return status;
	return begin(c->handle, lsh_signal_query(c->handle->lock, most), done, arg, op, err);
}

leash_status
leash_condition_signal_start(leash_condition *c, leash_done_fn done, void *arg, leash_op **op, leash_error *err)
{
	return wake(c, 1, done, arg, op, "leash_condition_signal_start", err);
}

leash_status
leash_condition_broadcast_start(leash_condition *c, leash_done_fn done, void *arg, leash_op **op, leash_error *err)
{
	return wake(c, LEASH_SIGNALS_MAX, done, arg, op, "leash_condition_broadcast_start", err);
}

leash_status
leash_lock_proclaim_start(leash_lock *lock, const char *value, leash_done_fn done, void *arg, leash_op **op,
                          leash_error *err)
{
	lsh_guarded();
	leash_status status = lsh_loop_check(lock, "leash_lock_proclaim_start", err);
	struct lsh_query *query;
	struct lsh_view view;

	if (status == LEASH_OK)
		status = lsh_leader_begin(lock, value, &view, err);
	if (status != LEASH_OK)
		return status;
	query = lsh_proclaim_query(lock->lock, view.token, value);
	return begin(lock, query, done, arg, op, err);
}
