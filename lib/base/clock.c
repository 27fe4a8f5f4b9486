#include "base/clock.h"

#include <time.h>

int64_t
lsh_now_ns(void)
{
	struct timespec t;

	if (clock_gettime(CLOCK_BOOTTIME, &t) != 0)
		return LSH_NEVER;
	return (int64_t)t.tv_sec * LSH_S + t.tv_nsec;
}

int64_t
lsh_after_ms(int64_t now, int64_t ms)
{
	int64_t ns, at;

	if (__builtin_mul_overflow(ms, LSH_MS, &ns) || __builtin_add_overflow(now, ns, &at))
		return LSH_NEVER;
	return at;
}
