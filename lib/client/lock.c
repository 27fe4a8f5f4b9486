/* The public face of a lock: handles, and the checks that every call begins with. */
#include "client/lock.h"

#include "base/cancel.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/text.h"
#include "base/thread.h"
#include "client/options.h"
#include "admin/lock_line.h"
#include "client/wait.h"

#include <leash/takeover.h>

#include <errno.h>
#include <string.h>

leash_status
lsh_handle_check(const leash_lock *lock, const char *call, leash_error *err)
{
	if (lock == NULL)
		return lsh_fail(err, LEASH_INVALID, 0, "%s: the lock is NULL", call);
	if (lock->owner != NULL && atomic_load(&lock->owner->gone))
		return lsh_fail(err, LEASH_INVALID, 0, "lock '%s': %s: the owner of this handle was freed",
		                lsh_lock_shown(lock->lock), call);
	return lsh_client_check(lock->client, lsh_lock_shown(lock->lock), err);
}

/* Who calls. NULL: no memory; or, if it need not be made known, one that has nothing. */
static leash_owner *
caller(const leash_lock *lock, bool make_known)
{
	struct lsh_thread *self;

	if (lock->owner != NULL)
		return lock->owner;
	self = make_known ? lsh_self() : lsh_self_if_known();
	return self != NULL ? &self->owner : NULL;
}

static leash_status
no_memory(const leash_lock *lock, leash_error *err)
{
	return lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "lock '%s': out of memory", lsh_lock_shown(lock->lock));
}

/* May its memory be looked at? */
static bool
is_usable(const leash_lock *lock)
{
	return lock != NULL && lsh_process_is(lock->client->process);
}

/* On a quorum a server that was restarted without its data could give a lock away that a majority holds. So it must be
 * known for how long that one may be held. */
static leash_status
check_quorum(const leash_client *client, const struct lsh_terms *terms, bool fair, const char *shown, leash_error *err)
{
	if (client->uri.deployment != LSH_QUORUM)
		return LEASH_OK;
	if (fair)
		return lsh_fail(err, LEASH_UNSUPPORTED, 0,
		                "lock '%s': `fair` is not possible on a quorum: its servers have no common queue", shown);
	if (terms->safety.min_replicas > 0 || terms->safety.fsynced)
		return lsh_fail(err, LEASH_INVALID, 0,
		                "lock '%s': %s is not for a quorum, where a majority of the servers has each lock anyway",
		                shown, terms->safety.min_replicas > 0 ? "min_replicas" : "fsynced");
	if (terms->safety.restart_guard_ms == 0)
		return lsh_fail(err, LEASH_INVALID, 0,
		                "lock '%s': a quorum needs restart_guard_ms, the longest lease that anybody uses: for so long "
		                "a server does not count after a restart; give it in LEASH_LOCK_OPTIONS(), or as "
		                "restart_guard= in the URI", shown);
	return LEASH_OK;
}

/* Nor may a lease be longer than that. */
static leash_status
check_guard(const leash_client *client, const struct lsh_terms *terms, int64_t lease_ms, const char *shown,
            leash_error *err)
{
	if (client->uri.deployment != LSH_QUORUM || lease_ms <= terms->safety.restart_guard_ms)
		return LEASH_OK;
	return lsh_fail(err, LEASH_INVALID, 0,
	                "lock '%s': lease_ms is %lld, longer than restart_guard_ms, %lld: on a quorum that is at least the "
	                "longest lease that anybody uses", shown, (long long)lease_ms,
	                (long long)terms->safety.restart_guard_ms);
}

static leash_status
check_owner(const leash_owner *owner, const char *shown, leash_error *err)
{
	if (owner == NULL)
		return LEASH_OK;
	if (!lsh_process_is(owner->process))
		return lsh_fail(err, LEASH_FORKED, 0,
		                "lock '%s': the owner belongs to the parent process: make one in the child", shown);
	if (atomic_load(&owner->gone))
		return lsh_fail(err, LEASH_INVALID, 0, "lock '%s': the owner was freed", shown);
	return LEASH_OK;
}

