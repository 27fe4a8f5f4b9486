/* The inside of a node: for node.c and what it is made of, of which each needs those below it alone.
 *
 *   node.c         what others call; its life
 *   node_keeper.c  the keeper's loop: connections that are connected, and connected again
 *   node_clock.c   what is known of the server's time, and of its age
 *   locator.c      where the server is */
#ifndef LSH_REDIS_NODE_INSIDE_H
#define LSH_REDIS_NODE_INSIDE_H

#include "base/park.h"
#include "redis/connector.h"
#include "redis/fault.h"
#include "redis/pubsub.h"
#include "redis/locator.h"
#include "redis/node.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct lsh_node_line {
	struct lsh_connector *connector;
	bool connecting;
	int64_t started;   /* the last attempt */
	int64_t reconnect_at;
	unsigned failures; /* in a row */
	bool up;           /* the pipeline, or the pubsub, has a descriptor of ours, perhaps a broken one whose seats are
	                      taken; node->mutex guards that of the commands, and the rest */
	atomic_bool tried; /* the first attempt has ended; also read without the mutex */
	leash_error trouble;
};

struct lsh_node {
	const struct lsh_node_ops *ops;
	void *ctx;
	struct lsh_courier *courier;
	const struct lsh_uri *uri;
	int64_t timeout;
	struct lsh_pipeline *pipeline;
	struct lsh_pubsub *pubsub;
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
	struct lsh_locator locator;
	const struct lsh_uri *place; /* of the server, to which both lines lead; NULL: not known yet */
	bool moved;   /* the connection is given up for one to another place */
	char eviction[LSH_POLICY_SIZE]; /* of the server, as far as it was told, and warned of */

	pthread_mutex_t mutex;     /* guards all down to `left_for` */
	pthread_cond_t outcome;    /* of an attempt to connect */
	atomic_bool same;          /* commands are up, wake-ups come from the same life of the server; also read without */
	char run_id[LSH_RUN_ID_SIZE], messages_run_id[LSH_RUN_ID_SIZE];
	char left_for[LSH_FAULT_TEXT]; /* what the server said for which it was left */

	_Atomic int64_t up_since; /* the server, by our clock, at the latest; LSH_NEVER: it does not say */

	/* server time in us = local time in us + offset */
	_Atomic int64_t offset_us, learned;
};

/* ---- node_clock.c ---- */

void lsh_node_set_clock(struct lsh_node *n, int64_t offset_us, int64_t received);

/* ---- node_keeper.c ---- */

void *lsh_node_keep(void *node); /* the life of the keeper */

#endif
