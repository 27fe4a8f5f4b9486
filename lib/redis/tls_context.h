/* What TLS goes by: whom it takes for the server, and who we are for it, as the files say that a URI names.
 *
 * To read the system's authorities takes a tenth of a second, so a context is shared by all in this process that name
 * the same files. Files that have changed are read again: certificates are replaced while programs run. */
#ifndef LSH_REDIS_TLS_CONTEXT_H
#define LSH_REDIS_TLS_CONTEXT_H

#include "redis/tls_verify.h"
#include "redis/uri.h"

#include <leash/status.h>

struct ssl_st; /* OpenSSL's */

struct lsh_tls_context;

/* NULL: INVALID names a file that is of no use; or NO_MEMORY. Reads files, or waits for another thread that does. Texts
 * are what comes behind "rediss://host: ". */
struct lsh_tls_context *lsh_tls_context_take(const struct lsh_tls_options *options, leash_error *err);
void lsh_tls_context_drop(struct lsh_tls_context *context); /* NULL is allowed */

/* A client's session with `host`, a name or a numeric address; `options` are those that the context was taken for, and
 * `verdict` is the session's for as long as that lives. NULL: no memory. */
struct ssl_st *lsh_tls_context_session(struct lsh_tls_context *context, const struct lsh_tls_options *options,
                                       const char *host, struct lsh_tls_verdict *verdict);

#endif
