/* URIs: from the text that a person wrote to what a connection needs.
 *
 *   redis://[user[:password]@]host[:port][/db][?parameters]
 *   unix://[user[:password]@]/path[?parameters]
 *   redis+sentinel://[user[:password]@]host[:port],.../master-name[/db][?parameters]
 *   redis+cluster://[user[:password]@]host[:port],...[?parameters]
 *   redis+quorum://[user[:password]@]host[:port],...[/db][?parameters]
 *
 * and with rediss for redis over TLS. A refusal says which part is wrong and how to write it.
 *
 * Secrets: any byte of a malformed URI may belong to the password: the authority of "redis://user:pa/ss@host" ends at
 * the slash. So a message shows nothing of the URI but the number of a host, a parameter's name, and the file or the
 * variable where a password was expected.
 *
 * The text is copied to guarded memory. A *part* is a piece of the copy, cut and decoded in place, and stays there.
 *
 * Threads: any; nothing is kept between calls. */
#include "redis/uri.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "redis/secret.h"
#include "redis/whereabouts.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#define REFUSE(err, ...) lsh_fail((err), LEASH_INVALID, 0, "uri: " __VA_ARGS__)

#define DIGITS       "0123456789"
#define ALPHANUMERIC "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" DIGITS

enum {
	SERVER_PORT = 6379,
	SENTINEL_PORT = 26379,
	DB_MAX = 16383,
	MAX_MASTER = 128,
	LISTED_SIZE = LSH_HOST_SIZE + 1, /* one byte more than a host may have, so that it is seen to be too long */
	MAX_NAME_SHOWN = 32, /* of a parameter's name in a message; ours are shorter */
	MAX_PATH = sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1,
};

#define KNOWN_SCHEMES \
	"redis://, rediss:// (TLS) or unix://, or redis+ or rediss+ with sentinel://, cluster:// or quorum://"
#define IN_A_PASSWORD "in a password '/' is written %%2F and '?' %%3F"

/* What a URI and those that are made of it point into: guarded memory, which is wiped with the last of them. */
struct lsh_uri_texts {
	atomic_uint users;
	char *uri, *from_env[2]; /* its parts; the servers' password, and that of the sentinels */
};

/* ---- schemes ---- */

struct scheme {
	const char *name;    /* in small letters, without "://" */
	const char *example; /* of the URI, without a database */
	enum lsh_deployment deployment;
	enum lsh_scheme scheme;
	unsigned is;         /* of enum where */
};

/* What a URI is, and in which a parameter belongs. */
enum where { ANY = 1, UNIX = 2, TLS = 4, SENTINEL = 8, CLUSTER = 16 };

#define WITH_AND_WITHOUT_TLS(kind, deployment, hosts, is) \
	{"redis" kind, "redis" kind "://" hosts, deployment, LSH_SCHEME_TCP, is}, \
	{"rediss" kind, "rediss" kind "://" hosts, deployment, LSH_SCHEME_TCP, (is) | TLS}

static const struct scheme schemes[] = {
	WITH_AND_WITHOUT_TLS("", LSH_SINGLE, "cache:6379", ANY),
	{"unix", "unix:///run/redis.sock", LSH_SINGLE, LSH_SCHEME_UNIX, ANY | UNIX},
	WITH_AND_WITHOUT_TLS("+sentinel", LSH_SENTINEL, "a:26379,b:26379/main", ANY | SENTINEL),
	WITH_AND_WITHOUT_TLS("+cluster", LSH_CLUSTER, "a:6379,b:6379", ANY | CLUSTER),
	WITH_AND_WITHOUT_TLS("+quorum", LSH_QUORUM, "a:6379,b:6379,c:6379", ANY),
};

static const struct scheme *
scheme_named(const char *name)
{
	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++)
		if (lsh_is_like(name, schemes[i].name))
			return &schemes[i];
	return NULL;
}

static const struct scheme *
scheme_of(const struct lsh_uri *uri)
{
	const struct scheme *s = schemes;

	while (s->deployment != uri->deployment || s->scheme != uri->scheme ||
	       ((s->is & TLS) != 0) != uri->tls.on)
		s++;
	return s;
}

/* ---- what is written ---- */

