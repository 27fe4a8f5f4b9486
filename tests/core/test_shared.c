/* What several may hold at once: each has a lease of its own, and what becomes of one concerns no other. What is the
 * same as of a lock is said in test_single.c. */
#include "tests/core/scene.h"
#include "tests/core/wire.h"

WORLD_OF(&lsh_semaphore, true, lsh_need(1, 8)); /* permits, 8 of them, of which each person takes one */

DOES(nothing_is_warned_of, assert_int_equal(wire.warnings, 0))

#define BOTH_HOLD "; ann acquires; bob acquires -> acquire 1, acquire 2; HELD; HELD -> ann OK, bob OK"

SCENE(several_of_one_process_hold_it_at_once_each_with_a_request_of_its_own,
      BOTH_HOLD ", ann left 29698, bob left 29698; ann releases; bob releases -> release 1, release 2;"
      "RELEASED; RELEASED -> ann OK, bob OK, nothing told")
SCENE(who_tries_is_asked_for_although_others_of_its_process_hold_it_or_wait,
      "ann holds; bob acquires 10000; carl tries -> acquire 2, try 3; QUEUED; HELD -> carl OK, bob waits")
SCENE(who_waits_has_a_place_of_its_own_and_is_told_by_its_own_message, "ann acquires; bob acquires;"
      "QUEUED; QUEUED -> ann waits, bob waits; message_granted 2 -> bob OK, ann waits; message_granted 1 -> ann OK")
SCENE(who_gives_up_leaves_the_others_in_the_queue, "ann acquires 900; bob acquires 5000; QUEUED; QUEUED;"
      "pass 900 -> ann TIMEOUT, acquire 1, acquire 2, release 1; LEFT -> bob waits; message_granted 2 -> bob OK")
SCENE(heartbeats_of_those_who_wait_go_out_as_one,
      "ann acquires; bob acquires; QUEUED; QUEUED; pass 1000 -> acquire 1, acquire 2, heartbeat 1 2")
SCENE(renewals_of_those_who_hold_it_go_out_as_one,
      BOTH_HOLD "; pass 10000 -> renew 1 2; KEPT -> ann left 19698 + 10000, bob left 19698 + 10000")
SCENE(who_is_lost_takes_nothing_from_the_others,
      BOTH_HOLD "; ann extends 60000; GONE -> ann LOST, told ann LOST, bob left 29698, renew 1, release 1")
SCENE(an_extension_is_of_one_hold_alone,
      BOTH_HOLD "; ann extends 60000 -> renew 1; KEPT -> ann OK, ann left 60000 - 600 - 2, bob left 29698")
SCENE(a_release_ends_the_extension_of_its_own_hold_alone, BOTH_HOLD "; carl acts_for ann;"
      "carl extends 60000; bob releases -> carl waits; ann releases -> carl NOT_HELD, renew 1, release 2, release 1")
SCENE(a_fence_that_is_that_of_the_others_is_no_regression_and_a_message_with_it_is_believed,
      "ann acquires; HELD; bob acquires; QUEUED; message_with_the_last_fence 2 -> bob OK, nothing told")
SCENE(a_message_that_only_looks_whether_somebody_listens_is_not_answered, "ann acquires;"
      "QUEUED -> acquire 1; wake p -> ann waits, nothing sent; nothing_is_warned_of; message_granted 1 -> ann OK")
SCENE(a_grant_of_which_nobody_knows_any_more_is_canceled_with_what_it_needs,
      "ann holds; ann releases; RELEASED; pass 100 -> release 1; message_granted 1 -> release 1")
SCENE(a_client_that_is_closed_releases_all,
      BOTH_HOLD "; close_client -> ann left 0, bob left 0, release 2, release 1, release 2, release 1")
SCENE(what_is_held_when_the_last_handle_goes_is_abandoned,
      BOTH_HOLD "; free_handle -> told bob ABANDONED, told ann ABANDONED, release 2, release 1")

/* ---- fewer of them (how a trade goes on where answers are lost: test_readwrite.c) ---- */

#define KEEPS_TWO BOTH_HOLD "; ann keeps 2 -> trade 1 3, ann waits, ann left 29698"

SCENE(some_are_released_by_a_trade_and_the_rest_has_another_name,
      KEEPS_TWO "; HELD -> ann OK, ann left 29698, bob left 29698, nothing told; ann releases -> release 3")
SCENE(where_that_is_refused_all_are_held_on, KEEPS_TWO ";"
      "refuse OOM full -> ann UNAVAILABLE, ann why none of them is released, ann left 29698; ann releases -> release 1")
SCENE(of_what_is_not_held_nothing_is_released, "ann keeps 1 -> ann NOT_HELD, nothing sent")
SCENE(of_what_was_lost_nothing_is_released,
      "ann holds; pass 10000; GONE -> told ann LOST, renew 1, release 1; ann keeps 1 -> ann LOST, nothing sent")
SCENE(who_releases_some_releases_no_more_of_them_meanwhile,
      KEEPS_TWO "; carl acts_for ann; carl keeps 1 -> carl INVALID, carl why another thread; HELD -> ann OK")
SCENE(who_has_lost_them_releases_none, KEEPS_TWO "; GONE -> ann LOST, told ann LOST, ann left 0, release 1, release 3")
SCENE(what_the_others_hold_goes_on_meanwhile, KEEPS_TWO "; HELD; bob releases -> release 2; ann releases -> release 3")
