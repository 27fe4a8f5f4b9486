/* Dialing: from a URI to a connection that has said hello, without ever blocking the thread that drives it.
 *
 *   RESOLVING --> CONNECTING --> GREETING --> done
 *       ^ names only    | next address  |
 *       +---- any failure or the deadline ends the attempt; the owner starts another when its back-off is over
 *
 * The thread that owns a dial polls lsh_dial_poll() and calls lsh_dial_step() when that is ready or the deadline has come.
 * A name is resolved by a thread of its own (getaddrinfo cannot be bounded): if it takes too long it is left to end by
 * itself. The addresses that worked last are tried first while a name resolves again. One thread at a time. */
#ifndef LSH_REDIS_DIAL_H
#define LSH_REDIS_DIAL_H

#include "redis/uri.h"

#include <leash/status.h>

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

enum { LSH_RUN_ID_SIZE = 41 };

/* What a server said when it was greeted. */
struct lsh_hello {
	int fd;                        /* connected, CLOEXEC, non-blocking, TCP_NODELAY, SO_KEEPALIVE; the receiver owns it */
	char run_id[LSH_RUN_ID_SIZE];  /* of this life of the server; "" if INFO is not permitted */
	unsigned version;              /* 0xMMmmpp; 0 if INFO is not permitted */
	int64_t uptime_ms;             /* at least so long up when `received_ns`; -1 if INFO is not permitted */
	bool cluster;                  /* runs in cluster mode */
	int64_t server_us;             /* TIME (not of a subscription: 0) */
	int64_t received_ns;           /* when that arrived, by lsh_now_ns() */
};

struct lsh_dial;

enum lsh_dialed { LSH_DIAL_WAIT, LSH_DIAL_DONE, LSH_DIAL_FAILED };

/* `uri` must outlive the dial. `name` is for CLIENT SETNAME. With `channel` NULL the hello is AUTH, SELECT, CLIENT SETNAME,
 * INFO, TIME; with a channel it is AUTH, CLIENT SETNAME, INFO, SUBSCRIBE channel, and it is done when that is confirmed. Copies both. */
struct lsh_dial *lsh_dial_new(const struct lsh_uri *uri, const char *name, const char *channel);  /* NULL: no memory */
void lsh_dial_free(struct lsh_dial *dial);   /* abandons what is under way; NULL is allowed */

/* Begin an attempt that ends by `deadline`. */
void lsh_dial_start(struct lsh_dial *dial, int64_t deadline);

/* What to poll for, and until when, while an attempt is under way. */
struct pollfd lsh_dial_poll(const struct lsh_dial *dial, int64_t *deadline);

/* Go on as far as possible. DONE fills in `*hello`; FAILED fills in `*err` (UNAVAILABLE, DENIED, PROTOCOL, NO_MEMORY, with a
 * text that names the server and the step), and whatever was opened is closed. */
enum lsh_dialed lsh_dial_step(struct lsh_dial *dial, struct lsh_hello *hello, leash_error *err);

/* End the attempt, if there is one; an abandoned socket is closed with SO_LINGER {1, 0}, so that nothing of it is sent on. */
void lsh_dial_stop(struct lsh_dial *dial);

/* Close a connection so that what the kernel still has of it to send is thrown away. */
void lsh_discard_socket(int fd);

#endif
