/* The pipeline: many threads share one connection, without an I/O thread.
 *
 * Commands gather in a buffer, and their tickets in a ring: replies come in the order of the commands. System calls are
 * shared through two seats, which any caller may take:
 *
 *   the writer's   who appends and finds it empty sends at once, for all that has gathered, and leaves;
 *   the reader's   who waits and finds it empty reads for all until its own reply is there, and leaves. If tickets are
 *                  pending then, the thread of the first of them is poked to take it (the baton).
 *
 * With one seat for both, a command that comes while the reader sleeps would go out only after the next reply. A thread
 * alone pays what a blocking client pays: one send, one recv. With many, sends and wake-ups are shared:
 *  - with 16 or more commands on their way, and the reader awake, an appender leaves the sending to the reader, which
 *    writes before it sleeps and with each 16th answer: the server is to have something to do meanwhile;
 *  - those who sleep have no timer of their own if the reader wakes before their limits anyway: it tells those who are
 *    late. (A reader whose thread does not run, held up in a signal handler, say, holds up all others.)
 *
 * The reader tries a plain recv first, which SO_RCVTIMEO bounds, and polls only after that: one system call less. A
 * ticket is told while its reply lies in the parser; what it appends goes out with the reader's next write. A thread
 * that has no more time for its ticket leaves it to the pipeline's own thread.
 *
 * A pipeline starts with room for what one thread sends, and allocates nothing for that. It grows up to a limit, and
 * the keeper makes it small again when it has been quiet for a while. */
#include "redis/pipeline.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/mutation.h"
#include "base/mutex.h"
#include "base/text.h"
#include "redis/connection.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

enum {
	LEAST_RING = 64,      /* commands on their way: powers of two */
	RING = 4096,
	LEAST_OUT = 16384,    /* bytes that gather: more than any command of leash has */
	OUT_SIZE = 131072,
	GATHER = 16,          /* so many on their way, and the awake reader will write */
	RECV_US = 20000,      /* the longest that the reader is deaf to a kick */
};

#define IDLE_NS  (10 * LSH_MS) /* without a reply, and none due */
#define QUIET_NS (1 * LSH_S)   /* likewise; so long it has its memory for what may come next */

static _Atomic uint64_t epochs; /* of all pipelines: no two connections have the same */

struct lsh_pipeline {
	struct lsh_connection conn;    /* its mutex guards the rest */
	bool wanting_room;    /* somebody was refused for want of it */
	bool large;           /* it has grown, and the keeper knows */
	_Atomic uint64_t epoch, connects; /* also read without the mutex */
	struct lsh_ticket **ring;
	size_t ring_size;
	uint64_t head;        /* of the next reply; of a broken connection: of the first that is still to be told */
	uint64_t left;        /* behind the last one whose thread left it; only a mutation asks */
	unsigned alone;       /* on their way, without a thread that reads for them */
	bool served;          /* the pipeline's own thread was told that there are some, and has not looked yet */
	enum lsh_outcome unknown; /* what those of a broken one are told that were */
	bool awake;           /* the reader will write before it sleeps */
	int64_t reads_until;  /* the reader sleeps no longer than that */
	int64_t soonest;      /* no ticket has a sooner limit */
	_Atomic int64_t heard; /* when bytes came last; written with the mutex held */
	bool look_first;      /* it was idle: see that nothing came unasked before the next command is sent */
	char refusal[LSH_REPLY_TEXT]; /* of the last ASKING that was refused, */
	uint64_t refused;     /* in front of this command; 0: of none, as such a command is never the first */
	struct lsh_parker *_Atomic baton; /* was poked to take the vacant reader's seat, and has not looked yet */
};

/* No mutex held. A thread that sleeps on without a timer of its own looks again: nobody keeps the time for it from now
 * on. */
