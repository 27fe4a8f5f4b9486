/* What was adopted is a hold as any other: its terms are those of its handle, and it ends as any other does. How one is
 * adopted: test_single.c; of servers that differ: test_quorum.c. */
#include "tests/core/scene.h"

FIXTURE(world_begin, world_end);
PARTS(world_parts);

#define ADOPTED "ann adopts; serve -> ann OK; forget_sent;"
/* Whatever is left of its lease is given back. */
#define ENDS "pass 1500 -> ann left 0, asked release 1; ann releases -> ann LOST;"

SCENE(what_is_adopted_lasts_no_longer_than_max_hold_ms, "ann wants max_hold_ms 1500;" ADOPTED ENDS "-> told ann LOST")
SCENE(what_is_adopted_is_not_renewed_with_no_renew,
      "ann wants lease_ms 1500; ann wants no_renew;" ADOPTED ENDS "-> told ann LOST")
SCENE(what_is_adopted_is_not_renewed_for_who_is_not_alive,
      "ann wants lease_ms 1500; ann wants alive_ms 100;" ADOPTED ENDS "-> told ann JEOPARDY, told ann LOST")
/* The server keeps it as long as it was. */
SCENE(what_had_a_longer_lease_than_ours_counts_for_ours, "ann wants lease_ms 3000;" ADOPTED "-> ann left 3000 - 30 - 2")
SCENE(an_owner_adopts_once_and_whoever_acts_for_it_releases, ADOPTED "bob acts_for ann;"
      "bob adopts -> bob INVALID, bob why lock 'orders': this owner holds it already, ann depth 1;"
      "bob releases -> asked release 1; serve -> bob OK, ann left 0")
SCENE(who_has_lost_the_lock_adopts_nothing_before_that_is_unwound, "ann wants no_renew; ann holds; pass 30000;"
      "serve -> told ann LOST; ann adopts -> ann LOST; ann releases -> ann LOST; ann adopts; serve -> ann OK")
SCENE(the_end_of_its_owner_abandons_what_was_adopted, ADOPTED "abandon ann -> told ann ABANDONED, asked release 1")
SCENE(the_last_handle_that_is_freed_abandons_what_was_adopted,
      ADOPTED "free_handle -> told ann ABANDONED, asked release 1")

DOES(asked_first, assert_memory_equal(world_asked(), rest, strlen(rest)))
SCENE(a_close_releases_what_was_adopted, /* after one timeout, in which nothing is answered */
      ADOPTED "close_client -> ann left 0; asked_first release 1")
SCENE(nothing_is_adopted_so_soon_after_a_restart_as_the_guard_says, "ann wants restart_guard_ms 86400000;"
      "restart; ann adopts; serve; pass 10000 -> ann UNAVAILABLE, ann why restart_guard_ms")
