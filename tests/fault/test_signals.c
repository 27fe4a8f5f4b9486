/* Signals by the thousand, amid calls: none makes a call fail. And a cancellation leaves no mutex locked, whenever it
 * comes.
 *
 *   LEASH_TEST_SIGNALS  handlers that run amid calls (default 100000; under ThreadSanitizer 20000) */
#include "tests/support/kept.h"
#include "tests/support/knob.h"
#include "tests/support/leashed.h"
#include "tests/support/one_server.h"
#include "tests/support/sanitizer.h"
#include "tests/support/test.h"
#include "tests/support/trouble.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

static _Thread_local leash_error err; /* what the last call said */

/* ---- signals ---- */

static _Atomic long handled, strangers; /* handlers that ran, and those of them on threads that are not the test's */
static _Thread_local volatile sig_atomic_t is_ours;

static void
note_signal(int signal)
{
	int e = errno;

	(void)signal;
	handled++;
	strangers += !is_ours;
	errno = e;
}

static void
handle(int signal, int flags)
{
	struct sigaction action = {.sa_flags = flags};

	action.sa_handler = note_signal;
	assert_int_equal(sigaction(signal, &action, NULL), 0);
}

struct worker {
	const char *name; /* of its lock, and how that is wanted: by the first client, or by the other one */
	void (*work)(struct worker *worker); /* NULL: it acquires and releases */
	bool fair, by_other;
	leash_lock *lock;
	_Atomic unsigned turns;
	_Atomic bool ready;
	pthread_t thread;
};

static _Atomic bool enough;
static _Atomic unsigned opened;
static _Atomic int losses;

/* Others want it too. What it is handed is to be renewed within three seconds, of which a machine with too much to do
 * may have nothing left for it. */
static void
wait_and_release(struct worker *w)
{
	leash_status status;

	assert_status(LEASH_OK, leash_lock_acquire(w->lock, w->turns % 2 ? LEASH_FOREVER : 600000, &err));
	status = leash_lock_extend(w->lock, 30000, &err);
	if (status == LEASH_LOST) {
		assert_status(LEASH_LOST, leash_lock_release(w->lock, &err));
		losses++;
		return;
	}
	assert_status(LEASH_OK, status);
	assert_status(LEASH_OK, leash_lock_acquire(w->lock, 0, &err));
	assert_true(leash_lock_held(w->lock));
	assert_status(LEASH_OK, leash_lock_release(w->lock, &err));
	assert_status(LEASH_OK, leash_lock_release(w->lock, &err));
	assert_status(LEASH_NOT_HELD, leash_lock_release(w->lock, &err));
}

/* It is held by somebody else to the end. */
static void
wait_in_vain(struct worker *w)
{
	const int64_t wait_ms = 30;
	int64_t begun = await_now_ns();
	leash_status status = leash_lock_acquire(w->lock, wait_ms, &err);

	if (status != LEASH_UNAVAILABLE) /* that the answer to its ask did not come in time it may say, no signal needed */
		assert_status(LEASH_TIMEOUT, status);
	assert_true(await_now_ns() - begun >= wait_ms * MS);
	assert_status(LEASH_TIMEOUT, leash_lock_acquire(w->lock, 0, &err));
}

static void
open_and_close(struct worker *w)
{
	char named[64];

	snprintf(named, sizeof named, "redis://localhost:%d", server_port(server));
	leash_close(leashed_open((const char *const[]){uri, server_uri_tcp(server), named}[w->turns % 3],
	                         LEASH_OPTIONS(.timeout_ms = 60000)));
	opened++;
}

static void *
work_on(void *arg)
{
	struct worker *w = arg;

	is_ours = true;
	w->ready = true;
	while (!enough) {
		(w->work != NULL ? w->work : wait_and_release)(w);
		w->turns++;
	}
	while (w->ready)
		usleep(1000); /* the thread must be there as long as somebody sends signals to it */
	return NULL;
}

