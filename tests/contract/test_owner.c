/* Owners: who holds is who the handle says, whichever thread calls; or that thread. How owners exclude each other,
 * nest and end, and what handles of one name must agree on: core/test_owner.c. And handles, which come and go while others
 * of their name are held, and take nothing from anybody. */
#include "tests/contract/interface.h"
#include "tests/support/judge.h"
#include "tests/support/sanitizer.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

enum { ACTORS = 2 };

/* Of each test. */
static struct leashed_events events;
static leash_client *client;
static leash_owner *owner;
static leash_lock *owned, *plain; /* of "law": for `owner`, and for the calling thread */
static struct actor actors[ACTORS]; /* they use `owned` and try once */

static leash_lock *
open_for(leash_client *of, const char *name, leash_owner *for_whom)
{
	return kept(leashed_lock(of, name, LEASH_LOCK_OPTIONS(.owner = for_whom)));
}

static leash_client *
open_told(int64_t lease_ms)
{
	return kept(place_client(LEASH_OPTIONS(.lease_ms = lease_ms, .on_event = leashed_note_event, .event_arg = &events)));
}

static void
release_times(leash_lock *lock, int times)
{
	for (int i = 0; i < times; i++)
		assert_status(LEASH_OK, leash_lock_release(lock, &err));
}

static void
set_up(void)
{
	note_what_there_is();
	memset(&events, 0, sizeof events);
	client = open_told(0);
	owner = owner_of_its_own();
	owned = open_for(client, "law", owner);
	plain = open_for(client, "law", NULL);
	for (int i = 0; i < ACTORS; i++)
		begin_actor(&actors[i], owned, 0);
}

FIXTURE(set_up, no_trace_is_left);
PLACE(life_open);

/* ---- any thread ---- */

static void
acquire_three_times(struct actor *a)
{
	for (int i = 0; i < 3; i++)
		actor_acquire(a);
}

#if !UNDER_ASAN && !UNDER_TSAN /* which have allocators of their own */
extern void *__libc_calloc(size_t count, size_t size);
static _Atomic bool starved; /* also for what the library takes from the system directly */

__attribute__((visibility("default"))) void *
calloc(size_t count, size_t size)
{
	if (starved) {
		errno = ENOMEM;
		return NULL;
	}
	return __libc_calloc(count, size);
}

static void
release_without_memory(struct actor *a)
{
	counted_withhold(true);
	starved = true;
	actor_release(a);
	starved = false;
	counted_withhold(false);
}

/* What leash knows of a thread it uses again for another one, once that has ended: so there are many here at once. */
SENTENCE(a_thread_that_was_never_seen_before_releases_without_memory)
{
	static struct actor strangers[20];
	int in_the_background = 0;

	for (size_t i = 0; i < COUNT(strangers); i++)
		actor_begin(&strangers[i], owned, 0);
	for (size_t i = 0; i < COUNT(strangers); i++) {
		struct actor *stranger = &strangers[i];

		assert_status(LEASH_OK, leash_lock_acquire(owned, 5000, &err)); /* and not when the lease ends */
		actor_tell(stranger, release_without_memory);
		actor_hear(stranger);
		assert_true(stranger->status == LEASH_OK || stranger->status == LEASH_UNKNOWN);
		in_the_background += stranger->status == LEASH_UNKNOWN;
		assert_int_equal(leash_lock_depth(owned), 0);
	}
	assert_true(in_the_background > 0);
	for (size_t i = 0; i < COUNT(strangers); i++)
		actor_end(&strangers[i]);
	take_and_give_back(owned);
}
#endif

SENTENCE(the_end_of_the_thread_that_acquired_ends_nothing)
{
	leash_client *brisk = open_told(3000);
	leash_lock *lock = open_for(brisk, "brisk", owner);
	static struct actor a;

	actor_begin(&a, lock, 0);
	assert_done(LEASH_OK, &a, acquire_three_times);
	actor_end(&a);
	await_true(stats_of(brisk).renewed >= 2);
	assert_true(leash_lock_held(lock));
	assert_true(leash_lock_depth(lock) == 3 && leash_lock_fence(lock) == a.fence);
	assert_status(LEASH_OK, leash_lock_extend(lock, 4000, &err));
	release_times(lock, 3);
	place_assert_free("brisk");
	assert_int_equal(events.count[LEASH_EVENT_ABANDONED] + events.count[LEASH_EVENT_LOST], 0);
}

