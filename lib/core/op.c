/* Ops: what all have in common; the queues in which they wait, in order; acquiring, for which queues are; and what
 * follows for ops and holds from what the leases tell. The lease of the first op of a queue is acquired, and the others
 * wait for it. */
#include "core/core.h"

#include "base/error.h"
#include "base/mutation.h"
#include "watchdog/pace.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

	if (op->queue == &lock->plain && lock->hold != NULL) {
		op->wakes_at = LSH_NEVER; /* the end of that hold, which may be an adopted one, serves it */
		return false;
	}
	if (lsh_op_is_canceled(op) || lsh_is_closing(lock))
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
	                             .tries = op->want.tries, .need = op->want.need, .known = op->want.known,
	                             .restart_guard_ms = terms->restart_guard_ms, .safety = terms->safety,
	                             .reader = op->reader};
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
	outlook->place = 0;
	if (op->state != LSH_OP_WAITING)
		return false;
	outlook->tick_at = op->wakes_at < op->deadline ? op->wakes_at : op->deadline;
	if (op->lease == NULL)
		return true;
	if (op->lease->state == LSH_WAITING)
		outlook->place = op->lease->token.number;
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

void
lsh_op_leave(struct lsh_op *op)
{
	lsh_within(&op->lock->resource.monitor);

	if (op->state == LSH_OP_WAITING && op->queue != NULL)
		op->verb->over(op, LEASH_CANCELED);
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
	if (hold->lost) {
		lsh_count(op->lock, LSH_COUNT_GAVE_UP);
		return lsh_op_fail(op, LEASH_LOST, 0,
		                   "an earlier hold of this owner was lost: release it before it is acquired again");
	}
	if ((op->lock->resource.kind->flags & LSH_REENTRANT) == 0)
		return lsh_op_fail(op, LEASH_INVALID, 0, "this owner holds it already");
	if (op->want.need == LSH_NEED_WRITE && hold->depth == hold->reads) {
		lsh_count(op->lock, LSH_COUNT_GAVE_UP);
		return lsh_op_fail(op, LEASH_DEADLOCK, 0, "this owner reads it, and would wait for itself: release it first");
	}
	if (hold->depth == LEASH_DEPTH_MAX)
		return lsh_op_fail(op, LEASH_INVALID, 0, "nested deeper than %d", LEASH_DEPTH_MAX);
	hold->lease->depth = ++hold->depth;
	if (op->want.need == LSH_NEED_READ)
		hold->reads++;
	return LEASH_OK;
}

/* ---- readers who share a lease ---- */

static bool
shares(const struct lsh_terms *terms)
{
	return terms->alive_ms == 0 && terms->handoffs > 0;
}

/* May the op read beside this hold, by the same lease? */
static bool
may_join(const struct lsh_op *op, const struct lsh_hold *hold, int64_t now)
{
	int64_t lease_ms = op->lease_ms != 0 ? op->lease_ms : op->terms->lease_ms;

	return op->want.need == LSH_NEED_READ && hold->lease->need == LSH_NEED_READ && shares(op->terms) &&
	       shares(hold->terms) && !hold->lease->traded && lsh_hold_may_pass(hold, op->terms, lease_ms, now);
}

/* One that the op may join, or NULL. */
static const struct lsh_hold *
joinable(const struct lsh_op *op)
{
	const struct lsh_lock *lock = op->lock;
	int64_t now;

	if (op->want.need != LSH_NEED_READ || lock->fair)
		return NULL;
	lsh_each_op(waiting, &lock->waiting)
		if (waiting->want.need == LSH_NEED_WRITE && !LSH_MUTATES(LSH_READERS_PASS_WRITERS))
			return NULL;
	now = lsh_now_ns();
	lsh_each_lease(lease, &lock->resource)
		if (lease->state == LSH_HELD && may_join(op, lease->user, now))
			return lease->user;
	return NULL;
}

static leash_status
join(struct lsh_op *op, const struct lsh_hold *beside)
{
	struct lsh_hold *hold = lsh_hold_new(op->lock, op->owner, op->terms);

	if (hold == NULL)
		return lsh_op_fail(op, LEASH_NO_MEMORY, ENOMEM, "out of memory");
	lsh_count(op->lock, LSH_COUNT_HANDED_OFF);
	lsh_hold_begin(op->lock, beside->lease, hold, beside->fence, op->began, op->began);
	return LEASH_OK;
}

