/* What a wait for a condition does, and when. A condition is a queue of its own (kind/condition.c). Who waits stands in
 * it before it gives the lock up, so that no signal is missed in between:
 *
 *   BEGINS --the lock is held--> LINES UP --it has a place, or no answer came in time--> GIVES UP the lock --> STANDS
 *
 *   STANDS --signaled, the place is lost, time to look, canceled--> LEAVES --> TAKES the lock BACK --> OVER
 *
 *   LINES UP --signaled, time is over, canceled; the lock was held all the time--> LEAVES --> OVER
 *   LINES UP --refused--> LEAVES --> GIVES UP --> OVER
 *   GIVES UP --the lock was lost--> LEAVES --> OVER
 *
 * A place that is lost, with a server's data or because the server took us for dead, may have been signaled: so that
 * ends the wait. And so does one that is had only after the lock was given up, because the server did not answer. The
 * place is acquired as a permit is, with an owner of its own. The lock is given up and taken back one level at a time,
 * and only one of the two ops is attended to: while the lock is given up the place keeps. */
#include "client/condition.h"

#include "client/wait.h"

#include "base/error.h"

#include <errno.h>
#include <string.h>

/* Of what a signal lets in, which is of use to nobody: it has no events, and waits for nothing. */
static struct lsh_terms plain = {.lease_ms = 30000};

/* ---- its ops ---- */

static void
done(struct lsh_op *op)
{
	struct lsh_condition_part *part = lsh_container(op, struct lsh_condition_part, op);
	struct lsh_condition_wait *w = part->wait;

	lsh_within(&w->monitor); /* else who drives it may see that, and free it, before it is stirred */
	atomic_store(&part->is_told, true);
	w->stirred(w->waiter);
}

static void
stirred(struct lsh_op *op)
{
	struct lsh_condition_wait *w = lsh_container(op, struct lsh_condition_part, op)->wait;

	w->stirred(w->waiter);
}

static void
make(struct lsh_condition_wait *w, struct lsh_condition_part *part, const leash_lock *lock)
{
	static const struct lsh_front front = {.done = done, .stirred = stirred};

	lsh_handle_op(&part->op, lock);
	if (lock->owner == NULL)
		part->op.owner = w->owner;
	part->op.front = w->stirred != NULL ? &front : NULL;
	part->op.reader = w->reader;
	part->wait = w;
	part->is_open = false;
	atomic_init(&part->is_told, false);
}

static void
begin(struct lsh_condition_part *part, const struct lsh_op_verb *verb)
{
	part->is_open = !lsh_op_begin(&part->op, verb, NULL);
}

/* Do what is due, and look. False: it is done. */
static bool
attend(struct lsh_condition_part *part, struct lsh_outlook *outlook)
{
	struct lsh_condition_wait *w = part->wait;

	w->at = part;
	if (!part->is_open)
		return false;
	lsh_op_tick(&part->op);
	if (lsh_op_look(&part->op, outlook))
		return true;
	outlook->tick_at = LSH_NEVER;
	part->op.cancel = NULL;
	lsh_within(&w->monitor);
	part->is_open = !atomic_load(&part->is_told); /* else it is about to be */
	return part->is_open;
}

/* ---- how one step follows another ---- */

static void
line_up(struct lsh_condition_wait *w)
{
	struct lsh_op *op = &w->standing.op;

	make(w, &w->standing, &w->place->handle);
	op->terms = &plain;
	op->cancel = w->how.cancel;
	op->wait_ms = w->how.wait_ms;
	op->deadline = w->look_at;
	w->step = LSH_LINES_UP;
	w->in_line = true;
	/* The lock is held meanwhile: so if the server does not answer nobody waits longer for that than for any answer. */
	w->until = lsh_after(op->began, 2 * lsh_lock_resource(op->lock)->backend->options.timeout);
	begin(&w->standing, &lsh_acquiring);
}

static void
release(struct lsh_condition_wait *w)
{
	make(w, &w->turn, w->lock);
	w->turn.op.waits = true; /* a loss ends the wait */
	begin(&w->turn, &lsh_releasing);
}

