/* A quorum of three, to the vote: what the core says to each server, and what it makes of what comes back. */
#include "tests/core/world.h"

#include "lease/host.h"
#include "tests/core/wire.h"
#include "tests/support/test.h"

static void
begin(void)
{
	world_uri = "redis+quorum://a,b,c";
	world_begin();
	ann->terms.restart_guard_ms = bob->terms.restart_guard_ms = 30000;
}

FIXTURE(begin, world_end);

static void
says(char server, enum answer what)
{
	on(server);
	answer(what);
}

static void
hold(struct person *person)
{
	acquire(person, 10000);
	says('a', HELD);
	says('b', HELD);
	says('c', HELD);
	expect_end(person, LEASH_OK);
	world_sent();
}

SENTENCE(what_two_of_three_grant_is_held)
{
	acquire(ann, 10000);
	expect_sent("vote 1 at a, vote 1 at b, vote 1 at c");
	says('b', HELD);
	expect_waiting(ann);
	says('c', HELD);
	expect_end(ann, LEASH_OK);
	expect_left(ann, 29698);
}

SENTENCE(a_round_without_a_majority_is_canceled_where_it_has_a_vote_and_the_next_has_a_new_token)
{
	acquire(ann, 10000);
	says('b', TAKEN);
	says('c', TAKEN);
	says('a', HELD); /* too late: its cancel is on its way */
	expect_sent("vote 1 at a, vote 1 at b, vote 1 at c, release 1 at a with source");
	says('a', RELEASED);
	pass(100);
	expect_sent("vote 2 at a, vote 2 at b, vote 2 at c");
}

SENTENCE(a_vote_that_waited_for_room_and_comes_behind_its_cancel_keeps_no_lease)
{
	wire_refuses = 1000;
	acquire(ann, 1000);
	wire_refuses = 0;
	pass(1000);
	expect_end(ann, LEASH_UNAVAILABLE);
	expect_sent("release 1 at a with source, release 1 at b with source, release 1 at c with source");
	says('a', GONE);
	lsh_call_resume(&lsh_resource_host(world_resource())->server);
	says('b', GONE);
	says('c', GONE);
	assert_true(lsh_list_empty(&world_resource()->leases));
}

SENTENCE(a_fence_that_one_server_knows_is_told_to_another_before_the_lock_is_held)
{
	acquire(ann, 10000);
	on('a');
	answer_ahead(7);
	says('b', HELD);
	expect_waiting(ann);
	expect_sent("vote 1 at a, vote 1 at b, vote 1 at c, raise at b");
	says('b', KEPT);
	expect_end(ann, LEASH_OK);
}

SENTENCE(a_vote_with_a_fence_far_ahead_of_most_clocks_is_none)
{
	acquire(ann, 10000);
	on('a');
	answer_ahead(INT64_C(364) * 86400 * 1000000 + INT64_C(3600000000));
	says('b', HELD);
	expect_waiting(ann);
	says('c', HELD);
	expect_end(ann, LEASH_OK);
	expect_sent("vote 1 at a, vote 1 at b, vote 1 at c");
}

SENTENCE(a_renewal_counts_when_two_of_three_have_answered)
{
	hold(ann);
	pass(10000);
	expect_sent("renew 1 at a, renew 1 at b, renew 1 at c");
	says('a', KEPT);
	expect_left(ann, 19698);
	says('b', KEPT);
	expect_left(ann, 29698);
}

SENTENCE(a_vote_that_is_gone_is_a_jeopardy_and_decides_nothing)
{
	hold(ann);
	pass(10000);
	says('c', GONE);
	expect_left(ann, 19698);
	expect_told("ann JEOPARDY");
}

SENTENCE(a_vote_that_is_gone_is_asked_for_once_the_others_are_renewed)
{
	hold(ann);
	pass(10000);
	says('c', GONE);
	expect_sent("renew 1 at a, renew 1 at b, renew 1 at c");
	says('a', KEPT);
	says('b', KEPT);
	expect_sent("vote 1 at c");
}

SENTENCE(a_vote_that_is_gone_brings_the_end_nearer)
{
	hold(ann);
	pass(10000);
	says('a', KEPT);
	says('b', KEPT);
	expect_left(ann, 29698);
	pass(10000);
	says('a', GONE);
	expect_left(ann, 29698 - 20000); /* that of c, which was never renewed */
}

