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
 * Whatever is wrong is refused here, with a text that says which part it is and how to write it: a port that is taken
 * for a part of the host is found out on the day when it matters.
 *
 * Secrets: where a URI is malformed nobody can tell which of its bytes were meant as the password: the authority of
 * "redis://user:pa/ss@host" ends at the slash. So no message shows anything of the URI, but for what must be named to
 * be found: the number of a host, a parameter's name, and the file or the variable where a password was expected.
 *
 * Threads: any; nothing is kept between calls. */
#include "redis/uri_part.h"

#include "base/memory.h"
#include "redis/secret.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

enum {
	SERVER_PORT = 6379,
	SENTINEL_PORT = 26379,
	MAX_MASTER = 128,
};

#define KNOWN_SCHEMES \
	"redis://, rediss:// (TLS) or unix://, or redis+ or rediss+ with sentinel://, cluster:// or quorum://"

/* ---- the text taken apart ---- */

/* Bytes that no URI has, wherever they stand. */
static leash_status
check_bytes(const char *text, leash_error *err)
{
	for (size_t i = 0; text[i] != '\0'; i++) {
		if ((unsigned char)text[i] <= ' ' || text[i] == 0x7f)
			return REFUSE(err, "byte %zu: a space or a control character; within a part it is written "
				      "%%XX, a space %%20", i + 1);
		if (text[i] == '#')
			return REFUSE(err, "byte %zu: a '#', but there are no fragments here; within a part it is "
				      "written %%23", i + 1);
	}
	return LEASH_OK;
}

/* ---- who we are ---- */

static leash_status
take_login(struct lsh_uri *uri, char *user, leash_error *err)
{
	char *password = lsh_part_cut(user, ':');
	leash_status st;

	if (user[0] == '\0' && password == NULL)
		return REFUSE(err, "user: nothing stands before the '@'; leave it out if there is no user");
	if (user[0] != '\0') { /* else it is that of the default user, as in redis://:password@host */
		if ((st = lsh_part_take(&uri->user, user, "user", err)) != LEASH_OK)
			return st;
		if (strlen(user) > LSH_SECRET_MAX)
			return REFUSE(err, "user: longer than %d bytes", LSH_SECRET_MAX);
	}
	if (password == NULL)
		return LEASH_OK;
	if ((st = lsh_part_decode(password, "password", err)) != LEASH_OK)
		return st;
	if (password[0] == '\0')
		return REFUSE(err, "password: empty, there is nothing between ':' and '@'");
	if (strlen(password) > LSH_SECRET_MAX)
		return REFUSE(err, "password: longer than %d bytes", LSH_SECRET_MAX);
	return lsh_secret_copy(&uri->password, password, err);
}

/* ---- hosts ---- */

static leash_status
check_name(const struct lsh_uri *uri, const char *name, const char *what, leash_error *err)
{
	if (name[0] == '\0')
		return REFUSE(err, "%s: missing; it follows %s, as in %s; in a password '/' is written %%2F and '?' "
			      "%%3F", what, uri->host_count < 2 ? "'://' or the '@'" : "the ','",
			      lsh_uri_scheme_of(uri)->example);
	if (!lsh_part_is_word(name))
		return REFUSE(err, "%s: one name or address of letters, digits, '-', '.', '_' is expected; an IPv6 "
			      "address stands in brackets", what);
	if (!lsh_part_is_name(name))
		return REFUSE(err, "%s: longer than 253 bytes, which no name is", what);
	return LEASH_OK;
}

/* What stands between brackets, and what behind them. */
static leash_status
check_address(const char *address, const char *behind, const char *what, leash_error *err)
{
	if (behind == NULL)
		return REFUSE(err, "%s: a '[' without its ']'", what);
	if (behind[0] != '\0' && behind[0] != ':')
		return REFUSE(err, "%s: only ':' and a port may follow the ']'", what);
	if (!lsh_part_is_ipv6(address))
		return REFUSE(err, "%s: what stands in brackets is not an IPv6 address, as in redis://[::1]:6379",
			      what);
	if (!lsh_part_is_zoned(address, "%25"))
		return REFUSE(err, "%s: the zone of the IPv6 address is not valid; it is written as in "
			      "redis://[fe80::1%%25eth0]", what);
	return LEASH_OK;
}

