/* Parts of a URI: cut off, decoded, and looked at for what may be written there.
 *
 * A part is bytes of the URI's text, which nobody has checked and which may be a secret; none is copied before it is decoded.
 *
 * Threads: any; nothing is kept. */
#include "redis/uri_part.h"

#include "base/memory.h"
#include "base/text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sodium.h>
#include <string.h>

enum { MAX_HOST = 253 }; /* what DNS allows */

bool
lsh_part_is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool
lsh_part_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int
hex_value(char c)
{
	if (lsh_part_is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

const char *
lsh_part_find(struct lsh_part part, char c)
{
	return part.n == 0 ? NULL : memchr(part.at, c, part.n);
}

struct lsh_part
lsh_part_cut(struct lsh_part *part, char c)
{
	const char *found = lsh_part_find(*part, c);
	struct lsh_part rest = {NULL, 0};

	if (found != NULL) {
		rest.at = found + 1;
		rest.n = (size_t)(part->at + part->n - rest.at);
		part->n = (size_t)(found - part->at);
	}
	return rest;
}

bool
lsh_part_is(struct lsh_part part, const char *text)
{
	return part.n == strlen(text) && memcmp(part.at, text, part.n) == 0;
}

static char
small(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool
lsh_part_is_like(struct lsh_part part, const char *text)
{
	if (part.n != strlen(text))
		return false;
	for (size_t i = 0; i < part.n; i++) {
		if (small(part.at[i]) != small(text[i]))
			return false;
	}
	return true;
}

bool
lsh_part_number(struct lsh_part part, uint64_t min, uint64_t max, uint64_t *n)
{
	return lsh_decimal_read(part.at, part.n, n) && *n >= min && *n <= max;
}

bool
lsh_part_is_word(struct lsh_part part)
{
	for (size_t i = 0; i < part.n; i++) {
		if (!lsh_part_is_letter(part.at[i]) && !lsh_part_is_digit(part.at[i]) && memchr("-._", part.at[i], 3) == NULL)
			return false;
	}
	return part.n > 0;
}

bool
lsh_part_is_name(struct lsh_part part)
{
	return part.n <= MAX_HOST && lsh_part_is_word(part);
}

static bool
read_ipv6(struct in6_addr *out, struct lsh_part part)
{
	char digits[INET6_ADDRSTRLEN];

	if (part.n == 0 || part.n >= sizeof(digits))
		return false;
	memcpy(digits, part.at, part.n);
	digits[part.n] = '\0';
	return inet_pton(AF_INET6, digits, out) == 1;
}

bool
lsh_part_is_ipv6(struct lsh_part part)
{
	struct in6_addr ignored;

	return read_ipv6(&ignored, part);
}

bool
lsh_part_is_host(struct lsh_part part, const char *host)
{
	struct in6_addr first, second;

	if (lsh_part_is_like(part, host))
		return true;
	return read_ipv6(&first, part) && read_ipv6(&second, (struct lsh_part){host, strlen(host)}) &&
	       memcmp(&first, &second, sizeof(first)) == 0;
}

bool
lsh_part_is_zone(struct lsh_part part)
{
	return part.n < IF_NAMESIZE && lsh_part_is_word(part);
}

bool
lsh_part_decoded_size(struct lsh_part part, size_t *size)
{
	*size = 0;
	for (size_t i = 0; i < part.n; i++, (*size)++) {
		if (part.at[i] != '%')
			continue;
		if (part.n - i < 3 || hex_value(part.at[i + 1]) < 0 || hex_value(part.at[i + 2]) < 0)
			return false;
		if (part.at[i + 1] == '0' && part.at[i + 2] == '0')
			return false;
		i += 2;
	}
	return true;
}

void
lsh_part_decode(char *out, struct lsh_part part)
{
	for (size_t i = 0; i < part.n; i++) {
		if (part.at[i] == '%') {
			*out++ = (char)(hex_value(part.at[i + 1]) << 4 | hex_value(part.at[i + 2]));
			i += 2;
		} else {
			*out++ = part.at[i];
		}
	}
	*out = '\0';
}

leash_status
lsh_part_decode_new(char **out, struct lsh_part part, const char *what, leash_error *err)
{
	size_t size;

	if (!lsh_part_decoded_size(part, &size))
		return lsh_part_bad_escape(what, err);
	*out = lsh_alloc(size + 1);
	if (*out == NULL)
		return lsh_uri_no_memory(err);
	lsh_part_decode(*out, part);
	return LEASH_OK;
}

leash_status
lsh_part_bad_escape(const char *what, leash_error *err)
{
	return LSH_URI_REFUSE(err, "%s: a '%%' without two hex digits behind it, or %%00; a '%%' itself is written %%25", what);
}

leash_status
lsh_uri_no_memory(leash_error *err)
{
	return lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "uri: out of memory");
}

void
lsh_uri_wipe(char *text)
{
	if (text != NULL)
		sodium_memzero(text, strlen(text));
	lsh_free(text);
}
