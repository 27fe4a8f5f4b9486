/* Operations that nobody waits for, of permits, gates, signals, leaders and sets: as test_loop.c has them of locks. */
#include "tests/contract/loop.h"

static leash_multi *given_set;

FIXTURE(loop_open, no_trace_is_left);
PLACE(life_open);

/* ---- permits ---- */

SENTENCE(permits_are_given_when_they_are_told, .but = PLACE_NO_QUEUE)
{
	leash_semaphore *semaphore = semaphore_of(client, "permits", 2);
	leash_permit *had, *wanted = NULL;

	assert_status(LEASH_OK, leash_semaphore_acquire(semaphore, 2, 0, &had, &err));
	assert_status(LEASH_OK, leash_semaphore_acquire_start(semaphore, 2, LEASH_ACQUIRE(.wait_ms = LEASH_FOREVER),
	                                                      &wanted, tell, &first, NULL, &err));
	place_await_waiting("permits", 1);
	assert_status(LEASH_OK, leash_permit_release_start(had, tell, &second, NULL, &err));
	assert_told(LEASH_OK, &second);
	assert_told(LEASH_OK, &first);
	assert_int_equal(leash_permit_count(wanted), 2);
	assert_true(leash_permit_held(wanted));
	second.times = 0;
	assert_status(LEASH_OK, leash_permit_release_start(wanted, tell, &second, NULL, &err));
	assert_told(LEASH_OK, &second);
}

SENTENCE(permits_are_extended_and_some_of_them_given_back, .but = PLACE_NO_QUEUE)
{
	leash_semaphore *semaphore = semaphore_of(client, "permits", 3);
	leash_permit *had;

	assert_status(LEASH_OK, leash_semaphore_acquire(semaphore, 3, 0, &had, &err));
	assert_status(LEASH_OK, leash_permit_extend_start(had, 60000, tell, &first, NULL, &err));
	assert_told(LEASH_OK, &first);
	assert_true(leash_permit_remaining_ms(had) > 40000);
	assert_status(LEASH_OK, leash_permit_release_some_start(had, 2, tell, &second, NULL, &err));
	assert_told(LEASH_OK, &second);
	assert_int_equal(leash_permit_count(had), 1);
	assert_refused(LEASH_INVALID, "count", leash_permit_release_some_start(had, 1, tell, &second, NULL, &err));
	assert_status(LEASH_OK, leash_permit_release(had, &err));
}

SENTENCE(permits_of_another_client_are_adopted, .but = PLACE_NO_QUEUE)
{
	leash_semaphore *semaphore = semaphore_of(client, "permits", 2), *also = semaphore_of(others, "permits", 2);
	leash_permit *had, *adopted = NULL;
	char token[LEASH_TOKEN_MAX];

	assert_status(LEASH_OK, leash_semaphore_acquire(also, 2, 0, &had, &err));
	leash_permit_token(had, token, sizeof token);
	assert_status(LEASH_OK,
	              leash_semaphore_adopt_start(semaphore, 2, token, &adopted, tell, &first, NULL, &err));
	assert_told(LEASH_OK, &first);
	assert_true(leash_permit_held(adopted));
	assert_status(LEASH_OK, leash_permit_release(adopted, &err));
	assert_status(LEASH_LOST, leash_permit_release(had, &err));
}

/* ---- gates and conditions ---- */

SENTENCE(who_waits_at_a_latch_is_told_when_enough_have_arrived, .but = PLACE_NO_QUEUE)
{
	leash_latch *latch = latch_of(client, "latch", 1);

	assert_status(LEASH_OK, leash_latch_await_start(latch, NULL, tell, &first, NULL, &err));
	assert_told(LEASH_TIMEOUT, &first);
	assert_status(LEASH_OK,
	              leash_latch_await_start(latch, LEASH_ACQUIRE(.wait_ms = LEASH_FOREVER), tell, &second, NULL, &err));
	place_await_waiting("latch", 1);
	assert_int_equal(second.times, 0);
	first = (struct told){0};
	assert_status(LEASH_OK, leash_latch_count_down_start(latch, NULL, tell, &first, NULL, &err));
	assert_told(LEASH_OK, &first);
	assert_told(LEASH_OK, &second);
	assert_status(LEASH_OK, leash_latch_break(latch, &err));
}

