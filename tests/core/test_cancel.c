/* Cancel: whoever waits with it returns at once, wherever the wait is, and leaves nothing behind. That the threads
 * which wait are waked is said by contract/test_cancel.c; what crosses it, by test_single.c. */
#include "tests/core/scene.h"

FIXTURE(world_begin, world_end);
PARTS(world_parts);

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
      "ann acquires; bob acquires; all QUEUED; cancel ann; cancel bob; ann is_canceled; bob is_canceled; cancel ann;"
      "ann tries; ann is_canceled; bob is_canceled; cancel ann; ann acquires; ann is_canceled;"
      "bob is_canceled -> now 0;"
      FREE)
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
