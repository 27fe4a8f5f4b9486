/* The public face of cancels: see core/cancel.h. */
#include "core/cancel.h"

#include "base/error.h"
#include "base/process.h"
#include "base/thread.h"
#include "client/client.h"

#include <errno.h>

leash_status
leash_cancel_new(leash_cancel **out, leash_error *err)
{
	lsh_guarded();
	leash_cancel *cancel;

	if (out == NULL)
		return lsh_fail(err, LEASH_INVALID, 0, "leash_cancel_new: `out` is NULL");
	if (lsh_process_id() == 0)
		return lsh_no_fork_guard(err);
	cancel = lsh_cancel_new();
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
	lsh_guarded();

	if (cancel != NULL)
		lsh_cancel_fire(cancel);
}

bool
leash_cancel_is_fired(const leash_cancel *cancel)
{
	return cancel != NULL && atomic_load(&cancel->fired);
}

leash_status
leash_cancel_fd(leash_cancel *cancel, int *fd, leash_error *err)
{
	lsh_guarded();
	int made;

	if (cancel == NULL || fd == NULL)
		return lsh_fail(err, LEASH_INVALID, 0, "leash_cancel_fd: %s is NULL", cancel == NULL ? "the cancel" : "`fd`");
	if (!lsh_process_is(cancel->process))
		return lsh_fail(err, LEASH_FORKED, 0, "leash_cancel_fd: the cancel belongs to the parent process: make one in "
		                "the child");
	made = lsh_cancel_fd(cancel);
	if (made < 0)
		return lsh_fail_short(err, errno, "a descriptor for a cancel");
	*fd = made;
	return LEASH_OK;
}

void
leash_cancel_reset(leash_cancel *cancel)
{
	lsh_guarded();

	if (cancel != NULL && lsh_process_is(cancel->process))
		lsh_cancel_reset(cancel);
}

void
leash_cancel_free(leash_cancel *cancel)
{
	lsh_guarded();

	lsh_cancel_unref(cancel);
}
