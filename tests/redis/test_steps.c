/* The steps, one by one: every line that lib/lua/README.md promises of them, one interleaving at a time. */
#include "tests/redis/steps.h"

SCENE(a_free_lock_is_held_by_whoever_asks,
      "ask A1 = fence; HGETALL LOCK = A1 1; PTTL LOCK = ~600000; GET FENCE = f; PTTL FENCE = ~3600000;EXISTS QUEUE = 0")

/* Of the server's time, in so many. */
SEES(us, seen_number(server_us() % number_of(word[1], 0)))

SCENE(a_fence_is_the_servers_time_in_microseconds, /* which TIME answers without their leading zeros */
      "await us 1000000 < 50000; repeat 10; let x now; ask A1 = fence; GET FENCE = f; let y now; GET FENCE = $x..$y;"
      "release A1 = 1")
SCENE(fences_grow_when_the_clock_is_behind_the_last, /* and are kept until the clock is there, and then as always */
      "let x now+3600000000; SET FENCE $x; ask A1 = $x+1; GET FENCE = $x+1; PTTL FENCE = ~7200000; release A1 = 1;"
      "ask B1 = $x+2")
SCENE(a_fence_that_cannot_be_counted_on_from_is_replaced, "each x orders '' nan inf 1e300 9007199254740990 "
      "9007199254740992 -5; SET FENCE '$x'; ask A1 = now; SET FENCE '$x' PX 60000; ask A1 = now; release A1 = 1; next;"
      /* and one that is more than a year ahead of the clock, a minute more or less */
      "let x now+31535940000000; SET FENCE $x PX 60000; ask A1 = $x+1; release A1 = 1;"
      "let x now+31536060000000; SET FENCE $x PX 60000; ask A1 = now; release A1 = 1")
SCENE(fences_grow_after_the_last_was_deleted, "ask A1 = fence; release A1 = 1; DEL FENCE; ask B1 = >f")
SCENE(an_ask_that_comes_too_late_does_nothing_and_tells_the_time, "ask A1 600000 now-1 = late; DBSIZE = 0")
SCENE(a_late_ask_of_a_holder_is_refused_too, "ask A1 200000 = fence; ask A1 600000 1 = late; PTTL LOCK = ~200000")
SCENE(an_ask_takes_leases_of_a_millisecond_to_a_day_and_leaves_nothing_of_others, "each x 0 -1 86400001 1e300 0.5 1.5 "
      "nan inf orders ''; ask A1 '$x' = !ERR; EXISTS LOCK = 0; next; ask A1 1 = fence; PTTL LOCK = -2..1;"
      "await EXISTS LOCK = 0; ask A1 86400000 = fence; PTTL LOCK = ~86400000;"
      "PTTL FENCE = ~86400000") /* at least for the lease */
SCENE(a_lock_that_nobody_waits_for_costs_seven_calls,
      "mess; CONFIG RESETSTAT; ask A1 = fence; release A1 = 1; calls evalsha = 2; calls = 7")

SCENE(a_turn_of_a_lock_that_many_wait_for_costs_thirteen_calls, "await us 100000000 < 98000000;" /* all in one period */
      "listen B; line A1 B1 C1; mess; CONFIG RESETSTAT; release A1 = 1; ask A2 = no; calls evalsha = 2; calls = 13;"
      "told B = B1; waiting = C1 A2")
SCENE(an_ask_again_of_a_holder_is_answered_with_the_same_fence,
      "ask A1 = fence; ask A1 = f; try A1 = f; GET FENCE = f; HGETALL LOCK = A1 1; EXISTS QUEUE = 0")
SCENE(an_ask_again_of_a_holder_is_good_for_the_whole_lease_and_shortens_nothing, /* nor changes the depth */
      "ask A1 20000; renew A1 20000 4 = 1; ask A1 12000000 = last; PTTL LOCK = ~12000000; ask A1 20000 = last;"
      "PTTL LOCK = ~12000000; HGET LOCK A1 = 4")
SCENE(an_ask_again_gets_a_new_fence_where_the_old_one_is_gone,
      "ask A1 = fence; DEL FENCE; ask A1 = >f; PTTL FENCE = ~3600000")

/* ---- somebody has it ---- */