static void
give_up(struct lsh_condition_wait *w)
{
	w->step = LSH_GIVES_UP;
	w->is_given_up = true;
	w->left = w->depth;
	release(w);
}

static void
leave(struct lsh_condition_wait *w)
{
	w->step = LSH_LEAVES;
	w->left_at = lsh_now_ns();
	if (w->standing.is_open)
		lsh_op_leave(&w->standing.op);
}

static void
acquire(struct lsh_condition_wait *w)
{
	struct lsh_op *op = &w->turn.op;

	make(w, &w->turn, w->lock);
	op->deadline = lsh_handle_until(op, w->reacquire_ms);
	op->wait_ms = w->reacquire_ms;
	op->lease_ms = w->how.lease_ms;
	op->status = lsh_handle_prepare_hold(w->lock, w->owner, &op->why);
	if (op->status == LEASH_OK)
		begin(&w->turn, &lsh_acquiring);
}

static void
take_back(struct lsh_condition_wait *w)
{
	w->step = LSH_TAKES_BACK;
	w->left = w->depth;
	acquire(w);
}

/* ---- the steps; true: there is something to wait for ---- */

static bool
begins(struct lsh_condition_wait *w, struct lsh_outlook *outlook)
{
	const leash_lock *lock = w->lock;
	struct lsh_view writes, reads;

	(void)outlook;
	lsh_lock_view(lock->lock, w->owner, lsh_handle_extra(lock)->need, &writes);
	lsh_lock_view(lock->lock, w->owner, LSH_NEED_READ, &reads);
	w->depth = writes.depth;
	w->step = LSH_IS_OVER;
	if (writes.depth > 0 && reads.depth > 0) {
		w->status = lsh_fail(&w->why, LEASH_INVALID, 0, "this owner also reads it, and would keep others out while it "
		                     "waits: release that first");
	} else if (writes.depth == 0 || !writes.is_held) {
		give_up(w); /* the release says why it is not held */
	} else if (w->place == NULL || w->stirred == NULL) {
		w->status = lsh_fail(&w->why, LEASH_NO_MEMORY, ENOMEM, "out of memory to wait for a condition");
		give_up(w);
	} else if (w->how.wait_ms == 0) {
		w->status = lsh_fail(&w->why, LEASH_TIMEOUT, 0, "no time to wait for a signal");
		lock = &w->place->handle;
	} else {
		line_up(w);
	}
	lsh_handle_named(lock, w->status, &w->why);
	return false;
}

static bool
lines_up(struct lsh_condition_wait *w, struct lsh_outlook *outlook)
{
	const leash_lock *lock = w->lock;
	bool is_open = attend(&w->standing, outlook);

	if (is_open && outlook->place == 0 && lsh_now_ns() < w->until) {
		if (w->until < outlook->tick_at)
			outlook->tick_at = w->until;
		return true;
	}
	w->number = is_open ? outlook->place : 0;
	if (!is_open && lsh_remaining(lock->lock, w->owner, lsh_handle_extra(lock)->need) > 0)
		leave(w);
	else
		give_up(w);
	return false;
}

static bool
gives_up(struct lsh_condition_wait *w, struct lsh_outlook *outlook)
{
	leash_status status;

	for (; !attend(&w->turn, outlook) && w->left > 1; w->left--)
		release(w);
	if (w->turn.is_open)
		return true;
	status = w->turn.op.status;
	if (w->status == LEASH_OK && (status == LEASH_LOST || status == LEASH_NOT_HELD || !w->in_line)) {
		w->status = status;
		w->why = w->turn.op.why;
	}
	if (!w->in_line)
		w->step = LSH_IS_OVER;
	else if (w->status != LEASH_OK)
		leave(w);
	else
		w->step = LSH_STANDS;
	return false;
}

static bool
stands(struct lsh_condition_wait *w, struct lsh_outlook *outlook)
{
	if (attend(&w->standing, outlook) && outlook->place == w->number)
		return true;
	leave(w);
	return false;
}

