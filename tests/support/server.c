/* Real servers for tests. See server.h.
 *
 * A server is a child of the test process. Its pid is changed only by kill, restart and stop, which take `life`; asking
 * takes `talk` alone, so a server can be killed, paused and resumed under a command that waits for it. */
#include "tests/support/server.h"

#include "tests/support/await.h"
#include "tests/support/socket.h"
#include "tests/support/trouble.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *
program(void)
{
	const char *chosen = getenv("LEASH_TEST_SERVER");

	return chosen && *chosen ? chosen : "redis-server";
}

/* ---- words ---- */

void
words_add_all(struct words *words, const char *const *more)
{
	for (; more && *more; more++) {
		words->at = realloc(words->at, (words->count + 2) * sizeof *words->at);
		if (!words->at)
			trouble("no memory");
		words->at[words->count++] = text_of("%s", *more);
		words->at[words->count] = NULL;
	}
}

void
words_add_number(struct words *words, const char *word, int64_t number)
{
	char text[24];

	snprintf(text, sizeof text, "%lld", (long long)number);
	words_add(words, word, text);
}

void
words_free(struct words *words)
{
	while (words->count > 0)
		free(words->at[--words->count]);
	free(words->at);
}

/* ---- its process ---- */

/* The end of what the server wrote, to be freed. */
static char *
read_log(const struct server *server)
{
	char *text = zeroed(4096);
	FILE *file = fopen(server->log, "re");

	if (file) {
		if (fseek(file, -4000, SEEK_END) != 0)
			rewind(file);
		text[fread(text, 1, 4095, file)] = '\0';
		fclose(file);
	}
	return text;
}

static void
spawn(struct server *server)
{
	struct words argv = { .count = 0 };
	pid_t pid;

	words_add(&argv, program());
	if (server->config)
		words_add(&argv, server->config);
	words_add(&argv, "--bind", "127.0.0.1", "--unixsocket", server->socket, "--dir", server->folder, "--save", "",
	          "--appendonly", "no", "--daemonize", "no");
	words_add_number(&argv, "--port", server->tls ? 0 : server->port);
	if (server->tls)
		words_add_number(&argv, "--tls-port", server->port);
	words_add_all(&argv, server->tls);
	words_add_all(&argv, (const char *const *)server->args.at);
	if (server->config)
		words_add(&argv, "--sentinel");

	int log = open(server->log, O_WRONLY | O_CREAT | O_APPEND | O_TRUNC | O_CLOEXEC, 0600);
	if (log < 0)
		trouble("%s: %s", server->log, strerror(errno));
	char **environment = server->environment.at ? server->environment.at : environ;
	int error = sweep_spawn(&pid, argv.at, environment, (int[]){-1, log, log}, NULL);
	words_free(&argv);
	close(log);
	if (error == 0) {
		sweep_process(pid);
		server->pid = pid;
		return;
	}
	if (error != ENOENT || getenv("LEASH_TEST_SERVER"))
		trouble("cannot run %s: %s", program(), strerror(error));
	fprintf(stderr, "skipped: redis-server is not installed (on Debian: apt-get install redis-server)\n");
	exit(77);
}

/* life held */
static void
end(struct server *server)
{
	pid_t pid = atomic_exchange(&server->pid, 0);

	if (pid > 0)
		child_kill(pid);
}

redisContext *
server_dial(struct server *server, double seconds)
{
	struct timeval timeout = { .tv_sec = (time_t)(seconds * await_slowness()) };
	redisContext *c = redisConnectUnixWithTimeout(server->socket, timeout);

	if (!c)
		trouble("no memory");
	if (!c->err) {
		fcntl(c->fd, F_SETFD, FD_CLOEXEC);
		redisSetTimeout(c, timeout);
		redisReply *reply = server->password ? redisCommand(c, "AUTH %s", server->password) : NULL;
		freeReplyObject(reply);
		if (reply || !server->password)
			return c;
	}
	redisFree(c);
	return NULL;
}

/* Does it answer, and is it not loading? */
static bool
answers(struct server *server)
{
	redisContext *c = server_dial(server, AWAIT_S);
	redisReply *reply = c ? redisCommand(c, "PING") : NULL;
	bool yes = reply && !(reply->type == REDIS_REPLY_ERROR && strncmp(reply->str, "LOADING", 7) == 0);

	freeReplyObject(reply);
	redisFree(c);
	return yes;
}

