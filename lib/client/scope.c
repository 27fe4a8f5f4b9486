/* Scopes: what runs with a lock held is a block, or a function. */
#include "base/error.h"

#include <leash/scope.h>

leash_status
leash_with(leash_lock *lock, int64_t wait_ms, void (*fn)(void *arg), void *arg, leash_error *err)
{
	leash_status status;

	if (fn == NULL)
		return lsh_fail(err, LEASH_INVALID, 0, "leash_with: the function is NULL");
	status = leash_lock_acquire(lock, wait_ms, err);
	if (status != LEASH_OK)
		return status;
	fn(arg);
	return leash_lock_release(lock, err);
}

leash_scope
leash_scope_begin(leash_lock *lock, int64_t wait_ms, leash_error *err)
{
	leash_status status = leash_lock_acquire(lock, wait_ms, err);

	if (err != NULL)
		err->status = status;
	return (leash_scope){.lock = status == LEASH_OK ? lock : NULL, .err = err};
}

void
leash_scope_end(leash_scope *scope)
{
	if (scope->lock != NULL)
		leash_lock_release(scope->lock, scope->err);
	scope->lock = NULL;
}
