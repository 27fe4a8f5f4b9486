#include "redis/listener.h"

#include "base/clock.h"
#include "base/list.h"
#include "base/memory.h"
#include "redis/reply.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum state { DOWN, UP, BROKEN };

struct lsh_listener {
	const struct lsh_listener_ops *ops;
	void *ctx;
	int kick; /* wakes the thread in the seat */

	pthread_mutex_t mutex; /* guards state, fd, reading, sleepers */
	_Atomic enum state state;
	int fd;
	bool reading;
	struct lsh_list sleepers; /* struct sleeper */

	struct lsh_reader *reader; /* the seat's */
	char *bytes;
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

static void
vacate(struct lsh_listener *l)
{
	l->reading = false;
	poke(l);
	if (l->state == BROKEN)
		l->ops->broke(l->ctx);
}

static void
break_connection(struct lsh_listener *l)
{
	if (l->state != UP)
		return;
	l->state = BROKEN;
	shutdown(l->fd, SHUT_RDWR);
	l->ops->broke(l->ctx);
}

/* ---- the seat, no mutex held ---- */

static bool
is_message(const struct lsh_message *m)
{
	return m->type == LSH_ARRAY && m->count == 3 && m->item[0].type == LSH_STRING && m->item[2].type == LSH_STRING &&
	       (strcmp(m->item[0].text, "message") == 0 || strcmp(m->item[0].text, "smessage") == 0);
}

/* Hand out the messages that have come whole. False: they are not what a Redis server says. */
static bool
hand_out(struct lsh_listener *l)
{
	const struct lsh_message *m;
	int x;

	while ((x = lsh_reader_next(l->reader, &m)) > 0) {
		if (!is_message(m))
			return false;
		l->ops->message(l->ctx, m->item[2].text, m->item[2].length);
	}
	return x == 0;
}

/* Read what is there. False: the connection is of no use any more. */
static bool
read_some(struct lsh_listener *l)
{
	ssize_t n = recv(l->fd, l->bytes, LSH_READ_SIZE, MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
	return n > 0 && lsh_reader_feed(l->reader, l->bytes, (size_t)n) && hand_out(l);
}

/* Sleep until there is something to read, the parker is woken, or `deadline`. False: the connection is of no use any more. */
static bool
poll_and_read(struct lsh_listener *l, struct lsh_parker *parker, int64_t deadline)
{
	struct pollfd polled[2] = {{.fd = l->fd, .events = POLLIN}, {.fd = l->kick, .events = POLLIN}};
	struct timespec t, *timeout = NULL;
	int n;

	if (deadline != LSH_NEVER) {
		int64_t left = deadline - lsh_now_ns();

		left = left > 0 ? left : 0;
		t.tv_sec = left / LSH_S;
		t.tv_nsec = left % LSH_S;
		timeout = &t;
	}
	if (!lsh_park_poll_begin(parker, l->kick))
		return true;
	n = ppoll(polled, 2, timeout, NULL);
	lsh_park_poll_end(parker);
	if (n <= 0)
		return true;
	if (polled[1].revents != 0)
		lsh_kick_drain(l->kick);
	return polled[0].revents == 0 || read_some(l);
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
	pthread_mutex_unlock(&l->mutex);
}

/* ---- the keeper ---- */

bool
lsh_listener_attach(struct lsh_listener *l, int fd)
{
	if (!lsh_reader_reset(l->reader))
		return false;
	pthread_mutex_lock(&l->mutex);
	l->fd = fd;
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
	fd = l->state == UP ? l->fd : -1;
	*read = !l->reading;
	pthread_mutex_unlock(&l->mutex);
	return fd;
}

void
lsh_listener_drain(struct lsh_listener *l)
{
	pthread_mutex_lock(&l->mutex);
	if (l->state == UP && !l->reading) {
		bool good;

		l->reading = true;
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

int
lsh_listener_detach(struct lsh_listener *l)
{
	int fd = -1;

	pthread_mutex_lock(&l->mutex);
	if (l->state == BROKEN && !l->reading) {
		l->state = DOWN;
		fd = l->fd;
		l->fd = -1;
	}
	pthread_mutex_unlock(&l->mutex);
	return fd;
}

struct lsh_listener *
lsh_listener_new(const struct lsh_listener_ops *ops, void *ctx)
{
	struct lsh_listener *l = lsh_new(struct lsh_listener);

	if (l == NULL)
		return NULL;
	l->ops = ops;
	l->ctx = ctx;
	l->fd = -1;
	lsh_list_init(&l->sleepers);
	pthread_mutex_init(&l->mutex, NULL);
	l->kick = lsh_kick_take();
	l->bytes = lsh_alloc(LSH_READ_SIZE);
	l->reader = lsh_reader_new();
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
	if (l->fd >= 0)
		close(l->fd);
	lsh_kick_give(l->kick);
	lsh_reader_free(l->reader);
	lsh_free(l->bytes);
	pthread_mutex_destroy(&l->mutex);
	lsh_free(l);
}

void
lsh_listener_forsake(struct lsh_listener *l)
{
	/* without the mutex: a thread that is not in the child may have had it */
	if (l->fd >= 0)
		close(l->fd);
	close(l->kick); /* of the child's: in it nobody is left who could wake late */
}
