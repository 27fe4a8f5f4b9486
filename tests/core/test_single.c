/* One server, to the answer: what the core says to it, in which order, and what it makes of what comes back. */
#include "tests/core/world.h"

#include "tests/core/wire.h"
#include "tests/support/test.h"

FIXTURE(world_begin, world_end);

#define NOW_US INT64_C(1760100000000000) /* by the server's clock, when a test begins */

static void
begin_anew(void)
{
	world_end();
	world_begin();
}

static void
hold(struct person *person)
{
	acquire(person, 1000);
	answer(HELD);
	expect_end(person, LEASH_OK);
	world_sent();
}

/* ---- requests ---- */

SENTENCE(what_was_granted_is_held_until_it_is_released)
{
	acquire(ann, 1000);
	expect_sent("acquire 1");
	answer(HELD);
	expect_end(ann, LEASH_OK);
	expect_left(ann, 29698); /* from when it was sent: 1 % and 2 ms are for clocks that differ */
	release(ann);
	expect_sent("release 1");
	answer(RELEASED);
	expect_end(ann, LEASH_OK);
}

SENTENCE(a_lease_counts_from_when_it_was_asked_for)
{
	acquire(ann, 5000);
	pass(4000);
	answer(HELD);
	expect_left(ann, 29698 - 4000);
}

SENTENCE(a_request_does_nothing_after_the_deadline_of_who_made_it)
{
	acquire(ann, 1000);
	assert_int_equal(world_limit_ms(), 1000);
	pass(900);
	answer(TOO_LATE);
	expect_sent("acquire 1, acquire 1");
	assert_int_equal(world_limit_ms(), 100);
}

SENTENCE(a_request_does_nothing_after_one_timeout)
{
	acquire(ann, LEASH_FOREVER);
	assert_int_equal(world_limit_ms(), 5000);
}

SENTENCE(a_request_whose_answer_was_lost_is_sent_again_with_its_token)
{
	acquire(ann, 10000);
	expect_sent("acquire 1");
	cut();
	expect_waiting(ann);
	reconnect();
	expect_sent("acquire 1");
	answer(HELD);
	expect_end(ann, LEASH_OK);
}

SENTENCE(a_request_whose_answer_was_lost_is_canceled_when_its_time_is_over_and_the_next_has_a_new_token)
{
	acquire(ann, 1000);
	cut();
	pass(1000);
	expect_end(ann, LEASH_UNAVAILABLE);
	acquire(bob, 10000);
	expect_sent("acquire 1");
	reconnect();
	expect_sent("acquire 2, release 1");
}

SENTENCE(the_cancel_of_a_request_goes_behind_it_and_in_front_of_the_next_token)
{
	acquire(ann, 1000);
	pass(1000);
	expect_end(ann, LEASH_UNAVAILABLE);
	acquire(bob, 1000);
	expect_sent("acquire 1, release 1, acquire 2");
}

SENTENCE(a_grant_that_comes_after_the_deadline_is_canceled_and_nobody_has_it)
{
	acquire(ann, 1000);
	pass(1000);
	expect_sent("acquire 1, release 1");
	answer(HELD);
	expect_left(ann, 0);
	answer(RELEASED); /* over the same connection: nothing can come any more */
	pass(100000);
	expect_sent("");
}

SENTENCE(a_cancel_is_repeated_until_the_lost_request_cannot_be_executed_any_more)
{
	acquire(ann, 2000);
	cut();
	cancel(ann);
	pass(1900);
	reconnect();
	answer(GONE); /* the request may come behind this, over the connection that was cut, until its 2 s are over */
	pass(200);
	expect_sent("acquire 1, release 1, release 1");
}

SENTENCE(a_cancel_that_is_sent_when_the_time_of_the_lost_request_is_over_is_the_last)
{
	acquire(ann, 1000);
	cut();
	pass(2000);
	reconnect();
	expect_sent("acquire 1, release 1");
	answer(GONE);
	pass(100000);
	expect_sent("");
}

SENTENCE(a_request_for_which_there_was_no_room_goes_out_though_the_room_came_before_it_waited)
{
	acquire(ann, 1000);
	answer(HELD);
	be_full();
	release(ann);
	expect_sent("acquire 1, release 1");
	answer(RELEASED);
	expect_end(ann, LEASH_OK);
}

SENTENCE(a_request_that_never_left_needs_no_cancel)
{
	be_stuck();
	acquire(ann, 1000);
	cut();
	pass(1000);
	expect_end(ann, LEASH_UNAVAILABLE);
	reconnect();
	expect_sent("");
}

SENTENCE(who_only_tries_takes_no_place_and_leaves_nothing_to_cancel)
{
	acquire(ann, 0);
	expect_sent("try 1");
	answer(TAKEN);
	expect_end(ann, LEASH_TIMEOUT);
	expect_sent("");
}

SENTENCE(a_try_whose_answer_was_lost_is_canceled)
{
	acquire(ann, 0);
	cut();
	pass(5000);
	expect_end(ann, LEASH_UNAVAILABLE);
	reconnect();
	expect_sent("try 1, release 1");
}

SENTENCE(a_request_that_came_too_late_is_sent_again_by_the_clock_that_was_learned)
{
	acquire(ann, 1000);
	answer(TOO_LATE);
	expect_sent("acquire 1, acquire 1");
	answer(HELD);
	expect_end(ann, LEASH_OK);
}

/* ---- refusals ---- */

SENTENCE(a_script_that_is_not_there_is_sent_with_its_source)
{
	acquire(ann, 1000);
	refuse("NOSCRIPT No matching script. Please use EVAL.");
	expect_sent("acquire 1, acquire 1 with source");
	answer(HELD);
	expect_end(ann, LEASH_OK);
}

static const char *const not_now[] = {
	"LOADING Redis is loading the dataset in memory", "BUSY Redis is busy running a script.",
	"TRYAGAIN Multiple keys request during rehashing of slot", "CLUSTERDOWN Hash slot not served",
};

SENTENCE(a_server_that_says_not_now_is_asked_again_in_a_moment)
{
	for (size_t i = 0; i < COUNT(not_now); i++) {
		acquire(ann, 1000);
		world_sent();
		refuse(not_now[i]);
		pass(49);
		expect_sent("");
		pass(1);
		answer(HELD);
		expect_end(ann, LEASH_OK);
		release(ann);
		refuse(not_now[i]);
		expect_waiting(ann);
		pass(1000);
		answer(RELEASED);
		expect_end(ann, LEASH_OK);
	}
}

