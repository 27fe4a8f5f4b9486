/* Conditions. A condition is a queue of its own (kind/condition.c). Who waits stands in it before it gives the lock up,
 * so that no signal is missed in between:
 *
 *   LINE UP --it has a place--> GIVE UP the lock --> WAIT --signaled, the place is lost, time to look--> TAKE it BACK
 *      |                           +--it was lost--> the answer
 *      +--signaled already, the time is over, canceled--> the answer; the lock was held all the time
 *
 * A place that is lost, with a server's data or because the server took us for dead, may have been signaled: so that
 * ends the wait. And so does one that is had only after the lock was given up, because the server did not answer. The
 * place is acquired as a permit is, with an owner of its own. */
#include "client/wait.h"

#include "admin/step.h"
#include "base/error.h"
#include "base/memory.h"
#include "client/options.h"

#include <leash/condition.h>

#include <errno.h>
#include <string.h>

_Static_assert((int)LEASH_SIGNALS_MAX == LSH_NEED_COUNT_MAX, "what a signal can say");

struct leash_condition {
	leash_lock *lock;   /* that it is of: the caller's */
	leash_lock *handle; /* of its queue */
	int64_t recheck_ms, reacquire_ms;
};

/* Of what a signal lets in, which is of use to nobody: it has no events, and waits for nothing. */
static struct lsh_terms plain = {.lease_ms = 30000};

/* ---- life ---- */

void
leash_condition_free(leash_condition *c)
{
	lsh_guarded();

	if (c == NULL)
		return;
	leash_lock_free(c->handle);
	lsh_free(c);
}

static leash_status
check_lock(const leash_lock *lock, leash_error *err)
{
	if (lsh_client_of(lock)->uri.deployment == LSH_QUORUM)
		return lsh_fail(err, LEASH_UNSUPPORTED, 0, "a condition is not possible on a quorum: its servers have no "
		                "common queue, in which to wait for a signal");
	if (lsh_handle_extra(lock)->need == LSH_NEED_READ)
		return lsh_fail(err, LEASH_INVALID, 0, "a condition is of a lock that excludes all others, and its handle is "
		                "to read: take one with LEASH_WRITE");
	return LEASH_OK;
}

/* "<lock>?<name>": as `name` has no ?, no other condition is called so. */
static leash_status
make_name(char out[static LEASH_NAME_MAX + 1], const leash_lock *lock, const char *name, leash_error *err)
{
	const char *of = lsh_lock_name(lock->lock);

	if (strchr(name, '?') != NULL)
		return lsh_fail(err, LEASH_INVALID, 0, "the name of a condition must not have a '?'");
	if (strlen(of) + 1 + strlen(name) > LEASH_NAME_MAX)
		return lsh_fail(err, LEASH_INVALID, 0, "the names of a condition and its lock must not have more than %d bytes",
		                LEASH_NAME_MAX - 1);
	stpcpy(stpcpy(stpcpy(out, of), "?"), name);
	return LEASH_OK;
}

leash_status
leash_condition_new(leash_condition **out, leash_lock *lock, const char *name, const leash_condition_options *options,
                    leash_error *err)
{
	static const char call[] = "leash_condition_new";
	lsh_guarded();
	char whole[LEASH_NAME_MAX + 1];
	leash_condition_options o;
	leash_condition *c;
	leash_status status;

	if (lock == NULL)
		return lsh_fail(err, LEASH_INVALID, 0, "%s: the lock is NULL", call);
	status = lsh_handle_check_new(out, lsh_client_of(lock), name, call, err);
	if (status != LEASH_OK)
		return status;
	status = check_lock(lock, err);
	if (status == LEASH_OK)
		status = make_name(whole, lock, name, err);
	if (status == LEASH_OK)
		status = lsh_condition_options_read(&o, options, lock->terms, err);
	if (status != LEASH_OK)
		return lsh_handle_named(lock, status, err);
	c = lsh_new(leash_condition);
	if (c == NULL)
		return lsh_wait_no_memory(lock, err);
	*c = (leash_condition){.lock = lock, .recheck_ms = o.recheck_ms, .reacquire_ms = o.reacquire_ms};
	status = lsh_handle_new(&c->handle, lsh_client_of(lock), whole, &lsh_condition, NULL, err);
	if (status == LEASH_OK)
		*out = c;
	else
		leash_condition_free(c);
	return status;
}

