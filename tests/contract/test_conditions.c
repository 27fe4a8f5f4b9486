/* Conditions: who waits gives the lock up, is woken by a signal, and has the lock again; and what else ends a wait. What
 * the server does is said by redis/test_share.c, what comes in between by core/test_conditions.c. */
#include "tests/contract/refusal.h"
#include "tests/support/child.h"
#include "tests/support/counted.h"
#include "tests/support/kept.h"

#define QUEUE "jobs?more"

static leash_client *ours, *others;
static leash_lock *mine, *theirs;
static leash_condition *more, *their_more;
static struct actor waiter; /* by `theirs` */

static leash_lock *
lock_of(leash_client *client, leash_mode mode)
{
	leash_lock *made = NULL;

	assert_status(LEASH_OK, leash_lock_new(&made, client, "jobs", LEASH_LOCK_OPTIONS(.mode = mode), &err));
	return made;
}

static leash_condition *
condition_of(leash_lock *lock, const leash_condition_options *options)
{
	leash_condition *made = NULL;

	assert_status(LEASH_OK, leash_condition_new(&made, lock, "more", options, &err));
	return made;
}

static void
open_two(void)
{
	actor_begin(&waiter, NULL, LEASH_FOREVER);
	waiter.turns = 1;
	if (place_is(PLACE_NO_QUEUE))
		return;
	ours = place_client(NULL);
	others = place_client(NULL);
	mine = lock_of(ours, LEASH_MUTEX);
	theirs = lock_of(others, LEASH_MUTEX);
	more = condition_of(mine, NULL);
	their_more = condition_of(theirs, NULL);
}

static void
close_two(void)
{
	actor_end(&waiter);
	leash_condition_free(more);
	leash_condition_free(their_more);
	leash_lock_free(mine);
	leash_lock_free(theirs);
	leash_close(ours);
	leash_close(others);
	ours = others = NULL;
	mine = theirs = NULL;
	more = their_more = NULL;
}

PLACE(place_open_counted);
FIXTURE(open_two, close_two);

static void
take(leash_lock *lock)
{
	assert_status(LEASH_OK, leash_lock_acquire(lock, LEASH_FOREVER, &err));
}

static void
give(leash_lock *lock)
{
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
}

/* Acquire it so often, wait by `their_more`, or by the condition that is `ctx`, and give it back. */
static void
wait_for_more(struct actor *a)
{
	uint64_t before;

	for (unsigned i = 0; i < a->turns; i++)
		take(theirs);
	before = leash_lock_fence(theirs);
	a->status = leash_condition_wait_with(a->ctx != NULL ? a->ctx : their_more,
	                                      LEASH_ACQUIRE(.wait_ms = a->wait_ms, .cancel = a->cancel), &a->err);
	a->held = leash_lock_held(theirs);
	a->depth = leash_lock_depth(theirs);
	a->fence = leash_lock_fence(theirs) - before; /* so much larger */
	for (unsigned i = a->depth; i > 0; i--)
		give(theirs);
}

static void
take_it(struct actor *a)
{
	a->status = leash_lock_acquire(theirs, LEASH_FOREVER, &a->err);
}

static void
wait_for_more_by_its_hold(struct actor *a)
{
	uint64_t before = leash_lock_fence(theirs);

	a->status = leash_condition_wait(their_more, a->wait_ms, &a->err);
	a->held = leash_lock_held(theirs);
	a->fence = leash_lock_fence(theirs) - before;
	give(theirs);
}

/* It has a place, and then has given the lock up. */
static void
await_waiting(void)
{
	place_await_waiting(QUEUE, 1);
	await_true(place_is_free("jobs"));
}

static void
let_it_wait(void)
{
	actor_tell(&waiter, wait_for_more);
	await_waiting();
}

static void
signal_one(void)
{
	assert_status(LEASH_OK, leash_condition_signal(more, &err));
}

/* ---- signals ---- */

SENTENCE(who_waits_gives_the_lock_up_and_has_it_again_as_deep_behind_who_signaled, .but = PLACE_NO_QUEUE)
{
	waiter.turns = 3;
	let_it_wait();
	take(mine);
	signal_one();
	place_await_waiting("jobs", 1);
	assert_false(actor_is_done(&waiter));
	give(mine);
	assert_heard(LEASH_OK, &waiter);
	assert_true(waiter.held && waiter.depth == 3 && waiter.fence > 0);
	place_assert_free("jobs");
	await_true(place_is_free(QUEUE));
}