SENTENCE(a_server_that_says_not_now_all_the_time_is_unavailable_and_it_is_said_why)
{
	static const char *const words[] = {"(LOADING)", "(BUSY)", "(TRYAGAIN)", "(CLUSTERDOWN)"};

	for (size_t i = 0; i < COUNT(not_now); i++) {
		acquire(ann, 60);
		refuse(not_now[i]);
		pass(50);
		refuse(not_now[i]);
		pass(10);
		expect_end(ann, LEASH_UNAVAILABLE);
		expect_why(ann, words[i]);
	}
}

SENTENCE(a_cluster_that_the_uri_does_not_name_is_unsupported)
{
	static const char *const words[] = {"MOVED 3999 127.0.0.1:6381", "ASK 3999 127.0.0.1:6381",
	                                    "CROSSSLOT Keys in request don't hash to the same slot"};

	for (size_t i = 0; i < COUNT(words); i++) {
		acquire(ann, LEASH_FOREVER);
		refuse(words[i]);
		expect_end(ann, LEASH_UNSUPPORTED);
	}
}

static void
ask_for_it(void)
{
	acquire(ann, 1000);
}

static void
ask_to_extend(void)
{
	hold(ann);
	extend(ann, 60000);
}

static void
ask_to_release(void)
{
	hold(ann);
	release(ann);
}

/* ---- answers that no server gives ---- */

static const struct lsh_message wrong[] = {
	{LSH_STATUS, 1, {{LSH_STATUS, 0, "OK", 2}}},
	{LSH_STRING, 1, {{LSH_STRING, 0, "hi", 2}}},
	{LSH_NIL, 1, {{LSH_NIL, 0, "", 0}}},
	{LSH_ARRAY, 0, {{LSH_NIL, 0, "", 0}}},
	{LSH_ARRAY, 1, {{LSH_INTEGER, 1, "", 0}}},
	{LSH_ARRAY, 2, {{LSH_INTEGER, 0, "", 0}, {LSH_INTEGER, 1, "", 0}}},
	{LSH_ARRAY, 3, {{LSH_STRING, 0, "0", 1}, {LSH_STRING, 0, "1", 1}, {LSH_STRING, 0, "2", 1}}},
	{LSH_ARRAY, 4, {{LSH_INTEGER, 0, "", 0}, {LSH_INTEGER, 0, "", 0}, {LSH_INTEGER, 0, "", 0},
	                {LSH_INTEGER, 0, "", 0}}},
	{LSH_ARRAY, 3, {{LSH_INTEGER, 0, "", 0}, {LSH_STATUS, 0, "OK", 2}, {LSH_INTEGER, 0, "", 0}}},
	{LSH_INTEGER, 1, {{LSH_INTEGER, -1, "", 0}}},
	{LSH_INTEGER, 1, {{LSH_INTEGER, INT64_MIN, "", 0}}},
	{LSH_ERROR, 1, {{LSH_ERROR, 0, "NONSENSE of no server", 21}}},
	{LSH_ERROR, 1, {{LSH_ERROR, 0, "", 0}}},
	/* the rest may be an answer to something else */
	{LSH_ARRAY, 3, {{LSH_INTEGER, 1, "", 0}, {LSH_INTEGER, 2, "", 0}, {LSH_INTEGER, 3, "", 0}}},
	{LSH_INTEGER, 1, {{LSH_INTEGER, 0, "", 0}}},
	{LSH_INTEGER, 1, {{LSH_INTEGER, INT64_MAX, "", 0}}},
	{LSH_INTEGER, 1, {{LSH_INTEGER, INT64_C(9007199254740992), "", 0}}},
};

enum { WRONG_FOR_ALL = COUNT(wrong) - 4 };

SENTENCE(a_wrong_answer_to_a_request_is_a_protocol_error_and_holds_nothing)
{
	for (size_t i = 0; i < COUNT(wrong); i++) {
		acquire(ann, i % 2 ? 0 : LEASH_FOREVER);
		say(&wrong[i]);
		expect_end(ann, LEASH_PROTOCOL);
		expect_why(ann, "lock 'orders'");
		expect_left(ann, 0);
		answer(GONE); /* the cancel */
	}
}

/* Whatever its words are, of what a holder and one who waits may ask. */
SENTENCE(an_error_of_any_bytes_is_told_printable_and_cut)
{
	static const char *const words[] = {"", "ERR ", "READONLY ", "LOADING ", "NOPERM ", "OOM ", "WRONGTYPE ",
	                                    "MOVED 1 ", "MISCONF ", "NOAUTH ", "BUSY "};
	static void (*const asks[])(void) = {ask_for_it, ask_to_extend, ask_to_release};

	for (size_t i = 0; i < COUNT(words) * COUNT(asks); i++) {
		char error[1000];
		size_t n = (size_t)snprintf(error, sizeof error, "%s", words[i / COUNT(asks)]);

		for (; n < sizeof error - 1; n++)
			error[n] = (char)(255 - n % 255);
		error[n] = '\0';
		asks[i % COUNT(asks)]();
		refuse(error);
		pass(60000);
		assert_false(ann->is_busy);
		assert_int_not_equal(ann->op.status, LEASH_OK);
		for (const char *at = ann->op.why.text; *at != '\0'; at++)
			assert_in_range(*at, ' ', '~');
		begin_anew();
	}
}

SENTENCE(a_wrong_answer_to_a_release_is_not_taken_for_done)
{
	for (size_t i = 0; i < WRONG_FOR_ALL; i++) {
		hold(ann);
		release(ann);
		say(&wrong[i]);
		expect_end(ann, LEASH_PROTOCOL);
		expect_left(ann, 0);
		pass(1000); /* it is sent again */
		answer(RELEASED);
	}
}

SENTENCE(a_wrong_answer_to_a_renewal_is_a_jeopardy_and_the_renewal_is_sent_again)
{
	hold(ann);
	pass(10000);
	for (size_t i = 0; i < WRONG_FOR_ALL; i++) {
		say(&wrong[i]);
		expect_told("ann JEOPARDY");
		pass(300);
		answer(KEPT);
		expect_told("ann RECOVERED");
		pass(10000);
	}
}

SENTENCE(a_wrong_answer_to_an_extension_does_not_extend)
{
	for (size_t i = 0; i < WRONG_FOR_ALL; i++) {
		hold(ann);
		extend(ann, 60000);
		say(&wrong[i]);
		expect_end(ann, LEASH_PROTOCOL);
		expect_left(ann, 29698);
		begin_anew();
	}
}

