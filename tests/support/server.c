/* Real servers for tests. See server.h.
 *
 * A server is a child of the test process. Its pid is changed only by kill, restart and stop, which take `life`; asking
 * takes `talk` alone, so a server can be killed, paused and resumed under a command that waits for it. */
#include "tests/support/server.h"

#include "tests/support/await.h"
#include "tests/support/child.h"
#include "tests/support/clock_shim.h"
#include "tests/support/ports.h"
#include "tests/support/socket.h"
#include "tests/support/sweep.h"
#include "tests/support/trouble.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TEXTS = 32, MAX_ARGS = 64, PORT_TRIES = 20 };

struct server {
	struct sweep_item item;
	char *folder, *socket, *log, *uri, *uri_tcp, *uri_tls;
	char *args[MAX_ARGS];        /* of the caller's */
	size_t arg_count;
	const char *password;        /* among them, or NULL */
	int port;                    /* 0: unix socket only */
	const char *const *tls;      /* what it needs to speak TLS there; NULL: it does not */
	struct clock_page *clock;    /* NULL: its clock is the machine's */
	char **environment;          /* the server's, with the shim for that; NULL: ours */
	char *config;                /* of a sentinel: the file that it writes to; NULL: it is none */

	pthread_mutex_t life;        /* held while it is started and ended */
	_Atomic pid_t pid;           /* 0: reaped */

	pthread_mutex_t talk;        /* guards the rest */
	redisContext *connection;    /* NULL: not open */
	char *texts[TEXTS];
	size_t next_text;
};

static const char *
program(void)
{
	const char *chosen = getenv("LEASH_TEST_SERVER");

	return chosen && *chosen ? chosen : "redis-server";
}

static char *
format_text(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		trouble("no memory");
	va_end(args);
	return text;
}

/* The end of what the server wrote, to be freed. */
static char *
read_log(const struct server *server)
{
	char *text = calloc(1, 4096);
	FILE *file = fopen(server->log, "re");

	if (!text)
		trouble("no memory");
	if (file) {
		if (fseek(file, -4000, SEEK_END) != 0)
			rewind(file);
		text[fread(text, 1, 4095, file)] = '\0';
		fclose(file);
	}
	return text;
}

/* Only what is safe after a fork of many threads. */
static _Noreturn void
become_server(char *const *argv, char *const *environment, int log, int report, pid_t parent, bool by_main_thread)
{
	sigset_t none;
	int error;

	/* It would fire as soon as the forking thread ends; for other threads than the main one the sweeper must do. */
	if (by_main_thread && (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent))
		_exit(1);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	dup2(log, 1);
	dup2(log, 2);
	/* Others' connections have no place in the server: they would stay open for as long as it runs. */
	dup2(report, 3);
	fcntl(3, F_SETFD, FD_CLOEXEC);
	close_range(4, ~0U, 0);
	execvpe(argv[0], argv, environment);
	error = errno;
	if (write(3, &error, sizeof error) < 0)
		_exit(126);
	_exit(127);
}

static void
spawn(struct server *server)
{
	char port[16];
	char *argv[MAX_ARGS + 40];
	size_t n = 0;
	int log, report[2], error = 0;
	pid_t parent = getpid(), pid;
	bool by_main_thread = gettid() == parent;

	snprintf(port, sizeof port, "%d", server->port);
	argv[n++] = (char *)(uintptr_t)program();   /* exec changes none of these */
	if (server->config)
		argv[n++] = server->config;
	const char *const ours[] = { "--port", port, "--bind", "127.0.0.1", "--unixsocket", server->socket,
	                             "--dir", server->folder, "--save", "", "--appendonly", "no", "--daemonize", "no" };
	for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
		argv[n++] = (char *)(uintptr_t)ours[i];
	const char *const instead[] = { "--port", "0", "--tls-port", port };
	for (size_t i = 0; server->tls && i < sizeof instead / sizeof *instead; i++)
		argv[n++] = (char *)(uintptr_t)instead[i];
	for (size_t i = 0; server->tls && server->tls[i]; i++)
		argv[n++] = (char *)(uintptr_t)server->tls[i];
	for (size_t i = 0; i < server->arg_count; i++)
		argv[n++] = server->args[i];
	if (server->config)
		argv[n++] = (char *)(uintptr_t)"--sentinel";
	argv[n] = NULL;

	log = open(server->log, O_WRONLY | O_CREAT | O_APPEND | O_TRUNC | O_CLOEXEC, 0600);
	if (log < 0 || pipe2(report, O_CLOEXEC) != 0)
		trouble("cannot start a server: %s", strerror(errno));
	pid = fork();
	if (pid < 0)
		trouble("fork: %s", strerror(errno));
	if (pid == 0)
		become_server(argv, server->environment ? server->environment : environ, log, report[1], parent, by_main_thread);
	close(log);
	close(report[1]);
	while (read(report[0], &error, sizeof error) < 0 && errno == EINTR)
		continue;
	close(report[0]);
	if (error == 0) {
		sweep_process(pid);
		server->pid = pid;
		return;
	}
	waitpid(pid, NULL, 0);
	if (error != ENOENT || getenv("LEASH_TEST_SERVER"))
		trouble("cannot run %s: %s", argv[0], strerror(error));
	fprintf(stderr, "skipped: redis-server is not installed (on Debian: apt-get install redis-server)\n");
	exit(77);
}

