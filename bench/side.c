/* What a thread does on either side: acquire and release a lock that nobody else wants.
 *
 * The commands for hiredis are learnt from the server's MONITOR while leash runs them once. So both sides say the same
 * by construction, whatever the scripts are and want; what differs is each time's token, and the moment past which the
 * server is to refuse an acquire, which leash computes anew each time and this program puts an hour ahead once. */
#include "bench/side.h"

#include "bench/program.h"
#include "tests/support/monitor.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	ACQUIRE_ARGS = 10, /* EVALSHA sha 3 lock fence queue token lease not_after cfg */
	RELEASE_ARGS = 8,  /* EVALSHA sha 3 lock fence queue token cfg */
	TOKEN_AT = 6,
	NOT_AFTER_AT = 8,
	TEXT_SIZE = 64,    /* of a token or a moment */
};

struct command {
	char *line;        /* of the monitor, in which the arguments lie */
	int count;
	const char *args[ACQUIRE_ARGS];
	size_t sizes[ACQUIRE_ARGS];
};

struct wire {
	struct command acquire, release;
	char not_after[TEXT_SIZE];
	int client_size;   /* the part of a token before its number */
};

struct hiredis_desk {
	redisContext *connection;
	struct command acquire, release;
	char token[TEXT_SIZE];
	int client_size;
	uint64_t number;
};

/* ---- leash ---- */

leash_lock *
leash_desk(leash_client *client, size_t i)
{
	leash_lock *lock;
	leash_error err;
	char name[32];

	snprintf(name, sizeof name, "bench-%zu", i);
	if (leash_lock_new(&lock, client, name, NULL, &err) != LEASH_OK)
		die("%s", err.text);
	return lock;
}

void
leash_pair(void *desk)
{
	leash_error err;

	if (leash_lock_acquire(desk, LEASH_FOREVER, &err) != LEASH_OK || leash_lock_release(desk, &err) != LEASH_OK)
		die("leash: %s", err.text);
}

/* ---- hiredis ---- */

/* The arguments in a line of the monitor: ... "EVALSHA" "..." ... */
static void
read_command(struct command *c, char *line, int want)
{
	char *at = line != NULL ? strchr(line, '"') : NULL;

	c->line = line;
	while (at != NULL && *at == '"') {
		char *end = strchr(at + 1, '"');

		if (end == NULL || c->count == want || memchr(at, '\\', (size_t)(end - at)) != NULL) {
			c->count = -1;
			break;
		}
		*end = '\0';
		c->args[c->count] = at + 1;
		c->sizes[c->count++] = (size_t)(end - at - 1);
		at = end[1] == ' ' ? end + 2 : NULL;
	}
	if (c->count != want)
		die("leash's commands are not those that this program knows");
}

struct wire *
wire_learn(struct server *server, leash_lock *lock)
{
	struct wire *wire = calloc(1, sizeof *wire);
	struct monitor *monitor;
	const char *colon;
	leash_error err;

	if (wire == NULL)
		die("no memory");
	leash_pair(lock); /* from now on the server has the scripts */
	monitor = monitor_start(server);
	if (leash_lock_acquire(lock, LEASH_FOREVER, &err) != LEASH_OK)
		die("leash: %s", err.text);
	read_command(&wire->acquire, monitor_last(monitor, "\"EVALSHA\""), ACQUIRE_ARGS);
	monitor_mark(monitor);
	if (leash_lock_release(lock, &err) != LEASH_OK)
		die("leash: %s", err.text);
	read_command(&wire->release, monitor_last(monitor, "\"EVALSHA\""), RELEASE_ARGS);
	monitor_stop(monitor);

	colon = strrchr(wire->acquire.args[TOKEN_AT], ':');
	if (colon == NULL || strcmp(wire->acquire.args[TOKEN_AT], wire->release.args[TOKEN_AT]) != 0)
		die("leash's tokens are not what this program knows");
	wire->client_size = (int)(colon + 1 - wire->acquire.args[TOKEN_AT]);
	snprintf(wire->not_after, sizeof wire->not_after, "%lld",
	         strtoll(wire->acquire.args[NOT_AFTER_AT], NULL, 10) + 3600000000);
	return wire;
}

void
wire_free(struct wire *wire)
{
	free(wire->acquire.line);
	free(wire->release.line);
	free(wire);
}

struct hiredis_desk *
hiredis_desk(const struct wire *wire, int port)
{
	struct hiredis_desk *desk = calloc(1, sizeof *desk);

	if (desk == NULL)
		die("no memory");
	desk->connection = port != 0 ? plain_connection(port) : NULL;
	desk->acquire = wire->acquire;
	desk->release = wire->release;
	desk->client_size = wire->client_size;
	desk->number = 1000000; /* as many digits as leash's will soon have */
	snprintf(desk->token, sizeof desk->token, "%s", wire->acquire.args[TOKEN_AT]);
	desk->acquire.args[TOKEN_AT] = desk->release.args[TOKEN_AT] = desk->token;
	desk->acquire.args[NOT_AFTER_AT] = wire->not_after;
	desk->acquire.sizes[NOT_AFTER_AT] = strlen(wire->not_after);
	return desk;
}

void
hiredis_desk_free(struct hiredis_desk *desk)
{
	if (desk->connection != NULL)
		redisFree(desk->connection);
	free(desk);
}

int
hiredis_args(struct hiredis_desk *desk, bool release, const char ***args, const size_t **sizes)
{
	struct command *c = release ? &desk->release : &desk->acquire;
	int n;

	if (!release) {
		n = snprintf(desk->token + desk->client_size, sizeof desk->token - (size_t)desk->client_size, "%llu",
		             (unsigned long long)desk->number++);
		desk->acquire.sizes[TOKEN_AT] = desk->release.sizes[TOKEN_AT] = (size_t)(desk->client_size + n);
	}
	*args = c->args;
	*sizes = c->sizes;
	return c->count;
}

void
hiredis_check(const redisReply *reply, bool release)
{
	if (reply->type != REDIS_REPLY_INTEGER)
		die("hiredis: the server says %s", reply->type == REDIS_REPLY_ERROR ? reply->str : "what it should not");
	if (release ? reply->integer != 1 : reply->integer <= 1)
		die("hiredis: the lock was not %s", release ? "released" : "acquired");
}

static void
say(struct hiredis_desk *desk, bool release)
{
	const char **args;
	const size_t *sizes;
	int count = hiredis_args(desk, release, &args, &sizes);
	redisReply *reply = redisCommandArgv(desk->connection, count, args, sizes);

	if (reply == NULL)
		die("hiredis: %s", desk->connection->errstr);
	hiredis_check(reply, release);
	freeReplyObject(reply);
}

void
hiredis_pair(void *desk)
{
	say(desk, false);
	say(desk, true);
}