SENTENCE(a_wrong_answer_to_a_heartbeat_gets_nobody_a_lock)
{
	for (size_t i = 0; i < WRONG_FOR_ALL; i++) {
		acquire(ann, 10000);
		answer(QUEUED);
		pass(1000);
		say(&wrong[i]);
		expect_left(ann, 0);
		close_client();
		begin_anew();
	}
}

/* ---- what is in the way ---- */

SENTENCE(beside_one_who_waits_too_a_server_that_is_away_is_unavailable)
{
	cut();
	acquire(ann, LEASH_FOREVER);
	acquire(bob, 0);
	expect_end(bob, LEASH_UNAVAILABLE);
	acquire(bob, 100);
	pass(100);
	expect_end(bob, LEASH_UNAVAILABLE);
	cancel(ann);
}

SENTENCE(who_stands_behind_one_who_is_guarded_hears_what_that_one_hears)
{
	ann->terms.restart_guard_ms = 3600000;
	restart();
	acquire(ann, LEASH_FOREVER);
	acquire(bob, 0);
	expect_end(bob, LEASH_UNAVAILABLE);
	expect_why(bob, "restart_guard_ms");
	acquire(bob, 100);
	pass(100);
	expect_end(bob, LEASH_UNAVAILABLE);
	expect_why(bob, "restart_guard_ms");
	cancel(ann);
}

SENTENCE(who_stands_behind_one_who_waits_for_its_turn_waits_too)
{
	acquire(ann, LEASH_FOREVER);
	answer(QUEUED);
	acquire(bob, 0);
	expect_end(bob, LEASH_TIMEOUT);
	acquire(bob, 100);
	pass(100);
	expect_end(bob, LEASH_TIMEOUT);
	cancel(ann);
}

/* A place outlives a restart of a server that keeps its data; but the holder before may not be the only one whom the
 * server has forgotten. */
SENTENCE(neither_a_message_nor_a_heartbeat_grants_before_the_guard_is_over)
{
	ann->terms.restart_guard_ms = 4000;
	acquire(ann, LEASH_FOREVER);
	answer(QUEUED);
	restart();
	message_granted(1);
	expect_waiting(ann);
	answer(HELD);
	expect_waiting(ann);
	world_sent();
	pass(3999);
	expect_waiting(ann);
	pass(1001);
	answer(HELD);
	expect_end(ann, LEASH_OK);
}

SENTENCE(after_a_restart_nothing_is_asked_for_while_its_guard_lasts)
{
	ann->terms.restart_guard_ms = 2000;
	restart();
	acquire(ann, 5000);
	pass(1999);
	expect_sent("");
	pass(1);
	expect_sent("acquire 1");
}

SENTENCE(a_refusal_that_is_for_good_ends_the_wait)
{
	acquire(ann, 1000);
	refuse("WRONGTYPE Operation against a key holding the wrong kind of value");
	expect_end(ann, LEASH_MISMATCH);
	expect_sent("acquire 1, release 1"); /* whatever it had done by then */
	refuse("WRONGTYPE Operation against a key holding the wrong kind of value");
	pass(100000);
	expect_sent("");
}

SENTENCE(who_waits_is_told_of_a_key_that_was_replaced_by_its_next_word)
{
	acquire(ann, LEASH_FOREVER);
	answer(QUEUED);
	pass(1000);
	refuse("WRONGTYPE Operation against a key holding the wrong kind of value");
	expect_sent("acquire 1, heartbeat 1, release 1, acquire 2");
	answer(GONE);
	refuse("WRONGTYPE Operation against a key holding the wrong kind of value");
	expect_end(ann, LEASH_MISMATCH);
	expect_why(ann, "lock 'orders'");
}

SENTENCE(what_went_out_over_connections_that_are_gone_is_canceled_until_it_cannot_be_executed)
{
	acquire(ann, 2000);
	cut();
	reconnect();
	answer(QUEUED);
	cancel(ann);
	answer(LEFT); /* the first request may come behind this */
	pass(2100);
	expect_sent("acquire 1, acquire 1, release 1, release 1");
}

SENTENCE(a_request_that_never_left_does_not_make_the_one_before_it_unsent)
{
	acquire(ann, 10000);
	cut();
	be_stuck();
	reconnect();
	cut();
	pass(10000);
	reconnect();
	expect_sent("acquire 1, release 1");
}

SENTENCE(a_script_that_ended_with_an_error_may_have_done_something)
{
	acquire(ann, 1000);
	refuse("ERR user_script:27: an error in the middle");
	expect_sent("acquire 1, release 1");
}

SENTENCE(a_grant_that_comes_when_it_is_over_is_none)
{
	ann->terms.lease_ms = 3000;
	acquire(ann, 10000);
	pass(4000);
	answer(HELD);
	expect_waiting(ann);
	expect_sent("acquire 1, release 1, acquire 2");
}

SENTENCE(who_wants_a_shorter_lease_does_not_take_over_a_request_for_a_longer_one)
{
	ann->terms.lease_ms = 60000;
	acquire(ann, 10000);
	acquire(bob, 10000);
	cancel(ann);
	expect_sent("acquire 1, release 1, acquire 2");
}

SENTENCE(a_grant_that_was_asked_for_by_another_ends_with_max_hold_ms)
{
	bob->terms.max_hold_ms = 10000;
	acquire(ann, 10000);
	acquire(bob, 10000);
	cancel(ann);
	answer(HELD);
	expect_end(bob, LEASH_OK);
	expect_left(bob, 10000);
}

/* ---- the queue ---- */

SENTENCE(who_would_not_be_told_takes_no_place_before_it_is_listened_again)
{
	cut_messages();
	acquire(ann, 10000);
	expect_sent("try 1");
	answer(TAKEN);
	reconnect();
	expect_sent("acquire 1");
}

SENTENCE(a_message_grants_what_is_waited_for_for_as_long_as_its_claim_counts)
{
	acquire(ann, 10000);
	answer(QUEUED);
	pass(900);
	message_granted(1);
	expect_end(ann, LEASH_OK);
	expect_left(ann, 3000 - 30 - 2 - 900); /* from the request, not from the message */
}

SENTENCE(a_message_with_a_fence_that_was_seen_here_is_asked_about)
{
	acquire(ann, 1000);
	answer(HELD);
	release(ann);
	answer(RELEASED);
	acquire(bob, 10000);
	answer(QUEUED);
	message_with_the_last_fence(2);
	expect_waiting(bob);
	expect_sent("acquire 1, release 1, acquire 2, heartbeat 2");
}

static void
let_ann_wait(void)
{
	acquire(ann, 600000);
	answer(QUEUED);
	world_sent();
}

