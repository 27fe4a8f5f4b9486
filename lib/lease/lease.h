/* Leases: one token's life in Redis, wherever that is. This is all that the core sees of it.
 *
 *   NEW --acquire--> ACQUIRING --the server has a queue--> WAITING --a message, a heartbeat's answer--> (granted)
 *                        +--granted--> PENDING --replicas have it--> HELD --renewed--> HELD
 *                        |                +---------------------- HELD, where the terms do not ask for that
 *                        +--refused for good, or the token is dead--> ENDING
 *   NEW --adopt--> ACQUIRING --its token holds the lock--> (granted)
 *   HELD, PENDING --not there, or valid_until is past--> lost --> ENDING          any --release--> ENDING
 *   ENDING --nothing of it can be executed any more--> ENDED
 *
 * What one server may know of the token is a vote (vote.h): a lease has one, or on a quorum one for each server. How a
 * lease is acquired and kept by its votes is a strategy (strategy.h). News travel up through struct lsh_lease_events.
 *
 * A lease is of a resource: the keys of one lock, and its monitor, which guards all leases of it. Everything here is
 * called with that entered unless it says otherwise. Once ENDING a token is never asked for, adopted or held again. */
#ifndef LSH_LEASE_LEASE_H
#define LSH_LEASE_LEASE_H

#include "base/clock.h"
#include "base/list.h"
#include "base/monitor.h"
#include "kind/kind.h"
#include "watchdog/watchdog.h"

#include <leash/status.h>

#include <stdatomic.h>

struct lsh_backend;
struct lsh_host;
struct lsh_lease;
struct lsh_parker;
struct lsh_resource;
struct lsh_round;
struct lsh_vote;

/* On what a hold may rely. The core copies it, and never looks inside. */
struct lsh_safety {
	int32_t restart_guard_ms;   /* a server that was restarted grants nothing for so long; 0: off */
	int32_t replicas_ms;        /* how long to wait for the replicas; 0: the client's timeout */
	unsigned char min_replicas; /* nothing counts before so many have acknowledged it; 0: off */
	bool fsynced;               /* and before it is on disk there, and on the server's */
};

/* What an acquire wants; it lies in its op. */
struct lsh_wish {
	int64_t lease_ms;
	int64_t max_hold_ms;        /* 0: no limit */
	int64_t until;              /* then it gives up */
	bool tries;                 /* once, and takes no place */
	struct lsh_safety safety;
	struct lsh_parker *reader;  /* of the thread that is going to read for it; or NULL */
	unsigned rounds;            /* the strategy's: attempts that failed, */
	int64_t rests_until;        /* when the next one may begin, */
	bool contended;             /* others were in the way of the last one, */
	bool denied;                /* and the last one was refused by what does not pass by itself */
	int64_t fence;              /* PENDING: that was granted */
	bool answered;              /* what is in its way was told in a server's own words */
};

enum lsh_lease_state { LSH_NEW, LSH_ACQUIRING, LSH_WAITING, LSH_PENDING, LSH_HELD, LSH_ENDING, LSH_ENDED };

/* What a release found. */
enum lsh_found {
	LSH_FOUND_NOT_YET,   /* no answer so far */
	LSH_FOUND_HELD,      /* it held the lock, which is released */
	LSH_FOUND_NOTHING,   /* it did not, any more */
	LSH_FOUND_REFUSED,   /* the server refuses to release it: `why`; it is tried again */
};

