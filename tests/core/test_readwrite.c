/* Read-write locks: what an owner may do with what it holds, who shares a lease with whom within a process, and where
 * the server is asked anew. What is the same as of a lock is said in test_single.c and test_handoff.c. */
#include "tests/core/scene.h"

WORLD_OF(&lsh_readwrite, false, LSH_NEED_READ); /* everybody reads, until it is said that somebody writes */

#define BOTH_READ "ann holds; bob acquires 10000 -> bob OK, nothing sent"

/* ---- readers of one process ---- */

SCENE(a_reader_joins_one_who_reads_and_nothing_is_sent, BOTH_READ ", ann left 29698, bob left 29698, ann has it,"
      " bob has it still")
SCENE(the_last_one_out_releases_it, BOTH_READ "; ann releases -> ann OK, ann left 0, bob left 29698, nothing sent;"
      "bob releases -> release 1, bob waits; RELEASED -> bob OK")
SCENE(who_comes_while_it_is_asked_for_is_let_in_with_the_first,
      "ann acquires 10000; bob acquires 10000; carl acquires 10000 -> acquire 1; HELD -> ann OK, bob OK, carl OK,"
      " nothing sent, ann has it, bob has it still, carl has it still")
SCENE(who_comes_while_the_first_waits_is_let_in_with_it,
      "ann acquires 10000; QUEUED; bob acquires 10000 -> bob waits, acquire 1; message_granted 1 -> ann OK, bob OK")
SCENE(a_turn_ends_after_so_many_milliseconds_and_the_next_reader_asks, "ann holds;"
      "pass 9; bob acquires 10000 -> bob OK, nothing sent; pass 1; carl acquires 10000 -> carl waits, acquire 2;"
      "HELD -> carl OK; ann releases; bob releases -> release 1; RELEASED; carl releases -> release 2")
SCENE(a_turn_has_no_end_by_count,
      "ann wants handoffs 1; ann holds; bob acquires 10000; carl acquires 10000 -> bob OK, carl OK, nothing sent")
SCENE(nobody_joins_while_somebody_of_the_process_waits_to_write, "ann holds;"
      "bob writes; bob acquires 10000 -> acquire 2, bob waits; carl acquires 10000 -> carl waits, nothing sent")
SCENE(readers_behind_a_writer_of_the_process_come_in_behind_it,
      "ann writes; ann holds; bob acquires 10000; carl acquires 10000 -> bob waits, carl waits, nothing sent;"
      "ann releases -> release 1, acquire 2; RELEASED; HELD -> ann OK, bob OK, carl OK")
SCENE(a_writer_behind_readers_ends_the_row_of_those_who_come_in, "ann acquires 10000; bob writes;"
      "bob acquires 10000; carl acquires 10000 -> acquire 1; HELD -> ann OK, bob waits, carl waits, acquire 2")

/* ---- who shares with nobody ---- */

#define ASKS "ann holds; bob acquires 10000 -> bob waits, acquire 2"

SCENE(a_longer_lease_is_asked_for, "bob wants lease_ms 60000;" ASKS)
SCENE(what_is_not_renewed_is_not_shared, "ann wants no_renew;" ASKS)
SCENE(nor_by_what_is_not_renewed, "bob wants no_renew;" ASKS)
SCENE(what_has_a_limit_is_not_shared, "ann wants max_hold_ms 60000;" ASKS)
SCENE(nor_by_what_has_a_limit, "bob wants max_hold_ms 60000;" ASKS)
SCENE(what_may_lapse_is_not_shared, "ann wants alive_ms 60000;" ASKS)
SCENE(nor_by_what_may_lapse, "bob wants alive_ms 60000;" ASKS)
SCENE(who_allows_no_hand_off_shares_nothing, "ann wants handoffs 0;" ASKS)
SCENE(nor_does_anybody_share_with_it, "bob wants handoffs 0;" ASKS)
SCENE(who_is_guarded_longer_asks, "bob wants restart_guard_ms 1;" ASKS)
SCENE(a_hold_that_was_extended_is_not_shared,
      "ann holds; ann extends 120000; KEPT -> ann OK, renew 1; bob acquires 10000 -> acquire 2")
SCENE(a_hold_at_risk_is_not_shared, "ann wants handoff_ms 60000;"
      "ann holds; pass 10000; refuse BUSY -> renew 1, renew 1; bob acquires 10000 -> acquire 2")
SCENE(of_a_fair_lock_everybody_asks, "make_fair;" ASKS)

/* ---- what an owner may do with what it has ---- */

