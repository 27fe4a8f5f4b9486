/* The pubsub: the wake-up channel, read by the threads that wait for what comes there.
 *
 * A thread that waits takes the reader's seat if it is vacant, and hands each message to `message`, whoever it is for;
 * the others sleep on their parkers. Who leaves the seat pokes the first of the sleepers. So a message costs one
 * wake-up at most, and none if the thread that it is meant for reads itself. When nobody waits nobody reads: a message
 * is a hint, and what it said can be asked for. The keeper reads now and then what was left, and looks for hang-ups.
 *
 * A connection can have any number of further channels, which come and go; in a cluster also sharded ones (Redis 7).
 * Whoever asks for one writes that; what the socket does not take at once, the thread in the seat, or the keeper. The
 * server answers in the order in which it was asked: a refusal is of the channel asked for first. */
#ifndef LSH_REDIS_PUBSUB_H
#define LSH_REDIS_PUBSUB_H

#include "base/park.h"
#include "redis/reply.h"
#include "redis/stream.h"

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lsh_pubsub;

/* Called by any thread that waits, with no mutex held. */
struct lsh_pubsub_ops {
	void (*message)(void *ctx, const struct lsh_item *channel, const char *text, size_t size);

	/* Of further channels: all of them or none. A connection that breaks takes all channels with it, and those that
	 * were asked for: nothing is said of each. */
	void (*subscribed)(void *ctx, const char *channel, size_t size);
	void (*unsubscribed)(void *ctx, const char *channel, size_t size); /* we asked, or its slot has left the server */
	void (*refused)(void *ctx, const char *channel, size_t size, const char *text); /* MOVED, NOPERM, unknown command */
};

enum { LSH_CHANNEL_MOST = 4096 };

/* NULL: no memory or descriptors. `ops` must outlive it. `tell` is as for lsh_pipeline_new(); it also says that there
 * is something to read or write and no thread to do it. */
struct lsh_pubsub *lsh_pubsub_new(const struct lsh_pubsub_ops *ops, void *ctx, void (*tell)(void *keeper),
                                  void *keeper);
void lsh_pubsub_free(struct lsh_pubsub *pubsub);                              /* NULL is allowed */

/* Wait until `over(arg)` or `deadline`, reading if the seat is vacant. `over` is called with no mutex held, again after
 * each message and each wake-up of `parker`, the calling thread's. */
void lsh_pubsub_wait(struct lsh_pubsub *pubsub, struct lsh_parker *parker, int64_t deadline,
                       bool (*over)(void *arg), void *arg);

/* From now on the keeper is told whenever the seat falls vacant: somebody waits who does not read. */
void lsh_pubsub_leave_to_keeper(struct lsh_pubsub *pubsub);

/* Ask for a channel (`joins`), or for its end; the answer comes to one of the ops. Never waits. False: there is
 * no connection, or no memory, or too much is on its way already; or the channel is longer than LSH_CHANNEL_MOST. */
bool lsh_pubsub_ask(struct lsh_pubsub *pubsub, bool sharded, bool joins, const char *channel, size_t size);

/* For the keeper of the connection. */
bool lsh_pubsub_attach(struct lsh_pubsub *pubsub, struct lsh_stream stream); /* as lsh_pipeline_attach() */
bool lsh_pubsub_is_up(struct lsh_pubsub *pubsub);

/* What to poll for: hang-ups, and with a vacant seat for answers that are due, something left to be written, and if
 * `expects` for messages. Its fd is -1 where there is no connection. */
struct pollfd lsh_pubsub_poll(struct lsh_pubsub *pubsub, bool expects);
void lsh_pubsub_drain(struct lsh_pubsub *pubsub);        /* read and write what there is, if the seat is vacant */
bool lsh_pubsub_is_ready(struct lsh_pubsub *pubsub);     /* is there a message that is left to the keeper? */
void lsh_pubsub_break(struct lsh_pubsub *pubsub);
struct lsh_stream lsh_pubsub_detach(struct lsh_pubsub *pubsub); /* as lsh_pipeline_detach() */

#endif
