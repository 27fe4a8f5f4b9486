#include "base/cancel.h"

#include "base/memory.h"
#include "base/process.h"

#include <stddef.h>

enum { SEATS = 14 };

struct lsh_bench {
	struct lsh_bench *next; /* older */
	lsh_seat seat[SEATS];
};

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
	struct lsh_bench *bench, *next;

	if (cancel == NULL)
		return;
	for (bench = atomic_load(&cancel->benches); bench != NULL; bench = next) {
		next = bench->next;
		lsh_free(bench);
	}
	lsh_free(cancel);
}

lsh_seat *
lsh_cancel_sit(struct leash_cancel *cancel, struct lsh_parker *parker)
{
	struct lsh_bench *bench;

	for (bench = atomic_load(&cancel->benches); bench != NULL; bench = bench->next) {
		for (int i = 0; i < SEATS; i++) {
			struct lsh_parker *nobody = NULL;

			if (atomic_load_explicit(&bench->seat[i], memory_order_relaxed) == NULL &&
			    atomic_compare_exchange_strong(&bench->seat[i], &nobody, parker))
				return &bench->seat[i];
		}
	}
	bench = lsh_new(struct lsh_bench);
	if (bench == NULL)
		return NULL;
	atomic_store(&bench->seat[0], parker);
	bench->next = atomic_load(&cancel->benches);
	while (!atomic_compare_exchange_weak(&cancel->benches, &bench->next, bench))
		;
	return &bench->seat[0];
}

void
lsh_cancel_rise(lsh_seat *seat)
{
	if (seat != NULL)
		atomic_store(seat, NULL);
}

void
lsh_cancel_fire(struct leash_cancel *cancel)
{
	atomic_store(&cancel->fired, true);
	if (!lsh_process_is(cancel->process))
		return; /* the threads that sit are not here, and their descriptors may be others */
	for (struct lsh_bench *bench = atomic_load(&cancel->benches); bench != NULL; bench = bench->next) {
		for (int i = 0; i < SEATS; i++) {
			/* who is woken may have left by now: parkers stay readable, and a wake-up too many does no harm */
			struct lsh_parker *parker = atomic_load(&bench->seat[i]);

			if (parker != NULL)
				lsh_unpark(parker);
		}
	}
}
