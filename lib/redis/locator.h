/* A locator: where the server of a node is. A URI without sentinels says so itself; else they are asked before each
 * attempt to connect:
 *
 *   attempt due --> ASKED --a sentinel answers--> DIAL that one
 *                     | none does, or not in time: FAILED
 *   any time --they name another master--> DIAL that one: nobody has to be asked
 *
 * It is stepped by the node's thread; what any thread may ask is said to be so. */
#ifndef LSH_REDIS_LOCATOR_H
#define LSH_REDIS_LOCATOR_H

#include "redis/sentinel.h"
#include "redis/uri.h"

#include <stdbool.h>
#include <stdint.h>

struct lsh_locator;

/* As lsh_sentinel_new(), also where the URI names no sentinels. */
struct lsh_locator *lsh_locator_new(const struct lsh_sentinel_options *options, const struct lsh_sentinel_ops *ops,
                                    void *ctx);
bool lsh_locator_start(struct lsh_locator *locator); /* false: no more threads */
void lsh_locator_stop(struct lsh_locator *locator);
void lsh_locator_free(struct lsh_locator *locator); /* after the stop; NULL is allowed */

/* In a forked child: close its copies of the descriptors, and touch nothing else. */
void lsh_locator_forsake(struct lsh_locator *locator);

/* Where the server is; NULL: nobody has said so yet. It is another pointer when it is another place, and the one
 * before stays good until the next one comes. */
const struct lsh_uri *lsh_locator_place(const struct lsh_locator *locator);

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
int64_t lsh_locator_since(struct lsh_locator *locator);

#endif
