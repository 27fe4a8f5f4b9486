/* Callbacks, and what a call must not disturb: errno, cancellation, signals. */
#include "tests/contract/interface.h"
#include "tests/support/sanitizer.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>

/* ---- callbacks ---- */

static struct {
	leash_client *client;
	leash_lock *held;
	leash_cancel *cancel;
	struct callee callee;
	const char *wrong; /* "" */
	_Atomic int called, lines;
	_Atomic bool ready;
} inside;

static void
call_everything(void)
{
	leash_client *none = NULL;

	inside.wrong = calls_not_refused(&inside.callee, LEASH_IN_CALLBACK);
	if (inside.callee.permit != NULL)
		assert_status(LEASH_IN_CALLBACK, leash_permit_release(inside.callee.permit, &err));
	assert_status(LEASH_IN_CALLBACK, leash_open(&none, LEASH_OPTIONS(.uri = place_uri()), &err));
	assert_holds_nothing(inside.held); /* callbacks own nothing */
	leash_lock_alive(inside.held);
	leash_cancel_fire(inside.cancel);
	leash_close(inside.client); /* does nothing */
	inside.called++;
}

static void
event_inside(void *arg, const leash_event *event)
{
	(void)arg, (void)event;
	call_everything();
}

static void
line_inside(void *arg, leash_log_level level, const char *line)
{
	(void)arg, (void)level, (void)line;
	if (!inside.ready || inside.lines++ > 0)
		return; /* of its opening, or of what is done here */
	call_everything();
}

static void
check_inside(void)
{
	assert_string_equal(inside.wrong, "");
	assert_true(inside.callee.permit == NULL || leash_permit_held(inside.callee.permit));
	assert_true(leash_cancel_is_fired(inside.cancel));
	/* the client is alive */
	assert_true(leash_lock_held(inside.held));
	assert_status(LEASH_OK, leash_lock_extend(inside.held, 5000, &err));
	assert_status(LEASH_OK, leash_lock_release(inside.held, &err));
	take_and_give_back(inside.held);
}

FIXTURE(note_what_there_is, nothing_is_left);
PLACE(life_open);

SENTENCE(calls_from_a_callback_are_refused_if_they_might_wait)
{
	for (int by_log = 0; by_log < 2; by_log++) {
		memset(&inside, 0, sizeof inside);
		inside.client = kept(by_log ? place_client(LEASH_OPTIONS(.on_log = line_inside))
		                            : place_client(LEASH_OPTIONS(.on_event = event_inside)));
		inside.held = kept(leashed_lock(inside.client, "held", NULL));
		inside.cancel = kept(leashed_cancel());
		leash_lock *trigger = leashed_lock(inside.client, "trigger", NULL);
		assert_status(LEASH_OK, leash_lock_acquire(inside.held, 0, &err));
		assert_status(LEASH_OK, leash_lock_acquire(trigger, 0, &err));
		callee_open(&inside.callee, inside.client, inside.held);
		inside.ready = true;
		leash_lock_free(trigger);
		if (by_log && inside.called == 0)
			place_cut(); /* which is worth a line */
		await_true(inside.called == 1);
		check_inside();
		callee_close(&inside.callee);
	}
}

struct slow {
	struct leashed_events events;
	_Atomic bool block, inside;
};

static void
slow_event(void *arg, const leash_event *event)
{
	struct slow *slow = arg;

	leashed_note_event(&slow->events, event);
	slow->inside = true;
	await_true(!slow->block);
	slow->inside = false;
}