SENTENCE(an_extension_is_one_when_two_of_three_have_answered)
{
	hold(ann);
	extend(ann, 60000);
	says('a', KEPT);
	expect_waiting(ann);
	says('b', KEPT);
	expect_end(ann, LEASH_OK);
}

SENTENCE(a_renewal_that_was_on_its_way_when_an_extension_came_is_made_again)
{
	hold(ann);
	pass(10000);
	expect_sent("renew 1 at a, renew 1 at b, renew 1 at c");
	pass(1);
	extend(ann, 30000);
	for (char server = 'a'; server <= 'c'; server++)
		says(server, KEPT);
	expect_waiting(ann);
	expect_sent("renew 1 at a, renew 1 at b, renew 1 at c");
	says('a', KEPT);
	says('b', KEPT);
	expect_end(ann, LEASH_OK);
}

SENTENCE(what_a_restart_has_wiped_counts_and_its_release_is_no_loss)
{
	hold(ann);
	pass(1000);
	cut();
	release(ann);
	restart();
	says('a', GONE);
	says('b', GONE);
	expect_end(ann, LEASH_OK);
}

SENTENCE(a_release_that_ended_with_an_error_may_have_been_done)
{
	hold(ann);
	cut_server('c');
	release(ann);
	on('a');
	refuse("ERR user_script:9: an error in the middle");
	says('b', RELEASED);
	expect_waiting(ann);
	pass(500);
	says('a', GONE);
	expect_end(ann, LEASH_OK);
}

SENTENCE(what_two_servers_do_not_have_any_more_is_lost)
{
	hold(ann);
	pass(10000);
	says('a', GONE);
	says('b', GONE);
	expect_left(ann, 0);
	expect_told("ann JEOPARDY, ann LOST");
}

SENTENCE(a_release_is_one_when_two_have_answered)
{
	hold(ann);
	release(ann);
	expect_sent("release 1 at a with source, release 1 at b with source, release 1 at c with source");
	says('a', RELEASED);
	expect_waiting(ann);
	says('c', RELEASED);
	expect_end(ann, LEASH_OK);
}

/* ---- without some ---- */

SENTENCE(without_one_of_three_all_goes_on)
{
	cut_server('c');
	acquire(ann, 10000);
	expect_sent("vote 1 at a, vote 1 at b");
	says('a', HELD);
	says('b', HELD);
	expect_end(ann, LEASH_OK);
	expect_told("ann JEOPARDY");
	pass(10000);
	expect_sent("renew 1 at a, renew 1 at b");
	says('a', KEPT);
	says('b', KEPT);
	expect_left(ann, 29698);
	extend(ann, 30000);
	says('a', KEPT);
	says('b', KEPT);
	expect_end(ann, LEASH_OK);
	release(ann);
	says('a', RELEASED);
	says('b', RELEASED);
	expect_end(ann, LEASH_OK);
}

SENTENCE(one_that_is_silent_does_not_delay_the_others)
{
	acquire(ann, 10000);
	says('a', HELD);
	says('c', HELD);
	expect_end(ann, LEASH_OK);
	assert_int_equal(world_ms(), 0);
}

SENTENCE(without_two_of_three_nothing_is_acquired_and_what_is_held_is_lost_in_time)
{
	hold(ann);
	cut_server('a');
	cut_server('b');
	pass(10000);
	says('c', KEPT);
	pass(19697);
	expect_left(ann, 1);
	expect_told("ann JEOPARDY");
	pass(1);
	expect_told("ann LOST");
	acquire(bob, 300);
	pass(300);
	expect_end(bob, LEASH_UNAVAILABLE);
	expect_why(bob, "2 of 3 servers");
}

SENTENCE(one_that_comes_back_has_its_vote_renewed_or_made_anew)
{
	hold(ann);
	cut_server('c');
	pass(1000);
	reconnect();
	expect_sent("renew 1 at c");
	says('c', GONE);
	expect_told("ann JEOPARDY");
	expect_sent("vote 1 at c");
	says('c', HELD);
	expect_told("ann RECOVERED");
}

