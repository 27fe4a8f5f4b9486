/* Taking over: a hold of another process is adopted, and goes on here with the same fence, as if it had been acquired here;
 * or it is broken, and the next one gets the lock. Terms and ends, holds of the very client, and answers that are lost or
 * late: core/test_owner.c and core/test_single.c; what the server does to the lease:
 * redis/test_steps.c; one that stands still or does not permit it: test_inspect.c. */
#include "tests/contract/interface.h"

#include <unistd.h>

/* Of each test: a client that takes over, and one that had the lock before, in the same process for convenience. */
static leash_client *client;
static leash_lock *lock, *held;              /* of "law", of each */
static struct leashed_events events, theirs; /* likewise */
static char token[LEASH_TOKEN_MAX];  /* of `held`, after hold() */
static uint64_t fence;               /* likewise */

static leash_client *
open_told(struct leashed_events *of)
{
	memset(of, 0, sizeof *of);
	return kept(place_client(LEASH_OPTIONS(.lease_ms = 3000, .on_event = leashed_note_event, .event_arg = of)));
}

static void
set_up(void)
{
	place_resume();
	place_flush();
	client = open_told(&events);
	lock = kept(leashed_lock(client, "law", NULL));
	held = kept(leashed_lock(open_told(&theirs), "law", NULL));
}

FIXTURE(set_up, NULL);
PLACE(interface_open);

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

/* ---- adopting ---- */

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
	place_assert(strcmp(place_text("law", "HGETALL leash:{law}"), hash) == 0); /* who waits asks one server or another */
	assert_in_range(place_left_ms("law"), 1, 3000);
	assert_in_range(deployment_integer(place, key, "PTTL %s", key), DAY_MS - HOUR_MS, DAY_MS);
	assert_false(actor_is_done(&other));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	end_waiting(&other);
	assert_int_equal(events.count[LEASH_EVENT_LOST], 0);
}

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

/* Which forms are none is said by unit/test_token. */
SENTENCE(what_is_no_token_is_refused_and_told_why)
{
	static const struct {
		const char *token, *why;
	} cases[] = {
		{NULL, "NULL"}, {"", "empty"}, {"x", "too short"}, {UUID ":", "too short"},
		{UUID ":123456789012345678901", "too long"}, {UUID ":12345678901234567890123456789012345678901234567890", "too long"},
		{"0c6f1d52x8a1e-4b7e-9d0a-3f1c5e7a9b10:42", "UUID"}, {"0c6f1d52-8a1e-4b7e-9d0a-3f1c5e7a9b1g:42", "UUID"},
		{" " UUID ":4", "UUID"}, {UUID "-42", "colon"}, {UUID ":4 2", "number"}, {UUID ":42\n", "number"},
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

/* ---- breaking ---- */

static leash_lock_info
look(void)
{
	leash_lock_info info = {.size = sizeof info};

	assert_status(LEASH_OK, leash_lock_inspect(lock, &info, &err));
	return info;
}

SENTENCE(the_holder_learns_of_it_at_its_next_renewal_and_the_next_one_has_a_larger_fence)
{
	static struct actor next;

	assert_status(LEASH_OK, leash_lock_acquire(held, 0, &err));
	fence = leash_lock_fence(held);
	begin_waiting(&next, kept(leashed_lock(kept(open_client()), "law", NULL)), LEASH_FOREVER);
	place_await_waiting("law", 1);
	assert_status(LEASH_OK, leash_lock_break(lock, &err));
	actor_hear(&next);
	leash_lock_info info = look();
	assert_true(info.held && info.fence > fence);
	assert_false(leash_lock_held(lock)); /* the one who broke it has nothing of it */
	await_true(!leash_lock_held(held));
	await_true(theirs.count[LEASH_EVENT_LOST] == 1);
	assert_status(LEASH_LOST, leash_lock_release(held, &err));
	assert_string_equal(look().holder.token, info.holder.token);
	end_waiting(&next);
	assert_int_equal(theirs.count[LEASH_EVENT_LOST], 1);
	/* where one server after another breaks it, it may be in jeopardy first */
	assert_true(theirs.total == 1 || place_is(PLACE_MAJORITY));
}

SENTENCE(what_nobody_has_is_not_held)
{
	assert_refused(LEASH_NOT_HELD, "lock 'law'", leash_lock_break(lock, &err));
	take_and_give_back(held);
	assert_refused(LEASH_NOT_HELD, "lock 'law'", leash_lock_break(lock, &err));
	/* nor is one whose lease is over, though somebody waits */
	place_say("leash:{law}", "ZADD leash:{law}:queue -1 " UUID " 5 %s", TOKEN " 3000");
	assert_refused(LEASH_NOT_HELD, "lock 'law'", leash_lock_break(lock, &err));
	/* but one that would never expire is broken, and free then */
	place_flush();
	place_say("leash:{law}", "HSET leash:{law} " TOKEN " 1");
	assert_status(LEASH_OK, leash_lock_break(lock, &err));
	place_assert_free("law");
	assert_status(LEASH_NOT_HELD, leash_lock_break(lock, NULL));
	take_and_give_back(lock);
}
