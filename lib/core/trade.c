/* Trading: a hold goes on by another lease, and nobody can come in in between. From reading to writing, if nobody else
 * reads; and back, when the last write is released and its owner still reads. From some permits to fewer of them.
 *
 *   READS --upgrade, granted--> WRITES                  WRITES --last write released, granted--> READS
 *     +-- others read it--> READS                         +-- refused--> READS, but keeps others out
 *   k PERMITS --some released, granted--> FEWER         k PERMITS --refused--> k PERMITS
 *   either --the server has neither, or the lease is over before it has answered--> LOST
 *
 * Until the answer is there the owner has the less of the two. Once the server may know of it, it waits for that as
 * long as its lease lasts: before it nobody knows by which token the lock is held, and has to be released. */
#include "core/core.h"

#include "base/error.h"
#include "watchdog/pace.h"

#include <errno.h>

enum { DAY_MS = 86400000 };

/* The new lease lasts at least as long as the old one, also by a renewal of that which is still under way: so its end
 * stands, whatever comes of the trade. */
static void
set_lease(struct lsh_op *op, const struct lsh_hold *hold)
{
	const struct lsh_lease *old = hold->lease;
	int64_t now = lsh_now_ns(), until = old->valid_until, left_ms, ms = lsh_lease_renewing_ms(old);
	bool is_fixed = hold->terms->no_renew && old->full && ms == 0;

	if (ms < old->lease_ms)
		ms = old->lease_ms;
	if (!is_fixed && old->ends_at < lsh_after_ms(now, ms)) {
		is_fixed = true;
		until = old->ends_at;
	}
	left_ms = (until - now) / LSH_MS;
	if (is_fixed || lsh_pace_valid_until(now, ms * LSH_MS) < until)
		ms = left_ms + left_ms / 98 + 4; /* and what lsh_pace_valid_until() takes off, and a little */
	op->want.lease_ms = ms < DAY_MS ? ms : DAY_MS; /* no lease is longer: so that is always enough */
	op->want.until = old->valid_until;
}

static void
again(struct lsh_op *op)
{
	set_lease(op, lsh_hold_of(op->lock, op->owner));
	op->wakes_at = lsh_lease_acquire(op->lease, &op->want);
}

static void
finish(struct lsh_op *op, leash_status status)
{
	lsh_op_drop_lease(op);
	lsh_op_finish(op, status);
}

/* The hold goes on as it was. */
static leash_status
explain(struct lsh_op *op, leash_status status)
{
	const leash_error *why = &op->why;

	if (lsh_has_permits(op->lock))
		return lsh_op_fail(op, status, why->sys_errno, "none of them is released: %s", why->text);
	if (op->want.need == LSH_NEED_READ)
		return lsh_op_fail(op, status, why->sys_errno, "no longer written, but others are kept out as long as this "
		                   "owner reads: %s", why->text);
	if (status == LEASH_TIMEOUT)
		return lsh_op_fail(op, status, 0, "others read it, too");
	return lsh_op_fail(op, status, why->sys_errno, "not upgraded: %s", why->text);
}

static void
over(struct lsh_op *op, leash_status status)
{
	struct lsh_hold *hold = lsh_hold_of(op->lock, op->owner);

	if (hold == NULL || hold->lost) { /* it has ended */
		if (status == LEASH_NOT_HELD)
			lsh_op_fail(op, status, 0, "another thread released it meanwhile");
		else
			lsh_op_not_held(op, status == LEASH_LOST);
		finish(op, status);
	} else if (lsh_lease_is_unsure(op->lease)) {
		lsh_lease_lose(hold->lease, status == LEASH_LOST ? "the server did not have it any more"
		                                                 : "the server did not say in which mode it is held");
	} else {
		hold->lease->traded = false;
		finish(op, explain(op, status));
	}
}

