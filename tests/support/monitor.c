/* MONITOR for tests. See monitor.h. One thread reads and appends; everybody else looks, under the mutex. */
#include "tests/support/monitor.h"

#include "tests/support/await.h"
#include "tests/support/sweep.h"
#include "tests/support/trouble.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const char MARKER[] = "leash-test-marker";

struct monitor {
	struct sweep_item item;
	struct server *server;
	redisContext *connection;   /* the thread's, but for the shutdown of its socket */
	pthread_t thread;
	pthread_mutex_t mutex;      /* guards the rest */
	char **lines;
	size_t count, capacity;
	size_t marker;              /* the number of the last one that was sent */
	size_t marker_seen;
	bool ended;
};

/* mutex held */
static void
keep(struct monitor *m, const char *line)
{
	const char *marker = strstr(line, MARKER);

	if (marker) {
		m->marker_seen = strtoul(marker + sizeof MARKER, NULL, 10);
		return;
	}
	if (m->count == m->capacity) {
		m->capacity = m->capacity ? 2 * m->capacity : 256;
		m->lines = realloc(m->lines, m->capacity * sizeof *m->lines);
	}
	if (!m->lines || !(m->lines[m->count++] = strdup(line)))
		trouble("no memory");
}

static void *
read_all(void *arg)
{
	struct monitor *m = arg;
	void *reply;

	while (redisGetReply(m->connection, &reply) == REDIS_OK) {
		pthread_mutex_lock(&m->mutex);
		keep(m, ((redisReply *)reply)->str);
		pthread_mutex_unlock(&m->mutex);
		freeReplyObject(reply);
	}
	pthread_mutex_lock(&m->mutex);
	m->ended = true;
	pthread_mutex_unlock(&m->mutex);
	return NULL;
}

STOP_BY(monitor_stop)

struct monitor *
monitor_start(struct server *server)
{
	struct monitor *m = zeroed(sizeof *m);

	m->server = server;
	m->connection = server_connect(server);
	redisSetTimeout(m->connection, (struct timeval){ 0 });   /* silence is no reason to end */
	redisReply *reply = redisCommand(m->connection, "MONITOR");
	if (!reply || reply->type != REDIS_REPLY_STATUS)
		trouble("the server does not let itself be monitored: %s", reply ? reply->str : m->connection->errstr);
	freeReplyObject(reply);
	pthread_mutex_init(&m->mutex, NULL);
	if (pthread_create(&m->thread, NULL, read_all, m) != 0)
		trouble("no thread");
	sweep_add(&m->item, stop, m);
	return m;
}

/* mutex held */
static void
forget(struct monitor *m)
{
	while (m->count > 0)
		free(m->lines[--m->count]);
}

void
monitor_stop(struct monitor *m)
{
	if (!m || !sweep_drop(&m->item))
		return;
	shutdown(m->connection->fd, SHUT_RDWR);
	pthread_join(m->thread, NULL);
	redisFree(m->connection);
	forget(m);
	free(m->lines);
	pthread_mutex_destroy(&m->mutex);
	free(m);
}

static bool
seen(struct monitor *m, size_t marker)
{
	pthread_mutex_lock(&m->mutex);
	bool yes = m->marker_seen >= marker, ended = m->ended;
	pthread_mutex_unlock(&m->mutex);
	if (!yes && ended)
		trouble("the monitor's server has ended");
	return yes;
}

/* Return when all that the server has done so far is in `lines`. */
static void
catch_up(struct monitor *m)
{
	size_t marker;

	pthread_mutex_lock(&m->mutex);
	marker = ++m->marker;
	pthread_mutex_unlock(&m->mutex);
	freeReplyObject(server_command(m->server, "ECHO %s-%llu", MARKER, (unsigned long long)marker));
	await_true(seen(m, marker));
}

void
monitor_mark(struct monitor *m)
{
	catch_up(m);
	pthread_mutex_lock(&m->mutex);
	forget(m);
	pthread_mutex_unlock(&m->mutex);
}

/* "<time> [<db> <address, or lua>] "command" ...": is it a script's? */
static bool
by_script(const char *line)
{
	const char *space = strchr(line, '[') ? strchr(strchr(line, '['), ' ') : NULL;

	return space && strncmp(space, " lua]", 5) == 0;
}

/* The command itself, without time and address. */
static const char *
said(const char *line)
{
	const char *quote = strchr(line, '"');

	return quote ? quote : line;
}

static size_t
count(struct monitor *m, const char *text, bool scripts)
{
	size_t n = 0;

	catch_up(m);
	pthread_mutex_lock(&m->mutex);
	for (size_t i = 0; i < m->count; i++)
		n += by_script(m->lines[i]) == scripts && (!text || strcasestr(said(m->lines[i]), text));
	pthread_mutex_unlock(&m->mutex);
	return n;
}

size_t
monitor_count(struct monitor *m, const char *text)
{
	return count(m, text, false);
}

size_t
monitor_count_in_scripts(struct monitor *m, const char *text)
{
	return count(m, text, true);
}

char *
monitor_last(struct monitor *m, const char *text)
{
	char *line = NULL;

	catch_up(m);
	pthread_mutex_lock(&m->mutex);
	for (size_t i = m->count; i-- > 0 && !line;)
		if (!text || strcasestr(said(m->lines[i]), text))
			line = strdup(m->lines[i]);
	pthread_mutex_unlock(&m->mutex);
	return line;
}
