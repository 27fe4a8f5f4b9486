/* What the files that read URIs share: a part of the text, and who reads which one.
 *
 *   uri.c         the scheme; the text taken apart; the order in which the parts are read
 *   uri_part.c    cutting, decoding, hosts and numbers as they are written
 *   uri_secret.c  users, and passwords from the text, a file or the environment
 *   uri_place.c   where it is: a host, a list of hosts, a socket; master and database
 *   uri_query.c   the parameters
 *   uri_shown.c   what messages call it
 *   uri_server.c  the URI of one server of a deployment, and where its servers may send us
 *
 * For these files alone; all others include redis/uri.h. */
#ifndef LSH_REDIS_URI_PART_H
#define LSH_REDIS_URI_PART_H

#include "redis/uri.h"

#include "base/error.h"

/* Every refusal names the part that is wrong and says how to mend it. */
#define LSH_URI_REFUSE(err, ...) lsh_fail((err), LEASH_INVALID, 0, "uri: " __VA_ARGS__)

/* A part of the text. */
struct lsh_part {
	const char *at;
	size_t n;
};

/* The URI taken apart, before anything is decoded. */
struct lsh_uri_parts {
	struct lsh_part login; /* user[:password], without the '@'; login.at is NULL if there is no '@' */
	struct lsh_part place; /* of a host: host[:port]; of several: a list with commas */
	struct lsh_part path;  /* with its '/' */
	struct lsh_part query; /* without the '?'; query.at is NULL if there is no '?' */
};

/* ---- uri_part.c ---- */

bool lsh_part_is_letter(char c);
bool lsh_part_is_digit(char c);
/* Where the first `c` is; NULL: nowhere. */
const char *lsh_part_find(struct lsh_part part, char c);
/* Cut `part` off before the first `c` and return what follows that; .at is NULL if there is none. */
struct lsh_part lsh_part_cut(struct lsh_part *part, char c);
bool lsh_part_is(struct lsh_part part, const char *text);
/* The same, letter case aside. */
bool lsh_part_is_like(struct lsh_part part, const char *text);
bool lsh_part_number(struct lsh_part part, uint64_t min, uint64_t max, uint64_t *n);

/* Letters, digits, '-', '.' and '_' alone, and at least one; they are the same when they are decoded. */
bool lsh_part_is_word(struct lsh_part part);
/* A name, or an IPv4 address. */
bool lsh_part_is_name(struct lsh_part part);
bool lsh_part_is_ipv6(struct lsh_part part);
/* What follows the '%' of an IPv6 address. */
bool lsh_part_is_zone(struct lsh_part part);
/* The same name, letter case aside, or the same address, however it is written. An alias is not found out. */
bool lsh_part_is_host(struct lsh_part part, const char *host);

/* The size of `part` once it is decoded, or false: a bad escape, or one of NUL. */
bool lsh_part_decoded_size(struct lsh_part part, size_t *size);
/* Decode a part of which the size is known, with a NUL. */
void lsh_part_decode(char *out, struct lsh_part part);
/* The same into memory of its own; `what` is the part's name in messages. */
leash_status lsh_part_decode_new(char **out, struct lsh_part part, const char *what, leash_error *err);

leash_status lsh_part_bad_escape(const char *what, leash_error *err);
leash_status lsh_uri_no_memory(leash_error *err);
/* In a URI that lacks a ':' or a '@' any part may be the password. NULL is allowed. */
void lsh_uri_wipe(char *text);

/* ---- the readers ---- */

/* uri.c: as it is written without "://", in small letters. */
const char *lsh_uri_scheme_of(const struct lsh_uri *uri);

/* uri_secret.c; `parameter` is the name that a message shows. */
leash_status lsh_uri_take_login(struct lsh_uri *uri, struct lsh_part login, leash_error *err);
leash_status lsh_uri_user_new(char **out, struct lsh_part user, const char *what, leash_error *err);
/* The path, of a file that can be read. */
leash_status lsh_uri_take_secret_file(char **out, struct lsh_part value, const char *parameter, leash_error *err);
leash_status lsh_uri_secret_from_env(char **out, struct lsh_part value, const char *parameter, leash_error *err);
/* A copy, likewise in guarded memory; NULL: of nothing. False: no memory. */
bool lsh_uri_secret_copy(char **out, const char *secret);

/* uri_place.c */
leash_status lsh_uri_take_place(struct lsh_uri *uri, const struct lsh_uri_parts *parts, leash_error *err);
leash_status lsh_uri_take_db(struct lsh_uri *uri, struct lsh_part value, leash_error *err);

/* uri_query.c */
leash_status lsh_uri_take_query(struct lsh_uri *uri, struct lsh_part query, leash_error *err);

/* uri_shown.c. False: no memory. */
bool lsh_uri_make_shown(struct lsh_uri *uri);

#endif
