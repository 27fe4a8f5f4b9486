/* The calls that begin an operation, and do not wait for it. Each does what the call of the same name without _start
 * does. */
#include "client/loop.h"
#include "client/wait.h"

#include "base/error.h"
#include "base/thread.h"

#include <errno.h>

/* ---- what makes a hold ---- */

/* Checked. The owner is occupied until `end`. */
static leash_status
make_holder(leash_op **made, leash_lock *lock, leash_done_fn done, void *arg, leash_error *err)
{
	leash_status status = lsh_handle_occupy(lock, err);

	if (status != LEASH_OK)
		return status;
	status = lsh_handle_prepare_hold(lock, lock->owner, err);
	if (status == LEASH_OK)
		status = lsh_loop_make(made, lock, done, arg, err);
	if (status == LEASH_OK)
		(*made)->end = lsh_loop_vacate;
	else
		lsh_handle_vacate(lock->owner);
	return status;
}

static leash_status
make_acquire(leash_op **made, leash_lock *lock, const leash_acquire *a, leash_done_fn done, void *arg,
             leash_error *err)
{
	leash_status status = make_holder(made, lock, done, arg, err);

	if (status != LEASH_OK)
		return status;
	(*made)->op.deadline = lsh_handle_until(&(*made)->op, a->wait_ms);
	(*made)->op.wait_ms = a->wait_ms;
	(*made)->op.lease_ms = a->lease_ms;
	return LEASH_OK;
}

/* `token` is that of the caller until it has begun. */
static leash_status
make_adoption(leash_op **made, leash_lock *lock, const char *token, leash_done_fn done, void *arg, leash_error *err)
{
	leash_status status = lsh_handle_check_token(lock, token, err);

	if (status == LEASH_OK)
		status = make_holder(made, lock, done, arg, err);
	if (status == LEASH_OK)
		(*made)->op.token = token;
	return status;
}

leash_status
leash_lock_acquire_start(leash_lock *lock, const leash_acquire *how, leash_done_fn done, void *arg, leash_op **op,
                         leash_error *err)
{
	static const char call[] = "leash_lock_acquire_start";
	lsh_guarded();
	leash_status status = lsh_loop_check(lock, call, err);
	leash_acquire a;
	leash_op *o;

	if (status == LEASH_OK)
		status = lsh_loop_read_acquire(lock, &a, how, call, err);
	if (status == LEASH_OK)
		status = make_acquire(&o, lock, &a, done, arg, err);
	return status == LEASH_OK ? lsh_loop_begin(o, &lsh_acquiring, op, err) : status;
}

leash_status
leash_lock_adopt_start(leash_lock *lock, const char *token, leash_done_fn done, void *arg, leash_op **op,
                       leash_error *err)
{
	lsh_guarded();
	leash_status status = lsh_loop_check(lock, "leash_lock_adopt_start", err);
	leash_op *o;

	if (status == LEASH_OK)
		status = make_adoption(&o, lock, token, done, arg, err);
	return status == LEASH_OK ? lsh_loop_begin(o, &lsh_adopting, op, err) : status;
}

/* ---- what changes one ---- */

leash_status
leash_lock_upgrade_start(leash_lock *lock, leash_done_fn done, void *arg, leash_op **op, leash_error *err)
{
	static const char call[] = "leash_lock_upgrade_start";
	lsh_guarded();
	leash_status status = lsh_loop_check(lock, call, err);
	leash_op *o;

	if (status == LEASH_OK)
		status = lsh_handle_check_upgrade(lock, call, err);
	if (status == LEASH_OK)
		status = lsh_loop_make(&o, lock, done, arg, err);
	return status == LEASH_OK ? lsh_loop_begin(o, &lsh_upgrading, op, err) : status;
}

static leash_status
extend(leash_lock *lock, int64_t lease_ms, leash_done_fn done, void *arg, leash_op **op, const char *call,
       leash_error *err)
{
	leash_status status = lsh_loop_check(lock, call, err);
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

leash_status
leash_lock_extend_start(leash_lock *lock, int64_t lease_ms, leash_done_fn done, void *arg, leash_op **op,
                        leash_error *err)
{
	lsh_guarded();

	return extend(lock, lease_ms, done, arg, op, "leash_lock_extend_start", err);
}

/* There is no memory to tell anybody of it. */
static leash_status
release_untold(leash_lock *lock, leash_error *err)
{
	lsh_wait_let_go(lock);
	return lsh_handle_named(lock, lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "it is released in the background, and its "
	                                       "result is not reported: out of memory"), err);
}

leash_status
leash_lock_release_start(leash_lock *lock, leash_done_fn done, void *arg, leash_op **op, leash_error *err)
{
	lsh_guarded();
	leash_status status = lsh_loop_check(lock, "leash_lock_release_start", err);
	leash_op *o;

	if (status != LEASH_OK)
		return status;
	if (lsh_loop_make(&o, lock, done, arg, err) != LEASH_OK)
		return release_untold(lock, err);
	return lsh_loop_begin(o, &lsh_releasing, op, err);
}

/* ---- permits ---- */

static void
give_permit(leash_op *o)
{
	lsh_handle_vacate(o->op.owner);
	lsh_permit_made(o->permit, o->op.status, o->out);
}

/* Those that were made; unless `status` is LEASH_OK their op was not. */
static leash_status
begin_permit(leash_permit *permit, leash_status status, const struct lsh_op_verb *verb, leash_permit **out,
             leash_op *o, leash_op **op, leash_error *err)
{
	if (status != LEASH_OK)
		return lsh_permit_made(permit, status, out);
	o->permit = permit;
	o->out = out;
	o->end = give_permit;
	return lsh_loop_begin(o, verb, op, err);
}

