#include "redis/pubsub.h"

#include "base/clock.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/mutex.h"
#include "redis/command.h"
#include "redis/connection.h"

#include <assert.h>
#include <string.h>
#include <sys/socket.h>

enum { LEAST_ROOM = 1024, MOST_ROOM = 1 << 20 }; /* of a buffer */

struct request {
	bool joins;
	size_t size; /* of the channel, which follows */
};

struct lsh_pubsub {
	struct lsh_connection conn;   /* its mutex guards the rest */
	const struct lsh_pubsub_ops *ops;
	void *ctx;
	struct lsh_list sleepers;     /* struct sleeper */
	atomic_bool keeper_reads;     /* when nobody else does */
	struct lsh_buffer asked;      /* struct request and its channel, of each that was not answered yet */
	char channel[LSH_CHANNEL_MOST + 1]; /* that an answer is about: the reader's seat */
};

struct sleeper {
	struct lsh_list link;
	struct lsh_parker *parker;
};

/* ---- l->conn.mutex held ---- */

/* If the reader's seat is vacant, the first sleeper has been told; a sleeper that was told and leaves calls this again.
 * Where nobody sleeps the keeper has been told of what is due, or reads: who waits next may be long in coming. */
static void
poke(struct lsh_pubsub *l)
{
	if (l->conn.state != LSH_UP || l->conn.reading)
		return;
	if (!lsh_list_empty(&l->sleepers))
		lsh_unpark(lsh_container(lsh_list_first(&l->sleepers), struct sleeper, link)->parker);
	else if (l->conn.want_write || lsh_buffer_size(&l->asked) > 0 || atomic_load(&l->keeper_reads))
		l->conn.tell(l->conn.keeper);
}

/* A seat, of the reader or of the writer, has fallen vacant. */
static void
seat_vacant(struct lsh_pubsub *l)
{
	poke(l);
	lsh_buffer_shrink(&l->asked, LEAST_ROOM);
	if (!l->conn.writing) {
		lsh_buffer_shrink(&l->conn.out, LEAST_ROOM);
		lsh_buffer_shrink(&l->conn.batch, LEAST_ROOM);
	}
	lsh_connection_seat_vacant(&l->conn);
}

/* The reader leaves its seat; not `good`: the connection is of no use any more. */
static void
stop_reading(struct lsh_pubsub *l, bool good)
{
	if (!good)
		lsh_connection_break(&l->conn);
	l->conn.reading = false;
	seat_vacant(l);
}

/* Send what has gathered, unless somebody does, or the socket is full. */
static void
write_out(struct lsh_pubsub *l)
{
	if (!lsh_connection_has_to_write(&l->conn))
		return;
	if (!lsh_connection_write(&l->conn))
		lsh_connection_break(&l->conn);
	seat_vacant(l);
}

/* ---- the seat, no mutex held ---- */

/* Take the request that was made first, if there is one, and, where `channel` is not NULL, if it is for that channel:
 * to join it, or to leave. Its channel is in l->channel then. */
static bool
take_request(struct lsh_pubsub *l, struct request *request, bool joins, const struct lsh_item *channel)
{
	const char *first;

	lsh_locked(&l->conn.mutex);
	if (lsh_buffer_size(&l->asked) == 0)
		return false;
	first = l->asked.bytes + l->asked.first;
	memcpy(request, first, sizeof *request);
	memcpy(l->channel, first + sizeof *request, request->size);
	l->channel[request->size] = '\0';
	if (channel != NULL && (request->joins != joins || request->size != channel->length ||
	                        memcmp(l->channel, channel->text, request->size) != 0))
		return false;
	l->asked.first += sizeof *request + request->size;
	return true;
}

