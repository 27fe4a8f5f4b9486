/* Where a deployment is: a host, a list of hosts, or a socket; with it what follows the place, master and database.
 *
 * What stands there may be a password that was typed wrongly, so a message says which host of a list is wrong, by its number,
 * and shows nothing of it.
 *
 * Threads: any; nothing is kept. */
#include "redis/uri_part.h"

#include "base/memory.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

enum {
	SERVER_PORT = 6379,
	SENTINEL_PORT = 26379,
	MAX_DB = 16383,
	MAX_MASTER = 128,
};

/* One host, as messages call it. */
struct spot {
	char host[16], port[24]; /* "host" and "port", or "host 2" and "host 2: port" */
	const char *behind;      /* what it follows */
	const char *example;
};

static const char *
example_of(const struct lsh_uri *uri)
{
	switch (uri->deployment) {
	case LSH_SENTINEL:
		return "redis+sentinel://a:26379,b:26379/main";
	case LSH_CLUSTER:
		return "redis+cluster://a:6379,b:6379";
	case LSH_QUORUM:
		return "redis+quorum://a:6379,b:6379,c:6379";
	case LSH_SINGLE:
	default:
		return uri->scheme == LSH_SCHEME_UNIX ? "unix:///run/redis.sock" : "redis://127.0.0.1:6379";
	}
}

/* ---- one host ---- */

/* An IPv6 address as it stands between brackets: address, or address%25zone. */
static leash_status
take_ipv6(struct lsh_endpoint *out, struct lsh_part text, const struct spot *spot, leash_error *err)
{
	struct lsh_part address = text, zone = lsh_part_cut(&address, '%');

	if (!lsh_part_is_ipv6(address))
		return LSH_URI_REFUSE(err, "%s: what stands in brackets is not an IPv6 address, as in redis://[::1]:6379", spot->host);
	if (zone.at != NULL) {
		bool escaped = zone.n > 2 && zone.at[0] == '2' && zone.at[1] == '5';

		if (!escaped || !lsh_part_is_zone((struct lsh_part){zone.at + 2, zone.n - 2}))
			return LSH_URI_REFUSE(err, "%s: the zone of the IPv6 address is not valid; "
						   "it is written as in redis://[fe80::1%%25eth0]", spot->host);
	}
	return lsh_part_decode_new(&out->host, text, spot->host, err);
}

static leash_status
take_name(struct lsh_endpoint *out, struct lsh_part name, const struct spot *spot, leash_error *err)
{
	if (name.n == 0)
		return LSH_URI_REFUSE(err, "%s: missing; it follows %s, as in %s; in a password '/' is written %%2F and '?' %%3F",
				      spot->host, spot->behind, spot->example);
	if (!lsh_part_is_word(name))
		return LSH_URI_REFUSE(err, "%s: one name or address of letters, digits, '-', '.', '_' is expected; "
					   "an IPv6 address stands in brackets", spot->host);
	if (!lsh_part_is_name(name))
		return LSH_URI_REFUSE(err, "%s: longer than 253 bytes, which no name is", spot->host);
	return lsh_part_decode_new(&out->host, name, spot->host, err);
}

static leash_status
take_port(struct lsh_endpoint *out, struct lsh_part port, const struct spot *spot, leash_error *err)
{
	uint64_t n;

	if (!lsh_part_number(port, 1, UINT16_MAX, &n))
		return LSH_URI_REFUSE(err, "%s: a number from 1 to 65535 is expected after the host's ':'; "
					   "in a password '/' is written %%2F and '?' %%3F; an IPv6 address stands in brackets",
				      spot->port);
	out->port = (uint16_t)n;
	return LEASH_OK;
}

/* Read host[:port]; `out` has the port that it is if none is named. */
static leash_status
take_endpoint(struct lsh_endpoint *out, struct lsh_part text, const struct spot *spot, leash_error *err)
{
	struct lsh_part port = {NULL, 0};
	leash_status st;

	if (text.n > 0 && text.at[0] == '[') {
		struct lsh_part address = {text.at + 1, text.n - 1}, behind = lsh_part_cut(&address, ']');

		if (behind.at == NULL)
			return LSH_URI_REFUSE(err, "%s: a '[' without its ']'", spot->host);
		if (behind.n > 0 && behind.at[0] != ':')
			return LSH_URI_REFUSE(err, "%s: only ':' and a port may follow the ']'", spot->host);
		if (behind.n > 0)
			port = (struct lsh_part){behind.at + 1, behind.n - 1};
		st = take_ipv6(out, address, spot, err);
	} else {
		port = lsh_part_cut(&text, ':');
		st = take_name(out, text, spot, err);
	}
	if (st != LEASH_OK || port.at == NULL)
		return st;
	return take_port(out, port, spot, err);
}

