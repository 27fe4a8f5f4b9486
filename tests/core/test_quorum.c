/* A quorum of three, to the vote: what the core says to each server, and what it makes of what comes back. */
#include "tests/core/scene.h"

#include "lease/host.h"
#include "tests/core/wire.h"

static void
begin(void)
{
	world_begin_quorum();
	ann->terms.restart_guard_ms = bob->terms.restart_guard_ms = 30000;
}

FIXTURE(begin, world_end);

#define AT_ALL(command) command " at a, " command " at b, " command " at c"
#define RELEASES_AT_ALL "release 1 at a with source, release 1 at b with source, release 1 at c with source"

SCENE(what_two_of_three_grant_is_held,
      "ann acquires 10000 -> " AT_ALL("vote 1") "; b HELD -> ann waits; c HELD -> ann OK, ann left 29698")
SCENE(a_round_without_a_majority_is_canceled_where_it_has_a_vote_and_the_next_has_a_new_token, "ann acquires 10000;"
      "bc TAKEN; a HELD -> " AT_ALL("vote 1") ", release 1 at a with source;" /* too late: its cancel is on its way */
      "a RELEASED; pass 100 -> " AT_ALL("vote 2"))
SCENE(a_try_without_a_majority_is_over_and_takes_back_the_vote_that_it_has, "ann tries; bc TAKEN -> ann TIMEOUT, "
      AT_ALL("vote 1") ", release 1 at a with source; a HELD; a RELEASED; pass 10000 -> nothing sent")

SENTENCE(a_vote_that_waited_for_room_and_comes_behind_its_cancel_keeps_no_lease)
{
	wire.refuses = 1000;
	acquire(ann, 1000);
	wire.refuses = 0;
	play("pass 1000 -> ann UNAVAILABLE, " RELEASES_AT_ALL "; a GONE");
	lsh_call_resume(&lsh_resource_host(world_resource())->server);
	play("bc GONE");
	assert_true(lsh_list_empty(&world_resource()->leases));
}

SCENE(a_fence_that_one_server_knows_is_told_to_another_before_the_lock_is_held,
      "ann acquires 10000; a answer_ahead 7; b HELD -> ann waits, " AT_ALL("vote 1") ", raise at b; b KEPT -> ann OK")
SCENE(a_vote_with_a_fence_far_ahead_of_most_clocks_is_none, /* by 364 days and an hour */
      "ann acquires 10000; a answer_ahead 31453200000000; b HELD -> ann waits; c HELD -> ann OK, " AT_ALL("vote 1"))

DOES(fence_is_near, assert_true(world_view(person).fence < (UINT64_C(1760000000) + 86400 * 100) * 1000000 * 256))
SCENE(a_vote_with_a_fence_far_ahead_of_all_clocks_is_none_and_no_other_server_hears_of_it, /* by 367 days */
      "ann acquires 10000; a answer_ahead 31708800000000; b HELD -> ann waits;"
      "c HELD -> ann OK, " AT_ALL("vote 1") "; ann fence_is_near")

SCENE(a_renewal_counts_when_two_of_three_have_answered,
      "ann holds; pass 10000 -> " AT_ALL("renew 1") "; a KEPT -> ann left 19698; b KEPT -> ann left 29698")
SCENE(a_vote_that_is_gone_is_a_jeopardy_and_decides_nothing,
      "ann holds; pass 10000; c GONE -> ann left 19698, told ann JEOPARDY")
SCENE(a_vote_that_is_gone_is_asked_for_once_the_others_are_renewed,
      "ann holds; pass 10000; c GONE -> " AT_ALL("renew 1") "; ab KEPT -> vote 1 at c")
SCENE(a_vote_that_is_gone_brings_the_end_nearer,
      "ann holds; pass 10000; ab KEPT -> ann left 29698; pass 10000;"
      "a GONE -> ann left 29698 - 20000") /* that of c, which was never renewed */
SCENE(an_extension_is_one_when_two_of_three_have_answered,
      "ann holds; pass 100; ann extends 30000; a KEPT -> ann waits; b KEPT -> ann OK, ann left 29698")
SCENE(a_renewal_that_was_on_its_way_when_an_extension_came_is_made_again, "ann holds; pass 10000 -> "
      AT_ALL("renew 1") "; pass 1; ann extends 30000; abc KEPT -> ann waits, " AT_ALL("renew 1") "; ab KEPT -> ann OK")
SCENE(what_a_restart_has_wiped_counts_and_its_release_is_no_loss,
      "ann holds; pass 1000; cut; ann releases; restart; ab GONE -> ann OK")