static struct worker workers[] = {
	{.name = "own 0"}, {.name = "own 1"}, {.name = "plain"}, {.name = "plain"}, {.name = "plain", .by_other = true},
	{.name = "fair", .fair = true}, {.name = "fair", .fair = true}, {.name = "fair", .fair = true, .by_other = true},
	{.name = "theirs", .work = wait_in_vain}, {.name = "theirs", .work = open_and_close},
};

/* Two threads send, so that one is at it while the other's worker runs; half of the signals let system calls go on by
 * themselves. They leave the others time: whoever does nothing but handle signals loses what it was granted. */
static void *
send_signals(void *arg)
{
	for (size_t i = 0; !enough; i++) {
		pthread_kill(workers[i % COUNT(workers)].thread, i / COUNT(workers) % 2 ? SIGUSR1 : SIGUSR2);
		if (i % COUNT(workers) == COUNT(workers) - 1)
			usleep(100);
	}
	return arg;
}

static long long
connections(void)
{
	return atoll(server_text(server, "EVAL %s 0", "return redis.call('INFO', 'stats'):match('s_received:(%d+)')"));
}

GROUP(start_tcp_server, stop_server);

/* ---- threads that are canceled ---- */

static _Thread_local const char *call; /* that this thread is in, and may be canceled asynchronously around it */
static unsigned taken; /* mutexes amid calls */

#if !UNDER_ASAN && !UNDER_TSAN /* which have one of their own */
__attribute__((visibility("default"))) int
pthread_mutex_lock(pthread_mutex_t *mutex)
{
	static int (*lock)(pthread_mutex_t *);
	int state, type;

	if (lock == NULL)
		*(void **)&lock = dlsym(RTLD_NEXT, "pthread_mutex_lock");
	if (call != NULL) {
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
		pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
		if (state != PTHREAD_CANCEL_DISABLE || type != PTHREAD_CANCEL_DEFERRED)
			trouble("a mutex is taken that a cancellation could leave locked: %s", call);
		taken++;
	}
	return lock(mutex);
}
#endif

static bool
see_lock(void *arg, const leash_lock_info *info)
{
	(void)arg;
	return info != NULL;
}

#define amid(...) (call = #__VA_ARGS__, __VA_ARGS__, call = NULL)
#define amid_status(expected, ...) \
	do { \
		amid(status = __VA_ARGS__); \
		assert_status((expected), status); \
	} while (0)

SENTENCE(no_call_takes_a_mutex_while_its_thread_may_be_canceled)
{
	leash_lock_info info = {.size = sizeof info};
	leash_stats stats = {.size = sizeof stats};
	leash_cancel *cancel = NULL;
	leash_client *client = NULL;
	leash_owner *owner = NULL;
	leash_lock *lock = NULL;
	char token[LEASH_TOKEN_MAX];
	leash_status status;
	bool held, fired;

	taken = 0;
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	amid_status(LEASH_OK, leash_open(&client, LEASH_OPTIONS(.uri = uri, .timeout_ms = 20000), &err));
	amid_status(LEASH_OK, leash_lock_new(&lock, client, "canceled", NULL, &err));
	amid_status(LEASH_OK, leash_owner_new(&owner, &err));
	amid_status(LEASH_OK, leash_cancel_new(&cancel, &err));
	amid_status(LEASH_OK, leash_lock_acquire_with(lock, LEASH_ACQUIRE(.wait_ms = 20000, .cancel = cancel), &err));
	amid_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	amid_status(LEASH_OK, leash_lock_extend(lock, 60000, &err));
	amid(held = leash_lock_held(lock) && leash_lock_remaining_ms(lock) > 0 && leash_lock_depth(lock) == 2 &&
	            leash_lock_fence(lock) > 0 && leash_lock_token(lock, token, sizeof token) > 0);
	amid(leash_lock_alive(lock));
	amid_status(LEASH_OK, leash_lock_inspect(lock, &info, &err));
	amid_status(LEASH_OK, leash_lock_waiters(lock, (leash_waiter_fn)abort, NULL, &err));
	amid_status(LEASH_OK, leash_client_scan(client, NULL, see_lock, NULL, &err));
	amid_status(LEASH_OK, leash_client_stats(client, &stats, &err));
	amid_status(LEASH_OK, leash_lock_release(lock, &err));
	amid_status(LEASH_OK, leash_lock_release(lock, &err));
	amid(leash_cancel_fire(cancel));
	amid(fired = leash_cancel_is_fired(cancel));
	amid_status(LEASH_CANCELED, leash_lock_acquire_with(lock, LEASH_ACQUIRE(.wait_ms = 1, .cancel = cancel), &err));
	amid_status(LEASH_NOT_HELD, leash_lock_break(lock, &err));
	amid_status(LEASH_NOT_HELD, leash_lock_adopt(lock, "00112233-4455-4677-8899-aabbccddeeff:1", &err));
	amid(leash_owner_free(owner));
	amid(leash_cancel_free(cancel));
	amid(leash_lock_free(lock));
	amid(leash_close(client));
	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, NULL);
	assert_true(held && fired);
	assert_true(taken > 20 || UNDER_ASAN || UNDER_TSAN);
}

