/* Conditions: who waits gives the lock up, is woken by a signal, and has the lock again; and what else ends a wait. What
 * the server does is said by redis/test_share.c, what comes in between by core/test_conditions.c. */
#include "tests/contract/interface.h"

#define QUEUE "jobs?more"

static leash_client *ours, *others;
static leash_lock *mine, *theirs;
static leash_condition *more, *their_more;
static struct actor waiter; /* by `theirs` */

static leash_lock *
lock_of(leash_client *client, leash_mode mode)
{
	return kept(leashed_lock(client, "jobs", LEASH_LOCK_OPTIONS(.mode = mode)));
}

static void
open_two(void)
{
	begin_actor(&waiter, NULL, LEASH_FOREVER);
	waiter.turns = 1;
	if (place_is(PLACE_NO_QUEUE))
		return;
	ours = kept(open_client());
	others = kept(open_client());
	mine = lock_of(ours, LEASH_MUTEX);
	theirs = lock_of(others, LEASH_MUTEX);
	more = condition_of(mine, "more", NULL);
	their_more = condition_of(theirs, "more", NULL);
}

PLACE(place_open_counted);
FIXTURE(open_two, NULL);

/* Acquire it so often, wait by `their_more`, or by the condition that is `ctx`, and give it back. */
static void
wait_for_more(struct actor *a)
{
	uint64_t before;

	for (unsigned i = 0; i < a->turns; i++)
		acquires(theirs);
	before = leash_lock_fence(theirs);
	a->status = leash_condition_wait_with(a->ctx != NULL ? a->ctx : their_more,
	                                      LEASH_ACQUIRE(.wait_ms = a->wait_ms, .cancel = a->cancel), &a->err);
	a->held = leash_lock_held(theirs);
	a->depth = leash_lock_depth(theirs);
	a->fence = leash_lock_fence(theirs) - before; /* so much larger */
	for (unsigned i = a->depth; i > 0; i--)
		releases(theirs);
}

/* It has a place, and then has given the lock up. */
static void
let_it_wait(void)
{
	actor_tell(&waiter, wait_for_more);
	place_await_waiting(QUEUE, 1);
	await_true(place_is_free("jobs"));
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
	acquires(mine);
	signal_one();
	place_await_waiting("jobs", 1);
	assert_false(actor_is_done(&waiter));
	releases(mine);
	assert_heard(LEASH_OK, &waiter);
	assert_true(waiter.held && waiter.depth == 3 && waiter.fence > 0);
	place_assert_free("jobs");
	await_true(place_is_free(QUEUE));
}

SENTENCE(conditions_of_one_lock_know_nothing_of_each_other, .but = PLACE_NO_QUEUE)
{
	let_it_wait();
	assert_status(LEASH_OK, leash_condition_broadcast(condition_of(mine, "fewer", NULL), &err));
	place_await_waiting(QUEUE, 1);
	assert_status(LEASH_OK, leash_condition_broadcast(more, &err));
	assert_heard(LEASH_OK, &waiter);
}

SENTENCE(who_writes_may_wait_too_but_not_who_reads, .but = PLACE_NO_QUEUE)
{
	leash_client *client = kept(open_client());
	leash_lock *reads = lock_of(client, LEASH_READ), *writes = lock_of(client, LEASH_WRITE);
	leash_condition *waits = condition_of(writes, "more", LEASH_CONDITION_OPTIONS(.recheck_ms = 100)), *c = NULL;

	assert_refused(LEASH_INVALID, "lock 'jobs': ", leash_condition_new(&c, reads, "more", NULL, &err));
	acquires(writes);
	acquires(reads);
	assert_refused(LEASH_INVALID, "lock 'jobs': ", leash_condition_wait(waits, LEASH_FOREVER, &err));
	releases(reads);
	acquires(writes);
	assert_status(LEASH_OK, leash_condition_wait(waits, LEASH_FOREVER, &err));
	assert_int_equal(leash_lock_depth(writes), 2);
	releases(writes);
	releases(writes);
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
	waiter.ctx = condition_of(theirs, "more", LEASH_CONDITION_OPTIONS(.recheck_ms = 200));
	assert_done(LEASH_OK, &waiter, wait_for_more);
	assert_true(waiter.held);
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
	waiter.lock = theirs = lock_of(kept(place_client(LEASH_OPTIONS(.timeout_ms = 100))), LEASH_MUTEX);
	their_more = condition_of(theirs, "more", NULL);
	waiter.turns = 0; /* it has it */
	assert_done(LEASH_OK, &waiter, actor_acquire);
	place_pause();
	actor_tell(&waiter, wait_for_more);
	await_ms(600);
	place_resume();
	assert_heard(LEASH_OK, &waiter);
	assert_true(waiter.held && waiter.fence > 0);
}

SENTENCE(no_time_to_wait_leaves_the_lock_as_it_is, .but = PLACE_NO_QUEUE)
{
	acquires(mine);
	assert_refused(LEASH_TIMEOUT, "condition 'jobs?more': ", leash_condition_wait(more, 0, &err));
	assert_true(leash_lock_held(mine));
	releases(mine);
}

SENTENCE(who_does_not_hold_the_lock_or_lost_it_does_not_wait, .but = PLACE_NO_QUEUE)
{
	assert_refused(LEASH_NOT_HELD, "lock 'jobs': ", leash_condition_wait(more, LEASH_FOREVER, &err));
	for (int nested = 0; nested < 2; nested++) {
		acquires(mine);
		if (nested)
			acquires(mine);
		place_take_away("jobs");
		assert_refused(LEASH_LOST, "lock 'jobs': ", leash_condition_wait(more, LEASH_FOREVER, &err));
		assert_int_equal(leash_lock_depth(mine), 0);
	}
	await_true(place_is_free(QUEUE));
}

