/* A talk: a connection of its own for questions whose answers are long or slow, so that no renewal ever waits behind
 * them.
 *
 * It belongs to the thread that opened it, which blocks until each answer is there, or its time is over. After a
 * failure it is of no more use, but to be closed. Commands may be said several at a time; the answers come in their
 * order.
 *
 * It is an informant (informant.h, which says how answers are bounded) and a thread that sleeps until that has
 * something to say. */
#ifndef LSH_REDIS_TALK_H
#define LSH_REDIS_TALK_H

#include "redis/informant.h"

#include <leash/status.h>

#include <stddef.h>
#include <stdint.h>

struct lsh_talk;

enum {
	LSH_TALK_MOST = 4 << 20,      /* bytes of one answer, */
	LSH_TALK_ELEMENTS = 1 << 16,  /* elements of all arrays in it */
};

/* Connect and say hello, all within `timeout` (ns), which is also the time for each answer. `uri` must outlive the
 * talk; `hello` may be NULL, and its wire stays the talk's. Statuses as of lsh_dial_step(); `*out` is NULL if
 * it fails. */
leash_status lsh_talk_open(struct lsh_talk **out, const struct lsh_uri *uri, const char *name, int64_t timeout,
                           struct lsh_hello *hello, leash_error *err);
/* The same with a sentinel: LEASH_INVALID if it is none. */
leash_status lsh_talk_open_sentinel(struct lsh_talk **out, const struct lsh_uri *uri, const char *name, int64_t timeout,
                                    leash_error *err);
void lsh_talk_close(struct lsh_talk *talk); /* NULL is allowed */

/* Put a command into line; it is sent with the next lsh_talk_hear(). */
leash_status lsh_talk_say(struct lsh_talk *talk, const struct lsh_arg *args, size_t count, leash_error *err);

/* The next answer, as hiredis builds it; it belongs to the talk until the next call. Of an error the server's words
 * are in it. UNAVAILABLE, PROTOCOL or NO_MEMORY. */
leash_status lsh_talk_hear(struct lsh_talk *talk, const struct redisReply **answer, leash_error *err);

/* Take the last answer out of it, to be looked at while others are heard. NULL: there is none (any more). */
struct redisReply *lsh_talk_take(struct lsh_talk *talk);

#endif