static struct leashed_events events;

static leash_client *
open_client(const char *at)
{
	return kept(leashed_open(at, LEASH_OPTIONS(.timeout_ms = 60000, .on_event = leashed_note_event,
	                                           .event_arg = &events)));
}

/* Every call says what it would have said without signals, and no connection had to be opened again. */
SENTENCE(a_hundred_thousand_signals_make_no_call_fail)
{
	long wanted = knob("LEASH_TEST_SIGNALS", UNDER_TSAN ? 20000 : 100000);
	const struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
	leash_lock *held, *theirs;
	unsigned turns = 0;
	pthread_t sender[2];
	long long connected;
	sigset_t all, before;

	is_ours = true;
	handle(SIGUSR1, 0);
	handle(SIGUSR2, SA_RESTART);
	handle(SIGALRM, 0);
	connected = connections();
	leash_client *client = open_client(uri);
	leash_client *other = open_client(server_uri_tcp(server));
	held = kept(leashed_lock(client, "held", LEASH_LOCK_OPTIONS(.lease_ms = 30000)));
	theirs = kept(leashed_lock(other, "theirs", LEASH_LOCK_OPTIONS(.lease_ms = 600000)));
	assert_status(LEASH_OK, leash_lock_acquire(held, 0, &err));
	assert_status(LEASH_OK, leash_lock_acquire(theirs, 0, &err));
	for (size_t i = 0; i < COUNT(workers); i++) {
		struct worker *w = &workers[i];

		w->lock = kept(leashed_lock(w->by_other ? other : client, w->name, LEASH_LOCK_OPTIONS(.fair = w->fair)));
		assert_int_equal(pthread_create(&w->thread, NULL, work_on, w), 0);
		await_true(w->ready);
	}
	sigfillset(&all); /* before a sender begins: it takes none itself */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&sender[i], NULL, send_signals, NULL), 0);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	setitimer(ITIMER_REAL, &often, NULL); /* these are for the process, and whoever takes them */
	await_true_for(handled >= wanted, 1200);
	setitimer(ITIMER_REAL, &never, NULL);
	enough = true;
	for (int i = 0; i < 2; i++)
		pthread_join(sender[i], NULL);
	for (size_t i = 0; i < COUNT(workers); i++) {
		workers[i].ready = false;
		pthread_join(workers[i].thread, NULL);
		turns += workers[i].work == NULL ? workers[i].turns : 0;
		if (workers[i].turns == 0)
			fail_msg("worker %zu came to nothing", i);
	}
	print_message("# %ld signals, and %u clients came and went: no call failed, %d of %u holds were lost\n", (long)handled,
	              (unsigned)opened, losses, turns);
	assert_int_equal(strangers, 0);
	assert_true(leash_lock_held(held) && leash_lock_held(theirs));
	assert_true(losses <= 1 + (int)turns / 20);
	assert_int_equal(events.total, losses);
	assert_int_equal(connections() - connected, 4 + 2 * opened);
	assert_status(LEASH_OK, leash_lock_release(held, &err));
	assert_status(LEASH_OK, leash_lock_release(theirs, &err));
}
