/* One server, to the answer: what the core says to it, in which order, and what it makes of what comes back. */
#include "tests/core/scene.h"
#include "tests/core/wire.h"

FIXTURE(world_begin, world_end);

#define NOW_US INT64_C(1760100000000000) /* by the server's clock, when a test begins */

static void
begin_anew(void)
{
	world_end();
	world_begin();
}

/* ---- requests ---- */

SCENE(what_was_granted_is_held_until_it_is_released, "ann acquires 1000 -> acquire 1;"
      "HELD -> ann OK, ann left 29698;" /* from when it was sent: 1 % and 2 ms are for clocks that differ */
      "ann releases -> release 1; RELEASED -> ann OK")
SCENE(a_lease_counts_from_when_it_was_asked_for, "ann acquires 5000; pass 4000; HELD -> ann left 29698 - 4000")
SCENE(a_request_does_nothing_after_the_deadline_of_who_made_it,
      "ann acquires 1000 -> limit 1000; pass 900; TOO_LATE -> acquire 1, acquire 1, limit 100")
SCENE(a_request_does_nothing_after_one_timeout, "ann acquires -> limit 5000")
SCENE(a_request_whose_answer_was_lost_is_sent_again_with_its_token,
      "ann acquires 10000 -> acquire 1; cut -> ann waits; reconnect -> acquire 1; HELD -> ann OK")
SCENE(a_request_whose_answer_was_lost_is_canceled_when_its_time_is_over_and_the_next_has_a_new_token,
      "ann acquires 1000; cut; pass 1000 -> ann UNAVAILABLE; bob acquires 10000 -> acquire 1;"
      "reconnect -> acquire 2, release 1")
SCENE(the_cancel_of_a_request_goes_behind_it_and_in_front_of_the_next_token,
      "ann acquires 1000; pass 1000 -> ann UNAVAILABLE; bob acquires 1000 -> acquire 1, release 1, acquire 2")
SCENE(a_grant_that_comes_after_the_deadline_is_canceled_and_nobody_has_it,
      "ann acquires 1000; pass 1000 -> acquire 1, release 1; HELD -> ann left 0;"
      "RELEASED; pass 100000 -> nothing sent") /* over the same connection: nothing can come any more */
SCENE(a_cancel_is_repeated_until_the_lost_request_cannot_be_executed_any_more,
      "ann acquires 2000; cut; cancel ann; pass 1900; reconnect;"
      "GONE; pass 200 -> acquire 1, release 1, release 1") /* it may come over the connection that was cut, for 2 s */
SCENE(a_cancel_that_is_sent_when_the_time_of_the_lost_request_is_over_is_the_last,
      "ann acquires 1000; cut; pass 2000; reconnect -> acquire 1, release 1; GONE; pass 100000 -> nothing sent")
SCENE(a_request_for_which_there_was_no_room_goes_out_though_the_room_came_before_it_waited,
      "ann acquires 1000; HELD; be_full; ann releases -> acquire 1, release 1; RELEASED -> ann OK")
SCENE(a_request_that_never_left_needs_no_cancel,
      "be_stuck; ann acquires 1000; cut; pass 1000 -> ann UNAVAILABLE; reconnect -> nothing sent")
SCENE(who_only_tries_takes_no_place_and_leaves_nothing_to_cancel,
      "ann tries -> try 1; TAKEN -> ann TIMEOUT, nothing sent")
SCENE(who_is_too_late_is_told_how_to_find_out_who_has_it,
      "ann tries; TAKEN -> ann TIMEOUT, ann why another owner has it: `leash status` or leash_lock_inspect() says who")
SCENE(or_that_it_is_this_client_itself, "ann holds; bob tries -> bob TIMEOUT, bob why another thread or owner;"
      "bob acquires 900; pass 900 -> bob TIMEOUT, bob why other owners had it for all of 900 ms: another thread")
SCENE(a_try_whose_answer_was_lost_is_canceled,
      "ann tries; cut; pass 5000 -> ann UNAVAILABLE; reconnect -> try 1, release 1")
SCENE(a_request_that_came_too_late_is_sent_again_by_the_clock_that_was_learned,
      "ann acquires 1000; TOO_LATE -> acquire 1, acquire 1; HELD -> ann OK")

/* ---- refusals ---- */

SCENE(a_script_that_is_not_there_is_sent_with_its_source, "ann acquires 1000;"
      "refuse NOSCRIPT No matching script. Please use EVAL. -> acquire 1, acquire 1 with source; HELD -> ann OK")

SCENE(a_cluster_that_the_uri_does_not_name_is_unsupported, "ann acquires; refuse MOVED 3999 127.0.0.1:6381"
      " -> ann UNSUPPORTED; ann acquires; refuse ASK 3999 127.0.0.1:6381 -> ann UNSUPPORTED;"
      "ann acquires; refuse CROSSSLOT Keys in request don't hash to the same slot -> ann UNSUPPORTED")