SCENE(who_reads_may_read_again, "ann holds;"
      "ann nests -> ann depth 2; ann releases -> ann OK, nothing sent, ann depth 1; ann releases -> release 1")
SCENE(who_writes_may_write_and_read_again,
      "ann writes; ann holds; ann nests -> ann depth 2; ann reads; ann nests -> ann depth 1, nothing sent")
SCENE(who_writes_may_read_without_having_acquired_that,
      "ann writes; ann holds; ann reads -> ann left 29698, ann depth 0, ann has it")
SCENE(who_reads_and_wants_to_write_would_wait_for_itself, "ann holds;"
      "ann writes; ann acquires 10000 -> ann DEADLOCK, ann why this owner reads it, nothing sent, ann left 0;"
      "ann tries -> ann DEADLOCK, nothing sent; ann reads -> ann depth 1")
SCENE(what_is_read_is_not_released_by_who_writes,
      "ann holds; ann writes; ann releases -> ann NOT_HELD, nothing sent; ann reads -> ann depth 1")
SCENE(what_is_written_is_not_released_by_who_reads, "ann writes; ann holds; ann reads; ann releases -> ann NOT_HELD;"
      "ann writes -> ann left 29698")
SCENE(who_releases_reading_first_goes_on_writing, "ann writes; ann holds; ann reads;"
      "ann nests; ann releases -> ann OK, nothing sent; ann writes -> ann left 29698; ann releases -> release 1")

/* ---- of one process and of others ---- */

SCENE(a_writer_is_handed_off_to_a_writer,
      "ann writes; bob writes; ann holds; bob acquires 10000; ann releases -> ann OK, bob OK, nothing sent")
SCENE(a_writer_is_not_handed_off_to_a_reader,
      "ann writes; ann holds; bob acquires 10000; ann releases -> release 1, acquire 2")
SCENE(readers_are_not_handed_off, "ann holds; bob writes; bob acquires 10000 -> acquire 2;"
      "QUEUED; ann releases -> release 1, bob waits; RELEASED; message_granted 2 -> bob OK, ann OK")
SCENE(who_tries_to_read_is_asked_for_while_somebody_else_waits,
      "ann acquires 10000 -> acquire 1; bob tries -> try 2; HELD; HELD -> ann OK, bob OK")
SCENE(who_waits_does_not_do_so_for_one_who_tries, "ann writes; bob writes;"
      "ann tries -> try 1; bob acquires 10000 -> acquire 2; TAKEN; QUEUED -> ann TIMEOUT; message_granted 2 -> bob OK")
SCENE(who_tries_to_read_while_somebody_of_the_process_writes_does_not_ask,
      "ann writes; ann holds; bob tries -> bob TIMEOUT, bob why other owners have it, nothing sent")
SCENE(who_gives_up_reading_leaves_its_place_to_the_next_reader, "ann acquires 900;"
      "bob acquires 5000 -> acquire 1; QUEUED; pass 900 -> ann TIMEOUT, nothing sent; message_granted 1 -> bob OK")
SCENE(who_gives_up_reading_does_not_leave_its_place_to_a_writer, "bob writes;"
      "ann acquires 900; bob acquires 5000 -> acquire 1; QUEUED; pass 900 -> ann TIMEOUT, release 1, acquire 2")
SCENE(where_others_write_what_was_read_is_lost, BOTH_READ "; carl writes; carl acquires 10000;"
      "HELD -> carl OK, told bob LOST, told ann LOST, ann left 0; ann releases; bob releases -> ann LOST, bob LOST")
SCENE(where_others_read_what_was_written_is_lost,
      "make_fair; ann writes; ann holds; bob acquires 10000; HELD -> bob OK, told ann LOST; ann releases -> ann LOST")

/* ---- what becomes of a lease concerns all who share it ---- */

SCENE(one_renewal_is_for_all, BOTH_READ "; pass 10000 -> renew 1;"
      "KEPT -> ann left 19698 + 10000, bob left 19698 + 10000")
SCENE(all_are_told_of_risk_and_of_loss, BOTH_READ "; pass 10000; refuse BUSY -> told bob JEOPARDY, told ann JEOPARDY;"
      "GONE -> told bob LOST, told ann LOST; ann releases; bob releases -> ann LOST, bob LOST")
SCENE(a_release_ends_the_extension_of_its_own_owner_alone, BOTH_READ ";"
      "ann extends 60000 -> renew 1; bob releases -> bob OK, ann waits; KEPT -> ann OK, ann left 60000 - 600 - 2")
