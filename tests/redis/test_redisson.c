/* The steps of a lock that is shared with Redisson: what lib/lua/README.md promises of them. Of what Redisson does
 * there is what it leaves: a field "<uuid>:<thread>" with a count. C2 is a thread of such a client. */
#include "tests/redis/steps.h"

#define THEIRS "HSET LOCK C2 2; PEXPIRE LOCK 30000;"

SCENE(a_lock_that_is_free_is_a_field_with_a_ttl_and_no_other_key,
      "mess but TTLs; get_lock A1 = now; HGETALL LOCK = A1 1; PTTL LOCK = ~600000; DBSIZE = 1")
SCENE(what_somebody_has_is_not_had_and_not_touched, "mess but TTLs;" THEIRS
      "get_lock A1 = 0 ~30000 now; HGETALL LOCK = C2 2; PTTL LOCK = ~30000")
SCENE(asked_again_it_counts_once_and_shortens_nothing,
      "mess but TTLs; get_lock A1 1200000; get_lock A1 = now; HGETALL LOCK = A1 1; PTTL LOCK = ~1200000")
SCENE(what_comes_too_late_does_nothing, "mess but TTLs; get_lock A1 600000 now-1 = late; DBSIZE = 0")
SCENE(a_lease_is_a_millisecond_to_a_day, "mess but TTLs; each x 0 -1 86400001 nan orders ''; get_lock A1 '$x' = !ERR;"
      "keep_lock A1 '$x' 1 = !ERR; DBSIZE = 0; next; get_lock A1 86400000 = now")
SCENE(the_holder_renews_and_tells_its_depth, "mess but TTLs; get_lock A1 20000; keep_lock A1 600000 3 = 1;"
      "HGETALL LOCK = A1 3; PTTL LOCK = ~600000; keep_lock A1 20000 1 = 1; HGETALL LOCK = A1 1; PTTL LOCK = ~600000;"
      "keep_lock B1 1200000 1 = 0; PTTL LOCK = ~600000")
SCENE(a_renewal_gives_a_ttl_to_what_has_none_and_says_so,
      "mess; get_lock A1; PERSIST LOCK; keep_lock A1 600000 1 = 2; PTTL LOCK = ~600000")
SCENE(what_was_unlocked_by_force_is_not_made_again, "mess but TTLs; get_lock A1; DEL LOCK; keep_lock A1 600000 1 = 0;"
      "adopt_lock A1 = now 0 -1; DBSIZE = 0")
SCENE(only_the_holder_releases_it,
      "mess but TTLs;" THEIRS "unlock A1 = 0; HGETALL LOCK = C2 2; unlock C2 = 1; DBSIZE = 0")
SCENE(all_who_listen_are_told_of_a_release_and_of_nothing_else, "mess but TTLs; listen A SUBSCRIBE free:; get_lock B1;"
      "get_lock B1; get_lock C1 = no; keep_lock B1 600000 1 = 1;"
      "unlock C1 free:aaaaaaaa-0000-4000-8000-00000000000a = 0; told A = 0;"
      "unlock B1 free:aaaaaaaa-0000-4000-8000-00000000000a = 2; message A = 0")
SCENE(a_hold_of_theirs_is_adopted_as_it_is, "mess but TTLs;" THEIRS "adopt_lock C2 = now ~600000 now;"
      "HGETALL LOCK = C2 2; PTTL LOCK = ~600000; adopt_lock A1 = now ~600000 -1")
SCENE(who_looks_is_told_who_has_it, "mess but TTLs; look_at = now 0 0 0 -1;" THEIRS
      "look_at = now 1 0 0 -1 C2 2 ~30000; HSET LOCK more 1; look_at = !WRONGTYPE; DEL LOCK; HSET LOCK mode read;"
      "PEXPIRE LOCK 1000; look_at = !WRONGTYPE")
SCENE(a_key_that_is_no_lock_is_left_alone, "mess; RPUSH LOCK theirs; get_lock A1 = !WRONGTYPE;"
      "keep_lock A1 600000 1 = !WRONGTYPE; unlock A1 = !WRONGTYPE; look_at = !WRONGTYPE; LRANGE LOCK 0 -1 = theirs")
SCENE(a_replica_never_says_held, "mess but TTLs; get_lock A1; REPLICAOF 127.0.0.1 1; get_lock A1 = !READONLY;"
      "keep_lock A1 20000 1 = !READONLY")
SCENE(where_no_ttl_can_be_set_there_is_no_lock,
      "mess but TTLs; by +@all -pexpire; get_lock A1 = !NOPERM; by all; DBSIZE = 0")
SCENE(a_pair_costs_six_calls, "mess; CONFIG RESETSTAT; get_lock A1; unlock A1 = 1; calls evalsha = 2; calls = 6")
