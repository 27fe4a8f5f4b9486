/* Adopting a hold of another process: it goes on here, with the same fence, as if it had been acquired here. Who adopts at once, and
 * answers that are late: test_adopt_meanwhile.c. */
#include "tests/contract/adoption.h"

#include "tests/contract/callback.h"
#include "tests/support/child.h"
#include "tests/support/monitor.h"
#include "tests/support/test.h"

#include <unistd.h>

FIXTURE(set_up, tear_down);
PLACE(refusal_open);

/* ---- it goes on ---- */

SENTENCE(an_adopted_hold_is_one_as_any_other_with_the_same_token_and_fence)
{
	int64_t longer = place_lease_ms(60000);
	char mine[LEASH_TOKEN_MAX];

	hold();
	assert_status(LEASH_OK, leash_lock_adopt(lock, token, &err));
	assert_true(leash_lock_held(lock));
	assert_int_equal(leash_lock_depth(lock), 1);
	assert_true(leash_lock_fence(lock) == fence);
	assert_int_equal(leash_lock_token(lock, mine, sizeof mine), strlen(token));
	assert_string_equal(mine, token);
	assert_in_range(leash_lock_remaining_ms(lock), 1, place_lease_ms(30000));
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err)); /* nests */
	assert_int_equal(leash_lock_depth(lock), 2);
	assert_status(LEASH_OK, leash_lock_extend(lock, longer, &err));
	assert_in_range(leash_lock_remaining_ms(lock), longer / 2, longer);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	place_assert_free("law");
	assert_status(LEASH_NOT_HELD, leash_lock_adopt(lock, token, &err));
	let_the_former_one_lose();
	assert_int_equal(events.total, 0);
}

/* What a process hands to another one. */
struct legacy {
	char token[LEASH_TOKEN_MAX];
	uint64_t fence;
	struct stage stage;
};

static int
hold_until_killed(void *arg)
{
	struct legacy *legacy = arg;
	leash_client *own = place_client(LEASH_OPTIONS(.lease_ms = 5000));
	leash_lock *mine = leashed_lock(own, "law", NULL);

	for (int i = 0; i < 3; i++)
		assert_status(LEASH_OK, leash_lock_acquire(mine, 0, &err));
	leash_lock_token(mine, legacy->token, sizeof legacy->token);
	legacy->fence = leash_lock_fence(mine);
	stage_set(&legacy->stage, 1);
	pause();
	return 1;
}

SENTENCE(the_hold_of_a_process_that_was_killed_goes_on_for_as_long_as_one_likes)
{
	struct legacy *legacy = child_share(sizeof *legacy);
	leash_client *brisk =
		place_client(LEASH_OPTIONS(.lease_ms = 3000, .on_event = leashed_note_event, .event_arg = &events));
	leash_lock *mine = leashed_lock(brisk, "law", NULL);
	pid_t pid = child_run(hold_until_killed, legacy);

	stage_await(&legacy->stage, 1);
	child_kill(pid);
	actor_tell(&other, actor_acquire); /* of a third client */
	place_await_waiting("law", 1);
	assert_status(LEASH_OK, leash_lock_adopt(mine, legacy->token, &err));
	assert_true(leash_lock_fence(mine) == legacy->fence);
	await_ms(6500); /* past the lease of the one that was killed, and two of ours */
	assert_true(leash_lock_held(mine));
	assert_string_equal(place_text("law", "HGETALL leash:{law}"), (snprintf(token, sizeof token, "%.58s 1", legacy->token), token));
	assert_in_range(place_left_ms("law"), 1, 3000);
	assert_false(actor_is_done(&other));
	assert_status(LEASH_OK, leash_lock_release(mine, &err));
	assert_heard(LEASH_OK, &other);
	assert_true(other.held && other.fence > legacy->fence);
	assert_done(LEASH_OK, &other, actor_release);
	assert_int_equal(events.count[LEASH_EVENT_LOST], 0);
	leash_lock_free(mine);
	leash_close(brisk);
	child_unshare(legacy, sizeof *legacy);
}

