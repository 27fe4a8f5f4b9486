/* The pipe: many threads share one connection, without an I/O thread.
 *
 * Commands gather in a buffer, and their tickets in a ring: replies come in the order of the commands. System calls are shared
 * through two seats, which any caller may take:
 *
 *   the writer's   who appends and finds it empty sends at once, for all that has gathered, and leaves;
 *   the reader's   who awaits and finds it empty reads, for all, until its own reply is there, and leaves. When it falls
 *                  vacant while tickets are pending, the thread of the first of them is poked to take it (the baton).
 *
 * One seat for both would send a command that comes while the reader sleeps only after the next reply. A thread alone pays
 * what a blocking client pays: one send, one recv. With many, sends and wake-ups are shared:
 *  - with 16 or more commands on their way, and the reader awake (between its recv and its next), an appender leaves the
 *    sending to the reader, who always writes before it sleeps;
 *  - a reader that goes on wakes those whose replies have come before it writes, so that what they append goes out with it;
 *  - one that leaves with 8 or more others to wake does so, too;
 *  - those who sleep have no timer of their own if the reader wakes before their limits anyway: it tells those who are late.
 *    (A reader whose thread does not run, held up in a signal handler, say, keeps answers and limits from all others alike.)
 *
 * The reader tries a plain recv first, which the socket's SO_RCVTIMEO bounds, and polls only after that: one system call less.
 *
 * A ticket lies on its caller's stack. Who gives up takes its ticket out of the ring under the mutex; the reply of an empty
 * place is dropped. When the reader has taken a reply off the wire its ticket is out of the ring too, and the caller waits for
 * `done`, however late it is.
 *
 * A pipe starts small, which is enough for what one thread sends: so far nothing allocates. With many threads it grows,
 * up to a limit. One that cannot grow is full. When it has been quiet for a while the keeper makes it small again. */
#include "redis/pipe.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/mutation.h"
#include "base/text.h"
#include "redis/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

enum {
	LEAST_RING = 64,      /* commands on their way: powers of two */
	RING = 4096,
	LEAST_OUT = 16384,    /* bytes that gather: more than any command of leash has */
	OUT_SIZE = 131072,
	GATHER = 16,          /* so many on their way, and the awake reader will write */
	MANY = 8,             /* so many to wake, and they are woken before the write */
	RECV_US = 20000,      /* the longest that the reader is deaf to a kick */
};

#define IDLE_NS  (10 * LSH_MS) /* without a reply, and none due */
#define QUIET_NS (1 * LSH_S)   /* likewise; so long it has its memory for what may come next */

static _Atomic uint64_t epochs; /* of all pipes: no two connections have the same */

struct lsh_pipe {
	struct lsh_connection conn;    /* its mutex guards the rest */
	const struct lsh_pipe_ops *ops;
	pthread_cond_t room;
	unsigned wanting_room;
	bool full;            /* something was not taken, and there has been no more room since */
	bool large;           /* it has grown, and the keeper knows */
	_Atomic uint64_t epoch, connects; /* also read without the mutex */
	struct lsh_ticket **ring;
	size_t ring_size;
	uint64_t head, tail;  /* of the next reply; of the next command */
	uint64_t handed_before; /* over earlier connections */
	uint64_t gave_up;     /* behind the last one whose caller gave up; only a mutation asks */
	uint64_t handed;      /* commands before this one have been handed to the system, at least in part */
	bool awake;           /* the reader will write before it sleeps */
	int64_t reads_until;  /* the reader sleeps no longer than that */
	int64_t soonest;      /* no ticket has a sooner limit */
	int64_t heard;        /* when bytes came last */
	bool look_first;      /* it was idle: see that nothing came unasked before the next command is sent */
	struct lsh_reply refusal; /* of the last ASKING that was refused, */
	uint64_t refused;     /* in front of this command; 0: of none, as such a command is never the first */
	struct lsh_parker *_Atomic baton; /* was poked to take the vacant reader's seat, and has not looked yet */
};

void
lsh_ticket_wake(struct lsh_ticket *self)
{
	struct lsh_parker *parker = self->parker;

	atomic_store_explicit(&self->outcome, self->ended, memory_order_release);
	lsh_unpark(parker);
}

/* Tickets that ended and whose callers are still to be told, in order. */
struct ended {
	struct lsh_ticket *first, **last;
	size_t count;
};

