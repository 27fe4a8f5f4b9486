/* A thousand threads wait for one fair lock and leave, each at a moment of its own: half of them by a timeout, half
 * canceled.
 *
 * In the first test the holder keeps the lock until the last of them has returned: nobody may have got it, each must
 * return on time, and nothing of them may be left in Redis that could be given the lock later. In the second one the
 * lock goes round meanwhile, and they leave roughly in the order in which they came: so the first in the queue are
 * always those that are about to leave, and some are granted it at that very moment. They keep it (LEASH_OK) or pass it
 * on, and it never stands still.
 *
 * LEASH_TEST_LEAVE_THREADS: waiters in each of the four processes (default 250). LEASH_TEST_LEAVE_SECONDS: within how
 * many they leave (default 4; a quarter of it in the second test, where ten then leave at the end of each turn).
 * LEASH_TEST_SEED: when each does, and how (default: by the clock). */
#include "tests/support/child.h"
#include "tests/support/judge.h"
#include "tests/support/lag.h"
#include "tests/support/leashed.h"
#include "tests/support/monitor.h"
#include "tests/support/place.h"
#include "tests/support/test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

enum { PROCESSES = 4, THREADS_MAX = 1000, LEASE_MS = 10000, LATE_MS = 100, TOO_LATE_MS = 1000, TURN_MS = 10,
       STACK = 256 * 1024 };

#define KEY "leash:{leave}"

struct waiter {
	struct fair *fair;
	leash_lock *lock;         /* these two mean something in its own process only */
	leash_cancel *cancel;     /* NULL: it has a time limit */
	int64_t leaves_ns;        /* when it is to return */
	_Atomic int64_t returned_ns; /* 0: not yet */
	_Atomic int status;
	bool canceled;
};

/* The shared memory of a test. */
struct fair {
	struct judge *judge;
	bool moving;              /* the lock goes round */
	unsigned threads;         /* in each process */
	int64_t begin_ns, span_ns;  /* they leave within this time */
	struct stage held, all_back, free, over;
	_Atomic unsigned returned;
	_Atomic uint64_t grants, unexpected, events;
	_Atomic int64_t granted_ns, longest_gap_ns;
	char holder[LEASH_TOKEN_MAX + 8]; /* `:<uuid of its client>"`, as it ends the name of its channel */
	struct waiter waiters[PROCESSES][THREADS_MAX];
};

struct process {
	struct fair *fair;
	unsigned number;
};

static void
unexpected(struct fair *fair, const char *what, leash_status status, const leash_error *err)
{
	if (fair->unexpected++ < 10)
		fprintf(stderr, "# %s: %s: %s\n", what, leash_status_name(status), err->text);
}

/* No hold may be lost, and none be left behind by a thread that has gone. */
static void
note_event(void *arg, const leash_event *event)
{
	struct fair *fair = arg;

	if (fair->events++ < 10)
		fprintf(stderr, "# event %s: %s\n", leash_event_name(event->type), event->text);
}

static void
sleep_until(int64_t ns)
{
	struct timespec at = {.tv_sec = ns / (1000 * MS), .tv_nsec = ns % (1000 * MS)};

	while (clock_nanosleep(CLOCK_BOOTTIME, TIMER_ABSTIME, &at, NULL) != 0)
		continue;
}

/* Hold the lock, which has just been acquired, until the turn is over; turns end when waiters leave. */
static void
hold(struct fair *fair, leash_lock *lock)
{
	int64_t last = atomic_exchange(&fair->granted_ns, await_now_ns()), gap = await_now_ns() - last,
		longest = fair->longest_gap_ns;
	leash_error err;
	leash_status status;

	judge_enter(fair->judge, 0, leash_lock_fence(lock));
	fair->grants++;
	while (last != 0 && gap > longest && !atomic_compare_exchange_weak(&fair->longest_gap_ns, &longest, gap))
		continue;
	sleep_until(fair->begin_ns + (1 + (await_now_ns() - fair->begin_ns) / (TURN_MS * MS)) * TURN_MS * MS);
	judge_leave(fair->judge, 0);
	status = leash_lock_release(lock, &err);
	if (status != LEASH_OK)
		unexpected(fair, "release", status, &err);
}

/* ---- the waiters ---- */

