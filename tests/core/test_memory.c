/* What is held can be kept, given back and lost without memory. */
#include "tests/core/scene.h"
#include "tests/support/counted.h"

static void
end(void)
{
	counted_withhold(false);
	world_end();
}

FIXTURE(world_begin, end);
GROUP(counted_start, NULL);

/* From then on all that is asked for is counted, and refused. */
DOES(there_is_no_memory, counted_withhold(true))
DOES(none_was_wanted, assert_int_equal(counted.calls, 0))

SCENE(renewals_extensions_and_releases_allocate_nothing,
      "ann holds; ann nests; there_is_no_memory; pass 10000; KEPT; pass 10000; KEPT; ann extends 30000; KEPT -> ann OK;"
      "ann releases; ann releases; RELEASED -> ann OK; none_was_wanted")
SCENE(what_is_taken_away_is_lost_without_memory,
      "ann holds; there_is_no_memory; pass 10000; GONE -> told ann LOST; ann releases -> ann LOST; none_was_wanted")
SCENE(what_cannot_be_renewed_is_lost_without_memory, "ann holds;"
      "there_is_no_memory; pass 30000 -> told ann JEOPARDY, told ann LOST; ann releases -> ann LOST; none_was_wanted")
