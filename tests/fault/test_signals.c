/* Signals and cancellations by the thousand, amid calls: none makes a call fail, and no mutex stays locked.
 *
 *   LEASH_TEST_SIGNALS  handlers that run amid calls (default 100000; under ThreadSanitizer 20000)
 *   LEASH_TEST_CANCELS  how often each call is canceled, in either way (default 10) */
#include "tests/support/child.h"
#include "tests/support/knob.h"
#include "tests/support/leashed.h"
#include "tests/support/one_server.h"
#include "tests/support/sanitizer.h"
#include "tests/support/test.h"
#include "tests/support/trouble.h"

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

struct worker;
typedef void work(struct worker *worker);

struct worker {
	work *work;
	leash_lock *lock;
	leash_cancel *cancel;
	_Atomic unsigned turns;
	_Atomic bool ready;
	pthread_t thread;
};

static _Atomic bool enough;
static _Atomic unsigned opened;

/* The lock is nobody's else. */
static void
pair(struct worker *w)
{
	assert_status(LEASH_OK, leash_lock_acquire(w->lock, 0, &err));
	assert_status(LEASH_OK, leash_lock_acquire(w->lock, LEASH_FOREVER, &err));
	assert_true(leash_lock_held(w->lock));
	assert_status(LEASH_OK, leash_lock_extend(w->lock, 30000, &err));
	assert_status(LEASH_OK, leash_lock_release(w->lock, &err));
	assert_status(LEASH_OK, leash_lock_release(w->lock, &err));
	assert_status(LEASH_NOT_HELD, leash_lock_release(w->lock, &err));
}

/* Others want it too. */
static void
wait_and_release(struct worker *w)
{
	assert_status(LEASH_OK, leash_lock_acquire(w->lock, w->turns % 2 ? LEASH_FOREVER : 600000, &err));
	assert_true(leash_lock_held(w->lock));
	assert_status(LEASH_OK, leash_lock_release(w->lock, &err));
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
	const char *where = uri;
	leash_client *client = NULL;

	snprintf(named, sizeof named, "redis://localhost:%d", server_port(server));
	if (w->turns % 3 != 0)
		where = w->turns % 3 == 1 ? server_uri_tcp(server) : named;
	assert_status(LEASH_OK, leash_open(&client, LEASH_OPTIONS(.uri = where, .timeout_ms = 60000), &err));
	leash_close(client);
	opened++;
}

static void *
work_on(void *arg)
{
	struct worker *w = arg;

	is_ours = true;
	w->ready = true;
	while (!enough) {
		w->work(w);
		w->turns++;
	}
	while (w->ready)
		usleep(1000); /* the thread must be there as long as somebody sends signals to it */
	return NULL;
}

enum { WORKERS = 10 };

/* Two threads send, so that one is at it while the other's worker runs; half of the signals let system calls go on by
 * themselves. */
static void *
send_signals(void *arg)
{
	struct worker *worker = arg;

	for (unsigned i = 0; !enough; i++) {
		pthread_kill(worker[i % WORKERS].thread, i / WORKERS % 2 ? SIGUSR1 : SIGUSR2);
		if (i % WORKERS == WORKERS - 1)
			sched_yield();
	}
	return NULL;
}

static void
begin_work(struct worker worker[WORKERS], leash_client *client, leash_client *other)
{
	static work *const works[WORKERS] = {
		pair, pair, wait_and_release, wait_and_release, wait_and_release, wait_and_release, wait_and_release,
		wait_in_vain, open_and_close, wait_and_release,
	};
	static const char *const names[WORKERS] =
		{"pair 0", "pair 1", "plain", "plain", "plain", "fair", "fair", "theirs", "theirs", "fair"};

	enough = false;
	for (int i = 0; i < WORKERS; i++) {
		bool fair = strcmp(names[i], "fair") == 0;

		worker[i] = (struct worker){.work = works[i]};
		worker[i].lock = leashed_lock(i == 4 || i == 9 ? other : client, names[i], LEASH_LOCK_OPTIONS(.fair = fair));
		assert_int_equal(pthread_create(&worker[i].thread, NULL, work_on, &worker[i]), 0);
		await_true(worker[i].ready);
	}
}

