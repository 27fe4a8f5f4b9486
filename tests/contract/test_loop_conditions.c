/* Waiting for a condition, by a loop: what the calls that wait promise (test_conditions.c), told once. */
#include "tests/contract/loop.h"

#include <unistd.h>

#define QUEUE "law?more"

static leash_condition *more, *their_more;

static void
open_both(void)
{
	loop_open();
	if (place_is(PLACE_NO_QUEUE))
		return;
	more = condition_of(lock, "more", NULL);
	their_more = condition_of(theirs, "more", NULL);
}

FIXTURE(open_both, no_trace_is_left);
PLACE(life_open);

static void
start_to_wait(leash_condition *by, int64_t wait_ms, struct told *told, leash_op **op)
{
	assert_status(LEASH_OK,
	              leash_condition_wait_start(by, LEASH_ACQUIRE(.wait_ms = wait_ms), tell, told, op, &err));
}

/* `lock` is held; it is given up. */
static void
let_it_wait(leash_condition *by, struct told *told, leash_op **op)
{
	start_to_wait(by, LEASH_FOREVER, told, op);
	await_true((turn(), place_is_free("law")));
	place_await_waiting(QUEUE, 1);
}

static void
signal_one(void)
{
	assert_status(LEASH_OK, leash_condition_signal(their_more, &err));
}

/* It was signaled, and waits for the lock, which is theirs. */
static void
let_it_wait_for_the_lock(leash_condition *by, struct told *told, leash_op **op)
{
	let_it_wait(by, told, op);
	acquires(theirs);
	signal_one();
	await_true((turn(), place_integer("law", "ZCARD leash:{law}:queue") == 1));
	assert_int_equal(told->times, 0);
}

/* ---- signals ---- */

SENTENCE(who_waits_gives_the_lock_up_and_has_it_again_as_deep_behind_who_signaled, .but = PLACE_NO_QUEUE)
{
	uint64_t fence;

	for (int i = 0; i < 3; i++)
		acquires(lock);
	fence = leash_lock_fence(lock);
	let_it_wait_for_the_lock(more, &first, NULL);
	releases(theirs);
	assert_told(LEASH_OK, &first);
	assert_true(pthread_equal(first.thread, pthread_self()));
	assert_true(leash_lock_held(lock) && leash_lock_fence(lock) > fence);
	assert_int_equal(leash_lock_depth(lock), 3);
	for (int i = 0; i < 3; i++)
		releases(lock);
	assert_false(is_readable(fd, 0));
}

static void
wait_again(struct told *told)
{
	assert_status(LEASH_OK, told->status);
	assert_true(leash_lock_held(lock));
	start_to_wait(more, LEASH_FOREVER, told->next, NULL);
}

SENTENCE(who_is_told_may_wait_again, .but = PLACE_NO_QUEUE)
{
	first = (struct told){.also = wait_again, .next = &second};
	acquires(lock);
	let_it_wait(more, &first, NULL);
	signal_one();
	assert_told(LEASH_OK, &first);
	await_true((turn(), place_is_free("law")));
	signal_one();
	assert_told(LEASH_OK, &second);
	releases(lock);
}

enum { ITEMS = 100 };

/* One of two loops that pass items on: of a queue with room for one, which it fills, or empties. */
static struct side {
	leash_client *client;
	leash_lock *lock;
	leash_condition *own, *other; /* it waits for one, and signals the other */
	bool fills;
	int left;
	int fd;
} sides[2];

static _Atomic int items;

static void side_waits(struct side *s);

static void
side_signaled(void *arg, leash_status status, const leash_error *why)
{
	struct side *s = arg;

	(void)why;
	if (status == LEASH_UNAVAILABLE)
		assert_status(LEASH_OK, leash_condition_signal_start(s->other, side_signaled, s, NULL, &err));
	else if (assert_status(LEASH_OK, status), s->left > 0)
		side_waits(s);
	else
		leash_lock_release_start(s->lock, NULL, NULL, NULL, NULL); /* if its answer is lost, in the background */
}

