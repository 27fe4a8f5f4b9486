/* Conditions, and the calls that wait. What a wait does, and when, see condition_wait.c. */
#include "client/condition.h"

#include "admin/step.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"
#include "client/options.h"
#include "client/wait.h"

#include <string.h>

_Static_assert((int)LEASH_SIGNALS_MAX == LSH_NEED_COUNT_MAX, "what a signal can say");

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
		                "common queue in which to wait for a signal");
	if (lsh_handle_extra(lock)->need == LSH_NEED_READ)
		return lsh_fail(err, LEASH_INVALID, 0, "a condition needs an exclusive handle, and this one reads: use one "
		                "with LEASH_WRITE");
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

static void
stirred(void *thread)
{
	lsh_wait_wake(thread);
}

/* By this thread, unless there is no memory for it, or to be canceled. For an owner that is occupied. */
static leash_status
wait(const leash_condition *c, const leash_acquire *how, leash_error *err)
{
	struct lsh_backend *b = lsh_lock_resource(c->lock->lock)->backend;
	struct lsh_thread *self = lsh_self();
	struct lsh_seat *seat = NULL;
	struct lsh_condition_wait w;
	struct lsh_outlook outlook;

	lsh_condition_wait_make(&w, c, how);
	if (self != NULL && how->cancel != NULL)
		seat = lsh_cancel_sit(how->cancel, &self->parker);
	if (self != NULL && (how->cancel == NULL || seat != NULL)) {
		w.stirred = stirred;
		w.waiter = self;
		w.reader = &self->parker;
	}
	lsh_backend_enter(b);
	while (lsh_condition_wait_goes_on(&w, &outlook))
		lsh_wait_attend(&outlook, w.reader, lsh_condition_wait_has_news, &w);
	lsh_backend_leave(b);
	lsh_cancel_rise(seat);
	lsh_condition_wait_end(&w);
	if (w.status != LEASH_OK && err != NULL)
		*err = w.why;
	return w.status;
}

leash_status
leash_condition_wait_with(leash_condition *c, const leash_acquire *how, leash_error *err)
{
	static const char name[] = "leash_condition_wait";
	lsh_guarded();
	leash_acquire a;
	leash_status status;

	if (c == NULL)
		return lsh_fail(err, LEASH_INVALID, 0, "%s: the condition is NULL", name);
	status = lsh_handle_check_acquire(c->lock, &a, how, name, err);
	if (status == LEASH_OK)
		status = lsh_handle_occupy(c->lock, err);
	if (status != LEASH_OK)
		return status;
	status = wait(c, &a, err);
	lsh_handle_vacate(c->lock->owner);
	return status;
}

leash_status
leash_condition_wait(leash_condition *c, int64_t wait_ms, leash_error *err)
{
	return leash_condition_wait_with(c, LEASH_ACQUIRE(.wait_ms = wait_ms), err);
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
