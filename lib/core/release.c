/* Releasing; and handing off, which takes the place of a release. */
#include "core/core.h"

#include "base/mutation.h"

#include <errno.h>

/* ---- handing off ---- */

/* The first op that is not about to leave, because of its deadline or a cancel. */
static struct lsh_op *
next_of(const struct lsh_lock *lock, int64_t now)
{
	lsh_each_op(op, &lock->waiting)
		if (op->deadline > now && !lsh_op_is_canceled(op) && !lsh_is_closing(op->lock))
			return op;
	return NULL;
}

/* Take the lock from a hold and give it, with the lease, to the first of the queue, without asking the server. False:
 * that is not allowed (now), and nothing was done. */
static bool
hand_off(struct lsh_hold *hold)
{
	struct lsh_lock *lock = hold->lock;
	struct lsh_lease *lease = hold->lease;
	uint64_t fence = hold->fence + (LSH_MUTATES(LSH_FENCES_STAND_STILL) ? 0 : 1);
	struct lsh_op *next;
	int64_t now;

	if (lsh_queue_first(&lock->plain) == NULL || lease->handed_off >= hold->terms->handoffs || lock->hold != hold ||
	    lease->traded || (lock->resource.kind->flags & LSH_HANDS_OFF) == 0)
		return false;
	now = lsh_now_ns();
	next = next_of(lock, now);
	if (next == NULL || next->want.need != lease->need || !lsh_hold_may_pass(hold, next->terms, next->lease_ms, now))
		return false;
	lsh_hold_finish(hold, now);
	lsh_lease_hand_off(lease);
	lsh_count(lock, LSH_COUNT_HANDED_OFF);
	lsh_hold_begin(lock, lease, next->hold, fence, next->began, now);
	lsh_op_finish(next, LEASH_OK);
	return true;
}

/* ---- releasing ---- */

static leash_status
refused(struct lsh_op *op, const leash_error *why)
{
	if (why->status == LEASH_PROTOCOL)
		return lsh_op_fail(op, LEASH_PROTOCOL, 0, "%s", why->text);
	if (why->status == LEASH_DENIED)
		return lsh_op_fail(op, LEASH_DENIED, 0, "not released, it ends with its lease: %s", why->text);
	return lsh_op_fail(op, LEASH_UNKNOWN, 0, "not released yet, it ends with its lease at the latest: %s", why->text);
}

static void
ended(struct lsh_op *op, enum lsh_found found, const leash_error *why)
{
	const char *text = why->text[0] != '\0' ? why->text : "the server did not have it any more";

	if (found == LSH_FOUND_NOT_YET)
		op->why = *why;
	else if (found == LSH_FOUND_HELD)
		lsh_op_finish(op, LEASH_OK);
	else if (found == LSH_FOUND_NOTHING)
		lsh_op_finish(op, lsh_op_fail(op, LEASH_LOST, 0, "it was lost: %s", text));
	else
		lsh_op_finish(op, refused(op, why));
}

static void
late(struct lsh_op *op)
{
	leash_error why = op->why;
	leash_status status;

	lsh_lease_describe(op->lease, &why);
	status = why.status == LEASH_DENIED ? LEASH_DENIED : LEASH_UNKNOWN;
	lsh_op_fail(op, status, why.sys_errno, "not known whether it is released, it ends with its lease at the latest: %s",
	            why.text);
	lsh_op_finish(op, status);
}

/* One level less deep. */
static leash_status
rise(struct lsh_op *op, struct lsh_hold *hold)
{
	int64_t until = lsh_after(op->began, 2 * op->lock->resource.backend->options.timeout); /* of a trade, at least */

	hold->lease->depth = hold->depth;
	if (hold->lease->need != LSH_NEED_WRITE || hold->depth > hold->reads)
		return LEASH_OK;
	atomic_store(&op->lock->holder, 0); /* it does not write any more */
	if (op->deadline < until)
		op->deadline = until;
	if (op->front != NULL)
		return lsh_trade(op, hold, LSH_NEED_READ);
	return lsh_op_fail(op, LEASH_NO_MEMORY, ENOMEM,
	                   "no longer written, but others are kept out as long as this owner reads: out of memory");
}

/* That was the outermost. */
static leash_status
give_up(struct lsh_op *op, struct lsh_hold *hold)
{
	struct lsh_lock *lock = op->lock;
	struct lsh_lease *lease;

	op->nowait |= hold->terms->release_nowait && !op->waits;
	lsh_count(lock, LSH_COUNT_RELEASED);
	if (hand_off(hold)) {
		lsh_hold_unwind(hold);
		return LEASH_OK;
	}
	lease = lsh_hold_finish(hold, op->began);
	if (lease != NULL && op->nowait)
		lsh_hold_leave(hold, lease);
	lsh_hold_unwind(hold);
	if (lease == NULL)
		return LEASH_OK; /* others still read */
	if (op->front != NULL && !op->nowait)
		lsh_op_wait_for(op, lease);
	lsh_lease_release(lease, op->nowait ? NULL : op->reader);
	/* the next request of a plain queue goes out in the same write, right behind the release that lets it */
	lsh_queue_drive(&lock->plain);
	if (op->front != NULL || op->nowait)
		return LEASH_OK;
	return lsh_op_fail(op, LEASH_UNKNOWN, ENOMEM,
	                   "it is released in the background: there is no memory to wait for the answer");
}

static leash_status
begin(struct lsh_op *op)
{
	struct lsh_hold *hold = lsh_hold_check(op);

	if (hold == NULL || lsh_hold_depth(hold, op->want.need) == 0)
		return lsh_op_not_held(op, false);
	hold->depth--;
	if (op->want.need == LSH_NEED_READ)
		hold->reads--;
	if (!hold->lost)
		return hold->depth > 0 ? rise(op, hold) : give_up(op, hold);
	if (hold->depth == 0)
		lsh_hold_unwind(hold);
	return lsh_op_not_held(op, true);
}

const struct lsh_op_verb lsh_releasing = {.begin = begin, .late = late, .ended = ended};
