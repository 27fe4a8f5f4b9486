/* Adopting what another client has left, while others of this process adopt, wait, release or break; and answers that
 * are lost or late. */
#include "tests/core/scene.h"

FIXTURE(world_begin, world_end);

#define ADOPTED "ann adopts; HELD -> ann OK, heartbeat 1;"
#define THEIRS "1760099990000007" /* the other client's fence */

/* ---- others in this process ---- */

SCENE(who_waits_in_this_process_goes_on_waiting_and_is_next,
      "bob acquires 60000; QUEUED; ann adopts; HELD -> ann OK; pass 1000;"
      "QUEUED -> bob waits, acquire 1, heartbeat 2, heartbeat 1;" /* the last is bob's own */
      "ann releases -> release 2; RELEASED -> ann OK; message_granted 1 -> bob OK, nothing told")
/* The one who had it before may have counted on from its fence. */
SCENE(what_was_adopted_is_not_handed_off, ADOPTED "bob acquires 10000; ann releases -> bob waits, release 1, acquire 2")
SCENE(a_hold_of_this_process_stands_if_the_server_does_not_know_the_other_one,
      "bob acquires 1000; HELD; ann adopts; GONE -> ann NOT_HELD, nothing told, bob has it")
SCENE(and_is_lost_if_the_server_gave_the_lock_away,
      "bob holds; ann adopts; HELD -> ann OK, told bob LOST; bob releases -> bob LOST, ann has it")
SCENE(an_answer_that_a_later_hold_of_this_process_has_overtaken_is_not_believed,
      "bob acquires 60000; QUEUED; ann adopts;"
      "message_granted 1 -> bob OK;" /* the other client has released it meanwhile */
      "answer_fence " THEIRS " -> ann NOT_HELD, bob has it, nothing told")
SCENE(a_token_has_one_owner_in_a_client, ADOPTED "bob adopts -> bob INVALID, nothing sent")
SCENE(of_two_who_adopt_at_once_one_has_it, "ann adopts; bob adopts; HELD -> ann OK; HELD -> bob INVALID")
SCENE(what_is_just_being_released_is_not_adopted_again,
      ADOPTED "ann releases -> release 1; bob adopts -> bob NOT_HELD, nothing sent; RELEASED -> ann OK")
SCENE(who_adopts_has_nothing_of_what_was_broken_meanwhile_by_this_client,
      "ann adopts; bob breaks; HELD; RELEASED -> bob OK, ann fence 0")

/* ---- answers that are lost or late ---- */

SCENE(an_adoption_whose_answer_was_lost_is_asked_for_again,
      "ann adopts; cut; reconnect -> heartbeat 1, heartbeat 1; answer_fence " THEIRS " -> ann OK, ann fence " THEIRS)
SCENE(a_server_that_stands_still_leaves_the_others_hold_as_it_was,
      "ann adopts; pass 5000 -> heartbeat 1, heartbeat 1; pass 5000 -> ann UNAVAILABLE;"
      "pass 30000 -> nothing sent") /* nobody cancels it */
SCENE(an_answer_that_comes_when_its_lease_is_over_is_not_believed_and_releases_nothing,
      "ann wants lease_ms 1000; ann adopts; stand_still 1500; HELD -> ann UNAVAILABLE, heartbeat 1")