SENTENCE(a_signal_wakes_one_and_a_broadcast_all, .but = PLACE_NO_QUEUE)
{
	struct actor more_of_them[3];
	int done = 0;

	for (int i = 0; i < 3; i++) {
		actor_begin(&more_of_them[i], NULL, LEASH_FOREVER);
		more_of_them[i].turns = 1;
		actor_tell(&more_of_them[i], wait_for_more);
		place_await_waiting(QUEUE, i + 1);
	}
	signal_one();
	await_true(actor_is_done(&more_of_them[0]));
	place_await_waiting(QUEUE, 2);
	actor_tell(&waiter, wait_for_more);
	place_await_waiting(QUEUE, 3);
	assert_status(LEASH_OK, leash_condition_broadcast(more, &err));
	for (int i = 0; i < 3; i++) {
		assert_heard(LEASH_OK, &more_of_them[i]);
		done += more_of_them[i].held;
		actor_end(&more_of_them[i]);
	}
	assert_heard(LEASH_OK, &waiter);
	assert_true(waiter.held && done == 3);
}

SENTENCE(a_signal_that_nobody_waits_for_is_lost, .but = PLACE_NO_QUEUE)
{
	signal_one();
	waiter.wait_ms = 100;
	assert_done(LEASH_TIMEOUT, &waiter, wait_for_more);
	assert_true(waiter.held && strstr(waiter.err.text, "condition 'jobs?more': ") != NULL);
	await_true(place_is_free(QUEUE));
}

SENTENCE(conditions_of_one_lock_know_nothing_of_each_other, .but = PLACE_NO_QUEUE)
{
	leash_condition *fewer = NULL;

	assert_status(LEASH_OK, leash_condition_new(&fewer, mine, "fewer", NULL, &err));
	let_it_wait();
	assert_status(LEASH_OK, leash_condition_broadcast(fewer, &err));
	leash_condition_free(fewer);
	place_await_waiting(QUEUE, 1);
	signal_one();
	assert_heard(LEASH_OK, &waiter);
}

SENTENCE(who_writes_may_wait_too_but_not_who_reads, .but = PLACE_NO_QUEUE)
{
	leash_lock *reads, *writes;
	leash_condition *c = NULL;

	leash_condition_free(more);
	leash_lock_free(mine);
	reads = kept(lock_of(ours, LEASH_READ));
	mine = writes = lock_of(ours, LEASH_WRITE);
	more = condition_of(writes, LEASH_CONDITION_OPTIONS(.recheck_ms = 100));
	assert_refused(LEASH_INVALID, "lock 'jobs': ", leash_condition_new(&c, reads, "more", NULL, &err));
	take(writes);
	take(reads);
	assert_refused(LEASH_INVALID, "lock 'jobs': ", leash_condition_wait(more, LEASH_FOREVER, &err));
	give(reads);
	take(writes);
	assert_status(LEASH_OK, leash_condition_wait(more, LEASH_FOREVER, &err));
	assert_int_equal(leash_lock_depth(writes), 2);
	give(writes);
	give(writes);
}

/* ---- what else ends a wait ---- */

SENTENCE(a_wait_that_is_canceled_has_the_lock_again, .but = PLACE_NO_QUEUE)
{
	waiter.cancel = kept(leashed_cancel());
	let_it_wait();
	leash_cancel_fire(waiter.cancel);
	assert_heard(LEASH_CANCELED, &waiter);
	assert_true(waiter.held && waiter.fence > 0);
	assert_done(LEASH_CANCELED, &waiter, wait_for_more); /* and one that was fired before gives up nothing */
	assert_true(waiter.held && waiter.fence == 0);
	await_true(place_is_free(QUEUE));
}

SENTENCE(a_wait_ends_when_it_is_time_to_look, .but = PLACE_NO_QUEUE)
{
	waiter.ctx = condition_of(theirs, LEASH_CONDITION_OPTIONS(.recheck_ms = 200));
	assert_done(LEASH_OK, &waiter, wait_for_more);
	assert_true(waiter.held);
	leash_condition_free(waiter.ctx);
}

