/* Time on the client's side, with all its threads: machines that sleep, clocks that fail. What the core makes of it:
 * core/test_single.
 *
 * The clock is the test's: clock_gettime() is defined here, and the library's calls arrive at it, as are the timers that go by that
 * clock. A jump is what a machine meets that wakes up: CLOCK_BOOTTIME is further on, CLOCK_MONOTONIC is not, and what was due
 * meanwhile is due at once. */
#include "tests/support/leashed.h"
#include "tests/support/server.h"
#include "tests/support/test.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define S  INT64_C(1000000000)
enum { WAIT_MS = 300000 };

static struct server *server;
static _Thread_local leash_error err; /* what the last call said */

/* ---- the clock ---- */

enum { TIMERS = 64 };

static struct {
	_Atomic int64_t ahead;          /* of CLOCK_BOOTTIME, by so much: ns */
	_Atomic int fails_at;           /* the n-th call of any thread but the test's from now on; 0 or less: none does */
	_Atomic int wrong_timers;       /* that go by another clock */

	pthread_mutex_t mutex;          /* guards the timers */
	struct {
		bool used;
		struct itimerspec set; /* by the clock that jumps */
	} timer[TIMERS];
} clock_ = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local bool exempt; /* for the test's own waiting */

/* The library's calls find what is visible only. */
int clock_gettime(clockid_t id, struct timespec *t) __attribute__((visibility("default")));
int timerfd_create(clockid_t id, int flags) __attribute__((visibility("default")));
int timerfd_settime(int fd, int flags, const struct itimerspec *set, struct itimerspec *old) __attribute__((visibility("default")));

static void
add_ns(struct timespec *t, int64_t ns)
{
	int64_t all = (int64_t)t->tv_sec * S + t->tv_nsec + ns;

	t->tv_sec = all / S;
	t->tv_nsec = all % S;
}

int
clock_gettime(clockid_t id, struct timespec *t)
{
	if (!exempt && atomic_fetch_sub(&clock_.fails_at, 1) == 1) {
		errno = EINVAL;
		return -1;
	}
	if (syscall(SYS_clock_gettime, id, t) != 0)
		return -1;
	if (id == CLOCK_BOOTTIME)
		add_ns(t, clock_.ahead);
	return 0;
}

static int
set_timer(int fd, int flags, const struct itimerspec *set, struct itimerspec *old)
{
	struct itimerspec real = *set;
	bool armed = set->it_value.tv_sec != 0 || set->it_value.tv_nsec != 0;

	if (armed && flags & TFD_TIMER_ABSTIME && clock_.ahead > 0) {
		add_ns(&real.it_value, -clock_.ahead);
		if (real.it_value.tv_sec < 0 || real.it_value.tv_nsec < 0)
			real.it_value = (struct timespec){.tv_nsec = 1};
	}
	return (int)syscall(SYS_timerfd_settime, fd, flags, &real, old);
}

int
timerfd_create(clockid_t id, int flags)
{
	int fd = (int)syscall(SYS_timerfd_create, id, flags);

	clock_.wrong_timers += id != CLOCK_BOOTTIME;
	return fd;
}

int
timerfd_settime(int fd, int flags, const struct itimerspec *set, struct itimerspec *old)
{
	int result;

	pthread_mutex_lock(&clock_.mutex);
	if (fd >= 0 && fd < TIMERS && flags & TFD_TIMER_ABSTIME) {
		clock_.timer[fd].used = true;
		clock_.timer[fd].set = *set;
	}
	result = set_timer(fd, flags, set, old);
	pthread_mutex_unlock(&clock_.mutex);
	return result;
}

/* The machine slept for so long. A timer whose descriptor was closed is nobody's: setting it fails. */
static void
jump(int64_t ns)
{
	pthread_mutex_lock(&clock_.mutex);
	clock_.ahead += ns;
	for (int fd = 0; fd < TIMERS; fd++)
		if (clock_.timer[fd].used && set_timer(fd, TFD_TIMER_ABSTIME, &clock_.timer[fd].set, NULL) != 0)
			clock_.timer[fd].used = false;
	pthread_mutex_unlock(&clock_.mutex);
}

static void
start(void)
{
	server = server_start(NULL);
}

static void
stop(void)
{
	exempt = false;
	server_stop(server);
}

FIXTURE(start, stop);

/* ---- the machine sleeps ---- */

/* While the machine sleeps, the server goes on: the lease ends there, and another has the lock. */
SENTENCE(who_slept_with_the_machine_past_the_lease_sees_it_before_anything_else_and_is_told)
{
	enum { LEASE_MS = 60000 };
	struct leashed_events events = {0};
	leash_client *client = leashed_open(server_uri(server), LEASH_OPTIONS(.lease_ms = LEASE_MS, .event_arg = &events,
	                                                                      .on_event = leashed_note_event));
	leash_lock *lock = leashed_lock(client, "slept", NULL);

	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	assert_int_equal(clock_.wrong_timers, 0);
	server_integer(server, "DEL leash:{slept}");
	server_integer(server, "HSET leash:{slept} theirs 1");
	jump(2 * LEASE_MS * MS);
	assert_false(leash_lock_held(lock));
	assert_int_equal(leash_lock_remaining_ms(lock), 0);
	assert_int_equal(leash_lock_fence(lock), 0);
	await_true_for(events.count[LEASH_EVENT_LOST] == 1, 15); /* a renewal would be due 20 s after the acquire */
	assert_status(LEASH_LOST, leash_lock_release(lock, &err));
	assert_status(LEASH_NOT_HELD, leash_lock_release(lock, &err));
	await_ms(50); /* should there be a cancel of it */
	assert_int_equal(events.total, 1);
	assert_string_equal(server_text(server, "HKEYS leash:{slept}"), "theirs");
	leash_lock_free(lock);
	leash_close(client);
}

static void *
wait_for_long(void *lock)
{
	return leash_lock_acquire(lock, WAIT_MS, NULL) == LEASH_OK ? lock : NULL;
}

/* No answer comes and no lease ends when the machine wakes: nothing but the time could wake it. */
SENTENCE(a_timed_wait_whose_end_was_slept_through_is_not_waited_for_again)
{
	leash_client *client = leashed_open(server_uri(server), NULL);
	leash_lock *lock = leashed_lock(client, "waited", NULL);
	pthread_t thread;
	int64_t woken;
	void *had;

	server_integer(server, "HSET leash:{waited} theirs 1");
	assert_int_equal(pthread_create(&thread, NULL, wait_for_long, lock), 0);
	await_true(server_integer(server, "ZCOUNT leash:{waited}:queue (0 +inf") == 1);
	kill(server_pid(server), SIGSTOP);
	jump(2 * WAIT_MS * MS);
	woken = await_now_ns();
	pthread_join(thread, &had);
	kill(server_pid(server), SIGCONT);
	assert_null(had);
	assert_true(await_now_ns() - woken < WAIT_MS * MS * 9 / 10);
	leash_lock_free(lock);
	leash_close(client);
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
	leash_client *client = leashed_open(server_uri(server), NULL);

	exempt = true;
	for (int n = 1; n <= 16; n++) {
		uint64_t before = connects(client);

		clock_.fails_at = n;
		assert_true(server_integer(server, "CLIENT KILL TYPE normal SKIPME yes") > 0);
		await_true(connects(client) > before);
	}
	clock_.fails_at = 0;
	leash_close(client);
	exempt = false;
}
