/* What the core keeps in memory: locks, their queues, and holds. Only this folder includes it.
 *
 *   queue   ops in order of arrival; the lease of the first one is acquired. A plain lock has one queue for all threads
 *           of the process. It rests while one of them holds the lock: then the lease is the hold's, and may be handed
 *           off to the first of the queue. In a fair lock each op is a queue of its own, so each has a place in Redis.
 *   hold    (op) --granted, or handed off here--> HELD <--renewals fail, or succeed again--> AT RISK
 *           either --outermost release--> gone
 *           either --not there any more, or valid_until is past--> LOST --released as often as acquired--> gone
 *           HELD --upgraded, or downgraded: its owner waits--> HELD, by another lease
 *
 * If the first of a queue leaves, the next one goes on with the same lease, in whatever state that is. The last one
 * that leaves cancels it. A lock has at most one hold that is not LOST, with the one lease that is HELD.
 *
 * Of a kind that is LSH_SHARED there is any number. A permit has a lease of its own. Readers of a plain lock share one:
 * who comes while it is acquired is let in with the first of them; who comes later joins while its turn lasts, unless
 * somebody here waits to write; and the last one out releases it. After its turn the next reader acquires another one,
 * which has its place behind whoever waits. So a process that never stops to read keeps no writer out for longer than a
 * turn and what is read then.
 *
 * Each file calls only those before it: table, hold, op; adopt, extend, trade, release, break; engine. What comes back
 * goes through two tables: lsh_op_verb, and lsh_lease_events.
 *
 * Mutexes, in the order in which they are taken: engine->mutex; the monitor of a lock; the leaves below. */
#ifndef LSH_CORE_CORE_H
#define LSH_CORE_CORE_H

#include "base/courier.h"
#include "base/map.h"
#include "base/thread.h"
#include "core/op.h"

/* What is told of a hold; the letters lie with it, so that telling allocates nothing. */
struct lsh_notice {
	struct lsh_letter letter;
	struct lsh_hold *hold;
	leash_event_type type;
	int64_t remaining_ms;
	uint64_t fence;
	const char *text;
	unsigned acknowledged, wanted; /* "1 of 2" in front of the text, unless 0 were wanted */
};

/* What only few holds have: of which somebody hears, or that are to be alive. */
struct lsh_watched {
	_Atomic int64_t alive_at;  /* the last leash_lock_alive() */
	struct lsh_notice notices[LEASH_EVENT_NOT_RELEASED + 1]; /* by type */
};

/* As many are held as the program likes. */
struct lsh_hold {
	struct lsh_lock *lock;
	struct leash_owner *owner; /* referenced; of a permit the first member of that */
	struct lsh_terms *terms;   /* referenced */
	union {
		struct lsh_lease *lease; /* referenced */
		struct lsh_hold *next; /* lost: in lock->lost */
	};
	uint64_t fence;            /* as shown */
	struct lsh_hold *beside;   /* the next one that has the same lease */
	uint16_t depth, reads;     /* how often it was acquired; and of that, to read a lock that is written, too */
	atomic_uchar references;   /* the lock's or its op's, and one for each notice under way */
	bool lost, at_risk;
	struct lsh_watched more[]; /* one, or none */
};

/* What was done, in the order of leash_stats. A lock counts in one of some rows, each with cache lines of its own, so
 * that threads with locks of their own rarely meet. */
enum lsh_count {
	LSH_COUNT_ACQUIRED, LSH_COUNT_HANDED_OFF, LSH_COUNT_WAITED, LSH_COUNT_RELEASED, LSH_COUNT_LOST, LSH_COUNT_ABANDONED,
	LSH_COUNT_RENEWED, LSH_COUNT_RENEWALS_FAILED, LSH_COUNT_GAVE_UP,
	LSH_COUNTS, LSH_COUNT_ROWS = 16,
};

struct lsh_count_row {
	pthread_mutex_t mutex; /* a leaf: who asks sees no release without its acquire */
	uint64_t of[(128 - sizeof(pthread_mutex_t)) / sizeof(uint64_t)]; /* by enum lsh_count */
};

struct lsh_lock {
	struct lsh_resource resource; /* whose monitor guards all below but what has another word */
	struct lsh_map_node node;     /* in engine->locks, by its key */
	atomic_uint references;       /* handles, leases, holds */
	unsigned handles;             /* engine->mutex guards it, */
	bool fair;                    /* and this while there are none */
	struct lsh_queue plain;       /* the one queue of a lock that is not fair */
	unsigned generation;          /* + 1 when the hold of an adopted token ends, or the lock is broken, from here */