static void
end_ticket(struct lsh_ticket *ticket, enum lsh_outcome outcome, const struct lsh_message *message)
{
	struct lsh_parker *reader = ticket->limit != LSH_NEVER ? ticket->reader : NULL;
	uint64_t number = ticket->number;

	ticket->done(ticket, outcome, message); /* afterwards it is its owner's */
	if (reader != NULL && atomic_load(&reader->untimed) == number + 1)
		lsh_unpark(reader);
}

/* ---- p->conn.mutex held ---- */

static struct lsh_ticket **
place(struct lsh_pipeline *p, uint64_t number)
{
	return &p->ring[number & (p->ring_size - 1)];
}

/* Of a broken connection: tell those whose answers will not come. False: there are none. The mutex is released
 * meanwhile, and nobody else touches the ring. Only then may the next connection come: whoever is told sees to what it
 * is to say over that one. */
static bool
tell_broken(struct lsh_pipeline *p)
{
	const uint64_t first = p->head, end = p->conn.tail, handed = p->conn.handed;
	const enum lsh_outcome unknown = p->unknown;

	if (p->conn.state != LSH_BROKEN || first == end)
		return false;
	p->head = end; /* nobody else tells them */
	pthread_mutex_unlock(&p->conn.mutex);
	for (uint64_t n = first; n < end; n++) {
		struct lsh_ticket *ticket = *place(p, n);

		if (ticket != NULL)
			end_ticket(ticket, n < handed ? unknown : LSH_UNSENT, NULL);
	}
	pthread_mutex_lock(&p->conn.mutex);
	p->conn.telling = false;
	lsh_connection_seat_vacant(&p->conn);
	return true;
}

/* Room for so many more commands. False: too many are on their way, or there is no memory. */
static bool
reserve_places(struct lsh_pipeline *p, uint64_t count)
{
	struct lsh_ticket **before = p->ring, **ring;
	size_t size = 2 * p->ring_size;

	if (p->conn.tail - p->head + count <= p->ring_size)
		return true;
	ring = size <= RING ? lsh_alloc(size * sizeof *ring) : NULL;
	if (ring == NULL)
		return false;
	for (uint64_t n = p->head; n < p->conn.tail; n++)
		ring[n & (size - 1)] = *place(p, n);
	p->ring = ring;
	p->ring_size = size;
	lsh_free(before);
	return true;
}

static bool
is_large(const struct lsh_pipeline *p)
{
	return p->ring_size > LEAST_RING || p->conn.out.room > LEAST_OUT || p->conn.batch.room > LEAST_OUT;
}

/* There are commands that no other thread reads for. */
static void
call_own_thread(struct lsh_pipeline *p)
{
	if (!p->served)
		p->conn.tell(p->conn.keeper);
	p->served = true;
}

/* If the reader's seat is vacant and somebody waits, then one of those who wait here has been told, or the pipeline's
 * own thread: a thread that was going to read may have found that it need not. */
static struct lsh_parker *
choose_baton(struct lsh_pipeline *p)
{
	struct lsh_ticket *first = NULL;

	if (p->conn.state != LSH_UP || p->conn.reading || p->baton != NULL)
		return NULL;
	for (uint64_t n = p->head; n < p->conn.tail && (first == NULL || first->reader != NULL); n++) {
		struct lsh_ticket *ticket = *place(p, n);

		if (ticket != NULL && ticket->reader != NULL && ticket->reader->at == p) {
			p->baton = ticket->reader;
			return ticket->reader;
		}
		if (first == NULL)
			first = ticket;
	}
	if (first == NULL)
		return NULL;
	if (first->reader != NULL) {
		first->reader = NULL;
		p->alone++;
	}
	call_own_thread(p);
	return NULL;
}

static void
tell_room(struct lsh_pipeline *p)
{
	if (!p->wanting_room || p->conn.tail - p->head > p->ring_size / 2 ||
	    lsh_buffer_size(&p->conn.out) > p->conn.out.room / 2)
		return;
	p->wanting_room = false;
	p->conn.tell(p->conn.keeper);
}

