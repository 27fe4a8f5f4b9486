/* A real server, a client and a lock called "refused", anew for each test; and what is asked of such a server. */
#ifndef LEASH_TEST_REAL_H
#define LEASH_TEST_REAL_H

#include "tests/fault/refused.h"
#include "tests/support/leashed.h"
#include "tests/support/server.h"

extern struct server *server;
extern leash_client *client;
extern leash_lock *lock;
extern struct leashed_events events; /* of `client`, and of whom a test likes */

void start_real(void);
void stop_real(void);

/* A client of `of` holds "pair" for a lease of `lease_ms`, and another one waits for it. `events` are also the first one's.
 * Static where it is used. */
struct pair {
	struct server *of;
	leash_client *client[2];
	leash_lock *held, *wanted;
	struct waiting waiting;
};

void begin_pair(struct pair *pair, struct server *of, int64_t lease_ms);
void end_pair(struct pair *pair); /* it was held all the while; now the other one gets it, and nothing is left */

/* `lock` can be acquired and released. */
void check_that_all_is_well(void);

/* Tell it something that it must not refuse. */
void ask_server(struct server *of, const char *command);

/* A number of INFO; `field` with its colon. */
long long info(struct server *of, const char *section, const char *field);

/* How many EVALSHA it refused to execute at all. */
long long rejected(struct server *of);

/* No key of leash is there for ever. */
void check_ttls(struct server *of);

#endif
