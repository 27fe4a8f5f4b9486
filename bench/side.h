/* The two sides that are compared: leash, and what a program does without it. Each has a desk for every thread. */
#ifndef LEASH_BENCH_SIDE_H
#define LEASH_BENCH_SIDE_H

#include "tests/support/server.h"

#include <hiredis/hiredis.h>
#include <leash.h>

#include <stdbool.h>

/* Lock number `i` of a client of leash: a thread's desk, to be given to leash_pair(). */
leash_lock *leash_desk(leash_client *client, size_t i);
void leash_pair(void *desk);

/* The commands of one acquire and release of a lock, as leash itself has sent them to the server. */
struct wire;

struct wire *wire_learn(struct server *server, leash_lock *lock);
void wire_free(struct wire *wire);

/* A connection of its own, over which hiredis_pair() says the same, with a token of its own each time. */
struct hiredis_desk;

struct hiredis_desk *hiredis_desk(const struct wire *wire, int port); /* 0: without one, for hiredis_args() */
void hiredis_desk_free(struct hiredis_desk *desk);
void hiredis_pair(void *desk);

/* The arguments of its next command, which stay until the one after that: an acquire by a new token, or the release of
 * that. Their number. */
int hiredis_args(struct hiredis_desk *desk, bool release, const char ***args, const size_t **sizes);
/* What must be the answer to it: see to it. */
void hiredis_check(const redisReply *reply, bool release);

#endif
