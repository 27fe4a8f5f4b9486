/* The sentinels of a deployment: a thread of its own that knows who the master is. sentinel.c explains how. */
#ifndef LSH_REDIS_SENTINEL_H
#define LSH_REDIS_SENTINEL_H

#include "base/courier.h"
#include "redis/informant.h"
#include "redis/uri.h"

#include <leash/status.h>

#include <stdbool.h>
#include <stdint.h>

struct lsh_sentinel;

struct lsh_sentinel_options {
	const struct lsh_uri *uri; /* must outlive it */
	const char *name;          /* for CLIENT SETNAME; likewise */
	int64_t timeout;           /* ns, for one question */
	int64_t period;            /* ns, between questions; 0: LSH_SENTINEL_LONGEST. Brought into the range below */
	struct lsh_courier *courier; /* for the log; NULL: there is none */
	void (*news)(void *ctx);   /* its own thread, no mutex held: there is an answer, or none to be had, or another
	                              master */
	void *ctx;
};

/* The longest: so long a master that returns may take writes before a sentinel makes it a replica. */
#define LSH_SENTINEL_SHORTEST (1 * LSH_S)
#define LSH_SENTINEL_LONGEST  (10 * LSH_S)

/* NULL: no memory or descriptors. That is allowed in the next four, and there is nothing to do. */
struct lsh_sentinel *lsh_sentinel_new(const struct lsh_sentinel_options *options);
bool lsh_sentinel_start(struct lsh_sentinel *sentinel);   /* false: no more threads */
void lsh_sentinel_stop(struct lsh_sentinel *sentinel);    /* ends its thread; also where it was not started */
void lsh_sentinel_free(struct lsh_sentinel *sentinel);    /* after the stop */

/* Have the sentinels asked. What is asked after this returns is answered under its number, or a higher one. Any
 * thread. */
uint64_t lsh_sentinel_wish(struct lsh_sentinel *sentinel);

enum lsh_known { LSH_NOT_YET, LSH_KNOWN, LSH_NOBODY_KNOWS };

struct lsh_master {
	struct lsh_whereabouts at;
	int64_t since; /* it is the master since then at the latest, by lsh_now_ns() */
	bool down;     /* the sentinels take it for down, but have no other yet */
};

/* Who is the master, by an answer to this wish or a later one; for 0 by any, the last that was believed. Any thread.
 * NOBODY_KNOWS fills in `*err` (NULL is allowed), which names the deployment:
 *   UNAVAILABLE  no sentinel answered
 *   DENIED       a password, a user or a permission; or all that they name is where the URI does not let us go
 *   INVALID      none knows a master of that name, or what answered are no sentinels
 *   PROTOCOL, NO_MEMORY */
enum lsh_known lsh_sentinel_answer(struct lsh_sentinel *sentinel, uint64_t wish, struct lsh_master *master,
                                   leash_error *err);

/* Has every sentinel answered this wish, or failed to? Before that another master may still come to light. */
bool lsh_sentinel_is_done(struct lsh_sentinel *sentinel, uint64_t wish);

#endif
