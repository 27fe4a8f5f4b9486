/* The terms of a hold are those of the handle that got it, and are kept to its end: max_hold_ms, alive_ms, no_renew and
 * extensions; also by who inherits a place, and by what was sent before the grant or is sent again. */
#include "core/core.h"
#include "tests/core/scene.h"

FIXTURE(world_begin, world_end);

DOES(event, assert_string_equal(world_event, rest))
DOES(event_begins, assert_memory_equal(world_event, rest, strlen(rest)))
DOES(no_event, assert_string_equal(world_event, ""))
DOES(its_own_fence, answer_fence((int64_t)(world_view(ann).fence / 256)))
DOES(is_alive, lsh_alive(lsh_lock_of(world_resource()), &person->owner))

/* What is asked for first is answered so each time until then. */
VERB(renew_until)
{
	int64_t until = number_of(rest, 0);

	while (world_ms() < until) {
		pass(until - world_ms() < 100 ? until - world_ms() : 100);
		if (world_sent()[0] != '\0')
			answer(KEPT);
	}
}

#define NOT_RENEWED "event LOST: its lease ran out, as no_renew asks"

/* ---- max_hold_ms ---- */

SCENE(max_hold_ms_ends_a_hold_that_would_be_renewed,
      "ann wants max_hold_ms 100000; ann holds; renew_until 99000 -> ann left 698; no_event; pass 1000 -> ann left 0;"
      "event LOST: max_hold_ms has passed; ann releases -> ann LOST; ann releases -> ann NOT_HELD")
SCENE(a_lease_longer_than_max_hold_ms_is_cut_from_the_start,
      "ann wants max_hold_ms 10000; ann holds -> ann left 10000 - 100 - 2;"
      "pass 10000 -> release 1; event LOST: max_hold_ms has passed") /* nobody has it any more */
SCENE(an_extension_is_cut_to_what_max_hold_ms_leaves, "ann wants max_hold_ms 100000;"
      "ann holds; pass 5000; ann extends 86400000; KEPT -> ann OK, ann left 95000 - 950 - 2")
SCENE(an_extension_that_is_sent_again_does_not_reach_past_max_hold_ms, "ann wants max_hold_ms 25000;"
      "ann holds; ann extends 60000; cut; pass 4000; reconnect; KEPT -> ann OK; pass 21000 -> ann left 0")
SCENE(votes_that_are_renewed_later_than_asked_for_do_not_reach_past_max_hold_ms,
      "ann wants max_hold_ms 25000; ann holds; ann extends 60000; cut; pass 4000; reconnect; ab KEPT -> ann OK;"
      "pass 21000 -> ann left 0", BETWEEN(world_begin_quorum, world_end))
SCENE(a_heartbeat_that_was_under_way_at_the_grant_prolongs_nothing,
      "ann wants max_hold_ms 4000; ann acquires; QUEUED; pass 1000 -> acquire 1, heartbeat 1;"
      "message_granted 1 -> ann OK; pass 500; its_own_fence -> ann left 3000 - 30 - 2 - 1500")
SCENE(a_lease_that_ran_out_because_the_server_was_away_is_not_told_as_max_hold_ms,
      "ann wants max_hold_ms 45000;" /* nearer than another whole lease, and yet not what ends it */
      "ann holds; cut; pass 30000; event LOST: no renewal succeeded before its lease ran out")

/* ---- alive_ms ---- */

SCENE(who_does_not_say_that_it_is_alive_is_not_renewed_and_loses_the_lock,
      "ann wants alive_ms 15000; ann holds; renew_until 19000; ann is_alive; no_event; renew_until 40000;"
      "event_begins JEOPARDY: leash_lock_alive() is overdue; ann is_alive; KEPT; event RECOVERED: renewed again;"
      "pass 70000; event LOST: leash_lock_alive() was not called in time; ann is_alive -> ann left 0") /* too late */

/* ---- no_renew, and extensions ---- */

SCENE(a_hold_that_is_not_renewed_ends_with_its_lease,
      "ann wants no_renew; ann holds; pass 29697 -> ann left 1, nothing sent; no_event; pass 1;" NOT_RENEWED)
