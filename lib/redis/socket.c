/* Keeps nothing; any thread. */
#include "redis/socket.h"

#include "base/descriptor.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

static void
set_options(int fd)
{
	/* an option that the system does not know is no reason not to connect */
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &(int){1}, sizeof(int));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &(int){10}, sizeof(int));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &(int){5}, sizeof(int));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &(int){3}, sizeof(int));
}

int
lsh_socket_open(const struct lsh_address *address)
{
	int fd = lsh_descriptor_lift(socket(address->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));

	if (fd < 0)
		return -1;
	if (address->any.sa_family != AF_UNIX)
		set_options(fd);
	if (connect(fd, &address->any, address->size) == 0 || errno == EINPROGRESS)
		return fd;
	lsh_discard_socket(fd);
	return -1;
}

/* A connection to a port of this machine that nobody listens on may, if that port is an ephemeral one, be connected to
 * itself; and then the server could not come back. */
static bool
is_own_echo(int fd)
{
	struct lsh_address own = {.size = sizeof own - offsetof(struct lsh_address, any)};
	struct lsh_address peer = own;

	return getsockname(fd, &own.any, &own.size) == 0 && getpeername(fd, &peer.any, &peer.size) == 0 &&
		lsh_address_is(&own, &peer);
}

int
lsh_socket_connected(int fd)
{
	int e = 0;

	if (poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, 0) <= 0)
		return EINPROGRESS;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &e, &(socklen_t){sizeof e}) != 0)
		return errno;
	return e == 0 && is_own_echo(fd) ? ECONNREFUSED : e;
}

void
lsh_discard_socket(int fd)
{
	int e = errno;

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){.l_onoff = 1, .l_linger = 0}, sizeof(struct linger));
	close(fd);
	errno = e;
}
