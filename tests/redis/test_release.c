/* Releasing, leaving and canceling, step by step: every line that lib/lua/README.md promises of them, one interleaving
 * at a time. */
#include "tests/redis/steps.h"
#include "tests/support/test.h"

FIXTURE(clean, close_listeners);
GROUP(start, stop);

/* ---- release ---- */

SENTENCE(a_released_lock_is_free)
{
	fence_of(ask(ANN1));
	assert_number(release(ANN1), 1);
	assert_false(exists(LOCK));
	assert_false(exists(QUEUE));
	assert_ttl(FENCE, HOUR); /* of the last acquire */
}

SENTENCE(a_second_release_finds_nothing)
{
	fence_of(ask(ANN1));
	assert_number(release(ANN1), 1);
	assert_number(release(ANN1), 0);
}

SENTENCE(a_release_of_nothing_creates_nothing)
{
	assert_number(release(ANN1), 0);
	assert_int_equal(server_integer(server, "DBSIZE"), 0);
}

SENTENCE(only_the_holder_releases)
{
	fence_of(ask(ANN1));
	assert_number(release(BOB1), 0);
	assert_number(release(ANN2), 0);
	assert_string_equal(holder(), ANN1);
	assert_ttl(LOCK, LEASE);
}

SENTENCE(a_release_gives_the_lock_to_the_first_in_the_queue_and_tells_it)
{
	struct pubsub *bob = listen_for(BOB), *cid = listen_for(CID);
	int64_t before;

	line_up(ANN1, BOB1, CID1);
	before = server_us();
	assert_number(release(ANN1), 1);
	assert_string_equal(server_text(server, "HGETALL " LOCK), BOB1 " 1");
	assert_ttl(LOCK, CLAIM);
	assert_string_equal(places(), CID1 " 60000");
	assert_told(bob, BOB1);
	assert_int_equal(messages(cid), 0);
	assert_true(last_fence() >= before);
	assert_ttl(FENCE, HOUR);
}

SENTENCE(the_last_place_takes_the_queue_with_it)
{
	listen_for(BOB);
	line_up(ANN1, BOB1);
	assert_number(release(ANN1), 1);
	assert_string_equal(holder(), BOB1);
	assert_false(exists(QUEUE));
}

SENTENCE(a_queue_is_served_in_its_order)
{
	static const char *const tokens[] = { CID1, BOB2, ANN2, BOB1, CID2 };
	int64_t fence = fence_of(ask(ANN1));

	listen_for(ANN);
	listen_for(BOB);
	listen_for(CID);
	for (size_t i = 0; i < 5; i++)
		assert_not_held(ask(tokens[i]));
	assert_number(release(ANN1), 1);
	for (size_t i = 0; i < 5; i++) {
		assert_string_equal(holder(), tokens[i]);
		assert_true(last_fence() > fence);
		fence = last_fence();
		assert_number(release(tokens[i]), 1);
	}
	assert_false(exists(LOCK));
	assert_false(exists(QUEUE));
}

SENTENCE(fences_of_grants_grow_when_the_clock_is_behind_the_last)
{
	struct pubsub *bob = listen_for(BOB);
	int64_t ahead;

	line_up(ANN1, BOB1);
	ahead = server_us() + INT64_C(3600000000);
	server_text(server, "SET " FENCE " %lld PX 20000", (long long)ahead);
	assert_number(release(ANN1), 1);
	assert_int_equal(last_fence(), ahead + 1);
	assert_ttl(FENCE, HOUR + 3600000);
	assert_told(bob, BOB1);
}

SENTENCE(a_grant_lasts_for_the_claim_of_its_own_place)
{
	listen_for(BOB);
	fence_of(ask(ANN1));
	assert_not_held(ask_with(BOB1, "300", NEVER_LATE, "86400000 3600000 200000 1 PUBLISH leash:wake:"));
	assert_number(release(ANN1), 1);
	assert_string_equal(holder(), BOB1);
	assert_ttl(LOCK, DAY);
}

SENTENCE(a_client_that_does_not_listen_is_passed_over)
{
	struct pubsub *cid = listen_for(CID);

	line_up(ANN1, BOB1, CID1);
	assert_number(release(ANN1), 1);
	assert_string_equal(server_text(server, "HGETALL " LOCK), CID1 " 1");
	assert_ttl(LOCK, CLAIM);
	assert_false(exists(QUEUE));
	assert_told(cid, CID1);
	assert_int_equal(state_of(word(BOB, BOB1)), -1);
}

SENTENCE(a_lock_that_nobody_listens_for_is_free)
{
	line_up(ANN1, BOB1, CID1);
	assert_number(release(ANN1), 1);
	assert_false(exists(LOCK));
	assert_false(exists(QUEUE));
}

