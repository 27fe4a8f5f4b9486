/* The steps of the server half: the scripts as the build embeds them, on a real server and over plain connections; no
 * other part of the library takes part. What they are told, what they answer, and what is in the server afterwards.
 *
 * They are scenes (scenes.h), of which each step may have what is answered behind a =:
 *
 *     SCENE(only_the_holder_releases, "ask A1; release B1 = 0; holder = A1; PTTL LOCK = ~600000")
 *
 * A step is one of these, or a command of Redis. A1 and A2 are tokens of the client A; there are A to D. LOCK, FENCE,
 * QUEUE and MOST (its limit) are the keys of a lock.
 *
 *     ask, try TOKEN [LEASE [NOT_AFTER]]      acquire, with a place in the queue, or without one
 *     vote TOKEN FENCE [LEASE [NOT_AFTER]]    as a quorum asks; keep TOKEN LEASE FENCE; raise FENCE
 *     word TOKEN [LEASE]                      heartbeat; words CLIENT LEASE TOKENS: of several
 *     renew TOKEN LEASE DEPTH [FENCE_MS]      renewals FENCE_MS and LOCK TOKEN LEASE DEPTH for each: of many
 *     release TOKEN; resign TOKEN             the same of one who may be watched
 *     proclaim TOKEN VALUE [PUBLISH [NOT_AFTER]]; watch STATE; observe
 *     share, probe WHO [LEASE [NOT_AFTER]]    share_acquire, with a place or without; A1_w is token and need
 *     beat WHO; beats CLIENT LEASE WHO...     share_heartbeat
 *     prolong WHO LEASE [FENCE_MS]            share_renew; prolongs FENCE_MS and LOCK WHO LEASE for each: of many
 *     part WHO; trade WHO WHO [LEASE [NOT_AFTER]]         share_release; share_trade, of the first for the second
 *     get_lock TOKEN [LEASE [NOT_AFTER]], keep_lock TOKEN LEASE DEPTH, adopt_lock TOKEN [LEASE], look_at,
 *     unlock TOKEN [CHANNEL]                  redisson
 *     arrive TOKEN [LEASE]                    gate_arrive
 *     limit N [MS [NOT_AFTER]]; signal N; inspect [N]     share_limit; share_signal; of whatever kind
 *
 *     line TOKENS, crowd WHO...   they ask one after the other; of a line the first has it, and the others wait
 *     fill N SCORE PLACE          the queue, with so many, which have their number in place of %
 *     cfg WORDS                   what steps say of the client from now on
 *     by RULES                    by a user with these rights from now on; by all: by one who may do anything
 *     age MS                      since the places of the queue were taken so much time has passed
 *     bury CLIENT                 it waits, and has not been heard of for too long; the others have just now
 *     listen CLIENT [COMMAND CHANNEL]   its messages are heard; behind a colon the client is added; deafen CLIENT: they
 *                                 are not any more, or are again
 *     told CLIENT                 = TOKEN, of which it was told that it has the lock, alone; or = 0
 *     message CLIENT              the last that was heard; messages_of CLIENT: how many
 *     holder, waiting             the tokens; in: who shares; until CLIENT: when it will count as dead, in us, or 0
 *     calls [COMMAND]             how many there were since CONFIG RESETSTAT, in scripts too
 *     mess, mess but TTLs         from now on nothing, or no more than that, is demanded of the keys
 *     NUMBER                      that one, for a let
 *
 * Words of an answer: * is anything, LOW..HIGH a range, ~N a TTL of N that was set a moment ago, !WORD an error, - the
 * end, >N more than that; ? is any answer. A fence is a new one, and f from then on. Numbers may be f, the last fence
 * that was issued (last), or the server's time in us (now), and so much more or less: now-1, $x+1. What is not held is
 * answered with no, or late; a token of a word is held, queued or none. Of a step without an answer it is demanded that
 * it is none of the errors.
 *
 * Time does not pass: a lease that ran out is a lock key that was deleted, a client that died is one whose places and
 * whose last word are old. After every step `look` looks at all keys; what it demands is what must hold after any step
 * of any client. */
#pragma once

#include "lua/scripts.h"
#include "tests/redis/scenes.h"
#include "tests/support/one_server.h"

#include <hiredis/hiredis.h>

enum { LEASE = 600000, CLAIM = 60000, ALIVE = 200000, DAY = 86400000 };

/* A fence that is further ahead of the server's clock is none. */
#define YEAR_US (INT64_C(31536000) * 1000000)

/* Every command that a step gives. */
enum { COMMANDS = 18 };
extern const char *const commands[COMMANDS];

/* What was answered to the last script or command. */
extern struct answer {
	int type;       /* REDIS_REPLY_* */
	char text[512]; /* its words, with a space between */
} answer;

const char *token_of(const char *name); /* of "A1" */
const char *holders(void); /* whose lease has not ended */
const char *waiting(void); /* in their order, with a space between */
#define exists(key) (server_integer(server, "EXISTS %s", (key)) == 1)
#define ttl_of(key) server_integer(server, "PTTL %s", (key))
int64_t last_fence(void);
int64_t server_us(void);
/* The moment, in us, until which a client ("A") counts as alive; 0: it has no place. */
int64_t alive_until(const char *name);

struct pubsub {
	redisContext *connection;
	char of;        /* the name of the client */
	int messages;   /* so far */
	bool is_deaf;
	char last[128];
	struct pubsub *next;
};

extern struct pubsub *listeners;
struct pubsub *listener(char name);
/* How many messages have come since it began; what was published before this call is among them. */
int messages(struct pubsub *pubsub);

#define FILL_UP "CONFIG SET maxmemory 1;"

void clean(void);
void clean_up(void);
FIXTURE(clean, clean_up);
