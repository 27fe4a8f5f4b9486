#include "redis/listener.h"

#include "base/clock.h"
#include "base/list.h"
#include "base/memory.h"
#include "redis/buffer.h"
#include "redis/command.h"
#include "redis/reply.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum state { DOWN, UP, BROKEN };

enum { LEAST_ROOM = 1024, MOST_ROOM = 1 << 20 }; /* of a buffer */

struct request {
	bool subscribe;
	size_t size; /* of the channel, which follows */
};

struct lsh_listener {
	const struct lsh_listener_ops *ops;
	void *ctx;
	int kick; /* wakes the thread in the seat */

	pthread_mutex_t mutex; /* guards all down to `asked` */
	_Atomic enum state state;
	struct lsh_wire wire;
	bool reading, writing;
	struct lsh_list sleepers; /* struct sleeper */
	atomic_bool want_write;   /* the socket was full; read without the mutex */
	struct lsh_buffer out, batch; /* what is to be sent: gathered; and taken by whoever writes */
	struct lsh_buffer asked;  /* struct request and its channel, of each that was not answered yet */

	struct lsh_reader *reader; /* the seat's, as is the rest */
	char *bytes;
	char channel[LSH_CHANNEL_MOST + 1]; /* that an answer is about */
};

struct sleeper {
	struct lsh_list link;
	struct lsh_parker *parker;
};

/* ---- l->mutex held ---- */

/* If the seat is vacant and somebody sleeps, the first of those who sleep has been told. A sleeper that was told and leaves calls this again. */
static void
poke(struct lsh_listener *l)
{
	if (l->state == UP && !l->reading && !lsh_list_empty(&l->sleepers))
		lsh_unpark(lsh_container(lsh_list_first(&l->sleepers), struct sleeper, link)->parker);
}

/* Whoever will wait next may be long in coming, and what is due is not. */
static void
tell_unattended(struct lsh_listener *l)
{
	if (l->state == UP && !l->reading && lsh_list_empty(&l->sleepers) && (l->want_write || lsh_buffer_size(&l->asked) > 0))
		l->ops->unattended(l->ctx);
}

/* A seat, of the reader or of the writer, has fallen vacant. */
static void
seat_vacant(struct lsh_listener *l)
{
	poke(l);
	tell_unattended(l);
	if (!l->writing) {
		lsh_buffer_shrink(&l->out, LEAST_ROOM);
		lsh_buffer_shrink(&l->batch, LEAST_ROOM);
		lsh_buffer_shrink(&l->asked, LEAST_ROOM);
	}
	if (l->state == BROKEN && !l->reading && !l->writing)
		l->ops->broke(l->ctx);
}

static void
vacate(struct lsh_listener *l)
{
	l->reading = false;
	seat_vacant(l);
}

static void
break_connection(struct lsh_listener *l)
{
	if (l->state != UP)
		return;
	l->state = BROKEN;
	lsh_wire_break(&l->wire);
	l->ops->broke(l->ctx);
}

/* Send what has gathered, unless somebody does, or the socket is full. The mutex is released during each send. */
static void
write_out(struct lsh_listener *l)
{
	if (l->writing || l->want_write)
		return;
	l->writing = true;
	while (l->state == UP) {
		ssize_t n;
		int e;

		if (lsh_buffer_size(&l->batch) == 0) {
			struct lsh_buffer sent = l->batch;

			if (lsh_buffer_size(&l->out) == 0)
				break;
			l->batch = l->out;
			l->out = sent;
			lsh_buffer_empty(&l->out);
		}
		pthread_mutex_unlock(&l->mutex);
		n = lsh_wire_send(&l->wire, l->batch.bytes + l->batch.first, lsh_buffer_size(&l->batch));
		e = errno;
		pthread_mutex_lock(&l->mutex);
		if (n >= 0) {
			l->batch.first += (size_t)n;
		} else if (e == EAGAIN || e == EWOULDBLOCK) {
			uint64_t one = 1;
			ssize_t ignored;

			l->want_write = true;
			ignored = write(l->kick, &one, sizeof one); /* whoever reads is to poll for that, too */
			(void)ignored;
			break;
		} else if (e != EINTR) {
			break_connection(l);
		}
	}
	l->writing = false;
	seat_vacant(l);
}

