/* TLS on one connection, as its client.
 *
 *   SHAKING --lsh_tls_step()--> READY --the server says that it ends, or hangs up--> ENDED
 *      +------------------------ any fault --------------------------------> FAILED
 *
 * Made by one thread, which shakes hands; then any thread may send while another receives. For a stream (stream.h). */
#ifndef LSH_REDIS_TLS_H
#define LSH_REDIS_TLS_H

#include "redis/tls_context.h"
#include "redis/stream.h"

#include <leash/status.h>

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct lsh_tls;

/* A client of `host`, a name or a numeric address, on `fd`, which is connected and stays the caller's; `options` are
 * those that the context was taken for. NULL: no memory. */
struct lsh_tls *lsh_tls_new(int fd, struct lsh_tls_context *context, const struct lsh_tls_options *options,
                            const char *host);
void lsh_tls_free(struct lsh_tls *tls); /* when nobody is in it; NULL is allowed */

/* Go on shaking hands as far as possible; and, for that thread alone, what to poll the connection for then, and whether
 * the server has said anything at all. FAILED fills in `*err`, with what comes behind "rediss://host: " as its text:
 *   DENIED       we do not trust the server, or it does not trust us
 *   PROTOCOL     it does not speak TLS, or none that we speak
 *   UNAVAILABLE  the connection broke
 *   NO_MEMORY */
enum lsh_progress lsh_tls_step(struct lsh_tls *tls, leash_error *err);
short lsh_tls_events(struct lsh_tls *tls);
bool lsh_tls_has_heard(struct lsh_tls *tls);

#define LSH_TLS_UNKNOWN "the server does not speak TLS: write redis:// for it, or name its port for TLS"

/* As those of the stream. Without MSG_DONTWAIT a recv may wait as long as the socket lets it. */
ssize_t lsh_tls_send(struct lsh_tls *tls, const void *bytes, size_t size);
ssize_t lsh_tls_recv(struct lsh_tls *tls, void *bytes, size_t size, int flags);
bool lsh_tls_is_pending(struct lsh_tls *tls);
bool lsh_tls_trouble(struct lsh_tls *tls, leash_error *err);

#endif