/* Called when a seat falls vacant: the keeper may be waiting for that, or have memory to take back. */
static void
seat_vacant(struct lsh_pipeline *p)
{
	lsh_connection_seat_vacant(&p->conn);
	if (!p->large && is_large(p)) {
		p->large = true;
		p->conn.tell(p->conn.keeper);
	}
}

/* Whoever leaves the mutex next tells those who wait for answers. */
static void
break_connection(struct lsh_pipeline *p, enum lsh_outcome outcome)
{
	if (!lsh_connection_break(&p->conn))
		return;
	p->unknown = outcome;
	p->conn.telling = p->head < p->conn.tail;
	p->alone = 0;
	p->baton = NULL;
}

/* An answer that nobody asked for would be taken for the answer to the next command; and an end is told in time. */
static void
look(struct lsh_pipeline *p)
{
	char byte;
	ssize_t n;

	p->look_first = false;
	p->conn.writing = true;
	pthread_mutex_unlock(&p->conn.mutex);
	n = lsh_stream_recv(&p->conn.stream, &byte, sizeof byte, MSG_PEEK | MSG_DONTWAIT);
	pthread_mutex_lock(&p->conn.mutex);
	if (n >= 0)
		break_connection(p, LSH_UNKNOWN);
}

/* The writer's seat; what does not fit is left to the reader. The mutex is released meanwhile. */
static void
write_out(struct lsh_pipeline *p)
{
	if (p->look_first && !LSH_MUTATES(LSH_UNASKED_IS_ANSWER))
		look(p);
	if (!lsh_connection_write(&p->conn))
		break_connection(p, LSH_UNKNOWN);
	tell_room(p);
	seat_vacant(p);
}

/* The command was not taken because its ASKING was not. */
static void
tell_refusal(struct lsh_ticket *ticket, const char *text)
{
	struct lsh_message refusal = {.type = LSH_ERROR, .count = 1};

	refusal.item[0] = (struct lsh_item){.type = LSH_ERROR, .text = text, .length = strlen(text)};
	end_ticket(ticket, LSH_ANSWERED, &refusal);
}

/* Whose is the reply that has come? False: that is not what a Redis server says. */
static bool
take_next(struct lsh_pipeline *p, const struct lsh_message *message, struct lsh_ticket **ticket)
{
	*ticket = NULL;
	if (p->conn.state != LSH_UP)
		return true; /* everybody has been told already */
	if (p->head == p->conn.handed)
		return false; /* a reply that nobody asked for */
	*ticket = *place(p, p->head++);
	while (LSH_MUTATES(LSH_ANSWERS_GO_ASTRAY) && p->head == p->left && p->head < p->conn.handed)
		*ticket = *place(p, p->head++);
	if (*ticket != NULL) {
		p->alone -= (*ticket)->reader == NULL;
	} else if (message->type == LSH_ERROR) { /* nobody's; but if an ASKING is refused, that is why a MOVED comes next */
		snprintf(p->refusal, sizeof p->refusal, "%s", message->item[0].text);
		p->refused = p->head;
	}
	return true;
}

/* Those who sleep without a limit of their own do so because a timer for each would cost more than all else here: the
 * reader has one for all. Whoever is late is woken, to leave by itself; and an answer that is overdue breaks the
 * connection. */
static void
look_for_late(struct lsh_pipeline *p, int64_t now)
{
	bool overdue = false;

	p->soonest = LSH_NEVER;
	for (uint64_t n = p->head; n < p->conn.tail; n++) {
		struct lsh_ticket *ticket = *place(p, n);

		if (ticket == NULL)
			continue;
		overdue |= ticket->overdue != LSH_NEVER && ticket->overdue <= now;
		if (ticket->overdue < p->soonest)
			p->soonest = ticket->overdue;
		if (ticket->limit != LSH_NEVER && ticket->limit <= now) /* the clock may not be readable */
			lsh_unpark(ticket->reader);
		else if (ticket->limit < p->soonest)
			p->soonest = ticket->limit;
	}
	if (overdue)
		break_connection(p, LSH_UNKNOWN);
}

