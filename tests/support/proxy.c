/* A proxy that misbehaves on demand: its thread, life and knobs. See proxy.h, and proxy_link.h for what is in it.
 *
 * One thread does all of it, and holds the mutex unless it sleeps; so a knob that was turned is in effect. */
#include "tests/support/proxy_link.h"

#include "tests/support/socket.h"
#include "tests/support/trouble.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

enum {
	FULL = 16 << 20, /* bytes queued in a lane beyond which it reads no more */
};

/* ---- the thread ---- */

static void
free_lane(struct lane *lane)
{
	free(lane->queue.at);
	free(lane->pieces.at);
	free(lane->value.at);
}

/* Epoll would go on with a closed socket if somebody else (a child) still had it open. */
static void
reset(struct proxy *p, struct end *end)
{
	if (end->watched)
		epoll_ctl(p->epoll, EPOLL_CTL_DEL, end->fd, NULL);
	socket_reset(end->fd);
}

static void
accept_all(struct proxy *p)
{
	int client;

	while ((client = socket_accept(p->listener)) >= 0) {
		struct link *link;
		int server = p->down.knob[PROXY_REFUSED] ? -1 : socket_dial(p->target);

		p->counts.accepted++;
		if (server < 0) {
			close(client);
			continue;
		}
		link = zeroed(sizeof *link);
		socket_private(client);
		socket_private(server);
		link->client = (struct end){ .fd = client, .link = link };
		link->server = (struct end){ .fd = server, .link = link };
		link->next = p->links;
		p->links = link;
		p->counts.open++;
	}
}

static void
remove_over(struct proxy *p)
{
	for (struct link **at = &p->links; *at;) {
		struct link *link = *at;

		if (!link->over && !p->resetting && !p->stopping) {
			at = &link->next;
			continue;
		}
		*at = link->next;
		reset(p, &link->client);
		reset(p, &link->server);
		free_lane(&link->up);
		free_lane(&link->down);
		free(link);
		p->counts.open--;
	}
	p->resetting = false;
}

/* Tell epoll what an end is to be watched for, if that has changed: `in` is read from it, `out` written to it. */
static void
watch(struct proxy *p, struct end *end, const struct lane *in, const struct lane *out)
{
	struct epoll_event event = { .data.ptr = end };

	if (!in->ended && !end->link->closing && bytes_length(&in->queue) < FULL)
		event.events |= EPOLLIN;
	if (out->blocked)
		event.events |= EPOLLOUT;
	if (event.events == end->watched)
		return;
	/* With nothing to watch for it is taken out, or its hang-up would be reported for ever. */
	int op = event.events == 0 ? EPOLL_CTL_DEL : end->watched == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
	if (epoll_ctl(p->epoll, op, end->fd, &event) != 0)
		trouble("epoll: %s", strerror(errno));
	end->watched = event.events;
}

/* Send what is due, and find out when there will be more to do. */
static int64_t
deliver_all(struct proxy *p)
{
	int64_t now = await_now_ns(), next = INT64_MAX;

	for (struct link *link = p->links; link; link = link->next) {
		int64_t up, down;

		link_deliver(p, link, now);
		watch(p, &link->client, &link->up, &link->down);
		watch(p, &link->server, &link->down, &link->up);
		up = lane_due(&link->up, &p->up);
		down = lane_due(&link->down, &p->down);
		next = up < next ? up : next;
		next = down < next ? down : next;
	}
	return next;
}

/* Not under the mutex. Epoll alone counts milliseconds. */
static void
sleep_until(struct proxy *p, int64_t until)
{
	struct pollfd poll = { .fd = p->epoll, .events = POLLIN };
	int64_t ns = until - await_now_ns();
	struct timespec timeout = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };

	if (ns > 0 && ppoll(&poll, 1, until == INT64_MAX ? NULL : &timeout, NULL) < 0 && errno != EINTR)
		trouble("ppoll: %s", strerror(errno));
}

static void
on_event(struct proxy *p, const struct epoll_event *event)
{
	struct end *end = event->data.ptr;
	struct link *link = end->link;
	bool client = end == &link->client;
	struct lane *in = client ? &link->up : &link->down;

	if (event->events & EPOLLOUT)
		(client ? &link->down : &link->up)->blocked = false;
	if (event->events & ~(uint32_t)EPOLLOUT && !in->ended)
		link_read(p, link, in, end->fd);
}

static void *
run(void *arg)
{
	struct proxy *p = arg;
	struct epoll_event events[64];
	int64_t next;
	uint64_t kicks;

	prctl(PR_SET_TIMERSLACK, 1);   /* or every delay would last 50 us longer */
	pthread_mutex_lock(&p->mutex);
	while (!p->stopping) {
		next = deliver_all(p);
		remove_over(p);
		pthread_mutex_unlock(&p->mutex);
		sleep_until(p, next);
		int n = epoll_wait(p->epoll, events, sizeof events / sizeof *events, 0);
		pthread_mutex_lock(&p->mutex);
		for (int i = 0; i < n; i++) {
			if (events[i].data.ptr == &p->listener)
				accept_all(p);
			else if (events[i].data.ptr != &p->kick)
				on_event(p, &events[i]);
			else if (read(p->kick, &kicks, sizeof kicks) < 0)
				trouble("eventfd: %s", strerror(errno));
		}
	}
	remove_over(p);
	pthread_mutex_unlock(&p->mutex);
	return NULL;
}

