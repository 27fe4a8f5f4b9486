/* Agreement: what the servers of a quorum say of a lock, each perhaps of another holder, or of none. No state. */
#ifndef LSH_ADMIN_AGREEMENT_H
#define LSH_ADMIN_AGREEMENT_H

#include <leash/inspect.h>

#include <stddef.h>

/* Returns how many agree on one holder, as most do on any, and, unless that is 0, that in `*agreed`: its fence the one
 * of a majority, or the largest; its time what is left of a majority's. */
unsigned lsh_agreement(const leash_lock_info *infos, size_t count, unsigned majority, leash_lock_info *agreed);

#endif
