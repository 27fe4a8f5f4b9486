/* Cancels: a flag that stays up, and the threads that are to look at it.
 *
 * A thread that may sleep takes a seat, then looks at the flag; who fires puts the flag up, then wakes every seat: one
 * of the two sees the other. Seats are only added, and without a mutex: firing is allowed in a signal handler. */
#include "client/cancel.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/thread.h"
#include "client/client.h"

#include <errno.h>

struct lsh_seat {
	struct lsh_seat *next;             /* older */
	struct lsh_parker *_Atomic parker; /* NULL: it is free */
};

leash_status
leash_cancel_new(leash_cancel **out, leash_error *err)
{
	lsh_guarded();
	leash_cancel *cancel;

	if (out == NULL)
		return lsh_fail(err, LEASH_INVALID, 0, "leash_cancel_new: `out` is NULL");
	if (lsh_process_id() == 0)
		return lsh_no_fork_guard(err);
	cancel = lsh_new(leash_cancel);
	if (cancel == NULL)
		return lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "out of memory for a cancel");
	cancel->process = lsh_process_id();
	*out = cancel;
	return LEASH_OK;
}

void
leash_cancel_fire(leash_cancel *cancel)
{
	/* in a signal handler, too: glibc does both with atomics alone. Else a thread could be canceled after it had told
	 * of a wake-up and before it woke, in the write() that is a cancellation point, and who waits would sleep on */
	lsh_guarded();

	if (cancel == NULL)
		return;
	atomic_store(&cancel->fired, true);
	/* in a forked child the threads that sit are not there, and their descriptors may be others */
	if (lsh_process_is(cancel->process))
		for (struct lsh_seat *seat = atomic_load(&cancel->seats); seat != NULL; seat = seat->next) {
			/* who is woken may have left by now: parkers stay readable, and a wake-up too many does no harm */
			struct lsh_parker *parker = atomic_load(&seat->parker);

			if (parker != NULL)
				lsh_unpark(parker);
		}
}

bool
leash_cancel_is_fired(const leash_cancel *cancel)
{
	return cancel != NULL && atomic_load(&cancel->fired);
}

void
leash_cancel_free(leash_cancel *cancel)
{
	lsh_guarded();
	struct lsh_seat *seat, *next;

	if (cancel == NULL)
		return;
	for (seat = atomic_load(&cancel->seats); seat != NULL; seat = next) {
		next = seat->next;
		lsh_free(seat);
	}
	lsh_free(cancel);
}

struct lsh_seat *
lsh_cancel_sit(leash_cancel *cancel, struct lsh_parker *parker)
{
	struct lsh_seat *seat;

	for (seat = atomic_load(&cancel->seats); seat != NULL; seat = seat->next) {
		struct lsh_parker *nobody = NULL;

		if (atomic_compare_exchange_strong(&seat->parker, &nobody, parker))
			return seat;
	}
	seat = lsh_new(struct lsh_seat);
	if (seat == NULL)
		return NULL;
	atomic_store(&seat->parker, parker);
	seat->next = atomic_load(&cancel->seats);
	while (!atomic_compare_exchange_weak(&cancel->seats, &seat->next, seat))
		;
	return seat;
}

void
lsh_cancel_rise(struct lsh_seat *seat)
{
	if (seat != NULL)
		atomic_store(&seat->parker, NULL);
}