SENTENCE(a_message_with_a_token_that_was_never_issued_is_nobodys_and_costs_no_word)
{
	char token[100];

	let_ann_wait();
	for (unsigned n = 0; n < 2000; n++) {
		snprintf(token, sizeof token, "%.36s:%llu", wire_token(1), n % 2 ? (unsigned long long)n : ~0ull - n);
		message_of(token, NOW_US + 1000);
	}
	expect_waiting(ann);
	expect_sent("");
	message_granted(1);
	expect_end(ann, LEASH_OK);
}

SENTENCE(a_message_with_a_fence_that_cannot_be_is_asked_about)
{
	static const int64_t fences[] = {1, NOW_US + INT64_C(3600000000), (INT64_C(1) << 53) - 2};

	let_ann_wait();
	for (size_t i = 0; i < COUNT(fences); i++) {
		message_of(wire_token(1), fences[i]);
		expect_waiting(ann);
		expect_sent("heartbeat 1");
		answer(QUEUED);
	}
}

/* Of a token that waits, and of one that is over. */
SENTENCE(messages_that_come_again_and_again_are_heeded_forty_times_a_second)
{
	for (int over = 0; over < 2; over++) {
		int words = 0;

		if (over) {
			hold(bob);
			release(bob);
			answer(RELEASED);
		}
		let_ann_wait();
		for (int ms = 0; ms < 10000; ms++) {
			message_of(wire_token(1), over ? NOW_US + 1000 : 1);
			for (const char *sent = world_sent(); *sent != '\0'; words++) {
				answer(*sent == 'h' ? QUEUED : GONE); /* a heartbeat, or the cancel of what is over */
				sent += strcspn(sent, ",");
				sent += strspn(sent, ", ");
			}
			pass(1);
		}
		expect_waiting(ann);
		assert_in_range(words, 300, 32 + 10 * 40 + 12); /* and the words that it says anyhow */
		begin_anew();
	}
}

SENTENCE(a_message_from_a_server_to_which_no_command_goes_is_not_believed)
{
	acquire(ann, 10000);
	answer(QUEUED);
	cut();
	message_granted(1);
	expect_waiting(ann);
	reconnect();
	expect_sent("acquire 1, heartbeat 1");
}

SENTENCE(an_answered_heartbeat_moves_on_what_a_claim_counts_from)
{
	acquire(ann, 10000);
	answer(QUEUED);
	pass(1000);
	expect_sent("acquire 1, heartbeat 1");
	pass(300);
	answer(QUEUED);
	message_granted(1);
	expect_left(ann, 3000 - 30 - 2 - 300); /* from when the heartbeat was sent */
}

SENTENCE(a_heartbeat_that_is_not_answered_moves_nothing)
{
	acquire(ann, 10000);
	answer(QUEUED);
	pass(1100);
	expect_sent("acquire 1, heartbeat 1");
	message_granted(1);
	expect_left(ann, 3000 - 30 - 2 - 1100);
}

/* And a grant by a word counts as one by an answer. */
SENTENCE(a_fence_that_does_not_grow_is_told)
{
	static const struct {
		int us; /* from the clock */
		bool by_word, is_one;
	} grants[] = {{0, false, false}, {0, false, true}, {-1, false, true}, {1, false, false}, {-900, false, true},
	              {-899, false, false}, {-899, true, true}, {-898, true, false}};

	for (size_t i = 0; i < COUNT(grants); i++) {
		int64_t fence = NOW_US + grants[i].us;

		acquire(ann, 10000);
		if (grants[i].by_word) {
			answer(QUEUED);
			pass(1000);
			answer_fence(fence);
		} else {
			say(&(struct lsh_message){LSH_INTEGER, 1, {{LSH_INTEGER, fence, "", 0}}});
		}
		expect_end(ann, LEASH_OK);
		assert_int_equal(world_fence(ann), fence * 256);
		expect_told(grants[i].is_one ? "ann FENCE_REGRESSION" : "");
		release(ann);
		answer(RELEASED);
	}
}

SENTENCE(no_heartbeat_moves_the_claim_of_a_token_that_was_asked_for_twice)
{
	acquire(ann, 10000);
	cut();
	reconnect();
	answer(QUEUED);
	pass(1000);
	answer(QUEUED);
	expect_sent("acquire 1, acquire 1, heartbeat 1");
	message_granted(1);
	expect_left(ann, 3000 - 30 - 2 - 1000);
}

SENTENCE(a_grant_that_comes_twice_counts_once)
{
	acquire(ann, 10000);
	answer(QUEUED);
	message_granted(1);
	pass(100);
	message_granted(1);
	expect_left(ann, 3000 - 30 - 2 - 100);
	expect_sent("acquire 1");
}

SENTENCE(a_grant_for_a_token_that_is_gone_is_canceled)
{
	acquire(ann, 1000);
	answer(HELD);
	release(ann);
	answer(RELEASED);
	expect_sent("acquire 1, release 1");
	message_granted(1);
	expect_sent("release 1");
}

SENTENCE(a_grant_that_comes_in_front_of_the_answer_counts)
{
	acquire(ann, 10000);
	message_granted(1);
	expect_end(ann, LEASH_OK);
	answer(QUEUED);
	expect_left(ann, 3000 - 30 - 2);
	expect_sent("acquire 1");
}

SENTENCE(a_grant_whose_claim_is_over_is_asked_about)
{
	acquire(ann, 10000);
	answer(QUEUED);
	pass(2969);
	expect_sent("acquire 1, heartbeat 1"); /* which is not answered */
	message_granted(1);
	expect_waiting(ann);
}

SENTENCE(a_heartbeat_learns_of_a_grant_whose_message_was_lost)
{
	acquire(ann, 10000);
	answer(QUEUED);
	pass(1000);
	answer(HELD);
	expect_end(ann, LEASH_OK);
	expect_left(ann, 29698);
}

SENTENCE(a_token_that_the_server_does_not_know_is_dead_and_the_wait_goes_on_with_another)
{
	acquire(ann, 10000);
	answer(QUEUED);
	pass(1000);
	answer(GONE);
	expect_sent("acquire 1, heartbeat 1, release 1, acquire 2");
}

SENTENCE(who_is_canceled_while_it_waits_leaves_the_queue)
{
	acquire(ann, LEASH_FOREVER);
	answer(QUEUED);
	cancel(ann);
	expect_end(ann, LEASH_CANCELED);
	expect_sent("acquire 1, release 1");
	answer(LEFT);
	pass(100000);
	expect_sent("");
}