SENTENCE(a_wait_ends_when_its_place_is_lost, .but = PLACE_NO_QUEUE)
{
	let_it_wait();
	place_say("leash:{" QUEUE "}", "DEL leash:{" QUEUE "}:queue");
	assert_heard(LEASH_OK, &waiter);
	assert_true(waiter.held);
}

SENTENCE(while_the_server_is_silent_a_wait_goes_on_and_ends_when_it_answers, .but = PLACE_NO_QUEUE)
{
	leash_client *client = kept(place_client(LEASH_OPTIONS(.timeout_ms = 100)));

	leash_condition_free(their_more);
	leash_lock_free(theirs);
	theirs = lock_of(client, LEASH_MUTEX);
	their_more = condition_of(theirs, NULL);
	assert_done(LEASH_OK, &waiter, take_it);
	place_pause();
	actor_tell(&waiter, wait_for_more_by_its_hold);
	await_ms(600);
	place_resume();
	assert_heard(LEASH_OK, &waiter);
	assert_true(waiter.held && waiter.fence > 0);
}

SENTENCE(no_time_to_wait_leaves_the_lock_as_it_is, .but = PLACE_NO_QUEUE)
{
	take(mine);
	assert_refused(LEASH_TIMEOUT, "condition 'jobs?more': ", leash_condition_wait(more, 0, &err));
	assert_true(leash_lock_held(mine));
	give(mine);
}

SENTENCE(who_does_not_hold_the_lock_or_lost_it_does_not_wait, .but = PLACE_NO_QUEUE)
{
	assert_refused(LEASH_NOT_HELD, "lock 'jobs': ", leash_condition_wait(more, LEASH_FOREVER, &err));
	for (int nested = 0; nested < 2; nested++) {
		take(mine);
		if (nested)
			take(mine);
		place_take_away("jobs");
		assert_refused(LEASH_LOST, "lock 'jobs': ", leash_condition_wait(more, LEASH_FOREVER, &err));
		assert_int_equal(leash_lock_depth(mine), 0);
	}
	await_true(place_is_free(QUEUE));
}

static int
wait_and_die(void *arg)
{
	leash_client *client = place_client(NULL);
	leash_condition *c;

	(void)arg;
	mine = lock_of(client, LEASH_MUTEX);
	c = condition_of(mine, NULL);
	take(mine);
	return leash_condition_wait(c, LEASH_FOREVER, &err) == LEASH_OK ? 0 : 1;
}

SENTENCE(a_signal_to_a_process_that_dies_with_it_is_made_good_when_it_is_time_to_look, .but = PLACE_NO_QUEUE)
{
	pid_t child = child_run(wait_and_die, NULL);

	await_waiting();
	child_pause(child);
	waiter.ctx = condition_of(theirs, LEASH_CONDITION_OPTIONS(.recheck_ms = 3000));
	actor_tell(&waiter, wait_for_more);
	place_await_waiting(QUEUE, 2);
	signal_one();
	place_await_waiting(QUEUE, 1);
	child_kill(child);
	assert_heard(LEASH_OK, &waiter);
	assert_true(waiter.held);
	leash_condition_free(waiter.ctx);
}

static int
listening(void)
{
	int n = 0;

	for (const char *at = place_text(QUEUE, "PUBSUB CHANNELS leash:wake:*"); (at = strstr(at, "wake")) != NULL; at++)
		n++;
	return n;
}

SENTENCE(a_signal_passes_a_process_that_was_killed, .but = PLACE_NO_QUEUE | PLACE_MANY_SERVERS)
{
	pid_t child = child_run(wait_and_die, NULL);

	await_waiting();
	child_kill(child);
	actor_tell(&waiter, wait_for_more);
	place_await_waiting(QUEUE, 2);
	await_true(listening() == 2);
	signal_one();
	assert_heard(LEASH_OK, &waiter);
}

SENTENCE(a_lock_that_is_not_had_again_in_time_is_not_held, .but = PLACE_NO_QUEUE)
{
	waiter.ctx = condition_of(theirs, LEASH_CONDITION_OPTIONS(.reacquire_ms = 50));
	waiter.turns = 2;
	let_it_wait();
	take(mine);
	signal_one();
	assert_heard(LEASH_UNAVAILABLE, &waiter);
	assert_true(!waiter.held && waiter.depth == 0);
	give(mine);
	leash_condition_free(waiter.ctx);
	await_true(place_is_free("jobs")); /* it leaves the queue in the background */
}

