/* URIs, from the text that a person or a configuration wrote to what a connection needs.
 *
 *   redis://[user[:password]@]host[:port][/db][?parameters]
 *   unix://[user[:password]@]/path[?parameters]
 *
 * Whatever is wrong is refused here, with a text that says which part it is and how to mend it: a port that is taken for
 * a part of the host, or a parameter that is dropped in silence, is found out on the day when it matters.
 *
 * Secrets: where a URI is malformed nobody can tell which of its bytes were meant as the password: the authority of
 * "redis://user:pa/ss@host" ends at the slash. So no message shows anything of the URI, but for what must be named to be
 * found: a parameter's name, and the file or the variable where a password was to be. A password goes from the text, the
 * file or the environment straight into guarded memory, without a copy on the way.
 *
 * Threads: any; nothing is kept between calls. */
#include "redis/uri.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/token.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum {
	DEFAULT_PORT = 6379,
	MAX_DB = 16383,
	MIN_TIMEOUT_MS = 10,
	MAX_TIMEOUT_MS = 60000,
	MAX_HOST = 253,      /* what DNS allows */
	MAX_SECRET = 4096,   /* a user, a password */
	MAX_PATH_SHOWN = 96, /* of a path in a message */
	MAX_NAME_SHOWN = 32, /* of a parameter's name in a message; ours are shorter */
};

/* Every refusal names the part that is wrong and says how to mend it. */
#define refuse(err, ...) lsh_fail((err), LEASH_INVALID, 0, "uri: " __VA_ARGS__)

/* A part of the text. */
struct part {
	const char *at;
	size_t n;
};

/* The URI taken apart, before anything is decoded. */
struct parts {
	struct part login; /* user[:password], without the '@'; login.at is NULL if there is no '@' */
	struct part place; /* of a host: host[:port] */
	struct part path;  /* with its '/' */
	struct part query; /* without the '?'; query.at is NULL if there is no '?' */
};

