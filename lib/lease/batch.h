/* Batches: renewals that share a script, and heartbeats of one lock.
 *
 * A host has a few, which are filled and sent by its thread, and are free again once they are answered. So a burst of
 * renewals does not block the requests of callers. What comes of each vote is told as if it had been asked by itself;
 * where the server sends it elsewhere, or refuses the batch as a whole, each vote goes out by itself. Only the host's
 * thread fills; any thread may withdraw a vote of its own lock, or read the answer.
 *
 * Where replicas have to acknowledge a renewal, they are asked behind it, before the votes are told (replicas.c). */
#ifndef LSH_LEASE_BATCH_H
#define LSH_LEASE_BATCH_H

#include "lease/vote.h"

enum {
	LSH_BATCHES = 2,   /* of a host, on their way at once */
	LSH_BATCH = 100,   /* votes: a server renews so many in less than a millisecond */
};

struct lsh_batch {
	struct lsh_server *server;          /* which outlives it: no call has a reference */
	struct lsh_monitor monitor;         /* guards the call, and until it is sent what is in it; a leaf */
	struct lsh_call call;               /* this is its owner */
	struct lsh_call *then;              /* goes out right behind it, and is its owner's, too; or NULL */
	void (*done)(struct lsh_batch *batch, const struct lsh_result *result); /* with that: it is for this to tell */
	enum lsh_verb verb;
	atomic_bool busy;                   /* from when it is filled until it is answered */
	bool sent;                          /* none can be taken out of it any more */
	const struct lsh_kind *kind;
	size_t count;
	struct lsh_vote *votes[LSH_BATCH];  /* each with a reference to its lease */
	struct lsh_request requests[LSH_BATCH];
	char tokens[LSH_BATCH][LSH_WHO_SIZE];
};

/* Its monitor entered, and left meanwhile. Visit each vote, with the resource entered; the batch is left with those for
 * which `tell` is true. */
void lsh_batch_tell(struct lsh_batch *batch, bool (*tell)(struct lsh_batch *batch, size_t i, const void *arg),
                    const void *arg);
/* How long an answer may take, at most: of renewals no longer than a quarter of a lease, since a dead connection is to
 * be found out while there is time for another. */
int64_t lsh_batch_patience(const struct lsh_batch *batch, int64_t most);
void lsh_batch_free(struct lsh_batch *batch); /* all are told: it can be filled again */

/* ---- of a host ---- */

void lsh_batches_init(struct lsh_host *host);

/* Entered. Ask for so long. False: send what was filled; if there was nothing, none is free: come again when one is
 * (the host's thread is kicked then). */
bool lsh_batch_renew(struct lsh_host *host, struct lsh_vote *vote, int64_t lease_ms);
/* Entered. With it go the other places of its lock for which a heartbeat is due, or soon is. */
bool lsh_batch_heartbeat(struct lsh_host *host, struct lsh_vote *vote);

/* Entered. Take it out of its batch, unless that is on its way or the vote is in none. */
void lsh_batch_withdraw(struct lsh_vote *vote);

/* Not entered. Send what was filled. False: nothing was. */
bool lsh_batches_send(struct lsh_host *host);

#endif