/* ---- waiting ---- */

/* One call. */
struct call {
	const leash_condition *c;
	const leash_acquire *how;
	leash_permit *place; /* in its queue */
	leash_owner *owner; /* of the lock, */
	unsigned depth;     /* which it had so deep */
	int64_t deadline;   /* of the wait, */
	int64_t look_at;    /* which ends before it to look again, or with it */
	struct lsh_wait wait;
};

static bool
is_held(const struct call *call)
{
	const leash_lock *lock = call->c->lock;

	return lsh_remaining(lock->lock, call->owner, lsh_handle_extra(lock)->need) > 0;
}

/* Until it has a place, or is done. The lock is held meanwhile: so if the server does not answer nobody waits longer
 * for that than for any answer. Returns the place; 0: it is not known to have one. */
static uint64_t
line_up(struct call *call)
{
	struct lsh_wait *w = &call->wait;
	int64_t until = lsh_after(w->op.began, 2 * lsh_lock_resource(w->op.lock)->backend->options.timeout);

	lsh_wait_begin(w, &lsh_acquiring);
	lsh_wait_in_place(w, 0, until);
	return w->waits ? w->outlook.place : 0;
}

static leash_status
give_up(const struct call *call, leash_error *err)
{
	leash_status status = LEASH_OK;

	for (unsigned i = 0; i < call->depth; i++) {
		struct lsh_wait w;

		lsh_wait_make(&w, call->c->lock, NULL); /* without memory it is released in the background */
		w.op.waits = true; /* a loss ends the call */
		status = lsh_wait_run(&w, &lsh_releasing, err);
	}
	return status;
}

/* As deep as it was, or not at all. */
static leash_status
take_back(const struct call *call, leash_error *err)
{
	const leash_acquire how = {.wait_ms = call->c->reacquire_ms, .lease_ms = call->how->lease_ms};
	struct call had = {.c = call->c};
	leash_status status = LEASH_OK;

	while (had.depth < call->depth && status == LEASH_OK) {
		status = lsh_handle_acquire(call->c->lock, &how, err);
		had.depth += status == LEASH_OK;
	}
	if (status == LEASH_OK)
		return LEASH_OK;
	give_up(&had, NULL);
	if (status == LEASH_TIMEOUT)
		status = lsh_fail_about(err, LEASH_UNAVAILABLE, "not acquired again", NULL);
	return status;
}

/* It stands in line no more. OK: it was signaled, or may have been, or is to look again. */
static leash_status
leave(struct call *call, leash_error *err)
{
	struct lsh_wait *w = &call->wait;
	int64_t now = lsh_now_ns();
	leash_status status;

	if (!lsh_wait_is_done(w))
		lsh_op_leave(&w->op);
	status = lsh_wait_end(w, err);
	if (status == LEASH_OK)
		lsh_wait_let_go(&call->place->handle);
	if (status == LEASH_UNAVAILABLE && now >= call->look_at)
		status = lsh_fail_about(err, LEASH_TIMEOUT, "no signal came in time", NULL);
	if ((status == LEASH_TIMEOUT && now < call->deadline) ||
	    (status == LEASH_CANCELED && !leash_cancel_is_fired(call->how->cancel)) || status == LEASH_UNKNOWN)
		status = LEASH_OK;
	return status;
}

static bool
is_end_of_wait(leash_status status)
{
	return status == LEASH_OK || status == LEASH_TIMEOUT || status == LEASH_CANCELED;
}

static leash_status
wait(struct call *call, leash_error *err)
{
	struct lsh_wait *w = &call->wait;
	uint64_t place = line_up(call);
	leash_status status, back;
	leash_error why;

	if (lsh_wait_is_done(w) && is_held(call)) {
		status = leave(call, err);
		if (!is_end_of_wait(status))
			give_up(call, NULL);
		return status;
	}
	status = give_up(call, err);
	if (status == LEASH_LOST || status == LEASH_NOT_HELD) {
		leave(call, NULL);
		return status;
	}
	lsh_wait_in_place(w, place, LSH_NEVER);
	status = leave(call, &why);
	if (is_end_of_wait(status) && (back = take_back(call, err)) != LEASH_OK)
		return back;
	if (status != LEASH_OK && err != NULL)
		*err = why;
	return status;
}

