/* Latches and barriers: whom they let in, and when. What waiting is otherwise is said of locks; what the server does:
 * redis/test_gate.c. */
#include "tests/contract/interface.h"

enum { COUNT_OF_LATCH = 3, PARTIES = 3 };

static leash_client *ours, *others;
static leash_latch *latch, *theirs;    /* "done", of each client */
static leash_barrier *mine, *another;  /* "meet", likewise */
static struct actor waiter[PARTIES];

static void
open_two(void)
{
	for (int i = 0; i < PARTIES; i++)
		begin_actor(&waiter[i], NULL, LEASH_FOREVER);
	if (place_is(PLACE_NO_QUEUE))
		return;
	ours = kept(open_client());
	others = kept(open_client());
	latch = latch_of(ours, "done", COUNT_OF_LATCH);
	theirs = latch_of(others, "done", COUNT_OF_LATCH);
	mine = barrier_of(ours, "meet", PARTIES);
	another = barrier_of(others, "meet", PARTIES);
}

/* Of a latch those who have arrived stay for a day. */
static void
close_two(void)
{
	place_flush();
}

PLACE(place_open_counted);
FIXTURE(open_two, close_two);

static void
count_down(const char *party)
{
	assert_status(LEASH_OK, leash_latch_count_down(latch, party, &err));
}

static int64_t
arrived(leash_latch *at)
{
	int64_t n = -1;

	assert_status(LEASH_OK, leash_latch_arrived(at, &n, &err));
	return n;
}

static void
await_it(struct actor *a)
{
	a->status = leash_latch_await_with(theirs, LEASH_ACQUIRE(.wait_ms = a->wait_ms, .cancel = a->cancel), &a->err);
}

static void
meet(struct actor *a)
{
	a->status = leash_barrier_wait_with(another, LEASH_ACQUIRE(.wait_ms = a->wait_ms, .cancel = a->cancel), &a->err);
}

static void
let_wait(int i, actor_act *act, int64_t waiting)
{
	actor_tell(&waiter[i], act);
	place_await_waiting(act == meet ? "meet" : "done", waiting);
}

/* ---- latches ---- */

SENTENCE(a_latch_lets_all_in_when_enough_have_arrived_and_stays_open, .but = PLACE_NO_QUEUE)
{
	let_wait(0, await_it, 1);
	let_wait(1, await_it, 2);
	for (int i = 0; i < COUNT_OF_LATCH; i++) {
		assert_refused(LEASH_TIMEOUT, "latch 'done': ", leash_latch_await(latch, 0, &err));
		assert_int_equal(arrived(theirs), i);
		count_down(NULL);
	}
	assert_heard(LEASH_OK, &waiter[0]);
	assert_heard(LEASH_OK, &waiter[1]);
	assert_status(LEASH_OK, leash_latch_await(latch, 0, &err));
	assert_status(LEASH_OK, leash_latch_await(theirs, 5000, &err));
	assert_int_equal(arrived(latch), COUNT_OF_LATCH);
	assert_int_equal(place_integer("done", "EXISTS leash:{done}:queue"), 0);
}

static int
arrive_elsewhere(void *party)
{
	leash_client *client = place_client(NULL);
	leash_latch *same = latch_of(client, "done", 1);

	assert_status(LEASH_OK, leash_latch_count_down(same, party, &err));
	leash_latch_free(same);
	leash_close(client);
	return 0;
}

SENTENCE(a_party_counts_once_also_when_it_was_started_again, .but = PLACE_NO_QUEUE)
{
	char long_name[LEASH_NAME_MAX + 1];

	memset(long_name, 'x', LEASH_NAME_MAX);
	long_name[LEASH_NAME_MAX] = '\0';
	count_down("worker-1");
	for (int i = 0; i < 2; i++)
		child_wait(child_run(arrive_elsewhere, (char[]){"worker-1"}));
	assert_int_equal(arrived(latch), 1);
	child_wait(child_run(arrive_elsewhere, (char[]){"worker-2"}));
	child_wait(child_run(arrive_elsewhere, NULL));
	count_down(long_name);
	assert_int_equal(arrived(latch), 4);
	/* so that programs of other versions agree on it */
	assert_true(place_text("done", "ZSCORE leash:{done} %s", "abb2430d-c6f6-835a-860e-d9df128dbfd2:1 +") != NULL);
}

