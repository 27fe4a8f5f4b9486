/* A real server and a simulated one that get the same commands, one after the other, and must answer the same and have
 * the same keys: contents and TTLs, to the millisecond.
 *
 * Both have the same time, without a tolerance. The real one's wall clock stands still (server_stop_clock) at the
 * moment that is said with each command. So nothing here depends on how fast the machine is: TIME in scripts, expiry
 * and PTTL are the same numbers on both sides, however long either of them takes.
 *
 * What the simulated server does not know is said to the real one alone, but for what changes its state: CONFIG SET
 * maxmemory, REPLICAOF, and the rights of one user by ACL SETUSER, for the connection that gave its name to AUTH. */
#pragma once

#include "tests/sim/server.h"
#include "tests/support/server.h"

/* What the simulated one has published since this was emptied, to channels with listeners: a line for each message. */
extern char mirror_published[4096];

/* The real one is of server_start_clocked, and has no keys. */
void mirror_begin(struct server *real);
void mirror_end(void);

/* To the real server over `c`, and to the simulated one: a command in the bytes that hiredis would send, which are
 * freed. NULL: all is the same; else what is not. The caller frees the reply, the real one's; NULL: it broke. */
const char *mirror_run(redisContext *c, char *wire, size_t size, int64_t now_us, redisReply **reply);
