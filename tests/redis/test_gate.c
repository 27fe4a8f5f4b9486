/* The steps of latches and barriers: what lib/lua/README.md promises of them, one interleaving at a time. What the
 * queue does for all kinds is in test_share.c. */
#include "tests/redis/steps.h"

/* ---- latches ---- */

SCENE(a_latch_opens_when_enough_have_arrived,
      "listen B; share B1_>2 = 0 -1 now; arrive A1 = 1; beat B1_>2 = queued; arrive A2 = 2; message B = g B1 * LOCK *;"
      "EXISTS QUEUE = 0; PTTL LOCK = ~86400000; DBSIZE = 1; part B1_>2 = 0; in = A1 + A2 +")
SCENE(it_stays_open_for_whoever_comes,
      "arrive A1 = 1; each n 1 2; share B$n_>1 = now; probe B$n_>1 = now; next; DBSIZE = 1")
SCENE(who_arrives_twice_has_arrived_once, "repeat 3; arrive A1 = 1; next; arrive A2 = 2; ZCARD LOCK = 2")
SCENE(an_arrival_that_is_over_does_not_count, "arrive A1 = 1; ZADD LOCK 1 A1_+; arrive A2 = 1; in = A2 +;"
      "ZCARD LOCK = 1; arrive A1 = 2; ZADD LOCK 1 A1_+; share B1_>2 = no; arrive A1 = 2; part A1_+ = 1;"
      "arrive A3 60000 = 2")
SCENE(each_wait_is_judged_by_its_own_number,
      "arrive A1; listen B; share B1_>3 = no; share C1_>1 = now; share C2_>2 = no; waiting = B1 * C2 *; arrive A2 = 2;"
      "waiting = B1 * C2 *; beat C2_>2 = * * now; part C2_>2 = 2; waiting = B1 *")
SCENE(who_asks_of_a_latch_is_told_when_the_first_arrival_ends, "arrive A1 60000; share B1_>2 = 0 ~60000 now")
SCENE(who_gave_up_is_not_waited_for, "share B1_>1 = no; part B1_>1 = 2; arrive A1 = 1; DBSIZE = 1")
SCENE(all_who_wait_at_a_latch_are_let_in_and_no_more_than_a_thousand_at_once,
      "listen B; let x now; fill 1200 $x 'B%_>1 60000'; mess but TTLs; arrive A1 = 1; ZCOUNT QUEUE (0 +inf = 200;"
      "beat B999_>1 = * * now; EXISTS QUEUE = 0")

/* ---- barriers ---- */

SCENE(a_barrier_lets_all_in_when_the_last_one_comes, "listen A; listen B; share A1_=3 = 0 -1 now; share B1_=3 = no;"
      "waiting = A1 =3 B1 =3; share C1_=3 = now; message A = g A1 * LOCK =3; message B = g B1 * LOCK =3;"
      "in = A1 =3 B1 =3 C1 =3; DBSIZE = 1; PTTL LOCK = ~86400000; each n A1 B1 C1; part $n_=3 = 1; next; DBSIZE = 0")
SCENE(who_comes_next_begins_the_next_round, "listen A; listen B; share A1_=2; share B1_=2 = now; share A2_=2 = no;"
      "part B1_=2 = 1; part A1_=2 = 1; beat A2_=2 = queued; share B2_=2 = now; in = A2 =2 B2 =2; EXISTS QUEUE = 0")
SCENE(who_missed_the_message_finds_it_by_its_word_and_by_asking_again, "listen A; listen B; share A1_=3; share B1_=3;"
      "share C1_=3 = now; beat A1_=3 = * * now; share B1_=3 = now; share C1_=3 = now; ZCARD LOCK = 3")
SCENE(a_party_that_asks_again_is_there_once, "listen A; repeat 3; share A1_=2 = no; next; waiting = A1 =2;"
      "share B1_=2 = now")
SCENE(a_party_that_left_is_not_counted_on,
      "listen A; listen B; share A1_=2; part A1_=2 = 2; DBSIZE = 0; share B1_=2 = no; share A2_=2 = now")