/* With a place for it, unless there is no memory. */
static leash_status
run(struct call *call, leash_error *err)
{
	const leash_condition *c = call->c;
	leash_permit *place = call->place;
	struct lsh_wait *w = &call->wait;
	struct lsh_seat *seat = NULL;
	leash_status status = place != NULL ? lsh_wait_make(w, &place->handle, err) : lsh_wait_no_memory(c->handle, err);

	if (status == LEASH_OK && call->how->cancel != NULL &&
	    (seat = lsh_cancel_sit(call->how->cancel, &w->thread->parker)) == NULL)
		status = lsh_wait_no_memory(c->handle, err);
	if (status != LEASH_OK) {
		give_up(call, NULL);
		return status;
	}
	call->deadline = lsh_handle_until(&w->op, call->how->wait_ms);
	w->op.terms = &plain;
	w->op.cancel = call->how->cancel;
	w->op.wait_ms = call->how->wait_ms;
	call->look_at = lsh_after_ms(w->op.began, c->recheck_ms);
	if (call->deadline < call->look_at)
		call->look_at = call->deadline;
	w->op.deadline = call->look_at;
	status = wait(call, err);
	lsh_cancel_rise(seat);
	return status;
}

/* With an owner that is occupied. */
static leash_status
look_and_run(struct call *call, leash_error *err)
{
	const leash_lock *lock = call->c->lock;
	struct lsh_view writes, reads;
	leash_status status;

	lsh_lock_view(lock->lock, call->owner, lsh_handle_extra(lock)->need, &writes);
	lsh_lock_view(lock->lock, call->owner, LSH_NEED_READ, &reads);
	call->depth = writes.depth;
	if (writes.depth == 0)
		return lsh_handle_named(lock, lsh_fail(err, LEASH_NOT_HELD, 0, "this owner does not hold it"), err);
	if (reads.depth > 0)
		return lsh_handle_named(lock, lsh_fail(err, LEASH_INVALID, 0, "this owner also reads it, and would keep "
		                                       "others out while it waits: release that first"), err);
	if (!writes.is_held)
		return give_up(call, err);
	if (call->how->wait_ms == 0)
		return lsh_handle_named(call->c->handle, lsh_fail(err, LEASH_TIMEOUT, 0, "no time to wait for a signal"), err);
	call->place = lsh_permit_new(call->c->handle, LSH_NEED_SIGNAL);
	status = run(call, err);
	if (call->place != NULL)
		lsh_handle_end(&call->place->handle);
	return status;
}

leash_status
leash_condition_wait_with(leash_condition *c, const leash_acquire *how, leash_error *err)
{
	static const char name[] = "leash_condition_wait";
	lsh_guarded();
	struct call call = {.c = c};
	leash_acquire a;
	leash_status status;

	if (c == NULL)
		return lsh_fail(err, LEASH_INVALID, 0, "%s: the condition is NULL", name);
	status = lsh_handle_check_acquire(c->lock, &a, how, name, err);
	if (status == LEASH_OK)
		status = lsh_handle_named(c->lock, lsh_handle_occupy(c->lock->owner, err), err);
	if (status != LEASH_OK)
		return status;
	call.how = &a;
	call.owner = lsh_handle_owner(c->lock);
	status = look_and_run(&call, err);
	lsh_handle_vacate(c->lock->owner);
	return status;
}

leash_status
leash_condition_wait(leash_condition *c, int64_t wait_ms, leash_error *err)
{
	return leash_condition_wait_with(c, LEASH_ACQUIRE(.wait_ms = wait_ms), err);
}

const leash_lock *
lsh_condition_queue(const leash_condition *c)
{
	return c->handle;
}

/* ---- waking ---- */

static leash_status
wake(leash_condition *c, int64_t most, const char *call, leash_error *err)
{
	lsh_guarded();
	leash_status status;

	if (c == NULL)
		return lsh_fail(err, LEASH_INVALID, 0, "%s: the condition is NULL", call);
	status = lsh_handle_check(c->handle, call, err);
	return status == LEASH_OK ? lsh_signal(c->handle->lock, most, err) : status;
}

leash_status
leash_condition_signal(leash_condition *c, leash_error *err)
{
	return wake(c, 1, "leash_condition_signal", err);
}

leash_status
leash_condition_broadcast(leash_condition *c, leash_error *err)
{
	return wake(c, LEASH_SIGNALS_MAX, "leash_condition_broadcast", err);
}
