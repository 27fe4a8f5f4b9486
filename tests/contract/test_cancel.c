/* Cancel: the threads that wait with it return, whoever fires it and whenever, and nothing is left behind. What is asked
 * of the server and who is next: core/test_owner.c; that a callback may fire it: test_manners. Each test runs for
 * plain and for fair locks. */
#include "tests/contract/interface.h"
#include "tests/support/sanitizer.h"

#include <signal.h>

enum { ACTORS = 24 }; /* more than a cancel has room for at first */

/* Of each test. */
static bool fair;
static leash_client *client, *other;
static leash_lock *mine, *theirs; /* of "law": of `client`, and of `other` */
static leash_cancel *cancel;
static struct actor actors[ACTORS]; /* they use `mine`, and wait with `cancel` for ever */

static leash_lock *
open_lock(leash_client *of, const char *name)
{
	return kept(leashed_lock(of, name, LEASH_LOCK_OPTIONS(.fair = fair)));
}

static void
set_up(void)
{
	fair = *(const bool *)given;
	note_what_there_is();
	client = kept(open_client());
	other = kept(open_client());
	mine = open_lock(client, "law");
	theirs = open_lock(other, "law");
	cancel = kept(leashed_cancel());
	for (int i = 0; i < ACTORS; i++) {
		begin_actor(&actors[i], mine, LEASH_FOREVER);
		actors[i].cancel = cancel;
	}
}

/* Let it ask for "law", and see it wait, with `n` of them then in the queue. */
static void
let_wait(struct actor *a, int64_t n)
{
	actor_tell(a, actor_acquire);
	place_await_waiting("law", n);
	if (place_is(PLACE_NO_QUEUE))
		actor_await_asleep(a); /* until it asks again */
}

static bool
no_queue(const char *lock)
{
	return place_integer(lock, "EXISTS leash:{%s}:queue", lock) == 0;
}

static void
tear_down(void)
{
	place_resume();
	await_true(place_introductions() == 0);
	no_trace_is_left();
}

/* It returned canceled, and soon after `fired_ns` (unless 0), whatever it waited for. */
static void
check_canceled(struct actor *a, int64_t fired_ns)
{
	assert_heard(LEASH_CANCELED, a);
	assert_non_null(strstr(a->err.text, "canceled"));
	assert_false(a->held);
	assert_int_equal(a->depth, 0);
	assert_true(fired_ns == 0 || (double)(a->ended_ns - fired_ns) < 3000e6 * await_slowness());
}

FIXTURE(set_up, tear_down);
PLACE(life_open);

BOTH(no_cancel_at_all_is_none_that_could_be_fired)
{
	leash_cancel_fire(NULL);
	leash_cancel_free(NULL);
	assert_false(leash_cancel_is_fired(NULL));
	assert_status(LEASH_INVALID, leash_cancel_new(NULL, &err));
}

/* ---- who shares it ---- */

BOTH(all_who_share_one_return_whatever_they_wait_for)
{
	leash_lock *held[] = {theirs, open_lock(other, "second"), open_lock(client, "third")};
	leash_lock *wanted[] = {mine, open_lock(client, "second"), held[2], open_lock(other, "third")};
	struct actor *last = &actors[ACTORS - 1]; /* waits as well, but not with it */

	assert_false(leash_cancel_is_fired(cancel));
	for (size_t i = 0; i < COUNT(held); i++)
		assert_status(LEASH_OK, leash_lock_acquire(held[i], 5000, &err));
	last->cancel = NULL;
	for (int i = 0; i < ACTORS; i++) {
		actors[i].lock = &actors[i] == last ? mine : wanted[i % 4];
		actor_tell(&actors[i], actor_acquire);
	}
	for (int i = 0; i < ACTORS; i++)
		actor_await_asleep(&actors[i]);
	int64_t fired_ns = await_now_ns();
	leash_cancel_fire(cancel);
	for (int i = 0; i < ACTORS - 1; i++)
		check_canceled(&actors[i], fired_ns);
	place_await_waiting("law", 1);
	await_true(no_queue("second") && no_queue("third"));
	assert_false(actor_is_done(last));
	leash_cancel_fire(cancel); /* once more: it stays fired */
	assert_true(leash_cancel_is_fired(cancel));
	assert_done(LEASH_CANCELED, &actors[0], actor_acquire);
	for (size_t i = 0; i < COUNT(held); i++)
		assert_status(LEASH_OK, leash_lock_release(held[i], &err));
	assert_heard(LEASH_OK, last);
	assert_done(LEASH_OK, last, actor_release);
}

/* ---- who fires it ---- */

static leash_cancel *fired_by_signal;

static void
fire_from_handler(int number)
{
	(void)number;
	leash_cancel_fire(fired_by_signal);
}

