/* Breaking: by the token that was found to have the lock; holds of this very client; answers that are lost. Who has it,
 * which is asked first, and what holders in other processes see: contract/test_break.c. */
#include "tests/core/world.h"
#include "tests/support/test.h"

FIXTURE(world_begin, world_end);
PARTS(world_parts);

/* ---- holds of the very client that breaks ---- */

SENTENCE(a_hold_of_another_thread_of_this_client_is_lost_when_the_call_returns)
{
	uint64_t fence;

	let_hold(ann);
	fence = world_fence(ann);
	acquire(carl, 10000);
	break_token(bob, 1);
	serve();
	expect_end(bob, LEASH_OK);
	expect_told("ann LOST");
	expect_left(ann, 0);
	assert_int_equal(world_depth(ann), 1); /* to be unwound */
	expect_end(carl, LEASH_OK);
	assert_true(world_fence(carl) > fence);
	assert_int_equal(world_fence(bob), 0); /* who broke it has nothing of it */
	release(ann);
	expect_end(ann, LEASH_LOST);
	assert_true(world_fence(carl) > fence);
}

SENTENCE(the_callers_own_hold_is_lost_too)
{
	let_hold(ann);
	acquire(ann, 0);
	bob->acts_for = ann;
	break_token(bob, 1);
	serve();
	expect_end(bob, LEASH_OK);
	expect_told("ann LOST");
	expect_left(ann, 0);
	for (unsigned depth = 2; depth > 0; depth--) {
		assert_int_equal(world_depth(ann), depth);
		acquire(ann, 0);
		expect_end(ann, LEASH_LOST);
		release(ann);
		expect_end(ann, LEASH_LOST);
	}
	let_hold(ann);
}

SENTENCE(a_grant_to_this_client_whose_message_is_still_on_its_way_is_lost_too, .of = WORLD_PLAIN | WORLD_FAIR)
{
	acquire(ann, 10000);
	answer(QUEUED);
	break_token(bob, 1);
	answer(RELEASED);
	expect_end(bob, LEASH_OK);
	expect_waiting(ann);
	expect_sent("acquire 1, release 1, release 1, acquire 2");
	message_granted(1); /* it was sent before the break */
	expect_waiting(ann);
	answer(GONE);
	answer(HELD);
	expect_end(ann, LEASH_OK);
	expect_told("");
}

/* ---- answers ---- */

SENTENCE(who_got_the_lock_after_it_was_looked_at_keeps_it)
{
	break_lock(bob);
	expect_asked("release 1");
	answer_all(GONE);
	expect_end(bob, LEASH_OK); /* whoever had it when this was called has it no more */
}

static const struct loss {
	const char *name;
	bool is_of_the_answer;
} losses[] = {
	{"a_break_that_was_lost_is_sent_again_with_the_same_token", false},
	{"a_break_whose_answer_was_lost_is_sent_again_with_the_same_token", true},
};

SENTENCES(see_it_sent_again, losses)
{
	const struct loss *loss = given;

	if (!loss->is_of_the_answer)
		be_stuck();
	break_lock(bob);
	cut();
	expect_waiting(bob);
	expect_asked(loss->is_of_the_answer ? "release 1" : "");
	reconnect();
	expect_asked("release 1");
	answer_all(loss->is_of_the_answer ? GONE : RELEASED);
	expect_end(bob, LEASH_OK);
}

SENTENCE(a_break_that_was_not_answered_is_unknown, .of = WORLD_PLAIN | WORLD_FAIR)
{
	break_lock(bob);
	pass(10000);
	expect_end(bob, LEASH_UNKNOWN);
	expect_why(bob, "lock 'orders': not known whether it is broken");
}

SENTENCE(a_break_that_never_left_has_not_happened, .of = WORLD_PLAIN | WORLD_FAIR)
{
	cut();
	break_lock(bob);
	pass(10000);
	expect_end(bob, LEASH_UNAVAILABLE);
	expect_why(bob, "lock 'orders': not broken");
}
