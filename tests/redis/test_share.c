/* The steps of what is shared: what lib/lua/README.md promises of them, one interleaving at a time. What the queue does
 * for every kind, and renewals as such, test_steps.c has. */
#include "tests/redis/steps.h"

SCENE(a_share_that_nobody_wants_is_had_by_whoever_asks, "each n w 1/0 1/8; let x now; share A1_$n = fence; in = A1 $n;"
      "PTTL LOCK = ~600000; PTTL FENCE = ~3600000; GET FENCE = f; ZSCORE LOCK A1_$n = $x+600000000..now+600000000;"
      "EXISTS QUEUE = 0; part A1_$n = 1; EXISTS LOCK = 0; next")
SCENE(those_who_share_are_in_together_with_one_fence, /* and a new one begins when nobody is in */
      "share A1_1/0 = fence; share B1_1/0 = f; share C1_1/0 20000 = f; in = C1 1/0 A1 1/0 B1 1/0; PTTL LOCK = ~600000;"
      "part A1_1/0 = 1; part B1_1/0 = 1; part C1_1/0 = 1; share A2_1/0 = >f")
SCENE(so_many_permits_are_out_and_no_more,
      "share A1_1/3 = fence; share B1_2/3 = f; share C1_1/3 = 0 1..600000 now; in = A1 1/3 B1 2/3 B1 2/3 2;"
      "waiting = C1 1/3; ZSCORE QUEUE 'C1_1/3 60000' = now-1000000..now; PTTL QUEUE = ~400000")
SCENE(a_hold_of_many_permits_is_one, /* in all that is done with it */
      "share A1_3/4 = fence; in = A1 3/4 A1 3/4 2 A1 3/4 3; share A1_3/4 1200000 = f; prolong A1_3/4 1800000 = 1;"
      "beat A1_3/4 2400000 = * ~1800000 f; PTTL LOCK = ~2400000; part A1_3/4 = 1; EXISTS LOCK = 0")
SCENE(a_need_is_one,
      "each n 0/2 3/2 1001/2000 x -1/2 '' w/1 1/2/3x; share 'A1_$n' = !ERR; next; share rubbish = !ERR; DBSIZE = 0")
SCENE(an_ask_takes_leases_of_a_millisecond_to_a_day_and_comes_in_time, "each n w 1/2 2/2;"
      "each x 0 -1 86400001 1.5 nan orders; share A1_$n $x = !ERR; EXISTS LOCK = 0; next;"
      "share A1_$n 600000 now-1 = late; EXISTS LOCK = 0; share A1_$n 86400000 = fence; PTTL FENCE = ~86400000;"
      "DEL LOCK; next")
SCENE(a_pair_costs_seven_calls_and_beside_others_eleven, "mess; CONFIG RESETSTAT; share A1_w; part A1_w = 1; calls = 7;"
      "share A1_1/8 1000; CONFIG RESETSTAT; share B1_1/8; part B1_1/8 = 1; calls evalsha = 2; calls = 11")
SCENE(asked_again_it_answers_the_same_and_shortens_nothing,
      "each n w 1/2 2/2; share A1_$n 20000 = fence; share A1_$n = f; PTTL LOCK = ~600000; probe A1_$n 1000 = f;"
      "PTTL LOCK = ~600000; inspect = now * 0 f -1 A1 $n ~600000; part A1_$n = 1; next")
SCENE(asked_again_it_gets_a_new_fence_where_the_old_one_is_gone, "share A1_1/2 = fence; DEL FENCE; share A1_1/2 = >f;"
      "DEL FENCE; share B1_1/2 = >f; PTTL FENCE = ~3600000; SET FENCE rubbish; share C1_1/3 = now")
SCENE(who_comes_in_keeps_the_fence_of_the_others, /* when half of its time is over, or it would end before the lease */
      "share A1_1/0 = fence; PEXPIRE FENCE 1900000; share B1_1/0 = f; PTTL FENCE = ~1900000; PEXPIRE FENCE 1700000;"
      "share B2_1/0 = f; PTTL FENCE = ~3600000; share C1_2/0 7200000 = f; PTTL FENCE = ~7200000")
SCENE(whose_lease_ended_is_out, /* and goes when somebody comes in */
      "crowd A1_1/2 B1_1/2; ZADD LOCK 1 A1_1/2 = 0; inspect = now 1 0 last -1 B1 1/2 ~600000;"
      "prolong A1_1/2 600000 = 0; ZCARD LOCK = 2; share C1_1/2 = last; in = B1 1/2 C1 1/2; ZCARD LOCK = 2;"
      "share A1_1/2 = no")