SCENE(an_ask_for_a_held_lock_takes_a_place,
      "ask A1 400000; let x now; ask B1 = 0 1..400000 now; let y now; holder = A1; waiting = B1;"
      "ZSCORE QUEUE 'B1 60000' = $x..$y; until B = $x+200000000..$y+200000000; ZCARD QUEUE = 1; PTTL QUEUE = ~400000")
SCENE(a_second_place_of_a_client_adds_no_second_client, "line A1 B1 B2; waiting = B1 B2; ZCARD QUEUE = 2;"
      "word B1 = queued; word B2 = queued; ask B2 = no; ZCARD QUEUE = 3")
SCENE(asking_again_keeps_the_place_and_says_that_the_client_lives,
      "line A1 B1 C1; bury B; ask B1 = no; waiting = B1 C1; until B = >now+100000000; PTTL QUEUE = ~400000")
SCENE(places_come_in_the_order_of_their_asks_also_when_the_clock_went_back,
      "line A1 C1; ZADD QUEUE now+3600000000 'C1 60000'; ask B1 = no; ask B2 = no; waiting = C1 B1 B2")
SCENE(a_lock_without_a_ttl_is_said_to_have_none, "mess; HSET LOCK somebody 1; ask B1 = 0 -1 now; word B1 = * -1 0;"
      "try C1 = 0 -1 now; PTTL LOCK = -1; holder = somebody; PTTL QUEUE = ~400000")
SCENE(a_client_with_a_shorter_alive_does_not_shorten_the_queue, "ask A1;"
      "cfg 60000 3600000 12000000 1 PUBLISH leash:wake:; ask B1 = no; PTTL QUEUE = ~24000000;"
      "cfg 60000 3600000 200000 1 PUBLISH leash:wake:; ask C1 = no; ask C1 = no; word C1 = queued;"
      "PTTL QUEUE = ~24000000;"
      /* nobody has come or said a word for a while */
      "PEXPIRE QUEUE 100000; age 200000; ask C1 = no; PTTL QUEUE = 100001..400000")

SCENE(an_ask_gives_an_abandoned_lock_to_the_first_in_the_queue, "listen B; line A1 B1; DEL LOCK;"
      "ask C1 = 0 1..60000 now; holder = B1; PTTL LOCK = ~60000; waiting = C1; told B = B1")
SCENE(a_queue_without_places_keeps_nobody_out, "mess but TTLs; let x now+10000000; ZADD QUEUE '-$x' B;"
      "PEXPIRE QUEUE 400000; try C1 = fence; holder = C1; EXISTS QUEUE = 0")

/* So many dead places: more than one step removes. */
#define DEAD(n) "fill " n " 1 'D% 60000'; ZADD QUEUE -1 D;"

SCENE(a_thousand_dead_places_go_in_one_step_and_the_rest_in_the_next,
      DEAD("1500") "try A1 = 0 0 now; ZCOUNT QUEUE (0 +inf = 500; EXISTS LOCK = 0; try A1 = fence; EXISTS QUEUE = 0")
SCENE(nobody_passes_a_thousand_dead_places_by_and_keeps_a_place_of_its_own,
      DEAD("1500") "ask A1 = 0 0 now; EXISTS LOCK = 0; listen A; word A1 = held; holder = A1; EXISTS QUEUE = 0")
SCENE(a_word_among_thousands_of_dead_places_is_answered_queued_come_again,
      DEAD("2500") "listen A; ask A1 = no; word A1 = * 0 0; word A1 = * * >0")

/* ==== words, and a renewal by itself ==== */

SCENE(a_word_keeps_places_alive, "ask A1 400000; ask B1 = no; bury B; PEXPIRE QUEUE 100000; word B1 = now 1..400000 0;"
      "until B = >now+100000000; PTTL QUEUE = 200001..400000; waiting = B1; holder = A1")
SCENE(a_word_of_an_unknown_token_creates_nothing, "word B1 = * 0 -1; DBSIZE = 0")
SCENE(a_word_learns_of_a_grant_whose_message_was_lost,
      "listen B; line A1 B1; release A1 = 1; PTTL LOCK = ~60000; word B1 = held; PTTL LOCK = ~600000")
SCENE(a_word_or_an_ask_of_a_holder_keeps_its_fence, /* 700000: for so long Ann's client keeps them */
      "listen B; line A1 B1; release A1 = 1; PEXPIRE FENCE 700000; word B1 = held; PTTL FENCE = ~3600000;"
      "PEXPIRE FENCE 700000; ask B1 = last; PTTL FENCE = ~3600000")