/* life held */
static void
run(struct server *server)
{
	int64_t limit = await_limit_ns(AWAIT_S);
	siginfo_t end = { .si_pid = 0 };

	unlink(server->socket);
	spawn(server);
	for (; !answers(server); await_ms(1)) {
		waitid(P_PID, (id_t)server->pid, &end, WEXITED | WNOHANG | WNOWAIT);
		if (end.si_pid == 0 && !await_is_past(limit))
			continue;
		trouble("%s %s; it said:\n%s", program(), end.si_pid != 0 ? "ended instead of answering" : "does not answer",
		        read_log(server));
	}
}

/* Its own clock, in a file that it maps as well, and the environment in which it does. */
static void
give_clock(struct server *server)
{
	char *path = text_of("%s/clock", server->folder), *preload = getenv("LD_PRELOAD");
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (access(CLOCK_SHIM, R_OK) != 0)
		trouble("%s: %s", CLOCK_SHIM, strerror(errno));
	if (fd < 0 || ftruncate(fd, sizeof *server->clock) != 0)
		trouble("%s: %s", path, strerror(errno));
	server->clock = mmap(NULL, sizeof *server->clock, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (server->clock == MAP_FAILED)
		trouble("%s: %s", path, strerror(errno));
	close(fd);

	char *page = text_of("%s=%s", CLOCK_SHIM_ENV, path);
	/* What else is preloaded may be a sanitizer's runtime, which wants to be the first. */
	char *shim = text_of("LD_PRELOAD=%s%s%s", preload ? preload : "", preload ? " " : "", CLOCK_SHIM);
	words_add(&server->environment, page, shim);
	for (char **variable = environ; *variable; variable++)
		if (strncmp(*variable, "LD_PRELOAD=", 11) != 0)
			words_add(&server->environment, *variable);
	free(path);
	free(page);
	free(shim);
}

STOP_BY(server_stop)

/* What its arguments say that we have to know or do, too. */
static void
heed_args(struct server *server)
{
	for (size_t i = 0; i + 1 < server->args.count; i++) {
		const char *arg = server->args.at[i];

		if (strcmp(arg, "--requirepass") == 0)
			server->password = server->args.at[i + 1];
		else if (strcmp(arg, "--aclfile") == 0)
			free(sweep_file(server->folder, server->args.at[i + 1], "")); /* without one the server does not start */
		else if (strcmp(arg, "--cluster-enabled") == 0 && !server->port) /* else all would have one port for the bus */
			words_add_number(&server->args, "--cluster-port", ports_take());
	}
}

struct server *
server_start_with(const struct server_options *o)
{
	struct server *server = zeroed(sizeof *server);
	int port = o->port || !o->tcp ? o->port : ports_take();

	pthread_mutex_init(&server->life, NULL);
	pthread_mutex_init(&server->talk, NULL);
	server->folder = sweep_folder();
	server->socket = text_of("%s/redis.sock", server->folder);
	server->log = text_of("%s/redis.log", server->folder);
	server->uri = text_of("unix://%s", server->socket);
	words_add_all(&server->args, o->args);
	server->port = port;
	server->uri_tcp = text_of("redis://127.0.0.1:%d", port);
	server->uri_tls = text_of("rediss://127.0.0.1:%d?%s", port, o->tls ? certs_query() : "");
	heed_args(server);
	server->tls = o->tls;
	if (o->clocked)
		give_clock(server);
	if (o->sentinel)
		server->config = sweep_file(server->folder, "sentinel.conf", o->sentinel);
	sweep_add(&server->item, stop, server);
	run(server);
	return server;
}

void
server_kill(struct server *server)
{
	pthread_mutex_lock(&server->life);
	end(server);
	pthread_mutex_unlock(&server->life);
}

void
server_stop(struct server *server)
{
	if (!server || !sweep_drop(&server->item))
		return;
	server_kill(server);
	ports_let_go(server->port);
	redisFree(server->connection);
	for (size_t i = 0; i < SERVER_TEXTS; i++)
		free(server->texts[i]);
	words_free(&server->args);
	words_free(&server->environment);
	if (server->clock)
		munmap(server->clock, sizeof *server->clock);
	sweep_remove(server->folder);
	free(server->config);
	free(server->socket);
	free(server->log);
	free(server->uri);
	free(server->uri_tcp);
	free(server->uri_tls);
	pthread_mutex_destroy(&server->life);
	pthread_mutex_destroy(&server->talk);
	free(server);
}

void
server_restart(struct server *server)
{
	pthread_mutex_lock(&server->life);
	end(server);
	run(server);
	pthread_mutex_unlock(&server->life);
}

struct clock_page *
server_clock(struct server *server)
{
	if (!server->clock)
		trouble("only a server that is clocked has a clock that can be set");
	return server->clock;
}

redisContext *
server_connect(struct server *server)
{
	redisContext *c = server_dial(server, AWAIT_S);

	if (!c)
		trouble("the server on %s does not take connections", server->socket);
	return c;
}

/* talk held. The connection, opened anew if the server has ended it. */
static redisContext *
connection(struct server *server)
{
	char byte;

	if (server->connection) {
		ssize_t n = recv(server->connection->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

		if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
			return server->connection;
		redisFree(server->connection);
	}
	server->connection = NULL;
	server->connection = server_connect(server);
	return server->connection;
}

/* NULL and errno: it could not be sent, or was not answered. */
static redisReply *
ask(redisContext *c, const char *words, int size)
{
	void *reply = NULL;

	return redisAppendFormattedCommand(c, words, (size_t)size) == REDIS_OK && redisGetReply(c, &reply) == REDIS_OK ? reply : NULL;
}

/* A command as it is sent, of that size, which is freed. */
static redisReply *
command(struct server *server, const char *what, char *words, int size)
{
	sigset_t before;
	char why[256];

	if (size < 0)
		trouble("'%s' is no command", what);
	pthread_mutex_lock(&server->talk);
	socket_hush(&before);
	redisContext *c = connection(server);
	redisReply *reply = ask(c, words, size);
	if (!reply && errno == EPIPE) { /* a server whose role changes is told by its sentinels to cut everybody off: not a word was sent */
		redisFree(c);
		server->connection = NULL;
		c = connection(server);
		reply = ask(c, words, size);
	}
	socket_unhush(&before);
	free(words);
	if (!reply) {
		snprintf(why, sizeof why, "%s", c->errstr);
		redisFree(c);
		server->connection = NULL;
	}
	pthread_mutex_unlock(&server->talk);
	if (!reply)
		trouble("the server did not answer '%s': %s", what, why);
	return reply;
}

static redisReply *
command_of(struct server *server, const char *format, va_list args)
{
	char *words = NULL;
	int size = redisvFormatCommand(&words, format, args);

	return command(server, format, words, size);
}

redisReply *
server_command(struct server *server, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	redisReply *reply = command_of(server, format, args);
	va_end(args);
	return reply;
}

void
server_heed(redisReply *reply)
{
	if (reply->type == REDIS_REPLY_ERROR)
		trouble("a server said: %s", reply->str);
	freeReplyObject(reply);
}

int64_t
server_number(const char *what, redisReply *reply)
{
	if (reply->type != REDIS_REPLY_INTEGER)
		trouble("the answer to '%s' is no integer but: %s", what, reply->str ? reply->str : "an array or nothing");
	int64_t n = reply->integer;
	freeReplyObject(reply);
	return n;
}

static void
print(FILE *out, const redisReply *reply)
{
	if (reply->type == REDIS_REPLY_INTEGER)
		fprintf(out, "%lld", reply->integer);
	else if (reply->str)
		fwrite(reply->str, 1, (size_t)reply->len, out);
	for (size_t i = 0; i < reply->elements; i++) {
		if (i > 0)
			fputc(' ', out);
		print(out, reply->element[i]);
	}
}

/* Of the answer, which is freed. The text is, when its place is needed again. */
static const char *
as_text(struct server *server, const char *what, redisReply *reply)
{
	char *text = NULL;
	size_t size;
	FILE *out;

	if (reply->type == REDIS_REPLY_ERROR)
		trouble("the answer to '%s' is: %s", what, reply->str);
	if (reply->type != REDIS_REPLY_NIL) {
		out = open_memstream(&text, &size);
		if (!out)
			trouble("no memory");
		print(out, reply);
		fclose(out);
	}
	freeReplyObject(reply);
	pthread_mutex_lock(&server->talk);
	free(server->texts[server->next_text]);
	server->texts[server->next_text] = text;
	server->next_text = (server->next_text + 1) % SERVER_TEXTS;
	pthread_mutex_unlock(&server->talk);
	return text;
}

const char *
server_text(struct server *server, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	redisReply *reply = command_of(server, format, args);
	va_end(args);
	return as_text(server, format, reply);
}

const char *
server_text_of(struct server *server, int count, const char **words)
{
	char *sent = NULL;
	int size = redisFormatCommandArgv(&sent, count, words, NULL);

	return as_text(server, words[0], command(server, words[0], sent, size));
}

int64_t
server_calls(struct server *server, const char *command)
{
	char field[64];

	snprintf(field, sizeof field, "cmdstat_%s:calls=", command);
	const char *at = strstr(server_text(server, "INFO commandstats"), field);
	return at ? atoll(at + strlen(field)) : 0;
}
