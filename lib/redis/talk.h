/* A talk: a connection of its own for questions whose answers are long or slow, so that no renewal ever waits behind them.
 *
 * It belongs to the thread that opened it, which blocks until each answer is there, or its time is over. After a failure it is of
 * no more use, but to be closed. Commands may be said several at a time; the answers come in their order.
 *
 * What comes is built by hiredis, and bounded here, whoever may be at the other end: an answer of more bytes, elements or levels than a
 * server would give to us, or of a type that it would not, is LEASH_PROTOCOL. The longest is the map of a cluster, whose bound is one of
 * its own: 16,384 ranges of one slot each, with a master, seven replicas and a further name of each. */
#ifndef LSH_REDIS_TALK_H
#define LSH_REDIS_TALK_H

#include "redis/command.h"
#include "redis/hello.h"
#include "redis/reply.h"
#include "redis/uri.h"

#include <leash/status.h>

#include <stddef.h>
#include <stdint.h>

struct lsh_talk;
struct redisReply;

enum {
	LSH_TALK_MOST = 4 << 20,        /* bytes of one answer, */
	LSH_TALK_ELEMENTS = 1 << 16,    /* elements of all arrays in it, */
	LSH_TALK_MAP_MOST = 32 << 20,   /* the same of a map */
	LSH_TALK_MAP_ELEMENTS = 1 << 20,
	LSH_TALK_LEVELS = 7,            /* of arrays in arrays: what hiredis 0.14 can do */
};

/* Connect and say hello, all within `timeout` (ns), which is also the time for each answer. `uri` must outlive the talk; `hello` may be
 * NULL, and its wire stays the talk's. Statuses as of lsh_dial_step(). `*out` is there from the beginning, for lsh_talk_forsake(), and NULL
 * again if it fails. */
leash_status lsh_talk_open(struct lsh_talk **out, const struct lsh_uri *uri, const char *name, int64_t timeout, struct lsh_hello *hello,
                           leash_error *err);
/* The same with a sentinel: LEASH_INVALID if it is none. */
leash_status lsh_talk_open_sentinel(struct lsh_talk **out, const struct lsh_uri *uri, const char *name, int64_t timeout, leash_error *err);
void lsh_talk_close(struct lsh_talk *talk); /* NULL is allowed */
void lsh_talk_forsake(struct lsh_talk *talk); /* in a forked child: close its copies of the descriptors, and touch nothing else */

/* From now on answers may be as long as a cluster's map. */
void lsh_talk_allow_maps(struct lsh_talk *talk);

/* Put a command into line; it is sent with the next lsh_talk_hear(). */
leash_status lsh_talk_say(struct lsh_talk *talk, const struct lsh_arg *args, size_t count, leash_error *err);

/* The next answer, as hiredis builds it; it belongs to the talk until the next call. Of an error the server's words are in it.
 * UNAVAILABLE, PROTOCOL or NO_MEMORY. */
leash_status lsh_talk_hear(struct lsh_talk *talk, const struct redisReply **answer, leash_error *err);

/* Take the last answer out of it, to be looked at while others are heard. NULL: there is none (any more). */
struct redisReply *lsh_talk_take(struct lsh_talk *talk);
void lsh_answer_free(struct redisReply *answer); /* one that was taken; NULL is allowed */

/* For layers that know nothing of hiredis. An item that is not there is a nil. */
struct lsh_item lsh_answer_item(const struct redisReply *answer);
size_t lsh_answer_count(const struct redisReply *answer);
const struct redisReply *lsh_answer_at(const struct redisReply *answer, size_t i);

#endif
