/* The backend: what the leases of one client have in common. Its servers, its strategy, its watchdog.
 *
 * Mutexes, in the order in which they are taken: what the owner of the resources takes to find them; a resource's
 * monitor; then the leaves: a host's, a presence's, and those inside the watchdog, the pipeline, the courier and the
 * cluster. None is held across I/O that may wait, or a callback of the program. */
#ifndef LSH_LEASE_BACKEND_H
#define LSH_LEASE_BACKEND_H

#include "base/courier.h"
#include "base/park.h"
#include "lease/lease_inside.h"
#include "redis/router.h"

/* How long a waiting client counts as alive after its last heartbeat; rides out a server that stands still for 9 s. */
enum { LSH_ALIVE_MS = 10000 };

/* A deployment, as an object with functions: how a lease is acquired, kept and given back by its votes. There is one
 * for a server (single.c), which a cluster and a set of sentinels lead to, and one for independent servers (quorum.c).
 * All of it is called with the resource entered, unless it says otherwise. */
struct lsh_strategy {
	const char *why_over;    /* no renewal succeeded */
	bool has_queue;          /* the server keeps one, and tells who is next */
	size_t round_size;       /* of what it keeps for each lease besides, and for each vote in it */
	size_t round_vote_size;
	leash_status (*open)(struct lsh_backend *backend, leash_error *err); /* the servers are made: await them; or NULL */
	bool (*fits)(const struct lsh_lease *lease, const struct lsh_wish *want); /* may it go on for somebody else? */
	/* Or adopt. Returns when to call it again; LSH_NEVER: news come by themselves. */
	int64_t (*acquire)(struct lsh_lease *lease, struct lsh_wish *want);
	void (*granted)(struct lsh_lease *lease, int64_t fence, int64_t sent); /* PENDING: see that it becomes HELD */
	void (*renews)(struct lsh_lease *lease, int64_t now); /* its votes are about to be renewed; or NULL */
	/* HELD: by extend_ms, now. False: there is no connection. */
	bool (*extend)(struct lsh_lease *lease, struct lsh_parker *reader);
	void (*silent)(struct lsh_lease *lease);             /* HELD: a renewal is overdue */
	void (*connected)(struct lsh_vote *vote);            /* its server is there (again) */
	void (*host_connected)(struct lsh_host *host);       /* likewise, not entered; or NULL */
	void (*see_to)(struct lsh_vote *vote, int64_t now);  /* on its server's thread: lsh_vote_due() */
	void (*voted)(struct lsh_vote *vote, const struct lsh_voted *voted);
	void (*ends)(struct lsh_lease *lease);               /* it is about to be ENDING; or NULL */
	/* ENDING: its cancel was answered, or not; and that was the last one. */
	void (*released)(struct lsh_vote *vote, const struct lsh_call *call, const struct lsh_result *result, bool over);
	/* Why it is not acquired, released or extended by now; `*why` is what was told last. */
	void (*describe)(struct lsh_lease *lease, leash_error *why);
};

struct lsh_backend_options {
	struct lsh_uri *uri;     /* must outlive the backend */
	const char *prefix;      /* likewise */
	const char *client_name; /* likewise */
	int64_t timeout;         /* ns */
	int64_t lease_ms;        /* of locks that name none */
	int64_t fence_ttl_ms;    /* how long a fence is kept after the last grant or renewal, at least */
	void (*clock_jumped)(void *owner, int64_t by_us); /* the server's clock left ours; any thread, perhaps with a mutex
	                                                     held: must not wait or call back */
	void *owner;             /* for that, and for whoever has the locks */
};

/* What the leases tell. */
struct lsh_lease_events {
	/* Its token holds the lock. False: that is dealt with, and the lease is over. */
	bool (*adoptable)(struct lsh_lease *lease, int64_t fence);
	bool (*granted)(struct lsh_lease *lease, int64_t fence); /* false: nobody is there for it any more */
	void (*pending)(struct lsh_lease *lease, int64_t until); /* granted; the replicas have until then */
	/* Not yet. TIMEOUT: somebody else has it. acquire is to be called again at `again_at`: with a new lease, if this
	 * one is ENDING then. */
	void (*waits)(struct lsh_lease *lease, const leash_error *why, int64_t again_at);
	void (*failed)(struct lsh_lease *lease, const leash_error *why); /* for whom it is now it will not get better */
	void (*renewing)(struct lsh_lease *lease, int64_t now); /* HELD: it is about to be renewed */
	/* valid_until is another one: by a renewal for so long; or without one */
	void (*renewed)(struct lsh_lease *lease, int64_t sent, int64_t lease_ms);
	void (*revalued)(struct lsh_lease *lease);
	/* `why`, if not NULL, is for whoever extends it */
	void (*not_renewed)(struct lsh_lease *lease, const leash_error *why, bool final);
	/* `why` NULL: no more */
	void (*at_risk)(struct lsh_lease *lease, unsigned acknowledged, unsigned wanted, const char *why);
	void (*lost)(struct lsh_lease *lease, const char *why); /* it is ENDING */
	/* What became of its release, as far as that is known; comes again if it is not for good. */
	void (*ended)(struct lsh_lease *lease, enum lsh_found found, const leash_error *why);
	int64_t (*wants_ms)(struct lsh_lease *lease, int64_t now); /* HELD: how long a renewal may ask for; 0: none */
	const char *(*why_over)(struct lsh_lease *lease, int64_t now); /* HELD, past valid_until; NULL: none succeeded */
	bool (*is_old)(const struct lsh_lease *lease, int64_t fence); /* it cannot be of a grant that comes now */
	bool (*is_wanted)(const struct lsh_resource *resource); /* somebody waits here */
};

