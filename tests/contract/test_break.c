/* Breaking a lock: whoever had it has it no more, the next one gets it, and nobody else is harmed. Holds of the very
 * client that breaks, and answers that are lost: core/test_owner.c. */
#include "tests/contract/refusal.h"

#include "tests/support/kept.h"

/* Of each test: one that breaks, and one that holds. */
static leash_client *client;
static leash_lock *lock, *held;      /* of "law", of a client each */
static struct leashed_events events; /* the holder's */

static void
set_up(void)
{
	place_resume();
	place_flush();
	memset(&events, 0, sizeof events);
	client = kept(open_client());
	lock = kept(leashed_lock(client, "law", NULL));
	held = kept(leashed_lock(kept(place_client(LEASH_OPTIONS(.lease_ms = 3000, .on_event = leashed_note_event,
	                                                         .event_arg = &events))), "law", NULL));
}

FIXTURE(set_up, NULL);
PLACE(refusal_open);

/* ---- who has it has it no more ---- */

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
	uint64_t fence = leash_lock_fence(held);
	begin_waiting(&next, kept(leashed_lock(kept(open_client()), "law", NULL)), LEASH_FOREVER);
	place_await_waiting("law", 1);
	assert_status(LEASH_OK, leash_lock_break(lock, &err));
	actor_hear(&next);
	leash_lock_info info = look();
	assert_true(info.held && info.fence > fence);
	assert_false(leash_lock_held(lock)); /* the one who broke it has nothing of it */
	await_true(!leash_lock_held(held));
	await_true(events.count[LEASH_EVENT_LOST] == 1);
	assert_status(LEASH_LOST, leash_lock_release(held, &err));
	assert_string_equal(look().holder.token, info.holder.token);
	end_waiting(&next);
	assert_int_equal(events.count[LEASH_EVENT_LOST], 1);
	/* where one server after another breaks it, it may be in jeopardy first */
	assert_true(events.total == 1 || place_is(PLACE_MAJORITY));
}

SENTENCE(what_nobody_has_is_not_held)
{
	assert_refused(LEASH_NOT_HELD, "lock 'law'", leash_lock_break(lock, &err));
	take_and_give_back(held);
	assert_refused(LEASH_NOT_HELD, "lock 'law'", leash_lock_break(lock, &err));
	/* nor is one whose lease is over, though somebody waits */
	place_say("leash:{law}", "ZADD leash:{law}:queue -1 " UUID " 5 %s", TOKEN " 3000");
	assert_refused(LEASH_NOT_HELD, "lock 'law'", leash_lock_break(lock, &err));
}

SENTENCE(a_key_that_would_never_expire_is_broken_too_and_what_was_broken_is_free)
{
	place_say("leash:{law}", "HSET leash:{law} " TOKEN " 1");
	assert_status(LEASH_OK, leash_lock_break(lock, &err));
	place_assert_free("law");
	assert_status(LEASH_NOT_HELD, leash_lock_break(lock, NULL));
	take_and_give_back(lock);
}

/* ---- what is not a lock ---- */

SENTENCE(what_is_not_a_lock_is_a_mismatch_and_is_left_alone)
{
	static const char *const made_by[] = {
		"SET leash:{law} 1", "HSET leash:{law} user ann", "HSET leash:{law} " TOKEN " 1 user ann",
		"HSET leash:{law} " TOKEN " 1 " UUID ":1 1",
	};
	static const char digest[] = "return redis.sha1hex(redis.call('DUMP', 'leash:{law}'))";

	for (size_t i = 0; i < COUNT(made_by); i++) {
		place_flush();
		place_say("leash:{law}", made_by[i]);
		const char *was = place_text("law", "EVAL %s 0", digest);
		assert_refused(LEASH_MISMATCH, "lock 'law'", leash_lock_break(lock, &err));
		assert_string_equal(place_text("law", "EVAL %s 0", digest), was);
		assert_int_equal(place_integer("law", "DBSIZE"), 1);
	}
}

SENTENCE(a_server_that_stands_still_cannot_be_asked_and_nothing_is_done)
{
	leash_lock *mine = kept(leashed_lock(kept(open_client()), "law",
	                                     LEASH_LOCK_OPTIONS(.lease_ms = place_lease_ms(60000))));

	assert_status(LEASH_OK, leash_lock_acquire(mine, 0, &err));
	place_pause();
	assert_refused(LEASH_UNAVAILABLE, "lock 'law'", leash_lock_break(lock, &err));
	place_resume();
	await_true(place_integer("law", "HLEN leash:{law}") == 1);
	assert_status(LEASH_OK, leash_lock_release(mine, &err));
}

SENTENCE(a_permission_that_is_missing_is_named_and_the_hold_stands)
{
	static const char *const commands[][2] = {{"hlen", "HLEN"}, {"hdel", "HDEL"}};

	assert_status(LEASH_OK, leash_lock_acquire(held, 0, &err));
	for (size_t i = 0; i < COUNT(commands); i++) {
		place_say_all("ACL SETUSER %s -%s", place_user(), commands[i][0]);
		assert_refused(LEASH_DENIED, commands[i][1], leash_lock_break(lock, &err));
		place_say_all("ACL SETUSER %s +%s", place_user(), commands[i][0]);
	}
	assert_true(leash_lock_held(held));
	assert_status(LEASH_OK, leash_lock_release(held, &err));
}
