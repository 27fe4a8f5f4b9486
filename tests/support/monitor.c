/* MONITOR for tests. See monitor.h. The server keeps what it has to say until a question is asked here. */
#include "tests/support/monitor.h"

#include "tests/support/trouble.h"

#include <stdlib.h>
#include <string.h>

#define MARKER "leash-test-marker"

struct monitor {
	struct sweep_item item;
	struct server *server;
	redisContext *connection;
	redisReply **said;   /* since the mark */
	size_t count;
};

STOP_BY(monitor_stop)

struct monitor *
monitor_start(struct server *server)
{
	struct monitor *m = zeroed(sizeof *m);

	m->server = server;
	m->connection = server_connect(server);
	redisReply *reply = redisCommand(m->connection, "MONITOR");
	if (!reply || reply->type != REDIS_REPLY_STATUS)
		trouble("the server does not let itself be monitored: %s", reply ? reply->str : m->connection->errstr);
	freeReplyObject(reply);
	sweep_add(&m->item, stop, m);
	return m;
}

static void
forget(struct monitor *m)
{
	while (m->count > 0)
		freeReplyObject(m->said[--m->count]);
}

void
monitor_stop(struct monitor *m)
{
	if (!m || !sweep_drop(&m->item))
		return;
	redisFree(m->connection);
	forget(m);
	free(m->said);
	free(m);
}

/* Read all that the server has done so far. */
static void
catch_up(struct monitor *m)
{
	static unsigned long long markers;
	unsigned long long marker = ++markers, seen = 0;
	void *reply;

	freeReplyObject(server_command(m->server, "ECHO " MARKER "-%llu", marker));
	while (seen != marker) {
		if (redisGetReply(m->connection, &reply) != REDIS_OK)
			trouble("the monitor's server has ended");
		const char *at = strstr(((redisReply *)reply)->str, MARKER);
		if (at) {
			seen = strtoull(at + sizeof MARKER, NULL, 10);
			freeReplyObject(reply);
			continue;
		}
		m->said = realloc(m->said, (m->count + 1) * sizeof *m->said);
		if (!m->said)
			trouble("no memory");
		m->said[m->count++] = reply;
	}
}

void
monitor_mark(struct monitor *m)
{
	catch_up(m);
	forget(m);
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

size_t
monitor_count_of(struct monitor *m, const char *text, bool scripts)
{
	size_t n = 0;

	catch_up(m);
	for (size_t i = 0; i < m->count; i++)
		n += by_script(m->said[i]->str) == scripts && (!text || strcasestr(said(m->said[i]->str), text));
	return n;
}

char *
monitor_last(struct monitor *m, const char *text)
{
	char *line = NULL;

	catch_up(m);
	for (size_t i = m->count; i-- > 0 && !line;)
		if (!text || strcasestr(said(m->said[i]->str), text))
			line = strdup(m->said[i]->str);
	return line;
}