SCENE(who_ends_is_abandoned_and_the_others_read_on, BOTH_READ ";"
      "abandon ann -> told ann ABANDONED, ann left 0, bob left 29698, nothing sent; abandon bob -> release 1")
SCENE(a_break_takes_it_from_all_who_share_it,
      BOTH_READ "; carl breaks 1; RELEASED -> carl OK, told bob LOST, told ann LOST, ann left 0, bob left 0;"
      "ann releases; bob releases -> ann LOST, bob LOST")
SCENE(what_is_held_when_the_last_handle_goes_is_abandoned, BOTH_READ ";"
      "free_handle -> release 1, ann left 0, bob left 0")
SCENE(a_client_that_is_closed_releases_all, BOTH_READ "; close_client -> ann left 0, bob left 0, release 1, release 1")
SCENE(who_adopts_reading_is_joined_by_nobody, "ann adopts; HELD -> ann OK, heartbeat 1;"
      "bob acquires 10000 -> acquire 2")

/* ---- from reading to writing, and back ---- */

#define UPGRADES "ann holds; ann writes; ann upgrades -> trade 1 2, ann waits, ann left 0"
#define WRITES UPGRADES "; HELD -> ann OK, nothing sent, ann depth 1, ann left 29698, ann has it"
#define STOPS WRITES "; ann releases -> trade 2 3, ann waits, ann left 0"

SCENE(an_upgrade_is_one_command_and_has_a_new_fence, "ann holds -> ann has it; ann writes; ann upgrades -> trade 1 2;"
      "HELD -> ann OK, nothing sent, ann has it anew; ann reads -> ann depth 1, ann has it still")
SCENE(until_it_is_answered_it_is_read, UPGRADES "; ann reads -> ann left 29698; pass 2000 -> ann left 27698")
SCENE(where_others_read_it_is_read_on, UPGRADES "; TAKEN -> ann TIMEOUT, "
      "ann why others read it, ann left 0, nothing sent; ann reads -> ann left 29698; pass 10000 -> renew 1")
SCENE(where_others_of_the_process_read_it_nothing_is_asked,
      BOTH_READ "; ann writes; ann upgrades -> ann TIMEOUT, nothing sent; ann reads -> ann left 29698")
SCENE(who_does_not_read_cannot_upgrade, "ann writes; ann upgrades -> ann NOT_HELD, nothing sent")
SCENE(what_was_lost_is_not_upgraded, "ann holds;"
      "pass 10000; GONE -> told ann LOST, renew 1, release 1; ann writes; ann upgrades -> ann LOST, nothing sent")
SCENE(of_two_upgrades_by_one_owner_one_is_refused, "ann holds; bob acts_for ann; ann writes;"
      "bob writes; ann upgrades; bob upgrades -> bob INVALID, bob why another thread, trade 1 2; HELD -> ann OK")
SCENE(who_writes_already_has_it_once_more, "ann writes; ann holds; ann upgrades -> ann OK, nothing sent, ann depth 2")
SCENE(nobody_joins_who_is_upgrading, UPGRADES "; bob acquires 10000 -> bob waits, acquire 3")
SCENE(the_last_write_is_released_by_a_trade_and_it_is_read_on, STOPS "; ann reads -> ann left 29698;"
      "HELD -> ann OK, nothing sent, ann left 29698, ann has it anew; ann releases -> release 3")
SCENE(who_waits_in_the_process_asks_once_it_is_read_only, WRITES "; bob acquires 10000 -> nothing sent;"
      "ann releases -> trade 2 3, bob waits; HELD -> ann OK, acquire 4; HELD -> bob OK")
SCENE(what_was_upgraded_is_renewed_by_its_new_name, WRITES "; pass 10000 -> renew 2; KEPT -> ann left 29698")
SCENE(who_ends_in_between_is_released_by_both_names,
      "ann holds; ann writes; ann upgrades; abandon ann -> ann NOT_HELD, trade 1 2, release 2, release 1")
SCENE(a_client_that_is_closed_releases_both_names, "ann holds;"
      "ann writes; ann upgrades; close_client -> ann CLOSED, trade 1 2, release 2, release 1, release 2, release 1")

/* ---- while nobody knows what came of it ---- */

#define ANSWER_IS_LOST UPGRADES "; cut; reconnect -> ann waits, renew 1, trade 1 2"

SCENE(whose_answer_is_lost_is_asked_again_by_the_same_name,
      ANSWER_IS_LOST "; KEPT; HELD -> ann OK, ann left 29698, nothing sent")
