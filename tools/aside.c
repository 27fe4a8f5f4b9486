/* Threads beside the main one. See aside.h. Signals are for the main thread, which waits for them: no other may take one. */
#include "tools/aside.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

int64_t
aside_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

bool
aside_begin(struct aside *aside, void *(*run)(void *), void *arg)
{
	sigset_t all, before;
	int e;

	aside->bell = eventfd(0, EFD_CLOEXEC);
	if (aside->bell < 0)
		return false;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	e = pthread_create(&aside->thread, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (e != 0)
		close(aside->bell);
	return e == 0;
}

bool
aside_sleep(const struct aside *aside, int64_t ms)
{
	struct pollfd bell = {.fd = aside->bell, .events = POLLIN};

	return poll(&bell, 1, (int)ms) <= 0;
}

void
aside_ring(int bell)
{
	uint64_t one = 1;

	while (write(bell, &one, sizeof one) < 0)
		continue; /* interrupted: it is never full */
}

void
aside_end(struct aside *aside)
{
	aside_ring(aside->bell);
	pthread_join(aside->thread, NULL);
	close(aside->bell);
}
