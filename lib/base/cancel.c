#include "base/cancel.h"

#include "base/memory.h"
#include "base/process.h"

#include <stddef.h>

struct leash_cancel *
lsh_cancel_new(void)
{
	struct leash_cancel *cancel = lsh_new(struct leash_cancel);

	if (cancel != NULL)
		cancel->process = lsh_process_id();
	return cancel;
}

void
lsh_cancel_free(struct leash_cancel *cancel)
{
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
lsh_cancel_sit(struct leash_cancel *cancel, struct lsh_parker *parker)
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

void
lsh_cancel_fire(struct leash_cancel *cancel)
{
	atomic_store(&cancel->fired, true);
	if (!lsh_process_is(cancel->process))
		return; /* the threads that sit are not here, and their descriptors may be others */
	for (struct lsh_seat *seat = atomic_load(&cancel->seats); seat != NULL; seat = seat->next) {
		/* who is woken may have left by now: parkers stay readable, and a wake-up too many does no harm */
		struct lsh_parker *parker = atomic_load(&seat->parker);

		if (parker != NULL)
			lsh_unpark(parker);
	}
}
