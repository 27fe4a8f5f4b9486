/* What the leases tell, and what follows from it for ops and holds. Entered. */
#include "core/core.h"

#include "watchdog/pace.h"

static bool
adoptable(struct lsh_lease *lease, int64_t fence)
{
	struct lsh_op *op = lsh_op_of(lease);

	return op != NULL && lsh_adopt_believes(op, fence);
}

static bool
granted(struct lsh_lease *lease, int64_t fence)
{
	struct lsh_lock *lock = lsh_lock_of(lease->resource);
	struct lsh_op *op = lsh_op_of(lease);
	struct lsh_hold *hold;

	if (op == NULL || lsh_is_closing(lock))
		return false;
	hold = op->hold;
	op->hold = NULL;
	op->lease = NULL;
	lease->user = NULL;
	if (lock->hold != NULL) {
		lock->plain.driving = true; /* it rests on, for the next hold */
		lsh_lease_lose(lock->hold->lease, "the server gave the lock to another owner");
		lock->plain.driving = false;
	}
	if (lease->waited)
		lsh_count(lock, LSH_COUNT_WAITED);
	/* 256: fences in between are for hand-offs within the process */
	lsh_hold_begin(lock, lease, hold, (uint64_t)fence * 256);
	lsh_op_finish(op, LEASH_OK);
	return true;
}

static void
pending(struct lsh_lease *lease, int64_t until)
{
	struct lsh_op *op = lsh_op_of(lease);

	if (op == NULL)
		return;
	op->pending = true;
	op->why = (leash_error){LEASH_OK, 0, ""};
	op->deadline = until;
	op->wakes_at = LSH_NEVER;
	lsh_op_stir(op);
}

static void
waits(struct lsh_lease *lease, const leash_error *why, int64_t again_at)
{
	struct lsh_op *op = lsh_op_of(lease);

	if (op == NULL)
		return;
	if (why->status != LEASH_OK)
		op->why = *why;
	op->wakes_at = again_at;
	if (again_at == 0 && !lease->adopting)
		lsh_queue_drive(op->queue);
	else
		lsh_op_stir(op);
}

static void
failed(struct lsh_lease *lease, const leash_error *why)
{
	struct lsh_op *op = lsh_op_of(lease);

	if (op == NULL)
		return;
	op->why = *why;
	op->verb->over(op, why->status);
}

/* ---- of what is held ---- */

static void
revalued(struct lsh_lease *lease)
{
	atomic_store(&lsh_lock_of(lease->resource)->valid_until, lease->valid_until);
}

static void
renewed(struct lsh_lease *lease, int64_t sent, int64_t lease_ms)
{
	lsh_count(lsh_lock_of(lease->resource), LSH_COUNT_RENEWED);
	revalued(lease);
	lsh_extend_renewed(lease, sent, lease_ms);
}

static void
not_renewed(struct lsh_lease *lease, const leash_error *why, bool final)
{
	if (why == NULL)
		lsh_count(lsh_lock_of(lease->resource), LSH_COUNT_RENEWALS_FAILED);
	else
		lsh_extend_failed(lease, why, final);
}

static void
at_risk(struct lsh_lease *lease, unsigned acknowledged, unsigned wanted, const char *why)
{
	lsh_notice_risk(lease->user, acknowledged, wanted, why);
}

static void
lost(struct lsh_lease *lease, const char *why)
{
	struct lsh_lock *lock = lsh_lock_of(lease->resource);
	struct lsh_hold *hold = lease->user;

	hold->lost = true;
	lsh_hold_finish(lock);
	hold->next = lock->lost;
	lock->lost = hold;
	lsh_count(lock, LSH_COUNT_LOST);
	lsh_notice(hold, LEASH_EVENT_LOST, why);
	lsh_queue_drive(&lock->plain);
}

static void
ended(struct lsh_lease *lease, enum lsh_found found, const leash_error *why)
{
	lsh_each_op(op, &lsh_lock_of(lease->resource)->ops) {
		if (op->lease == lease && op->verb->ended != NULL) {
			op->verb->ended(op, found, why);
			return;
		}
	}
}

static int64_t
wants_ms(struct lsh_lease *lease, int64_t now)
{
	const struct lsh_hold *hold = lease->user;
	int64_t lease_ms = lease->lease_ms;

	if (lsh_hold_is_hung(hold, now))
		return -1;
	if (hold->terms->no_renew && lease->full)
		return 0;
	if (lease->ends_at != LSH_NEVER && lease->ends_at - now <= lease_ms * LSH_MS) {
		lease_ms = (lease->ends_at - now) / LSH_MS;
		if (lsh_pace_valid_until(now, lease_ms * LSH_MS) <= lease->valid_until)
			return 0; /* it reaches to the end already */
	}
	return lease_ms > 0 ? lease_ms : 0;
}

static const char *
why_over(struct lsh_lease *lease, int64_t now)
{
	const struct lsh_hold *hold = lease->user;

	if (lsh_hold_is_hung(hold, now))
		return "leash_lock_alive() was not called in time";
	/* renewed to its end, but for the margin */
	if (lease->ends_at != LSH_NEVER &&
	    lease->ends_at - lease->valid_until <= lease->lease_ms * LSH_MS / 50 + 5 * LSH_MS)
		return "max_hold_ms is over";
	if (hold->terms->no_renew)
		return "its lease ran out, as no_renew asks";
	return NULL;
}

static bool
is_old(const struct lsh_lease *lease, int64_t fence)
{
	const struct lsh_lock *lock = lsh_lock_of(lease->resource);
	uint64_t shown = (uint64_t)fence * 256;

	return shown <= lock->last_fence || (lock->hold != NULL && shown < lock->hold->fence);
}

static bool
is_wanted(const struct lsh_resource *resource)
{
	return !lsh_list_empty(&lsh_lock_of(resource)->waiting);
}

const struct lsh_lease_events lsh_lease_events = {
	.adoptable = adoptable,
	.granted = granted,
	.pending = pending,
	.waits = waits,
	.failed = failed,
	.renewed = renewed,
	.revalued = revalued,
	.not_renewed = not_renewed,
	.at_risk = at_risk,
	.lost = lost,
	.ended = ended,
	.wants_ms = wants_ms,
	.why_over = why_over,
	.is_old = is_old,
	.is_wanted = is_wanted,
};
