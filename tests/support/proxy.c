/* A proxy that misbehaves on demand. See proxy.h.
 *
 * A connection has two lanes. What comes in is stamped with the time at which it is due and queued; what is due goes out,
 * unless it is held. Beside that each lane finds the ends of RESP values, so that a fault can wait for a request, count
 * the replies up to its answer, and take a value out of the stream. Bytes of a value that is not whole yet pass at once,
 * except where a fault or filter may have to keep them back. Nothing is assumed of bytes that are not RESP: they pass.
 *
 * One thread does all of it, and holds the mutex unless it sleeps; so a knob that was turned is in effect. */
#include "tests/support/proxy.h"

#include "tests/support/await.h"
#include "tests/support/frame.h"
#include "tests/support/socket.h"
#include "tests/support/sweep.h"
#include "tests/support/trouble.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	CHUNK = 65536,
	FULL = 16 << 20,      /* bytes queued in a lane beyond which it reads no more */
	LONGEST = 1 << 20,    /* of a value, to be looked into; what is longer passes */
};

/* Bytes, taken from the front and added at the end. */
struct bytes {
	char *at;
	size_t head, tail, capacity;
};

struct piece {
	size_t size;       /* 0: the end of the stream */
	int64_t due_ns;
};

/* One way of one connection. */
struct lane {
	struct bytes queue;        /* what is to be delivered ... */
	struct bytes pieces;       /* ... and when: struct piece */
	struct bytes value;        /* the value that is not whole yet, as far as it has come */
	size_t passed;             /* so much of it is in the queue already */
	struct frame frame;
	uint64_t values;           /* whole ones so far; messages of channels do not count */
	int64_t drip_ns;           /* when the next byte may go */
	int64_t late_ns;           /* of what is queued next, by the weather */
	bool ended, broken;        /* read the end, or an error */
	bool end_sent;             /* or the receiver has gone: what still comes is thrown away */
	bool held;                 /* by a fault */
	bool messages_held;        /* one has come that is held */
	bool blocked;              /* the socket takes no more */
};

struct end {
	int fd;
	uint32_t watched;          /* events, as epoll knows it */
	struct link *link;
};

struct link {
	struct link *next;
	struct end client, server;
	struct lane up, down;      /* to the server, to the client */
	bool awaited;              /* the fault was hit by request number `request`: its answer is waited for */
	uint64_t request;
	bool left;                 /* ended for the client; what it had sent before is still to be delivered */
	bool closing;              /* to be reset when `down` is empty */
	bool over;                 /* to be reset now */
};

enum fault { FAULT_NONE, FAULT_REQUEST, FAULT_STRAND, FAULT_REPLY, FAULT_HOLD };

struct way {
	int64_t delay_ns, drip_ns;
	uint64_t bytes;
	bool held;
};

struct proxy {
	struct sweep_item item;
	char *folder, *listening, *uri, *target;
	int listener, kick, epoll;
	pthread_t thread;

	pthread_mutex_t mutex;     /* guards the rest */
	pthread_cond_t changed;    /* a fault was hit, all were reset */
	struct link *links;
	struct way up, down;
	bool refusing, stopping, resetting;
	unsigned percent;          /* of messages to drop */
	bool messages_held;
	bool changeable;           /* the weather */
	struct proxy_weather weather;
	uint64_t random;
	enum fault fault;
	bool armed, hit;           /* armed: waiting for its request */
	char *text;
	unsigned skip;             /* of the requests with that text */
	unsigned skip_next;        /* for the fault that is armed next */
	size_t keep;               /* bytes of the answer that arrive */
	size_t accepted, open;
	uint64_t requests, dropped, doubled, lost, late;
};

/* --- bytes --- */