SENTENCE(who_is_canceled_while_its_grant_is_on_the_way_gives_it_back)
{
	acquire(ann, LEASH_FOREVER);
	answer(QUEUED);
	cancel(ann);
	expect_end(ann, LEASH_CANCELED);
	expect_sent("acquire 1, release 1");
	message_granted(1); /* it was sent before the release came */
	expect_left(ann, 0);
	answer(RELEASED);
	pass(100000);
	expect_sent("");
}

SENTENCE(who_is_canceled_before_the_answer_has_nothing_whenever_it_comes)
{
	acquire(ann, LEASH_FOREVER);
	cancel(ann);
	expect_end(ann, LEASH_CANCELED);
	answer(HELD);
	expect_left(ann, 0);
	expect_sent("acquire 1, release 1");
	answer(RELEASED);
	pass(100000);
	expect_sent("");
}

SENTENCE(the_next_of_the_process_waits_on_in_the_place_of_who_has_left)
{
	acquire(ann, 1000);
	acquire(bob, 10000);
	answer(QUEUED);
	pass(1000);
	expect_end(ann, LEASH_TIMEOUT);
	expect_sent("acquire 1, heartbeat 1");
	message_granted(1);
	expect_end(bob, LEASH_OK);
}

SENTENCE(each_who_waits_for_a_fair_lock_has_a_place_and_one_heartbeat_speaks_for_all)
{
	make_fair();
	acquire(ann, 10000);
	acquire(bob, 10000);
	expect_sent("acquire 1, acquire 2");
	answer(QUEUED);
	answer(QUEUED);
	pass(1000);
	expect_sent("heartbeat 1 2");
}

/* ---- what is held ---- */

SENTENCE(a_hold_is_renewed_at_a_third_of_its_lease)
{
	hold(ann);
	pass(9999);
	expect_sent("");
	pass(1);
	expect_sent("renew 1");
	expect_left(ann, 19698); /* no more by what was sent */
	answer(KEPT);
	expect_left(ann, 29698);
}

SENTENCE(a_renewal_that_crosses_a_release_changes_nothing)
{
	hold(ann);
	pass(10000);
	release(ann);
	expect_sent("renew 1, release 1");
	answer(KEPT);
	answer(RELEASED);
	expect_end(ann, LEASH_OK);
	pass(100000);
	expect_sent("");
}

SENTENCE(no_renewal_follows_a_release)
{
	hold(ann);
	release(ann);
	answer(RELEASED);
	pass(100000);
	expect_sent("release 1");
}

SENTENCE(a_lease_that_nobody_renews_is_lost_at_the_moment_at_which_it_ends)
{
	hold(ann);
	cut();
	pass(29697);
	expect_left(ann, 1);
	expect_told("ann JEOPARDY");
	pass(1);
	expect_left(ann, 0);
	expect_told("ann LOST");
}

SENTENCE(without_its_watchdog_a_hold_ends_with_its_lease_all_the_same)
{
	hold(ann);
	let_watchdog_rest();
	pass(29697);
	expect_left(ann, 1);
	pass(1);
	expect_left(ann, 0);
	expect_told("");
}

SENTENCE(renewals_that_are_not_answered_are_a_jeopardy_and_then_a_loss)
{
	hold(ann);
	pass(29697);
	expect_told("ann JEOPARDY");
	pass(1);
	expect_told("ann LOST");
	release(ann);
	expect_end(ann, LEASH_LOST);
}

SENTENCE(a_renewal_that_is_answered_again_ends_the_jeopardy)
{
	hold(ann);
	pass(10000);
	refuse("LOADING Redis is loading the dataset in memory");
	expect_told("ann JEOPARDY");
	expect_sent("renew 1, renew 1");
	answer(KEPT);
	expect_told("ann RECOVERED");
}

SENTENCE(what_the_server_does_not_have_any_more_is_lost_at_the_next_renewal)
{
	hold(ann);
	pass(10000);
	answer(GONE);
	expect_told("ann LOST");
	expect_sent("renew 1, release 1");
}

SENTENCE(a_renewal_whose_script_is_not_there_brings_it)
{
	hold(ann);
	pass(10000);
	refuse("NOSCRIPT No matching script. Please use EVAL.");
	expect_sent("renew 1, renew 1 with source");
	answer(KEPT);
	expect_told("");
}

SENTENCE(a_connection_on_which_a_renewal_is_not_answered_for_a_quarter_of_its_lease_is_left)
{
	ann->terms.lease_ms = 3000;
	hold(ann);
	pass(1749);
	expect_sent("renew 1");
	pass(1);
	expect_sent("renew 1");
	answer(KEPT);
	expect_left(ann, 3000 - 30 - 2);
}

SENTENCE(a_renewal_that_finds_nothing_takes_nothing_from_the_next_hold)
{
	hold(ann);
	pass(10000);
	release(ann);
	acquire(bob, 1000);
	message_granted(2);
	answer(GONE);
	expect_sent("renew 1, release 1, acquire 2");
	expect_left(bob, 3000 - 30 - 2);
}

SENTENCE(what_was_lost_stays_lost_whatever_the_answer)
{
	hold(ann);
	cut();
	pass(29690);
	reconnect();
	expect_sent("renew 1");
	pass(8);
	answer(KEPT);
	expect_left(ann, 0);
	expect_told("ann JEOPARDY, ann LOST");
}

SENTENCE(a_release_that_meets_the_end_of_the_lease_is_one_end)
{
	for (int gone = 0; gone < 2; gone++) {
		hold(ann);
		cut();
		pass(29690);
		reconnect();
		expect_told("ann JEOPARDY");
		release(ann);
		expect_sent("renew 1, release 1");
		pass(8);
		answer(gone ? GONE : KEPT);
		answer(gone ? GONE : RELEASED);
		expect_end(ann, gone ? LEASH_LOST : LEASH_OK);
		pass(1000);
		expect_told("");
		begin_anew();
	}
}

SENTENCE(a_renewal_that_is_answered_when_the_lease_is_over_brings_nothing_back)
{
	hold(ann);
	pass(10000);
	stand_still(20000);
	answer(KEPT);
	expect_left(ann, 0);
}

SENTENCE(what_is_held_is_renewed_over_the_next_connection)
{
	hold(ann);
	cut();
	pass(1000);
	reconnect();
	expect_sent("renew 1");
}

SENTENCE(a_hand_off_within_the_process_sends_nothing_and_has_a_fence_of_its_own)
{
	uint64_t fence;

	hold(ann);
	fence = world_fence(ann);
	acquire(bob, 1000);
	release(ann);
	expect_end(bob, LEASH_OK);
	expect_sent("");
	assert_int_equal(world_fence(bob), fence + 1);
}

