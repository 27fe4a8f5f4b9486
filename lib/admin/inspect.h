/* Inspecting a lock of whatever kind: who has it, and who that is. */
#ifndef LSH_ADMIN_INSPECT_H
#define LSH_ADMIN_INSPECT_H

#include "admin/lock_line.h"
#include "admin/query.h"

struct lsh_sight {
	struct lsh_backend *backend;
	leash_lock_info info;
	size_t count;
	leash_hold_info hold[]; /* the longest leases first */
};

/* What the servers say of a lock. `all`: of up to LSH_HOLDS holds, else of the one whose lease ends last; `who`: also
 * whose they are, as far as that is known. `*out`, to be freed, is set only with LEASH_OK. */
leash_status lsh_inspect(struct lsh_sight **out, struct lsh_lock *lock, bool all, bool who, leash_error *err);

/* What one server said of a lock, to LSH_WHO_HAS. False: nothing that can be read; `info` is untouched. */
bool lsh_ask_read(const struct lsh_ask *ask, leash_lock_info *info);

/* Of what each server of a quorum says of a lock, perhaps of another holder, or of none: how many agree on one holder,
 * as most do on any. Unless that is 0, `*agreed` is that hold: its fence the one of a majority, or the largest; its
 * time what is left of a majority's. */
unsigned lsh_agreement(const leash_lock_info *infos, size_t count, unsigned majority, leash_lock_info *agreed);

/* Clients that were asked about before, by chance of their UUIDs; an empty token: none. So many locks of one client are
 * one question. */
struct lsh_acquaintances {
	leash_party known[64];
};

/* Fill in all but the token of up to LSH_QUERIES parties whose tokens are there, as far as that is known by `deadline`;
 * `known` may be NULL. Whatever a server says instead, the client is not known, and that is all. Statuses as of
 * lsh_queries_ask(). */
leash_status lsh_identify(struct lsh_backend *backend, struct lsh_acquaintances *known, leash_party *const *parties,
                          size_t count, int64_t deadline, leash_error *err);

#endif
