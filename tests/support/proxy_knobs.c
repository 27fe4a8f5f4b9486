/* The knobs of a proxy, and its counts. See proxy.h. */
#include "tests/support/proxy_link.h"

#include "tests/support/trouble.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>

/* ---- what is done to all ---- */

void
proxy_turn(struct proxy *p, enum proxy_way way, enum proxy_knob knob, int64_t value)
{
	proxy_lock(p);
	if (way & PROXY_TO_SERVER)
		p->up.knob[knob] = value;
	if (way & PROXY_TO_CLIENT)
		p->down.knob[knob] = value;
	for (struct link *link = p->links; link; link = link->next)
		link->down.messages_held &= p->down.knob[PROXY_MESSAGES_HELD] != 0;
	proxy_unlock_and_kick(p);
}

void
proxy_release(struct proxy *p)
{
	proxy_lock(p);
	for (struct link *link = p->links; link; link = link->next)
		link->up.held = link->down.held = false;
	proxy_unlock_and_kick(p);
	proxy_turn(p, PROXY_BOTH, PROXY_MESSAGES_HELD, 0);
	proxy_turn(p, PROXY_BOTH, PROXY_HELD, 0);
}

static bool
comes_from(const struct link *link, const char *address)
{
	struct sockaddr_in peer;
	socklen_t size = sizeof peer;

	return getpeername(link->client.fd, (struct sockaddr *)&peer, &size) == 0 && peer.sin_family == AF_INET &&
	       peer.sin_addr.s_addr == inet_addr(address);
}

size_t
proxy_set_held_from(struct proxy *p, const char *address, bool held)
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

void
proxy_reset_all(struct proxy *p)
{
	proxy_lock(p);
	p->resetting = true;
	proxy_unlock_and_kick(p);
	proxy_lock(p);
	while (p->resetting)
		pthread_cond_wait(&p->changed, &p->mutex);
	pthread_mutex_unlock(&p->mutex);
}

void
proxy_weather(struct proxy *p, const struct proxy_weather *weather)
{
	proxy_lock(p);
	p->changeable = weather != NULL;
	if (weather != NULL) {
		p->weather = *weather;
		p->random = weather->seed;
	}
	proxy_unlock_and_kick(p);
}

/* ---- what is done to one request ---- */

void
proxy_arm(struct proxy *p, enum proxy_fault fault, const char *text, size_t bytes)
{
	char *copy = text ? text_of("%s", text) : NULL;

	proxy_lock(p);
	for (struct link *link = p->links; link; link = link->next)
		link->awaited = false;
	free(p->text);
	p->text = copy;
	p->fault = fault;
	p->keep = bytes;
	p->skip = p->skip_next;
	p->skip_next = 0;
	p->armed = fault != PROXY_NO_FAULT;
	p->counts.hit = false;
	proxy_unlock_and_kick(p);
}

void
proxy_skip(struct proxy *p, unsigned n)
{
	proxy_lock(p);
	p->skip_next = n;
	proxy_unlock_and_kick(p);
}

struct proxy_counts
proxy_counts(struct proxy *p)
{
	struct proxy_counts counts;

	proxy_lock(p);
	counts = p->counts;
	pthread_mutex_unlock(&p->mutex);
	return counts;
}