SENTENCE(an_arrival_is_told_though_the_latch_is_freed_and_connections_are_cut, .but = PLACE_NO_QUEUE)
{
	leash_latch *latch = latch_of(client, "cut", 2), *freed = NULL;
	int64_t arrived = 0;

	assert_status(LEASH_OK, leash_latch_new(&freed, client, "cut", 2, &err));
	assert_status(LEASH_OK, leash_latch_count_down_start(freed, "ann", tell, &first, NULL, &err));
	assert_status(LEASH_OK, leash_latch_count_down_start(freed, "bob", tell, &second, NULL, &err));
	leash_latch_free(freed);
	place_cut();
	await_told(&first);
	await_told(&second);
	/* an answer that was lost is awaited to the end, as what was asked may be done still */
	assert_true(first.status == LEASH_OK || first.status == LEASH_UNAVAILABLE);
	assert_status(LEASH_OK, leash_latch_arrived(latch, &arrived, &err));
	assert_int_equal(arrived, 2);
	assert_status(LEASH_OK, leash_latch_break(latch, &err));
}

static void
wait_for_change(struct actor *a)
{
	acquires(theirs);
	a->status = leash_condition_wait(a->ctx, LEASH_FOREVER, &a->err);
	releases(theirs);
}

SENTENCE(who_waits_for_a_condition_is_signaled_by_a_loop, .but = PLACE_NO_QUEUE)
{
	static struct actor waiter;
	leash_condition *ours = NULL, *of_theirs = NULL;

	assert_status(LEASH_OK, leash_condition_new(&ours, lock, "changed", NULL, &err));
	assert_status(LEASH_OK, leash_condition_new(&of_theirs, theirs, "changed", NULL, &err));
	begin_actor(&waiter, NULL, LEASH_FOREVER);
	waiter.ctx = of_theirs;
	for (int all = 0; all < 2; all++) {
		first = (struct told){0};
		actor_tell(&waiter, wait_for_change);
		place_await_waiting("law?changed", 1);
		assert_status(LEASH_OK, all ? leash_condition_broadcast_start(ours, tell, &first, NULL, &err)
		                            : leash_condition_signal_start(ours, tell, &first, NULL, &err));
		assert_told(LEASH_OK, &first);
		assert_heard(LEASH_OK, &waiter);
	}
	leash_condition_free(ours);
	leash_condition_free(of_theirs);
}

SENTENCE(parties_of_a_barrier_are_told_together_or_that_nobody_counts_on_them, .but = PLACE_NO_QUEUE)
{
	leash_barrier *barrier = barrier_of(client, "barrier", 2);
	struct told third = {0};
	leash_op *op;

	assert_status(LEASH_OK, leash_barrier_wait_start(barrier, LEASH_ACQUIRE(.wait_ms = LEASH_FOREVER), tell, &first,
	                                                 &op, &err));
	place_await_waiting("barrier", 1);
	leash_op_cancel(op);
	assert_told(LEASH_CANCELED, &first);
	assert_status(LEASH_OK, leash_barrier_wait_start(barrier, LEASH_ACQUIRE(.wait_ms = LEASH_FOREVER), tell, &second,
	                                                 NULL, &err));
	place_await_waiting("barrier", 1);
	assert_int_equal(second.times, 0);
	assert_status(LEASH_OK, leash_barrier_wait_start(barrier, LEASH_ACQUIRE(.wait_ms = LEASH_FOREVER), tell, &third,
	                                                 NULL, &err));
	assert_told(LEASH_OK, &second);
	assert_told(LEASH_OK, &third);
}

/* ---- leaders ---- */

static leash_watch *watch;
static leash_leader leader;

static void
start_to_watch(int64_t wait_ms, struct told *told, leash_op **op)
{
	*told = (struct told){0};
	leader = (leash_leader){.size = sizeof leader};
	assert_status(LEASH_OK, leash_watch_next_start(watch, LEASH_ACQUIRE(.wait_ms = wait_ms), &leader, tell, told, op,
	                                               &err));
}