SCENE(a_word_of_a_holder_shortens_nothing, "ask A1 12000000; word A1 = * ~12000000 last; PTTL LOCK = ~12000000")
SCENE(a_word_of_a_holder_whose_fence_is_gone_gets_a_new_one,
      "ask A1 = fence; DEL FENCE; word A1 = * * >f; PTTL FENCE = ~3600000")
SCENE(a_word_answers_for_each_of_its_tokens,
      "listen A; line B1 A1 A2; release B1 = 1; words A 600000 A7 A2 A1 A8 = * 600000 -1 0 last -1")
SCENE(a_word_takes_leases_of_a_millisecond_to_a_day, "ask A1; word A1 0 = !ERR; word A1 86400001 = !ERR;"
      "PTTL LOCK = ~600000; word A1 1 = held; PTTL LOCK = ~600000; word A1 86400000 = held; PTTL LOCK = ~86400000")

SCENE(a_renewal_writes_the_depth_down,
      "ask A1; renew A1 600000 7 = 1; HGETALL LOCK = A1 7; renew A1 600000 2 = 1; HGETALL LOCK = A1 2")
SCENE(a_renewal_never_creates_the_lock, "renew A1 600000 1 = 0; DBSIZE = 0")
SCENE(a_renewal_of_one_who_lost_it_leaves_the_holder_alone,
      "ask B1 100000; renew A1 600000 3 = 0; HGETALL LOCK = B1 1; PTTL LOCK = ~100000")
SCENE(a_renewal_gives_a_ttl_to_a_lock_that_has_none_and_says_so,
      "ask A1; PERSIST LOCK = 1; renew A1 600000 1 = 2; PTTL LOCK = ~600000; renew A1 600000 1 = 1")
SCENE(a_renewal_keeps_the_fence_of_its_hold_for_an_hour_more_or_for_the_lease,
      "ask A1; PEXPIRE FENCE 700000; renew A1 600000 1 = 1; PTTL FENCE = ~3600000; renew A1 7200000 1 = 1;"
      "PTTL FENCE = ~7200000; renew A1 600000 1 = 1; PTTL FENCE = ~7200000; mess; DEL FENCE; renew A1 600000 1 = 1;"
      "EXISTS FENCE = 0; RPUSH FENCE theirs; renew A1 600000 1 = 1; PTTL FENCE = -1")
SCENE(a_renewal_takes_leases_of_a_millisecond_to_a_day,
      "ask A1; renew A1 0 1 = !ERR; renew A1 -5 1 = !ERR; renew A1 86400001 1 = !ERR; PTTL LOCK = ~600000;"
      "renew A1 1 1 = 1; PTTL LOCK = ~600000; renew A1 86400000 1 = 1; PTTL LOCK = ~86400000")

/* ==== many renewals in one step, and the fences that go with them ==== */

/* KEY TOKEN MS: it holds the lock for so long yet. */
DOES(hold, play("HSET %s %s 1 = 1; PEXPIRE %s %s = 1; SET %s:fence now PX 1000000", word[1], word[2], word[1], word[3],
                word[1]))

#define HOLD_THREE "each k LOCK BILLS MAILS; hold $k A1 1000; next;"

SCENE(each_of_many_is_renewed_for_its_own_lease_with_its_own_token_and_depth,
      "hold LOCK A1 1000; hold BILLS A2 1000; hold MAILS B1 1000;"
      "renewals 0 BILLS A2 200000 3 LOCK A1 400000 1 MAILS B1 600000 2 = 1 1 1; PTTL BILLS = ~200000;"
      "PTTL LOCK = ~400000; PTTL MAILS = ~600000; HGETALL BILLS = A2 3; HGETALL LOCK = A1 1; HGETALL MAILS = B1 2")
SCENE(none_of_many_is_created_and_no_ttl_is_shortened,
      "hold LOCK B1 400000; hold MAILS A1 600000; renewals 0 LOCK A1 600000 1 BILLS A1 600000 1 MAILS A1 1 1 = 0 0 1;"
      "EXISTS BILLS = 0; HGETALL LOCK = B1 1; PTTL LOCK = ~400000; PTTL MAILS = ~600000")
