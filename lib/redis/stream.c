#include "redis/stream.h"

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "redis/resolve.h"
#include "redis/tls.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

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
lsh_stream_open(const struct lsh_address *address)
{
	struct lsh_stream stream = LSH_NO_STREAM;

	stream.fd = lsh_descriptor_take(socket(address->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	if (stream.fd >= 0 && address->any.sa_family != AF_UNIX)
		set_options(stream.fd);
	if (stream.fd >= 0 && connect(stream.fd, &address->any, address->size) != 0 && errno != EINPROGRESS)
		lsh_stream_discard(&stream);
	return stream.fd;
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
lsh_stream_connected(int fd)
{
	int e = 0;

	if (poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, 0) <= 0)
		return EINPROGRESS;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &e, &(socklen_t){sizeof e}) != 0)
		return errno;
	return e == 0 && is_own_echo(fd) ? ECONNREFUSED : e;
}

ssize_t
lsh_stream_send(const struct lsh_stream *stream, const void *bytes, size_t size)
{
	if (stream->tls != NULL)
		return lsh_tls_send(stream->tls, bytes, size);
	return send(stream->fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void
lsh_stream_send_all(const struct lsh_stream *stream, struct lsh_buffer *words)
{
	while (lsh_buffer_size(words) > 0) {
		ssize_t n = lsh_stream_send(stream, words->bytes + words->first, lsh_buffer_size(words));

		if (n >= 0)
			words->first += (size_t)n;
		else if (errno == EAGAIN)
			return;
		else if (errno != EINTR)
			lsh_buffer_empty(words);
	}
}

ssize_t
lsh_stream_recv(const struct lsh_stream *stream, void *bytes, size_t size, int flags)
{
	if (stream->tls != NULL)
		return lsh_tls_recv(stream->tls, bytes, size, flags);
	return recv(stream->fd, bytes, size, flags);
}

bool
lsh_stream_is_pending(const struct lsh_stream *stream)
{
	return stream->tls != NULL && lsh_tls_is_pending(stream->tls);
}

bool
lsh_stream_trouble(const struct lsh_stream *stream, leash_error *err)
{
	return stream->tls != NULL && lsh_tls_trouble(stream->tls, err);
}

leash_status
lsh_stream_await(const struct lsh_stream *stream, ssize_t n, int64_t deadline, leash_error *err)
{
	const int e = n > 0 ? EAGAIN : n == 0 ? ECONNRESET : errno;
	char text[LSH_ERRNO_TEXT];

	if (e == EAGAIN || e == EINTR)
		return lsh_now_ns() <= deadline ? LEASH_OK : lsh_fail(err, LEASH_UNAVAILABLE, ETIMEDOUT, "no answer in time");
	if (e == EPROTO && lsh_stream_trouble(stream, err))
		return err->status;
	return lsh_fail(err, lsh_errno_status(e, LEASH_UNAVAILABLE), e, "%s",
	                n == 0 ? "the server closed the connection" : lsh_errno_text(e, text));
}

void
lsh_stream_break(const struct lsh_stream *stream)
{
	shutdown(stream->fd, SHUT_RDWR);
}

void
lsh_stream_close(struct lsh_stream *stream)
{
	lsh_descriptor_close(stream->fd);
	lsh_tls_free(stream->tls);
	*stream = LSH_NO_STREAM;
}

void
lsh_stream_discard(struct lsh_stream *stream)
{
	const int e = errno;

	setsockopt(stream->fd, SOL_SOCKET, SO_LINGER, &(struct linger){.l_onoff = 1}, sizeof(struct linger));
	lsh_stream_close(stream);
	errno = e;
}
