/* Threads beside the main one. See thread.h. The main thread waits for signals: no other thread may take one. */
#include "tools/thread.h"

#include "tools/clock.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

bool
thread_start(pthread_t *thread, void *(*run)(void *), void *arg)
{
	sigset_t all, before;
	int e;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	e = pthread_create(thread, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return e == 0;
}

void
thread_init_monitor(pthread_mutex_t *mutex, pthread_cond_t *changed)
{
	pthread_condattr_t monotonic;

	pthread_mutex_init(mutex, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

bool
thread_await(pthread_mutex_t *mutex, pthread_cond_t *changed, const bool *flag, int64_t ms)
{
	int64_t limit_ns = clock_steady_ns() + ms * MS;
	struct timespec limit = {.tv_sec = limit_ns / 1000000000, .tv_nsec = limit_ns % 1000000000};

	while (!*flag && pthread_cond_timedwait(changed, mutex, &limit) == 0)
		continue;
	return *flag;
}

bool
thread_begin(struct side_thread *thread, void *(*run)(void *), void *arg)
{
	thread->bell = eventfd(0, EFD_CLOEXEC);
	if (thread->bell < 0)
		return false;
	if (thread_start(&thread->thread, run, arg))
		return true;
	close(thread->bell);
	return false;
}

bool
thread_sleep(const struct side_thread *thread, int64_t ms)
{
	struct pollfd bell = {.fd = thread->bell, .events = POLLIN};

	return poll(&bell, 1, (int)ms) <= 0;
}

void
thread_ring(int bell)
{
	uint64_t one = 1;

	while (write(bell, &one, sizeof one) < 0)
		continue; /* interrupted: an eventfd is never full here */
}

void
thread_end(struct side_thread *thread)
{
	thread_ring(thread->bell);
	pthread_join(thread->thread, NULL);
	close(thread->bell);
}
