/* A locator: where the server of a node is. A URI without sentinels says so itself; else they are asked before each
 * attempt to connect:
 *
 *   attempt due --> ASKED --a sentinel answers--> DIAL that one
 *                     | none does, or not in time: FAILED
 *   any time --they name another master--> DIAL that one: nobody has to be asked
 *
 * It is a part of a node, and stepped by the node's thread; what any thread may ask is said to be so. The node starts
 * and stops the sentinel. */
#ifndef LSH_REDIS_LOCATOR_H
#define LSH_REDIS_LOCATOR_H

#include "redis/sentinel.h"
#include "redis/uri.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct lsh_locator {
	const struct lsh_uri *uri;
	int64_t timeout;
	struct lsh_sentinel *sentinel; /* NULL: the URI says where the server is */

	/* the node's thread's */
	bool seeking;                  /* the sentinels were asked, */
	uint64_t wish;                 /* by this number, */
	int64_t until;                 /* and have so long to answer */
	bool located;                  /* by an answer that is no older than the wish to connect */
	struct lsh_uri places[2];      /* the last two; that which is in use only it writes, and with the mutex held */

	_Atomic int64_t since;         /* the master is one, by what the sentinels say */
	pthread_mutex_t mutex;         /* guards `place` against other threads than the node's */
	const struct lsh_uri *place;   /* where the server is; NULL: nobody has said so yet. It is another pointer when it
	                                  is another place, and the one before stays good until the next one comes */
};

/* Of a zeroed one: as lsh_sentinel_new(), also where the URI names no sentinels. */
bool lsh_locator_init(struct lsh_locator *locator, const struct lsh_sentinel_options *options);
void lsh_locator_destroy(struct lsh_locator *locator); /* also if that failed; the sentinel is stopped */

/* Take note of what the sentinels say by now, if they are not being asked. */
void lsh_locator_follow(struct lsh_locator *locator);

enum lsh_located {
	LSH_LOCATED_DIAL,   /* the server is at the place */
	LSH_LOCATED_WAIT,   /* to be called again when the sentinels have news, and at `*until` */
	LSH_LOCATED_FAILED, /* `*err` says why: as of lsh_sentinel_answer() */
};

/* An attempt to connect is `due`, or on its way already. */
enum lsh_located lsh_locator_step(struct lsh_locator *locator, int64_t due, int64_t now, int64_t *until,
                                  leash_error *err);

/* An attempt to connect to the place has failed: add what the sentinels say of it. False: another place may come to
 * light, because not all of them have answered for a first time. */
bool lsh_locator_explain(struct lsh_locator *locator, leash_error *err);

/* Any thread: the place, or NULL. With sentinels it is made in `*made`, to be cleared by the caller in any case;
 * NULL is no memory, too. */
const struct lsh_uri *lsh_locator_where(struct lsh_locator *locator, struct lsh_uri *made);

/* Any thread: the server, for messages: with sentinels both the deployment and the master. */
enum { LSH_SERVER_NAME = 144 };
const char *lsh_locator_name(struct lsh_locator *locator, char out[static LSH_SERVER_NAME]);

/* Any thread: since when it is the master at the latest, by lsh_now_ns(); before all times without sentinels. */
int64_t lsh_locator_since(const struct lsh_locator *locator);

#endif