/* Who owns the resources. */
struct lsh_backend_ops {
	const struct lsh_lease_events *events; /* of their leases */
	void (*each)(void *ctx, void (*visit)(struct lsh_resource *resource, void *arg), void *arg); /* all of them, each
	                                                                                                entered */
	struct lsh_resource *(*find)(void *ctx, const char *key, size_t size); /* referenced, and not entered; or NULL */
	void (*retain)(struct lsh_resource *resource);
	void (*release)(struct lsh_resource *resource); /* not entered */
	void (*denied)(struct lsh_resource *resource, const leash_error *why); /* entered: nobody who waits is served, until
	                                                                          people change something */
};

struct lsh_backend {
	struct lsh_backend_options options;
	const struct lsh_strategy *strategy;
	const struct lsh_backend_ops *ops;
	void *ctx;
	struct lsh_courier *courier;
	struct lsh_watchdog *watchdog;
	struct lsh_router *router;
	char uuid[LSH_UUID_SIZE + 1];
	char channel[80 + LSH_UUID_SIZE];  /* on which grants are told to this client */
	struct lsh_protocol protocol;
	struct lsh_numbers numbers;        /* of its tokens */
	int64_t opened_ms;                 /* by its own wall clock, since 1970 */
	unsigned presence_slot;            /* of the key where the client says who it is, */
	_Atomic int64_t presence_at;       /* and in a cluster when that is looked for again */
	_Atomic int64_t asks_spent, ghosts_spent, warnings_spent; /* because of messages, see wakeup.c */
	atomic_bool closing, stopped;      /* nothing is sent any more: what is not canceled lapses */
	atomic_uint ending;                /* leases whose cancel is not answered for good, */
	atomic_uint waiting;               /* and those that wait for a message */
	_Atomic int32_t inside;            /* threads that wait for a lock, or for an answer: who closes waits for them */
	struct lsh_parker *_Atomic awaits; /* of who opens it, or closes it: something of that may have come; or NULL */
	unsigned majority;                 /* of a quorum */
	_Atomic int64_t last_fence;        /* likewise: the largest that this client has seen or proposed */
};

/* Connect it. Unless the result is LEASH_OK it is the caller's to close and free all the same, if `*out` is not
 * NULL. */
leash_status lsh_backend_open(struct lsh_backend **out, const struct lsh_backend_options *options,
                              const struct lsh_backend_ops *ops, void *ctx, struct lsh_courier *courier,
                              leash_error *err);

/* Within one timeout: cancels that are owed go out, for as long as somebody could be told; */
void lsh_backend_settle(struct lsh_backend *backend);
void lsh_backend_empty(struct lsh_backend *backend); /* and who is inside leaves. */
void lsh_backend_stop(struct lsh_backend *backend); /* end its threads */
void lsh_backend_drop(struct lsh_backend *backend); /* stopped: what is not canceled lapses with its lease */
void lsh_backend_free(struct lsh_backend *backend); /* when all resources are gone; NULL is allowed */

/* From where news of a lease come to who reads: its thread may read there meanwhile. */
struct lsh_source {
	struct lsh_host *host;   /* in use; NULL: news come by themselves */
	bool messages;           /* the wake-up connection; else the command `number` of connection `epoch` */
	uint64_t epoch, number;
};
void lsh_lease_source(const struct lsh_lease *lease, struct lsh_source *source);
/* Not entered. Read there until `over(arg)`, or `until`. Ends the use. */
void lsh_source_read(struct lsh_source *source, struct lsh_parker *parker, bool (*over)(void *arg), void *arg,
                     int64_t until);

/* Likewise; but it is read by the server's own thread, or not before somebody looks for it again. `source` may have no
 * host. */
void lsh_source_leave(struct lsh_source *source);
void lsh_source_drop(struct lsh_source *source);

/* What was appended to several servers goes out. Not entered. */
void lsh_backend_flush(struct lsh_backend *backend);
/* See that a lease on these terms can be acknowledged. Not entered. False: errno says what there is no more of. */
bool lsh_backend_prepare(struct lsh_resource *resource, const struct lsh_safety *safety);

static inline const struct lsh_lease_events *
lsh_events_of(const struct lsh_lease *lease)
{
	return lease->resource->backend->ops->events;
}

/* Whoever opens or closes it looks again. */
static inline void
lsh_backend_wake(const struct lsh_backend *backend)
{
	struct lsh_parker *parker = atomic_load(&backend->awaits);

	if (parker != NULL)
		lsh_unpark(parker);
}

/* Around what close waits for: a thread that waits for a lock, or for an answer. */
static inline void
lsh_backend_enter(struct lsh_backend *backend)
{
	atomic_fetch_add(&backend->inside, 1);
}

static inline void
lsh_backend_leave(struct lsh_backend *backend)
{
	if (atomic_fetch_sub(&backend->inside, 1) == 1)
		lsh_backend_wake(backend);
}

extern const struct lsh_strategy lsh_single, lsh_quorum;

#endif
