/* See uri_part.h. */
#include "redis/uri_part.h"

#include "base/memory.h"
#include "base/text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <string.h>

/* ---- schemes ---- */

#define WITH_AND_WITHOUT_TLS(kind, deployment, hosts) \
	{"redis" kind, "redis" kind "://" hosts, deployment, LSH_SCHEME_TCP, false}, \
	{"rediss" kind, "rediss" kind "://" hosts, deployment, LSH_SCHEME_TCP, true}

static const struct lsh_uri_scheme schemes[] = {
	WITH_AND_WITHOUT_TLS("", LSH_SINGLE, "cache:6379"),
	{"unix", "unix:///run/redis.sock", LSH_SINGLE, LSH_SCHEME_UNIX, false},
	WITH_AND_WITHOUT_TLS("+sentinel", LSH_SENTINEL, "a:26379,b:26379/main"),
	WITH_AND_WITHOUT_TLS("+cluster", LSH_CLUSTER, "a:6379,b:6379"),
	WITH_AND_WITHOUT_TLS("+quorum", LSH_QUORUM, "a:6379,b:6379,c:6379"),
};

static char
small(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Letter case aside, in whatever locale. */
static bool
is_like(const char *a, const char *b)
{
	while (*a != '\0' && small(*a) == small(*b)) {
		a++;
		b++;
	}
	return *a == *b;
}

const struct lsh_uri_scheme *
lsh_uri_scheme_named(const char *name)
{
	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
		if (is_like(name, schemes[i].name))
			return &schemes[i];
	}
	return NULL;
}

const struct lsh_uri_scheme *
lsh_uri_scheme_of(const struct lsh_uri *uri)
{
	const struct lsh_uri_scheme *s = schemes;

	while (s->deployment != uri->deployment || s->scheme != uri->scheme || s->tls != uri->tls.on)
		s++;
	return s;
}

/* ---- what is written ---- */

char *
lsh_part_cut(char *part, char c)
{
	char *found = strchr(part, c);

	if (found == NULL)
		return NULL;
	*found = '\0';
	return found + 1;
}

bool
lsh_part_consists_of(const char *part, const char *bytes)
{
	return part[0] != '\0' && part[strspn(part, bytes)] == '\0';
}

bool
lsh_part_is_word(const char *part)
{
	return lsh_part_consists_of(part, LSH_LETTERS LSH_DIGITS "-._");
}

bool
lsh_part_is_name(const char *part)
{
	return lsh_part_is_word(part) && strlen(part) <= 253; /* what DNS allows */
}

bool
lsh_part_is_ipv6(const char *part)
{
	char address[INET6_ADDRSTRLEN];
	struct in6_addr ignored;
	size_t n = strcspn(part, "%");

	if (n >= sizeof(address))
		return false;
	memcpy(address, part, n);
	address[n] = '\0';
	return inet_pton(AF_INET6, address, &ignored) == 1;
}

bool
lsh_part_is_zoned(const char *part, const char *mark)
{
	const char *zone = strchr(part, '%');

	if (zone == NULL)
		return true;
	if (strncmp(zone, mark, strlen(mark)) != 0)
		return false;
	zone += strlen(mark);
	return lsh_part_is_word(zone) && strlen(zone) < IF_NAMESIZE;
}

bool
lsh_part_is_host(const char *part, const char *host)
{
	struct in6_addr a, b;

	return is_like(part, host) || (inet_pton(AF_INET6, part, &a) == 1 && inet_pton(AF_INET6, host, &b) == 1 &&
				       memcmp(&a, &b, sizeof(a)) == 0);
}

bool
lsh_part_number(const char *part, uint64_t min, uint64_t max, int64_t *n)
{
	uint64_t read;

	if (!lsh_decimal_read(part, strlen(part), &read) || read < min || read > max)
		return false;
	*n = (int64_t)read;
	return true;
}

/* ---- escapes ---- */

static int
hex_value(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *found = memchr(digits, small(c), 16);

	return found != NULL ? (int)(found - digits) : -1;
}

leash_status
lsh_part_decode(char *part, const char *what, leash_error *err)
{
	char *to = part;

	for (; *part != '\0'; part++) {
		int high, low;

		*to = *part;
		if (*part == '%') {
			if ((high = hex_value(part[1])) < 0 || (low = hex_value(part[2])) < 0 || high + low == 0)
				return REFUSE(err, "%s: a '%%' without two hex digits behind it, or %%00; a '%%' "
					      "itself is written %%25", what);
			*to = (char)(high << 4 | low);
			part += 2;
		}
		to++;
	}
	*to = '\0';
	return LEASH_OK;
}

leash_status
lsh_uri_no_memory(leash_error *err)
{
	return lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "uri: out of memory");
}

leash_status
lsh_part_copy(char **out, const char *part, leash_error *err)
{
	*out = lsh_strdup(part);
	return *out != NULL ? LEASH_OK : lsh_uri_no_memory(err);
}

leash_status
lsh_part_take(char **out, char *part, const char *what, leash_error *err)
{
	leash_status st = lsh_part_decode(part, what, err);

	return st == LEASH_OK ? lsh_part_copy(out, part, err) : st;
}

bool
lsh_uri_has_password(const struct lsh_uri *uri)
{
	return uri->password != NULL || uri->password_file != NULL;
}
