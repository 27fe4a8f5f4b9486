/* Who waits at a barrier: to the core a hold of a shared kind, which is told of like any other. So nothing is said here
 * but where a party would be left behind, or counted on though it went; all else is as in test_shared.c. */
#include "tests/core/scene.h"

WORLD_OF(&lsh_barrier, true, lsh_need_of(LSH_BARRIER, 3)); /* where three meet */

#define TWO_WAIT "ann acquires 30000; bob acquires 30000; QUEUED; QUEUED -> acquire 1, acquire 2, ann waits, bob waits;"

SCENE(each_is_let_in_by_its_own_message, TWO_WAIT "message_granted 2 -> bob OK, ann waits; message_granted 1 -> ann OK")
SCENE(the_last_one_is_let_in_by_the_answer, TWO_WAIT "carl acquires 30000; HELD -> acquire 3, carl OK")
SCENE(a_lost_message_is_made_up_for_by_the_next_heartbeat,
      "ann acquires 30000; QUEUED; pass 1000 -> acquire 1, heartbeat 1; HELD -> ann OK, nothing sent")
SCENE(who_was_cut_off_while_the_others_were_let_in_learns_it_by_the_token_that_it_had, /* however late */
      "ann acquires 60000; QUEUED -> acquire 1; cut; cut_messages; pass 20000; reconnect -> heartbeat 1;"
      "HELD -> ann OK")
SCENE(whose_place_is_gone_takes_another_one,
      "ann acquires 30000; QUEUED; pass 1000 -> acquire 1, heartbeat 1; GONE -> release 1, acquire 2, ann waits")

/* ---- who gives up: the others must not count on it ---- */

#define GIVES_UP "ann acquires 900; QUEUED; pass 900 -> ann waits, acquire 1, release 1;"

SCENE(who_gives_up_is_out_when_the_server_has_let_go_of_its_place, GIVES_UP
      "LEFT -> ann TIMEOUT, ann why not all parties were there for all of 900 ms; message_granted 1 -> release 1")
SCENE(or_has_passed_if_the_last_one_came_before_that, GIVES_UP "RELEASED -> ann OK, nothing told")
SCENE(also_if_it_was_not_yet_told_that_it_has_a_place,
      "ann acquires 900; pass 900 -> ann waits, acquire 1, release 1; QUEUED; LEFT -> ann UNAVAILABLE")
SCENE(a_message_that_comes_meanwhile_decides_nothing, GIVES_UP "message_granted 1 -> ann waits; LEFT -> ann TIMEOUT")
SCENE(whose_place_is_not_known_to_have_gone_is_told_so, GIVES_UP "cut; reconnect -> release 1; GONE -> ann UNKNOWN, "
      "ann why not known whether it was let in before")
SCENE(and_it_waits_for_that_no_longer_than_for_any_answer,
      GIVES_UP "pass 9000 -> ann waits; pass 1000 -> ann UNKNOWN, ann why the connection was lost")
SCENE(where_an_earlier_request_may_still_come_it_waits_until_none_can,
      "ann acquires 30000; cut; reconnect; QUEUED; cancel ann -> ann waits, acquire 1, acquire 1;"
      "pass 4000 -> nothing sent; pass 1100 -> release 1; LEFT -> ann CANCELED")
SCENE(and_that_one_may_have_let_it_in,
      "ann acquires 30000; cut; reconnect; QUEUED; cancel ann -> ann waits; pass 5100; RELEASED -> ann OK")
SCENE(what_let_it_in_is_given_back_when_no_earlier_request_can_take_a_place_by_it,
      "ann acquires 30000; cut; reconnect; HELD -> ann OK, acquire 1, acquire 1; ann releases -> nothing sent;"
      "pass 4000 -> nothing sent; cut; reconnect; pass 1200 -> release 1; RELEASED -> nothing told")
SCENE(but_not_as_its_client_is_closed,
      "ann acquires 30000; cut; reconnect; HELD -> ann OK, acquire 1, acquire 1; ann releases -> nothing sent;"
      "close_client -> release 1, release 1") /* once more when none can come */
SCENE(who_never_asked_is_not_counted_on, "cut; ann acquires 900; pass 900 -> ann UNAVAILABLE, nothing sent")
SCENE(who_is_refused_to_leave_may_be_counted_on,
      GIVES_UP "refuse NOPERM User has no permissions -> ann UNKNOWN, ann why NOPERM")
SCENE(a_refusal_that_passes_is_waited_for, GIVES_UP "refuse BUSY Redis is busy -> ann waits; pass 1000 -> release 1;"
      "LEFT -> ann TIMEOUT")
SCENE(who_tries_gives_up_likewise_if_an_earlier_request_may_still_come,
      "ann tries; cut; reconnect; TAKEN -> ann waits, try 1, try 1; pass 5100 -> release 1; RELEASED -> ann OK")
SCENE(who_is_refused_may_have_a_place_by_an_earlier_request, "ann acquires 900; cut; reconnect;"
      "refuse OOM no memory -> ann waits, acquire 1, acquire 1; pass 1000 -> release 1; LEFT -> ann UNAVAILABLE")

SCENE(also_if_it_is_denied, "ann acquires 30000; cut; reconnect; refuse NOPERM User has no permissions"
      " -> ann waits, acquire 1, acquire 1; pass 5100 -> release 1; LEFT -> ann DENIED, ann why NOPERM")
SCENE(or_denied_to_leave, "ann acquires 30000; cut; reconnect; refuse NOPERM User has no permissions -> ann waits;"
      "pass 5100; refuse NOPERM nor to leave -> ann DENIED, "
      "ann why before its wait ended: redis://world:6379: NOPERM User has no permissions")
SCENE(or_not_answered,
      "ann acquires 30000; cut; reconnect; refuse NOPERM User has no permissions; pass 5100; cut; reconnect; GONE -> "
      "ann DENIED, ann why before its wait ended: redis://world:6379: NOPERM User has no permissions")
SCENE(or_told_of_an_error_perhaps_in_the_middle_of_the_script, "ann acquires 30000;"
      "refuse ERR no such thing -> ann waits, acquire 1, release 1; LEFT -> ann PROTOCOL, ann why no such thing")

SCENE(who_is_let_in_gives_back_what_that_was, "ann acquires 30000; QUEUED;"
      "message_granted 1 -> ann OK, acquire 1; ann releases -> ping, release 1; RELEASED -> ann OK, nothing told")