SCENE(a_party_that_died_is_not_counted_on, "listen B; listen C; share A1_=2 = no; share B1_=2 = 0 0 now;"
      "waiting = B1 =2; beat A1_=2 = * * -1; share C1_=2 = now; message B = g B1 * LOCK =2; in = B1 =2 C1 =2")
SCENE(nor_is_one_of_which_nobody_has_heard_for_long, "listen A; listen B; share A1_=2; bury A; share B1_=2 = 0 0 now;"
      "waiting = B1 =2; messages_of A = 0; share A2_=2 = now")
SCENE(where_nobody_can_know_who_listens_it_is_by_its_words_that_one_lives,
      "cfg 60000 3600000 200000 0 PUBLISH leash:wake:; share A1_=2 = no; share B1_=2 = now; in = A1 =2 B1 =2")
SCENE(who_only_tries_is_let_in_if_it_is_the_last_one,
      "listen A; probe A1_=2 = no; DBSIZE = 0; share A1_=3; probe B1_=3 = no; waiting = A1 =3; listen B; share B2_=3;"
      "probe C1_=3 = now; in = A1 =3 B2 =3 C1 =3; DBSIZE = 1; message A = g A1 * LOCK =3")
SCENE(who_waits_and_asks_again_without_a_place_is_still_one_party, /* as who has lost its connection for messages */
      "listen A; listen B; share A1_=2 = no; probe A1_=2 = no; waiting = A1 =2;"
      "share B2_=2 = now; in = A1 =2 B2 =2; share A2_=3; share B3_=3; probe A2_=3 = no; probe B3_=3 = no;"
      "waiting = A2 =3 B3 =3; probe C1_=3 = now; in = A1 =2 B2 =2 A2 =3 B3 =3 C1 =3")
SCENE(who_tries_counts_on_nobody_who_died, "share A1_=2; probe B1_=2 = no; DBSIZE = 0; probe B1_=2 = no")
SCENE(with_the_last_place_the_queue_goes_also_where_it_was_of_one_who_died,
      "repeat 2; share A1_=2 = no; next; ZCARD QUEUE = 2; probe B1_=2 = no; EXISTS QUEUE = 0; share B1_>2 = no")
SCENE(a_barrier_of_one_is_always_open, "share A1_=1 = now; part A1_=1 = 1; probe A2_=1 = now; in = A2 =1")
SCENE(the_first_who_waits_says_how_many_they_are,
      "listen A; listen B; listen C; share A1_=9; share B1_=2 = no; share C1_=2 = no; share C2_=2 = no;"
      "part A1_=9 = 2; in = B1 =2 C1 =2; waiting = C2 =2; share B2_=3 = now; in = B1 =2 C1 =2 B2 =3 C2 =2")
SCENE(a_thousand_are_let_in_by_one_step, "listen B; let x now; fill 999 $x 'B%_=1000 60000'; mess but TTLs;"
      "share A1_=1000 = now; ZCARD LOCK = 1000; EXISTS QUEUE = 0")
SCENE(no_limit_is_for_a_gate, "arrive A1 = 1; limit 1 = !WRONGTYPE; limit 0 0 = !WRONGTYPE; DBSIZE = 1;"
      "each x >2 =2; FLUSHALL; share A1_$x = no; limit 1 = !WRONGTYPE; DBSIZE = 1")
SCENE(who_asks_for_a_lock_where_others_wait_at_a_gate_is_refused, "each x >2 =2; FLUSHALL; share A1_$x = no;"
      "ask B1 = !WRONGTYPE; try B1 = !WRONGTYPE; release B1 = 0; waiting = A1 *; DBSIZE = 1")
SCENE(who_is_heard_of_and_has_no_place_is_in_nobodys_way, "mess; each x w 1/8 1/0; FLUSHALL;"
      "ZADD QUEUE -5 aaaaaaaa-0000-4000-8000-00000000000b; share A1_$x = fence; next; FLUSHALL;"
      "ZADD QUEUE -5 aaaaaaaa-0000-4000-8000-00000000000b; share A1_=1 = now; FLUSHALL; ZADD QUEUE 5 B2_60000;"
      "share C1_1/8 = !WRONGTYPE")