/* Read host[:port] into `at`, which has the port that it is if none is named; `what` is the host in messages. */
static leash_status
take_host(const struct lsh_uri *uri, struct lsh_endpoint *at, char *host, const char *what, leash_error *err)
{
	char *port;
	int64_t n;
	leash_status st;

	if (host[0] == '[') {
		port = lsh_part_cut(++host, ']');
		st = check_address(host, port, what, err);
		port = st == LEASH_OK ? lsh_part_cut(port, ':') : NULL;
	} else {
		port = lsh_part_cut(host, ':');
		st = check_name(uri, host, what, err);
	}
	if (st == LEASH_OK)
		st = lsh_part_take(&at->host, host, what, err);
	if (st != LEASH_OK || port == NULL)
		return st;
	if (!lsh_part_number(port, 1, UINT16_MAX, &n))
		return REFUSE(err, "%s: port: a number from 1 to 65535 is expected after the host's ':'; in a password "
			      "'/' is written %%2F and '?' %%3F; an IPv6 address stands in brackets", what);
	at->port = (uint16_t)n;
	return LEASH_OK;
}

/* A server that is named twice would have two votes in a quorum. */
static leash_status
check_new(const struct lsh_uri *uri, size_t which, leash_error *err)
{
	const struct lsh_endpoint *new = &uri->hosts[which];

	for (size_t i = 0; i < which; i++) {
		if (uri->hosts[i].port == new->port && lsh_part_is_host(new->host, uri->hosts[i].host))
			return REFUSE(err, "host %zu: the same as host %zu; each one is named once", which + 1, i + 1);
	}
	return LEASH_OK;
}

/* `more`: some are left over that do not fit. */
static leash_status
check_count(const struct lsh_uri *uri, bool more, leash_error *err)
{
	size_t n = uri->host_count;

	if (uri->deployment != LSH_QUORUM)
		return !more ? LEASH_OK : REFUSE(err, "hosts: more than %d; some of them are enough to find the others",
						 LSH_HOSTS_MAX);
	if (more)
		return REFUSE(err, "hosts: more than %d; a quorum has 3, 5 or 7 servers, and each of them is asked "
			      "every time", LSH_QUORUM_MAX);
	if (n == 1)
		return REFUSE(err, "hosts: one server is no quorum, which has 3, 5 or 7; a single one is written %s://",
			      uri->tls.on ? "rediss" : "redis");
	if (n % 2 == 0)
		return REFUSE(err, "hosts: %zu servers survive no more failures than %zu: one more server buys nothing "
			      "but another thing to fail; name 3, 5 or 7", n, n - 1);
	return LEASH_OK;
}

static leash_status
take_hosts(struct lsh_uri *uri, char *list, leash_error *err)
{
	const size_t most = uri->deployment == LSH_QUORUM ? LSH_QUORUM_MAX : LSH_HOSTS_MAX;
	const bool single = uri->deployment == LSH_SINGLE;
	leash_status st;

	if (single && strchr(list, ',') != NULL)
		return REFUSE(err, "host: one is expected, without a ','; lists of hosts are for redis+sentinel://, "
			      "redis+cluster:// and redis+quorum://; in a password '/' is written %%2F and '?' %%3F");
	for (char *next; list != NULL && uri->host_count < most; list = next) {
		size_t i = uri->host_count++; /* also what is half read is freed */
		char what[16] = "host";

		if (!single)
			snprintf(what, sizeof(what), "host %zu", i + 1);
		next = lsh_part_cut(list, ',');
		uri->hosts[i].port = uri->deployment == LSH_SENTINEL ? SENTINEL_PORT : SERVER_PORT;
		st = take_host(uri, &uri->hosts[i], list, what, err);
		if (st == LEASH_OK)
			st = check_new(uri, i, err);
		if (st != LEASH_OK)
			return st;
	}
	if ((st = check_count(uri, list != NULL, err)) != LEASH_OK)
		return st;
	uri->port = uri->hosts[0].port;
	if (single) {
		uri->host = uri->hosts[0].host;
		uri->hosts[0] = (struct lsh_endpoint){NULL, 0};
		uri->host_count = 0;
		return LEASH_OK;
	}
	return lsh_part_copy(&uri->host, uri->hosts[0].host, err);
}

