/* What is in a proxy: the lanes, in which bytes wait until they are due, and the values that pass through them, where faults,
 * the weather and knobs do something to whole requests, replies and messages. See proxy_link.h.
 *
 * Bytes of a value that is not whole yet pass at once, except where a fault or filter may have to keep them back. Nothing is
 * assumed of bytes that are not RESP: they pass. */
#include "tests/support/proxy_link.h"

#include "tests/support/random.h"

#include <errno.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

enum {
	CHUNK = 65536,
	LONGEST = 1 << 20,    /* of a value, to be looked into; what is longer passes */
};

/* ---- lanes: what goes in ---- */

/* Bytes that are to be delivered, none for the end of the stream. */
static void
lane_queue(struct lane *lane, const struct way *way, const void *at, size_t size)
{
	struct piece piece = { size, await_now_ns() + way->knob[PROXY_DELAYED] * 1000 + lane->late_ns };

	if (lane->end_sent)
		return;
	/* A delay that was made shorter must not let bytes overtake others. */
	if (bytes_length(&lane->pieces) > 0) {
		struct piece last;

		memcpy(&last, lane->pieces.at + lane->pieces.tail - sizeof last, sizeof last);
		if (piece.due_ns < last.due_ns)
			piece.due_ns = last.due_ns;
	}
	bytes_append(&lane->pieces, &piece, sizeof piece);
	bytes_append(&lane->queue, at, size);
}

/* Deliver what has come of the value and was not delivered yet. */
static void
lane_pass_value(struct lane *lane, const struct way *way)
{
	size_t size = bytes_length(&lane->value);

	if (size > lane->passed) {
		lane_queue(lane, way, lane->value.at + lane->value.head + lane->passed, size - lane->passed);
		lane->passed = size;
	}
}

/* ---- lanes: what goes out ---- */

/* NULL: nothing. */
static const struct piece *
lane_next(const struct lane *lane)
{
	return bytes_length(&lane->pieces) > 0 ? (const struct piece *)(void *)(lane->pieces.at + lane->pieces.head) : NULL;
}

int64_t
lane_due(const struct lane *lane, const struct way *way)
{
	const struct piece *piece = lane_next(lane);

	if (!piece || way->knob[PROXY_HELD] || lane->held || lane->messages_held || lane->blocked)
		return INT64_MAX;
	return way->knob[PROXY_DRIPPED] > 0 && lane->drip_ns > piece->due_ns ? lane->drip_ns : piece->due_ns;
}

static void
deliver(struct link *link, struct lane *lane, const struct way *way, int fd, int64_t now)
{
	while (lane_due(lane, way) <= now) {
		struct piece *piece = (struct piece *)(void *)(lane->pieces.at + lane->pieces.head);
		ssize_t n;

		if (piece->size == 0) {
			lane->pieces.head += sizeof *piece;
			lane->end_sent = true;
			link->over |= lane->broken;
			shutdown(fd, SHUT_WR);
			continue;
		}
		n = send(fd, lane->queue.at + lane->queue.head, way->knob[PROXY_DRIPPED] > 0 ? 1 : piece->size, MSG_NOSIGNAL);
		if (n < 0) {
			lane->blocked |= errno == EAGAIN;
			if (errno != EAGAIN && errno != EINTR) { /* the receiver has gone; what it sent before goes the other way */
				lane->end_sent = true;
				lane->queue.head = lane->queue.tail;
				lane->pieces.head = lane->pieces.tail;
			}
			return;
		}
		lane->queue.head += (size_t)n;
		piece->size -= (size_t)n;
		if (piece->size == 0)
			lane->pieces.head += sizeof *piece;
		lane->drip_ns = now + way->knob[PROXY_DRIPPED] * 1000;
	}
}

void
link_deliver(struct proxy *p, struct link *link, int64_t now)
{
	if (!link->over)
		deliver(link, &link->up, &p->up, link->server.fd, now);
	if (!link->over)
		deliver(link, &link->down, &p->down, link->client.fd, now);
	if (link->up.end_sent && link->down.end_sent)
		link->over = true;
	if (link->closing && !lane_next(&link->down))
		link->over = true;
}

/* ---- values ---- */

static bool
contains(const struct bytes *b, const char *text)
{
	size_t size = text ? strlen(text) : 0;

	for (size_t i = b->head; i + size <= b->tail; i++)
		if (size == 0 || strncasecmp(b->at + i, text, size) == 0)
			return true;
	return false;
}

/* So many of so many times. */
static bool
chance(struct proxy *p, unsigned share, unsigned of)
{
	return random_next(&p->random) % of < share;
}

/* ---- weather ---- */

