#include "redis/wire.h"

#include "redis/socket.h"
#include "redis/tls.h"

#include <sys/socket.h>
#include <unistd.h>

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

/* First of all it is forgotten: a child that is forked in between must not close, by this number, what has got it since. */
static struct lsh_wire
take(struct lsh_wire *wire)
{
	struct lsh_wire taken = *wire;

	*wire = LSH_NO_WIRE;
	return taken;
}

void
lsh_wire_discard(struct lsh_wire *wire)
{
	struct lsh_wire taken = take(wire);

	if (taken.fd >= 0)
		lsh_discard_socket(taken.fd);
	lsh_tls_free(taken.tls);
}

void
lsh_wire_close(struct lsh_wire *wire)
{
	struct lsh_wire taken = take(wire);

	if (taken.fd >= 0)
		close(taken.fd);
	lsh_tls_free(taken.tls);
}
