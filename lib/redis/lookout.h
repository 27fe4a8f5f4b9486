/* A lookout: our connections to one sentinel, and what that says of the master.
 *
 *   DOWN --asked--> DIALING --hello--> ASKING --answers--> IDLE --asked--> ASKING
 *     ^                | failed           | broke, overdue   | broke
 *     +----------------+------------------+------------------+
 *
 * It is asked by a number, and says of each answer which number that was for. A connection that was kept open and turns out to be broken
 * is no answer: another is dialed at once. Beside the questions, for as long as they are answered, there is a second connection, which
 * has subscribed to +switch-master. What comes there is a hint and no answer: it carries no epoch, and anybody may publish.
 *
 * Nothing here waits: the thread that owns it polls lsh_lookout_poll() and calls lsh_lookout_step(). One thread at a time. */
#ifndef LSH_REDIS_LOOKOUT_H
#define LSH_REDIS_LOOKOUT_H

#include "redis/uri.h"

#include <leash/status.h>

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	LSH_MASTER_HOST = 254, /* bytes of a name or an address: what DNS allows, and a NUL */
	LSH_OTHERS = 16,       /* sentinels that one of them may name; more are not heeded */
	LSH_LOOKOUT_FDS = 2,
};

struct lsh_whereabouts {
	char host[LSH_MASTER_HOST]; /* a name or a numeric address */
	uint16_t port;
};

enum lsh_sight {
	LSH_SEES_NOTHING,   /* was not asked yet */
	LSH_SEES_MASTER,
	LSH_SEES_STRANGER,  /* knows no master of that name */
	LSH_SEES_TROUBLE,   /* did not answer, or refused to */
};

/* What a sentinel says. */
struct lsh_view {
	enum lsh_sight sight;
	uint64_t number;               /* of the question that this answers; 0: none */
	struct lsh_whereabouts master;
	uint64_t epoch;                /* of the configuration that made it the master; 0 also if that is not told */
	int64_t since;                 /* it is the master since then at the latest, by lsh_now_ns() */
	bool down;                     /* takes it for down */
	leash_error trouble;           /* names the sentinel */
};

struct lsh_lookout;

/* To the sentinel at `uri`, which is moved into it, also if it fails. `master` is what the sentinels call it, `name` is for CLIENT SETNAME; both
 * are copied. `timeout` (ns) is for each question, and for dialing. NULL: no memory or descriptors. */
struct lsh_lookout *lsh_lookout_new(struct lsh_uri *uri, const char *master, const char *name, int64_t timeout);
void lsh_lookout_free(struct lsh_lookout *lookout); /* NULL is allowed */

/* In a forked child: close the child's copies of the descriptors, and touch nothing else. */
void lsh_lookout_forsake(struct lsh_lookout *lookout);

/* Ask; no question may be under way. */
void lsh_lookout_ask(struct lsh_lookout *lookout, uint64_t number);
bool lsh_lookout_is_asking(const struct lsh_lookout *lookout);

/* What to poll for, and until when at most: writes up to LSH_LOOKOUT_FDS places, returns how many, and lowers `*until`. */
nfds_t lsh_lookout_poll(const struct lsh_lookout *lookout, struct pollfd *polled, int64_t *until);

/* Go on as far as possible. True: a question has ended, and the view is new. */
bool lsh_lookout_step(struct lsh_lookout *lookout);

const struct lsh_view *lsh_lookout_view(const struct lsh_lookout *lookout);

/* Has the sentinel said since the last time that was asked that the master is another, or may that have been missed? */
bool lsh_lookout_was_switched(struct lsh_lookout *lookout);

/* Why that would not be heard; NULL: it would be. */
const leash_error *lsh_lookout_deafness(const struct lsh_lookout *lookout);

/* The other sentinels that this one named when it last answered. */
size_t lsh_lookout_others(const struct lsh_lookout *lookout, const struct lsh_whereabouts **others);

const struct lsh_uri *lsh_lookout_uri(const struct lsh_lookout *lookout);

#endif
