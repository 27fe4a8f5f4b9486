/* Where a deployment is, who we are there, and how it is spoken to: a parsed URI. */
#ifndef LSH_REDIS_URI_H
#define LSH_REDIS_URI_H

#include <leash/status.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What kind of deployment the scheme names: redis, unix: one server; redis+sentinel, redis+cluster, redis+quorum. */
enum lsh_deployment { LSH_SINGLE, LSH_SENTINEL, LSH_CLUSTER, LSH_QUORUM };

enum lsh_scheme { LSH_SCHEME_TCP, LSH_SCHEME_UNIX };

struct lsh_endpoint {
	char *host;    /* a name or a numeric address, without brackets */
	uint16_t port;
};

enum {
	LSH_HOSTS_MAX = 16,  /* that a URI may name */
	LSH_QUORUM_MAX = 7,  /* servers of a quorum: 3, 5 or 7 */
};

/* Who we are. */
struct lsh_login {
	char *user;
	char *password;         /* NULL, too, if it is in a file, */
	char *password_file;    /* which is read for each connection */
};

/* How TLS is spoken, all of it as the URI says. */
struct lsh_tls_options {
	bool on;            /* the scheme is rediss, or begins with rediss+ */
	bool unverified;    /* verify=no: whoever answers is believed */
	char *cafile;       /* NULL: the system's authorities */
	char *cert, *key;   /* both or none: what we show of ourselves */
	char *server_name;  /* what the certificate must be for, and what SNI asks for; NULL: the host of the URI */
};

/* What was not named is NULL or 0. */
struct lsh_uri {
	enum lsh_deployment deployment;
	enum lsh_scheme scheme;
	size_t host_count;      /* 1, or the sentinels, the nodes that it names, all servers of a quorum */
	union {
		struct {            /* the first of them */
			char *host;     /* unix: the path */
			uint16_t port;
		};
		struct lsh_endpoint hosts[LSH_HOSTS_MAX];
	};
	int64_t db;
	int64_t timeout_ms;
	struct lsh_login login, sentinel; /* to the servers; to the sentinels */
	struct lsh_tls_options tls;
	char *master;           /* sentinel: what the sentinels call it */
	char *redirects;        /* cluster, sentinel: to which hosts we may be sent ("10.0.0.1,::1,a"); NULL: any */
	bool preloaded;         /* scripts=preloaded: the texts of scripts are never sent */
	int64_t restart_guard_ms; /* of locks that name none */

	char *shown;        /* the URI without secrets, for messages: "redis://cache:6379/2", "unix:///run/redis.sock",
	                       "redis+sentinel://a:26379,b:26379/main", "rediss+quorum://a:6379,b:6379,c:6379" */
	struct lsh_uri_texts *texts; /* guarded memory, in which all other texts are; shared with what is made of it */
};

/* Parse `text`. LEASH_INVALID names the part, and never shows a secret; LEASH_NO_MEMORY; LEASH_UNSUPPORTED: no
 * randomness for guarded memory. Then `*out` holds nothing. */
leash_status lsh_uri_parse(struct lsh_uri *out, const char *text, leash_error *err);

/* The URI of one server of a deployment: a single one at `host` and `port`, else (who we are, TLS, timeout, db) as
 * `uri`, which may be cleared before it. To a sentinel: with the login for sentinels, and no database. False: no
 * memory. `host` may be what a server said: it is shown escaped. */
bool lsh_uri_of_server(struct lsh_uri *out, const struct lsh_uri *uri, const char *host, uint16_t port);
bool lsh_uri_of_sentinel(struct lsh_uri *out, const struct lsh_uri *uri, size_t which);

static inline bool
lsh_has_password(const struct lsh_login *login)
{
	return login->password != NULL || login->password_file != NULL;
}

/* Read the password from its file, as that is now; sodium_free() wipes it. NULL: it is in no file. INVALID: the file
 * is of no use now, and the text names it; NO_MEMORY. */
leash_status lsh_uri_read_password(char **out, const struct lsh_uri *uri, leash_error *err);

/* May a server of the deployment send us to this host? */
bool lsh_uri_allows(const struct lsh_uri *uri, const char *host);

/* Wipe and free what it holds; a zeroed struct is allowed. */
void lsh_uri_clear(struct lsh_uri *uri);

#endif