/* Whatever its words are, of what a holder and one who waits may ask. */
SENTENCE(an_error_of_any_bytes_is_told_printable_and_cut)
{
	static const char *const words[] = {"", "ERR ", "READONLY ", "LOADING ", "NOPERM ", "OOM ", "WRONGTYPE ",
	                                    "MOVED 1 ", "MISCONF ", "NOAUTH ", "BUSY "};
	static const char *const asks[] = {"ann acquires 1000", "ann holds; ann extends 60000", "ann holds; ann releases"};

	for (size_t i = 0; i < COUNT(words) * COUNT(asks); i++) {
		char error[1000];
		size_t n = (size_t)snprintf(error, sizeof error, "%s", words[i / COUNT(asks)]);

		for (; n < sizeof error - 1; n++)
			error[n] = (char)(255 - n % 255);
		error[n] = '\0';
		play("%s", asks[i % COUNT(asks)]);
		refuse(error);
		pass(60000);
		assert_false(ann->is_busy);
		assert_int_not_equal(ann->op.status, LEASH_OK);
		for (const char *at = ann->op.why.text; *at != '\0'; at++)
			assert_in_range(*at, ' ', '~');
		begin_anew();
	}
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

/* Each of the first `count` comes instead of an answer to what was asked `before`. */
struct wrongly {
	const char *before, *after;
	size_t count;
};

static void
answer_wrongly(void)
{
	const struct wrongly *row = given;

	for (size_t i = 0; i < row->count; i++) {
		play("%s", row->before);
		say(&wrong[i]);
		play("%s", row->after);
		begin_anew();
	}
}

#define WRONGLY(title, ...) \
	SENTENCE_AS(title, #title, answer_wrongly, .given = &(const struct wrongly){__VA_ARGS__})

WRONGLY(a_wrong_answer_to_a_request_is_a_protocol_error_and_holds_nothing,
        "ann acquires", "-> ann PROTOCOL, ann why lock 'orders', ann left 0; GONE", COUNT(wrong)) /* to the cancel */
WRONGLY(a_wrong_answer_to_a_try_is_a_protocol_error_and_holds_nothing,
        "ann tries", "-> ann PROTOCOL, ann why lock 'orders', ann left 0; GONE", COUNT(wrong))
WRONGLY(a_wrong_answer_to_a_release_is_not_taken_for_done, "ann holds; ann releases",
        "-> ann PROTOCOL, ann left 0; pass 1000 -> release 1, release 1; RELEASED", WRONG_FOR_ALL)
WRONGLY(a_wrong_answer_to_a_renewal_is_a_jeopardy_and_the_renewal_is_sent_again, "ann holds; pass 10000",
        "-> told ann JEOPARDY; pass 300; KEPT -> told ann RECOVERED", WRONG_FOR_ALL)
WRONGLY(a_wrong_answer_to_an_extension_does_not_extend, "ann holds; ann extends 60000",
        "-> ann PROTOCOL, ann left 29698", WRONG_FOR_ALL)
WRONGLY(a_wrong_answer_to_a_heartbeat_gets_nobody_a_lock, "ann acquires 10000; QUEUED; pass 1000",
        "-> ann left 0; close_client", WRONG_FOR_ALL)

/* ---- what is in the way ---- */

SCENE(beside_one_who_waits_too_a_server_that_is_away_is_unavailable,
      "cut; ann acquires; bob tries -> bob UNAVAILABLE; bob acquires 100; pass 100 -> bob UNAVAILABLE; cancel ann")
SCENE(who_stands_behind_one_who_is_guarded_hears_what_that_one_hears, "ann wants restart_guard_ms 3600000;"
      "restart; ann acquires; bob tries -> bob UNAVAILABLE, bob why restart_guard_ms;"
      "bob acquires 100; pass 100 -> bob UNAVAILABLE, bob why restart_guard_ms; cancel ann")
SCENE(who_stands_behind_one_who_waits_for_its_turn_waits_too,
      "ann acquires; QUEUED; bob tries -> bob TIMEOUT; bob acquires 100; pass 100 -> bob TIMEOUT; cancel ann")
/* A place outlives a restart of a server that keeps its data; but it may have forgotten more than the last holder. */
SCENE(neither_a_message_nor_a_heartbeat_grants_before_the_guard_is_over,
      "ann wants restart_guard_ms 4000; ann acquires; QUEUED; restart; message_granted 1 -> ann waits;"
      "HELD -> ann waits; pass 3999 -> ann waits; pass 1001; HELD -> ann OK")
SCENE(after_a_restart_nothing_is_asked_for_while_its_guard_lasts,
      "ann wants restart_guard_ms 2000; restart; ann acquires 5000; pass 1999 -> nothing sent; pass 1 -> acquire 1")

#define WRONGTYPE "WRONGTYPE Operation against a key holding the wrong kind of value"

SCENE(a_refusal_that_is_for_good_ends_the_wait, "ann acquires 1000;"
      "refuse " WRONGTYPE " -> ann MISMATCH, acquire 1, release 1;" /* whatever it had done by then */
      "refuse " WRONGTYPE "; pass 100000 -> nothing sent")
SCENE(who_waits_is_told_of_a_key_that_was_replaced_by_its_next_word,
      "ann acquires; QUEUED; pass 1000; refuse " WRONGTYPE " -> acquire 1, heartbeat 1, release 1, acquire 2;"
      "GONE; refuse " WRONGTYPE " -> ann MISMATCH, ann why lock 'orders'")
SCENE(what_went_out_over_connections_that_are_gone_is_canceled_until_it_cannot_be_executed,
      "ann acquires 2000; cut; reconnect; QUEUED; cancel ann;"
      "LEFT; pass 2100 -> acquire 1, acquire 1, release 1, release 1") /* the first request may come behind this */
SCENE(a_request_that_never_left_does_not_make_the_one_before_it_unsent,
      "ann acquires 10000; cut; be_stuck; reconnect; cut; pass 10000; reconnect -> acquire 1, release 1")
SCENE(a_script_that_ended_with_an_error_may_have_done_something,
      "ann acquires 1000; refuse ERR user_script:27: an error in the middle -> acquire 1, release 1")
SCENE(a_grant_that_comes_when_it_is_over_is_none,
      "ann wants lease_ms 3000; ann acquires 10000; pass 4000; HELD -> ann waits, acquire 1, release 1, acquire 2")
SCENE(who_wants_a_shorter_lease_does_not_take_over_a_request_for_a_longer_one,
      "ann wants lease_ms 60000; ann acquires 10000; bob acquires 10000; cancel ann -> acquire 1, release 1, acquire 2")
SCENE(who_wants_a_shorter_lease_does_not_take_over_a_heartbeat_for_a_longer_one,
      "ann wants lease_ms 60000; ann acquires 10000; bob acquires 10000; QUEUED; pass 1000;"
      "cancel ann -> acquire 1, heartbeat 1, release 1, acquire 2")
SCENE(nor_a_place_whose_heartbeat_for_a_longer_one_was_lost,
      "ann wants lease_ms 60000; ann acquires 10000; bob acquires 10000; QUEUED; pass 1000; cut; reconnect; QUEUED;"
      "cancel ann -> acquire 1, heartbeat 1, heartbeat 1, release 1, acquire 2")
SCENE(nor_a_place_that_was_asked_for_twice_as_the_first_request_for_a_longer_one_may_still_come,
      "ann wants lease_ms 60000; ann acquires 10000; bob acquires 10000; cut; reconnect; QUEUED;"
      "cancel ann -> acquire 1, acquire 1, release 1, acquire 2")
SCENE(a_grant_that_was_asked_for_by_another_ends_with_max_hold_ms,
      "bob wants max_hold_ms 10000; ann acquires 10000; bob acquires 10000; cancel ann; HELD -> bob OK, bob left 10000")

/* ---- the queue ---- */

SCENE(who_would_not_be_told_takes_no_place_before_it_is_listened_again,
      "cut_messages; ann acquires 10000 -> try 1; TAKEN; reconnect -> acquire 1")
SCENE(a_message_grants_what_is_waited_for_for_as_long_as_its_claim_counts,
      "ann acquires 10000; QUEUED; pass 900;"
      "message_granted 1 -> ann OK, ann left 3000 - 30 - 2 - 900") /* from the request, not from the message */
SCENE(a_message_with_a_fence_that_was_seen_here_is_asked_about,
      "ann acquires 1000; HELD; ann releases; RELEASED; bob acquires 10000; QUEUED;"
      "message_with_the_last_fence 2 -> bob waits, acquire 1, release 1, acquire 2, heartbeat 2")
SCENE(so_is_one_that_comes_before_the_answer_to_a_heartbeat_which_was_sent_before_it_and_knows_nothing_of_it,
      "ann acquires 1000; HELD; ann releases; RELEASED; bob acquires 10000; QUEUED; pass 1000;"
      "message_with_the_last_fence 2 -> bob waits, acquire 1, release 1, acquire 2, heartbeat 2;"
      "QUEUED -> bob waits, heartbeat 2; HELD -> bob OK")

SENTENCE(a_message_with_a_token_that_was_never_issued_is_nobodys_and_costs_no_word_and_a_warning_a_second)
{
	char token[100];

	play("ann acquires 600000; QUEUED -> acquire 1");
	for (unsigned n = 0; n < 2000; n++) {
		snprintf(token, sizeof token, "%.36s:%llu", wire_token(1), n % 2 ? (unsigned long long)n : ~0ull - n);
		message_of(token, NOW_US + 1000);
		assert_int_equal(wire.warnings, 1 + n / 1000);
		if (n == 999) {
			pass(1000);
			answer(QUEUED); /* to the heartbeat that is due anyhow */
			world_sent();
		}
	}
	play("-> ann waits, nothing sent; message_granted 1 -> ann OK");
}

SENTENCE(a_message_with_a_fence_that_cannot_be_is_asked_about)
{
	static const int64_t fences[] = {1, NOW_US + INT64_C(3600000000), (INT64_C(1) << 53) - 2};

	play("ann acquires 600000; QUEUED -> acquire 1");
	for (size_t i = 0; i < COUNT(fences); i++) {
		message_of(wire_token(1), fences[i]);
		play("-> ann waits, heartbeat 1; QUEUED");
	}
}

/* Of a token that waits, and of one that is over. */
SENTENCE(messages_that_come_again_and_again_are_heeded_forty_times_a_second)
{
	for (int over = 0; over < 2; over++) {
		int words = 0;

		if (over)
			play("bob holds; bob releases; RELEASED");
		play("ann acquires 600000; QUEUED");
		world_sent();
		for (int ms = 0; ms < 10000; ms++) {
			message_of(wire_token(1), over ? NOW_US + 1000 : 1);
			for (const char *sent = world_sent(); *sent != '\0'; words++) {
				answer(*sent == 'h' ? QUEUED : GONE); /* a heartbeat, or the cancel of what is over */
				sent += strcspn(sent, ",");
				sent += strspn(sent, ", ");
			}
			pass(1);
		}
		expect_person(ann, "waits");
		assert_in_range(words, 300, 32 + 10 * 40 + 12); /* and the words that it says anyhow */
		begin_anew();
	}
}

SCENE(a_message_from_a_server_to_which_no_command_goes_is_not_believed,
      "ann acquires 10000; QUEUED; cut; message_granted 1 -> ann waits; reconnect -> acquire 1, heartbeat 1")
SCENE(an_answered_heartbeat_moves_on_what_a_claim_counts_from,
      "ann acquires 10000; QUEUED; pass 1000 -> acquire 1, heartbeat 1; pass 300; QUEUED;"
      "message_granted 1 -> ann left 3000 - 30 - 2 - 300") /* from when the heartbeat was sent */
SCENE(a_heartbeat_that_is_not_answered_moves_nothing, "ann acquires 10000;"
      "QUEUED; pass 1100 -> acquire 1, heartbeat 1; message_granted 1 -> ann left 3000 - 30 - 2 - 1100")

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
			play("QUEUED; pass 1000; answer_fence %lld", (long long)fence);
		} else {
			say(&(struct lsh_message){LSH_INTEGER, 1, {{LSH_INTEGER, fence, "", 0}}});
		}
		play("-> ann OK, ann fence %lld, %s", (long long)fence,
		     grants[i].is_one ? "told ann FENCE_REGRESSION" : "nothing told");
		play("ann releases; RELEASED");
	}
}