static void
side_has_it(void *arg, leash_status status, const leash_error *why)
{
	struct side *s = arg;

	if (status != LEASH_OK)
		fail_msg("%s", why->text);
	assert_true(leash_lock_held(s->lock));
	if (atomic_load(&items) == s->fills) {
		side_waits(s);
		return;
	}
	atomic_store(&items, s->fills);
	s->left--;
	side_signaled(s, LEASH_UNAVAILABLE, NULL);
}

static void
side_waits(struct side *s)
{
	assert_status(LEASH_OK, leash_condition_wait_start(s->own, LEASH_ACQUIRE(.wait_ms = LEASH_FOREVER), side_has_it, s,
	                                                   NULL, &err));
}

static void
begin_side(struct side *s, leash_client *of, bool fills)
{
	const leash_condition_options *never = LEASH_CONDITION_OPTIONS(.recheck_ms = 86400000);

	*s = (struct side){.client = of, .fills = fills, .left = ITEMS};
	s->lock = kept(leashed_lock(of, "law", LEASH_LOCK_OPTIONS(.owner = owner_of_its_own())));
	s->own = condition_of(s->lock, fills ? "empty" : "full", never);
	s->other = condition_of(s->lock, fills ? "full" : "empty", never);
	assert_status(LEASH_OK, leash_client_fd(of, &s->fd, &err));
	assert_status(LEASH_OK, leash_lock_acquire_start(s->lock, LEASH_ACQUIRE(.wait_ms = LEASH_FOREVER), side_has_it, s,
	                                                 NULL, &err));
}

static bool
turn_both(int round)
{
	for (int i = 0; i < 2; i++)
		if (is_readable(sides[i].fd, 0))
			assert_status(LEASH_OK, leash_client_dispatch(sides[i].client, &err));
	if (round < 10000 && round % 40 == 39)
		place_cut();
	return sides[0].left == 0 && sides[1].left == 0;
}

SENTENCE(signals_at_any_moment_wake_and_lose_nothing, .but = PLACE_NO_QUEUE) /* also while connections break */
{
	int round = 0;

	atomic_store(&items, 0);
	begin_side(&sides[0], client, true);
	begin_side(&sides[1], others, false);
	await_true(turn_both(round++));
	await_true((turn_both(10000), place_is_empty()));
}

/* ---- what else ends a wait ---- */

SENTENCE(a_wait_ends_when_it_is_time_to_look_or_its_time_is_over, .but = PLACE_NO_QUEUE)
{
	leash_condition *looks = condition_of(lock, "more", LEASH_CONDITION_OPTIONS(.recheck_ms = 100));
	struct told third = {0};
	uint64_t fence;

	acquires(lock);
	start_to_wait(looks, LEASH_FOREVER, &first, NULL);
	assert_told(LEASH_OK, &first);
	start_to_wait(more, 100, &second, NULL);
	assert_told(LEASH_TIMEOUT, &second);
	fence = leash_lock_fence(lock);
	start_to_wait(more, 0, &third, NULL);
	assert_told(LEASH_TIMEOUT, &third);
	assert_true(leash_lock_held(lock) && leash_lock_fence(lock) == fence);
	releases(lock);
}

SENTENCE(a_wait_that_is_canceled_has_the_lock_again, .but = PLACE_NO_QUEUE)
{
	uint64_t fence;
	leash_op *op;

	acquires(lock);
	fence = leash_lock_fence(lock);
	start_to_wait(more, LEASH_FOREVER, &first, &op);
	leash_op_cancel(op); /* before it has begun: it gives up nothing */
	assert_told(LEASH_CANCELED, &first);
	assert_true(leash_lock_held(lock) && leash_lock_fence(lock) == fence);
	let_it_wait(more, &second, &op);
	leash_op_cancel(op);
	leash_op_cancel(op);
	assert_told(LEASH_CANCELED, &second);
	assert_true(leash_lock_held(lock) && leash_lock_fence(lock) > fence);
	releases(lock);
}

