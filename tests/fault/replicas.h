/* A master, its replicas behind proxies, and a client of the master: what each test of min_replicas begins with.
 *
 * The links to the replicas go through proxies, because a replica that was stopped reads, when it goes on, what the kernel has kept for
 * it. */
#ifndef LEASH_TEST_FAULT_REPLICAS_H
#define LEASH_TEST_FAULT_REPLICAS_H

#include "tests/contract/actor.h"
#include "tests/fault/refused.h"
#include "tests/support/proxy.h"

#include <stdbool.h>

enum { REPLICAS = 2 };

extern leash_error err; /* what the last call said */

/* Of each test. */
extern struct server *master, *replica[REPLICAS];
extern struct proxy *link_to[REPLICAS];
extern leash_client *client;
extern struct leashed_events events; /* of all who come by open_client() */
extern char jeopardy_text[160];      /* of the last one */

/* Fixtures. A replica that runs acknowledges what the master writes. */
void start_with_one(void);
void start_with_two(void);
void stop(void);

#define ON_TWO BETWEEN(start_with_two, stop)

leash_client *open_client(void);

/* Nothing goes to the replica any more, and its silence back. */
void hold_link(int i);
void let_go(int i);

bool is_free(const char *key); /* at the master */

#endif
