/* Breaking: by the token that was found to have the lock; holds of this very client; answers that are lost. Who has it,
 * which is asked first, and what holders in other processes see: contract/test_break.c. */
#include "tests/core/scene.h"

FIXTURE(world_begin, world_end);
PARTS(world_parts);

#define ONE_SERVER .of = WORLD_PLAIN | WORLD_FAIR

/* ---- holds of the very client that breaks ---- */

SCENE(a_hold_of_another_thread_of_this_client_is_lost_when_the_call_returns,
      "ann holds -> ann has it; carl acquires 10000; bob breaks 1;"
      "serve -> bob OK, told ann LOST, ann left 0, ann depth 1;"
      "-> carl OK, carl has it anew, bob fence 0;" /* ann has it to unwind, and who broke it has nothing of it */
      "ann releases -> ann LOST, carl has it still")
SCENE(the_callers_own_hold_is_lost_too, "ann holds; ann nests;"
      "bob acts_for ann; bob breaks 1; serve -> bob OK, told ann LOST, ann left 0, ann depth 2; ann tries -> ann LOST;"
      "ann releases -> ann LOST, ann depth 1; ann tries -> ann LOST; ann releases -> ann LOST; ann holds")
SCENE(a_grant_to_this_client_whose_message_is_still_on_its_way_is_lost_too,
      "ann acquires 10000; QUEUED; bob breaks 1; RELEASED -> bob OK, ann waits;"
      "-> acquire 1, release 1, release 1, acquire 2; message_granted 1 -> ann waits;"
      "" /* it was sent before the break */
      "GONE; HELD -> ann OK, nothing told", ONE_SERVER)

/* ---- answers ---- */

SCENE(who_got_the_lock_after_it_was_looked_at_keeps_it,
      "bob breaks -> asked release 1; all GONE -> bob OK") /* whoever had it when this was called has it no more */
SCENE(a_break_that_was_lost_is_sent_again_with_the_same_token,
      "be_stuck; bob breaks; cut -> bob waits, nothing sent; reconnect -> asked release 1; all RELEASED -> bob OK")
SCENE(a_break_whose_answer_was_lost_is_sent_again_with_the_same_token,
      "bob breaks; cut -> bob waits, asked release 1; reconnect -> asked release 1; all GONE -> bob OK")
SCENE(a_break_that_was_not_answered_is_unknown,
      "bob breaks; pass 10000 -> bob UNKNOWN, bob why lock 'orders': not known whether it is broken")
SCENE(a_break_that_never_left_has_not_happened,
      "cut; bob breaks; pass 10000 -> bob UNAVAILABLE, bob why lock 'orders': not broken", ONE_SERVER)