/* False: that is not what a Redis server says. */
static bool
take_in(struct lsh_pubsub *l, const struct lsh_message *m)
{
	const struct lsh_item *channel = &m->item[1];
	struct request request;

	if (lsh_message_is_about(m, "message", LSH_STRING) || lsh_message_is_about(m, "smessage", LSH_STRING)) {
		l->ops->message(l->ctx, channel, m->item[2].text, m->item[2].length);
	} else if ((lsh_message_is_about(m, "ssubscribe", LSH_INTEGER) ||
	            lsh_message_is_about(m, "subscribe", LSH_INTEGER)) && take_request(l, &request, true, channel)) {
		l->ops->subscribed(l->ctx, channel->text, channel->length);
	} else if ((lsh_message_is_about(m, "sunsubscribe", LSH_INTEGER) ||
	            lsh_message_is_about(m, "unsubscribe", LSH_INTEGER)) && l->ops->unsubscribed != NULL) {
		take_request(l, &request, false, channel); /* or it comes of the server's own accord, at any time */
		l->ops->unsubscribed(l->ctx, channel->text, channel->length);
	} else if (m->type == LSH_ERROR && take_request(l, &request, false, NULL)) {
		if (request.joins)
			l->ops->refused(l->ctx, l->channel, request.size, m->item[0].text);
		else /* a channel that cannot be left is none that was subscribed to */
			l->ops->unsubscribed(l->ctx, l->channel, request.size);
	} else {
		return false;
	}
	return true;
}

/* Hand out the messages that have come whole with `size` more bytes, and what TLS has deciphered behind them: poll()
 * does not tell of that. -1: the connection has ended. False: it has, or they are not what a Redis server says. */
static bool
hand_out(struct lsh_pubsub *l, ssize_t size)
{
	const struct lsh_message *m;
	int x;

	do {
		if (size < 0 || (size > 0 && !lsh_reader_feed(l->conn.reader, l->conn.bytes, (size_t)size)))
			return false;
		while ((x = lsh_reader_next(l->conn.reader, &m)) > 0) {
			if (!take_in(l, m))
				return false;
		}
		size = lsh_stream_is_pending(&l->conn.stream) ? lsh_connection_recv(&l->conn, MSG_DONTWAIT) : 0;
	} while (x == 0 && size != 0);
	return x == 0;
}

/* Receive and write what is possible now, sleeping before as lsh_connection_await(). False: the connection is of no use
 * any more. */
static bool
read_on(struct lsh_pubsub *l, struct lsh_parker *parker, int64_t deadline)
{
	bool full = l->conn.want_write;
	ssize_t size = lsh_connection_await(&l->conn, parker, deadline, false);

	if (full && !l->conn.want_write) {
		pthread_mutex_lock(&l->conn.mutex);
		write_out(l);
		pthread_mutex_unlock(&l->conn.mutex);
	}
	return hand_out(l, size);
}

/* ---- those who wait ---- */

void
lsh_pubsub_wait(struct lsh_pubsub *l, struct lsh_parker *parker, int64_t deadline, bool (*over)(void *arg),
                  void *arg)
{
	struct sleeper sleeper = {.parker = parker};

	while (!over(arg) && lsh_now_ns() < deadline) {
		pthread_mutex_lock(&l->conn.mutex);
		if (l->conn.state == LSH_UP && !l->conn.reading) {
			bool good = true;

			l->conn.reading = true;
			pthread_mutex_unlock(&l->conn.mutex);
			while (good && !over(arg) && lsh_now_ns() < deadline)
				good = read_on(l, parker, deadline);
			pthread_mutex_lock(&l->conn.mutex);
			stop_reading(l, good);
		} else {
			lsh_list_append(&l->sleepers, &sleeper.link);
			pthread_mutex_unlock(&l->conn.mutex);
			lsh_park(parker, deadline);
			pthread_mutex_lock(&l->conn.mutex);
			lsh_list_remove(&sleeper.link);
		}
		pthread_mutex_unlock(&l->conn.mutex);
	}
	/* it may have been poked to take the seat while what it waited for came */
	pthread_mutex_lock(&l->conn.mutex);
	poke(l);
	pthread_mutex_unlock(&l->conn.mutex);
}

/* ---- further channels ---- */

