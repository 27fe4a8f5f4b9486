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

/* ---- what was adopted is a hold as any other, on the terms of its handle (how one is adopted: test_single.c, of
 * servers that differ: test_quorum.c) ---- */

#define ADOPTED "ann adopts; serve -> ann OK; forget_sent;"
/* Whatever is left of its lease is given back. */
#define ENDS "pass 1500 -> ann left 0, asked release 1; ann releases -> ann LOST;"

SCENE(what_is_adopted_lasts_no_longer_than_max_hold_ms, "ann wants max_hold_ms 1500;" ADOPTED ENDS "-> told ann LOST")
SCENE(what_is_adopted_is_not_renewed_with_no_renew,
      "ann wants lease_ms 1500; ann wants no_renew;" ADOPTED ENDS "-> told ann LOST")
SCENE(what_is_adopted_is_not_renewed_for_who_is_not_alive,
      "ann wants lease_ms 1500; ann wants alive_ms 100;" ADOPTED ENDS "-> told ann JEOPARDY, told ann LOST")
/* The server keeps it as long as it was. */
SCENE(what_had_a_longer_lease_than_ours_counts_for_ours, "ann wants lease_ms 3000;" ADOPTED "-> ann left 3000 - 30 - 2")
SCENE(an_owner_adopts_once_and_whoever_acts_for_it_releases, ADOPTED "bob acts_for ann;"
      "bob adopts -> bob INVALID, bob why lock 'orders': this owner holds it already, ann depth 1;"
      "bob releases -> asked release 1; serve -> bob OK, ann left 0")
SCENE(who_has_lost_the_lock_adopts_nothing_before_that_is_unwound, "ann wants no_renew; ann holds; pass 30000;"
      "serve -> told ann LOST; ann adopts -> ann LOST; ann releases -> ann LOST; ann adopts; serve -> ann OK")
SCENE(the_end_of_its_owner_abandons_what_was_adopted, ADOPTED "abandon ann -> told ann ABANDONED, asked release 1")
SCENE(the_last_handle_that_is_freed_abandons_what_was_adopted,
      ADOPTED "free_handle -> told ann ABANDONED, asked release 1")

DOES(asked_first, assert_memory_equal(world_asked(), rest, strlen(rest)))
SCENE(a_close_releases_what_was_adopted, /* after one timeout, in which nothing is answered */
      ADOPTED "close_client -> ann left 0; asked_first release 1")
SCENE(nothing_is_adopted_so_soon_after_a_restart_as_the_guard_says, "ann wants restart_guard_ms 86400000;"
      "restart; ann adopts; serve; pass 10000 -> ann UNAVAILABLE, ann why restart_guard_ms")

/* ---- breaking: by the token that was found to have the lock; holds of this very client; answers that are lost (who
 * has it, which is asked first, and what holders in other processes see: contract/test_takeover.c) ---- */

#define ONE_SERVER .of = WORLD_PLAIN | WORLD_FAIR

SCENE(a_hold_of_another_thread_of_this_client_is_lost_when_the_call_returns, "ann holds -> ann has it;"
      "carl acquires 10000; bob breaks 1; serve -> bob OK, told ann LOST, ann left 0, ann depth 1;"
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

/* ---- cancel: whoever waits with it returns at once, wherever the wait is, and leaves nothing behind (that the threads
 * which wait are waked is said by contract/test_cancel.c; what crosses it, by test_single.c) ---- */

VERB(is_canceled)
{
	expect_person(person, "CANCELED");
	expect_person(person, "why canceled");
	expect_person(person, "left 0");
	expect_person(person, "depth 0");
}

/* The lock can be had, once what is on its way has come. */
#define FREE "uncancel carl; carl acquires 10000; serve; pass 1000; serve -> carl OK; carl lets_go"

SENTENCE(one_that_was_fired_before_ends_every_wait_before_anything_is_asked)
{
	play("cancel ann");
	for (int is_busy = 0; is_busy < 2; is_busy++) /* nobody has it, as far as is known here; another thread */
		play("ann tries; ann is_canceled; ann acquires 1; ann is_canceled; ann acquires 1000; ann is_canceled;"
		     "ann acquires; ann is_canceled -> nothing sent; bob holds");
}

SCENE(one_that_is_fired_ends_waits_and_stays_fired, /* bob waits behind ann, or with a place of his own */
      "ann acquires;"
      "bob acquires; all QUEUED; cancel ann; cancel bob; ann is_canceled; bob is_canceled; cancel ann; ann tries;"
      "ann is_canceled; bob is_canceled; cancel ann; ann acquires; ann is_canceled; bob is_canceled -> now 0;" FREE)
SCENE(a_nested_acquire_ignores_it,
      "ann holds; cancel ann; ann nests -> ann depth 2; ann releases; ann lets_go; ann tries; ann is_canceled")
SCENE(the_next_goes_on_at_the_place_that_it_has_in_common_with_a_canceled_first, "ann acquires;"
      "bob acquires; QUEUED; cancel ann; ann is_canceled -> acquire 1; message_granted 1 -> bob OK", .of = WORLD_PLAIN)
SCENE(the_next_keeps_its_own_place_when_the_first_is_canceled,
      "ann acquires; bob acquires; QUEUED; QUEUED; cancel ann; ann is_canceled -> acquire 1, acquire 2, release 1;"
      "LEFT -> bob waits; message_granted 2 -> bob OK", .of = WORLD_FAIR)
SCENE(it_needs_no_answer_and_who_is_not_canceled_waits_on,
      "ann acquires; bob acquires; carl acquires; cancel ann; cancel bob; ann is_canceled; bob is_canceled;"
      "-> carl waits, now 0; serve -> carl OK") /* what they had asked for is carl's, or is given back */
SCENE(it_ends_waits_for_a_server_that_is_gone, "ann acquires; all QUEUED;"
      "cut; bob acquires; pass 100; cancel ann; cancel bob; ann is_canceled; bob is_canceled; reconnect;" FREE)
SCENE(it_ends_a_wait_for_the_restart_guard, "ann wants restart_guard_ms 86400000;"
      "restart; ann acquires; pass 100 -> ann waits; cancel ann; ann is_canceled; -> nothing sent")
