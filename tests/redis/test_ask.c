/* Asking, step by step: every line that lib/lua/README.md promises of it, one interleaving at a time. */
#include "tests/redis/steps.h"

/* ---- the lock is free ---- */

SCENE(a_free_lock_is_held_by_whoever_asks,
      "ask A1 = fence; HGETALL LOCK = A1 1; PTTL LOCK = ~600000; GET FENCE = f; PTTL FENCE = ~3600000; EXISTS QUEUE = 0")

SENTENCE(a_fence_is_the_servers_time_in_microseconds)
{
	await_true(server_us() % 1000000 < 50000); /* TIME answers microseconds without their leading zeros */
	play("repeat 10; let x now; ask A1 = fence; GET FENCE = f; let y now; GET FENCE = $x..$y; release A1 = 1");
}

SCENE(fences_grow_when_the_clock_is_behind_the_last, /* and are kept until the clock is there, and as always from then on */
      "let x now+3600000000; SET FENCE $x; ask A1 = $x+1; GET FENCE = $x+1; PTTL FENCE = ~7200000; release A1 = 1; ask B1 = $x+2")

SCENE(a_fence_that_cannot_be_counted_on_from_is_replaced,
      "each x orders '' nan inf 1e300 9007199254740990 9007199254740992 -5; SET FENCE '$x'; ask A1 = now;"
      "SET FENCE '$x' PX 60000; ask A1 = now; release A1 = 1; next;"
      /* and one that is more than a year ahead of the clock, a minute more or less */
      "let x now+31535940000000; SET FENCE $x PX 60000; ask A1 = $x+1; release A1 = 1;"
      "let x now+31536060000000; SET FENCE $x PX 60000; ask A1 = now; release A1 = 1")

SCENE(fences_grow_after_the_last_was_deleted, "ask A1 = fence; release A1 = 1; DEL FENCE; ask B1 = >f")
SCENE(an_ask_that_comes_too_late_does_nothing_and_tells_the_time, "ask A1 600000 now-1 = late; DBSIZE = 0")
SCENE(a_late_ask_of_a_holder_is_refused_too, "ask A1 200000 = fence; ask A1 600000 1 = late; PTTL LOCK = ~200000")
SCENE(an_ask_in_time_is_not_refused, "ask A1 600000 now+3600000000 = fence")

SCENE(an_ask_takes_leases_of_a_millisecond_to_a_day_and_leaves_nothing_of_others,
      "each x 0 -1 86400001 1e300 0.5 1.5 nan inf orders ''; ask A1 '$x' = !ERR; EXISTS LOCK = 0; next;"
      "ask A1 1 = fence; PTTL LOCK = -2..1; await EXISTS LOCK = 0;"
      "ask A1 86400000 = fence; PTTL LOCK = ~86400000; PTTL FENCE = ~86400000") /* at least for the lease */
SCENE(a_lock_that_nobody_waits_for_costs_seven_calls,
      "mess; CONFIG RESETSTAT; ask A1 = fence; release A1 = 1; calls evalsha = 2; calls = 7")

SENTENCE(a_turn_of_a_lock_that_many_wait_for_costs_thirteen_calls)
{
	await_true(server_us() % (ALIVE * 500) < ALIVE * 490); /* all in one period */
	play("listen B; line A1 B1 C1; mess; CONFIG RESETSTAT; release A1 = 1; ask A2 = no; calls evalsha = 2; calls = 13;"
	     "told B = B1; waiting = C1 A2");
}

/* ---- again ---- */

SCENE(an_ask_again_of_a_holder_is_answered_with_the_same_fence,
      "ask A1 = fence; ask A1 = f; try A1 = f; GET FENCE = f; HGETALL LOCK = A1 1; EXISTS QUEUE = 0")
SCENE(an_ask_again_of_a_holder_is_good_for_the_whole_lease, "ask A1 20000; ask A1 12000000 = last; PTTL LOCK = ~12000000")
SCENE(an_ask_again_of_a_holder_shortens_nothing, "ask A1 12000000; ask A1 20000 = last; PTTL LOCK = ~12000000")
SCENE(an_ask_again_leaves_the_depth_alone, "ask A1; renew A1 600000 4 = 1; ask A1 = last; HGET LOCK A1 = 4")
SCENE(an_ask_again_gets_a_new_fence_where_the_old_one_is_gone, "ask A1 = fence; DEL FENCE; ask A1 = >f; PTTL FENCE = ~3600000")
SCENE(an_ask_again_after_a_grant_is_held_for_the_lease,
      "listen B; line A1 B1; release A1 = 1; PTTL LOCK = ~60000; ask B1 = last; PTTL LOCK = ~600000; EXISTS QUEUE = 0")

/* ---- somebody has it ---- */

SCENE(an_ask_for_a_held_lock_takes_a_place,
      "ask A1 400000; let x now; ask B1 = 0 1..400000 now; let y now; holder = A1; waiting = B1;"
      "ZSCORE QUEUE 'B1 60000' = $x..$y; until B = $x+200000000..$y+200000000; ZCARD QUEUE = 1; PTTL QUEUE = ~400000")
