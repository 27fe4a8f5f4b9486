/* Handles: what is checked when one is made and when it is used, and what can be told of its hold from memory. */
#include "client/handle.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/text.h"
#include "client/options.h"

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
	return lsh_client_check(lsh_client_of(lock), lsh_lock_shown(lock->lock), err);
}

leash_status
lsh_handle_check_lease(const leash_lock *lock, int64_t lease_ms, leash_error *err)
{
	return lsh_check_lease(lease_ms, lsh_client_of(lock)->uri.deployment == LSH_QUORUM ? lock->terms : NULL,
	                       lsh_lock_shown(lock->lock), err);
}

/* For a handle; most have those of their client. NULL: no memory. */
static struct lsh_terms *
keep(const struct lsh_terms *terms, struct lsh_terms *defaults)
{
	struct lsh_terms *own;

	if (memcmp(terms, defaults, sizeof *terms) == 0)
		return defaults;
	own = lsh_new(struct lsh_terms);
	if (own == NULL)
		return NULL;
	*own = *terms;
	atomic_init(&own->references, 1);
	return own;
}

leash_status
lsh_handle_new(leash_lock **out, leash_client *client, const char *name, const struct lsh_kind *kind,
               const leash_lock_options *options, leash_error *err)
{
	leash_lock *lock = lsh_new(leash_lock);
	struct lsh_terms terms;
	leash_status status;
	char shown[80];
	bool fair;

	if (lock == NULL)
		return lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "out of memory for a lock");
	lsh_show(shown, sizeof shown, name, strlen(name));
	status = lsh_lock_options_read(&terms, &fair, &lock->owner, options, &client->defaults,
	                               client->uri.deployment == LSH_QUORUM, shown, err);
	if (status == LEASH_OK && (lock->terms = keep(&terms, &client->defaults)) == NULL)
		status = lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "out of memory for a lock");
	if (status == LEASH_OK)
		status = lsh_lock_open(&lock->lock, client->engine, name, kind, fair, err);
	if (status != LEASH_OK) {
		lsh_terms_unref(lock->terms);
		lsh_free(lock);
		return status;
	}
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

/* May its memory be looked at? In a forked child what lies below may be locked by threads that are not here. */
static bool
is_usable(const leash_lock *lock)
{
	return lock != NULL && lsh_process_is(lsh_client_of(lock)->process);
}

void
leash_lock_free(leash_lock *lock)
{
	struct lsh_guard guard;
	leash_client *client;

	if (lock == NULL)
		return;
	client = lsh_client_of(lock);
	guard = lsh_enter();
	lsh_terms_unref(lock->terms);
	if (is_usable(lock)) {
		lsh_lock_close(lock->lock);
		lsh_client_unref(client);
	}
	lsh_owner_unref(lock->owner);
	lsh_free(lock);
	lsh_leave(guard);
}

/* ---- memory only ---- */

/* NULL: a thread that has nothing, as it never called. */
static leash_owner *
caller(const leash_lock *lock)
{
	struct lsh_thread *self;

	if (lock->owner != NULL)
		return lock->owner;
	self = lsh_self_if_known();
	return self != NULL ? &self->owner : NULL;
}

static int64_t
remaining(const leash_lock *lock)
{
	return is_usable(lock) ? lsh_remaining(lock->lock, caller(lock)) : 0;
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

unsigned
leash_lock_depth(const leash_lock *lock)
{
	struct lsh_guard guard = lsh_enter();
	unsigned depth = is_usable(lock) ? lsh_depth(lock->lock, caller(lock)) : 0;

	lsh_leave(guard);
	return depth;
}

uint64_t
leash_lock_fence(const leash_lock *lock)
{
	struct lsh_guard guard = lsh_enter();
	uint64_t fence = is_usable(lock) ? lsh_fence(lock->lock, caller(lock)) : 0;

	lsh_leave(guard);
	return fence;
}

size_t
leash_lock_token(const leash_lock *lock, char *out, size_t size)
{
	struct lsh_guard guard = lsh_enter();
	size_t n = 0;

	if (is_usable(lock) && (out != NULL || size == 0))
		n = lsh_token(lock->lock, caller(lock), out, size);
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
		lsh_alive(lock->lock, caller(lock));
	lsh_leave(guard);
}