SCENE(no_heartbeat_moves_the_claim_of_a_token_that_was_asked_for_twice, "ann acquires 10000; cut; reconnect; QUEUED;"
      "pass 1000; QUEUED -> acquire 1, acquire 1, heartbeat 1; message_granted 1 -> ann left 3000 - 30 - 2 - 1000")
SCENE(a_grant_that_comes_twice_counts_once, "ann acquires 10000;"
      "QUEUED; message_granted 1; pass 100; message_granted 1 -> ann left 3000 - 30 - 2 - 100, acquire 1")
SCENE(a_grant_for_a_token_that_is_gone_is_canceled,
      "ann acquires 1000; HELD; ann releases; RELEASED -> acquire 1, release 1; message_granted 1 -> release 1")
SCENE(a_grant_that_comes_in_front_of_the_answer_counts,
      "ann acquires 10000; message_granted 1 -> ann OK; QUEUED -> ann left 3000 - 30 - 2, acquire 1")
SCENE(a_grant_whose_claim_is_over_is_asked_about,
      "ann acquires 10000; QUEUED; pass 2969 -> acquire 1, heartbeat 1;" /* which is not answered */
      "message_granted 1 -> ann waits; QUEUED -> heartbeat 1; HELD -> ann OK") /* what is on its way came before it */
