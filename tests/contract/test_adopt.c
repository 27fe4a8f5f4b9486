/* Adopting a hold of another process: it goes on here, with the same fence, as if it had been acquired here. Its terms
 * and its end, who else of this client wants it, and answers that are lost or late: core/test_owner.c and
 * core/test_single.c; what the server does to the lease: redis/test_steps.c. */
#include "tests/contract/refusal.h"

#include "tests/support/kept.h"

#include <unistd.h>

/* Of each test: a client that adopts, and one that had the lock before, in the same process for convenience. */
static leash_client *client;
static leash_lock *lock, *held;      /* of "law", of each */
static struct leashed_events events; /* of the one that adopts */
static char token[LEASH_TOKEN_MAX];  /* of `held`, after hold() */
static uint64_t fence;               /* likewise */

static void
set_up(void)
{
	place_resume();
	place_flush();
	memset(&events, 0, sizeof events);
	client = kept(place_client(LEASH_OPTIONS(.lease_ms = 3000, .on_event = leashed_note_event, .event_arg = &events)));
	lock = kept(leashed_lock(client, "law", NULL));
	held = kept(leashed_lock(kept(open_client()), "law", NULL));
}

FIXTURE(set_up, NULL);
PLACE(refusal_open);

/* Known to all servers: of a quorum some may be late, and while the former client lives it goes on asking those for
 * their votes. */
static void
hold(void)
{
	assert_status(LEASH_OK, leash_lock_acquire(held, 0, &err));
	assert_true(leash_lock_token(held, token, sizeof token) > 0);
	fence = leash_lock_fence(held);
	for (size_t i = 0; place_with("leash:{law}", i); i++)
		await_true(server_integer(place_with("leash:{law}", i), "HEXISTS leash:{law} %s", token) == 1);
}

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
	assert_in_range(leash_lock_remaining_ms(lock), 1, 3000);
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err)); /* nests */
	assert_int_equal(leash_lock_depth(lock), 2);
	assert_status(LEASH_OK, leash_lock_extend(lock, longer, &err));
	assert_in_range(leash_lock_remaining_ms(lock), longer / 2, longer);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	place_assert_free("law");
	assert_status(LEASH_NOT_HELD, leash_lock_adopt(lock, token, &err));
	assert_status(LEASH_LOST, leash_lock_release(held, &err)); /* the former one finds out */
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
	leash_client *own = place_client(LEASH_OPTIONS(.lease_ms = 3000));
	leash_lock *mine = leashed_lock(own, "law", NULL);

	for (int i = 0; i < 3; i++)
		assert_status(LEASH_OK, leash_lock_acquire(mine, 0, &err));
	leash_lock_token(mine, legacy->token, sizeof legacy->token);
	legacy->fence = leash_lock_fence(mine);
	stage_set(&legacy->stage, 1);
	pause();
	return 1;
}

SENTENCE(the_hold_of_a_process_that_was_killed_goes_on_for_as_long_as_one_likes_and_who_it_was_is_known_for_a_day)
{
	enum { DAY_MS = 86400000, HOUR_MS = 3600000 };
	struct legacy *legacy = child_share(sizeof *legacy);
	pid_t pid = child_run(hold_until_killed, legacy);
	static struct actor other;
	char hash[LEASH_TOKEN_MAX + 2], key[64];

	stage_await(&legacy->stage, 1);
	snprintf(key, sizeof key, "leash:client:%.36s", legacy->token);
	await_true(deployment_integer(place, key, "EXISTS %s", key) == 1); /* in a cluster another server is told it */
	child_kill(pid);
	begin_waiting(&other, kept(leashed_lock(kept(open_client()), "law", NULL)), LEASH_FOREVER);
	place_await_waiting("law", 1);
	assert_status(LEASH_OK, leash_lock_adopt(lock, legacy->token, &err));
	assert_true(leash_lock_fence(lock) == legacy->fence);
	/* past the lease of the one that was killed, and two of ours */
	await_true(stats_of(client).renewed >= 7);
	assert_true(leash_lock_held(lock));
	snprintf(hash, sizeof hash, "%s 1", legacy->token);
	assert_string_equal(place_text("law", "HGETALL leash:{law}"), hash);
	assert_in_range(place_left_ms("law"), 1, 3000);
	assert_in_range(deployment_integer(place, key, "PTTL %s", key), DAY_MS - HOUR_MS, DAY_MS);
	assert_false(actor_is_done(&other));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	end_waiting(&other);
	assert_int_equal(events.count[LEASH_EVENT_LOST], 0);
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
	struct monitor *monitor = kept(monitor_start(place_at("law")));

	for (size_t i = 0; i < COUNT(cases); i++) {
		assert_refused(LEASH_INVALID, "lock 'law'", leash_lock_adopt(lock, cases[i].token, &err));
		check_text(cases[i].why);
	}
	assert_refused(LEASH_INVALID, "leash_lock_adopt", leash_lock_adopt(NULL, TOKEN, &err));
	assert_int_equal(monitor_count(monitor, "eval"), 0);
}

SENTENCE(a_token_of_this_clients_own_is_refused)
{
	static struct actor other;
	char mine[LEASH_TOKEN_MAX];

	begin_waiting(&other, lock, LEASH_FOREVER);
	actor_hear(&other);
	await_true(place_integer("law", "HLEN leash:{law}") == 1); /* of a quorum the first server may be late */
	snprintf(mine, sizeof mine, "%s", place_text("law", "HKEYS leash:{law}"));
	assert_refused(LEASH_INVALID, "owner", leash_lock_adopt(lock, mine, &err));
	end_waiting(&other);
	assert_refused(LEASH_INVALID, "owner", leash_lock_adopt(lock, mine, &err));
}

SENTENCE(a_key_of_another_kind_is_a_mismatch_and_a_permission_that_is_missing_is_named)
{
	place_say("leash:{law}", "SET leash:{law} x");
	assert_refused(LEASH_MISMATCH, "lock 'law'", leash_lock_adopt(lock, TOKEN, &err));
	assert_string_equal(place_text("law", "GET leash:{law}"), "x");
	place_say("leash:{law}", "DEL leash:{law}");
	place_say("leash:{law}", "SET leash:{law}:queue x");
	assert_refused(place_is(PLACE_NO_QUEUE) ? LEASH_NOT_HELD : LEASH_MISMATCH, "lock 'law'",
	               leash_lock_adopt(lock, TOKEN, &err));
	place_say("leash:{law}", "DEL leash:{law}:queue");

	hold();
	place_say_all("ACL SETUSER %s -hexists", place_user());
	assert_refused(LEASH_DENIED, "HEXISTS", leash_lock_adopt(lock, token, &err));
	place_say_all("ACL SETUSER %s +hexists", place_user());
	assert_false(leash_lock_held(lock));
	assert_true(leash_lock_held(held));
	assert_status(LEASH_OK, leash_lock_release(held, &err));
}