static void *
wait_and_leave(void *arg)
{
	struct waiter *w = arg;
	struct fair *fair = w->fair;
	int64_t wait_ms = LEASH_FOREVER, now = await_now_ns();
	leash_error err;
	leash_status status;

	if (!w->canceled) {
		wait_ms = w->leaves_ns > now ? (w->leaves_ns - now) / MS : 1;
		w->leaves_ns = now + wait_ms * MS;
	}
	status = leash_lock_acquire_with(w->lock, LEASH_ACQUIRE(.wait_ms = wait_ms, .cancel = w->cancel), &err);
	atomic_store(&w->returned_ns, await_now_ns());
	atomic_store(&w->status, (int)status);
	if (status == LEASH_OK)
		hold(fair, w->lock);
	else if (status != (w->canceled ? LEASH_CANCELED : LEASH_TIMEOUT))
		unexpected(fair, "acquire", status, &err);
	if (leash_lock_depth(w->lock) != 0 || leash_lock_held(w->lock))
		unexpected(fair, "held after all", status, &err);
	fair->returned++;
	return NULL;
}

static int
by_time(const void *a, const void *b)
{
	const struct waiter *x = *(struct waiter *const *)a, *y = *(struct waiter *const *)b;

	return x->leaves_ns < y->leaves_ns ? -1 : x->leaves_ns > y->leaves_ns;
}

/* Fire each cancel at its moment, which is then what really was the moment. */
static void
cancel_all(struct waiter **waiters, size_t n)
{
	qsort(waiters, n, sizeof *waiters, by_time);
	for (size_t i = 0; i < n; i++) {
		sleep_until(waiters[i]->leaves_ns);
		waiters[i]->leaves_ns = await_now_ns();
		leash_cancel_fire(waiters[i]->cancel);
	}
}

static int
run_waiters(void *arg)
{
	struct process *process = arg;
	struct fair *fair = process->fair;
	leash_client *client = place_client(LEASH_OPTIONS(.lease_ms = LEASE_MS, .on_event = note_event, .event_arg = fair));
	leash_lock *lock = leashed_lock(client, "leave", LEASH_LOCK_OPTIONS(.fair = true));
	static struct waiter *canceled[THREADS_MAX];
	static pthread_t threads[THREADS_MAX];
	size_t cancels = 0;
	pthread_attr_t attr;
	leash_error err;

	stage_await(&fair->held, 1);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	for (unsigned i = 0; i < fair->threads; i++) {
		struct waiter *w = &fair->waiters[process->number][i];

		w->fair = fair;
		w->lock = lock;
		if (w->canceled) {
			assert_status(LEASH_OK, leash_cancel_new(&w->cancel, &err));
			canceled[cancels++] = w;
		}
		if (pthread_create(&threads[i], &attr, wait_and_leave, w) != 0)
			return 1;
	}
	cancel_all(canceled, cancels);
	for (unsigned i = 0; i < fair->threads; i++)
		pthread_join(threads[i], NULL);
	for (size_t i = 0; i < cancels; i++)
		leash_cancel_free(canceled[i]->cancel);
	stage_raise(&fair->all_back);
	/* the client stays: were any of its places left, it would be given the lock */
	stage_await(&fair->over, 1);
	leash_lock_free(lock);
	leash_close(client);
	return 0;
}

/* ---- the holder ---- */

static int
run_holder(void *arg)
{
	struct fair *fair = arg;
	leash_client *client = place_client(LEASH_OPTIONS(.lease_ms = LEASE_MS, .on_event = note_event, .event_arg = fair));
	leash_lock *lock = leashed_lock(client, "leave", LEASH_LOCK_OPTIONS(.fair = true));
	char token[LEASH_TOKEN_MAX];
	leash_error err;

	assert_status(LEASH_OK, leash_lock_acquire(lock, LEASH_FOREVER, &err));
	judge_enter(fair->judge, 0, leash_lock_fence(lock));
	leash_lock_token(lock, token, sizeof token);
	snprintf(fair->holder, sizeof fair->holder, ":%.*s\"", (int)strcspn(token, ":"), token);
	stage_set(&fair->held, 1);
	if (fair->moving) {
		sleep_until(fair->begin_ns);
		fair->granted_ns = await_now_ns();
	} else {
		stage_await(&fair->free, 1);
	}
	judge_leave(fair->judge, 0);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	stage_set(&fair->free, 2);
	while (fair->moving && stage_now(&fair->all_back) < PROCESSES) {
		assert_status(LEASH_OK, leash_lock_acquire(lock, LEASH_FOREVER, &err));
		hold(fair, lock);
	}
	leash_lock_free(lock);
	leash_close(client);
	return 0;
}

