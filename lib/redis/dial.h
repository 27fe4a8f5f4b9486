/* Dialing: from a URI to a connection that has said hello, without ever blocking the thread that drives it.
 *
 *   RESOLVING --> CONNECTING --> GREETING --> done
 *       ^ names only    | next address  |
 *       +---- any failure or the deadline ends the attempt; the owner starts another when its back-off is over
 *
 * The thread that owns a dial polls lsh_dial_poll() and calls lsh_dial_step() when that is ready or the deadline has come.
 * A name is resolved by a thread of its own (getaddrinfo cannot be bounded): if it takes too long it is left to end by
 * itself, and the address that worked last is tried meanwhile. One thread at a time. */
#ifndef LSH_REDIS_DIAL_H
#define LSH_REDIS_DIAL_H

#include "redis/hello.h"
#include "redis/socket.h" /* lsh_discard_socket(): for the receiver, too */
#include "redis/uri.h"

#include <poll.h>
#include <stdint.h>

struct lsh_dial;

enum lsh_dialed { LSH_DIAL_WAIT, LSH_DIAL_DONE, LSH_DIAL_FAILED };

/* `uri` must outlive the dial. `name` is for CLIENT SETNAME. With `channel` NULL the hello is AUTH, SELECT, CLIENT SETNAME,
 * INFO server, INFO memory, TIME; with a channel it is AUTH, CLIENT SETNAME, INFO server, SUBSCRIBE channel, and it is done when
 * that is confirmed. Copies both. */
struct lsh_dial *lsh_dial_new(const struct lsh_uri *uri, const char *name, const char *channel);  /* NULL: no memory */
void lsh_dial_free(struct lsh_dial *dial);   /* abandons what is under way; NULL is allowed */

/* Begin an attempt that ends by `deadline`. */
void lsh_dial_start(struct lsh_dial *dial, int64_t deadline);

/* What to poll for, and until when, while an attempt is under way. */
struct pollfd lsh_dial_poll(const struct lsh_dial *dial, int64_t *deadline);

/* Go on as far as possible. DONE fills in `*hello`; FAILED fills in `*err`, with a text that names the server and the step,
 * and whatever was opened is closed:
 *   UNAVAILABLE  no address, no connection or no answer in time, or the server takes nobody now
 *   DENIED       password, user or permissions
 *   INVALID      the URI's database is not there
 *   PROTOCOL     that is no Redis server
 *   NO_MEMORY */
enum lsh_dialed lsh_dial_step(struct lsh_dial *dial, struct lsh_hello *hello, leash_error *err);

/* End the attempt, if there is one; an abandoned socket is closed with SO_LINGER {1, 0}, so that nothing of it is sent on. */
void lsh_dial_stop(struct lsh_dial *dial);

#endif
