/* Ops: what all have in common; the queues in which they wait, in order; and acquiring, for which queues are. The lease
 * of the first op of a queue is acquired, and the others wait for it. */
#include "core/core.h"

#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

static const leash_error no_memory = {LEASH_NO_MEMORY, ENOMEM, "out of memory"};

/* ---- queues ---- */

void
lsh_op_drop_lease(struct lsh_op *op)
{
	struct lsh_lease *lease = op->lease;

	op->lease = NULL;
	if (lease == NULL)
		return;
	lease->want = NULL;
	lsh_lease_release(lease, NULL);
}

/* The first of its queue. */
static void
serve(struct lsh_op *op)
{
	struct lsh_lease *lease = op->lease;

	if (lease != NULL && lease->state != LSH_PENDING && !lsh_lease_fits(lease, &op->want))
		lsh_op_drop_lease(op); /* it is over */
	if (op->lease == NULL) {
		lease = lsh_lease_new(&op->lock->resource, &op->want);
		if (lease == NULL) {
			op->why = no_memory;
			op->verb->over(op, LEASH_NO_MEMORY);
			return;
		}
		op->lease = lease;
	}
	op->wakes_at = lsh_lease_acquire(op->lease, &op->want);
}

/* Is its first op to be served? Not while the lock is held here, nor if the op is about to leave. */
static bool
is_ready(struct lsh_op *op)
{
	const struct lsh_lock *lock = op->lock;

	if ((!lock->fair && lock->hold != NULL) || lsh_op_is_canceled(op) || lsh_is_closing(lock))
		return false;
	if (lsh_now_ns() < op->deadline)
		return true;
	op->wakes_at = 0; /* its thread ends it: perhaps the clock could not be read just now */
	lsh_op_stir(op);
	return false;
}

void
lsh_queue_drive(struct lsh_queue *queue)
{
	struct lsh_op *op, *served = NULL;

	queue->again = true;
	if (queue->driving)
		return;
	queue->driving = true;
	while ((op = lsh_queue_first(queue)) != NULL && (queue->again || op != served) && is_ready(op)) {
		queue->again = false;
		serve(op);
		served = op;
	}
	queue->driving = false;
	if (op != NULL && op == served)
		lsh_op_stir(op);
}

/* What comes of its lease is for the next one of its queue, unless that was asked for on other terms. */
static void
pass_on(struct lsh_op *op)
{
	struct lsh_op *next = lsh_queue_first(op->queue);
	struct lsh_lease *lease = op->lease;

	if (lease == NULL || next == NULL || !lsh_lease_fits(lease, &next->want)) {
		lsh_op_drop_lease(op);
		return;
	}
	op->lease = NULL;
	next->lease = lease;
	lsh_lease_serve(lease, &next->want);
}

/* ---- what ops have in common ---- */

void
lsh_op_stir(struct lsh_op *op)
{
	if (op->state != LSH_OP_WAITING)
		return;
	atomic_store(&op->stirred, true);
	op->front->stirred(op);
}

static void
tell(struct lsh_later *later)
{
	struct lsh_op *op = lsh_container(later, struct lsh_op, later);

	op->front->done(op);
}

void
lsh_op_finish(struct lsh_op *op, leash_status status)
{
	bool was_waiting = op->state == LSH_OP_WAITING;
	bool was_first = op->queue != NULL && lsh_queue_first(op->queue) == op;

	if (op->state == LSH_OP_DONE)
		return;
	op->state = LSH_OP_DONE;
	op->status = status;
	lsh_list_remove(&op->link);
	if (was_first) {
		pass_on(op);
		lsh_queue_drive(op->queue);
	}
	if (op->lease != NULL)
		lsh_lease_unref(op->lease); /* not the last reference: its hold has one, or whoever calls this */
	op->lease = NULL;
	if (status != LEASH_OK && op->hold != NULL)
		lsh_hold_unref(op->hold); /* nor is this the last one of the lock */
	op->later.run = tell;
	if (was_waiting)
		lsh_monitor_later(&op->lock->resource.monitor, &op->later);
}

