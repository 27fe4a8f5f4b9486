/* Sockets for the servers, proxies and fakes of the tests. */
#include "tests/support/socket.h"

#include "tests/support/await.h"
#include "tests/support/trouble.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { MAX_FD = 65536, LOWEST = 10500, PORTS = 9400 }; /* ports for servers: their buses end at 29900 */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Atomic bool private[MAX_FD];   /* what a forked child is to close */

static _Atomic unsigned next_port;

static void
close_in_child(void)
{
	for (int fd = 0; fd < MAX_FD; fd++)
		if (atomic_exchange(&private[fd], false))
			close(fd);
}

/* Processes take their ports from a place of their own by chance on. */
static void
begin(void)
{
	next_port = (unsigned)((uint64_t)await_now_ns() / 1000 * 2654435761U ^ (unsigned)getpid() * 40503U) % PORTS;
	pthread_atfork(NULL, NULL, close_in_child);
}

static struct sockaddr_in
loopback(int port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };

	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return in;
}

static struct sockaddr_un
local(const char *path)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };

	if (strlen(path) >= sizeof un.sun_path)
		trouble("%s is too long for a unix socket", path);
	strcpy(un.sun_path, path);
	return un;
}

static int
open_socket(int family)
{
	int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		trouble("socket: %s", strerror(errno));
	return fd;
}

int
socket_listen(const char *path)
{
	struct sockaddr_un un = local(path);
	int fd = open_socket(AF_UNIX);

	if (bind(fd, (struct sockaddr *)&un, sizeof un) != 0 || listen(fd, 511) != 0)
		trouble("cannot listen on %s: %s", path, strerror(errno));
	return fd;
}

/* To a port of 127.0.0.1; 0: a free one, which is said; -1: somebody has it. */
static int
bind_to(int *port)
{
	struct sockaddr_in in = loopback(*port);
	socklen_t size = sizeof in;
	int fd = open_socket(AF_INET);

	if (bind(fd, (struct sockaddr *)&in, sizeof in) != 0 || getsockname(fd, (struct sockaddr *)&in, &size) != 0) {
		close(fd);
		return -1;
	}
	*port = ntohs(in.sin_port);
	return fd;
}

int
socket_listen_tcp(int *port)
{
	int fd;

	*port = 0;
	fd = bind_to(port);
	if (fd < 0 || listen(fd, 511) != 0)
		trouble("cannot listen on 127.0.0.1:%d: %s", *port, strerror(errno));
	return fd;
}

int
socket_free_port(void)
{
	int port = 0;

	close(bind_to(&port));
	return port;
}

/* ---- ports for servers: within a process the numbers go round ---- */

static _Atomic int guards[PORTS]; /* sockets that are bound to ports, but do not listen; 0: none */

static bool
is_free(int port)
{
	int fd = bind_to(&port);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

int
ports_take(void)
{
	pthread_once(&once, begin);
	for (int i = 0; i < PORTS; i++) {
		unsigned n = next_port++ % PORTS;
		int port = LOWEST + (int)n, guard = bind_to(&port);

		if (guard < 0)
			continue;
		/* those who look whether it is free do not say so, as servers do */
		setsockopt(guard, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
		socket_private(guard);
		guards[n] = guard;
		if (is_free(port + PORTS_BUS))
			return port;
		ports_let_go(port);
	}
	trouble("no port of 127.0.0.1 is free");
}

void
ports_let_go(int port)
{
	int guard = port >= LOWEST && port < LOWEST + PORTS ? atomic_exchange(&guards[port - LOWEST], 0) : 0;

	if (guard > 0)
		socket_close(guard);
}

/* ---- */

/* Small packets must go at once. Does nothing to a unix socket. */
static void
no_delay(int fd)
{
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
}

int
socket_accept(int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd >= 0)
		no_delay(fd);
	return fd;
}

int
socket_dial(const char *target)
{
	const char *colon = strrchr(target, ':');
	int fd, result;

	if (target[0] == '/') {
		struct sockaddr_un un = local(target);

		fd = open_socket(AF_UNIX);
		result = connect(fd, (struct sockaddr *)&un, sizeof un);
	} else {
		struct sockaddr_in in = loopback(colon ? atoi(colon + 1) : 0);

		fd = open_socket(AF_INET);
		no_delay(fd);
		result = connect(fd, (struct sockaddr *)&in, sizeof in);
	}
	if (result != 0 && errno != EINPROGRESS) {
		int error = errno;

		close(fd);
		errno = error;
		return -1;
	}
	return fd;
}

void
socket_private(int fd)
{
	pthread_once(&once, begin);
	if (fd >= MAX_FD)
		trouble("more than %d open files", MAX_FD);
	atomic_store(&private[fd], true);
}

void
socket_close(int fd)
{
	atomic_store(&private[fd], false);
	close(fd);
}

void
socket_reset(int fd)
{
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){ .l_onoff = 1 }, sizeof(struct linger));
	socket_close(fd);
}

void
socket_hush(sigset_t *before)
{
	sigset_t pipe;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe, before);
}

void
socket_unhush(const sigset_t *before)
{
	const struct timespec none = {.tv_sec = 0};
	sigset_t pipe;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	while (!sigismember(before, SIGPIPE) && sigtimedwait(&pipe, NULL, &none) == SIGPIPE)
		;
	pthread_sigmask(SIG_SETMASK, before, NULL);
}