SCENE(a_key_of_another_type_is_that_ones_trouble_alone, /* by itself it is told why */
      HOLD_THREE "mess; DEL LOCK; RPUSH LOCK theirs;"
      "renewals 0 BILLS A1 600000 1 LOCK A1 600000 1 MAILS A1 600000 1 = 1 -1 1; PTTL LOCK = -1; PTTL BILLS = ~600000;"
      "PTTL MAILS = ~600000; renew A1 600000 1 = !WRONGTYPE")
SCENE(a_key_that_is_not_permitted_is_that_ones_trouble_alone_even_if_it_is_the_first,
      HOLD_THREE "by ~leash:{bills}* ~leash:{mails};" /* a fence that is not permitted is no error of the renewal */
      "renewals 3600000 LOCK A1 600000 1 BILLS A1 600000 1 MAILS A1 600000 1 = -1 1 1; by all; PTTL LOCK = -2..1000;"
      "PTTL BILLS = ~600000; PTTL MAILS = ~600000; PTTL BILLS:fence = ~3600000; PTTL MAILS:fence = ~1000000")
SCENE(a_lease_out_of_range_is_that_ones_trouble_alone, "each k LOCK BILLS MAILS; hold $k A1 100000; next;"
      "renewals 0 LOCK A1 86400001 1 BILLS A1 none 1 MAILS A1 86400000 1 = -1 -1 1; PTTL LOCK = ~100000;"
      "PTTL BILLS = ~100000; PTTL MAILS = ~86400000")
SCENE(a_lock_of_many_that_has_no_ttl_gets_one_and_that_is_said_of_it_alone,
      HOLD_THREE "PERSIST BILLS; renewals 0 LOCK A1 600000 1 BILLS A1 600000 1 MAILS A1 600000 1 = 1 2 1;"
      "PTTL BILLS = ~600000")
SCENE(a_replica_renews_none_of_many_and_a_full_server_all,
      HOLD_THREE "PEXPIRE LOCK 12000000; CONFIG SET maxmemory 1;"
      "renewals 0 LOCK A1 1000 2 BILLS A1 600000 3 MAILS A1 600000 1 = 1 1 1; HGETALL BILLS = A1 3;"
      "REPLICAOF 127.0.0.1 1; renewals 0 LOCK A1 1000 2 BILLS A1 600000 3 MAILS C1 600000 1 = -1 -1 0")
SCENE(a_fence_is_kept_when_half_of_its_time_is_over_and_left_alone_if_that_is_0,
      "ask A1; PEXPIRE FENCE 2700000; renew A1 600000 1 = 1; PTTL FENCE = ~2700000; PEXPIRE FENCE 900000;"
      "renew A1 600000 1 0 = 1; PTTL FENCE = ~900000; renewals 0 LOCK A1 600000 1 = 1; PTTL FENCE = ~900000;"
      "renewals 3600000 LOCK A1 600000 1 = 1; PTTL FENCE = ~3600000")

/* On the server that the tests run on, which may know GT, and as one that does not. */
SENTENCE(before_gt_a_renewal_does_the_same)
{
	static const char gt[] = "redis.REDIS_VERSION_NUM and 'GT'";
	const char *at = strstr(lsh_script_renew.text, gt);
	char text[8192];

	assert_non_null(at);
	snprintf(text, sizeof text, "%.*snil%s", (int)(at - lsh_script_renew.text), lsh_script_renew.text, at + strlen(gt));
	play(HOLD_THREE "PEXPIRE BILLS 12000000; PERSIST MAILS = 1;"
	     "EVALSHA %s 0 0 LOCK A1 600000 2 BILLS A1 600000 1 MAILS A1 600000 1 = 1 1 2;"
	     "PTTL LOCK = ~600000; HGETALL LOCK = A1 2; PTTL BILLS = ~12000000; PTTL MAILS = ~600000",
	     server_text(server, "SCRIPT LOAD %s", text));
}

