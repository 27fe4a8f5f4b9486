/* Replicas: with `min_replicas`, or `fsynced`, a lease counts only as far as enough replicas have acknowledged it.
 *
 *   lease  PENDING --acknowledged--> HELD, valid from before the renewal was sent; now its owner, and nobody
 *            |  ^                                   before, is told
 *            |  ^  +--too few--> again, while whoever it is for has time
 *            |  +--no answer, or not now--> again a little later, or when there is a connection
 *            +--whoever it is for gives up, or its lease is over--> ENDING
 *          HELD --acknowledged--> HELD, for longer
 *          HELD --too few, no answer--> at risk, and again; lost at its valid_until
 *
 * Entered, unless it says otherwise. */
#ifndef LSH_LEASE_REPLICAS_H
#define LSH_LEASE_REPLICAS_H

#include "lease/lease_inside.h"

/* PENDING since `now`: have it acknowledged. */
void lsh_replicas_begin(struct lsh_lease *lease, int64_t fence, int64_t now);
void lsh_replicas_due(struct lsh_lease *lease);    /* have it renewed, and that acknowledged */

/* See that a host has what acknowledges for such terms: a connection and a thread. Not entered. False: errno says what
 * there is no more of. */
bool lsh_replicas_make(struct lsh_host *host, const struct lsh_safety *safety);
/* Not entered; its host's thread: there may be none yet for this lease. */
void lsh_replicas_work(struct lsh_lease *lease);
void lsh_replicas_stop(struct lsh_host *host);
void lsh_replicas_free(struct lsh_host *host);
void lsh_replicas_after_fork(struct lsh_host *host);

#endif