SCENE(a_release_that_ended_with_an_error_may_have_been_done, "ann holds; cut_server c; ann releases;"
      "a refuse ERR user_script:9: an error in the middle; b RELEASED -> ann waits; pass 500; a GONE -> ann OK")
SCENE(what_two_servers_do_not_have_any_more_is_lost,
      "ann holds; pass 10000; ab GONE -> ann left 0, told ann JEOPARDY, told ann LOST")
SCENE(a_release_is_one_when_two_have_answered,
      "ann holds; ann releases -> " RELEASES_AT_ALL "; a RELEASED -> ann waits; c RELEASED -> ann OK")

/* ---- without some ---- */

SCENE(without_one_of_three_all_goes_on, "cut_server c; ann acquires 10000 -> vote 1 at a, vote 1 at b;"
      "ab HELD -> ann OK, told ann JEOPARDY; pass 10000 -> renew 1 at a, renew 1 at b;"
      "ab KEPT -> ann left 29698; ann extends 30000; ab KEPT -> ann OK; ann releases; ab RELEASED -> ann OK")
SCENE(one_that_is_silent_does_not_delay_the_others, "ann acquires 10000; ac HELD -> ann OK, now 0")
SCENE(without_two_of_three_nothing_is_acquired_and_what_is_held_is_lost_in_time,
      "ann holds; cut_server a; cut_server b; pass 10000; c KEPT; pass 19697 -> ann left 1, told ann JEOPARDY;"
      "pass 1 -> told ann LOST; bob acquires 300; pass 300 -> bob UNAVAILABLE, bob why 2 of 3 servers")
SCENE(one_that_comes_back_has_its_vote_renewed_or_made_anew, "ann holds; cut_server c;"
      "pass 1000; reconnect -> renew 1 at c; c GONE -> told ann JEOPARDY, vote 1 at c; c HELD -> told ann RECOVERED")
SCENE(what_is_not_renewed_asks_nobody_for_a_vote_that_is_missing, "cut_server c; ann wants no_renew; ann holds;"
      "ann extends 30000; ab KEPT -> ann OK, renew 1 at a, renew 1 at b; reconnect; pass 5000 -> nothing sent")
/* What it granted before it has forgotten, perhaps. */
SCENE(after_a_restart_no_vote_counts_while_the_guard_lasts,
      "restart; ann acquires 60000; pass 29999 -> ann waits, nothing sent; pass 200; ab HELD -> ann OK")
/* Nobody else can have got it meanwhile. */
SCENE(a_release_of_what_restarted_servers_have_forgotten_is_a_release,
      "ann holds; pass 100; restart; ann releases; ab GONE; ab GONE -> ann OK") /* the renewals, and the releases */

/* ---- answers that are lost ---- */

SCENE(a_vote_whose_answer_was_lost_is_asked_for_again,
      "ann acquires 10000; cut_server a; reconnect -> " AT_ALL("vote 1") ", vote 1 at a; ab HELD -> ann OK")
SCENE(votes_that_are_never_heard_of_are_taken_back, "ann acquires 1000; pass 1000 "
      "-> ann UNAVAILABLE, ann why 3 of 3 servers; -> " AT_ALL("vote 1") ", " RELEASES_AT_ALL "; ab HELD -> ann left 0")
SCENE(a_release_whose_answers_were_lost_is_no_loss, "ann holds; ann releases; cut; reconnect; ab GONE -> ann OK")
SCENE(a_release_that_no_majority_answers_is_unknown,
      "ann holds; ann releases; a RELEASED; cut; pass 10000 -> ann UNKNOWN")
SCENE(a_release_that_no_server_answers_is_no_loss_though_its_lease_is_over_by_then,
      "ann wants lease_ms 1000; ann holds; ann releases; pass 10000 -> ann UNKNOWN")
SCENE(a_script_that_is_not_there_is_sent_with_its_source, "ann acquires 10000 -> " AT_ALL("vote 1") ";"
      "a refuse NOSCRIPT No matching script. Please use EVAL. -> vote 1 at a with source; ab HELD -> ann OK")
/* Votes that count for who asked need not count for the next in the line. */
SCENE(a_round_is_not_won_for_another_than_who_began_it, "bob wants restart_guard_ms 600000;"
      "ann acquires 10000; bob acquires 10000; cancel ann -> ann CANCELED; ab HELD -> bob waits; cancel bob")

#define ALL_REFUSE "abc refuse NOPERM this user has no permissions to run the 'hset' command; pass 200"

/* A refused password may be old news. */
SCENE(what_a_majority_refuses_for_good_ends_the_wait_at_the_second_time,
      "ann acquires;" ALL_REFUSE " -> ann waits;" ALL_REFUSE " -> ann DENIED, ann why of 3 servers could not be asked")
