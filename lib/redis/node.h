/* A node: one server, its two connections (commands: the pipeline; wake-ups: the pubsub), and the keeper, the thread
 * that connects them, again when they break, and runs the work that no caller waits for. The keeper never waits for a
 * connection nor for an answer: it reads those for which no other thread reads, until it has something else to do.
 *
 * A deployment with sentinels is one node, too: its server is the master, and the sentinels are asked where that is. */
#ifndef LSH_REDIS_NODE_H
#define LSH_REDIS_NODE_H

#include "base/courier.h"
#include "redis/pipeline.h"
#include "redis/uri.h"

#include <leash/status.h>

#include <stdbool.h>
#include <stdint.h>

struct lsh_node;
struct lsh_pubsub;
struct lsh_pubsub_ops;

/* Called by the keeper, or where that is said by any thread. NULL: nobody wants to know; `connected` and `work` are
 * always there. */
struct lsh_node_ops {
	void (*connected)(void *ctx);  /* commands can be sent (again): ask about whatever is held or waited for */

	/* This attempt to connect and the one before were refused, and so will be the next one, until somebody changes that
	 * (DENIED, UNSUPPORTED), or the sentinels name another master. A single refusal may be that of a server which
	 * answers for a moment at an old address. */
	void (*denied)(void *ctx, const leash_error *why);
	void (*subscribed)(void *ctx); /* messages come (again): some may have been missed */
	void (*work)(void *ctx);       /* was kicked; do all the work there is, without waiting */
	bool (*expects_messages)(void *ctx); /* should messages be read although no thread waits? NULL: no */
	void (*clock_jumped)(void *ctx, int64_t by_us); /* any thread: the server's clock left ours */
};

struct lsh_node_options {
	const struct lsh_uri *uri; /* must outlive the node */
	const char *name;          /* for CLIENT SETNAME; likewise */
	struct lsh_courier *courier; /* for the log; NULL: there is none */
	const struct lsh_pubsub_ops *messages; /* likewise, called with the node's ctx; NULL: it has no connection for
	                                            messages */
	const char *channel;       /* to subscribe to; NULL: none but sharded ones, which are asked for at the pubsub */
	int64_t timeout;           /* ns, to connect and for one answer */
	int64_t ask_every;         /* ns, how often sentinels are asked at least; 0: as lsh_sentinel_new() has it */
};

/* NULL: no memory or descriptors. */
struct lsh_node *lsh_node_new(const struct lsh_node_options *options, const struct lsh_node_ops *ops, void *ctx);

/* Start the keeper. False: no more threads. */
bool lsh_node_start(struct lsh_node *node);

/* Await the outcome of the first attempt to connect: LEASH_OK if commands are taken, and the subscription is not
 * refused for want of a permission, which would not get better by itself. */
leash_status lsh_node_await_hello(struct lsh_node *node, leash_error *err);

/* End the keeper and break both connections. Those who wait in the pipeline return. */
void lsh_node_stop(struct lsh_node *node);
void lsh_node_free(struct lsh_node *node); /* when nobody is in it; NULL is allowed */

struct lsh_pipeline *lsh_node_pipeline(struct lsh_node *node);
struct lsh_pubsub *lsh_node_pubsub(struct lsh_node *node);
/* Somebody expects messages who does not read them: its thread does, whenever no other one does. */
void lsh_node_read_messages(struct lsh_node *node);

/* Another server may take its place: when it was connected to, now or before, it had replicas, or had been one, or did
 * not say. */
bool lsh_node_is_replicated(struct lsh_node *node);
bool lsh_node_is_same(struct lsh_node *node, struct lsh_node *other); /* at the last attempt: one server, in one life */
unsigned lsh_node_version(struct lsh_node *node); /* of the server that commands go to, 0xMMmmpp; 0: it does not say */

/* For connections beside the node's: the URI of the server that commands go to, or last went to. It may be made in
 * `*moved`, which the caller clears in any case. NULL: no memory, or not known yet. */
const struct lsh_uri *lsh_node_where(struct lsh_node *node, struct lsh_uri *moved);

void lsh_node_kick(struct lsh_node *node); /* there is work for the keeper */

/* Are commands taken? And do messages of this very server (same run id) come? */
bool lsh_node_is_up(struct lsh_node *node);
bool lsh_node_is_subscribed(struct lsh_node *node);

bool lsh_node_has_tried(struct lsh_node *node); /* the first attempt to connect for commands has ended, well or not */

/* Why commands are not taken, or not answered: LEASH_UNAVAILABLE, or what the hello was refused with. */
void lsh_node_trouble(struct lsh_node *node, leash_error *why);

/* The server at the other end of connection `epoch` is not (any more) one to ask: connect anew. `why`: its own text. */
void lsh_node_leave(struct lsh_node *node, uint64_t epoch, const char *why);

/* The server's clock at the local time `at`: an estimate in us that is not ahead of it, but for the drift since it was
 * learned; and, less 1 % of the time since then, what has certainly come there. */
int64_t lsh_node_server_us(struct lsh_node *node, int64_t at);
int64_t lsh_node_server_us_at_least(struct lsh_node *node, int64_t at);

/* Learn from a reading of the server's clock in an answer, received at `received`, to a command sent at `sent`. */
void lsh_node_learn_clock(struct lsh_node *node, int64_t server_us, int64_t sent, int64_t received);

/* How long this life of the server has lasted at least, in ns; -1 if it does not say. It says so by its wall clock, so
 * if we had met an earlier life of it, this one counts from when we met it instead. */
int64_t lsh_node_uptime(struct lsh_node *node, int64_t now);

#endif
