/* Releasing, leaving and canceling, step by step: every line that lib/lua/README.md promises of them, one interleaving
 * at a time. */
#include "tests/redis/steps.h"

/* ---- release ---- */

SCENE(a_released_lock_is_free, "ask A1; release A1 = 1; EXISTS LOCK = 0; EXISTS QUEUE = 0; PTTL FENCE = ~3600000")
SCENE(a_second_release_finds_nothing, "ask A1; release A1 = 1; release A1 = 0")
SCENE(a_release_of_nothing_creates_nothing, "release A1 = 0; DBSIZE = 0")
SCENE(only_the_holder_releases, "ask A1; release B1 = 0; release A2 = 0; holder = A1; PTTL LOCK = ~600000")
SCENE(a_release_gives_the_lock_to_the_first_in_the_queue_and_tells_it,
      "listen B; listen C; line A1 B1 C1; let x now; release A1 = 1; HGETALL LOCK = B1 1; PTTL LOCK = ~60000; waiting = C1;"
      "told B = B1; told C = 0; GET FENCE = $x..now; PTTL FENCE = ~3600000")
SCENE(the_last_place_takes_the_queue_with_it, "listen B; line A1 B1; release A1 = 1; holder = B1; EXISTS QUEUE = 0")

SCENE(a_queue_is_served_in_its_order,
      "listen A; listen B; listen C; line A1 C1 B2 A2 B1 C2; let x last; release A1 = 1;"
      "each t C1 B2 A2 B1 C2; holder = $t; GET FENCE = >$x; let x last; release $t = 1; next;"
      "EXISTS LOCK = 0; EXISTS QUEUE = 0")
SCENE(fences_of_grants_grow_when_the_clock_is_behind_the_last,
      "listen B; line A1 B1; let x now+3600000000; SET FENCE $x PX 20000; release A1 = 1; GET FENCE = $x+1;"
      "PTTL FENCE = ~7200000; told B = B1")
SCENE(a_grant_lasts_for_the_claim_of_its_own_place,
      "listen B; ask A1; cfg 86400000 3600000 200000 1 PUBLISH leash:wake:; ask B1 300 = no;"
      "cfg 60000 3600000 200000 1 PUBLISH leash:wake:; release A1 = 1; holder = B1; PTTL LOCK = ~86400000")
SCENE(a_client_that_does_not_listen_is_passed_over,
      "listen C; line A1 B1 C1; release A1 = 1; HGETALL LOCK = C1 1; PTTL LOCK = ~60000; EXISTS QUEUE = 0; told C = C1;"
      "word B1 = none")
SCENE(a_lock_that_nobody_listens_for_is_free, "line A1 B1 C1; release A1 = 1; EXISTS LOCK = 0; EXISTS QUEUE = 0")
SCENE(silence_is_no_refusal_where_counts_are_not_exact,
      "line A1 B1 C1; cfg 60000 3600000 200000 0 PUBLISH leash:wake:; release A1 = 1; holder = B1; PTTL LOCK = ~60000;"
      "waiting = C1")
SCENE(a_dead_client_is_passed_over,
      "listen B; listen C; line A1 B1 B2 C1; bury B; release A1 = 1; holder = C1; EXISTS QUEUE = 0; told B = 0; told C = C1")
SCENE(a_lock_whose_queue_is_dead_is_free,
      "listen B; line A1 B1; bury B; release A1 = 1; EXISTS LOCK = 0; EXISTS QUEUE = 0")

SCENE(what_is_no_place_is_passed_over,
      "mess but TTLs; listen B; listen C;"
      "each x rubbish B1 'B1 ' 'B1 0' 'B1 -1' 'B1 86400001' 'B1 60000 1' ''; ask A1; ask B2 = no; ZADD QUEUE 5 '$x';"
      "release A1 = 1; holder = B2; EXISTS QUEUE = 0; release B2 = 1")

SENTENCE(a_grant_goes_out_by_spublish_where_the_client_says_so)
{
	if (atoi(strstr(server_text(server, "INFO server"), "redis_version:") + strlen("redis_version:")) < 7)
		skip();
	play("listen B SSUBSCRIBE leash:{orders}:wake:; cfg 60000 3600000 200000 1 SPUBLISH -; line A1 B1; release A1 = 1;"
	     "holder = B1; told B = B1");
}

/* ---- leave and cancel ---- */

SCENE(who_leaves_has_no_place_any_more,
      "line A1 B1 B2 C1; release B1 = 2; waiting = B2 C1; holder = A1; release B1 = 0")
SCENE(who_leaves_last_removes_the_queue, "line A1 B1; release B1 = 2; EXISTS QUEUE = 0; holder = A1")
SCENE(who_leaves_hands_an_abandoned_lock_on,
      "listen C; line A1 B1 C1; DEL LOCK; release B1 = 2; holder = C1; PTTL LOCK = ~60000; told C = C1")
SCENE(the_cancel_of_a_granted_token_hands_the_lock_on,
      "listen B; listen C; line A1 B1 C1; release A1 = 1; holder = B1; release B1 = 1; holder = C1; told C = C1")
SCENE(the_cancel_of_an_unknown_token_hands_an_abandoned_lock_on,
      "listen B; line A1 B1; DEL LOCK; release A1 = 0; holder = B1; told B = B1")
SCENE(the_cancel_of_an_unknown_token_takes_nothing_from_a_holder,
      "line A1 B1; release C1 = 0; holder = A1; waiting = B1; PTTL LOCK = ~600000")
