#include "core/cancel.h"

#include "base/descriptor.h"
#include "base/memory.h"
#include "base/park.h"
#include "base/process.h"

#include <sys/eventfd.h>

struct lsh_seat {
	struct lsh_seat *next;             /* older */
	struct lsh_parker *_Atomic parker; /* NULL: it is free */
};

/* ---- life ---- */

leash_cancel *
lsh_cancel_new(void)
{
	leash_cancel *cancel = lsh_new(leash_cancel);

	if (cancel == NULL)
		return NULL;
	atomic_init(&cancel->fd, -1);
	atomic_init(&cancel->references, 1);
	cancel->process = lsh_process_id();
	return cancel;
}

void
lsh_cancel_unref(leash_cancel *cancel)
{
	struct lsh_seat *seat, *next;

	if (cancel == NULL || !lsh_unshare(&cancel->references))
		return;
	for (seat = atomic_load(&cancel->seats); seat != NULL; seat = next) {
		next = seat->next;
		lsh_free(seat);
	}
	if (lsh_process_is(cancel->process)) /* a child has closed what it inherited */
		lsh_descriptor_close(atomic_load(&cancel->fd));
	lsh_free(cancel);
}

/* ---- the flag ---- */

void
lsh_cancel_fire(leash_cancel *cancel)
{
	int fd;

	atomic_store(&cancel->fired, true);
	/* in a forked child the threads that sit are not there, and their descriptors may be others */
	if (!lsh_process_is(cancel->process))
		return;
	for (struct lsh_seat *seat = atomic_load(&cancel->seats); seat != NULL; seat = seat->next) {
		/* who is woken may have left by now: parkers stay readable, and a wake-up too many does no harm */
		struct lsh_parker *parker = atomic_load(&seat->parker);

		if (parker != NULL)
			lsh_unpark(parker);
	}
	fd = atomic_load(&cancel->fd);
	if (fd >= 0)
		lsh_kick(fd);
}

void
lsh_cancel_reset(leash_cancel *cancel)
{
	int fd = atomic_load(&cancel->fd);

	atomic_store(&cancel->fired, false);
	if (fd < 0)
		return;
	eventfd_read(fd, &(eventfd_t){0}); /* does not block */
	if (atomic_load(&cancel->fired)) /* meanwhile */
		lsh_kick(fd);
}

int
lsh_cancel_fd(leash_cancel *cancel)
{
	int fd = atomic_load(&cancel->fd), none = -1;

	if (fd >= 0)
		return fd;
	fd = lsh_descriptor_take(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	if (fd < 0)
		return -1;
	if (!atomic_compare_exchange_strong(&cancel->fd, &none, fd)) {
		lsh_descriptor_close(fd);
		return none;
	}
	if (atomic_load(&cancel->fired)) /* before it was there */
		lsh_kick(fd);
	return fd;
}

/* ---- seats ---- */

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
