/* The terms of a hold are those of the handle that got it, and are kept to its end: max_hold_ms, alive_ms, no_renew and
 * extensions; also by who inherits a place, and by what was sent before the grant or is sent again. */
#include "core/core.h"
#include "tests/core/world.h"
#include "tests/support/test.h"

static char why[200]; /* the last event of ann's */

static void
note_why(void *arg, const leash_event *event)
{
	(void)arg;
	snprintf(why, sizeof why, "%s: %s", leash_event_name(event->type), event->text);
}

static void
begin(void)
{
	world_begin();
	ann->terms.on_event = note_why;
	why[0] = '\0';
}

static void
begin_quorum(void)
{
	world_uri = "redis+quorum://a,b,c";
	begin();
	world_uri = "redis://world";
}

FIXTURE(begin, world_end);

#define expect_event(text) expect_text((text), why, "what was told", __FILE__, __LINE__)

static void
hold(struct person *person)
{
	acquire(person, 10000);
	answer(HELD);
	expect_end(person, LEASH_OK);
	world_sent();
}

/* What is asked for first is answered so each time until then. */
static void
renew_until(int64_t ms)
{
	while (world_ms() < ms) {
		int64_t left = ms - world_ms();

		pass(left < 100 ? left : 100);
		if (world_sent()[0] != '\0')
			answer(KEPT);
	}
}

static void
be_alive(struct person *person)
{
	lsh_alive(lsh_lock_of(world_resource()), &person->owner);
}

/* ---- max_hold_ms ---- */

SENTENCE(max_hold_ms_ends_a_hold_that_would_be_renewed)
{
	ann->terms.max_hold_ms = 100000;
	hold(ann);
	renew_until(99000);
	assert_int_equal(lsh_remaining(lsh_lock_of(world_resource()), &ann->owner) > 0, true);
	expect_event("");
	pass(1000);
	expect_left(ann, 0);
	expect_event("LOST: max_hold_ms is over");
	release(ann);
	expect_end(ann, LEASH_LOST);
	release(ann);
	expect_end(ann, LEASH_NOT_HELD);
}

SENTENCE(a_lease_longer_than_max_hold_ms_is_cut_from_the_start)
{
	ann->terms.max_hold_ms = 10000;
	hold(ann);
	expect_left(ann, 10000 - 100 - 2);
	pass(10000);
	expect_sent("release 1"); /* nobody has it any more */
	expect_event("LOST: max_hold_ms is over");
}

SENTENCE(an_extension_is_cut_to_what_max_hold_ms_leaves)
{
	ann->terms.max_hold_ms = 100000;
	hold(ann);
	pass(5000);
	extend(ann, 86400000);
	answer(KEPT);
	expect_end(ann, LEASH_OK);
	expect_left(ann, 95000 - 950 - 2);
}

SENTENCE(an_extension_that_is_sent_again_does_not_reach_past_max_hold_ms)
{
	ann->terms.max_hold_ms = 25000;
	hold(ann);
	extend(ann, 60000);
	cut();
	pass(4000);
	reconnect();
	answer(KEPT);
	expect_end(ann, LEASH_OK);
	pass(21000);
	expect_left(ann, 0);
}

SENTENCE(votes_that_are_renewed_later_than_asked_for_do_not_reach_past_max_hold_ms, BETWEEN(begin_quorum, world_end))
{
	ann->terms.max_hold_ms = 25000;
	acquire(ann, 10000);
	for (char server = 'a'; server <= 'c'; server++) {
		on(server);
		answer(HELD);
	}
	extend(ann, 60000);
	cut();
	pass(4000);
	reconnect();
	for (char server = 'a'; server <= 'b'; server++) {
		on(server);
		answer(KEPT);
	}
	expect_end(ann, LEASH_OK);
	pass(21000);
	expect_left(ann, 0);
}

SENTENCE(a_heartbeat_that_was_under_way_at_the_grant_prolongs_nothing)
{
	ann->terms.max_hold_ms = 4000;
	acquire(ann, LEASH_FOREVER);
	answer(QUEUED);
	pass(1000);
	expect_sent("acquire 1, heartbeat 1");
	message_granted(1);
	expect_end(ann, LEASH_OK);
	pass(500);
	answer_fence((int64_t)(world_fence(ann) / 256));
	expect_left(ann, 3000 - 30 - 2 - 1500);
}

SENTENCE(a_lease_that_ran_out_because_the_server_was_away_is_not_told_as_max_hold_ms)
{
	ann->terms.max_hold_ms = 45000; /* nearer than another whole lease, and yet not what ends it */
	hold(ann);
	cut();
	pass(30000);
	assert_null(strstr(why, "max_hold_ms"));
	expect_part("LOST: ", why, __FILE__, __LINE__);
}

/* ---- alive_ms ---- */

SENTENCE(who_does_not_say_that_it_is_alive_is_not_renewed_and_loses_the_lock)
{
	ann->terms.alive_ms = 15000;
	hold(ann);
	renew_until(19000);
	be_alive(ann);
	expect_event("");
	renew_until(40000);
	expect_part("JEOPARDY: leash_lock_alive() is overdue", why, __FILE__, __LINE__);
	be_alive(ann);
	answer(KEPT);
	expect_event("RECOVERED: renewed again");
	pass(70000);
	expect_event("LOST: leash_lock_alive() was not called in time");
	be_alive(ann); /* too late */
	expect_left(ann, 0);
}

/* ---- no_renew, and extensions ---- */

