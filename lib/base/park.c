#include "base/park.h"

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/mutex.h"
#include "base/process.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { IDLE = 0, PERMIT = 1, ASLEEP = 2, POLLING = 3, STATE = 3 /* the descriptor is in the bits above */ };

/* Kicks that nobody uses, for the life of the process. A forked child starts without any. */
static struct {
	pthread_mutex_t mutex; /* guards the rest */
	uint64_t process;
	size_t made;  /* by this process */
	size_t count; /* of them idle */
	size_t room;  /* for all that were made, so that giving one back needs no memory */
	int *idle;
} kicks = {.mutex = PTHREAD_MUTEX_INITIALIZER};

LSH_GUARD_FORK(&kicks.mutex, (void)0)

static void
set_up(void)
{
	guard_fork();
}

/* kicks.mutex held. Make room for one that is about to be made. */
static bool
reserve(void)
{
	if (kicks.made == kicks.room) {
		/* not by the application's allocator: this memory is never given back */
		int *idle = realloc(kicks.idle, (kicks.room + 64) * sizeof *idle);

		if (idle == NULL)
			return false;
		kicks.idle = idle;
		kicks.room += 64;
	}
	kicks.made++;
	return true;
}

static int
make(void)
{
	int fd = lsh_descriptor_take(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));

	if (fd < 0) {
		pthread_mutex_lock(&kicks.mutex);
		kicks.made--;
		pthread_mutex_unlock(&kicks.mutex);
	}
	return fd;
}

int
lsh_kick_take(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	uint64_t process = lsh_process_id();
	bool makes = false;
	int fd = -1;

	pthread_once(&once, set_up);
	pthread_mutex_lock(&kicks.mutex);
	if (kicks.process != process) {
		kicks.process = process;
		kicks.made = kicks.count = 0;
	}
	if (kicks.count > 0)
		fd = kicks.idle[--kicks.count];
	else
		makes = reserve();
	pthread_mutex_unlock(&kicks.mutex);
	return makes ? make() : fd;
}

static void
drain(int fd)
{
	int e = errno;

	eventfd_read(fd, &(eventfd_t){0}); /* does not block */
	errno = e;
}

void
lsh_kick_give(int fd)
{
	if (fd < 0)
		return;
	drain(fd);
	lsh_locked(&kicks.mutex);
	if (kicks.process == lsh_process_id() && kicks.count < kicks.made)
		kicks.idle[kicks.count++] = fd;
}

bool
lsh_kick_poll(int fd, struct pollfd *polled, nfds_t n, int64_t until)
{
	struct timespec nap = {.tv_sec = 1}; /* without a clock nothing is ever due */
	int ready;

	polled[0] = (struct pollfd){.fd = fd, .events = POLLIN};
	ready = ppoll(polled, n, lsh_now_ns() != LSH_NEVER ? lsh_nap(&nap, until) : &nap, NULL);
	if (ready > 0 && polled[0].revents != 0)
		drain(fd);
	return ready >= 0;
}

void
lsh_park(struct lsh_parker *parker, int64_t deadline)
{
	uint32_t idle = IDLE;

	if (!atomic_compare_exchange_strong(&parker->word, &idle, ASLEEP)) {
		atomic_store(&parker->word, IDLE);
		return;
	}
	while (atomic_load(&parker->word) == ASLEEP) {
		struct timespec t, *nap = lsh_nap(&t, deadline);

		if (nap != NULL && t.tv_sec == 0 && t.tv_nsec == 0)
			break;
		syscall(SYS_futex, &parker->word, FUTEX_WAIT_PRIVATE, ASLEEP, nap, NULL, 0);
	}
	atomic_store(&parker->word, IDLE); /* a permit that comes now is not lost: every caller rechecks its condition */
}

bool
lsh_park_poll_begin(struct lsh_parker *parker, int fd)
{
	uint32_t idle = IDLE;

	if (atomic_compare_exchange_strong(&parker->word, &idle, (uint32_t)fd << 2 | POLLING))
		return true;
	atomic_store(&parker->word, IDLE);
	return false;
}

void
lsh_park_poll_end(struct lsh_parker *parker)
{
	atomic_store(&parker->word, IDLE);
}

void
lsh_unpark(struct lsh_parker *parker)
{
	uint32_t was = atomic_exchange(&parker->word, PERMIT);

	if ((was & STATE) == ASLEEP)
		syscall(SYS_futex, &parker->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	else if ((was & STATE) == POLLING)
		lsh_kick((int)(was >> 2));
}