static void
append(struct bytes *b, const void *at, size_t size)
{
	if (b->head == b->tail)
		b->head = b->tail = 0;
	if (b->capacity - b->tail < size && b->head > 0) {
		memmove(b->at, b->at + b->head, b->tail - b->head);
		b->tail -= b->head;
		b->head = 0;
	}
	if (b->capacity - b->tail < size) {
		b->capacity = 2 * b->capacity + size;
		b->at = realloc(b->at, b->capacity);
		if (!b->at)
			trouble("no memory");
	}
	if (size > 0)
		memcpy(b->at + b->tail, at, size);
	b->tail += size;
}

static size_t
length(const struct bytes *b)
{
	return b->tail - b->head;
}

/* --- what goes in --- */

static void
queue_piece(struct lane *lane, const struct way *way, const void *at, size_t size)
{
	struct piece piece = { size, await_now_ns() + way->delay_ns + lane->late_ns };

	if (lane->end_sent)
		return;
	/* A delay that was made shorter must not let bytes overtake others. */
	if (length(&lane->pieces) > 0) {
		struct piece last;

		memcpy(&last, lane->pieces.at + lane->pieces.tail - sizeof last, sizeof last);
		if (piece.due_ns < last.due_ns)
			piece.due_ns = last.due_ns;
	}
	append(&lane->pieces, &piece, sizeof piece);
	append(&lane->queue, at, size);
}

/* Deliver what has come of the value and was not delivered yet. */
static void
pass_value(struct lane *lane, const struct way *way)
{
	size_t size = length(&lane->value);

	if (size > lane->passed) {
		queue_piece(lane, way, lane->value.at + lane->value.head + lane->passed, size - lane->passed);
		lane->passed = size;
	}
}

static bool
contains(const struct bytes *b, const char *text)
{
	size_t size = text ? strlen(text) : 0;

	for (size_t i = b->head; i + size <= b->tail; i++)
		if (size == 0 || strncasecmp(b->at + i, text, size) == 0)
			return true;
	return false;
}

static void
hit(struct proxy *p)
{
	p->hit = true;
	pthread_cond_broadcast(&p->changed);
}

static uint64_t
roll(struct proxy *p)
{
	p->random ^= p->random << 13;
	p->random ^= p->random >> 7;
	p->random ^= p->random << 17;
	return p->random;
}

/* So many of so many times. */
static bool
chance(struct proxy *p, unsigned share, unsigned of)
{
	return roll(p) % of < share;
}

/* --- weather --- */

static int64_t
lateness(struct proxy *p, unsigned percent)
{
	if (p->weather.late_us <= 0 || !chance(p, percent, 100))
		return 0;
	p->late++;
	return (int64_t)(roll(p) % (uint64_t)p->weather.late_us) * 1000;
}

/* For the client the connection ends here. What it has sent so far goes on. */
static void
leave(struct link *link)
{
	link->left = true;
	shutdown(link->client.fd, SHUT_RDWR);
}

/* What is in the lane's value is to pass: shall it, and when? */
static bool
passes(struct proxy *p, struct link *link, struct lane *lane, bool message)
{
	if (!p->changeable || lane->passed > 0)
		return true;
	if (!message && chance(p, p->weather.lost, 10000)) {
		p->lost++;
		leave(link);
		return false;
	}
	lane->late_ns = lateness(p, message ? p->weather.messages_late : p->weather.late);
	return true;
}

/* A whole request is in `up.value`. False: it must not pass. */
static bool
on_request(struct proxy *p, struct link *link)
{
	uint64_t number = link->up.values++;

	p->requests++;
	if (!p->armed || !contains(&link->up.value, p->text))
		return passes(p, link, &link->up, false);
	if (p->skip > 0) {
		p->skip--;
		return passes(p, link, &link->up, false);
	}
	p->armed = false;
	if (p->fault == FAULT_REQUEST) {
		link->over = true;
		hit(p);
		return false;
	}
	if (p->fault == FAULT_STRAND) {
		link->up.held = true;
		leave(link);
		hit(p);
		return true;
	}
	link->awaited = true;
	link->request = number;
	return true;
}

