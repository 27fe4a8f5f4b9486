/* Owners: who holds is who the handle says, whichever thread calls. And what handles of one name must agree on. */
#include "tests/contract/actor.h"
#include "tests/support/child.h"
#include "tests/support/counted.h"
#include "tests/support/leashed.h"
#include "tests/support/monitor.h"
#include "tests/support/place.h"
#include "tests/support/sanitizer.h"
#include "tests/support/test.h"

#include <errno.h>
#include <pthread.h>

enum { ACTORS = 3 };

static leash_error err;

static long at_first; /* blocks that leash had */

/* Of each test. */
static bool fair;
static struct leashed_events events;
static leash_client *client;
static leash_owner *owner;
static leash_lock *owned, *plain; /* of "law": for `owner`, and for the calling thread */
static struct actor actors[ACTORS]; /* they use `owned` and try once */

static leash_owner *
new_owner(void)
{
	leash_owner *fresh = NULL;

	assert_status(LEASH_OK, leash_owner_new(&fresh, &err));
	return fresh;
}

static leash_lock *
open_for(leash_client *of, const char *name, leash_owner *for_whom)
{
	return leashed_lock(of, name, LEASH_LOCK_OPTIONS(.fair = fair, .owner = for_whom));
}

static leash_client *
open_client(int64_t lease_ms)
{
	return place_client(LEASH_OPTIONS(.lease_ms = lease_ms, .on_event = leashed_note_event, .event_arg = &events));
}

static void
set_up(void)
{
	fair = *(const bool *)given;
	place_flush();
	at_first = counted.blocks;
	memset(&events, 0, sizeof events);
	client = open_client(0);
	owner = new_owner();
	owned = open_for(client, "law", owner);
	plain = open_for(client, "law", NULL);
	for (int i = 0; i < ACTORS; i++)
		actor_begin(&actors[i], owned, 0);
}

/* Neither in memory nor in Redis. A test that frees one of these itself sets it to NULL. */
static void
nothing_is_left(void)
{
	deployment_resume(place);
	leash_close(client); /* lets go whoever waits still where a test has failed */
	for (int i = 0; i < ACTORS; i++) {
		actor_hear(&actors[i]);
		actor_end(&actors[i]);
	}
	leash_owner_free(owner);
	leash_lock_free(owned);
	leash_lock_free(plain);
	place_assert_empty();
	assert_true(counted_left(at_first) == 0);
}

FIXTURE(set_up, nothing_is_left);
PLACE(place_open_counted);

/* ---- any thread ---- */

BOTH(what_one_thread_acquires_another_releases)
{
	for (int i = 0; i < 10; i++) {
		struct actor *one = &actors[i % ACTORS], *another = &actors[(i + 1) % ACTORS];

		assert_done(LEASH_OK, one, actor_acquire);
		assert_true(one->held);
		assert_done(LEASH_OK, another, actor_look);
		assert_true(another->held && another->depth == 1 && another->fence == one->fence);
		assert_done(LEASH_OK, another, actor_release);
		place_assert_free("law");
		assert_done(LEASH_NOT_HELD, one, actor_release);
	}
	assert_int_equal(events.total, 0);
}

static void
acquire_three_times(struct actor *a)
{
	for (int i = 0; i < 3; i++)
		actor_acquire(a);
}

#if !UNDER_ASAN && !UNDER_TSAN /* which have allocators of their own */
extern void *__libc_calloc(size_t count, size_t size);
static _Atomic bool starved; /* also for what the library takes from the system directly */

__attribute__((visibility("default"))) void *
calloc(size_t count, size_t size)
{
	if (starved) {
		errno = ENOMEM;
		return NULL;
	}
	return __libc_calloc(count, size);
}

static void
actor_acquire_soon(struct actor *a)
{
	a->status = leash_lock_acquire(a->lock, 5000, &a->err);
}

struct starving {
	leash_status status;
	_Atomic bool released, may_end;
	pthread_t thread;
};