SCENE(the_answer_tells_when_the_next_lease_ends,
      "share A1_1/2 400000; share B1_1/2 20000; share C1_1/2 = 0 ~20000 now; beat C1_1/2 = * ~20000 0")

/* ==== the queue ==== */

SCENE(a_release_lets_in_all_for_whom_there_is_room,
      "listen B; listen C; crowd A1_w B1_1/0 C1_1/0 A2_w B2_1/0; let x now; part A1_w = 1; in = B1 1/0 C1 1/0;"
      "told B = B1; told C = C1; GET FENCE = $x..now; PTTL LOCK = ~60000; waiting = A2 w B2 1/0")
SCENE(a_release_that_names_the_lock_alone_lets_go_of_all_of_it_and_lets_in_nobody, /* in a slot that moves */
      "listen B; crowd A1_2/2 B1_1/2; drop B1_1/2 = 0; drop A1_2/2 = 1; EXISTS LOCK = 0; waiting = B1 1/2;"
      "drop A1_2/2 = 0; beat B1_1/2 = held; drop B1_1/2 = 1")
SCENE(who_asks_lives_also_behind_a_place_of_its_own_that_nobody_hears, "crowd C1_w A1_1/2 B1_1/2; part C1_w = 1;"
      "crowd C1_w A1_1/2; ZADD LOCK 1 C1_w; share A2_1/2 = last; in = A2 1/2; EXISTS QUEUE = 0")
SCENE(who_is_dead_is_passed_over_also_where_there_is_no_room, /* and so is what is no place */
      "listen A; crowd A1_1/2 B1_w C1_w A2_1/2; ZADD QUEUE 1 'rubbish' 2 'B2 60000' 3 'C1_5/4 60000'; bury B; bury C;"
      "beat A2_1/2 = held; in = A1 1/2 A2 1/2; EXISTS QUEUE = 0")
SCENE(who_stops_the_others_is_called_if_it_was_silent_for_a_claim, "crowd A1_1/0 B1_w; share A2_1/0 = no; listen A;"
      "age 60001; beat A2_1/0 = held; EXISTS QUEUE = 0; listen B; share B2_w = no; age 60001; share A3_1/0 = no;"
      "waiting = B2 w A3 1/0; message B = p; cfg 60000 3600000 200000 0 PUBLISH leash:nobody:; beat A3_1/0 = queued")
SCENE(a_thousand_come_in_in_one_step_and_the_next_goes_on, "listen B; listen C; share A1_w; let x now; mess but TTLs;"
      "fill 2200 $x 'B%_1/0 60000'; part A1_w = 1; ZCARD LOCK = 1000; beat B999_1/0 = * 0 0; ZCARD LOCK = 2000;"
      "ZCARD QUEUE = 201; share C1_1/0 = last; ZCARD LOCK = 2201; EXISTS QUEUE = 0")

/* ==== trades ==== */

SCENE(who_reads_alone_writes_by_a_new_name_with_a_new_fence,
      "share A1_1/0 = fence; trade A1_1/0 A2_w = >f; in = A2 w; ZCARD LOCK = 1; part A1_1/0 = 0; part A2_w = 1")
SCENE(who_does_not_read_alone_reads_on, "crowd A1_1/0 B1_1/0; trade A1_1/0 A2_w = no; in = A1 1/0 B1 1/0")
SCENE(an_upgrade_goes_before_all_who_wait,
      "listen B; crowd A1_1/0 B1_w; trade A1_1/0 A2_w = last; in = A2 w; waiting = B1 w; part A2_w = 1; told B = B1")
SCENE(who_wrote_reads_with_a_new_fence_and_lets_in_who_reads, "listen B; listen C; share A1_w = fence;"
      "crowd B1_1/0 C1_w; trade A1_w A2_1/0 = >f; in = B1 1/0 A2 1/0; told B = B1; waiting = C1 w; GET FENCE = last")
SCENE(fewer_permits_are_had_at_once_and_let_in_others,
      "listen B; share A1_3/3; crowd B1_2/3; trade A1_3/3 A2_1/3 = last; in = B1 2/3 B1 2/3 2 A2 1/3; told B = B1")
