/* What a client counts of its locks. Whatever happens, each that was acquired was released, lost or abandoned, or is
 * held. */
#include "core/core.h"
#include "tests/core/world.h"
#include "tests/support/test.h"

FIXTURE(world_begin, world_end);

/* "acquired 2, holding 1": without those that are 0. */
static const char *
counts(void)
{
	static char text[300];
	leash_stats s = {0};
	size_t n = 0;

	lsh_engine_count(lsh_engine_of(lsh_lock_of(world_resource())), &s);
	assert_int_equal(s.acquired, s.released + s.lost + s.abandoned + s.holding);
	const struct {
		const char *name;
		uint64_t count;
	} all[] = {
		{"acquired", s.acquired}, {"handed on", s.handed_on}, {"waited", s.waited}, {"released", s.released},
		{"lost", s.lost}, {"abandoned", s.abandoned}, {"renewed", s.renewed}, {"not renewed", s.renewals_failed},
		{"gave up", s.gave_up}, {"holding", s.holding}, {"waiting", s.waiting},
	};

	text[0] = '\0';
	for (size_t i = 0; i < COUNT(all); i++)
		if (all[i].count != 0)
			n += (size_t)snprintf(text + n, sizeof text - n, "%s%s %llu", n > 0 ? ", " : "", all[i].name,
			                      (unsigned long long)all[i].count);
	return text;
}

#define expect_counts(text) expect_text((text), counts(), "what is counted", __FILE__, __LINE__)

static void
hold(struct person *person)
{
	acquire(person, 10000);
	answer(HELD);
	expect_end(person, LEASH_OK);
}

static void
let_go(struct person *person)
{
	release(person);
	answer(RELEASED);
	expect_end(person, LEASH_OK);
}

SENTENCE(acquires_and_releases_are_counted_but_not_those_that_nest)
{
	expect_counts("");
	hold(ann);
	acquire(ann, 0);
	expect_counts("acquired 1, holding 1");
	release(ann);
	expect_counts("acquired 1, holding 1");
	let_go(ann);
	expect_counts("acquired 1, released 1");
	release(ann);
	expect_end(ann, LEASH_NOT_HELD);
	hold(bob);
	let_go(bob);
	expect_counts("acquired 2, released 2");
}

SENTENCE(from_thread_to_thread_and_after_waiting_in_the_server_are_told_apart)
{
	acquire(ann, 10000);
	expect_counts("waiting 1");
	answer(QUEUED);
	message_granted(1);
	expect_counts("acquired 1, waited 1, holding 1");
	acquire(bob, 10000);
	expect_counts("acquired 1, waited 1, holding 1, waiting 1");
	release(ann);
	expect_counts("acquired 2, handed on 1, waited 1, released 1, holding 1");
	let_go(bob);
	expect_counts("acquired 2, handed on 1, waited 1, released 2");
}

SENTENCE(who_gives_up_is_counted_whatever_the_reason)
{
	ann->terms.no_renew = true;
	acquire(ann, 0);
	answer(TAKEN);
	expect_end(ann, LEASH_TIMEOUT);
	acquire(ann, 200);
	answer(QUEUED);
	pass(200);
	expect_end(ann, LEASH_TIMEOUT);
	answer(LEFT);
	acquire(ann, 1000);
	cancel(ann);
	expect_end(ann, LEASH_CANCELED);
	expect_counts("gave up 3");
	answer(QUEUED);
	answer(LEFT);
	atomic_store(&ann->cancel.fired, false);
	hold(ann);
	pass(30000);
	expect_counts("acquired 1, lost 1, gave up 3");
	acquire(ann, 0);
	expect_end(ann, LEASH_LOST);
	release(ann);
	expect_end(ann, LEASH_LOST);
	expect_counts("acquired 1, lost 1, gave up 4");
}

SENTENCE(renewals_are_counted_as_the_server_answers_them_and_losses_as_well)
{
	hold(ann);
	for (int i = 0; i < 2; i++) {
		pass(10000);
		answer(KEPT);
	}
	expect_counts("acquired 1, renewed 2, holding 1");
	pass(10000);
	answer(GONE);
	expect_counts("acquired 1, lost 1, renewed 2, not renewed 1");
}

SENTENCE(what_is_abandoned_is_not_released)
{
	hold(ann);
	abandon(ann);
	expect_counts("acquired 1, abandoned 1");
}

SENTENCE(what_was_adopted_counts_as_acquired)
{
	adopt(ann);
	answer(HELD);
	expect_counts("acquired 1, holding 1");
	let_go(ann);
	expect_counts("acquired 1, released 1");
}

/* Given up by its owner, whatever the server said to it. */
SENTENCE(what_the_server_does_not_have_any_more_when_it_is_released_counts_as_released)
{
	hold(ann);
	release(ann);
	answer(GONE);
	expect_end(ann, LEASH_LOST);
	expect_counts("acquired 1, released 1");
}

static void
begin_quorum(void)
{
	world_uri = "redis+quorum://a,b,c";
	world_begin();
	world_uri = "redis://world";
}

SENTENCE(nobody_waits_in_a_quorums_queue, BETWEEN(begin_quorum, world_end))
{
	acquire(ann, 10000);
	for (char server = 'a'; server <= 'c'; server++) {
		on(server);
		answer(TAKEN);
	}
	answer(GONE); /* its vote was not needed any more, and is canceled */
	world_sent();
	expect_counts("waiting 1");
	while (world_sent()[0] == '\0')
		pass(100);
	for (char server = 'a'; server <= 'c'; server++) {
		on(server);
		answer(HELD);
	}
	expect_counts("acquired 1, holding 1");
}