SENTENCE(who_does_not_want_to_wait_any_more_leaves_nothing, .but = PLACE_NO_QUEUE)
{
	leash_cancel *cancel = kept(leashed_cancel());

	await_true(leash_latch_await(latch, 50, &err) == LEASH_TIMEOUT); /* on a slow machine it is not answered in time */
	check_text("latch 'done': not enough had arrived for all of 50 ms");
	waiter[1].cancel = waiter[2].cancel = cancel;
	actor_tell(&waiter[1], await_it);
	let_wait(2, meet, 1);
	leash_cancel_fire(cancel);
	assert_heard(LEASH_CANCELED, &waiter[1]);
	assert_heard(LEASH_CANCELED, &waiter[2]);
	await_true(place_is_empty());
}

SENTENCE(a_latch_that_is_broken_begins_anew, .but = PLACE_NO_QUEUE)
{
	assert_refused(LEASH_NOT_HELD, "latch 'done': ", leash_latch_break(latch, &err));
	count_down(NULL);
	count_down("me");
	assert_status(LEASH_OK, leash_latch_break(theirs, &err));
	assert_int_equal(arrived(latch), 0);
	assert_true(place_is_empty());
}

SENTENCE(an_arrival_that_is_not_answered_is_said_again_and_counts_once, .but = PLACE_NO_QUEUE)
{
	for (int i = 0; i < 20; i++) {
		place_cut();
		count_down(NULL);
		assert_int_equal(arrived(latch), i + 1);
	}
	place_pause();
	assert_refused(LEASH_UNAVAILABLE, "latch 'done': ", leash_latch_count_down(latch, "me", &err));
	place_resume();
	await_true(leash_latch_count_down(latch, "me", &err) == LEASH_OK);
	assert_int_equal(arrived(latch), 21);
}

/* ---- barriers ---- */

/* All are let in with it. */
static void
be_the_last(void)
{
	assert_status(LEASH_OK, leash_barrier_wait(mine, 60000, &err));
	assert_heard(LEASH_OK, &waiter[0]);
	assert_heard(LEASH_OK, &waiter[1]);
}

SENTENCE(who_gave_up_is_not_counted_on, .but = PLACE_NO_QUEUE)
{
	assert_refused(LEASH_TIMEOUT, "barrier 'meet': not all parties are there", leash_barrier_wait(mine, 0, &err));
	assert_refused(LEASH_TIMEOUT, "barrier 'meet': not all parties were there for all of 50 ms",
	               leash_barrier_wait(mine, 50, &err));
	let_wait(0, meet, 1);
	let_wait(1, meet, 2);
	assert_false(actor_is_done(&waiter[0]) || actor_is_done(&waiter[1]));
	be_the_last();
	assert_int_equal(stats_of(ours).lost + stats_of(others).lost + stats_of(others).abandoned, 0);
}

SENTENCE(who_waits_is_there_also_over_a_new_connection, .but = PLACE_NO_QUEUE)
{
	let_wait(0, meet, 1);
	let_wait(1, meet, 2);
	place_cut();
	place_say_all("CLIENT KILL TYPE pubsub");
	be_the_last();
}

/* Processes that meet each round. */
static struct ring {
	_Atomic int at[PARTIES]; /* the round for which it has come */
	_Atomic int next, ended;
	_Atomic bool is_calm; /* no connection is cut any more */
	int rounds;
} *ring;

static int
go_round(void *arg)
{
	(void)arg;
	leash_client *client = place_client(NULL);
	leash_barrier *barrier = barrier_of(client, "ring", PARTIES);
	int me = ring->next++;

	for (int round = 1; round <= ring->rounds; round++) {
		ring->at[me] = round;
		assert_status(LEASH_OK, leash_barrier_wait(barrier, LEASH_FOREVER, &err));
		for (int i = 0; i < PARTIES; i++)
			assert_in_range(ring->at[i], round, round + 1);
	}
	ring->ended++;
	await_true(ring->is_calm && stats_of(client).connected); /* else what it was let in by stays for a day */
	leash_barrier_free(barrier);
	leash_close(client);
	return 0;
}