SENTENCE(a_lock_that_is_not_had_again_in_time_is_not_held, .but = PLACE_NO_QUEUE)
{
	waiter.ctx = condition_of(theirs, "more", LEASH_CONDITION_OPTIONS(.reacquire_ms = 50));
	waiter.turns = 2;
	let_it_wait();
	acquires(mine);
	signal_one();
	assert_heard(LEASH_UNAVAILABLE, &waiter);
	assert_true(!waiter.held && waiter.depth == 0);
	releases(mine);
	await_true(place_is_free("jobs")); /* it leaves the queue in the background */
}

/* ---- at any moment ---- */

enum { ITEMS = 200 };

static _Atomic int items; /* of a queue with room for one */

/* Put so many in (`turns` is 0), or take them out; waiting for the first condition, and waking who waits for the other. */
static void
pass_on(struct actor *a)
{
	leash_condition **of = a->ctx;

	for (int i = 0; i < ITEMS; i++) {
		acquires(a->lock);
		while (atomic_load(&items) != (int)a->turns)
			assert_status(LEASH_OK, leash_condition_wait(of[0], LEASH_FOREVER, &err));
		assert_true(leash_lock_held(a->lock));
		atomic_store(&items, !a->turns);
		while (leash_condition_signal(of[1], &err) == LEASH_UNAVAILABLE)
			;
		leash_lock_release(a->lock, NULL); /* if its answer is lost for long, in the background */
	}
	a->status = LEASH_OK;
}

SENTENCE(signals_at_any_moment_wake_and_lose_nothing, .but = PLACE_NO_QUEUE) /* also while connections break */
{
	const leash_condition_options *never = LEASH_CONDITION_OPTIONS(.recheck_ms = 86400000);
	leash_condition *full[] = {condition_of(mine, "full", never), condition_of(theirs, "full", never)};
	leash_condition *empty[] = {condition_of(mine, "empty", never), condition_of(theirs, "empty", never)};
	struct actor other;

	atomic_store(&items, 0);
	actor_begin(&other, mine, 0);
	other.ctx = (leash_condition *[]){empty[0], full[0]};
	waiter.lock = theirs;
	waiter.ctx = (leash_condition *[]){full[1], empty[1]};
	waiter.turns = 1;
	other.turns = 0;
	actor_tell(&other, pass_on);
	actor_tell(&waiter, pass_on);
	for (int i = 0; i < 25 && !actor_is_done(&waiter); i++) {
		await_ms(20);
		place_cut();
	}
	assert_heard(LEASH_OK, &waiter);
	assert_heard(LEASH_OK, &other);
	actor_end(&other);
}

/* ---- whose it is ---- */

static void
wait_as_owner(struct actor *a)
{
	a->status = leash_condition_wait(a->ctx, LEASH_FOREVER, &a->err);
}

SENTENCE(for_an_owner_that_waits_nobody_acquires, .but = PLACE_NO_QUEUE)
{
	const leash_lock_options *of_one = LEASH_LOCK_OPTIONS(.owner = owner_of_its_own());
	leash_lock *owned = kept(leashed_lock(others, "jobs", of_one)), *other = kept(leashed_lock(others, "other", of_one));

	acquires(owned);
	waiter.ctx = condition_of(owned, "more", NULL);
	actor_tell(&waiter, wait_as_owner);
	place_await_waiting(QUEUE, 1);
	assert_refused(LEASH_INVALID, "lock 'other': ", leash_lock_acquire(other, 0, &err));
	signal_one();
	assert_heard(LEASH_OK, &waiter);
	releases(owned);
}

static leash_condition *made;

static leash_status
make_one_and_wait(void)
{
	made = NULL;
	leash_status status = leash_condition_new(&made, mine, "more", LEASH_CONDITION_OPTIONS(.recheck_ms = 100), &err);
	return status == LEASH_OK ? leash_condition_wait(made, LEASH_FOREVER, &err) : status;
}

static void
check_that_wait(leash_status status)
{
	assert_true(made == NULL || leash_lock_depth(mine) == (status == LEASH_OK ? 1u : 0u));
	if (made == NULL || status == LEASH_OK)
		releases(mine);
	leash_condition_free(made);
	await_true(place_is_free("jobs") && place_is_free(QUEUE));
	acquires(mine);
}

SENTENCE(wherever_memory_runs_out_the_lock_is_held_or_there_is_nothing_to_release, .but = PLACE_NO_QUEUE)
{
	acquires(mine);
	assert_true(wherever_memory_runs_out(make_one_and_wait, check_that_wait) > 4);
	releases(mine);
}

static void
refuse(const char *name, const leash_condition_options *options)
{
	leash_condition *c = NULL;

	assert_refused(LEASH_INVALID, "lock 'jobs': ", leash_condition_new(&c, mine, name, options, &err));
	assert_null(c);
}

SENTENCE(a_name_is_told_from_that_of_every_other_condition, .but = PLACE_NO_QUEUE)
{
	char name[LEASH_NAME_MAX];

	memset(name, 'n', sizeof name);
	name[LEASH_NAME_MAX - 4] = '\0';
	refuse(name, NULL);
	name[LEASH_NAME_MAX - 5] = '\0';
	condition_of(mine, name, NULL);
	refuse("or?", NULL);
	refuse("more", LEASH_CONDITION_OPTIONS(.recheck_ms = 99));
	refuse("more", LEASH_CONDITION_OPTIONS(.reacquire_ms = -1));
}