SENTENCE(a_hold_that_is_not_renewed_ends_with_its_lease)
{
	ann->terms.no_renew = true;
	hold(ann);
	pass(29697);
	expect_left(ann, 1);
	expect_sent("");
	expect_event(""); /* it was meant to be so */
	pass(1);
	expect_event("LOST: its lease ran out, as no_renew asks");
}

SENTENCE(an_extension_prolongs_a_hold_that_is_not_renewed)
{
	ann->terms.no_renew = true;
	hold(ann);
	extend(ann, 60000);
	answer(KEPT);
	expect_left(ann, 59398);
	expect_sent("renew 1");
	pass(59398);
	expect_sent("release 1");
	expect_event("LOST: its lease ran out, as no_renew asks");
}

SENTENCE(a_hold_that_is_not_renewed_gets_its_full_lease_also_when_it_was_handed_on)
{
	ann->terms.no_renew = true;
	acquire(ann, LEASH_FOREVER);
	answer(QUEUED);
	message_granted(1);
	expect_left(ann, 2968);
	pass(1000);
	expect_sent("acquire 1, renew 1");
	answer(KEPT);
	expect_left(ann, 29698);
	pass(29697);
	expect_sent("");
	pass(1);
	expect_event("LOST: its lease ran out, as no_renew asks");
}

SENTENCE(an_extension_never_shortens_a_lease_and_is_what_was_asked_for)
{
	static const int64_t asked_ms[] = {100, 60000, 30000, 86400000};
	static const int64_t left_ms[] = {29698, 59398, 59398, 86400000 - 864000 - 2};

	extend(ann, 1000);
	expect_end(ann, LEASH_NOT_HELD);
	hold(ann);
	for (size_t i = 0; i < COUNT(asked_ms); i++) {
		extend(ann, asked_ms[i]);
		answer(KEPT);
		expect_end(ann, LEASH_OK);
		expect_left(ann, left_ms[i]);
	}
}

SENTENCE(extensions_by_less_than_the_lease_put_no_renewal_off)
{
	hold(ann);
	for (int i = 0; i < 30; i++) {
		extend(ann, 100);
		answer(KEPT);
		expect_end(ann, LEASH_OK); /* also when three leases have passed */
		world_sent();
		pass(3000);
		if (world_sent()[0] != '\0')
			answer(KEPT);
	}
}

SENTENCE(an_extension_right_after_a_grant_does_not_cost_the_rest_of_the_lease)
{
	acquire(ann, 60000);
	answer(QUEUED);
	message_granted(1);
	expect_end(ann, LEASH_OK);
	expect_left(ann, 2968);
	extend(ann, 100);
	answer(KEPT);
	expect_end(ann, LEASH_OK);
	world_sent();
	pass(1000);
	expect_sent("renew 1");
	answer(KEPT);
	expect_left(ann, 28731); /* from when it was sent */
}

SENTENCE(the_renewals_of_a_short_lease_leave_a_long_extension_alone)
{
	hold(ann);
	extend(ann, 600000);
	answer(KEPT);
	world_sent();
	renew_until(60000);
	expect_left(ann, 600000 - 6000 - 2 - 60000);
	expect_event("");
}

/* ---- inherited places ---- */

/* Bob stands behind Ann, who leaves; by a message, or by his next heartbeat, he learns that the lock is theirs. */
static void
inherit(bool by_heartbeat)
{
	ann->terms.lease_ms = 3600000;
	bob->terms.lease_ms = 4000;
	bob->terms.on_event = note_why;
	acquire(ann, LEASH_FOREVER);
	answer(QUEUED);
	acquire(bob, LEASH_FOREVER);
	cancel(ann);
	expect_end(ann, LEASH_CANCELED);
	world_sent();
	if (by_heartbeat) {
		pass(1000);
		expect_sent("heartbeat 1");
		answer(HELD);
	} else {
		message_granted(1);
		pass(1000);
		expect_sent("renew 1");
		answer(KEPT);
	}
	expect_end(bob, LEASH_OK);
}

SENTENCE(who_inherits_a_place_gets_the_lease_of_its_own_handle)
{
	for (int by_heartbeat = 0; by_heartbeat < 2; by_heartbeat++) {
		world_end();
		begin();
		inherit(by_heartbeat);
		expect_left(bob, 4000 - 40 - 2);
	}
}

SENTENCE(who_inherits_a_place_and_wants_no_renewal_gets_one_lease_of_its_own)
{
	bob->terms.no_renew = true;
	inherit(true);
	pass(3957);
	expect_sent("");
	pass(1);
	expect_event("LOST: its lease ran out, as no_renew asks");
}

SENTENCE(who_inherits_a_place_holds_no_longer_than_its_own_max_hold_ms)
{
	bob->terms.max_hold_ms = 3500;
	inherit(false);
	pass(2500);
	expect_left(bob, 0);
	expect_event("LOST: max_hold_ms is over");
}

SENTENCE(who_inherits_what_was_not_asked_for_yet_asks_on_its_own_terms)
{
	ann->terms.lease_ms = 3600000;
	ann->terms.restart_guard_ms = 3600000;
	bob->terms.lease_ms = 4000;
	restart();
	acquire(ann, LEASH_FOREVER);
	acquire(bob, LEASH_FOREVER);
	expect_sent("");
	cancel(ann);
	expect_sent("acquire 1");
	answer(HELD);
	expect_left(bob, 4000 - 40 - 2);
}

/* ---- the close ---- */

SENTENCE(an_extension_that_is_under_way_at_the_close_says_closed)
{
	hold(ann);
	extend(ann, 60000);
	later(50, KEPT);
	later(60, RELEASED);
	close_client();
	expect_end(ann, LEASH_CLOSED);
	expect_left(ann, 0);
	expect_sent("renew 1, release 1");
}