static unsigned
end_work(struct worker worker[WORKERS])
{
	unsigned turns = 0;

	for (int i = 0; i < WORKERS; i++) {
		worker[i].ready = false;
		pthread_join(worker[i].thread, NULL);
		if (worker[i].turns == 0)
			fail_msg("worker %d came to nothing", i);
		turns += worker[i].turns;
		leash_lock_free(worker[i].lock);
	}
	return turns;
}

/* How many connections the server has taken. */
static long long
connections(void)
{
	static const char field[] = "total_connections_received:";
	const char *at = strstr(server_text(server, "INFO stats"), field);

	return at != NULL ? atoll(at + sizeof field - 1) : 0;
}

GROUP(start_tcp_server, stop_server);

/* ---- threads that are canceled ---- */

/* What a thread that is going to be canceled has in hand. What it made or opened is freed by the one that cancels
 * it. */
struct target {
	leash_client *client, *opened;
	leash_lock *lock, *made;
	leash_owner *owner;
	leash_cancel *cancel;
	const char *uri;
	int call;
	bool asynchronous, closing, freeing;
	_Atomic bool going;
	pthread_t thread;
};

/* Only the call itself may be canceled asynchronously: around it nothing would be safe, whatever leash does. */
#define cancelable(t, call) \
	do { \
		pthread_setcanceltype((t)->asynchronous ? PTHREAD_CANCEL_ASYNCHRONOUS : PTHREAD_CANCEL_DEFERRED, NULL); \
		call; \
		pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, NULL); \
	} while (0)

/* GCC takes `call` for something that must be checked; nobody can say what a canceled call answers. */
#define ignored(call) \
	do { \
		leash_status status_ = (call); \
		(void)status_; \
	} while (0)

static const char *const calls[] = {
	"open", "close", "lock_new", "lock_free", "acquire", "acquire_with", "acquire and wait", "release", "extend",
		"held", "remaining_ms", "depth",
	"fence", "token", "alive", "owner_new", "owner_free", "cancel_new", "cancel_fire", "cancel_free",
};

enum { CALLS = sizeof calls / sizeof *calls };

static void
call_once(struct target *t)
{
	char token[LEASH_TOKEN_MAX];

	switch (t->call) {
	case 0:
	case 1:
		if (t->opened == NULL) {
			if (t->call == 0)
				cancelable(t, ignored(leash_open(&t->opened, LEASH_OPTIONS(.uri = t->uri, .timeout_ms = 10000), NULL)));
			else
				ignored(leash_open(&t->opened, LEASH_OPTIONS(.uri = t->uri, .timeout_ms = 10000), NULL));
		}
		t->closing = true;
		if (t->call == 1)
			cancelable(t, leash_close(t->opened));
		else
			leash_close(t->opened);
		t->opened = NULL;
		t->closing = false;
		break;
	case 2:
		cancelable(t, ignored(leash_lock_new(&t->made, t->client, "made", NULL, NULL)));
		leash_lock_free(t->made);
		t->made = NULL;
		break;
	case 3:
		ignored(leash_lock_new(&t->made, t->client, "made", NULL, NULL));
		t->freeing = true;
		cancelable(t, leash_lock_free(t->made));
		t->freeing = false;
		t->made = NULL;
		break;
	case 4:
		cancelable(t, ignored(leash_lock_acquire(t->lock, 0, NULL)));
		leash_lock_release(t->lock, NULL);
		break;
	case 5:
		cancelable(t,
		           ignored(leash_lock_acquire_with(t->lock, LEASH_ACQUIRE(.wait_ms = 1, .cancel = t->cancel), NULL)));
		leash_lock_release(t->lock, NULL);
		break;
	case 6:
		cancelable(t, ignored(leash_lock_acquire(t->lock, LEASH_FOREVER, NULL)));
		leash_lock_release(t->lock, NULL);
		break;
	case 7:
		ignored(leash_lock_acquire(t->lock, 5, NULL));
		cancelable(t, leash_lock_release(t->lock, NULL));
		break;
	case 8:
		cancelable(t, leash_lock_extend(t->lock, 20000, NULL));
		break;
	case 9:
		cancelable(t, leash_lock_held(t->lock));
		break;
	case 10:
		cancelable(t, leash_lock_remaining_ms(t->lock));
		break;
	case 11:
		cancelable(t, leash_lock_depth(t->lock));
		break;
	case 12:
		cancelable(t, leash_lock_fence(t->lock));
		break;
	case 13:
		cancelable(t, leash_lock_token(t->lock, token, sizeof token));
		break;
	case 14:
		cancelable(t, leash_lock_alive(t->lock));
		break;
	case 15:
		cancelable(t, ignored(leash_owner_new(&t->owner, NULL)));
		leash_owner_free(t->owner);
		t->owner = NULL;
		break;
	case 16:
		ignored(leash_owner_new(&t->owner, NULL));
		t->freeing = true;
		cancelable(t, leash_owner_free(t->owner));
		t->freeing = false;
		t->owner = NULL;
		break;
	case 17:
		cancelable(t, ignored(leash_cancel_new(&t->cancel, NULL)));
		leash_cancel_free(t->cancel);
		t->cancel = NULL;
		break;
	case 18:
		cancelable(t, leash_cancel_fire(t->cancel));
		break;
	default:
		ignored(leash_cancel_new(&t->cancel, NULL));
		t->freeing = true;
		cancelable(t, leash_cancel_free(t->cancel));
		t->freeing = false;
		t->cancel = NULL;
		break;
	}
}

