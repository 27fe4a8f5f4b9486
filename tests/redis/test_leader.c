/* The steps of leaders: what lib/lua/README.md promises of them. */
#include "tests/redis/steps.h"

VERB(state)
{
	long long state;

	play("observe = ?");
	assert_int_equal(sscanf(answer.text, "%*s %lld", &state), 1);
	return seen_number(state);
}

#define WATCHED "listen A SUBSCRIBE leash:wake:{orders};"

SCENE(nobody_leads_where_nobody_has_it,
      "observe = now 1 0 -1; watch 0 = now; watch 1 = 0 -1 now; release A1; mess but TTLs; DBSIZE = 0")
SCENE(who_has_it_leads_without_a_value, "ask A1; observe = now >1 last ~600000 A1; watch 1 = now")
SCENE(what_it_proclaims_is_told_with_its_hold,
      "ask A1; proclaim A1 'of mine' = 1; HGETALL LOCK = A1 1 of mine; observe = now >1 last ~600000 A1 of mine;"
      "PTTL LOCK = ~600000; proclaim A1 another = 1; HGETALL LOCK = A1 1 another")
SCENE(who_does_not_have_it_proclaims_nothing,
      "proclaim A1 x = 0; DBSIZE = 0; ask B1; proclaim A1 x = 0; HGETALL LOCK = B1 1")
SCENE(what_comes_too_late_is_not_said, "ask A1; proclaim A1 x; proclaim A1 y PUBLISH 1 = now; HGETALL LOCK = A1 1 x")
SCENE(the_value_stays_through_renewals_whatever_the_depth, "ask A1; renew A1 600000 2; proclaim A1 x;"
      "renew A1 600000 2 = 1; HGETALL LOCK = A1 2 x; renew A1 600000 1 = 1; HGETALL LOCK = A1 1 x;"
      "renewals 0 LOCK A1 600000 3 = 1; HGETALL LOCK = A1 3 x; ask A1 = last; HGETALL LOCK = A1 3 x;"
      "inspect = now 1 0 last -1 A1 3 ~600000")
SCENE(it_goes_with_the_hold,
      "listen B; ask A1; proclaim A1 x; ask B1; release A1 = 1; HGETALL LOCK = B1 1; observe = now >1 last * B1")
SCENE(all_who_watch_are_told_of_a_value_and_of_its_end, WATCHED
      "ask B1; told A = 0; proclaim B1 x; told A = 1; message A = w; proclaim B1 x; told A = 2;"
      "resign B1 = 1; told A = 3; resign B1 = 0; told A = 3")
SCENE(a_release_by_one_who_never_led_tells_nobody, WATCHED "ask B1; release B1 = 1; told A = 0")
SCENE(a_watch_ends_where_who_leads_or_what_it_says_is_another, "ask A1; let s state; watch $s = 0 ~600000 now;"
      "proclaim A1 x; watch $s = now; let t state; watch $t = 0 ~600000 now; renew A1 600000 7;"
      "watch $t = 0 ~600000 now; release A1; watch $t = now; ask B1; watch $t = now; proclaim B1 x; watch $t = now")
SCENE(looking_changes_nothing,
      "ask A1; proclaim A1 x; CONFIG RESETSTAT; observe; watch 0; calls hset = 0; calls pexpire = 0")
SCENE(what_is_no_lock_is_refused, "mess; RPUSH LOCK theirs; observe = !WRONGTYPE; watch 0 = !WRONGTYPE;"
      "proclaim A1 x = !WRONGTYPE; DEL LOCK; HSET LOCK mode read; observe = !WRONGTYPE; HSET LOCK A1 1;"
      "observe = !WRONGTYPE; watch 0 = !WRONGTYPE; DEL LOCK; share A1_w; observe = !WRONGTYPE;"
      "proclaim A1 x = !WRONGTYPE")
SCENE(a_full_server_takes_no_value_and_the_hold_stays, "ask A1; CONFIG SET maxmemory 1; proclaim A1 x = !OOM;"
      "renew A1 600000 1 = 1; CONFIG SET maxmemory 0; HGETALL LOCK = A1 1")
SCENE(where_publish_is_not_permitted_it_is_said_all_the_same,
      "ask A1; by ~* -publish; proclaim A1 x = 1; by all; HGETALL LOCK = A1 1 x")
SCENE(a_value_may_begin_with_a_number, "ask A1; proclaim A1 '1 2 3' = 1; observe = now * last * A1 1 2 3;"
      "renew A1 600000 2; HGETALL LOCK = A1 2 1 2 3")
