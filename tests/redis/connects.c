/* See connects.h. */
#include "tests/redis/connects.h"

#include "base/clock.h"
#include "tests/support/await.h"
#include "tests/support/socket.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- the resolver, in the place of the system's ---- */

enum { NAMES = 4 };

static struct {
	pthread_mutex_t mutex;   /* guards all of these */
	pthread_cond_t changed;
	const char *address[NAMES]; /* what any name ending in .test is: up to four numeric addresses */
	int error;               /* or this, and errno EIO */
	bool hangs;              /* does not answer until this is false again */
	unsigned asked, inside;
} names = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static int
real_getaddrinfo(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **list)
{
	int (*next)(const char *, const char *, const struct addrinfo *, struct addrinfo **);

	*(void **)&next = dlsym(RTLD_NEXT, "getaddrinfo");
	return next(host, service, hints, list);
}

int
getaddrinfo(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **list)
{
	const char *address[NAMES];
	struct addrinfo numeric, **end = list;
	int error;

	if (hints->ai_flags & AI_NUMERICHOST || strstr(host, ".test") == NULL)
		return real_getaddrinfo(host, service, hints, list);

	pthread_mutex_lock(&names.mutex);
	names.asked++;
	names.inside++;
	while (names.hangs)
		pthread_cond_wait(&names.changed, &names.mutex);
	names.inside--;
	error = names.error;
	memcpy(address, names.address, sizeof address);
	pthread_mutex_unlock(&names.mutex);

	if (error != 0) {
		errno = EIO;
		return error;
	}
	numeric = *hints;
	numeric.ai_flags |= AI_NUMERICHOST;
	*list = NULL;
	for (int i = 0; i < NAMES && address[i] != NULL; i++) {
		if (real_getaddrinfo(address[i], service, &numeric, end) != 0)
			abort();
		while (*end != NULL)
			end = &(*end)->ai_next;
	}
	return *list != NULL ? 0 : EAI_NONAME;
}

void
names_are(const char *first, const char *second, int error, bool hangs)
{
	pthread_mutex_lock(&names.mutex);
	names.address[0] = first;
	names.address[1] = second;
	names.address[2] = NULL;
	names.error = error;
	names.hangs = hangs;
	pthread_cond_broadcast(&names.changed);
	pthread_mutex_unlock(&names.mutex);
}

unsigned
names_asked(void)
{
	unsigned n;

	pthread_mutex_lock(&names.mutex);
	n = names.asked;
	pthread_mutex_unlock(&names.mutex);
	return n;
}

unsigned
names_inside(void)
{
	unsigned n;

	pthread_mutex_lock(&names.mutex);
	n = names.inside;
	pthread_mutex_unlock(&names.mutex);
	return n;
}

/* ---- a server that says what it was told to ---- */

void
puppet_at(struct puppet *f, const char *address, int port, const char *says)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	socklen_t size = sizeof in;

	memset(f, 0, sizeof *f);
	f->fd = -1;
	f->says = says;
	f->size = says != NULL ? strlen(says) : 0;
	f->pubsub = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	assert_true(f->pubsub >= 0);
	setsockopt(f->pubsub, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
	assert_int_equal(inet_pton(AF_INET, address, &in.sin_addr), 1);
	assert_int_equal(bind(f->pubsub, (struct sockaddr *)&in, sizeof in), 0);
	assert_int_equal(listen(f->pubsub, 16), 0);
	assert_int_equal(getsockname(f->pubsub, (struct sockaddr *)&in, &size), 0);
	f->port = ntohs(in.sin_port);
	snprintf(f->uri, sizeof f->uri, "redis://%s:%d", address, f->port);
}

void
puppet_start(struct puppet *f, const char *says)
{
	puppet_at(f, "127.0.0.1", 0, says);
}

void
puppet_hang_up(struct puppet *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}

void
puppet_stop(struct puppet *f)
{
	puppet_hang_up(f);
	close(f->pubsub);
}

void
puppet_step(struct puppet *f)
{
	char heard[4096];
	ssize_t n;

	if (f->fd < 0) {
		f->fd = socket_accept(f->pubsub);
		if (f->fd < 0)
			return;
		f->accepted++;
		f->said = 0;
		f->heard = f->at_once;
	}
	while ((n = recv(f->fd, heard, sizeof heard, 0)) > 0) {
		f->heard = true;
		if (f->echoes)
			send(f->fd, heard, (size_t)n, MSG_NOSIGNAL);
	}
	while (f->heard && f->said < f->size && (f->drip == 0 || await_now_ns() >= f->next)) {
		n = send(f->fd, f->says + f->said, f->drip == 0 ? f->size - f->said : 1, MSG_NOSIGNAL);
		if (n <= 0)
			break;
		f->said += (size_t)n;
		f->next = await_now_ns() + f->drip;
	}
	if (f->closes && f->heard && f->said == f->size)
		puppet_hang_up(f);
}

