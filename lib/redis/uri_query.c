/* The parameters of a URI: ?name=value&name=value.
 *
 * One table says which there are, for which URIs, and who reads each. A parameter that is dropped in silence is found out on
 * the day when it matters, so one that is not known, stands twice, or means nothing in this URI is refused.
 *
 * Threads: any; nothing is kept. */
#include "redis/uri_part.h"

#include "base/memory.h"

#include <stdio.h>
#include <string.h>

enum {
	MIN_TIMEOUT_MS = 10,
	MAX_TIMEOUT_MS = 60000,
	MAX_GUARD_MS = 86400000, /* as the longest lease */
	MAX_NAME_SHOWN = 32,     /* of a parameter's name in a message; ours are shorter */
};

/* ---- time, database, scripts ---- */

static leash_status
take_timeout(struct lsh_uri *uri, struct lsh_part value, leash_error *err)
{
	uint64_t n;

	if (!lsh_part_number(value, MIN_TIMEOUT_MS, MAX_TIMEOUT_MS, &n))
		return LSH_URI_REFUSE(err, "timeout: milliseconds from %d to %d are expected, as in ?timeout=1000",
				      MIN_TIMEOUT_MS, MAX_TIMEOUT_MS);
	uri->timeout_ms = (int64_t)n;
	return LEASH_OK;
}

static leash_status
take_restart_guard(struct lsh_uri *uri, struct lsh_part value, leash_error *err)
{
	uint64_t n;

	if (!lsh_part_number(value, 1, MAX_GUARD_MS, &n))
		return LSH_URI_REFUSE(err, "restart_guard: milliseconds from 1 to %d are expected, as in ?restart_guard=30000",
				      MAX_GUARD_MS);
	uri->restart_guard_ms = (int64_t)n;
	return LEASH_OK;
}

static leash_status
take_scripts(struct lsh_uri *uri, struct lsh_part value, leash_error *err)
{
	uri->preloaded = lsh_part_is(value, "preloaded");
	if (!uri->preloaded && !lsh_part_is(value, "sent"))
		return LSH_URI_REFUSE(err, "scripts: 'preloaded' or 'sent' is expected, as in ?scripts=preloaded");
	return LEASH_OK;
}

/* ---- passwords from elsewhere ---- */

static leash_status
password_twice(leash_error *err)
{
	return LSH_URI_REFUSE(err, "password: given twice; one of 'user:password@', password_file and password_env is enough");
}

static leash_status
take_password_file(struct lsh_uri *uri, struct lsh_part value, leash_error *err)
{
	if (lsh_uri_has_password(uri))
		return password_twice(err);
	return lsh_uri_take_secret_file(&uri->password_file, value, "password_file", err);
}

static leash_status
take_password_env(struct lsh_uri *uri, struct lsh_part value, leash_error *err)
{
	if (lsh_uri_has_password(uri))
		return password_twice(err);
	return lsh_uri_secret_from_env(&uri->password, value, "password_env", err);
}

/* There is no sentinel_password: a parameter is seen by whoever lists processes. */
static leash_status
sentinel_password_twice(leash_error *err)
{
	return LSH_URI_REFUSE(err, "sentinel password: given twice; one of sentinel_password_file and sentinel_password_env is enough");
}

static bool
has_sentinel_password(const struct lsh_uri *uri)
{
	return uri->sentinel_password != NULL || uri->sentinel_password_file != NULL;
}

static leash_status
take_sentinel_password_file(struct lsh_uri *uri, struct lsh_part value, leash_error *err)
{
	if (has_sentinel_password(uri))
		return sentinel_password_twice(err);
	return lsh_uri_take_secret_file(&uri->sentinel_password_file, value, "sentinel_password_file", err);
}

static leash_status
take_sentinel_password_env(struct lsh_uri *uri, struct lsh_part value, leash_error *err)
{
	if (has_sentinel_password(uri))
		return sentinel_password_twice(err);
	return lsh_uri_secret_from_env(&uri->sentinel_password, value, "sentinel_password_env", err);
}

