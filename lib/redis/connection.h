/* What the pipeline and the pubsub have in common: one connection, which many threads write and read.
 *
 * Any thread may take the reader's or the writer's seat, if it is vacant. A connection that breaks is shut down at
 * once, which wakes who sits there. Its descriptor is closed only when both seats are vacant, and the pipeline has
 * told everybody whose answer will not come: else a thread might write into whatever gets the same number.
 *
 *   DOWN --attach--> UP --break--> BROKEN --both seats vacant, all told: detach--> DOWN */
#ifndef LSH_REDIS_CONNECTION_H
#define LSH_REDIS_CONNECTION_H

#include "base/park.h"
#include "redis/buffer.h"
#include "redis/reply.h"
#include "redis/stream.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum lsh_connection_state { LSH_DOWN, LSH_UP, LSH_BROKEN };

struct lsh_connection {
	/* Tells the keeper that there is something to do: it broke, both seats of a broken one are vacant, or what else its
	 * owner says. Must not wait or call back. */
	void (*tell)(void *keeper);
	void *keeper;
	int kick; /* eventfd: wakes a reader that polls */

	pthread_mutex_t mutex; /* guards the rest */
	_Atomic enum lsh_connection_state state; /* also read without the mutex */
	struct lsh_stream stream;
	bool reading, writing;    /* is the seat taken? */
	bool telling;             /* BROKEN: those whose answers will not come are still to be told */
	atomic_bool want_write;   /* the socket was full: the reader polls for room; also read without the mutex */
	struct lsh_buffer out;    /* gathered, and not yet taken by a writer */
	uint64_t tail, handed;    /* of the pipeline: commands appended, and handed to the system, at least in part */

	struct lsh_buffer batch;   /* the writer's seat */
	struct lsh_reader *reader; /* the reader's seat */
	char *bytes;               /* likewise: LSH_PIECE_SIZE, to receive into */
};

/* Of a zeroed one. False: no memory or descriptors, as errno says; it must be destroyed even then. */
bool lsh_connection_init(struct lsh_connection *c, void (*tell)(void *keeper), void *keeper);
void lsh_connection_destroy(struct lsh_connection *c);

/* The stream of a broken one, to be closed, once both seats are vacant; else LSH_NO_STREAM. The mutex is not held. */
struct lsh_stream lsh_connection_detach(struct lsh_connection *c);

/* The mutex is held. */
void lsh_connection_attach(struct lsh_connection *c, struct lsh_stream stream); /* after a reset of the reader */
bool lsh_connection_break(struct lsh_connection *c); /* false: it was not up */
void lsh_connection_seat_vacant(struct lsh_connection *c); /* after a seat was left */
void lsh_connection_kick(struct lsh_connection *c); /* a reader that polls looks at what is new */

/* Is there something to send, nobody who does, and room in the socket? */
static inline bool
lsh_connection_has_to_write(const struct lsh_connection *c)
{
	return c->state == LSH_UP && !c->writing && !c->want_write &&
	       (lsh_buffer_size(&c->out) > 0 || lsh_buffer_size(&c->batch) > 0);
}

/* Take the writer's seat, and send what has gathered, until the socket is full; the reader polls for room then. The
 * mutex is released during each send. False: sending failed. */
bool lsh_connection_write(struct lsh_connection *c);

/* The reader's seat, without the mutex. More than 0: so many bytes have come, and are in c->bytes; 0: none; -1: it has
 * ended. */
ssize_t lsh_connection_recv(struct lsh_connection *c, int flags);

/* The same, and sleep until there are bytes, a kick, a wake-up of `parker`, or room if that is wanted, but no longer
 * than `until`. `tries` a plain recv first, which is deaf to the others. */
ssize_t lsh_connection_await(struct lsh_connection *c, struct lsh_parker *parker, int64_t until, bool tries);

#endif
