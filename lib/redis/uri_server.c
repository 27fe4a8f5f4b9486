/* The URI of one server of a deployment, made of that of all of them, and where its servers may send us.
 *
 * A host comes from a server here, from an answer or a redirection, and nobody vouches for it: it is looked up as it is, and
 * shown escaped.
 *
 * Threads: any; nothing is kept. */
#include "redis/uri_part.h"

#include "base/memory.h"

#include <string.h>

static bool
copy_text(char **out, const char *text)
{
	*out = text != NULL ? lsh_strdup(text) : NULL;
	return *out != NULL || text == NULL;
}

static bool
copy_tls(struct lsh_tls_options *out, const struct lsh_tls_options *tls)
{
	out->on = tls->on;
	out->unverified = tls->unverified;
	return copy_text(&out->cafile, tls->cafile) && copy_text(&out->cert, tls->cert) && copy_text(&out->key, tls->key) &&
	       copy_text(&out->server_name, tls->server_name);
}

/* A single server, to which we are `user` with `password`. */
static bool
copy(struct lsh_uri *out, const struct lsh_uri *uri, const char *host, uint16_t port, const char *user, const char *password)
{
	out->deployment = LSH_SINGLE;
	out->scheme = LSH_SCHEME_TCP;
	out->port = port;
	out->timeout_ms = uri->timeout_ms;
	out->preloaded = uri->preloaded;
	out->restart_guard_ms = uri->restart_guard_ms;
	return copy_text(&out->host, host) && copy_text(&out->user, user) && lsh_uri_secret_copy(&out->password, password) &&
	       copy_tls(&out->tls, &uri->tls) && copy_text(&out->redirects, uri->redirects) && lsh_uri_make_shown(out);
}

bool
lsh_uri_of_server(struct lsh_uri *out, const struct lsh_uri *uri, const char *host, uint16_t port)
{
	memset(out, 0, sizeof(*out));
	out->db = uri->db;
	if (copy(out, uri, host, port, uri->user, uri->password))
		return true;
	lsh_uri_clear(out);
	return false;
}

bool
lsh_uri_of_sentinel(struct lsh_uri *out, const struct lsh_uri *uri, size_t which)
{
	const struct lsh_endpoint *sentinel = &uri->hosts[which];

	memset(out, 0, sizeof(*out));
	if (copy(out, uri, sentinel->host, sentinel->port, uri->sentinel_user, uri->sentinel_password))
		return true;
	lsh_uri_clear(out);
	return false;
}

bool
lsh_uri_allows(const struct lsh_uri *uri, const char *host)
{
	struct lsh_part allowed, next;

	if (uri->redirects == NULL)
		return true;
	for (allowed = (struct lsh_part){uri->redirects, strlen(uri->redirects)}; allowed.at != NULL; allowed = next) {
		next = lsh_part_cut(&allowed, ',');
		if (lsh_part_is_host(allowed, host))
			return true;
	}
	return false;
}