/* Cut `part` off before the first `c` and return what follows that, or NULL. */
static char *
cut(char *part, char c)
{
	char *found = strchr(part, c);

	if (found == NULL)
		return NULL;
	*found = '\0';
	return found + 1;
}

/* At least one byte, and only such. */
static bool
consists_of(const char *part, const char *bytes)
{
	return part[0] != '\0' && part[strspn(part, bytes)] == '\0';
}

/* These are the same when they are decoded. */
static bool
is_word(const char *part)
{
	return consists_of(part, ALPHANUMERIC "-._");
}

/* A name, or an IPv4 address. */
static bool
is_name(const char *part)
{
	return is_word(part) && strlen(part) < LSH_HOST_SIZE;
}

/* An IPv6 address, perhaps with a zone behind `mark`, which is "%" or "%25". */
static bool
is_ipv6(const char *part, const char *mark)
{
	char address[INET6_ADDRSTRLEN] = "";
	const char *zone = strchr(part, '%');
	size_t n = strcspn(part, "%");

	if (n >= sizeof(address) || inet_pton(AF_INET6, memcpy(address, part, n), &(struct in6_addr){0}) != 1)
		return false;
	if (zone == NULL)
		return true;
	if (strncmp(zone, mark, strlen(mark)) != 0)
		return false;
	zone += strlen(mark);
	return is_word(zone) && strlen(zone) < IF_NAMESIZE;
}

static bool
read_part_number(const char *part, uint64_t min, uint64_t max, int64_t *n)
{
	uint64_t read;

	if (!lsh_decimal_read(part, strlen(part), &read) || read < min || read > max)
		return false;
	*n = (int64_t)read;
	return true;
}

/* ---- what is taken ---- */

/* Decode in place. `what` is the part's name in messages. */
static leash_status
decode(char *part, const char *what, leash_error *err)
{
	char *to = part;

	for (; *part != '\0'; part++) {
		unsigned char byte = (unsigned char)*part;
		size_t n;

		if (byte == '%') {
			if (sodium_hex2bin(&byte, 1, part + 1, strnlen(part + 1, 2), NULL, &n, NULL) != 0 || n != 1 || byte == 0)
				return REFUSE(err, "%s: a '%%' without two hex digits after it, or %%00; a '%%' itself is "
				              "written %%25", what);
			part += 2;
		}
		*to++ = (char)byte;
	}
	*to = '\0';
	return LEASH_OK;
}

/* Decode a part of at most `most` bytes, and keep it. */
static leash_status
take_part(char **out, char *part, size_t most, const char *what, leash_error *err)
{
	leash_status st = decode(part, what, err);

	if (st == LEASH_OK && strlen(part) > most)
		return REFUSE(err, "%s: longer than %zu bytes", what, most);
	*out = part;
	return st;
}

/* ---- parameters ----
 *
 * A typing error must not be found out on the day when it matters: what is unknown, stands twice, or means nothing in
 * this URI is refused. */

struct parameter {
	const char *name;
	unsigned where;
	leash_status (*read)(struct lsh_uri *uri, const struct parameter *p, char *value, leash_error *err);
	size_t field;         /* of struct lsh_uri */
	const char *wanted;   /* what is expected, */
	const char *example;  /* as in that */
	bool (*is_good)(const char *text); /* NULL: if it is not empty */
	uint64_t min, max;    /* of a number */
	const char *on, *off; /* of a choice */
};

static leash_status
refuse(const struct parameter *p, leash_error *err)
{
	return REFUSE(err, "%s: %s is expected, as in ?%s=%s", p->name, p->wanted, p->name, p->example);
}

static void *
field(struct lsh_uri *uri, const struct parameter *p)
{
	return (char *)uri + p->field;
}

static leash_status
read_number(struct lsh_uri *uri, const struct parameter *p, char *value, leash_error *err)
{
	return read_part_number(value, p->min, p->max, field(uri, p)) ? LEASH_OK : refuse(p, err);
}

static leash_status
read_choice(struct lsh_uri *uri, const struct parameter *p, char *value, leash_error *err)
{
	const bool on = strcmp(value, p->on) == 0;

	*(bool *)field(uri, p) = on;
	return on || strcmp(value, p->off) == 0 ? LEASH_OK : refuse(p, err);
}