/* Wait for the end of a process that was killed. */
static void
reap(struct server *server)
{
	pid_t pid = atomic_exchange(&server->pid, 0);

	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		continue;
}

/* life held */
static void
end(struct server *server)
{
	if (server->pid > 0)
		kill(server->pid, SIGKILL);
	reap(server);
}

/* A connection that nobody has said anything on; NULL: the server does not listen. */
static redisContext *
dial(struct server *server)
{
	double limit = 30 * await_slowness();
	struct timeval timeout = { .tv_sec = (time_t)limit };
	redisContext *c = redisConnectUnixWithTimeout(server->socket, timeout);

	if (!c)
		trouble("no memory");
	if (c->err) {
		redisFree(c);
		return NULL;
	}
	fcntl(c->fd, F_SETFD, FD_CLOEXEC);
	redisSetTimeout(c, timeout);
	if (server->password)
		freeReplyObject(redisCommand(c, "AUTH %s", server->password));
	return c;
}

/* Does it answer? `loaded`: and is it not loading? */
static bool
answers(struct server *server, bool loaded)
{
	redisContext *c = dial(server);
	redisReply *reply = c ? redisCommand(c, "PING") : NULL;
	bool yes = reply && !(loaded && reply->type == REDIS_REPLY_ERROR && strncmp(reply->str, "LOADING", 7) == 0);

	if (reply)
		freeReplyObject(reply);
	if (c)
		redisFree(c);
	return yes;
}

/* life held; false: another has taken the port meanwhile. */
static bool
run(struct server *server, bool loaded)
{
	int64_t limit = await_limit_ns(30);
	siginfo_t end = { .si_pid = 0 };
	char *log;

	unlink(server->socket);
	spawn(server);
	while (!answers(server, loaded)) {
		waitid(P_PID, (id_t)server->pid, &end, WEXITED | WNOHANG | WNOWAIT);
		if (end.si_pid != 0 || await_is_past(limit))
			break;
		await_ms(1);
	}
	if (end.si_pid == 0 && !await_is_past(limit))
		return true;

	log = read_log(server);
	if (end.si_pid != 0) {
		reap(server);
		if (server->port && strstr(log, "Address already in use")) {
			free(log);
			return false;
		}
		trouble("%s ended instead of answering; it said:\n%s", program(), log);
	}
	trouble("%s does not answer; it said:\n%s", program(), log);
}

/* A server that is to keep its users in a file does not start without one. */
static void
make_user_file(const struct server *server, const char *name)
{
	char *path = format_text("%s/%s", server->folder, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0)
		trouble("%s: %s", path, strerror(errno));
	close(fd);
	free(path);
}