static bool
is_message(const struct bytes *value)
{
	size_t at = 0, size;
	const char *word = frame_string(value->at + value->head, length(value), &at, &size);

	if (!word)
		return false;
	return (size == 7 && memcmp(word, "message", 7) == 0) ||
	       (size == 8 && (memcmp(word, "smessage", 8) == 0 || memcmp(word, "pmessage", 8) == 0));
}

/* The answer that a fault waits for is in `down.value`. */
static void
on_answer(struct proxy *p, struct link *link)
{
	struct lane *down = &link->down;

	link->awaited = false;
	if (p->fault == FAULT_HOLD) {
		down->held = true;
	} else {
		if (length(&down->value) > p->keep)
			down->value.tail = down->value.head + p->keep;
		link->closing = true;
	}
	pass_value(down, &p->down);
	hit(p);
}

/* A whole reply is in `down.value`. False: it must not pass. */
static bool
on_reply(struct proxy *p, struct link *link)
{
	struct lane *down = &link->down;

	if (is_message(&down->value)) {
		unsigned percent = p->changeable ? p->weather.messages_dropped : p->percent;

		if (down->passed == 0 && chance(p, percent, 100)) {
			p->dropped++;
			return false;
		}
		down->messages_held |= p->messages_held;
		passes(p, link, down, true);
		if (p->changeable && down->passed == 0 && chance(p, p->weather.messages_doubled, 100)) {
			p->doubled++;
			queue_piece(down, &p->down, down->value.at + down->value.head, length(&down->value));
			passes(p, link, down, true);
		}
		return true;
	}
	if (link->down.values++ == link->request && link->awaited) {
		on_answer(p, link);
		return false;
	}
	return passes(p, link, down, false);
}

/* Must a value be whole before any of it passes? */
static bool
keeps_back(const struct proxy *p, const struct link *link, const struct lane *lane)
{
	if (lane->passed > 0 || length(&lane->value) > LONGEST)
		return false;
	if (lane == &link->up)
		return p->armed || p->changeable;
	return link->awaited || p->percent > 0 || p->messages_held || p->changeable;
}

static void
take_in(struct proxy *p, struct link *link, struct lane *lane, const char *at, size_t size)
{
	const struct way *way = lane == &link->up ? &p->up : &p->down;
	bool whole;

	while (size > 0 && !link->closing && !link->over && !link->left) {
		size_t n = frame_feed(&lane->frame, at, size, &whole);

		append(&lane->value, at, n);
		at += n;
		size -= n;
		if (!whole) {
			if (!keeps_back(p, link, lane))
				pass_value(lane, way);
			if (length(&lane->value) > LONGEST) {   /* no longer kept for looking into */
				lane->value.head = lane->value.tail;
				lane->passed = 0;
			}
			continue;
		}
		if (lane == &link->up ? on_request(p, link) : on_reply(p, link))
			pass_value(lane, way);
		lane->late_ns = 0;
		lane->value.head = lane->value.tail;
		lane->passed = 0;
	}
}

static void
read_from(struct proxy *p, struct link *link, struct lane *lane, int fd)
{
	struct way *way = lane == &link->up ? &p->up : &p->down;
	static __thread char chunk[CHUNK];
	ssize_t n = recv(fd, chunk, sizeof chunk, 0);

	if (n > 0) {
		way->bytes += (uint64_t)n;
		take_in(p, link, lane, chunk, (size_t)n);
	} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		lane->ended = true;
		lane->broken = n < 0;
		if (!link->left)
			pass_value(lane, way);
		queue_piece(lane, way, NULL, 0);
	}
}

/* --- what goes out --- */

static const struct piece *
next_piece(const struct lane *lane)
{
	return length(&lane->pieces) > 0 ? (const struct piece *)(void *)(lane->pieces.at + lane->pieces.head) : NULL;
}