/* What is to be told of the wait for the signal. OK: it was signaled, or may have been, or is to look again. */
static leash_status
outcome(struct lsh_condition_wait *w)
{
	leash_status status = w->standing.op.status;

	w->why = w->standing.op.why;
	if (status == LEASH_UNAVAILABLE && w->left_at >= w->look_at)
		status = lsh_fail_about(&w->why, LEASH_TIMEOUT, "no signal came in time", NULL);
	if ((status == LEASH_TIMEOUT && w->left_at < w->deadline) ||
	    (status == LEASH_CANCELED && !leash_cancel_is_fired(w->how.cancel)) || status == LEASH_UNKNOWN)
		return LEASH_OK;
	return status;
}

static bool
leaves(struct lsh_condition_wait *w, struct lsh_outlook *outlook)
{
	bool is_lost = w->status != LEASH_OK, has_ended;

	if (attend(&w->standing, outlook))
		return true;
	w->in_line = false;
	if (w->standing.op.status == LEASH_OK)
		lsh_wait_let_go(&w->place->handle);
	if (!is_lost)
		w->status = outcome(w);
	has_ended = w->status == LEASH_OK || w->status == LEASH_TIMEOUT || w->status == LEASH_CANCELED;
	if (is_lost || has_ended != w->is_given_up)
		w->step = LSH_IS_OVER;
	else if (has_ended)
		take_back(w);
	else
		give_up(w);
	return false;
}

/* As deep as it was, or not at all. */
static bool
takes_back(struct lsh_condition_wait *w, struct lsh_outlook *outlook)
{
	struct lsh_op *op = &w->turn.op;

	while (!attend(&w->turn, outlook) && op->status == LEASH_OK && --w->left > 0)
		acquire(w);
	if (w->turn.is_open)
		return true;
	w->step = LSH_IS_OVER;
	if (op->status == LEASH_OK)
		return false;
	for (; w->left < w->depth; w->left++)
		lsh_wait_let_go(w->lock); /* it was lost meanwhile, or the client is closed */
	w->status = op->status;
	w->why = op->why;
	if (w->status == LEASH_TIMEOUT)
		w->status = lsh_fail_about(&w->why, LEASH_UNAVAILABLE, "not acquired again", NULL);
	return false;
}

/* ---- for who drives it ---- */

void
lsh_condition_wait_make(struct lsh_condition_wait *w, const leash_condition *c, const leash_acquire *how)
{
	int64_t now = lsh_now_ns();

	memset(w, 0, offsetof(struct lsh_condition_wait, why));
	lsh_monitor_init(&w->monitor);
	w->lock = c->lock;
	w->owner = lsh_handle_owner(c->lock);
	w->how = *how;
	w->reacquire_ms = c->reacquire_ms;
	w->place = lsh_permit_new(c->handle, LSH_NEED_SIGNAL);
	w->deadline = how->wait_ms == LEASH_FOREVER ? LSH_NEVER : lsh_after_ms(now, how->wait_ms);
	w->look_at = lsh_after_ms(now, c->recheck_ms);
	if (w->deadline < w->look_at)
		w->look_at = w->deadline;
}

bool
lsh_condition_wait_goes_on(struct lsh_condition_wait *w, struct lsh_outlook *outlook)
{
	static bool (*const steps[])(struct lsh_condition_wait *, struct lsh_outlook *) = {
		[LSH_BEGINS] = begins, [LSH_LINES_UP] = lines_up, [LSH_GIVES_UP] = gives_up, [LSH_STANDS] = stands,
		[LSH_LEAVES] = leaves, [LSH_TAKES_BACK] = takes_back,
	};

	while (w->step != LSH_IS_OVER) {
		outlook->source.host = NULL;
		if (steps[w->step](w, outlook))
			return true;
		lsh_source_drop(&outlook->source);
	}
	return false;
}

bool
lsh_condition_wait_has_news(void *arg)
{
	const struct lsh_condition_part *part = ((const struct lsh_condition_wait *)arg)->at;

	return atomic_load(&part->is_told) || atomic_load(&part->op.stirred) || lsh_op_is_canceled(&part->op);
}

void
lsh_condition_wait_end(struct lsh_condition_wait *w)
{
	if (w->place != NULL)
		lsh_handle_end(&w->place->handle);
}
