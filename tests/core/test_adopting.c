/* Adopting what another client has left, while others of this process adopt, wait, release or break; and answers that
 * are lost or late. */
#include "core/core.h"
#include "tests/core/world.h"
#include "tests/support/test.h"

FIXTURE(world_begin, world_end);

#define THEIRS INT64_C(1760099990000007) /* the other client's fence */

static void
adopted(struct person *person)
{
	adopt(person);
	answer(HELD);
	expect_end(person, LEASH_OK);
	world_sent();
}

/* ---- others in this process ---- */

SENTENCE(who_waits_in_this_process_goes_on_waiting_and_is_next)
{
	acquire(bob, 60000);
	answer(QUEUED);
	adopted(ann);
	pass(1000);
	answer(QUEUED); /* to bob's heartbeat */
	expect_waiting(bob);
	world_sent();
	release(ann);
	expect_sent("release 2");
	answer(RELEASED);
	expect_end(ann, LEASH_OK);
	message_granted(1);
	expect_end(bob, LEASH_OK);
	expect_told("");
}

/* The one who had it before may have counted on from its fence. */
SENTENCE(what_was_adopted_is_not_handed_off)
{
	adopted(ann);
	acquire(bob, 10000);
	release(ann);
	expect_waiting(bob);
	expect_sent("release 1, acquire 2");
}

SENTENCE(a_hold_of_this_process_stands_if_the_server_does_not_know_the_other_one)
{
	acquire(bob, 1000);
	answer(HELD);
	adopt(ann);
	answer(GONE);
	expect_end(ann, LEASH_NOT_HELD);
	expect_told("");
	assert_true(world_fence(bob) > 0);
}

SENTENCE(and_is_lost_if_the_server_gave_the_lock_away)
{
	acquire(bob, 1000);
	answer(HELD);
	adopted(ann);
	expect_told("bob LOST");
	release(bob);
	expect_end(bob, LEASH_LOST);
	assert_true(world_fence(ann) > 0);
}

SENTENCE(an_answer_that_a_later_hold_of_this_process_has_overtaken_is_not_believed)
{
	acquire(bob, 60000);
	answer(QUEUED);
	adopt(ann);
	message_granted(1); /* the other client has released it meanwhile */
	expect_end(bob, LEASH_OK);
	answer_fence(THEIRS);
	expect_end(ann, LEASH_NOT_HELD);
	assert_true(world_fence(bob) > 0);
	expect_told("");
}

SENTENCE(a_token_has_one_owner_in_a_client)
{
	adopted(ann);
	adopt(bob);
	expect_end(bob, LEASH_INVALID);
	expect_sent("");
}

SENTENCE(of_two_who_adopt_at_once_one_has_it)
{
	adopt(ann);
	adopt(bob);
	answer(HELD);
	expect_end(ann, LEASH_OK);
	answer(HELD);
	expect_end(bob, LEASH_INVALID);
}

SENTENCE(what_is_just_being_released_is_not_adopted_again)
{
	adopted(ann);
	release(ann);
	expect_sent("release 1");
	adopt(bob);
	expect_end(bob, LEASH_NOT_HELD);
	expect_sent("");
	answer(RELEASED);
	expect_end(ann, LEASH_OK);
}

SENTENCE(who_adopts_has_nothing_of_what_was_broken_meanwhile_by_this_client)
{
	adopt(ann);
	break_lock(bob);
	answer(HELD);
	answer(RELEASED);
	expect_end(bob, LEASH_OK);
	assert_int_equal(world_fence(ann), 0);
}

/* ---- answers that are lost or late ---- */

SENTENCE(an_adoption_whose_answer_was_lost_is_asked_for_again)
{
	adopt(ann);
	cut();
	reconnect();
	expect_sent("heartbeat 1, heartbeat 1");
	answer_fence(THEIRS);
	expect_end(ann, LEASH_OK);
	assert_int_equal(world_fence(ann), (uint64_t)THEIRS * 256);
}

SENTENCE(a_server_that_stands_still_leaves_the_others_hold_as_it_was)
{
	adopt(ann);
	pass(10000);
	expect_end(ann, LEASH_UNAVAILABLE);
	world_sent();
	pass(30000);
	expect_sent(""); /* nobody cancels it */
}

SENTENCE(an_answer_that_comes_when_its_lease_is_over_is_not_believed_and_releases_nothing)
{
	ann->terms.lease_ms = 1000;
	adopt(ann);
	stand_still(1500);
	answer(HELD);
	expect_end(ann, LEASH_UNAVAILABLE);
	expect_sent("heartbeat 1");
}
