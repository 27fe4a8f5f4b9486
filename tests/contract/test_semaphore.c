/* Permits: how many are out at most, who gets them, and whose they are. That they are renewed, lost and waited for as
 * locks are is said by core/test_shared.c; what the server does: redis/test_share.c. */
#include "tests/contract/interface.h"

#include <unistd.h>

enum { LIMIT = 4 };

static leash_client *ours, *others;
static leash_semaphore *mine, *theirs;
static struct actor waiter; /* of `theirs`; waits for `wanted` */
static int64_t wanted;
static leash_permit *got; /* by it */

static void
open_two(void)
{
	begin_actor(&waiter, NULL, LEASH_FOREVER);
	if (place_is(PLACE_NO_QUEUE))
		return;
	ours = kept(place_client(LEASH_OPTIONS(.lease_ms = 3000)));
	others = kept(place_client(LEASH_OPTIONS(.lease_ms = 3000)));
	mine = semaphore_of(ours, "gpu", LIMIT);
	theirs = semaphore_of(others, "gpu", LIMIT);
}

PLACE(place_open_counted);
FIXTURE(open_two, NULL);

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
	assert_in_range(leash_permit_remaining_ms(permits[0]), 1, 3000);
	assert_refused(LEASH_TIMEOUT, "semaphore 'gpu': ", try_for(mine, 1));
	assert_refused(LEASH_TIMEOUT, "semaphore 'gpu': ", leash_semaphore_acquire(theirs, 1, 100, &got, &err));
	give(permits[2]);
	permits[2] = take(theirs, 1);
	assert_refused(LEASH_TIMEOUT, "semaphore 'gpu': ", try_for(mine, 1));
	for (int i = 0; i < LIMIT; i++)
		give(permits[i]);
	place_assert_free("gpu");
}

SENTENCE(who_wants_many_is_not_passed_by_those_who_want_few, .but = PLACE_NO_QUEUE)
{
	leash_permit *some = take(mine, 3);

	let_it_wait_for(LIMIT);
	assert_refused(LEASH_TIMEOUT, "semaphore 'gpu': ", try_for(mine, 1));
	assert_status(LEASH_OK, leash_permit_release_some(some, 2, &err)); /* and the other one stays */
	assert_true(leash_permit_held(some) && leash_permit_count(some) == 1 && !actor_is_done(&waiter));
	for (int64_t count = -1; count <= 2; count++)
		assert_refused(LEASH_INVALID, "semaphore 'gpu': ", leash_permit_release_some(some, count, &err));
	give(some);
	assert_heard(LEASH_OK, &waiter);
	assert_refused(LEASH_TIMEOUT, "semaphore 'gpu': ", try_for(mine, 1));
	give(got);
}

/* ---- whose they are ---- */

static void *
release_it(void *permit)
{
	give(permit);
	return NULL;
}

SENTENCE(any_thread_may_give_them_back, .but = PLACE_NO_QUEUE)
{
	in_a_thread(release_it, take(mine, 2));
	place_assert_free("gpu");
}

SENTENCE(they_outlast_the_handle_that_they_were_acquired_with, .but = PLACE_NO_QUEUE)
{
	leash_client *client = kept(place_client(NULL));
	leash_semaphore *semaphore = NULL;

	assert_status(LEASH_OK, leash_semaphore_new(&semaphore, client, "gpu", LIMIT, NULL, &err));
	leash_permit *permit = take(semaphore, 1);
	leash_semaphore_free(semaphore);
	assert_true(leash_permit_held(permit));
	give(permit);
	place_assert_free("gpu");
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
	assert_refused(LEASH_NOT_HELD, "semaphore 'gpu': ", leash_semaphore_adopt(theirs, 1, token, &adopted, &err));
	assert_status(LEASH_OK, leash_semaphore_adopt(theirs, 2, token, &adopted, &err));
	assert_int_equal(leash_permit_count(adopted), 2);
	give(adopted);
	place_assert_free("gpu");
	assert_refused(LEASH_LOST, "semaphore 'gpu': ", leash_permit_release(permit, &err));
}

static leash_permit *made;

static leash_status
make_one_and_take_two(void)
{
	leash_semaphore *semaphore = NULL;
	leash_status status = leash_semaphore_new(&semaphore, ours, "gpu", LIMIT, NULL, &err);

	made = NULL;
	if (status == LEASH_OK)
		status = leash_semaphore_acquire(semaphore, 2, 5000, &made, &err);
	leash_semaphore_free(semaphore);
	return status;
}

static void
give_them_back(leash_status status)
{
	if (status == LEASH_OK)
		give(made);
	await_true(place_is_free("gpu"));
}

SENTENCE(permits_are_broken_for_all_and_whoever_comes_next_has_room, .but = PLACE_NO_QUEUE)
{
	leash_permit *permit[] = {take(mine, 3), take(theirs, 1)};

	assert_status(LEASH_OK, leash_semaphore_break(mine, &err));
	assert_refused(LEASH_NOT_HELD, "semaphore 'gpu'", leash_semaphore_break(mine, &err));
	give(take(theirs, LIMIT));
	for (int i = 0; i < 2; i++)
		assert_refused(LEASH_LOST, "semaphore 'gpu': ", leash_permit_release(permit[i], &err));
}