static void *
call_until_canceled(void *arg)
{
	struct target *t = arg;
	bool keeps = t->call >= 8 && t->call <= 14; /* of what is held */

	if (keeps)
		ignored(leash_lock_acquire(t->lock, LEASH_FOREVER, NULL));
	t->going = true;
	for (;;) {
		call_once(t);
		pthread_testcancel();
	}
	return NULL;
}

/* Cancel a thread amid one of its calls. Then all that it may have left behind is of use to others, or gone. */
static void
cancel_amid(struct target *t, unsigned *seed)
{
	void *result;

	if (t->call == 5 || t->call == 18)
		assert_status(LEASH_OK, leash_cancel_new(&t->cancel, &err));
	assert_int_equal(pthread_create(&t->thread, NULL, call_until_canceled, t), 0);
	await_true(t->going);
	await_moment(seed);
	pthread_cancel(t->thread);
	pthread_join(t->thread, &result);
	if (result != PTHREAD_CANCELED)
		trouble("%s: the thread was not canceled", calls[t->call]);
	/* if its end was within the call that frees, nobody knows whether that had begun; then it is left alone */
	if (!t->closing)
		leash_close(t->opened);
	if (!t->freeing) {
		leash_lock_free(t->made);
		leash_owner_free(t->owner);
		leash_cancel_free(t->cancel);
	}
	/* every mutex of the client can be had */
	assert_status(LEASH_OK, leash_lock_acquire(t->lock, LEASH_FOREVER, &err));
	assert_status(LEASH_OK, leash_lock_extend(t->lock, 20000, &err));
	assert_int_equal(leash_lock_depth(t->lock), 1);
	assert_status(LEASH_OK, leash_lock_release(t->lock, &err));
	leash_lock_free(leashed_lock(t->client, "made", NULL));
}

struct rival {
	leash_lock *lock;
	_Atomic bool enough;
	pthread_t thread;
};

static void *
take_turns(void *arg)
{
	struct rival *r = arg;

	while (!r->enough) {
		assert_status(LEASH_OK, leash_lock_acquire(r->lock, LEASH_FOREVER, &err));
		assert_status(LEASH_OK, leash_lock_release(r->lock, &err));
		usleep(200);
	}
	return NULL;
}