static leash_status
take_sentinel_user(struct lsh_uri *uri, struct lsh_part value, leash_error *err)
{
	if (value.n == 0)
		return LSH_URI_REFUSE(err, "sentinel_user: empty; leave it out if there is no user");
	return lsh_uri_user_new(&uri->sentinel_user, value, "sentinel_user", err);
}

/* ---- TLS ---- */

static leash_status
take_path(char **out, struct lsh_part value, const char *parameter, leash_error *err)
{
	if (value.n == 0)
		return LSH_URI_REFUSE(err, "%s: empty; it is the path of a PEM file, as in ?%s=/etc/redis/%s.pem", parameter, parameter,
				      parameter);
	return lsh_part_decode_new(out, value, parameter, err);
}

static leash_status
take_cafile(struct lsh_uri *uri, struct lsh_part value, leash_error *err)
{
	return take_path(&uri->tls.cafile, value, "cafile", err);
}

static leash_status
take_cert(struct lsh_uri *uri, struct lsh_part value, leash_error *err)
{
	return take_path(&uri->tls.cert, value, "cert", err);
}

static leash_status
take_key(struct lsh_uri *uri, struct lsh_part value, leash_error *err)
{
	return take_path(&uri->tls.key, value, "key", err);
}

static leash_status
take_server_name(struct lsh_uri *uri, struct lsh_part value, leash_error *err)
{
	leash_status st = lsh_part_decode_new(&uri->tls.server_name, value, "server_name", err);

	if (st != LEASH_OK)
		return st;
	if (!lsh_part_is_name((struct lsh_part){uri->tls.server_name, strlen(uri->tls.server_name)}))
		return LSH_URI_REFUSE(err, "server_name: the name of a host is expected, of letters, digits, '-', '.', '_', "
					   "as in ?server_name=cache.example.com");
	return LEASH_OK;
}

static leash_status
take_verify(struct lsh_uri *uri, struct lsh_part value, leash_error *err)
{
	uri->tls.unverified = lsh_part_is(value, "no");
	if (!uri->tls.unverified && !lsh_part_is(value, "yes"))
		return LSH_URI_REFUSE(err, "verify: 'yes' or 'no' is expected; with ?verify=no whoever answers is believed");
	return LEASH_OK;
}

/* ---- redirects ---- */

/* A host of the list as it is kept: without brackets, if it is an address. */
static bool
is_host(struct lsh_part *host)
{
	struct lsh_part address, zone;

	if (host->n > 2 && host->at[0] == '[' && host->at[host->n - 1] == ']')
		*host = (struct lsh_part){host->at + 1, host->n - 2};
	else if (lsh_part_find(*host, ':') == NULL)
		return lsh_part_is_name(*host);
	address = *host;
	zone = lsh_part_cut(&address, '%');
	return lsh_part_is_ipv6(address) && (zone.at == NULL || lsh_part_is_zone(zone));
}

static leash_status
take_redirects(struct lsh_uri *uri, struct lsh_part value, leash_error *err)
{
	leash_status st = lsh_part_decode_new(&uri->redirects, value, "redirects", err);
	struct lsh_part host, next;
	size_t which = 1;
	char *end;

	if (st != LEASH_OK)
		return st;
	end = uri->redirects;
	for (host = (struct lsh_part){end, strlen(end)};; host = next, which++) {
		next = lsh_part_cut(&host, ',');
		if (!is_host(&host))
			return LSH_URI_REFUSE(err, "redirects: host %zu: a name or an address without a port is expected, "
						   "as in ?redirects=10.0.0.1,cache-a,[::1]", which);
		memmove(end, host.at, host.n);
		end += host.n;
		*end = '\0';
		if (next.at == NULL)
			return LEASH_OK;
		*end++ = ',';
	}
}

/* ---- all of them ---- */

