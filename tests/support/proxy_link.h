/* The inside of a proxy: its connections, and what waits in them. Not for tests.
 *
 * A connection, a link, has two lanes. What comes in is stamped with the time at which it is due and queued; what is due goes
 * out, unless it is held. Beside that each lane finds the ends of RESP values, so that a fault can wait for a request, count
 * the replies up to its answer, and take a value out of the stream. All of this belongs to the proxy's mutex. */
#pragma once

#include "tests/support/frame.h"
#include "tests/support/proxy.h"
#include "tests/support/sweep.h"

#include <pthread.h>

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

struct way {
	int64_t knob[PROXY_KNOBS];
};

struct proxy {
	struct sweep_item item;
	char *folder, *listening, *uri, *target;
	int listener, kick, epoll;
	pthread_t thread;

	pthread_mutex_t mutex;     /* guards the rest */
	struct link *links;
	struct way up, down;
	bool stopping;
	_Atomic bool resetting;
	bool changeable;           /* the weather */
	struct proxy_weather weather;
	uint64_t random;
	enum proxy_fault fault;
	bool armed;                /* waiting for its request */
	char *text;
	unsigned skip;             /* of the requests with that text */
	unsigned skip_next;        /* for the fault that is armed next */
	size_t keep;               /* bytes of the answer that arrive */
	struct proxy_counts counts;
};

/* Read what there is, and do to it what the knobs say. */
void link_read(struct proxy *p, struct link *link, struct lane *lane, int fd);
void link_deliver(struct proxy *p, struct link *link, int64_t now); /* send what is due by now, both ways */

/* When something may go out of the lane; INT64_MAX: not before something else happens. */
int64_t lane_due(const struct lane *lane, const struct way *way);