static int
cancel_again_and_again(void *arg)
{
	int rounds = (int)knob("LEASH_TEST_CANCELS", 10);
	leash_client *client = leashed_open(server_uri(server), LEASH_OPTIONS(.timeout_ms = 20000));
	leash_client *other = leashed_open(server_uri(server), LEASH_OPTIONS(.timeout_ms = 20000));
	leash_lock *lock = leashed_lock(client, "canceled", NULL);
	static struct rival rival;
	unsigned seed = 3;

	(void)arg;
	alarm(300); /* a mutex that was left locked lets somebody wait for ever */
	rival.lock = leashed_lock(other, "canceled", NULL);
	assert_int_equal(pthread_create(&rival.thread, NULL, take_turns, &rival), 0);
	for (int i = 0; i < rounds * CALLS; i++)
		for (int asynchronous = 0; asynchronous < 2; asynchronous++) {
			struct target t = {.client = client, .lock = lock, .uri = server_uri(server), .call = i % CALLS,
			                   .asynchronous = asynchronous};

			cancel_amid(&t, &seed);
		}
	rival.enough = true;
	pthread_join(rival.thread, NULL);
	leash_lock_free(rival.lock);
	leash_lock_free(lock);
	leash_close(client);
	leash_close(other);
	return 0;
}

SENTENCE(a_thread_may_be_canceled_amid_any_call_and_no_mutex_stays_locked)
{
	if (UNDER_ASAN || UNDER_TSAN)
		return;
	child_wait(child_run(cancel_again_and_again, NULL));
	print_message("# each of %d calls was canceled %ld times deferred, and as often asynchronously\n", CALLS,
	              knob("LEASH_TEST_CANCELS", 10));
	assert_int_equal(server_integer(server, "EXISTS leash:{canceled} leash:{canceled}:queue leash:{made}"), 0);
}

/* Every call says what it would have said without signals, and no connection had to be opened again. */
SENTENCE(a_hundred_thousand_signals_make_no_call_fail)
{
	long wanted = knob("LEASH_TEST_SIGNALS", UNDER_TSAN ? 20000 : 100000);
	const struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
	struct leashed_events events = {0};
	leash_client *client, *other;
	leash_lock *held, *theirs;
	static struct worker worker[WORKERS];
	pthread_t sender[2];
	long long connected;
	sigset_t all, before;
	int64_t begun;
	unsigned turns;

	handled = strangers = 0;
	opened = 0;
	is_ours = true;
	handle(SIGUSR1, 0);
	handle(SIGUSR2, SA_RESTART);
	handle(SIGALRM, 0);
	connected = connections();
	client = leashed_open(server_uri(server),
	                      LEASH_OPTIONS(.timeout_ms = 60000, .on_event = leashed_note_event, .event_arg = &events));
	other = leashed_open(server_uri_tcp(server),
	                     LEASH_OPTIONS(.timeout_ms = 60000, .on_event = leashed_note_event, .event_arg = &events));
	held = leashed_lock(client, "held", LEASH_LOCK_OPTIONS(.lease_ms = 6000));
	theirs = leashed_lock(other, "theirs", NULL);
	assert_status(LEASH_OK, leash_lock_acquire(held, 0, &err));
	assert_status(LEASH_OK, leash_lock_acquire(theirs, 0, &err));
	begin_work(worker, client, other);
	begun = await_now_ns();
	sigfillset(&all); /* before a sender begins: it takes none itself */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&sender[i], NULL, send_signals, worker), 0);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	setitimer(ITIMER_REAL, &often, NULL); /* these are for the process, and whoever takes them */
	await_true_for(handled >= wanted, 1200);
	setitimer(ITIMER_REAL, &never, NULL);
	enough = true;
	for (int i = 0; i < 2; i++)
		pthread_join(sender[i], NULL);
	begun = await_now_ns() - begun;
	turns = end_work(worker);
	print_message("# %ld signals in %.1f s, amid %u turns of %d threads, %u of them a client that was opened and "
	              "closed: 0 calls failed\n", (long)handled,
	              (double)begun / 1e9, turns, WORKERS, (unsigned)opened);
	assert_int_equal(strangers, 0);
	assert_true(leash_lock_held(held) && leash_lock_held(theirs));
	assert_int_equal(events.total, 0);
	assert_int_equal(connections() - connected, 4 + 2 * opened);
	assert_status(LEASH_OK, leash_lock_release(held, &err));
	assert_status(LEASH_OK, leash_lock_release(theirs, &err));
	leash_lock_free(held);
	leash_lock_free(theirs);
	leash_close(client);
	leash_close(other);
}
