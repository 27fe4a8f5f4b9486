/* Read from the server's MONITOR, which shows what the scripts really did, one after another, as the server did it:
 *
 *   "ZADD" "leash:{name}:queue" "NX" <score> "<token> <claim>"  an ask took a place
 *   "HSET" "leash:{name}" "<token>" "1"                         a token got the lock
 *
 * A token arrives with the first of these: at its place, or with the lock where nobody waited. Asks that
 * did neither (too late, only a try) have not arrived. Ranks and scores of the queue are not looked at:
 * they are leash's idea of the order, not the proof.
 *
 * One thread reads until it sees an ECHO that is said at the end; nobody else looks before it has ended. */
#include "bench/arrivals.h"

#include "bench/program.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char OVER[] = "leash-bench-over";

struct sight {
	char *token;
	size_t at;         /* which sight it was */
	bool queued;
};

struct arrivals {
	struct server *server;
	redisContext *connection;
	pthread_t thread;
	char zadd[96], hset[96];
	bool over;
	struct sight *sights;
	size_t count, capacity;
	const char **order;
};

static void
keep(struct arrivals *a, const char *token, size_t size, bool queued)
{
	if (a->count == a->capacity) {
		a->capacity = a->capacity != 0 ? 2 * a->capacity : 4096;
		a->sights = realloc(a->sights, a->capacity * sizeof *a->sights);
	}
	if (a->sights == NULL)
		die("no memory");
	a->sights[a->count] = (struct sight){ strndup(token, size), a->count, queued };
	if (a->sights[a->count++].token == NULL)
		die("no memory");
}

static void
look(struct arrivals *a, const char *line)
{
	const char *at, *end;

	if ((at = strstr(line, a->hset)) != NULL) {
		at += strlen(a->hset);
		end = strchr(at, '"');
		if (end != NULL)
			keep(a, at, (size_t)(end - at), false);
	} else if ((at = strstr(line, a->zadd)) != NULL) {
		/* behind the score */
		at = strstr(at + strlen(a->zadd), "\" \"");
		end = at != NULL ? strpbrk(at + 3, " \"") : NULL;
		if (end != NULL && *end == ' ')
			keep(a, at + 3, (size_t)(end - at - 3), true);
	}
}

static void *
read_all(void *arg)
{
	struct arrivals *a = arg;
	void *reply;

	while (!a->over && redisGetReply(a->connection, &reply) == REDIS_OK) {
		const char *line = ((redisReply *)reply)->str;

		if (line != NULL && strstr(line, OVER) != NULL)
			a->over = true;
		else if (line != NULL)
			look(a, line);
		freeReplyObject(reply);
	}
	return NULL;
}

struct arrivals *
arrivals_watch(struct server *server, const char *name)
{
	struct arrivals *a = calloc(1, sizeof *a);
	redisReply *reply;

	if (a == NULL)
		die("no memory");
	a->server = server;
	snprintf(a->zadd, sizeof a->zadd, "lua] \"ZADD\" \"leash:{%s}:queue\" \"NX\" \"", name);
	snprintf(a->hset, sizeof a->hset, "lua] \"HSET\" \"leash:{%s}\" \"", name);
	a->connection = server_connect(server);
	redisSetTimeout(a->connection, (struct timeval){ 0 }); /* silence is no reason to end */
	reply = redisCommand(a->connection, "MONITOR");
	if (reply == NULL || reply->type != REDIS_REPLY_STATUS)
		die("the server does not let itself be monitored");
	freeReplyObject(reply);
	if (pthread_create(&a->thread, NULL, read_all, a) != 0)
		die("no thread");
	return a;
}

static int
by_token(const void *a, const void *b)
{
	const struct sight *x = a, *y = b;
	int order = strcmp(x->token, y->token);

	return order != 0 ? order : (x->at > y->at) - (x->at < y->at);
}

static int
by_time(const void *a, const void *b)
{
	const struct sight *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

const char *const *
arrivals_end(struct arrivals *a, size_t *count, size_t *queued)
{
	size_t n = 0;

	freeReplyObject(server_command(a->server, "ECHO %s", OVER));
	pthread_join(a->thread, NULL);
	if (!a->over)
		die("the monitor has ended before its time");
	redisFree(a->connection);
	a->connection = NULL;

	/* The first sight of each token comes to the front. */
	qsort(a->sights, a->count, sizeof *a->sights, by_token);
	for (size_t i = 0; i < a->count; i++) {
		if (n > 0 && strcmp(a->sights[i].token, a->sights[n - 1].token) == 0)
			continue;
		if (i != n) {
			struct sight first = a->sights[i];

			a->sights[i] = a->sights[n];
			a->sights[n] = first;
		}
		n++;
	}
	qsort(a->sights, n, sizeof *a->sights, by_time);
	a->order = calloc(n + 1, sizeof *a->order);
	if (a->order == NULL)
		die("no memory");
	*queued = 0;
	for (size_t i = 0; i < n; i++) {
		a->order[i] = a->sights[i].token;
		*queued += a->sights[i].queued;
	}
	*count = n;
	return a->order;
}

void
arrivals_free(struct arrivals *a)
{
	for (size_t i = 0; i < a->count; i++)
		free(a->sights[i].token);
	free(a->sights);
	free(a->order);
	free(a);
}
