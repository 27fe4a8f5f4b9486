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

/* Who we are somewhere. */
struct login {
	const char *user, *password, *password_file;
};

static bool
copy_login(struct lsh_uri *out, const struct login *login)
{
	return copy_text(&out->user, login->user) && lsh_uri_secret_copy(&out->password, login->password) &&
	       copy_text(&out->password_file, login->password_file);
}

/* A single server. */
static bool
copy(struct lsh_uri *out, const struct lsh_uri *uri, const char *host, uint16_t port, struct login login)
{
	out->deployment = LSH_SINGLE;
	out->scheme = LSH_SCHEME_TCP;
	out->port = port;
	out->timeout_ms = uri->timeout_ms;
	out->preloaded = uri->preloaded;
	out->restart_guard_ms = uri->restart_guard_ms;
	return copy_text(&out->host, host) && copy_login(out, &login) && copy_tls(&out->tls, &uri->tls) && copy_text(&out->redirects, uri->redirects) && lsh_uri_make_shown(out);
}

bool
lsh_uri_of_server(struct lsh_uri *out, const struct lsh_uri *uri, const char *host, uint16_t port)
{
	memset(out, 0, sizeof(*out));
	out->db = uri->db;
	if (copy(out, uri, host, port, (struct login){uri->user, uri->password, uri->password_file}))
		return true;
	lsh_uri_clear(out);
	return false;
}

bool
lsh_uri_of_sentinel(struct lsh_uri *out, const struct lsh_uri *uri, size_t which)
{
	const struct lsh_endpoint *sentinel = &uri->hosts[which];
	struct login login = {uri->sentinel_user, uri->sentinel_password, uri->sentinel_password_file};

	memset(out, 0, sizeof(*out));
	if (copy(out, uri, sentinel->host, sentinel->port, login))
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
