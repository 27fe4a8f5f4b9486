/* Permits: how many are out at most, who gets them, and whose they are. That they are renewed, lost and waited for as
 * locks are is said by core/test_shared.c; what the server does: redis/test_share.c. */
#include "tests/contract/refusal.h"
#include "tests/support/child.h"
#include "tests/support/counted.h"
#include "tests/support/kept.h"

enum { LIMIT = 4 };

static leash_client *ours, *others;
static leash_semaphore *mine, *theirs;
static struct actor waiter; /* of `theirs`; waits for `wanted` */
static int64_t wanted;
static leash_permit *got; /* by it */

static leash_semaphore *
semaphore_of(leash_client *client, int64_t limit)
{
	leash_semaphore *made = NULL;

	assert_status(LEASH_OK, leash_semaphore_new(&made, client, "gpu", limit, NULL, &err));
	return made;
}

static void
open_two(void)
{
	actor_begin(&waiter, NULL, LEASH_FOREVER);
	if (place_is(PLACE_NO_QUEUE))
		return;
	ours = place_client(LEASH_OPTIONS(.lease_ms = 3000));
	others = place_client(LEASH_OPTIONS(.lease_ms = 3000));
	mine = semaphore_of(ours, LIMIT);
	theirs = semaphore_of(others, LIMIT);
}

static void
close_two(void)
{
	actor_end(&waiter);
	leash_semaphore_free(mine);
	leash_semaphore_free(theirs);
	leash_close(ours);
	leash_close(others);
	ours = others = NULL;
	mine = theirs = NULL;
}

PLACE(place_open_counted);
FIXTURE(open_two, close_two);

static leash_permit *
take(leash_semaphore *from, int64_t count)
{
	leash_permit *permit = NULL;

	assert_status(LEASH_OK, leash_semaphore_acquire(from, count, 5000, &permit, &err));
	assert_true(leash_permit_held(permit));
	assert_int_equal(leash_permit_count(permit), count);
	return permit;
}

static void
give(leash_permit *permit)
{
	assert_status(LEASH_OK, leash_permit_release(permit, &err));
}

static leash_status
try_for(leash_semaphore *from, int64_t count)
{
	leash_permit *none = NULL;
	leash_status status = leash_semaphore_acquire(from, count, 0, &none, &err);

	if (status == LEASH_OK)
		give(none);
	return status;
}

static void
wait_for_them(struct actor *a)
{
	a->status = leash_semaphore_acquire_with(
		theirs, wanted, LEASH_ACQUIRE(.wait_ms = a->wait_ms, .cancel = a->cancel), &got, &a->err);
}

static void
let_it_wait_for(int64_t count)
{
	wanted = count;
	actor_tell(&waiter, wait_for_them);
	place_await_waiting("gpu", 1);
}

/* ---- how many ---- */

SENTENCE(as_many_as_there_are_come_in_from_anywhere_and_no_more, .but = PLACE_NO_QUEUE)
{
	leash_permit *permits[LIMIT];

	for (int i = 0; i < LIMIT; i++)
		permits[i] = take(i % 2 == 0 ? mine : theirs, 1);
	assert_refused(LEASH_TIMEOUT, "semaphore 'gpu'", try_for(mine, 1));
	assert_refused(LEASH_TIMEOUT, "semaphore 'gpu'", leash_semaphore_acquire(theirs, 1, 100, &got, &err));
	give(permits[2]);
	permits[2] = take(theirs, 1);
	assert_refused(LEASH_TIMEOUT, "semaphore 'gpu'", try_for(mine, 1));
	for (int i = 0; i < LIMIT; i++)
		give(permits[i]);
	place_assert_free("gpu");
}

SENTENCE(several_are_acquired_together_or_none, .but = PLACE_NO_QUEUE)
{
	leash_permit *three = take(mine, 3);

	assert_refused(LEASH_TIMEOUT, "'gpu'", try_for(theirs, 2));
	give(take(theirs, 1));
	give(three);
	give(take(theirs, LIMIT));
}

SENTENCE(who_wants_many_is_not_passed_by_those_who_want_few, .but = PLACE_NO_QUEUE)
{
	leash_permit *one = take(mine, 1);

	let_it_wait_for(LIMIT);
	assert_refused(LEASH_TIMEOUT, "'gpu'", try_for(mine, 1));
	give(one);
	assert_heard(LEASH_OK, &waiter);
	assert_refused(LEASH_TIMEOUT, "'gpu'", try_for(mine, 1));
	give(got);
}

SENTENCE(a_wait_that_is_canceled_leaves_no_place, .but = PLACE_NO_QUEUE)
{
	leash_permit *all = take(mine, LIMIT);

	waiter.cancel = kept(leashed_cancel());
	let_it_wait_for(1);
	leash_cancel_fire(waiter.cancel);
	assert_heard(LEASH_CANCELED, &waiter);
	give(all);
	await_true(place_is_free("gpu"));
}

/* ---- whose they are ---- */

static void
release_it(struct actor *a)
{
	a->status = leash_permit_release(a->ctx, &a->err);
}