SENTENCE(a_lease_that_is_longer_than_ours_stays_as_long_and_a_shorter_one_grows)
{
	leash_lock *brief = leashed_lock(client, "law", LEASH_LOCK_OPTIONS(.lease_ms = 3000));

	hold();
	assert_status(LEASH_OK, leash_lock_adopt(brief, token, &err));
	assert_in_range(leash_lock_remaining_ms(brief), 1, 3000);
	assert_true(place_left_ms("law") > 3000);
	assert_status(LEASH_OK, leash_lock_release(brief, &err));
	let_the_former_one_lose();
	leash_lock_free(brief);

	place_say("leash:{law}", "DEL leash:{law}:fence");
	place_say("leash:{law}", "HSET leash:{law} " TOKEN " 1");
	place_say("leash:{law}", "PEXPIRE leash:{law} 5000");
	assert_status(LEASH_OK, leash_lock_adopt(lock, TOKEN, &err));
	assert_true(place_left_ms("law") > 5000);
	assert_true(leash_lock_fence(lock) > fence); /* there is one also where it was lost */
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
}

SENTENCE(who_it_was_is_known_for_a_day_and_so_for_longer_than_its_lease)
{
	enum { BRIEF_MS = 3000, DAY_MS = 86400000, HOUR_MS = 3600000 };
	leash_lock *lasting = leashed_lock(client, "law", LEASH_LOCK_OPTIONS(.lease_ms = place_lease_ms(600000)));
	leash_client *brisk = place_client(LEASH_OPTIONS(.lease_ms = BRIEF_MS));
	leash_lock *theirs = leashed_lock(brisk, "law", NULL);
	char key[64];

	assert_status(LEASH_OK, leash_lock_acquire(theirs, 0, &err));
	leash_lock_token(theirs, token, sizeof token);
	snprintf(key, sizeof key, "leash:client:%.36s", token);
	await_true(deployment_integer(place, key, "PTTL %s", key) > DAY_MS - HOUR_MS); /* in a cluster another server may be told it */
	assert_true(deployment_integer(place, key, "PTTL %s", key) <= DAY_MS);
	assert_status(LEASH_OK, leash_lock_adopt(lasting, token, &err));
	assert_true(deployment_integer(place, key, "PTTL %s", key) > DAY_MS - HOUR_MS);
	assert_status(LEASH_OK, leash_lock_release(lasting, &err));
	assert_status(LEASH_LOST, leash_lock_release(theirs, &err));
	leash_lock_free(lasting);
	leash_lock_free(theirs);
	leash_close(brisk);
}

SENTENCE(the_terms_of_the_handle_are_those_of_the_hold)
{
	leash_lock *const handles[] = {
		leashed_lock(client, "law", LEASH_LOCK_OPTIONS(.max_hold_ms = 1500)),
		leashed_lock(client, "law", LEASH_LOCK_OPTIONS(.lease_ms = 1500, .no_renew = true)),
		leashed_lock(client, "law", LEASH_LOCK_OPTIONS(.lease_ms = 1500, .alive_ms = 100)),
	};

	for (size_t i = 0; i < COUNT(handles); i++) {
		hold();
		assert_status(LEASH_OK, leash_lock_adopt(handles[i], token, &err));
		assert_in_range(leash_lock_remaining_ms(handles[i]), 0, 1500);
		await_true(!leash_lock_held(handles[i]));
		await_true(events.count[LEASH_EVENT_LOST] == (int)i + 1);
		await_true(place_is_free("law")); /* and the server is told so, whatever was left of the lease */
		assert_status(LEASH_LOST, leash_lock_release(handles[i], &err));
		let_the_former_one_lose();
		leash_lock_free(handles[i]);
	}
}

SENTENCE(the_handles_owner_adopts_and_any_thread_releases)
{
	leash_owner *owner = NULL;
	leash_lock *owned;

	assert_status(LEASH_OK, leash_owner_new(&owner, &err));
	owned = leashed_lock(client, "law", LEASH_LOCK_OPTIONS(.owner = owner));
	hold();
	other.lock = owned;
	assert_done(LEASH_OK, &other, adopt_by);
	assert_true(other.held && leash_lock_held(owned) && !leash_lock_held(lock));
	assert_refused(LEASH_INVALID, "lock 'law'", leash_lock_adopt(owned, token, &err));
	assert_status(LEASH_OK, leash_lock_release(owned, &err));
	place_assert_free("law");
	let_the_former_one_lose();
	other.lock = lock;
	leash_lock_free(owned);
	leash_owner_free(owner);
}

static void *
adopt_and_end(void *arg)
{
	leash_lock *mine = arg;
	leash_error e;

	return leash_lock_adopt(mine, token, &e) == LEASH_OK ? mine : NULL;
}