SCENE(more_permits_are_had_if_there_is_room_and_nobody_waits,
      "share A1_1/4; share B1_1/4; trade A1_1/4 A2_4/4 = no; trade A1_1/4 A2_3/4 = last; ZCARD LOCK = 4;"
      "part B1_1/4; crowd B1_4/4; trade A2_3/4 A3_4/4 = no; in = A2 3/4 A2 3/4 2 A2 3/4 3")
SCENE(where_it_is_closed_who_wrote_may_read_but_who_reads_may_not_write,
      "share A1_w; limit 0; trade A1_w A2_1/0 = last; trade A2_1/0 A3_w = no; in = A2 1/0")
SCENE(a_trade_is_done_once, /* and says the same when it is asked again; a late copy finds nothing */
      "share A1_1/0; trade A1_1/0 A2_w = fence; trade A1_1/0 A2_w = f; ZCARD LOCK = 1; part A2_w = 1;"
      "trade A1_1/0 A2_w = -1; EXISTS LOCK = 0")
SCENE(what_is_not_held_is_not_traded, "trade A1_1/0 A2_w = -1; share A1_1/0; ZADD LOCK 1 A1_1/0 = 0;"
      "trade A1_1/0 A2_w = -1; share B1_1/0; trade A1_1/0 A2_1/0 = -1; in = B1 1/0")
SCENE(a_trade_has_a_lease_of_its_own_and_comes_in_time, "share A1_1/0 20000; each x 0 -1 86400001 nan;"
      "trade A1_1/0 A2_w $x = !ERR; next; trade A1_1/0 A2_w 1000 1 = late; in = A1 1/0;"
      "trade A1_1/0 A2_w 900000 = last; inspect = now 1 0 last -1 A2 w ~900000; PTTL LOCK = ~900000;"
      "trade A2_w A3_x = !ERR; trade rubbish A3_w = !ERR; in = A2 w")
SCENE(a_trade_is_refused_by_a_full_server_and_by_a_replica_and_changes_nothing,
      "share A1_1/0; CONFIG SET maxmemory 1; trade A1_1/0 A2_w = !OOM; CONFIG SET maxmemory 0; in = A1 1/0;"
      "REPLICAOF 127.0.0.1 1; trade A1_1/0 A2_w = !READONLY")

/* ==== a limit ==== */

SCENE(a_limit_stands_in_place_of_every_number_and_lets_in_when_it_ends, "listen B; listen C; limit 1 = 1;"
      "PTTL MOST = ~600000; share A1_1/2 = fence; share B1_1/0 = no; share C1_1/2 = no;"
      "inspect = now 1 2 f 1 A1 1/2 ~600000; limit 2 = 1; in = B1 1/0 A1 1/2; limit 2 0 = 1; EXISTS MOST = 0;"
      "waiting = C1 1/2")
SCENE(a_limit_of_0_closes_and_who_is_in_stays, /* and that no lease ends is said */
      "share A1_1/2; limit 0; share B1_1/2 = no; prolong A1_1/2 600000 = 1; part A1_1/2 = 1; beat B1_1/2 = * -1 0;"
      "share C1_w = 0 -1 now; EXISTS LOCK = 0; listen B; listen C; limit 0 0 = 1; in = B1 1/2; waiting = C1 w")
SCENE(a_limit_that_comes_too_late_changes_nothing, "limit 2; limit 1 600000 1 = now; limit 2 0 1 = now; GET MOST = 2")
SCENE(a_limit_is_a_number_for_a_day_at_most_and_what_is_none_limits_nobody, "each x -1 1000001 nan x '';"
      "limit '$x' = !ERR; next; each x -1 86400001 nan ''; limit 1 '$x' = !ERR; next; DBSIZE = 0;"
      "each x rubbish -1 nan 1e300; SET MOST '$x' PX 60000; share A1_1/2 = fence;"
      "inspect = now 1 0 f -1 A1 1/2 ~600000; part A1_1/2 = 1; next")

/* ==== conditions ==== */

SCENE(who_waits_for_a_condition_comes_in_by_a_signal_and_by_nothing_else,
      "listen A; listen B; share A1_? = 0 -1 now; crowd B1_?; waiting = A1 ? B1 ?; beat A1_? = queued; limit 8 = 1;"
      "probe C1_? = no; signal 1 = 1; in = A1 ?; told A = A1; PTTL LOCK = ~60000; beat B1_? = queued;"
      "part A1_? = 1; waiting = B1 ?; signal 1000 = 1; told B = B1; EXISTS QUEUE = 0; signal 1 = 0")
