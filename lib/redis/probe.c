#include "redis/probe.h"

#include "redis/socket.h"

#include <sys/socket.h>

static const char question[] = "PING\r\n";

/* "+PONG", or "-NOAUTH ..." and other reasons not to say so. */
static bool
is_answer(char first)
{
	return first == '+' || first == '-';
}

bool
lsh_probe_step(struct lsh_probe *p, const struct lsh_address *address)
{
	char first;

	if (p->fd < 0) {
		p->asked = false;
		p->fd = lsh_socket_open(address);
	}
	if (p->fd >= 0 && !p->asked && lsh_socket_connected(p->fd) == 0)
		p->asked = send(p->fd, question, sizeof question - 1, MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof question - 1;
	return p->asked && recv(p->fd, &first, 1, MSG_DONTWAIT) == 1 && is_answer(first);
}

void
lsh_probe_end(struct lsh_probe *p)
{
	int fd = p->fd;

	p->fd = -1; /* first, as lsh_wire_discard() does */
	if (fd >= 0)
		lsh_discard_socket(fd);
}