SCENE(a_heartbeat_learns_of_a_grant_whose_message_was_lost,
      "ann acquires 10000; QUEUED; pass 1000; HELD -> ann OK, ann left 29698")
SCENE(a_token_that_the_server_does_not_know_is_dead_and_the_wait_goes_on_with_another,
      "ann acquires 10000; QUEUED; pass 1000; GONE -> acquire 1, heartbeat 1, release 1, acquire 2")
SCENE(who_is_canceled_while_it_waits_leaves_the_queue,
      "ann acquires; QUEUED; cancel ann -> ann CANCELED, acquire 1, release 1; LEFT; pass 100000 -> nothing sent")
SCENE(who_is_canceled_while_its_grant_is_on_the_way_gives_it_back, "ann acquires; QUEUED; cancel ann -> ann CANCELED, "
      "acquire 1, release 1; message_granted 1 -> ann left 0;" /* it was sent before the release came */
      "RELEASED; pass 100000 -> nothing sent")
SCENE(who_is_canceled_before_the_answer_has_nothing_whenever_it_comes, "ann acquires;"
      "cancel ann -> ann CANCELED; HELD -> ann left 0, acquire 1, release 1; RELEASED; pass 100000 -> nothing sent")
SCENE(the_next_of_the_process_waits_on_in_the_place_of_who_has_left, "ann acquires 1000;"
      "bob acquires 10000; QUEUED; pass 1000 -> ann TIMEOUT, acquire 1, heartbeat 1; message_granted 1 -> bob OK")
SCENE(each_who_waits_for_a_fair_lock_has_a_place_and_one_heartbeat_speaks_for_all, "make_fair;"
      "ann acquires 10000; bob acquires 10000 -> acquire 1, acquire 2; QUEUED; QUEUED; pass 1000 -> heartbeat 1 2")

/* ---- what is held ---- */

SCENE(a_hold_is_renewed_at_a_third_of_its_lease,
      "ann holds; pass 9999 -> nothing sent; pass 1 -> renew 1, ann left 19698;" /* no more by what was sent */
      "KEPT -> ann left 29698")
SCENE(a_renewal_that_crosses_a_release_changes_nothing, "ann holds;"
      "pass 10000; ann releases -> renew 1, release 1; KEPT; RELEASED -> ann OK; pass 100000 -> nothing sent")
SCENE(no_renewal_follows_a_release, "ann holds; ann releases; RELEASED; pass 100000 -> release 1")
SCENE(a_lease_that_nobody_renews_is_lost_at_the_moment_at_which_it_ends,
      "ann holds; cut; pass 29697 -> ann left 1, told ann JEOPARDY; pass 1 -> ann left 0, told ann LOST")
SCENE(without_its_watchdog_a_hold_ends_with_its_lease_all_the_same,
      "ann holds; let_watchdog_rest; pass 29697 -> ann left 1; pass 1 -> ann left 0, nothing told")
SCENE(renewals_that_are_not_answered_are_a_jeopardy_and_then_a_loss,
      "ann holds; pass 29697 -> told ann JEOPARDY; pass 1 -> told ann LOST; ann releases -> ann LOST")
SCENE(a_renewal_that_is_answered_again_ends_the_jeopardy,
      "ann holds; pass 10000; refuse LOADING Redis is loading the dataset in memory;"
      "-> told ann JEOPARDY, renew 1, renew 1; KEPT -> told ann RECOVERED")
SCENE(what_the_server_does_not_have_any_more_is_lost_at_the_next_renewal,
      "ann holds; pass 10000; GONE -> told ann LOST, renew 1, release 1")
SCENE(a_renewal_whose_script_is_not_there_brings_it, "ann holds; pass 10000;"
      "refuse NOSCRIPT No matching script. Please use EVAL. -> renew 1, renew 1 with source; KEPT -> nothing told")
SCENE(a_connection_on_which_a_renewal_is_not_answered_for_a_quarter_of_its_lease_is_left,
      "ann wants lease_ms 3000; ann holds; pass 1749 -> renew 1; pass 1 -> renew 1; KEPT -> ann left 3000 - 30 - 2")
SCENE(a_renewal_that_finds_nothing_takes_nothing_from_the_next_hold, "ann holds; pass 10000; ann releases;"
      "bob acquires 1000; message_granted 2; GONE -> renew 1, release 1, acquire 2, bob left 3000 - 30 - 2")
SCENE(what_was_lost_stays_lost_whatever_the_answer,
      "ann holds; cut; pass 29690; reconnect -> renew 1; pass 8; KEPT -> ann left 0, told ann JEOPARDY, told ann LOST")

#define RELEASED_AT_THE_END \
	"ann holds; cut; pass 29690; reconnect -> told ann JEOPARDY; ann releases -> renew 1, release 1; pass 8;"

