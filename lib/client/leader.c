/* Leaders: what one proclaims, and the watches of others. A watch is a handle whose acquire is granted once the state
 * is another one than it knows; there is nothing on the server to release. */
#include "client/leader.h"

#include "admin/leader.h"

#include "admin/step.h"
#include "base/error.h"
#include "client/wait.h"

#include <stddef.h>
#include <string.h>

static leash_lock *
handle_of(const leash_watch *watch)
{
	return (leash_lock *)(uintptr_t)watch;
}

static leash_status
not_on_a_quorum(const leash_client *client, leash_error *err)
{
	if (client->uri.deployment != LSH_QUORUM)
		return LEASH_OK;
	return lsh_fail(err, LEASH_UNSUPPORTED, 0, "leaders cannot be watched on a quorum: no server could report a "
	                "change, and each might know another leader");
}

/* ---- the leader ---- */

static leash_status
check_value(const leash_lock *lock, const char *value, leash_error *err)
{
	size_t size = value != NULL ? strnlen(value, LEASH_VALUE_MAX + 1) : 0;

	if (value == NULL)
		return lsh_fail(err, LEASH_INVALID, 0, "the value is NULL");
	if (size < 1 || size > LEASH_VALUE_MAX)
		return lsh_fail(err, LEASH_INVALID, 0, "the value %s: it must have 1 to %d bytes",
		                size < 1 ? "is empty" : "is too long", LEASH_VALUE_MAX);
	if (lsh_lock_resource(lock->lock)->kind != &lsh_mutex)
		return lsh_fail(err, LEASH_INVALID, 0,
		                "its holder cannot proclaim a value: only a mutex of leash has leaders");
	return not_on_a_quorum(lsh_client_of(lock), err);
}

leash_status
lsh_leader_begin(leash_lock *lock, const char *value, struct lsh_view *view, leash_error *err)
{
	const leash_owner *owner = lsh_handle_owner(lock);
	leash_status status = lsh_handle_named(lock, check_value(lock, value, err), err);
	bool leads;

	if (status != LEASH_OK)
		return status;
	leads = lsh_lead(lock->lock, owner);
	lsh_lock_view(lock->lock, owner, 0, view);
	if (leads && view->is_held)
		return LEASH_OK;
	return lsh_handle_named(lock, view->depth > 0
		? lsh_fail(err, LEASH_LOST, 0, "it was lost while it was held")
		: lsh_fail(err, LEASH_NOT_HELD, 0, "this owner does not hold it"), err);
}

leash_status
lsh_leader_lost(struct lsh_lock *lock, const leash_owner *owner, const char *token, leash_error *err)
{
	lsh_lead_no_more(lock, owner, token);
	return lsh_fail(err, LEASH_LOST, 0, "lock '%s': the server did not have it any more", lsh_lock_shown(lock));
}

leash_status
leash_lock_proclaim(leash_lock *lock, const char *value, leash_error *err)
{
	lsh_guarded();
	leash_status status = lsh_handle_check(lock, "leash_lock_proclaim", err);
	struct lsh_view view;
	bool held;

	if (status == LEASH_OK)
		status = lsh_leader_begin(lock, value, &view, err);
	if (status != LEASH_OK)
		return status;
	status = lsh_proclaim(lock->lock, view.token, value, &held, err);
	return held ? status : lsh_leader_lost(lock->lock, lsh_handle_owner(lock), view.token, err);
}

/* ---- those who watch ---- */

leash_status
leash_watch_new(leash_watch **out, leash_client *client, const char *name, leash_error *err)
{
	lsh_guarded();
	leash_status status = lsh_handle_check_new(out, client, name, "leash_watch_new", err);
	leash_lock *handle;

	if (status == LEASH_OK)
		status = not_on_a_quorum(client, err);
	if (status == LEASH_OK)
		status = lsh_handle_new(&handle, client, name, &lsh_watch,
		                        LEASH_LOCK_OPTIONS(.fair = true, .no_renew = true), err);
	if (status == LEASH_OK)
		*out = (leash_watch *)handle;
	return status;
}

void
leash_watch_free(leash_watch *watch)
{
	leash_lock_free(handle_of(watch));
}

leash_status
lsh_watch_check(const leash_watch *watch, const leash_leader *leader, const char *call,
                leash_status (*check_handle)(const leash_lock *, const char *, leash_error *), leash_error *err)
{
	leash_status status;

	if (watch == NULL || leader == NULL)
		return lsh_fail(err, LEASH_INVALID, 0, "%s: %s is NULL", call, watch == NULL ? "the watch" : "`leader`");
	status = lsh_check_size(leader->size, offsetof(leash_leader, token), call, "leader", err);
	return status == LEASH_OK ? check_handle(handle_of(watch), call, err) : status;
}

static leash_status
look(leash_lock *handle, leash_leader *leader, leash_error *err)
{
	leash_leader found;
	leash_status status = lsh_leader(handle->lock, &found, &handle->extra->known, err);

	if (status == LEASH_OK)
		lsh_copy_out(leader, leader->size, &found, sizeof found);
	return status;
}

leash_status
leash_watch_next_with(leash_watch *watch, const leash_acquire *how, leash_leader *leader, leash_error *err)
{
	lsh_guarded();
	leash_lock *handle = handle_of(watch);
	leash_status status = lsh_watch_check(watch, leader, "leash_watch_next", lsh_handle_check, err);
	leash_acquire a = {0};
	int64_t before, left_ms, until;

	if (status == LEASH_OK)
		status = lsh_handle_read_acquire(handle, &a, how, err);
	if (status != LEASH_OK)
		return status;
	before = handle->extra->known;
	until = a.wait_ms != LEASH_FOREVER ? lsh_after_ms(lsh_now_ns(), a.wait_ms) : LSH_NEVER;
	do {
		status = leash_lock_acquire_with(handle, &a, err);
		if (status != LEASH_OK)
			return status;
		lsh_wait_let_go(handle);
		status = look(handle, leader, err);
		left_ms = (until - lsh_now_ns()) / LSH_MS;
		if (until != LSH_NEVER)
			a.wait_ms = left_ms > 0 ? left_ms : 0;
		/* it is as before again; or the server went away between the two */
	} while (status == LEASH_OK ? handle->extra->known == before : status == LEASH_UNAVAILABLE && left_ms > 0);
	return status;
}

leash_status
leash_watch_next(leash_watch *watch, int64_t wait_ms, leash_leader *leader, leash_error *err)
{
	return leash_watch_next_with(watch, LEASH_ACQUIRE(.wait_ms = wait_ms), leader, err);
}

leash_status
leash_watch_look(leash_watch *watch, leash_leader *leader, leash_error *err)
{
	lsh_guarded();
	leash_status status = lsh_watch_check(watch, leader, "leash_watch_look", lsh_handle_check, err);

	return status == LEASH_OK ? look(handle_of(watch), leader, err) : status;
}
