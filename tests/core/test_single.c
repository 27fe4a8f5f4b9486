/* One server, to the answer: what the core says to it, in which order, and what it makes of what comes back. */
#include "tests/core/world.h"
#include "tests/support/test.h"

FIXTURE(world_begin, world_end);

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

SENTENCE(a_server_that_loads_is_asked_again_in_a_moment)
{
	acquire(ann, 1000);
	refuse("LOADING Redis is loading the dataset in memory");
	expect_sent("acquire 1");
	pass(49);
	expect_sent("");
	pass(1);
	expect_sent("acquire 1");
}

SENTENCE(a_server_that_is_busy_all_the_time_is_unavailable_and_it_is_said_why)
{
	acquire(ann, 60);
	refuse("BUSY Redis is busy running a script.");
	pass(50);
	refuse("BUSY Redis is busy running a script.");
	pass(10);
	expect_end(ann, LEASH_UNAVAILABLE);
	assert_non_null(strstr(ann->op.why.text, "(BUSY)"));
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

static void
hold(struct person *person)
{
	acquire(person, 1000);
	answer(HELD);
	expect_end(person, LEASH_OK);
	world_sent();
}

SENTENCE(a_hold_is_renewed_at_a_third_of_its_lease)
{
	hold(ann);
	pass(9999);
	expect_sent("");
	pass(1);
	expect_sent("renew 1");
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

/* ---- replicas, which are asked over a connection of their own: b ---- */

SENTENCE(what_was_granted_counts_once_a_replica_has_it)
{
	ann->terms.safety.min_replicas = 1;
	acquire(ann, 1000);
	answer(HELD);
	expect_waiting(ann);
	on('b');
	answer(KEPT);
	answer(KEPT);
	expect_end(ann, LEASH_OK);
	expect_sent("acquire 1, renew 1 at b, wait at b");
}

SENTENCE(what_was_granted_and_no_replica_has_in_time_is_canceled)
{
	ann->terms.safety.min_replicas = 1;
	acquire(ann, 10000);
	answer(HELD);
	on('b');
	answer(KEPT);
	answer(GONE);
	pass(5000);
	expect_end(ann, LEASH_UNAVAILABLE);
	expect_sent("acquire 1, renew 1 at b, wait at b, renew 1 at b, wait at b, release 1 at a");
}

SENTENCE(whom_the_replicas_fail_is_told_so_although_another_of_the_process_has_it_by_then)
{
	make_fair();
	ann->terms.safety.min_replicas = 1;
	acquire(ann, 10000);
	answer(HELD);
	acquire(bob, 10000);
	answer(HELD);
	expect_end(bob, LEASH_OK);
	pass(5000);
	expect_end(ann, LEASH_UNAVAILABLE);
}

SENTENCE(what_is_adopted_and_no_replica_has_in_time_stays_as_it_was)
{
	ann->terms.safety.min_replicas = 1;
	adopt(ann);
	answer(HELD);
	on('b');
	answer(KEPT);
	answer(GONE);
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

SENTENCE(a_release_that_finds_nothing_says_that_it_was_lost)
{
	hold(ann);
	release(ann);
	answer(GONE);
	expect_end(ann, LEASH_LOST);
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

