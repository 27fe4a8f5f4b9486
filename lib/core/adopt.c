/* Adopting: going on with a hold that another client got.
 *
 * The server is asked whether the token holds the lock, and with which fence, and makes its lease last as long as ours.
 * Asked twice it does the same, so a lost reply costs nothing. It never gives the lock to a token that lost it.
 *
 * A token has one life. Once its hold has ended here, a release is under way, which might free the lock under the next
 * owner that adopts it: so it is not adopted while it is ENDING. And a reply that says "held" may be older than a
 * release by another thread: the server is asked again if an adopted hold ended, or the lock was broken from here,
 * meanwhile.
 *
 * An adopted lease is never handed off without the server: the client that had it may have given out fences that follow
 * from its own. */
#include "core/core.h"

#include <errno.h>
#include <string.h>

static void
over(struct lsh_op *op, leash_status status)
{
	const leash_error *was = &op->why;

	if (status == LEASH_CLOSED)
		lsh_op_fail(op, status, 0, "the client was closed");
	else if (status == LEASH_NOT_HELD)
		lsh_op_fail(op, status, was->sys_errno, "%s", was->text);
	else
		lsh_op_fail(op, status, was->sys_errno, "not adopted: %s", was->text);
	lsh_op_finish(op, status);
}

static void
late(struct lsh_op *op)
{
	lsh_lease_describe(op->lease, &op->why);
	if (op->why.status == LEASH_OK || op->why.status == LEASH_TIMEOUT)
		op->why.status = LEASH_UNAVAILABLE;
	over(op, op->why.status);
}

static void
again(struct lsh_op *op)
{
	op->wakes_at = lsh_lease_adopt(op->lease, &op->want);
}

/* May the server be asked for the token, or its reply be believed? `own`: the lease of this adoption, if it has one. */
static leash_status
check(struct lsh_op *op, const char *token, size_t size, const struct lsh_lease *own)
{
	lsh_each_lease(lease, &op->lock->resource)
		if (lease != own && lease->state >= LSH_PENDING && lsh_lease_has_token(lease, token, size))
			return lease->state == LSH_ENDING ?
			       lsh_op_fail(op, LEASH_NOT_HELD, 0, "that token is being released, by this client") :
			       lsh_op_fail(op, LEASH_INVALID, 0, "another owner of this client has adopted that token: "
			                   "share the handle's owner instead");
	return LEASH_OK;
}

static leash_status
ask(struct lsh_op *op, const char *token, size_t size)
{
	struct lsh_lease *lease = lsh_lease_new_for(&op->lock->resource, &op->want, token, size);

	if (lease == NULL)
		return lsh_op_fail(op, LEASH_NO_MEMORY, ENOMEM, "out of memory");
	op->lease = lease;
	op->generation = op->lock->generation;
	op->wakes_at = LSH_NEVER;
	again(op);
	return LEASH_OK;
}

static bool
believes(struct lsh_op *op, int64_t fence)
{
	struct lsh_lock *lock = op->lock;
	const struct lsh_lease *lease = op->lease;
	char token[LSH_TOKEN_SIZE];
	size_t size = lsh_lease_token(lease, token);
	leash_status status = check(op, token, size, lease);

	/* this client was given the lock after the server said so */
	if (status == LEASH_OK && lock->hold != NULL && (uint64_t)fence * 256 < lock->hold->fence)
		status = lsh_op_fail(op, LEASH_NOT_HELD, 0, "nobody holds it by that token any more");
	if (status == LEASH_OK && op->generation == lock->generation)
		return true;
	lsh_op_drop_lease(op);
	if (status == LEASH_OK)
		status = ask(op, token, size);
	if (status != LEASH_OK)
		lsh_op_finish(op, status);
	return false;
}

static leash_status
begin(struct lsh_op *op)
{
	struct lsh_lock *lock = op->lock;
	struct lsh_hold *hold = lsh_hold_check(op);
	size_t size = strlen(op->token);
	leash_status status;

	if (hold != NULL && !hold->lost)
		return lsh_op_fail(op, LEASH_INVALID, 0, "this owner holds it already");
	if (hold != NULL)
		return lsh_op_fail(op, LEASH_LOST, 0,
		                   "an earlier hold of this owner was lost: release it before another one is adopted");
	if (lsh_is_closing(lock))
		return lsh_op_fail(op, LEASH_CLOSED, 0, "the client was closed");
	status = check(op, op->token, size, NULL);
	if (status != LEASH_OK)
		return status;
	if (!lsh_op_join(op, &op->own))
		return lsh_op_fail(op, LEASH_NO_MEMORY, ENOMEM, "out of memory");
	lsh_list_append(&lock->ops, &op->link);
	status = ask(op, op->token, size);
	if (status != LEASH_OK)
		lsh_op_finish(op, status);
	return LEASH_OK;
}

const struct lsh_op_verb lsh_adopting = {
	.begin = begin, .late = late, .again = again, .over = over, .believes = believes,
};