static void
late(struct lsh_op *op)
{
	struct lsh_hold *hold = lsh_hold_of(op->lock, op->owner);

	if (!lsh_lease_is_unsure(op->lease) && lsh_now_ns() < hold->lease->valid_until) {
		lsh_lease_describe(op->lease, &op->why);
		if (op->why.status == LEASH_OK || op->why.status == LEASH_TIMEOUT)
			op->why.status = LEASH_UNAVAILABLE;
		over(op, op->why.status);
		return;
	}
	op->deadline = hold->lease->valid_until; /* it may have been renewed */
	if (lsh_now_ns() >= op->deadline)
		lsh_lease_lose(hold->lease, "its lease ran out"); /* which ends this op, too */
}

static void
traded(struct lsh_op *op, uint64_t fence)
{
	struct lsh_lock *lock = op->lock;
	struct lsh_hold *hold = lsh_hold_of(lock, op->owner);
	struct lsh_lease *old = hold->lease, *lease = op->lease;

	op->lease = NULL;
	old->traded = false;
	lsh_lease_inherit(lease, old);
	lsh_hold_move(hold, lease, fence);
	if (op->want.need == LSH_NEED_WRITE)
		hold->depth++;
	lsh_each_op(other, &lock->ops)
		if (other->lease == old && other->verb->over != NULL)
			other->verb->over(other, LEASH_NOT_HELD);
	lsh_lease_replaced(old);
	lsh_op_finish(op, LEASH_OK);
	lsh_queue_drive(&lock->plain);
}

leash_status
lsh_trade(struct lsh_op *op, struct lsh_hold *hold, uint32_t need)
{
	struct lsh_lease *old = hold->lease;

	op->verb = &lsh_upgrading;
	op->want = (struct lsh_wish){.need = need, .tries = true, .restart_guard_ms = hold->terms->restart_guard_ms,
	                             .safety = old->safety, .reader = op->reader};
	set_lease(op, hold);
	op->lease = lsh_lease_new_instead(old, &op->want);
	if (op->lease == NULL) {
		lsh_fail(&op->why, LEASH_NO_MEMORY, ENOMEM, "out of memory");
		return explain(op, LEASH_NO_MEMORY);
	}
	if (op->deadline > old->valid_until)
		op->deadline = old->valid_until;
	op->state = LSH_OP_WAITING;
	lsh_list_append(&op->lock->ops, &op->link);
	again(op);
	return LEASH_OK;
}

static leash_status
is_busy(struct lsh_op *op)
{
	return lsh_op_fail(op, LEASH_INVALID, 0, "another thread is changing this hold at this moment");
}

/* To what the op wants, which is less than what is held. */
static leash_status
begin_less(struct lsh_op *op)
{
	struct lsh_hold *hold = lsh_hold_check(op);

	if (hold == NULL || hold->lost)
		return lsh_op_not_held(op, hold != NULL);
	return hold->lease->traded ? is_busy(op) : lsh_trade(op, hold, op->want.need);
}

static leash_status
begin(struct lsh_op *op)
{
	struct lsh_hold *hold = lsh_hold_check(op);

	if (hold == NULL || hold->lost)
		return lsh_op_not_held(op, hold != NULL);
	if (hold->depth == LEASH_DEPTH_MAX)
		return lsh_op_fail(op, LEASH_INVALID, 0, "nested deeper than %d", LEASH_DEPTH_MAX);
	if (hold->lease->traded)
		return is_busy(op);
	if (hold->lease->need == LSH_NEED_WRITE) { /* it is alone already */
		hold->depth++;
		atomic_store(&op->lock->holder, hold->owner->id);
		return LEASH_OK;
	}
	if (hold->lease->user != hold || hold->beside != NULL)
		return lsh_op_fail(op, LEASH_TIMEOUT, 0, "others read it, too");
	return lsh_trade(op, hold, LSH_NEED_WRITE);
}

const struct lsh_op_verb lsh_upgrading = {.begin = begin, .late = late, .again = again, .over = over, .traded = traded};
const struct lsh_op_verb lsh_lessening = {
	.begin = begin_less, .late = late, .again = again, .over = over, .traded = traded,
};