SENTENCE(what_is_not_renewed_asks_nobody_for_a_vote_that_is_missing)
{
	cut_server('c');
	ann->terms.no_renew = true;
	acquire(ann, 10000);
	says('a', HELD);
	says('b', HELD);
	expect_end(ann, LEASH_OK);
	extend(ann, 30000);
	says('a', KEPT);
	says('b', KEPT);
	expect_end(ann, LEASH_OK);
	world_sent();
	reconnect();
	pass(5000);
	expect_sent("");
}

/* What it granted before it has forgotten, perhaps. */
SENTENCE(after_a_restart_no_vote_counts_while_the_guard_lasts)
{
	restart();
	acquire(ann, 60000);
	pass(29999);
	expect_waiting(ann);
	world_sent();
	pass(200);
	says('a', HELD);
	says('b', HELD);
	expect_end(ann, LEASH_OK);
}

/* Nobody else can have got it meanwhile. */
SENTENCE(a_release_of_what_restarted_servers_have_forgotten_is_a_release)
{
	hold(ann);
	pass(100);
	restart();
	release(ann);
	for (char server = 'a'; server <= 'b'; server++) {
		says(server, GONE); /* the renewal */
		says(server, GONE);
	}
	expect_end(ann, LEASH_OK);
}

/* ---- answers that are lost ---- */

SENTENCE(a_vote_whose_answer_was_lost_is_asked_for_again)
{
	acquire(ann, 10000);
	cut_server('a');
	reconnect();
	expect_sent("vote 1 at a, vote 1 at b, vote 1 at c, vote 1 at a");
	says('a', HELD);
	says('b', HELD);
	expect_end(ann, LEASH_OK);
}

SENTENCE(votes_that_are_never_heard_of_are_taken_back)
{
	acquire(ann, 1000);
	pass(1000);
	expect_end(ann, LEASH_UNAVAILABLE);
	expect_why(ann, "3 of 3 servers");
	expect_sent("vote 1 at a, vote 1 at b, vote 1 at c, "
	            "release 1 at a with source, release 1 at b with source, release 1 at c with source");
	says('a', HELD);
	says('b', HELD);
	expect_left(ann, 0);
}

SENTENCE(a_release_whose_answers_were_lost_is_no_loss)
{
	hold(ann);
	release(ann);
	cut();
	reconnect();
	says('a', GONE);
	says('b', GONE);
	expect_end(ann, LEASH_OK);
}

SENTENCE(a_release_that_no_majority_answers_is_unknown)
{
	hold(ann);
	release(ann);
	says('a', RELEASED);
	cut();
	pass(10000);
	expect_end(ann, LEASH_UNKNOWN);
}

SENTENCE(a_script_that_is_not_there_is_sent_with_its_source)
{
	acquire(ann, 10000);
	world_sent();
	on('a');
	refuse("NOSCRIPT No matching script. Please use EVAL.");
	expect_sent("vote 1 at a with source");
	says('a', HELD);
	says('b', HELD);
	expect_end(ann, LEASH_OK);
}

SENTENCE(a_vote_with_a_fence_far_ahead_of_all_clocks_is_none_and_no_other_server_hears_of_it)
{
	acquire(ann, 10000);
	on('a');
	answer_ahead(INT64_C(367) * 86400 * 1000000);
	says('b', HELD);
	expect_waiting(ann);
	says('c', HELD);
	expect_end(ann, LEASH_OK);
	assert_true(world_fence(ann) < (UINT64_C(1760000000) + 86400 * 100) * 1000000 * 256);
	expect_sent("vote 1 at a, vote 1 at b, vote 1 at c");
}

/* Votes that count for who asked need not count for the next in the line. */
SENTENCE(a_round_is_not_won_for_another_than_who_began_it)
{
	bob->terms.restart_guard_ms = 600000;
	acquire(ann, 10000);
	acquire(bob, 10000);
	cancel(ann);
	expect_end(ann, LEASH_CANCELED);
	says('a', HELD);
	says('b', HELD);
	expect_waiting(bob);
	cancel(bob);
}

