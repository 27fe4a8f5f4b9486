/* The calls that begin an operation, and do not wait for it. Each does what the call of the same name without _start
 * does. */
#include "client/loop.h"
#include "client/wait.h"

#include "base/error.h"
#include "base/thread.h"

#include <errno.h>

static leash_status
check(const leash_lock *lock, const char *call, leash_error *err)
{
	leash_status status = lsh_handle_is_there(lock, call, err);

	if (status != LEASH_OK || lock->owner != NULL)
		return status;
	status = lsh_fail(err, LEASH_INVALID, 0, "%s: its handle has no owner, and a thread cannot be one here, as the "
	                  "operation may end on another: make it with .owner", call);
	return lsh_handle_named(lock, status, err);
}

/* ---- acquiring ---- */

static void
vacate(leash_op *o)
{
	lsh_handle_vacate(o->op.owner);
	if (o->op.status == LEASH_OK && atomic_load(&o->op.owner->gone))
		lsh_clients_abandon(o->op.owner, "its owner was freed");
}

static leash_status
check_acquire(const leash_lock *lock, leash_acquire *a, const leash_acquire *how, const char *call, leash_error *err)
{
	leash_status status = lsh_handle_read_acquire(lock, a, how, err);

	if (status != LEASH_OK || a->cancel == NULL)
		return status;
	status = lsh_fail(err, LEASH_INVALID, 0, "%s: it takes no `cancel`: use leash_op_cancel()", call);
	return lsh_handle_named(lock, status, err);
}

/* Checked. The owner is occupied until `end`. */
static leash_status
acquire(leash_op **made, leash_lock *lock, const leash_acquire *a, leash_done_fn done, void *arg, leash_error *err)
{
	leash_status status = lsh_handle_named(lock, lsh_handle_occupy(lock->owner, err), err);
	leash_op *o = NULL;

	if (status != LEASH_OK)
		return status;
	status = lsh_handle_prepare_hold(lock, lock->owner, err);
	if (status == LEASH_OK)
		status = lsh_loop_make(&o, lock, done, arg, err);
	if (status != LEASH_OK) {
		lsh_handle_vacate(lock->owner);
		return status;
	}
	o->op.deadline = lsh_handle_until(&o->op, a->wait_ms);
	o->op.wait_ms = a->wait_ms;
	o->op.lease_ms = a->lease_ms;
	o->end = vacate;
	*made = o;
	return LEASH_OK;
}

leash_status
leash_lock_acquire_start(leash_lock *lock, const leash_acquire *how, leash_done_fn done, void *arg, leash_op **op,
                         leash_error *err)
{
	static const char call[] = "leash_lock_acquire_start";
	lsh_guarded();
	leash_status status = check(lock, call, err);
	leash_acquire a;
	leash_op *o;

	if (status == LEASH_OK)
		status = check_acquire(lock, &a, how, call, err);
	if (status == LEASH_OK)
		status = acquire(&o, lock, &a, done, arg, err);
	return status == LEASH_OK ? lsh_loop_begin(o, &lsh_acquiring, op, err) : status;
}

/* ---- others ---- */

/* There is no memory to tell anybody of it. */
static leash_status
release_untold(leash_lock *lock, leash_error *err)
{
	lsh_wait_let_go(lock);
	return lsh_handle_named(lock, lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "it is released in the background, and what "
	                                       "comes of it is not told: out of memory"), err);
}

leash_status
leash_lock_release_start(leash_lock *lock, leash_done_fn done, void *arg, leash_op **op, leash_error *err)
{
	lsh_guarded();
	leash_status status = check(lock, "leash_lock_release_start", err);
	leash_op *o;

	if (status != LEASH_OK)
		return status;
	if (lsh_loop_make(&o, lock, done, arg, err) != LEASH_OK)
		return release_untold(lock, err);
	return lsh_loop_begin(o, &lsh_releasing, op, err);
}

leash_status
leash_lock_extend_start(leash_lock *lock, int64_t lease_ms, leash_done_fn done, void *arg, leash_op **op,
                        leash_error *err)
{
	lsh_guarded();
	leash_status status = check(lock, "leash_lock_extend_start", err);
	leash_op *o;

	if (status == LEASH_OK)
		status = lsh_handle_check_lease(lock, lease_ms, err);
	if (status == LEASH_OK)
		status = lsh_loop_make(&o, lock, done, arg, err);
	if (status != LEASH_OK)
		return status;
	o->op.lease_ms = lease_ms;
	return lsh_loop_begin(o, &lsh_extending, op, err);
}

/* ---- permits ---- */

static void
give_permit(leash_op *o)
{
	lsh_handle_vacate(o->op.owner);
	lsh_permit_made(o->permit, o->op.status, o->out);
}

leash_status
leash_semaphore_acquire_start(leash_semaphore *semaphore, int64_t count, const leash_acquire *how, leash_permit **out,
                              leash_done_fn done, void *arg, leash_op **op, leash_error *err)
{
	static const char call[] = "leash_semaphore_acquire_start";
	lsh_guarded();
	leash_status status = lsh_semaphore_is_there(semaphore, call, err);
	leash_permit *permit = NULL;
	leash_acquire a;
	leash_op *o;

	if (status == LEASH_OK)
		status = check_acquire(semaphore->handle, &a, how, call, err);
	if (status == LEASH_OK)
		status = lsh_permit_make(&permit, semaphore, count, out, call, err);
	if (status == LEASH_OK)
		status = acquire(&o, &permit->handle, &a, done, arg, err);
	if (status != LEASH_OK)
		return permit != NULL ? lsh_permit_made(permit, status, out) : status;
	o->permit = permit;
	o->out = out;
	o->end = give_permit;
	return lsh_loop_begin(o, &lsh_acquiring, op, err);
}

static void
end_permit(leash_op *o)
{
	lsh_handle_end(&o->permit->handle);
}

leash_status
leash_permit_release_start(leash_permit *permit, leash_done_fn done, void *arg, leash_op **op, leash_error *err)
{
	static const char call[] = "leash_permit_release_start";
	lsh_guarded();
	leash_status status;
	leash_op *o;

	if (permit == NULL)
		return lsh_fail(err, LEASH_INVALID, 0, "%s: the permit is NULL", call);
	status = check(&permit->handle, call, err);
	if (status == LEASH_OK && lsh_loop_make(&o, &permit->handle, done, arg, err) == LEASH_OK) {
		o->permit = permit;
		o->end = end_permit;
		return lsh_loop_begin(o, &lsh_releasing, op, err);
	}
	if (status == LEASH_OK)
		status = release_untold(&permit->handle, err);
	if (status != LEASH_FORKED)
		lsh_handle_end(&permit->handle);
	return status;
}