SENTENCE(a_hundred_renewals_are_one_script_and_answered_in_their_order)
{
	enum { MANY = 100 };
	bool knows_gt = atoi(strstr(server_text(server, "INFO server"), "redis_version:") + strlen("redis_version:")) >= 7;
	char words[8192] = "", answers[256] = "", name[32];

	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof name, "leash:{job-%d}", i);
		if (i % 3 != 0)
			play("hold %s A1 1000000", name);
		sprintf(words + strlen(words), " %s A1 12000000 1", name);
		strcat(answers, i % 3 != 0 ? " 1" : " 0");
	}
	play("mess; CONFIG RESETSTAT; renewals 0%s =%s; calls evalsha = 1; calls hget = 100; calls pexpire = 66", words,
	     answers);
	play("calls pttl = %d", knows_gt ? 0 : 66);
	for (int i = 0; i < MANY; i++)
		if (i % 3 != 0)
			play("PTTL leash:{job-%d} = ~12000000", i);
}

/* ==== releasing; and see test_model.c ==== */

SCENE(a_released_lock_is_free, "ask A1; release A1 = 1; EXISTS LOCK = 0; EXISTS QUEUE = 0; PTTL FENCE = ~3600000")
SCENE(a_second_release_finds_nothing, "ask A1; release A1 = 1; release A1 = 0")
SCENE(a_release_of_nothing_creates_nothing, "release A1 = 0; DBSIZE = 0")
SCENE(only_the_holder_releases, "ask A1; release B1 = 0; release A2 = 0; holder = A1; PTTL LOCK = ~600000")
SCENE(a_release_gives_the_lock_to_the_first_in_the_queue_and_tells_it,
      "listen B; listen C; line A1 B1 C1; let x now; release A1 = 1; HGETALL LOCK = B1 1; PTTL LOCK = ~60000;"
      "waiting = C1; told B = B1; told C = 0; GET FENCE = $x..now; PTTL FENCE = ~3600000")
SCENE(a_queue_is_served_in_its_order, "listen A; listen B; listen C; line A1 C1 B2 A2 B1 C2; let x last;"
      "release A1 = 1; each t C1 B2 A2 B1 C2; holder = $t; GET FENCE = >$x; let x last; release $t = 1; next;"
      "EXISTS LOCK = 0; EXISTS QUEUE = 0")
SCENE(fences_of_grants_grow_when_the_clock_is_behind_the_last, "listen B; line A1 B1; let x now+3600000000;"
      "SET FENCE $x PX 20000; release A1 = 1; GET FENCE = $x+1; PTTL FENCE = ~7200000; told B = B1")
SCENE(a_grant_lasts_for_the_claim_of_its_own_place,
      "listen B; ask A1; cfg 86400000 3600000 200000 1 PUBLISH leash:wake:; ask B1 300 = no;"
      "cfg 60000 3600000 200000 1 PUBLISH leash:wake:; release A1 = 1; holder = B1; PTTL LOCK = ~86400000")
SCENE(a_client_that_does_not_listen_is_passed_over, "listen C; line A1 B1 C1; release A1 = 1; HGETALL LOCK = C1 1;"
      "PTTL LOCK = ~60000; EXISTS QUEUE = 0; told C = C1; word B1 = none")
SCENE(silence_is_no_refusal_where_counts_are_not_exact, "line A1 B1 C1; cfg 60000 3600000 200000 0 PUBLISH leash:wake:;"
      "release A1 = 1; holder = B1; PTTL LOCK = ~60000; waiting = C1")
SCENE(what_is_no_place_is_passed_over,
      "mess but TTLs; listen B; listen C; each x rubbish B1 'B1 ' 'B1 0' 'B1 -1' 'B1 86400001' 'B1 60000 1' '';"
      "ask A1; ask B2 = no; ZADD QUEUE 5 '$x'; release A1 = 1; holder = B2; EXISTS QUEUE = 0; release B2 = 1")

SENTENCE(a_grant_goes_out_by_spublish_where_the_client_says_so)
{
	if (atoi(strstr(server_text(server, "INFO server"), "redis_version:") + strlen("redis_version:")) < 7)
		skip();
	play("listen B SSUBSCRIBE leash:{orders}:wake:; cfg 60000 3600000 200000 1 SPUBLISH -; line A1 B1; release A1 = 1;"
	     "holder = B1; told B = B1");
}

/* ==== what a quorum says to one of its servers: an ask for a vote, which wants a fence; a heartbeat, to go on with a
 * vote; and that there is a larger fence ==== */

SCENE(a_free_lock_gets_the_vote_and_the_fence_that_was_proposed, "let x now-1000000; vote A1 $x = $x; holder = A1;"
      "GET FENCE = $x; PTTL LOCK = ~600000; PTTL FENCE = ~3600000; EXISTS QUEUE = 0")
