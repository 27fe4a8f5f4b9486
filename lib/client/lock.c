/* Locks: the calls that may wait; and what can be told of a hold from memory. */
#include "client/handle.h"

#include "admin/inspect.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/text.h"
#include "client/options.h"
#include "client/wait.h"

#include <leash/readwrite.h>
#include <leash/takeover.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { RELEASE_WAIT_MAX_MS = 86400000 };

/* ---- life ---- */

leash_status
leash_lock_new(leash_lock **out, leash_client *client, const char *name, const leash_lock_options *options,
               leash_error *err)
{
	lsh_guarded();
	leash_status status = lsh_handle_check_new(out, client, name, "leash_lock_new", err);

	return status == LEASH_OK ? lsh_handle_new(out, client, name, &lsh_mutex, options, err) : status;
}

void
leash_lock_free(leash_lock *lock)
{
	lsh_guarded();

	if (lock == NULL)
		return;
	lsh_handle_end(lock);
	lsh_free(lock);
}

/* ---- acquiring ---- */

leash_status
lsh_handle_acquire(leash_lock *lock, const leash_acquire *how, leash_error *err)
{
	struct lsh_seat *seat = NULL;
	struct lsh_wait w;
	leash_status status = lsh_wait_make(&w, lock, err);

	if (status != LEASH_OK)
		return status;
	if (how->cancel != NULL && (seat = lsh_cancel_sit(how->cancel, &w.thread->parker)) == NULL)
		return lsh_wait_no_memory(lock, err);
	w.op.deadline = lsh_handle_until(&w.op, how->wait_ms);
	w.op.cancel = how->cancel;
	w.op.wait_ms = how->wait_ms;
	w.op.lease_ms = how->lease_ms;
	status = lsh_handle_prepare_hold(lock, w.op.owner, err);
	if (status == LEASH_OK)
		status = lsh_wait_run(&w, &lsh_acquiring, err);
	lsh_cancel_rise(seat);
	return status;
}

static leash_status
check_and_acquire(leash_lock *lock, const leash_acquire *how, const char *call, leash_error *err)
{
	lsh_guarded();
	leash_acquire a;
	leash_status status = lsh_handle_check_acquire(lock, &a, how, call, err);

	if (status == LEASH_OK)
		status = lsh_handle_occupy(lock, err);
	if (status != LEASH_OK)
		return status;
	status = lsh_handle_acquire(lock, &a, err);
	lsh_handle_vacate(lock->owner);
	return status;
}

leash_status
leash_lock_acquire(leash_lock *lock, int64_t wait_ms, leash_error *err)
{
	return check_and_acquire(lock, LEASH_ACQUIRE(.wait_ms = wait_ms), "leash_lock_acquire", err);
}

leash_status
leash_lock_acquire_with(leash_lock *lock, const leash_acquire *how, leash_error *err)
{
	return check_and_acquire(lock, how, "leash_lock_acquire_with", err);
}

/* Of its text no more is shown than what is wrong: it may be anything, a secret that was given in the wrong place. */
leash_status
lsh_handle_check_token(const leash_lock *lock, const char *token, leash_error *err)
{
	const char *wrong = "it is NULL";
	leash_status status = LEASH_OK;

	if (token == NULL || !lsh_token_is_one(token, strnlen(token, LEASH_TOKEN_MAX), &wrong))
		status = lsh_fail(err, LEASH_INVALID, 0, "that is not an owner token, \"<uuid>:<n>\": %s", wrong);
	else if (memcmp(token, lsh_lock_resource(lock->lock)->backend->uuid, LSH_UUID_SIZE) == 0)
		status = lsh_fail(err, LEASH_INVALID, 0,
		                  "that token is one of this client's own: share the handle's owner instead");
	return lsh_handle_named(lock, status, err);
}