SENTENCE(a_cancel_does_not_end_the_wait_for_the_lock, .but = PLACE_NO_QUEUE)
{
	leash_op *op;

	acquires(lock);
	let_it_wait_for_the_lock(more, &first, &op);
	leash_op_cancel(op);
	turn();
	place_await_waiting("law", 1);
	assert_int_equal(first.times, 0);
	releases(theirs);
	assert_told(LEASH_OK, &first);
	releases(lock);
}

SENTENCE(a_wait_ends_when_its_place_is_lost, .but = PLACE_NO_QUEUE)
{
	acquires(lock);
	let_it_wait(more, &first, NULL);
	place_say("leash:{" QUEUE "}", "DEL leash:{" QUEUE "}:queue");
	assert_told(LEASH_OK, &first);
	releases(lock);
}

/* From the next dispatch on it waits, of a server that is silent; until that answers, `lock` is not held any more. */
static void
wait_in_silence(const leash_options *options)
{
	client = kept(place_client(options));
	lock = kept(leashed_lock(client, "law", LEASH_LOCK_OPTIONS(.owner = owner)));
	more = condition_of(lock, "more", NULL);
	assert_status(LEASH_OK, leash_client_fd(client, &fd, &err));
	acquires(lock);
	place_pause();
	start_to_wait(more, LEASH_FOREVER, &first, NULL);
	await_true((turn(), !leash_lock_held(lock)));
	place_resume();
}

SENTENCE(while_the_server_is_silent_a_wait_goes_on_and_ends_when_it_answers, .but = PLACE_NO_QUEUE)
{
	wait_in_silence(LEASH_OPTIONS(.timeout_ms = 100)); /* then it is given up */
	assert_told(LEASH_OK, &first);
	assert_true(leash_lock_held(lock));
	releases(lock);
}

SENTENCE(a_lock_that_is_lost_before_it_is_given_up_is_told_to_be, .but = PLACE_NO_QUEUE)
{
	wait_in_silence(LEASH_OPTIONS(.lease_ms = 300, .timeout_ms = 60000));
	assert_told(LEASH_LOST, &first);
	assert_int_equal(leash_lock_depth(lock), 0);
}

SENTENCE(who_does_not_hold_the_lock_or_lost_it_does_not_wait, .but = PLACE_NO_QUEUE)
{
	start_to_wait(more, LEASH_FOREVER, &first, NULL);
	assert_told(LEASH_NOT_HELD, &first);
	assert_non_null(strstr(first.text, "lock 'law'"));
	acquires(lock);
	acquires(lock);
	place_take_away("law");
	start_to_wait(more, LEASH_FOREVER, &second, NULL);
	assert_told(LEASH_LOST, &second);
	assert_int_equal(leash_lock_depth(lock), 0);
}

SENTENCE(who_is_refused_a_place_has_nothing_in_the_end, .but = PLACE_NO_QUEUE)
{
	acquires(lock);
	acquires(lock);
	place_say("leash:{" QUEUE "}", "SET leash:{" QUEUE "}:queue taken");
	start_to_wait(more, LEASH_FOREVER, &first, NULL);
	assert_told(LEASH_MISMATCH, &first);
	assert_non_null(strstr(first.text, "condition '" QUEUE "'"));
	assert_int_equal(leash_lock_depth(lock), 0);
	place_say("leash:{" QUEUE "}", "DEL leash:{" QUEUE "}:queue");
}

SENTENCE(a_lock_that_is_not_had_again_in_time_is_not_held, .but = PLACE_NO_QUEUE)
{
	acquires(lock);
	acquires(lock);
	let_it_wait_for_the_lock(condition_of(lock, "more", LEASH_CONDITION_OPTIONS(.reacquire_ms = 50)), &first, NULL);
	assert_told(LEASH_UNAVAILABLE, &first);
	assert_int_equal(leash_lock_depth(lock), 0);
	releases(theirs);
}

/* ---- whose it is ---- */

