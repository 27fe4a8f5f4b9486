/* Several locks as one: all of them or none, in what order they are waited for, and what is told when one of them is in
 * the way. That who names them in another order does not wait in a circle: test_examples.sh (both_accounts); that whatever a
 * try or a wait ends with leaves what was held before, and nothing else: the simulator (sim/acts.c). */
#include "tests/contract/interface.h"

enum { A, B, C, LOCKS };

static const char *const names[LOCKS] = {"a", "b", "c"};
static leash_client *ours, *others;
static leash_lock *mine[LOCKS], *theirs[LOCKS];
static leash_multi *all;
static struct actor waiter; /* of `ours`, another thread */

static void
open_set(void)
{
	ours = kept(place_client(LEASH_OPTIONS(.lease_ms = 3000)));
	others = kept(place_client(LEASH_OPTIONS(.lease_ms = 3000)));
	for (int i = 0; i < LOCKS; i++) {
		mine[i] = kept(leashed_lock(ours, names[i], NULL));
		theirs[i] = kept(leashed_lock(others, names[i], NULL));
	}
	all = multi_of((leash_lock *[]){mine[C], mine[A], mine[B]}, LOCKS);
	begin_actor(&waiter, NULL, LEASH_FOREVER);
}

PLACE(place_open_counted);
FIXTURE(open_set, NULL);

static void
acquire_all(struct actor *a)
{
	a->status = leash_multi_acquire_with(all, LEASH_ACQUIRE(.wait_ms = a->wait_ms, .cancel = a->cancel), &a->err);
	a->held = leash_multi_held(all);
}

static void
release_all(struct actor *a)
{
	a->status = leash_multi_release(all, &a->err);
	a->held = leash_multi_held(all);
}

/* What is given back is released in the background. */
static void
await_all_free(void)
{
	for (int i = 0; i < LOCKS; i++) {
		assert_holds_nothing(mine[i]);
		await_true(place_is_free(names[i]));
	}
}

/* The waiter has A, and waits for B; C it has given back, or never had. */
static void
let_it_wait_for_b(void)
{
	acquires(theirs[B]);
	actor_tell(&waiter, acquire_all);
	await_true(place_left_ms("a") > 0);
	place_await_waiting("b", 1);
	acquires(theirs[C]);
	releases(theirs[C]);
}

/* ---- all or none ---- */

SENTENCE(all_are_held_and_each_is_a_lock_like_any_other)
{
	assert_status(LEASH_OK, leash_multi_acquire(all, 0, &err));
	assert_true(leash_multi_held(all));
	assert_in_range(leash_multi_remaining_ms(all), 1, 3000);
	for (int i = 0; i < LOCKS; i++) {
		assert_int_equal(leash_lock_depth(mine[i]), 1);
		assert_true(leash_lock_fence(mine[i]) > 0);
		assert_refused(LEASH_TIMEOUT, names[i], leash_lock_acquire(theirs[i], 0, &err));
	}
	assert_status(LEASH_OK, leash_multi_release(all, &err));
	assert_false(leash_multi_held(all));
	assert_int_equal(leash_multi_remaining_ms(all), 0);
	await_all_free();
}

SENTENCE(who_waits_has_what_comes_before_and_nothing_behind)
{
	let_it_wait_for_b();
	releases(theirs[B]);
	assert_heard(LEASH_OK, &waiter);
	assert_true(waiter.held);
	for (int i = 0; i < LOCKS; i++)
		assert_refused(LEASH_TIMEOUT, names[i], leash_lock_acquire(theirs[i], 0, &err));
	assert_done(LEASH_OK, &waiter, release_all);
	await_all_free();
}

SENTENCE(a_canceled_wait_leaves_none)
{
	waiter.cancel = kept(leashed_cancel());
	let_it_wait_for_b();
	leash_cancel_fire(waiter.cancel);
	assert_heard(LEASH_CANCELED, &waiter);
	assert_done(LEASH_CANCELED, &waiter, acquire_all);
	releases(theirs[B]);
	await_all_free();
}