struct lsh_lease_events {
	/* Its token holds the lock. False: that is dealt with, and the lease is over. */
	bool (*adoptable)(struct lsh_lease *lease, int64_t fence);
	bool (*granted)(struct lsh_lease *lease, int64_t fence); /* false: nobody is there for it any more */
	void (*pending)(struct lsh_lease *lease, int64_t until); /* granted; the replicas have until then */
	/* Not yet. TIMEOUT: somebody else has it. acquire is to be called again at `again_at`: with a new lease, if this
	 * one is ENDING then. */
	void (*waits)(struct lsh_lease *lease, const leash_error *why, int64_t again_at);
	void (*failed)(struct lsh_lease *lease, const leash_error *why); /* for whom it is now it will not get better */
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

/* The keys of one lock. It is a part of that. */
struct lsh_resource {
	struct lsh_monitor monitor;        /* guards the rest, but for what never changes */
	const struct lsh_kind *kind;
	struct lsh_backend *backend;
	const char *key;                   /* its owner's; behind it what is shown of it in messages */
	struct lsh_list leases;            /* those that are not ENDED */
	struct lsh_host *_Atomic host;     /* where it lives (in use); in a cluster it may move, while entered */
	union {
		struct lsh_roaming *cluster;   /* resource.h; NULL: a single server */
		struct lsh_turns *quorum;
	};
	uint16_t key_size, shown_at;
	uint16_t slot;
};

/* As many are held as the program likes: a member that only few need is elsewhere. */
struct lsh_lease {
	struct lsh_timer timer;            /* its next renewal, heartbeat or repeated cancel; reserved for its life */
	atomic_uint references;
	enum lsh_lease_state state : 8;
	bool foreign;                      /* its token is not one of this client's */
	bool adopted;                      /* nor were its fences, which may have gone on by hand-offs: so here is none */
	bool adopting;                     /* it is asked whether the token holds the lock */
	bool waited;                       /* it had a place in the queue, so others are likely to have one now */
	bool sharded;                      /* it is told by the lock's own channel */
	bool full;                         /* HELD: for all that is wanted, and not only for a claim */
	bool answered;                     /* ENDING: `ended` was told for good */
	bool breaks;                       /* ENDING: it is to go wherever it is, and nobody counts on having had it */
	unsigned char count;               /* of its votes */
	unsigned char handed_off;          /* HELD: how often, within the process */
	unsigned char failures;            /* of renewals in a row */
	struct lsh_resource *resource;     /* referenced */
	struct lsh_list link;              /* in resource->leases */
	void *user;                        /* the core's */
	struct lsh_wish *want;             /* ACQUIRING, WAITING, PENDING: of whoever it is for */
	union {
		uint64_t number;               /* of its token, */
		const char *text;              /* or, foreign, that */
	} token;
	int64_t ends_at;                   /* by max_hold_ms; LSH_NEVER */
	int64_t valid_until;
	union {
		int64_t turn_began;            /* PENDING, HELD: when this process got it */
		int64_t lapses_at;             /* ENDING: nothing of it can be there any more, whatever became of the cancel */
	};
	int64_t wanted_at;                 /* HELD: a renewal was wanted then and is not settled; 0: there is none */
	int32_t lease_ms;                  /* asked for */
	int32_t claim_ms;
	int32_t longest_ms;                /* of all leases that were asked for */
	int32_t span_ms;                   /* of the lease that valid_until follows from */
	int32_t extend_ms;                 /* HELD: an extension is awaited, for at least so long; 0: none is */
	uint16_t depth;                    /* HELD: for people who look */
	struct lsh_safety safety;
	struct lsh_round *round;           /* quorum */
	struct lsh_vote *votes;
};

/* A resource for the key, which must outlive it, with what is shown of it so far behind its beginning. False: there is
 * no server for it, or no memory. */
bool lsh_resource_init(struct lsh_resource *resource, struct lsh_backend *backend, const struct lsh_kind *kind,
                       const char *key, size_t key_size, size_t shown_at);
/* from here on it is told of changes: whatever came since it was made it is told now */
void lsh_resource_opened(struct lsh_resource *resource);
void lsh_resource_destroy(struct lsh_resource *resource); /* nobody else has it */

struct lsh_lease *lsh_lease_new(struct lsh_resource *resource, const struct lsh_wish *want); /* NULL: no memory */
/* a token that is there */
struct lsh_lease *lsh_lease_new_for(struct lsh_resource *resource, const struct lsh_wish *want, const char *token,
                                    size_t size);
/* Write its token, with a NUL; returns the length. */
size_t lsh_lease_token(const struct lsh_lease *lease, char out[static LSH_TOKEN_SIZE]);
bool lsh_lease_has_token(const struct lsh_lease *lease, const char *token, size_t size);
/* not ENDED; or NULL */
struct lsh_lease *lsh_lease_find(const struct lsh_resource *resource, const char *token, size_t size);
void lsh_lease_unref(struct lsh_lease *lease); /* entered or not, where another reference keeps it; else not entered */

bool lsh_lease_fits(struct lsh_lease *lease, const struct lsh_wish *want);
void lsh_lease_serve(struct lsh_lease *lease, struct lsh_wish *want); /* it fits: from now on it is for this one */
int64_t lsh_lease_acquire(struct lsh_lease *lease, struct lsh_wish *want); /* see strategy.h */
int64_t lsh_lease_adopt(struct lsh_lease *lease, struct lsh_wish *want);
/* HELD: see that it lasts for extend_ms from now. False: it cannot be said now. */
bool lsh_lease_extend(struct lsh_lease *lease, struct lsh_parker *reader);
/* until when that is of use; LSH_NEVER: as the caller likes */
int64_t lsh_lease_extend_limit(const struct lsh_lease *lease, int64_t now);
/* It has been held by `user` before: on to another one. */
void lsh_lease_hand_off(struct lsh_lease *lease, void *user);
/* HELD: for how long a renewal asks, or an extension; 0: it must not */
int64_t lsh_lease_wants_ms(struct lsh_lease *lease, int64_t now);
/* HELD: see to renewals at once, after they were put off. */
void lsh_lease_hurry(struct lsh_lease *lease);
/* Whoever had it, or waited for it, has no more use for it: what servers may know of it is canceled. The caller's
 * reference goes with it. */
void lsh_lease_release(struct lsh_lease *lease, struct lsh_parker *reader);
/* The same for a token that is not ours after all. */
void lsh_lease_forget(struct lsh_lease *lease);
/* A token that any server may know: whatever there is of it is to go. */
void lsh_lease_release_everywhere(struct lsh_lease *lease, struct lsh_parker *reader);
bool lsh_lease_is_maybe_broken(const struct lsh_lease *lease); /* somebody may have released it by now */
/* that failed: nothing is tried behind the back of whoever was told so; but on a quorum it goes on */
void lsh_lease_stop_breaking(struct lsh_lease *lease);
void lsh_lease_describe(struct lsh_lease *lease, leash_error *why);
void lsh_lease_check(struct lsh_lease *lease); /* HELD: does the server have it? */

/* From where news of it come to who reads: its thread may read there meanwhile. */
struct lsh_source {
	struct lsh_host *host;   /* in use; NULL: news come by themselves */
	bool messages;           /* the wake-up connection; else the command `number` of connection `epoch` */
	uint64_t epoch, number;
};
void lsh_lease_source(const struct lsh_lease *lease, struct lsh_source *source);
/* Not entered. Read there until `over(arg)`, or `until`. Ends the use. */
void lsh_source_read(struct lsh_source *source, struct lsh_parker *parker, bool (*over)(void *arg), void *arg,
                     int64_t until);

/* Entered. It is ENDING from now on: lost for whoever holds it, or waits for it to be acknowledged; or ACQUIRING,
 * WAITING: its token is dead, and whoever it is for begins with a new one. */
void lsh_lease_lose(struct lsh_lease *lease, const char *why);
void lsh_lease_give_up(struct lsh_lease *lease);

static inline void
lsh_lease_retain(struct lsh_lease *lease)
{
	atomic_fetch_add_explicit(&lease->references, 1, memory_order_relaxed);
}

static inline struct lsh_lease *
lsh_lease_at(const struct lsh_resource *resource, struct lsh_list *link)
{
	return link != &resource->leases ? lsh_container(link, struct lsh_lease, link) : NULL;
}

/* Visit the leases of a resource; the body may end the one that it is at. */
#define lsh_each_lease(at, resource)                                                                             \
	for (struct lsh_lease *at = lsh_lease_at((resource), (resource)->leases.next), *next_;                       \
	     at != NULL && (next_ = lsh_lease_at((resource), at->link.next), true); at = next_)

static inline const char *
lsh_resource_shown(const struct lsh_resource *resource)
{
	return resource->key + resource->shown_at;
}

static inline struct lsh_host *
lsh_resource_host(const struct lsh_resource *resource)
{
	return atomic_load_explicit(&resource->host, memory_order_acquire);
}

#endif