/* A refused password may be old news. */
SENTENCE(what_a_majority_refuses_for_good_ends_the_wait_at_the_second_time)
{
	acquire(ann, LEASH_FOREVER);
	for (int round = 1; round <= 2; round++) {
		expect_waiting(ann);
		for (char server = 'a'; server <= 'c'; server++) {
			on(server);
			refuse("NOPERM this user has no permissions to run the 'hset' command");
		}
		pass(200);
	}
	expect_end(ann, LEASH_DENIED);
	expect_why(ann, "of 3 servers could not be asked");
}

/* Each has threads that want it again at once: whoever has it could go on for ever. */
SENTENCE(who_had_its_turn_rests_as_those_do_who_had_none)
{
	acquire(ann, 10000);
	says('b', TAKEN);
	says('c', TAKEN);
	pass(100);
	says('a', HELD);
	says('a', RELEASED);
	says('a', HELD);
	says('b', HELD);
	says('c', HELD);
	expect_end(ann, LEASH_OK);
	pass(5);
	release(ann);
	for (char server = 'a'; server <= 'c'; server++)
		says(server, RELEASED);
	expect_end(ann, LEASH_OK);
	world_sent();
	acquire(ann, 10000);
	expect_sent("");
	pass(100);
	expect_sent("vote 3 at a, vote 3 at b, vote 3 at c");
	cancel(ann);
}

SENTENCE(who_stood_still_in_a_round_does_not_rest_for_as_long)
{
	acquire(ann, LEASH_FOREVER);
	sleep_through(600000);
	world_sent();
	pass(10000);
	assert_non_null(strstr(world_sent(), "vote 2 at a"));
	cancel(ann);
}

/* ---- extensions ---- */

SENTENCE(an_extension_is_over_when_a_majority_has_answered)
{
	hold(ann);
	pass(100);
	extend(ann, 30000);
	says('a', KEPT);
	expect_waiting(ann);
	says('b', KEPT);
	expect_end(ann, LEASH_OK);
	expect_left(ann, 29698);
}

SENTENCE(an_extension_that_no_majority_answers_is_unavailable)
{
	hold(ann);
	cut_server('a');
	cut_server('b');
	pass(100);
	extend(ann, 30000);
	says('c', KEPT);
	pass(10000);
	expect_end(ann, LEASH_UNAVAILABLE);
	expect_left(ann, 29698 - 10100);
}

SENTENCE(an_extension_that_a_majority_refuses_ends_at_once)
{
	hold(ann);
	pass(100);
	extend(ann, 30000);
	on('a');
	refuse("NOPERM this user has no permissions to run the 'pexpire' command");
	expect_waiting(ann);
	on('b');
	refuse("NOPERM this user has no permissions to run the 'pexpire' command");
	expect_end(ann, LEASH_DENIED);
	expect_left(ann, 29698 - 100);
}

SENTENCE(an_extension_and_a_release_at_once_end_both)
{
	hold(ann);
	bob->acts_for = ann;
	extend(ann, 30000);
	release(bob);
	expect_end(ann, LEASH_NOT_HELD);
	says('a', KEPT);
	says('a', RELEASED);
	says('b', KEPT);
	says('b', RELEASED);
	expect_end(bob, LEASH_OK);
}

/* ---- going on with the hold of another client ---- */

static void
knows(char server, int64_t fence)
{
	on(server);
	answer_fence(fence);
}

SENTENCE(what_a_majority_has_is_adopted_and_the_others_get_it_with_the_next_renewal)
{
	adopt(ann);
	expect_sent("heartbeat 1 at a, heartbeat 1 at b, heartbeat 1 at c");
	knows('a', 7000);
	knows('b', 7000);
	expect_end(ann, LEASH_OK);
	assert_int_equal(world_fence(ann), 7000 * 256);
	says('c', GONE);
	pass(10000);
	expect_sent("renew 1 at a, renew 1 at b");
	says('a', KEPT);
	says('b', KEPT);
	expect_sent("vote 1 at c");
	says('c', HELD);
	expect_told("ann JEOPARDY, ann RECOVERED");
}

SENTENCE(what_a_minority_has_is_not_adopted)
{
	adopt(ann);
	says('a', HELD);
	says('b', GONE);
	says('c', GONE);
	expect_end(ann, LEASH_NOT_HELD);
	expect_why(ann, "2 of 3 servers");
}