SENTENCE(any_thread_may_give_them_back, .but = PLACE_NO_QUEUE)
{
	waiter.ctx = take(mine, 2);
	assert_done(LEASH_OK, &waiter, release_it);
	place_assert_free("gpu");
}

SENTENCE(each_is_a_hold_of_its_own, .but = PLACE_NO_QUEUE)
{
	leash_permit *a = take(mine, 1), *b = take(mine, 1);
	char tokens[2][LEASH_TOKEN_MAX];

	size_t size = leash_permit_token(a, tokens[0], LEASH_TOKEN_MAX);

	assert_int_equal(size, strlen(tokens[0]));
	leash_permit_token(b, tokens[1], LEASH_TOKEN_MAX);
	assert_string_not_equal(tokens[0], tokens[1]);
	assert_status(LEASH_OK, leash_permit_extend(a, place_lease_ms(60000), &err));
	assert_in_range(leash_permit_remaining_ms(a), 3001, 60000);
	assert_in_range(leash_permit_remaining_ms(b), 1, 3000);
	assert_int_equal(stats_of(ours).holding, 2);
	give(a);
	assert_true(leash_permit_held(b));
	give(b);
}

SENTENCE(they_outlast_the_handle_that_they_were_acquired_with, .but = PLACE_NO_QUEUE)
{
	leash_permit *permit = take(mine, 1);

	leash_semaphore_free(mine);
	assert_true(leash_permit_held(permit));
	give(permit);
	mine = semaphore_of(ours, LIMIT);
	place_assert_free("gpu");
}

SENTENCE(they_are_renewed_and_free_when_the_lease_of_a_client_that_died_is_over, .but = PLACE_NO_QUEUE)
{
	leash_permit *permit = take(mine, LIMIT);

	await_true(stats_of(ours).renewed >= 3);
	assert_true(leash_permit_held(permit));
	let_it_wait_for(1);
	/* so it looks like to the server: nobody renews, nobody releases */
	place_say("leash:{gpu}", "DEL leash:{gpu}");
	assert_heard(LEASH_OK, &waiter);
	give(got);
	await_true(!leash_permit_held(permit));
	assert_int_equal(leash_permit_remaining_ms(permit), 0);
	assert_refused(LEASH_LOST, "semaphore 'gpu'", leash_permit_release(permit, &err));
}

static void
note_permit(void *arg, const leash_event *event)
{
	if (event->type == LEASH_EVENT_LOST)
		atomic_store((const leash_permit *_Atomic *)arg, event->permit);
}

SENTENCE(an_event_says_of_which_it_tells, .but = PLACE_NO_QUEUE)
{
	static const leash_permit *_Atomic told;
	leash_semaphore *heard;
	leash_permit *a, *b;

	atomic_store(&told, NULL);
	assert_status(LEASH_OK, leash_semaphore_new(&heard, ours, "gpu", LIMIT,
	              LEASH_LOCK_OPTIONS(.on_event = note_permit, .event_arg = (void *)&told), &err));
	a = take(heard, 1);
	b = take(heard, 2);
	place_say("leash:{gpu}", "DEL leash:{gpu}");
	assert_status(LEASH_LOST, leash_permit_extend(b, 3000, &err));
	await_true(atomic_load(&told) == b);
	assert_status(LEASH_LOST, leash_permit_release(b, &err));
	leash_permit_release(a, NULL);
	leash_semaphore_free(heard);
}

SENTENCE(another_client_goes_on_with_them_by_their_token, .but = PLACE_NO_QUEUE)
{
	leash_permit *permit = take(mine, 2), *adopted = NULL;
	char token[LEASH_TOKEN_MAX];

	leash_permit_token(permit, token, sizeof token);
	assert_refused(LEASH_NOT_HELD, "'gpu'", leash_semaphore_adopt(theirs, 1, token, &adopted, &err));
	assert_status(LEASH_OK, leash_semaphore_adopt(theirs, 2, token, &adopted, &err));
	assert_int_equal(leash_permit_count(adopted), 2);
	give(adopted);
	place_assert_free("gpu");
	assert_refused(LEASH_LOST, "'gpu'", leash_permit_release(permit, &err));
}

SENTENCE(a_closed_client_gives_all_back_and_its_permits_are_still_to_be_freed, .but = PLACE_NO_QUEUE)
{
	leash_client *client = place_client(NULL);
	leash_semaphore *semaphore = semaphore_of(client, LIMIT);
	leash_permit *permits[] = {take(semaphore, 1), take(semaphore, 2)};

	leash_close(client);
	place_assert_free("gpu");
	for (int i = 0; i < 2; i++) {
		assert_false(leash_permit_held(permits[i]));
		assert_refused(LEASH_CLOSED, "'gpu'", leash_permit_release(permits[i], &err));
	}
	assert_refused(LEASH_CLOSED, "'gpu'", try_for(semaphore, 1));
	leash_semaphore_free(semaphore);
}

