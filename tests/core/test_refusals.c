/* Servers that cannot, or not now, or not here, and those that let nobody in: what becomes of who asks, who holds, who
 * extends and who lets go. What the words mean: unit/test_fault. */
#include "tests/core/world.h"

#include "tests/core/wire.h"
#include "tests/support/test.h"

FIXTURE(world_begin, world_end);

static void
hold(struct person *person)
{
	acquire(person, 1000);
	answer(HELD);
	expect_end(person, LEASH_OK);
	world_sent();
}

static const struct refusal {
	const char *name, *says, *word;
	enum { STAYS, PASSES, LEAVES } then; /* until people do something; soon; or another server is to be asked */
} refusals[] = {
	{"a_full_server", "OOM command not allowed when used memory > 'maxmemory'.", "(OOM)", STAYS},
	{"a_server_that_cannot_save", "MISCONF Redis is configured to save RDB snapshots", "(MISCONF)", STAYS},
	{"a_master_with_too_few_replicas", "NOREPLICAS Not enough good replicas to write.", "(NOREPLICAS)", STAYS},
	{"a_server_that_loads_its_data", "LOADING Redis is loading the dataset in memory", "(LOADING)", PASSES},
	{"a_server_that_runs_a_long_script", "BUSY Redis is busy running a script.", "(BUSY)", PASSES},
	{"a_replica", "READONLY You can't write against a read only replica.", "(READONLY)", LEAVES},
	{"a_replica_without_its_master", "MASTERDOWN Link with MASTER is down", "(MASTERDOWN)", LEAVES},
};

static const struct refusal *row;

/* For so long it refuses all that comes. How many commands were that? */
static int
refuse_for(int64_t ms)
{
	int count = 0;

	for (int64_t end = world_ms() + ms; world_ms() < end; pass(10)) {
		world_sent();
		if (wire_first(0) != NULL) {
			refuse(row->says);
			count++;
		}
	}
	return count;
}

static void
check_request(void)
{
	acquire(ann, LEASH_FOREVER);
	refuse(row->says);
	if (row->then == STAYS) {
		expect_end(ann, LEASH_UNAVAILABLE);
		expect_why(ann, row->word);
	} else {
		refuse_for(60000);
		expect_waiting(ann);
		cancel(ann);
	}
	acquire(bob, 1000);
	refuse_for(1000);
	expect_end(bob, LEASH_UNAVAILABLE);
	expect_why(bob, row->word);
	expect_left(bob, 0);
}

static void
check_hold(void)
{
	hold(ann);
	extend(ann, 60000);
	refuse_for(10000);
	expect_end(ann, LEASH_UNAVAILABLE);
	if (row->then != LEAVES) /* that is left, and may be left before it has said so */
		expect_why(ann, row->word);
	assert_true(refuse_for(19600) < (row->then == LEAVES ? 2000 : 100));
	expect_told("ann JEOPARDY");
	expect_left(ann, 98);
	refuse_for(100);
	expect_told("ann LOST");
	release(ann);
	expect_end(ann, LEASH_LOST);
}

static void
check_release(void)
{
	hold(ann);
	release(ann);
	refuse_for(10000);
	expect_end(ann, LEASH_UNKNOWN);
	expect_why(ann, row->word);
	expect_left(ann, 0);
	while (wire_first(0) == NULL)
		pass(10);
	answer(RELEASED);
	world_sent();
	pass(30000);
	expect_sent("");
	expect_told("");
}

SENTENCES(a_server_that_refuses_lets_leases_run_out_truthfully, refusals)
{
	static void (*const checks[])(void) = {check_request, check_hold, check_release};

	row = given;
	for (size_t i = 0; i < COUNT(checks); i++) {
		checks[i]();
		world_end();
		world_begin();
	}
}

/* ---- a key that is somebody else's by now ---- */

static void
wait_for_renewal(struct person *person)
{
	(void)person;
	pass(10000);
}

static void
extend_it(struct person *person)
{
	extend(person, 60000);
}

SENTENCE(a_hold_whose_key_was_replaced_is_lost)
{
	static void (*const asks[])(struct person *) = {wait_for_renewal, extend_it, release};

	for (size_t i = 0; i < COUNT(asks); i++) {
		hold(ann);
		asks[i](ann);
		refuse("WRONGTYPE Operation against a key holding the wrong kind of value");
		expect_left(ann, 0);
		if (asks[i] != wait_for_renewal) {
			expect_end(ann, LEASH_LOST);
			expect_why(ann, "lock 'orders'");
		}
		if (asks[i] != release)
			release(ann);
		expect_end(ann, LEASH_LOST);
		expect_told(asks[i] != release ? "ann LOST" : "");
		world_end();
		world_begin();
	}
}

/* ---- shut out ---- */

static const char wrong_password[] = "AUTH: WRONGPASS invalid username-password pair or user is disabled";

static void
expect_denied(struct person *person)
{
	expect_end(person, LEASH_DENIED);
	expect_why(person, wrong_password);
}

SENTENCE(who_is_shut_out_holds_to_the_end_of_the_lease)
{
	hold(ann);
	shut_out(wrong_password);
	expect_left(ann, 29698);
	pass(29697);
	expect_left(ann, 1);
	expect_told("ann JEOPARDY");
	pass(1);
	expect_told("ann LOST");
	release(ann);
	expect_end(ann, LEASH_LOST);
	acquire(carl, LEASH_FOREVER);
	shut_out(wrong_password);
	expect_denied(carl);
	reconnect();
	answer(GONE);
	hold(ann);
}

/* Nobody asks again for places that were taken when all was well. */
SENTENCE(all_who_wait_are_told_when_a_connection_is_denied)
{
	for (int fair = 0; fair < 2; fair++) {
		if (fair)
			make_fair();
		acquire(ann, LEASH_FOREVER);
		answer(QUEUED);
		acquire(bob, 600000);
		if (fair)
			answer(QUEUED);
		shut_out(wrong_password);
		expect_denied(ann);
		expect_denied(bob);
		world_sent();
		reconnect();
		expect_sent(fair ? "release 2, release 3" : "release 1");
		answer(LEFT);
		if (fair)
			answer(LEFT);
	}
}

SENTENCE(who_is_let_in_again_in_time_keeps_the_lock)
{
	hold(ann);
	acquire(bob, LEASH_FOREVER);
	shut_out(wrong_password);
	expect_denied(bob);
	pass(20000);
	reconnect();
	expect_sent("renew 1");
	answer(KEPT);
	expect_told("ann JEOPARDY, ann RECOVERED");
	expect_left(ann, 29698);
}
