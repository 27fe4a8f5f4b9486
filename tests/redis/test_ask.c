/* Asking, step by step: every line that lib/lua/README.md promises of it, one interleaving at a time. */
#include "tests/redis/steps.h"
#include "tests/support/test.h"

FIXTURE(clean, close_listeners);
GROUP(start, stop);

/* ---- ask: the lock is free ---- */

SENTENCE(a_free_lock_is_held_by_whoever_asks)
{
	int64_t fence = fence_of(ask(ANN1));

	assert_string_equal(server_text(server, "HGETALL " LOCK), ANN1 " 1");
	assert_ttl(LOCK, LEASE);
	assert_int_equal(last_fence(), fence);
	assert_ttl(FENCE, HOUR);
	assert_false(exists(QUEUE));
}

SENTENCE(a_fence_is_the_servers_time_in_microseconds)
{
	/* TIME answers microseconds without their leading zeros, so there must be some. */
	await_true(server_us() % 1000000 < 50000);
	for (int i = 0; i < 10; i++) {
		int64_t before = server_us(), fence = fence_of(ask(ANN1));

		assert_between(fence, before, server_us());
		assert_int_equal(last_fence(), fence);
		assert_number(release(ANN1), 1);
	}
}

SENTENCE(fences_grow_when_the_clock_is_behind_the_last)
{
	int64_t ahead = server_us() + INT64_C(3600000000);

	server_text(server, "SET " FENCE " %lld", (long long)ahead);
	assert_int_equal(fence_of(ask(ANN1)), ahead + 1);
	assert_int_equal(last_fence(), ahead + 1);
	assert_ttl(FENCE, HOUR + 3600000); /* until the clock is there, and as long as always from then on */
	assert_number(release(ANN1), 1);
	assert_int_equal(fence_of(ask(BOB1)), ahead + 2);
}

SENTENCE(a_fence_that_cannot_be_counted_on_from_is_replaced)
{
	const char *const odd[] = { "orders", "", "nan", "inf", "1e300", "9007199254740990", "9007199254740992", "-5" };

	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
		int64_t before = server_us();

		server_text(server, "SET " FENCE " %s", odd[i]);
		int64_t fence = fence_of(ask(ANN1));
		assert_between(fence, before, server_us());
		server_text(server, "SET " FENCE " %s PX 60000", odd[i]);
		fence = fence_of(ask(ANN1)); /* again */
		assert_between(fence, before, server_us());
		assert_number(release(ANN1), 1);
	}
	for (int later_s = -60; later_s <= 60; later_s += 120) { /* than a year ahead */
		int64_t last = server_us() + YEAR_US + later_s * INT64_C(1000000);

		server_text(server, "SET " FENCE " %lld PX 60000", (long long)last);
		assert_int_equal(fence_of(ask(ANN1)) == last + 1, later_s < 0);
		assert_number(release(ANN1), 1);
	}
}

SENTENCE(fences_grow_after_the_last_was_deleted)
{
	int64_t first = fence_of(ask(ANN1));

	assert_number(release(ANN1), 1);
	expire(FENCE);
	assert_true(fence_of(ask(BOB1)) > first);
}

SENTENCE(an_ask_that_comes_too_late_does_nothing_and_tells_the_time)
{
	char moment[24];
	int64_t before = server_us();
	struct answer answer;

	snprintf(moment, sizeof moment, "%" PRId64, before - 1);
	answer = ask_with(ANN1, "600000", moment, EXACT);
	assert_int_equal(answer.type, REDIS_REPLY_ARRAY);
	assert_int_equal(answer.count, 3);
	assert_int_equal(answer.item[0], -1);
	assert_int_equal(answer.item[1], 0);
	assert_between(answer.item[2], before, server_us());
	assert_int_equal(server_integer(server, "DBSIZE"), 0);
}

SENTENCE(a_late_ask_of_a_holder_is_refused_too)
{
	fence_of(ask_with(ANN1, "200000", NEVER_LATE, EXACT));
	assert_int_equal(ask_with(ANN1, "600000", "1", EXACT).item[0], -1);
	assert_ttl(LOCK, 200000);
}

SENTENCE(an_ask_in_time_is_not_refused)
{
	char moment[24];

	snprintf(moment, sizeof moment, "%" PRId64, server_us() + 3600000000);
	fence_of(ask_with(ANN1, "600000", moment, EXACT));
}