leash_status
leash_semaphore_acquire_start(leash_semaphore *semaphore, int64_t count, const leash_acquire *how, leash_permit **out,
                              leash_done_fn done, void *arg, leash_op **op, leash_error *err)
{
	static const char call[] = "leash_semaphore_acquire_start";
	lsh_guarded();
	leash_status status = lsh_semaphore_is_there(semaphore, call, err);
	leash_permit *permit;
	leash_acquire a;
	leash_op *o = NULL;

	if (status == LEASH_OK)
		status = lsh_loop_read_acquire(semaphore->handle, &a, how, call, err);
	if (status == LEASH_OK)
		status = lsh_permit_make(&permit, semaphore, count, out, call, err);
	if (status != LEASH_OK)
		return status;
	status = make_acquire(&o, &permit->handle, &a, done, arg, err);
	return begin_permit(permit, status, &lsh_acquiring, out, o, op, err);
}

leash_status
leash_semaphore_adopt_start(leash_semaphore *semaphore, int64_t count, const char *token, leash_permit **out,
                            leash_done_fn done, void *arg, leash_op **op, leash_error *err)
{
	static const char call[] = "leash_semaphore_adopt_start";
	lsh_guarded();
	leash_status status = lsh_semaphore_is_there(semaphore, call, err);
	leash_permit *permit;
	leash_op *o = NULL;

	if (status == LEASH_OK)
		status = lsh_permit_make(&permit, semaphore, count, out, call, err);
	if (status != LEASH_OK)
		return status;
	status = make_adoption(&o, &permit->handle, token, done, arg, err);
	return begin_permit(permit, status, &lsh_adopting, out, o, op, err);
}

static leash_status
check_permit(const leash_permit *permit, const char *call, leash_error *err)
{
	if (permit == NULL)
		return lsh_fail(err, LEASH_INVALID, 0, "%s: the permit is NULL", call);
	return lsh_loop_check(&permit->handle, call, err);
}

leash_status
leash_permit_extend_start(leash_permit *permit, int64_t lease_ms, leash_done_fn done, void *arg, leash_op **op,
                          leash_error *err)
{
	static const char call[] = "leash_permit_extend_start";
	lsh_guarded();
	leash_status status = check_permit(permit, call, err);

	return status == LEASH_OK ? extend(&permit->handle, lease_ms, done, arg, op, call, err) : status;
}

static void
are_less(leash_op *o)
{
	if (o->op.status == LEASH_OK)
		o->permit->handle.extra->need = o->op.want.need;
}

leash_status
leash_permit_release_some_start(leash_permit *permit, int64_t count, leash_done_fn done, void *arg, leash_op **op,
                                leash_error *err)
{
	lsh_guarded();
	leash_status status = check_permit(permit, "leash_permit_release_some_start", err);
	uint32_t need = 0;
	leash_op *o;

	if (status == LEASH_OK)
		status = lsh_permit_less(&need, permit, count, err);
	if (status == LEASH_OK)
		status = lsh_loop_make(&o, &permit->handle, done, arg, err);
	if (status != LEASH_OK)
		return status;
	o->op.want.need = need;
	o->permit = permit;
	o->end = are_less;
	return lsh_loop_begin(o, &lsh_lessening, op, err);
}

static void
end_permit(leash_op *o)
{
	lsh_handle_end(&o->permit->handle);
}

leash_status
leash_permit_release_start(leash_permit *permit, leash_done_fn done, void *arg, leash_op **op, leash_error *err)
{
	lsh_guarded();
	leash_status status = check_permit(permit, "leash_permit_release_start", err);
	leash_op *o;

	if (permit == NULL)
		return status;
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

/* ---- gates ---- */

/* Nobody holds a gate: what was acquired is released at once, without waiting for that. */
static void
pass(leash_op *o)
{
	lsh_handle_vacate(o->op.owner);
	if (o->op.status == LEASH_OK)
		lsh_wait_let_go(&o->permit->handle);
	lsh_handle_end(&o->permit->handle);
}

static leash_status
begin_to_pass(const leash_lock *handle, const char *gate, const leash_acquire *how, leash_done_fn done, void *arg,
              leash_op **op, const char *call, leash_error *err)
{
	leash_permit *permit;
	leash_status status;
	leash_acquire a;
	leash_op *o;

	if (handle == NULL)
		return lsh_fail(err, LEASH_INVALID, 0, "%s: the %s is NULL", call, gate);
	status = lsh_handle_is_there(handle, call, err);
	if (status == LEASH_OK)
		status = lsh_loop_read_acquire(handle, &a, how, call, err);
	if (status != LEASH_OK)
		return status;
	a.lease_ms = 0;
	permit = lsh_permit_new(handle, handle->extra->need);
	if (permit == NULL)
		return lsh_wait_no_memory(handle, err);
	status = make_acquire(&o, &permit->handle, &a, done, arg, err);
	if (status != LEASH_OK) {
		lsh_handle_end(&permit->handle);
		return status;
	}
	o->permit = permit;
	o->end = pass;
	return lsh_loop_begin(o, &lsh_acquiring, op, err);
}

leash_status
leash_latch_await_start(leash_latch *latch, const leash_acquire *how, leash_done_fn done, void *arg, leash_op **op,
                        leash_error *err)
{
	lsh_guarded();

	return begin_to_pass((const leash_lock *)latch, "latch", how, done, arg, op, "leash_latch_await_start", err);
}

leash_status
leash_barrier_wait_start(leash_barrier *barrier, const leash_acquire *how, leash_done_fn done, void *arg, leash_op **op,
                         leash_error *err)
{
	lsh_guarded();

	return begin_to_pass((const leash_lock *)barrier, "barrier", how, done, arg, op, "leash_barrier_wait_start", err);
}