static void
ended_init(struct ended *ended)
{
	ended->first = NULL;
	ended->last = &ended->first;
	ended->count = 0;
}

static void
ended_add(struct ended *ended, struct lsh_ticket *ticket, enum lsh_outcome outcome)
{
	ticket->ended = outcome;
	ticket->next = NULL;
	*ended->last = ticket;
	ended->last = &ticket->next;
	ended->count++;
}

static void
ended_tell(struct ended *ended)
{
	struct lsh_ticket *ticket = ended->first;

	while (ticket != NULL) {
		struct lsh_ticket *next = ticket->next; /* afterwards it is its caller's */

		ticket->done(ticket);
		ticket = next;
	}
	ended_init(ended);
}

static enum lsh_outcome
outcome_of(const struct lsh_ticket *ticket)
{
	return atomic_load_explicit(&ticket->outcome, memory_order_acquire);
}

/* ---- p->conn.mutex held ---- */

static struct lsh_ticket **
place(struct lsh_pipe *p, uint64_t number)
{
	return &p->ring[number & (p->ring_size - 1)];
}

/* Room for so many more commands. False: too many are on their way, or there is no memory. */
static bool
reserve_places(struct lsh_pipe *p, uint64_t count)
{
	struct lsh_ticket **before = p->ring, **ring;
	size_t size = 2 * p->ring_size;

	if (p->tail - p->head + count <= p->ring_size)
		return true;
	ring = size <= RING ? lsh_alloc(size * sizeof *ring) : NULL;
	if (ring == NULL)
		return false;
	for (uint64_t n = p->head; n < p->tail; n++)
		ring[n & (size - 1)] = *place(p, n);
	p->ring = ring;
	p->ring_size = size;
	lsh_free(before);
	return true;
}

static bool
is_large(const struct lsh_pipe *p)
{
	return p->ring_size > LEAST_RING || p->conn.out.room > LEAST_OUT || p->conn.batch.room > LEAST_OUT;
}

/* When nothing is on its way. */
static void
shrink(struct lsh_pipe *p)
{
	struct lsh_ticket **ring = p->ring_size > LEAST_RING ? lsh_realloc(p->ring, LEAST_RING * sizeof *ring) : NULL;

	if (ring != NULL) {
		p->ring = ring;
		p->ring_size = LEAST_RING;
	}
	lsh_buffer_shrink(&p->conn.out, LEAST_OUT);
	lsh_buffer_shrink(&p->conn.batch, LEAST_OUT);
	p->large = false;
}

/* If the reader's seat is vacant and somebody waits, then exactly one of those who wait has been told. */
static struct lsh_parker *
choose_baton(struct lsh_pipe *p)
{
	if (p->conn.reading || p->baton != NULL)
		return NULL;
	for (uint64_t n = p->head; n < p->tail; n++) {
		struct lsh_ticket *ticket = *place(p, n);

		if (ticket != NULL) {
			p->baton = ticket->parker;
			return ticket->parker;
		}
	}
	return NULL;
}

static void
pass_baton(struct lsh_pipe *p)
{
	struct lsh_parker *parker = choose_baton(p);

	if (parker != NULL)
		lsh_unpark(parker);
}

static void
tell_room(struct lsh_pipe *p)
{
	p->full = false;
	if (p->wanting_room > 0)
		pthread_cond_broadcast(&p->room);
}

/* Called when a seat falls vacant: the keeper may be waiting for that, or have memory to take back. */
static void
seat_vacant(struct lsh_pipe *p)
{
	lsh_connection_seat_vacant(&p->conn);
	if (!p->large && is_large(p) && p->ops->grew != NULL) {
		p->large = true;
		p->ops->grew(p->conn.ctx);
	}
}

static void
break_connection(struct lsh_pipe *p, struct ended *ended, enum lsh_outcome outcome)
{
	if (!lsh_connection_break(&p->conn))
		return;
	for (; p->head < p->tail; p->head++) {
		struct lsh_ticket *ticket = *place(p, p->head);

		if (ticket != NULL)
			ended_add(ended, ticket, p->head < p->handed ? outcome : LSH_UNSENT);
	}
	p->baton = NULL;
	tell_room(p);
}