SENTENCE(a_turn_of_a_process_ends_and_its_next_request_goes_out_behind_the_release)
{
	hold(ann);
	acquire(bob, 1000);
	pass(10); /* as long as a turn may last */
	release(ann);
	expect_sent("release 1, acquire 2");
	answer(RELEASED);
	expect_end(ann, LEASH_OK);
	expect_waiting(bob);
}

SENTENCE(an_owner_nests_without_a_word_until_its_last_release)
{
	hold(ann);
	acquire(ann, 0);
	expect_end(ann, LEASH_OK);
	release(ann);
	expect_sent("");
	expect_left(ann, 29698);
	release(ann);
	expect_sent("release 1");
}

SENTENCE(what_another_client_has_left_is_adopted_by_a_heartbeat_and_renewed)
{
	adopt(ann);
	expect_sent("heartbeat 1");
	answer(HELD);
	expect_end(ann, LEASH_OK);
	expect_left(ann, 29698);
	pass(10000);
	expect_sent("renew 1");
}

SENTENCE(who_waits_is_granted_the_lock_once_although_an_adoption_had_it)
{
	acquire(ann, 10000);
	answer(QUEUED);
	adopt(bob);
	answer(HELD);
	expect_end(bob, LEASH_OK);
	world_sent();
	message_granted(1); /* whoever bob has it from has released it */
	expect_end(ann, LEASH_OK);
	expect_told("bob LOST");
	expect_sent("release 2");
}

SENTENCE(an_adoption_that_tries_again_is_told_of_a_break)
{
	adopt(ann);
	refuse("LOADING Redis is loading the dataset in memory");
	break_lock(bob);
	expect_sent("heartbeat 1, release 1");
	answer(RELEASED);
	expect_end(bob, LEASH_OK);
	pass(300);
	expect_sent("heartbeat 1");
	answer(GONE);
	expect_end(ann, LEASH_NOT_HELD);
}

SENTENCE(who_lost_it_does_not_nest)
{
	hold(ann);
	pass(29698);
	expect_left(ann, 0);
	acquire(ann, 1000);
	expect_end(ann, LEASH_LOST);
}

SENTENCE(who_nests_when_its_lease_is_over_is_told_that_it_was_lost)
{
	hold(ann);
	stand_still(30000);
	acquire(ann, 1000);
	expect_end(ann, LEASH_LOST);
}

SENTENCE(what_ends_by_other_terms_is_not_handed_on)
{
	hold(ann);
	bob->terms.max_hold_ms = 60000;
	acquire(bob, 10000);
	release(ann);
	expect_waiting(bob);
	expect_sent("release 1, acquire 2");
}

/* ---- replicas, which are asked over a connection of their own: b ---- */

/* It is renewed there, and then so many have that. */
static void
acknowledge(enum answer what)
{
	on('b');
	answer(KEPT);
	answer(what);
}

static void
ask_with_a_replica(int64_t wait_ms)
{
	ann->terms.safety.min_replicas = 1;
	acquire(ann, wait_ms);
	answer(HELD);
}

SENTENCE(what_was_granted_counts_once_a_replica_has_it)
{
	ask_with_a_replica(1000);
	expect_waiting(ann);
	acknowledge(KEPT);
	expect_end(ann, LEASH_OK);
	expect_sent("acquire 1, renew 1 at b, wait at b");
}

SENTENCE(what_a_replica_has_counts_from_when_it_was_renewed)
{
	ann->terms.safety.min_replicas = 1;
	acquire(ann, 10000);
	answer(HELD);
	on('b');
	answer(KEPT);
	pass(900);
	answer(KEPT);
	expect_end(ann, LEASH_OK);
	expect_left(ann, 29698 - 900);
}

SENTENCE(what_was_granted_and_no_replica_has_in_time_is_canceled)
{
	ask_with_a_replica(10000);
	acknowledge(GONE);
	pass(5000);
	expect_end(ann, LEASH_UNAVAILABLE);
	expect_sent("acquire 1, renew 1 at b, wait at b, renew 1 at b, wait at b, release 1 at a");
}

SENTENCE(whom_the_replicas_fail_is_told_so_although_another_of_the_process_has_it_by_then)
{
	make_fair();
	ask_with_a_replica(10000);
	acquire(bob, 10000);
	answer(HELD);
	expect_end(bob, LEASH_OK);
	pass(5000);
	expect_end(ann, LEASH_UNAVAILABLE);
}

SENTENCE(a_break_of_what_waits_for_replicas_ends_that_acquire)
{
	ann->terms.safety.min_replicas = 1;
	acquire(ann, 10000);
	answer(HELD);
	break_token(bob, 1);
	answer(RELEASED);
	expect_end(bob, LEASH_OK);
	expect_end(ann, LEASH_UNAVAILABLE);
}

SENTENCE(of_two_who_adopt_one_token_one_is_told_so_while_it_waits_for_replicas)
{
	ann->terms.safety.min_replicas = bob->terms.safety.min_replicas = 1;
	adopt(ann);
	adopt(bob);
	answer(HELD);
	answer(HELD);
	expect_end(bob, LEASH_INVALID);
	on('b');
	answer(KEPT);
	answer(KEPT);
	expect_end(ann, LEASH_OK);
}

SENTENCE(what_is_adopted_and_no_replica_has_in_time_stays_as_it_was)
{
	ann->terms.safety.min_replicas = 1;
	adopt(ann);
	answer(HELD);
	acknowledge(GONE);
	pass(5000);
	expect_end(ann, LEASH_UNAVAILABLE);
	expect_sent("heartbeat 1, renew 1 at b, wait at b, renew 1 at b, wait at b");
}

SENTENCE(what_is_adopted_and_no_replica_has_before_its_lease_is_over_stays_as_it_was)
{
	ann->terms.safety = (struct lsh_safety){.min_replicas = 1, .replicas_ms = 30000};
	adopt(ann);
	answer(HELD);
	cut();
	pass(29698);
	reconnect();
	expect_end(ann, LEASH_UNAVAILABLE);
	expect_sent("heartbeat 1, renew 1 at b");
}

SENTENCE(who_is_canceled_while_the_replicas_are_asked_releases)
{
	ask_with_a_replica(LEASH_FOREVER);
	cancel(ann);
	expect_end(ann, LEASH_CANCELED);
	on('b');
	answer(KEPT);
	expect_left(ann, 0);
	expect_sent("acquire 1, renew 1 at b, release 1 at a");
}