static void *
release_without_memory(void *arg)
{
	struct starving *s = arg;

	counted.calls = 0;
	counted.fail_at = 1;
	counted.fail_on = true;
	starved = true;
	s->status = leash_lock_release(owned, &err);
	starved = false;
	counted.fail_at = 0;
	counted.fail_on = false;
	s->released = true;
	await_true_for(s->may_end, 60);
	return NULL;
}

/* What leash knows of a thread it uses again for another one, once that has ended: so there are many here at once. */
BOTH(a_thread_that_was_never_seen_before_releases_without_memory)
{
	struct starving starving[20] = {{0}};
	int in_the_background = 0;

	for (int i = 0; i < 20; i++) {
		struct starving *s = &starving[i];

		assert_done(LEASH_OK, &actors[0], actor_acquire_soon); /* and not when the lease ends */
		assert_int_equal(pthread_create(&s->thread, NULL, release_without_memory, s), 0);
		await_true(s->released);
		assert_true(s->status == LEASH_OK || s->status == LEASH_UNKNOWN);
		in_the_background += s->status == LEASH_UNKNOWN;
		assert_int_equal(leash_lock_depth(owned), 0);
	}
	assert_true(in_the_background > 0);
	for (int i = 0; i < 20; i++) {
		starving[i].may_end = true;
		pthread_join(starving[i].thread, NULL);
	}
	assert_done(LEASH_OK, &actors[0], actor_acquire_soon);
	assert_done(LEASH_OK, &actors[0], actor_release);
}
#endif

BOTH(the_end_of_the_thread_that_acquired_ends_nothing)
{
	leash_client *brisk = open_client(3000);
	leash_stats stats = {.size = sizeof stats};
	leash_owner *second = new_owner();
	leash_lock *lock = open_for(brisk, "brisk", second);
	struct actor *a = calloc(1, sizeof *a);
	uint64_t fence;

	actor_begin(a, lock, 0);
	assert_done(LEASH_OK, a, acquire_three_times);
	fence = a->fence;
	actor_end(a);
	free(a);
	await_true(leash_client_stats(brisk, &stats, &err) == LEASH_OK && stats.renewed >= 2);
	assert_true(leash_lock_held(lock));
	assert_int_equal(leash_lock_depth(lock), 3);
	assert_true(leash_lock_fence(lock) == fence);
	assert_status(LEASH_OK, leash_lock_extend(lock, 4000, &err));
	for (int i = 0; i < 3; i++)
		assert_status(LEASH_OK, leash_lock_release(lock, &err));
	assert_status(LEASH_NOT_HELD, leash_lock_release(lock, &err));
	place_assert_free("brisk");
	assert_int_equal(events.count[LEASH_EVENT_ABANDONED], 0);
	assert_int_equal(events.count[LEASH_EVENT_LOST], 0);
	leash_lock_free(lock);
	leash_close(brisk);
	leash_owner_free(second);
}

BOTH(an_owner_nests_from_any_thread_and_through_any_of_its_handles)
{
	leash_lock *again = open_for(client, "law", owner);
	struct monitor *monitor = monitor_start(place_at("law"));

	assert_done(LEASH_OK, &actors[0], actor_acquire);
	monitor_mark(monitor);
	for (unsigned i = 2; i <= 6; i++) {
		struct actor *a = &actors[i % ACTORS];

		a->lock = i % 2 ? owned : again;
		assert_done(LEASH_OK, a, actor_acquire);
		assert_true(a->held && a->depth == i && a->fence == actors[0].fence);
	}
	for (unsigned i = 5; i >= 1; i--) {
		struct actor *a = &actors[i % ACTORS];

		assert_done(LEASH_OK, a, actor_release);
		assert_true(a->held && a->depth == i);
	}
	assert_int_equal(monitor_count(monitor, "evalsha"), 0);
	assert_status(LEASH_OK, leash_lock_release(again, &err));
	place_assert_free("law");
	monitor_stop(monitor);
	leash_lock_free(again);
	for (int i = 0; i < ACTORS; i++)
		actors[i].lock = owned;
}

/* ---- who excludes whom ---- */

