/* The public face of a cancel. */
#include "base/cancel.h"

#include "base/error.h"
#include "base/process.h"
#include "client/client.h"

#include <leash/cancel.h>

#include <errno.h>

leash_status
leash_cancel_new(leash_cancel **out, leash_error *err)
{
	struct lsh_guard guard;
	leash_cancel *cancel;

	if (out == NULL)
		return lsh_fail(err, LEASH_INVALID, 0, "leash_cancel_new: `out` is NULL");
	if (lsh_process_id() == 0)
		return lsh_no_fork_guard(err);
	guard = lsh_enter();
	cancel = lsh_cancel_new();
	lsh_leave(guard);
	if (cancel == NULL)
		return lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "out of memory for a cancel");
	*out = cancel;
	return LEASH_OK;
}

void
leash_cancel_fire(leash_cancel *cancel)
{
	/* in a signal handler, too: glibc does both with atomics alone. Else a thread could be canceled after it had told
	 * of a wake-up and before it woke, in the write() that is a cancellation point, and who waits would sleep on */
	struct lsh_guard guard = lsh_enter();

	if (cancel != NULL)
		lsh_cancel_fire(cancel);
	lsh_leave(guard);
}

bool
leash_cancel_is_fired(const leash_cancel *cancel)
{
	return lsh_cancel_is_fired(cancel);
}

void
leash_cancel_free(leash_cancel *cancel)
{
	struct lsh_guard guard = lsh_enter();

	lsh_cancel_free(cancel);
	lsh_leave(guard);
}