SCENE(a_name_is_used_as_one_thing, /* by who is in */
      "each x w 1/8 1/0 2/8 =2; arrive A1 = 1; share B1_$x = !WRONGTYPE; probe B1_$x = !WRONGTYPE; DBSIZE = 1;"
      "FLUSHALL; next; each x >2 =2; share A1_1/8 = fence; share B1_$x = !WRONGTYPE; arrive B2 = !WRONGTYPE;"
      "part A1_1/8; listen A; share A2_=2; share C1_=2 = now; share B1_1/8 = !WRONGTYPE; arrive B2 = !WRONGTYPE;"
      "share B1_>2 = !WRONGTYPE; FLUSHALL; next; ask A1 = fence; each x >2 =2; share B1_$x = !WRONGTYPE; next;"
      "arrive B1 = !WRONGTYPE")
SCENE(or_by_who_waits, "each x w 1/8 2/8 >2; share A1_=2 = no; share B1_$x = !WRONGTYPE; probe B1_$x = !WRONGTYPE;"
      "arrive B1 = !WRONGTYPE; waiting = A1 =2; next; DEL QUEUE; share A1_>2 = no; share B1_=2 = !WRONGTYPE;"
      "share B1_w = !WRONGTYPE; DBSIZE = 1")
SCENE(what_is_no_gate_is_refused, "each x =0 =01 =1001 =x >0 >1000001 >1.5 > = +; share A1_$x = !ERR; next;"
      "arrive rubbish = !ERR; each x 0 -1 86400001 nan; arrive A1 $x = !ERR; next; DBSIZE = 0; share A1_1/2;"
      "each x =1 >1 +; trade A1_1/2 A2_$x = !ERR")
SCENE(a_full_server_takes_no_arrival_but_keeps_and_lets_in, "listen A; arrive A1 = 1; share A2_>2 = no;"
      "CONFIG SET maxmemory 1; arrive B1 = !OOM; share B1_>2 = !OOM; arrive A1 = 1; CONFIG SET maxmemory 0; FLUSHALL;"
      "share A1_=2; CONFIG SET maxmemory 1; share B1_=2 = !OOM; probe B1_=2 = !OOM; waiting = A1 =2")
SCENE(a_replica_takes_no_arrival, "arrive A1; REPLICAOF 127.0.0.1 1; each x A1 A2; arrive $x = !READONLY")
SCENE(who_looks_at_a_gate_sees_who_has_arrived_and_that_somebody_waits, "share B1_>2; inspect = now 0 1 0 -1 B1 * 0;"
      "arrive A1; inspect = now 1 1 0 -1 A1 + ~86400000; FLUSHALL; listen A; share A1_=2;"
      "inspect = now 0 1 0 -1 A1 =2 0; inspect 0 = now 0 1 0 -1; share B1_=2; inspect = now 0 0 0 -1; share C1_=3;"
      "inspect = now 0 1 0 -1 C1 =3 0")

/* Whatever may not be said: all of a round are in and told, or none is, and all wait on. */
SENTENCE(a_round_is_whole_whatever_command_is_missing)
{
	for (size_t i = 0; i < COMMANDS * COMMANDS; i++) {
		const char *one = commands[i / COMMANDS], *other = commands[i % COMMANDS];

		play("mess but TTLs; FLUSHALL; listen A; listen B; share A1_=3; share B1_=3; by -%s -%s; share C1_=3 = ?;"
		     "by all", one, other);
		bool opened = strstr(holders(), token_of("A1")) != NULL;
		if (opened && strcmp(one, "publish") != 0 && strcmp(other, "publish") != 0)
			play("message A = g A1 * LOCK =3; message B = g B1 * LOCK =3");
		play(opened ? "ZCARD LOCK = 3; EXISTS QUEUE = 0" : "beat A1_=3 = queued; beat B1_=3 = queued");
		clean_up();
	}
}
