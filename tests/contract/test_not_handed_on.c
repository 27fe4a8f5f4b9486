/* Holds that are not handed on but given back to Redis, and asked of it anew: for their terms, or because their lease is in doubt. */
#include "tests/contract/crew.h"
#include "tests/support/test.h"

FIXTURE(open_client, close_client);
PLACE(crew_open);

/* ---- what is not handed on ---- */

SENTENCE(without_handoffs_every_hold_is_asked_of_redis)
{
	leash_lock *lock = leashed_lock(client, "asked", TURN(.no_handoff = true));
	struct member *crew = muster(CREW);
	struct own own = acquire(lock);
	const char *token = own.token;
	uint64_t fence = own.fence;

	for (int i = 0; i < CREW; i++)
		join(&crew[i], lock);
	for (int i = 0; i < CREW; i++) {
		uint64_t before = segments();

		mark();
		if (i == 0)
			release(lock);
		else
			end(&crew[i - 1]);
		await_hold(&crew[i]);
		assert_one_write_with_release_and_ask(token, before);
		assert_string_not_equal(crew[i].token, token);
		assert_true(crew[i].fence > fence + 1);
		token = crew[i].token;
		fence = crew[i].fence;
	}
	end(&crew[CREW - 1]);
	assert_free("asked");
	leash_lock_free(lock);
}

/* From a hold on these terms to a waiter on those. */
static void
check_terms(const leash_lock_options *mine, const leash_lock_options *theirs, int64_t their_lease_ms, bool is_handed_on)
{
	leash_lock *lock = leashed_lock(client, "terms", mine), *other = leashed_lock(client, "terms", theirs);
	struct member *heir = muster(1);
	struct own own = acquire(lock);

	heir->lease_ms = their_lease_ms;
	join(heir, other);
	mark();
	release(lock);
	await_hold(heir);
	assert_int_equal(strcmp(heir->token, own.token) == 0, is_handed_on);
	if (!place_is(PLACE_MAJORITY)) {
		assert_int_equal(releases(), !is_handed_on);
		assert_int_equal(asks(), !is_handed_on);
	}
	assert_int_equal(heir->fence == own.fence + 1, is_handed_on);
	end(heir);
	assert_free("terms");
	leash_lock_free(lock);
	leash_lock_free(other);
}

SENTENCE(a_hold_goes_through_redis_where_its_lease_would_change)
{
	int64_t long_ms = place_lease_ms(LONG_MS);
	const leash_lock_options *plain = TURN(.handoffs = 255);
	const leash_lock_options *shorter = TURN(.lease_ms = long_ms / 2);
	const leash_lock_options *no_renew = TURN(.no_renew = true);
	const leash_lock_options *bounded = TURN(.max_hold_ms = LONG_MS);

	check_terms(plain, plain, 0, true);
	check_terms(plain, plain, long_ms, true);
	check_terms(shorter, plain, 0, false);
	check_terms(plain, shorter, 0, false);
	check_terms(plain, plain, long_ms / 2, false);
	check_terms(shorter, plain, long_ms / 2, true);
	check_terms(no_renew, plain, 0, false);
	check_terms(plain, no_renew, 0, false);
	check_terms(no_renew, no_renew, 0, false);
	check_terms(bounded, plain, 0, false);
	check_terms(plain, bounded, 0, false);
	check_terms(bounded, bounded, 0, false);
}

SENTENCE(a_hold_that_was_extended_goes_through_redis)
{
	int64_t long_ms = place_lease_ms(LONG_MS), lease_ms = long_ms / 4;
	leash_lock *lock = leashed_lock(client, "extended", TURN(.handoffs = 255, .lease_ms = lease_ms));
	struct member *heir = muster(1);
	leash_error err;

	acquire(lock);
	assert_status(LEASH_OK, leash_lock_extend(lock, long_ms, &err));
	join(heir, lock);
	mark();
	release(lock);
	await_hold(heir);
	if (!place_is(PLACE_MAJORITY))
		assert_int_equal(releases(), 1);
	assert_true(place_left_ms("extended") <= lease_ms);
	end(heir);
	leash_lock_free(lock);
}

SENTENCE(a_fair_lock_is_never_handed_on, .but = PLACE_NO_QUEUE)
{
	leash_lock *lock = leashed_lock(client, "fair", TURN(.fair = true, .handoffs = 255));
	struct member *crew = muster(CREW);
	struct own own = acquire(lock);
	const char *token = own.token;
	uint64_t fence = own.fence;
	size_t asked;

	mark();
	for (int i = 0; i < CREW; i++) {
		set_out(&crew[i], lock);
		await_true(places("fair") == i + 1);
	}
	asked = asks();
	assert_in_range(asked, CREW, deployment_cluster(place) ? CREW + 1 : CREW); /* there the first may ask before it listens, and again */
	for (int i = 0; i < CREW; i++) {
		if (i == 0)
			release(lock);
		else
			end(&crew[i - 1]);
		assert_int_equal(releases(), i + 1);
		await_hold(&crew[i]);
		assert_string_not_equal(crew[i].token, token);
		assert_true(crew[i].fence > fence + 1);
		token = crew[i].token;
		fence = crew[i].fence;
	}
	end(&crew[CREW - 1]);
	assert_int_equal(asks(), asked);
	assert_free("fair");
	leash_lock_free(lock);
}

/* ---- a server that stands still ---- */

/* The lock is held, and somebody waits, when the server stops; `is_time` says when to release. */
static void
check_trouble(int64_t lease_ms, int64_t timeout_ms, bool jeopardy, int64_t ms)
{
	static struct leashed_events events; /* outlives a test that fails */
	struct member *heir = muster(1);
	leash_lock *lock;
	struct own own;
	int64_t began;
	leash_error err;

	client = place_client(LEASH_OPTIONS(.lease_ms = lease_ms, .timeout_ms = timeout_ms, .on_event = leashed_note_event, .event_arg = &events));
	lock = leashed_lock(client, "trouble", TURN(.handoffs = 255));
	own = acquire(lock);
	began = await_now_ns();
	join(heir, lock);
	place_pause();
	if (jeopardy)
		await_true(events.count[LEASH_EVENT_JEOPARDY] == 1);
	while (await_now_ns() < began + ms * 1000000)
		await_ms(1);
	assert_status(LEASH_UNKNOWN, leash_lock_release(lock, &err));
	assert_int_equal(stage_now(&heir->answered), 0);
	place_resume();
	await_hold(heir);
	assert_string_not_equal(heir->token, own.token);
	assert_true(heir->fence > own.fence + 1);
	end(heir);
	leash_lock_free(lock);
	close_client();
	await_true(place_is_free("trouble"));
}

SENTENCE(a_hold_in_jeopardy_is_not_handed_on, BETWEEN(NULL, close_client))
{
	check_trouble(6000, 100, true, 0);
}

SENTENCE(a_hold_whose_renewal_is_overdue_is_not_handed_on, BETWEEN(NULL, close_client))
{
	check_trouble(2000, 500, false, 1020); /* the renewal is to be answered within 500 ms of 610 to 667 */
}
