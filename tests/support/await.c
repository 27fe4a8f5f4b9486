/* Clocks and short sleeps of the tests. */
#include "tests/support/await.h"

#include "tests/support/trouble.h"

#include <errno.h>
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

int64_t
await_limit_ns(double seconds)
{
	return await_now_ns() + (int64_t)(seconds * await_slowness() * 1e9);
}

static void
sleep_ns(int64_t ns)
{
	struct timespec t = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };

	while (nanosleep(&t, &t) != 0 && errno == EINTR)
		continue;
}

void
await_step(int64_t limit_ns, double seconds, const char *what, const char *file, int line)
{
	if (await_now_ns() > limit_ns)
		trouble_at(file, line, "waited %g s in vain for: %s", seconds * await_slowness(), what);
	sleep_ns(1000000);
}

void
await_ms(int64_t ms)
{
	sleep_ns(ms * 1000000);
}
