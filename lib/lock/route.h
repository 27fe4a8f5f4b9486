/* Routes: at which site of a cluster each lock lives, and where its commands go when a server sends them elsewhere. route.c says how
 * a lock moves. With one server (engine->cluster is NULL) there are none. */
#ifndef LSH_LOCK_ROUTE_H
#define LSH_LOCK_ROUTE_H

#include "lock/state.h"

enum { LSH_REDIRECTIONS = 5 }; /* that one command follows in a row */

/* Find out about the cluster, make a site for each server that has a slot, and await what they say: LEASH_OK if one of them said hello. */
leash_status lsh_route_open(struct lsh_engine *engine, leash_error *err);

/* No lock moves any more, and no site is added. May take about a timeout. */
void lsh_route_stop(struct lsh_engine *engine);

/* Where a lock of this slot is to live, at once: where nobody is known to have the slot, anywhere; then the answers tell. In use. NULL: no memory. */
struct lsh_site *lsh_route_site(struct lsh_engine *engine, unsigned slot);
/* The site of the server that has the slot, in use; or NULL. */
struct lsh_site *lsh_route_at(struct lsh_engine *engine, unsigned slot);

/* lock->mutex held (or nobody else has the lock): let it live where the map says. */
void lsh_route_settle(struct lsh_lock *lock);

/* The site `from` said `words`, "MOVED ..." or "ASK ...": nothing was executed. No mutex held. LEASH_OK: after MOVED `*asks` is NULL, and
 * lsh_route_settle() lets the lock live there; after ASK it is where the command is to be sent for once, in use. Else the words are to be told:
 *   UNSUPPORTED  the URI is that of one server, which is part of a cluster
 *   UNAVAILABLE  a host to which the URI does not let us be sent, or no memory for it
 *   PROTOCOL     that is not what a server says */
leash_status lsh_route_follow(struct lsh_site *from, const char *words, struct lsh_site **asks, leash_error *err);

/* It went round in circles: LSH_REDIRECTIONS are over. Returns LEASH_UNAVAILABLE. */
leash_status lsh_route_circles(const struct lsh_site *from, const char *words, leash_error *err);

/* A server said that its cluster cannot serve a slot, or that it is no master: look at the map soon. No-op without a cluster. */
void lsh_route_doubt(struct lsh_engine *engine);

/* What the keeper does besides the work. */
void lsh_route_work(struct lsh_site *site);

/* What clients tell of themselves has slots of its own: ask the keeper of the one where that is to write it, or to let it live on. */
void lsh_route_introduce(struct lsh_engine *engine, int64_t lease_ms, int64_t now);
void lsh_route_prolong(struct lsh_engine *engine, const char *token, int64_t lease_ms, int64_t now);

/* Fill in all but the token of parties whose tokens are there, as far as anybody knows. No mutex held; waits until `deadline`. */
void lsh_route_who(struct lsh_engine *engine, leash_party *const *parties, size_t count, int64_t deadline, struct lsh_thread *self);

#endif
