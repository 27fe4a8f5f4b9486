/* Threads beside the main one. See thread.h. The main thread waits for signals: no other thread may take one. */
#include "tools/thread.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

bool
thread_begin(struct side_thread *thread, void *(*run)(void *), void *arg)
{
	sigset_t all, before;
	int e;

	thread->bell = eventfd(0, EFD_CLOEXEC);
	if (thread->bell < 0)
		return false;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	e = pthread_create(&thread->thread, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (e != 0)
		close(thread->bell);
	return e == 0;
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