SCENE(a_release_that_meets_the_end_of_the_lease_is_one_end,
      RELEASED_AT_THE_END "KEPT; RELEASED -> ann OK; pass 1000 -> nothing told")
SCENE(a_release_that_meets_a_loss_at_the_end_of_the_lease_is_one_end,
      RELEASED_AT_THE_END "GONE; GONE -> ann LOST; pass 1000 -> nothing told")
SCENE(a_renewal_that_is_answered_when_the_lease_is_over_brings_nothing_back,
      "ann holds; pass 10000; stand_still 20000; KEPT -> ann left 0")
SCENE(what_is_held_is_renewed_over_the_next_connection, "ann holds; cut; pass 1000; reconnect -> renew 1")

SCENE(a_hand_off_within_the_process_sends_nothing_and_has_a_fence_of_its_own,
      "ann holds -> ann has it; bob acquires 1000; ann releases -> bob OK, nothing sent, bob has it next")
SCENE(who_nests_when_its_lease_is_over_is_told_that_it_was_lost,
      "ann holds; stand_still 30000; ann acquires 1000 -> ann LOST")
SCENE(what_ends_by_other_terms_is_not_handed_on,
      "ann holds; bob wants max_hold_ms 60000; bob acquires 10000; ann releases -> bob waits, release 1, acquire 2")

/* ---- going on with the hold of another client ---- */

#define ADOPTED "ann adopts; HELD -> ann OK, heartbeat 1;"
#define THEIRS "1760099990000007" /* the other client's fence */

SCENE(what_another_client_has_left_is_adopted_by_a_heartbeat_and_renewed,
      "ann adopts -> heartbeat 1; HELD -> ann OK, ann left 29698; pass 10000 -> renew 1")
SCENE(who_waits_is_granted_the_lock_once_although_an_adoption_had_it,
      "ann acquires 10000; QUEUED; bob adopts; HELD -> bob OK, acquire 1, heartbeat 2;"
      "message_granted 1 -> ann OK, told bob LOST, release 2") /* whoever bob has it from has released it */
SCENE(an_adoption_that_tries_again_is_told_of_a_break,
      "ann adopts; refuse LOADING Redis is loading the dataset in memory; bob breaks -> heartbeat 1, release 1;"
      "RELEASED -> bob OK; pass 300 -> heartbeat 1; GONE -> ann NOT_HELD")
SCENE(who_waits_in_this_process_goes_on_waiting_and_is_next, "bob acquires 60000; QUEUED; ann adopts;"
      "HELD -> ann OK; pass 1000; QUEUED -> bob waits, acquire 1, heartbeat 2, heartbeat 1;" /* the last is bob's own */
      "ann releases -> release 2; RELEASED -> ann OK; message_granted 1 -> bob OK, nothing told")
/* The one who had it before may have counted on from its fence. */
SCENE(what_was_adopted_is_not_handed_off, ADOPTED "bob acquires 10000; ann releases -> bob waits, release 1, acquire 2")
SCENE(a_hold_of_this_process_stands_if_the_server_does_not_know_the_other_one,
      "bob acquires 1000; HELD; ann adopts; GONE -> ann NOT_HELD, nothing told, bob has it")
SCENE(and_is_lost_if_the_server_gave_the_lock_away,
      "bob holds; ann adopts; HELD -> ann OK, told bob LOST; bob releases -> bob LOST, ann has it")
SCENE(an_answer_that_a_later_hold_of_this_process_has_overtaken_is_not_believed, "bob acquires 60000;"
      "QUEUED; ann adopts; message_granted 1 -> bob OK;" /* the other client has released it meanwhile */
      "answer_fence " THEIRS " -> ann NOT_HELD, bob has it, nothing told")
SCENE(a_token_has_one_owner_in_a_client, ADOPTED "bob adopts -> bob INVALID, nothing sent")
SCENE(of_two_who_adopt_at_once_one_has_it, "ann adopts; bob adopts; HELD -> ann OK; HELD -> bob INVALID")
SCENE(what_is_just_being_released_is_not_adopted_again,
      ADOPTED "ann releases -> release 1; bob adopts -> bob NOT_HELD, nothing sent; RELEASED -> ann OK")
SCENE(who_adopts_has_nothing_of_what_was_broken_meanwhile_by_this_client,
      "ann adopts; bob breaks; HELD; RELEASED -> bob OK, ann fence 0")

SCENE(what_is_no_lock_is_not_adopted,
      "ann adopts; refuse WRONGTYPE Operation against a key -> ann MISMATCH, ann why lock 'orders', nothing told")
SCENE(an_adoption_whose_answer_was_lost_is_asked_for_again,
      "ann adopts; cut; reconnect -> heartbeat 1, heartbeat 1; answer_fence " THEIRS " -> ann OK, ann fence " THEIRS)
SCENE(a_server_that_stands_still_leaves_the_others_hold_as_it_was,
      "ann adopts; pass 5000 -> heartbeat 1, heartbeat 1; pass 5000 -> ann UNAVAILABLE;"
      "pass 30000 -> nothing sent") /* nobody cancels it */
SCENE(an_answer_that_comes_when_its_lease_is_over_is_not_believed_and_releases_nothing,
      "ann wants lease_ms 1000; ann adopts; stand_still 1500; HELD -> ann UNAVAILABLE, heartbeat 1")

SENTENCE(what_is_no_message_of_a_grant_grants_nothing)
{
	static const char *const no_grants[] = {
		"", "g", "h", "granted", "g ", "g %s", "g %s ", "g %s 512", "g %s 0 leash:{orders}", "g %s -1 leash:{orders}",
		"g %s 512x leash:{orders}", "g %s 99999999999999999999 leash:{orders}", "g %s 512 leash:{orders} ",
		"g %s 512 leash:{orders} z", "g other 512 leash:{orders}", "g %sx 512 leash:{orders}",
		"g %s 512 leash:{others}",
	};
	char text[300];

	play("ann acquires; QUEUED -> acquire 1");
	for (size_t i = 0; i < COUNT(no_grants); i++) {
		snprintf(text, sizeof text, "wake ");
		snprintf(text + 5, sizeof text - 5, no_grants[i], wire_token(1));
		play("%s -> ann waits", text);
	}
	play("message_granted 1 -> ann OK");
}