/* ---- whom a call is for ---- */

SENTENCE(each_handle_answers_for_its_own_owner)
{
	leash_lock *theirs = open_for(client, "law", owner_of_its_own());
	char token[LEASH_TOKEN_MAX] = "";

	assert_done(LEASH_OK, &actors[0], acquire_three_times);
	assert_true(leash_lock_held(owned) && leash_lock_remaining_ms(owned) > 0);
	assert_true(leash_lock_depth(owned) == 3 && leash_lock_fence(owned) == actors[0].fence);
	assert_true(leash_lock_token(owned, token, sizeof token) > 0);
	assert_string_equal(token, place_text("law", "HKEYS leash:{law}"));
	for (int i = 0; i < 2; i++) {
		leash_lock *not_it = i ? plain : theirs;

		assert_holds_nothing(not_it);
		assert_status(LEASH_TIMEOUT, leash_lock_acquire(not_it, 0, &err));
		assert_status(LEASH_NOT_HELD, leash_lock_release(not_it, &err));
	}
	/* also the thread that acquired holds nothing itself */
	actors[0].lock = plain;
	assert_done(LEASH_NOT_HELD, &actors[0], actor_release);
	assert_true(!actors[0].held && actors[0].depth == 0 && actors[0].fence == 0);
	release_times(owned, 3);
	/* nor has another thread anything of what a thread holds */
	acquires(plain);
	assert_done(LEASH_TIMEOUT, &actors[0], actor_acquire);
	assert_done(LEASH_NOT_HELD, &actors[0], actor_release);
	assert_true(!actors[0].held && actors[0].depth == 0 && actors[0].fence == 0);
	releases(plain);
}

/* ---- one thread at a time ---- */

SENTENCE(a_second_thread_that_acquires_for_an_owner_meanwhile_is_refused)
{
	leash_lock *elsewhere = open_for(client, "elsewhere", owner);
	struct actor *first = &actors[0], *second = &actors[1];

	assert_status(LEASH_OK, leash_lock_acquire(elsewhere, 0, &err));
	assert_status(LEASH_OK, leash_lock_acquire(plain, 0, &err));
	first->wait_ms = LEASH_FOREVER;
	actor_tell(first, actor_acquire);
	actor_await_asleep(first);
	for (int i = 0; i < 4; i++) {
		second->lock = i % 2 ? elsewhere : owned; /* the same lock, and one that it holds already */
		second->wait_ms = i < 2 ? 0 : LEASH_FOREVER;
		assert_done(LEASH_INVALID, second, actor_acquire);
		assert_non_null(strstr(second->err.text, i % 2 ? "lock 'elsewhere'" : "lock 'law'"));
		assert_non_null(strstr(second->err.text, "owner"));
	}
	assert_false(actor_is_done(first));
	assert_int_equal(leash_lock_depth(elsewhere), 1);
	assert_status(LEASH_OK, leash_lock_release(plain, &err));
	assert_heard(LEASH_OK, first);
	assert_done(LEASH_OK, second, actor_acquire); /* the first one's is over */
	assert_done(LEASH_OK, second, actor_release);
	assert_done(LEASH_OK, first, actor_release);
	assert_status(LEASH_OK, leash_lock_release(elsewhere, &err));
}

/* ---- its end ---- */

static void
expect_of_no_use(leash_lock *lock, const char *named)
{
	assert_refused(LEASH_INVALID, named, leash_lock_acquire(lock, 0, &err));
	check_text("owner");
	assert_status(LEASH_INVALID, leash_lock_acquire_with(lock, LEASH_ACQUIRE(.wait_ms = LEASH_FOREVER), &err));
	assert_status(LEASH_INVALID, leash_lock_adopt(lock, TOKEN, &err));
	assert_status(LEASH_INVALID, leash_lock_release(lock, &err));
	assert_status(LEASH_INVALID, leash_lock_extend(lock, 1000, &err));
	assert_holds_nothing(lock);
	leash_lock_alive(lock);
}