/* An answer that nobody asked for would be taken for the answer to the next command; and an end is told in time. */
static void
look(struct lsh_pipe *p, struct ended *ended)
{
	char byte;
	ssize_t n;

	p->look_first = false;
	pthread_mutex_unlock(&p->conn.mutex);
	n = lsh_wire_recv(&p->conn.wire, &byte, sizeof byte, MSG_PEEK | MSG_DONTWAIT);
	pthread_mutex_lock(&p->conn.mutex);
	if (n >= 0)
		break_connection(p, ended, LSH_UNKNOWN);
}

/* The writer's seat. The mutex is released during each send; what does not fit is left to the reader. */
static void
write_out(struct lsh_pipe *p, struct ended *ended)
{
	enum lsh_sent sent = LSH_SENT;

	p->conn.writing = true;
	while (p->conn.state == LSH_UP && sent == LSH_SENT) {
		if (p->look_first && !LSH_MUTATES(LSH_UNASKED_IS_ANSWER)) {
			look(p, ended);
			continue;
		}
		if (lsh_buffer_size(&p->conn.batch) == 0) {
			if (!lsh_connection_take_batch(&p->conn))
				break;
			p->handed = p->tail;
			tell_room(p);
		}
		sent = lsh_connection_send(&p->conn);
		if (sent == LSH_SEND_FAILED)
			break_connection(p, ended, LSH_UNKNOWN);
	}
	p->conn.writing = false;
	seat_vacant(p);
}

static bool
has_to_write(const struct lsh_pipe *p)
{
	return p->conn.state == LSH_UP && !p->conn.writing && !p->conn.want_write && lsh_connection_has_bytes(&p->conn);
}

/* The reply in front of the command `number` is nobody's; but if it refuses an ASKING, that is why a MOVED comes next. */
static void
note_refusal(struct lsh_pipe *p, const struct lsh_message *message, uint64_t number)
{
	if (message->type != LSH_ERROR)
		return;
	lsh_reply_keep(&p->refusal, message);
	p->refused = number;
}

static void
keep(const struct lsh_pipe *p, struct lsh_ticket *ticket, const struct lsh_message *message)
{
	lsh_reply_keep(&ticket->reply, message);
	if (ticket->asking && ticket->number == p->refused && message->type == LSH_ERROR && lsh_starts_with_word(ticket->reply.text, "MOVED"))
		ticket->reply = p->refusal;
}

/* Hand out the replies that have come. False: they are not what a Redis server says. */
static bool
hand_out(struct lsh_pipe *p, const struct lsh_ticket *me, struct ended *ended)
{
	const struct lsh_message *message;
	int x;

	while ((x = lsh_reader_next(p->conn.reader, &message)) > 0) {
		struct lsh_ticket *ticket;

		if (p->conn.state != LSH_UP)
			return true; /* everybody has been told already */
		if (p->head == p->handed)
			return false; /* a reply that nobody asked for */
		ticket = *place(p, p->head++);
		while (LSH_MUTATES(LSH_ANSWERS_GO_ASTRAY) && ticket == NULL && p->head == p->gave_up && p->head < p->handed)
			ticket = *place(p, p->head++);
		if (ticket == NULL) { /* nobody's, or its caller gave up */
			note_refusal(p, message, p->head);
			continue;
		}
		if (ticket->parker == p->baton)
			p->baton = NULL; /* it may leave without looking at the seat */
		keep(p, ticket, message);
		if (ticket == me)
			atomic_store_explicit(&ticket->outcome, LSH_ANSWERED, memory_order_release);
		else
			ended_add(ended, ticket, LSH_ANSWERED);
	}
	tell_room(p);
	return x == 0;
}

/* Those who sleep without a limit of their own do so because a timer for each would cost more than all else here: the reader
 * has one for all. Whoever is late is woken, to give up by itself. */
static void
wake_late(struct lsh_pipe *p, int64_t now)
{
	p->soonest = LSH_NEVER;
	for (uint64_t n = p->head; n < p->tail; n++) {
		struct lsh_ticket *ticket = *place(p, n);

		if (ticket == NULL)
			continue;
		if (ticket->limit <= now)
			lsh_unpark(ticket->parker);
		else if (ticket->limit < p->soonest)
			p->soonest = ticket->limit;
	}
}

static bool
is_over(const struct lsh_ticket *ticket)
{
	return ticket->over != NULL && ticket->over(ticket->over_arg);
}

/* ---- the reader's seat, no mutex held ---- */

