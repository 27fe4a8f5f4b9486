/* Acquiring: nest in a hold that the owner has, or join a queue, whose first op is served. */
#include "core/core.h"

#include <errno.h>

static bool
nest(struct lsh_op *op, struct lsh_hold *hold)
{
	if (hold != op->lock->hold) {
		lsh_count(op->lock, LSH_COUNT_GAVE_UP);
		lsh_op_fail(op, LEASH_LOST, 0,
		            "an earlier hold of this owner was lost: release it before it is acquired again");
		return lsh_op_at_once(op, LEASH_LOST);
	}
	if ((op->lock->resource.kind->flags & LSH_REENTRANT) == 0)
		return lsh_op_at_once(op, lsh_op_fail(op, LEASH_INVALID, 0, "this owner holds it already"));
	if (hold->depth == LEASH_DEPTH_MAX)
		return lsh_op_at_once(op, lsh_op_fail(op, LEASH_INVALID, 0, "nested deeper than %d", LEASH_DEPTH_MAX));
	hold->lease->depth = ++hold->depth;
	return lsh_op_at_once(op, LEASH_OK);
}

/* It ends without the lock: say why, with what was in its way. */
static void
explain(struct lsh_op *op, leash_status status)
{
	lsh_count(op->lock, LSH_COUNT_GAVE_UP);
	switch (status) {
	case LEASH_TIMEOUT:
		if (op->want.tries)
			lsh_op_fail(op, LEASH_TIMEOUT, 0, "another owner has it");
		else
			lsh_op_fail(op, LEASH_TIMEOUT, 0, "other owners had it for all of %lld ms", (long long)op->wait_ms);
		break;
	case LEASH_CANCELED:
		lsh_op_fail(op, LEASH_CANCELED, 0, "the wait was canceled");
		break;
	case LEASH_CLOSED:
		lsh_op_fail(op, LEASH_CLOSED, 0, "the client was closed");
		break;
	default:
		lsh_op_fail(op, status, op->why.sys_errno, "%.180s%s", op->why.text, op->pending ? ": released again" : "");
		break;
	}
}

static void
over(struct lsh_op *op, leash_status status)
{
	explain(op, status);
	lsh_op_finish(op, status);
}

static bool
is_trouble(const leash_error *why)
{
	return why->status != LEASH_OK && why->status != LEASH_TIMEOUT;
}

/* Its time is over. TIMEOUT if another owner has the lock, else the status of the trouble, which is left in op->why. */
static leash_status
why_late(struct lsh_op *op, const struct lsh_queue *queue)
{
	const struct lsh_op *first = lsh_queue_first(queue);
	leash_error why = {LEASH_TIMEOUT, 0, ""};

	if (op->lock->hold == NULL && first != NULL) {
		if (first == op || is_trouble(&first->why))
			why = first->why; /* the first one speaks for all */
		if (queue->lease != NULL && queue->lease->state < LSH_ENDING)
			lsh_lease_describe(queue->lease, &why);
	}
	op->why = why;
	return is_trouble(&why) ? why.status : LEASH_TIMEOUT;
}

static void
late(struct lsh_op *op)
{
	over(op, why_late(op, op->queue));
}

static void
again(struct lsh_op *op)
{
	if (lsh_queue_first(op->queue) == op)
		lsh_queue_drive(op->queue);
	else
		op->wakes_at = LSH_NEVER;
}

static bool
refuse(struct lsh_op *op, leash_status status)
{
	explain(op, status);
	return lsh_op_at_once(op, status);
}

static bool
begin(struct lsh_op *op)
{
	struct lsh_lock *lock = op->lock;
	struct lsh_hold *hold = lsh_hold_check(op);
	/* by others of this process */
	bool is_wanted = lock->hold != NULL || !lsh_list_empty(&lock->plain.ops) || !lsh_list_empty(&lock->plain.link);

	if (hold != NULL)
		return nest(op, hold);
	op->want.tries = op->wait_ms == 0;
	/* also where there would be nothing to wait for */
	if (lsh_cancel_is_fired(op->cancel))
		return refuse(op, LEASH_CANCELED);
	if (lsh_is_closing(lock))
		return refuse(op, LEASH_CLOSED);
	if (op->want.tries && is_wanted)
		return refuse(op, why_late(op, &lock->plain));
	if (!lsh_op_join(op, lock->fair ? &op->own : &lock->plain)) {
		lsh_count(lock, LSH_COUNT_GAVE_UP);
		return lsh_op_at_once(op, lsh_op_fail(op, LEASH_NO_MEMORY, ENOMEM, "out of memory"));
	}
	if (lock->fair)
		lsh_list_append(&lock->plain.link, &op->own.link);
	if (lsh_queue_first(op->queue) == op)
		lsh_queue_drive(op->queue);
	return false;
}

const struct lsh_op_verb lsh_acquiring = {.begin = begin, .late = late, .again = again, .over = over};