/* ---- the tests ---- */

static int64_t
from_env(const char *name, int64_t otherwise)
{
	const char *text = getenv(name);

	return text != NULL ? strtoll(text, NULL, 0) : otherwise;
}

static void
prepare(struct fair *fair, bool moving)
{
	unsigned seed = (unsigned)from_env("LEASH_TEST_SEED", await_now_ns() / MS);

	printf("# LEASH_TEST_SEED=%u\n", seed);
	fair->judge = judge_new(1, 0);
	fair->moving = moving;
	fair->threads = (unsigned)from_env("LEASH_TEST_LEAVE_THREADS", 250);
	assert_in_range(fair->threads, 1, THREADS_MAX);
	/* all of them must be in the queue before the first one leaves */
	fair->begin_ns = await_limit_ns(3);
	fair->span_ns = from_env("LEASH_TEST_LEAVE_SECONDS", 4) * 1000 * MS / (moving ? 4 : 1);
	for (unsigned i = 0; i < PROCESSES; i++) {
		for (unsigned j = 0; j < fair->threads; j++) {
			struct waiter *w = &fair->waiters[i][j];

			w->canceled = rand_r(&seed) % 2 == 0;
			w->leaves_ns = fair->begin_ns + (int64_t)((double)rand_r(&seed) / RAND_MAX * (double)fair->span_ns);
			if (moving) { /* when a turn ends, or a fraction of a ms later */
				int64_t turn = fair->span_ns / MS / TURN_MS * j / fair->threads + rand_r(&seed) % 2;

				w->leaves_ns = fair->begin_ns + (1 + turn) * TURN_MS * MS + rand_r(&seed) % 500 * 1000;
			}
		}
	}
}

static int64_t
places(void)
{
	return place_integer("leave", "ZCOUNT " KEY ":queue (0 +inf");
}

/* Until all are back; if some are not, say which. */
static void
await_return(struct fair *fair)
{
	int64_t limit = fair->begin_ns + fair->span_ns + (int64_t)(60 * await_slowness() * 1e9);

	while (fair->returned < PROCESSES * fair->threads && !await_is_past(limit))
		await_ms(2);
	for (unsigned i = 0; i < PROCESSES; i++)
		for (unsigned j = 0; j < fair->threads; j++)
			if (fair->waiters[i][j].returned_ns == 0)
				fprintf(stderr, "# hangs: thread %u of process %u, which was to be %s %lld ms ago\n", j, i,
				        fair->waiters[i][j].canceled ? "canceled" : "timed out",
				        (long long)((await_now_ns() - fair->waiters[i][j].leaves_ns) / MS));
	stage_await(&fair->all_back, PROCESSES);
}

/* How much later than it was to did each return? Who got the lock before its time was not late. */
static void
check_lateness(struct fair *fair, bool canceled, int64_t lag_ns, size_t *granted, size_t *kept)
{
	static int64_t late[PROCESSES * THREADS_MAX];
	int64_t limit_ns = (int64_t)(LATE_MS * await_slowness()) * MS + lag_ns;
	size_t n = 0, in_time = 0, early = 0;

	for (unsigned i = 0; i < PROCESSES; i++) {
		for (unsigned j = 0; j < fair->threads; j++) {
			const struct waiter *w = &fair->waiters[i][j];
			int64_t by = w->returned_ns - w->leaves_ns;

			if (w->canceled != canceled)
				continue;
			*granted += w->status == LEASH_OK;
			if (w->status == LEASH_OK && by < 0)
				continue;
			*kept += w->status == LEASH_OK;
			early += by < 0;
			in_time += by <= limit_ns;
			late[n++] = by;
		}
	}
	if (n == 0)
		return;
	sort_times(late, n);
	printf("# %4zu %-9s late by ms: p50 %.2f, p90 %.2f, p99 %.2f, longest %.2f; %zu within %d ms\n", n,
	       canceled ? "canceled," : "timed out,",
	       (double)late[n / 2] / 1e6, (double)late[n * 9 / 10] / 1e6, (double)late[n * 99 / 100] / 1e6,
	       (double)late[n - 1] / 1e6, in_time,
	       (int)(limit_ns / MS));
	fflush(stdout);
	assert_int_equal(early, 0);
	if (deployment_chosen() == DEPLOYMENT_SINGLE) /* where servers are many, they are what the machine is busy with */
		assert_true(in_time * 100 >= n * 99);
	assert_true(late[n - 1] <= slow_ms(TOO_LATE_MS) * MS + lag_ns);
}