static leash_status
read_text(struct lsh_uri *uri, const struct parameter *p, char *value, leash_error *err)
{
	leash_status st = take_part(field(uri, p), value, LSH_SECRET_MAX, p->name, err);

	return st != LEASH_OK || (p->is_good != NULL ? p->is_good(value) : value[0] != '\0') ? st : refuse(p, err);
}

/* The file is read for each connection; this first time is to refuse it now rather than later. */
static leash_status
read_password_file(struct lsh_uri *uri, const struct parameter *p, char *value, leash_error *err)
{
	char what[64], *secret = NULL;
	leash_status st = read_text(uri, p, value, err);

	snprintf(what, sizeof(what), "uri: %s", p->name);
	if (st == LEASH_OK)
		st = lsh_secret_from_file(&secret, value, what, err);
	sodium_free(secret);
	return st;
}

/* The name is one that a shell takes. Others exist, but a password that was put there by mistake is seldom one. */
static leash_status
read_password_env(struct lsh_uri *uri, const struct parameter *p, char *value, leash_error *err)
{
	char what[64], **kept = &uri->texts->from_env[p->where == SENTINEL];
	leash_status st = decode(value, p->name, err);

	if (st != LEASH_OK)
		return st;
	if (!consists_of(value, ALPHANUMERIC "_") || strchr(DIGITS, value[0]) != NULL)
		return refuse(p, err);
	snprintf(what, sizeof(what), "uri: %s", p->name);
	st = lsh_secret_from_env(kept, value, what, err);
	*(char **)field(uri, p) = *kept;
	return st;
}

/* Read a host of a list: a name, or an address, which may stand in brackets. NULL: that was the last one. */
static const char *
next_listed(const char *at, char host[static LISTED_SIZE])
{
	const size_t n = strcspn(at, ",");
	const bool bracketed = n >= 2 && at[0] == '[' && at[n - 1] == ']';

	snprintf(host, LISTED_SIZE, "%.*s", (int)(n - 2 * bracketed), at + bracketed);
	return at[n] != '\0' ? at + n + 1 : NULL;
}

static leash_status
read_hosts(struct lsh_uri *uri, const struct parameter *p, char *value, leash_error *err)
{
	leash_status st = take_part(field(uri, p), value, SIZE_MAX, p->name, err);
	const char *at = value;
	char host[LISTED_SIZE];

	for (size_t which = 1; st == LEASH_OK && at != NULL; which++) {
		const bool bracketed = at[0] == '[';

		at = next_listed(at, host);
		if (!is_ipv6(host, "%") && (bracketed || !is_name(host)))
			return REFUSE(err, "%s: host %zu: %s is expected, as in ?%s=%s", p->name, which, p->wanted, p->name,
			              p->example);
	}
	return st;
}

#define FIELD(name) offsetof(struct lsh_uri, name)

#define A_PATH     "a path that is not empty"
#define A_VARIABLE "the name of a variable of the environment"
#define A_NAME     "the name of a host, of letters, digits, '-', '.', '_',"
#define A_HOST     "a name or an address without a port"
#define YES_OR_NO  "'yes' or 'no' (no: any server is accepted, unverified)"