enum received { NOTHING, BYTES, HUNG_UP };

/* Wait for bytes until `limit`, or until the socket has room if that is wanted, or for a kick, or until `parker` is woken. */
static enum received
receive(struct lsh_pipe *p, struct lsh_parker *parker, int64_t limit, bool want_write, bool *writable, size_t *size)
{
	bool pending = lsh_wire_is_pending(&p->conn.wire);
	int64_t left = limit == LSH_NEVER ? LSH_NEVER : limit - lsh_now_ns();
	ssize_t n = -1;

	errno = EAGAIN;
	if (pending || (!want_write && left > RECV_US * LSH_US))
		n = lsh_wire_recv(&p->conn.wire, p->conn.bytes, LSH_PIECE_SIZE, pending ? MSG_DONTWAIT : 0);
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
		int events = lsh_connection_poll(&p->conn, parker, want_write, limit);

		*writable = (events & POLLOUT) != 0;
		if ((events & ~POLLOUT) == 0)
			return NOTHING;
		n = lsh_wire_recv(&p->conn.wire, p->conn.bytes, LSH_PIECE_SIZE, MSG_DONTWAIT);
	}
	if (n > 0) {
		*size = (size_t)n;
		return BYTES;
	}
	return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) ? NOTHING : HUNG_UP;
}

/* Tell those whose tickets have ended, amid what is done with the mutex held. */
static void
tell_unlocked(struct lsh_pipe *p, struct ended *ended)
{
	pthread_mutex_unlock(&p->conn.mutex);
	ended_tell(ended);
	pthread_mutex_lock(&p->conn.mutex);
}

/* Receive once, and hand out. The mutex is released meanwhile. False: `me` has its reply or no use for one, or `limit`
 * has come. */
static bool
read_on(struct lsh_pipe *p, struct lsh_ticket *me, int64_t limit, struct ended *ended)
{
	bool writable = false, sane = true, want_write = p->conn.want_write;
	enum received received;
	int64_t until, now;
	size_t size = 0;

	p->reads_until = until = limit < p->soonest ? limit : p->soonest;
	p->awake = false;
	pthread_mutex_unlock(&p->conn.mutex);

	ended_tell(ended);
	received = receive(p, me->parker, until, want_write, &writable, &size);
	if (received == BYTES)
		sane = lsh_reader_feed(p->conn.reader, p->conn.bytes, size);

	pthread_mutex_lock(&p->conn.mutex);
	p->awake = true;
	now = lsh_now_ns();
	if (received == BYTES) {
		p->heard = now;
		sane = sane && hand_out(p, me, ended);
	}
	if (received == HUNG_UP || !sane)
		break_connection(p, ended, sane ? LSH_UNKNOWN : LSH_GARBLED);
	if (writable)
		p->conn.want_write = false;
	if (now >= p->soonest)
		wake_late(p, now);
	return outcome_of(me) == LSH_PENDING && now < limit && !is_over(me);
}

/* Read for everybody until `me` has its reply, `limit` has come or the connection is gone. Entered with the mutex held and
 * the seat vacant; left with the mutex released, the seat vacated and a successor told. */
static void
read_for_all(struct lsh_pipe *p, struct lsh_ticket *me, int64_t limit)
{
	struct ended ended;
	struct lsh_parker *next;

	ended_init(&ended);
	p->conn.reading = true;
	p->awake = true;
	p->reads_until = LSH_NEVER; /* until it is known, whoever comes has a limit of its own */
	p->baton = NULL; /* whoever has it will find the seat taken, and sleep again */
	for (;;) {
		if (has_to_write(p))
			write_out(p, &ended);
		if (p->conn.state != LSH_UP || !read_on(p, me, limit, &ended))
			break;
		if (ended.first != NULL)
			tell_unlocked(p, &ended); /* still awake: what they append meanwhile goes out in one write */
	}
	if (ended.count >= MANY)
		tell_unlocked(p, &ended);
	if (has_to_write(p))
		write_out(p, &ended);
	p->conn.reading = false;
	next = choose_baton(p);
	seat_vacant(p);
	pthread_mutex_unlock(&p->conn.mutex);
	ended_tell(&ended);
	if (next != NULL && p->baton == next)
		lsh_unpark(next);
}

/* ---- callers ---- */

