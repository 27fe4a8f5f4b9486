/* In place of tls.c and tls_context.c where configure was told --without-openssl: there is no context, and so nobody
 * comes to the rest. */
#include "base/error.h"
#include "redis/tls.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

struct lsh_tls_context *
lsh_tls_context_take(const struct lsh_tls_options *options, leash_error *err)
{
	lsh_fail(err, LEASH_UNSUPPORTED, 0,
	         "this leash was built without TLS: build it without --without-openssl, or write redis in place of rediss");
	return NULL;
}

void
lsh_tls_context_drop(struct lsh_tls_context *context)
{
}

struct lsh_tls *
lsh_tls_new(int fd, struct lsh_tls_context *context, const struct lsh_tls_options *options, const char *host)
{
	return NULL;
}

void
lsh_tls_free(struct lsh_tls *tls)
{
}

enum lsh_progress
lsh_tls_step(struct lsh_tls *tls, leash_error *err)
{
	return LSH_FAILED;
}

short
lsh_tls_events(struct lsh_tls *tls)
{
	return 0;
}

bool
lsh_tls_has_heard(struct lsh_tls *tls)
{
	return false;
}

ssize_t
lsh_tls_send(struct lsh_tls *tls, const void *bytes, size_t size)
{
	return -1;
}

ssize_t
lsh_tls_recv(struct lsh_tls *tls, void *bytes, size_t size, int flags)
{
	return -1;
}

bool
lsh_tls_is_pending(struct lsh_tls *tls)
{
	return false;
}

bool
lsh_tls_trouble(struct lsh_tls *tls, leash_error *err)
{
	return false;
}