SENTENCE(a_callback_that_takes_its_time_delays_no_renewal)
{
	static const char *const names[] = {"l0", "l1", "l2", "l3"};
	struct slow slow = {.block = true};
	leash_client *client = place_client(LEASH_OPTIONS(.lease_ms = 3000, .on_event = slow_event, .event_arg = &slow));
	leash_lock *stays = kept(leashed_lock(client, "stays", NULL)), *lost[COUNT(names)];

	assert_status(LEASH_OK, leash_lock_acquire(stays, 0, &err));
	for (size_t i = 0; i < COUNT(names); i++) {
		lost[i] = kept(leashed_lock(client, names[i], NULL));
		assert_status(LEASH_OK, leash_lock_acquire(lost[i], 0, &err));
		place_take_away(names[i]);
	}
	await_true(slow.inside);
	int64_t until = await_now_ns() + 3500 * MS;
	while (await_now_ns() < until) {
		assert_true(leash_lock_held(stays));
		assert_true(place_left_ms("stays") > 0);
		await_ms(10);
	}
	for (size_t i = 0; i < COUNT(names); i++)
		assert_false(leash_lock_held(lost[i])); /* which needs no event */
	assert_int_equal(slow.events.total, 1);
	slow.block = false;
	await_true(slow.events.count[LEASH_EVENT_LOST] == COUNT(names));
	for (size_t i = 0; i < COUNT(names); i++)
		assert_status(LEASH_LOST, leash_lock_release(lost[i], &err));
	assert_status(LEASH_OK, leash_lock_release(stays, &err));
	leash_close(client);
	assert_int_equal(slow.events.total - place_thin(&slow.events), COUNT(names));
}

static void *
close_it(void *client)
{
	leash_close(client);
	return NULL;
}

SENTENCE(no_callback_runs_once_close_has_returned)
{
	struct slow slow = {.block = true};
	leash_client *client = place_client(LEASH_OPTIONS(.on_event = slow_event, .event_arg = &slow));
	pthread_t thread;

	for (int i = 0; i < 3; i++) {
		leash_lock *lock = leashed_lock(client, "abandoned", NULL);

		assert_status(LEASH_OK, leash_lock_acquire(lock, 5000, &err));
		leash_lock_free(lock);
	}
	await_true(slow.inside);
	assert_int_equal(pthread_create(&thread, NULL, close_it, client), 0);
	await_ms(100);
	assert_int_equal(pthread_tryjoin_np(thread, NULL), EBUSY); /* it waits for the one that is running */
	slow.block = false;
	pthread_join(thread, NULL);
	assert_false(slow.inside);
	assert_int_equal(slow.events.total, 3); /* and the rest came before it returned */
}

/* ---- what a call must not disturb ---- */

#define keeps_errno(call) \
	do { \
		errno = 4711; \
		call; \
		assert_int_equal(errno, 4711); \
	} while (0)