SENTENCE(who_leads_and_what_it_proclaims_is_told_by_the_loop, .but = PLACE_NO_QUEUE)
{
	assert_status(LEASH_OK, leash_watch_new(&watch, client, "law", &err));
	start_to_watch(LEASH_FOREVER, &first, NULL);
	assert_told(LEASH_OK, &first);
	assert_false(leader.leads);
	start_to_watch(0, &first, NULL);
	assert_told(LEASH_TIMEOUT, &first);
	assert_refused(LEASH_NOT_HELD, "does not hold", leash_lock_proclaim_start(lock, "here", tell, &second, NULL, &err));
	start_to_acquire(0, &second);
	assert_told(LEASH_OK, &second);
	start_to_watch(LEASH_FOREVER, &first, NULL);
	second = (struct told){0};
	assert_status(LEASH_OK, leash_lock_proclaim_start(lock, "here", tell, &second, NULL, &err));
	assert_told(LEASH_OK, &second);
	assert_told(LEASH_OK, &first);
	while (strcmp(leader.value, "here") != 0) { /* at first it may have told that somebody leads */
		start_to_watch(LEASH_FOREVER, &first, NULL);
		assert_told(LEASH_OK, &first);
	}
	assert_true(leader.leads && leader.fence == leash_lock_fence(lock));
	start_to_watch(LEASH_FOREVER, &first, NULL);
	releases(lock);
	assert_told(LEASH_OK, &first);
	assert_false(leader.leads);
	leash_watch_free(watch);
}

SENTENCE(who_watches_is_canceled_or_told_of_a_close, .but = PLACE_NO_QUEUE)
{
	leash_client *other = open_client();
	leash_op *op;

	assert_status(LEASH_OK, leash_watch_new(&watch, client, "law", &err));
	start_to_watch(LEASH_FOREVER, &first, &op);
	assert_told(LEASH_OK, &first);
	for (int round = 0; round < 2; round++) {
		start_to_watch(LEASH_FOREVER, &first, &op);
		for (int i = 0; i < 10 * round; i++)
			turn();
		leash_op_cancel(op);
		assert_told(LEASH_CANCELED, &first);
	}
	leash_watch_free(watch);
	assert_status(LEASH_OK, leash_watch_new(&watch, other, "law", &err));
	start_to_watch(LEASH_FOREVER, &first, NULL);
	leash_close(other);
	assert_int_equal(first.times, 1);
	assert_true(first.status == LEASH_CLOSED || first.status == LEASH_OK);
	leash_watch_free(watch);
}

/* ---- several locks as one ---- */

enum { A, B, C, SET };

static leash_lock *ours[SET], *of_others[SET];

static leash_multi *
open_set(void)
{
	static const char *const names[SET] = {"a", "b", "c"};

	for (int i = 0; i < SET; i++) {
		ours[i] = kept(leashed_lock(client, names[i], LEASH_LOCK_OPTIONS(.owner = owner)));
		of_others[i] = kept(leashed_lock(others, names[i], NULL));
	}
	return multi_of(ours, SET);
}

static void
start_to_acquire_all(leash_multi *all, int64_t wait_ms, struct told *told, leash_op **op)
{
	assert_status(LEASH_OK,
	              leash_multi_acquire_start(all, LEASH_ACQUIRE(.wait_ms = wait_ms), tell, told, op, &err));
}

static void
release_all_of(leash_multi *all, struct told *told)
{
	*told = (struct told){0};
	assert_status(LEASH_OK, leash_multi_release_start(all, tell, told, NULL, &err));
	assert_false(leash_multi_held(all));
	assert_told(LEASH_OK, told);
}

SENTENCE(a_set_is_acquired_and_released_as_one)
{
	leash_multi *all = open_set();

	start_to_acquire_all(all, 20000, &first, NULL);
	assert_told(LEASH_OK, &first);
	assert_true(leash_multi_held(all));
	release_all_of(all, &second);
	for (int i = 0; i < SET; i++)
		take_and_give_back(of_others[i]);
}

SENTENCE(a_set_waits_for_the_one_that_is_in_its_way_without_those_behind_it)
{
	leash_multi *all = open_set();

	acquires(of_others[B]);
	start_to_acquire_all(all, LEASH_FOREVER, &first, NULL);
	await_true((turn(), leash_lock_held(ours[A])));
	await_true((turn(), leash_lock_acquire(of_others[C], 0, &err) == LEASH_OK));
	assert_int_equal(first.times, 0);
	assert_true(leash_lock_held(ours[A]));
	releases(of_others[C]);
	releases(of_others[B]);
	assert_told(LEASH_OK, &first);
	release_all_of(all, &second);
}

SENTENCE(a_set_that_does_not_come_in_time_leaves_nothing)
{
	leash_multi *all = open_set();

	acquires(of_others[C]);
	start_to_acquire_all(all, 0, &first, NULL);
	assert_told(LEASH_TIMEOUT, &first);
	start_to_acquire_all(all, 150, &second, NULL);
	assert_told(LEASH_TIMEOUT, &second);
	assert_true(strstr(second.text, "'c'") != NULL);
	take_and_give_back(of_others[A]);
	take_and_give_back(of_others[B]);
	releases(of_others[C]);
}

