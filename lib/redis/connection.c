#include "redis/connection.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/mutex.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

bool
lsh_connection_init(struct lsh_connection *c, void (*tell)(void *keeper), void *keeper)
{
	c->tell = tell;
	c->keeper = keeper;
	c->stream = LSH_NO_STREAM;
	pthread_mutex_init(&c->mutex, NULL);
	c->bytes = lsh_alloc(LSH_PIECE_SIZE);
	c->reader = lsh_reader_new(true);
	c->kick = lsh_kick_take(); /* last: errno is that of what failed last */
	return c->kick >= 0 && c->bytes != NULL && c->reader != NULL;
}

void
lsh_connection_destroy(struct lsh_connection *c)
{
	lsh_stream_close(&c->stream);
	lsh_kick_give(c->kick);
	lsh_reader_free(c->reader);
	lsh_free(c->bytes);
	lsh_free(c->out.bytes);
	lsh_free(c->batch.bytes);
	pthread_mutex_destroy(&c->mutex);
}

/* ---- the keeper ---- */

void
lsh_connection_attach(struct lsh_connection *c, struct lsh_stream stream)
{
	c->stream = stream;
	c->want_write = false;
	c->state = LSH_UP;
}

static bool
is_vacant(const struct lsh_connection *c)
{
	return c->state == LSH_BROKEN && !c->reading && !c->writing && !c->telling;
}

struct lsh_stream
lsh_connection_detach(struct lsh_connection *c)
{
	struct lsh_stream stream;

	lsh_locked(&c->mutex);
	if (!is_vacant(c))
		return LSH_NO_STREAM;
	stream = c->stream;
	c->stream = LSH_NO_STREAM;
	lsh_buffer_empty(&c->batch);
	c->state = LSH_DOWN;
	return stream;
}

/* ---- the mutex held ---- */

bool
lsh_connection_break(struct lsh_connection *c)
{
	if (c->state != LSH_UP)
		return false;
	c->state = LSH_BROKEN;
	lsh_stream_break(&c->stream);
	lsh_buffer_empty(&c->out);
	c->tell(c->keeper);
	return true;
}

void
lsh_connection_seat_vacant(struct lsh_connection *c)
{
	if (is_vacant(c))
		c->tell(c->keeper);
}

void
lsh_connection_kick(struct lsh_connection *c)
{
	if (c->reading)
		lsh_kick(c->kick);
}

/* Send as much of the batch as the socket takes at once. Returns 0, or why not all goes on: EAGAIN, or a fault. */
static int
send_some(struct lsh_connection *c)
{
	ssize_t n;
	int e;

	pthread_mutex_unlock(&c->mutex);
	n = lsh_stream_send(&c->stream, c->batch.bytes + c->batch.first, lsh_buffer_size(&c->batch));
	e = n >= 0 || errno == EINTR ? 0 : errno;
	pthread_mutex_lock(&c->mutex);
	if (n > 0)
		c->batch.first += (size_t)n;
	return e;
}

bool
lsh_connection_write(struct lsh_connection *c)
{
	int e = 0;

	c->writing = true;
	while (c->state == LSH_UP && e == 0) {
		if (lsh_buffer_size(&c->batch) == 0) {
			struct lsh_buffer sent = c->batch;

			if (lsh_buffer_size(&c->out) == 0)
				break;
			c->batch = c->out;
			c->out = sent;
			lsh_buffer_empty(&c->out);
			c->handed = c->tail;
		}
		e = send_some(c);
	}
	c->writing = false;
	if (e == EAGAIN) {
		c->want_write = true;
		lsh_connection_kick(c); /* the reader has to poll for room as well */
	}
	return e == 0 || e == EAGAIN;
}

/* ---- the reader's seat ---- */

ssize_t
lsh_connection_recv(struct lsh_connection *c, int flags)
{
	ssize_t n = lsh_stream_recv(&c->stream, c->bytes, LSH_PIECE_SIZE, flags);

	if (n > 0)
		return n;
	return n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
}

/* Returns the events of the stream. */
static int
poll_stream(struct lsh_connection *c, struct lsh_parker *parker, int64_t until)
{
	struct pollfd polled[2] = {
		[1] = {.fd = c->stream.fd, .events = c->want_write ? POLLIN | POLLOUT : POLLIN},
	};

	if (lsh_park_poll_begin(parker, c->kick)) {
		lsh_kick_poll(c->kick, polled, 2, until);
		lsh_park_poll_end(parker);
	}
	return polled[1].revents;
}

ssize_t
lsh_connection_await(struct lsh_connection *c, struct lsh_parker *parker, int64_t until, bool tries)
{
	bool pending = lsh_stream_is_pending(&c->stream);
	int events;

	if (pending || (tries && !c->want_write)) {
		ssize_t size = lsh_connection_recv(c, pending ? MSG_DONTWAIT : 0);

		if (size != 0 || errno == EINTR)
			return size;
	}
	events = poll_stream(c, parker, until);
	if ((events & POLLOUT) != 0)
		c->want_write = false;
	return (events & ~POLLOUT) != 0 ? lsh_connection_recv(c, MSG_DONTWAIT) : 0;
}