SENTENCE(a_close_ends_the_wait)
{
	leash_client *client = place_client(NULL);
	leash_lock *locks[] = {kept(leashed_lock(client, "a", NULL)), kept(leashed_lock(client, "b", NULL))};

	all = multi_of(locks, 2);
	let_it_wait_for_b();
	leash_close(client);
	assert_heard(LEASH_CLOSED, &waiter);
	releases(theirs[B]);
	await_all_free();
}

static leash_status
live(void)
{
	leash_multi *set = NULL;
	leash_status status = leash_multi_new(&set, mine, LOCKS, &err);

	if (status == LEASH_OK)
		status = leash_multi_acquire(set, 5000, &err);
	if (status == LEASH_OK)
		assert_status(LEASH_OK, leash_multi_release(set, &err));
	leash_multi_free(set);
	return status;
}

static void
see_that_all_are_free(__attribute__((unused)) leash_status status)
{
	await_all_free();
}

SENTENCE(wherever_memory_runs_out_none_is_held)
{
	assert_true(wherever_memory_runs_out(live, see_that_all_are_free) > 5);
}

/* Not until the server has answered what is given back: that is not waited for. */
SENTENCE(a_cancel_and_the_end_of_the_time_end_a_wait_also_where_the_server_is_silent, .but = PLACE_ONE_SOCKET)
{
	leash_client *patient = kept(leashed_open(place_uri(), LEASH_OPTIONS(.timeout_ms = 60000)));
	leash_lock *locks[] = {kept(leashed_lock(patient, "a", NULL)), kept(leashed_lock(patient, "b", NULL))};

	all = multi_of(locks, 2);
	waiter.cancel = kept(leashed_cancel());
	let_it_wait_for_b();
	place_pause();
	leash_cancel_fire(waiter.cancel);
	assert_heard(LEASH_CANCELED, &waiter); /* which takes no 60 s, as each answer may */
	place_resume();
	waiter.cancel = NULL;
	waiter.wait_ms = 500;
	actor_tell(&waiter, acquire_all);
	await_true(place_left_ms("a") > 0 || actor_is_done(&waiter));
	place_pause();
	actor_hear(&waiter);
	assert_int_not_equal(waiter.status, LEASH_OK);
	place_resume();
	releases(theirs[B]);
}

/* ---- beside holds of single locks ---- */

SENTENCE(what_is_held_already_is_nested)
{
	acquires(mine[B]);
	assert_status(LEASH_OK, leash_multi_acquire(all, 1000, &err));
	assert_status(LEASH_OK, leash_multi_acquire(all, 1000, &err));
	assert_int_equal(leash_lock_depth(mine[B]), 3);
	assert_int_equal(leash_lock_depth(mine[C]), 2);
	assert_status(LEASH_OK, leash_multi_release(all, &err));
	assert_true(leash_multi_held(all));
	assert_status(LEASH_OK, leash_multi_release(all, &err));
	assert_int_equal(leash_lock_depth(mine[B]), 1);
	assert_refused(LEASH_NOT_HELD, "lock 'a'", leash_multi_release(all, &err));
	await_all_free();
}

SENTENCE(to_wait_for_what_comes_before_one_that_is_held_is_refused)
{
	acquires(theirs[A]);
	acquires(mine[C]);
	assert_refused(LEASH_DEADLOCK, "'c'", leash_multi_acquire(all, LEASH_FOREVER, &err));
	assert_refused(LEASH_TIMEOUT, "lock 'a'", leash_multi_acquire(all, 0, &err));
	assert_int_equal(leash_lock_depth(mine[C]), 1);
	await_true(place_is_free("b"));
	releases(theirs[A]);
	assert_status(LEASH_OK, leash_multi_acquire(all, LEASH_FOREVER, &err));
	assert_status(LEASH_OK, leash_multi_release(all, &err));
	releases(mine[C]);
}

SENTENCE(what_comes_behind_one_that_is_held_is_waited_for)
{
	acquires(theirs[C]);
	acquires(mine[A]);
	assert_refused(LEASH_TIMEOUT, "lock 'c': other owners had it for all of 2000 ms", leash_multi_acquire(all, 2000, &err));
	assert_int_equal(leash_lock_depth(mine[A]), 1);
	await_true(place_is_free("b"));
	releases(theirs[C]);
	releases(mine[A]);
}

