/* The engine: takes, keeps and gives back the locks of one client. The client layer wires it up and puts the public face on it. */
#ifndef LSH_LOCK_ENGINE_H
#define LSH_LOCK_ENGINE_H

#include "redis/uri.h"

#include <leash/event.h>
#include <leash/inspect.h>
#include <leash/status.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct leash_cancel;
struct leash_owner;
struct lsh_courier;
struct lsh_engine;
struct lsh_lock;

struct lsh_engine_options {
	struct lsh_uri *uri;     /* must outlive the engine */
	const char *prefix;      /* likewise */
	const char *client_name; /* copied */
	int64_t timeout;         /* ns */
	int64_t lease_ms;        /* of locks that name none */
	int64_t fence_ttl_ms;    /* how long a fence is kept after the last grant or renewal, at least */
};

struct lsh_engine_ops {
	/* The server's clock left ours; any thread, perhaps with a mutex held: must not wait or call back. */
	void (*clock_jumped)(void *ctx, int64_t by_us);
};

/* On what terms a lock is acquired. */
struct lsh_terms {
	int64_t lease_ms;
	int64_t max_hold_ms;      /* 0: no limit */
	int64_t alive_ms;         /* 0: need not be */
	int64_t restart_guard_ms; /* 0: off */
	int64_t handoff_ms;       /* how long a turn of this process may last, */
	unsigned handoffs;        /* and how often the lock is handed on in it */
	bool no_renew;
	bool fsynced;             /* it counts once it is on the server's disk, and on those of */
	unsigned min_replicas;    /* so many replicas; else, once so many have it. 0: need not */
	int64_t replicas_ms;      /* for which it is waited so long; 0: the client's timeout */
	leash_event_fn on_event;  /* may be NULL */
	void *event_arg;
};

/* Make an engine and connect it. Events and log lines go through `courier`. `*out` is untouched unless the result is LEASH_OK. */
leash_status lsh_engine_open(struct lsh_engine **out, const struct lsh_engine_options *options, const struct lsh_engine_ops *ops,
                             void *ctx, struct lsh_courier *courier, leash_error *err);

/* Release what is held, wake every waiter (LEASH_CLOSED), end the threads. Calls on its locks are still allowed, until lsh_engine_free(). */
void lsh_engine_close(struct lsh_engine *engine);
void lsh_engine_free(struct lsh_engine *engine); /* when it is closed and all its locks are; NULL is allowed */
void lsh_engine_forsake(struct lsh_engine *engine); /* in a forked child: close its copies of the descriptors, and touch nothing else */

/* An owner is no more: what it holds through this engine is abandoned. */
void lsh_engine_owner_ended(struct lsh_engine *engine, const struct leash_owner *owner, const char *why);

/* The lock of this name, made if it is not there. LEASH_NO_MEMORY; LEASH_INVALID: it is open, and not with the same fairness. */
leash_status lsh_lock_open(struct lsh_lock **out, struct lsh_engine *engine, const char *name, bool fair);
void lsh_lock_close(struct lsh_lock *lock); /* what is held when the last is closed is abandoned */

const char *lsh_lock_shown(const struct lsh_lock *lock);

/* As leash_lock_acquire() and so on, for `owner`; arguments have been checked. `cancel` may be NULL. Each with `err`, which may be NULL. */
leash_status lsh_acquire(struct lsh_lock *lock, struct leash_owner *owner, const struct lsh_terms *terms, int64_t wait_ms,
                         struct leash_cancel *cancel, leash_error *err);
leash_status lsh_release(struct lsh_lock *lock, struct leash_owner *owner, leash_error *err);
leash_status lsh_extend(struct lsh_lock *lock, struct leash_owner *owner, int64_t lease_ms, leash_error *err);

leash_status lsh_adopt(struct lsh_lock *lock, struct leash_owner *owner, const struct lsh_terms *terms, const char *token, leash_error *err);
leash_status lsh_break(struct lsh_lock *lock, leash_error *err);
leash_status lsh_inspect(struct lsh_lock *lock, leash_lock_info *info, leash_error *err); /* all but its size */

/* All but its size; memory only. */
void lsh_engine_stats(struct lsh_engine *engine, leash_stats *stats);

/* Memory only. `owner` may be NULL: one that has nothing. */
bool lsh_held(const struct lsh_lock *lock, const struct leash_owner *owner);
int64_t lsh_remaining(const struct lsh_lock *lock, const struct leash_owner *owner); /* ns, 0 if not held */
unsigned lsh_depth(struct lsh_lock *lock, const struct leash_owner *owner);
uint64_t lsh_fence(struct lsh_lock *lock, const struct leash_owner *owner);
size_t lsh_token(struct lsh_lock *lock, const struct leash_owner *owner, char *out, size_t size);
void lsh_alive(struct lsh_lock *lock, const struct leash_owner *owner);

#endif