SCENE(an_extension_prolongs_a_hold_that_is_not_renewed, "ann wants no_renew;"
      "ann holds; ann extends 60000; KEPT -> ann left 59398, renew 1; pass 59398 -> release 1;" NOT_RENEWED)
SCENE(a_hold_that_is_not_renewed_gets_its_full_lease_also_when_it_was_handed_on,
      "ann wants no_renew; ann acquires; QUEUED; message_granted 1 -> ann left 2968;"
      "pass 1000 -> acquire 1, renew 1; KEPT -> ann left 29698; pass 29697 -> nothing sent; pass 1;" NOT_RENEWED)
SCENE(an_extension_never_shortens_a_lease_and_is_what_was_asked_for,
      "ann extends 1000 -> ann NOT_HELD; ann holds; ann extends 100; KEPT -> ann OK, ann left 29698;"
      "ann extends 60000; KEPT -> ann OK, ann left 59398; ann extends 30000; KEPT -> ann OK, ann left 59398;"
      "ann extends 86400000; KEPT -> ann OK, ann left 86400000 - 864000 - 2")

SENTENCE(extensions_by_less_than_the_lease_put_no_renewal_off)
{
	play("ann holds");
	for (int i = 0; i < 30; i++) {
		play("ann extends 100; KEPT -> ann OK, renew 1; pass 3000"); /* also when three leases have passed */
		if (world_sent()[0] != '\0')
			answer(KEPT);
	}
}

SCENE(an_extension_right_after_a_grant_does_not_cost_the_rest_of_the_lease,
      "ann acquires 60000; QUEUED; message_granted 1 -> ann OK, ann left 2968; ann extends 100;"
      "KEPT -> ann OK, acquire 1, renew 1; pass 1000 -> renew 1; KEPT -> ann left 28731") /* from when it was sent */
SCENE(the_renewals_of_a_short_lease_leave_a_long_extension_alone, "ann holds;"
      "ann extends 600000; KEPT -> renew 1; renew_until 60000; -> ann left 600000 - 6000 - 2 - 60000; no_event")

/* ---- inherited places ---- */

/* Bob stands behind Ann, who leaves; by a message, or by his next heartbeat, he learns that the lock is theirs. */
#define ANN_LEAVES \
	"ann wants lease_ms 3600000; bob wants lease_ms 4000; ann acquires; QUEUED; bob acquires;" \
	"cancel ann -> ann CANCELED, acquire 1;"
#define BY_MESSAGE ANN_LEAVES "message_granted 1; pass 1000 -> renew 1; KEPT -> bob OK;"
#define BY_HEARTBEAT ANN_LEAVES "pass 1000 -> heartbeat 1; HELD -> bob OK;"

SCENE(who_inherits_a_place_gets_the_lease_of_its_own_handle, BY_MESSAGE "-> bob left 4000 - 40 - 2")
SCENE(who_inherits_a_place_by_a_heartbeat_gets_the_lease_of_its_own_handle, BY_HEARTBEAT "-> bob left 4000 - 40 - 2")
SCENE(who_inherits_a_place_and_wants_no_renewal_gets_one_lease_of_its_own,
      "bob wants no_renew;" BY_HEARTBEAT "pass 3957 -> nothing sent; pass 1;" NOT_RENEWED)
SCENE(who_inherits_a_place_holds_no_longer_than_its_own_max_hold_ms,
      "bob wants max_hold_ms 3500;" BY_MESSAGE "pass 2500 -> bob left 0; event LOST: max_hold_ms has passed")
SCENE(who_inherits_what_was_not_asked_for_yet_asks_on_its_own_terms,
      "ann wants lease_ms 3600000; ann wants restart_guard_ms 3600000; bob wants lease_ms 4000; restart; ann acquires;"
      "bob acquires -> nothing sent; cancel ann -> acquire 1; HELD -> bob left 4000 - 40 - 2")

/* ---- the close ---- */

SCENE(an_extension_that_is_under_way_at_the_close_says_closed, "ann holds;"
      "ann extends 60000; later 50 KEPT; later 60 RELEASED; close_client -> ann CLOSED, ann left 0, renew 1, release 1")