/* There is no sentinel_password: a parameter is seen by whoever lists processes. */
static const struct parameter parameters[] = {
	{"timeout", ANY, read_number, FIELD(timeout_ms), "milliseconds from 10 to 60000", "1000", .min = 10, .max = 60000},
	{"password_file", ANY, read_password_file, FIELD(login.password_file), A_PATH, .example = "/etc/redis.password"},
	{"password_env", ANY, read_password_env, FIELD(login.password), A_VARIABLE, .example = "REDIS_PASSWORD"},
	{"db", UNIX, read_number, FIELD(db), "a database from 0 to 16383", "2", .max = DB_MAX},
	{"cafile", TLS, read_text, FIELD(tls.cafile), A_PATH, .example = "/etc/redis/ca.pem"},
	{"cert", TLS, read_text, FIELD(tls.cert), A_PATH, .example = "/etc/redis/cert.pem"},
	{"key", TLS, read_text, FIELD(tls.key), A_PATH, .example = "/etc/redis/key.pem"},
	{"server_name", TLS, read_text, FIELD(tls.server_name), A_NAME, "cache.example.com", .is_good = is_name},
	{"verify", TLS, read_choice, FIELD(tls.unverified), YES_OR_NO, "yes", .on = "no", .off = "yes"},
	{"sentinel_user", SENTINEL, read_text, FIELD(sentinel.user), "a user, which is not empty,", .example = "watcher"},
	{"sentinel_password_file", SENTINEL, read_password_file, FIELD(sentinel.password_file), A_PATH,
	 .example = "/etc/redis.password"},
	{"sentinel_password_env", SENTINEL, read_password_env, FIELD(sentinel.password), A_VARIABLE,
	 .example = "REDIS_PASSWORD"},
	{"redirects", SENTINEL | CLUSTER, read_hosts, FIELD(redirects), A_HOST, .example = "10.0.0.1,cache-a,[::1]"},
	{"scripts", ANY, read_choice, FIELD(preloaded), "'preloaded' or 'sent'", "preloaded",
	 .on = "preloaded", .off = "sent"},
	{"restart_guard", ANY, read_number, FIELD(restart_guard_ms), "milliseconds from 1 to 86400000", "30000",
	 .min = 1, .max = 86400000},
};

enum { PARAMETERS = sizeof(parameters) / sizeof(parameters[0]) };

static bool
belongs(const struct lsh_uri *uri, const struct parameter *p)
{
	return (p->where & scheme_of(uri)->is) != 0;
}

/* It is ours, but says nothing in this URI. */
static leash_status
refuse_stray(const struct lsh_uri *uri, const struct parameter *p, leash_error *err)
{
	const struct scheme *scheme = scheme_of(uri);

	if (p->where == UNIX && uri->deployment != LSH_CLUSTER)
		return REFUSE(err, "parameter '%s': is for unix://; here the database follows the %s, as in %s/2", p->name,
		              uri->deployment == LSH_SENTINEL ? "master" : "host", scheme->example);
	if (p->where == TLS && uri->scheme == LSH_SCHEME_TCP)
		return REFUSE(err, "parameter '%s': is for TLS, which this URI does not ask for; write rediss%s:// for %s://",
		              p->name, scheme->name + strlen("redis"), scheme->name);
	return REFUSE(err, "parameter '%s': is for %s; else leave it out of a %s:// URI", p->name,
	              p->where == UNIX ? "unix://, and a cluster has only database 0" :
	              p->where == TLS ? "TLS (rediss:// and a host), which a unix socket does not use" :
	              p->where == SENTINEL ? "redis+sentinel://" :
	              "redis+sentinel:// and redis+cluster://, whose servers name others", scheme->name);
}

/* Name a parameter unless it may be a part of a password with a '?' in it: there is a '@' in the query, or no '='. */
static leash_status
refuse_unknown(const struct lsh_uri *uri, const char *name, bool nameable, leash_error *err)
{
	char names[256], *at = names;

	for (size_t i = 0; i < PARAMETERS; i++)
		if (belongs(uri, &parameters[i]))
			at = stpcpy(stpcpy(at, at == names ? "" : ", "), parameters[i].name);
	if (nameable && strlen(name) <= MAX_NAME_SHOWN && consists_of(name, ALPHANUMERIC "_-"))
		return REFUSE(err, "parameter '%s': not known; there are %s", name, names);
	return REFUSE(err, "parameters: one is not known (in a password '?' is %%3F); there are %s", names);
}

static leash_status
check_first_password(const struct lsh_uri *uri, const struct parameter *p, leash_error *err)
{
	if (p->where == SENTINEL && lsh_has_password(&uri->sentinel))
		return REFUSE(err, "sentinel password: given twice; one of sentinel_password_file and sentinel_password_env is "
		              "enough");
	if (p->where != SENTINEL && lsh_has_password(&uri->login))
		return REFUSE(err, "password: given twice; one of 'user:password@', password_file and password_env is enough");
	return LEASH_OK;
}

