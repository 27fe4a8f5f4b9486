/* What the tests of adopting share: a client that adopts, and one that had the lock before, in the same process for convenience. */
#ifndef LEASH_TEST_ADOPTION_H
#define LEASH_TEST_ADOPTION_H

#include "tests/contract/refusal.h"

#include "tests/contract/actor.h"

#define UUID "0c6f1d52-8a1e-4b7e-9d0a-3f1c5e7a9b10"
#define TOKEN UUID ":42"

/* Of each test. */
extern leash_client *client, *former;
extern leash_lock *lock, *held;      /* of "law", of each */
extern struct leashed_events events; /* of the client that adopts */
extern struct actor other;           /* a thread that uses `lock` */
extern char token[LEASH_TOKEN_MAX];  /* of `held`, after hold() */
extern uint64_t fence;               /* likewise */

void set_up(void);
void tear_down(void);

/* Known to all servers: of a quorum some may be late, and while the former client lives it goes on asking those for their votes. */
void hold(void);

/* The former one finds out that what it had is gone. */
void let_the_former_one_lose(void);

actor_act adopt_by; /* `lock`, by `token`; and looks whether it is held */

#endif