/* While they go, all connections are cut so many times. */
static void
let_go_round(int rounds, int cuts)
{
	pid_t pids[PARTIES];

	ring = child_share(sizeof *ring);
	ring->rounds = rounds;
	for (int i = 0; i < PARTIES; i++)
		pids[i] = child_run(go_round, NULL);
	while (cuts > 0 && ring->next < PARTIES)
		await_ms(1);
	for (; cuts > 0 && ring->ended < PARTIES; cuts--) {
		await_ms(20);
		place_cut();
		place_say_all("CLIENT KILL TYPE pubsub");
	}
	ring->is_calm = true;
	for (int i = 0; i < PARTIES; i++)
		child_wait(pids[i]);
	child_unshare(ring, sizeof *ring);
	await_true(place_is_empty());
}

SENTENCE(nobody_is_ever_a_round_ahead, .but = PLACE_NO_QUEUE)
{
	let_go_round(200, 0);
}

SENTENCE(nor_is_anybody_left_behind_where_connections_are_cut_again_and_again, .but = PLACE_NO_QUEUE)
{
	let_go_round(30, 100);
}

/* ---- what is none ---- */

/* What the server says to each: redis/test_gate.c. */
SENTENCE(a_name_is_used_as_one_thing, .but = PLACE_NO_QUEUE)
{
	leash_lock *lock = kept(leashed_lock(kept(open_client()), "done", NULL));
	leash_barrier *barrier = NULL;
	int64_t n;

	assert_refused(LEASH_INVALID, "barrier 'done'", leash_barrier_new(&barrier, ours, "done", 3, &err));
	acquires(lock);
	assert_refused(LEASH_MISMATCH, "latch 'done': ", leash_latch_count_down(latch, NULL, &err));
	assert_refused(LEASH_MISMATCH, "latch 'done': ", leash_latch_await(latch, 0, &err));
	assert_refused(LEASH_MISMATCH, "latch 'done': ", leash_latch_arrived(latch, &n, &err));
	assert_refused(LEASH_MISMATCH, "barrier 'done': ", leash_barrier_wait(barrier_of(kept(open_client()), "done", 3), 0, &err));
	releases(lock);
	count_down(NULL);
	assert_refused(LEASH_MISMATCH, "lock 'done'", leash_lock_acquire(lock, 0, &err));
	assert_refused(LEASH_MISMATCH, "semaphore 'done': ",
	               leash_semaphore_acquire(semaphore_of(kept(open_client()), "done", 3), 1, 0, &(leash_permit *){NULL}, &err));
}

SENTENCE(what_cannot_be_is_refused_by_name, .but = PLACE_NO_QUEUE)
{
	leash_latch *none = NULL;
	leash_barrier *no = NULL;
	char long_name[LEASH_NAME_MAX + 2];

	memset(long_name, 'x', sizeof long_name - 1);
	long_name[sizeof long_name - 1] = '\0';
	assert_refused(LEASH_INVALID, "leash_latch_new", leash_latch_new(NULL, ours, "done", 1, &err));
	assert_refused(LEASH_INVALID, "leash_barrier_new", leash_barrier_new(&no, ours, "", 1, &err));
	assert_refused(LEASH_INVALID, "latch 'x': the count is 0", leash_latch_new(&none, ours, "x", 0, &err));
	assert_refused(LEASH_INVALID, "latch 'x': the count is 1000001", leash_latch_new(&none, ours, "x", 1000001, &err));
	assert_refused(LEASH_INVALID, "barrier 'x': the number of parties is 1001", leash_barrier_new(&no, ours, "x", 1001, &err));
	assert_refused(LEASH_INVALID, "barrier 'x': the number of parties is -1", leash_barrier_new(&no, ours, "x", -1, &err));
	assert_refused(LEASH_INVALID, "latch 'done': a party", leash_latch_count_down(latch, "", &err));
	assert_refused(LEASH_INVALID, "latch 'done': a party", leash_latch_count_down(latch, long_name, &err));
	assert_refused(LEASH_INVALID, "latch 'done': ", leash_latch_arrived(latch, NULL, &err));
	assert_refused(LEASH_INVALID, "latch 'done': wait_ms is -2", leash_latch_await(latch, -2, &err));
	assert_refused(LEASH_INVALID, "barrier 'meet': wait_ms is -2", leash_barrier_wait(mine, -2, &err));
	assert_true(none == NULL && no == NULL);
	leash_latch_free(NULL);
	leash_barrier_free(NULL);
}
