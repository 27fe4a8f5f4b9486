/* The electorate: the servers of a quorum. Which of them count, why others cannot be asked, and what fence may be
 * believed. Nothing entered, or any monitor. */
#ifndef LSH_LEASE_ELECTORATE_H
#define LSH_LEASE_ELECTORATE_H

#include "lease/host.h"

/* Why servers cannot be asked, or do not count. */
struct lsh_excuses {
	unsigned count;
	unsigned lasting;    /* of those: with what does not pass by itself, */
	unsigned down;       /* and to which there is no connection, or was none a moment ago */
	leash_error why;     /* of the first; but what only people can mend comes before what may pass: DENIED, then all but
	                        UNAVAILABLE */
};

void lsh_excuses_add(struct lsh_excuses *excuses, const leash_error *why);

/* Wait until a majority takes commands, or cannot. */
leash_status lsh_electorate_await(struct lsh_backend *backend, leash_error *err);
void lsh_electorate_warn_of_twins(struct lsh_host *host); /* it is connected */

/* is it up for long enough, and no other's twin? */
bool lsh_electorate_counts(struct lsh_host *host, int64_t guard_ms, int64_t now);
/* Why it cannot be asked, or does not count for somebody with this guard; false: it can, and does. */
bool lsh_electorate_excuse(struct lsh_host *host, int64_t guard_ms, int64_t now, leash_error *why);

int64_t lsh_electorate_propose(struct lsh_backend *backend); /* a fence */
void lsh_electorate_learn_fence(struct lsh_backend *backend, int64_t fence);
/* The host answered this fence. False: it cannot be; the log says so, too. */
bool lsh_electorate_believes(struct lsh_host *host, int64_t fence, leash_error *why);

/* "<n> of <count> servers <what>: <text>", for the reason `why`, which may be `*err`. */
leash_status lsh_electorate_fail(leash_error *err, unsigned n, size_t count, const char *what, const leash_error *why);

#endif