static int64_t
lateness(struct proxy *p, unsigned percent)
{
	if (p->weather.late_us <= 0 || !chance(p, percent, 100))
		return 0;
	p->counts.late++;
	return (int64_t)(random_next(&p->random) % (uint64_t)p->weather.late_us) * 1000;
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
		p->counts.lost++;
		leave(link);
		return false;
	}
	lane->late_ns = lateness(p, message ? p->weather.messages_late : p->weather.late);
	return true;
}

/* ---- requests and replies ---- */

/* A whole request is in `up.value`. False: it must not pass. */
static bool
on_request(struct proxy *p, struct link *link)
{
	uint64_t number = link->up.values++;

	p->counts.requests++;
	if (!p->armed || !contains(&link->up.value, p->text) || (p->skip > 0 && p->skip-- > 0))
		return passes(p, link, &link->up, false);
	p->armed = false;
	link->over |= p->fault == PROXY_CUT_REQUEST;
	link->awaited = p->fault == PROXY_CUT_REPLY || p->fault == PROXY_HOLD_REPLY;
	link->request = number;
	if (p->fault == PROXY_STRAND_REQUEST) {
		link->up.held = true;
		leave(link);
	}
	if (!link->awaited)
		p->counts.hit = true;
	return p->fault != PROXY_CUT_REQUEST;
}

static bool
is_message(const struct bytes *value)
{
	size_t at = 0, size;
	const char *word = frame_string(value->at + value->head, bytes_length(value), &at, &size);

	return word && ((size == 7 && memcmp(word, "message", 7) == 0) ||
	                (size == 8 && (memcmp(word, "smessage", 8) == 0 || memcmp(word, "pmessage", 8) == 0)));
}

/* The answer that a fault waits for is in `down.value`. */
static void
on_answer(struct proxy *p, struct link *link)
{
	struct lane *down = &link->down;

	link->awaited = false;
	if (p->fault == PROXY_HOLD_REPLY) {
		down->held = true;
	} else {
		if (bytes_length(&down->value) > p->keep)
			down->value.tail = down->value.head + p->keep;
		link->closing = true;
	}
	lane_pass_value(down, &p->down);
	p->counts.hit = true;
}

/* A whole reply is in `down.value`. False: it must not pass. */
static bool
on_reply(struct proxy *p, struct link *link)
{
	struct lane *down = &link->down;

	if (is_message(&down->value)) {
		unsigned percent = p->changeable ? p->weather.messages_dropped : (unsigned)p->down.knob[PROXY_DROPPED];

		if (down->passed == 0 && chance(p, percent, 100)) {
			p->counts.dropped++;
			return false;
		}
		down->messages_held |= p->down.knob[PROXY_MESSAGES_HELD] != 0;
		passes(p, link, down, true);
		if (p->changeable && down->passed == 0 && chance(p, p->weather.messages_doubled, 100)) {
			p->counts.doubled++;
			lane_queue(down, &p->down, down->value.at + down->value.head, bytes_length(&down->value));
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
	if (lane->passed > 0 || bytes_length(&lane->value) > LONGEST)
		return false;
	if (lane == &link->up)
		return p->armed || p->changeable;
	return link->awaited || p->down.knob[PROXY_DROPPED] > 0 || p->down.knob[PROXY_MESSAGES_HELD] != 0 || p->changeable;
}

static void
take_in(struct proxy *p, struct link *link, struct lane *lane, const char *at, size_t size)
{
	const struct way *way = lane == &link->up ? &p->up : &p->down;
	bool whole;

	while (size > 0 && !link->closing && !link->over && !link->left) {
		size_t n = frame_feed(&lane->frame, at, size, &whole);

		bytes_append(&lane->value, at, n);
		at += n;
		size -= n;
		if (!whole) {
			if (!keeps_back(p, link, lane))
				lane_pass_value(lane, way);
			if (bytes_length(&lane->value) > LONGEST) {   /* no longer kept for looking into */
				lane->value.head = lane->value.tail;
				lane->passed = 0;
			}
			continue;
		}
		if (lane == &link->up ? on_request(p, link) : on_reply(p, link))
			lane_pass_value(lane, way);
		lane->late_ns = 0;
		lane->value.head = lane->value.tail;
		lane->passed = 0;
	}
}

void
link_read(struct proxy *p, struct link *link, struct lane *lane, int fd)
{
	const struct way *way = lane == &link->up ? &p->up : &p->down;
	char chunk[CHUNK];
	ssize_t n = recv(fd, chunk, sizeof chunk, 0);

	if (n > 0) {
		p->counts.bytes += (uint64_t)n;
		take_in(p, link, lane, chunk, (size_t)n);
	} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		lane->ended = true;
		lane->broken = n < 0;
		if (!link->left)
			lane_pass_value(lane, way);
		lane_queue(lane, way, NULL, 0);
	}
}
