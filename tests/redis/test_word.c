/* Words and renewals, step by step: every line that lib/lua/README.md promises of them, one interleaving at a time. */
#include "tests/redis/steps.h"
#include "tests/support/test.h"

FIXTURE(clean, close_listeners);
GROUP(start, stop);

/* ---- word ---- */

SENTENCE(a_word_keeps_places_alive)
{
	int64_t before;
	struct answer answer;

	fence_of(ask_with(ANN1, "400000", NEVER_LATE, EXACT));
	assert_not_held(ask(BOB1));
	bury(BOB);
	assert_int_equal(server_integer(server, "PEXPIRE " QUEUE " 100000"), 1);
	before = server_us();
	answer = word(BOB, BOB1);
	assert_int_equal(state_of(answer), 0);
	assert_between(answer.item[0], before, server_us());
	assert_between(answer.item[1], 1, 400000);
	assert_true(alive_until(BOB) >= before + ALIVE * 1000);
	assert_between(ttl_of(QUEUE), ALIVE + 1, 2 * ALIVE);
	assert_string_equal(places(), BOB1 " 60000");
	assert_string_equal(holder(), ANN1);
}

SENTENCE(a_word_keeps_the_places_of_its_own_client_only)
{
	line_up(ANN1, BOB1, CID1);
	bury(BOB);
	assert_int_equal(state_of(word(CID, CID1)), 0);
	assert_true(alive_until(BOB) < server_us());
}

SENTENCE(a_word_of_an_unknown_token_creates_nothing)
{
	struct answer answer = word(BOB, BOB1);

	assert_int_equal(state_of(answer), -1);
	assert_int_equal(answer.item[1], 0);
	assert_int_equal(server_integer(server, "DBSIZE"), 0);
}

SENTENCE(a_word_of_an_unknown_token_takes_no_place)
{
	line_up(ANN1, CID1);
	assert_int_equal(state_of(word(BOB, BOB1)), -1);
	assert_string_equal(places(), CID1 " 60000");
	assert_string_equal(holder(), ANN1);
}

SENTENCE(a_word_of_an_unknown_token_takes_no_free_lock)
{
	listen_for(BOB);
	line_up(ANN1, CID1);
	expire(LOCK);
	assert_int_equal(state_of(word(BOB, BOB1)), -1);
	assert_false(exists(LOCK));
}

SENTENCE(a_word_hands_an_abandoned_lock_to_the_first_in_the_queue)
{
	struct pubsub *bob = listen_for(BOB);
	struct answer answer;

	line_up(ANN1, BOB1, CID1);
	expire(LOCK);
	answer = word(CID, CID1);
	assert_int_equal(state_of(answer), 0);
	assert_between(answer.item[1], 1, CLAIM);
	assert_string_equal(holder(), BOB1);
	assert_ttl(LOCK, CLAIM);
	assert_string_equal(places(), CID1 " 60000");
	assert_told(bob, BOB1);
}

SENTENCE(a_word_of_the_first_in_the_queue_is_answered_held_for_the_lease)
{
	struct pubsub *bob = listen_for(BOB);
	struct answer answer;

	line_up(ANN1, BOB1);
	expire(LOCK);
	answer = word(BOB, BOB1);
	assert_last_fence(state_of(answer));
	assert_int_equal(answer.item[1], LEASE);
	assert_string_equal(holder(), BOB1);
	assert_between(ttl_of(LOCK), CLAIM + 1, LEASE);
	assert_false(exists(QUEUE));
	assert_told(bob, BOB1);
}

SENTENCE(a_word_revives_the_places_of_its_client_before_it_hands_on)
{
	listen_for(BOB);
	line_up(ANN1, BOB1);
	bury(BOB);
	expire(LOCK);
	assert_true(state_of(word(BOB, BOB1)) > 0);
}

SENTENCE(a_word_learns_of_a_grant_whose_message_was_lost)
{
	listen_for(BOB);
	line_up(ANN1, BOB1);
	assert_number(release(ANN1), 1);
	assert_ttl(LOCK, CLAIM);
	assert_last_fence(state_of(word(BOB, BOB1)));
	assert_between(ttl_of(LOCK), CLAIM + 1, LEASE);
}

SENTENCE(a_word_or_an_ask_of_a_holder_keeps_its_fence)
{
	listen_for(BOB);
	line_up(ANN1, BOB1);
	assert_number(release(ANN1), 1);
	assert_int_equal(server_integer(server, "PEXPIRE " FENCE " 700000"), 1); /* for so long Ann's client keeps them */
	assert_last_fence(state_of(word(BOB, BOB1)));
	assert_ttl(FENCE, HOUR);
	assert_int_equal(server_integer(server, "PEXPIRE " FENCE " 700000"), 1);
	assert_last_fence(fence_of(ask(BOB1)));
	assert_ttl(FENCE, HOUR);
}

SENTENCE(a_word_of_a_holder_shortens_nothing)
{
	struct answer answer;

	fence_of(ask_with(ANN1, "12000000", NEVER_LATE, EXACT));
	answer = word(ANN, ANN1);
	assert_last_fence(state_of(answer));
	assert_between(answer.item[1], 11940000, 12000000);
	assert_ttl(LOCK, 12000000);
}

SENTENCE(a_word_of_a_holder_whose_fence_is_gone_gets_a_new_one)
{
	int64_t fence = fence_of(ask(ANN1));

	expire(FENCE);
	assert_true(state_of(word(ANN, ANN1)) > fence);
	assert_ttl(FENCE, HOUR);
}