/* ---- replicas, which are asked over a connection of their own: b ---- */

#define ONE_REPLICA "ann wants safety.min_replicas 1;"
#define ASKS ONE_REPLICA "ann acquires 10000; HELD;"
#define HOLDS ONE_REPLICA "ann acquires 1000; HELD; b KEPT; KEPT -> ann OK, acquire 1, renew 1 at b, wait at b;"

/* Its renewal there is answered first, and then how many have that. */
SCENE(what_was_granted_counts_once_a_replica_has_it,
      ASKS "-> ann waits; b KEPT; KEPT -> ann OK, acquire 1, renew 1 at b, wait at b")
SCENE(what_a_replica_has_counts_from_when_it_was_renewed, ASKS "b KEPT; pass 900; KEPT -> ann OK, ann left 29698 - 900")
SCENE(what_was_granted_and_no_replica_has_in_time_is_canceled, ASKS "b KEPT; GONE;"
      "pass 5000 -> ann UNAVAILABLE; -> acquire 1, renew 1 at b, wait at b, renew 1 at b, wait at b, release 1 at a")
SCENE(whom_the_replicas_fail_is_told_so_although_another_of_the_process_has_it_by_then,
      "make_fair;" ASKS "bob acquires 10000; HELD -> bob OK; pass 5000 -> ann UNAVAILABLE")
SCENE(a_break_of_what_waits_for_replicas_ends_that_acquire, ASKS "bob breaks 1; RELEASED -> bob OK, ann UNAVAILABLE")
SCENE(of_two_who_adopt_one_token_one_is_told_so_while_it_waits_for_replicas, ONE_REPLICA
      "bob wants safety.min_replicas 1; ann adopts; bob adopts; HELD; HELD -> bob INVALID; b KEPT; KEPT -> ann OK")
SCENE(what_is_adopted_and_no_replica_has_in_time_stays_as_it_was, ONE_REPLICA "ann adopts; HELD;"
      "b KEPT; GONE; pass 5000 -> ann UNAVAILABLE; -> heartbeat 1, renew 1 at b, wait at b, renew 1 at b, wait at b")
SCENE(what_is_adopted_and_no_replica_has_before_its_lease_is_over_stays_as_it_was,
      ONE_REPLICA "ann wants safety.replicas_ms 30000; ann adopts; HELD; cut; pass 29698;"
      "reconnect -> ann UNAVAILABLE, heartbeat 1, renew 1 at b")
SCENE(who_is_canceled_while_the_replicas_are_asked_releases, ONE_REPLICA "ann acquires;"
      "HELD; cancel ann -> ann CANCELED; b KEPT -> ann left 0, acquire 1, renew 1 at b, release 1 at a")
SCENE(a_close_ends_the_wait_for_replicas_and_releases, ONE_REPLICA "ann acquires;"
      "HELD; later 60 RELEASED; close_client -> ann CLOSED, acquire 1, renew 1 at b, release 1 at a, now 60")
SCENE(until_a_replica_has_it_nobody_holds_it, ASKS "bob acts_for ann;"
      "bob releases -> bob NOT_HELD; bob extends 60000 -> bob NOT_HELD, ann left 0; b KEPT; KEPT -> ann OK")
SCENE(nesting_and_handing_on_within_the_process_ask_no_replica, HOLDS "ann acquires 1000;"
      "ann releases; bob wants safety.min_replicas 1; bob acquires 1000; ann releases -> bob OK, nothing sent")
SCENE(who_wants_more_replicas_than_the_one_before_is_not_handed_the_lock, HOLDS "bob wants safety.min_replicas 2;"
      "bob acquires 1000; ann releases -> bob waits, release 1 at a, acquire 2 at a")
SCENE(renewals_that_no_replica_acknowledges_are_a_jeopardy_and_then_a_loss, HOLDS "pass 10000;"
      "KEPT; pass 7000; GONE -> told ann JEOPARDY, ann left 29698 - 17000; pass 29698 - 17000 -> told ann LOST")
/* Whoever asks the replicas hears of it first. */
SCENE(what_too_few_replicas_have_past_the_lease_is_lost_also_without_the_watchdog,
      "ann wants lease_ms 3000;" HOLDS "pass 1000; KEPT; pass 700; GONE -> told ann JEOPARDY; pass 500; KEPT;"
      "let_watchdog_rest; sleep_through 800 -> nothing told; GONE -> told ann LOST")
/* For three quarters of the time that they have, and a quarter of the lease. */
SCENE(a_connection_on_which_the_replicas_are_silent_is_left_while_there_is_time_for_another,
      "ann wants lease_ms 3000;" HOLDS "pass 1000; KEPT; pass 1311 -> nothing told; pass 1 -> told ann JEOPARDY;"
      "-> renew 1 at b, wait at b, renew 1 at b; KEPT; KEPT -> told ann RECOVERED")
SCENE(a_replica_that_is_late_for_less_than_a_lease_costs_no_hold, HOLDS "pass 10000; KEPT;"
      "pass 7000; GONE -> told ann JEOPARDY; pass 1000; KEPT; KEPT -> told ann RECOVERED; -> ann left 29698 - 1000")
SCENE(an_extension_counts_once_a_replica_has_it, "ann wants safety.replicas_ms 1000;" HOLDS "ann extends 60000;"
      "KEPT; GONE -> ann waits, ann left 29698; pass 1000 -> ann UNAVAILABLE, ann why 0 of 1 replicas")
