/* The parameters of a URI: ?name=value&name=value.
 *
 * One table says which there are, in which URIs they mean something, how each is read, and how it is written. A
 * parameter that is dropped in silence is found out on the day when it matters, so one that is unknown, stands twice,
 * or means nothing in this URI is refused.
 *
 * Threads: any; nothing is kept. */
#include "redis/uri_part.h"

#include "base/memory.h"
#include "redis/secret.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

enum { MAX_NAME_SHOWN = 32 }; /* of a parameter's name in a message; ours are shorter */

enum where { EVERYWHERE, OF_UNIX, OF_TLS, OF_SENTINEL, OF_REDIRECTS };

struct parameter {
	const char *name;
	enum where where;
	leash_status (*read)(void *out, const struct parameter *p, char *value, leash_error *err);
	size_t field;         /* of struct lsh_uri, for `out` */
	const char *hint;     /* what is expected */
	uint64_t min, max;    /* of a number; of a text `max` alone, 0: it may be as long as it likes */
	const char *on, *off; /* of a choice */
	bool password;        /* of which one is enough */
};

/* ---- readers ---- */

static leash_status
refuse(const struct parameter *p, leash_error *err)
{
	return REFUSE(err, "%s: %s", p->name, p->hint);
}

static leash_status
read_number(void *out, const struct parameter *p, char *value, leash_error *err)
{
	return lsh_part_number(value, p->min, p->max, out) ? LEASH_OK : refuse(p, err);
}

static leash_status
read_choice(void *out, const struct parameter *p, char *value, leash_error *err)
{
	bool on = strcmp(value, p->on) == 0;

	*(bool *)out = on;
	return on || strcmp(value, p->off) == 0 ? LEASH_OK : refuse(p, err);
}

static leash_status
read_text(void *out, const struct parameter *p, char *value, leash_error *err)
{
	leash_status st = value[0] != '\0' ? lsh_part_take(out, value, p->name, err) : refuse(p, err);

	if (st == LEASH_OK && p->max != 0 && strlen(value) > p->max)
		return REFUSE(err, "%s: longer than %d bytes", p->name, (int)p->max);
	return st;
}

static leash_status
read_name(void *out, const struct parameter *p, char *value, leash_error *err)
{
	leash_status st = read_text(out, p, value, err);

	return st != LEASH_OK || lsh_part_is_name(value) ? st : refuse(p, err);
}

/* The file is read for each connection; this first time is to refuse it now rather than later. */
static leash_status
read_password_file(void *out, const struct parameter *p, char *value, leash_error *err)
{
	char what[64], *secret = NULL;
	leash_status st = read_text(out, p, value, err);

	if (st != LEASH_OK)
		return st;
	snprintf(what, sizeof(what), "uri: %s", p->name);
	st = lsh_secret_from_file(&secret, value, what, err);
	sodium_free(secret);
	return st;
}

/* The name is one that a shell takes. Others exist, but a password that was put there by mistake is seldom one. */
static leash_status
read_password_env(void *out, const struct parameter *p, char *value, leash_error *err)
{
	char what[64];
	leash_status st = lsh_part_decode(value, p->name, err);

	if (st != LEASH_OK)
		return st;
	if (!lsh_part_consists_of(value, LSH_LETTERS LSH_DIGITS "_") || strchr(LSH_DIGITS, value[0]) != NULL)
		return refuse(p, err);
	snprintf(what, sizeof(what), "uri: %s", p->name);
	return lsh_secret_from_env(out, value, what, err);
}

/* A name, or an address, of which '[' and ']' are taken off. */
static bool
is_host(char **host)
{
	size_t n = strlen(*host);

	if (n > 2 && (*host)[0] == '[' && (*host)[n - 1] == ']') {
		(*host)[n - 1] = '\0';
		(*host)++;
	} else if (strchr(*host, ':') == NULL) {
		return lsh_part_is_name(*host);
	}
	return lsh_part_is_ipv6(*host) && lsh_part_is_zoned(*host, "%");
}

/* The list is put together again where it was, in guarded memory: what of it is refused may be a secret. */
static leash_status
read_hosts(void *out, const struct parameter *p, char *value, leash_error *err)
{
	leash_status st = lsh_part_decode(value, p->name, err);
	char *host = value, *next, *end = value;

	for (size_t which = 1; st == LEASH_OK && host != NULL; host = next, which++) {
		next = lsh_part_cut(host, ',');
		if (!is_host(&host))
			return REFUSE(err, "%s: host %zu: %s", p->name, which, p->hint);
		if (which > 1)
			*end++ = ',';
		memmove(end, host, strlen(host) + 1);
		end += strlen(end);
	}
	return st == LEASH_OK ? lsh_part_copy(out, value, err) : st;
}