/* Its own clock, in a file that it maps as well, and the environment in which it does. */
static void
give_clock(struct server *server)
{
	char *path = format_text("%s/clock", server->folder), *preload = getenv("LD_PRELOAD");
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	size_t n = 0, kept = 0;

	if (access(CLOCK_SHIM, R_OK) != 0)
		trouble("%s: %s", CLOCK_SHIM, strerror(errno));
	if (fd < 0 || ftruncate(fd, sizeof *server->clock) != 0)
		trouble("%s: %s", path, strerror(errno));
	server->clock = mmap(NULL, sizeof *server->clock, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (server->clock == MAP_FAILED)
		trouble("%s: %s", path, strerror(errno));
	close(fd);

	while (environ[n])
		n++;
	server->environment = calloc(n + 3, sizeof *server->environment);
	if (!server->environment)
		trouble("no memory");
	server->environment[kept++] = format_text("%s=%s", CLOCK_SHIM_ENV, path);
	/* What else is preloaded may be a sanitizer's runtime, which wants to be the first. */
	server->environment[kept++] = format_text("LD_PRELOAD=%s%s%s", preload ? preload : "", preload ? " " : "", CLOCK_SHIM);
	for (size_t i = 0; i < n; i++)
		if (strncmp(environ[i], "LD_PRELOAD=", 11) != 0)
			server->environment[kept++] = format_text("%s", environ[i]);
	free(path);
}

static void
stop(void *server)
{
	server_stop(server);
}

static void
write_config(struct server *server, const char *text)
{
	FILE *file;

	server->config = format_text("%s/sentinel.conf", server->folder);
	file = fopen(server->config, "we");
	if (!file || fputs(text, file) < 0 || fclose(file) != 0)
		trouble("%s: %s", server->config, strerror(errno));
}

/* `port`: the one it is to have, 0: any if `tcp`; `config`: of a sentinel, else NULL; `tls`: what it needs for that, or NULL. */
static struct server *
start_as(const char *const *args, bool tcp, bool clocked, int port, const char *config, const char *const *tls)
{
	struct server *server = calloc(1, sizeof *server);
	bool knows_slots = false;
	int tries = 0;

	if (!server)
		trouble("no memory");
	pthread_mutex_init(&server->life, NULL);
	pthread_mutex_init(&server->talk, NULL);
	server->folder = sweep_folder();
	server->socket = format_text("%s/redis.sock", server->folder);
	server->log = format_text("%s/redis.log", server->folder);
	server->uri = format_text("unix://%s", server->socket);
	for (size_t i = 0; args && args[i]; i++) {
		if (i + 2 == MAX_ARGS)
			trouble("more than %d arguments for a server", MAX_ARGS - 2);
		server->args[server->arg_count++] = format_text("%s", args[i]);
	}
	for (size_t i = 0; i + 1 < server->arg_count; i++)
		if (strcmp(server->args[i], "--requirepass") == 0)
			server->password = server->args[i + 1];
		else if (strcmp(server->args[i], "--aclfile") == 0)
			make_user_file(server, server->args[i + 1]);
		else if (strcmp(server->args[i], "--cluster-enabled") == 0)
			knows_slots = true;
	if (knows_slots && !tcp) { /* else all of them would have one port for their bus */
		server->args[server->arg_count++] = format_text("--cluster-port");
		server->args[server->arg_count++] = format_text("%d", ports_take());
	}
	server->tls = tls;
	if (clocked)
		give_clock(server);
	if (config)
		write_config(server, config);
	sweep_add(&server->item, stop, server);

	do {
		free(server->uri_tcp);
		free(server->uri_tls);
		server->port = port ? port : tcp ? socket_free_port() : 0;
		server->uri_tcp = format_text("redis://127.0.0.1:%d", server->port);
		server->uri_tls = format_text("rediss://127.0.0.1:%d?%s", server->port, tls ? certs_query() : "");
		if (tries++ == PORT_TRIES)
			trouble("no port of 127.0.0.1 stays free");
	} while (!run(server, true));
	return server;
}

static struct server *
start(const char *const *args, bool tcp, bool clocked)
{
	return start_as(args, tcp, clocked, 0, NULL, NULL);
}

struct server *
server_start(const char *const *args)
{
	return start(args, false, false);
}

struct server *
server_start_tcp(const char *const *args)
{
	return start(args, true, false);
}

struct server *
server_start_clocked(const char *const *args)
{
	return start(args, false, true);
}

struct server *
server_start_tls(enum certs_of whose, bool asks, const char *const *args)
{
	return start_as(args, true, false, 0, NULL, certs_server_args(whose, asks));
}

struct server *
server_start_at(int port, const char *const *args)
{
	return start_as(args, true, false, port, NULL, NULL);
}

struct server *
server_start_sentinel(int port, const char *config, const char *const *args)
{
	return start_as(args, true, false, port, config, NULL);
}

void
server_stop(struct server *server)
{
	if (!server || !sweep_drop(&server->item))
		return;
	pthread_mutex_lock(&server->life);
	end(server);
	pthread_mutex_unlock(&server->life);
	if (server->connection)
		redisFree(server->connection);
	for (size_t i = 0; i < TEXTS; i++)
		free(server->texts[i]);
	for (size_t i = 0; i < server->arg_count; i++)
		free(server->args[i]);
	for (size_t i = 0; server->environment && server->environment[i]; i++)
		free(server->environment[i]);
	free(server->environment);
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
server_kill(struct server *server)
{
	pthread_mutex_lock(&server->life);
	end(server);
	pthread_mutex_unlock(&server->life);
}

static void
start_again(struct server *server, bool loaded)
{
	pthread_mutex_lock(&server->life);
	end(server);
	if (!run(server, loaded))
		trouble("port %d was taken by another process", server->port);
	pthread_mutex_unlock(&server->life);
}

void
server_restart(struct server *server)
{
	start_again(server, true);
}

void
server_boot(struct server *server)
{
	start_again(server, false);
}

void
server_pause(struct server *server)
{
	child_pause(server->pid);
}

void
server_resume(struct server *server)
{
	child_resume(server->pid);
}

void
server_set_clock(struct server *server, int64_t ahead_ms)
{
	if (!server->clock)
		trouble("only a server of server_start_clocked has a clock that can be set");
	atomic_store(&server->clock->wall_ns, ahead_ms * 1000000);
}

void
server_stop_clock(struct server *server, int64_t unix_us)
{
	if (!server->clock)
		trouble("only a server of server_start_clocked has a clock that can be stopped");
	atomic_store(&server->clock->still_ns, unix_us * 1000);
}

const char *
server_folder(const struct server *server)
{
	return server->folder;
}

const char *
server_socket(const struct server *server)
{
	return server->socket;
}

const char *
server_uri(const struct server *server)
{
	return server->uri;
}

const char *
server_uri_tcp(const struct server *server)
{
	return server->uri_tcp;
}

const char *
server_uri_tls(const struct server *server)
{
	return server->uri_tls;
}

int
server_port(const struct server *server)
{
	return server->port;
}

pid_t
server_pid(const struct server *server)
{
	return server->pid;
}

redisContext *
server_connect(struct server *server)
{
	redisContext *c = dial(server);

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

static redisReply *
command(struct server *server, const char *format, va_list args)
{
	redisContext *c;
	redisReply *reply;
	sigset_t before;
	va_list again;
	char why[256];

	va_copy(again, args);
	pthread_mutex_lock(&server->talk);
	socket_hush(&before);
	c = connection(server);
	reply = redisvCommand(c, format, args);
	if (!reply && errno == EPIPE) { /* a server whose role changes is told by its sentinels to cut everybody off: not a word was sent */
		redisFree(c);
		server->connection = NULL;
		c = connection(server);
		reply = redisvCommand(c, format, again);
	}
	socket_unhush(&before);
	va_end(again);
	if (!reply) {
		snprintf(why, sizeof why, "%s", c->errstr);
		redisFree(c);
		server->connection = NULL;
	}
	pthread_mutex_unlock(&server->talk);
	if (!reply)
		trouble("the server did not answer '%s': %s", format, why);
	return reply;
}

redisReply *
server_command(struct server *server, const char *format, ...)
{
	va_list args;
	redisReply *reply;

	va_start(args, format);
	reply = command(server, format, args);
	va_end(args);
	return reply;
}

int64_t
server_integer(struct server *server, const char *format, ...)
{
	va_list args;
	redisReply *reply;
	int64_t n;

	va_start(args, format);
	reply = command(server, format, args);
	va_end(args);
	if (reply->type != REDIS_REPLY_INTEGER)
		trouble("the answer to '%s' is no integer but: %s", format, reply->str ? reply->str : "an array or nothing");
	n = reply->integer;
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

/* Taken over, to be freed when its place is needed again. */
static const char *
keep_text(struct server *server, char *text)
{
	pthread_mutex_lock(&server->talk);
	free(server->texts[server->next_text]);
	server->texts[server->next_text] = text;
	server->next_text = (server->next_text + 1) % TEXTS;
	pthread_mutex_unlock(&server->talk);
	return text;
}

const char *
server_text(struct server *server, const char *format, ...)
{
	va_list args;
	redisReply *reply;
	char *text = NULL;
	size_t size;
	FILE *out;

	va_start(args, format);
	reply = command(server, format, args);
	va_end(args);
	if (reply->type == REDIS_REPLY_ERROR)
		trouble("the answer to '%s' is: %s", format, reply->str);
	if (reply->type != REDIS_REPLY_NIL) {
		out = open_memstream(&text, &size);
		if (!out)
			trouble("no memory");
		print(out, reply);
		fclose(out);
	}
	freeReplyObject(reply);
	return keep_text(server, text);
}

int64_t
server_calls(struct server *server, const char *command)
{
	char field[64];
	const char *at;

	snprintf(field, sizeof field, "cmdstat_%s:calls=", command);
	at = strstr(server_text(server, "INFO commandstats"), field);
	return at ? atoll(at + strlen(field)) : 0;
}