/* ---- the reader's seat, no mutex held ---- */

/* What the thread in the reader's seat waits for. */
struct stay {
	struct lsh_parker *parker;
	bool (*over)(void *arg);
	void *arg;
	int64_t limit;
	bool serves; /* it is the pipeline's own thread, and leaves when nothing is on its way that has no other one */
};

static void
tell_answer(const struct lsh_pipeline *p, struct lsh_ticket *ticket, const struct lsh_message *message)
{
	bool refused = ticket->asking && ticket->number == p->refused && message->type == LSH_ERROR &&
	               lsh_starts_with_word(message->item[0].text, "MOVED");

	if (refused)
		tell_refusal(ticket, p->refusal); /* which the reader's seat alone writes */
	else
		end_ticket(ticket, LSH_ANSWERED, message);
}

/* Tell the tickets whose replies have come. False: those are not what a Redis server says. */
static bool
hand_out(struct lsh_pipeline *p, int64_t now)
{
	unsigned told = 0;
	const struct lsh_message *message;
	int x;

	while ((x = lsh_reader_next(p->conn.reader, &message)) > 0) {
		struct lsh_ticket *ticket;
		bool sane;

		pthread_mutex_lock(&p->conn.mutex);
		p->awake = true;
		atomic_store_explicit(&p->heard, now, memory_order_relaxed);
		sane = take_next(p, message, &ticket);
		if (++told % GATHER == 0 && lsh_connection_has_to_write(&p->conn))
			write_out(p);
		pthread_mutex_unlock(&p->conn.mutex);
		if (!sane)
			return false;
		if (ticket != NULL)
			tell_answer(p, ticket, message);
	}
	return x == 0;
}

/* Receive once, and tell. The mutex is released meanwhile. False: it is over. */
static bool
read_on(struct lsh_pipeline *p, const struct stay *stay)
{
	bool sane = true;
	int64_t until = stay->limit < p->soonest ? stay->limit : p->soonest, now;
	ssize_t size;

	p->reads_until = until;
	p->awake = false;
	pthread_mutex_unlock(&p->conn.mutex);

	size = lsh_connection_await(&p->conn, stay->parker, until, until - lsh_now_ns() > RECV_US * LSH_US);
	now = lsh_now_ns();
	if (size > 0)
		sane = lsh_reader_feed(p->conn.reader, p->conn.bytes, (size_t)size) && hand_out(p, now);

	pthread_mutex_lock(&p->conn.mutex);
	p->awake = true;
	if (size > 0)
		atomic_store_explicit(&p->heard, now, memory_order_relaxed);
	if (size < 0 || !sane)
		break_connection(p, sane ? LSH_UNKNOWN : LSH_GARBLED);
	if (now >= p->soonest && p->conn.state == LSH_UP)
		look_for_late(p, now);
	tell_room(p);
	/* without a clock it is never that late */
	return !stay->over(stay->arg) && (now < stay->limit || stay->limit == LSH_NEVER) && (!stay->serves || p->alone > 0);
}

/* Read for everybody until it is over, in the vacant seat. The mutex is held, but released meanwhile. */
static void
read_for_all(struct lsh_pipeline *p, const struct stay *stay)
{
	bool more = true;

	p->conn.reading = true;
	p->awake = true;
	p->reads_until = LSH_NEVER; /* until it is known, whoever comes has a limit of its own */
	p->baton = NULL; /* whoever has it will find the seat taken, and sleep again */
	for (;;) {
		if (lsh_connection_has_to_write(&p->conn))
			write_out(p);
		if (!more || p->conn.state != LSH_UP)
			break;
		more = read_on(p, stay);
	}
	p->conn.reading = false;
	seat_vacant(p);
}

/* The last that a thread does here, with the mutex held: let go of that, and hand on the baton. */
static void
hand_on_baton(struct lsh_pipeline *p)
{
	struct lsh_parker *next = choose_baton(p);

	pthread_mutex_unlock(&p->conn.mutex);
	if (next != NULL && p->baton == next)
		lsh_unpark(next);
}

