/* Time on the client's side, with all its threads: a machine that sleeps through a wait, clocks that fail. What the core
 * makes of it: core/test_single.
 *
 * The clock is the test's: clock_gettime() is defined here, and the library's calls arrive at it. A jump is what a machine
 * meets that wakes up: CLOCK_BOOTTIME is further on, CLOCK_MONOTONIC is not. Timers that go by it would be due then. */
#include "tests/support/kept.h"
#include "tests/support/leashed.h"
#include "tests/support/one_server.h"
#include "tests/support/test.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { WAIT_MS = 300000 };

static leash_error err; /* what the last call said */

/* ---- the clock ---- */

static _Atomic int64_t ahead;    /* of CLOCK_BOOTTIME, by so much: ns */
static _Atomic int fails_at;     /* the n-th call of any thread but the test's from now on; 0 or less: none does */
static _Atomic int timers[2];    /* that go by another clock; by this one */
static _Thread_local bool exempt; /* for the test's own waiting */

#define REPLACES __attribute__((visibility("default"))) /* the library's calls find what is visible only */

static struct timespec
plus(struct timespec t, int64_t ns)
{
	const int64_t second = 1000 * MS;
	int64_t all = (int64_t)t.tv_sec * second + t.tv_nsec + ns;

	return (struct timespec){.tv_sec = all / second, .tv_nsec = all % second};
}

REPLACES int
clock_gettime(clockid_t id, struct timespec *t)
{
	if (!exempt && atomic_fetch_sub(&fails_at, 1) == 1) {
		errno = EINVAL;
		return -1;
	}
	if (syscall(SYS_clock_gettime, id, t) != 0)
		return -1;
	if (id == CLOCK_BOOTTIME)
		*t = plus(*t, ahead);
	return 0;
}

REPLACES int
timerfd_create(clockid_t id, int flags)
{
	timers[id == CLOCK_BOOTTIME]++;
	return (int)syscall(SYS_timerfd_create, id, flags);
}

REPLACES int
timerfd_settime(int fd, int flags, const struct itimerspec *set, struct itimerspec *old)
{
	struct itimerspec real = *set;

	if (flags & TFD_TIMER_ABSTIME && set->it_value.tv_sec > 0)
		real.it_value = plus(real.it_value, -ahead);
	return (int)syscall(SYS_timerfd_settime, fd, flags, &real, old);
}

GROUP(start_server, stop_server);

/* ---- the machine sleeps ---- */

static void *
wait_for_long(void *lock)
{
	return leash_lock_acquire(lock, WAIT_MS, NULL) == LEASH_OK ? lock : NULL;
}

/* No answer comes and no lease ends when the machine wakes: nothing but the time could wake it. */
SENTENCE(a_timed_wait_whose_end_was_slept_through_is_not_waited_for_again)
{
	leash_lock *lock = kept(leashed_lock(kept(leashed_open(uri, NULL)), "waited", NULL));
	pthread_t thread;
	void *had;

	server_integer(server, "HSET leash:{waited} theirs 1");
	assert_int_equal(pthread_create(&thread, NULL, wait_for_long, lock), 0);
	await_true(server_integer(server, "ZCOUNT leash:{waited}:queue (0 +inf") == 1);
	server_pause(server);
	ahead = 2 * WAIT_MS * MS;
	int64_t woken = await_now_ns();
	pthread_join(thread, &had);
	server_resume(server);
	assert_null(had);
	assert_true(await_now_ns() - woken < WAIT_MS * MS * 9 / 10);
	assert_true(timers[true] > 0);
	assert_int_equal(timers[false], 0);
}

/* ---- clocks that fail ---- */

static uint64_t
connects(leash_client *client)
{
	leash_stats stats = {.size = sizeof stats};

	assert_status(LEASH_OK, leash_client_stats(client, &stats, &err));
	return stats.connects;
}

SENTENCE(a_lost_connection_is_made_anew_whichever_reading_of_the_clock_fails)
{
	leash_client *client = kept(leashed_open(uri, NULL));

	exempt = true;
	for (int n = 1; n <= 16; n++) {
		uint64_t before = connects(client);

		fails_at = n;
		assert_true(server_integer(server, "CLIENT KILL TYPE normal SKIPME yes") > 0);
		await_true(connects(client) > before);
	}
	fails_at = 0;
	exempt = false;
}