static void
fire_from_a_handler_on(struct actor *waiter)
{
	fired_by_signal = waiter->cancel = kept(leashed_cancel());
	actor_tell(waiter, actor_acquire);
	actor_await_asleep(waiter);
	int64_t fired_ns = await_now_ns();
	assert_int_equal(pthread_kill(waiter->thread, SIGUSR1), 0);
	check_canceled(waiter, fired_ns);
}

BOTH(a_signal_handler_on_the_waiting_thread_can_fire_it)
{
	struct actor *first = &actors[0], *second = &actors[1], *local = &actors[2];

	local->lock = open_lock(client, "local");
	assert_status(LEASH_OK, leash_lock_acquire(theirs, 5000, &err));
	assert_status(LEASH_OK, leash_lock_acquire(local->lock, 5000, &err));
	for (int restart = 0; restart < 2 && !UNDER_TSAN; restart++) {
		struct sigaction action = {.sa_handler = fire_from_handler, .sa_flags = restart ? SA_RESTART : 0}, old;

		assert_int_equal(sigaction(SIGUSR1, &action, &old), 0);
		fire_from_a_handler_on(second); /* it reads the channel; */
		fire_from_a_handler_on(local);  /* waits for another thread of its process; */
		place_pause();
		fire_from_a_handler_on(second); /* asks; */
		place_resume();
		await_true(no_queue("law"));
		first->cancel = kept(leashed_cancel());
		let_wait(first, 1);
		fire_from_a_handler_on(second); /* and waits behind another one, or beside it */
		assert_false(actor_is_done(first));
		leash_cancel_fire(first->cancel);
		check_canceled(first, 0);
		await_true(no_queue("law"));
		sigaction(SIGUSR1, &old, NULL);
	}
	leash_lock_release(theirs, &err); /* held, unless a pause was long */
	leash_lock_release(local->lock, &err);
}

static int
fire_in_child(void *arg)
{
	(void)arg;
	leash_cancel_fire(cancel);
	if (!UNDER_TSAN) {
		leash_client *own = place_client(NULL);
		leash_lock *lock = leashed_lock(own, "child's", NULL);

		/* nor would it end a wait here: it wakes nobody */
		assert_status(LEASH_FORKED, leash_lock_acquire_with(lock, LEASH_ACQUIRE(.cancel = cancel), &err));
		leash_lock_free(lock);
		leash_close(own);
	}
	return leash_cancel_is_fired(cancel) ? 0 : 1;
}

BOTH(a_forked_child_ends_no_waits_of_its_parent)
{
	assert_status(LEASH_OK, leash_lock_acquire(theirs, 5000, &err));
	let_wait(&actors[0], 1);
	child_wait(child_run(fire_in_child, NULL));
	await_ms(50); /* for what should not come */
	assert_false(leash_cancel_is_fired(cancel));
	assert_false(actor_is_done(&actors[0]));
	assert_status(LEASH_OK, leash_lock_release(theirs, &err));
	assert_heard(LEASH_OK, &actors[0]);
	assert_done(LEASH_OK, &actors[0], actor_release);
}

/* ---- a loss fires it ---- */

static int
fd_of(leash_cancel *of)
{
	int fd = -1;

	assert_status(LEASH_OK, leash_cancel_fd(of, &fd, &err));
	return fd;
}

/* A handle whose holds are renewed every second, and lost at the next renewal. */
static leash_lock *
losing(leash_client *of, leash_cancel *on_lost)
{
	return kept(leashed_lock(of, "law", LEASH_LOCK_OPTIONS(.fair = fair, .lease_ms = 3000, .on_lost = on_lost)));
}

static void
lose(leash_lock *lock)
{
	place_take_away("law");
	await_true(!leash_lock_held(lock));
	assert_status(LEASH_LOST, leash_lock_release(lock, &err));
}

BOTH(who_polls_wakes_at_the_loss_of_its_hold_and_of_no_other)
{
	leash_lock *watched = losing(other, cancel), *unwatched = losing(other, NULL);
	int fd = fd_of(cancel);

	assert_int_equal(fd_of(cancel), fd);
	for (int round = 0; round < 2; round++) {
		acquires(unwatched);
		lose(unwatched);
		acquires(watched);
		assert_false(is_readable(fd, 0));
		assert_false(leash_cancel_is_fired(cancel));
		place_take_away("law");
		assert_true(is_readable(fd, 60000));
		assert_true(leash_cancel_is_fired(cancel));
		assert_status(LEASH_LOST, leash_lock_release(watched, &err));
		assert_true(is_readable(fd, 0)); /* it stays so */
		leash_cancel_reset(cancel);
		assert_false(is_readable(fd, 0));
	}
}

BOTH(a_wait_ends_when_what_is_held_meanwhile_is_lost)
{
	leash_lock *outer = losing(client, cancel);
	leash_lock *inner = kept(leashed_lock(other, "inner", NULL));
	struct actor *a = &actors[0];

	acquires(inner);
	a->lock = outer;
	a->cancel = NULL;
	assert_done(LEASH_OK, a, actor_acquire);
	a->lock = kept(leashed_lock(client, "inner", NULL));
	a->cancel = cancel;
	actor_tell(a, actor_acquire);
	place_await_waiting("inner", 1);
	place_take_away("law");
	check_canceled(a, 0);
	a->lock = outer;
	assert_done(LEASH_LOST, a, actor_release);
	releases(inner);
}