	/* What leash_lock_held() reads without the monitor: the owner of that hold, 0 if there is none, and its end. A
	 * permit has an owner of its own, who has that end. */
	_Atomic uint64_t holder;
	_Atomic int64_t valid_until;

	struct lsh_hold *hold;        /* that is alone; NULL: there is none, but perhaps others: see lsh_each_hold() */
	struct lsh_hold *lost;        /* that are still to be unwound */
	struct lsh_list waiting;      /* ops that acquire it, in order of arrival */
	struct lsh_list ops;          /* all others */
	uint64_t last_fence;
	char text[];                  /* its key, its name, and, if they differ, what is shown of that */
};

/* What an op does when something happens to it; each verb has its own file. Entered. */
struct lsh_op_verb {
	leash_status (*begin)(struct lsh_op *op);             /* what has come of it, unless it waits now, or did */
	void (*late)(struct lsh_op *op);                      /* its deadline has come, or no reply comes any more */
	void (*again)(struct lsh_op *op);                     /* wakes_at has come; NULL: it never does */
	/* Its wait is over, or its hold has ended, because of this. NULL: it waits for a reply, whatever happens. */
	void (*over)(struct lsh_op *op, leash_status status);
	/* What the release of its lease found. NULL: it releases nothing. */
	void (*ended)(struct lsh_op *op, enum lsh_found found, const leash_error *why);
	/* Its lease was renewed for so long, by a command sent then; or not, and `final`: nor will it be. NULL: it does
	 * not mind. */
	void (*renewed)(struct lsh_op *op, int64_t sent, int64_t lease_ms);
	void (*not_renewed)(struct lsh_op *op, const leash_error *why, bool final);
	/* Of an adoption: the server said that its token holds the lock. False: that must not be believed, and the op has
	 * ended, or asks again. */
	bool (*believes)(struct lsh_op *op, int64_t fence);
	/* Of a trade: its lease is held in place of the hold's. NULL: its hold begins with the lease. */
	void (*traded)(struct lsh_op *op, uint64_t fence);
};

struct lsh_engine {
	struct lsh_backend *backend;
	struct lsh_count_row counts[LSH_COUNT_ROWS];
	struct lsh_times times;
	pthread_mutex_t mutex;        /* guards the rest, and the handles of each lock */
	struct lsh_map locks;
};

static inline struct lsh_lock *
lsh_lock_of(const struct lsh_resource *resource)
{
	return lsh_container(resource, struct lsh_lock, resource);
}

/* Visit the ops of a list; the body may end the one that it is at. */
#define lsh_each_op(at, list) lsh_list_each(struct lsh_op, link, at, list)

static inline struct lsh_op *
lsh_queue_first(struct lsh_queue *queue)
{
	struct lsh_op *own = lsh_container(queue, struct lsh_op, own);

	if (queue->is_own)
		return own->queue == queue && own->state == LSH_OP_WAITING ? own : NULL;
	lsh_each_op(op, &lsh_container(queue, struct lsh_lock, plain)->waiting)
		if (op->queue == queue || op->lock->fair) /* not that of one that tries; where it is fair each has its own */
			return op->queue == queue ? op : NULL;
	return NULL;
}

/* For whom the lease is acquired; or NULL. */
static inline struct lsh_op *
lsh_op_of(const struct lsh_lease *lease)
{
	return lease->want != NULL ? lsh_container(lease->want, struct lsh_op, want) : NULL;
}