SCENE(a_signal_wakes_so_many_in_their_order_whoever_was_woken_before,
      "listen A; listen B; listen C; crowd A1_? B1_? C1_? A2_?; signal 1 = 1; signal 2 = 2; in = A1 ? B1 ? C1 ?;"
      "waiting = A2 ?; share A1_? = last; ZADD LOCK 1 B1_? = 0; prolong B1_? 1000 = 0; signal 1 = 1; waiting = -")
SCENE(a_signal_passes_who_is_dead_or_does_not_listen_and_is_not_lost, "listen A; listen B; crowd A1_? C1_? A2_? B1_?;"
      "bury A; signal 1 = 1; in = B1 ?; told B = B1; EXISTS QUEUE = 0; crowd C2_?; signal 5 = 0; EXISTS LOCK QUEUE = 1")
SCENE(a_signal_that_is_not_permitted_leaves_every_place_where_it_was,
      "listen A; listen B; each c set zadd pexpire zrem del zcount time; crowd A1_? B1_?; by -$c;"
      "signal 1 = ?; by all; each t A1 B1; part $t_? = 1..2; next; FLUSHALL; next")
SCENE(a_signal_where_nobody_waits_keeps_nothing, "signal 1 = 0; DBSIZE = 0")
SCENE(a_signal_is_for_one_to_a_thousand,
      "crowd A1_?; each x 0 -1 1001 nan x ''; signal '$x' = !ERR; next; waiting = A1 ?")
SCENE(a_woken_hold_that_nobody_renews_stops_nobody, "listen A; listen B; crowd A1_?; signal 1 = 1;"
      "share B1_? = 0 ~60000 now; ZADD LOCK 1 A1_? = 0; beat B1_? = queued; signal 1 = 1; in = B1 ?; ZCARD LOCK = 1")
SCENE(a_signal_passes_thousands_who_died,
      "listen B; crowd B1_?; mess but TTLs; fill 2200 1 'C%_? 60000'; signal 2 = 1; told B = B1; EXISTS QUEUE = 0")

/* ==== renewing and looking ==== */

SCENE(a_renewal_lengthens_its_own_lease_and_no_other, "share A1_1/2 20000; share B1_1/2 30000;"
      "prolong A1_1/2 60000 = 1; prolong B1_1/2 1000 = 1; PTTL LOCK = ~60000;"
      "inspect = now 2 0 last -1 A1 1/2 ~60000 B1 1/2 ~30000; prolong C1_1/2 1000 = 0; prolong A1_w 1000 = 0;"
      "each x 0 -5 86400001; prolong A1_1/2 $x = !ERR; next; PERSIST LOCK = 1; prolong B1_1/2 40000 = 2;"
      "PTTL LOCK = ~40000")
SCENE(a_renewal_keeps_the_fence_when_half_of_its_time_is_over, "share A1_1/2; PEXPIRE FENCE 1900000;"
      "prolong A1_1/2 600000; PTTL FENCE = ~1900000; PEXPIRE FENCE 1700000; prolong A1_1/2 600000 0 = 1;"
      "PTTL FENCE = ~1700000; prolongs 3600000 LOCK A1_1/2 600000 = 1; PTTL FENCE = ~3600000")
SCENE(many_are_renewed_each_for_itself, "share A1_2/4 20000; mess but TTLs; ZADD BILLS now+60000000 B1_w = 1;"
      "PEXPIRE BILLS 60000; RPUSH MAILS theirs; PEXPIRE MAILS 900000;"
      "prolongs 0 LOCK A1_2/4 600000 MAILS A1_w 600000 BILLS B1_w none BILLS B1_w 86400001 BILLS B1_w 600000 BILLS "
      "A1_w 1 = 1 -1 -1 -1 1 0; PTTL LOCK = ~600000; PTTL BILLS = ~600000; in = A1 2/4 A1 2/4 2")
SCENE(a_look_tells_of_so_many_whose_leases_end_last, "inspect = now 0 0 0 -1; share A1_2/0 30000; share B1_1/0 20000;"
      "share C1_1/0 40000; crowd A2_w; inspect 2 = now 4 1 last -1 C1 1/0 ~40000 A1 2/0 ~30000;"
      "inspect 0 = now 4 1 last -1; ZADD LOCK 1 C1_1/0 = 0; inspect = now 3 1 last -1 A1 2/0 ~30000 B1 1/0 ~20000")