BOTH(two_owners_and_the_thread_itself_exclude_each_other_on_one_thread)
{
	leash_owner *second = new_owner();
	leash_lock *lock[3] = {owned, plain, open_for(client, "law", second)};
	uint64_t last = 0;

	for (int holder = 0; holder < 3; holder++) {
		assert_status(LEASH_OK, leash_lock_acquire(lock[holder], 5000, &err)); /* waits that ended are canceled in the background */
		for (int i = 0; i < 3; i++) {
			if (i == holder)
				continue;
			assert_status(LEASH_TIMEOUT, leash_lock_acquire(lock[i], 0, &err));
			assert_status(LEASH_TIMEOUT, leash_lock_acquire(lock[i], 20, &err));
			assert_status(LEASH_NOT_HELD, leash_lock_release(lock[i], &err));
			assert_status(LEASH_NOT_HELD, leash_lock_extend(lock[i], 1000, &err));
		}
		assert_true(leash_lock_held(lock[holder]));
		assert_true(leash_lock_fence(lock[holder]) > last);
		last = leash_lock_fence(lock[holder]);
		assert_status(LEASH_OK, leash_lock_release(lock[holder], &err));
	}
	leash_lock_free(lock[2]);
	leash_owner_free(second);
}

BOTH(each_handle_answers_for_its_own_owner)
{
	leash_owner *second = new_owner();
	leash_lock *theirs = open_for(client, "law", second);
	char token[LEASH_TOKEN_MAX] = "", none[LEASH_TOKEN_MAX] = "x";
	leash_lock *const not_it[] = {plain, theirs};

	assert_done(LEASH_OK, &actors[0], acquire_three_times);
	assert_true(leash_lock_held(owned));
	assert_int_equal(leash_lock_depth(owned), 3);
	assert_true(leash_lock_fence(owned) == actors[0].fence);
	assert_true(leash_lock_remaining_ms(owned) > 0);
	assert_true(leash_lock_token(owned, token, sizeof token) > 0);
	assert_string_equal(token, place_text("law", "HKEYS leash:{law}"));
	for (int i = 0; i < 2; i++) {
		assert_false(leash_lock_held(not_it[i]));
		assert_int_equal(leash_lock_depth(not_it[i]), 0);
		assert_true(leash_lock_fence(not_it[i]) == 0);
		assert_int_equal(leash_lock_remaining_ms(not_it[i]), 0);
		assert_int_equal(leash_lock_token(not_it[i], none, sizeof none), 0);
		assert_string_equal(none, "");
	}
	/* also the thread that acquired holds nothing itself */
	actors[0].lock = plain;
	assert_done(LEASH_OK, &actors[0], actor_look);
	assert_true(!actors[0].held && actors[0].depth == 0 && actors[0].fence == 0);
	for (int i = 0; i < 3; i++)
		assert_status(LEASH_OK, leash_lock_release(owned, &err));
	leash_lock_free(theirs);
	leash_owner_free(second);
}

BOTH(a_lock_passes_from_owner_to_owner_as_they_wait)
{
	static const int pairs[][2] = {{0, 1}, {1, 0}, {0, 2}, {2, 0}};
	leash_client *other = open_client(0);
	leash_owner *second = new_owner();
	leash_lock *lock[] = {owned, open_for(client, "law", second), open_for(other, "law", second)};

	for (size_t i = 0; i < 3 * sizeof pairs / sizeof pairs[0]; i++) {
		leash_lock *from = lock[pairs[i % 4][0]], *to = lock[pairs[i % 4][1]];
		struct actor *a = &actors[i % ACTORS];

		assert_status(LEASH_OK, leash_lock_acquire(from, 20000, &err));
		a->lock = to;
		a->wait_ms = 20000;
		actor_tell(a, actor_acquire);
		actor_await_asleep(a);
		assert_status(LEASH_OK, leash_lock_release(from, &err));
		assert_heard(LEASH_OK, a);
		assert_true(a->held && leash_lock_held(to) && !leash_lock_held(from));
		assert_status(LEASH_OK, leash_lock_release(to, &err));
	}
	leash_lock_free(lock[1]);
	leash_lock_free(lock[2]);
	leash_close(other);
	leash_owner_free(second);
}

/* ---- one thread at a time ---- */

