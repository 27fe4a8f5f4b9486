/* The inside of a node: for node.c and what it is made of.
 *
 *   node.c         what others call; its life
 *   node_keeper.c  the keeper's loop: connections that are dialed, and dialed again
 *   node_clock.c   what is known of the server's time, and of its age
 *
 * Where the server is, a locator says (locator.h). */
#ifndef LSH_REDIS_NODE_INSIDE_H
#define LSH_REDIS_NODE_INSIDE_H

#include "base/list.h"
#include "base/park.h"
#include "redis/dial.h"
#include "redis/fault.h"
#include "redis/listener.h"
#include "redis/locator.h"
#include "redis/node.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct lsh_node_line {
	struct lsh_dial *dial;
	bool dialing;
	int64_t started;   /* the last dial */
	int64_t redial_at;
	unsigned failures; /* in a row */
	bool tried;        /* the first attempt has ended; node->mutex guards it, and trouble */
	leash_error trouble;
};

struct lsh_node_sleeper {
	struct lsh_list link;
	struct lsh_parker *parker;
};

struct lsh_node {
	const struct lsh_node_ops *ops;
	void *ctx;
	const struct lsh_uri *uri;
	int64_t timeout;
	struct lsh_pipe *pipe;
	struct lsh_listener *listener;
	int kick;
	atomic_bool kicked, stopping;
	struct lsh_parker *_Atomic parker; /* the thread's, while it reads what no other thread reads for */
	atomic_uint version; /* of the server, as of its last hello */
	atomic_bool replicated; /* one that commands went to had replicas, or was one, or did not say */
	atomic_bool leaving; /* the connection is given up because this is not the server to ask */
	pthread_t keeper;
	bool keeping;

	/* the keeper's */
	struct lsh_node_line commands, messages;
	bool listens; /* else there is no line for messages */
	struct lsh_locator *locator;
	const struct lsh_uri *place; /* of the server, to which both lines lead; NULL: not known yet */
	bool moved;   /* the connection is given up for one to another place */
	bool listening; /* the listener has a descriptor of ours, perhaps a broken one whose seat is taken */
	char eviction[LSH_POLICY_SIZE]; /* of the server, as far as it was told, and warned of */

	pthread_mutex_t mutex;     /* guards all down to `sleepers` */
	atomic_bool same;          /* up, and the wake-ups come from the same life of it; read without the mutex */
	bool up;                   /* the pipe took a connection, and we have not seen it break */
	char run_id[LSH_RUN_ID_SIZE], messages_run_id[LSH_RUN_ID_SIZE];
	int64_t up_since;          /* of the server, by our clock, at the latest; LSH_NEVER: it does not say */
	char left_for[LSH_FAULT_TEXT]; /* what the server said for which it was left */
	struct lsh_list sleepers;  /* struct lsh_node_sleeper */

	/* server time in us = local time in us + offset */
	_Atomic int64_t offset_us, learned;
};

/* ---- node_clock.c ---- */

void lsh_node_set_clock(struct lsh_node *n, int64_t offset_us, int64_t received);

/* ---- node_keeper.c ---- */

void *lsh_node_keep(void *node); /* the life of the keeper */
void lsh_node_say(struct lsh_node *n, leash_log_level level, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void lsh_node_wake_sleepers(struct lsh_node *n); /* n->mutex held */

#endif