SENTENCE(an_ask_takes_leases_of_a_millisecond_to_a_day_and_leaves_nothing_of_others)
{
	const char *const odd[] = { "0", "-1", "86400001", "1e300", "0.5", "1.5", "nan", "inf", "orders", "" };

	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
		assert_error(ask_with(ANN1, odd[i], NEVER_LATE, EXACT), "ERR");
		assert_false(exists(LOCK));
	}
	fence_of(ask_with(ANN1, "1", NEVER_LATE, EXACT));
	assert_between(ttl_of(LOCK), -2, 1);
	await_true(!exists(LOCK));
	fence_of(ask_with(ANN1, "86400000", NEVER_LATE, EXACT));
	assert_ttl(LOCK, DAY);
	assert_ttl(FENCE, DAY); /* at least for the lease */
}

/* Of all commands that scripts give, since CONFIG RESETSTAT. */
static int64_t
calls(void)
{
	int64_t sum = 0;

	for (size_t i = 0; i < COMMANDS; i++)
		sum += server_calls(server, commands[i]);
	return sum;
}

SENTENCE(a_lock_that_nobody_waits_for_costs_seven_calls)
{
	order = NOTHING;
	server_text(server, "CONFIG RESETSTAT");
	fence_of(ask(ANN1));
	assert_number(release(ANN1), 1);
	assert_int_equal(server_calls(server, "evalsha"), 2);
	assert_int_equal(calls(), 7);
}

SENTENCE(a_turn_of_a_lock_that_many_wait_for_costs_thirteen_calls)
{
	struct pubsub *bob = listen_for(BOB);

	await_true(server_us() % (ALIVE * 500) < ALIVE * 490); /* all in one period */
	line_up(ANN1, BOB1, CID1);
	order = NOTHING;
	server_text(server, "CONFIG RESETSTAT");
	assert_number(release(ANN1), 1);
	assert_not_held(ask(ANN2));
	assert_int_equal(server_calls(server, "evalsha"), 2);
	assert_int_equal(calls(), 13);
	assert_told(bob, BOB1);
	assert_string_equal(places(), CID1 " 60000 " ANN2 " 60000");
}

/* ---- ask: again ---- */

SENTENCE(an_ask_again_of_a_holder_is_answered_with_the_same_fence)
{
	int64_t fence = fence_of(ask(ANN1));

	assert_int_equal(fence_of(ask(ANN1)), fence);
	assert_int_equal(fence_of(try(ANN1)), fence);
	assert_int_equal(last_fence(), fence);
	assert_string_equal(server_text(server, "HGETALL " LOCK), ANN1 " 1");
	assert_false(exists(QUEUE));
}

SENTENCE(an_ask_again_of_a_holder_is_good_for_the_whole_lease)
{
	fence_of(ask_with(ANN1, "20000", NEVER_LATE, EXACT));
	fence_of(ask_with(ANN1, "12000000", NEVER_LATE, EXACT));
	assert_ttl(LOCK, 12000000);
}

SENTENCE(an_ask_again_of_a_holder_shortens_nothing)
{
	fence_of(ask_with(ANN1, "12000000", NEVER_LATE, EXACT));
	fence_of(ask_with(ANN1, "20000", NEVER_LATE, EXACT));
	assert_ttl(LOCK, 12000000);
}

SENTENCE(an_ask_again_leaves_the_depth_alone)
{
	fence_of(ask(ANN1));
	assert_number(renew(ANN1, "600000", "4"), 1);
	fence_of(ask(ANN1));
	assert_string_equal(server_text(server, "HGET " LOCK " " ANN1), "4");
}

SENTENCE(an_ask_again_gets_a_new_fence_where_the_old_one_is_gone)
{
	int64_t fence = fence_of(ask(ANN1));

	expire(FENCE);
	assert_true(fence_of(ask(ANN1)) > fence);
	assert_ttl(FENCE, HOUR);
}

SENTENCE(an_ask_again_after_a_grant_is_held_for_the_lease)
{
	fence_of(ask(ANN1));
	listen_for(BOB);
	assert_not_held(ask(BOB1));
	assert_number(release(ANN1), 1);
	assert_ttl(LOCK, CLAIM);
	assert_last_fence(fence_of(ask(BOB1)));
	assert_between(ttl_of(LOCK), CLAIM + 1, LEASE);
	assert_false(exists(QUEUE));
}

/* ---- ask: somebody has it ---- */