SENTENCE(for_an_owner_that_waits_nobody_acquires, .but = PLACE_NO_QUEUE)
{
	leash_lock *other = kept(leashed_lock(client, "other", LEASH_LOCK_OPTIONS(.owner = owner)));

	acquires(lock);
	let_it_wait(more, &first, NULL);
	assert_refused(LEASH_INVALID, "already", leash_lock_acquire_start(other, NULL, tell, &second, NULL, &err));
	assert_refused(LEASH_INVALID, "already", leash_condition_wait_start(more, NULL, tell, &second, NULL, &err));
	signal_one();
	assert_told(LEASH_OK, &first);
	releases(lock);
}

SENTENCE(the_condition_may_be_freed_while_it_is_waited_for, .but = PLACE_NO_QUEUE)
{
	leash_condition *freed = NULL;

	their_more = condition_of(theirs, "freed", NULL);
	for (int begun = 0; begun < 2; begun++) {
		first = (struct told){0};
		assert_status(LEASH_OK, leash_condition_new(&freed, lock, "freed", NULL, &err));
		acquires(lock);
		start_to_wait(freed, LEASH_FOREVER, &first, NULL);
		if (begun)
			await_true((turn(), place_is_free("law")));
		leash_condition_free(freed);
		await_true((turn(), place_is_free("law")));
		signal_one();
		assert_told(LEASH_OK, &first);
		releases(lock);
	}
}

SENTENCE(an_owner_that_is_freed_meanwhile_has_nothing_in_the_end, .but = PLACE_NO_QUEUE)
{
	leash_owner *freed = NULL;

	assert_status(LEASH_OK, leash_owner_new(&freed, &err));
	lock = kept(leashed_lock(client, "law", LEASH_LOCK_OPTIONS(.owner = freed)));
	acquires(lock);
	let_it_wait(condition_of(lock, "more", NULL), &first, NULL);
	leash_owner_free(freed);
	signal_one();
	await_told(&first);
	await_true(place_is_empty());
}

SENTENCE(what_cannot_be_is_refused_and_the_lock_stays_as_it_is, .but = PLACE_NO_QUEUE)
{
	const leash_acquire *how = LEASH_ACQUIRE(.cancel = kept(leashed_cancel()));

	acquires(lock);
	assert_refused(LEASH_INVALID, "is NULL", leash_condition_wait_start(NULL, NULL, tell, &first, NULL, &err));
	assert_refused(LEASH_INVALID, "leash_op_cancel()", leash_condition_wait_start(more, how, tell, &first, NULL, &err));
	how = LEASH_ACQUIRE(.wait_ms = -2);
	assert_refused(LEASH_INVALID, "wait_ms", leash_condition_wait_start(more, how, tell, &first, NULL, &err));
	assert_refused(LEASH_INVALID, ".owner", leash_condition_wait_start(their_more, NULL, tell, &first, NULL, &err));
	assert_true(leash_lock_held(lock) && first.times == 0);
	releases(lock);
}

/* ---- other threads, and other processes ---- */

static void
dispatch_for_it(struct actor *a)
{
	await_true((turn(), ((const struct told *)a->ctx)->times > 0));
	a->status = LEASH_OK;
}

SENTENCE(another_thread_may_dispatch_while_this_one_begins_and_cancels, .but = PLACE_NO_QUEUE)
{
	static struct actor other;
	leash_op *op;

	begin_actor(&other, NULL, 0);
	acquires(lock);
	for (int round = 0; round < 20; round++) {
		first = (struct told){0};
		start_to_wait(more, LEASH_FOREVER, &first, &op);
		other.ctx = &first;
		actor_tell(&other, dispatch_for_it);
		if (round < 10)
			place_await_waiting(QUEUE, 1);
		if (round % 2 == 0)
			leash_op_cancel(op);
		else
			while (!actor_is_done(&other))
				assert_status(LEASH_OK, leash_condition_broadcast(their_more, &err));
		assert_heard(LEASH_OK, &other);
		assert_int_equal(first.status, round % 2 == 0 ? LEASH_CANCELED : LEASH_OK);
		assert_true(leash_lock_held(lock));
	}
	releases(lock);
}

