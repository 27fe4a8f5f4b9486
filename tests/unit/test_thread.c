/* Parkers, threads and processes: no wake-up is lost, ids are never used again, a child is told from its parent. */
#include "base/clock.h"
#include "base/park.h"
#include "base/process.h"
#include "base/thread.h"
#include "tests/support/child.h"
#include "tests/support/descriptors.h"
#include "tests/support/test.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { ROUNDS = 20000 };

/* Two threads hand a number to and fro, each parking until it is its turn. */
struct player {
	struct lsh_parker parker;
	struct player *other;
	int me, fd;
	bool polls;
};

static _Atomic int turn;

static void
sleep_a_while(struct player *p)
{
	struct pollfd polled = {.fd = p->fd, .events = POLLIN};
	uint64_t count;

	if (!p->polls) {
		lsh_park(&p->parker, LSH_NEVER);
		return;
	}
	if (!lsh_park_poll_begin(&p->parker, p->fd))
		return;
	poll(&polled, 1, -1);
	lsh_park_poll_end(&p->parker);
	if (polled.revents != 0)
		assert_int_equal(read(p->fd, &count, sizeof count), sizeof count);
}

static void *
play(void *arg)
{
	struct player *p = arg;

	for (int i = 0; i < ROUNDS; i++) {
		while (turn % 2 != p->me)
			sleep_a_while(p);
		turn++;
		lsh_unpark(&p->other->parker);
	}
	return NULL;
}

static void
rally(bool first_polls, bool second_polls)
{
	struct player players[2] = {{.other = &players[1], .polls = first_polls},
	                            {.other = &players[0], .me = 1, .polls = second_polls}};
	pthread_t threads[2];

	turn = 0;
	for (int i = 0; i < 2; i++) {
		players[i].fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
		assert_int_equal(pthread_create(&threads[i], NULL, play, &players[i]), 0);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	/* only now: the other's last wake-up may come when one is gone from poll() */
	for (int i = 0; i < 2; i++)
		close(players[i].fd);
	assert_int_equal(turn, 2 * ROUNDS);
}

SENTENCE(no_wake_up_is_lost)
{
	rally(false, false);
	rally(true, false);
	rally(true, true);
}

SENTENCE(a_wake_up_that_comes_first_is_kept)
{
	struct lsh_parker parker = {0};

	lsh_unpark(&parker);
	lsh_park(&parker, LSH_NEVER);
	lsh_unpark(&parker);
	assert_false(lsh_park_poll_begin(&parker, 0));
	assert_true(lsh_park_poll_begin(&parker, 0));
	lsh_park_poll_end(&parker);
}

SENTENCE(kicks_are_used_again_however_many_there_were_at_once)
{
	int kick[300];
	unsigned open = 0;

	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 300; i++) {
			kick[i] = lsh_kick_take();
			assert_true(kick[i] > 2);
		}
		for (int i = 0; i < 300; i++)
			lsh_kick_give(kick[i]);
		if (round == 0)
			open = descriptors_count();
		assert_int_equal(descriptors_count(), open);
	}
}

SENTENCE(parking_ends_at_its_deadline_and_not_before)
{
	struct lsh_parker parker = {0};
	int64_t deadline = lsh_now_ns() + 20 * LSH_MS;

	lsh_park(&parker, deadline);
	assert_true(lsh_now_ns() >= deadline);
	lsh_park(&parker, lsh_now_ns() - LSH_S);
}

static _Atomic uint64_t ended_id, seen_id;

static void
note_end(struct lsh_thread *thread)
{
	ended_id = thread->owner.id;
	thread->owner.holds = 0;
}

static void *
be_known(void *arg)
{
	struct lsh_thread *self = lsh_self();

	seen_id = self->owner.id;
	assert_ptr_equal(self, lsh_self());
	self->owner.holds = arg != NULL;
	return self;
}

SENTENCE(a_thread_that_ends_with_holds_is_told_of_and_its_id_is_not_used_again)
{
	pthread_t thread;
	void *first, *second;

	lsh_thread_observe(note_end);
	assert_int_equal(pthread_create(&thread, NULL, be_known, NULL), 0);
	pthread_join(thread, &first);
	assert_int_equal(ended_id, 0);
	uint64_t first_id = seen_id;
	assert_int_equal(pthread_create(&thread, NULL, be_known, &first), 0);
	pthread_join(thread, &second);
	assert_int_equal(ended_id, seen_id);
	assert_ptr_equal(first, second); /* the memory is */
	assert_true(seen_id > first_id);
}

static void *
read_mask(void *arg)
{
	pthread_sigmask(SIG_SETMASK, NULL, arg);
	return NULL;
}

SENTENCE(threads_of_our_own_block_every_signal_and_others_stay_as_they_were)
{
	sigset_t mask, before, after;
	pthread_t thread;

	pthread_sigmask(SIG_SETMASK, NULL, &before);
	assert_int_equal(lsh_thread_start(&thread, read_mask, &mask), 0);
	pthread_join(thread, NULL);
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	for (int s = 1; s < 32; s++) {
		if (s != SIGKILL && s != SIGSTOP)
			assert_int_equal(sigismember(&mask, s), 1);
		assert_int_equal(sigismember(&before, s), sigismember(&after, s));
	}
}

static uint64_t parent, parent_thread;

static int
be_a_child(void *arg)
{
	assert_false(lsh_process_is(parent));
	assert_true(lsh_process_id() != 0);
	assert_false(lsh_process_is(parent));
	assert_ptr_equal(lsh_self_if_known(), arg);
	assert_true(lsh_self()->owner.id != parent_thread);
	return 0;
}

SENTENCE(a_child_is_told_from_its_parent_and_starts_with_threads_of_its_own)
{
	parent = lsh_process_id();
	parent_thread = lsh_self()->owner.id;
	assert_true(parent != 0);
	assert_true(lsh_process_is(parent));
	child_wait(child_run(be_a_child, NULL));
	assert_true(lsh_process_is(parent));
	assert_int_equal(lsh_self()->owner.id, parent_thread);
}
