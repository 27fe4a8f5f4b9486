/* The steps on servers that cannot as they should, and among keys that are somebody else's. */
#include "tests/redis/steps.h"

/* ---- servers that cannot as they should ---- */

SCENE(a_replica_never_says_held, /* however long the TTL that it sees: what it sees may be old */
      "ask A1 12000000; ask B1 = no; REPLICAOF 127.0.0.1 1; renew A1 600000 1 = !READONLY; ask A1 = !READONLY;"
      "word A1 = !READONLY; release A1 = !READONLY; ask C1 = !READONLY")

#define FILL_UP "CONFIG SET maxmemory 1;"

SCENE(a_full_server_refuses_who_asks_and_keeps_nothing_of_it, FILL_UP "ask A1 = !OOM; try A1 = !OOM; DBSIZE = 0")
SCENE(a_full_server_refuses_new_places, "line A1 B1;" FILL_UP "ask C1 = !OOM; waiting = B1; try C1 = no")
SCENE(a_full_server_refuses_who_tries_for_an_abandoned_lock,
      "line A1 B1; DEL LOCK; listen B;" FILL_UP "try C1 = !OOM; EXISTS LOCK = 0; waiting = B1")
SCENE(a_full_server_answers_a_holder_that_asks_again,
      "ask A1 20000 = fence;" FILL_UP "ask A1 = f; PTTL LOCK = 20001..600000")
SCENE(a_full_server_renews_and_writes_the_depth_down,
      "ask A1 20000;" FILL_UP "renew A1 12000000 3 = 1; PTTL LOCK = ~12000000; HGETALL LOCK = A1 3; renew A1 20000 4 = 1;"
      "HGETALL LOCK = A1 4")
SCENE(a_full_server_releases_and_hands_on,
      "listen B; line A1 B1;" FILL_UP "release A1 = 1; holder = B1; PTTL LOCK = ~60000; told B = B1; release B1 = 1;"
      "EXISTS LOCK = 0")
SCENE(a_full_server_lets_leave_and_hands_on,
      "listen C; line A1 B1 C1; DEL LOCK;" FILL_UP "release B1 = 2; holder = C1; told C = C1")
SCENE(a_full_server_takes_words_and_hands_on,
      "listen B; line A1 B1 C1; bury C;" FILL_UP "word C1 = queued; until C = >now+100000000; DEL LOCK; word C1 = queued;"
      "holder = B1; told B = B1")

/* ---- keys that are somebody else's ---- */

SCENE(a_lock_key_that_is_no_lock_is_left_alone,
      "mess; RPUSH LOCK theirs; ask A1 = !WRONGTYPE; try A1 = !WRONGTYPE; word A1 = !WRONGTYPE; renew A1 600000 1 = !WRONGTYPE;"
      "release A1 = !WRONGTYPE; vote A1 1 = !WRONGTYPE; LRANGE LOCK 0 -1 = theirs; PTTL LOCK = -1; DBSIZE = 1")
SCENE(a_queue_key_that_is_no_queue_is_left_alone,
      "mess; RPUSH QUEUE theirs; ask B1 = !WRONGTYPE; try B1 = !WRONGTYPE; word B1 = !WRONGTYPE; release B1 = !WRONGTYPE;"
      "EXISTS LOCK = 0; DEL QUEUE; ask A1 = fence; RPUSH QUEUE theirs; ask B1 = !WRONGTYPE; try B1 = no;"
      "word A1 = !WRONGTYPE; renew A1 600000 1 = 1; release A1 = 1; EXISTS LOCK = 0; LRANGE QUEUE 0 -1 = theirs;"
      "PTTL QUEUE = -1")
SCENE(a_fence_key_that_is_no_fence_is_left_alone, /* and nothing is given to anybody */
      "mess; listen B; RPUSH FENCE theirs; ask A1 = !WRONGTYPE; vote A1 1 = !WRONGTYPE; raise 1 = !WRONGTYPE;"
      "EXISTS LOCK = 0; DEL FENCE; line A1 B1; DEL FENCE; RPUSH FENCE theirs; ask A1 = !WRONGTYPE; holder = A1;"
      "release A1 = 1; word B1 = !WRONGTYPE; EXISTS LOCK = 0; waiting = B1; LRANGE FENCE 0 -1 = theirs; PTTL FENCE = -1")