SCENE(a_second_owner_is_refused, "vote A1 now; vote B1 now = 0 ~600000 now; holder = A1")
SCENE(asked_again_it_answers_the_same_and_prolongs, /* and never shortens */
      "let x now; vote A1 $x; PEXPIRE LOCK 60000; vote A1 $x+5 = $x; PTTL LOCK = ~600000; vote A1 7 1000 = $x;"
      "PTTL LOCK = ~600000; DEL FENCE; vote A1 $x+5 = $x+5")
SCENE(too_late_it_does_nothing, "vote A1 now 600000 now-1 = -1 * >0; EXISTS LOCK = 0; EXISTS FENCE = 0")
SCENE(fences_grow_whatever_is_proposed, "let x now+1000000; vote A1 $x = $x; release A1; vote B1 1 = $x+1; release B1;"
      "vote A2 $x+1 = $x+2; release A2; vote B2 $x+100 = $x+100")
SCENE(no_fence_is_more_than_an_hour_ahead,
      "let x now+3600000000; vote A1 4503599627370496 = fence; let y now+3600000000; GET FENCE = $x..$y")
/* A fence whose key has ended was smaller: nobody whose clock is behind by more than its TTL gets one below it. */
SCENE(no_fence_is_further_behind_than_the_last_one_is_kept,
      "let x now-3599999999; vote A1 now-7200000000 = fence; let y now-3599999999; GET FENCE = $x..$y")
SCENE(what_is_no_fence_is_replaced, "let x now; SET FENCE nonsense PX 60000; vote A1 $x = $x; release A1;"
      "SET FENCE 9007199254740991 PX 60000; vote A2 $x = $x; release A2; SET FENCE now+31536060000000 PX 60000;"
      "vote B1 $x = $x; SET FENCE 9007199254740990 PX 60000; vote B1 $x = $x; SET FENCE 9007199254740990 PX 60000;"
      "keep B1 1000 $x = * * $x; SET FENCE 9007199254740990 PX 60000; raise $x = $x; GET FENCE = $x")

/* Until the clock is there, all of it in the units that they have. */
SEES(kept, seen_whether(ttl_of("leash:{orders}:fence") > (last_fence() - server_us()) / 1000 - 1000))

SCENE(a_fence_a_year_ahead_is_counted_on_from_and_stays_until_the_clock_is_there,
      "let x now+31535940000000; raise $x = $x; GET FENCE = $x; kept = yes; vote A1 now = $x+1; kept = yes;"
      "raise now+31536060000000 = !ERR; GET FENCE = $x+1")
SCENE(a_lease_out_of_range_is_refused, "vote A1 1 0 = !ERR; vote A1 1 86400001 = !ERR; EXISTS LOCK = 0")
SCENE(a_vote_is_renewed_and_released_as_any_lock, "vote A1 now; PEXPIRE LOCK 60000; renew A1 600000 2 = 1;"
      "PTTL LOCK = ~600000; release B1 = 0; release A1 = 1; EXISTS LOCK = 0")
SCENE(a_larger_fence_is_heard_of_and_a_smaller_one_changes_nothing, /* asked again, its holder answers with it, too */
      "let x now; raise $x = $x; PTTL FENCE = ~3600000; raise $x-1 = $x; GET FENCE = $x; raise $x+1 = $x+1;"
      "vote A1 $x-5 = $x+2; raise $x+9 = $x+9; GET FENCE = $x+9; vote A1 1 = $x+9")
SCENE(a_vote_that_is_kept_answers_its_fence_and_lasts_no_shorter,
      "vote A1 now = fence; keep A1 1000 1 = now ~600000 f; PTTL LOCK = ~600000; PEXPIRE FENCE 60000;"
      "keep A1 1200000 1 = now 1200000 f; PTTL LOCK = ~1200000; GET FENCE = f; PTTL FENCE = ~3600000; holder = A1")
SCENE(what_another_has_or_nobody_is_not_kept, "keep A1 1000 1 = none; EXISTS LOCK = 0; EXISTS FENCE = 0; vote B1 now;"
      "keep A1 1200000 1 = none; holder = B1; PTTL LOCK = ~600000")
