/* Owners, each of which is a thread, or somebody for whom several act: who excludes whom, how deep they nest, and how
 * what they hold ends with them or with the last handle. Which owner a call is for: contract/test_owner.c. */
#include "core/core.h"
#include "tests/core/scene.h"

FIXTURE(world_begin, world_end);
PARTS(world_parts);

/* ---- who excludes whom ---- */

VERB(is_kept_out)
{
	acquire(person, 0);
	expect_person(person, "TIMEOUT");
	acquire(person, 20);
	pass(20);
	expect_person(person, "TIMEOUT");
	release(person);
	expect_person(person, "NOT_HELD");
	expect_person(person, "why lock 'orders'");
	extend(person, 1000);
	expect_person(person, "NOT_HELD");
	expect_person(person, "left 0");
	expect_person(person, "fence 0");
	expect_person(person, "depth 0");
}

/* Who waits for a fair lock takes a place, though. */
SENTENCE(owners_exclude_each_other_and_who_does_not_hold_it_is_told_so_without_a_word, .of = WORLD_PLAIN | WORLD_QUORUM)
{
	const char *const names[] = {ann->name, bob->name, carl->name};

	for (size_t i = 0; i < 2 * COUNT(names); i++) {
		const char *holder = names[i % 3];

		play("%s holds -> %s has it anew; %s is_kept_out; %s is_kept_out -> nothing sent", holder, holder,
		     names[(i + 1) % 3], names[(i + 2) % 3]);
		play("%s lets_go; %s releases -> %s NOT_HELD, nothing sent", holder, holder, holder);
	}
	play("-> nothing told");
}

SCENE(who_holds_nothing_does_not_release_what_another_client_has, "ann acquires 1000; all QUEUED;"
      "forget_sent; bob releases -> bob NOT_HELD; bob extends 1000 -> bob NOT_HELD, nothing sent; cancel ann")

/* ---- nesting ---- */

SCENE(an_owner_nests_whoever_acts_for_it_without_a_word,
      "ann holds -> ann has it; bob acts_for ann; bob nests -> ann depth 2; ann nests -> ann depth 3;"
      "bob nests -> ann depth 4; ann releases -> ann depth 3, ann has it still; bob releases -> ann depth 2;"
      "ann releases -> ann depth 1, ann has it still, nothing sent; bob lets_go -> ann left 0")

SENTENCE(a_lock_is_nested_to_the_very_limit_and_not_beyond)
{
	play("ann holds");
	for (unsigned depth = 2; depth <= LEASH_DEPTH_MAX; depth++)
		acquire(ann, 0);
	assert_int_equal(world_view(ann).depth, LEASH_DEPTH_MAX);
	for (int i = 0; i < 3; i++)
		play("ann acquires -> ann INVALID, ann why lock 'orders': nested deeper than 65535");
	for (unsigned depth = LEASH_DEPTH_MAX; depth > 1; depth--) {
		assert_int_equal(world_view(ann).depth, depth);
		release(ann);
	}
	play("-> nothing sent; ann lets_go; ann releases -> ann NOT_HELD");
}

/* ---- loss ---- */

#define LOST "cut; pass 30000 -> told ann JEOPARDY, told ann LOST; reconnect; serve -> ann left 0;"

/* It is nobody else's. */
#define IS_ANNS "bob tries -> bob LOST; carl holds; carl lets_go;"

SCENE(a_loss_is_the_owners_and_is_unwound_by_whoever_acts_for_it,
      "ann holds; ann nests; ann nests;" LOST "bob acts_for ann -> ann depth 3;"
      IS_ANNS "ann releases -> ann LOST, ann depth 2;" IS_ANNS "bob releases -> bob LOST, ann depth 1;"
      IS_ANNS "ann releases -> ann LOST; carl holds; carl lets_go; ann releases -> ann NOT_HELD; ann holds")

/* ---- the end of an owner, and of handles ---- */

SCENE(what_an_owner_held_that_is_no_more_is_abandoned,
      "ann holds; ann nests; abandon ann -> told ann ABANDONED, asked release 1, ann depth 0; serve; bob holds")
SCENE(an_owner_that_ends_after_a_loss_leaves_nothing_to_unwind,
      "ann holds; ann nests;" LOST "abandon ann -> ann depth 0, nothing told") /* LOST was the last of it */
SCENE(the_last_handle_that_is_freed_takes_the_hold_with_it,
      "ann holds; free_handle -> told ann ABANDONED; serve -> ann depth 0; ann releases -> ann NOT_HELD; ann holds;"
      "ann nests; free_handle -> told ann ABANDONED; serve -> ann depth 0; ann releases -> ann NOT_HELD; ann holds;"
      "ann nests; ann nests; free_handle -> told ann ABANDONED; serve -> ann depth 0; ann releases -> ann NOT_HELD")

/* ---- what handles of one name agree on ---- */

static struct lsh_lock *second;

static leash_status
open_second(bool fair, leash_error *err)
{
	return lsh_lock_open(&second, lsh_engine_of(lsh_lock_of(world_resource())), "orders", &lsh_mutex, fair, err);
}

VERB(refuses) /* a handle that is fair, or is not */
{
	bool fair = strcmp(rest, "fair") == 0;
	leash_error err;

	assert_int_equal(open_second(fair, &err), LEASH_INVALID);
	assert_non_null(strstr(err.text, fair ? "lock 'orders': it is open in this client and is not fair there"
	                                      : "and is fair there"));
}

DOES(open_another, assert_int_equal(open_second(false, NULL), LEASH_OK))
DOES(close_the_other, lsh_lock_close(second))

SCENE(handles_of_one_name_agree_on_fairness_until_the_last_is_freed,
      "refuses fair; open_another; ann holds; refuses fair; close_the_other; refuses fair;"
      "make_fair -> told ann ABANDONED; refuses plain; serve; bob holds", .of = WORLD_PLAIN)
