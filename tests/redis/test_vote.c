/* What a quorum says to one of its servers: an ask for a vote, which wants a fence; a heartbeat, to go on with a vote;
 * and that there is a larger fence. */
#include "tests/redis/steps.h"

SCENE(a_free_lock_gets_the_vote_and_the_fence_that_was_proposed,
      "let x now-1000000; vote A1 $x = $x; holder = A1; GET FENCE = $x; PTTL LOCK = ~600000; PTTL FENCE = ~3600000;"
      "EXISTS QUEUE = 0")
SCENE(a_second_owner_is_refused, "vote A1 now; vote B1 now = 0 ~600000 now; holder = A1")
SCENE(asked_again_it_answers_the_same_and_prolongs, /* and never shortens */
      "let x now; vote A1 $x; PEXPIRE LOCK 60000; vote A1 $x+5 = $x; PTTL LOCK = ~600000; vote A1 7 1000 = $x;"
      "PTTL LOCK = ~600000; DEL FENCE; vote A1 $x+5 = $x+5")
SCENE(too_late_it_does_nothing, "vote A1 now 600000 now-1 = -1 * >0; EXISTS LOCK = 0; EXISTS FENCE = 0")
SCENE(fences_grow_whatever_is_proposed,
      "let x now+1000000; vote A1 $x = $x; release A1; vote B1 1 = $x+1; release B1; vote A2 $x+1 = $x+2; release A2;"
      "vote B2 $x+100 = $x+100")
SCENE(no_fence_is_more_than_an_hour_ahead,
      "let x now+3600000000; vote A1 4503599627370496 = fence; let y now+3600000000; GET FENCE = $x..$y")
/* A fence whose key has ended was smaller: nobody whose clock is behind by more than its TTL gets one below it. */
SCENE(no_fence_is_further_behind_than_the_last_one_is_kept,
      "let x now-3599999999; vote A1 now-7200000000 = fence; let y now-3599999999; GET FENCE = $x..$y")
SCENE(what_is_no_fence_is_replaced,
      "let x now; SET FENCE nonsense PX 60000; vote A1 $x = $x; release A1; SET FENCE 9007199254740991 PX 60000; vote A2 $x = $x;"
      "release A2; SET FENCE now+31536060000000 PX 60000; vote B1 $x = $x; SET FENCE 9007199254740990 PX 60000; vote B1 $x = $x;"
      "SET FENCE 9007199254740990 PX 60000; keep B1 1000 $x = * * $x; SET FENCE 9007199254740990 PX 60000; raise $x = $x;"
      "GET FENCE = $x")

/* All of it in the units that they have. */
static bool
is_kept_until_the_clock_is_there(void)
{
	return ttl_of("leash:{orders}:fence") > (last_fence() - server_us()) / 1000 - 1000;
}

SENTENCE(a_fence_a_year_ahead_is_counted_on_from_and_stays_until_the_clock_is_there)
{
	play("let x now+31535940000000; raise $x = $x; GET FENCE = $x");
	assert_true(is_kept_until_the_clock_is_there());
	play("vote A1 now = $x+1");
	assert_true(is_kept_until_the_clock_is_there());
	play("raise now+31536060000000 = !ERR; GET FENCE = $x+1");
}

SCENE(a_lease_out_of_range_is_refused, "vote A1 1 0 = !ERR; vote A1 1 86400001 = !ERR; EXISTS LOCK = 0")
SCENE(a_vote_is_renewed_and_released_as_any_lock,
      "vote A1 now; PEXPIRE LOCK 60000; renew A1 600000 2 = 1; PTTL LOCK = ~600000; release B1 = 0; release A1 = 1;"
      "EXISTS LOCK = 0")
SCENE(a_larger_fence_is_heard_of_and_a_smaller_one_changes_nothing, /* asked again, its holder answers with it, too */
      "let x now; raise $x = $x; PTTL FENCE = ~3600000; raise $x-1 = $x; GET FENCE = $x; raise $x+1 = $x+1; vote A1 $x-5 = $x+2;"
      "raise $x+9 = $x+9; GET FENCE = $x+9; vote A1 1 = $x+9")

/* ---- going on with a vote ---- */

SCENE(a_vote_that_is_kept_answers_its_fence_and_lasts_no_shorter,
      "vote A1 now = fence; keep A1 1000 1 = now ~600000 f; PTTL LOCK = ~600000; PEXPIRE FENCE 60000;"
      "keep A1 1200000 1 = now 1200000 f; PTTL LOCK = ~1200000; GET FENCE = f; PTTL FENCE = ~3600000; holder = A1")
SCENE(what_another_has_or_nobody_is_not_kept,
      "keep A1 1000 1 = none; EXISTS LOCK = 0; EXISTS FENCE = 0; vote B1 now; keep A1 1200000 1 = none; holder = B1;"
      "PTTL LOCK = ~600000")
SCENE(a_vote_whose_fence_is_gone_gets_the_one_that_is_proposed,
      "let x now; vote A1 $x; DEL FENCE; keep A1 1000 $x+7 = * * $x+7; GET FENCE = $x+7; PTTL FENCE = ~3600000;"
      "keep A1 0 1 = !ERR")
