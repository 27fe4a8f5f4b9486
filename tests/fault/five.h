/* Five servers that know nothing of each other, and a client of them with a lock: what each test of a quorum begins
 * with. */
#ifndef LEASH_TEST_FAULT_FIVE_H
#define LEASH_TEST_FAULT_FIVE_H

#include "tests/support/leashed.h"
#include "tests/support/quorum.h"
#include "tests/support/test.h"

#include <leash.h>

enum { SERVERS = 5, LEASE_MS = 1500, GRAIN_MS = 2000 }; /* servers count their lives in whole seconds */

extern leash_error err;

/* Of each test. */
extern struct quorum *quorum;
extern struct leashed_events events;
extern leash_client *client;
extern leash_lock *lock;       /* "q", of that client, for LEASE_MS */

/* Fixtures. When they are done all servers count, and have the scripts. */
void set_up(void);
void set_up_with_doors(void);
void tear_down(void);

#define THROUGH_DOORS BETWEEN(set_up_with_doors, tear_down)

leash_client *open_with(int64_t lease_ms, int64_t guard_ms); /* whose events are noted */
void acquire_at_all(leash_lock *of);   /* returns when each server has it, and not just a majority */
void release_everywhere(void);         /* `lock`; nothing is left of it */
void check_that_nothing_is_left(void); /* on the servers that run, at once or soon; but fences, which have a TTL */
void await_renewal(leash_lock *of, int64_t lease_ms); /* of a hold for so long: it was renewed after this call began */

#endif
