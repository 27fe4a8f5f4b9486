/* Time on the client's side, with all its threads: machines that sleep, clocks that fail. What the core makes of it:
 * core/test_single.
 *
 * The clock is the test's: clock_gettime() is defined here, and the library's calls arrive at it, as are the timers that go by that
 * clock. A jump is what a machine meets that wakes up: CLOCK_BOOTTIME is further on, CLOCK_MONOTONIC is not, and what was due
 * meanwhile is due at once. */
#include "tests/support/child.h"
#include "tests/support/leashed.h"
#include "tests/support/server.h"
#include "tests/support/test.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define S  INT64_C(1000000000)

static struct server *server;
static _Thread_local leash_error err; /* what the last call said */

/* ---- the clock ---- */

enum { TIMERS = 64 };

static struct {
	_Atomic int64_t ahead;          /* of CLOCK_BOOTTIME, by so much: ns */
	_Atomic bool broken;            /* it cannot be read, by any thread but exempt ones */
	_Atomic int fails_at;           /* the n-th call from now on; 0 or less: none does */
	_Atomic int wrong_timers;       /* that go by another clock */

	pthread_mutex_t mutex;          /* guards the timers */
	struct {
		bool used;
		struct itimerspec set; /* by the clock that jumps */
	} timer[TIMERS];
} clock_ = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local bool exempt; /* for the test's own waiting */
static _Thread_local int countdown; /* the n-th call of this thread from now on fails; 0: none does */

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
	if (!exempt && ((countdown > 0 && --countdown == 0) || atomic_fetch_sub(&clock_.fails_at, 1) == 1 || clock_.broken)) {
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
	clock_.broken = false;
	exempt = false;
	server_stop(server);
}

FIXTURE(start, stop);