/* ---- for the tests ---- */

/* The thread looks again at what it may do. */
static void
unlock_and_kick(struct proxy *p)
{
	pthread_mutex_unlock(&p->mutex);
	if (write(p->kick, &(uint64_t){ 1 }, sizeof(uint64_t)) < 0 && errno != EAGAIN)
		trouble("eventfd: %s", strerror(errno));
}

STOP_BY(proxy_stop)

static bool
watch_own(struct proxy *p, int *fd)
{
	return epoll_ctl(p->epoll, EPOLL_CTL_ADD, *fd, &(struct epoll_event){ .events = EPOLLIN, .data.ptr = fd }) == 0;
}

struct proxy *
proxy_start_with(const char *target, bool tcp)
{
	struct proxy *p = zeroed(sizeof *p);
	int port = 0;

	p->target = text_of("%s", target);
	if (tcp) {
		p->listener = socket_listen_tcp(&port);
		p->listening = text_of("127.0.0.1:%d", port);
	} else {
		p->folder = sweep_folder();
		p->listening = text_of("%s/proxy.sock", p->folder);
		p->listener = socket_listen(p->listening);
	}
	p->uri = text_of("%s%s", tcp ? "redis://" : "unix://", p->listening);
	socket_private(p->listener);
	p->kick = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	p->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (p->kick < 0 || p->epoll < 0 || !watch_own(p, &p->listener) || !watch_own(p, &p->kick))
		trouble("cannot start a proxy: %s", strerror(errno));
	p->random = 88172645463325252;
	pthread_mutex_init(&p->mutex, NULL);
	if (pthread_create(&p->thread, NULL, run, p) != 0)
		trouble("no thread");
	sweep_add(&p->item, stop, p);
	return p;
}

void
proxy_stop(struct proxy *p)
{
	if (!p || !sweep_drop(&p->item))
		return;
	pthread_mutex_lock(&p->mutex);
	p->stopping = true;
	unlock_and_kick(p);
	pthread_join(p->thread, NULL);
	socket_close(p->listener);
	close(p->kick);
	close(p->epoll);
	sweep_remove(p->folder);
	free(p->listening);
	free(p->uri);
	free(p->target);
	free(p->text);
	pthread_mutex_destroy(&p->mutex);
	free(p);
}

const char *
proxy_uri(const struct proxy *p)
{
	return p->uri;
}

const char *
proxy_target(const struct proxy *p)
{
	return p->listening;
}

/* ---- what is done to all ---- */

void
proxy_turn(struct proxy *p, enum proxy_way way, enum proxy_knob knob, int64_t value)
{
	pthread_mutex_lock(&p->mutex);
	if (way & PROXY_TO_SERVER)
		p->up.knob[knob] = value;
	if (way & PROXY_TO_CLIENT)
		p->down.knob[knob] = value;
	for (struct link *link = p->links; link; link = link->next)
		link->down.messages_held &= p->down.knob[PROXY_MESSAGES_HELD] != 0;
	unlock_and_kick(p);
}

void
proxy_release(struct proxy *p)
{
	pthread_mutex_lock(&p->mutex);
	for (struct link *link = p->links; link; link = link->next)
		link->up.held = link->down.held = false;
	unlock_and_kick(p);
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

	pthread_mutex_lock(&p->mutex);
	for (struct link *link = p->links; link; link = link->next)
		if (comes_from(link, address)) {
			link->up.held = link->down.held = held;
			n++;
		}
	unlock_and_kick(p);
	return n;
}

void
proxy_reset_all(struct proxy *p)
{
	pthread_mutex_lock(&p->mutex);
	p->resetting = true;
	unlock_and_kick(p);
	await_true(!p->resetting);
}

void
proxy_weather(struct proxy *p, const struct proxy_weather *weather)
{
	pthread_mutex_lock(&p->mutex);
	p->changeable = weather != NULL;
	if (weather != NULL) {
		p->weather = *weather;
		p->random = weather->seed;
	}
	unlock_and_kick(p);
}

/* ---- what is done to one request ---- */

void
proxy_arm(struct proxy *p, enum proxy_fault fault, const char *text, size_t bytes)
{
	char *copy = text ? text_of("%s", text) : NULL;

	pthread_mutex_lock(&p->mutex);
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
	unlock_and_kick(p);
}

void
proxy_skip(struct proxy *p, unsigned n)
{
	pthread_mutex_lock(&p->mutex);
	p->skip_next = n;
	unlock_and_kick(p);
}

struct proxy_counts
proxy_counts(struct proxy *p)
{
	struct proxy_counts counts;

	pthread_mutex_lock(&p->mutex);
	counts = p->counts;
	pthread_mutex_unlock(&p->mutex);
	return counts;
}