SENTENCE(what_cannot_be_known_is_not_adopted_and_not_denied)
{
	cut_server('c');
	adopt(ann);
	says('a', HELD);
	says('b', GONE);
	pass(10000);
	expect_end(ann, LEASH_UNAVAILABLE);
	expect_why(ann, "1 of 3 servers");
}

/* What a server says that may have forgotten is neither a vote nor a refusal. */
SENTENCE(servers_that_were_restarted_say_nothing_of_a_token_that_counts)
{
	restart();
	adopt(ann);
	for (char server = 'a'; server <= 'c'; server++)
		says(server, server == 'a' ? HELD : GONE);
	expect_end(ann, LEASH_UNAVAILABLE);
	expect_why(ann, "restart_guard_ms");
}

SENTENCE(of_fences_that_differ_the_one_of_a_majority_is_the_holders)
{
	adopt(ann);
	knows('a', 9000);
	knows('b', 7000);
	knows('c', 7000);
	expect_end(ann, LEASH_OK);
	assert_int_equal(world_fence(ann), 7000 * 256);
}

SENTENCE(where_no_majority_agrees_on_a_fence_the_largest_is_told_to_a_majority_first)
{
	cut_server('c');
	adopt(ann);
	knows('a', 9000);
	knows('b', 7000);
	expect_waiting(ann);
	expect_sent("heartbeat 1 at a, heartbeat 1 at b, raise at b");
	says('b', KEPT);
	expect_end(ann, LEASH_OK);
	assert_int_equal(world_fence(ann), 9000 * 256);
}

SENTENCE(a_fence_that_a_majority_cannot_be_told_of_is_nobodys_and_the_reason_is_named)
{
	cut_server('c');
	adopt(ann);
	knows('a', 9000);
	knows('b', 7000);
	refuse("NOPERM this user has no permissions to run the 'set' command");
	pass(10000);
	expect_end(ann, LEASH_DENIED);
	expect_why(ann, "redis://b:6379: NOPERM");
}

SENTENCE(what_is_being_released_is_not_adopted_again)
{
	adopt(ann);
	knows('a', 7000);
	knows('b', 7000);
	expect_end(ann, LEASH_OK);
	release(ann);
	adopt(bob);
	expect_end(bob, LEASH_NOT_HELD);
	expect_why(bob, "being released");
	says('a', RELEASED);
	says('b', RELEASED);
	expect_end(ann, LEASH_OK);
}

/* ---- votes that move ---- */

/* It is on the list of a host whose lock moves to another one. */
static void
move_while_due(struct lsh_vote *v, struct lsh_host *from)
{
	struct lsh_host *to = v->host;

	lsh_host_keep(&v->host, from);
	lsh_vote_due(v);
	lsh_host_keep(&v->host, to);
}

/* A host's thread that stopped at a vote which has moved was kicked by nobody, and the renewals behind it waited. */
SENTENCE(a_renewal_behind_votes_that_have_moved_goes_out_while_all_sayings_are_lent)
{
	struct lsh_resource *r = world_resource();
	struct lsh_host *a = lsh_host_at(r->backend, 0);
	struct lsh_saying *lent[LSH_SAYINGS];

	hold(ann);
	for (size_t i = 0; i < LSH_SAYINGS; i++)
		lent[i] = lsh_saying_borrow(a);
	assert_int_equal(a->unlent, 0);
	lsh_monitor_enter(&r->monitor);
	lsh_each_lease(lease, r) {
		move_while_due(&lease->votes[1], a);
		move_while_due(&lease->votes[2], a);
		lsh_vote_due(&lease->votes[0]);
	}
	lsh_monitor_leave(&r->monitor);
	expect_sent("renew 1 at a, renew 1 at b, renew 1 at c");
	for (size_t i = 0; i < LSH_SAYINGS; i++)
		lsh_saying_give_back(lent[i]);
}

SENTENCE(who_rests_between_rounds_rests_on_while_another_one_has_adopted_the_lock)
{
	struct lsh_outlook outlook;

	acquire(bob, 60000);
	for (char server = 'a'; server <= 'c'; server++)
		says(server, TAKEN);
	adopt(ann);
	knows('a', 7000);
	knows('b', 7000);
	expect_end(ann, LEASH_OK);
	pass(5000);
	assert_true(lsh_op_look(&bob->op, &outlook));
	assert_true(outlook.tick_at > lsh_now_ns());
}