leash_status
leash_lock_adopt(leash_lock *lock, const char *token, leash_error *err)
{
	lsh_guarded();
	leash_status status = lsh_handle_check(lock, "leash_lock_adopt", err);
	struct lsh_wait w;

	if (status == LEASH_OK)
		status = lsh_handle_check_token(lock, token, err);
	if (status == LEASH_OK)
		status = lsh_handle_occupy(lock, err);
	if (status != LEASH_OK)
		return status;
	status = lsh_wait_make(&w, lock, err);
	w.op.token = token;
	if (status == LEASH_OK)
		status = lsh_handle_prepare_hold(lock, w.op.owner, err);
	if (status == LEASH_OK)
		status = lsh_wait_run(&w, &lsh_adopting, err);
	lsh_handle_vacate(lock->owner);
	return status;
}

/* ---- the others ---- */

leash_status
leash_lock_release(leash_lock *lock, leash_error *err)
{
	lsh_guarded();
	leash_status status = lsh_handle_check(lock, "leash_lock_release", err);
	struct lsh_wait w;

	if (status != LEASH_OK)
		return status;
	lsh_wait_make(&w, lock, NULL); /* without memory it is released all the same, in the background */
	return lsh_wait_run(&w, &lsh_releasing, err);
}

leash_status
leash_lock_release_within(leash_lock *lock, int64_t wait_ms, leash_error *err)
{
	static const char call[] = "leash_lock_release_within";
	lsh_guarded();
	leash_status status = lsh_handle_check(lock, call, err);
	struct lsh_wait w;

	if (status == LEASH_OK)
		status = lsh_handle_named(lock, lsh_check_range(wait_ms, 0, RELEASE_WAIT_MAX_MS, "wait_ms", err), err);
	if (status != LEASH_OK)
		return status;
	lsh_wait_make(&w, lock, NULL);
	w.op.nowait = wait_ms == 0;
	w.op.waits = wait_ms > 0;
	w.op.deadline = lsh_after_ms(w.op.began, wait_ms);
	return lsh_wait_run(&w, &lsh_releasing, err);
}

leash_status
lsh_handle_check_upgrade(const leash_lock *lock, const char *call, leash_error *err)
{
	if (lsh_handle_extra(lock)->need == LSH_NEED_WRITE)
		return LEASH_OK;
	return lsh_handle_named(lock, lsh_fail(err, LEASH_INVALID, 0,
	                        "%s: its handle does not write: make one with LEASH_WRITE", call), err);
}

leash_status
leash_lock_upgrade(leash_lock *lock, leash_error *err)
{
	static const char call[] = "leash_lock_upgrade";
	lsh_guarded();
	leash_status status = lsh_handle_check(lock, call, err);
	struct lsh_wait w;

	if (status == LEASH_OK)
		status = lsh_handle_check_upgrade(lock, call, err);
	if (status != LEASH_OK || (status = lsh_wait_make(&w, lock, err)) != LEASH_OK)
		return status;
	return lsh_wait_run(&w, &lsh_upgrading, err);
}

leash_status
leash_lock_extend(leash_lock *lock, int64_t lease_ms, leash_error *err)
{
	lsh_guarded();
	leash_status status = lsh_handle_check(lock, "leash_lock_extend", err);
	struct lsh_wait w;

	if (status == LEASH_OK)
		status = lsh_handle_check_lease(lock, lease_ms, err);
	if (status != LEASH_OK || (status = lsh_wait_make(&w, lock, err)) != LEASH_OK)
		return status;
	w.op.lease_ms = lease_ms;
	return lsh_wait_run(&w, &lsh_extending, err);
}

static uint32_t
need_of(const leash_hold_info *hold)
{
	if (hold->count < 0)
		return LSH_NEED_SIGNAL;
	return hold->count > 0 ? lsh_need((uint32_t)hold->count, (uint32_t)hold->limit) : LSH_NEED_WRITE;
}