/* Take the request that was made first: its channel is in l->channel then. */
static bool
take_request(struct lsh_listener *l, struct request *request)
{
	if (lsh_buffer_size(&l->asked) == 0)
		return false;
	memcpy(request, l->asked.bytes + l->asked.first, sizeof *request);
	memcpy(l->channel, l->asked.bytes + l->asked.first + sizeof *request, request->size);
	l->channel[request->size] = '\0';
	l->asked.first += sizeof *request + request->size;
	return true;
}

/* Is that the request which was made first? */
static bool
is_next(const struct lsh_listener *l, bool subscribe, const struct lsh_item *channel)
{
	struct request next;

	if (lsh_buffer_size(&l->asked) == 0)
		return false;
	memcpy(&next, l->asked.bytes + l->asked.first, sizeof next);
	return next.subscribe == subscribe && next.size == channel->length &&
	       memcmp(l->asked.bytes + l->asked.first + sizeof next, channel->text, next.size) == 0;
}

/* ---- the seat, no mutex held ---- */

static bool
is_about(const struct lsh_message *m, const char *what, enum lsh_type type)
{
	return m->type == LSH_ARRAY && m->count == 3 && m->item[0].type == LSH_STRING && m->item[1].type == LSH_STRING && m->item[2].type == type &&
	       strcmp(m->item[0].text, what) == 0;
}

/* The server says that a channel has been subscribed to. False: nobody asked for that. */
static bool
take_subscribed(struct lsh_listener *l, const struct lsh_item *channel)
{
	struct request request;
	bool asked;

	pthread_mutex_lock(&l->mutex);
	asked = is_next(l, true, channel) && take_request(l, &request);
	pthread_mutex_unlock(&l->mutex);
	if (asked)
		l->ops->subscribed(l->ctx, channel->text, channel->length);
	return asked;
}

/* ... or not any more, of its own accord perhaps: then it comes at any time. */
static bool
take_unsubscribed(struct lsh_listener *l, const struct lsh_item *channel)
{
	struct request request;

	if (l->ops->unsubscribed == NULL)
		return false;
	pthread_mutex_lock(&l->mutex);
	if (is_next(l, false, channel))
		take_request(l, &request);
	pthread_mutex_unlock(&l->mutex);
	l->ops->unsubscribed(l->ctx, channel->text, channel->length);
	return true;
}

/* What was asked for first was refused. A channel that cannot be left is none that was subscribed to. */
static bool
take_refused(struct lsh_listener *l, const char *text)
{
	struct request request;
	bool asked;

	pthread_mutex_lock(&l->mutex);
	asked = take_request(l, &request);
	pthread_mutex_unlock(&l->mutex);
	if (!asked)
		return false;
	if (request.subscribe)
		l->ops->refused(l->ctx, l->channel, request.size, text);
	else
		l->ops->unsubscribed(l->ctx, l->channel, request.size);
	return true;
}

/* False: that is not what a Redis server says. */
static bool
take_in(struct lsh_listener *l, const struct lsh_message *m)
{
	if (is_about(m, "message", LSH_STRING) || is_about(m, "smessage", LSH_STRING)) {
		l->ops->message(l->ctx, m->item[2].text, m->item[2].length);
		return true;
	}
	if (is_about(m, "ssubscribe", LSH_INTEGER))
		return take_subscribed(l, &m->item[1]);
	if (is_about(m, "sunsubscribe", LSH_INTEGER))
		return take_unsubscribed(l, &m->item[1]);
	return m->type == LSH_ERROR && take_refused(l, m->item[0].text);
}

/* Hand out the messages that have come whole. False: they are not what a Redis server says. */
static bool
hand_out(struct lsh_listener *l)
{
	const struct lsh_message *m;
	int x;

	while ((x = lsh_reader_next(l->reader, &m)) > 0) {
		if (!take_in(l, m))
			return false;
	}
	return x == 0;
}