SENTENCE(a_set_that_is_canceled_leaves_nothing_before_it_has_begun_or_after)
{
	leash_multi *all = open_set();
	leash_op *op;

	acquires(of_others[B]);
	start_to_acquire_all(all, LEASH_FOREVER, &first, &op);
	leash_op_cancel(op);
	assert_told(LEASH_CANCELED, &first);
	start_to_acquire_all(all, LEASH_FOREVER, &second, &op);
	await_true((turn(), stats_of(client).waiting == 1));
	leash_op_cancel(op);
	assert_told(LEASH_CANCELED, &second);
	take_and_give_back(of_others[A]);
	releases(of_others[B]);
	assert_int_equal(stats_of(client).holding, 0);
}

SENTENCE(a_lost_one_of_a_set_is_told_by_its_release)
{
	leash_multi *all = open_set();

	start_to_acquire_all(all, 20000, &first, NULL);
	assert_told(LEASH_OK, &first);
	assert_status(LEASH_OK, leash_lock_break(of_others[B], &err));
	assert_status(LEASH_OK, leash_multi_release_start(all, tell, &second, NULL, &err));
	assert_told(LEASH_LOST, &second);
	assert_true(strstr(second.text, "'b'") != NULL);
}

static leash_status
acquire_and_release_all(void)
{
	leash_multi *all = given_set;
	struct told had = {0}, gone = {0};
	leash_status status = leash_multi_acquire_start(all, LEASH_ACQUIRE(.wait_ms = 20000), tell, &had, NULL, &err);

	if (status != LEASH_OK)
		return status;
	await_told(&had);
	if (had.status != LEASH_OK)
		return had.status;
	status = leash_multi_release_start(all, tell, &gone, NULL, &err);
	if (status == LEASH_OK)
		await_told(&gone);
	return status == LEASH_OK ? gone.status : status;
}

static void
check_set_free(leash_status status)
{
	(void)status;
	for (int i = 0; i < SET; i++)
		take_and_give_back(of_others[i]);
}

SENTENCE(a_set_without_memory_is_told_so_and_leaves_nothing, .but = PLACE_MANY_SERVERS)
{
	given_set = open_set();
	assert_true(wherever_memory_runs_out(acquire_and_release_all, check_set_free) >= 4);
}

SENTENCE(close_tells_of_a_set_too)
{
	leash_client *own = place_client(NULL);
	leash_owner *whose = owner_of_its_own();
	leash_lock *one = leashed_lock(own, "a", LEASH_LOCK_OPTIONS(.owner = whose));
	leash_multi *all;

	open_set();
	acquires(of_others[A]);
	assert_status(LEASH_OK, leash_multi_new(&all, &one, 1, &err));
	start_to_acquire_all(all, LEASH_FOREVER, &first, NULL);
	assert_status(LEASH_OK, leash_client_dispatch(own, &err));
	leash_close(own);
	assert_int_equal(first.times, 1);
	assert_int_equal(first.status, LEASH_CLOSED);
	leash_multi_free(all);
	leash_lock_free(one);
	releases(of_others[A]);
}

/* ---- what cannot be ---- */

SENTENCE(what_is_not_there_is_refused)
{
	assert_refused(LEASH_INVALID, "leash_permit_release_start", leash_permit_release_start(NULL, tell, &first, NULL, &err));
	assert_refused(LEASH_INVALID, "leash_permit_extend_start",
	               leash_permit_extend_start(NULL, 1000, tell, &first, NULL, &err));
	assert_refused(LEASH_INVALID, "latch is NULL", leash_latch_await_start(NULL, NULL, tell, &first, NULL, &err));
	assert_refused(LEASH_INVALID, "latch is NULL", leash_latch_count_down_start(NULL, NULL, tell, &first, NULL, &err));
	assert_refused(LEASH_INVALID, "watch is NULL", leash_watch_next_start(NULL, NULL, &leader, tell, &first, NULL, &err));
	assert_refused(LEASH_INVALID, "condition is NULL", leash_condition_signal_start(NULL, tell, &first, NULL, &err));
	assert_refused(LEASH_INVALID, "barrier is NULL", leash_barrier_wait_start(NULL, NULL, tell, &first, NULL, &err));
}