/* Visit the holds of a lock that are not lost; likewise. */
#define lsh_each_hold(at, lock) \
	lsh_each_lease(at##_lease, &(lock)->resource) \
		for (struct lsh_hold *at = at##_lease->state == LSH_HELD ? at##_lease->user : NULL, *at##_next; \
		     at != NULL && (at##_next = at->beside, true); at = at##_next)

static inline bool
lsh_is_shared(const struct lsh_lock *lock)
{
	return (lock->resource.kind->flags & LSH_SHARED) != 0;
}

/* Of permits: each hold has an owner of its own. */
static inline bool
lsh_has_permits(const struct lsh_lock *lock)
{
	return (lock->resource.kind->flags & (LSH_SHARED | LSH_REENTRANT)) == LSH_SHARED;
}

/* How often it was acquired in the mode of such a need. */
static inline unsigned
lsh_hold_depth(const struct lsh_hold *hold, uint32_t need)
{
	return need == LSH_NEED_READ ? hold->reads : hold->depth - hold->reads;
}

static inline struct lsh_engine *
lsh_engine_of(const struct lsh_lock *lock)
{
	return lock->resource.backend->ctx;
}

static inline bool
lsh_is_closing(const struct lsh_lock *lock)
{
	return atomic_load(&lock->resource.backend->closing);
}

/* ---- table.c ---- */

void lsh_count(struct lsh_lock *lock, enum lsh_count what);
void lsh_took(struct lsh_lock *lock, const struct lsh_terms *terms, leash_time what, int64_t ns);

/* as struct lsh_backend_ops has them */
void lsh_lock_retain(struct lsh_resource *resource);
void lsh_lock_unref(struct lsh_resource *resource);
struct lsh_resource *lsh_lock_find(void *engine, const char *key, size_t size);
void lsh_lock_each(void *engine, void (*visit)(struct lsh_resource *resource, void *arg), void *arg);

/* ---- hold.c; entered ---- */

/* NULL: no memory */
struct lsh_hold *lsh_hold_new(struct lsh_lock *lock, struct leash_owner *owner, struct lsh_terms *terms);
void lsh_hold_unref(struct lsh_hold *hold);
void lsh_notice(struct lsh_hold *hold, leash_event_type type, const char *text);
/* At risk, or (`why` is NULL) no more: who listens is told of both in turn. What was not delivered yet is taken back by
 * its opposite. */
void lsh_notice_risk(struct lsh_hold *hold, unsigned acknowledged, unsigned wanted, const char *why);

struct lsh_hold *lsh_hold_of(struct lsh_lock *lock, const struct leash_owner *owner); /* held or lost; or NULL */
struct lsh_hold *lsh_hold_check(struct lsh_op *op); /* its owner's; lost now, if its lease ran out before that began */
bool lsh_hold_is_hung(const struct lsh_hold *hold, int64_t now);        /* its owner puts renewals off */
/* Whoever waited since then has it from now on. The caller's reference to the lease becomes the hold's. */
void lsh_hold_begin(struct lsh_lock *lock, struct lsh_lease *lease, struct lsh_hold *hold, uint64_t fence,
                    int64_t waited_since, int64_t now);
/* It ends for its owner. If nobody else has its lease, the reference to that becomes the caller's; else NULL. */
struct lsh_lease *lsh_hold_finish(struct lsh_hold *hold, int64_t now);
void lsh_hold_end(struct lsh_hold *hold); /* and its lease is released if nobody waits for that */
/* From one lease, which nobody else has, to another one: the reference to that becomes the hold's. */
void lsh_hold_move(struct lsh_hold *hold, struct lsh_lease *lease, uint64_t fence);
void lsh_hold_revalued(struct lsh_hold *hold); /* its lease has another end */
void lsh_hold_unwind(struct lsh_hold *hold); /* forget it */
/* Nobody waits for the release of its lease, but it is told, once, what is wrong with that: what the server found. */
void lsh_hold_leave(struct lsh_hold *hold, struct lsh_lease *lease);
void lsh_hold_left(struct lsh_lease *lease, enum lsh_found found, const leash_error *why);
/* May an owner on these terms have the hold's lease as it is, for `lease_ms`: in its place, or beside it? */
bool lsh_hold_may_pass(const struct lsh_hold *hold, const struct lsh_terms *terms, int64_t lease_ms, int64_t now);

/* ---- op.c; entered ---- */

/* See that its first op is being served: there is a new one, or the hold for which a plain queue rested has ended. */
void lsh_queue_drive(struct lsh_queue *queue);

bool lsh_op_join(struct lsh_op *op, struct lsh_queue *queue);     /* it waits for the lock; false: no memory */
void lsh_op_wait_for(struct lsh_op *op, struct lsh_lease *lease); /* it is about this lease, and waits */
void lsh_op_drop_lease(struct lsh_op *op); /* if it has one */
void lsh_op_stir(struct lsh_op *op);
void lsh_op_finish(struct lsh_op *op, leash_status status);       /* take it out of its queue, and tell its front */
/* Fill in op->why, behind the name of the lock, and return `status`. An argument may be the text of op->why. */
leash_status lsh_op_fail(struct lsh_op *op, leash_status status, int sys_errno, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
leash_status lsh_op_not_held(struct lsh_op *op, bool was_lost);

/* ---- trade.c; entered ---- */

/* The hold, which nobody shares, is to have a lease of that need; `op` waits for that. */
leash_status lsh_trade(struct lsh_op *op, struct lsh_hold *hold, uint32_t need);

extern const struct lsh_lease_events lsh_lease_events;

#endif
