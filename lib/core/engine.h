/* The engine: takes, keeps and gives back the locks of one client. The client layer puts the public face on it. */
#ifndef LSH_CORE_ENGINE_H
#define LSH_CORE_ENGINE_H

#include "base/figure.h"
#include "lease/backend.h"

#include <leash/cancel.h>
#include <leash/event.h>
#include <leash/inspect.h>
#include <leash/metrics.h>
#include <leash/status.h>

struct leash_owner;
struct lsh_courier;
struct lsh_engine;
struct lsh_lock;

/* How long waits and holds lasted, and what was left of leases when they were renewed; by enum leash_time. */
enum { LSH_TIMES = LEASH_TIME_LEFT + 1 };
struct lsh_times {
	struct lsh_figure of[LSH_TIMES];
};

/* On what terms a lock is acquired. A handle has them, and holds through it. */
struct lsh_terms {
	atomic_uint references;   /* 0: the client's, which stay */
	int32_t lease_ms;         /* unless an acquire names another one */
	int64_t max_hold_ms;      /* 0: no limit */
	int64_t alive_ms;         /* 0: need not be */
	leash_event_fn on_event;  /* may be NULL */
	void *event_arg;
	leash_cancel *on_lost;    /* referenced; or NULL */
	struct lsh_times *times;  /* of its group; or NULL */
	struct lsh_safety safety;
	int32_t restart_guard_ms; /* a server that was restarted grants nothing for so long; 0: off */
	uint16_t handoff_ms;      /* how long a turn of this process may last, */
	unsigned char handoffs;   /* and how often the lock is handed off in it */
	bool no_renew;
	bool release_nowait;
};

void lsh_terms_unref(struct lsh_terms *terms);

/* Make an engine and connect it. Events and log lines go through `courier`. `*out` is set only with LEASH_OK. */
leash_status lsh_engine_open(struct lsh_engine **out, const struct lsh_backend_options *options,
                             struct lsh_courier *courier, leash_error *err);

/* Release what is held, end every wait (LEASH_CLOSED), end the threads. Calls are allowed until lsh_engine_free(). */
void lsh_engine_close(struct lsh_engine *engine);
void lsh_engine_free(struct lsh_engine *engine); /* when it is closed and all its locks are; NULL is allowed */
struct lsh_backend *lsh_engine_backend(struct lsh_engine *engine);

/* An owner is no more: what it holds through this engine is abandoned. */
void lsh_engine_owner_ended(struct lsh_engine *engine, const struct leash_owner *owner, const char *why);

/* The lock of this name, made if it is not there. LEASH_NO_MEMORY; LEASH_INVALID: its kind or fairness is another. */
leash_status lsh_lock_open(struct lsh_lock **out, struct lsh_engine *engine, const char *name,
                           const struct lsh_kind *kind, bool fair, leash_error *err);
void lsh_lock_open_again(struct lsh_lock *lock); /* for one more handle */
void lsh_lock_close(struct lsh_lock *lock); /* what is held when the last is closed is abandoned */

const char *lsh_lock_name(const struct lsh_lock *lock);
const char *lsh_lock_shown(const struct lsh_lock *lock);
struct lsh_resource *lsh_lock_resource(struct lsh_lock *lock);

/* What this engine counts and measures itself; memory only. */
void lsh_engine_count(struct lsh_engine *engine, leash_stats *stats);
const struct lsh_times *lsh_engine_times(const struct lsh_engine *engine);

/* What an owner has of a lock. */
struct lsh_view {
	unsigned depth;             /* in that mode; 0: nothing is held, or was lost and is to be unwound */
	bool is_held;               /* in whatever mode */
	uint64_t fence;             /* 0: nothing is held (any more) by which it may do that; */
	char token[LSH_TOKEN_SIZE]; /* then this is "" */
};

/* Memory only. `owner` may be NULL: one that has nothing. `need`: of the handle; who writes may read. */
int64_t lsh_remaining(struct lsh_lock *lock, const struct leash_owner *owner, uint32_t need); /* ns, 0 if not held */
void lsh_lock_view(struct lsh_lock *lock, const struct leash_owner *owner, uint32_t need, struct lsh_view *view);
void lsh_alive(struct lsh_lock *lock, const struct leash_owner *owner);
/* From now on it leads, and is not handed off. False: it holds nothing (any more). */
bool lsh_lead(struct lsh_lock *lock, const struct leash_owner *owner);
/* The server says that this hold is not there (any more). */
void lsh_lead_no_more(struct lsh_lock *lock, const struct leash_owner *owner, const char *token);

#endif
