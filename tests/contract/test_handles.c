/* Handles: they come and go while others of the same name are held, and take nothing from anybody. */
#include "tests/support/judge.h"
#include "tests/support/place.h"

#include <signal.h>
#include <time.h>

enum { THREADS = 6 };

struct crowd {
	leash_client *client;
	struct judge *judge;
	struct leashed_events events;
	int64_t end;
	int64_t pause_us; /* outside; inside half of it, both by chance */
	_Atomic int rounds, wrong;
	_Atomic unsigned seed;
	leash_error err;  /* of the first that went wrong */
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
		leash_error err = {0};
		bool held = false;

		if (leash_lock_acquire(lock, LEASH_FOREVER, &err) == LEASH_OK) {
			judge_enter(c->judge, 0, leash_lock_fence(lock));
			pause_for(rand_r(&seed) % pause_us / 2);
			held = leash_lock_held(lock);
			judge_leave(c->judge, 0);
			c->rounds++;
		}
		if ((!held || leash_lock_release(lock, &err) != LEASH_OK) && c->wrong++ == 0)
			c->err = err;
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
	       c.events.count[LEASH_EVENT_ABANDONED], c.err.text);
	judge_print(c.judge);
	assert_true(c.rounds > 0);
	assert_int_equal(c.wrong, 0);
	assert_int_equal(c.events.total, 0);
	assert_int_equal(judge_violations(c.judge), 0);
	place_assert_free("crowd");
}

PLACE(place_open);

SENTENCE(threads_with_a_handle_for_each_round_never_take_the_lock_from_each_other)
{
	let_a_crowd_come_and_go(2, 0, false);
	let_a_crowd_come_and_go(THREADS, 0, false);
}

SENTENCE(threads_that_pause_between_their_rounds_never_take_the_lock_from_each_other)
{
	let_a_crowd_come_and_go(4, 6000, false);
	let_a_crowd_come_and_go(4, 600, false);
}

SENTENCE(a_thread_that_frees_its_handle_slowly_takes_nothing_from_who_acquired_meanwhile)
{
	let_a_crowd_come_and_go(3, 1000, true);
}
