/* The inside of a node. Each of these needs only those below it:
 *
 *   node.c         what others call; its life
 *   node_keeper.c  the keeper's loop: connects, and connects again
 *   node_place.c   where the server is; its time, and its age */
#ifndef LSH_REDIS_NODE_INSIDE_H
#define LSH_REDIS_NODE_INSIDE_H

#include "base/park.h"
#include "redis/connector.h"
#include "redis/fault.h"
#include "redis/node.h"
#include "redis/pubsub.h"
#include "redis/sentinel.h"

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
	                      taken. node->mutex guards that of the commands, and the rest */
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
	struct lsh_parker *_Atomic parker; /* the keeper's, while it reads */
	atomic_uint version; /* of the server, as of its last hello */
	atomic_bool replicated; /* one that commands went to had replicas, or was one, or did not say */
	atomic_bool leaving; /* the connection is given up because this is not the server to ask */
	pthread_t keeper;
	bool keeping;
	struct lsh_sentinel *sentinel; /* NULL: the URI says where the server is */

	/* the keeper's */
	struct lsh_node_line commands, messages;
	bool listens;           /* else there is no line for messages */
	bool seeking;           /* the sentinels were asked, */
	uint64_t wish;          /* by this number, */
	int64_t seek_until;     /* and have so long to answer */
	bool located;           /* what they last said is no older than the wish to connect */
	struct lsh_uri places[2]; /* of the master, and of the one before */
	bool moved;             /* the connection is given up for one to another place */
	char eviction[LSH_POLICY_SIZE]; /* of the server, as far as it was told, and warned of */

	pthread_mutex_t mutex;  /* guards all down to `left_for` */
	pthread_cond_t outcome; /* of an attempt to connect */
	const struct lsh_uri *place; /* where both lines lead; NULL: not known yet. Only the keeper writes it */
	atomic_bool same;          /* commands are up, wake-ups come from the same life of the server; also read without */
	char run_id[LSH_RUN_ID_SIZE], messages_run_id[LSH_RUN_ID_SIZE];
	char left_for[LSH_FAULT_TEXT]; /* what the server said for which it was left */

	/* by our clock, at the latest */
	_Atomic int64_t up_since;     /* the server; LSH_NEVER: it does not say */
	_Atomic int64_t master_since; /* it is the master, by what the sentinels say; without them INT64_MIN */

	/* server time in us = local time in us + offset */
	_Atomic int64_t offset_us, learned;
};

/* ---- node_place.c, for the keeper ---- */

/* Do the sentinels name another master by now, unless they are being asked? Then both lines lead there. */
bool lsh_node_follow(struct lsh_node *n);

enum lsh_located {
	LSH_LOCATED_DIAL,   /* the server is at `n->place` */
	LSH_LOCATED_WAIT,   /* to be called again when the sentinels have news, and at `*until` */
	LSH_LOCATED_FAILED, /* `*err` says why: as of lsh_sentinel_answer() */
};

/* An attempt to connect is due, or was, and waits. */
enum lsh_located lsh_node_locate(struct lsh_node *n, int64_t now, int64_t *until, leash_error *err);

/* An attempt to connect has failed: add what the sentinels say of the server. False: another place may come to light,
 * because not all of them have answered for a first time. */
bool lsh_node_explain(struct lsh_node *n, leash_error *err);

/* Any thread, n->mutex not held: the server, for messages: with sentinels both the deployment and the master. */
enum { LSH_SERVER_NAME = 144 };
const char *lsh_node_name(struct lsh_node *n, char out[static LSH_SERVER_NAME]);

void lsh_node_set_clock(struct lsh_node *n, int64_t offset_us, int64_t received);

/* ---- node_keeper.c ---- */

void *lsh_node_keep(void *node); /* the life of the keeper */

#endif