static int
wait_in_child(void *arg)
{
	(void)arg;
	if (leash_condition_wait_start(more, NULL, tell, &second, NULL, &err) != LEASH_FORKED)
		return 1;
	return leash_client_dispatch(client, &err) != LEASH_FORKED || first.times != 0;
}

SENTENCE(a_forked_child_is_told_nothing, .but = PLACE_NO_QUEUE)
{
	acquires(lock);
	let_it_wait(more, &first, NULL);
	child_wait(child_run(wait_in_child, NULL));
	signal_one();
	assert_told(LEASH_OK, &first);
	releases(lock);
}

/* ---- the end ---- */

SENTENCE(close_tells_who_is_about_to_wait_or_waits_for_a_signal_or_the_lock, .but = PLACE_NO_QUEUE)
{
	for (int step = 0; step < 3; step++) {
		client = place_client(NULL);
		lock = leashed_lock(client, "law", LEASH_LOCK_OPTIONS(.owner = owner));
		assert_status(LEASH_OK, leash_condition_new(&more, lock, "more", NULL, &err));
		assert_status(LEASH_OK, leash_client_fd(client, &fd, &err));
		first = (struct told){0};
		acquires(lock);
		if (step == 0)
			start_to_wait(more, LEASH_FOREVER, &first, NULL);
		else if (step == 1)
			let_it_wait(more, &first, NULL);
		else
			let_it_wait_for_the_lock(more, &first, NULL);
		leash_close(client);
		assert_int_equal(first.times, 1);
		assert_int_equal(first.status, LEASH_CLOSED);
		assert_false(leash_lock_held(lock));
		assert_refused(LEASH_CLOSED, "law", leash_condition_wait_start(more, NULL, tell, &second, NULL, &err));
		leash_condition_free(more);
		leash_lock_free(lock);
		if (step == 2)
			releases(theirs);
		await_true(place_is_empty());
	}
}

static void
close_and_leave_no_memory(void)
{
	leash_close(client);
	counted_withhold(true);
}

SENTENCE(a_signal_that_a_close_overtakes_says_so_whatever_else_there_is_not, .but = PLACE_NO_QUEUE)
{
	for (int waits = 0; waits < 2; waits++) {
		client = place_client(NULL);
		lock = leashed_lock(client, "law", LEASH_LOCK_OPTIONS(.owner = owner));
		assert_status(LEASH_OK, leash_condition_new(&more, lock, "more", NULL, &err));
		counted_meanwhile(close_and_leave_no_memory);
		assert_refused(LEASH_CLOSED, "condition '" QUEUE "'", waits ? leash_condition_signal(more, &err)
		               : leash_condition_signal_start(more, tell, &first, NULL, &err));
		counted_withhold(false);
		assert_int_equal(first.times, 0);
		leash_condition_free(more);
		leash_lock_free(lock);
	}
}

static bool has_begun;

static leash_status
wait_for_a_while(void)
{
	leash_status status;

	first = (struct told){0};
	status = leash_condition_wait_start(more, LEASH_ACQUIRE(.wait_ms = LEASH_FOREVER), tell, &first, NULL, &err);
	has_begun = status == LEASH_OK;
	if (has_begun)
		await_told(&first);
	return has_begun ? first.status : status;
}

static void
check_the_lock(leash_status status)
{
	assert_int_equal(leash_lock_depth(lock), status == LEASH_OK || !has_begun);
	if (leash_lock_depth(lock) == 0)
		acquires(lock);
}

SENTENCE(wherever_memory_runs_out_the_lock_is_held_or_there_is_nothing_to_release, .but = PLACE_NO_QUEUE)
{
	more = condition_of(lock, "more", LEASH_CONDITION_OPTIONS(.recheck_ms = 100));
	acquires(lock);
	assert_true(wherever_memory_runs_out(wait_for_a_while, check_the_lock) > 4);
	releases(lock);
}