/* ---- paths ---- */

static leash_status
take_socket(struct lsh_uri *uri, const char *place, char *path, leash_error *err)
{
	const size_t max = sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1;
	const char *example = lsh_uri_scheme_of(uri)->example;
	leash_status st;

	if (place[0] != '\0')
		return REFUSE(err, "host: a unix: URI has none; its path begins with a third slash, as in %s", example);
	if (path == NULL || path[0] == '\0')
		return REFUSE(err, "path: missing; it is that of a socket, as in %s", example);
	*--path = '/'; /* the third slash belongs to it */
	st = lsh_part_take(&uri->host, path, "path", err);
	if (st == LEASH_OK && strlen(path) > max)
		return REFUSE(err, "path: longer than the %zu bytes that the path of a socket can have", max);
	return st;
}

static leash_status
take_master(struct lsh_uri *uri, char *name, leash_error *err)
{
	const char *example = lsh_uri_scheme_of(uri)->example;
	leash_status st;

	if (name == NULL || name[0] == '\0')
		return REFUSE(err, "master: missing; what the sentinels call it follows the hosts, as in %s", example);
	st = lsh_part_take(&uri->master, name, "master", err);
	if (st == LEASH_OK && (strlen(name) > MAX_MASTER || !lsh_part_is_word(name)))
		return REFUSE(err, "master: a name of 1 to %d letters, digits, '-', '.', '_' is expected, as in %s",
			      MAX_MASTER, example);
	return st;
}

/* [master-name/][db] */
static leash_status
take_path(struct lsh_uri *uri, char *path, leash_error *err)
{
	const char *example = lsh_uri_scheme_of(uri)->example;
	bool sentinel = uri->deployment == LSH_SENTINEL;
	char *db = path;
	leash_status st;

	if (path != NULL && strchr(path, '@') != NULL) /* what is left of a login with a '/' in it */
		return REFUSE(err, "%s: a '@' after the host's '/'; in a user or a password '/' is written %%2F",
			      sentinel ? "master" : "database");
	if (sentinel) {
		db = path != NULL ? lsh_part_cut(path, '/') : NULL;
		if ((st = take_master(uri, path, err)) != LEASH_OK)
			return st;
	}
	if (db == NULL || db[0] == '\0')
		return LEASH_OK;
	if (uri->deployment == LSH_CLUSTER && strcmp(db, "0") != 0)
		return REFUSE(err, "database: a cluster has only database 0; nothing follows the hosts, as in %s",
			      example);
	if (!lsh_part_number(db, 0, LSH_DB_MAX, &uri->db))
		return REFUSE(err, "database: a number from 0 to %d is expected, as in %s/2", LSH_DB_MAX, example);
	return LEASH_OK;
}

/* ---- what messages call it ---- */

/* Write a path or a host as it reads in a URI, printable: at most 3 bytes for one. */
static char *
show_text(char *at, const char *text)
{
	for (; *text != '\0'; text++) {
		unsigned char byte = (unsigned char)*text;

		if (byte <= ' ' || byte > '~' || strchr("%?#", byte) != NULL)
			at += sprintf(at, "%%%02X", byte);
		else
			*at++ = (char)byte;
	}
	*at = '\0';
	return at;
}