/* The first of the queue holds it: whoever reads right behind it does so, too. */
static void
let_in_beside(const struct lsh_op *first, const struct lsh_hold *hold)
{
	struct lsh_lock *lock = first->lock;
	int64_t now;

	if (first->queue != &lock->plain || hold->lease->need != LSH_NEED_READ)
		return;
	now = lsh_now_ns();
	lsh_each_op(op, &lock->waiting) {
		if (op == first || op->queue != first->queue || op->deadline <= now || lsh_op_is_canceled(op))
			continue;
		if (!may_join(op, hold, now))
			return;
		lsh_count(lock, LSH_COUNT_HANDED_OFF);
		lsh_hold_begin(lock, hold->lease, op->hold, hold->fence, op->began, now);
		lsh_op_finish(op, LEASH_OK);
	}
}

/* Who has it is known of our own holds alone; the others are not asked about, as the time is over. */
static leash_status
explain_timeout(struct lsh_op *op)
{
	const struct lsh_kind *kind = op->lock->resource.kind;
	char how_long[40] = "", who[80] = "";

	if (!op->want.tries)
		snprintf(how_long, sizeof how_long, " for all of %lld ms", (long long)op->wait_ms);
	if (kind->inspector != NULL)
		snprintf(who, sizeof who, ": `leash status` or %s says who", kind->inspector);
	if ((kind->flags & LSH_REENTRANT) != 0)
		lsh_each_lease(lease, &op->lock->resource)
			if (lease->state == LSH_HELD)
				strcpy(who, ": another thread or owner of this client has it");
	return lsh_op_fail(op, LEASH_TIMEOUT, 0, "%s%s%s", op->want.tries ? kind->taken : kind->was_taken, how_long, who);
}

/* It ends without the lock: say why, with what was in its way. */
static leash_status
explain(struct lsh_op *op, leash_status status)
{
	lsh_count(op->lock, LSH_COUNT_GAVE_UP);
	switch (status) {
	case LEASH_TIMEOUT:
		return explain_timeout(op);
	case LEASH_CANCELED:
		return lsh_op_fail(op, LEASH_CANCELED, 0, "the wait was canceled");
	case LEASH_CLOSED:
		return lsh_op_fail(op, LEASH_CLOSED, 0, "the client was closed");
	default:
		return lsh_op_fail(op, status, op->why.sys_errno, "%.180s%s", op->why.text,
		                   op->pending ? ": it was released again" : "");
	}
}

/* ---- the end of a wait on which others count ---- */

/* Others count on who waits at a barrier, and a signal goes to one who waits. So such a wait has ended only when
 * nothing of it can come any more to the server, which has let go of its place, or says that it was let in before:
 *
 *   WAITING --late, canceled, refused--> WITHDRAWS --it had a place only--> TIMEOUT, CANCELED, DENIED, ...
 *                  +--it had been let in--> OK     +--no answer in time, or one was lost--> UNKNOWN, or DENIED, ...
 *
 * That it was let in is not given back before that, either: what comes late finds it, and takes no place. */

/* Else op->why is the explanation. */
static bool
explains_itself(leash_status status)
{
	return status == LEASH_TIMEOUT || status == LEASH_CANCELED;
}

static bool
is_refused(const struct lsh_op *op)
{
	return !explains_itself(op->status) && op->status != LEASH_UNAVAILABLE;
}

static void
not_withdrawn(struct lsh_op *op)
{
	leash_status status = is_refused(op) ? op->status : LEASH_UNKNOWN;

	if (!is_refused(op))
		lsh_lease_describe(op->lease, &op->why);
	lsh_count(op->lock, LSH_COUNT_GAVE_UP);
	lsh_op_finish(op, lsh_op_fail(op, status, op->why.sys_errno,
	                              "not known whether it was let in before its wait ended: %s", op->why.text));
}

static void
withdrawn(struct lsh_op *op, enum lsh_found found, const leash_error *why)
{
	if (found == LSH_FOUND_NOTHING) {
		lsh_op_finish(op, explain(op, op->status));
	} else if (found == LSH_FOUND_HELD && !lsh_lease_is_maybe_broken(op->lease)) {
		lsh_hold_unref(op->hold); /* nobody holds what it was let in to */
		op->hold = NULL;
		lsh_op_finish(op, LEASH_OK);
	} else if (found != LSH_FOUND_NOT_YET) {
		if (!is_refused(op))
			op->why = *why;
		not_withdrawn(op);
	} else if (explains_itself(op->status) && why->status != LEASH_OK) {
		op->why = *why;
	}
}