SCENE(a_vote_whose_fence_is_gone_gets_the_one_that_is_proposed, "let x now; vote A1 $x; DEL FENCE;"
      "keep A1 1000 $x+7 = * * $x+7; GET FENCE = $x+7; PTTL FENCE = ~3600000; keep A1 0 1 = !ERR")

/* ==== servers that cannot as they should, and keys that are somebody else's ==== */

SCENE(a_replica_never_says_held, /* however long the TTL that it sees: what it sees may be old */
      "ask A1 12000000; ask B1 = no; REPLICAOF 127.0.0.1 1; renew A1 600000 1 = !READONLY; ask A1 = !READONLY;"
      "word A1 = !READONLY; release A1 = !READONLY; ask C1 = !READONLY")

SCENE(a_full_server_refuses_who_asks_and_keeps_nothing_of_it, FILL_UP "ask A1 = !OOM; try A1 = !OOM; DBSIZE = 0")
SCENE(a_full_server_refuses_new_places, "line A1 B1;" FILL_UP "ask C1 = !OOM; waiting = B1; try C1 = no")
SCENE(a_full_server_refuses_who_tries_for_an_abandoned_lock,
      "line A1 B1; DEL LOCK; listen B;" FILL_UP "try C1 = !OOM; EXISTS LOCK = 0; waiting = B1")
SCENE(a_full_server_answers_a_holder_that_asks_again,
      "ask A1 20000 = fence;" FILL_UP "ask A1 = f; PTTL LOCK = 20001..600000")
SCENE(a_full_server_renews_and_writes_the_depth_down,
      "ask A1 20000;" FILL_UP "renew A1 12000000 3 = 1; PTTL LOCK = ~12000000; HGETALL LOCK = A1 3;"
      "renew A1 20000 4 = 1; HGETALL LOCK = A1 4")
SCENE(a_full_server_releases_and_hands_on,
      "listen B; line A1 B1;" FILL_UP "release A1 = 1; holder = B1; PTTL LOCK = ~60000; told B = B1; release B1 = 1;"
      "EXISTS LOCK = 0")
SCENE(a_full_server_lets_leave_and_hands_on,
      "listen C; line A1 B1 C1; DEL LOCK;" FILL_UP "release B1 = 2; holder = C1; told C = C1")
SCENE(a_full_server_takes_words_and_hands_on,
      "listen B; line A1 B1 C1; bury C;" FILL_UP "word C1 = queued; until C = >now+100000000; DEL LOCK;"
      "word C1 = queued; holder = B1; told B = B1")

SCENE(a_lock_key_that_is_no_lock_is_left_alone, "mess; RPUSH LOCK theirs; ask A1 = !WRONGTYPE; try A1 = !WRONGTYPE;"
      "word A1 = !WRONGTYPE; renew A1 600000 1 = !WRONGTYPE; release A1 = !WRONGTYPE; vote A1 1 = !WRONGTYPE;"
      "LRANGE LOCK 0 -1 = theirs; PTTL LOCK = -1; DBSIZE = 1")
SCENE(a_queue_key_that_is_no_queue_is_left_alone, "mess; RPUSH QUEUE theirs; ask B1 = !WRONGTYPE; try B1 = !WRONGTYPE;"
      "word B1 = !WRONGTYPE; release B1 = !WRONGTYPE; EXISTS LOCK = 0; DEL QUEUE; ask A1 = fence; RPUSH QUEUE theirs;"
      "ask B1 = !WRONGTYPE; try B1 = no; word A1 = !WRONGTYPE; renew A1 600000 1 = 1; release A1 = 1; EXISTS LOCK = 0;"
      "LRANGE QUEUE 0 -1 = theirs; PTTL QUEUE = -1")
SCENE(a_fence_key_that_is_no_fence_is_left_alone, /* and nothing is given to anybody */
      "mess; listen B; RPUSH FENCE theirs; ask A1 = !WRONGTYPE; vote A1 1 = !WRONGTYPE; raise 1 = !WRONGTYPE;"
      "EXISTS LOCK = 0; DEL FENCE; line A1 B1; DEL FENCE; RPUSH FENCE theirs; ask A1 = !WRONGTYPE; holder = A1;"
      "release A1 = 1; word B1 = !WRONGTYPE; EXISTS LOCK = 0; waiting = B1; LRANGE FENCE 0 -1 = theirs;"
      "PTTL FENCE = -1")