static leash_status
take_query_db(struct lsh_uri *uri, struct lsh_part value, leash_error *err)
{
	return lsh_uri_take_db(uri, value, err);
}

/* To which URIs a parameter belongs. */
enum belonging { EVERYWHERE, OF_UNIX, OF_TLS, OF_SENTINEL, OF_REDIRECTS };

static const struct parameter {
	const char *name;
	enum belonging belonging;
	leash_status (*take)(struct lsh_uri *uri, struct lsh_part value, leash_error *err);
} parameters[] = {
	{"timeout", EVERYWHERE, take_timeout},
	{"password_file", EVERYWHERE, take_password_file},
	{"password_env", EVERYWHERE, take_password_env},
	{"db", OF_UNIX, take_query_db},
	{"cafile", OF_TLS, take_cafile},
	{"cert", OF_TLS, take_cert},
	{"key", OF_TLS, take_key},
	{"server_name", OF_TLS, take_server_name},
	{"verify", OF_TLS, take_verify},
	{"sentinel_user", OF_SENTINEL, take_sentinel_user},
	{"sentinel_password_file", OF_SENTINEL, take_sentinel_password_file},
	{"sentinel_password_env", OF_SENTINEL, take_sentinel_password_env},
	{"redirects", OF_REDIRECTS, take_redirects},
	{"scripts", EVERYWHERE, take_scripts},
	{"restart_guard", EVERYWHERE, take_restart_guard},
};

enum {
	PARAMETERS = sizeof(parameters) / sizeof(parameters[0]),
	NAMES = 256, /* bytes for the names of all of them */
};

static bool
belongs(const struct lsh_uri *uri, enum belonging belonging)
{
	switch (belonging) {
	case OF_UNIX:
		return uri->scheme == LSH_SCHEME_UNIX;
	case OF_TLS:
		return uri->tls.on;
	case OF_SENTINEL:
		return uri->deployment == LSH_SENTINEL;
	case OF_REDIRECTS:
		return uri->deployment == LSH_SENTINEL || uri->deployment == LSH_CLUSTER;
	case EVERYWHERE:
	default:
		return true;
	}
}

static leash_status
refuse_db(const struct lsh_uri *uri, leash_error *err)
{
	if (uri->deployment == LSH_CLUSTER)
		return LSH_URI_REFUSE(err, "parameter 'db': is for unix: URIs, and a cluster has only database 0; leave it out");
	if (uri->deployment == LSH_SENTINEL)
		return LSH_URI_REFUSE(err, "parameter 'db': is for unix: URIs; here the database follows the master, "
					   "as in redis+sentinel://a:26379,b:26379/main/2");
	return LSH_URI_REFUSE(err, "parameter 'db': is for unix: URIs; here the database follows the host, "
				   "as in redis://cache:6379/2");
}

/* It is ours, but says nothing in this URI. */
static leash_status
refuse_stray(const struct lsh_uri *uri, const struct parameter *stray, leash_error *err)
{
	const char *scheme = lsh_uri_scheme_of(uri);

	switch (stray->belonging) {
	case OF_TLS:
		if (uri->scheme == LSH_SCHEME_UNIX)
			return LSH_URI_REFUSE(err, "parameter '%s': is for TLS, which is not spoken over a socket of this machine; "
						   "write rediss:// and a host, or leave it out", stray->name);
		return LSH_URI_REFUSE(err, "parameter '%s': is for TLS, which this URI does not ask for; write rediss%s:// for %s://",
				      stray->name, scheme + strlen("redis"), scheme);
	case OF_SENTINEL:
		return LSH_URI_REFUSE(err, "parameter '%s': is for redis+sentinel://; leave it out of a %s:// URI", stray->name, scheme);
	case OF_REDIRECTS:
		return LSH_URI_REFUSE(err, "parameter '%s': is for redis+sentinel:// and redis+cluster://, whose servers name others; "
					   "leave it out of a %s:// URI", stray->name, scheme);
	case OF_UNIX:
	case EVERYWHERE:
	default:
		return refuse_db(uri, err);
	}
}