leash_status
lsh_handle_new(leash_lock **out, leash_client *client, const char *name, const struct lsh_kind *kind,
               const leash_lock_options *options, leash_error *err)
{
	leash_lock *lock = lsh_new(leash_lock);
	leash_status status;
	char shown[80];
	bool fair;

	if (lock == NULL)
		return lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "out of memory for a lock");
	lsh_show(shown, sizeof shown, name, strlen(name));
	status = lsh_lock_options_read(&lock->terms, &fair, &lock->owner, options, &client->defaults, shown, err);
	if (status == LEASH_OK)
		status = check_quorum(client, &lock->terms, fair, shown, err);
	if (status == LEASH_OK)
		status = check_guard(client, &lock->terms, lock->terms.lease_ms, shown, err);
	if (status == LEASH_OK)
		status = check_owner(lock->owner, shown, err);
	if (status == LEASH_OK)
		status = lsh_lock_open(&lock->lock, client->engine, name, kind, fair, err);
	if (status != LEASH_OK) {
		lsh_free(lock);
		return status;
	}
	lock->client = client;
	lsh_client_retain(client);
	if (lock->owner != NULL)
		lsh_owner_retain(lock->owner);
	*out = lock;
	return LEASH_OK;
}

leash_status
leash_lock_new(leash_lock **out, leash_client *client, const char *name, const leash_lock_options *options,
               leash_error *err)
{
	static const char call[] = "leash_lock_new";
	size_t n = name != NULL ? strnlen(name, LEASH_NAME_MAX + 1) : 0;
	struct lsh_guard guard;
	leash_status status;

	if (out == NULL || client == NULL || name == NULL)
		return lsh_fail(err, LEASH_INVALID, 0, "%s: %s is NULL", call,
		                out == NULL ? "`out`" : client == NULL ? "the client" : "the name");
	if (n == 0)
		return lsh_fail(err, LEASH_INVALID, 0, "%s: the name is empty: it must have 1 to %d bytes", call,
		                LEASH_NAME_MAX);
	if (n > LEASH_NAME_MAX)
		return lsh_fail(err, LEASH_INVALID, 0, "%s: the name has more than %d bytes: it begins with '%.40s'", call,
		                LEASH_NAME_MAX, name);
	status = lsh_client_is_there(client, call, err);
	if (status != LEASH_OK)
		return status;
	guard = lsh_enter();
	status = lsh_handle_new(out, client, name, &lsh_mutex, options, err);
	lsh_leave(guard);
	return status;
}

void
leash_lock_free(leash_lock *lock)
{
	struct lsh_guard guard;

	if (lock == NULL)
		return;
	guard = lsh_enter();
	/* in a forked child what lies below may be locked by threads that are not here */
	if (is_usable(lock)) {
		lsh_lock_close(lock->lock);
		lsh_client_unref(lock->client);
	}
	lsh_owner_unref(lock->owner);
	lsh_terms_unref(&lock->terms);
	lsh_leave(guard);
}

/* One thread at a time makes holds for an owner: two would find that it has none, and make two. */
static leash_status
begin_for(const leash_lock *lock, leash_owner *owner, leash_error *err)
{
	if (owner == NULL)
		return no_memory(lock, err);
	if (lock->owner != NULL && atomic_exchange(&owner->busy, true))
		return lsh_fail(err, LEASH_INVALID, 0, "lock '%s': another thread acquires for its owner at this moment",
		                lsh_lock_shown(lock->lock));
	return LEASH_OK;
}

static leash_status
acquire(leash_lock *lock, int64_t wait_ms, int64_t lease_ms, leash_cancel *cancel, leash_error *err)
{
	struct lsh_guard guard = lsh_enter();
	leash_owner *owner = caller(lock, true);
	leash_status status = begin_for(lock, owner, err);

	if (status == LEASH_OK) {
		status = lsh_acquire(lock->lock, owner, &lock->terms, wait_ms, lease_ms, cancel, err);
		atomic_store(&owner->busy, false);
	}
	lsh_leave(guard);
	return status;
}

leash_status
leash_lock_acquire(leash_lock *lock, int64_t wait_ms, leash_error *err)
{
	leash_status status = lsh_handle_check(lock, "leash_lock_acquire", err);

	if (status == LEASH_OK)
		status = lsh_check_wait(wait_ms, lsh_lock_shown(lock->lock), err);
	return status == LEASH_OK ? acquire(lock, wait_ms, 0, NULL, err) : status;
}

leash_status
leash_lock_acquire_with(leash_lock *lock, const leash_acquire *how, leash_error *err)
{
	leash_status status = lsh_handle_check(lock, "leash_lock_acquire_with", err);
	leash_acquire a = {0};

	if (status == LEASH_OK)
		status = lsh_acquire_read(&a, how, lsh_lock_shown(lock->lock), err);
	if (status == LEASH_OK && a.cancel != NULL && !lsh_process_is(a.cancel->process))
		status = lsh_fail(err, LEASH_FORKED, 0,
		                  "lock '%s': the cancel belongs to the parent process: make one in the child",
		                  lsh_lock_shown(lock->lock));
	if (status == LEASH_OK)
		status = check_guard(lock->client, &lock->terms, a.lease_ms, lsh_lock_shown(lock->lock), err);
	return status == LEASH_OK ? acquire(lock, a.wait_ms, a.lease_ms, a.cancel, err) : status;
}

