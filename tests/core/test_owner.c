/* Owners, each of which is a thread, or somebody for whom several act: who excludes whom, how deep they nest, and how
 * what they hold ends with them or with the last handle. Which owner a call is for: contract/test_owner.c. */
#include "tests/core/world.h"
#include "tests/support/test.h"

FIXTURE(world_begin, world_end);
PARTS(world_parts);

static void
let_go(struct person *person)
{
	release(person);
	serve();
	expect_end(person, LEASH_OK);
	world_sent();
}

/* ---- who excludes whom ---- */

static void
expect_kept_out(struct person *person)
{
	acquire(person, 0);
	expect_end(person, LEASH_TIMEOUT);
	acquire(person, 20);
	pass(20);
	expect_end(person, LEASH_TIMEOUT);
	release(person);
	expect_end(person, LEASH_NOT_HELD);
	expect_why(person, "lock 'orders'");
	extend(person, 1000);
	expect_end(person, LEASH_NOT_HELD);
	expect_left(person, 0);
	assert_int_equal(world_fence(person), 0);
	assert_int_equal(world_depth(person), 0);
}

/* Who waits for a fair lock takes a place, though. */
SENTENCE(owners_exclude_each_other_and_who_does_not_hold_it_is_told_so_without_a_word, .of = WORLD_PLAIN | WORLD_QUORUM)
{
	struct person *const people[] = {ann, bob, carl};
	uint64_t last = 0;

	for (size_t i = 0; i < 2 * COUNT(people); i++) {
		struct person *holder = people[i % 3];

		let_hold(holder);
		assert_true(world_fence(holder) > last);
		last = world_fence(holder);
		expect_kept_out(people[(i + 1) % 3]);
		expect_kept_out(people[(i + 2) % 3]);
		expect_asked("");
		let_go(holder);
		release(holder);
		expect_end(holder, LEASH_NOT_HELD);
		expect_asked("");
	}
	expect_told("");
}

SENTENCE(who_holds_nothing_does_not_release_what_another_client_has)
{
	acquire(ann, 1000);
	answer_all(QUEUED);
	world_sent();
	release(bob);
	expect_end(bob, LEASH_NOT_HELD);
	extend(bob, 1000);
	expect_end(bob, LEASH_NOT_HELD);
	expect_asked("");
	cancel(ann);
}

/* ---- nesting ---- */

SENTENCE(an_owner_nests_whoever_acts_for_it_without_a_word)
{
	uint64_t fence;

	let_hold(ann);
	fence = world_fence(ann);
	bob->acts_for = ann;
	for (unsigned depth = 2; depth <= 6; depth++) {
		acquire(depth % 2 ? ann : bob, 0);
		assert_int_equal(world_depth(ann), depth);
	}
	for (unsigned depth = 5; depth >= 1; depth--) {
		release(depth % 2 ? ann : bob);
		assert_int_equal(world_depth(ann), depth);
		assert_int_equal(world_fence(ann), fence);
	}
	expect_asked("");
	let_go(bob);
	expect_left(ann, 0);
}

SENTENCE(a_lock_is_nested_to_the_very_limit_and_not_beyond)
{
	let_hold(ann);
	for (unsigned depth = 2; depth <= LEASH_DEPTH_MAX; depth++)
		acquire(ann, 0);
	assert_int_equal(world_depth(ann), LEASH_DEPTH_MAX);
	for (int i = 0; i < 3; i++) {
		acquire(ann, LEASH_FOREVER);
		expect_end(ann, LEASH_INVALID);
		expect_why(ann, "lock 'orders': nested deeper than 65535");
	}
	for (unsigned depth = LEASH_DEPTH_MAX; depth > 1; depth--) {
		assert_int_equal(world_depth(ann), depth);
		release(ann);
	}
	expect_asked("");
	let_go(ann);
	release(ann);
	expect_end(ann, LEASH_NOT_HELD);
}

/* ---- loss ---- */

static void
lose(struct person *person)
{
	cut();
	pass(30000);
	expect_told("ann JEOPARDY, ann LOST");
	reconnect();
	serve();
	expect_left(person, 0);
}

SENTENCE(a_loss_is_the_owners_and_is_unwound_by_whoever_acts_for_it)
{
	let_hold(ann);
	acquire(ann, 0);
	acquire(ann, 0);
	lose(ann);
	bob->acts_for = ann;
	for (unsigned depth = 3; depth > 0; depth--) {
		assert_int_equal(world_depth(ann), depth);
		acquire(bob, 0);
		expect_end(bob, LEASH_LOST);
		release(depth % 2 ? ann : bob);
		expect_end(depth % 2 ? ann : bob, LEASH_LOST);
		let_hold(carl); /* it is nobody else's loss */
		let_go(carl);
	}
	release(ann);
	expect_end(ann, LEASH_NOT_HELD);
	let_hold(ann);
}

/* ---- the end of an owner, and of handles ---- */

SENTENCE(what_an_owner_held_that_is_no_more_is_abandoned)
{
	let_hold(ann);
	acquire(ann, 0);
	abandon(ann);
	expect_told("ann ABANDONED");
	expect_asked("release 1");
	assert_int_equal(world_depth(ann), 0);
	serve();
	let_hold(bob);
}

SENTENCE(an_owner_that_ends_after_a_loss_leaves_nothing_to_unwind)
{
	let_hold(ann);
	acquire(ann, 0);
	lose(ann);
	abandon(ann);
	assert_int_equal(world_depth(ann), 0);
	expect_told(""); /* LOST was the last of it */
}

SENTENCE(the_last_handle_that_is_freed_takes_the_hold_with_it)
{
	for (unsigned depth = 1; depth <= 3; depth++) {
		let_hold(ann);
		for (unsigned i = 1; i < depth; i++)
			acquire(ann, 0);
		free_handle();
		expect_told("ann ABANDONED");
		serve();
		assert_int_equal(world_depth(ann), 0);
		release(ann);
		expect_end(ann, LEASH_NOT_HELD);
	}
}