/* The same for a thread without a mutex of its own: it tells who is to be told. */
static void
leave_pipeline(struct lsh_pipeline *p)
{
	tell_broken(p);
	hand_on_baton(p);
}

/* ---- callers ---- */

/* p->conn.mutex held, and there is room. */
static void
take_in(struct lsh_pipeline *p, struct lsh_ticket *ticket, const struct lsh_arg *args, size_t count, int64_t now)
{
	if (p->head == p->conn.tail && now - p->heard > IDLE_NS)
		p->look_first = true;
	p->conn.out.end += lsh_command_write(p->conn.out.bytes + p->conn.out.end, args, count);
	*place(p, p->conn.tail++) = ticket;
}

enum lsh_appended
lsh_pipeline_append(struct lsh_pipeline *p, struct lsh_ticket *ticket, const struct lsh_arg *args, size_t count,
                    int64_t now, int64_t patience)
{
	static const struct lsh_arg asking = {"ASKING", 6};
	size_t size = lsh_command_size(args, count) + (ticket->asking ? lsh_command_size(&asking, 1) : 0);

	ticket->limit = LSH_NEVER;
	/* with a clock that could not be read it is never overdue, rather than at once: the server cannot help that */
	ticket->overdue = now > LSH_NEVER - patience ? LSH_NEVER : now + patience;
	lsh_locked(&p->conn.mutex);
	if (p->conn.state != LSH_UP || (ticket->epoch != 0 && ticket->epoch != p->epoch))
		return LSH_PIPELINE_DOWN;
	if (!reserve_places(p, 1 + ticket->asking) || !lsh_buffer_reserve(&p->conn.out, size, OUT_SIZE)) {
		p->wanting_room = true;
		return LSH_PIPELINE_FULL;
	}
	if (ticket->asking)
		take_in(p, NULL, &asking, 1, now);
	ticket->epoch = p->epoch;
	ticket->number = p->conn.tail;
	take_in(p, ticket, args, count, now);
	p->alone += ticket->reader == NULL;
	if (ticket->overdue < p->soonest) {
		p->soonest = ticket->overdue;
		if (!p->awake && p->soonest < p->reads_until)
			lsh_connection_kick(&p->conn);
	}
	if (ticket->reader == NULL && !p->conn.reading)
		call_own_thread(p);
	return LSH_APPENDED;
}

bool
lsh_pipeline_append_unheard(struct lsh_pipeline *p, const struct lsh_arg *args, size_t count, int64_t now)
{
	lsh_locked(&p->conn.mutex);
	/* half of the room is enough, so that it is never what keeps out the one that follows */
	if (p->conn.state != LSH_UP || p->conn.tail - p->head >= RING / 2 || !reserve_places(p, 1) ||
	    !lsh_buffer_reserve(&p->conn.out, lsh_command_size(args, count), OUT_SIZE / 2))
		return false;
	take_in(p, NULL, args, count, now);
	return true;
}

static void
flush(struct lsh_pipeline *p)
{
	bool reader_will = p->conn.reading && p->awake && p->conn.tail - p->head >= GATHER;

	if (!reader_will && lsh_connection_has_to_write(&p->conn))
		write_out(p);
}

void
lsh_pipeline_flush(struct lsh_pipeline *p)
{
	lsh_locked(&p->conn.mutex);
	flush(p);
	tell_broken(p);
}

/* p->conn.mutex held. */
static bool
is_on_its_way(const struct lsh_pipeline *p, uint64_t epoch, uint64_t number)
{
	return p->conn.state == LSH_UP && epoch == p->epoch && number >= p->head;
}