/* ---- all of them ---- */

#define FIELD(name) offsetof(struct lsh_uri, name)

/* There is no sentinel_password: a parameter is seen by whoever lists processes. */
static const struct parameter parameters[] = {
	{"timeout", EVERYWHERE, read_number, FIELD(timeout_ms), .min = 10, .max = 60000,
	 .hint = "milliseconds from 10 to 60000 are expected, as in ?timeout=1000"},
	{"password_file", EVERYWHERE, read_password_file, FIELD(password_file), .password = true,
	 .hint = "empty; it is a path, as in ?password_file=/etc/redis.password"},
	{"password_env", EVERYWHERE, read_password_env, FIELD(password), .password = true,
	 .hint = "the name of a variable of the environment is expected, as in ?password_env=REDIS_PASSWORD"},
	{"db", OF_UNIX, read_number, FIELD(db), .max = LSH_DB_MAX,
	 .hint = "the database is a number from 0 to 16383, as in ?db=2"},
	{"cafile", OF_TLS, read_text, FIELD(tls.cafile),
	 .hint = "empty; it is the path of a PEM file, as in ?cafile=/etc/redis/ca.pem"},
	{"cert", OF_TLS, read_text, FIELD(tls.cert),
	 .hint = "empty; it is the path of a PEM file, as in ?cert=/etc/redis/cert.pem"},
	{"key", OF_TLS, read_text, FIELD(tls.key),
	 .hint = "empty; it is the path of a PEM file, as in ?key=/etc/redis/key.pem"},
	{"server_name", OF_TLS, read_name, FIELD(tls.server_name),
	 .hint = "the name of a host is expected, of letters, digits, '-', '.', '_', "
		 "as in ?server_name=cache.example.com"},
	{"verify", OF_TLS, read_choice, FIELD(tls.unverified), .on = "no", .off = "yes",
	 .hint = "'yes' or 'no' is expected; with ?verify=no whoever answers is believed"},
	{"sentinel_user", OF_SENTINEL, read_text, FIELD(sentinel_user), .max = LSH_SECRET_MAX,
	 .hint = "empty; leave it out if there is no user"},
	{"sentinel_password_file", OF_SENTINEL, read_password_file, FIELD(sentinel_password_file), .password = true,
	 .hint = "empty; it is a path, as in ?sentinel_password_file=/etc/redis.password"},
	{"sentinel_password_env", OF_SENTINEL, read_password_env, FIELD(sentinel_password), .password = true,
	 .hint = "the name of a variable of the environment is expected, as in ?sentinel_password_env=REDIS_PASSWORD"},
	{"redirects", OF_REDIRECTS, read_hosts, FIELD(redirects),
	 .hint = "a name or an address without a port is expected, as in ?redirects=10.0.0.1,cache-a,[::1]"},
	{"scripts", EVERYWHERE, read_choice, FIELD(preloaded), .on = "preloaded", .off = "sent",
	 .hint = "'preloaded' or 'sent' is expected, as in ?scripts=preloaded"},
	{"restart_guard", EVERYWHERE, read_number, FIELD(restart_guard_ms), .min = 1, .max = 86400000,
	 .hint = "milliseconds from 1 to 86400000 are expected, as in ?restart_guard=30000"},
};

enum { PARAMETERS = sizeof(parameters) / sizeof(parameters[0]) };