static const struct lsh_op_verb withdrawing = {.late = not_withdrawn, .ended = withdrawn};

static void
withdraw(struct lsh_op *op, leash_status status)
{
	struct lsh_lease *lease = op->lease;

	if (lease == NULL || !lsh_kind_is_counted(lease->resource->kind) || lease->answered || lease->state == LSH_ENDED ||
	    !lsh_lease_is_unsure(lease)) {
		lsh_op_finish(op, explain(op, status));
		return;
	}
	lease->want = NULL;
	op->queue = NULL;
	op->cancel = NULL;
	if (explains_itself(status))
		op->why = (leash_error){LEASH_OK, 0, ""};
	op->verb = &withdrawing;
	op->status = status;
	op->deadline = lsh_after(lsh_now_ns(), 2 * op->lock->resource.backend->options.timeout);
	op->wakes_at = LSH_NEVER;
	lsh_list_remove(&op->link);
	lsh_list_append(&op->lock->ops, &op->link);
	lsh_lease_give_up(lease);
	lsh_op_stir(op);
}

static void
over(struct lsh_op *op, leash_status status)
{
	if (status == LEASH_CLOSED)
		lsh_op_finish(op, explain(op, status));
	else
		withdraw(op, status);
}

/* ---- its time is over ---- */

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
	withdraw(op, why_late(op, op->queue));
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
	const struct lsh_hold *beside;
	bool is_wanted; /* by others of this process, and one of them gets it */

	if (hold != NULL)
		return nest(op, hold);
	is_wanted = lock->resource.kind->mark == NULL &&
	            (lock->hold != NULL || (!lsh_list_empty(&lock->waiting) && !lsh_is_shared(lock)));
	op->want.tries = op->wait_ms == 0;
	/* also where there would be nothing to wait for */
	if (lsh_op_is_canceled(op))
		return explain(op, LEASH_CANCELED);
	if (lsh_is_closing(lock))
		return explain(op, LEASH_CLOSED);
	if (op->want.tries && is_wanted)
		return explain(op, why_late(op, &lock->plain));
	if ((beside = joinable(op)) != NULL)
		return join(op, beside);
	/* who tries what several may have asks the server itself, whoever of this process waits */
	if (!lsh_op_join(op, lock->fair || (op->want.tries && lsh_is_shared(lock)) ? &op->own : &lock->plain)) {
		op->why = no_memory;
		return explain(op, LEASH_NO_MEMORY);
	}
	lsh_list_append(&lock->waiting, &op->link);
	if (lsh_queue_first(op->queue) == op)
		lsh_queue_drive(op->queue);
	return LEASH_OK;
}

const struct lsh_op_verb lsh_acquiring = {.begin = begin, .late = late, .again = again, .over = over};

/* ---- what the leases tell ---- */

static bool
adoptable(struct lsh_lease *lease, int64_t fence)
{
	struct lsh_op *op = lsh_op_of(lease);

	return op != NULL && op->verb->believes(op, fence);
}

/* The server gave the lock to this lease. */
static void
lose_others(struct lsh_lock *lock, const struct lsh_lease *lease, const struct lsh_lease *old)
{
	static const char why[] = "the server gave the lock to another owner";
	struct lsh_lease *alone = lock->hold != NULL ? lock->hold->lease : NULL;

	lock->plain.driving = true; /* it rests on, for the next hold */
	if (alone != NULL && alone != lease && alone != old && !(lsh_is_shared(lock) && alone->traded))
		lsh_lease_lose(alone, why);
	if (lsh_is_shared(lock) && lease->need == LSH_NEED_WRITE && !LSH_MUTATES(LSH_READERS_READ_ON))
		lsh_each_lease(other, &lock->resource)
			if (other != lease && other != old && other->state == LSH_HELD)
				lsh_lease_lose(other, why);
	lock->plain.driving = false;
}