/* p->conn.mutex held, and there is room. */
static void
take_in(struct lsh_pipe *p, const struct lsh_arg *args, size_t count, int64_t now)
{
	if (p->head == p->tail && now - p->heard > IDLE_NS)
		p->look_first = true;
	p->conn.out.end += lsh_command_write(p->conn.out.bytes + p->conn.out.end, args, count);
}

static enum lsh_appended
append(struct lsh_pipe *p, struct lsh_ticket *ticket, bool asking, const struct lsh_arg *args, size_t count, int64_t now, int64_t patience)
{
	static const struct lsh_arg word = {"ASKING", 6};
	size_t size = lsh_command_size(args, count) + (asking ? lsh_command_size(&word, 1) : 0);
	enum lsh_appended result = LSH_APPENDED;

	atomic_init(&ticket->outcome, LSH_PENDING);
	ticket->limit = LSH_NEVER;
	ticket->asking = asking;
	/* with a clock that could not be read it is never overdue, rather than at once: that says nothing about the server */
	ticket->overdue = now > LSH_NEVER - patience ? LSH_NEVER : now + patience;
	pthread_mutex_lock(&p->conn.mutex);
	if (p->conn.state != LSH_UP || (ticket->epoch != 0 && ticket->epoch != p->epoch)) {
		result = LSH_PIPE_DOWN;
	} else if (!reserve_places(p, 1 + asking) || !lsh_buffer_reserve(&p->conn.out, size, OUT_SIZE)) {
		p->full = true;
		result = LSH_PIPE_FULL;
	} else {
		if (asking) {
			take_in(p, &word, 1, now);
			*place(p, p->tail++) = NULL;
		}
		take_in(p, args, count, now);
		ticket->epoch = p->epoch;
		ticket->number = p->tail;
		*place(p, p->tail++) = ticket;
	}
	pthread_mutex_unlock(&p->conn.mutex);
	return result;
}

enum lsh_appended
lsh_pipe_append(struct lsh_pipe *p, struct lsh_ticket *ticket, const struct lsh_arg *args, size_t count, int64_t now, int64_t patience)
{
	return append(p, ticket, false, args, count, now, patience);
}

enum lsh_appended
lsh_pipe_append_asking(struct lsh_pipe *p, struct lsh_ticket *ticket, const struct lsh_arg *args, size_t count, int64_t now, int64_t patience)
{
	return append(p, ticket, true, args, count, now, patience);
}

bool
lsh_pipe_append_unheard(struct lsh_pipe *p, const struct lsh_arg *args, size_t count, int64_t now)
{
	bool taken;

	pthread_mutex_lock(&p->conn.mutex);
	/* half of the room is enough, so that it is never what keeps out the one that follows */
	taken = p->conn.state == LSH_UP && p->tail - p->head < RING / 2 && reserve_places(p, 1) &&
	        lsh_buffer_reserve(&p->conn.out, lsh_command_size(args, count), OUT_SIZE / 2);
	if (taken) {
		take_in(p, args, count, now);
		*place(p, p->tail++) = NULL;
	}
	pthread_mutex_unlock(&p->conn.mutex);
	return taken;
}

static void
flush(struct lsh_pipe *p, struct ended *ended)
{
	bool reader_will = p->conn.reading && p->awake && p->tail - p->head >= GATHER;

	if (has_to_write(p) && !reader_will)
		write_out(p, ended);
}

void
lsh_pipe_flush(struct lsh_pipe *p)
{
	struct ended ended;

	ended_init(&ended);
	pthread_mutex_lock(&p->conn.mutex);
	flush(p, &ended);
	pthread_mutex_unlock(&p->conn.mutex);
	ended_tell(&ended);
}

/* The mutex held. Before the head it is off the ring, about to be told: not to be left now, however late it is. */
static bool
is_waiting(const struct lsh_pipe *p, const struct lsh_ticket *ticket)
{
	return ticket->number >= p->head && p->conn.state == LSH_UP && ticket->epoch == p->epoch;
}