/* And if it succeeds it leaves the error alone. */
#define keeps(expected, call) \
	do { \
		spoil_error(); \
		leash_error before = err; \
		keeps_errno(assert_status(LEASH_##expected, call)); \
		assert_true(LEASH_##expected != LEASH_OK || memcmp(&err, &before, sizeof err) == 0); \
	} while (0)

static void
hold_twice(leash_client **client, leash_lock **lock)
{
	const leash_options *brief = LEASH_OPTIONS(.uri = place_uri(), .lease_ms = place_lease_ms(0), .timeout_ms = 1500);
	char token[LEASH_TOKEN_MAX];

	keeps(OK, leash_open(client, brief, &err));
	keeps(OK, leash_lock_new(lock, *client, "errno", NULL, &err));
	keeps(OK, leash_lock_acquire(*lock, 5000, &err));
	keeps(OK, leash_lock_acquire_with(*lock, LEASH_ACQUIRE(.wait_ms = 1), &err));
	keeps(OK, leash_lock_extend(*lock, 1000, &err));
	keeps_errno(assert_true(leash_lock_held(*lock)));
	keeps_errno(assert_int_equal(leash_lock_depth(*lock), 2));
	keeps_errno(assert_true(leash_lock_fence(*lock) > 0));
	keeps_errno(assert_true(leash_lock_remaining_ms(*lock) > 0));
	keeps_errno(assert_true(leash_lock_token(*lock, token, sizeof token) > 0));
	keeps_errno(leash_lock_alive(*lock));
	keeps(OK, leash_lock_release(*lock, &err));
}

SENTENCE(every_call_leaves_errno_alone)
{
	leash_lock *theirs = kept(leashed_lock(kept(open_client()), "errno", NULL)), *lock, *none;
	leash_client *client, *no_client;

	hold_twice(&client, &lock);
	keeps(OK, leash_lock_release(lock, &err));
	keeps(NOT_HELD, leash_lock_release(lock, &err));
	keeps(OK, leash_lock_acquire(theirs, 0, &err));
	keeps(TIMEOUT, leash_lock_acquire(lock, 0, &err));
	keeps(TIMEOUT, leash_lock_acquire(lock, 2000, &err));
	keeps(OK, leash_lock_release(theirs, &err));
	keeps(INVALID, leash_lock_acquire(lock, -1, &err));
	keeps(INVALID, leash_lock_new(&none, client, "", NULL, &err));
	keeps(INVALID, leash_open(&no_client, LEASH_OPTIONS(.uri = "x"), &err));
	keeps(INVALID, leash_open(&no_client, LEASH_OPTIONS(.uri = "redis://h?password_file=/nowhere"), &err));
	keeps(UNAVAILABLE, leash_open(&no_client, LEASH_OPTIONS(.uri = "unix:///nowhere"), &err));
	keeps_errno(leash_lock_free(lock));
	keeps_errno(leash_close(client));

	hold_twice(&client, &lock);
	place_kill();
	keeps(UNAVAILABLE, leash_lock_extend(lock, place_lease_ms(20000), &err));
	keeps(UNKNOWN, leash_lock_release(lock, &err));
	keeps(UNAVAILABLE, leash_lock_acquire(lock, 0, &err));
	keeps(UNAVAILABLE, leash_lock_acquire(lock, 50, &err));
	keeps_errno(leash_lock_free(lock));
	keeps_errno(leash_close(client));
	keeps_errno(leash_lock_free(NULL));
	keeps_errno(leash_close(NULL));
	keeps_errno(leash_status_name(LEASH_OK));
	place_restart();
}

/* The end of a thread that is canceled. */
static void
be_ended(void)
{
	if (UNDER_ASAN)
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	else
		pthread_testcancel();
}

static void *
call_while_canceled(void *arg)
{
	_Atomic int *done = arg;
	leash_client *client;
	leash_lock *lock;

	pthread_cancel(pthread_self()); /* from here on any cancellation point ends the thread */
	if (leash_open(&client, LEASH_OPTIONS(.uri = place_uri(), .lease_ms = place_lease_ms(0)), &err) == LEASH_OK &&
	    leash_lock_new(&lock, client, "canceled", NULL, &err) == LEASH_OK &&
	    leash_lock_acquire(lock, 5000, &err) == LEASH_OK && leash_lock_acquire(lock, 0, &err) == LEASH_OK &&
	    leash_lock_extend(lock, place_lease_ms(20000), &err) == LEASH_OK && leash_lock_held(lock) &&
	    leash_lock_depth(lock) == 2 && leash_lock_fence(lock) > 0 && leash_lock_remaining_ms(lock) > 0 &&
	    leash_lock_token(lock, NULL, 0) > 0 && leash_lock_release(lock, &err) == LEASH_OK &&
	    leash_lock_release(lock, &err) == LEASH_OK && leash_lock_release(lock, &err) == LEASH_NOT_HELD) {
		leash_lock_alive(lock);
		leash_lock_free(lock);
		leash_close(client);
		*done = 1;
	}
	be_ended();
	*done += 1;
	return NULL;
}

SENTENCE(no_call_is_a_cancellation_point)
{
	_Atomic int done = 0;

	assert_ptr_equal(in_a_thread(call_while_canceled, (void *)&done), UNDER_ASAN ? NULL : PTHREAD_CANCELED);
	assert_int_equal(done, UNDER_ASAN ? 2 : 1);
}

static void *
fire_while_canceled(void *cancel)
{
	pthread_cancel(pthread_self());
	leash_cancel_fire(cancel);
	be_ended();
	return cancel;
}

SENTENCE(who_is_canceled_while_it_fires_a_cancel_wakes_all_who_wait)
{
	leash_lock *lock = kept(leashed_lock(kept(open_client()), "fired", NULL));
	leash_lock *theirs = kept(leashed_lock(kept(open_client()), "fired", NULL));
	leash_cancel *cancel = kept(leashed_cancel());
	struct actor waiter;

	assert_status(LEASH_OK, leash_lock_acquire(theirs, 5000, &err));
	actor_begin(&waiter, lock, LEASH_FOREVER);
	waiter.cancel = cancel;
	actor_tell(&waiter, actor_acquire);
	place_await_waiting("fired", 1);
	await_ms(50); /* until it sleeps, in a poll of the channel on which it would hear of the lock: to end that takes a write() */
	assert_ptr_equal(in_a_thread(fire_while_canceled, cancel), UNDER_ASAN ? (void *)cancel : PTHREAD_CANCELED);
	await_true(place_integer("fired", "EXISTS leash:{fired}:queue") == 0);
	assert_heard(LEASH_CANCELED, &waiter);
	actor_end(&waiter);
	assert_status(LEASH_OK, leash_lock_release(theirs, &err));
}

struct canceled {
	leash_lock *lock;
	bool asynchronous;
	_Atomic bool inside;
	_Atomic leash_status acquired, released;
};

/* The type is asynchronous only within the call: around it nothing would be safe, whatever leash does. */
static void *
acquire_and_be_canceled(void *arg)
{
	struct canceled *c = arg;

	c->inside = true;
	if (c->asynchronous)
		pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	leash_status status = leash_lock_acquire(c->lock, LEASH_FOREVER, NULL);
	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, NULL);
	c->acquired = status;
	c->released = leash_lock_release(c->lock, NULL);
	be_ended();
	return UNDER_ASAN ? NULL : c;
}

SENTENCE(a_thread_that_is_canceled_amid_a_wait_goes_on_waiting_and_leaves_nothing)
{
	static struct leashed_events events;
	leash_client *client = kept(place_client(LEASH_OPTIONS(.on_event = leashed_note_event, .event_arg = &events)));
	leash_lock *lock = kept(leashed_lock(client, "canceled", NULL));
	leash_lock *theirs = kept(leashed_lock(kept(open_client()), "canceled", NULL));
	bool may_be_asynchronous = !UNDER_TSAN && !UNDER_ASAN;

	for (int asynchronous = 0; asynchronous <= may_be_asynchronous; asynchronous++) {
		struct canceled c = {.lock = lock, .asynchronous = asynchronous};
		pthread_t thread;
		void *result;

		assert_status(LEASH_OK, leash_lock_acquire(theirs, 5000, &err));
		assert_int_equal(pthread_create(&thread, NULL, acquire_and_be_canceled, &c), 0);
		await_true(c.inside);
		place_await_waiting("canceled", 1);
		await_ms(50); /* until it sleeps */
		pthread_cancel(thread);
		await_ms(50);
		assert_int_equal(pthread_tryjoin_np(thread, NULL), EBUSY); /* the call goes on */
		assert_status(LEASH_OK, leash_lock_release(theirs, &err));
		pthread_join(thread, &result);
		assert_ptr_not_equal(result, &c); /* canceled: glibc does not always say so */
		if (asynchronous)
			await_true(events.count[LEASH_EVENT_ABANDONED] == 1); /* it ended with the call, and held the lock */
		else
			assert_true(c.acquired == LEASH_OK && c.released == LEASH_OK);
		await_true(place_is_free("canceled"));
		take_and_give_back(lock);
	}
	assert_int_equal(events.total, may_be_asynchronous);
}

static void *
hold_and_end_canceled(void *lock)
{
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	if (leash_lock_acquire(lock, 5000, NULL) != LEASH_OK)
		return NULL;
	pthread_cancel(pthread_self());
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
	return lock; /* from here on whatever is a cancellation point ends the thread at once, in the destructors of its values, too */
}

SENTENCE(a_thread_that_ends_with_a_hold_and_a_pending_cancel_harms_no_other)
{
	static struct leashed_events events;
	leash_client *client = kept(place_client(LEASH_OPTIONS(.on_event = leashed_note_event, .event_arg = &events)));
	leash_lock *lock = kept(leashed_lock(client, "ended", NULL));

	for (int i = 1; i <= 3; i++) {
		assert_ptr_equal(in_a_thread(hold_and_end_canceled, lock), lock); /* nothing in leash's destructor was one */
		await_true(events.count[LEASH_EVENT_ABANDONED] == i);
	}
	take_and_give_back(kept(leashed_lock(client, "another", NULL)));
}

static void
cancel_the_thread(void *arg, const leash_event *event)
{
	leashed_note_event(arg, event);
	pthread_cancel(pthread_self());
}

SENTENCE(a_callback_that_cancels_its_thread_ends_nothing_of_leash)
{
	static struct leashed_events events;
	leash_client *client = kept(place_client(LEASH_OPTIONS(.on_event = cancel_the_thread, .event_arg = &events)));

	for (int i = 1; i <= 3; i++) {
		leash_lock *lock = leashed_lock(client, "abandoned", NULL);

		assert_status(LEASH_OK, leash_lock_acquire(lock, 5000, &err));
		leash_lock_free(lock);
		await_true(events.count[LEASH_EVENT_ABANDONED] == i); /* the next ones are delivered as well */
	}
}

/* How many threads leash has: those by its names. All signals must be blocked in each. `all`: how many there are. */
static int
check_threads(int *all)
{
	DIR *folder = opendir("/proc/self/task");
	int n = 0;

	*all = 0;
	assert_non_null(folder);
	for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
		/* those that nobody can block: SIGKILL, SIGSTOP, and the two that glibc keeps for itself */
		const uint64_t never = UINT64_C(1) << (SIGKILL - 1) | UINT64_C(1) << (SIGSTOP - 1) | UINT64_C(3) << 31;
		char name[64], blocked[64];

		read_task(entry->d_name, "Name", name);
		*all += name[0] != '\0';
		if (strncmp(name, "leash-", 6) != 0)
			continue;
		read_task(entry->d_name, "SigBlk", blocked);
		if (blocked[0] == '\0')
			continue;
		assert_true((strtoull(blocked, NULL, 16) | never) == UINT64_MAX);
		n++;
	}
	closedir(folder);
	return n;
}

/* A thread names itself a moment after it was started. */
static void
await_threads(int others, int least)
{
	int all;

	await_true(check_threads(&all) >= least && check_threads(&all) == all - others);
}

SENTENCE(the_threads_of_leash_have_names_and_take_no_signals)
{
	sigset_t before, after;
	int others;

	assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &before), 0);
	assert_int_equal(check_threads(&others), 0);
	leash_client *client = open_client();
	await_threads(others, 3);
	leash_client *second = open_client();
	await_threads(others, 6);
	leash_close(client);
	leash_close(second);
	await_threads(others, 0);
	assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &after), 0);
	for (int signal = 1; signal < 65; signal++)
		assert_int_equal(sigismember(&before, signal), sigismember(&after, signal));
}

/* All connections break, by a proxy's reset if there is one. */
static void
cut(struct proxy *proxy)
{
	if (proxy)
		proxy_reset_all(proxy);
	else
		place_cut();
}

static int
write_to_the_dead(void *arg)
{
	struct proxy *proxy = place_is(PLACE_ONE_SOCKET) ? NULL : proxy_start_tcp(server_socket(server));
	const leash_options *hasty = LEASH_OPTIONS(.timeout_ms = 100);
	leash_client *client = proxy ? leashed_open(proxy_uri(proxy), hasty) : place_client(hasty);
	leash_lock *lock = leashed_lock(client, "dead", NULL);

	(void)arg;
	signal(SIGPIPE, SIG_DFL);
	for (int i = 0; i < 20; i++) {
		leash_status status = leash_lock_acquire(lock, 200, NULL);

		cut(proxy);
		leash_lock_extend(lock, 1000, NULL);
		cut(proxy);
		if (status == LEASH_OK)
			leash_lock_release(lock, NULL);
	}
	leash_lock_free(lock);
	leash_close(client);
	proxy_stop(proxy);
	return 0;
}

SENTENCE(a_connection_that_is_gone_raises_no_sigpipe)
{
	child_wait(child_run(write_to_the_dead, NULL));
}
