/* Semaphores. Permits that were acquired together are a hold of a shared kind. They have an owner of their own, so
 * whoever has the pointer has them; all else is what a handle of that owner does. */
#include "client/options.h"
#include "client/wait.h"

#include "admin/step.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/text.h"

#include <leash/semaphore.h>
#include <leash/takeover.h>

#include <errno.h>
#include <string.h>

enum { LIMIT_MAX_MS = 86400000 };

_Static_assert((int)LEASH_PERMITS_MAX == LSH_NEED_COUNT_MAX, "what a need can say");
_Static_assert((int)LEASH_SEMAPHORE_LIMIT_MAX == LSH_NEED_LIMIT_MAX, "likewise");

/* ---- semaphores ---- */

static leash_status
check_number(const char *shown, const char *what, int64_t value, int64_t least, int64_t most, leash_error *err)
{
	return lsh_fail_about(err, lsh_check_range(value, least, most, what, err), "semaphore", shown);
}

static leash_status
check(const leash_client *client, const char *name, int64_t limit, leash_error *err)
{
	char shown[80];
	leash_status status;

	lsh_show(shown, sizeof shown, name, strlen(name));
	status = check_number(shown, "the limit", limit, 1, LSH_NEED_LIMIT_MAX, err);
	if (status != LEASH_OK)
		return status;
	if (client->uri.deployment == LSH_QUORUM)
		return lsh_fail(err, LEASH_UNSUPPORTED, 0, "semaphore '%s': a quorum cannot count permits: each of its "
		                "servers counts for itself, and together they would let in more", shown);
	return LEASH_OK;
}

void
leash_semaphore_free(leash_semaphore *semaphore)
{
	lsh_guarded();

	if (semaphore == NULL)
		return;
	leash_lock_free(semaphore->handle);
	lsh_free(semaphore);
}

leash_status
leash_semaphore_new(leash_semaphore **out, leash_client *client, const char *name, int64_t limit,
                    const leash_lock_options *options, leash_error *err)
{
	lsh_guarded();
	leash_status status = lsh_handle_check_new(out, client, name, "leash_semaphore_new", err);
	leash_semaphore *semaphore;

	if (status == LEASH_OK)
		status = check(client, name, limit, err);
	if (status != LEASH_OK)
		return status;
	semaphore = lsh_new(leash_semaphore);
	if (semaphore == NULL)
		return lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "out of memory for a semaphore");
	semaphore->limit = (uint32_t)limit;
	status = lsh_handle_new(&semaphore->handle, client, name, &lsh_semaphore, options, err);
	if (status == LEASH_OK && semaphore->handle->owner != NULL)
		status = lsh_fail(err, LEASH_INVALID, 0, "semaphore '%s': permits have no owner: leave the option out",
		                  lsh_lock_shown(semaphore->handle->lock));
	if (status == LEASH_OK)
		*out = semaphore;
	else
		leash_semaphore_free(semaphore);
	return status;
}

leash_status
lsh_semaphore_is_there(const leash_semaphore *semaphore, const char *call, leash_error *err)
{
	if (semaphore == NULL)
		return lsh_fail(err, LEASH_INVALID, 0, "%s: the semaphore is NULL", call);
	return lsh_handle_is_there(semaphore->handle, call, err);
}

leash_status
lsh_semaphore_check(const leash_semaphore *semaphore, const char *call, leash_error *err)
{
	if (semaphore == NULL)
		return lsh_semaphore_is_there(semaphore, call, err);
	return lsh_handle_check(semaphore->handle, call, err);
}

/* ---- acquiring ---- */

leash_permit *
lsh_permit_new(const leash_lock *of, uint32_t need)
{
	leash_permit *permit = lsh_alloc(sizeof *permit + sizeof *permit->handle.extra);

	if (permit == NULL)
		return NULL;
	permit->owner.id = lsh_owner_id();
	permit->owner.process = lsh_process_id();
	atomic_init(&permit->owner.references, 1);
	lsh_client_retain(lsh_client_of(of));
	lsh_share(&of->terms->references);
	lsh_lock_open_again(of->lock);
	permit->handle = (leash_lock){.terms = of->terms, .lock = of->lock, .owner = &permit->owner};
	permit->handle.extra->need = need;
	return permit;
}

leash_status
lsh_permit_make(leash_permit **made, const leash_semaphore *semaphore, int64_t count, const void *out,
                const char *call, leash_error *err)
{
	leash_status status;
	int64_t most;

	if (out == NULL)
		return lsh_fail(err, LEASH_INVALID, 0, "%s: `out` is NULL", call);
	most = semaphore->limit < LSH_NEED_COUNT_MAX ? semaphore->limit : LSH_NEED_COUNT_MAX;
	status = check_number(lsh_lock_shown(semaphore->handle->lock), "the count", count, 1, most, err);
	if (status != LEASH_OK)
		return status;
	*made = lsh_permit_new(semaphore->handle, lsh_need((uint32_t)count, semaphore->limit));
	if (*made == NULL)
		return lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "semaphore '%s': out of memory",
		                lsh_lock_shown(semaphore->handle->lock));
	return LEASH_OK;
}

leash_status
lsh_permit_made(leash_permit *permit, leash_status status, leash_permit **out)
{
	if (status == LEASH_OK)
		*out = permit;
	else
		lsh_handle_end(&permit->handle);
	return status;
}