BOTH(a_second_thread_that_acquires_for_an_owner_meanwhile_is_refused)
{
	leash_lock *elsewhere = open_for(client, "elsewhere", owner);
	struct actor *first = &actors[0], *second = &actors[1];

	assert_status(LEASH_OK, leash_lock_acquire(elsewhere, 0, &err));
	assert_status(LEASH_OK, leash_lock_acquire(plain, 0, &err));
	first->wait_ms = LEASH_FOREVER;
	actor_tell(first, actor_acquire);
	actor_await_asleep(first);
	for (int i = 0; i < 4; i++) {
		second->lock = i % 2 ? elsewhere : owned; /* the same lock, and one that it holds already */
		second->wait_ms = i < 2 ? 0 : LEASH_FOREVER;
		assert_done(LEASH_INVALID, second, actor_acquire);
		assert_non_null(strstr(second->err.text, i % 2 ? "lock 'elsewhere'" : "lock 'law'"));
		assert_non_null(strstr(second->err.text, "owner"));
	}
	assert_false(actor_is_done(first));
	assert_true(leash_lock_held(elsewhere));
	assert_int_equal(leash_lock_depth(elsewhere), 1);
	assert_status(LEASH_OK, leash_lock_release(plain, &err));
	assert_heard(LEASH_OK, first);
	/* it is over, and the next may */
	second->lock = owned;
	second->wait_ms = 0;
	assert_done(LEASH_OK, second, actor_acquire);
	assert_int_equal(second->depth, 2);
	assert_done(LEASH_OK, first, actor_release);
	assert_done(LEASH_OK, second, actor_release);
	assert_status(LEASH_OK, leash_lock_release(elsewhere, &err));
	leash_lock_free(elsewhere);
}

/* ---- its end ---- */

BOTH(what_a_freed_owner_holds_is_abandoned_and_its_handles_are_of_no_use)
{
	leash_lock *also = open_for(client, "also", owner);
	char token[LEASH_TOKEN_MAX];

	assert_done(LEASH_OK, &actors[0], acquire_three_times);
	assert_status(LEASH_OK, leash_lock_acquire(also, 0, &err));
	assert_status(LEASH_OK, leash_lock_release(also, &err));
	assert_status(LEASH_OK, leash_lock_acquire(also, 0, &err));
	leash_owner_free(owner);
	owner = NULL;
	await_true(events.count[LEASH_EVENT_ABANDONED] == 2);
	await_true(place_is_free("law") && place_is_free("also")); /* long before the lease ends */
	for (int i = 0; i < 2; i++) {
		leash_lock *lock = i ? also : owned;

		assert_status(LEASH_INVALID, leash_lock_acquire(lock, 0, &err));
		assert_non_null(strstr(err.text, i ? "lock 'also'" : "lock 'law'"));
		assert_non_null(strstr(err.text, "owner"));
		assert_status(LEASH_INVALID, leash_lock_acquire_with(lock, LEASH_ACQUIRE(.wait_ms = LEASH_FOREVER), &err));
		assert_status(LEASH_INVALID, leash_lock_release(lock, &err));
		assert_status(LEASH_INVALID, leash_lock_extend(lock, 1000, &err));
		assert_false(leash_lock_held(lock));
		assert_int_equal(leash_lock_depth(lock), 0);
		assert_true(leash_lock_fence(lock) == 0);
		assert_int_equal(leash_lock_remaining_ms(lock), 0);
		assert_int_equal(leash_lock_token(lock, token, sizeof token), 0);
		leash_lock_alive(lock);
	}
	/* others go on, and an owner that is made later has nothing to do with it */
	owner = new_owner();
	leash_lock_free(owned);
	owned = open_for(client, "law", owner);
	assert_int_equal(leash_lock_depth(owned), 0);
	assert_status(LEASH_OK, leash_lock_acquire(plain, 5000, &err));
	assert_status(LEASH_OK, leash_lock_release(plain, &err));
	assert_status(LEASH_OK, leash_lock_acquire(owned, 5000, &err));
	assert_status(LEASH_OK, leash_lock_release(owned, &err));
	leash_lock_free(also);
	assert_int_equal(events.total, 2);
}