/* Sleep while somebody else reads, or until it is told. Entered with the mutex held, left with it released. */
static void
sleep_beside(struct lsh_pipe *p, struct lsh_ticket *ticket, int64_t limit, struct ended *ended)
{
	bool waiting = is_waiting(p, ticket);
	int64_t until = waiting ? limit : LSH_NEVER;

	if (waiting && p->reads_until <= limit) {
		until = LSH_NEVER;
		ticket->limit = limit;
		if (limit < p->soonest)
			p->soonest = limit;
	}
	if (p->baton == ticket->parker) {
		p->baton = NULL;
		if (!waiting)
			pass_baton(p);
	}
	pthread_mutex_unlock(&p->conn.mutex);
	ended_tell(ended);
	if (outcome_of(ticket) == LSH_PENDING)
		lsh_park(ticket->parker, until);
}

/* The mutex held. A caller whose time is over takes its ticket off the ring; an overdue one breaks the connection. */
static bool
gives_up(struct lsh_pipe *p, const struct lsh_ticket *ticket, int64_t limit, int64_t deadline, struct ended *ended)
{
	if (!is_waiting(p, ticket))
		return false;
	if (!is_over(ticket)) {
		if (lsh_now_ns() < limit)
			return false;
		if (ticket->overdue <= deadline) {
			break_connection(p, ended, LSH_UNKNOWN);
			return false;
		}
	}
	*place(p, ticket->number) = NULL;
	p->gave_up = ticket->number + 1;
	if (p->baton == ticket->parker)
		p->baton = NULL;
	pass_baton(p);
	return true;
}

enum lsh_outcome
lsh_pipe_await(struct lsh_pipe *p, struct lsh_ticket *ticket, int64_t deadline)
{
	int64_t limit = ticket->overdue < deadline ? ticket->overdue : deadline;
	struct ended ended;
	enum lsh_outcome outcome;

	ended_init(&ended);
	pthread_mutex_lock(&p->conn.mutex);
	flush(p, &ended);
	while ((outcome = outcome_of(ticket)) == LSH_PENDING) {
		bool reads = is_waiting(p, ticket) && !p->conn.reading;

		ticket->limit = LSH_NEVER;
		if (reads && ended.first != NULL) {
			tell_unlocked(p, &ended);
			continue;
		}
		if (reads)
			read_for_all(p, ticket, limit); /* what has come is read even if the limit is past */
		else
			sleep_beside(p, ticket, limit, &ended);
		if ((outcome = outcome_of(ticket)) != LSH_PENDING)
			return outcome;
		pthread_mutex_lock(&p->conn.mutex);
		if (gives_up(p, ticket, limit, deadline, &ended)) {
			outcome = LSH_GIVEN_UP;
			break;
		}
	}
	if (p->baton == ticket->parker) {
		p->baton = NULL; /* poked just now, and leaving: pass it on */
		pass_baton(p);
	}
	pthread_mutex_unlock(&p->conn.mutex);
	ended_tell(&ended);
	return outcome;
}

void
lsh_pipe_await_room(struct lsh_pipe *p, int64_t deadline)
{
	int64_t slice = lsh_after_ms(lsh_now_ns(), 10); /* long waits are made of short ones: a condition knows no CLOCK_BOOTTIME */
	int64_t left = (slice < deadline ? slice : deadline) - lsh_now_ns();
	struct timespec t;

	if (left <= 0 || clock_gettime(CLOCK_MONOTONIC, &t) != 0)
		return;
	t.tv_nsec += (long)left;
	if (t.tv_nsec >= LSH_S) {
		t.tv_nsec -= LSH_S;
		t.tv_sec++;
	}
	lsh_pipe_flush(p);
	pthread_mutex_lock(&p->conn.mutex);
	p->wanting_room++;
	if (p->conn.state == LSH_UP && p->full)
		pthread_cond_timedwait(&p->room, &p->conn.mutex, &t);
	p->wanting_room--;
	pthread_mutex_unlock(&p->conn.mutex);
}

/* ---- the keeper ---- */

bool
lsh_pipe_attach(struct lsh_pipe *p, struct lsh_wire wire)
{
	struct timeval t = {.tv_sec = 0, .tv_usec = RECV_US};
	int flags = fcntl(wire.fd, F_GETFL);

	if (!lsh_reader_reset(p->conn.reader))
		return false;
	/* blocking with a bound, so that the reader's first try is one system call; sends say MSG_DONTWAIT */
	if (flags < 0 || fcntl(wire.fd, F_SETFL, flags & ~O_NONBLOCK) != 0 || setsockopt(wire.fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t) != 0)
		return false;
	pthread_mutex_lock(&p->conn.mutex);
	lsh_connection_attach(&p->conn, wire);
	p->connects++;
	p->epoch = ++epochs; /* last: whoever reads it without the mutex finds the pipe up, or its command is refused */
	p->handed_before += p->handed;
	p->head = p->tail = p->handed = p->gave_up = p->refused = 0;
	p->full = p->look_first = false;
	p->soonest = LSH_NEVER;
	p->baton = NULL;
	pthread_mutex_unlock(&p->conn.mutex);
	return true;
}

