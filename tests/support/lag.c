/* See lag.h. */
#include "tests/support/lag.h"

#include "tests/support/await.h"
#include "tests/support/trouble.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

enum { SLEEPERS = 4, STEPS = 10 };

static pthread_t sleepers[SLEEPERS];
static atomic_bool over;
static _Atomic int64_t worst_ns;

static void *
nap(void *arg)
{
	(void)arg;
	while (!over) {
		int64_t began = await_now_ns(), was = worst_ns;

		await_ms(5);
		int64_t late = await_now_ns() - began - 5000000;
		while (late > was && !atomic_compare_exchange_weak(&worst_ns, &was, late))
			continue;
	}
	return NULL;
}

void
lag_begin(void)
{
	over = false;
	worst_ns = 0;
	for (int i = 0; i < SLEEPERS; i++)
		if (pthread_create(&sleepers[i], NULL, nap, NULL) != 0)
			trouble("no thread to see how late the machine is");
}

int64_t
lag_end(void)
{
	over = true;
	for (int i = 0; i < SLEEPERS; i++)
		pthread_join(sleepers[i], NULL);
	return worst_ns * STEPS;
}
