/* Where a server is, and who we are there: a parsed URI. */
#ifndef LSH_REDIS_URI_H
#define LSH_REDIS_URI_H

#include <leash/status.h>

#include <stdint.h>

enum lsh_scheme { LSH_SCHEME_TCP, LSH_SCHEME_UNIX };

struct lsh_uri {
	enum lsh_scheme scheme;
	char *host;         /* TCP: a name or a numeric address, without brackets; unix: the path */
	uint16_t port;
	int db;             /* 0 if not named */
	int64_t timeout_ms; /* 0 if not named */
	char *user;         /* NULL if not named */
	char *password;     /* NULL if not named; in guarded memory (sodium_malloc), NUL-terminated */
	char *shown;        /* the URI without secrets, for messages: "redis://cache:6379/2", "unix:///run/redis.sock" */
};

/* Parse `text`. Fails with LEASH_INVALID (naming the part, and never showing a secret), LEASH_UNSUPPORTED (a scheme of a
 * deployment that is not built in: rediss, redis+sentinel, redis+cluster, redis+quorum) or LEASH_NO_MEMORY; then `*out` holds nothing. */
leash_status lsh_uri_parse(struct lsh_uri *out, const char *text, leash_error *err);

/* Wipe and free what it holds; a zeroed struct is allowed. */
void lsh_uri_clear(struct lsh_uri *uri);

#endif