static bool
granted(struct lsh_lease *lease, int64_t fence)
{
	struct lsh_lock *lock = lsh_lock_of(lease->resource);
	struct lsh_op *op = lsh_op_of(lease);
	struct lsh_hold *hold;

	if (op == NULL || lsh_is_closing(lock))
		return false;
	if (op->verb->traded != NULL) {
		lease->user = NULL;
		lose_others(lock, lease, lsh_hold_of(lock, op->owner)->lease);
		op->verb->traded(op, (uint64_t)fence * 256);
		return true;
	}
	hold = op->hold;
	op->hold = NULL;
	op->lease = NULL;
	lease->user = NULL;
	lose_others(lock, lease, NULL);
	if (lease->waited)
		lsh_count(lock, LSH_COUNT_WAITED);
	/* 256: fences in between are for hand-offs within the process */
	lsh_hold_begin(lock, lease, hold, (uint64_t)fence * 256, op->began, op->pending ? lsh_now_ns() : lease->turn_began);
	let_in_beside(op, hold);
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
	if (op->verb->traded == NULL)
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
	if (again_at == 0 && op->queue != NULL && !lease->adopting)
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
	for (struct lsh_hold *hold = lease->user; hold != NULL; hold = hold->beside)
		lsh_hold_revalued(hold);
}

static void
renewed(struct lsh_lease *lease, int64_t sent, int64_t lease_ms)
{
	struct lsh_lock *lock = lsh_lock_of(lease->resource);

	lsh_count(lock, LSH_COUNT_RENEWED);
	revalued(lease);
	lsh_each_op(op, &lock->ops)
		if (op->lease == lease && op->verb->renewed != NULL)
			op->verb->renewed(op, sent, lease_ms);
}

static void
renewing(struct lsh_lease *lease, int64_t now)
{
	const struct lsh_hold *hold = lease->user;

	lsh_took(hold->lock, hold->terms, LEASH_TIME_LEFT, lease->valid_until - now);
}

static void
not_renewed(struct lsh_lease *lease, const leash_error *why, bool final)
{
	struct lsh_lock *lock = lsh_lock_of(lease->resource);

	if (why == NULL) {
		lsh_count(lock, LSH_COUNT_RENEWALS_FAILED);
		return;
	}
	lsh_each_op(op, &lock->ops)
		if (op->lease == lease && op->verb->not_renewed != NULL)
			op->verb->not_renewed(op, why, final);
}

static void
at_risk(struct lsh_lease *lease, unsigned acknowledged, unsigned wanted, const char *why)
{
	for (struct lsh_hold *hold = lease->user; hold != NULL; hold = hold->beside)
		lsh_notice_risk(hold, acknowledged, wanted, why);
}

static void
lost(struct lsh_lease *lease, const char *why)
{
	struct lsh_lock *lock = lsh_lock_of(lease->resource);
	struct lsh_hold *hold;

	while ((hold = lease->user) != NULL) {
		hold->lost = true;
		lsh_hold_finish(hold, lsh_now_ns());
		hold->next = lock->lost;
		lock->lost = hold;
		lsh_count(lock, LSH_COUNT_LOST);
		if (hold->terms->on_lost != NULL)
			lsh_cancel_fire(hold->terms->on_lost);
		lsh_notice(hold, LEASH_EVENT_LOST, why);
	}
	lsh_queue_drive(&lock->plain);
}

static void
ended(struct lsh_lease *lease, enum lsh_found found, const leash_error *why)
{
	if (lease->left) {
		lsh_hold_left(lease, found, why);
		return;
	}
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
		return "max_hold_ms has passed";
	return hold->terms->no_renew ? "its lease ran out, as no_renew asks" : NULL;
}

static bool
is_old(const struct lsh_lease *lease, int64_t fence)
{
	const struct lsh_lock *lock = lsh_lock_of(lease->resource);
	uint64_t shown = (uint64_t)fence * 256, least = lock->last_fence + (lease->need != LSH_NEED_READ);

	return (shown < least || (lock->hold != NULL && shown < lock->hold->fence)) &&
	       !LSH_MUTATES(LSH_OLD_FENCES_ARE_NEWS);
}

static bool
is_wanted(const struct lsh_resource *resource)
{
	return !lsh_list_empty(&lsh_lock_of(resource)->waiting);
}

const struct lsh_lease_events lsh_lease_events = {
	.adoptable = adoptable, .granted = granted, .pending = pending, .waits = waits, .failed = failed,
	.renewing = renewing, .renewed = renewed, .revalued = revalued, .not_renewed = not_renewed, .at_risk = at_risk,
	.lost = lost, .ended = ended, .wants_ms = wants_ms, .why_over = why_over, .is_old = is_old, .is_wanted = is_wanted,
};
