#include "tools/clock.h"

#include <time.h>

static int64_t
read_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t
clock_wall_ms(void)
{
	return read_ns(CLOCK_REALTIME) / MS;
}

int64_t
clock_boot_ns(void)
{
	return read_ns(CLOCK_BOOTTIME);
}

int64_t
clock_steady_ns(void)
{
	return read_ns(CLOCK_MONOTONIC);
}

void
clock_sleep_ms(int64_t ms)
{
	struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * MS};

	nanosleep(&t, NULL);
}
