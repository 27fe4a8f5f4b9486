/* Extending: a renewal that its owner waits for. */
#include "core/core.h"

#include "base/token.h"

/* The lease is renewed for the longest time that anybody waits for. */
static void
set_extension(const struct lsh_lock *lock, struct lsh_lease *lease)
{
	lease->extend_ms = 0;
	lsh_each_op(op, &lock->ops)
		if (op->verb == &lsh_extending && op->lease == lease && op->lease_ms > lease->extend_ms)
			lease->extend_ms = (int32_t)op->lease_ms;
}

static void
finish(struct lsh_op *op, leash_status status)
{
	lsh_list_remove(&op->link);
	set_extension(op->lock, op->lease);
	lsh_op_finish(op, status);
}

static void
again(struct lsh_op *op)
{
	op->wakes_at = LSH_NEVER;
	if (op->lease->traded || !lsh_lease_extend(op->lease, op->reader)) /* or there is no connection */
		op->wakes_at = lsh_after_ms(lsh_now_ns(), 5 + lsh_random32() % 20);
}

static void
renewed(struct lsh_op *op, int64_t sent, int64_t lease_ms)
{
	int64_t ends_at = op->lease->ends_at, most_ms = ends_at == LSH_NEVER ? LSH_NEVER : (ends_at - sent) / LSH_MS - 1;

	if (sent >= op->began && lease_ms >= (most_ms < op->lease_ms ? most_ms : op->lease_ms)) {
		finish(op, LEASH_OK);
	} else if (op->wakes_at == LSH_NEVER) { /* that was another renewal */
		again(op);
		lsh_op_stir(op); /* it may want a tick now */
	}
}

static void
not_extended(struct lsh_op *op, const leash_error *why)
{
	leash_status status = why->status == LEASH_OK ? LEASH_UNAVAILABLE : why->status;

	finish(op, lsh_op_fail(op, status, why->sys_errno, "not extended: %s", why->text));
}

static void
not_renewed(struct lsh_op *op, const leash_error *why, bool final)
{
	op->why = *why;
	if (final)
		not_extended(op, why);
	else
		op->wakes_at = lsh_after_ms(lsh_now_ns(), 50 + lsh_random32() % 200);
	lsh_op_stir(op);
}

static void
late(struct lsh_op *op)
{
	leash_error why = op->why;

	if (lsh_now_ns() >= op->lease->valid_until && op->lease->state == LSH_HELD) {
		lsh_lease_lose(op->lease, "its lease ran out"); /* which ends this op, too */
		return;
	}
	lsh_lease_describe(op->lease, &why);
	if (why.status != LEASH_DENIED)
		why.status = LEASH_UNAVAILABLE;
	not_extended(op, &why);
}

/* Its hold has ended. */
static void
over(struct lsh_op *op, leash_status status)
{
	if (status != LEASH_NOT_HELD)
		lsh_op_not_held(op, status == LEASH_LOST);
	else
		lsh_op_fail(op, status, 0, "another thread released it, or some of it, meanwhile");
	finish(op, status);
}

static leash_status
begin(struct lsh_op *op)
{
	struct lsh_lock *lock = op->lock;
	struct lsh_hold *hold = lsh_hold_check(op);
	int64_t left;

	if (hold == NULL || hold->lost)
		return lsh_op_not_held(op, hold != NULL);
	if (op->want.need == LSH_NEED_WRITE && hold->depth == hold->reads)
		return lsh_op_not_held(op, false);
	left = hold->lease->ends_at != LSH_NEVER ? hold->lease->ends_at - op->began : LSH_NEVER;
	if (left < LSH_MS)
		return lsh_op_fail(op, LEASH_INVALID, 0, "max_hold_ms leaves nothing to extend");
	if (left < op->lease_ms * LSH_MS)
		op->lease_ms = left / LSH_MS;
	if (op->deadline > lsh_lease_extend_limit(hold->lease, op->began))
		op->deadline = lsh_lease_extend_limit(hold->lease, op->began);
	if (op->deadline > hold->lease->valid_until)
		op->deadline = hold->lease->valid_until;
	lsh_op_wait_for(op, hold->lease);
	set_extension(lock, hold->lease);
	again(op);
	return LEASH_OK;
}

const struct lsh_op_verb lsh_extending = {
	.begin = begin, .late = late, .again = again, .over = over, .renewed = renewed, .not_renewed = not_renewed,
};
