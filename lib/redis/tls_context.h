/* What TLS goes by: whom it takes for the server, and who we are for it, as the files say that a URI names.
 *
 * To read the system's authorities takes a tenth of a second, so a context is shared by all in this process that name
 * the same files. Files that have changed are read again: certificates are replaced while programs run. */
#ifndef LSH_REDIS_TLS_CONTEXT_H
#define LSH_REDIS_TLS_CONTEXT_H

#include "redis/uri.h"

#include <leash/status.h>

#include <stdbool.h>

struct ssl_st; /* OpenSSL's */

struct lsh_tls_context;

/* Why TLS does not take the server for the one that was meant, or the server us. It belongs to one session, as its
 * "app data". */
struct lsh_tls_verdict {
	char text[200];    /* what is wrong with the server's certificate; "": nothing */
	char expected[64]; /* the name or address that the certificate must be for */
	char cert[80];     /* what we show of ourselves; "": nothing */
	int short_of;      /* what there was too little of to check it, an errno; 0: of nothing */
	bool wanted;       /* and it was asked for all the same */
	bool cafile;       /* authorities were named */
};

/* NULL: INVALID names a file that is of no use; or NO_MEMORY. Reads files, or waits for another thread that does. Texts
 * are what comes behind "rediss://host: ". */
struct lsh_tls_context *lsh_tls_context_take(const struct lsh_tls_options *options, leash_error *err);
void lsh_tls_context_drop(struct lsh_tls_context *context); /* NULL is allowed */

/* A client's session with `host`, a name or a numeric address; `options` are those that the context was taken for, and
 * `verdict` is the session's for as long as that lives. NULL: no memory. */
struct ssl_st *lsh_tls_context_session(struct lsh_tls_context *context, const struct lsh_tls_options *options,
                                       const char *host, struct lsh_tls_verdict *verdict);

/* What a session failed with, in OpenSSL's words, with what was expected, and told apart from a lack of memory or
 * descriptors: `code` is OpenSSL's; before the call errno was 0, and `before` the last error in the thread's queue.
 * DENIED: it, or we, are not who the other one wants; PROTOCOL; NO_MEMORY. */
void lsh_tls_explain(const struct lsh_tls_verdict *v, unsigned long before, unsigned long code, leash_error *err);

#endif
