/* Latches and barriers. A handle of one is a handle of a lock by another name, and to pass is to acquire: but nobody
 * holds a gate, so what was acquired is released at once, without waiting for that. */
#include "admin/inspect.h"
#include "admin/step.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "client/options.h"
#include "client/wait.h"

#include <leash/gate.h>

#include <string.h>

_Static_assert((int)LEASH_LATCH_MAX == LSH_NEED_LIMIT_MAX, "what a need can say");
_Static_assert((int)LEASH_BARRIER_MAX == LSH_NEED_PARTIES_MAX, "likewise");

/* ---- what both have in common ---- */

static leash_lock *
handle_of(const void *gate)
{
	return (leash_lock *)(uintptr_t)gate;
}

/* A lease of a day, so that no answer comes too late to count: who misses that he was let in is behind the others. */
static leash_status
gate_new(leash_lock **out, leash_client *client, const char *name, const struct lsh_kind *kind, enum lsh_gate gate,
         int64_t count, leash_error *err)
{
	bool is_latch = gate == LSH_LATCH;
	leash_status status;
	char shown[80];

	lsh_show(shown, sizeof shown, name, strlen(name));
	status = lsh_fail_about(err, lsh_check_range(count, 1, is_latch ? LEASH_LATCH_MAX : LEASH_BARRIER_MAX,
	                                             is_latch ? "the count" : "the number of parties", err),
	                        kind->name, shown);
	if (status != LEASH_OK)
		return status;
	if (client->uri.deployment == LSH_QUORUM)
		return lsh_fail(err, LEASH_UNSUPPORTED, 0, "%s '%s': a quorum has none: its servers have no common queue in "
		                "which to wait", kind->name, shown);
	status = lsh_handle_new(out, client, name, kind, LEASH_LOCK_OPTIONS(.lease_ms = LSH_ARRIVAL_MS, .no_renew = true),
	                        err);
	if (status == LEASH_OK)
		(*out)->extra->need = lsh_need_of(gate, (uint32_t)count);
	return status;
}

static leash_status
check(const leash_lock *handle, const char *what, const char *call, leash_error *err)
{
	if (handle == NULL)
		return lsh_fail(err, LEASH_INVALID, 0, "%s: the %s is NULL", call, what);
	return lsh_handle_check(handle, call, err);
}

static leash_status
pass(leash_lock *handle, const char *what, const leash_acquire *how, const char *call, leash_error *err)
{
	lsh_guarded();
	leash_status status = check(handle, what, call, err);
	leash_permit *permit = NULL;
	leash_acquire a;

	if (status == LEASH_OK)
		status = lsh_handle_read_acquire(handle, &a, how, err);
	if (status == LEASH_OK && (permit = lsh_permit_new(handle, handle->extra->need)) == NULL)
		status = lsh_wait_no_memory(handle, err);
	if (status != LEASH_OK)
		return status;
	a.lease_ms = 0;
	status = leash_lock_acquire_with(&permit->handle, &a, err);
	if (status == LEASH_OK)
		lsh_wait_let_go(&permit->handle);
	lsh_handle_end(&permit->handle);
	return status;
}

/* ---- latches ---- */

leash_status
leash_latch_new(leash_latch **out, leash_client *client, const char *name, int64_t count, leash_error *err)
{
	lsh_guarded();
	leash_status status = lsh_handle_check_new(out, client, name, "leash_latch_new", err);
	leash_lock *handle;

	if (status == LEASH_OK)
		status = gate_new(&handle, client, name, &lsh_latch, LSH_LATCH, count, err);
	if (status == LEASH_OK)
		*out = (leash_latch *)handle;
	return status;
}

void
leash_latch_free(leash_latch *latch)
{
	leash_lock_free(handle_of(latch));
}