static int
use_as_child(void *permit)
{
	assert_false(leash_permit_held(permit));
	assert_refused(LEASH_FORKED, "'gpu'", try_for(mine, 1));
	assert_refused(LEASH_FORKED, "'gpu'", leash_permit_extend(permit, 3000, &err));
	assert_refused(LEASH_FORKED, "'gpu'", leash_permit_release(permit, &err));
	leash_semaphore_free(mine);
	return 0;
}

SENTENCE(a_forked_child_has_none_of_its_parents, .but = PLACE_NO_QUEUE)
{
	leash_permit *permit = take(mine, 1);

	child_wait(child_run(use_as_child, permit));
	assert_true(leash_permit_held(permit));
	give(permit);
}

SENTENCE(wherever_memory_runs_out_none_is_held, .but = PLACE_NO_QUEUE)
{
	long used = 0, n;

	for (n = 1; n == 1 || used >= n - 1; n++) {
		leash_semaphore *made = NULL;
		leash_permit *permit = NULL;
		leash_status status;

		counted.calls = 0;
		counted.fail_at = n;
		status = leash_semaphore_new(&made, ours, "gpu", LIMIT, NULL, &err);
		if (status == LEASH_OK)
			status = leash_semaphore_acquire(made, 2, 5000, &permit, &err);
		used = counted.calls;
		counted.fail_at = 0;
		if (status == LEASH_OK)
			give(permit);
		else
			assert_status(LEASH_NO_MEMORY, status);
		leash_semaphore_free(made);
		await_true(place_is_free("gpu"));
	}
	assert_true(n > 4);
}

/* ---- what is none ---- */

SENTENCE(a_quorum_has_none_and_says_why)
{
	leash_semaphore *none = NULL;
	leash_client *quorum = NULL;

	if (!place_is(PLACE_NO_QUEUE))
		return;
	quorum = kept(place_client(NULL));
	assert_refused(LEASH_UNSUPPORTED, "quorum", leash_semaphore_new(&none, quorum, "gpu", 1, NULL, &err));
	assert_null(none);
}

SENTENCE(a_lock_and_a_semaphore_of_one_name_are_a_mismatch, .but = PLACE_NO_QUEUE)
{
	leash_lock *lock = kept(leashed_lock(kept(place_client(NULL)), "gpu", NULL)), *same = NULL;
	leash_permit *permit;

	assert_refused(LEASH_INVALID, "lock 'gpu'", leash_lock_new(&same, ours, "gpu", NULL, &err));
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	assert_refused(LEASH_MISMATCH, "semaphore 'gpu'", try_for(mine, 1));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	permit = take(mine, 1);
	assert_refused(LEASH_MISMATCH, "lock 'gpu'", leash_lock_acquire(lock, 0, &err));
	give(permit);
}

SENTENCE(what_cannot_be_is_refused_by_name, .but = PLACE_NO_QUEUE)
{
	leash_semaphore *none = NULL;
	leash_permit *permit = NULL;
	leash_owner *owner;

	assert_status(LEASH_OK, leash_owner_new(&owner, &err));
	assert_refused(LEASH_INVALID, "leash_semaphore_new", leash_semaphore_new(NULL, ours, "gpu", 1, NULL, &err));
	assert_refused(LEASH_INVALID, "leash_semaphore_new", leash_semaphore_new(&none, ours, "", 1, NULL, &err));
	assert_refused(LEASH_INVALID, "the limit is 0", leash_semaphore_new(&none, ours, "gpu", 0, NULL, &err));
	assert_refused(LEASH_INVALID, "the limit is 1000001", leash_semaphore_new(&none, ours, "gpu", 1000001, NULL, &err));
	assert_refused(LEASH_INVALID, "owner", leash_semaphore_new(&none, ours, "gpu", 1, LEASH_LOCK_OPTIONS(.owner = owner), &err));
	assert_refused(LEASH_INVALID, "count is 0", leash_semaphore_acquire(mine, 0, 0, &permit, &err));
	assert_refused(LEASH_INVALID, "count is 5", leash_semaphore_acquire(mine, LIMIT + 1, 0, &permit, &err));
	assert_refused(LEASH_INVALID, "leash_semaphore_acquire", leash_semaphore_acquire(NULL, 1, 0, &permit, &err));
	assert_refused(LEASH_INVALID, "leash_semaphore_acquire", leash_semaphore_acquire(mine, 1, 0, NULL, &err));
	assert_refused(LEASH_INVALID, "'gpu'", leash_semaphore_acquire(mine, 1, -2, &permit, &err));
	assert_refused(LEASH_INVALID, "'gpu'", leash_semaphore_adopt(mine, 1, "x", &permit, &err));
	assert_refused(LEASH_INVALID, "leash_permit_release", leash_permit_release(NULL, &err));
	assert_refused(LEASH_INVALID, "leash_permit_extend", leash_permit_extend(NULL, 1000, &err));
	assert_null(none);
	assert_null(permit);
	assert_false(leash_permit_held(NULL));
	assert_int_equal(leash_permit_count(NULL), 0);
	leash_permit_alive(NULL);
	leash_semaphore_free(NULL);
	leash_owner_free(owner);
}
