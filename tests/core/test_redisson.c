/* A lock that is shared with Redisson: nobody has a place, so who waits listens, and asks again when something is
 * said. An ask is a "try" in all that follows. What is as of any lock, test_single.c and test_handoff.c have. */
#include "tests/core/scene.h"
#include "tests/core/wire.h"

WORLD_OF(&lsh_redisson, false, 0);

/* Its release is heard by so many connections. */
VERB(released_before)
{
	int64_t heard = 1 + number_of(rest, 0);

	say(&(struct lsh_message){LSH_INTEGER, 1, {{LSH_INTEGER, heard, NULL, 0}}});
}

/* ---- waiting ---- */

#define ANN_WAITS "ann acquires 30000; TAKEN; TAKEN -> try 1, listen, try 1;"

SCENE(who_gets_it_listens_to_nothing, "ann acquires 10000 -> try 1; HELD -> ann OK, ann left 29698, nothing sent")
SCENE(who_only_tries_listens_to_nothing, "ann tries -> try 1; TAKEN -> ann TIMEOUT, nothing sent")
SCENE(who_does_not_get_it_listens_and_then_asks_once_more, /* it may have become free before it was listened to */
      "ann acquires 10000 -> try 1; TAKEN -> listen, try 1; HELD -> ann OK")
SCENE(whatever_is_said_on_its_channel_is_a_reason_to_ask, ANN_WAITS "pass 300 -> nothing sent; message 0 -> try 1;"
      "TAKEN; message 1 -> try 1; TAKEN; message x -> try 1; HELD -> ann OK; message 0 -> nothing sent")
SCENE(what_is_said_while_it_is_asked_is_not_lost,
      ANN_WAITS "message 0; message 0 -> try 1; TAKEN -> try 1; TAKEN -> nothing sent")
SCENE(where_nothing_is_said_it_is_asked_every_second, /* RSpinLock says nothing */
      ANN_WAITS "pass 999 -> nothing sent; pass 1 -> try 1; TAKEN; pass 1000 -> try 1; HELD -> ann OK")
SCENE(after_messages_may_have_been_missed_it_is_asked,
      ANN_WAITS "cut_messages; reconnect -> listen, try 1; TAKEN; message 0 -> try 1")
SCENE(who_cannot_listen_asks_every_second,
      "cut_messages; ann acquires 30000; TAKEN -> try 1; pass 1000 -> try 1; TAKEN; reconnect -> listen, try 1")
SCENE(the_first_of_a_process_asks_for_all, ANN_WAITS "bob acquires 30000 -> nothing sent; message 0 -> try 1;"
      "HELD -> ann OK, bob waits; ann releases -> ann OK, bob OK, nothing sent")
SCENE(who_gives_up_leaves_its_ask_to_the_next, "ann acquires 900; TAKEN; TAKEN; bob acquires 30000 -> try 1, listen, "
      "try 1; pass 900 -> ann TIMEOUT, ann why other owners had it, nothing sent; message 0 -> try 1; HELD -> bob OK")
SCENE(a_lost_answer_is_asked_for_with_the_same_token,
      ANN_WAITS "message 0; cut; reconnect -> try 1, try 1; HELD -> ann OK")

/* ---- others ask, too ---- */

#define ONE_BY_ONE "ann wants handoffs 0; bob wants handoffs 0;"

SCENE(of_nobody_but_this_process_the_next_asks_right_behind_the_release,
      ONE_BY_ONE "ann holds; bob acquires 30000; ann releases -> release 1, try 2; released_before 0; HELD -> bob OK;"
      "ann acquires 30000; bob releases -> release 2, try 3")
SCENE(where_others_listen_they_may_ask_first, ONE_BY_ONE "ann holds; bob acquires 30000; ann releases -> release 1, "
      "try 2; released_before 1; HELD -> bob OK; ann acquires 30000; bob releases -> release 2; pass 4 -> nothing sent;"
      "pass 1 -> try 3; released_before 0; HELD -> ann OK; bob acquires 30000; ann releases -> release 3, try 4")
SCENE(this_client_is_not_one_of_the_others, ONE_BY_ONE ANN_WAITS "message 0; HELD -> ann OK, try 1; bob acquires 30000;"
      "ann releases; released_before 1; HELD; ann acquires 30000; bob releases -> release 1, try 2, release 2, try 3")

/* ---- what it has ---- */

SCENE(a_nested_acquire_asks_nobody, "ann holds; ann nests -> ann depth 2, nothing sent; ann releases -> nothing sent")
SCENE(each_is_renewed_by_itself, "ann holds; pass 10000 -> renew 1; KEPT -> ann left 19698 + 10000")
SCENE(what_was_unlocked_by_force_is_lost_at_the_next_renewal,
      "ann holds; pass 10000 -> renew 1; GONE -> told ann LOST, ann left 0; ann releases -> ann LOST")
SCENE(the_hold_of_another_client_can_be_adopted, "ann adopts -> heartbeat 1; HELD -> ann OK; ann releases -> release 1")
SCENE(the_hold_of_another_client_can_be_broken, "ann breaks -> release 1; RELEASED -> ann OK")