/* Each has threads that want it again at once: whoever has it could go on for ever. */
SCENE(who_had_its_turn_rests_as_those_do_who_had_none, "ann acquires 10000;"
      "bc TAKEN; pass 100; a HELD; a RELEASED; abc HELD -> ann OK; pass 5; ann releases; abc RELEASED -> ann OK;"
      "forget_sent; ann acquires 10000 -> nothing sent; pass 100 -> " AT_ALL("vote 3") "; cancel ann")

DOES(said, assert_non_null(strstr(world_sent(), rest)))
SCENE(who_stood_still_in_a_round_does_not_rest_for_as_long, "ann acquires -> " AT_ALL("vote 1") ";"
      "sleep_through 600000; forget_sent; pass 10000; said vote 2 at a; cancel ann")

/* ---- extensions ---- */

SCENE(an_extension_that_no_majority_answers_is_unavailable, "ann holds; cut_server a;"
      "cut_server b; pass 100; ann extends 30000; c KEPT; pass 10000 -> ann UNAVAILABLE, ann left 29698 - 10100")
SCENE(an_extension_that_a_majority_refuses_ends_at_once, "ann holds; pass 100;"
      "ann extends 30000; a refuse NOPERM this user has no permissions to run the 'pexpire' command -> ann waits;"
      "b refuse NOPERM this user has no permissions to run the 'pexpire' command -> ann DENIED, ann left 29698 - 100")
SCENE(an_extension_and_a_release_at_once_end_both,
      "ann holds; bob acts_for ann; ann extends 30000; bob releases -> ann NOT_HELD; ab KEPT; ab RELEASED -> bob OK")

/* ---- going on with the hold of another client ---- */

#define ADOPTED "ann adopts; ab answer_fence 7000 -> ann OK, ann fence 7000;"

SCENE(what_a_majority_has_is_adopted_and_the_others_get_it_with_the_next_renewal,
      ADOPTED "c GONE -> " AT_ALL("heartbeat 1") "; pass 10000 -> renew 1 at a, renew 1 at b; ab KEPT -> vote 1 at c;"
      "c HELD -> told ann JEOPARDY, told ann RECOVERED")
SCENE(what_a_minority_has_is_not_adopted, "ann adopts; a HELD; bc GONE -> ann NOT_HELD, ann why 2 of 3 servers")
SCENE(what_cannot_be_known_is_not_adopted_and_not_denied,
      "cut_server c; ann adopts; a HELD; b GONE; pass 10000 -> ann UNAVAILABLE, ann why 1 of 3 servers")
/* What a server says that may have forgotten is neither a vote nor a refusal. */
SCENE(servers_that_were_restarted_say_nothing_of_a_token_that_counts,
      "restart; ann adopts; a HELD; bc GONE -> ann UNAVAILABLE, ann why restart_guard_ms")
SCENE(of_fences_that_differ_the_one_of_a_majority_is_the_holders,
      "ann adopts; a answer_fence 9000; bc answer_fence 7000 -> ann OK, ann fence 7000")
SCENE(where_no_majority_agrees_on_a_fence_the_largest_is_told_to_a_majority_first,
      "cut_server c; ann adopts; a answer_fence 9000; b answer_fence 7000 -> ann waits;"
      "-> heartbeat 1 at a, heartbeat 1 at b, raise at b; b KEPT -> ann OK, ann fence 9000")
SCENE(a_fence_that_a_majority_cannot_be_told_of_is_nobodys_and_the_reason_is_named, "cut_server c; ann adopts;"
      "a answer_fence 9000; b answer_fence 7000; refuse NOPERM this user has no permissions to run the 'set' command;"
      "pass 10000 -> ann DENIED; -> ann why redis://b:6379: NOPERM")
SCENE(what_is_being_released_is_not_adopted_again,
      ADOPTED "ann releases; bob adopts -> bob NOT_HELD, bob why being released; ab RELEASED -> ann OK")

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

	play("ann holds");
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
	assert_string_equal(world_sent(), AT_ALL("renew 1"));
	for (size_t i = 0; i < LSH_SAYINGS; i++)
		lsh_saying_give_back(lent[i]);
}

SENTENCE(who_rests_between_rounds_rests_on_while_another_one_has_adopted_the_lock)
{
	struct lsh_outlook outlook;

	play("bob acquires 60000; abc TAKEN;" ADOPTED "pass 5000");
	assert_true(lsh_op_look(&bob->op, &outlook));
	assert_true(outlook.tick_at > lsh_now_ns());
}
