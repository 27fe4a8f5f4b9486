/* A question: one node of a cluster is asked what it knows of it, by a thread that lives for that.
 *
 * Whoever asks is woken when the question is answered, well or ill, and then takes it back; meanwhile it does as it likes. */
#ifndef LSH_REDIS_QUESTION_H
#define LSH_REDIS_QUESTION_H

#include "base/park.h"
#include "redis/uri.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct lsh_talk;
struct redisReply;

/* Zeroed, it is one that is not asked. Nothing in it is to be looked at between _ask and _take, but `asked` and `answered`. */
struct lsh_question {
	bool asked;
	atomic_bool answered;

	/* to be set before */
	const char *name;             /* for CLIENT SETNAME */
	int64_t patience;             /* ns, with each step */
	struct lsh_parker *parker;    /* of who asks; woken for the last time before _take returns */

	/* the answer */
	struct lsh_uri uri;           /* of the node */
	leash_status status;          /* not OK: `err` says why there is none */
	leash_error err;
	struct redisReply *slots, *info; /* to CLUSTER SLOTS and CLUSTER INFO, whatever it was */

	pthread_t thread;
	struct lsh_talk *talk;        /* its thread's; a forked child looks at it */
	pthread_mutex_t mutex;        /* guards the rest */
	bool dropped;
	int fd;                       /* of the connection, while it may be broken; -1: now it may not */
};

/* Ask that node of the cluster. False: that was not possible, `err` says why. */
bool lsh_question_ask(struct lsh_question *question, const struct lsh_uri *cluster, const char *host, uint16_t port, leash_error *err);

/* The answer is not wanted any more: break the connection, so that it comes soon. Not of one that was taken. */
void lsh_question_drop(struct lsh_question *question);

/* Wait for its thread. What was answered stays until _forget. */
void lsh_question_take(struct lsh_question *question);
void lsh_question_forget(struct lsh_question *question);

/* In a forked child: close the child's copy of the descriptor, and touch nothing else. */
void lsh_question_forsake(struct lsh_question *question);

#endif