static int64_t
cpu_ns(void)
{
	struct timespec t = {0};

	syscall(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * S + t.tv_nsec;
}

/* ---- the machine sleeps ---- */

struct sleeper {
	int64_t lease_ms;
	struct stage looking;
	_Atomic int64_t woken_at; /* 0: it sleeps, or is yet to do so */
};

/* While the machine sleeps, the server goes on: the lease ends there, and another has the lock. */
static void *
sleep_for_two_leases(void *arg)
{
	struct sleeper *s = arg;

	stage_await(&s->looking, 1);
	await_ms(20); /* somewhere in the middle of it all */
	server_integer(server, "DEL leash:{slept}");
	server_integer(server, "HSET leash:{slept} theirs 1");
	jump(2 * s->lease_ms * MS);
	s->woken_at = await_now_ns();
	return NULL;
}

SENTENCE(who_slept_with_the_machine_past_the_lease_sees_it_before_anything_else_and_is_told)
{
	struct leashed_events events = {0};
	struct sleeper s = {.lease_ms = 60000};
	leash_client *client = leashed_open(server_uri(server), LEASH_OPTIONS(.lease_ms = s.lease_ms, .on_event = leashed_note_event, .event_arg = &events));
	leash_lock *lock = leashed_lock(client, "slept", NULL);
	uint64_t looks = 0, held = 0, later = 0;
	pthread_t thread;

	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	assert_int_equal(clock_.wrong_timers, 0);
	assert_int_equal(pthread_create(&thread, NULL, sleep_for_two_leases, &s), 0);
	while (events.count[LEASH_EVENT_LOST] == 0 || later < 1000) {
		int64_t woken_at = s.woken_at;
		bool is_held = leash_lock_held(lock);

		looks++;
		held += is_held;
		later += woken_at != 0;
		if (woken_at != 0 && is_held)
			fail_msg("look %llu: held, after the machine slept for two leases", (unsigned long long)looks);
		if (woken_at != 0 && await_now_ns() > woken_at + (int64_t)(15 * await_slowness()) * S)
			fail_msg("nobody was told"); /* a renewal would be due 20 s after the acquire */
		stage_set(&s.looking, 1);
	}
	pthread_join(thread, NULL);
	printf("# %llu looks, %llu before the machine slept; lost was told %.1f ms after it woke up\n", (unsigned long long)looks,
	       (unsigned long long)held, (double)(events.at_ns[LEASH_EVENT_LOST] - s.woken_at) / 1e6);
	assert_true(held > 0);
	assert_int_equal(leash_lock_remaining_ms(lock), 0);
	assert_int_equal(leash_lock_fence(lock), 0);
	assert_status(LEASH_LOST, leash_lock_release(lock, &err));
	assert_status(LEASH_NOT_HELD, leash_lock_release(lock, &err));
	assert_int_equal(events.total, 1);
	await_ms(50); /* should there be a cancel of it */
	assert_string_equal(server_text(server, "HKEYS leash:{slept}"), "theirs");
	server_integer(server, "DEL leash:{slept}");
	assert_status(LEASH_OK, leash_lock_acquire(lock, 30000, &err));
	assert_true(leash_lock_held(lock));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	leash_lock_free(lock);
	leash_close(client);
}

struct asker {
	leash_lock *lock;
	int64_t wait_ms;
	int fails_at; /* a reading of the clock; see countdown */
	_Atomic int ended;
	leash_status status;
	leash_error err;
	uint64_t fence;
	bool held;
	pthread_t thread;
};

static void *
ask(void *arg)
{
	struct asker *a = arg;

	countdown = a->fails_at;
	a->status = leash_lock_acquire(a->lock, a->wait_ms, &a->err);
	countdown = 0;
	a->held = leash_lock_held(a->lock);
	a->fence = leash_lock_fence(a->lock);
	if (a->status == LEASH_OK && leash_lock_release(a->lock, &a->err) != LEASH_OK)
		a->status = a->err.status;
	a->ended = 1;
	return NULL;
}

/* No answer comes and no lease ends when the machine wakes: nothing but the time could wake it. */
SENTENCE(a_timed_wait_whose_end_was_slept_through_is_not_waited_for_again)
{
	enum { WAIT_MS = 300000 };
	leash_client *client = leashed_open(server_uri(server), NULL);
	struct asker a = {.lock = leashed_lock(client, "waited", NULL), .wait_ms = WAIT_MS};
	int64_t woken;

	server_integer(server, "HSET leash:{waited} theirs 1");
	assert_int_equal(pthread_create(&a.thread, NULL, ask, &a), 0);
	await_true(server_integer(server, "ZCOUNT leash:{waited}:queue (0 +inf") == 1);
	kill(server_pid(server), SIGSTOP);
	jump(2 * WAIT_MS * MS);
	woken = await_now_ns();
	pthread_join(a.thread, NULL);
	kill(server_pid(server), SIGCONT);
	assert_true(a.status == LEASH_TIMEOUT || a.status == LEASH_UNAVAILABLE);
	assert_true(await_now_ns() - woken < WAIT_MS * MS * 9 / 10);
	leash_lock_free(a.lock);
	leash_close(client);
}

/* ---- clocks that fail ---- */

SENTENCE(a_clock_that_cannot_be_read_counts_as_the_end_of_the_lease)
{
	struct leashed_events events = {0};
	leash_client *client = leashed_open(server_uri(server), LEASH_OPTIONS(.lease_ms = 3000, .on_event = leashed_note_event, .event_arg = &events));
	leash_lock *lock = leashed_lock(client, "no clock", NULL), *other = leashed_lock(client, "other", NULL);
	struct asker a = {.lock = other, .wait_ms = LEASH_FOREVER};
	int64_t used;

	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	assert_true(leash_lock_held(lock));
	clock_.broken = true;
	assert_false(leash_lock_held(lock));
	assert_int_equal(leash_lock_remaining_ms(lock), 0);
	assert_int_equal(leash_lock_fence(lock), 0);
	assert_status(LEASH_LOST, leash_lock_acquire(lock, 0, &err));
	assert_status(LEASH_LOST, leash_lock_extend(lock, 1000, &err));
	assert_true(leash_lock_acquire(other, 0, &err) != LEASH_OK);
	assert_true(leash_lock_acquire(other, 1000, &err) != LEASH_OK);
	assert_int_equal(pthread_create(&a.thread, NULL, ask, &a), 0);
	used = cpu_ns();
	for (int i = 0; i < 500; i++)
		await_ms(1);
	used = cpu_ns() - used;
	printf("# %.0f ms of CPU in 500 ms without a clock\n", (double)used / 1e6);
	assert_true((double)used < 250e6 * await_slowness()); /* no thread goes round and round */
	clock_.broken = false;
	pthread_join(a.thread, NULL); /* it was refused, or it has waited for better times */
	assert_false(leash_lock_held(lock));
	assert_status(LEASH_LOST, leash_lock_release(lock, &err));
	await_true(events.count[LEASH_EVENT_LOST] == 1);
	await_true(server_integer(server, "EXISTS leash:{no%%20clock} leash:{other}") == 0); /* what it had is not kept */
	assert_status(LEASH_OK, leash_lock_acquire(lock, 30000, &err));
	assert_true(leash_lock_held(lock));
	await_ms(1500);
	assert_true(leash_lock_held(lock)); /* it is renewed */
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	leash_lock_free(lock);
	leash_lock_free(other);
	leash_close(client);
}

SENTENCE(a_timed_wait_ends_whichever_reading_of_the_clock_fails)
{
	leash_client *client = leashed_open(server_uri(server), NULL), *other = leashed_open(server_uri(server), NULL);
	leash_lock *held = leashed_lock(other, "wanted", NULL), *wanted = leashed_lock(client, "wanted", NULL);
	struct asker a;

	for (int n = 1; n <= 10; n++) {
		assert_status(LEASH_OK, leash_lock_acquire(held, 30000, &err));
		a = (struct asker){.lock = wanted, .wait_ms = 60, .fails_at = n};
		assert_int_equal(pthread_create(&a.thread, NULL, ask, &a), 0);
		await_true_for(a.ended, 15); /* its holder keeps it */
		pthread_join(a.thread, NULL);
		if (a.status != LEASH_TIMEOUT && a.status != LEASH_UNAVAILABLE)
			fail_msg("reading %d failed: %s: %s", n, leash_status_name(a.status), a.err.text);
		assert_false(a.held);
		assert_true(leash_lock_held(held));
		assert_status(LEASH_OK, leash_lock_release(held, &err));
		/* and one that can have it has it, or says no, and leaves nothing */
		a = (struct asker){.lock = wanted, .wait_ms = 20000, .fails_at = n};
		assert_int_equal(pthread_create(&a.thread, NULL, ask, &a), 0);
		await_true_for(a.ended, 15);
		pthread_join(a.thread, NULL);
		if (a.status != LEASH_OK && a.status != LEASH_TIMEOUT && a.status != LEASH_UNAVAILABLE && a.status != LEASH_LOST)
			fail_msg("reading %d failed: %s: %s", n, leash_status_name(a.status), a.err.text);
		await_true(server_integer(server, "EXISTS leash:{wanted} leash:{wanted}:queue") == 0);
	}
	leash_lock_free(held);
	leash_lock_free(wanted);
	leash_close(client);
	leash_close(other);
}

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