SENTENCE(the_end_of_the_thread_that_adopted_abandons_it_and_so_does_the_last_handle)
{
	pthread_t thread;
	void *adopted;
	leash_lock *last;

	hold();
	pthread_create(&thread, NULL, adopt_and_end, lock);
	pthread_join(thread, &adopted);
	assert_ptr_equal(adopted, lock);
	await_true(place_is_free("law"));
	await_true(events.count[LEASH_EVENT_ABANDONED] == 1);
	let_the_former_one_lose();

	assert_status(LEASH_OK, leash_lock_acquire(held, 0, &err));
	leash_lock_token(held, token, sizeof token);
	leash_lock_free(lock);
	last = leashed_lock(client, "law", NULL);
	assert_status(LEASH_OK, leash_lock_adopt(last, token, &err));
	leash_lock_free(last);
	await_true(place_is_free("law"));
	await_true(events.count[LEASH_EVENT_ABANDONED] == 2);
	let_the_former_one_lose();
	lock = leashed_lock(client, "law", NULL);
	other.lock = lock;
}

SENTENCE(closing_the_client_releases_what_was_adopted)
{
	leash_client *third = open_client();
	leash_lock *mine = leashed_lock(third, "law", NULL);

	hold();
	assert_status(LEASH_OK, leash_lock_adopt(mine, token, &err));
	leash_close(third);
	place_assert_free("law");
	leash_lock_free(mine);
	let_the_former_one_lose();
}

/* ---- what is not to be had ---- */

SENTENCE(what_nobody_holds_by_that_token_is_not_held_and_nothing_is_changed)
{
	assert_refused(LEASH_NOT_HELD, "lock 'law'", leash_lock_adopt(lock, TOKEN, &err)); /* free */
	place_assert_free("law");
	hold();
	assert_refused(LEASH_NOT_HELD, "lock 'law'", leash_lock_adopt(lock, TOKEN, &err)); /* held by another one */
	assert_true(leash_lock_held(held));
	/* in the queue, of a client that is dead: it stays dead */
	place_say("leash:{law}", "ZADD leash:{law}:queue -5 " UUID " 7 %s", TOKEN " 3000");
	place_say("leash:{law}", "PEXPIRE leash:{law}:queue 60000");
	assert_refused(LEASH_NOT_HELD, "lock 'law'", leash_lock_adopt(lock, TOKEN, &err));
	assert_string_equal(place_text("law", "ZSCORE leash:{law}:queue " UUID), "-5");
	assert_false(leash_lock_held(lock));
	assert_status(LEASH_NOT_HELD, leash_lock_release(lock, &err));
	assert_status(LEASH_OK, leash_lock_release(held, &err));
}

SENTENCE(what_is_no_token_is_refused_and_told_why)
{
	static const struct {
		const char *token, *why;
	} cases[] = {
		{NULL, "NULL"},
		{"", "empty"},
		{"x", "too short"},
		{UUID, "too short"},
		{UUID ":", "too short"},
		{UUID ":123456789012345678901", "too long"},
		{UUID ":12345678901234567890123456789012345678901234567890", "too long"},
		{"0c6f1d52x8a1e-4b7e-9d0a-3f1c5e7a9b10:42", "UUID"},
		{"0c6f1d5-28a1e-4b7e-9d0a-3f1c5e7a9b10:42", "UUID"},
		{"0c6f1d52-8a1e-4b7e-9d0a-3f1c5e7a9b1g:42", "UUID"},
		{" " UUID ":4", "UUID"},
		{UUID "-42", "colon"},
		{UUID ":x", "number"},
		{UUID ":4 2", "number"},
		{UUID ":-42", "number"},
		{UUID ":42\n", "number"},
	};
	struct monitor *monitor = monitor_start(place_at("law"));

	for (size_t i = 0; i < COUNT(cases); i++) {
		assert_refused(LEASH_INVALID, "lock 'law'", leash_lock_adopt(lock, cases[i].token, &err));
		check_text(cases[i].why);
	}
	assert_refused(LEASH_INVALID, "leash_lock_adopt", leash_lock_adopt(NULL, TOKEN, &err));
	assert_int_equal(monitor_count(monitor, "eval"), 0);
	monitor_stop(monitor);
}

SENTENCE(a_token_of_this_clients_own_is_refused)
{
	char mine[LEASH_TOKEN_MAX];

	assert_done(LEASH_OK, &other, actor_acquire);
	assert_status(LEASH_TIMEOUT, leash_lock_acquire(lock, 0, &err));
	await_true(place_integer("law", "HLEN leash:{law}") == 1); /* of a quorum the first server may be late */
	snprintf(mine, sizeof mine, "%.57s", place_text("law", "HKEYS leash:{law}"));
	assert_refused(LEASH_INVALID, "owner", leash_lock_adopt(lock, mine, &err));
	assert_done(LEASH_OK, &other, actor_release);
	assert_refused(LEASH_INVALID, "owner", leash_lock_adopt(lock, mine, &err));
}