static char *
show_host(char *at, const char *host, uint16_t port)
{
	bool address = strchr(host, ':') != NULL;

	at = show_text(stpcpy(at, address ? "[" : ""), host);
	return at + sprintf(at, "%s:%u", address ? "]" : "", port);
}

/* The URI without who we are, and without parameters but a socket's database. */
static bool
make_shown(struct lsh_uri *uri)
{
	const bool at_socket = uri->scheme == LSH_SCHEME_UNIX;
	size_t size = 64 + 3 * strlen(uri->host) + (uri->master != NULL ? strlen(uri->master) : 0);
	char *at;

	for (size_t i = 0; i < uri->host_count; i++)
		size += 3 * strlen(uri->hosts[i].host) + sizeof(",[]:65535");
	at = uri->shown = lsh_alloc(size);
	if (at == NULL)
		return false;
	at += sprintf(at, "%s://", lsh_uri_scheme_of(uri)->name);
	if (at_socket)
		at = show_text(at, uri->host);
	else if (uri->host_count == 0)
		at = show_host(at, uri->host, uri->port);
	for (size_t i = 0; i < uri->host_count; i++)
		at = show_host(stpcpy(at, i > 0 ? "," : ""), uri->hosts[i].host, uri->hosts[i].port);
	if (uri->master != NULL)
		at += sprintf(at, "/%s", uri->master);
	if (uri->db != 0)
		sprintf(at, "%s%d", at_socket ? "?db=" : "/", (int)uri->db);
	return true;
}

/* ---- all of it ---- */

static leash_status
parse(struct lsh_uri *uri, char *text, leash_error *err)
{
	char *authority = strstr(text, "://"), *query, *path, *place;
	const struct lsh_uri_scheme *scheme;
	leash_status st;

	if ((st = check_bytes(text, err)) != LEASH_OK)
		return st;
	if (authority == NULL)
		return REFUSE(err, "scheme: missing; it is " KNOWN_SCHEMES);
	*authority = '\0';
	authority += strlen("://");
	scheme = lsh_uri_scheme_named(text);
	if (scheme == NULL)
		return REFUSE(err, "scheme: not known; it is " KNOWN_SCHEMES);
	uri->deployment = scheme->deployment;
	uri->scheme = scheme->scheme;
	uri->tls.on = scheme->tls;

	query = lsh_part_cut(authority, '?');
	path = lsh_part_cut(authority, '/');
	place = lsh_part_cut(authority, '@');
	if (place != NULL && strchr(place, '@') != NULL)
		return REFUSE(err, "user or password: there is more than one '@' before the host; within them it is "
			      "%%40, and before a list of hosts they stand once");
	if (place == NULL)
		place = authority;
	else if ((st = take_login(uri, authority, err)) != LEASH_OK)
		return st;
	if (uri->scheme == LSH_SCHEME_UNIX)
		st = take_socket(uri, place, path, err);
	else if ((st = take_hosts(uri, place, err)) == LEASH_OK)
		st = take_path(uri, path, err);
	if (st == LEASH_OK)
		st = lsh_uri_take_query(uri, query, err);
	return st == LEASH_OK && !make_shown(uri) ? lsh_uri_no_memory(err) : st;
}

leash_status
lsh_uri_parse(struct lsh_uri *out, const char *text, leash_error *err)
{
	char *copy = NULL;
	leash_status st;

	memset(out, 0, sizeof(*out));
	if (text == NULL || text[0] == '\0')
		return REFUSE(err, "empty; it is written as in redis://127.0.0.1:6379");
	st = lsh_secret_copy(&copy, text, err);
	if (st == LEASH_OK)
		st = parse(out, copy, err);
	sodium_free(copy);
	if (st != LEASH_OK)
		lsh_uri_clear(out);
	return st;
}

