/* One server, to the answer: what the core says to it, in which order, and what it makes of what comes back. */
#include "tests/core/world.h"

#include <string.h>

/* ---- requests ---- */

static void
what_was_granted_is_held_until_it_is_released(void **state)
{
	(void)state;
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

static void
a_lease_counts_from_when_it_was_asked_for(void **state)
{
	(void)state;
	acquire(ann, 5000);
	pass(4000);
	answer(HELD);
	expect_left(ann, 29698 - 4000);
}

static void
a_request_does_nothing_after_the_deadline_of_who_made_it(void **state)
{
	(void)state;
	acquire(ann, 1000);
	assert_int_equal(world_limit_ms(), 1000);
	pass(900);
	answer(TOO_LATE);
	expect_sent("acquire 1, acquire 1");
	assert_int_equal(world_limit_ms(), 100);
}

static void
a_request_does_nothing_after_one_timeout(void **state)
{
	(void)state;
	acquire(ann, LEASH_FOREVER);
	assert_int_equal(world_limit_ms(), 5000);
}

static void
a_request_whose_answer_was_lost_is_sent_again_with_its_token(void **state)
{
	(void)state;
	acquire(ann, 10000);
	expect_sent("acquire 1");
	cut();
	expect_waiting(ann);
	reconnect();
	expect_sent("acquire 1");
	answer(HELD);
	expect_end(ann, LEASH_OK);
}

static void
a_request_whose_answer_was_lost_is_canceled_when_its_time_is_over_and_the_next_has_a_new_token(void **state)
{
	(void)state;
	acquire(ann, 1000);
	cut();
	pass(1000);
	expect_end(ann, LEASH_UNAVAILABLE);
	acquire(bob, 10000);
	expect_sent("acquire 1");
	reconnect();
	expect_sent("acquire 2, release 1");
}

static void
the_cancel_of_a_request_goes_behind_it_and_in_front_of_the_next_token(void **state)
{
	(void)state;
	acquire(ann, 1000);
	pass(1000);
	expect_end(ann, LEASH_UNAVAILABLE);
	acquire(bob, 1000);
	expect_sent("acquire 1, release 1, acquire 2");
}

static void
a_grant_that_comes_after_the_deadline_is_canceled_and_nobody_has_it(void **state)
{
	(void)state;
	acquire(ann, 1000);
	pass(1000);
	expect_sent("acquire 1, release 1");
	answer(HELD);
	expect_left(ann, 0);
	answer(RELEASED); /* over the same connection: nothing can come any more */
	pass(100000);
	expect_sent("");
}

static void
a_cancel_is_repeated_until_the_lost_request_cannot_be_executed_any_more(void **state)
{
	(void)state;
	acquire(ann, 2000);
	cut();
	cancel(ann);
	pass(1900);
	reconnect();
	answer(GONE); /* the request may come behind this, over the connection that was cut, until its 2 s are over */
	pass(200);
	expect_sent("acquire 1, release 1, release 1");
}

static void
a_cancel_that_is_sent_when_the_time_of_the_lost_request_is_over_is_the_last(void **state)
{
	(void)state;
	acquire(ann, 1000);
	cut();
	pass(2000);
	reconnect();
	expect_sent("acquire 1, release 1");
	answer(GONE);
	pass(100000);
	expect_sent("");
}

static void
a_request_for_which_there_was_no_room_goes_out_though_the_room_came_before_it_waited(void **state)
{
	(void)state;
	acquire(ann, 1000);
	answer(HELD);
	be_full();
	release(ann);
	expect_sent("acquire 1, release 1");
	answer(RELEASED);
	expect_end(ann, LEASH_OK);
}

static void
a_request_that_never_left_needs_no_cancel(void **state)
{
	(void)state;
	be_stuck();
	acquire(ann, 1000);
	cut();
	pass(1000);
	expect_end(ann, LEASH_UNAVAILABLE);
	reconnect();
	expect_sent("");
}

static void
who_only_tries_takes_no_place_and_leaves_nothing_to_cancel(void **state)
{
	(void)state;
	acquire(ann, 0);
	expect_sent("try 1");
	answer(TAKEN);
	expect_end(ann, LEASH_TIMEOUT);
	expect_sent("");
}

static void
a_request_that_came_too_late_is_sent_again_by_the_clock_that_was_learned(void **state)
{
	(void)state;
	acquire(ann, 1000);
	answer(TOO_LATE);
	expect_sent("acquire 1, acquire 1");
	answer(HELD);
	expect_end(ann, LEASH_OK);
}

/* ---- refusals ---- */

static void
a_script_that_is_not_there_is_sent_with_its_source(void **state)
{
	(void)state;
	acquire(ann, 1000);
	refuse("NOSCRIPT No matching script. Please use EVAL.");
	expect_sent("acquire 1, acquire 1 with source");
	answer(HELD);
	expect_end(ann, LEASH_OK);
}

static void
a_server_that_loads_is_asked_again_in_a_moment(void **state)
{
	(void)state;
	acquire(ann, 1000);
	refuse("LOADING Redis is loading the dataset in memory");
	expect_sent("acquire 1");
	pass(49);
	expect_sent("");
	pass(1);
	expect_sent("acquire 1");
}

static void
a_server_that_is_busy_all_the_time_is_unavailable_and_it_is_said_why(void **state)
{
	(void)state;
	acquire(ann, 60);
	refuse("BUSY Redis is busy running a script.");
	pass(50);
	refuse("BUSY Redis is busy running a script.");
	pass(10);
	expect_end(ann, LEASH_UNAVAILABLE);
	assert_non_null(strstr(ann->op.why.text, "(BUSY)"));
}

static void
after_a_restart_nothing_is_asked_for_while_its_guard_lasts(void **state)
{
	(void)state;
	ann->terms.restart_guard_ms = 2000;
	restart();
	acquire(ann, 5000);
	pass(1999);
	expect_sent("");
	pass(1);
	expect_sent("acquire 1");
}

static void
a_refusal_that_is_for_good_ends_the_wait(void **state)
{
	(void)state;
	acquire(ann, 1000);
	refuse("WRONGTYPE Operation against a key holding the wrong kind of value");
	expect_end(ann, LEASH_MISMATCH);
	expect_sent("acquire 1, release 1"); /* whatever it had done by then */
	refuse("WRONGTYPE Operation against a key holding the wrong kind of value");
	pass(100000);
	expect_sent("");
}

/* ---- the queue ---- */

static void
who_would_not_be_told_takes_no_place_before_it_is_listened_again(void **state)
{
	(void)state;
	cut_messages();
	acquire(ann, 10000);
	expect_sent("try 1");
	answer(TAKEN);
	reconnect();
	expect_sent("acquire 1");
}

static void
a_message_grants_what_is_waited_for_for_as_long_as_its_claim_counts(void **state)
{
	(void)state;
	acquire(ann, 10000);
	answer(QUEUED);
	pass(900);
	message_granted(1);
	expect_end(ann, LEASH_OK);
	expect_left(ann, 3000 - 30 - 2 - 900); /* from the request, not from the message */
}

static void
an_answered_heartbeat_moves_on_what_a_claim_counts_from(void **state)
{
	(void)state;
	acquire(ann, 10000);
	answer(QUEUED);
	pass(1000);
	expect_sent("acquire 1, heartbeat 1");
	pass(300);
	answer(QUEUED);
	message_granted(1);
	expect_left(ann, 3000 - 30 - 2 - 300); /* from when the heartbeat was sent */
}

static void
a_heartbeat_that_is_not_answered_moves_nothing(void **state)
{
	(void)state;
	acquire(ann, 10000);
	answer(QUEUED);
	pass(1100);
	expect_sent("acquire 1, heartbeat 1");
	message_granted(1);
	expect_left(ann, 3000 - 30 - 2 - 1100);
}

static void
no_heartbeat_moves_the_claim_of_a_token_that_was_asked_for_twice(void **state)
{
	(void)state;
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

static void
a_grant_that_comes_twice_counts_once(void **state)
{
	(void)state;
	acquire(ann, 10000);
	answer(QUEUED);
	message_granted(1);
	pass(100);
	message_granted(1);
	expect_left(ann, 3000 - 30 - 2 - 100);
	expect_sent("acquire 1");
}

static void
a_grant_for_a_token_that_is_gone_is_canceled(void **state)
{
	(void)state;
	acquire(ann, 1000);
	answer(HELD);
	release(ann);
	answer(RELEASED);
	expect_sent("acquire 1, release 1");
	message_granted(1);
	expect_sent("release 1");
}

static void
a_grant_that_comes_in_front_of_the_answer_counts(void **state)
{
	(void)state;
	acquire(ann, 10000);
	message_granted(1);
	expect_end(ann, LEASH_OK);
	answer(QUEUED);
	expect_left(ann, 3000 - 30 - 2);
	expect_sent("acquire 1");
}

static void
a_grant_whose_claim_is_over_is_asked_about(void **state)
{
	(void)state;
	acquire(ann, 10000);
	answer(QUEUED);
	pass(2969);
	expect_sent("acquire 1, heartbeat 1"); /* which is not answered */
	message_granted(1);
	expect_waiting(ann);
}

static void
a_token_that_the_server_does_not_know_is_dead_and_the_wait_goes_on_with_another(void **state)
{
	(void)state;
	acquire(ann, 10000);
	answer(QUEUED);
	pass(1000);
	answer(GONE);
	expect_sent("acquire 1, heartbeat 1, release 1, acquire 2");
}

static void
who_is_canceled_while_it_waits_leaves_the_queue(void **state)
{
	(void)state;
	acquire(ann, LEASH_FOREVER);
	answer(QUEUED);
	cancel(ann);
	expect_end(ann, LEASH_CANCELED);
	expect_sent("acquire 1, release 1");
	answer(LEFT);
	pass(100000);
	expect_sent("");
}

static void
the_next_of_the_process_waits_on_in_the_place_of_who_has_left(void **state)
{
	(void)state;
	acquire(ann, 1000);
	acquire(bob, 10000);
	answer(QUEUED);
	pass(1000);
	expect_end(ann, LEASH_TIMEOUT);
	expect_sent("acquire 1, heartbeat 1");
	message_granted(1);
	expect_end(bob, LEASH_OK);
}

static void
each_who_waits_for_a_fair_lock_has_a_place_and_one_heartbeat_speaks_for_all(void **state)
{
	(void)state;
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

static void
hold(struct person *person)
{
	acquire(person, 1000);
	answer(HELD);
	expect_end(person, LEASH_OK);
	world_sent();
}

static void
a_hold_is_renewed_at_a_third_of_its_lease(void **state)
{
	(void)state;
	hold(ann);
	pass(9999);
	expect_sent("");
	pass(1);
	expect_sent("renew 1");
	answer(KEPT);
	expect_left(ann, 29698);
}

static void
a_renewal_that_crosses_a_release_changes_nothing(void **state)
{
	(void)state;
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

static void
no_renewal_follows_a_release(void **state)
{
	(void)state;
	hold(ann);
	release(ann);
	answer(RELEASED);
	pass(100000);
	expect_sent("release 1");
}

static void
a_lease_that_nobody_renews_is_lost_at_the_moment_at_which_it_ends(void **state)
{
	(void)state;
	hold(ann);
	cut();
	pass(29697);
	expect_left(ann, 1);
	expect_told("ann JEOPARDY");
	pass(1);
	expect_left(ann, 0);
	expect_told("ann LOST");
}

static void
renewals_that_are_not_answered_are_a_jeopardy_and_then_a_loss(void **state)
{
	(void)state;
	hold(ann);
	pass(29697);
	expect_told("ann JEOPARDY");
	pass(1);
	expect_told("ann LOST");
	release(ann);
	expect_end(ann, LEASH_LOST);
}

static void
a_renewal_that_is_answered_again_ends_the_jeopardy(void **state)
{
	(void)state;
	hold(ann);
	pass(10000);
	refuse("LOADING Redis is loading the dataset in memory");
	expect_told("ann JEOPARDY");
	expect_sent("renew 1, renew 1");
	answer(KEPT);
	expect_told("ann RECOVERED");
}

static void
what_the_server_does_not_have_any_more_is_lost_at_the_next_renewal(void **state)
{
	(void)state;
	hold(ann);
	pass(10000);
	answer(GONE);
	expect_told("ann LOST");
	expect_sent("renew 1, release 1");
}

static void
a_renewal_whose_script_is_not_there_brings_it(void **state)
{
	(void)state;
	hold(ann);
	pass(10000);
	refuse("NOSCRIPT No matching script. Please use EVAL.");
	expect_sent("renew 1, renew 1 with source");
	answer(KEPT);
	expect_told("");
}

static void
a_connection_on_which_a_renewal_is_not_answered_for_a_quarter_of_its_lease_is_left(void **state)
{
	(void)state;
	ann->terms.lease_ms = 3000;
	hold(ann);
	pass(1749);
	expect_sent("renew 1");
	pass(1);
	expect_sent("renew 1");
	answer(KEPT);
	expect_left(ann, 3000 - 30 - 2);
}

static void
a_renewal_that_finds_nothing_takes_nothing_from_the_next_hold(void **state)
{
	(void)state;
	hold(ann);
	pass(10000);
	release(ann);
	acquire(bob, 1000);
	message_granted(2);
	answer(GONE);
	expect_sent("renew 1, release 1, acquire 2");
	expect_left(bob, 3000 - 30 - 2);
}

static void
what_was_lost_stays_lost_whatever_the_answer(void **state)
{
	(void)state;
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

static void
what_is_held_is_renewed_over_the_next_connection(void **state)
{
	(void)state;
	hold(ann);
	cut();
	pass(1000);
	reconnect();
	expect_sent("renew 1");
}

static void
a_hand_off_within_the_process_sends_nothing_and_has_a_fence_of_its_own(void **state)
{
	uint64_t fence;

	(void)state;
	hold(ann);
	fence = world_fence(ann);
	acquire(bob, 1000);
	release(ann);
	expect_end(bob, LEASH_OK);
	expect_sent("");
	assert_int_equal(world_fence(bob), fence + 1);
}

static void
a_turn_of_a_process_ends_and_its_next_request_goes_out_behind_the_release(void **state)
{
	(void)state;
	hold(ann);
	acquire(bob, 1000);
	pass(10); /* as long as a turn may last */
	release(ann);
	expect_sent("release 1, acquire 2");
	answer(RELEASED);
	expect_end(ann, LEASH_OK);
	expect_waiting(bob);
}

static void
an_owner_nests_without_a_word_until_its_last_release(void **state)
{
	(void)state;
	hold(ann);
	acquire(ann, 0);
	expect_end(ann, LEASH_OK);
	release(ann);
	expect_sent("");
	expect_left(ann, 29698);
	release(ann);
	expect_sent("release 1");
}

static void
what_another_client_has_left_is_adopted_by_a_heartbeat_and_renewed(void **state)
{
	(void)state;
	adopt(ann);
	expect_sent("heartbeat 1");
	answer(HELD);
	expect_end(ann, LEASH_OK);
	expect_left(ann, 29698);
	pass(10000);
	expect_sent("renew 1");
}

static void
who_waits_is_granted_the_lock_once_although_an_adoption_had_it(void **state)
{
	(void)state;
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

static void
an_adoption_that_tries_again_is_told_of_a_break(void **state)
{
	(void)state;
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

static void
an_extension_is_over_when_it_is_answered(void **state)
{
	(void)state;
	hold(ann);
	extend(ann, 60000);
	expect_sent("renew 1");
	expect_waiting(ann);
	pass(100);
	answer(KEPT);
	expect_end(ann, LEASH_OK);
	expect_left(ann, 60000 - 600 - 2 - 100);
}

/* ---- releasing ---- */

static void
a_release_whose_answer_was_lost_is_no_loss(void **state)
{
	(void)state;
	hold(ann);
	release(ann);
	cut();
	reconnect();
	expect_sent("release 1, release 1");
	answer(GONE);
	expect_end(ann, LEASH_OK);
}

static void
a_release_that_finds_nothing_says_that_it_was_lost(void **state)
{
	(void)state;
	hold(ann);
	release(ann);
	answer(GONE);
	expect_end(ann, LEASH_LOST);
}

static void
a_close_ends_the_wait_at_once_and_takes_back_what_was_asked_for(void **state)
{
	(void)state;
	acquire(ann, LEASH_FOREVER);
	later(50, HELD);
	later(60, RELEASED);
	close_client();
	expect_end(ann, LEASH_CLOSED);
	expect_sent("acquire 1, release 1");
	assert_int_equal(world_ms(), 60);
}

static void
a_close_ends_an_adoption_at_once(void **state)
{
	(void)state;
	adopt(ann);
	expect_sent("heartbeat 1");
	close_client();
	expect_end(ann, LEASH_CLOSED);
}

static void
a_close_releases_what_is_held(void **state)
{
	(void)state;
	hold(ann);
	later(50, RELEASED);
	close_client();
	expect_sent("release 1");
	assert_int_equal(world_ms(), 50);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		SENTENCE(what_was_granted_is_held_until_it_is_released),
		SENTENCE(a_lease_counts_from_when_it_was_asked_for),
		SENTENCE(a_request_does_nothing_after_the_deadline_of_who_made_it),
		SENTENCE(a_request_does_nothing_after_one_timeout),
		SENTENCE(a_request_whose_answer_was_lost_is_sent_again_with_its_token),
		SENTENCE(a_request_whose_answer_was_lost_is_canceled_when_its_time_is_over_and_the_next_has_a_new_token),
		SENTENCE(the_cancel_of_a_request_goes_behind_it_and_in_front_of_the_next_token),
		SENTENCE(a_grant_that_comes_after_the_deadline_is_canceled_and_nobody_has_it),
		SENTENCE(a_cancel_is_repeated_until_the_lost_request_cannot_be_executed_any_more),
		SENTENCE(a_cancel_that_is_sent_when_the_time_of_the_lost_request_is_over_is_the_last),
		SENTENCE(a_request_for_which_there_was_no_room_goes_out_though_the_room_came_before_it_waited),
		SENTENCE(a_request_that_never_left_needs_no_cancel),
		SENTENCE(who_only_tries_takes_no_place_and_leaves_nothing_to_cancel),
		SENTENCE(a_request_that_came_too_late_is_sent_again_by_the_clock_that_was_learned),
		SENTENCE(a_script_that_is_not_there_is_sent_with_its_source),
		SENTENCE(a_server_that_loads_is_asked_again_in_a_moment),
		SENTENCE(a_server_that_is_busy_all_the_time_is_unavailable_and_it_is_said_why),
		SENTENCE(after_a_restart_nothing_is_asked_for_while_its_guard_lasts),
		SENTENCE(a_refusal_that_is_for_good_ends_the_wait),
		SENTENCE(who_would_not_be_told_takes_no_place_before_it_is_listened_again),
		SENTENCE(a_message_grants_what_is_waited_for_for_as_long_as_its_claim_counts),
		SENTENCE(an_answered_heartbeat_moves_on_what_a_claim_counts_from),
		SENTENCE(a_heartbeat_that_is_not_answered_moves_nothing),
		SENTENCE(no_heartbeat_moves_the_claim_of_a_token_that_was_asked_for_twice),
		SENTENCE(a_grant_that_comes_twice_counts_once),
		SENTENCE(a_grant_for_a_token_that_is_gone_is_canceled),
		SENTENCE(a_grant_that_comes_in_front_of_the_answer_counts),
		SENTENCE(a_grant_whose_claim_is_over_is_asked_about),
		SENTENCE(a_token_that_the_server_does_not_know_is_dead_and_the_wait_goes_on_with_another),
		SENTENCE(who_is_canceled_while_it_waits_leaves_the_queue),
		SENTENCE(the_next_of_the_process_waits_on_in_the_place_of_who_has_left),
		SENTENCE(each_who_waits_for_a_fair_lock_has_a_place_and_one_heartbeat_speaks_for_all),
		SENTENCE(a_hold_is_renewed_at_a_third_of_its_lease),
		SENTENCE(a_renewal_that_crosses_a_release_changes_nothing),
		SENTENCE(no_renewal_follows_a_release),
		SENTENCE(a_lease_that_nobody_renews_is_lost_at_the_moment_at_which_it_ends),
		SENTENCE(renewals_that_are_not_answered_are_a_jeopardy_and_then_a_loss),
		SENTENCE(a_renewal_that_is_answered_again_ends_the_jeopardy),
		SENTENCE(what_the_server_does_not_have_any_more_is_lost_at_the_next_renewal),
		SENTENCE(a_renewal_whose_script_is_not_there_brings_it),
		SENTENCE(a_connection_on_which_a_renewal_is_not_answered_for_a_quarter_of_its_lease_is_left),
		SENTENCE(a_renewal_that_finds_nothing_takes_nothing_from_the_next_hold),
		SENTENCE(what_was_lost_stays_lost_whatever_the_answer),
		SENTENCE(what_is_held_is_renewed_over_the_next_connection),
		SENTENCE(a_hand_off_within_the_process_sends_nothing_and_has_a_fence_of_its_own),
		SENTENCE(a_turn_of_a_process_ends_and_its_next_request_goes_out_behind_the_release),
		SENTENCE(an_owner_nests_without_a_word_until_its_last_release),
		SENTENCE(what_another_client_has_left_is_adopted_by_a_heartbeat_and_renewed),
		SENTENCE(who_waits_is_granted_the_lock_once_although_an_adoption_had_it),
		SENTENCE(an_adoption_that_tries_again_is_told_of_a_break),
		SENTENCE(an_extension_is_over_when_it_is_answered),
		SENTENCE(a_release_whose_answer_was_lost_is_no_loss),
		SENTENCE(a_release_that_finds_nothing_says_that_it_was_lost),
		SENTENCE(a_close_ends_the_wait_at_once_and_takes_back_what_was_asked_for),
		SENTENCE(a_close_ends_an_adoption_at_once),
		SENTENCE(a_close_releases_what_is_held),
	};

	return cmocka_run_group_tests_name("single", tests, NULL, NULL);
}
