/* Clocks and short sleeps of the tests. */
#include "tests/support/await.h"

#include "tests/support/trouble.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

int64_t
await_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

double
await_slowness(void)
{
	const char *text = getenv("LEASH_TEST_SLOWNESS");
	double slowness = text ? strtod(text, NULL) : 1;

	return slowness > 1 ? slowness : 1;
}

/* A virtual machine may be held up as a whole, for longer than any limit here. That is no reason to fail: what lies
 * between two looks at the same limit is looked at every few milliseconds, so a gap of seconds is not counted. */
static const int64_t gap_ns = 2000000000;
static _Thread_local int64_t looked, held_up;

int64_t
await_limit_ns(double seconds)
{
	looked = await_now_ns();
	return looked + (int64_t)(seconds * await_slowness() * 1e9);
}

bool
await_is_past(int64_t limit_ns)
{
	int64_t now = await_now_ns(), gap = looked != 0 ? now - looked : 0;

	if (gap > gap_ns)
		held_up += gap;
	looked = now;
	return now - held_up > limit_ns;
}

void
await_ms(int64_t ms)
{
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	while (nanosleep(&t, &t) != 0 && errno == EINTR)
		continue;
}

void
await_step(int64_t limit_ns, double seconds, const char *what, const char *file, int line)
{
	if (await_is_past(limit_ns))
		trouble_at(file, line, "waited %g s in vain for: %s", seconds * await_slowness(), what);
	await_ms(1);
}

int64_t
slow_ms(int64_t ms)
{
	return (int64_t)((double)ms * await_slowness());
}

/* ---- how late the machine is ---- */

enum { SLEEPERS = 4, STEPS = 10 };

static pthread_t sleepers[SLEEPERS];
static _Atomic bool over;
static _Atomic int64_t worst_ns;

static void *
nap(void *arg)
{
	(void)arg;
	while (!over) {
		int64_t began = await_now_ns(), was = worst_ns;

		await_ms(5);
		int64_t late = await_now_ns() - began - 5 * MS;
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
