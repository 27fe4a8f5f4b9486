/* Hand-offs of a plain lock within one process: who follows whom without a word to the server, where a turn ends, what
 * is asked of the server anew, who is passed over; and that a hold that was handed off is one like any other. */
#include "core/core.h"
#include "tests/core/world.h"
#include "tests/support/test.h"

/* A turn that ends by count only. */
static void
begin(void)
{
	world_begin();
	ann->terms.handoff_ms = bob->terms.handoff_ms = carl->terms.handoff_ms = 60000;
}

FIXTURE(begin, world_end);

static void
hold(struct person *person)
{
	acquire(person, 10000);
	answer(HELD);
	expect_end(person, LEASH_OK);
	world_sent();
}

static void
expect_handed_off(struct person *from, struct person *to)
{
	uint64_t fence = world_fence(from);

	release(from);
	expect_end(from, LEASH_OK);
	expect_end(to, LEASH_OK);
	expect_sent("");
	assert_int_equal(world_fence(from), 0);
	assert_int_equal(world_fence(to), fence + 1);
}

static void
expect_asked_anew(struct person *from, struct person *to)
{
	uint64_t fence = world_fence(from);

	release(from);
	expect_waiting(to);
	expect_sent("release 1, acquire 2");
	answer(RELEASED);
	expect_end(from, LEASH_OK);
	answer(HELD);
	expect_end(to, LEASH_OK);
	assert_true(world_fence(to) > fence + 1);
}

/* ---- within a turn ---- */

SENTENCE(within_a_turn_they_follow_in_order_and_nothing_is_sent)
{
	hold(ann);
	acquire(bob, 10000);
	acquire(carl, 10000);
	expect_handed_off(ann, bob);
	expect_waiting(carl);
	acquire(ann, 10000);
	expect_handed_off(bob, carl);
	expect_handed_off(carl, ann);
	release(ann);
	expect_sent("release 1");
}

SENTENCE(a_try_does_not_come_between_those_who_wait)
{
	hold(ann);
	acquire(bob, 10000);
	expect_handed_off(ann, bob);
	acquire(carl, 10000);
	acquire(ann, 0);
	expect_end(ann, LEASH_TIMEOUT);
	expect_handed_off(bob, carl);
}

/* ---- where a turn ends ---- */

static void
expect_handoffs(unsigned char most, unsigned expected)
{
	struct person *has = ann, *wants = bob, *next;

	ann->terms.handoffs = bob->terms.handoffs = most;
	hold(ann);
	for (unsigned i = 0; i < expected; i++) {
		acquire(wants, 10000);
		expect_handed_off(has, wants);
		next = has;
		has = wants;
		wants = next;
	}
	acquire(wants, 10000);
	expect_asked_anew(has, wants);
	acquire(has, 10000);
	expect_handed_off(wants, has); /* and the next turn begins */
}

SENTENCE(a_turn_ends_after_so_many_hand_offs)
{
	expect_handoffs(3, 3);
}

SENTENCE(a_turn_has_64_hand_offs_at_most)
{
	expect_handoffs(64, 64);
}

SENTENCE(without_hand_offs_every_hold_is_asked_of_the_server)
{
	ann->terms.handoffs = 0;
	hold(ann);
	acquire(bob, 10000);
	expect_asked_anew(ann, bob);
}

SENTENCE(a_turn_ends_after_so_many_milliseconds)
{
	ann->terms.handoff_ms = 40;
	hold(ann);
	acquire(bob, 10000);
	pass(39);
	expect_handed_off(ann, bob);
	bob->terms.handoff_ms = 40;
	acquire(carl, 10000);
	pass(1);
	expect_asked_anew(bob, carl);
}

/* ---- what is asked of the server anew ---- */

static const struct pair {
	const char *name;
	struct lsh_terms mine, theirs;
	bool is_handed_off;
} pairs[] = {
	{"the_same_terms_are_handed_off", {.lease_ms = 30000}, {.lease_ms = 30000}, true},
	{"a_longer_lease_is_asked_for", {.lease_ms = 15000}, {.lease_ms = 30000}, false},
	{"a_shorter_lease_is_asked_for", {.lease_ms = 30000}, {.lease_ms = 15000}, false},
	{"what_is_not_renewed_is_not_handed_off", {.lease_ms = 30000, .no_renew = true}, {.lease_ms = 30000}, false},
	{"nor_to_what_is_not_renewed", {.lease_ms = 30000}, {.lease_ms = 30000, .no_renew = true}, false},
	{"nor_between_the_two", {.lease_ms = 30000, .no_renew = true}, {.lease_ms = 30000, .no_renew = true}, false},
	{"what_has_a_limit_is_not_handed_off", {.lease_ms = 30000, .max_hold_ms = 60000}, {.lease_ms = 30000}, false},
	{"nor_to_what_has_a_limit", {.lease_ms = 30000}, {.lease_ms = 30000, .max_hold_ms = 60000}, false},
	{"who_is_guarded_longer_asks", {.lease_ms = 30000}, {.lease_ms = 30000, .restart_guard_ms = 1}, false},
};