/* ---- a connector, driven to its end ---- */

struct lsh_uri uri;
struct lsh_connector *connector;
struct lsh_hello hello;
leash_error err;

void
open_dial(const char *text, const char *name, const char *channel)
{
	assert_int_equal(lsh_uri_parse(&uri, text, &err), LEASH_OK);
	connector = lsh_connector_new(&uri, LSH_WANT_SERVER, name, channel);
	assert_non_null(connector);
}

void
close_dial(void)
{
	lsh_connector_free(connector);
	connector = NULL;
	lsh_uri_clear(&uri);
}

enum lsh_progress
step(void)
{
	memset(&hello, 0, sizeof hello);
	hello.stream.fd = -1;
	memset(&err, 0, sizeof err);
	return lsh_connector_step(connector, &hello, &err);
}

struct pollfd
dial_poll(int64_t *until)
{
	struct pollfd polled = {.fd = -1};

	*until = LSH_NEVER;
	lsh_connector_poll(connector, &polled, until);
	return polled;
}

void
wait_for_dial(int64_t deadline, bool shortly)
{
	int64_t until, left;
	struct pollfd p = dial_poll(&until);

	assert_true(until <= deadline);
	left = until - lsh_now_ns();
	if (left < 0)
		left = 0;
	poll(&p, 1, shortly ? 1 : (int)(left / LSH_MS + 1));
}

enum lsh_progress
attempt(int64_t deadline, struct puppet *f, struct puppet *g)
{
	enum lsh_progress progress;

	lsh_connector_start(connector, deadline);
	while ((progress = step()) == LSH_WAIT) {
		wait_for_dial(deadline, f != NULL || g != NULL);
		if (f != NULL)
			puppet_step(f);
		if (g != NULL)
			puppet_step(g);
	}
	return progress;
}

int64_t
ample(void)
{
	return await_limit_ns(30);
}

enum lsh_progress
dial_to(const char *text, const char *name, const char *channel)
{
	enum lsh_progress progress;

	open_dial(text, name, channel);
	progress = attempt(ample(), NULL, NULL);
	close_dial();
	return progress;
}

void
check_contains(const char *text, const char *part)
{
	if (strstr(text, part) == NULL)
		fail_msg("\"%s\" says nothing of \"%s\"", text, part);
}

void
check_failed(enum lsh_progress progress, leash_status status, const char *part)
{
	if (progress != LSH_FAILED)
		fail_msg("it did not fail with %s, %s", leash_status_name(status), part);
	if (err.status != status)
		fail_msg("%s is not what was expected, %s: %s", leash_status_name(err.status), leash_status_name(status), err.text);
	check_contains(err.text, part);
	assert_int_equal(hello.stream.fd, -1);
	assert_int_not_equal(err.text[strlen(err.text) - 1], '.');
}

void
await_readable(int fd)
{
	assert_int_equal(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, (int)(30000 * await_slowness())), 1);
}

/* ---- a real server ---- */

struct server *server;

void
check_hello(void)
{
	const char *info = server_text(server, "INFO server");
	char run_id[64], version[64];
	int64_t at, server_us;
	redisReply *time;

	snprintf(run_id, sizeof run_id, "run_id:%s\r\n", hello.run_id);
	assert_int_equal(strlen(hello.run_id), LSH_RUN_ID_SIZE - 1);
	check_contains(info, run_id);
	snprintf(version, sizeof version, "redis_version:%u.%u.%u\r\n", hello.version >> 16, hello.version >> 8 & 255, hello.version & 255);
	check_contains(info, version);
	assert_true(hello.version >= 0x060200);
	assert_false(hello.cluster);
	assert_true(hello.uptime_ms >= 0);

	/* the server's time is never behind what is made of the hello, and was that soon before */
	at = lsh_now_ns();
	time = server_command(server, "TIME");
	server_us = atoll(time->element[0]->str) * 1000000 + atoll(time->element[1]->str);
	freeReplyObject(time);
	assert_true(hello.received_ns <= at);
	if (hello.server_us != 0) {
		assert_true(hello.server_us + (at - hello.received_ns) / 1000 <= server_us + 1);
		assert_true(server_us - hello.server_us < 60 * 1000000LL);
	}
}

void
start_tcp_server(void)
{
	server = server_start_tcp(NULL);
}

void
stop_server(void)
{
	server_stop(server);
}
