/* Options: what the caller set, copied, checked, and with the defaults filled in. */
#ifndef LSH_CLIENT_OPTIONS_H
#define LSH_CLIENT_OPTIONS_H

#include "core/engine.h"

#include <leash/client.h>
#include <leash/condition.h>
#include <leash/lock.h>

enum { LSH_HANDOFFS = 64, LSH_HANDOFF_MS = 10 }; /* of a turn, unless a handle says otherwise */

/* Each takes NULL for all defaults. Strings are not copied. What the options of locks, acquires and leases are about is
 * left to be named by the caller. */
leash_status lsh_options_read(leash_options *out, const leash_options *options, leash_error *err);
leash_status lsh_lock_options_read(leash_lock_options *out, struct lsh_terms *terms, const leash_lock_options *options,
                                   const struct lsh_terms *defaults, bool on_quorum, leash_error *err);
leash_status lsh_condition_options_read(leash_condition_options *out, const leash_condition_options *options,
                                        const struct lsh_terms *terms, leash_error *err); /* those of its lock */
/* but for the lease */
leash_status lsh_acquire_read(leash_acquire *out, const leash_acquire *how, leash_error *err);

/* For one answer, in ns: what was set in the options, else in the URI. */
int64_t lsh_timeout(const leash_options *options, const struct lsh_uri *uri);

/* Is it in that range, both ends included? Else LEASH_INVALID. */
leash_status lsh_check_range(int64_t value, int64_t least, int64_t most, const char *what, leash_error *err);

/* Is `ms` a lease? Else LEASH_INVALID. `guard`: of a lock on a quorum; else NULL. */
leash_status lsh_check_lease(int64_t ms, const struct lsh_terms *guard, leash_error *err);

#endif
