/* Cancel: whoever waits with it returns at once, wherever the wait is, and leaves nothing behind. That the threads
 * which wait are waked is said by contract/test_cancel.c; what answers and messages do that cross it, by
 * test_single.c. */
#include "tests/core/world.h"
#include "tests/support/test.h"

FIXTURE(world_begin, world_end);
PARTS(world_parts);

static void
expect_canceled(struct person *person)
{
	expect_end(person, LEASH_CANCELED);
	expect_why(person, "canceled");
	expect_left(person, 0);
	assert_int_equal(world_depth(person), 0);
}

/* The lock can be had, once what is on its way has come. */
static void
expect_free(void)
{
	carl->cancel.fired = false;
	acquire(carl, 10000);
	serve();
	pass(1000);
	serve();
	expect_end(carl, LEASH_OK);
	release(carl);
	serve();
	expect_end(carl, LEASH_OK);
}

SENTENCE(one_that_was_fired_before_ends_every_wait_before_anything_is_asked)
{
	static const int64_t waits_ms[] = {0, 1, 1000, LEASH_FOREVER};

	cancel(ann);
	for (int is_busy = 0; is_busy < 2; is_busy++) { /* nobody has it, as far as is known here; another thread */
		for (size_t i = 0; i < COUNT(waits_ms); i++) {
			acquire(ann, waits_ms[i]);
			expect_canceled(ann);
		}
		expect_sent("");
		acquire(bob, 1000);
		serve();
		expect_end(bob, LEASH_OK);
		world_sent();
	}
}

SENTENCE(one_that_is_fired_ends_waits_and_stays_fired)
{
	acquire(ann, LEASH_FOREVER);
	acquire(bob, LEASH_FOREVER); /* behind it, or with a place of its own */
	answer_all(QUEUED);
	cancel(ann);
	cancel(bob);
	for (int i = 0; i < 3; i++) {
		expect_canceled(ann);
		expect_canceled(bob);
		cancel(ann);
		acquire(ann, i == 0 ? 0 : LEASH_FOREVER);
	}
	assert_int_equal(world_ms(), 0);
	expect_free();
}

SENTENCE(a_nested_acquire_ignores_it)
{
	acquire(ann, 1000);
	serve();
	cancel(ann);
	acquire(ann, 0);
	expect_end(ann, LEASH_OK);
	assert_int_equal(world_depth(ann), 2);
	release(ann);
	release(ann);
	serve();
	expect_end(ann, LEASH_OK);
	acquire(ann, 0);
	expect_canceled(ann);
}

SENTENCE(the_next_goes_on_at_the_place_that_it_has_in_common_with_a_canceled_first, .of = WORLD_PLAIN)
{
	acquire(ann, LEASH_FOREVER);
	acquire(bob, LEASH_FOREVER);
	answer(QUEUED);
	cancel(ann);
	expect_canceled(ann);
	expect_sent("acquire 1");
	message_granted(1);
	expect_end(bob, LEASH_OK);
}

SENTENCE(the_next_keeps_its_own_place_when_the_first_is_canceled, .of = WORLD_FAIR)
{
	acquire(ann, LEASH_FOREVER);
	acquire(bob, LEASH_FOREVER);
	answer(QUEUED);
	answer(QUEUED);
	cancel(ann);
	expect_canceled(ann);
	expect_sent("acquire 1, acquire 2, release 1");
	answer(LEFT);
	expect_waiting(bob);
	message_granted(2);
	expect_end(bob, LEASH_OK);
}

SENTENCE(it_needs_no_answer_and_who_is_not_canceled_waits_on)
{
	acquire(ann, LEASH_FOREVER);
	acquire(bob, LEASH_FOREVER);
	acquire(carl, LEASH_FOREVER);
	cancel(ann);
	cancel(bob);
	expect_canceled(ann);
	expect_canceled(bob);
	expect_waiting(carl);
	assert_int_equal(world_ms(), 0);
	serve(); /* what they had asked for is carl's, or is given back */
	expect_end(carl, LEASH_OK);
}

SENTENCE(it_ends_waits_for_a_server_that_is_gone)
{
	acquire(ann, LEASH_FOREVER);
	answer_all(QUEUED);
	cut();
	acquire(bob, LEASH_FOREVER);
	pass(100);
	cancel(ann);
	cancel(bob);
	expect_canceled(ann);
	expect_canceled(bob);
	reconnect();
	expect_free();
}

SENTENCE(it_ends_a_wait_for_the_restart_guard)
{
	ann->terms.restart_guard_ms = 86400000;
	restart();
	acquire(ann, LEASH_FOREVER);
	pass(100);
	expect_waiting(ann);
	cancel(ann);
	expect_canceled(ann);
	expect_sent("");
}