/* When something may go out of the lane; INT64_MAX: not before something else happens. */
static int64_t
due(const struct lane *lane, const struct way *way)
{
	const struct piece *piece = next_piece(lane);

	if (!piece || way->held || lane->held || lane->messages_held || lane->blocked)
		return INT64_MAX;
	return way->drip_ns > 0 && lane->drip_ns > piece->due_ns ? lane->drip_ns : piece->due_ns;
}

/* The receiver has gone. What it sent before that still goes the other way. */
static void
give_up(struct lane *lane)
{
	lane->end_sent = true;
	lane->queue.head = lane->queue.tail;
	lane->pieces.head = lane->pieces.tail;
}

static void
deliver(struct link *link, struct lane *lane, const struct way *way, int fd, int64_t now)
{
	while (due(lane, way) <= now) {
		struct piece *piece = (struct piece *)(void *)(lane->pieces.at + lane->pieces.head);
		ssize_t n;

		if (piece->size == 0) {
			lane->pieces.head += sizeof *piece;
			lane->end_sent = true;
			link->over |= lane->broken;
			shutdown(fd, SHUT_WR);
			continue;
		}
		n = send(fd, lane->queue.at + lane->queue.head, way->drip_ns > 0 ? 1 : piece->size, MSG_NOSIGNAL);
		if (n < 0) {
			if (errno == EAGAIN)
				lane->blocked = true;
			else if (errno != EINTR)
				give_up(lane);
			return;
		}
		lane->queue.head += (size_t)n;
		piece->size -= (size_t)n;
		if (piece->size == 0)
			lane->pieces.head += sizeof *piece;
		lane->drip_ns = now + way->drip_ns;
	}
}

static void
deliver_both(struct proxy *p, struct link *link, int64_t now)
{
	if (!link->over)
		deliver(link, &link->up, &p->up, link->server.fd, now);
	if (!link->over)
		deliver(link, &link->down, &p->down, link->client.fd, now);
	if (link->up.end_sent && link->down.end_sent)
		link->over = true;
	if (link->closing && !next_piece(&link->down))
		link->over = true;
}

/* --- the thread --- */

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
free_link(struct proxy *p, struct link *link)
{
	reset(p, &link->client);
	reset(p, &link->server);
	free_lane(&link->up);
	free_lane(&link->down);
	free(link);
	p->open--;
}

static void
accept_all(struct proxy *p)
{
	int client;

	while ((client = socket_accept(p->listener)) >= 0) {
		struct link *link;
		int server = p->refusing ? -1 : socket_dial(p->target);

		p->accepted++;
		if (server < 0) {
			close(client);
			continue;
		}
		link = calloc(1, sizeof *link);
		if (!link)
			trouble("no memory");
		socket_private(client);
		socket_private(server);
		link->client = (struct end){ .fd = client, .link = link };
		link->server = (struct end){ .fd = server, .link = link };
		link->next = p->links;
		p->links = link;
		p->open++;
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
		free_link(p, link);
	}
	if (p->resetting) {
		p->resetting = false;
		pthread_cond_broadcast(&p->changed);
	}
}

