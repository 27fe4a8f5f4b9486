/* Words and renewals, step by step: every line that lib/lua/README.md promises of them, one interleaving at a time. */
#include "tests/redis/steps.h"

/* ---- word ---- */

SCENE(a_word_keeps_places_alive,
      "ask A1 400000; ask B1 = no; bury B; PEXPIRE QUEUE 100000; word B1 = now 1..400000 0; until B = >now+100000000;"
      "PTTL QUEUE = 200001..400000; waiting = B1; holder = A1")
SCENE(a_word_keeps_the_places_of_its_own_client_only, "line A1 B1 C1; bury B; word C1 = queued; until B = 1..now")
SCENE(a_word_of_an_unknown_token_creates_nothing, "word B1 = * 0 -1; DBSIZE = 0")
SCENE(a_word_of_an_unknown_token_takes_no_place, "line A1 C1; word B1 = none; waiting = C1; holder = A1")
SCENE(a_word_of_an_unknown_token_takes_no_free_lock, "listen B; line A1 C1; DEL LOCK; word B1 = none; EXISTS LOCK = 0")
SCENE(a_word_hands_an_abandoned_lock_to_the_first_in_the_queue,
      "listen B; line A1 B1 C1; DEL LOCK; word C1 = * 1..60000 0; holder = B1; PTTL LOCK = ~60000; waiting = C1; told B = B1")
SCENE(a_word_of_the_first_in_the_queue_is_answered_held_for_the_lease,
      "listen B; line A1 B1; DEL LOCK; word B1 = * 600000 last; holder = B1; PTTL LOCK = ~600000; EXISTS QUEUE = 0;"
      "told B = B1")
SCENE(a_word_revives_the_places_of_its_client_before_it_hands_on,
      "listen B; line A1 B1; bury B; DEL LOCK; word B1 = * * >0")
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
SCENE(a_word_for_a_free_lock_whose_queue_is_dead_says_that_nobody_holds,
      "line A1 B1; bury B; DEL LOCK; word C1 = * 0 -1; EXISTS LOCK = 0; EXISTS QUEUE = 0")
SCENE(a_word_takes_leases_of_a_millisecond_to_a_day,
      "ask A1; word A1 0 = !ERR; word A1 86400001 = !ERR; PTTL LOCK = ~600000; word A1 1 = held; PTTL LOCK = ~600000;"
      "word A1 86400000 = held; PTTL LOCK = ~86400000")

/* ---- renew ---- */

SCENE(a_renewal_is_good_for_the_whole_lease, "ask A1 20000; renew A1 12000000 1 = 1; PTTL LOCK = ~12000000")
SCENE(a_renewal_shortens_nothing, "ask A1 12000000; renew A1 20000 1 = 1; PTTL LOCK = ~12000000")
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