SENTENCE(wherever_memory_runs_out_none_is_held, .but = PLACE_NO_QUEUE)
{
	assert_true(wherever_memory_runs_out(make_one_and_take_two, give_them_back) > 4);
}

/* ---- what is told of it ---- */

static leash_lock_info info;
static struct {
	size_t count, most;
	leash_hold_info permit[LEASH_HOLDS_MAX];
} seen;

static bool
see(void *arg, const leash_hold_info *permit)
{
	(void)arg;
	assert_int_equal(permit->size, sizeof *permit);
	assert_true(seen.count == 0 || permit->remaining_ms <= seen.permit[seen.count - 1].remaining_ms);
	assert_in_range(seen.count, 0, LEASH_HOLDS_MAX - 1);
	seen.permit[seen.count] = *permit;
	return ++seen.count != seen.most;
}

static leash_status
inspect(void)
{
	memset(&info, 0x5a, sizeof info);
	info.size = sizeof info;
	seen.count = 0;
	return leash_semaphore_inspect(mine, &info, see, NULL, &err);
}

static const char *
told(void)
{
	static char text[200];
	int n;

	assert_status(LEASH_OK, inspect());
	assert_int_equal(info.size, sizeof info);
	assert_string_equal(info.name, "gpu");
	assert_int_equal(info.kind, info.out == 0 ? LEASH_KIND_NONE : LEASH_KIND_SEMAPHORE);
	assert_true(info.out == 0 || seen.count == 0 || strcmp(info.holder.token, seen.permit[0].who.token) == 0);
	n = snprintf(text, sizeof text, "%lld out, %u wait, limit %lld:", (long long)info.out, info.waiting,
	             (long long)info.limit);
	for (size_t i = 0; i < seen.count && n < (int)sizeof text; i++)
		n += snprintf(text + n, sizeof text - (size_t)n, " %lld/%lld", (long long)seen.permit[i].count,
		              (long long)seen.permit[i].limit);
	return text;
}

static bool
note_wanted(void *count, const leash_waiter_info *first)
{
	*(int64_t *)count = first->count;
	return false;
}

SENTENCE(all_that_is_out_is_told_with_who_has_it_and_how_many_wait, .but = PLACE_NO_QUEUE)
{
	leash_client *known = kept(place_client(LEASH_OPTIONS(.client_name = "renderer", .lease_ms = place_lease_ms(60000))));
	leash_semaphore *wide = semaphore_of(known, "gpu", 5);
	leash_permit *two, *one;
	int64_t wanted_by_first = 0;
	char token[LEASH_TOKEN_MAX];

	assert_string_equal(told(), "0 out, 0 wait, limit -1:");
	one = take(mine, 1);
	two = take(wide, 2);
	let_it_wait_for(3);
	assert_string_equal(told(), "3 out, 1 wait, limit -1: 2/5 1/4");
	leash_permit_token(two, token, sizeof token);
	assert_string_equal(seen.permit[0].who.token, token);
	/* it tells who it is on the side, and in a cluster to another server */
	await_true((told(), strcmp(seen.permit[0].who.program, "renderer") == 0));
	assert_int_equal(seen.permit[0].who.pid, getpid());
	assert_in_range(seen.permit[0].remaining_ms, 3001, 60000);
	assert_in_range(seen.permit[1].remaining_ms, 1, 3000);
	seen.most = 1;
	assert_string_equal(told(), "3 out, 1 wait, limit -1: 2/5");
	seen.most = 0;
	assert_status(LEASH_OK, leash_semaphore_inspect(mine, &info, NULL, NULL, &err));
	assert_int_equal(info.out, 3);
	assert_status(LEASH_OK, leash_semaphore_waiters(mine, note_wanted, &wanted_by_first, &err));
	assert_int_equal(wanted_by_first, 3);
	give(two);
	assert_heard(LEASH_OK, &waiter);
	give(got);
	give(one);
}

SENTENCE(an_operators_limit_is_for_all_and_for_a_while, .but = PLACE_NO_QUEUE)
{
	leash_permit *two = take(mine, 2);

	assert_status(LEASH_OK, leash_semaphore_limit(theirs, 2, 86400000, &err));
	assert_string_equal(told(), "2 out, 0 wait, limit 2: 2/4");
	assert_refused(LEASH_TIMEOUT, "semaphore 'gpu': ", try_for(mine, 1));
	assert_status(LEASH_OK, leash_semaphore_limit(theirs, 0, 60000, &err));
	assert_true(leash_permit_held(two));
	give(two);
	assert_string_equal(told(), "0 out, 0 wait, limit 0:");
	assert_refused(LEASH_TIMEOUT, "semaphore 'gpu': ", try_for(mine, 1));
	assert_status(LEASH_OK, leash_semaphore_limit(mine, 0, 0, &err));
	assert_string_equal(told(), "0 out, 0 wait, limit -1:");
	assert_status(LEASH_OK, leash_semaphore_limit(mine, 0, 300, &err));
	give(take(mine, 4)); /* who waits comes in when it has ended by itself */
}