SENTENCE(a_close_ends_the_wait_for_replicas_and_releases)
{
	ask_with_a_replica(LEASH_FOREVER);
	later(60, RELEASED);
	close_client();
	expect_end(ann, LEASH_CLOSED);
	expect_sent("acquire 1, renew 1 at b, release 1 at a");
	assert_int_equal(world_ms(), 60);
}

static void
hold_with_a_replica(void)
{
	ask_with_a_replica(1000);
	acknowledge(KEPT);
	expect_end(ann, LEASH_OK);
	world_sent();
}

SENTENCE(until_a_replica_has_it_nobody_holds_it)
{
	ask_with_a_replica(10000);
	bob->acts_for = ann;
	release(bob);
	expect_end(bob, LEASH_NOT_HELD);
	extend(bob, 60000);
	expect_end(bob, LEASH_NOT_HELD);
	expect_left(ann, 0);
	acknowledge(KEPT);
	expect_end(ann, LEASH_OK);
}

SENTENCE(nesting_and_handing_on_within_the_process_ask_no_replica)
{
	hold_with_a_replica();
	acquire(ann, 1000);
	release(ann);
	bob->terms.safety.min_replicas = 1;
	acquire(bob, 1000);
	release(ann);
	expect_end(bob, LEASH_OK);
	expect_sent("");
}

SENTENCE(who_wants_more_replicas_than_the_one_before_is_not_handed_the_lock)
{
	hold_with_a_replica();
	bob->terms.safety.min_replicas = 2;
	acquire(bob, 1000);
	release(ann);
	expect_waiting(bob);
	expect_sent("release 1 at a, acquire 2 at a");
}

SENTENCE(renewals_that_no_replica_acknowledges_are_a_jeopardy_and_then_a_loss)
{
	hold_with_a_replica();
	pass(10000);
	answer(KEPT);
	pass(7000);
	answer(GONE);
	expect_told("ann JEOPARDY");
	expect_left(ann, 29698 - 17000);
	pass(29698 - 17000);
	expect_told("ann LOST");
}

/* Whoever asks the replicas hears of it first. */
SENTENCE(what_too_few_replicas_have_past_the_lease_is_lost_also_without_the_watchdog)
{
	ann->terms.lease_ms = 3000;
	hold_with_a_replica();
	pass(1000);
	answer(KEPT);
	let_watchdog_rest();
	sleep_through(2500);
	expect_told("");
	answer(GONE);
	expect_told("ann LOST");
}

SENTENCE(a_replica_that_is_late_for_less_than_a_lease_costs_no_hold)
{
	hold_with_a_replica();
	pass(10000);
	answer(KEPT);
	pass(7000);
	answer(GONE);
	expect_told("ann JEOPARDY");
	pass(1000);
	answer(KEPT);
	answer(KEPT);
	expect_told("ann RECOVERED");
	expect_left(ann, 29698 - 1000);
}

SENTENCE(an_extension_counts_once_a_replica_has_it)
{
	ann->terms.safety.replicas_ms = 1000;
	hold_with_a_replica();
	extend(ann, 60000);
	answer(KEPT);
	answer(GONE);
	expect_waiting(ann);
	expect_left(ann, 29698);
	pass(1000);
	expect_end(ann, LEASH_UNAVAILABLE);
	expect_why(ann, "0 of 1 replicas");
}

/* All who wait with it would wait as shortly. */
SENTENCE(who_is_about_to_give_up_asks_no_replicas_any_more)
{
	ann->terms.safety.replicas_ms = 2000;
	ask_with_a_replica(LEASH_FOREVER);
	on('b');
	for (int i = 0; i < 2; i++) {
		answer(KEPT);
		pass(700);
		world_sent();
		answer(GONE);
	}
	expect_sent("");
	pass(600);
	expect_end(ann, LEASH_UNAVAILABLE);
	expect_sent("release 1 at a");
}

SENTENCE(a_wait_that_is_not_permitted_is_named_and_the_lock_released)
{
	ask_with_a_replica(10000);
	on('b');
	answer(KEPT);
	refuse("NOPERM this user has no permissions to run the 'wait' command");
	expect_end(ann, LEASH_DENIED);
	expect_why(ann, "WAIT is not permitted");
	expect_sent("acquire 1, renew 1 at b, wait at b, release 1 at a");
}

SENTENCE(a_renewal_for_replicas_whose_script_is_not_there_brings_it)
{
	ask_with_a_replica(10000);
	on('b');
	refuse("NOSCRIPT No matching script. Please use EVAL.");
	answer(KEPT);
	answer(KEPT);
	expect_end(ann, LEASH_OK);
}

SENTENCE(where_the_connection_breaks_while_the_replicas_are_asked_they_are_asked_again)
{
	ask_with_a_replica(10000);
	on('b');
	answer(KEPT);
	cut();
	reconnect();
	answer(KEPT);
	answer(KEPT);
	expect_end(ann, LEASH_OK);
}

SENTENCE(one_that_is_not_renewed_is_acknowledged_all_the_same)
{
	ann->terms.no_renew = true;
	hold_with_a_replica();
	pass(29698);
	expect_told("ann LOST");
}

SENTENCE(an_extension_is_over_when_it_is_answered)
{
	hold(ann);
	extend(ann, 60000);
	expect_sent("renew 1");
	expect_waiting(ann);
	pass(100);
	answer(KEPT);
	expect_end(ann, LEASH_OK);
	expect_left(ann, 60000 - 600 - 2 - 100);
}

SENTENCE(an_extension_of_what_another_thread_releases_meanwhile_is_told_so)
{
	hold(ann);
	bob->acts_for = ann;
	extend(ann, 60000);
	release(bob);
	expect_end(ann, LEASH_NOT_HELD);
	expect_why(ann, "another thread released it");
	answer(KEPT);
	answer(RELEASED);
	expect_end(bob, LEASH_OK);
}

SENTENCE(of_two_extensions_at_once_each_is_as_long_as_was_asked_for)
{
	hold(ann);
	bob->acts_for = ann;
	extend(bob, 40000);
	extend(ann, 60000);
	answer(KEPT);
	expect_end(bob, LEASH_OK);
	expect_waiting(ann);
	answer(KEPT);
	expect_end(ann, LEASH_OK);
	expect_left(ann, 60000 - 600 - 2);
}

/* ---- clocks ---- */

SENTENCE(who_slept_past_the_end_of_its_lease_has_lost_before_anything_else)
{
	hold(ann);
	sleep_through(60000);
	expect_left(ann, 0);
	expect_told("ann LOST");
	release(ann);
	expect_end(ann, LEASH_LOST);
}

