/* What the files that read URIs share: a part of the text, and what may be written in one.
 *
 *   uri.c         takes the text apart: who we are, hosts, path; also the URI of one server of a deployment
 *   uri_query.c   the parameters
 *   uri_part.c    names, addresses, numbers, escapes and schemes, as they are written
 *
 * A part is a piece of a copy of the text in guarded memory, because nobody knows yet whether it is a secret: it is cut
 * and decoded there. For these files alone; all others include redis/uri.h. */
#ifndef LSH_REDIS_URI_PART_H
#define LSH_REDIS_URI_PART_H

#include "redis/uri.h"

#include "base/error.h"

/* Every refusal names the part that is wrong and says how to write it. */
#define REFUSE(err, ...) lsh_fail((err), LEASH_INVALID, 0, "uri: " __VA_ARGS__)

#define LSH_LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
#define LSH_DIGITS "0123456789"

enum { LSH_DB_MAX = 16383 };

struct lsh_uri_scheme {
	const char *name;    /* in small letters, without "://" */
	const char *example; /* of the URI, without a database */
	enum lsh_deployment deployment;
	enum lsh_scheme scheme;
	bool tls;
};

const struct lsh_uri_scheme *lsh_uri_scheme_named(const char *name); /* NULL: none, letter case aside */
const struct lsh_uri_scheme *lsh_uri_scheme_of(const struct lsh_uri *uri);

/* Cut `part` off before the first `c` and return what follows that, or NULL. */
char *lsh_part_cut(char *part, char c);
/* At least one byte, and only such. */
bool lsh_part_consists_of(const char *part, const char *bytes);
/* Letters, digits, '-', '.' and '_', which are the same when they are decoded. */
bool lsh_part_is_word(const char *part);
/* A name, or an IPv4 address. */
bool lsh_part_is_name(const char *part);
/* An IPv6 address, up to its zone; and no zone, or a good one behind `mark`, which is "%" or "%25". */
bool lsh_part_is_ipv6(const char *part);
bool lsh_part_is_zoned(const char *part, const char *mark);
/* The same name, letter case aside, or the same address, however it is written. An alias is not found out. */
bool lsh_part_is_host(const char *part, const char *host);
bool lsh_part_number(const char *part, uint64_t min, uint64_t max, int64_t *n);

/* Decode in place, copy, or both; `what` is the part's name in messages. INVALID: a bad escape, or one of NUL. */
leash_status lsh_part_decode(char *part, const char *what, leash_error *err);
leash_status lsh_part_copy(char **out, const char *part, leash_error *err);
leash_status lsh_part_take(char **out, char *part, const char *what, leash_error *err);

leash_status lsh_uri_no_memory(leash_error *err);

/* uri_query.c. NULL: there are none. */
leash_status lsh_uri_take_query(struct lsh_uri *uri, char *query, leash_error *err);

#endif
