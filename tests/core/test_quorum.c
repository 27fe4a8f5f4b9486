/* A quorum of three, to the vote: what the core says to each server, and what it makes of what comes back. */
#include "tests/core/world.h"

#include "lease/host.h"
#include "tests/core/wire.h"
#include "tests/support/test.h"

static void
begin(void)
{
	world_uri = "redis+quorum://a,b,c";
	world_begin();
	ann->terms.restart_guard_ms = bob->terms.restart_guard_ms = 30000;
}

FIXTURE(begin, world_end);

static void
says(char server, enum answer what)
{
	on(server);
	answer(what);
}

static void
hold(struct person *person)
{
	acquire(person, 10000);
	says('a', HELD);
	says('b', HELD);
	says('c', HELD);
	expect_end(person, LEASH_OK);
	world_sent();
}

SENTENCE(what_two_of_three_grant_is_held)
{
	acquire(ann, 10000);
	expect_sent("vote 1 at a, vote 1 at b, vote 1 at c");
	says('b', HELD);
	expect_waiting(ann);
	says('c', HELD);
	expect_end(ann, LEASH_OK);
	expect_left(ann, 29698);
}

SENTENCE(a_round_without_a_majority_is_canceled_where_it_has_a_vote_and_the_next_has_a_new_token)
{
	acquire(ann, 10000);
	says('b', TAKEN);
	says('c', TAKEN);
	says('a', HELD); /* too late: its cancel is on its way */
	expect_sent("vote 1 at a, vote 1 at b, vote 1 at c, release 1 at a with source");
	says('a', RELEASED);
	pass(100);
	expect_sent("vote 2 at a, vote 2 at b, vote 2 at c");
}

SENTENCE(a_vote_that_waited_for_room_and_comes_behind_its_cancel_keeps_no_lease)
{
	wire_refuses = 1000;
	acquire(ann, 1000);
	wire_refuses = 0;
	pass(1000);
	expect_end(ann, LEASH_UNAVAILABLE);
	expect_sent("release 1 at a with source, release 1 at b with source, release 1 at c with source");
	says('a', GONE);
	lsh_call_resume(&lsh_resource_host(world_resource())->server);
	says('b', GONE);
	says('c', GONE);
	assert_true(lsh_list_empty(&world_resource()->leases));
}

SENTENCE(a_fence_that_one_server_knows_is_told_to_another_before_the_lock_is_held)
{
	acquire(ann, 10000);
	on('a');
	answer_ahead(7);
	says('b', HELD);
	expect_waiting(ann);
	expect_sent("vote 1 at a, vote 1 at b, vote 1 at c, raise at b");
	says('b', KEPT);
	expect_end(ann, LEASH_OK);
}

SENTENCE(a_renewal_counts_when_two_of_three_have_answered)
{
	hold(ann);
	pass(10000);
	expect_sent("renew 1 at a, renew 1 at b, renew 1 at c");
	says('a', KEPT);
	expect_left(ann, 19698);
	says('b', KEPT);
	expect_left(ann, 29698);
}

SENTENCE(a_vote_that_is_gone_is_a_jeopardy_and_decides_nothing)
{
	hold(ann);
	pass(10000);
	says('c', GONE);
	expect_left(ann, 19698);
	expect_told("ann JEOPARDY");
}

SENTENCE(what_two_servers_do_not_have_any_more_is_lost)
{
	hold(ann);
	pass(10000);
	says('a', GONE);
	says('b', GONE);
	expect_left(ann, 0);
	expect_told("ann JEOPARDY, ann LOST");
}

SENTENCE(a_release_is_one_when_two_have_answered)
{
	hold(ann);
	release(ann);
	expect_sent("release 1 at a with source, release 1 at b with source, release 1 at c with source");
	says('a', RELEASED);
	expect_waiting(ann);
	says('c', RELEASED);
	expect_end(ann, LEASH_OK);
}

/* It is on the list of a host whose lock moves to another one. */
static void
move_while_due(struct lsh_vote *v, struct lsh_host *from)
{
	struct lsh_host *to = v->host;

	lsh_host_keep(&v->host, from);
	lsh_vote_due(v);
	lsh_host_keep(&v->host, to);
}

/* A host's thread that stopped at a vote which has moved was kicked by nobody, and the renewals behind it waited. */
SENTENCE(a_renewal_behind_votes_that_have_moved_goes_out_while_all_sayings_are_lent)
{
	struct lsh_resource *r = world_resource();
	struct lsh_host *a = lsh_host_at(r->backend, 0);
	struct lsh_saying *lent[LSH_SAYINGS];

	hold(ann);
	for (size_t i = 0; i < LSH_SAYINGS; i++)
		lent[i] = lsh_saying_borrow(a);
	assert_int_equal(a->unlent, 0);
	lsh_monitor_enter(&r->monitor);
	lsh_each_lease(lease, r) {
		move_while_due(&lease->votes[1], a);
		move_while_due(&lease->votes[2], a);
		lsh_vote_due(&lease->votes[0]);
	}
	lsh_monitor_leave(&r->monitor);
	expect_sent("renew 1 at a, renew 1 at b, renew 1 at c");
	for (size_t i = 0; i < LSH_SAYINGS; i++)
		lsh_saying_give_back(lent[i]);
}