static void
thousand_waiters_leave(bool moving)
{
	struct monitor *monitor;
	struct fair *fair = child_share(sizeof *fair);
	struct process processes[PROCESSES];
	pid_t pid[PROCESSES], holder;
	int64_t most = 0, lag_ns;
	size_t granted = 0, kept = 0, all, messages;
	leash_client *client;
	leash_lock *lock;
	leash_error err;
	uint64_t last_fence;

	prepare(fair, moving);
	all = PROCESSES * fair->threads;
	holder = child_run(run_holder, fair);
	for (unsigned i = 0; i < PROCESSES; i++) {
		processes[i] = (struct process){.fair = fair, .number = i};
		pid[i] = child_run(run_waiters, &processes[i]);
	}
	monitor = monitor_start(place_at("leave"));
	while (most < (int64_t)all && await_now_ns() < fair->begin_ns) {
		int64_t n = places();

		most = n > most ? n : most;
		await_ms(5);
	}
	lag_begin();
	await_return(fair);
	lag_ns = lag_end();
	if (!moving) {
		/* all have left: the places go, and while nobody waits the queue is not there at all */
		await_true_for(places() == 0, 10); /* the queue would lapse by itself after 20 s */
		await_true_for(place_integer("leave", "EXISTS " KEY ":queue") == 0, 10);
		assert_int_equal(place_integer("leave", "EXISTS " KEY), 1);
		stage_set(&fair->free, 1);
		stage_await(&fair->free, 2);
	}
	child_wait(holder);
	messages =
		monitor_count_in_scripts(monitor, "publish\" \"leash:") - monitor_count_in_scripts(monitor, fair->holder);
	monitor_stop(monitor);
	await_true(place_integer("leave", "EXISTS " KEY " " KEY ":queue") == 0);

	/* A new asker finds it free. */
	last_fence = strtoull(place_text("leave", "GET " KEY ":fence"), NULL, 10);
	client = place_client(NULL);
	lock = leashed_lock(client, "leave", LEASH_LOCK_OPTIONS(.fair = true));
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	assert_true(leash_lock_fence(lock) / 256 > last_fence);
	assert_int_equal(place_integer("leave", "EXISTS " KEY ":queue"), 0);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	leash_lock_free(lock);
	leash_close(client);
	assert_int_equal(place_integer("leave", "EXISTS " KEY " " KEY ":queue"), 0);
	stage_set(&fair->over, 1);
	for (int i = 0; i < PROCESSES; i++)
		child_wait(pid[i]);

	printf("# %zu waiters, %lld of them in the queue before the first was to leave\n", all, (long long)most);
	check_lateness(fair, true, lag_ns, &granted, &kept);
	check_lateness(fair, false, lag_ns, &granted, &kept);
	printf("# %zu grants to waiters: %zu of them got it, %zu of these after their time was over; %lld passed it on; "
	       "%zu turns in all; "
	       "longest time without a new holder %.1f ms; %zu violations\n", messages, granted, kept,
	       (long long)messages - (long long)granted,
	       judge_entries(fair->judge), (double)fair->longest_gap_ns / 1e6, judge_violations(fair->judge));
	fflush(stdout);
	judge_print(fair->judge);
	assert_int_equal(most, all);
	assert_int_equal(judge_violations(fair->judge), 0);
	assert_int_equal(fair->unexpected, 0);
	assert_int_equal(fair->events, 0);
	if (moving) {
		assert_true(granted > 0);
		assert_true(messages >= granted);
		assert_true(fair->longest_gap_ns <= slow_ms(TOO_LATE_MS) * MS + lag_ns);
	} else {
		assert_int_equal(messages, 0);
		assert_int_equal(granted, 0);
	}
	judge_free(fair->judge);
	child_unshare(fair, sizeof *fair);
}

PLACE(place_open);

SENTENCE(who_leaves_returns_on_time_and_takes_no_part_any_more, .but = PLACE_NO_QUEUE)
{
	thousand_waiters_leave(false);
}

SENTENCE(who_is_granted_the_lock_while_leaving_keeps_it_or_passes_it_on, .but = PLACE_NO_QUEUE)
{
	thousand_waiters_leave(true);
}