SCENE(a_second_place_of_a_client_adds_no_second_client,
      "line A1 B1 B2; waiting = B1 B2; ZCARD QUEUE = 2; word B1 = queued; word B2 = queued; ask B2 = no; ZCARD QUEUE = 3")
SCENE(asking_again_keeps_the_place_and_says_that_the_client_lives,
      "line A1 B1 C1; bury B; ask B1 = no; waiting = B1 C1; until B = >now+100000000; PTTL QUEUE = ~400000")
SCENE(places_come_in_the_order_of_their_asks_also_when_the_clock_went_back,
      "line A1 C1; ZADD QUEUE now+3600000000 'C1 60000'; ask B1 = no; ask B2 = no; waiting = C1 B1 B2")
SCENE(a_try_takes_no_place, "ask A1; try B1 = no; EXISTS QUEUE = 0; holder = A1")
SCENE(a_try_leaves_a_queue_as_it_is, "line A1 B1; try C1 = no; waiting = B1; ZCARD QUEUE = 1")
SCENE(a_lock_without_a_ttl_is_said_to_have_none,
      "mess; HSET LOCK somebody 1; ask B1 = 0 -1 now; word B1 = * -1 0; try C1 = 0 -1 now; PTTL LOCK = -1; holder = somebody;"
      "PTTL QUEUE = ~400000")
SCENE(a_client_with_a_shorter_alive_does_not_shorten_the_queue,
      "ask A1; cfg 60000 3600000 12000000 1 PUBLISH leash:wake:; ask B1 = no; PTTL QUEUE = ~24000000;"
      "cfg 60000 3600000 200000 1 PUBLISH leash:wake:; ask C1 = no; ask C1 = no; word C1 = queued; PTTL QUEUE = ~24000000;"
      /* nobody has come or said a word for a while */
      "PEXPIRE QUEUE 100000; age 200000; ask C1 = no; PTTL QUEUE = 100001..400000")

/* ---- the lock is free, and there is a queue ---- */

SCENE(an_ask_gives_an_abandoned_lock_to_the_first_in_the_queue,
      "listen B; line A1 B1; DEL LOCK; ask C1 = 0 1..60000 now; holder = B1; PTTL LOCK = ~60000; waiting = C1; told B = B1")
SCENE(a_try_gives_an_abandoned_lock_to_the_first_in_the_queue,
      "listen B; line A1 B1; DEL LOCK; try C1 = no; holder = B1; EXISTS QUEUE = 0; told B = B1")
SCENE(the_first_in_the_queue_takes_an_abandoned_lock_by_asking_again, /* and is not told what the answer says */
      "listen B; line A1 B1 C1; DEL LOCK; ask B1 = last; holder = B1; PTTL LOCK = ~600000; waiting = C1; told B = 0")
SCENE(a_newcomer_takes_an_abandoned_lock_whose_queue_is_dead,
      "line A1 B1; bury B; DEL LOCK; ask C1 = fence; holder = C1; PTTL LOCK = ~600000; EXISTS QUEUE = 0")
SCENE(a_try_takes_an_abandoned_lock_whose_queue_is_dead,
      "line A1 B1; bury B; DEL LOCK; try C1 = last; HGETALL LOCK = C1 1; PTTL LOCK = ~600000; EXISTS QUEUE = 0")
SCENE(a_try_takes_an_abandoned_lock_whose_queue_does_not_listen,
      "line A1 B1; DEL LOCK; try C1 = fence; holder = C1; EXISTS QUEUE = 0")

SCENE(a_queue_without_places_keeps_nobody_out,
      "mess but TTLs; let x now+10000000; ZADD QUEUE '-$x' B; PEXPIRE QUEUE 400000; try C1 = fence; holder = C1;"
      "EXISTS QUEUE = 0")

/* So many dead places: more than one step removes. */
VERB(dead)
{
	for (int i = 1; i <= number_of(word[1], 0); i++)
		play("ZADD QUEUE %d 'D%d 60000'", i, i);
	play("ZADD QUEUE -1 D; PEXPIRE QUEUE 400000");
	return NULL;
}

SCENE(a_thousand_dead_places_go_in_one_step_and_the_rest_in_the_next,
      "dead 1500; try A1 = 0 0 now; ZCOUNT QUEUE (0 +inf = 500; EXISTS LOCK = 0; try A1 = fence; EXISTS QUEUE = 0")
SCENE(nobody_passes_a_thousand_dead_places_by_and_keeps_a_place_of_its_own,
      "dead 1500; ask A1 = 0 0 now; EXISTS LOCK = 0; listen A; word A1 = held; holder = A1; EXISTS QUEUE = 0")
SCENE(a_word_among_thousands_of_dead_places_is_answered_queued_come_again,
      "dead 2500; listen A; ask A1 = no; word A1 = * 0 0; word A1 = * * >0")
