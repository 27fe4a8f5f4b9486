/* Looking at a lock, over the client's own connections. */
#ifndef LSH_ADMIN_LOOK_H
#define LSH_ADMIN_LOOK_H

#include "core/engine.h"

/* What the servers say of a lock, all but its size. Who the holder is, too, as far as it is known. */
leash_status lsh_inspect(struct lsh_lock *lock, leash_lock_info *info, leash_error *err);

/* The same, but for who that is. */
leash_status lsh_look(struct lsh_lock *lock, leash_lock_info *info, leash_error *err);

/* Fill in all but the token of parties whose tokens are there, as far as that is known by `deadline`. */
struct lsh_parker;
void lsh_look_who(struct lsh_backend *backend, leash_party *const *parties, size_t count, int64_t deadline, struct lsh_parker *parker);

/* The same as leash_client_stats(), all but its size; memory only. */
void lsh_stats(struct lsh_engine *engine, leash_stats *stats);

#endif
