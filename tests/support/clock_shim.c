/* Clocks that a test sets. See clock_shim.h.
 *
 * Redis reads the wall clock with gettimeofday, and keeps the moment at which a key expires by it: as a unix time in ms. Its
 * TIME and its expiry therefore go with the shim, and with them the ages in INFO, which are differences of that clock; its
 * timers and SLOWLOG's durations go by CLOCK_MONOTONIC or the processor's counter, and do not.
 *
 * Any thread, any time, also in the middle of a fork: nothing here waits, allocates or calls libc for a clock. */
#include "tests/support/clock_shim.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define S INT64_C(1000000000)
#define SHIM __attribute__((visibility("default")))

static struct clock_page *_Atomic used;

__attribute__((constructor)) static void
use_file(void)
{
	const char *path = getenv(CLOCK_SHIM_ENV);
	int fd = path != NULL ? open(path, O_RDWR | O_CLOEXEC) : -1;

	if (fd < 0)
		return;
	void *page = mmap(NULL, sizeof(struct clock_page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (page != MAP_FAILED)
		atomic_store(&used, page);
}

SHIM int
clock_gettime(clockid_t clock, struct timespec *t)
{
	const struct clock_page *page = atomic_load(&used);
	int result = (int)syscall(SYS_clock_gettime, clock, t);
	int64_t ns;

	if (result != 0 || page == NULL || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE))
		return result;
	ns = atomic_load(&page->still_ns);
	if (ns == 0)
		ns = (int64_t)t->tv_sec * S + t->tv_nsec + atomic_load(&page->wall_ns);
	*t = (struct timespec){.tv_sec = (time_t)(ns / S), .tv_nsec = (long)(ns % S)};
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