/* ---- what is lost ---- */

SENTENCE(one_lost_is_the_set_lost_and_the_others_are_kept_until_the_release)
{
	assert_status(LEASH_OK, leash_multi_acquire(all, 0, &err));
	place_take_away("b");
	await_true(!leash_multi_held(all));
	assert_true(leash_lock_held(mine[A]) && leash_lock_held(mine[C]));
	assert_refused(LEASH_LOST, "lock 'b'", leash_multi_release(all, &err));
	assert_refused(LEASH_NOT_HELD, "lock 'a'", leash_multi_release(all, &err));
	await_all_free();
}

SENTENCE(what_was_lost_before_is_to_be_released_first)
{
	acquires(mine[C]);
	acquires(theirs[A]);
	place_take_away("c");
	await_true(!leash_lock_held(mine[C]));
	assert_refused(LEASH_LOST, "lock 'c'", leash_multi_acquire(all, LEASH_FOREVER, &err));
	assert_refused(LEASH_LOST, "lock 'c'", leash_lock_release(mine[C], &err));
	releases(theirs[A]);
}

SENTENCE(what_is_lost_while_others_are_waited_for_is_acquired_again)
{
	let_it_wait_for_b();
	place_take_away("a");
	await_true(stats_of(ours).lost == 1);
	releases(theirs[B]);
	assert_heard(LEASH_OK, &waiter);
	assert_true(waiter.held);
	assert_done(LEASH_OK, &waiter, release_all);
	await_all_free();
}

/* ---- what is no set ---- */

static leash_status
make(leash_lock *const *locks, size_t count)
{
	leash_multi *set = all;
	leash_status status = leash_multi_new(&set, locks, count, &err);

	assert_ptr_equal(set, all);
	return status;
}

SENTENCE(what_is_no_set_is_refused)
{
	const leash_lock_options *limits[] = {LEASH_LOCK_OPTIONS(.no_renew = true), LEASH_LOCK_OPTIONS(.max_hold_ms = 60000),
	                                      LEASH_LOCK_OPTIONS(.alive_ms = 60000)};
	static const char *const named[] = {"no_renew", "max_hold_ms", "alive_ms"};
	leash_lock *owned = kept(leashed_lock(ours, "owned", LEASH_LOCK_OPTIONS(.owner = owner_of_its_own())));
	leash_lock *many[LEASH_MULTI_MAX + 1];

	for (size_t i = 0; i < COUNT(many); i++)
		many[i] = mine[A];
	assert_refused(LEASH_INVALID, "leash_multi_new", make(NULL, 1));
	assert_refused(LEASH_INVALID, "leash_multi_new", leash_multi_new(NULL, mine, 1, &err));
	assert_refused(LEASH_INVALID, "1 to 64", make(mine, 0));
	assert_refused(LEASH_INVALID, "1 to 64", make(many, COUNT(many)));
	assert_refused(LEASH_INVALID, "lock 1 of the set", make((leash_lock *[]){mine[A], NULL}, 2));
	assert_refused(LEASH_INVALID, "'a'", make((leash_lock *[]){mine[A], mine[B], mine[A]}, 3));
	assert_refused(LEASH_INVALID, "one client", make((leash_lock *[]){mine[A], theirs[B]}, 2));
	assert_refused(LEASH_INVALID, "one owner", make((leash_lock *[]){mine[A], owned}, 2));
	for (int i = 0; i < 3; i++)
		assert_refused(LEASH_INVALID, named[i],
		               make((leash_lock *[]){mine[A], kept(leashed_lock(ours, "limited", limits[i]))}, 2));
	assert_refused(LEASH_INVALID, "lock 'a'", leash_multi_acquire(all, -2, &err));
	assert_refused(LEASH_INVALID, "lock 'a'", leash_multi_acquire_with(all, LEASH_ACQUIRE(.lease_ms = 1), &err));
	assert_false(leash_multi_held(NULL));
	leash_multi_free(NULL);
}