SENTENCE(who_holds_the_lock_already_or_has_lost_it_adopts_nothing)
{
	leash_lock *lapsing = leashed_lock(client, "law", LEASH_LOCK_OPTIONS(.lease_ms = 100, .no_renew = true));

	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	assert_refused(LEASH_INVALID, "lock 'law'", leash_lock_adopt(lock, TOKEN, &err));
	assert_true(leash_lock_held(lock));
	assert_int_equal(leash_lock_depth(lock), 1);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));

	assert_status(LEASH_OK, leash_lock_acquire(lapsing, 0, &err));
	await_true(!leash_lock_held(lapsing) && place_is_free("law"));
	hold();
	assert_refused(LEASH_LOST, "lock 'law'", leash_lock_adopt(lock, token, &err));
	assert_status(LEASH_LOST, leash_lock_release(lock, &err));
	assert_status(LEASH_OK, leash_lock_adopt(lock, token, &err));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	let_the_former_one_lose();
	leash_lock_free(lapsing);
}

SENTENCE(a_key_of_another_kind_is_a_mismatch_and_a_permission_that_is_missing_is_named)
{
	place_say("leash:{law}", "SET leash:{law} x");
	assert_refused(LEASH_MISMATCH, "lock 'law'", leash_lock_adopt(lock, TOKEN, &err));
	assert_string_equal(place_text("law", "GET leash:{law}"), "x");
	place_say("leash:{law}", "DEL leash:{law}");
	place_say("leash:{law}", "SET leash:{law}:queue x");
	assert_refused(place_is(PLACE_NO_QUEUE) ? LEASH_NOT_HELD : LEASH_MISMATCH, "lock 'law'", leash_lock_adopt(lock, TOKEN, &err));
	place_say("leash:{law}", "DEL leash:{law}:queue");

	hold();
	place_say_all("ACL SETUSER %s -hexists", place_user());
	assert_refused(LEASH_DENIED, "HEXISTS", leash_lock_adopt(lock, token, &err));
	place_say_all("ACL SETUSER %s +hexists", place_user());
	assert_false(leash_lock_held(lock));
	assert_true(leash_lock_held(held));
	assert_status(LEASH_OK, leash_lock_release(held, &err));
}

SENTENCE(nothing_is_adopted_so_soon_after_a_restart_as_the_guard_says)
{
	leash_lock *guarded = leashed_lock(client, "law", LEASH_LOCK_OPTIONS(.restart_guard_ms = 86400000));

	hold();
	assert_refused(LEASH_UNAVAILABLE, "restart_guard_ms", leash_lock_adopt(guarded, token, &err));
	assert_true(leash_lock_held(held));
	assert_status(LEASH_OK, leash_lock_release(held, &err));
	leash_lock_free(guarded);
}

/* ---- the call ---- */

static leash_status
adopt_it_here(void *arg)
{
	(void)arg;
	return leash_lock_adopt(lock, TOKEN, NULL);
}

SENTENCE(a_callback_may_not_wait_for_it)
{
	assert_int_equal(status_in_callback(client, adopt_it_here, NULL), LEASH_IN_CALLBACK);
}

static int
adopt_in_child(void *arg)
{
	(void)arg;
	assert_refused(LEASH_FORKED, "lock 'law'", leash_lock_adopt(lock, token, &err));
	return 0;
}

SENTENCE(a_closed_client_a_forked_child_and_an_owner_that_was_freed_are_refused)
{
	leash_client *third = open_client();
	leash_lock *mine = leashed_lock(third, "law", NULL);
	leash_owner *owner = NULL;

	hold();
	child_wait(child_run(adopt_in_child, NULL));
	leash_close(third);
	assert_refused(LEASH_CLOSED, "lock 'law'", leash_lock_adopt(mine, token, &err));
	leash_lock_free(mine);
	assert_status(LEASH_OK, leash_owner_new(&owner, &err));
	mine = leashed_lock(client, "law", LEASH_LOCK_OPTIONS(.owner = owner));
	leash_owner_free(owner);
	assert_refused(LEASH_INVALID, "owner", leash_lock_adopt(mine, token, &err));
	leash_lock_free(mine);
	assert_true(leash_lock_held(held));
	assert_status(LEASH_OK, leash_lock_release(held, &err));
}
