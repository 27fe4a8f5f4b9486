/* Rounds: all servers of a quorum are asked at once, for their vote, or whether they have given it to a token.
 *
 * Entered. */
#ifndef LSH_LEASE_ROUND_H
#define LSH_LEASE_ROUND_H

#include "lease/quorum_vote.h"

bool lsh_round_fits(const struct lsh_lease *lease, const struct lsh_wish *want);
int64_t lsh_round_acquire(struct lsh_lease *lease, struct lsh_wish *want);
int64_t lsh_round_adopt(struct lsh_lease *lease, struct lsh_wish *want);
void lsh_round_count(struct lsh_lease *lease); /* ACQUIRING: is it won, or lost? */
void lsh_round_describe(const struct lsh_lease *lease, leash_error *why); /* ACQUIRING: why it is neither */
void lsh_round_let_others(struct lsh_lease *lease); /* HELD: it ends */

#endif