SCENE(who_looks_is_told_of_a_mutex_as_well, "ask A1; renew A1 600000 3; inspect = now 1 0 last -1 A1 3 ~600000; ask B1;"
      "mess; PERSIST LOCK; inspect = now 1 1 last -1 A1 3 -1; inspect 0 = now 1 1 last -1")

/* ==== servers that cannot as they should, and keys that are somebody else's ==== */

SCENE(a_replica_never_says_that_a_share_is_held, "share A1_1/2 12000000; REPLICAOF 127.0.0.1 1;"
      "prolong A1_1/2 600000 = !READONLY; share A1_1/2 = !READONLY; share B1_1/2 = !READONLY; part A1_1/2 = !READONLY;"
      "limit 1 = !READONLY")
SCENE(a_replica_signals_nobody, "listen A; crowd A1_?; REPLICAOF 127.0.0.1 1; signal 1 = !READONLY")

SCENE(a_full_server_refuses_who_asks_for_a_share_and_keeps_nothing_of_it,
      FILL_UP "each n w 1/2 2/2; each v share probe; $v A1_$n = !OOM; next; DBSIZE = 0; next; limit 1 = !OOM;"
      "CONFIG SET maxmemory 0; crowd A1_2/4;" FILL_UP "each n 1/4 2/4 w; share B1_$n = !OOM; next; probe B1_2/4 = !OOM;"
      "CONFIG SET maxmemory 0; ZADD LOCK 1 A1_2/4 1 'A1_2/4 2';" FILL_UP "each n 1/4 2/4 w; share B1_$n = !OOM; next;"
      "ZCARD LOCK = 2; EXISTS QUEUE = 0")
SCENE(a_full_server_renews_releases_and_lets_in,
      "listen B; share A1_2/2 = fence; crowd B1_2/2 C1_w;" FILL_UP "share A1_2/2 = f; prolong A1_2/2 1200000 = 1;"
      "beat B1_2/2 = queued; part A1_2/2 = 1; in = B1 2/2 B1 2/2 2; told B = B1; part C1_w = 2; EXISTS QUEUE = 0")
SCENE(a_full_server_signals, /* but takes nobody into the queue */
      "listen A; crowd A1_?;" FILL_UP "signal 1 = 1; told A = A1; share A2_? = !OOM")
SCENE(keys_that_are_somebody_elses_are_left_alone, "mess; each k LOCK QUEUE MOST FENCE; FLUSHALL; RPUSH $k theirs;"
      "each n w 2/2; share A1_$n = !WRONGTYPE; next; EXISTS LOCK FENCE QUEUE MOST = 1; LRANGE $k 0 -1 = theirs;"
      "PTTL $k = -1; next; each k LOCK QUEUE; FLUSHALL; RPUSH $k theirs; signal 1 = !WRONGTYPE; DBSIZE = 1; next;"
      "each k LOCK QUEUE MOST; FLUSHALL; RPUSH $k theirs; beat A1_w = !WRONGTYPE; limit 1 = !WRONGTYPE; DBSIZE = 1;"
      "next; FLUSHALL; RPUSH QUEUE theirs; part A1_w = !WRONGTYPE; FLUSHALL; RPUSH LOCK theirs;"
      "prolong A1_w 1000 = !WRONGTYPE; part A1_w = !WRONGTYPE; inspect = !WRONGTYPE")
SCENE(a_mutex_and_a_set_of_others_are_no_lock_that_is_shared, "mess; ask A1 = fence; each n w 1/2 2/2;"
      "share B1_$n = !WRONGTYPE; next; prolong A1 1000 = !WRONGTYPE; holder = A1; FLUSHALL;"
      "ZADD LOCK now+60000000 theirs; each n w 1/0 2/4; share B1_$n = !WRONGTYPE; probe B1_$n = !WRONGTYPE; next;"
      "beat B1_w = !WRONGTYPE; inspect = !WRONGTYPE; part B1_w = 0; prolong B1_w 1000 = 0; ask A1 = !WRONGTYPE;"
      "ZADD LOCK 1 theirs; share B1_w = !WRONGTYPE; ZRANGE LOCK 0 -1 = theirs; PTTL LOCK = -1; DBSIZE = 1")