/* p->conn.mutex held. The thread that read for it has something else to do. */
static void
leave(struct lsh_pipeline *p, uint64_t number)
{
	struct lsh_ticket *ticket = *place(p, number);

	if (ticket == NULL || ticket->reader == NULL)
		return;
	if (ticket->limit != LSH_NEVER)
		lsh_unpark(ticket->reader); /* another thread leaves for it, and it keeps its time itself from now on */
	if (ticket->reader == p->baton)
		p->baton = NULL;
	ticket->reader = NULL;
	ticket->limit = LSH_NEVER;
	p->alone++;
	p->left = number + 1;
}

/* Read, or sleep, once; for the command `number` of connection `epoch`, if it is on its way. The mutex is held, but
 * released meanwhile. */
static void
wait_once(struct lsh_pipeline *p, const struct stay *stay, uint64_t epoch, uint64_t number)
{
	struct lsh_ticket *ticket = is_on_its_way(p, epoch, number) ? *place(p, number) : NULL;
	struct lsh_parker *parker = stay->parker;
	int64_t until = stay->limit;

	if ((ticket != NULL || p->baton == parker) && !p->conn.reading) {
		read_for_all(p, stay); /* for this command, or poked for another one of this thread */
		return;
	}
	if (ticket != NULL && ticket->reader == parker && p->reads_until <= until) {
		atomic_store(&parker->untimed, number + 1);
		ticket->limit = until;
		if (until < p->soonest)
			p->soonest = until;
		until = LSH_NEVER;
	}
	pthread_mutex_unlock(&p->conn.mutex);
	lsh_park(parker, until);
	atomic_store(&parker->untimed, 0);
	pthread_mutex_lock(&p->conn.mutex);
}

void
lsh_pipeline_wait(struct lsh_pipeline *p, struct lsh_parker *parker, uint64_t epoch, uint64_t number,
                  bool (*over)(void *arg), void *arg, int64_t deadline)
{
	struct stay stay = {.parker = parker, .over = over, .arg = arg, .limit = deadline};

	pthread_mutex_lock(&p->conn.mutex);
	parker->at = p;
	flush(p);
	for (bool more = !over(arg); more; more = !over(arg) && lsh_now_ns() < deadline) {
		if (!tell_broken(p)) /* which may make it over */
			wait_once(p, &stay, epoch, number);
	}
	parker->at = NULL;
	if (is_on_its_way(p, epoch, number))
		leave(p, number);
	if (p->baton == parker)
		p->baton = NULL;
	leave_pipeline(p);
}

void
lsh_pipeline_leave(struct lsh_pipeline *p, uint64_t epoch, uint64_t number)
{
	pthread_mutex_lock(&p->conn.mutex);
	if (is_on_its_way(p, epoch, number))
		leave(p, number);
	hand_on_baton(p); /* of a connection that broke, whoever broke it tells */
}

void
lsh_pipeline_serve(struct lsh_pipeline *p, struct lsh_parker *parker, bool (*over)(void *arg), void *arg)
{
	struct stay stay = {.parker = parker, .over = over, .arg = arg, .limit = LSH_NEVER, .serves = true};

	pthread_mutex_lock(&p->conn.mutex);
	p->served = false;
	flush(p);
	if (p->conn.state == LSH_UP && p->alone > 0 && !p->conn.reading && !over(arg))
		read_for_all(p, &stay);
	leave_pipeline(p);
}

/* ---- the keeper ---- */

bool
lsh_pipeline_attach(struct lsh_pipeline *p, struct lsh_stream stream)
{
	struct timeval t = {.tv_sec = 0, .tv_usec = RECV_US};
	int flags = fcntl(stream.fd, F_GETFL);
	int64_t now = lsh_now_ns();

	if (!lsh_reader_reset(p->conn.reader))
		return false;
	/* blocking with a bound, so that the reader's first try is one system call; sends say MSG_DONTWAIT */
	if (flags < 0 || fcntl(stream.fd, F_SETFL, flags & ~O_NONBLOCK) != 0 ||
	    setsockopt(stream.fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t) != 0)
		return false;
	lsh_locked(&p->conn.mutex);
	lsh_connection_attach(&p->conn, stream);
	p->connects++;
	p->epoch = ++epochs; /* last: whoever reads it without the mutex finds the pipeline up, or its command is refused */
	p->head = p->conn.tail = p->conn.handed;
	p->left = p->refused = 0;
	p->served = p->look_first = false;
	p->soonest = LSH_NEVER;
	p->heard = now != LSH_NEVER ? now : 0; /* the hello */
	return true;
}