SENTENCE(an_ask_for_a_held_lock_takes_a_place)
{
	fence_of(ask_with(ANN1, "400000", NEVER_LATE, EXACT));
	int64_t before = server_us();
	struct answer answer = ask(BOB1);
	int64_t after = server_us();

	assert_not_held(answer);
	assert_between(answer.item[1], 1, 400000);
	assert_between(answer.item[2], before, after);
	assert_string_equal(holder(), ANN1);
	assert_string_equal(places(), BOB1 " 60000");
	assert_between(strtoll(server_text(server, "ZSCORE " QUEUE " %s", BOB1 " 60000"), NULL, 10), before, after);
	assert_between(alive_until(BOB), before + ALIVE * 1000, after + ALIVE * 1000);
	assert_int_equal(server_integer(server, "ZCARD " QUEUE), 1);
	assert_ttl(QUEUE, 2 * ALIVE);
}

SENTENCE(a_second_place_of_a_client_adds_no_second_client)
{
	line_up(ANN1, BOB1, BOB2);
	assert_string_equal(places(), BOB1 " 60000 " BOB2 " 60000");
	assert_int_equal(server_integer(server, "ZCARD " QUEUE), 2);
	assert_int_equal(state_of(word(BOB, BOB1)), 0);
	assert_int_equal(state_of(word(BOB, BOB2)), 0);
	assert_not_held(ask(BOB2));
	assert_int_equal(server_integer(server, "ZCARD " QUEUE), 3);
}

SENTENCE(asking_again_keeps_the_place_and_says_that_the_client_lives)
{
	line_up(ANN1, BOB1, CID1);
	bury(BOB);
	int64_t before = server_us();
	assert_not_held(ask(BOB1));
	assert_string_equal(places(), BOB1 " 60000 " CID1 " 60000");
	assert_true(alive_until(BOB) >= before + ALIVE * 1000);
	assert_ttl(QUEUE, 2 * ALIVE);
}

SENTENCE(places_come_in_the_order_of_their_asks_also_when_the_clock_went_back)
{
	line_up(ANN1, CID1);
	server_text(server, "ZADD " QUEUE " %lld %s", (long long)(server_us() + INT64_C(3600000000)), CID1 " 60000");
	assert_not_held(ask(BOB1));
	assert_not_held(ask(BOB2));
	assert_string_equal(places(), CID1 " 60000 " BOB1 " 60000 " BOB2 " 60000");
}

SENTENCE(a_try_takes_no_place)
{
	fence_of(ask(ANN1));
	assert_not_held(try(BOB1));
	assert_false(exists(QUEUE));
	assert_string_equal(holder(), ANN1);
}

SENTENCE(a_try_leaves_a_queue_as_it_is)
{
	line_up(ANN1, BOB1);
	assert_not_held(try(CID1));
	assert_string_equal(places(), BOB1 " 60000");
	assert_int_equal(server_integer(server, "ZCARD " QUEUE), 1);
}

SENTENCE(a_lock_without_a_ttl_is_said_to_have_none)
{
	struct answer answer;

	order = NOTHING;
	server_text(server, "HSET " LOCK " somebody 1");
	answer = ask(BOB1);
	assert_not_held(answer);
	assert_int_equal(answer.item[1], -1);
	answer = word(BOB, BOB1);
	assert_int_equal(state_of(answer), 0);
	assert_int_equal(answer.item[1], -1);
	assert_int_equal(try(CID1).item[1], -1);
	assert_int_equal(ttl_of(LOCK), -1);
	assert_string_equal(holder(), "somebody");
	assert_ttl(QUEUE, 2 * ALIVE);
}

SENTENCE(a_client_with_a_shorter_alive_does_not_shorten_the_queue)
{
	fence_of(ask(ANN1));
	assert_not_held(ask_with(BOB1, "600000", NEVER_LATE, "60000 3600000 12000000 1 PUBLISH leash:wake:"));
	assert_ttl(QUEUE, 24000000);
	assert_not_held(ask(CID1));
	assert_ttl(QUEUE, 24000000);
	assert_not_held(ask(CID1));
	assert_int_equal(state_of(word(CID, CID1)), 0);
	assert_ttl(QUEUE, 24000000);
	/* nobody has come or said a word for a while */
	assert_int_equal(server_integer(server, "PEXPIRE " QUEUE " 100000"), 1);
	age_places(ALIVE);
	assert_not_held(ask(CID1));
	assert_between(ttl_of(QUEUE), 100001, 2 * ALIVE);
}

/* ---- ask: the lock is free, and there is a queue ---- */

SENTENCE(an_ask_gives_an_abandoned_lock_to_the_first_in_the_queue)
{
	struct pubsub *bob = listen_for(BOB);
	struct answer answer;

	line_up(ANN1, BOB1);
	expire(LOCK);
	answer = ask(CID1);
	assert_not_held(answer);
	assert_between(answer.item[1], 1, CLAIM);
	assert_string_equal(holder(), BOB1);
	assert_ttl(LOCK, CLAIM);
	assert_string_equal(places(), CID1 " 60000");
	assert_told(bob, BOB1);
}