static void
list_names(const struct lsh_uri *uri, char names[NAMES])
{
	char *at = names;

	for (size_t i = 0; i < PARAMETERS; i++) {
		if (!belongs(uri, parameters[i].belonging))
			continue;
		at = stpcpy(at, at == names ? "" : ", ");
		at = stpcpy(at, parameters[i].name);
	}
}

/* Name a parameter unless it could be a part of a password with a '?' in it: then there is a '@' in the query, or no '='. */
static leash_status
refuse_unknown(const struct lsh_uri *uri, struct lsh_part name, bool has_value, struct lsh_part query, leash_error *err)
{
	bool good = name.n > 0 && name.n <= MAX_NAME_SHOWN && has_value && lsh_part_find(query, '@') == NULL;
	char names[NAMES];

	list_names(uri, names);
	for (size_t i = 0; good && i < name.n; i++)
		good = lsh_part_is_letter(name.at[i]) || lsh_part_is_digit(name.at[i]) || name.at[i] == '_' || name.at[i] == '-';
	if (good)
		return LSH_URI_REFUSE(err, "parameter '%.*s': not known; there are %s", (int)name.n, name.at, names);
	return LSH_URI_REFUSE(err, "parameters: one is not known (in a password '?' is %%3F); there are %s", names);
}

static leash_status
take_parameter(struct lsh_uri *uri, struct lsh_part text, bool seen[PARAMETERS], struct lsh_part query, leash_error *err)
{
	struct lsh_part name = text, value = lsh_part_cut(&name, '=');
	const struct parameter *parameter;
	size_t i = 0;

	if (text.n == 0)
		return LSH_URI_REFUSE(err, "parameters: one is empty; they are written ?name=value&name=value");
	while (i < PARAMETERS && !lsh_part_is(name, parameters[i].name))
		i++;
	if (i == PARAMETERS)
		return refuse_unknown(uri, name, value.at != NULL, query, err);
	parameter = &parameters[i];
	if (!belongs(uri, parameter->belonging))
		return refuse_stray(uri, parameter, err);
	if (value.at == NULL)
		return LSH_URI_REFUSE(err, "parameter '%s': has no value; '=' and the value follow the name", parameter->name);
	if (seen[i])
		return LSH_URI_REFUSE(err, "parameter '%s': given twice", parameter->name);
	seen[i] = true;
	return parameter->take(uri, value, err);
}

/* What only makes sense together. */
static leash_status
check_pairs(const struct lsh_uri *uri, leash_error *err)
{
	if (uri->user != NULL && !lsh_uri_has_password(uri))
		return LSH_URI_REFUSE(err, "password: missing, but there is a user; give ':password' before the '@', "
					   "password_file or password_env");
	if (uri->sentinel_user != NULL && !has_sentinel_password(uri))
		return LSH_URI_REFUSE(err, "sentinel password: missing, but there is a sentinel_user; give sentinel_password_file or "
					   "sentinel_password_env");
	if (uri->tls.cert != NULL && uri->tls.key == NULL)
		return LSH_URI_REFUSE(err, "key: missing, but there is a cert; give the file of its key, as in &key=/etc/redis/key.pem");
	if (uri->tls.key != NULL && uri->tls.cert == NULL)
		return LSH_URI_REFUSE(err, "cert: missing, but there is a key; give the file of its certificate, "
					   "as in &cert=/etc/redis/cert.pem");
	return LEASH_OK;
}

leash_status
lsh_uri_take_query(struct lsh_uri *uri, struct lsh_part query, leash_error *err)
{
	struct lsh_part text = query, next;
	bool seen[PARAMETERS] = {false};

	for (; text.at != NULL; text = next) {
		leash_status st;

		next = lsh_part_cut(&text, '&');
		st = take_parameter(uri, text, seen, query, err);
		if (st != LEASH_OK)
			return st;
	}
	return check_pairs(uri, err);
}
