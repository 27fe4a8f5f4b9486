/* Connecting: from a URI to a connection that has said hello, without ever blocking the thread that drives it.
 *
 *   RESOLVING --> CONNECTING --> [SHAKING -->] GREETING --> done      SHAKING: hands, where TLS is wanted
 *       ^ names only    | next address  |
 *       +---- any failure or the deadline ends the attempt; the owner starts another when its back-off is over
 *
 * The thread that owns a connector polls lsh_connector_poll() and calls lsh_connector_step() when that is ready, or at
 * the deadline. One thread at a time. */
#ifndef LSH_REDIS_CONNECTOR_H
#define LSH_REDIS_CONNECTOR_H

#include "redis/handshake.h"

#include <poll.h>
#include <stdint.h>

struct lsh_connector;

/* These must outlive the connector. `name` is for CLIENT SETNAME; NULL: none. With `channel` NULL the hello is AUTH,
 * SELECT, CLIENT SETNAME, INFO server, INFO replication, INFO memory, TIME; with a channel it is AUTH, CLIENT SETNAME,
 * INFO server, SUBSCRIBE channel, which has to be confirmed; with "" the same without the last.
 *
 * For a master every hello has INFO replication, and a replica is UNAVAILABLE. For a sentinel none has SELECT, INFO
 * replication, INFO memory or TIME, and what is none is INVALID. NULL: no memory. */
struct lsh_connector *lsh_connector_new(const struct lsh_uri *uri, enum lsh_want want, const char *name,
                                        const char *channel);
void lsh_connector_free(struct lsh_connector *connector);   /* abandons what is under way; NULL is allowed */

/* Abandon what is under way: from now on the server is the one at `uri`, where we are the same. It must outlive the
 * connector, and the one before it is not looked at any more. */
void lsh_connector_move(struct lsh_connector *connector, const struct lsh_uri *uri);

/* Begin an attempt that ends by `deadline`. */
void lsh_connector_start(struct lsh_connector *connector, int64_t deadline);

/* What to poll for, and until when at most: writes up to one place, returns how many, and lowers `*until`. */
nfds_t lsh_connector_poll(const struct lsh_connector *connector, struct pollfd *polled, int64_t *until);

/* Go on as far as possible. DONE fills in `*hello`; FAILED fills in `*err`, with a text that names the server and the
 * step, and whatever was opened is closed:
 *   UNAVAILABLE  no address, no connection or no answer in time, or the server takes nobody now
 *   DENIED       password, user or permissions; with TLS: the server, or we, are not who the other one believes
 *   INVALID      the URI's database is not there, or a file that it names is of no use
 *   PROTOCOL     that is no Redis server, or it speaks TLS and we do not, or the other way round
 *   NO_MEMORY */
enum lsh_progress lsh_connector_step(struct lsh_connector *connector, struct lsh_hello *hello, leash_error *err);

/* End the attempt, if there is one; an abandoned socket is closed so that nothing of it is sent on. */
void lsh_connector_stop(struct lsh_connector *connector);

#endif