bool
lsh_pipe_is_up(struct lsh_pipe *p)
{
	return p->conn.state == LSH_UP;
}

uint64_t
lsh_pipe_epoch(struct lsh_pipe *p)
{
	return p->epoch;
}

uint64_t
lsh_pipe_connects(struct lsh_pipe *p)
{
	return p->connects;
}

uint64_t
lsh_pipe_commands(struct lsh_pipe *p)
{
	uint64_t n;

	pthread_mutex_lock(&p->conn.mutex);
	n = p->handed_before + p->handed;
	pthread_mutex_unlock(&p->conn.mutex);
	return n;
}

int
lsh_pipe_fd(struct lsh_pipe *p)
{
	int fd;

	pthread_mutex_lock(&p->conn.mutex);
	fd = p->conn.state == LSH_UP ? p->conn.wire.fd : -1;
	pthread_mutex_unlock(&p->conn.mutex);
	return fd;
}

void
lsh_pipe_break(struct lsh_pipe *p, uint64_t epoch)
{
	struct ended ended;

	ended_init(&ended);
	pthread_mutex_lock(&p->conn.mutex);
	if (epoch == 0 || epoch == p->epoch || LSH_MUTATES(LSH_EPOCHS_DO_NOT_COUNT))
		break_connection(p, &ended, LSH_UNKNOWN);
	pthread_mutex_unlock(&p->conn.mutex);
	ended_tell(&ended);
}

void
lsh_pipe_break_if_silent(struct lsh_pipe *p, int64_t since)
{
	struct ended ended;

	ended_init(&ended);
	pthread_mutex_lock(&p->conn.mutex);
	if (p->head < p->handed && p->heard < since)
		break_connection(p, &ended, LSH_UNKNOWN);
	pthread_mutex_unlock(&p->conn.mutex);
	ended_tell(&ended);
}

struct lsh_wire
lsh_pipe_detach(struct lsh_pipe *p)
{
	return lsh_connection_detach(&p->conn);
}

int64_t
lsh_pipe_shrink(struct lsh_pipe *p, int64_t now)
{
	int64_t at = LSH_NEVER;

	pthread_mutex_lock(&p->conn.mutex);
	if (p->large) {
		bool busy = p->conn.reading || p->conn.writing || p->head < p->tail;

		at = p->conn.state == LSH_DOWN ? now : lsh_after(busy ? now : p->heard, QUIET_NS);
		if (at <= now) {
			shrink(p);
			at = LSH_NEVER;
		}
	}
	pthread_mutex_unlock(&p->conn.mutex);
	return at;
}

struct lsh_pipe *
lsh_pipe_new(const struct lsh_pipe_ops *ops, void *ctx)
{
	struct lsh_pipe *p = lsh_new(struct lsh_pipe);
	pthread_condattr_t attributes;
	bool there;

	if (p == NULL)
		return NULL;
	p->ops = ops;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&p->room, &attributes);
	pthread_condattr_destroy(&attributes);
	p->ring_size = LEAST_RING;
	p->ring = lsh_alloc(LEAST_RING * sizeof *p->ring);
	there = p->ring != NULL && lsh_buffer_reserve(&p->conn.out, LEAST_OUT, LEAST_OUT) &&
	        lsh_buffer_reserve(&p->conn.batch, LEAST_OUT, LEAST_OUT);
	if (!lsh_connection_init(&p->conn, ops->broke, ctx) || !there) {
		lsh_pipe_free(p);
		return NULL;
	}
	return p;
}

void
lsh_pipe_free(struct lsh_pipe *p)
{
	if (p == NULL)
		return;
	lsh_connection_destroy(&p->conn);
	lsh_free(p->ring);
	pthread_cond_destroy(&p->room);
	lsh_free(p);
}

void
lsh_pipe_forsake(struct lsh_pipe *p)
{
	lsh_connection_forsake(&p->conn);
}
