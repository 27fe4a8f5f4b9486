/* What a client counts of its locks. Each that was acquired was released, lost or abandoned, or is held. */
#include "core/core.h"
#include "tests/core/scene.h"

FIXTURE(world_begin, world_end);

#define COUNTS(X) \
	X(acquired) X(handed_on) X(waited) X(released) X(lost) X(abandoned) X(renewed) X(renewals_failed) X(gave_up) \
	X(holding) X(waiting)

/* "acquired 2, holding 1": without those that are 0. */
static const char *
counts(void)
{
	static char text[300];
	leash_stats s = {0};
	size_t n = 0;

	lsh_engine_count(lsh_engine_of(lsh_lock_of(world_resource())), &s);
	assert_int_equal(s.acquired, s.released + s.lost + s.abandoned + s.holding);
	text[0] = '\0';
#define ADD(name) \
	if (s.name != 0) \
		n += (size_t)sprintf(text + n, "%s" #name " %llu", n > 0 ? ", " : "", (unsigned long long)s.name);
	COUNTS(ADD)
	return text;
}

DOES(counts, assert_string_equal(counts(), rest))

SCENE(acquires_and_releases_are_counted_but_not_those_that_nest, "counts; ann holds; ann nests;"
      "counts acquired 1, holding 1; ann releases; counts acquired 1, holding 1; ann lets_go; counts acquired 1, "
      "released 1; ann releases -> ann NOT_HELD; bob holds; bob lets_go; counts acquired 2, released 2")
SCENE(from_thread_to_thread_and_after_waiting_in_the_server_are_told_apart,
      "ann acquires 10000; counts waiting 1; QUEUED; message_granted 1; counts acquired 1, waited 1, holding 1;"
      "bob acquires 10000; counts acquired 1, waited 1, holding 1, waiting 1; ann releases; counts acquired 2, "
      "handed_on 1, waited 1, released 1, holding 1; bob lets_go; counts acquired 2, handed_on 1, waited 1, released 2")
SCENE(who_gives_up_is_counted_whatever_the_reason, "ann wants no_renew; ann tries; TAKEN -> ann TIMEOUT;"
      "ann acquires 200; QUEUED; pass 200 -> ann TIMEOUT; LEFT; ann acquires 1000; cancel ann -> ann CANCELED;"
      "counts gave_up 3; QUEUED; LEFT; uncancel ann; ann holds; pass 30000; counts acquired 1, lost 1, gave_up 3;"
      "ann tries -> ann LOST; ann releases -> ann LOST; counts acquired 1, lost 1, gave_up 4")
SCENE(renewals_are_counted_as_the_server_answers_them_and_losses_as_well,
      "ann holds; pass 10000; KEPT; pass 10000; KEPT; counts acquired 1, renewed 2, holding 1; pass 10000; GONE;"
      "counts acquired 1, lost 1, renewed 2, renewals_failed 1")
SCENE(what_is_abandoned_is_not_released, "ann holds; abandon ann; counts acquired 1, abandoned 1")
SCENE(what_was_adopted_counts_as_acquired,
      "ann adopts; HELD; counts acquired 1, holding 1; ann lets_go; counts acquired 1, released 1")
/* Given up by its owner, whatever the server said to it. */
SCENE(what_the_server_does_not_have_any_more_when_it_is_released_counts_as_released,
      "ann holds; ann releases; GONE -> ann LOST; counts acquired 1, released 1")

SCENE(nobody_waits_in_a_quorums_queue,
      "ann acquires 10000; abc TAKEN; GONE; counts waiting 1;" /* a vote was not needed any more, and is canceled */
      "pass 100; abc HELD; counts acquired 1, holding 1", BETWEEN(world_begin_quorum, world_end))