BOTH(what_was_fired_before_is_readable_and_what_is_freed_is_fired_by_a_handle_that_goes_on)
{
	leash_cancel *own = leashed_cancel();
	leash_lock *lock = losing(client, own);

	leash_cancel_fire(own);
	assert_true(is_readable(fd_of(own), 0));
	leash_cancel_reset(own);
	assert_false(is_readable(fd_of(own), 0));
	acquires(lock);
	leash_cancel_free(own);
	lose(lock);
}

static int
ask_in_child(void *arg)
{
	int fd;

	(void)arg;
	assert_status(LEASH_FORKED, leash_cancel_fd(cancel, &fd, &err));
	leash_cancel_fire(cancel);
	leash_cancel_reset(cancel); /* nor is it the child's to take back */
	assert_true(leash_cancel_is_fired(cancel));
	if (!UNDER_TSAN) {
		leash_client *own = place_client(NULL);
		leash_lock *lock;

		assert_refused(LEASH_FORKED, "on_lost", leash_lock_new(&lock, own, "law", LEASH_LOCK_OPTIONS(.on_lost = cancel), &err));
		leash_close(own);
	}
	return 0;
}

BOTH(a_descriptor_is_of_its_process_alone)
{
	int fd = fd_of(cancel);

	child_wait(child_run(ask_in_child, NULL));
	assert_false(is_readable(fd, 50));
	assert_refused(LEASH_INVALID, "the cancel", leash_cancel_fd(NULL, &fd, &err));
	assert_refused(LEASH_INVALID, "`fd`", leash_cancel_fd(cancel, NULL, &err));
	leash_cancel_reset(NULL);
}

/* ---- races ---- */

/* The lock is released by `holder` and the wait canceled at the same moment, by two threads: the one or the other, and
 * no leak. */
static void
race(leash_lock *held, int rounds)
{
	struct actor *waiter = &actors[0], *firer = &actors[1], *holder = &actors[2];

	holder->lock = held;
	holder->cancel = NULL;
	holder->wait_ms = 20000; /* less than a lease, which what leaked would keep it from */
	for (int i = 0; i < rounds; i++) {
		bool fires_first = i % 2;
		int64_t spin;

		waiter->cancel = firer->cancel = leashed_cancel();
		assert_done(LEASH_OK, holder, actor_acquire);
		actor_tell(waiter, actor_acquire);
		await_true(waiter->began_ns != 0);
		if (held == theirs)
			place_await_waiting("law", 1);
		actor_tell(fires_first ? firer : holder, fires_first ? actor_fire : actor_release);
		for (spin = await_now_ns() + (i % 7) * 20000; await_now_ns() < spin;)
			continue;
		actor_tell(fires_first ? holder : firer, fires_first ? actor_release : actor_fire);
		assert_heard(LEASH_OK, firer);
		assert_heard(LEASH_OK, holder);
		actor_hear(waiter);
		assert_int_equal(waiter->held, waiter->status == LEASH_OK);
		assert_int_equal(waiter->depth, waiter->held);
		if (waiter->held)
			assert_done(LEASH_OK, waiter, actor_release);
		else
			assert_heard(LEASH_CANCELED, waiter);
		leash_cancel_free(waiter->cancel);
	}
	await_true(place_is_empty());
}

BOTH(a_wait_that_is_granted_at_that_moment_has_the_lock_or_leaves_it_to_others)
{
	race(theirs, place_is(PLACE_NO_QUEUE) ? 60 : 300); /* without, each waits for its chance */
	race(mine, 300);
}

static void
make_use_and_free(struct actor *a)
{
	for (unsigned i = 0; i < a->turns; i++) {
		leash_cancel *own = leashed_cancel();
		const leash_acquire how = *LEASH_ACQUIRE(.wait_ms = LEASH_FOREVER, .cancel = own);

		for (int j = 0; j < 3; j++) {
			assert_status(LEASH_OK, leash_lock_acquire_with(a->lock, &how, &err));
			assert_status(LEASH_OK, leash_lock_release(a->lock, &err));
		}
		leash_cancel_fire(own);
		assert_status(LEASH_CANCELED, leash_lock_acquire_with(a->lock, &how, &err));
		leash_cancel_free(own);
	}
	a->status = LEASH_OK;
}

BOTH(each_can_be_freed_as_soon_as_its_calls_have_returned)
{
	enum { THREADS = 4 };

	for (int i = 0; i < THREADS; i++) {
		actors[i].turns = 50;
		actor_tell(&actors[i], make_use_and_free);
	}
	for (int i = 0; i < THREADS; i++)
		assert_heard(LEASH_OK, &actors[i]);
}
