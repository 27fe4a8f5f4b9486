/* A talk: a connection of its own for questions whose answers are long or slow, so that no renewal ever waits behind
 * them.
 *
 * It is an informant (informant.h, which says how answers are bounded) that belongs to the thread which opened it. That
 * thread sends its commands (lsh_informant_send()), several at a time if it likes, and blocks until each answer is
 * there, or its time is over. After a failure the informant is of no more use, but to be freed. */
#ifndef LSH_REDIS_TALK_H
#define LSH_REDIS_TALK_H

#include "redis/informant.h"

#include <leash/status.h>

#include <stddef.h>
#include <stdint.h>

enum {
	LSH_TALK_MOST = 4 << 20,      /* bytes of one answer, */
	LSH_TALK_ELEMENTS = 1 << 16,  /* elements of all arrays in it */
};

/* Connect and say hello, all within `timeout` (ns), which is also the time for each answer. `uri` must outlive the
 * informant; `hello` may be NULL, and its stream stays the informant's. Statuses as of lsh_connector_step(); `*out` is
 * NULL if it fails. */
leash_status lsh_talk_open(struct lsh_informant **out, const struct lsh_uri *uri, const char *name, int64_t timeout,
                           struct lsh_hello *hello, leash_error *err);
/* The same with a sentinel: LEASH_INVALID if it is none. */
leash_status lsh_talk_open_sentinel(struct lsh_informant **out, const struct lsh_uri *uri, const char *name,
                                    int64_t timeout, leash_error *err);

/* The next answer, as hiredis builds it; it belongs to the informant until the next call. Of an error the server's
 * words are in it. UNAVAILABLE, PROTOCOL or NO_MEMORY; also if a command could not be sent. */
leash_status lsh_talk_hear(struct lsh_informant *informant, const struct redisReply **answer, leash_error *err);

#endif