SENTENCE(silence_is_no_refusal_where_counts_are_not_exact)
{
	line_up(ANN1, BOB1, CID1);
	assert_number(step(release, 3, ANN1, INEXACT), 1);
	assert_string_equal(holder(), BOB1);
	assert_ttl(LOCK, CLAIM);
	assert_string_equal(places(), CID1 " 60000");
}

SENTENCE(a_dead_client_is_passed_over)
{
	struct pubsub *bob = listen_for(BOB), *cid = listen_for(CID);

	line_up(ANN1, BOB1, BOB2, CID1);
	bury(BOB);
	assert_number(release(ANN1), 1);
	assert_string_equal(holder(), CID1);
	assert_false(exists(QUEUE));
	assert_int_equal(messages(bob), 0);
	assert_told(cid, CID1);
}

SENTENCE(a_lock_whose_queue_is_dead_is_free)
{
	listen_for(BOB);
	line_up(ANN1, BOB1);
	bury(BOB);
	assert_number(release(ANN1), 1);
	assert_false(exists(LOCK));
	assert_false(exists(QUEUE));
}

SENTENCE(what_is_no_place_is_passed_over)
{
	static const char *const odd[] =
		{ "rubbish", BOB1, BOB1 " ", BOB1 " 0", BOB1 " -1", BOB1 " 86400001", BOB1 " 60000 1", "" };

	order = TTLS;
	listen_for(BOB);
	listen_for(CID);
	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
		fence_of(ask(ANN1));
		assert_not_held(ask(BOB2));
		server_integer(server, "ZADD " QUEUE " 5 %s", odd[i]);
		assert_number(release(ANN1), 1);
		assert_string_equal(holder(), BOB2);
		assert_false(exists(QUEUE));
		assert_number(release(BOB2), 1);
	}
}

SENTENCE(a_grant_goes_out_by_spublish_where_the_client_says_so)
{
	const char *info = strstr(server_text(server, "INFO server"), "redis_version:");
	const char *cfg = "60000 3600000 200000 1 SPUBLISH -";
	struct pubsub *bob;

	assert_non_null(info);
	if (atoi(info + strlen("redis_version:")) < 7)
		skip();
	bob = listen_on("SSUBSCRIBE", "leash:{orders}:wake:" BOB);
	fence_of(ask_with(ANN1, "600000", NEVER_LATE, cfg));
	assert_not_held(ask_with(BOB1, "600000", NEVER_LATE, cfg));
	assert_number(step(release, 3, ANN1, cfg), 1);
	assert_string_equal(holder(), BOB1);
	assert_told(bob, BOB1);
}

/* ---- leave and cancel ---- */

SENTENCE(who_leaves_has_no_place_any_more)
{
	line_up(ANN1, BOB1, BOB2, CID1);
	assert_number(release(BOB1), 2);
	assert_string_equal(places(), BOB2 " 60000 " CID1 " 60000");
	assert_string_equal(holder(), ANN1);
	assert_number(release(BOB1), 0);
}

SENTENCE(who_leaves_last_removes_the_queue)
{
	line_up(ANN1, BOB1);
	assert_number(release(BOB1), 2);
	assert_false(exists(QUEUE));
	assert_string_equal(holder(), ANN1);
}

SENTENCE(who_leaves_hands_an_abandoned_lock_on)
{
	struct pubsub *cid = listen_for(CID);

	line_up(ANN1, BOB1, CID1);
	expire(LOCK);
	assert_number(release(BOB1), 2);
	assert_string_equal(holder(), CID1);
	assert_ttl(LOCK, CLAIM);
	assert_told(cid, CID1);
}

SENTENCE(the_cancel_of_a_granted_token_hands_the_lock_on)
{
	struct pubsub *cid = listen_for(CID);

	listen_for(BOB);
	line_up(ANN1, BOB1, CID1);
	assert_number(release(ANN1), 1);
	assert_string_equal(holder(), BOB1);
	assert_number(release(BOB1), 1);
	assert_string_equal(holder(), CID1);
	assert_told(cid, CID1);
}

SENTENCE(the_cancel_of_an_unknown_token_hands_an_abandoned_lock_on)
{
	struct pubsub *bob = listen_for(BOB);

	line_up(ANN1, BOB1);
	expire(LOCK);
	assert_number(release(ANN1), 0);
	assert_string_equal(holder(), BOB1);
	assert_told(bob, BOB1);
}

SENTENCE(the_cancel_of_an_unknown_token_takes_nothing_from_a_holder)
{
	line_up(ANN1, BOB1);
	assert_number(release(CID1), 0);
	assert_string_equal(holder(), ANN1);
	assert_string_equal(places(), BOB1 " 60000");
	assert_ttl(LOCK, LEASE);
}
