/* The inside of a node: for node.c and what it is made of.
 *
 *   node.c         what others call; its life
 *   node_keeper.c  the keeper's loop: connections that are dialed, and dialed again
 *   node_seeker.c  with sentinels: where the server is
 *   node_clock.c   what is known of the server's time, and of its age */
#ifndef LSH_REDIS_NODE_INSIDE_H
#define LSH_REDIS_NODE_INSIDE_H

#include "base/list.h"
#include "base/park.h"
#include "redis/dial.h"
#include "redis/fault.h"
#include "redis/listener.h"
#include "redis/node.h"
#include "redis/sentinel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { LSH_NODE_NAME = 144 }; /* of a server, for messages */

struct lsh_node_line {
	struct lsh_dial *dial;
	bool dialing;
	int64_t started;   /* the last dial */
	int64_t redial_at;
	unsigned failures; /* in a row */
	bool tried;        /* the first attempt has ended; node->mutex guards it, and trouble */
	leash_error trouble;
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
	atomic_uint version; /* of the server, as of its last hello */
	atomic_bool replicated; /* one that commands went to had replicas, or was one, or did not say */
	atomic_bool leaving; /* the connection is given up because this is not the server to ask */
	pthread_t keeper;
	bool keeping;

	/* the keeper's */
	struct lsh_node_line commands, messages;
	bool listens; /* else there is no line for messages */
	bool seeking;             /* the sentinels were asked, */
	uint64_t first_wish, wish; /* by this number, */
	int64_t seek_until;       /* and have so long to answer */
	bool located;             /* by an answer that is no older than the wish to dial */
	bool moved;               /* the connection is given up for one to another master */
	uint64_t changes;         /* of the master, that were seen */
	bool listening; /* the listener has a descriptor of ours, perhaps a broken one whose seat is taken */
	char eviction[LSH_POLICY_SIZE]; /* of the server, as far as it was told, and warned of */

	pthread_mutex_t mutex;     /* guards all down to `sleepers` */
	atomic_bool same;          /* up, and the wake-ups come from the same life of the same server; read without the mutex */
	bool up;                   /* the pipe took a connection, and we have not seen it break */
	char run_id[LSH_RUN_ID_SIZE], messages_run_id[LSH_RUN_ID_SIZE];
	int64_t up_since;          /* of the server, by our clock, at the latest; LSH_NEVER: it does not say */
	int64_t master_since;      /* likewise as the master; before all times without sentinels */
	struct lsh_uri place;      /* with sentinels: of the server that we take for the master; zeroed: unknown yet. Only the keeper writes it */
	char left_for[LSH_FAULT_TEXT]; /* what the server said for which it was left */
	struct lsh_list sleepers;  /* struct sleeper */

	struct lsh_sentinel *sentinel; /* NULL: the URI says where the server is */

	/* server time in us = local time in us + offset */
	_Atomic int64_t offset_us, learned;
};

/* ---- node.c ---- */

void lsh_node_say(struct lsh_node *n, leash_log_level level, const char *format, ...) __attribute__((format(printf, 3, 4)));
void lsh_node_wake_sleepers(struct lsh_node *n); /* n->mutex held */

/* The server, for messages: with sentinels both the deployment and the master. The keeper, or n->mutex held. */
const char *lsh_node_name(const struct lsh_node *n, char out[static LSH_NODE_NAME]);

/* ---- node_clock.c ---- */

void lsh_node_set_clock(struct lsh_node *n, int64_t offset_us, int64_t received);

/* ---- node_keeper.c: the keeper's ---- */

void *lsh_node_keep(void *node); /* its life */
void lsh_node_start_dial(struct lsh_node *n, struct lsh_node_line *line, int64_t now);

/* Neither sought nor dialed successfully. `final`: who awaits the outcome of the first attempt is to be told of it. */
void lsh_node_attempt_failed(struct lsh_node *n, struct lsh_node_line *line, const leash_error *err, bool final);

/* ---- node_seeker.c: the keeper's ---- */

void lsh_node_follow(struct lsh_node *n);
void lsh_node_seek(struct lsh_node *n, int64_t now);
void lsh_node_begin_attempt(struct lsh_node *n, struct lsh_node_line *line, int64_t now);

#endif