SENTENCE(a_word_answers_for_each_of_its_tokens)
{
	struct answer answer;

	listen_for(ANN);
	fence_of(ask(BOB1));
	assert_not_held(ask(ANN1));
	assert_not_held(ask(ANN2));
	assert_number(release(BOB1), 1);
	answer = step(heartbeat, 3, ANN, "600000", ANN ":7", ANN2, ANN1, ANN ":8", EXACT);
	assert_int_equal(answer.type, REDIS_REPLY_ARRAY);
	assert_int_equal(answer.count, 6);
	assert_int_equal(answer.item[1], LEASE);
	assert_int_equal(answer.item[2], -1);
	assert_int_equal(answer.item[3], 0);
	assert_last_fence(answer.item[4]);
	assert_int_equal(answer.item[5], -1);
}

SENTENCE(a_word_for_a_free_lock_whose_queue_is_dead_says_that_nobody_holds)
{
	struct answer answer;

	line_up(ANN1, BOB1);
	bury(BOB);
	expire(LOCK);
	answer = word(CID, CID1);
	assert_int_equal(state_of(answer), -1);
	assert_int_equal(answer.item[1], 0);
	assert_false(exists(LOCK));
	assert_false(exists(QUEUE));
}

SENTENCE(a_word_takes_leases_of_a_millisecond_to_a_day)
{
	fence_of(ask(ANN1));
	assert_error(step(heartbeat, 3, ANN, "0", ANN1, EXACT), "ERR");
	assert_error(step(heartbeat, 3, ANN, "86400001", ANN1, EXACT), "ERR");
	assert_ttl(LOCK, LEASE);
	assert_last_fence(state_of(step(heartbeat, 3, ANN, "1", ANN1, EXACT)));
	assert_ttl(LOCK, LEASE);
	assert_last_fence(state_of(step(heartbeat, 3, ANN, "86400000", ANN1, EXACT)));
	assert_ttl(LOCK, DAY);
}

/* ---- renew ---- */

SENTENCE(a_renewal_is_good_for_the_whole_lease)
{
	fence_of(ask_with(ANN1, "20000", NEVER_LATE, EXACT));
	assert_number(renew(ANN1, "12000000", "1"), 1);
	assert_ttl(LOCK, 12000000);
}

SENTENCE(a_renewal_shortens_nothing)
{
	fence_of(ask_with(ANN1, "12000000", NEVER_LATE, EXACT));
	assert_number(renew(ANN1, "20000", "1"), 1);
	assert_ttl(LOCK, 12000000);
}

SENTENCE(a_renewal_writes_the_depth_down)
{
	fence_of(ask(ANN1));
	assert_number(renew(ANN1, "600000", "7"), 1);
	assert_string_equal(server_text(server, "HGETALL " LOCK), ANN1 " 7");
	assert_number(renew(ANN1, "600000", "2"), 1);
	assert_string_equal(server_text(server, "HGETALL " LOCK), ANN1 " 2");
}

SENTENCE(a_renewal_never_creates_the_lock)
{
	assert_number(renew(ANN1, "600000", "1"), 0);
	assert_int_equal(server_integer(server, "DBSIZE"), 0);
}

SENTENCE(a_renewal_of_one_who_lost_it_leaves_the_holder_alone)
{
	fence_of(ask_with(BOB1, "100000", NEVER_LATE, EXACT));
	assert_number(renew(ANN1, "600000", "3"), 0);
	assert_string_equal(server_text(server, "HGETALL " LOCK), BOB1 " 1");
	assert_ttl(LOCK, 100000);
}

SENTENCE(a_renewal_gives_a_ttl_to_a_lock_that_has_none_and_says_so)
{
	fence_of(ask(ANN1));
	assert_int_equal(server_integer(server, "PERSIST " LOCK), 1);
	assert_number(renew(ANN1, "600000", "1"), 2);
	assert_ttl(LOCK, LEASE);
	assert_number(renew(ANN1, "600000", "1"), 1);
}

SENTENCE(a_renewal_keeps_the_fence_of_its_hold_for_an_hour_more_or_for_the_lease)
{
	fence_of(ask(ANN1));
	assert_int_equal(server_integer(server, "PEXPIRE " FENCE " 700000"), 1);
	assert_number(renew(ANN1, "600000", "1"), 1);
	assert_ttl(FENCE, HOUR);
	assert_number(renew(ANN1, "7200000", "1"), 1);
	assert_ttl(FENCE, 7200000);
	assert_number(renew(ANN1, "600000", "1"), 1);
	assert_ttl(FENCE, 7200000);
	order = NOTHING;
	expire(FENCE);
	assert_number(renew(ANN1, "600000", "1"), 1);
	assert_false(exists(FENCE));
	assert_int_equal(server_integer(server, "RPUSH " FENCE " theirs"), 1);
	assert_number(renew(ANN1, "600000", "1"), 1);
	assert_int_equal(ttl_of(FENCE), -1);
}

SENTENCE(a_renewal_takes_leases_of_a_millisecond_to_a_day)
{
	fence_of(ask(ANN1));
	assert_error(renew(ANN1, "0", "1"), "ERR");
	assert_error(renew(ANN1, "-5", "1"), "ERR");
	assert_error(renew(ANN1, "86400001", "1"), "ERR");
	assert_ttl(LOCK, LEASE);
	assert_number(renew(ANN1, "1", "1"), 1);
	assert_ttl(LOCK, LEASE);
	assert_number(renew(ANN1, "86400000", "1"), 1);
	assert_ttl(LOCK, DAY);
}
