/* The lanes of a proxy: bytes that wait until they are due, and go out. See proxy_link.h. */
#include "tests/support/proxy_link.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

/* ---- what goes in ---- */

void
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

void
lane_pass_value(struct lane *lane, const struct way *way)
{
	size_t size = bytes_length(&lane->value);

	if (size > lane->passed) {
		lane_queue(lane, way, lane->value.at + lane->value.head + lane->passed, size - lane->passed);
		lane->passed = size;
	}
}

/* ---- what goes out ---- */

const struct piece *
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