SENTENCE(a_try_gives_an_abandoned_lock_to_the_first_in_the_queue)
{
	struct pubsub *bob = listen_for(BOB);

	line_up(ANN1, BOB1);
	expire(LOCK);
	assert_not_held(try(CID1));
	assert_string_equal(holder(), BOB1);
	assert_false(exists(QUEUE));
	assert_told(bob, BOB1);
}

SENTENCE(the_first_in_the_queue_takes_an_abandoned_lock_by_asking_again)
{
	struct pubsub *bob = listen_for(BOB);

	line_up(ANN1, BOB1, CID1);
	expire(LOCK);
	assert_last_fence(fence_of(ask(BOB1)));
	assert_string_equal(holder(), BOB1);
	assert_between(ttl_of(LOCK), CLAIM + 1, LEASE);
	assert_string_equal(places(), CID1 " 60000");
	assert_int_equal(messages(bob), 0); /* the answer says it */
}

SENTENCE(a_newcomer_takes_an_abandoned_lock_whose_queue_is_dead)
{
	line_up(ANN1, BOB1);
	bury(BOB);
	expire(LOCK);
	fence_of(ask(CID1));
	assert_string_equal(holder(), CID1);
	assert_between(ttl_of(LOCK), CLAIM + 1, LEASE);
	assert_false(exists(QUEUE));
}

SENTENCE(a_try_takes_an_abandoned_lock_whose_queue_is_dead)
{
	line_up(ANN1, BOB1);
	bury(BOB);
	expire(LOCK);
	assert_last_fence(fence_of(try(CID1)));
	assert_string_equal(server_text(server, "HGETALL " LOCK), CID1 " 1");
	assert_between(ttl_of(LOCK), CLAIM + 1, LEASE);
	assert_false(exists(QUEUE));
}

SENTENCE(a_try_takes_an_abandoned_lock_whose_queue_does_not_listen)
{
	line_up(ANN1, BOB1);
	expire(LOCK);
	fence_of(try(CID1));
	assert_string_equal(holder(), CID1);
	assert_false(exists(QUEUE));
}

SENTENCE(a_queue_without_places_keeps_nobody_out)
{
	order = TTLS;
	server_integer(server, "ZADD " QUEUE " %lld " BOB, (long long)-(server_us() + 10000000));
	server_integer(server, "PEXPIRE " QUEUE " 400000");
	fence_of(try(CID1));
	assert_string_equal(holder(), CID1);
	assert_false(exists(QUEUE));
}

/* More dead places than one step removes. */
static void
bury_many(int count)
{
	for (int i = 1; i <= count; i++) {
		char place[64];

		snprintf(place, sizeof place, DAN ":%d 60000", i);
		server_integer(server, "ZADD " QUEUE " %d %s", i, place);
	}
	server_integer(server, "ZADD " QUEUE " -1 " DAN);
	server_integer(server, "PEXPIRE " QUEUE " 400000");
}

SENTENCE(a_thousand_dead_places_go_in_one_step_and_the_rest_in_the_next)
{
	struct answer answer;

	bury_many(1500);
	answer = try(ANN1);
	assert_not_held(answer);
	assert_int_equal(answer.item[1], 0);
	assert_int_equal(server_integer(server, "ZCOUNT " QUEUE " (0 +inf"), 500);
	assert_false(exists(LOCK));
	fence_of(try(ANN1));
	assert_false(exists(QUEUE));
}

SENTENCE(nobody_passes_a_thousand_dead_places_by_and_keeps_a_place_of_its_own)
{
	struct answer answer;

	bury_many(1500);
	answer = ask(ANN1);
	assert_not_held(answer);
	assert_int_equal(answer.item[1], 0);
	assert_false(exists(LOCK));
	listen_for(ANN);
	answer = word(ANN, ANN1);
	assert_last_fence(state_of(answer));
	assert_string_equal(holder(), ANN1);
	assert_false(exists(QUEUE));
}

SENTENCE(a_word_among_thousands_of_dead_places_is_answered_queued_come_again)
{
	struct answer answer;

	listen_for(ANN);
	bury_many(2500);
	assert_not_held(ask(ANN1));
	answer = word(ANN, ANN1);
	assert_int_equal(state_of(answer), 0);
	assert_int_equal(answer.item[1], 0);
	assert_true(state_of(word(ANN, ANN1)) > 0);
}
