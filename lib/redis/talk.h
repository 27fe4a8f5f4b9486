/* A talk: a connection of its own for questions whose answers are long or slow, so that no renewal waits behind them.
 *
 * It is an informant (informant.h says how answers are bounded) whose thread blocks. It sends commands, one or several
 * at a time (lsh_informant_send()), and waits for each answer. After a failure the informant can only be freed. */
#ifndef LSH_REDIS_TALK_H
#define LSH_REDIS_TALK_H

#include "redis/informant.h"

#include <leash/status.h>

#include <stdint.h>

enum {
	LSH_TALK_MOST = 4 << 20,      /* bytes of one answer, */
	LSH_TALK_ELEMENTS = 1 << 16,  /* elements of all arrays in it */
};

/* Connect and say hello, all within `timeout` (ns), which is also the time for each answer. `uri` must outlive the
 * informant. Statuses as of lsh_connector_step(); `*out` is NULL if it fails. */
leash_status lsh_talk_open(struct lsh_informant **out, const struct lsh_uri *uri, enum lsh_want want, const char *name,
                           int64_t timeout, leash_error *err);

/* The next answer, as hiredis builds it; it belongs to the informant until the next call. Of an error the server's
 * words are in it. UNAVAILABLE, PROTOCOL or NO_MEMORY; also if a command could not be sent. */
leash_status lsh_talk_hear(struct lsh_informant *informant, const struct redisReply **answer, leash_error *err);

#endif