SENTENCE(what_a_freed_owner_holds_is_abandoned_and_its_handles_are_of_no_use)
{
	leash_owner *mortal;

	assert_status(LEASH_OK, leash_owner_new(&mortal, &err));
	leash_lock *its = open_for(client, "law", mortal), *also = open_for(client, "also", mortal);
	actors[0].lock = its;
	assert_done(LEASH_OK, &actors[0], acquire_three_times);
	take_and_give_back(also);
	assert_status(LEASH_OK, leash_lock_acquire(also, 0, &err));
	leash_owner_free(mortal);
	await_true(events.count[LEASH_EVENT_ABANDONED] == 2);
	await_true(place_is_free("law") && place_is_free("also")); /* long before the lease ends */
	expect_of_no_use(its, "lock 'law'");
	expect_of_no_use(also, "lock 'also'");
	/* others go on, and an owner that is made later has nothing to do with it */
	leash_lock *later = open_for(client, "law", owner_of_its_own());
	assert_int_equal(leash_lock_depth(later), 0);
	take_and_give_back(plain);
	take_and_give_back(later);
	assert_int_equal(events.total, 2);
}

static int
free_in_child(void *arg)
{
	(void)arg;
	assert_status(LEASH_FORKED, leash_lock_acquire(owned, 0, &err));
	assert_false(leash_lock_held(owned));
	if (!UNDER_TSAN) {
		leash_client *own = place_client(NULL);
		leash_lock *none;

		/* nor is it of any use here */
		assert_status(LEASH_FORKED, leash_lock_new(&none, own, "child's", LEASH_LOCK_OPTIONS(.owner = owner), &err));
		leash_close(own);
	}
	leash_owner_free(owner);
	return 0;
}

SENTENCE(a_forked_child_that_frees_it_takes_nothing_from_its_parent)
{
	assert_status(LEASH_OK, leash_lock_acquire(owned, 0, &err));
	child_wait(child_run(free_in_child, NULL));
	assert_status(LEASH_OK, leash_lock_extend(owned, place_lease_ms(40000), &err));
	assert_status(LEASH_OK, leash_lock_release(owned, &err));
	assert_int_equal(events.total, 0);
}

/* ---- several clients ---- */

SENTENCE(an_owner_can_hold_locks_of_several_clients_and_outlives_them)
{
	leash_client *other = open_told(0), *brief = place_client(NULL);
	leash_owner *mortal;

	assert_status(LEASH_OK, leash_owner_new(&mortal, &err));
	leash_lock *here = open_for(client, "law", mortal), *same = open_for(other, "law", mortal);
	leash_lock *only = open_for(other, "only", mortal), *closed = open_for(brief, "closed", mortal);
	assert_status(LEASH_OK, leash_lock_acquire(closed, 0, &err));
	assert_status(LEASH_OK, leash_lock_acquire(only, 0, &err));
	for (int i = 0; i < 3; i++) { /* clients are strangers to each other */
		leash_lock *held = i % 2 ? same : here, *free_one = i % 2 ? here : same;

		assert_status(LEASH_OK, leash_lock_acquire(held, 5000, &err));
		assert_status(LEASH_TIMEOUT, leash_lock_acquire(free_one, 0, &err));
		assert_true(leash_lock_held(held) && !leash_lock_held(free_one));
		if (i < 2)
			assert_status(LEASH_OK, leash_lock_release(held, &err));
	}
	leash_close(brief);
	place_assert_free("closed");
	assert_status(LEASH_CLOSED, leash_lock_acquire(closed, 0, &err));
	assert_status(LEASH_CLOSED, leash_lock_release(closed, &err));
	assert_int_equal(leash_lock_depth(closed), 0);
	assert_true(leash_lock_held(here) && leash_lock_held(only));
	leash_owner_free(mortal); /* it ends with what it holds of each */
	await_true(events.count[LEASH_EVENT_ABANDONED] == 2);
	await_true(place_is_free("law") && place_is_free("only"));
}

/* ---- handles ---- */

enum { THREADS = 6 };

