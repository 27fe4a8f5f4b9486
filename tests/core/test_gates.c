/* Who waits at a barrier: to the core a hold of a shared kind, which is told of like any other. So nothing is said here
 * but where a party would be left behind, or counted on though it went; all else is as in test_shared.c. */
#include "tests/core/scene.h"
#include "tests/support/test.h"

FIXTURE(world_begin_barrier, world_end);

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
SCENE(who_gives_up_leaves_at_once,
      "ann acquires 900; QUEUED; pass 900 -> ann TIMEOUT, ann why not all parties were there for all of 900 ms, "
      "acquire 1, release 1; LEFT -> nothing sent; message_granted 1 -> release 1")
SCENE(who_is_let_in_gives_back_what_that_was,
      "ann acquires 30000; QUEUED; message_granted 1 -> ann OK, acquire 1; ann releases -> ping, release 1;"
      "RELEASED -> ann OK, nothing told")