/* All who wait with it would wait as shortly. */
SCENE(who_is_about_to_give_up_asks_no_replicas_any_more, ONE_REPLICA "ann wants safety.replicas_ms 2000; ann acquires;"
      "HELD; b KEPT; pass 700; GONE; KEPT; pass 700; -> acquire 1, renew 1 at b, wait at b, renew 1 at b, wait at b;"
      "GONE -> nothing sent; pass 600 -> ann UNAVAILABLE, release 1 at a")
SCENE(a_wait_that_is_not_permitted_is_named_and_the_lock_released,
      ASKS "b KEPT; refuse NOPERM this user has no permissions to run the 'wait' command;"
      "-> ann DENIED, ann why WAIT is not permitted, acquire 1, renew 1 at b, wait at b, release 1 at a")
SCENE(a_renewal_for_replicas_whose_script_is_not_there_brings_it,
      ASKS "b refuse NOSCRIPT No matching script. Please use EVAL.; KEPT; KEPT -> ann OK")
SCENE(where_the_connection_breaks_while_the_replicas_are_asked_they_are_asked_again,
      ASKS "b KEPT; cut; reconnect; KEPT; KEPT -> ann OK")
SCENE(one_that_is_not_renewed_is_acknowledged_all_the_same, "ann wants no_renew;" HOLDS "pass 29698 -> told ann LOST")

/* ---- the disk ---- */

#define ON_DISK "ann wants safety.fsynced 1;"
#define ON_DISKS ON_DISK ONE_REPLICA
#define TWICE(answer) \
	"ann wants safety.replicas_ms 2000; ann acquires; HELD; b KEPT; pass 700;" answer "; KEPT; pass 700; forget_sent;" \
	answer "; pass 600"

SCENE(what_was_granted_counts_once_it_is_on_the_servers_disk, ON_DISK "ann acquires 10000;"
      "HELD; b KEPT; pass 900; numbers 1 0 -> ann OK, ann left 29698 - 900, acquire 1, renew 1 at b, waitaof at b")
SCENE(what_was_granted_and_is_not_on_disk_in_time_is_canceled,
      ON_DISK TWICE("numbers 0 0") "-> ann UNAVAILABLE, ann why it was not written to disk, release 1 at a")
SCENE(what_is_on_the_servers_disk_alone_is_on_no_replicas,
      ON_DISKS TWICE("numbers 1 0") "-> ann UNAVAILABLE, ann why 0 of 1 replicas wrote it to disk, release 1 at a")
SCENE(a_renewal_that_is_not_on_disk_in_time_is_a_jeopardy, ON_DISK "ann acquires 1000;"
      "HELD; b KEPT; numbers 1 0 -> ann OK; pass 10000; KEPT; pass 7000; numbers 0 0 -> told ann JEOPARDY")
SCENE(a_renewal_that_is_on_no_replicas_disk_in_time_is_one, ON_DISKS "ann acquires 1000;"
      "HELD; b KEPT; numbers 1 1 -> ann OK; pass 10000; KEPT; pass 7000; numbers 1 0 -> told ann JEOPARDY")
SCENE(a_server_that_writes_nothing_to_disk_is_named, ON_DISK "ann acquires 10000;"
      "HELD; b KEPT; refuse ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.;"
      "-> ann UNSUPPORTED, ann why `fsynced` needs appendonly; a RELEASED -> ann left 0")
SCENE(a_server_that_does_not_know_waitaof_is_named,
      ON_DISK "ann acquires 10000; HELD; b KEPT; refuse ERR unknown command 'WAITAOF';"
      "-> ann UNSUPPORTED, ann why Redis has it from 7.2 on; a RELEASED -> ann left 0")

static const char *const no_answers[][3] = {
	{ONE_REPLICA, "-1", "1"}, {ONE_REPLICA, "1 0", "1"}, {ON_DISK, "1", "1 0"}, {ON_DISK, "1 0 0", "1 0"},
	{ON_DISK, "-1 0", "1 0"}, {ON_DISK, "1 -1", "1 0"},
};

SENTENCE(what_says_nothing_of_replicas_or_disks_is_no_answer)
{
	for (size_t i = 0; i < COUNT(no_answers); i++) {
		play("%s ann acquires 10000; HELD; b KEPT; numbers %s -> ann waits; KEPT; numbers %s -> ann OK",
		     no_answers[i][0], no_answers[i][1], no_answers[i][2]);
		world_end();
		world_begin();
	}
}

/* ---- extensions ---- */

SCENE(an_extension_is_over_when_it_is_answered,
      "ann holds; ann extends 60000 -> renew 1, ann waits; pass 100; KEPT -> ann OK, ann left 60000 - 600 - 2 - 100")
SCENE(an_extension_of_what_another_thread_releases_meanwhile_is_told_so, "ann holds; bob acts_for ann;"
      "ann extends 60000; bob releases -> ann NOT_HELD, ann why another thread released it; KEPT; RELEASED -> bob OK")
SCENE(of_two_extensions_at_once_each_is_as_long_as_was_asked_for, "ann holds; bob acts_for ann;"
      "bob extends 40000; ann extends 60000; KEPT -> bob OK, ann waits; KEPT -> ann OK, ann left 60000 - 600 - 2")

/* ---- clocks ---- */

SCENE(who_slept_past_the_end_of_its_lease_has_lost_before_anything_else,
      "ann holds; sleep_through 60000 -> ann left 0, told ann LOST; ann releases -> ann LOST")
SCENE(an_answer_that_is_read_when_its_lease_is_over_holds_nothing_and_it_is_asked_anew, "ann acquires;"
      "sleep_through 4000; HELD -> ann left 29698 - 4000; ann releases; RELEASED; ann wants lease_ms 3000;"
      "ann acquires -> acquire 1, release 1, acquire 2; sleep_through 4000; HELD -> ann waits, release 2, acquire 3")