/* Read what is there. False: the connection is of no use any more. */
static bool
read_some(struct lsh_listener *l)
{
	ssize_t n = lsh_wire_recv(&l->wire, l->bytes, LSH_PIECE_SIZE, MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
	return n > 0 && lsh_reader_feed(l->reader, l->bytes, (size_t)n) && hand_out(l);
}

/* The socket has room. */
static void
write_rest(struct lsh_listener *l)
{
	pthread_mutex_lock(&l->mutex);
	l->want_write = false;
	write_out(l);
	pthread_mutex_unlock(&l->mutex);
}

/* Sleep until there is something to read, the parker is woken, or `deadline`. False: the connection is of no use any more. */
static bool
poll_and_read(struct lsh_listener *l, struct lsh_parker *parker, int64_t deadline)
{
	struct pollfd polled[2] = {{.fd = l->wire.fd, .events = POLLIN}, {.fd = l->kick, .events = POLLIN}};
	struct timespec t;
	int n;

	if (lsh_wire_is_pending(&l->wire))
		return read_some(l);
	if (atomic_load(&l->want_write))
		polled[0].events |= POLLOUT;
	if (!lsh_park_poll_begin(parker, l->kick))
		return true;
	n = ppoll(polled, 2, lsh_nap(&t, deadline), NULL);
	lsh_park_poll_end(parker);
	if (n <= 0)
		return true;
	if (polled[1].revents != 0)
		lsh_kick_drain(l->kick);
	if ((polled[0].revents & POLLOUT) != 0)
		write_rest(l);
	return (polled[0].revents & ~POLLOUT) == 0 || read_some(l);
}

/* ---- those who wait ---- */

void
lsh_listener_wait(struct lsh_listener *l, struct lsh_parker *parker, int64_t deadline, bool (*over)(void *arg), void *arg)
{
	struct sleeper sleeper = {.parker = parker};

	while (!over(arg) && lsh_now_ns() < deadline) {
		pthread_mutex_lock(&l->mutex);
		if (l->state == UP && !l->reading) {
			bool good = true;

			l->reading = true;
			pthread_mutex_unlock(&l->mutex);
			while (good && !over(arg) && lsh_now_ns() < deadline)
				good = poll_and_read(l, parker, deadline);
			pthread_mutex_lock(&l->mutex);
			if (!good)
				break_connection(l);
			vacate(l);
			pthread_mutex_unlock(&l->mutex);
			continue;
		}
		lsh_list_append(&l->sleepers, &sleeper.link);
		pthread_mutex_unlock(&l->mutex);
		lsh_park(parker, deadline);
		pthread_mutex_lock(&l->mutex);
		lsh_list_remove(&sleeper.link);
		pthread_mutex_unlock(&l->mutex);
	}
	/* it may have been poked to take the seat while what it waited for came */
	pthread_mutex_lock(&l->mutex);
	poke(l);
	tell_unattended(l);
	pthread_mutex_unlock(&l->mutex);
}

/* ---- sharded channels ---- */

static bool
request(struct lsh_listener *l, bool subscribe, const char *channel, size_t size)
{
	struct lsh_arg args[] = {subscribe ? LSH_ARG("SSUBSCRIBE") : LSH_ARG("SUNSUBSCRIBE"), {channel, size}};
	struct request asked = {.subscribe = subscribe, .size = size};
	size_t most = lsh_command_size(args, 2);
	bool taken;

	assert(l->ops->subscribed != NULL && l->ops->unsubscribed != NULL && l->ops->refused != NULL && l->ops->unattended != NULL);
	if (size > LSH_CHANNEL_MOST)
		return false;
	pthread_mutex_lock(&l->mutex);
	taken = l->state == UP && lsh_buffer_reserve(&l->out, most, MOST_ROOM) &&
	        lsh_buffer_reserve(&l->asked, sizeof asked + size, MOST_ROOM);
	if (taken) {
		l->out.end += lsh_command_write(l->out.bytes + l->out.end, args, 2);
		lsh_buffer_put(&l->asked, &asked, sizeof asked);
		lsh_buffer_put(&l->asked, channel, size);
		write_out(l);
	}
	pthread_mutex_unlock(&l->mutex);
	return taken;
}

bool
lsh_listener_subscribe(struct lsh_listener *l, const char *channel, size_t size)
{
	return request(l, true, channel, size);
}

bool
lsh_listener_unsubscribe(struct lsh_listener *l, const char *channel, size_t size)
{
	return request(l, false, channel, size);
}

/* ---- the keeper ---- */

bool
lsh_listener_attach(struct lsh_listener *l, struct lsh_wire wire)
{
	if (!lsh_reader_reset(l->reader))
		return false;
	pthread_mutex_lock(&l->mutex);
	l->wire = wire;
	lsh_buffer_empty(&l->out);
	lsh_buffer_empty(&l->batch);
	lsh_buffer_empty(&l->asked);
	l->want_write = false;
	l->state = UP;
	poke(l);
	pthread_mutex_unlock(&l->mutex);
	return true;
}

bool
lsh_listener_is_up(struct lsh_listener *l)
{
	return l->state == UP;
}

int
lsh_listener_fd(struct lsh_listener *l, bool *read)
{
	int fd;

	pthread_mutex_lock(&l->mutex);
	fd = l->state == UP ? l->wire.fd : -1;
	*read = !l->reading;
	pthread_mutex_unlock(&l->mutex);
	return fd;
}

short
lsh_listener_due(struct lsh_listener *l)
{
	int due = 0;

	pthread_mutex_lock(&l->mutex);
	if (l->state == UP && !l->reading)
		due = (lsh_buffer_size(&l->asked) > 0 ? POLLIN : 0) | (l->want_write ? POLLOUT : 0);
	pthread_mutex_unlock(&l->mutex);
	return (short)due;
}

void
lsh_listener_drain(struct lsh_listener *l)
{
	pthread_mutex_lock(&l->mutex);
	if (l->state == UP && !l->reading) {
		bool good;

		l->reading = true;
		l->want_write = false; /* if it still is full, that will be seen */
		write_out(l);
		pthread_mutex_unlock(&l->mutex);
		good = hand_out(l) && read_some(l);
		pthread_mutex_lock(&l->mutex);
		if (!good)
			break_connection(l);
		vacate(l);
	}
	pthread_mutex_unlock(&l->mutex);
}

void
lsh_listener_break(struct lsh_listener *l)
{
	pthread_mutex_lock(&l->mutex);
	break_connection(l);
	pthread_mutex_unlock(&l->mutex);
}

struct lsh_wire
lsh_listener_detach(struct lsh_listener *l)
{
	struct lsh_wire wire = LSH_NO_WIRE;

	pthread_mutex_lock(&l->mutex);
	if (l->state == BROKEN && !l->reading && !l->writing) {
		l->state = DOWN;
		wire = l->wire;
		l->wire = LSH_NO_WIRE;
	}
	pthread_mutex_unlock(&l->mutex);
	return wire;
}

struct lsh_listener *
lsh_listener_new(const struct lsh_listener_ops *ops, void *ctx)
{
	struct lsh_listener *l = lsh_new(struct lsh_listener);

	if (l == NULL)
		return NULL;
	l->ops = ops;
	l->ctx = ctx;
	l->wire = LSH_NO_WIRE;
	lsh_list_init(&l->sleepers);
	pthread_mutex_init(&l->mutex, NULL);
	l->bytes = lsh_alloc(LSH_PIECE_SIZE);
	l->reader = lsh_reader_new();
	l->kick = lsh_kick_take(); /* last: errno is that of what failed last */
	if (l->kick < 0 || l->bytes == NULL || l->reader == NULL) {
		lsh_listener_free(l);
		return NULL;
	}
	return l;
}

void
lsh_listener_free(struct lsh_listener *l)
{
	if (l == NULL)
		return;
	lsh_wire_close(&l->wire);
	lsh_kick_give(l->kick);
	lsh_reader_free(l->reader);
	lsh_free(l->bytes);
	lsh_free(l->out.bytes);
	lsh_free(l->batch.bytes);
	lsh_free(l->asked.bytes);
	pthread_mutex_destroy(&l->mutex);
	lsh_free(l);
}

void
lsh_listener_forsake(struct lsh_listener *l)
{
	/* without the mutex: a thread that is not in the child may have had it */
	if (l->wire.fd >= 0)
		close(l->wire.fd);
	close(l->kick); /* of the child's: in it nobody is left who could wake late */
}