SENTENCE(a_closed_client_ends_the_waits, .but = PLACE_NO_QUEUE)
{
	let_it_wait();
	leash_close(others);
	others = NULL;
	assert_heard(LEASH_CLOSED, &waiter);
	assert_false(waiter.held);
	assert_refused(LEASH_CLOSED, "condition 'jobs?more': ", leash_condition_signal(their_more, &err));
	await_true(place_is_free(QUEUE));
}

/* ---- at any moment ---- */

enum { ITEMS = 200 };

static _Atomic int items; /* of a queue with room for one */

/* Put so many in, or take them out; waiting for `mine`, and waking who waits for `other`. */
static void
pass_on(leash_lock *lock, leash_condition *mine_to_wait, leash_condition *other, int want)
{
	for (int i = 0; i < ITEMS; i++) {
		take(lock);
		while (atomic_load(&items) != want)
			assert_status(LEASH_OK, leash_condition_wait(mine_to_wait, LEASH_FOREVER, &err));
		assert_true(leash_lock_held(lock));
		atomic_store(&items, !want);
		while (leash_condition_signal(other, &err) == LEASH_UNAVAILABLE)
			;
		leash_lock_release(lock, NULL); /* if its answer is lost for long, in the background */
	}
}

static leash_condition *full[2], *empty[2]; /* of `mine`, of `theirs` */

static void
put_in(struct actor *a)
{
	pass_on(mine, empty[0], full[0], 0);
	a->status = LEASH_OK;
}

static void
take_out(struct actor *a)
{
	pass_on(theirs, full[1], empty[1], 1);
	a->status = LEASH_OK;
}

SENTENCE(signals_at_any_moment_wake_and_lose_nothing, .but = PLACE_NO_QUEUE) /* also while connections break */
{
	const leash_condition_options *never = LEASH_CONDITION_OPTIONS(.recheck_ms = 86400000);
	struct actor other;

	atomic_store(&items, 0);
	for (int i = 0; i < 2; i++) {
		leash_lock *lock = i == 0 ? mine : theirs;

		assert_status(LEASH_OK, leash_condition_new(&full[i], lock, "full", never, &err));
		assert_status(LEASH_OK, leash_condition_new(&empty[i], lock, "empty", never, &err));
	}
	actor_begin(&other, NULL, 0);
	actor_tell(&other, put_in);
	actor_tell(&waiter, take_out);
	for (int i = 0; i < 25 && !actor_is_done(&waiter); i++) {
		await_ms(20);
		place_cut();
	}
	assert_heard(LEASH_OK, &waiter);
	assert_heard(LEASH_OK, &other);
	actor_end(&other);
	for (int i = 0; i < 2; i++) {
		leash_condition_free(full[i]);
		leash_condition_free(empty[i]);
	}
}

static void
look_in_vain(struct actor *a)
{
	for (unsigned i = 0; i < 100; i++) {
		take(theirs);
		take(theirs);
		a->status = leash_condition_wait(their_more, 1 + i % 5, &a->err);
		assert_true(a->status == LEASH_OK || a->status == LEASH_TIMEOUT);
		assert_int_equal(leash_lock_depth(theirs), 2);
		give(theirs);
		give(theirs);
	}
	a->status = LEASH_OK;
}

SENTENCE(a_wait_that_ends_as_it_is_signaled_has_the_lock_all_the_same, .but = PLACE_NO_QUEUE)
{
	actor_tell(&waiter, look_in_vain);
	while (!actor_is_done(&waiter))
		signal_one();
	assert_heard(LEASH_OK, &waiter);
	await_true(place_is_free(QUEUE));
}

/* ---- whose it is ---- */

static int
use_as_child(void *arg)
{
	(void)arg;
	assert_refused(LEASH_FORKED, "lock 'jobs': ", leash_condition_wait(more, LEASH_FOREVER, &err));
	assert_refused(LEASH_FORKED, "condition 'jobs?more': ", leash_condition_signal(more, &err));
	leash_condition_free(more);
	leash_lock_free(mine);
	return 0;
}