static bool
is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int
hex_value(char c)
{
	if (is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static const char *
find(struct part part, char c)
{
	return part.n == 0 ? NULL : memchr(part.at, c, part.n);
}

/* Cut `part` off before the first `c` and return what follows that; .at is NULL if there is none. */
static struct part
cut_at(struct part *part, char c)
{
	const char *found = find(*part, c);
	struct part rest = {NULL, 0};

	if (found != NULL) {
		rest.at = found + 1;
		rest.n = (size_t)(part->at + part->n - rest.at);
		part->n = (size_t)(found - part->at);
	}
	return rest;
}

static bool
part_is(struct part part, const char *text)
{
	return part.n == strlen(text) && memcmp(part.at, text, part.n) == 0;
}

static bool
read_number(struct part part, uint64_t min, uint64_t max, uint64_t *n)
{
	return lsh_decimal_read(part.at, part.n, n) && *n >= min && *n <= max;
}

/* The size of `part` once it is decoded, or false: a bad escape, or one of NUL. */
static bool
decoded_size(struct part part, size_t *size)
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

/* Decode `part`, which decoded_size() has approved, with a NUL. */
static void
decode(char *out, struct part part)
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

static leash_status
no_memory(leash_error *err)
{
	return lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "uri: out of memory");
}

/* In a URI that lacks a ':' or a '@' any part may be the password. */
static void
wipe_text(char *text)
{
	if (text != NULL)
		sodium_memzero(text, strlen(text));
	lsh_free(text);
}

static leash_status
bad_escape(const char *what, leash_error *err)
{
	return refuse(err, "%s: a '%%' without two hex digits behind it, or %%00; a '%%' itself is written %%25", what);
}

static leash_status
decode_new(char **out, struct part part, const char *what, leash_error *err)
{
	size_t size;

	if (!decoded_size(part, &size))
		return bad_escape(what, err);
	*out = lsh_alloc(size + 1);
	if (*out == NULL)
		return no_memory(err);
	decode(*out, part);
	return LEASH_OK;
}

/* Guarded memory for a password of `size` bytes. */
static leash_status
new_secret(char **out, size_t size, leash_error *err)
{
	if (!lsh_sodium_ready())
		return lsh_fail(err, LEASH_UNSUPPORTED, 0,
				"uri: password: the system has no randomness, which the memory that guards it needs");
	*out = sodium_malloc(size + 1);
	if (*out == NULL)
		return no_memory(err);
	return LEASH_OK;
}

static leash_status
too_long(const char *what, leash_error *err)
{
	return refuse(err, "%s: longer than %d bytes", what, MAX_SECRET);
}

static leash_status
take_user(struct lsh_uri *uri, struct part user, leash_error *err)
{
	leash_status st;

	if (user.n == 0) /* as in redis://:password@host: the default user */
		return LEASH_OK;
	st = decode_new(&uri->user, user, "user", err);
	if (st == LEASH_OK && strlen(uri->user) > MAX_SECRET)
		return too_long("user", err);
	return st;
}

static leash_status
take_password(struct lsh_uri *uri, struct part password, leash_error *err)
{
	leash_status st;
	size_t size;

	if (!decoded_size(password, &size))
		return bad_escape("password", err);
	if (size == 0)
		return refuse(err, "password: empty, there is nothing between ':' and '@'");
	if (size > MAX_SECRET)
		return too_long("password", err);
	st = new_secret(&uri->password, size, err);
	if (st == LEASH_OK)
		decode(uri->password, password);
	return st;
}

static leash_status
take_login(struct lsh_uri *uri, struct part login, leash_error *err)
{
	struct part user = login, password;
	leash_status st;

	if (login.at == NULL)
		return LEASH_OK;
	if (login.n == 0)
		return refuse(err, "user: nothing stands before the '@'; leave it out if there is no user");
	password = cut_at(&user, ':');
	st = take_user(uri, user, err);
	if (st != LEASH_OK || password.at == NULL)
		return st;
	return take_password(uri, password, err);
}

/* An IPv6 address as it stands between brackets: address, or address%25zone. */
static leash_status
take_ipv6(struct lsh_uri *uri, struct part text, leash_error *err)
{
	struct part address = text, zone = cut_at(&address, '%');
	char digits[INET6_ADDRSTRLEN];
	struct in6_addr ignored;

	if (address.n < sizeof(digits) && address.n > 0) {
		memcpy(digits, address.at, address.n);
		digits[address.n] = '\0';
	} else {
		digits[0] = '\0';
	}
	if (inet_pton(AF_INET6, digits, &ignored) != 1)
		return refuse(err, "host: what stands in brackets is not an IPv6 address, as in redis://[::1]:6379");
	if (zone.at != NULL) {
		bool good = zone.n > 2 && zone.n - 2 < IF_NAMESIZE && zone.at[0] == '2' && zone.at[1] == '5';

		for (size_t i = 2; good && i < zone.n; i++)
			good = is_letter(zone.at[i]) || is_digit(zone.at[i]) || strchr("-._", zone.at[i]) != NULL;
		if (!good)
			return refuse(err, "host: the zone of the IPv6 address is not valid; "
					   "it is written as in redis://[fe80::1%%25eth0]");
	}
	return decode_new(&uri->host, text, "host", err);
}

static leash_status
take_name(struct lsh_uri *uri, struct part name, leash_error *err)
{
	if (name.n == 0)
		return refuse(err, "host: missing; it follows redis:// or the '@', as in redis://127.0.0.1:6379; "
				   "in a password '/' is written %%2F and '?' %%3F");
	if (name.n > MAX_HOST)
		return refuse(err, "host: longer than %d bytes", MAX_HOST);
	for (size_t i = 0; i < name.n; i++) {
		if (!is_letter(name.at[i]) && !is_digit(name.at[i]) && strchr("-._", name.at[i]) == NULL)
			return refuse(err, "host: one name or address of letters, digits, '-', '.', '_' is expected; "
					   "an IPv6 address stands in brackets");
	}
	return decode_new(&uri->host, name, "host", err);
}

static leash_status
take_port(struct lsh_uri *uri, struct part port, leash_error *err)
{
	uint64_t n;

	if (!read_number(port, 1, UINT16_MAX, &n))
		return refuse(err, "port: a number from 1 to 65535 is expected after the host's ':'; "
				   "in a password '/' is written %%2F and '?' %%3F; an IPv6 address stands in brackets");
	uri->port = (uint16_t)n;
	return LEASH_OK;
}

static leash_status
take_host(struct lsh_uri *uri, struct part host, leash_error *err)
{
	struct part port = {NULL, 0};
	leash_status st;

	uri->port = DEFAULT_PORT;
	if (host.n > 0 && host.at[0] == '[') {
		struct part address = {host.at + 1, host.n - 1}, behind = cut_at(&address, ']');

		if (behind.at == NULL)
			return refuse(err, "host: a '[' without its ']'");
		if (behind.n > 0 && behind.at[0] != ':')
			return refuse(err, "host: only ':' and a port may follow the ']'");
		if (behind.n > 0)
			port = (struct part){behind.at + 1, behind.n - 1};
		st = take_ipv6(uri, address, err);
	} else {
		port = cut_at(&host, ':');
		st = take_name(uri, host, err);
	}
	if (st != LEASH_OK || port.at == NULL)
		return st;
	return take_port(uri, port, err);
}

static leash_status
take_db(struct lsh_uri *uri, struct part value, leash_error *err)
{
	const char *example = uri->scheme == LSH_SCHEME_UNIX ? "unix:///run/redis.sock?db=2" : "redis://cache:6379/2";
	uint64_t n;

	if (!read_number(value, 0, MAX_DB, &n))
		return refuse(err, "database: a number from 0 to %d is expected, as in %s", MAX_DB, example);
	uri->db = (int)n;
	return LEASH_OK;
}

static leash_status
take_db_path(struct lsh_uri *uri, struct part path, leash_error *err)
{
	if (path.n <= 1)
		return LEASH_OK;
	if (find(path, '@') != NULL)
		return refuse(err, "database: a '@' after the host's '/'; in a user or a password '/' is written %%2F");
	return take_db(uri, (struct part){path.at + 1, path.n - 1}, err);
}

static leash_status
take_socket(struct lsh_uri *uri, struct part place, struct part path, leash_error *err)
{
	const size_t max = sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1;
	leash_status st;

	if (place.n > 0)
		return refuse(err, "host: a unix: URI has none; its path begins with a third slash, "
				   "as in unix:///run/redis.sock");
	if (path.n <= 1)
		return refuse(err, "path: missing; it is that of a socket, as in unix:///run/redis.sock");
	st = decode_new(&uri->host, path, "path", err);
	if (st == LEASH_OK && strlen(uri->host) > max)
		return refuse(err, "path: longer than the %zu bytes that the path of a socket can have", max);
	return st;
}

static leash_status
take_place(struct lsh_uri *uri, const struct parts *parts, leash_error *err)
{
	leash_status st;

	if (uri->scheme == LSH_SCHEME_UNIX)
		return take_socket(uri, parts->place, parts->path, err);
	st = take_host(uri, parts->place, err);
	if (st != LEASH_OK)
		return st;
	return take_db_path(uri, parts->path, err);
}

static leash_status
take_timeout(struct lsh_uri *uri, struct part value, leash_error *err)
{
	uint64_t n;

	if (!read_number(value, MIN_TIMEOUT_MS, MAX_TIMEOUT_MS, &n))
		return refuse(err, "timeout: milliseconds from %d to %d are expected, as in ?timeout=1000",
			      MIN_TIMEOUT_MS, MAX_TIMEOUT_MS);
	uri->timeout_ms = (int64_t)n;
	return LEASH_OK;
}

static leash_status
take_query_db(struct lsh_uri *uri, struct part value, leash_error *err)
{
	if (uri->scheme != LSH_SCHEME_UNIX)
		return refuse(err, "parameter 'db': is for unix: URIs; here the database follows the host, "
				   "as in redis://cache:6379/2");
	return take_db(uri, value, err);
}

static leash_status
password_twice(leash_error *err)
{
	return refuse(err, "password: given twice; one of 'user:password@', password_file and password_env is enough");
}

/* Open a file that a password is to be read from. Only a regular one, of which no writer is awaited: whoever opens a client
 * has said how long that may take. */
static leash_status
open_regular(int *out, const char *path, const char *shown, leash_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat s = {.st_mode = 0};
	leash_status st;

	if (fd < 0) {
		st = errno == EMFILE || errno == ENFILE || errno == ENOMEM ? LEASH_NO_MEMORY : LEASH_INVALID;
		return lsh_fail(err, st, errno, "uri: password_file '%s': %m", shown);
	}
	if (fstat(fd, &s) == 0 && S_ISREG(s.st_mode)) {
		*out = fd;
		return LEASH_OK;
	}
	if (s.st_mode == 0)
		st = lsh_fail(err, LEASH_INVALID, errno, "uri: password_file '%s': %m", shown);
	else
		st = refuse(err, "password_file '%s': not a regular file", shown);
	close(fd);
	return st;
}

/* Read up to `size` bytes, to the end of the file; -1 and errno if that fails. */
static ssize_t
read_all(int fd, char *out, size_t size)
{
	size_t length = 0;

	while (length < size) {
		ssize_t n = read(fd, out + length, size - length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		length += (size_t)n;
	}
	return (ssize_t)length;
}

/* Read a password from the file at `path` into `secret`, of MAX_SECRET + 2 bytes. */
static leash_status
read_password(char *secret, const char *path, leash_error *err)
{
	char shown[MAX_PATH_SHOWN];
	leash_status st;
	ssize_t n;
	int fd = -1;

	lsh_show(shown, sizeof(shown), path, strlen(path));
	st = open_regular(&fd, path, shown, err);
	if (st != LEASH_OK)
		return st;
	n = read_all(fd, secret, MAX_SECRET + 1);
	if (n < 0)
		st = lsh_fail(err, LEASH_INVALID, errno, "uri: password_file '%s': %m", shown);
	close(fd);
	if (n < 0)
		return st;
	if (n > MAX_SECRET)
		return refuse(err, "password_file '%s': longer than %d bytes", shown, MAX_SECRET);
	if (memchr(secret, '\0', (size_t)n) != NULL)
		return refuse(err, "password_file '%s': has a NUL byte in it", shown);
	if (n > 0 && secret[n - 1] == '\n')
		n--;
	if (n == 0)
		return refuse(err, "password_file '%s': empty", shown);
	secret[n] = '\0';
	return LEASH_OK;
}

static leash_status
take_password_file(struct lsh_uri *uri, struct part value, leash_error *err)
{
	char *path = NULL;
	leash_status st;

	if (uri->password != NULL)
		return password_twice(err);
	if (value.n == 0)
		return refuse(err, "password_file: empty; it is a path, as in ?password_file=/etc/redis.password");
	st = decode_new(&path, value, "password_file", err);
	if (st == LEASH_OK)
		st = new_secret(&uri->password, MAX_SECRET + 1, err);
	if (st == LEASH_OK)
		st = read_password(uri->password, path, err);
	wipe_text(path);
	return st;
}

/* What a shell takes for the name of a variable. Others exist, but a password that was put there by mistake is seldom
 * one. */
static bool
is_variable(const char *name)
{
	for (size_t i = 0; name[i] != '\0'; i++) {
		if (!is_letter(name[i]) && name[i] != '_' && (i == 0 || !is_digit(name[i])))
			return false;
	}
	return name[0] != '\0';
}

static leash_status
copy_password(struct lsh_uri *uri, const char *name, leash_error *err)
{
	char shown[MAX_PATH_SHOWN];
	const char *value;
	leash_status st;
	size_t n;

	if (!is_variable(name))
		return refuse(err, "password_env: the name of a variable of the environment is expected, "
				   "as in ?password_env=REDIS_PASSWORD");
	lsh_show(shown, sizeof(shown), name, strlen(name));
	value = getenv(name);
	if (value == NULL)
		return refuse(err, "password_env: the environment has no variable '%s'", shown);
	n = strlen(value);
	if (n == 0)
		return refuse(err, "password_env: the variable '%s' is empty", shown);
	if (n > MAX_SECRET)
		return refuse(err, "password_env: the variable '%s' is longer than %d bytes", shown, MAX_SECRET);
	st = new_secret(&uri->password, n, err);
	if (st == LEASH_OK)
		memcpy(uri->password, value, n + 1);
	return st;
}

static leash_status
take_password_env(struct lsh_uri *uri, struct part value, leash_error *err)
{
	char *name = NULL;
	leash_status st;

	if (uri->password != NULL)
		return password_twice(err);
	st = decode_new(&name, value, "password_env", err);
	if (st == LEASH_OK)
		st = copy_password(uri, name, err);
	wipe_text(name);
	return st;
}

static const struct parameter {
	const char *name;
	leash_status (*take)(struct lsh_uri *uri, struct part value, leash_error *err);
} parameters[] = {
	{"timeout", take_timeout},
	{"password_file", take_password_file},
	{"password_env", take_password_env},
	{"db", take_query_db},
};

enum { PARAMETERS = sizeof(parameters) / sizeof(parameters[0]) };

/* Name a parameter unless it could be a part of a password with a '?' in it: then there is a '@' in the query. */
static leash_status
unknown_parameter(const struct lsh_uri *uri, struct part name, struct part query, leash_error *err)
{
	const char *known = "timeout, password_file, password_env";
	bool good = name.n > 0 && name.n <= MAX_NAME_SHOWN && find(query, '@') == NULL;

	if (uri->scheme == LSH_SCHEME_UNIX)
		known = "timeout, password_file, password_env, db";
	for (size_t i = 0; good && i < name.n; i++)
		good = is_letter(name.at[i]) || is_digit(name.at[i]) || name.at[i] == '_' || name.at[i] == '-';
	if (good)
		return refuse(err, "parameter '%.*s': not known; there are %s", (int)name.n, name.at, known);
	return refuse(err, "parameters: a name is not known; there are %s; in a user or a password '?' is written %%3F",
		      known);
}

static leash_status
take_query(struct lsh_uri *uri, struct part query, leash_error *err)
{
	struct part all = query, next;
	bool seen[PARAMETERS] = {false};

	for (; query.at != NULL; query = next) {
		struct part name, value;
		size_t i = 0;
		leash_status st;

		next = cut_at(&query, '&');
		if (query.n == 0)
			return refuse(err, "parameters: one is empty; they are written ?name=value&name=value");
		name = query;
		value = cut_at(&name, '=');
		while (i < PARAMETERS && !part_is(name, parameters[i].name))
			i++;
		if (i == PARAMETERS)
			return unknown_parameter(uri, name, all, err);
		if (value.at == NULL)
			return refuse(err, "parameter '%s': has no value; '=' and the value follow the name",
				      parameters[i].name);
		if (seen[i])
			return refuse(err, "parameter '%s': given twice", parameters[i].name);
		seen[i] = true;
		st = parameters[i].take(uri, value, err);
		if (st != LEASH_OK)
			return st;
	}
	return LEASH_OK;
}

static bool
has_scheme(const char *text, size_t n, const char *scheme)
{
	for (size_t i = 0; i < n; i++) {
		int c = text[i] >= 'A' && text[i] <= 'Z' ? text[i] - 'A' + 'a' : text[i];

		if (c != scheme[i]) /* also where `scheme` is shorter and ends */
			return false;
	}
	return scheme[n] == '\0';
}

static leash_status
take_scheme(struct lsh_uri *uri, const char *text, const char **rest, leash_error *err)
{
	static const char *const unsupported[] = {"rediss", "redis+sentinel", "redis+cluster", "redis+quorum"};
	const char *end = strstr(text, "://");
	size_t n;

	*rest = NULL;
	if (end == NULL)
		return refuse(err, "scheme: missing; it begins with redis:// or unix://");
	n = (size_t)(end - text);
	*rest = end + 3;
	if (has_scheme(text, n, "redis")) {
		uri->scheme = LSH_SCHEME_TCP;
		return LEASH_OK;
	}
	if (has_scheme(text, n, "unix")) {
		uri->scheme = LSH_SCHEME_UNIX;
		return LEASH_OK;
	}
	for (size_t i = 0; i < sizeof(unsupported) / sizeof(unsupported[0]); i++) {
		if (has_scheme(text, n, unsupported[i]))
			return lsh_fail(err, LEASH_UNSUPPORTED, 0,
					"uri: scheme: this build does not speak %s://, but redis:// and unix://",
					unsupported[i]);
	}
	return refuse(err, "scheme: not known; it is redis:// or unix://");
}

/* Bytes that no URI has, wherever they stand. */
static leash_status
check_bytes(const char *text, leash_error *err)
{
	for (size_t i = 0; text[i] != '\0'; i++) {
		if ((unsigned char)text[i] <= ' ' || text[i] == 0x7f)
			return refuse(err, "byte %zu: a space or a control character; within a part it is written %%XX, "
					   "a space %%20", i + 1);
		if (text[i] == '#')
			return refuse(err, "byte %zu: a '#', but there are no fragments here; within a part it is written "
					   "%%23", i + 1);
	}
	return LEASH_OK;
}

static leash_status
take_apart(struct parts *parts, const char *text, leash_error *err)
{
	struct part all = {text, strlen(text)};
	struct part authority, place;

	parts->query = cut_at(&all, '?');
	authority = all;
	parts->path = cut_at(&authority, '/');
	if (parts->path.at != NULL) { /* the '/' belongs to it */
		parts->path.at--;
		parts->path.n++;
	}
	parts->login = authority;
	place = cut_at(&parts->login, '@');
	parts->place = place;
	if (place.at == NULL) {
		parts->place = authority;
		parts->login.at = NULL;
	}
	if (find(parts->place, '@') != NULL)
		return refuse(err, "user or password: there is more than one '@' before the host; within them it is %%40");
	return LEASH_OK;
}

/* Write a path so that it reads as one in a URI and is printable. */
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

/* What messages call the server: the place without who we are there, and without parameters but the database. */
static leash_status
make_shown(struct lsh_uri *uri, leash_error *err)
{
	static const char tcp[] = "redis://", local[] = "unix://";
	bool bracketed = uri->scheme == LSH_SCHEME_TCP && strchr(uri->host, ':') != NULL;
	char *at;

	uri->shown = lsh_alloc(sizeof(tcp) + 3 * strlen(uri->host) + sizeof("[]:?db=") + 2 * LSH_DECIMAL_DIGITS);
	if (uri->shown == NULL)
		return no_memory(err);
	at = stpcpy(uri->shown, uri->scheme == LSH_SCHEME_UNIX ? local : tcp);
	if (bracketed)
		*at++ = '[';
	at = show_path(at, uri->host);
	if (bracketed)
		*at++ = ']';
	if (uri->scheme == LSH_SCHEME_TCP)
		at = show_number(at, ":", uri->port);
	if (uri->db != 0)
		at = show_number(at, uri->scheme == LSH_SCHEME_UNIX ? "?db=" : "/", (uint64_t)uri->db);
	*at = '\0';
	return LEASH_OK;
}

static leash_status
parse(struct lsh_uri *uri, const char *text, leash_error *err)
{
	const char *rest;
	struct parts parts;
	leash_status st;

	if (text == NULL || text[0] == '\0')
		return refuse(err, "empty; it is written as in redis://127.0.0.1:6379");
	if ((st = check_bytes(text, err)) != LEASH_OK)
		return st;
	if ((st = take_scheme(uri, text, &rest, err)) != LEASH_OK)
		return st;
	if ((st = take_apart(&parts, rest, err)) != LEASH_OK)
		return st;
	if ((st = take_login(uri, parts.login, err)) != LEASH_OK)
		return st;
	if ((st = take_place(uri, &parts, err)) != LEASH_OK)
		return st;
	if ((st = take_query(uri, parts.query, err)) != LEASH_OK)
		return st;
	if (uri->user != NULL && uri->password == NULL)
		return refuse(err, "password: missing, but there is a user; give ':password' before the '@', "
				   "password_file or password_env");
	return make_shown(uri, err);
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
	wipe_text(uri->host);
	wipe_text(uri->user);
	sodium_free(uri->password); /* wipes it */
	wipe_text(uri->shown);
	memset(uri, 0, sizeof(*uri));
}