static bool
belongs(const struct lsh_uri *uri, enum where where)
{
	switch (where) {
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

/* It is ours, but says nothing in this URI. */
static leash_status
refuse_stray(const struct lsh_uri *uri, const struct parameter *p, leash_error *err)
{
	const struct lsh_uri_scheme *scheme = lsh_uri_scheme_of(uri);

	if (p->where == OF_TLS && uri->scheme == LSH_SCHEME_UNIX)
		return REFUSE(err, "parameter '%s': is for TLS, which is not spoken over a socket of this machine; "
			      "write rediss:// and a host, or leave it out", p->name);
	if (p->where == OF_TLS)
		return REFUSE(err, "parameter '%s': is for TLS, which this URI does not ask for; write rediss%s:// for "
			      "%s://", p->name, scheme->name + strlen("redis"), scheme->name);
	if (p->where == OF_UNIX && uri->deployment == LSH_CLUSTER)
		return REFUSE(err, "parameter '%s': is for unix: URIs, and a cluster has only database 0; leave it out",
			      p->name);
	if (p->where == OF_UNIX)
		return REFUSE(err, "parameter '%s': is for unix: URIs; here the database follows the %s, as in %s/2",
			      p->name, uri->deployment == LSH_SENTINEL ? "master" : "host", scheme->example);
	return REFUSE(err, "parameter '%s': is for redis+sentinel://%s; leave it out of a %s:// URI", p->name,
		      p->where == OF_REDIRECTS ? " and redis+cluster://, whose servers name others" : "", scheme->name);
}

/* Name a parameter unless it may be a part of a password with a '?' in it: there is a '@' in the query, or no '='. */
static leash_status
refuse_unknown(const struct lsh_uri *uri, const char *name, bool nameable, leash_error *err)
{
	char names[256], *at = names;

	for (size_t i = 0; i < PARAMETERS; i++) {
		if (belongs(uri, parameters[i].where))
			at = stpcpy(stpcpy(at, at == names ? "" : ", "), parameters[i].name);
	}
	if (nameable && strlen(name) <= MAX_NAME_SHOWN && lsh_part_consists_of(name, LSH_LETTERS LSH_DIGITS "_-"))
		return REFUSE(err, "parameter '%s': not known; there are %s", name, names);
	return REFUSE(err, "parameters: one is not known (in a password '?' is %%3F); there are %s", names);
}

static bool
has_sentinel_password(const struct lsh_uri *uri)
{
	return uri->sentinel_password != NULL || uri->sentinel_password_file != NULL;
}

static leash_status
check_first_password(const struct lsh_uri *uri, const struct parameter *p, leash_error *err)
{
	if (p->where == OF_SENTINEL && has_sentinel_password(uri))
		return REFUSE(err, "sentinel password: given twice; one of sentinel_password_file and "
			      "sentinel_password_env is enough");
	if (p->where != OF_SENTINEL && lsh_uri_has_password(uri))
		return REFUSE(err, "password: given twice; one of 'user:password@', password_file and password_env is "
			      "enough");
	return LEASH_OK;
}

static leash_status
take_parameter(struct lsh_uri *uri, char *name, bool seen[PARAMETERS], bool nameable, leash_error *err)
{
	char *value = lsh_part_cut(name, '=');
	const struct parameter *p = parameters;
	leash_status st;

	if (name[0] == '\0' && value == NULL)
		return REFUSE(err, "parameters: one is empty; they are written ?name=value&name=value");
	while (p < parameters + PARAMETERS && strcmp(name, p->name) != 0)
		p++;
	if (p == parameters + PARAMETERS)
		return refuse_unknown(uri, name, nameable && value != NULL, err);
	if (!belongs(uri, p->where))
		return refuse_stray(uri, p, err);
	if (value == NULL)
		return REFUSE(err, "parameter '%s': has no value; '=' and the value follow the name", p->name);
	if (seen[p - parameters])
		return REFUSE(err, "parameter '%s': given twice", p->name);
	seen[p - parameters] = true;
	if (p->password && (st = check_first_password(uri, p, err)) != LEASH_OK)
		return st;
	return p->read((char *)uri + p->field, p, value, err);
}

/* What only makes sense together. */
static leash_status
check_pairs(const struct lsh_uri *uri, leash_error *err)
{
	if (uri->user != NULL && !lsh_uri_has_password(uri))
		return REFUSE(err, "password: missing, but there is a user; give ':password' before the '@', "
			      "password_file or password_env");
	if (uri->sentinel_user != NULL && !has_sentinel_password(uri))
		return REFUSE(err, "sentinel password: missing, but there is a sentinel_user; give "
			      "sentinel_password_file or sentinel_password_env");
	if (uri->tls.cert != NULL && uri->tls.key == NULL)
		return REFUSE(err, "key: missing, but there is a cert; give the file of its key, as in "
			      "&key=/etc/redis/key.pem");
	if (uri->tls.key != NULL && uri->tls.cert == NULL)
		return REFUSE(err, "cert: missing, but there is a key; give the file of its certificate, as in "
			      "&cert=/etc/redis/cert.pem");
	return LEASH_OK;
}

leash_status
lsh_uri_take_query(struct lsh_uri *uri, char *query, leash_error *err)
{
	bool seen[PARAMETERS] = {false}, nameable = query != NULL && strchr(query, '@') == NULL;
	leash_status st = LEASH_OK;

	for (char *next; st == LEASH_OK && query != NULL; query = next) {
		next = lsh_part_cut(query, '&');
		st = take_parameter(uri, query, seen, nameable, err);
	}
	return st == LEASH_OK ? check_pairs(uri, err) : st;
}