leash_status
leash_lock_release(leash_lock *lock, leash_error *err)
{
	leash_status status = lsh_handle_check(lock, "leash_lock_release", err);
	struct lsh_guard guard;

	if (status != LEASH_OK)
		return status;
	guard = lsh_enter();
	status = lsh_release(lock->lock, caller(lock, false), err);
	lsh_leave(guard);
	return status;
}

leash_status
leash_lock_extend(leash_lock *lock, int64_t lease_ms, leash_error *err)
{
	struct lsh_guard guard = lsh_enter();
	leash_status status = lsh_handle_check(lock, "leash_lock_extend", err);
	leash_owner *owner;

	if (status == LEASH_OK)
		status = lsh_check_lease(lease_ms, lsh_lock_shown(lock->lock), "lease_ms", err);
	if (status == LEASH_OK)
		status = check_guard(lock->client, &lock->terms, lease_ms, lsh_lock_shown(lock->lock), err);
	if (status == LEASH_OK) {
		owner = caller(lock, true);
		status = owner != NULL ? lsh_extend(lock->lock, owner, lease_ms, err) : no_memory(lock, err);
	}
	lsh_leave(guard);
	return status;
}

leash_status
leash_lock_adopt(leash_lock *lock, const char *token, leash_error *err)
{
	leash_status status = lsh_handle_check(lock, "leash_lock_adopt", err);
	struct lsh_guard guard;
	const char *wrong = "it is NULL";
	leash_owner *owner;

	if (status != LEASH_OK)
		return status;
	/* of its text no more is shown than that: it may be anything, a secret that was given in the wrong place */
	if (token == NULL || !lsh_token_is_one(token, strnlen(token, LEASH_TOKEN_MAX), &wrong))
		return lsh_fail(err, LEASH_INVALID, 0, "lock '%s': that is no owner token, \"<uuid>:<n>\": %s",
		                lsh_lock_shown(lock->lock), wrong);
	guard = lsh_enter();
	owner = caller(lock, true);
	status = begin_for(lock, owner, err);
	if (status == LEASH_OK) {
		status = lsh_adopt(lock->lock, owner, &lock->terms, token, err);
		atomic_store(&owner->busy, false);
	}
	lsh_leave(guard);
	return status;
}

leash_status
leash_lock_break(leash_lock *lock, leash_error *err)
{
	struct lsh_guard guard = lsh_enter();
	leash_status status = lsh_handle_check(lock, "leash_lock_break", err);

	if (status == LEASH_OK)
		status = lsh_break(lock->lock, err);
	lsh_leave(guard);
	return status;
}

bool
leash_lock_held(const leash_lock *lock)
{
	return is_usable(lock) && lsh_remaining(lock->lock, caller(lock, false)) > 0;
}

int64_t
leash_lock_remaining_ms(const leash_lock *lock)
{
	return is_usable(lock) ? lsh_remaining(lock->lock, caller(lock, false)) / INT64_C(1000000) : 0;
}

unsigned
leash_lock_depth(const leash_lock *lock)
{
	struct lsh_guard guard = lsh_enter();
	unsigned depth = is_usable(lock) ? lsh_depth(lock->lock, caller(lock, false)) : 0;

	lsh_leave(guard);
	return depth;
}

uint64_t
leash_lock_fence(const leash_lock *lock)
{
	struct lsh_guard guard = lsh_enter();
	uint64_t fence = is_usable(lock) ? lsh_fence(lock->lock, caller(lock, false)) : 0;

	lsh_leave(guard);
	return fence;
}

size_t
leash_lock_token(const leash_lock *lock, char *out, size_t size)
{
	struct lsh_guard guard = lsh_enter();
	size_t n = 0;

	if (is_usable(lock) && (out != NULL || size == 0))
		n = lsh_token(lock->lock, caller(lock, false), out, size);
	else if (out != NULL && size > 0)
		out[0] = '\0';
	lsh_leave(guard);
	return n;
}

void
leash_lock_alive(leash_lock *lock)
{
	struct lsh_guard guard = lsh_enter();

	if (is_usable(lock))
		lsh_alive(lock->lock, caller(lock, false));
	lsh_leave(guard);
}