/* ---- what is none ---- */

SENTENCE(a_lock_and_a_semaphore_of_one_name_are_a_mismatch, .but = PLACE_NO_QUEUE)
{
	leash_lock *lock = kept(leashed_lock(kept(place_client(NULL)), "gpu", NULL)), *same = NULL;
	leash_permit *permit;

	assert_refused(LEASH_INVALID, "lock 'gpu'", leash_lock_new(&same, ours, "gpu", NULL, &err));
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	assert_refused(LEASH_MISMATCH, "semaphore 'gpu': ", try_for(mine, 1));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	permit = take(mine, 1);
	assert_refused(LEASH_MISMATCH, "lock 'gpu'", leash_lock_acquire(lock, 0, &err));
	give(permit);
	place_say("leash:{gpu}", "SET leash:{gpu} 1");
	assert_refused(LEASH_MISMATCH, "semaphore 'gpu': ", inspect());
	assert_true(info.out == INT64_C(0x5a5a5a5a5a5a5a5a) && seen.count == 0);
	assert_refused(LEASH_MISMATCH, "semaphore 'gpu': ", leash_semaphore_limit(mine, 1, 1000, &err));
	place_flush();
}

SENTENCE(what_cannot_be_is_refused_by_name, .but = PLACE_NO_QUEUE)
{
	leash_semaphore *none = NULL;
	leash_permit *permit = NULL;
	const leash_lock_options *owned = LEASH_LOCK_OPTIONS(.owner = owner_of_its_own());

	assert_refused(LEASH_INVALID, "leash_semaphore_new", leash_semaphore_new(NULL, ours, "gpu", 1, NULL, &err));
	assert_refused(LEASH_INVALID, "leash_semaphore_new", leash_semaphore_new(&none, ours, "", 1, NULL, &err));
	assert_refused(LEASH_INVALID, "the limit is 0", leash_semaphore_new(&none, ours, "gpu", 0, NULL, &err));
	assert_refused(LEASH_INVALID, "the limit is 1000001", leash_semaphore_new(&none, ours, "gpu", 1000001, NULL, &err));
	assert_refused(LEASH_INVALID, "semaphore 'gpu': permits have no owner",
	               leash_semaphore_new(&none, ours, "gpu", 1, owned, &err));
	assert_refused(LEASH_INVALID, "semaphore 'gpu': lease_ms is 1, ",
	               leash_semaphore_new(&none, ours, "gpu", 1, LEASH_LOCK_OPTIONS(.lease_ms = 1), &err));
	assert_refused(LEASH_INVALID, "semaphore 'gpu': lease_ms is 1, ",
	               leash_semaphore_acquire_with(mine, 1, LEASH_ACQUIRE(.lease_ms = 1), &permit, &err));
	assert_refused(LEASH_INVALID, "count is 0", leash_semaphore_acquire(mine, 0, 0, &permit, &err));
	assert_refused(LEASH_INVALID, "count is 5", leash_semaphore_acquire(mine, LIMIT + 1, 0, &permit, &err));
	assert_refused(LEASH_INVALID, "leash_semaphore_acquire", leash_semaphore_acquire(mine, 1, 0, NULL, &err));
	assert_refused(LEASH_INVALID, "semaphore 'gpu': ", leash_semaphore_acquire(mine, 1, -2, &permit, &err));
	assert_refused(LEASH_INVALID, "semaphore 'gpu': ", leash_semaphore_adopt(mine, 1, "x", &permit, &err));
	assert_refused(LEASH_INVALID, "leash_permit_release", leash_permit_release(NULL, &err));
	assert_null(none);
	assert_null(permit);
	assert_false(leash_permit_held(NULL));
	assert_int_equal(leash_permit_count(NULL), 0);
	leash_permit_alive(NULL);
	leash_semaphore_free(NULL);
	assert_refused(LEASH_INVALID, "leash_semaphore_inspect", leash_semaphore_inspect(mine, NULL, see, NULL, &err));
	assert_refused(LEASH_INVALID, "semaphore 'gpu': ", leash_semaphore_waiters(mine, NULL, NULL, &err));
	assert_refused(LEASH_INVALID, "'gpu': the limit is -1", leash_semaphore_limit(mine, -1, 1, &err));
	assert_refused(LEASH_INVALID, "'gpu': the limit is 1000001", leash_semaphore_limit(mine, 1000001, 1, &err));
	assert_refused(LEASH_INVALID, "'gpu': for_ms is -1", leash_semaphore_limit(mine, 1, -1, &err));
	assert_refused(LEASH_INVALID, "'gpu': for_ms is 86400001", leash_semaphore_limit(mine, 1, 86400001, &err));
	for (size_t size = 0; size < 3; size++) {
		info.size = (size_t[]){0, offsetof(leash_lock_info, holder) - 1, 65537}[size];
		assert_refused(LEASH_INVALID, "lock_info", leash_semaphore_inspect(mine, &info, see, NULL, &err));
	}
}
