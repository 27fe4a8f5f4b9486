#include "base/clock.h"

#include <assert.h>
#include <sys/timerfd.h>
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
lsh_wall_us(void)
{
	struct timespec t;

	return clock_gettime(CLOCK_REALTIME, &t) == 0 && t.tv_sec >= 0 ? (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000 : 0;
}

int64_t
lsh_after(int64_t now, int64_t ns)
{
	int64_t at;

	if (now == LSH_NEVER)
		return 0;
	return __builtin_add_overflow(now, ns, &at) ? LSH_NEVER : at;
}

int64_t
lsh_after_ms(int64_t now, int64_t ms)
{
	int64_t ns;

	if (__builtin_mul_overflow(ms, LSH_MS, &ns))
		ns = LSH_NEVER;
	return lsh_after(now, ns);
}

struct timespec *
lsh_nap(struct timespec *nap, int64_t until)
{
	int64_t left = until != LSH_NEVER ? until - lsh_now_ns() : 0;

	left = left < 0 ? 0 : left > 5 * LSH_S ? 5 * LSH_S : left;
	nap->tv_sec = left / LSH_S;
	nap->tv_nsec = left % LSH_S;
	return until != LSH_NEVER ? nap : NULL;
}

void
lsh_alarm_set(int fd, int64_t at)
{
	struct itimerspec t = {0};
	int failed;

	if (at < 1)
		at = 1;
	if (at != LSH_NEVER) { /* all zero disarms */
		t.it_value.tv_sec = (time_t)(at / LSH_S);
		t.it_value.tv_nsec = (long)(at % LSH_S);
	}
	failed = timerfd_settime(fd, TFD_TIMER_ABSTIME, &t, NULL);
	assert(!failed);
	(void)failed;
}