/* ---- several hosts ---- */

/* A server that is named twice would have two votes in a quorum. */
static leash_status
check_new(const struct lsh_uri *uri, size_t which, leash_error *err)
{
	const struct lsh_endpoint *new = &uri->hosts[which];
	struct lsh_part host = {new->host, strlen(new->host)};

	for (size_t i = 0; i < which; i++) {
		if (uri->hosts[i].port == new->port && lsh_part_is_host(host, uri->hosts[i].host))
			return LSH_URI_REFUSE(err, "host %zu: the same as host %zu; each one is named once", which + 1, i + 1);
	}
	return LEASH_OK;
}

static leash_status
too_many(const struct lsh_uri *uri, leash_error *err)
{
	if (uri->deployment == LSH_QUORUM)
		return LSH_URI_REFUSE(err, "hosts: more than %d; a quorum has 3, 5 or 7 servers, and each of them is asked every time",
				      LSH_QUORUM_MAX);
	return LSH_URI_REFUSE(err, "hosts: more than %d; some of them are enough to find the others", LSH_HOSTS_MAX);
}

static leash_status
check_quorum(const struct lsh_uri *uri, leash_error *err)
{
	size_t n = uri->host_count;

	if (n == 1)
		return LSH_URI_REFUSE(err, "hosts: one server is no quorum, which has 3, 5 or 7; a single one is written %s://",
				      uri->tls.on ? "rediss" : "redis");
	if (n % 2 == 0)
		return LSH_URI_REFUSE(err, "hosts: %zu servers survive no more failures than %zu: one more server buys nothing but "
					   "another thing to fail; name 3, 5 or 7", n, n - 1);
	return LEASH_OK;
}

static leash_status
take_hosts(struct lsh_uri *uri, struct lsh_part list, leash_error *err)
{
	const size_t most = uri->deployment == LSH_QUORUM ? LSH_QUORUM_MAX : LSH_HOSTS_MAX;
	struct lsh_part next;
	leash_status st;

	do {
		size_t i = uri->host_count;
		struct spot spot = {.behind = i == 0 ? "'://' or the '@'" : "the ','", .example = example_of(uri)};

		if (i == most)
			return too_many(uri, err);
		snprintf(spot.host, sizeof(spot.host), "host %zu", i + 1);
		snprintf(spot.port, sizeof(spot.port), "host %zu: port", i + 1);
		next = lsh_part_cut(&list, ',');
		uri->hosts[i].port = uri->deployment == LSH_SENTINEL ? SENTINEL_PORT : SERVER_PORT;
		uri->host_count++; /* also what is half read is freed */
		st = take_endpoint(&uri->hosts[i], list, &spot, err);
		if (st == LEASH_OK)
			st = check_new(uri, i, err);
		if (st != LEASH_OK)
			return st;
		list = next;
	} while (next.at != NULL);
	if (uri->deployment == LSH_QUORUM && (st = check_quorum(uri, err)) != LEASH_OK)
		return st;
	uri->port = uri->hosts[0].port;
	uri->host = lsh_strdup(uri->hosts[0].host);
	return uri->host != NULL ? LEASH_OK : lsh_uri_no_memory(err);
}

/* ---- what follows the hosts ---- */

leash_status
lsh_uri_take_db(struct lsh_uri *uri, struct lsh_part value, leash_error *err)
{
	const char *example = example_of(uri), *behind = "/2";
	uint64_t n;

	if (uri->scheme == LSH_SCHEME_UNIX)
		behind = "?db=2";
	else if (uri->deployment == LSH_SINGLE)
		example = "redis://cache:6379";
	if (!lsh_part_number(value, 0, MAX_DB, &n))
		return LSH_URI_REFUSE(err, "database: a number from 0 to %d is expected, as in %s%s", MAX_DB, example, behind);
	uri->db = (int)n;
	return LEASH_OK;
}

