/* What was adopted is a hold as any other: its terms are those of its handle, and it ends as any other does. How one is
 * adopted: test_adopting.c; of servers that differ: test_quorum.c. */
#include "core/core.h"
#include "tests/core/world.h"
#include "tests/support/test.h"

FIXTURE(world_begin, world_end);
PARTS(world_parts);

static void
adopted(struct person *person)
{
	adopt(person);
	serve();
	expect_end(person, LEASH_OK);
	world_sent();
}


static const struct terms {
	const char *name;
	struct lsh_terms terms;
} terms[] = {
	{"what_is_adopted_lasts_no_longer_than_max_hold_ms", {.lease_ms = 30000, .max_hold_ms = 1500}},
	{"what_is_adopted_is_not_renewed_with_no_renew", {.lease_ms = 1500, .no_renew = true}},
	{"what_is_adopted_is_not_renewed_for_who_is_not_alive", {.lease_ms = 1500, .alive_ms = 100}},
};

SENTENCES(see_the_terms_of_the_handle, terms)
{
	const struct terms *t = given;

	ann->terms.lease_ms = t->terms.lease_ms;
	ann->terms.max_hold_ms = t->terms.max_hold_ms;
	ann->terms.no_renew = t->terms.no_renew;
	ann->terms.alive_ms = t->terms.alive_ms;
	adopted(ann);
	pass(1500);
	expect_left(ann, 0);
	assert_non_null(strstr(world_told(), "ann LOST"));
	expect_asked("release 1"); /* whatever is left of its lease */
	release(ann);
	expect_end(ann, LEASH_LOST);
}

/* The server keeps it as long as it was. */
SENTENCE(what_had_a_longer_lease_than_ours_counts_for_ours)
{
	ann->terms.lease_ms = 3000;
	adopted(ann);
	expect_left(ann, 3000 - 30 - 2);
}

SENTENCE(an_owner_adopts_once_and_whoever_acts_for_it_releases)
{
	adopted(ann);
	bob->acts_for = ann;
	adopt(bob);
	expect_end(bob, LEASH_INVALID);
	expect_why(bob, "lock 'orders': this owner holds it already");
	assert_int_equal(world_depth(ann), 1);
	release(bob);
	expect_asked("release 1");
	serve();
	expect_end(bob, LEASH_OK);
	expect_left(ann, 0);
}

SENTENCE(who_has_lost_the_lock_adopts_nothing_before_that_is_unwound)
{
	ann->terms.no_renew = true;
	let_hold(ann);
	pass(30000);
	serve();
	expect_told("ann LOST");
	adopt(ann);
	expect_end(ann, LEASH_LOST);
	release(ann);
	expect_end(ann, LEASH_LOST);
	world_sent();
	adopted(ann);
}

SENTENCE(the_end_of_its_owner_abandons_what_was_adopted)
{
	adopted(ann);
	abandon(ann);
	expect_told("ann ABANDONED");
	expect_asked("release 1");
}

SENTENCE(the_last_handle_that_is_freed_abandons_what_was_adopted)
{
	adopted(ann);
	free_handle();
	expect_told("ann ABANDONED");
	expect_asked("release 1");
}

SENTENCE(a_close_releases_what_was_adopted)
{
	adopted(ann);
	close_client(); /* after one timeout, in which nothing is answered */
	assert_memory_equal(world_asked(), "release 1", strlen("release 1"));
	expect_left(ann, 0);
}

SENTENCE(nothing_is_adopted_so_soon_after_a_restart_as_the_guard_says)
{
	ann->terms.restart_guard_ms = 86400000;
	restart();
	adopt(ann);
	serve();
	pass(10000);
	expect_end(ann, LEASH_UNAVAILABLE);
	expect_why(ann, "restart_guard_ms");
}
