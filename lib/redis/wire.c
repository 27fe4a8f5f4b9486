#include "redis/wire.h"

#include "base/descriptor.h"
#include "redis/resolve.h"
#include "redis/tls.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
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
lsh_wire_open(const struct lsh_address *address)
{
	struct lsh_wire wire = LSH_NO_WIRE;

	wire.fd = lsh_descriptor_lift(socket(address->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	if (wire.fd >= 0 && address->any.sa_family != AF_UNIX)
		set_options(wire.fd);
	if (wire.fd >= 0 && connect(wire.fd, &address->any, address->size) != 0 && errno != EINPROGRESS)
		lsh_wire_discard(&wire);
	return wire.fd;
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
lsh_wire_connected(int fd)
{
	int e = 0;

	if (poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, 0) <= 0)
		return EINPROGRESS;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &e, &(socklen_t){sizeof e}) != 0)
		return errno;
	return e == 0 && is_own_echo(fd) ? ECONNREFUSED : e;
}

ssize_t
lsh_wire_send(const struct lsh_wire *wire, const void *bytes, size_t size)
{
	if (wire->tls != NULL)
		return lsh_tls_send(wire->tls, bytes, size);
	return send(wire->fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
}

ssize_t
lsh_wire_recv(const struct lsh_wire *wire, void *bytes, size_t size, int flags)
{
	if (wire->tls != NULL)
		return lsh_tls_recv(wire->tls, bytes, size, flags);
	return recv(wire->fd, bytes, size, flags);
}

bool
lsh_wire_is_pending(const struct lsh_wire *wire)
{
	return wire->tls != NULL && lsh_tls_is_pending(wire->tls);
}

bool
lsh_wire_trouble(const struct lsh_wire *wire, leash_error *err)
{
	*err = (leash_error){0};
	if (wire->tls != NULL)
		lsh_tls_trouble(wire->tls, err);
	return err->status != LEASH_OK;
}

void
lsh_wire_break(const struct lsh_wire *wire)
{
	shutdown(wire->fd, SHUT_RDWR);
}

void
lsh_wire_close(struct lsh_wire *wire)
{
	const struct lsh_wire closed = *wire;

	/* first: a child that is forked in between must not close, by this number, what has got it since */
	*wire = LSH_NO_WIRE;
	if (closed.fd >= 0)
		close(closed.fd);
	lsh_tls_free(closed.tls);
}

void
lsh_wire_discard(struct lsh_wire *wire)
{
	const int e = errno;

	setsockopt(wire->fd, SOL_SOCKET, SO_LINGER, &(struct linger){.l_onoff = 1}, sizeof(struct linger));
	lsh_wire_close(wire);
	errno = e;
}