/* A '@' in the path is what is left of a login with a '/' in it. */
static leash_status
check_path(struct lsh_part path, const char *what, leash_error *err)
{
	if (lsh_part_find(path, '@') != NULL)
		return LSH_URI_REFUSE(err, "%s: a '@' after the host's '/'; in a user or a password '/' is written %%2F", what);
	return LEASH_OK;
}

static leash_status
take_db_path(struct lsh_uri *uri, struct lsh_part path, leash_error *err)
{
	leash_status st = check_path(path, "database", err);

	if (st != LEASH_OK || path.n <= 1)
		return st;
	if (uri->deployment != LSH_CLUSTER)
		return lsh_uri_take_db(uri, (struct lsh_part){path.at + 1, path.n - 1}, err);
	if (!lsh_part_is(path, "/0"))
		return LSH_URI_REFUSE(err, "database: a cluster has only database 0; nothing follows the hosts, as in %s", example_of(uri));
	return LEASH_OK;
}

/* /master-name[/db] */
static leash_status
take_master_path(struct lsh_uri *uri, struct lsh_part path, leash_error *err)
{
	leash_status st = check_path(path, "master", err);
	struct lsh_part name = path, db;

	if (st != LEASH_OK)
		return st;
	if (name.n > 0)
		name = (struct lsh_part){path.at + 1, path.n - 1};
	db = lsh_part_cut(&name, '/');
	if (name.n == 0)
		return LSH_URI_REFUSE(err, "master: missing; what the sentinels call it follows the hosts, as in %s", example_of(uri));
	st = lsh_part_decode_new(&uri->master, name, "master", err);
	if (st != LEASH_OK)
		return st;
	name = (struct lsh_part){uri->master, strlen(uri->master)};
	if (name.n > MAX_MASTER || !lsh_part_is_word(name))
		return LSH_URI_REFUSE(err, "master: a name of 1 to %d letters, digits, '-', '.', '_' is expected, as in %s", MAX_MASTER,
				      example_of(uri));
	return db.n == 0 ? LEASH_OK : lsh_uri_take_db(uri, db, err);
}

/* ---- each kind of place ---- */

static leash_status
take_socket(struct lsh_uri *uri, struct lsh_part place, struct lsh_part path, leash_error *err)
{
	const size_t max = sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1;
	leash_status st;

	if (place.n > 0)
		return LSH_URI_REFUSE(err, "host: a unix: URI has none; its path begins with a third slash, as in %s", example_of(uri));
	if (path.n <= 1)
		return LSH_URI_REFUSE(err, "path: missing; it is that of a socket, as in %s", example_of(uri));
	st = lsh_part_decode_new(&uri->host, path, "path", err);
	if (st == LEASH_OK && strlen(uri->host) > max)
		return LSH_URI_REFUSE(err, "path: longer than the %zu bytes that the path of a socket can have", max);
	return st;
}

static leash_status
take_host(struct lsh_uri *uri, struct lsh_part place, leash_error *err)
{
	const struct spot spot = {"host", "port", "'://' or the '@'", example_of(uri)};
	struct lsh_endpoint it = {NULL, SERVER_PORT};
	leash_status st;

	if (lsh_part_find(place, ',') != NULL)
		return LSH_URI_REFUSE(err, "host: one is expected, without a ','; lists of hosts are for redis+sentinel://, "
					   "redis+cluster:// and redis+quorum://; in a password '/' is written %%2F and '?' %%3F");
	st = take_endpoint(&it, place, &spot, err);
	uri->host = it.host;
	uri->port = it.port;
	return st;
}

leash_status
lsh_uri_take_place(struct lsh_uri *uri, const struct lsh_uri_parts *parts, leash_error *err)
{
	leash_status st;

	if (uri->scheme == LSH_SCHEME_UNIX)
		return take_socket(uri, parts->place, parts->path, err);
	if (uri->deployment == LSH_SINGLE)
		st = take_host(uri, parts->place, err);
	else
		st = take_hosts(uri, parts->place, err);
	if (st != LEASH_OK)
		return st;
	return uri->deployment == LSH_SENTINEL ? take_master_path(uri, parts->path, err) : take_db_path(uri, parts->path, err);
}
