/* What messages call a place: the URI without who we are there, and without parameters but a socket's database.
 *
 * It is a URI itself, of printable bytes only; read again it is the same place.
 *
 * Threads: any; nothing is kept. */
#include "redis/uri_part.h"

#include "base/memory.h"
#include "base/text.h"

#include <string.h>

/* Write a path, or a host, so that it reads as one in a URI and is printable. */
static char *
show_path(char *at, const char *path)
{
	static const char hex[] = "0123456789ABCDEF";

	for (; *path != '\0'; path++) {
		unsigned char byte = (unsigned char)*path;

		if (byte <= ' ' || byte > '~' || strchr("%?#", byte) != NULL) {
			*at++ = '%';
			*at++ = hex[byte >> 4];
			*at++ = hex[byte & 15];
		} else {
			*at++ = (char)byte;
		}
	}
	return at;
}

static char *
show_number(char *at, const char *before, uint64_t n)
{
	at = stpcpy(at, before);
	return at + lsh_decimal_write(at, n);
}

static char *
show_host(char *at, const char *host, uint16_t port)
{
	bool bracketed = strchr(host, ':') != NULL;

	if (bracketed)
		*at++ = '[';
	at = show_path(at, host);
	if (bracketed)
		*at++ = ']';
	return show_number(at, ":", port);
}

static char *
show_hosts(char *at, const struct lsh_uri *uri)
{
	for (size_t i = 0; i < uri->host_count; i++) {
		if (i > 0)
			*at++ = ',';
		at = show_host(at, uri->hosts[i].host, uri->hosts[i].port);
	}
	return at;
}

/* Enough for all of it, whatever must be escaped. */
static size_t
room(const struct lsh_uri *uri)
{
	const size_t host = sizeof(",[]:") + LSH_DECIMAL_DIGITS;
	size_t size = sizeof("rediss+sentinel://") + sizeof("/?db=") + LSH_DECIMAL_DIGITS + 3 * strlen(uri->host) + host;

	for (size_t i = 0; i < uri->host_count; i++)
		size += 3 * strlen(uri->hosts[i].host) + host;
	if (uri->master != NULL)
		size += 1 + strlen(uri->master);
	return size;
}

bool
lsh_uri_make_shown(struct lsh_uri *uri)
{
	char *at;

	uri->shown = lsh_alloc(room(uri));
	if (uri->shown == NULL)
		return false;
	at = stpcpy(stpcpy(uri->shown, lsh_uri_scheme_of(uri)), "://");
	if (uri->scheme == LSH_SCHEME_UNIX)
		at = show_path(at, uri->host);
	else if (uri->deployment == LSH_SINGLE)
		at = show_host(at, uri->host, uri->port);
	else
		at = show_hosts(at, uri);
	if (uri->master != NULL) {
		*at++ = '/';
		at = stpcpy(at, uri->master);
	}
	if (uri->db != 0)
		at = show_number(at, uri->scheme == LSH_SCHEME_UNIX ? "?db=" : "/", (uint64_t)uri->db);
	*at = '\0';
	return true;
}
