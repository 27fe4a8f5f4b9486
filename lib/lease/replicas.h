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
 * WAIT says how many replicas have all that its own connection wrote, and blocks what comes behind it. So it needs a
 * connection that carries nothing else, and a thread that has the time: one for each host and for each wish (so many
 * replicas, on disk or not). That is a host, too, whose batch goes a longer way:
 *
 *   empty --votes are due--> RENEWING: the server says whether the token has the lock, and writes where it has
 *   RENEWING --answered--> WAITING: one WAIT for all that are kept --answered, or not--> each is told; empty */
#ifndef LSH_LEASE_REPLICAS_H
#define LSH_LEASE_REPLICAS_H

#include "lease/host.h"

struct lsh_replicas {
	struct lsh_host host;      /* first: its own connection, with the votes that are due and the batch; nothing else of
	                              it is used */
	struct lsh_replicas *next; /* of those to the same server */
	struct lsh_safety safety;  /* what is wished for */
	struct lsh_call wait;      /* the batch's monitor guards it, and `renewed` */
	bool renewed;              /* WAITING: what the answer to the WAIT says counts */
	uint64_t ready;            /* over this connection a renewal was done */
	int64_t limit;             /* of the batch: until when the replicas may take; */
	uint16_t slot;             /* in a cluster all are of this one; */
	bool alone;                /* there may be only one */
};

/* The host's mutex is locked. NULL: there is none. */
static inline struct lsh_replicas *
lsh_replicas_find(const struct lsh_host *host, const struct lsh_safety *safety)
{
	struct lsh_replicas *x = host->replicas;

	while (x != NULL && (x->safety.min_replicas != safety->min_replicas || x->safety.fsynced != safety->fsynced))
		x = x->next;
	return x;
}

void lsh_replicas_init(struct lsh_replicas *replicas, const struct lsh_safety *safety);

/* Entered; its thread. Renew the lease with the next batch. False: as lsh_batch_renew(). */
bool lsh_replicas_renew(struct lsh_replicas *replicas, struct lsh_vote *vote);

#endif
