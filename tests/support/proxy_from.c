/* Knobs for the connections from one address. See proxy_from.h. */
#include "tests/support/proxy_from.h"

#include "tests/support/proxy_link.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

static bool
comes_from(const struct link *link, const char *address)
{
	struct sockaddr_in peer;
	socklen_t size = sizeof peer;

	return getpeername(link->client.fd, (struct sockaddr *)&peer, &size) == 0 && peer.sin_family == AF_INET &&
	       peer.sin_addr.s_addr == inet_addr(address);
}

static size_t
set_held(struct proxy *p, const char *address, bool held)
{
	size_t n = 0;

	proxy_lock(p);
	for (struct link *link = p->links; link; link = link->next)
		if (comes_from(link, address)) {
			link->up.held = link->down.held = held;
			n++;
		}
	proxy_unlock_and_kick(p);
	return n;
}

size_t
proxy_hold_from(struct proxy *p, const char *address)
{
	return set_held(p, address, true);
}

size_t
proxy_let_go_from(struct proxy *p, const char *address)
{
	return set_held(p, address, false);
}