/* Each of those who were found to have it. */
static leash_status
break_holds(leash_lock *lock, const struct lsh_sight *found, leash_error *err)
{
	bool is_mutex = (lsh_lock_resource(lock->lock)->kind->flags & LSH_SHARED) == 0;
	leash_error why = {0};
	struct lsh_wait w;

	if (found->count == 0)
		return lsh_handle_named(lock, lsh_fail(err, LEASH_NOT_HELD, 0, "nobody has it"), err);
	if (is_mutex != (found->info.kind == LEASH_KIND_MUTEX))
		return lsh_handle_named(lock, lsh_fail(err, LEASH_MISMATCH, 0, "what is held there is of another kind"), err);
	for (size_t i = 0; i < found->count; i++) {
		const leash_hold_info *hold = &found->hold[i];

		if (lsh_wait_make(&w, lock, err) != LEASH_OK)
			return LEASH_NO_MEMORY;
		w.op.token = hold->who.token;
		if (found->info.kind == LEASH_KIND_LATCH)
			w.op.want.need = lsh_need_of(LSH_ARRIVED, 0);
		else if (!is_mutex)
			w.op.want.need = need_of(hold);
		if (lsh_wait_run(&w, &lsh_breaking, &why) == LEASH_OK)
			continue;
		if (found->count == 1)
			return lsh_fail(err, why.status, why.sys_errno, "%s", why.text);
		return lsh_fail(err, why.status, why.sys_errno, "%zu of %zu holds were broken, then: %s", i, found->count,
		                why.text); /* which may be cut off */
	}
	return LEASH_OK;
}

leash_status
lsh_handle_break(leash_lock *lock, leash_error *err)
{
	struct lsh_sight *found;
	leash_status status = lsh_inspect(&found, lock->lock, true, false, err);

	if (status != LEASH_OK)
		return status;
	status = break_holds(lock, found, err);
	lsh_free(found);
	return status;
}

leash_status
leash_lock_break(leash_lock *lock, leash_error *err)
{
	lsh_guarded();
	leash_status status = lsh_handle_check(lock, "leash_lock_break", err);

	return status == LEASH_OK ? lsh_handle_break(lock, err) : status;
}

/* ---- memory only ---- */

static int64_t
remaining(const leash_lock *lock)
{
	if (!lsh_handle_is_usable(lock))
		return 0;
	return lsh_remaining(lock->lock, lsh_handle_owner(lock), lsh_handle_extra(lock)->need);
}

bool
leash_lock_held(const leash_lock *lock)
{
	return remaining(lock) > 0;
}

int64_t
leash_lock_remaining_ms(const leash_lock *lock)
{
	return remaining(lock) / LSH_MS;
}

static struct lsh_view
look(const leash_lock *lock)
{
	lsh_guarded();
	struct lsh_view view = {0};

	if (lsh_handle_is_usable(lock))
		lsh_lock_view(lock->lock, lsh_handle_owner(lock), lsh_handle_extra(lock)->need, &view);
	return view;
}

unsigned
leash_lock_depth(const leash_lock *lock)
{
	return look(lock).depth;
}

uint64_t
leash_lock_fence(const leash_lock *lock)
{
	return look(lock).fence;
}

size_t
leash_lock_token(const leash_lock *lock, char *out, size_t size)
{
	struct lsh_view view;

	if (out == NULL && size > 0)
		return 0;
	view = look(lock);
	if (size > 0)
		snprintf(out, size, "%s", view.token);
	return strlen(view.token);
}

void
leash_lock_alive(leash_lock *lock)
{
	lsh_guarded();

	if (lsh_handle_is_usable(lock))
		lsh_alive(lock->lock, lsh_handle_owner(lock));
}

/* These never change, so a forked child may look. */

const char *
leash_lock_name(const leash_lock *lock)
{
	return lock != NULL ? lsh_lock_name(lock->lock) : NULL;
}

leash_client *
leash_lock_client(const leash_lock *lock)
{
	return lock != NULL ? lsh_client_of(lock) : NULL;
}
