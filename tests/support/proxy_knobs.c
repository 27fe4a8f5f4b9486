/* The knobs of a proxy, and its counts. See proxy.h. */
#include "tests/support/proxy_link.h"

#include "tests/support/await.h"
#include "tests/support/trouble.h"

#include <stdlib.h>
#include <string.h>

/* ---- ways ---- */

void
proxy_delay(struct proxy *p, enum proxy_way way, int64_t us)
{
	proxy_lock(p);
	if (way & PROXY_TO_SERVER)
		p->up.delay_ns = us * 1000;
	if (way & PROXY_TO_CLIENT)
		p->down.delay_ns = us * 1000;
	proxy_unlock_and_kick(p);
}

void
proxy_drip(struct proxy *p, enum proxy_way way, int64_t us_per_byte)
{
	proxy_lock(p);
	if (way & PROXY_TO_SERVER)
		p->up.drip_ns = us_per_byte * 1000;
	if (way & PROXY_TO_CLIENT)
		p->down.drip_ns = us_per_byte * 1000;
	proxy_unlock_and_kick(p);
}

void
proxy_hold(struct proxy *p, enum proxy_way way)
{
	proxy_lock(p);
	p->up.held |= (way & PROXY_TO_SERVER) != 0;
	p->down.held |= (way & PROXY_TO_CLIENT) != 0;
	proxy_unlock_and_kick(p);
}

void
proxy_let_go(struct proxy *p, enum proxy_way way)
{
	proxy_lock(p);
	p->up.held &= (way & PROXY_TO_SERVER) == 0;
	p->down.held &= (way & PROXY_TO_CLIENT) == 0;
	proxy_unlock_and_kick(p);
}

void
proxy_release(struct proxy *p)
{
	proxy_lock(p);
	p->up.held = p->down.held = p->messages_held = false;
	for (struct link *link = p->links; link; link = link->next)
		link->up.held = link->down.held = link->down.messages_held = false;
	proxy_unlock_and_kick(p);
}

/* ---- connections, messages, weather ---- */

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
proxy_refuse(struct proxy *p, bool refuse)
{
	proxy_lock(p);
	p->refusing = refuse;
	proxy_unlock_and_kick(p);
}

void
proxy_drop_messages(struct proxy *p, unsigned percent)
{
	proxy_lock(p);
	p->percent = percent;
	proxy_unlock_and_kick(p);
}

void
proxy_hold_messages(struct proxy *p, bool hold)
{
	proxy_lock(p);
	p->messages_held = hold;
	for (struct link *link = p->links; link; link = link->next)
		link->down.messages_held &= hold;
	proxy_unlock_and_kick(p);
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

/* ---- faults ---- */

static void
arm(struct proxy *p, enum fault fault, const char *text, size_t keep)
{
	char *copy = text ? strdup(text) : NULL;

	if (text && !copy)
		trouble("no memory");
	proxy_lock(p);
	for (struct link *link = p->links; link; link = link->next)
		link->awaited = false;
	free(p->text);
	p->text = copy;
	p->fault = fault;
	p->keep = keep;
	p->skip = p->skip_next;
	p->skip_next = 0;
	p->armed = fault != FAULT_NONE;
	p->hit = false;
	proxy_unlock_and_kick(p);
}

void
proxy_cut_request(struct proxy *p, const char *text)
{
	arm(p, FAULT_REQUEST, text, 0);
}

void
proxy_cut_reply(struct proxy *p, const char *text, size_t bytes)
{
	arm(p, FAULT_REPLY, text, bytes);
}

void
proxy_strand_request(struct proxy *p, const char *text)
{
	arm(p, FAULT_STRAND, text, 0);
}

void
proxy_hold_reply(struct proxy *p, const char *text)
{
	arm(p, FAULT_HOLD, text, 0);
}

void
proxy_skip(struct proxy *p, unsigned n)
{
	proxy_lock(p);
	p->skip_next = n;
	proxy_unlock_and_kick(p);
}

void
proxy_disarm(struct proxy *p)
{
	arm(p, FAULT_NONE, NULL, 0);
}

bool
proxy_hit(struct proxy *p)
{
	bool is_hit;

	proxy_lock(p);
	is_hit = p->hit;
	pthread_mutex_unlock(&p->mutex);
	return is_hit;
}

void
proxy_wait_hit(struct proxy *p)
{
	await_true(proxy_hit(p));
}

/* ---- counts ---- */

size_t
proxy_accepted(struct proxy *p)
{
	size_t n;

	proxy_lock(p);
	n = p->accepted;
	pthread_mutex_unlock(&p->mutex);
	return n;
}

size_t
proxy_open(struct proxy *p)
{
	size_t n;

	proxy_lock(p);
	n = p->open;
	pthread_mutex_unlock(&p->mutex);
	return n;
}

uint64_t
proxy_bytes(struct proxy *p, enum proxy_way way)
{
	uint64_t n;

	proxy_lock(p);
	n = (way & PROXY_TO_SERVER ? p->up.bytes : 0) + (way & PROXY_TO_CLIENT ? p->down.bytes : 0);
	pthread_mutex_unlock(&p->mutex);
	return n;
}

static uint64_t
read_count(struct proxy *p, const uint64_t *count)
{
	uint64_t n;

	proxy_lock(p);
	n = *count;
	pthread_mutex_unlock(&p->mutex);
	return n;
}

uint64_t
proxy_requests(struct proxy *p)
{
	return read_count(p, &p->requests);
}

uint64_t
proxy_dropped(struct proxy *p)
{
	return read_count(p, &p->dropped);
}

uint64_t
proxy_doubled(struct proxy *p)
{
	return read_count(p, &p->doubled);
}

uint64_t
proxy_lost(struct proxy *p)
{
	return read_count(p, &p->lost);
}

uint64_t
proxy_late(struct proxy *p)
{
	return read_count(p, &p->late);
}
