/* Batches: renewals of one server that share a script, and heartbeats of one lock.
 *
 * A host has a few, which are filled and sent by its thread, and are free again once they are answered. So a burst of renewals does not block
 * the requests of callers. What comes of each vote is told as if it had been asked by itself; where the server sends it elsewhere, or
 * refuses the batch as a whole, each vote goes out by itself.
 *
 * Only the host's thread fills; any thread may withdraw a vote of its own lock, or read the answer. */
#ifndef LSH_LEASE_BATCH_H
#define LSH_LEASE_BATCH_H

#include "lease/vote.h"

struct lsh_batches;

enum { LSH_BATCH = 100 }; /* votes: a server renews so many in less than a millisecond */

struct lsh_batches *lsh_batches_new(struct lsh_host *host); /* NULL: no memory */
void lsh_batches_free(struct lsh_batches *batches);

/* Entered. False: send what was filled; if there was nothing, none is free: come again when one is (the host's thread is kicked then). */
bool lsh_batch_renew(struct lsh_batches *batches, struct lsh_vote *vote, int64_t lease_ms);
/* Entered. With it go the other places of its lock for which a heartbeat is due, or soon is. */
bool lsh_batch_heartbeat(struct lsh_batches *batches, struct lsh_vote *vote);

/* Entered. Take it out of its batch, unless that is on its way or the vote is in none. */
void lsh_batch_withdraw(struct lsh_vote *vote);

/* Not entered. Send what was filled. False: nothing was. */
bool lsh_batches_send(struct lsh_batches *batches);

#endif