SENTENCE(an_answer_that_is_read_when_its_lease_is_over_holds_nothing_and_it_is_asked_anew)
{
	acquire(ann, LEASH_FOREVER);
	sleep_through(4000);
	answer(HELD);
	expect_left(ann, 29698 - 4000);
	release(ann);
	answer(RELEASED);
	ann->terms.lease_ms = 3000;
	acquire(ann, LEASH_FOREVER);
	world_sent();
	sleep_through(4000);
	answer(HELD);
	expect_waiting(ann);
	expect_sent("release 2, acquire 3");
}

SENTENCE(a_wait_whose_end_was_slept_through_is_over)
{
	acquire(ann, 300000);
	answer(QUEUED);
	sleep_through(600000);
	expect_end(ann, LEASH_TIMEOUT);
}

SENTENCE(a_first_answer_tells_that_the_servers_clock_jumped)
{
	acquire(ann, 1000);
	set_clock(-3600000);
	answer(HELD);
	expect_told("clock -3600 s");
	release(ann);
	answer(RELEASED);
	set_clock(0);
	acquire(ann, 1000);
	answer(TOO_LATE);
	expect_told("clock +3600 s");
	assert_int_equal(world_limit_ms(), 1000); /* it is aimed anew */
	answer(HELD);
	expect_end(ann, LEASH_OK);
}

SENTENCE(a_hold_that_a_jump_of_the_servers_clock_took_is_lost_at_the_next_renewal)
{
	hold(ann);
	set_clock(60000);
	expect_left(ann, 29698);
	pass(10000);
	answer(GONE);
	expect_told("ann LOST");
}

SENTENCE(our_wall_clock_has_no_effect)
{
	static const int64_t days[] = {1, -1, 365, -365};

	for (size_t i = 0; i < COUNT(days); i++) {
		acquire(ann, 1000);
		set_wall_clock(days[i] * 86400000);
		assert_int_equal(world_limit_ms(), 1000);
		answer(HELD);
		expect_left(ann, 29698);
		pass(10000);
		answer(KEPT);
		expect_left(ann, 29698);
		set_wall_clock(0);
		release(ann);
		answer(RELEASED);
		expect_end(ann, LEASH_OK);
	}
	expect_told("");
}

/* Whichever reading of the clock fails in the course of it: it ends with a word for it, and nothing is left. */
static bool
live_with_a_clock_that_fails_at(int n)
{
	bool failed;

	acquire(ann, 1000);
	fail_clock(n);
	answer(QUEUED);
	pass(500);
	if (ann->is_busy && wire_first(0) != NULL)
		cut();
	reconnect();
	pass(500);
	failed = clock_failed();
	fail_clock(0);
	assert_false(ann->is_busy);
	assert_true(ann->op.status == LEASH_TIMEOUT || ann->op.status == LEASH_UNAVAILABLE);
	expect_left(ann, 0);
	return failed;
}

SENTENCE(a_timed_wait_ends_whichever_reading_of_the_clock_fails)
{
	int n = 1;

	while (live_with_a_clock_that_fails_at(n)) {
		begin_anew();
		n++;
	}
	assert_true(n > 10);
}

SENTENCE(a_hold_whose_lease_cannot_be_timed_counts_as_over)
{
	hold(ann);
	fail_clock(1);
	expect_left(ann, 0);
	expect_left(ann, 29698);
}

SENTENCE(what_was_granted_while_a_reading_of_the_clock_failed_is_held_or_given_back)
{
	for (int n = 1; n <= 12; n++) {
		acquire(ann, 1000);
		fail_clock(n);
		answer(HELD);
		fail_clock(0);
		pass(1000);
		if (ann->op.status != LEASH_OK)
			expect_left(ann, 0);
		world_sent();
		cut();
		pass(29698);
		expect_left(ann, 0);
		begin_anew();
	}
}

/* ---- releasing ---- */

SENTENCE(a_release_whose_answer_was_lost_is_no_loss)
{
	hold(ann);
	release(ann);
	cut();
	reconnect();
	expect_sent("release 1, release 1");
	answer(GONE);
	expect_end(ann, LEASH_OK);
}

SENTENCE(a_release_that_is_not_answered_in_time_is_unknown_and_is_sent_until_it_is)
{
	hold(ann);
	release(ann);
	cut();
	pass(10000);
	expect_end(ann, LEASH_UNKNOWN);
	expect_left(ann, 0);
	reconnect();
	expect_sent("release 1, release 1");
	refuse("LOADING Redis is loading the dataset in memory");
	pass(1000);
	expect_sent("release 1");
	answer(RELEASED);
	pass(100000);
	expect_sent("");
}

SENTENCE(a_release_that_finds_nothing_says_that_it_was_lost)
{
	hold(ann);
	release(ann);
	answer(GONE);
	expect_end(ann, LEASH_LOST);
}

SENTENCE(what_is_not_answered_has_lapsed_with_the_longest_lease_that_was_asked_for)
{
	hold(ann);
	extend(ann, 90000);
	answer(KEPT);
	release(ann);
	expect_sent("renew 1, release 1");
	cut();
	pass(70000);
	reconnect();
	expect_sent("release 1");
	cut();
	pass(50000);
	reconnect();
	expect_sent("");
}

SENTENCE(a_close_ends_the_wait_at_once_and_takes_back_what_was_asked_for)
{
	acquire(ann, LEASH_FOREVER);
	later(50, HELD);
	later(60, RELEASED);
	close_client();
	expect_end(ann, LEASH_CLOSED);
	expect_sent("acquire 1, release 1");
	assert_int_equal(world_ms(), 60);
}

SENTENCE(a_close_lasts_until_no_request_can_come_and_no_longer)
{
	static const int64_t answers_ms[] = {260, 770, 1780, 2100}; /* to cancels that are 250, 500 and 1000 ms apart */

	acquire(ann, 2000);
	cut();
	cancel(ann);
	reconnect();
	answer(GONE); /* the request may come until its 2 s are over */
	for (size_t i = 0; i < COUNT(answers_ms); i++)
		later(answers_ms[i], GONE);
	close_client();
	assert_int_equal(world_ms(), 2100);
}

SENTENCE(a_close_ends_an_adoption_at_once)
{
	adopt(ann);
	expect_sent("heartbeat 1");
	close_client();
	expect_end(ann, LEASH_CLOSED);
}

SENTENCE(a_close_releases_what_is_held)
{
	hold(ann);
	later(50, RELEASED);
	close_client();
	expect_sent("release 1");
	assert_int_equal(world_ms(), 50);
}

