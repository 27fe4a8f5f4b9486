/* Who waits to be signaled: which place it has, which is all that the core tells of it, and how it leaves. */
#include "tests/core/scene.h"

WORLD_OF(&lsh_condition, true, LSH_NEED_SIGNAL);

static uint64_t place; /* that was seen last */

static uint64_t
place_of(struct person *p)
{
	struct lsh_outlook outlook;

	if (!lsh_op_look(&p->op, &outlook))
		return 0;
	if (outlook.source.host != NULL)
		lsh_source_read(&outlook.source, &p->parker, NULL, NULL, 0);
	return outlook.place;
}

DOES(unplaced, assert_int_equal(place_of(person), 0))
DOES(placed, uint64_t before = place; place = place_of(person); assert_true(place != 0 && place != before))
DOES(stays, assert_int_equal(place_of(person), place))
DOES(leaves, lsh_op_leave(&person->op))

SCENE(a_place_is_known_once_the_server_has_said_so_and_stays_the_same,
      "ann acquires; ann unplaced; QUEUED; ann placed; pass 1000; QUEUED; ann stays;"
      "bob acquires; bob unplaced; QUEUED; bob placed -> acquire 1, heartbeat 1, acquire 2")
SCENE(a_place_that_is_lost_is_another_one_afterwards, "ann acquires; QUEUED; ann placed; pass 1000;"
      "GONE; ann unplaced; LEFT; QUEUED; ann placed -> acquire 1, heartbeat 1, release 1, acquire 2, ann waits")
SCENE(an_answer_that_is_lost_says_nothing_of_a_place,
      "ann acquires; cut; reconnect; ann unplaced; QUEUED; ann placed -> acquire 1, acquire 1")
SCENE(who_leaves_gives_its_place_back,
      "ann acquires; QUEUED; ann leaves -> ann waits, acquire 1, release 1; LEFT -> ann CANCELED, nothing told")
SCENE(who_leaves_before_it_has_a_place_gives_back_what_it_may_have,
      "ann acquires; ann leaves -> ann waits, acquire 1, release 1; QUEUED; LEFT -> ann CANCELED")
SCENE(a_close_ends_the_wait_and_gives_the_place_back,
      "ann acquires; QUEUED; later 50 LEFT; close_client -> ann CLOSED, acquire 1, release 1, now 50")
SCENE(a_signal_that_came_as_it_left_is_not_lost,
      "ann acquires; QUEUED; ann leaves -> ann waits; ann leaves -> ann waits; RELEASED -> ann OK")
SCENE(who_was_signaled_does_not_leave_any_more,
      "ann acquires; QUEUED; message_granted 1; ann leaves; ann unplaced -> ann OK")