static leash_status
take_parameter(struct lsh_uri *uri, char *name, bool seen[PARAMETERS], bool nameable, leash_error *err)
{
	char *value = cut(name, '=');
	const struct parameter *p = parameters;
	leash_status st = LEASH_OK;

	if (name[0] == '\0' && value == NULL)
		return REFUSE(err, "parameters: one is empty; they are written ?name=value&name=value");
	while (p < parameters + PARAMETERS && strcmp(name, p->name) != 0)
		p++;
	if (p == parameters + PARAMETERS)
		return refuse_unknown(uri, name, nameable && value != NULL, err);
	if (!belongs(uri, p))
		return refuse_stray(uri, p, err);
	if (value == NULL)
		return REFUSE(err, "parameter '%s': has no value; '=' and the value follow the name", p->name);
	if (seen[p - parameters])
		return REFUSE(err, "parameter '%s': given twice", p->name);
	seen[p - parameters] = true;
	if (p->read == read_password_file || p->read == read_password_env)
		st = check_first_password(uri, p, err);
	return st == LEASH_OK ? p->read(uri, p, value, err) : st;
}

/* What only makes sense together. */
static leash_status
check_pairs(const struct lsh_uri *uri, leash_error *err)
{
	const struct {
		bool one, other;
		const char *missing, *there, *give;
	} pairs[] = {
		{uri->login.user != NULL, lsh_has_password(&uri->login), "password", "user",
		 "':password' before the '@', password_file or password_env"},
		{uri->sentinel.user != NULL, lsh_has_password(&uri->sentinel), "sentinel password", "sentinel_user",
		 "sentinel_password_file or sentinel_password_env"},
		{uri->tls.cert != NULL, uri->tls.key != NULL, "key", "cert", "its file, as in &key=/etc/redis/key.pem"},
		{uri->tls.key != NULL, uri->tls.cert != NULL, "cert", "key", "its file, as in &cert=/etc/redis/cert.pem"},
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		if (pairs[i].one && !pairs[i].other)
			return REFUSE(err, "%s: missing, but there is a %s; give %s", pairs[i].missing, pairs[i].there,
			              pairs[i].give);
	return LEASH_OK;
}

static leash_status
take_query(struct lsh_uri *uri, char *query, leash_error *err)
{
	bool seen[PARAMETERS] = {false}, nameable = query != NULL && strchr(query, '@') == NULL;
	leash_status st = LEASH_OK;

	for (char *next; st == LEASH_OK && query != NULL; query = next) {
		next = cut(query, '&');
		st = take_parameter(uri, query, seen, nameable, err);
	}
	return st == LEASH_OK ? check_pairs(uri, err) : st;
}

/* ---- who we are ---- */

static leash_status
take_login(struct lsh_uri *uri, char *user, leash_error *err)
{
	char *password = cut(user, ':');
	leash_status st = LEASH_OK;

	if (user[0] == '\0' && password == NULL)
		return REFUSE(err, "user: nothing stands before the '@'; leave it out if there is no user");
	if (user[0] != '\0') /* else it is that of the default user, as in redis://:password@host */
		st = take_part(&uri->login.user, user, LSH_SECRET_MAX, "user", err);
	if (st != LEASH_OK || password == NULL)
		return st;
	st = take_part(&uri->login.password, password, SIZE_MAX, "password", err);
	if (st == LEASH_OK && (password[0] == '\0' || strlen(password) > LSH_SECRET_MAX))
		return REFUSE(err, "password: empty, or longer than %d bytes", LSH_SECRET_MAX);
	return st;
}

/* ---- hosts ---- */

/* Read host[:port] into `at`, whose port stays if none is named; `what` is the host in messages. */
static leash_status
take_host(struct lsh_endpoint *at, char *host, const char *what, const char *example, leash_error *err)
{
	const bool bracketed = host[0] == '[';
	char *behind = cut(host, bracketed ? ']' : ':'), *port = behind;
	int64_t n = at->port;
	leash_status st;

	if (bracketed) {
		host++;
		port = behind != NULL && behind[0] == ':' ? behind + 1 : NULL;
		if (behind == NULL || (behind[0] != '\0' && port == NULL) || !is_ipv6(host, "%25"))
			return REFUSE(err, "%s: not an IPv6 address in brackets, '[' and ']', with nothing after it except ':' "
			              "and a port; its zone is written as in [fe80::1%%25eth0]", what);
	} else if (host[0] == '\0') {
		return REFUSE(err, "%s: missing; it follows '://', the '@' or the ',', as in %s; " IN_A_PASSWORD, what,
		              example);
	} else if (!is_name(host)) {
		return REFUSE(err, "%s: a name or address of letters, digits, '-', '.', '_' is expected, not longer than 253 "
		              "bytes; an IPv6 address stands in brackets", what);
	}
	if ((st = take_part(&at->host, host, SIZE_MAX, what, err)) != LEASH_OK)
		return st;
	if (port != NULL && !read_part_number(port, 1, UINT16_MAX, &n))
		return REFUSE(err, "%s: port: a number from 1 to 65535 is expected after the host's ':'; " IN_A_PASSWORD "; an "
		              "IPv6 address stands in brackets", what);
	at->port = (uint16_t)n;
	return LEASH_OK;
}

/* A server that is named twice would have two votes in a quorum. */
static leash_status
check_new(const struct lsh_uri *uri, size_t which, leash_error *err)
{
	const struct lsh_endpoint *at = uri->hosts, *new = &uri->hosts[which];

	while (at->port != new->port || !lsh_is_same_host(new->host, at->host))
		at++;
	return at == new ? LEASH_OK : REFUSE(err, "host %zu: the same as host %zu; each one is named once", which + 1,
	                                     (size_t)(at - uri->hosts) + 1);
}

/* `more`: some are left over that do not fit. */
static leash_status
check_count(const struct lsh_uri *uri, bool more, leash_error *err)
{
	const size_t n = uri->host_count;
	const bool quorum = uri->deployment == LSH_QUORUM;

	if (quorum && (more || n == 1 || n % 2 == 0))
		return REFUSE(err, "hosts: %s%zu, but a quorum has 3, 5 or 7: an even number survives no "
		              "more failures than one less; a single server is redis:// or rediss://",
		              more ? "more than " : "", n);
	return !more ? LEASH_OK : REFUSE(err, "hosts: more than %zu; some of them are enough to find the others", n);
}

static leash_status
take_hosts(struct lsh_uri *uri, char *list, leash_error *err)
{
	const char *example = scheme_of(uri)->example;
	const size_t most = uri->deployment == LSH_QUORUM ? LSH_QUORUM_MAX : LSH_HOSTS_MAX;
	const bool single = uri->deployment == LSH_SINGLE;
	leash_status st;

	if (single && strchr(list, ',') != NULL)
		return REFUSE(err, "host: one is expected, without a ','; lists of hosts are for redis+sentinel://, "
		              "redis+cluster:// and redis+quorum://; " IN_A_PASSWORD);
	for (char *next; list != NULL && uri->host_count < most; list = next) {
		const size_t i = uri->host_count++;
		char what[16] = "host";

		if (!single)
			snprintf(what, sizeof(what), "host %zu", i + 1);
		next = cut(list, ',');
		uri->hosts[i].port = uri->deployment == LSH_SENTINEL ? SENTINEL_PORT : SERVER_PORT;
		st = take_host(&uri->hosts[i], list, what, example, err);
		if (st == LEASH_OK)
			st = check_new(uri, i, err);
		if (st != LEASH_OK)
			return st;
	}
	return check_count(uri, list != NULL, err);
}

/* ---- paths ---- */

static leash_status
take_socket(struct lsh_uri *uri, const char *place, char *path, leash_error *err)
{
	if (place[0] != '\0')
		return REFUSE(err, "host: a unix: URI has none; its path begins with a third slash: unix:///run/redis.sock");
	if (path == NULL || path[0] == '\0')
		return REFUSE(err, "path: missing; give the path of a socket, as in unix:///run/redis.sock");
	*--path = '/'; /* the third slash belongs to it */
	uri->host_count = 1;
	return take_part(&uri->host, path, MAX_PATH, "path of the socket", err);
}

static leash_status
take_master(struct lsh_uri *uri, char *name, const char *example, leash_error *err)
{
	leash_status st;

	if (name == NULL || name[0] == '\0')
		return REFUSE(err, "master: missing; its name for the sentinels follows the hosts, as in %s", example);
	st = take_part(&uri->master, name, SIZE_MAX, "master", err);
	if (st == LEASH_OK && (strlen(name) > MAX_MASTER || !is_word(name)))
		return REFUSE(err, "master: a name of 1 to %d letters, digits, '-', '.', '_' is expected, as in %s", MAX_MASTER,
		              example);
	return st;
}

/* [master-name/][db] */
static leash_status
take_path(struct lsh_uri *uri, char *path, leash_error *err)
{
	const char *example = scheme_of(uri)->example;
	const bool sentinel = uri->deployment == LSH_SENTINEL;
	char *db = path;
	leash_status st;

	if (path != NULL && strchr(path, '@') != NULL) /* what is left of a login with a '/' in it */
		return REFUSE(err, "%s: a '@' after the host's '/'; in a user or a password '/' is written %%2F",
		              sentinel ? "master" : "database");
	if (sentinel) {
		db = path != NULL ? cut(path, '/') : NULL;
		if ((st = take_master(uri, path, example, err)) != LEASH_OK)
			return st;
	}
	if (db == NULL || db[0] == '\0')
		return LEASH_OK;
	if (uri->deployment == LSH_CLUSTER && strcmp(db, "0") != 0)
		return REFUSE(err, "database: a cluster has only database 0; nothing follows the hosts, as in %s", example);
	if (!read_part_number(db, 0, DB_MAX, &uri->db))
		return REFUSE(err, "database: a number from 0 to %d is expected, as in %s/2", DB_MAX, example);
	return LEASH_OK;
}

/* ---- what messages call it ---- */

/* Write a path or a host as it reads in a URI, printable: at most 3 bytes for one. */
static char *
show_text(char *at, const char *text)
{
	for (; *text != '\0'; text++) {
		const bool plain = *text > ' ' && *text <= '~' && strchr("%?#", *text) == NULL;

		at += sprintf(at, plain ? "%c" : "%%%02X", (unsigned char)*text);
	}
	*at = '\0';
	return at;
}

static char *
show_host(char *at, const char *host, uint16_t port)
{
	const bool address = strchr(host, ':') != NULL;

	at = show_text(stpcpy(at, address ? "[" : ""), host);
	return at + sprintf(at, "%s:%u", address ? "]" : "", port);
}

/* The URI without who we are, and without parameters but a socket's database. In the same block, behind it, the first
 * host is copied: that of a server is the caller's. */
static bool
make_shown(struct lsh_uri *uri)
{
	const bool at_socket = uri->scheme == LSH_SCHEME_UNIX;
	size_t size = 64 + strlen(uri->host) + (uri->master != NULL ? strlen(uri->master) : 0);
	char *at;

	for (size_t i = 0; i < uri->host_count; i++)
		size += 3 * strlen(uri->hosts[i].host) + sizeof(",[]:65535");
	at = uri->shown = lsh_alloc(size);
	if (at == NULL)
		return false;
	at += sprintf(at, "%s://", scheme_of(uri)->name);
	if (at_socket)
		at = show_text(at, uri->host);
	for (size_t i = 0; i < uri->host_count && !at_socket; i++)
		at = show_host(stpcpy(at, i > 0 ? "," : ""), uri->hosts[i].host, uri->hosts[i].port);
	if (uri->master != NULL)
		at += sprintf(at, "/%s", uri->master);
	if (uri->db != 0)
		at += sprintf(at, "%s%d", at_socket ? "?db=" : "/", (int)uri->db);
	uri->host = strcpy(at + 1, uri->host);
	return true;
}

/* ---- all of it ---- */

static leash_status
parse(struct lsh_uri *uri, char *text, leash_error *err)
{
	char *authority = strstr(text, "://"), *query, *path, *place;
	const struct scheme *scheme;
	leash_status st = LEASH_OK;

	for (size_t i = 0; text[i] != '\0'; i++)
		if ((unsigned char)text[i] <= ' ' || text[i] == 0x7f || text[i] == '#')
			return REFUSE(err, "byte %zu: a space, a control character or a '#'; within a part they are written %%XX, "
			              "as %%20 and %%23, and there are no fragments", i + 1);
	if (authority == NULL)
		return REFUSE(err, "scheme: missing; it is " KNOWN_SCHEMES);
	*authority = '\0';
	authority += strlen("://");
	scheme = scheme_named(text);
	if (scheme == NULL)
		return REFUSE(err, "scheme: not known; it is " KNOWN_SCHEMES);
	uri->deployment = scheme->deployment;
	uri->scheme = scheme->scheme;
	uri->tls.on = (scheme->is & TLS) != 0;

	query = cut(authority, '?');
	path = cut(authority, '/');
	place = cut(authority, '@');
	if (place != NULL && strchr(place, '@') != NULL)
		return REFUSE(err, "user or password: there is more than one '@' before the host; within them it is %%40, and "
		              "before a list of hosts they stand once");
	if (place == NULL)
		place = authority;
	else
		st = take_login(uri, authority, err);
	if (st == LEASH_OK && uri->scheme == LSH_SCHEME_UNIX)
		st = take_socket(uri, place, path, err);
	else if (st == LEASH_OK && (st = take_hosts(uri, place, err)) == LEASH_OK)
		st = take_path(uri, path, err);
	if (st == LEASH_OK)
		st = take_query(uri, query, err);
	return st;
}

leash_status
lsh_uri_parse(struct lsh_uri *out, const char *text, leash_error *err)
{
	leash_status st;

	memset(out, 0, sizeof(*out));
	if (text == NULL || text[0] == '\0')
		return REFUSE(err, "empty; it is written as in redis://127.0.0.1:6379");
	out->texts = lsh_new(struct lsh_uri_texts);
	if (out->texts == NULL)
		return lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "uri: out of memory");
	atomic_init(&out->texts->users, 1);
	st = lsh_secret_copy(&out->texts->uri, text, err);
	if (st == LEASH_OK)
		st = parse(out, out->texts->uri, err);
	if (st == LEASH_OK && !make_shown(out))
		st = lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "uri: out of memory");
	if (st != LEASH_OK)
		lsh_uri_clear(out);
	return st;
}