SCENE(a_connection_on_which_it_is_not_answered_for_a_quarter_of_its_lease_is_left, /* also if it was traded: for */
      "ann wants lease_ms 2000; ann holds; ann writes; ann upgrades -> trade 1 2; pass 499 -> nothing sent;" /* then */
      "pass 1; reconnect -> ann waits, renew 1, trade 1 2; GONE; HELD -> ann OK") /* the old name is not renewed */
SCENE(that_the_old_name_is_gone_then_is_no_loss, ANSWER_IS_LOST "; GONE -> ann waits, nothing told; HELD -> ann OK,"
      " ann left 29698")
SCENE(but_if_the_new_one_is_not_there_either_it_is_lost,
      ANSWER_IS_LOST "; GONE -> renew 1; GONE -> ann LOST, told ann LOST, release 1, release 2")
SCENE(an_answer_that_it_is_taken_may_come_before_an_earlier_request, ANSWER_IS_LOST "; KEPT; TAKEN -> ann waits, "
      "nothing sent; pass 5100 -> trade 1 2; TAKEN -> ann TIMEOUT, nothing sent; ann reads -> ann left 29698 - 5100")
SCENE(it_is_waited_for_to_the_end_of_the_lease_which_the_old_name_keeps,
      ANSWER_IS_LOST "; pass 20000 -> ann waits; pass 9698 -> ann LOST, told ann JEOPARDY, told ann LOST")
SCENE(a_server_that_refuses_it_for_now_leaves_it_read,
      UPGRADES "; refuse OOM full -> ann UNAVAILABLE, ann why not upgraded; ann reads -> ann left 29698")
SCENE(a_server_that_does_not_permit_it_leaves_it_read,
      UPGRADES "; refuse NOPERM no -> ann DENIED, ann why not upgraded; ann reads -> ann left 29698")
SCENE(so_it_does_in_the_middle_of_it_where_all_was_taken_back, UPGRADES ";"
      "refuse ERR ACL failure in script: no -> ann DENIED, ann why not upgraded; ann reads -> ann left 29698")
SCENE(what_is_not_permitted_to_be_asked_again_is_asked_until_the_lease_is_over,
      ANSWER_IS_LOST "; KEPT; refuse NOPERM no -> ann waits; pass 300 -> trade 1 2; HELD -> ann OK")
SCENE(so_is_what_the_server_refuses_for_now,
      ANSWER_IS_LOST "; KEPT; refuse NOREPLICAS no -> ann waits, nothing told; pass 300 -> trade 1 2; HELD -> ann OK")
SCENE(so_is_what_may_not_be_said_to_replicas, "ann wants safety.min_replicas 1; ann acquires 1000; HELD; b KEPT; KEPT;"
      "ann writes; ann upgrades -> ann waits; a HELD; b refuse NOPERM no -> ann waits, nothing told;"
      "b KEPT; pass 5000; b KEPT; b KEPT -> ann OK")
SCENE(a_restart_that_may_have_come_behind_it_ends_it_only_with_the_lease, "ann wants restart_guard_ms 2000;"
      UPGRADES "; restart -> ann waits, nothing told, renew 1; KEPT; pass 2000 -> trade 1 2; HELD -> ann OK")
SCENE(after_a_restart_nothing_is_traded, "ann wants restart_guard_ms 2000; ann holds; ann writes;"
      "restart -> renew 1; KEPT; ann upgrades -> ann UNAVAILABLE, nothing sent; ann reads -> ann left 29698")
SCENE(an_error_in_the_middle_of_it_is_a_loss,
      UPGRADES "; refuse ERR in the middle -> ann LOST, told ann LOST, release 1, release 2")
SCENE(a_last_write_that_stays_is_told_and_keeps_others_out,
      STOPS "; refuse OOM full -> ann UNAVAILABLE, ann why others are kept out; ann reads -> ann left 29698;"
      "bob acquires 10000 -> bob waits, nothing sent; ann releases -> release 2, acquire 4")
SCENE(a_release_of_all_that_comes_in_between_ends_it,
      "ann holds; ann writes; ann upgrades; bob acts_for ann; bob reads; bob releases -> ann NOT_HELD")
SCENE(an_extension_by_the_old_name_ends_and_the_new_one_has_it, "ann holds; bob acts_for ann; bob extends 60000;"
      "ann writes; ann upgrades -> renew 1, trade 1 2; KEPT -> bob OK; HELD -> ann OK, ann left 60000 - 600 - 2")