leash_status
lsh_op_fail(struct lsh_op *op, leash_status status, int sys_errno, const char *format, ...)
{
	char text[sizeof op->why.text];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	return lsh_fail(&op->why, status, sys_errno, "%s '%s': %s", op->lock->resource.kind->name, lsh_lock_shown(op->lock),
	                text);
}

leash_status
lsh_op_not_held(struct lsh_op *op, bool was_lost)
{
	if (was_lost)
		return lsh_op_fail(op, LEASH_LOST, 0, "it was lost while it was held");
	if (lsh_is_closing(op->lock))
		return lsh_op_fail(op, LEASH_CLOSED, 0, "the client was closed");
	return lsh_op_fail(op, LEASH_NOT_HELD, 0, "this owner does not hold it");
}

bool
lsh_op_join(struct lsh_op *op, struct lsh_queue *queue)
{
	struct lsh_terms *terms = op->terms;

	op->hold = lsh_hold_new(op->lock, op->owner, terms);
	if (op->hold == NULL)
		return false;
	if (op->lease_ms == 0)
		op->lease_ms = terms->lease_ms;
	op->want = (struct lsh_wish){.lease_ms = op->lease_ms, .max_hold_ms = terms->max_hold_ms, .until = op->deadline,
	                             .tries = op->want.tries, .restart_guard_ms = terms->restart_guard_ms,
	                             .safety = terms->safety, .reader = op->reader};
	op->state = LSH_OP_WAITING;
	op->wakes_at = LSH_NEVER;
	op->queue = queue;
	op->own = (struct lsh_queue){.is_own = true};
	lsh_list_init(&op->link);
	return true;
}

void
lsh_op_wait_for(struct lsh_op *op, struct lsh_lease *lease)
{
	lsh_lease_retain(lease);
	op->lease = lease;
	op->state = LSH_OP_WAITING;
	op->wakes_at = LSH_NEVER;
	lsh_list_append(&op->lock->ops, &op->link);
}

/* ---- its front ---- */

/* Entered. */
static bool
look(struct lsh_op *op, struct lsh_outlook *outlook)
{
	atomic_store(&op->stirred, false);
	outlook->source = (struct lsh_source){.host = NULL};
	if (op->state != LSH_OP_WAITING)
		return false;
	outlook->tick_at = op->wakes_at < op->deadline ? op->wakes_at : op->deadline;
	if (op->lease != NULL)
		lsh_lease_source(op->lease, &outlook->source);
	return true;
}

bool
lsh_op_begin(struct lsh_op *op, const struct lsh_op_verb *verb, struct lsh_outlook *outlook)
{
	lsh_within(&op->lock->resource.monitor);
	leash_status status;

	op->verb = verb;
	status = verb->begin(op);
	if (op->state == LSH_OP_NEW) {
		op->state = LSH_OP_DONE;
		op->status = status;
		return true;
	}
	if (outlook != NULL)
		look(op, outlook);
	return false;
}

void
lsh_op_tick(struct lsh_op *op)
{
	int64_t now = lsh_now_ns();

	lsh_within(&op->lock->resource.monitor);
	if (op->state != LSH_OP_WAITING)
		return;
	if (op->queue != NULL && lsh_is_closing(op->lock))
		op->verb->over(op, LEASH_CLOSED);
	else if (lsh_op_is_canceled(op))
		op->verb->over(op, LEASH_CANCELED);
	else if (now >= op->deadline)
		op->verb->late(op);
	else if (now >= op->wakes_at)
		op->verb->again(op);
}

bool
lsh_op_look(struct lsh_op *op, struct lsh_outlook *outlook)
{
	lsh_within(&op->lock->resource.monitor);
	return look(op, outlook);
}

/* ---- acquiring ---- */