leash_status
lsh_latch_token(char token[static LSH_TOKEN_SIZE], const leash_lock *handle, const char *party, leash_error *err)
{
	struct lsh_backend *b = lsh_lock_resource(handle->lock)->backend;
	size_t n = party != NULL ? strnlen(party, LEASH_NAME_MAX + 1) : 1;
	char uuid[LSH_UUID_SIZE + 1];

	if (n == 0 || n > LEASH_NAME_MAX)
		return lsh_handle_named(handle, lsh_fail(err, LEASH_INVALID, 0, "a party has a name of 1 to %d bytes",
		                                         LEASH_NAME_MAX), err);
	if (party == NULL)
		lsh_token_write(token, b->uuid, lsh_numbers_next(&b->numbers));
	else if (lsh_uuid_of(uuid, lsh_lock_name(handle->lock), party))
		lsh_token_write(token, uuid, 1);
	else
		return lsh_wait_no_memory(handle, err);
	return LEASH_OK;
}

leash_status
leash_latch_count_down(leash_latch *latch, const char *party, leash_error *err)
{
	lsh_guarded();
	leash_lock *handle = handle_of(latch);
	leash_status status = check(handle, "latch", "leash_latch_count_down", err);
	char token[LSH_TOKEN_SIZE];

	if (status == LEASH_OK)
		status = lsh_latch_token(token, handle, party, err);
	return status == LEASH_OK ? lsh_arrive(handle->lock, token, err) : status;
}

leash_status
leash_latch_arrived(leash_latch *latch, int64_t *arrived, leash_error *err)
{
	static const char call[] = "leash_latch_arrived";
	lsh_guarded();
	leash_lock *handle = handle_of(latch);
	leash_status status = check(handle, "latch", call, err);
	struct lsh_sight *found;

	if (status == LEASH_OK && arrived == NULL)
		status = lsh_handle_named(handle, lsh_fail(err, LEASH_INVALID, 0, "%s: `arrived` is NULL", call), err);
	if (status == LEASH_OK)
		status = lsh_inspect(&found, handle->lock, false, false, err);
	if (status != LEASH_OK)
		return status;
	if (found->info.kind == LEASH_KIND_LATCH || found->info.kind == LEASH_KIND_NONE)
		*arrived = found->info.out;
	else
		status = lsh_handle_named(handle, lsh_fail(err, LEASH_MISMATCH, 0, "the name is used as something else"), err);
	lsh_free(found);
	return status;
}

leash_status
leash_latch_break(leash_latch *latch, leash_error *err)
{
	lsh_guarded();
	leash_lock *handle = handle_of(latch);
	leash_status status = check(handle, "latch", "leash_latch_break", err);

	return status == LEASH_OK ? lsh_handle_break(handle, err) : status;
}

leash_status
leash_latch_await_with(leash_latch *latch, const leash_acquire *how, leash_error *err)
{
	return pass(handle_of(latch), "latch", how, "leash_latch_await_with", err);
}

leash_status
leash_latch_await(leash_latch *latch, int64_t wait_ms, leash_error *err)
{
	return pass(handle_of(latch), "latch", LEASH_ACQUIRE(.wait_ms = wait_ms), "leash_latch_await", err);
}

/* ---- barriers ---- */

leash_status
leash_barrier_new(leash_barrier **out, leash_client *client, const char *name, int64_t parties, leash_error *err)
{
	lsh_guarded();
	leash_status status = lsh_handle_check_new(out, client, name, "leash_barrier_new", err);
	leash_lock *handle;

	if (status == LEASH_OK)
		status = gate_new(&handle, client, name, &lsh_barrier, LSH_BARRIER, parties, err);
	if (status == LEASH_OK)
		*out = (leash_barrier *)handle;
	return status;
}

void
leash_barrier_free(leash_barrier *barrier)
{
	leash_lock_free(handle_of(barrier));
}

leash_status
leash_barrier_wait_with(leash_barrier *barrier, const leash_acquire *how, leash_error *err)
{
	return pass(handle_of(barrier), "barrier", how, "leash_barrier_wait_with", err);
}

leash_status
leash_barrier_wait(leash_barrier *barrier, int64_t wait_ms, leash_error *err)
{
	return pass(handle_of(barrier), "barrier", LEASH_ACQUIRE(.wait_ms = wait_ms), "leash_barrier_wait", err);
}