leash_status
leash_semaphore_acquire_with(leash_semaphore *semaphore, int64_t count, const leash_acquire *how, leash_permit **out,
                             leash_error *err)
{
	lsh_guarded();
	static const char call[] = "leash_semaphore_acquire";
	leash_permit *permit;
	leash_status status = lsh_semaphore_check(semaphore, call, err);

	if (status == LEASH_OK)
		status = lsh_permit_make(&permit, semaphore, count, out, call, err);
	if (status != LEASH_OK)
		return status;
	return lsh_permit_made(permit, leash_lock_acquire_with(&permit->handle, how, err), out);
}

leash_status
leash_semaphore_acquire(leash_semaphore *semaphore, int64_t count, int64_t wait_ms, leash_permit **out,
                        leash_error *err)
{
	return leash_semaphore_acquire_with(semaphore, count, LEASH_ACQUIRE(.wait_ms = wait_ms), out, err);
}

leash_status
leash_semaphore_adopt(leash_semaphore *semaphore, int64_t count, const char *token, leash_permit **out,
                      leash_error *err)
{
	lsh_guarded();
	static const char call[] = "leash_semaphore_adopt";
	leash_permit *permit;
	leash_status status = lsh_semaphore_check(semaphore, call, err);

	if (status == LEASH_OK)
		status = lsh_permit_make(&permit, semaphore, count, out, call, err);
	return status == LEASH_OK ? lsh_permit_made(permit, leash_lock_adopt(&permit->handle, token, err), out) : status;
}

/* ---- for all of them ---- */

leash_status
leash_semaphore_limit(leash_semaphore *semaphore, int64_t limit, int64_t for_ms, leash_error *err)
{
	lsh_guarded();
	leash_status status = lsh_semaphore_check(semaphore, "leash_semaphore_limit", err);
	const char *shown;

	if (status != LEASH_OK)
		return status;
	shown = lsh_lock_shown(semaphore->handle->lock);
	status = check_number(shown, "the limit", limit, 0, LSH_NEED_LIMIT_MAX, err);
	if (status == LEASH_OK)
		status = check_number(shown, "for_ms", for_ms, 0, LIMIT_MAX_MS, err);
	return status == LEASH_OK ? lsh_limit(semaphore->handle->lock, limit, for_ms, err) : status;
}

leash_status
leash_semaphore_break(leash_semaphore *semaphore, leash_error *err)
{
	lsh_guarded();
	leash_status status = lsh_semaphore_check(semaphore, "leash_semaphore_break", err);

	return status == LEASH_OK ? lsh_handle_break(semaphore->handle, err) : status;
}

/* ---- permits ---- */

static leash_lock *
handle_of(const leash_permit *permit)
{
	return permit != NULL ? (leash_lock *)&permit->handle : NULL;
}

leash_status
leash_permit_release(leash_permit *permit, leash_error *err)
{
	lsh_guarded();
	leash_status status;

	if (permit == NULL)
		return lsh_fail(err, LEASH_INVALID, 0, "leash_permit_release: the permit is NULL");
	status = leash_lock_release(&permit->handle, err);
	if (status != LEASH_IN_CALLBACK)
		lsh_handle_end(&permit->handle);
	return status;
}

leash_status
lsh_permit_less(uint32_t *need, const leash_permit *permit, int64_t count, leash_error *err)
{
	unsigned had = lsh_need_count(permit->handle.extra->need);

	if (count < 1 || count >= had)
		return lsh_fail(err, LEASH_INVALID, 0, "semaphore '%s': the count is %lld, but must be at least 1, and less "
		                "than the %u that are held: leash_permit_release() is for all of them",
		                lsh_lock_shown(permit->handle.lock), (long long)count, had);
	*need = lsh_need(had - (unsigned)count, lsh_need_limit(permit->handle.extra->need));
	return LEASH_OK;
}

leash_status
leash_permit_release_some(leash_permit *permit, int64_t count, leash_error *err)
{
	lsh_guarded();
	leash_status status = lsh_handle_check(handle_of(permit), "leash_permit_release_some", err);
	struct lsh_wait w;
	uint32_t need;

	if (status == LEASH_OK)
		status = lsh_permit_less(&need, permit, count, err);
	if (status != LEASH_OK || (status = lsh_wait_make(&w, &permit->handle, err)) != LEASH_OK)
		return status;
	w.op.want.need = need;
	status = lsh_wait_run(&w, &lsh_lessening, err);
	if (status == LEASH_OK)
		permit->handle.extra->need = need;
	return status;
}

leash_status
leash_permit_extend(leash_permit *permit, int64_t lease_ms, leash_error *err)
{
	if (permit == NULL)
		return lsh_fail(err, LEASH_INVALID, 0, "leash_permit_extend: the permit is NULL");
	return leash_lock_extend(&permit->handle, lease_ms, err);
}

bool
leash_permit_held(const leash_permit *permit)
{
	return leash_lock_held(handle_of(permit));
}

int64_t
leash_permit_remaining_ms(const leash_permit *permit)
{
	return leash_lock_remaining_ms(handle_of(permit));
}

int64_t
leash_permit_count(const leash_permit *permit)
{
	return permit != NULL ? lsh_need_count(permit->handle.extra->need) : 0;
}

size_t
leash_permit_token(const leash_permit *permit, char *out, size_t size)
{
	return leash_lock_token(handle_of(permit), out, size);
}

void
leash_permit_alive(leash_permit *permit)
{
	leash_lock_alive(handle_of(permit));
}