struct crowd {
	leash_client *client;
	struct judge *judge;
	struct leashed_events events;
	int64_t end;
	int64_t pause_us; /* outside; inside half of it, both by chance */
	_Atomic int rounds, wrong;
	_Atomic unsigned seed;
	leash_error first; /* of the first that went wrong */
};

static void
pause_for(int64_t us)
{
	struct timespec t = {.tv_nsec = us * 1000};

	if (us > 0)
		nanosleep(&t, NULL);
}

/* Each round has a handle of its own; often it is the only one there is. */
static void *
come_and_go(void *arg)
{
	struct crowd *c = arg;
	unsigned seed = ++c->seed;
	int64_t pause_us = c->pause_us > 0 ? c->pause_us : 1;

	while (await_now_ns() < c->end) {
		leash_lock *lock = leashed_lock(c->client, "crowd", NULL);
		bool held = false;

		if (leash_lock_acquire(lock, LEASH_FOREVER, &err) == LEASH_OK) {
			judge_enter(c->judge, 0, leash_lock_fence(lock));
			pause_for(rand_r(&seed) % pause_us / 2);
			held = leash_lock_held(lock);
			judge_leave(c->judge, 0);
			c->rounds++;
		}
		if ((!held || leash_lock_release(lock, &err) != LEASH_OK) && c->wrong++ == 0)
			c->first = err;
		leash_lock_free(lock);
		pause_for(rand_r(&seed) % pause_us);
	}
	return NULL;
}

static void
linger(int signal)
{
	(void)signal;
	pause_for(1000);
}

/* Handles that are made and freed only, by a thread that is stopped for a moment wherever it is just then. */
static void *
make_and_free(void *arg)
{
	struct crowd *c = arg;

	while (await_now_ns() < c->end)
		for (int i = 0; i < 100; i++)
			leash_lock_free(leashed_lock(c->client, "crowd", NULL));
	return NULL;
}

static void
stop_now_and_then(pthread_t slow, int64_t end)
{
	struct sigaction act = {.sa_handler = linger, .sa_flags = SA_RESTART};

	assert_int_equal(sigaction(SIGUSR1, &act, NULL), 0);
	while (await_now_ns() < end) {
		assert_int_equal(pthread_kill(slow, SIGUSR1), 0);
		pause_for(1700);
	}
}

/* The first of the threads may be one that only makes and frees. */
static void
let_a_crowd_come_and_go(size_t threads, int64_t pause_us, bool with_a_slow_one)
{
	int64_t ms = with_a_slow_one ? 2500 : 1000;
	struct crowd c = {.judge = judge_new(1), .end = await_now_ns() + ms * MS, .pause_us = pause_us};
	pthread_t thread[THREADS];

	c.client = place_client(LEASH_OPTIONS(.on_event = leashed_note_event, .event_arg = &c.events));
	for (size_t i = 0; i < threads; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, i == 0 && with_a_slow_one ? make_and_free : come_and_go, &c), 0);
	if (with_a_slow_one)
		stop_now_and_then(thread[0], c.end);
	for (size_t i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	leash_close(c.client); /* all events have been told */
	printf("# %d rounds, %d of them wrong; abandoned %d; the first: %s\n", c.rounds, c.wrong,
	       c.events.count[LEASH_EVENT_ABANDONED], c.first.text);
	judge_print(c.judge);
	assert_true(c.rounds > 0);
	assert_int_equal(c.wrong, 0);
	assert_int_equal(c.events.total, 0);
	assert_int_equal(judge_violations(c.judge), 0);
	place_assert_free("crowd");
}

SENTENCE(threads_with_a_handle_for_each_round_never_take_the_lock_from_each_other)
{
	let_a_crowd_come_and_go(2, 0, false);
	let_a_crowd_come_and_go(THREADS, 0, false);
	let_a_crowd_come_and_go(4, 6000, false); /* with pauses */
	let_a_crowd_come_and_go(4, 600, false);
}

SENTENCE(a_thread_that_frees_its_handle_slowly_takes_nothing_from_who_acquired_meanwhile)
{
	let_a_crowd_come_and_go(3, 1000, true);
}