void
lsh_uri_clear(struct lsh_uri *uri)
{
	struct lsh_uri_texts *texts = uri->texts;

	/* without its ':' or '@' a password may be shown as a host */
	if (uri->shown != NULL)
		sodium_memzero(uri->shown, (size_t)(uri->host - uri->shown) + strlen(uri->host));
	lsh_free(uri->shown);
	if (texts != NULL && atomic_fetch_sub(&texts->users, 1) == 1) {
		sodium_free(texts->uri); /* wipes it */
		sodium_free(texts->from_env[0]);
		sodium_free(texts->from_env[1]);
		lsh_free(texts);
	}
	memset(uri, 0, sizeof(*uri));
}

/* ---- one server of it ---- */

bool
lsh_uri_of_server(struct lsh_uri *out, const struct lsh_uri *uri, const char *host, uint16_t port)
{
	bool good;

	*out = *uri;
	out->deployment = LSH_SINGLE;
	out->scheme = LSH_SCHEME_TCP;
	memset(out->hosts, 0, sizeof(out->hosts));
	out->host = (char *)(uintptr_t)host;
	out->port = port;
	out->host_count = 1;
	out->master = NULL;
	out->sentinel = (struct lsh_login){0};
	atomic_fetch_add(&out->texts->users, 1);
	good = make_shown(out);
	if (!good)
		lsh_uri_clear(out);
	return good;
}

bool
lsh_uri_of_sentinel(struct lsh_uri *out, const struct lsh_uri *uri, size_t which)
{
	struct lsh_uri sentinels = *uri;

	sentinels.login = uri->sentinel;
	sentinels.db = 0;
	return lsh_uri_of_server(out, &sentinels, uri->hosts[which].host, uri->hosts[which].port);
}

bool
lsh_uri_allows(const struct lsh_uri *uri, const char *host)
{
	const char *at = uri->redirects;
	char allowed[LISTED_SIZE];

	while (at != NULL) {
		at = next_listed(at, allowed);
		if (lsh_is_same_host(allowed, host))
			return true;
	}
	return uri->redirects == NULL;
}

/* ---- its password ---- */

leash_status
lsh_uri_read_password(char **out, const struct lsh_uri *uri, leash_error *err)
{
	*out = NULL;
	if (uri->login.password_file == NULL)
		return LEASH_OK;
	return lsh_secret_from_file(out, uri->login.password_file, "password file", err);
}
