/* Hand-offs of a plain lock within one process: who follows whom without a word to the server, where a turn ends, what
 * is asked of the server anew, who is passed over; and that a hold that was handed off is one like any other. */
#include "tests/core/scene.h"

/* A turn that ends by count only. */
static void
begin(void)
{
	world_begin();
	ann->terms.handoff_ms = bob->terms.handoff_ms = carl->terms.handoff_ms = 60000;
}

FIXTURE(begin, world_end);

VERB(hands_off_to)
{
	struct person *next = person_of_name(rest);
	uint64_t fence = world_view(person).fence;

	release(person);
	expect_person(person, "OK");
	expect_person(next, "OK");
	assert_string_equal(world_sent(), "");
	assert_int_equal(world_view(person).fence, 0);
	assert_int_equal(world_view(next).fence, fence + 1);
}

VERB(leaves_to_ask)
{
	struct person *next = person_of_name(rest);
	uint64_t fence = world_view(person).fence;

	release(person);
	expect_person(next, "waits");
	assert_string_equal(world_sent(), "release 1, acquire 2");
	answer(RELEASED);
	expect_person(person, "OK");
	answer(HELD);
	expect_person(next, "OK");
	assert_true(world_view(next).fence > fence + 1);
}

/* ---- within a turn ---- */

SCENE(within_a_turn_they_follow_in_order_and_nothing_is_sent,
      "ann holds; bob acquires 10000; carl acquires 10000; ann hands_off_to bob -> carl waits; ann acquires 10000;"
      "bob hands_off_to carl; carl hands_off_to ann; ann releases -> release 1")
SCENE(a_try_does_not_come_between_those_who_wait, "ann holds;"
      "bob acquires 10000; ann hands_off_to bob; carl acquires 10000; ann tries -> ann TIMEOUT; bob hands_off_to carl")

/* ---- where a turn ends ---- */

static void
expect_handoffs(void)
{
	int most = *(const int *)given;
	const char *const names[] = {ann->name, bob->name};

	play("ann wants handoffs %d; bob wants handoffs %d; ann holds", most, most);
	for (int i = 0; i < most + 2; i++) { /* and then the next turn begins */
		const char *has = names[i % 2], *wants = names[(i + 1) % 2];

		play("%s acquires 10000; %s %s %s", wants, has, i == most ? "leaves_to_ask" : "hands_off_to", wants);
	}
}

#define HANDOFFS(title, most) SENTENCE_AS(title, #title, expect_handoffs, .given = &(const int){most})

HANDOFFS(a_turn_ends_after_so_many_hand_offs, 3)
HANDOFFS(a_turn_has_64_hand_offs_at_most, 64)

SCENE(without_hand_offs_every_hold_is_asked_of_the_server,
      "ann wants handoffs 0; ann holds; bob acquires 10000; ann leaves_to_ask bob")
SCENE(a_turn_ends_after_so_many_milliseconds, "ann wants handoff_ms 40; ann holds; bob acquires 10000;"
      "pass 39; ann hands_off_to bob; bob wants handoff_ms 40; carl acquires 10000; pass 1; bob leaves_to_ask carl")

/* ---- what is asked of the server anew ---- */

#define ASKS "ann holds; bob acquires 10000; ann leaves_to_ask bob"

SCENE(the_same_terms_are_handed_off, "ann holds; bob acquires 10000; ann hands_off_to bob")
SCENE(a_longer_lease_is_asked_for, "ann wants lease_ms 15000;" ASKS)
SCENE(a_shorter_lease_is_asked_for, "bob wants lease_ms 15000;" ASKS)
SCENE(what_is_not_renewed_is_not_handed_off, "ann wants no_renew;" ASKS)
SCENE(nor_to_what_is_not_renewed, "bob wants no_renew;" ASKS)
SCENE(nor_between_the_two, "ann wants no_renew; bob wants no_renew;" ASKS)
SCENE(what_has_a_limit_is_not_handed_off, "ann wants max_hold_ms 60000;" ASKS)
SCENE(nor_to_what_has_a_limit, "bob wants max_hold_ms 60000;" ASKS)
SCENE(who_is_guarded_longer_asks, "bob wants restart_guard_ms 1;" ASKS)
SCENE(a_hold_that_was_extended_is_asked_for_anew,
      "ann holds; ann extends 120000; KEPT -> ann OK, renew 1; bob acquires 10000; ann leaves_to_ask bob")
SCENE(a_fair_lock_is_never_handed_off, "make_fair; ann holds; bob acquires 10000;"
      "carl acquires 10000 -> acquire 2, acquire 3; QUEUED; QUEUED; ann releases -> release 1, bob waits")
SCENE(a_hold_at_risk_is_not_handed_off, "ann holds; bob acquires 60000;"
      "pass 10000; refuse BUSY -> told ann JEOPARDY, renew 1, renew 1; ann releases -> release 1, acquire 2")
SCENE(a_hold_whose_renewal_is_overdue_is_not_handed_off,
      "ann holds; bob acquires 60000; let_watchdog_rest; pass 15000; ann leaves_to_ask bob")

/* ---- a hold that was handed off is one like any other ---- */

SCENE(what_was_handed_off_is_renewed_until_its_last_release, "ann holds; ann tries; bob acquires 60000;"
      "ann releases -> bob waits; ann hands_off_to bob; bob tries; pass 10000 -> renew 1; KEPT -> bob left 29698;"
      "bob releases -> nothing sent; bob releases -> release 1; RELEASED; pass 30000 -> nothing sent")
SCENE(what_was_handed_off_and_is_lost_is_lost_for_its_present_owner_only, "ann holds;"
      "bob acquires 60000; ann hands_off_to bob; carl acquires 60000; pass 10000; GONE -> told bob LOST; ann releases"
      " -> ann NOT_HELD, renew 1, release 1, acquire 2; GONE; HELD -> carl OK; bob releases -> bob LOST, carl has it")

/* ---- who is passed over ---- */

DOES(fire_unseen, atomic_store(&person_of_name(rest)->cancel.fired, true)) /* its thread has not looked yet */

SCENE(who_was_canceled_while_it_was_next_is_passed_over,
      "ann holds; bob acquires 10000; carl acquires 10000; fire_unseen bob; ann hands_off_to carl -> bob CANCELED")
SCENE(who_ran_out_of_time_while_it_was_next_is_passed_over,
      "ann holds; bob acquires 500; carl acquires 10000; stand_still 501; ann hands_off_to carl -> bob TIMEOUT")
SCENE(what_is_being_extended_is_not_handed_off, "ann holds; bob acquires 10000; carl acts_for ann;"
      "carl extends 60000 -> renew 1; ann releases -> carl NOT_HELD, bob waits, release 1, acquire 2")
SCENE(who_ends_as_the_holder_leaves_the_lock_to_those_who_wait, "ann holds; bob acquires 10000; ann hands_off_to bob;"
      "carl acquires 10000; abandon bob -> told bob ABANDONED, release 1, acquire 2; RELEASED; HELD -> carl OK")