bool
lsh_pipeline_is_up(struct lsh_pipeline *p)
{
	return p->conn.state == LSH_UP;
}

uint64_t
lsh_pipeline_epoch(struct lsh_pipeline *p)
{
	return p->epoch;
}

uint64_t
lsh_pipeline_connects(struct lsh_pipeline *p)
{
	return p->connects;
}

uint64_t
lsh_pipeline_commands(struct lsh_pipeline *p)
{
	lsh_locked(&p->conn.mutex);
	return p->conn.handed;
}

int64_t
lsh_pipeline_heard(const struct lsh_pipeline *p)
{
	return atomic_load_explicit(&p->heard, memory_order_relaxed);
}

int
lsh_pipeline_fd(struct lsh_pipeline *p)
{
	lsh_locked(&p->conn.mutex);
	return p->conn.state == LSH_UP ? p->conn.stream.fd : -1;
}

void
lsh_pipeline_break(struct lsh_pipeline *p, uint64_t epoch)
{
	lsh_locked(&p->conn.mutex);
	if (epoch == 0 || epoch == p->epoch)
		break_connection(p, LSH_UNKNOWN);
	tell_broken(p);
}

void
lsh_pipeline_break_if_silent(struct lsh_pipeline *p, int64_t since)
{
	lsh_locked(&p->conn.mutex);
	if (p->conn.state == LSH_UP && p->head < p->conn.handed && p->heard < since)
		lsh_stream_break(&p->conn.stream); /* whoever reads sees that */
}

struct lsh_stream
lsh_pipeline_detach(struct lsh_pipeline *p)
{
	return lsh_connection_detach(&p->conn);
}

int64_t
lsh_pipeline_shrink(struct lsh_pipeline *p, int64_t now)
{
	int64_t at = LSH_NEVER;

	lsh_locked(&p->conn.mutex);
	if (p->large) {
		bool busy = p->conn.reading || p->conn.writing || p->conn.telling || p->head < p->conn.tail;

		at = p->conn.state == LSH_DOWN ? now : lsh_after(busy ? now : p->heard, QUIET_NS);
	}
	if (at <= now) {
		struct lsh_ticket **ring = p->ring_size > LEAST_RING ? lsh_realloc(p->ring, LEAST_RING * sizeof *ring) : NULL;

		if (ring != NULL) {
			p->ring = ring;
			p->ring_size = LEAST_RING;
		}
		lsh_buffer_shrink(&p->conn.out, LEAST_OUT);
		lsh_buffer_shrink(&p->conn.batch, LEAST_OUT);
		p->large = false;
		at = LSH_NEVER;
	}
	return at;
}

struct lsh_pipeline *
lsh_pipeline_new(void (*tell)(void *keeper), void *keeper)
{
	struct lsh_pipeline *p = lsh_new(struct lsh_pipeline);
	bool there;

	if (p == NULL)
		return NULL;
	p->ring_size = LEAST_RING;
	p->ring = lsh_alloc(LEAST_RING * sizeof *p->ring);
	there = p->ring != NULL && lsh_buffer_reserve(&p->conn.out, LEAST_OUT, LEAST_OUT) &&
	        lsh_buffer_reserve(&p->conn.batch, LEAST_OUT, LEAST_OUT);
	if (!lsh_connection_init(&p->conn, tell, keeper) || !there) {
		lsh_pipeline_free(p);
		return NULL;
	}
	return p;
}

void
lsh_pipeline_free(struct lsh_pipeline *p)
{
	if (p == NULL)
		return;
	lsh_connection_destroy(&p->conn);
	lsh_free(p->ring);
	lsh_free(p);
}