SCENE(meanwhile_nothing_is_extended, "ann holds; ann writes; bob acts_for ann; ann upgrades -> trade 1 2;"
      "bob extends 60000 -> bob waits, nothing sent; HELD -> bob NOT_HELD, ann OK, ann left 29698")
SCENE(by_its_new_name_it_is_at_risk_no_more, "ann holds; pass 10000;"
      "refuse BUSY -> told ann JEOPARDY; ann writes; ann upgrades; GONE -> nothing told; HELD -> told ann RECOVERED")

/* ---- what comes at the wrong moment ---- */

VERB(old_fence) { say(&(struct lsh_message){LSH_INTEGER, 1, {{LSH_INTEGER, 5, NULL, 0}}}); }
VERB(flush) { world_sent(); }
SCENE(who_reads_with_others_who_came_long_ago_has_their_fence_and_believes_in_no_jump_of_the_clock,
      "ann acquires 1000; old_fence -> ann OK, nothing told; ann releases; RELEASED; ann acquires 1000 -> limit 1000")
#define BACK "ann writes; ann holds; ann reads; ann nests;"

SCENE(a_close_ends_an_upgrade_that_was_never_sent,
      "ann holds; cut; ann writes; ann upgrades -> ann waits, nothing sent; close_client -> ann CLOSED")
SCENE(so_does_the_end_of_the_last_handle,
      "ann holds; cut; ann writes; ann upgrades -> ann waits, nothing sent; free_handle -> ann NOT_HELD")
SCENE(who_upgrades_has_lost_when_another_writes, "make_fair;"
      "ann holds; carl writes; carl acquires 10000 -> acquire 2; QUEUED; ann writes; ann upgrades -> trade 1 3;"
      "message_granted 2 -> carl OK, told ann LOST; ann reads -> ann left 0; ann writes -> ann LOST")
SCENE(so_has_who_reads_on, "make_fair;" BACK "carl writes; carl acquires 10000 -> acquire 2; QUEUED;"
      "ann writes; ann releases -> trade 1 3; message_granted 2 -> carl OK; ann reads -> told ann LOST, ann left 0")
SCENE(but_not_when_others_read, "make_fair;" BACK "carl acquires 10000 -> acquire 2; QUEUED; ann writes; ann releases"
      " -> trade 1 3; message_granted 2 -> carl OK; ann reads -> nothing told, ann left 29698; HELD -> ann OK")
SCENE(a_trade_begins_no_turn, "ann holds; ann writes; ann upgrades; HELD; ann releases; HELD -> ann OK; flush; pass 9;"
      "bob acquires 10000 -> bob OK, nothing sent; pass 1; carl acquires 10000 -> carl waits, acquire 4")
SCENE(what_was_extended_is_renewed_as_often_as_before, "ann holds;"
      "ann extends 600000; KEPT -> ann OK; ann writes; ann upgrades; HELD -> ann OK; flush; pass 10000 -> renew 2")
SCENE(what_is_traded_is_not_handed_off, BACK "bob writes; bob acquires 10000; ann writes; ann releases -> trade 1 2;"
      "carl acts_for ann; carl reads; carl releases -> ann NOT_HELD, bob waits")
SCENE(an_upgrade_with_an_old_fence_is_told, "ann holds; ann writes; ann upgrades; old_fence;"
      "-> ann OK, told clock -1760099999 s, told ann FENCE_REGRESSION")
SCENE(an_upgrade_that_was_not_sent_ends_in_time,
      "ann holds; cut; ann writes; ann upgrades; pass 10000 -> ann UNAVAILABLE; ann reads -> ann left 19698")
SCENE(who_joins_a_lease_that_is_older_than_another_has_its_fence_and_is_told_nothing, "ann holds;"
      "bob wants lease_ms 60000; bob acquires 10000; HELD -> bob OK; carl acquires 10000 -> carl OK, nothing told")
SCENE(who_tries_while_another_of_the_process_comes_to_write_is_answered,
      "ann holds; ann writes; ann upgrades; bob tries -> trade 1 2, try 3; HELD -> ann OK; TAKEN -> bob TIMEOUT")
SCENE(who_tries_too_late_while_another_of_the_process_writes_asks_again,
      "ann holds; ann writes; ann upgrades; bob tries; HELD; TOO_LATE -> trade 1 2, try 3, try 3; TAKEN -> bob TIMEOUT")
SCENE(what_is_only_read_is_not_extended_by_a_handle_that_writes,
      "ann holds; ann writes; ann extends 60000 -> ann NOT_HELD, nothing sent")
