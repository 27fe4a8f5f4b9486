/* A lock that is shared with Redisson, wherever it lives: clients of leash meet there. With Redisson itself:
 * redisson/run.sh. */
#include "tests/contract/interface.h"

static leash_client *client;
static leash_lock *lock, *other; /* of "law", of a client each */

static leash_lock *
open_lock(leash_client *of)
{
	return kept(leashed_lock(of, "law", LEASH_LOCK_OPTIONS(.mode = LEASH_REDISSON)));
}

static void
set_up(void)
{
	place_flush();
	client = kept(place_client(LEASH_OPTIONS(.lease_ms = 3000)));
	if (place_is(PLACE_NO_QUEUE))
		return;
	lock = open_lock(client);
	other = open_lock(kept(place_client(LEASH_OPTIONS(.lease_ms = 3000))));
}

FIXTURE(set_up, NULL);
PLACE(place_open);

#define SOMEWHERE .but = PLACE_NO_QUEUE | PLACE_RIGHTS

SENTENCE(its_key_is_its_name_and_has_its_token_alone, SOMEWHERE)
{
	char token[LEASH_TOKEN_MAX];

	acquires(lock);
	acquires(lock);
	leash_lock_token(lock, token, sizeof token);
	assert_string_equal(place_text("law", "HKEYS law"), token);
	assert_true(place_integer("law", "PTTL law") > 0);
	assert_status(LEASH_OK, leash_lock_extend(lock, 6000, &err));
	assert_string_equal(place_text("law", "HVALS law"), "2");
	releases(lock);
	releases(lock);
	assert_int_equal(place_integer("law", "EXISTS law leash:{law} leash:{law}:fence"), 0);
}

SENTENCE(one_at_a_time_has_it_and_who_waits_is_woken_by_a_release, SOMEWHERE)
{
	enum { ROUNDS = 15 };
	leash_lock *both[] = {lock, other};
	static struct actor waiter;
	int soon = 0;

	for (int i = 0; i < ROUNDS; i++) {
		acquires(both[i % 2]);
		assert_status(LEASH_TIMEOUT, leash_lock_acquire(both[(i + 1) % 2], 0, &err));
		actor_begin(&waiter, both[(i + 1) % 2], LEASH_FOREVER);
		actor_tell(&waiter, actor_acquire);
		actor_await_asleep(&waiter);
		await_ms(20 * (i % 5));
		lag_begin();
		int64_t began_ns = await_now_ns();
		releases(both[i % 2]);
		assert_heard(LEASH_OK, &waiter);
		soon += waiter.ended_ns - began_ns < 100 * MS + lag_end(); /* who was not told asks after a second */
		assert_done(LEASH_OK, &waiter, actor_release);
		actor_end(&waiter);
	}
	assert_true(soon > ROUNDS / 2);
}

SENTENCE(a_set_may_have_it, SOMEWHERE)
{
	leash_lock *mutex = kept(leashed_lock(client, "also", NULL));
	leash_multi *set = multi_of((leash_lock *[]){mutex, lock}, 2);
	static struct actor holder;

	actor_begin(&holder, other, LEASH_FOREVER);
	assert_done(LEASH_OK, &holder, actor_acquire);
	assert_status(LEASH_TIMEOUT, leash_multi_acquire(set, 100, &err));
	actor_tell(&holder, actor_release);
	assert_status(LEASH_OK, leash_multi_acquire(set, 20000, &err));
	assert_heard(LEASH_OK, &holder);
	assert_true(leash_lock_held(mutex) && leash_lock_held(lock));
	assert_status(LEASH_OK, leash_multi_release(set, &err));
	actor_end(&holder);
}

SENTENCE(others_have_no_part_in_it, SOMEWHERE)
{
	leash_lock *mutex = kept(leashed_lock(client, "law", NULL));

	acquires(lock);
	acquires(mutex);
	releases(lock);
	releases(mutex);
	place_say("leash:{law}", "SET law theirs");
	assert_status(LEASH_MISMATCH, leash_lock_acquire(lock, 0, &err));
}

SENTENCE(what_it_cannot_be_is_said, SOMEWHERE)
{
	const leash_lock_options *fair = LEASH_LOCK_OPTIONS(.mode = LEASH_REDISSON, .fair = true);
	leash_lock *made = NULL;

	assert_refused(LEASH_UNSUPPORTED, "RFairLock", leash_lock_new(&made, client, "law", fair, &err));
	assert_status(LEASH_UNSUPPORTED, leash_lock_waiters(lock, count_waiter, &(int){0}, &err));
}