static leash_status
nest(struct lsh_op *op, struct lsh_hold *hold)
{
	if (hold != op->lock->hold) {
		lsh_count(op->lock, LSH_COUNT_GAVE_UP);
		return lsh_op_fail(op, LEASH_LOST, 0,
		                   "an earlier hold of this owner was lost: release it before it is acquired again");
	}
	if ((op->lock->resource.kind->flags & LSH_REENTRANT) == 0)
		return lsh_op_fail(op, LEASH_INVALID, 0, "this owner holds it already");
	if (hold->depth == LEASH_DEPTH_MAX)
		return lsh_op_fail(op, LEASH_INVALID, 0, "nested deeper than %d", LEASH_DEPTH_MAX);
	hold->lease->depth = ++hold->depth;
	return LEASH_OK;
}

/* It ends without the lock: say why, with what was in its way. */
static leash_status
explain(struct lsh_op *op, leash_status status)
{
	lsh_count(op->lock, LSH_COUNT_GAVE_UP);
	switch (status) {
	case LEASH_TIMEOUT:
		if (op->want.tries)
			return lsh_op_fail(op, LEASH_TIMEOUT, 0, "another owner has it");
		return lsh_op_fail(op, LEASH_TIMEOUT, 0, "other owners had it for all of %lld ms", (long long)op->wait_ms);
	case LEASH_CANCELED:
		return lsh_op_fail(op, LEASH_CANCELED, 0, "the wait was canceled");
	case LEASH_CLOSED:
		return lsh_op_fail(op, LEASH_CLOSED, 0, "the client was closed");
	default:
		return lsh_op_fail(op, status, op->why.sys_errno, "%.180s%s", op->why.text,
		                   op->pending ? ": released again" : "");
	}
}

static void
over(struct lsh_op *op, leash_status status)
{
	lsh_op_finish(op, explain(op, status));
}

static bool
is_trouble(const leash_error *why)
{
	return why->status != LEASH_OK && why->status != LEASH_TIMEOUT;
}

/* Its time is over. TIMEOUT if another owner has the lock, else the status of the trouble, which is left in op->why: so
 * if it waits for replicas, whoever has the lock by then. */
static leash_status
why_late(struct lsh_op *op, struct lsh_queue *queue)
{
	const struct lsh_op *first = lsh_queue_first(queue);
	leash_error why = {LEASH_TIMEOUT, 0, ""};

	if ((op->lock->hold == NULL || op->pending) && first != NULL) {
		if (first == op || is_trouble(&first->why))
			why = first->why; /* the first one speaks for all */
		if (first->lease != NULL && first->lease->state < LSH_ENDING)
			lsh_lease_describe(first->lease, &why);
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

static leash_status
begin(struct lsh_op *op)
{
	struct lsh_lock *lock = op->lock;
	struct lsh_hold *hold = lsh_hold_check(op);
	/* by others of this process */
	bool is_wanted = lock->hold != NULL || !lsh_list_empty(&lock->waiting);

	if (hold != NULL)
		return nest(op, hold);
	op->want.tries = op->wait_ms == 0;
	/* also where there would be nothing to wait for */
	if (lsh_op_is_canceled(op))
		return explain(op, LEASH_CANCELED);
	if (lsh_is_closing(lock))
		return explain(op, LEASH_CLOSED);
	if (op->want.tries && is_wanted)
		return explain(op, why_late(op, &lock->plain));
	if (!lsh_op_join(op, lock->fair ? &op->own : &lock->plain)) {
		op->why = no_memory;
		return explain(op, LEASH_NO_MEMORY);
	}
	lsh_list_append(&lock->waiting, &op->link);
	if (lsh_queue_first(op->queue) == op)
		lsh_queue_drive(op->queue);
	return LEASH_OK;
}

const struct lsh_op_verb lsh_acquiring = {.begin = begin, .late = late, .again = again, .over = over};