BOTH(who_waits_has_what_a_freed_owner_held)
{
	leash_client *other = open_client(0);
	struct actor *local = &actors[0], *remote = &actors[1], *first, *second;

	local->lock = plain;
	remote->lock = open_for(other, "law", NULL);
	local->wait_ms = remote->wait_ms = LEASH_FOREVER;
	assert_status(LEASH_OK, leash_lock_acquire(owned, 0, &err));
	actor_tell(remote, actor_acquire);
	place_await_waiting("law", 1);
	if (place_is(PLACE_NO_QUEUE))
		actor_await_asleep(remote);
	actor_tell(local, actor_acquire);
	actor_await_asleep(local);
	leash_owner_free(owner);
	owner = NULL;
	await_true(actor_is_done(local) || actor_is_done(remote));
	first = actor_is_done(local) ? local : remote;
	second = first == local ? remote : local;
	assert_heard(LEASH_OK, first);
	assert_done(LEASH_OK, first, actor_release);
	assert_heard(LEASH_OK, second);
	assert_done(LEASH_OK, second, actor_release);
	await_true(events.count[LEASH_EVENT_ABANDONED] == 1);
	leash_lock_free(remote->lock);
	leash_close(other);
}

BOTH(a_loss_is_the_owners_and_is_unwound_by_any_thread)
{
	leash_client *brisk = open_client(1500);
	leash_lock *lock = open_for(brisk, "brisk", owner), *own = open_for(brisk, "brisk", NULL);

	for (int i = 0; i < ACTORS; i++)
		actors[i].lock = lock;
	assert_done(LEASH_OK, &actors[0], acquire_three_times);
	place_take_away("brisk");
	await_true(events.count[LEASH_EVENT_LOST] == 1);
	for (int i = 0; i < 3; i++) {
		assert_done(LEASH_LOST, &actors[(i + 1) % ACTORS], actor_acquire);
		assert_done(LEASH_LOST, &actors[i], actor_release);
		assert_true(!actors[i].held && actors[i].fence == 0);
		assert_int_equal(actors[i].depth, 2 - i);
		if (i == 0) { /* a loss of the owner's is nobody else's */
			assert_status(LEASH_OK, leash_lock_acquire(own, 5000, &err));
			assert_status(LEASH_OK, leash_lock_release(own, &err));
		}
	}
	assert_done(LEASH_NOT_HELD, &actors[0], actor_release);
	assert_done(LEASH_OK, &actors[1], actor_acquire);
	/* and one that is never unwound goes with its owner */
	place_take_away("brisk");
	await_true(events.count[LEASH_EVENT_LOST] == 2);
	leash_owner_free(owner);
	owner = NULL;
	assert_done(LEASH_INVALID, &actors[1], actor_release);
	assert_int_equal(leash_lock_depth(lock), 0);
	leash_lock_free(lock);
	leash_lock_free(own);
	leash_close(brisk);
	assert_int_equal(events.count[LEASH_EVENT_LOST], 2);
	assert_int_equal(events.count[LEASH_EVENT_ABANDONED], 0);
}

static int
free_in_child(void *arg)
{
	(void)arg;
	assert_status(LEASH_FORKED, leash_lock_acquire(owned, 0, &err));
	assert_false(leash_lock_held(owned));
	if (!UNDER_TSAN) {
		leash_client *own = place_client(NULL);
		leash_lock *none;

		/* nor is it of any use here */
		assert_status(LEASH_FORKED, leash_lock_new(&none, own, "child's", LEASH_LOCK_OPTIONS(.owner = owner), &err));
		leash_close(own);
	}
	leash_owner_free(owner);
	return 0;
}

BOTH(a_forked_child_that_frees_it_takes_nothing_from_its_parent)
{
	assert_status(LEASH_OK, leash_lock_acquire(owned, 0, &err));
	child_wait(child_run(free_in_child, NULL));
	assert_status(LEASH_OK, leash_lock_extend(owned, place_lease_ms(40000), &err));
	assert_status(LEASH_OK, leash_lock_release(owned, &err));
	assert_int_equal(events.total, 0);
}

/* ---- several clients ---- */