/* In a URI that lacks a ':' or a '@' any part may be the password: all of them are wiped. */
void
lsh_uri_clear(struct lsh_uri *uri)
{
	char *const texts[] = {
		uri->host, uri->user, uri->password_file, uri->master, uri->sentinel_user, uri->sentinel_password_file,
		uri->redirects, uri->shown, uri->tls.cafile, uri->tls.cert, uri->tls.key, uri->tls.server_name,
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		lsh_secret_wipe(texts[i]);
	for (size_t i = 0; i < uri->host_count; i++)
		lsh_secret_wipe(uri->hosts[i].host);
	sodium_free(uri->password); /* wipes it */
	sodium_free(uri->sentinel_password);
	memset(uri, 0, sizeof(*uri));
}

/* ---- one server of it ---- */

/* Who we are there, and which database is ours. */
struct login {
	const char *user, *password, *file;
	int64_t db;
};

static bool
make_single(struct lsh_uri *out, const struct lsh_uri *uri, const char *host, uint16_t port, struct login login)
{
	const struct {
		char **to;
		const char *text;
	} copies[] = {
		{&out->host, host}, {&out->user, login.user}, {&out->password_file, login.file},
		{&out->redirects, uri->redirects}, {&out->tls.server_name, uri->tls.server_name},
		{&out->tls.cafile, uri->tls.cafile}, {&out->tls.cert, uri->tls.cert}, {&out->tls.key, uri->tls.key},
	};
	bool good;

	memset(out, 0, sizeof(*out));
	out->port = port;
	out->db = login.db;
	out->timeout_ms = uri->timeout_ms;
	out->tls.on = uri->tls.on;
	out->tls.unverified = uri->tls.unverified;
	out->preloaded = uri->preloaded;
	out->restart_guard_ms = uri->restart_guard_ms;
	good = login.password == NULL || lsh_secret_copy(&out->password, login.password, NULL) == LEASH_OK;
	for (size_t i = 0; i < sizeof(copies) / sizeof(copies[0]) && good; i++)
		good = copies[i].text == NULL || (*copies[i].to = lsh_strdup(copies[i].text)) != NULL;
	good = good && make_shown(out);
	if (!good)
		lsh_uri_clear(out);
	return good;
}

bool
lsh_uri_of_server(struct lsh_uri *out, const struct lsh_uri *uri, const char *host, uint16_t port)
{
	const struct login login = {uri->user, uri->password, uri->password_file, uri->db};

	return make_single(out, uri, host, port, login);
}

bool
lsh_uri_of_sentinel(struct lsh_uri *out, const struct lsh_uri *uri, size_t which)
{
	const struct login login = {uri->sentinel_user, uri->sentinel_password, uri->sentinel_password_file, 0};

	return make_single(out, uri, uri->hosts[which].host, uri->hosts[which].port, login);
}

bool
lsh_uri_allows(const struct lsh_uri *uri, const char *host)
{
	char allowed[256];
	size_t n;

	for (const char *at = uri->redirects; at != NULL; at = at[n] != '\0' ? at + n + 1 : NULL) {
		n = strcspn(at, ",");
		snprintf(allowed, sizeof(allowed), "%.*s", (int)n, at);
		if (lsh_part_is_host(allowed, host))
			return true;
	}
	return uri->redirects == NULL;
}

/* ---- its password ---- */

leash_status
lsh_uri_read_password(char **out, const struct lsh_uri *uri, leash_error *err)
{
	*out = NULL;
	if (uri->password_file == NULL)
		return LEASH_OK;
	return lsh_secret_from_file(out, uri->password_file, "password file", err);
}

bool
lsh_uri_is_repeated(const struct lsh_uri *uri, const char *bytes, size_t n)
{
	char *read;
	bool unknown = lsh_uri_read_password(&read, uri, NULL) != LEASH_OK;
	bool repeated = unknown || lsh_secret_is_in(read != NULL ? read : uri->password, bytes, n);

	sodium_free(read);
	return repeated;
}