SENTENCE(a_forked_child_neither_waits_nor_signals, .but = PLACE_NO_QUEUE)
{
	take(mine);
	child_wait(child_run(use_as_child, NULL));
	give(mine);
}

static leash_owner *owner;

static void
wait_as_owner(struct actor *a)
{
	a->status = leash_condition_wait(a->ctx, LEASH_FOREVER, &a->err);
}

SENTENCE(for_an_owner_that_waits_nobody_acquires, .but = PLACE_NO_QUEUE)
{
	leash_lock *owned = NULL, *other = NULL;

	assert_status(LEASH_OK, leash_owner_new(&owner, &err));
	assert_status(LEASH_OK, leash_lock_new(&owned, others, "jobs", LEASH_LOCK_OPTIONS(.owner = owner), &err));
	assert_status(LEASH_OK, leash_lock_new(&other, others, "other", LEASH_LOCK_OPTIONS(.owner = owner), &err));
	take(owned);
	waiter.ctx = condition_of(owned, NULL);
	actor_tell(&waiter, wait_as_owner);
	place_await_waiting(QUEUE, 1);
	assert_refused(LEASH_INVALID, "lock 'other': ", leash_lock_acquire(other, 0, &err));
	signal_one();
	assert_heard(LEASH_OK, &waiter);
	give(owned);
	leash_condition_free(waiter.ctx);
	leash_lock_free(owned);
	leash_lock_free(other);
	leash_owner_free(owner);
}

SENTENCE(wherever_memory_runs_out_the_lock_is_held_or_there_is_nothing_to_release, .but = PLACE_NO_QUEUE)
{
	long used = 0, n;

	for (n = 1; n == 1 || used >= n - 1; n++) {
		leash_condition *made = NULL;
		leash_status status;

		take(mine);
		counted.calls = 0;
		counted.fail_at = n;
		status = leash_condition_new(&made, mine, "more", LEASH_CONDITION_OPTIONS(.recheck_ms = 100), &err);
		if (status == LEASH_OK)
			status = leash_condition_wait(made, LEASH_FOREVER, &err);
		used = counted.calls;
		counted.fail_at = 0;
		if (status != LEASH_OK)
			assert_status(LEASH_NO_MEMORY, status);
		assert_true(made == NULL || leash_lock_depth(mine) == (status == LEASH_OK ? 1u : 0u));
		if (made == NULL || status == LEASH_OK)
			give(mine);
		leash_condition_free(made);
		await_true(place_is_free("jobs") && place_is_free(QUEUE));
	}
	assert_true(n > 4);
}

SENTENCE(a_name_is_told_from_that_of_every_other_condition)
{
	char name[LEASH_NAME_MAX];
	leash_condition *c = NULL;

	if (place_is(PLACE_NO_QUEUE)) {
		leash_client *client = kept(place_client(NULL));
		leash_lock *lock = kept(leashed_lock(client, "jobs", NULL));

		assert_refused(LEASH_UNSUPPORTED, "lock 'jobs': ", leash_condition_new(&c, lock, "more", NULL, &err));
		return;
	}
	memset(name, 'n', sizeof name);
	name[LEASH_NAME_MAX - 5] = '\0';
	assert_status(LEASH_OK, leash_condition_new(&c, mine, name, NULL, &err));
	leash_condition_free(c);
	name[LEASH_NAME_MAX - 5] = 'n';
	name[LEASH_NAME_MAX - 4] = '\0';
	c = NULL;
	assert_refused(LEASH_INVALID, "lock 'jobs': ", leash_condition_new(&c, mine, name, NULL, &err));
	assert_refused(LEASH_INVALID, "lock 'jobs': ", leash_condition_new(&c, mine, "or?", NULL, &err));
	assert_refused(LEASH_INVALID, "lock 'jobs': ",
	               leash_condition_new(&c, mine, "more", LEASH_CONDITION_OPTIONS(.recheck_ms = 99), &err));
	assert_refused(LEASH_INVALID, "lock 'jobs': ",
	               leash_condition_new(&c, mine, "more", LEASH_CONDITION_OPTIONS(.reacquire_ms = -1), &err));
	assert_null(c);
}