static void
set_terms(struct person *person, const struct lsh_terms *terms)
{
	person->terms.lease_ms = terms->lease_ms;
	person->terms.max_hold_ms = terms->max_hold_ms;
	person->terms.no_renew = terms->no_renew;
	person->terms.restart_guard_ms = terms->restart_guard_ms;
}

SENTENCES(see_who_follows, pairs)
{
	const struct pair *pair = given;

	set_terms(ann, &pair->mine);
	set_terms(bob, &pair->theirs);
	hold(ann);
	acquire(bob, 10000);
	if (pair->is_handed_off)
		expect_handed_off(ann, bob);
	else
		expect_asked_anew(ann, bob);
}

SENTENCE(a_hold_that_was_extended_is_asked_for_anew)
{
	hold(ann);
	extend(ann, 120000);
	answer(KEPT);
	expect_end(ann, LEASH_OK);
	world_sent();
	acquire(bob, 10000);
	expect_asked_anew(ann, bob);
}

SENTENCE(a_fair_lock_is_never_handed_off)
{
	make_fair();
	hold(ann);
	acquire(bob, 10000);
	acquire(carl, 10000);
	expect_sent("acquire 2, acquire 3");
	answer(QUEUED);
	answer(QUEUED);
	release(ann);
	expect_sent("release 1");
	expect_waiting(bob);
}

SENTENCE(a_hold_at_risk_is_not_handed_off)
{
	hold(ann);
	acquire(bob, 60000);
	pass(10000);
	refuse("BUSY");
	expect_told("ann JEOPARDY");
	expect_sent("renew 1, renew 1");
	release(ann);
	expect_sent("release 1, acquire 2");
}

SENTENCE(a_hold_whose_renewal_is_overdue_is_not_handed_off)
{
	hold(ann);
	acquire(bob, 60000);
	let_watchdog_rest();
	pass(15000);
	expect_asked_anew(ann, bob);
}

/* ---- a hold that was handed off is one like any other ---- */

SENTENCE(what_was_handed_off_is_renewed_until_its_last_release)
{
	hold(ann);
	acquire(ann, 0);
	acquire(bob, 60000);
	release(ann);
	expect_waiting(bob);
	expect_handed_off(ann, bob);
	acquire(bob, 0);
	pass(10000);
	expect_sent("renew 1");
	answer(KEPT);
	expect_left(bob, 29698);
	release(bob);
	expect_sent("");
	release(bob);
	expect_sent("release 1");
	answer(RELEASED);
	pass(30000);
	expect_sent("");
}

SENTENCE(what_was_handed_off_and_is_lost_is_lost_for_its_present_owner_only)
{
	hold(ann);
	acquire(bob, 60000);
	expect_handed_off(ann, bob);
	acquire(carl, 60000);
	pass(10000);
	answer(GONE);
	expect_told("bob LOST");
	release(ann);
	expect_end(ann, LEASH_NOT_HELD);
	expect_sent("renew 1, release 1, acquire 2");
	answer(GONE);
	answer(HELD);
	expect_end(carl, LEASH_OK);
	release(bob);
	expect_end(bob, LEASH_LOST);
	assert_true(world_fence(carl) > 0);
}

/* ---- who is passed over ---- */

SENTENCE(who_was_canceled_while_it_was_next_is_passed_over)
{
	hold(ann);
	acquire(bob, 10000);
	acquire(carl, 10000);
	atomic_store(&bob->cancel.fired, true); /* its thread has not looked yet */
	expect_handed_off(ann, carl);
	expect_end(bob, LEASH_CANCELED);
}

SENTENCE(who_ran_out_of_time_while_it_was_next_is_passed_over)
{
	hold(ann);
	acquire(bob, 500);
	acquire(carl, 10000);
	stand_still(501);
	expect_handed_off(ann, carl);
	expect_end(bob, LEASH_TIMEOUT);
}

SENTENCE(who_ends_as_the_holder_leaves_the_lock_to_those_who_wait)
{
	hold(ann);
	acquire(bob, 10000);
	expect_handed_off(ann, bob);
	acquire(carl, 10000);
	abandon(bob);
	expect_told("bob ABANDONED");
	expect_sent("release 1, acquire 2");
	answer(RELEASED);
	answer(HELD);
	expect_end(carl, LEASH_OK);
}
