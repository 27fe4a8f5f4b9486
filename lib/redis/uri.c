/* URIs, from the text that a person or a configuration wrote to what a connection needs.
 *
 *   redis://[user[:password]@]host[:port][/db][?parameters]
 *   unix://[user[:password]@]/path[?parameters]
 *   redis+sentinel://[user[:password]@]host[:port],.../master-name[/db][?parameters]
 *   redis+cluster://[user[:password]@]host[:port],...[?parameters]
 *   redis+quorum://[user[:password]@]host[:port],...[/db][?parameters]
 *
 * and with rediss for redis over TLS.
 *
 * Whatever is wrong is refused here, with a text that says which part it is and how to mend it: a port that is taken for
 * a part of the host, or a parameter that is dropped in silence, is found out on the day when it matters.
 *
 * Secrets: where a URI is malformed nobody can tell which of its bytes were meant as the password: the authority of
 * "redis://user:pa/ss@host" ends at the slash. So no message shows anything of the URI, but for what must be named to be
 * found: a parameter's name, and the file or the variable where a password was to be.
 *
 * This file takes the text apart and has each part read, in the order of the text; uri_part.h says by whom.
 *
 * Threads: any; nothing is kept between calls. */
#include "redis/uri_part.h"

#include "base/memory.h"

#include <sodium.h>
#include <string.h>

static const struct scheme {
	const char *name;
	enum lsh_deployment deployment;
	enum lsh_scheme scheme;
	bool tls;
} schemes[] = {
	{"redis", LSH_SINGLE, LSH_SCHEME_TCP, false},
	{"rediss", LSH_SINGLE, LSH_SCHEME_TCP, true},
	{"unix", LSH_SINGLE, LSH_SCHEME_UNIX, false},
	{"redis+sentinel", LSH_SENTINEL, LSH_SCHEME_TCP, false},
	{"rediss+sentinel", LSH_SENTINEL, LSH_SCHEME_TCP, true},
	{"redis+cluster", LSH_CLUSTER, LSH_SCHEME_TCP, false},
	{"rediss+cluster", LSH_CLUSTER, LSH_SCHEME_TCP, true},
	{"redis+quorum", LSH_QUORUM, LSH_SCHEME_TCP, false},
	{"rediss+quorum", LSH_QUORUM, LSH_SCHEME_TCP, true},
};

enum { SCHEMES = sizeof(schemes) / sizeof(schemes[0]) };

#define KNOWN_SCHEMES "redis://, rediss:// (TLS) or unix://, or redis+ or rediss+ with sentinel://, cluster:// or quorum://"

const char *
lsh_uri_scheme_of(const struct lsh_uri *uri)
{
	size_t i = 0;

	while (schemes[i].deployment != uri->deployment || schemes[i].scheme != uri->scheme || schemes[i].tls != uri->tls.on)
		i++;
	return schemes[i].name;
}

static leash_status
take_scheme(struct lsh_uri *uri, const char *text, const char **rest, leash_error *err)
{
	const char *end = strstr(text, "://");

	*rest = NULL;
	if (end == NULL)
		return LSH_URI_REFUSE(err, "scheme: missing; it is " KNOWN_SCHEMES);
	for (size_t i = 0; i < SCHEMES; i++) {
		if (!lsh_part_is_like((struct lsh_part){text, (size_t)(end - text)}, schemes[i].name))
			continue;
		uri->deployment = schemes[i].deployment;
		uri->scheme = schemes[i].scheme;
		uri->tls.on = schemes[i].tls;
		*rest = end + strlen("://");
		return LEASH_OK;
	}
	return LSH_URI_REFUSE(err, "scheme: not known; it is " KNOWN_SCHEMES);
}

/* Bytes that no URI has, wherever they stand. */
static leash_status
check_bytes(const char *text, leash_error *err)
{
	for (size_t i = 0; text[i] != '\0'; i++) {
		if ((unsigned char)text[i] <= ' ' || text[i] == 0x7f)
			return LSH_URI_REFUSE(err, "byte %zu: a space or a control character; within a part it is written %%XX, "
						   "a space %%20", i + 1);
		if (text[i] == '#')
			return LSH_URI_REFUSE(err, "byte %zu: a '#', but there are no fragments here; within a part it is written "
						   "%%23", i + 1);
	}
	return LEASH_OK;
}

static leash_status
take_apart(struct lsh_uri_parts *parts, const char *text, leash_error *err)
{
	struct lsh_part all = {text, strlen(text)};
	struct lsh_part authority, place;

	parts->query = lsh_part_cut(&all, '?');
	authority = all;
	parts->path = lsh_part_cut(&authority, '/');
	if (parts->path.at != NULL) { /* the '/' belongs to it */
		parts->path.at--;
		parts->path.n++;
	}
	parts->login = authority;
	place = lsh_part_cut(&parts->login, '@');
	parts->place = place;
	if (place.at == NULL) {
		parts->place = authority;
		parts->login.at = NULL;
	}
	if (lsh_part_find(parts->place, '@') != NULL)
		return LSH_URI_REFUSE(err, "user or password: there is more than one '@' before the host; within them it is %%40, "
					   "and before a list of hosts they stand once");
	return LEASH_OK;
}

static leash_status
parse(struct lsh_uri *uri, const char *text, leash_error *err)
{
	const char *rest;
	struct lsh_uri_parts parts;
	leash_status st;

	if (text == NULL || text[0] == '\0')
		return LSH_URI_REFUSE(err, "empty; it is written as in redis://127.0.0.1:6379");
	if ((st = check_bytes(text, err)) != LEASH_OK)
		return st;
	if ((st = take_scheme(uri, text, &rest, err)) != LEASH_OK)
		return st;
	if ((st = take_apart(&parts, rest, err)) != LEASH_OK)
		return st;
	if ((st = lsh_uri_take_login(uri, parts.login, err)) != LEASH_OK)
		return st;
	if ((st = lsh_uri_take_place(uri, &parts, err)) != LEASH_OK)
		return st;
	if ((st = lsh_uri_take_query(uri, parts.query, err)) != LEASH_OK)
		return st;
	return lsh_uri_make_shown(uri) ? LEASH_OK : lsh_uri_no_memory(err);
}

leash_status
lsh_uri_parse(struct lsh_uri *out, const char *text, leash_error *err)
{
	leash_status st;

	memset(out, 0, sizeof(*out));
	st = parse(out, text, err);
	if (st != LEASH_OK)
		lsh_uri_clear(out);
	return st;
}

void
lsh_uri_clear(struct lsh_uri *uri)
{
	lsh_uri_wipe(uri->host);
	lsh_uri_wipe(uri->user);
	sodium_free(uri->password); /* wipes it */
	lsh_uri_wipe(uri->password_file);
	lsh_uri_wipe(uri->tls.cafile);
	lsh_uri_wipe(uri->tls.cert);
	lsh_uri_wipe(uri->tls.key);
	lsh_uri_wipe(uri->tls.server_name);
	for (size_t i = 0; i < uri->host_count; i++)
		lsh_uri_wipe(uri->hosts[i].host);
	lsh_uri_wipe(uri->master);
	lsh_uri_wipe(uri->sentinel_user);
	sodium_free(uri->sentinel_password);
	lsh_uri_wipe(uri->sentinel_password_file);
	lsh_uri_wipe(uri->redirects);
	lsh_uri_wipe(uri->shown);
	memset(uri, 0, sizeof(*uri));
}