bool
lsh_pubsub_ask(struct lsh_pubsub *l, bool sharded, bool joins, const char *channel, size_t size)
{
	static const char *const words[2][2] = {{"UNSUBSCRIBE", "SUBSCRIBE"}, {"SUNSUBSCRIBE", "SSUBSCRIBE"}};
	struct lsh_arg args[] = {lsh_arg_text(words[sharded][joins]), {channel, size}};
	struct request asked = {.joins = joins, .size = size};
	size_t most = lsh_command_size(args, 2);

	assert(l->ops->subscribed != NULL && l->ops->unsubscribed != NULL && l->ops->refused != NULL);
	if (size > LSH_CHANNEL_MOST)
		return false;
	lsh_locked(&l->conn.mutex);
	if (l->conn.state != LSH_UP || !lsh_buffer_reserve(&l->conn.out, most, MOST_ROOM) ||
	    !lsh_buffer_reserve(&l->asked, sizeof asked + size, MOST_ROOM))
		return false;
	l->conn.out.end += lsh_command_write(l->conn.out.bytes + l->conn.out.end, args, 2);
	lsh_buffer_put(&l->asked, &asked, sizeof asked);
	lsh_buffer_put(&l->asked, channel, size);
	write_out(l);
	return true;
}

/* ---- the keeper ---- */

bool
lsh_pubsub_attach(struct lsh_pubsub *l, struct lsh_stream stream)
{
	if (!lsh_reader_reset(l->conn.reader))
		return false;
	lsh_locked(&l->conn.mutex);
	lsh_buffer_empty(&l->asked);
	lsh_connection_attach(&l->conn, stream);
	poke(l);
	return true;
}

bool
lsh_pubsub_is_up(struct lsh_pubsub *l)
{
	return l->conn.state == LSH_UP;
}

struct pollfd
lsh_pubsub_poll(struct lsh_pubsub *l, bool expects)
{
	struct pollfd polled = {.fd = -1, .events = POLLRDHUP};

	lsh_locked(&l->conn.mutex);
	if (l->conn.state == LSH_UP) {
		bool read = expects || atomic_load(&l->keeper_reads) || lsh_buffer_size(&l->asked) > 0;
		bool write = l->conn.want_write;

		polled.fd = l->conn.stream.fd;
		if (!l->conn.reading)
			polled.events = (short)(POLLRDHUP | (read ? POLLIN : 0) | (write ? POLLOUT : 0));
	}
	return polled;
}

void
lsh_pubsub_leave_to_keeper(struct lsh_pubsub *l)
{
	atomic_store(&l->keeper_reads, true);
}

bool
lsh_pubsub_is_ready(struct lsh_pubsub *l)
{
	struct pollfd polled;

	if (!atomic_load(&l->keeper_reads))
		return false;
	polled = lsh_pubsub_poll(l, true);
	return polled.fd >= 0 && (polled.events & POLLIN) != 0 && poll(&polled, 1, 0) > 0;
}

void
lsh_pubsub_drain(struct lsh_pubsub *l)
{
	lsh_locked(&l->conn.mutex);
	bool good;

	if (l->conn.state != LSH_UP || l->conn.reading)
		return;
	l->conn.reading = true;
	l->conn.want_write = false; /* if it still is full, that will be seen */
	write_out(l);
	pthread_mutex_unlock(&l->conn.mutex);
	good = hand_out(l, lsh_connection_recv(&l->conn, MSG_DONTWAIT));
	pthread_mutex_lock(&l->conn.mutex);
	stop_reading(l, good);
}

void
lsh_pubsub_break(struct lsh_pubsub *l)
{
	lsh_locked(&l->conn.mutex);
	lsh_connection_break(&l->conn);
}

struct lsh_stream
lsh_pubsub_detach(struct lsh_pubsub *l)
{
	return lsh_connection_detach(&l->conn);
}

struct lsh_pubsub *
lsh_pubsub_new(const struct lsh_pubsub_ops *ops, void *ctx, void (*tell)(void *keeper), void *keeper)
{
	struct lsh_pubsub *l = lsh_new(struct lsh_pubsub);

	if (l == NULL)
		return NULL;
	l->ops = ops;
	l->ctx = ctx;
	lsh_list_init(&l->sleepers);
	if (!lsh_connection_init(&l->conn, tell, keeper)) {
		lsh_pubsub_free(l);
		return NULL;
	}
	return l;
}

void
lsh_pubsub_free(struct lsh_pubsub *l)
{
	if (l == NULL)
		return;
	lsh_connection_destroy(&l->conn);
	lsh_free(l->asked.bytes);
	lsh_free(l);
}