BOTH(one_owner_can_hold_locks_of_several_clients)
{
	leash_client *other = open_client(0);
	leash_lock *same = open_for(other, "law", owner), *only = open_for(other, "only", owner);

	assert_status(LEASH_OK, leash_lock_acquire(owned, 0, &err));
	assert_status(LEASH_OK, leash_lock_acquire(only, 0, &err));
	/* clients are strangers to each other */
	assert_status(LEASH_TIMEOUT, leash_lock_acquire(same, 0, &err));
	assert_false(leash_lock_held(same));
	assert_status(LEASH_OK, leash_lock_release(owned, &err));
	assert_status(LEASH_OK, leash_lock_acquire(same, 5000, &err));
	assert_true(leash_lock_held(same) && !leash_lock_held(owned));
	assert_status(LEASH_OK, leash_lock_release(same, &err));
	assert_status(LEASH_OK, leash_lock_acquire(owned, 5000, &err));
	/* the end of one leaves the other's alone */
	leash_owner_free(owner);
	owner = NULL;
	await_true(events.count[LEASH_EVENT_ABANDONED] == 2);
	await_true(place_is_free("law") && place_is_free("only"));
	leash_lock_free(same);
	leash_lock_free(only);
	leash_close(other);
}

BOTH(an_owner_outlives_its_clients)
{
	leash_client *other = open_client(0);
	leash_lock *lock = open_for(other, "short", owner);

	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	assert_status(LEASH_OK, leash_lock_acquire(owned, 0, &err));
	leash_close(other);
	place_assert_free("short");
	assert_status(LEASH_CLOSED, leash_lock_acquire(lock, 0, &err));
	assert_status(LEASH_CLOSED, leash_lock_release(lock, &err));
	assert_int_equal(leash_lock_depth(lock), 0);
	leash_lock_free(lock);
	assert_true(leash_lock_held(owned));
	assert_status(LEASH_OK, leash_lock_release(owned, &err));
}

BOTH(arguments_that_are_missing_are_refused)
{
	assert_status(LEASH_INVALID, leash_owner_new(NULL, &err));
	assert_non_null(strstr(err.text, "leash_owner_new"));
	leash_owner_free(NULL);
}

/* ---- what handles agree on ---- */

BOTH(handles_of_one_name_agree_on_fairness_until_the_last_is_freed, .but = PLACE_NO_QUEUE)
{
	leash_client *other = open_client(0);

	for (int i = 0; i < 4; i++) {
		bool is_fair = i % 2;
		const leash_lock_options *yes = LEASH_LOCK_OPTIONS(.fair = is_fair), *no = LEASH_LOCK_OPTIONS(.fair = !is_fair);
		leash_lock *lock = leashed_lock(client, "agreed", yes), *second = leashed_lock(client, "agreed", yes), *none = NULL;

		assert_status(LEASH_INVALID, leash_lock_new(&none, client, "agreed", no, &err));
		assert_null(none);
		assert_non_null(strstr(err.text, "lock 'agreed'"));
		assert_non_null(strstr(err.text, "fair"));
		/* also once it is held; not in another client; and for as long as there is one handle */
		assert_status(LEASH_OK, leash_lock_acquire(lock, 5000, &err));
		assert_status(LEASH_INVALID, leash_lock_new(&none, client, "agreed", no, &err));
		leash_lock_free(leashed_lock(other, "agreed", no));
		leash_lock_free(i < 2 ? lock : second);
		assert_status(LEASH_INVALID, leash_lock_new(&none, client, "agreed", no, &err));
		assert_null(none);
		if (i < 2)
			assert_status(LEASH_OK, leash_lock_release(second, &err));
		leash_lock_free(i < 2 ? second : lock); /* in the latter case it is released in the background */
		lock = leashed_lock(client, "agreed", no);
		assert_status(LEASH_OK, leash_lock_acquire(lock, 5000, &err));
		assert_status(LEASH_OK, leash_lock_release(lock, &err));
		leash_lock_free(lock);
	}
	await_true(place_is_free("agreed"));
	leash_close(other);
	await_true(events.count[LEASH_EVENT_ABANDONED] == 2); /* by another thread, which may be late */
}