SCENE(a_wait_whose_end_was_slept_through_is_over, "ann acquires 300000; QUEUED; sleep_through 600000 -> ann TIMEOUT")
SCENE(a_first_answer_tells_that_the_servers_clock_jumped,
      "ann acquires 1000; set_clock -3600000; HELD -> told clock -3600 s; ann releases; RELEASED; set_clock 0;"
      "ann acquires 1000; TOO_LATE -> told clock +3600 s, limit 1000; HELD -> ann OK") /* it is aimed anew */
SCENE(a_hold_that_a_jump_of_the_servers_clock_took_is_lost_at_the_next_renewal,
      "ann holds; set_clock 60000 -> ann left 29698; pass 10000; GONE -> told ann LOST")

SENTENCE(our_wall_clock_has_no_effect)
{
	static const int64_t days[] = {1, -1, 365, -365};

	for (size_t i = 0; i < COUNT(days); i++)
		play("ann acquires 1000; set_wall_clock %lld -> limit 1000; HELD -> ann left 29698; pass 10000;"
		     "KEPT -> ann left 29698; set_wall_clock 0; ann releases; RELEASED -> ann OK, nothing told",
		     (long long)days[i] * 86400000);
}

/* Whichever reading of the clock fails in the course of it: it ends with a word for it, and nothing is left. */
static bool
live_with_a_clock_that_fails_at(int n)
{
	play("ann acquires 1000; fail_clock %d; QUEUED; pass 500", n);
	if (ann->is_busy && wire_first(0) != NULL)
		play("cut");
	play("reconnect; pass 500");
	bool failed = clock_failed();
	play("fail_clock 0");
	assert_false(ann->is_busy);
	assert_true(ann->op.status == LEASH_TIMEOUT || ann->op.status == LEASH_UNAVAILABLE);
	expect_person(ann, "left 0");
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

SCENE(a_hold_whose_lease_cannot_be_timed_counts_as_over, "ann holds; fail_clock 1 -> ann left 0, ann left 29698")

SENTENCE(what_was_granted_while_a_reading_of_the_clock_failed_is_held_or_given_back)
{
	for (int n = 1; n <= 12; n++) {
		play("ann acquires 1000; fail_clock %d; HELD; fail_clock 0; pass 1000", n);
		if (ann->op.status != LEASH_OK)
			expect_person(ann, "left 0");
		play("cut; pass 29698 -> ann left 0");
		begin_anew();
	}
}

/* ---- releasing ---- */

SCENE(a_release_whose_answer_was_lost_is_no_loss,
      "ann holds; ann releases; cut; reconnect -> release 1, release 1; GONE -> ann OK")
SCENE(a_release_that_is_not_answered_in_time_is_unknown_and_is_sent_until_it_is,
      "ann holds; ann releases; cut; pass 10000 -> ann UNKNOWN, ann left 0; reconnect -> release 1, release 1;"
      "refuse LOADING Redis is loading the dataset in memory; pass 1000 -> release 1;"
      "RELEASED; pass 100000 -> nothing sent")
SCENE(a_release_that_finds_nothing_says_that_it_was_lost, "ann holds; ann releases; GONE -> ann LOST")
SCENE(who_does_not_wait_for_a_release_does_not_hold_it_any_more,
      "ann holds; ann drops -> ann OK, release 1, ann left 0; RELEASED -> nothing told; ann releases -> ann NOT_HELD")
SCENE(who_does_not_wait_hears_that_it_had_been_lost, "ann holds; ann drops; GONE -> told ann LOST")
SCENE(who_does_not_wait_hears_once_that_it_is_refused,
      "ann holds; ann drops -> release 1; refuse NOPERM no permission -> told ann NOT_RELEASED; pass 1000 -> release 1;"
      "GONE -> nothing told")
SCENE(who_does_not_wait_hears_that_there_was_no_answer_when_it_has_lapsed,
      "ann holds; ann drops; cut; pass 30000 -> nothing told; pass 30000 -> told ann NOT_RELEASED")
SCENE(who_does_not_wait_hears_nothing_of_an_answer_that_was_lost,
      "ann holds; ann drops; cut; reconnect -> release 1, release 1; GONE -> nothing told")
SCENE(who_does_not_wait_may_acquire_before_the_answer,
      "ann holds; ann drops; ann acquires 1000 -> release 1, acquire 2; GONE; HELD -> ann OK, told ann LOST")
SCENE(a_close_tells_who_does_not_wait, "ann holds; ann drops; cut; close_client -> told ann NOT_RELEASED")
SCENE(what_is_not_answered_has_lapsed_with_the_longest_lease_that_was_asked_for,
      "ann holds; ann extends 90000; KEPT; ann releases -> renew 1, release 1; cut; pass 70000;"
      "reconnect -> release 1; cut; pass 50000; reconnect -> nothing sent")
SCENE(a_close_ends_the_wait_at_once_and_takes_back_what_was_asked_for,
      "ann acquires; later 50 HELD; later 60 RELEASED; close_client -> ann CLOSED, acquire 1, release 1, now 60")
SCENE(a_close_lasts_until_no_request_can_come_and_no_longer, "ann acquires 2000; cut; cancel ann; reconnect;"
      "GONE; later 260 GONE; later 770 GONE; later 1780 GONE; later 2100 GONE;" /* to those 250, 500, 1000 ms apart */
      "close_client -> now 2100") /* the request may come until its 2 s are over */
SCENE(a_close_does_not_wait_for_a_server_that_is_gone,
      "ann holds; bob acquires; cut; close_client -> bob CLOSED, ann left 0, now 0")
SCENE(a_close_ends_an_adoption_at_once, "ann adopts -> heartbeat 1; close_client -> ann CLOSED")
SCENE(a_close_releases_what_is_held, "ann holds; later 50 RELEASED; close_client -> release 1, now 50")
