/* What the wake-ups need of the strategy that has a queue. Entered. */
#ifndef LSH_LEASE_SINGLE_H
#define LSH_LEASE_SINGLE_H

#include "lease/lease.h"

/* After a restart of the server locks may be held that it has forgotten. By a message: one that came now. */
bool lsh_single_is_guarded(const struct lsh_lease *lease, bool by_message);

/* The server gave it the lock; as lsh_lease_granted(). */
bool lsh_single_granted(struct lsh_lease *lease, int64_t fence, int64_t sent, int64_t lease_ns, bool is_claim);

#endif
