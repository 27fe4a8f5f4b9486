/* Clocks that a test sets. See clock_shim.h.
 *
 * Redis reads the wall clock with gettimeofday, and keeps the moment at which a key expires by it: as a unix time in ms. Its
 * TIME and its expiry therefore go with the shim, and with them the ages in INFO, which are differences of that clock; its
 * timers and SLOWLOG's durations go by CLOCK_MONOTONIC or the processor's counter, and do not.
 *
 * Any thread, any time, also in the middle of a fork: nothing here waits, allocates or calls libc for a clock. */
#include "tests/support/clock_shim.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define S INT64_C(1000000000)
#define SHIM __attribute__((visibility("default")))

static struct clock_page *_Atomic used;
static int64_t began_ns; /* by CLOCK_BOOTTIME: from then on the clocks gain */

static int
true_clock(clockid_t clock, struct timespec *t)
{
	return (int)syscall(SYS_clock_gettime, clock, t);
}

int64_t
clock_shim_true_ns(void)
{
	struct timespec t = {0};

	true_clock(CLOCK_BOOTTIME, &t);
	return (int64_t)t.tv_sec * S + t.tv_nsec;
}

void
clock_shim_use(struct clock_page *page)
{
	began_ns = clock_shim_true_ns();
	atomic_store(&used, page);
}

__attribute__((constructor)) static void
use_file(void)
{
	const char *path = getenv(CLOCK_SHIM_ENV);
	int fd = path != NULL ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *page;

	if (fd < 0)
		return;
	page = mmap(NULL, sizeof(struct clock_page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (page != MAP_FAILED)
		clock_shim_use(page);
}

/* How far the clock is ahead of the true one. */
static int64_t
ahead_ns(const struct clock_page *page, clockid_t clock)
{
	int64_t ppm = atomic_load(&page->ppm);
	int64_t gained = ppm != 0 ? (clock_shim_true_ns() - began_ns) / 1000 * ppm / 1000 : 0;

	switch (clock) {
	case CLOCK_REALTIME:
	case CLOCK_REALTIME_COARSE:
		return gained + atomic_load(&page->wall_ns);
	case CLOCK_BOOTTIME:
	case CLOCK_MONOTONIC:
	case CLOCK_MONOTONIC_COARSE:
	case CLOCK_MONOTONIC_RAW:
		return gained;
	default:
		return 0;
	}
}

static void
add(struct timespec *t, int64_t ns)
{
	int64_t all = (int64_t)t->tv_sec * S + t->tv_nsec + ns;

	t->tv_sec = (time_t)(all / S);
	t->tv_nsec = (long)(all % S);
}

SHIM int
clock_gettime(clockid_t clock, struct timespec *t)
{
	const struct clock_page *page = atomic_load(&used);
	int result = true_clock(clock, t);
	int64_t still_ns;

	if (result != 0 || page == NULL)
		return result;
	still_ns = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE ? atomic_load(&page->still_ns) : 0;
	if (still_ns != 0)
		*t = (struct timespec){0};
	add(t, still_ns != 0 ? still_ns : ahead_ns(page, clock));
	return result;
}

SHIM int
gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
	struct timespec t;

	(void)zone;
	if (clock_gettime(CLOCK_REALTIME, &t) != 0)
		return -1;
	tv->tv_sec = t.tv_sec;
	tv->tv_usec = t.tv_nsec / 1000;
	return 0;
}

SHIM time_t
time(time_t *out)
{
	struct timespec t = {0};

	clock_gettime(CLOCK_REALTIME, &t);
	if (out != NULL)
		*out = t.tv_sec;
	return t.tv_sec;
}

/* Of a clock that gains, the kernel's moment comes when true time has made up for it. leash has timerfds of CLOCK_BOOTTIME only. */
SHIM int
timerfd_settime(int fd, int flags, const struct itimerspec *new, struct itimerspec *old)
{
	const struct clock_page *page = atomic_load(&used);
	struct itimerspec kernels = *new;
	bool armed = new->it_value.tv_sec != 0 || new->it_value.tv_nsec != 0;

	if (page != NULL && (flags & TFD_TIMER_ABSTIME) && armed) {
		int64_t wanted = (int64_t)new->it_value.tv_sec * S + new->it_value.tv_nsec, now = clock_shim_true_ns();
		int64_t left = wanted - now - ahead_ns(page, CLOCK_BOOTTIME);

		left = (int64_t)((double)left * 1e6 / (1e6 + (double)atomic_load(&page->ppm)));
		kernels.it_value = (struct timespec){0};
		add(&kernels.it_value, now + left > 0 ? now + left : 1);
	}
	return (int)syscall(SYS_timerfd_settime, fd, flags, &kernels, old);
}