/* Tell epoll what an end is to be watched for, if that has changed: `in` is read from it, `out` written to it. */
static void
watch(struct proxy *p, struct end *end, const struct lane *in, const struct lane *out)
{
	struct epoll_event event = { .data.ptr = end };
	int op;

	if (!in->ended && !end->link->closing && length(&in->queue) < FULL)
		event.events |= EPOLLIN;
	if (out->blocked)
		event.events |= EPOLLOUT;
	if (event.events == end->watched)
		return;
	/* With nothing to watch for it is taken out, or its hang-up would be reported for ever. */
	op = event.events == 0 ? EPOLL_CTL_DEL : end->watched == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
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

		deliver_both(p, link, now);
		watch(p, &link->client, &link->up, &link->down);
		watch(p, &link->server, &link->down, &link->up);
		up = due(&link->up, &p->up);
		down = due(&link->down, &p->down);
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
		read_from(p, link, in, end->fd);
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
		int n;

		next = deliver_all(p);
		remove_over(p);
		pthread_mutex_unlock(&p->mutex);
		sleep_until(p, next);
		n = epoll_wait(p->epoll, events, sizeof events / sizeof *events, 0);
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

/* --- for the tests --- */

static void
stop(void *proxy)
{
	proxy_stop(proxy);
}

static bool
watch_own(struct proxy *p, int *fd)
{
	return epoll_ctl(p->epoll, EPOLL_CTL_ADD, *fd, &(struct epoll_event){ .events = EPOLLIN, .data.ptr = fd }) == 0;
}

static struct proxy *
start(const char *target, bool tcp)
{
	struct proxy *p = calloc(1, sizeof *p);
	int port = 0, n;

	if (!p || !(p->target = strdup(target)))
		trouble("no memory");
	if (tcp) {
		p->listener = socket_listen_tcp(&port);
		n = asprintf(&p->listening, "127.0.0.1:%d", port);
	} else {
		p->folder = sweep_folder();
		n = asprintf(&p->listening, "%s/proxy.sock", p->folder);
		if (n > 0)
			p->listener = socket_listen(p->listening);
	}
	if (n < 0 || asprintf(&p->uri, "%s%s", tcp ? "redis://" : "unix://", p->listening) < 0)
		trouble("no memory");
	socket_private(p->listener);
	p->kick = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	p->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (p->kick < 0 || p->epoll < 0 || !watch_own(p, &p->listener) || !watch_own(p, &p->kick))
		trouble("cannot start a proxy: %s", strerror(errno));
	p->random = 88172645463325252;
	pthread_mutex_init(&p->mutex, NULL);
	pthread_cond_init(&p->changed, NULL);
	if (pthread_create(&p->thread, NULL, run, p) != 0)
		trouble("no thread");
	sweep_add(&p->item, stop, p);
	return p;
}

struct proxy *
proxy_start(const char *target)
{
	return start(target, false);
}

struct proxy *
proxy_start_tcp(const char *target)
{
	return start(target, true);
}

static void
lock(struct proxy *p)
{
	pthread_mutex_lock(&p->mutex);
}

/* The thread looks again at what it may do. */
static void
unlock_and_kick(struct proxy *p)
{
	pthread_mutex_unlock(&p->mutex);
	if (write(p->kick, &(uint64_t){ 1 }, sizeof(uint64_t)) < 0 && errno != EAGAIN)
		trouble("eventfd: %s", strerror(errno));
}

void
proxy_stop(struct proxy *p)
{
	if (!p || !sweep_drop(&p->item))
		return;
	lock(p);
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
	pthread_cond_destroy(&p->changed);
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

void
proxy_delay(struct proxy *p, enum proxy_way way, int64_t us)
{
	lock(p);
	if (way & PROXY_TO_SERVER)
		p->up.delay_ns = us * 1000;
	if (way & PROXY_TO_CLIENT)
		p->down.delay_ns = us * 1000;
	unlock_and_kick(p);
}

void
proxy_drip(struct proxy *p, enum proxy_way way, int64_t us_per_byte)
{
	lock(p);
	if (way & PROXY_TO_SERVER)
		p->up.drip_ns = us_per_byte * 1000;
	if (way & PROXY_TO_CLIENT)
		p->down.drip_ns = us_per_byte * 1000;
	unlock_and_kick(p);
}

void
proxy_hold(struct proxy *p, enum proxy_way way)
{
	lock(p);
	p->up.held |= (way & PROXY_TO_SERVER) != 0;
	p->down.held |= (way & PROXY_TO_CLIENT) != 0;
	unlock_and_kick(p);
}

void
proxy_let_go(struct proxy *p, enum proxy_way way)
{
	lock(p);
	p->up.held &= (way & PROXY_TO_SERVER) == 0;
	p->down.held &= (way & PROXY_TO_CLIENT) == 0;
	unlock_and_kick(p);
}

void
proxy_release(struct proxy *p)
{
	lock(p);
	p->up.held = p->down.held = p->messages_held = false;
	for (struct link *link = p->links; link; link = link->next)
		link->up.held = link->down.held = link->down.messages_held = false;
	unlock_and_kick(p);
}

void
proxy_reset_all(struct proxy *p)
{
	lock(p);
	p->resetting = true;
	unlock_and_kick(p);
	lock(p);
	while (p->resetting)
		pthread_cond_wait(&p->changed, &p->mutex);
	pthread_mutex_unlock(&p->mutex);
}

void
proxy_refuse(struct proxy *p, bool refuse)
{
	lock(p);
	p->refusing = refuse;
	unlock_and_kick(p);
}

void
proxy_drop_messages(struct proxy *p, unsigned percent)
{
	lock(p);
	p->percent = percent;
	unlock_and_kick(p);
}

void
proxy_hold_messages(struct proxy *p, bool hold)
{
	lock(p);
	p->messages_held = hold;
	for (struct link *link = p->links; link; link = link->next)
		link->down.messages_held &= hold;
	unlock_and_kick(p);
}

void
proxy_weather(struct proxy *p, const struct proxy_weather *weather)
{
	lock(p);
	p->changeable = weather != NULL;
	if (weather != NULL) {
		p->weather = *weather;
		p->random = weather->seed;
	}
	unlock_and_kick(p);
}

static void
arm(struct proxy *p, enum fault fault, const char *text, size_t keep)
{
	char *copy = text ? strdup(text) : NULL;

	if (text && !copy)
		trouble("no memory");
	lock(p);
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
	unlock_and_kick(p);
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
	lock(p);
	p->skip_next = n;
	unlock_and_kick(p);
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

	lock(p);
	is_hit = p->hit;
	pthread_mutex_unlock(&p->mutex);
	return is_hit;
}

void
proxy_wait_hit(struct proxy *p)
{
	await_true(proxy_hit(p));
}

size_t
proxy_accepted(struct proxy *p)
{
	size_t n;

	lock(p);
	n = p->accepted;
	pthread_mutex_unlock(&p->mutex);
	return n;
}

uint64_t
proxy_bytes(struct proxy *p, enum proxy_way way)
{
	uint64_t n;

	lock(p);
	n = (way & PROXY_TO_SERVER ? p->up.bytes : 0) + (way & PROXY_TO_CLIENT ? p->down.bytes : 0);
	pthread_mutex_unlock(&p->mutex);
	return n;
}

uint64_t
proxy_requests(struct proxy *p)
{
	uint64_t n;

	lock(p);
	n = p->requests;
	pthread_mutex_unlock(&p->mutex);
	return n;
}

uint64_t
proxy_dropped(struct proxy *p)
{
	uint64_t n;

	lock(p);
	n = p->dropped;
	pthread_mutex_unlock(&p->mutex);
	return n;
}

size_t
proxy_open(struct proxy *p)
{
	size_t n;

	lock(p);
	n = p->open;
	pthread_mutex_unlock(&p->mutex);
	return n;
}

uint64_t
proxy_doubled(struct proxy *p)
{
	uint64_t n;

	lock(p);
	n = p->doubled;
	pthread_mutex_unlock(&p->mutex);
	return n;
}

uint64_t
proxy_lost(struct proxy *p)
{
	uint64_t n;

	lock(p);
	n = p->lost;
	pthread_mutex_unlock(&p->mutex);
	return n;
}

uint64_t
proxy_late(struct proxy *p)
{
	uint64_t n;

	lock(p);
	n = p->late;
	pthread_mutex_unlock(&p->mutex);
	return n;
}
