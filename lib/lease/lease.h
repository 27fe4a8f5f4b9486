/* Leases: one token's life in Redis, wherever that is. This is all that the core sees of it.
 *
 *   NEW --acquire--> ACQUIRING --the server has a queue--> WAITING --a message, a heartbeat's answer--> (granted)
 *                        +--granted--> PENDING --replicas have it--> HELD --renewed--> HELD
 *                        |                +---------------------- HELD, where the terms do not ask for that
 *                        +--refused for good, or the token is dead--> ENDING
 *   NEW --adopt--> ACQUIRING --its token holds the lock--> (granted)
 *   HELD, PENDING --not there, or valid_until is past--> lost --> ENDING          any --release--> ENDING
 *   HELD --another one is asked for in its place (a trade, core/trade.c), and granted--> ENDING
 *   ENDING --nothing of it can be executed any more--> ENDED
 *
 * What one server may know of the token is a vote (vote.h); on a quorum a lease has one for each server. How it is
 * acquired and kept by its votes is a strategy; news travel up through struct lsh_lease_events (both in backend.h).
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

/* On what a hold may rely. The core copies it, and never looks inside. */
struct lsh_safety {
	int32_t replicas_ms;        /* how long to wait for the replicas; 0: the client's timeout */
	unsigned char min_replicas; /* nothing counts before so many have acknowledged it; 0: off */
	bool fsynced;               /* and before it is on disk there, and on the server's */
};

/* What an acquire wants; it lies in its op. */
struct lsh_wish {
	int64_t lease_ms;
	int64_t max_hold_ms;        /* 0: no limit */
	int64_t until;              /* then it gives up */
	uint32_t need;              /* of a shared kind */
	bool tries;                 /* once, and takes no place */
	int32_t restart_guard_ms;   /* a server that was restarted grants nothing for so long; 0: off */
	struct lsh_safety safety;
	struct lsh_parker *reader;  /* of the thread that is going to read for it; or NULL */
	int64_t known;              /* of a watch: it waits for another state */
	unsigned rounds;            /* the strategy's: attempts that failed, */
	int64_t rests_until;        /* when the next one may begin, */
	bool contended;             /* others were in the way of the last one, */
	bool denied;                /* and the last one was refused by what does not pass by itself */
	bool answered;              /* what is in its way was told in a server's own words */
	int64_t fence;              /* PENDING: that was granted */
};

enum lsh_lease_state { LSH_NEW, LSH_ACQUIRING, LSH_WAITING, LSH_PENDING, LSH_HELD, LSH_ENDING, LSH_ENDED };

/* The keys of one lock. It is a part of that. */
struct lsh_resource {
	struct lsh_monitor monitor;        /* guards the rest, but for what never changes */
	const struct lsh_kind *kind;
	struct lsh_backend *backend;
	struct lsh_list leases;            /* those that are not ENDED */
	struct lsh_host *_Atomic host;     /* where it lives (in use); in a cluster it may move, while entered */
	union {
		struct lsh_roaming *cluster;   /* resource.h; NULL: a single server, and a kind without a channel */
		struct lsh_turns *quorum;
	};
	uint16_t key_at, key_size;         /* in its owner's memory, behind this; */
	uint16_t shown_at, slot;           /* and from the key on, what is shown of it in messages */
};

/* What a release found. */
enum lsh_found {
	LSH_FOUND_NOT_YET,   /* no answer so far */
	LSH_FOUND_HELD,      /* it held the lock, which is released */
	LSH_FOUND_NOTHING,   /* it did not, any more */
	LSH_FOUND_REFUSED,   /* the server refuses to release it: `why`; it is tried again */
};

enum lsh_vote_state {
	LSH_VOTE_NEW, LSH_VOTE_SENT, LSH_VOTE_GRANTED, LSH_VOTE_PLACED, LSH_VOTE_REFUSED, LSH_VOTE_FAILED,
	LSH_VOTE_ENDING, LSH_VOTE_ENDED,
};

/* What the server may still execute. */
struct lsh_late {
	uint64_t epoch;         /* the connection of the last request, */
	int64_t not_after_us;   /* which is executed until then, by the server's clock; 0: it was answered */
	int64_t earlier_us;     /* the same of those on earlier connections */
	struct lsh_host *host;  /* whose clock that is (in use), while one of the two is not 0 */
};

/* See vote.h. */
struct lsh_vote {
	struct lsh_saying *saying;    /* NULL: nothing is on its way, but perhaps */
	struct lsh_saying *cancel;    /* this; or NULL */
	struct lsh_lease *lease;
	struct lsh_host *host;        /* in use */
	struct lsh_vote *due_next;    /* in the `due` of a host, which then has a reference to the lease and is in use; that
	                                 one's mutex guards it */
	struct lsh_batch *batch;      /* that it is in: being filled, or on its way; or NULL */
	enum lsh_vote_state state : 8;
	enum lsh_found found : 8;
	unsigned char failures;       /* of cancels, in a row */
	unsigned char hops;           /* redirections in a row */
	bool asked : 1;               /* the server may know the token, */
	bool asked_again : 1;         /* once more; the place of the first may have been granted, and its claim be over */
	bool due : 1;                 /* it is in such a `due` */
	bool alone : 1;               /* its next renewal or heartbeat goes out by itself: it has to follow a redirection */
	bool hinted : 1;              /* a message said that it was granted, before what is on its way was answered */
	bool told : 1;                /* a message for it was asked about before */
	bool word_lost : 1;           /* a heartbeat before it was granted was perhaps not executed yet */
	bool cancel_unknown : 1;      /* ENDING: a cancel before may have been executed, */
	bool let_go : 1;              /* or one with one key was: what is left is that the lock is handed on */
	int64_t again_at;             /* REFUSED: when to ask again; ENDING: when to cancel again on the same connection */
	union {
		int64_t counted_from;     /* SENT, PLACED: a grant's claim counts from here: the send time of the first request,
		                             or, if that was the only one, of the last heartbeat that was answered "queued" */
		int64_t keep_fence_at;    /* GRANTED: from then on a renewal sees that the fence stays */
		uint64_t cancel_epoch;    /* ENDING: the connection over which that was tried last */
	};
	struct lsh_late late;
};

/* As many are held as the program likes: a member that only few need is elsewhere. */
struct lsh_lease {
	struct lsh_timer timer;            /* its next renewal, heartbeat or repeated cancel; reserved for its life */
	atomic_uint references;
	enum lsh_lease_state state : 8;
	bool foreign : 1;                  /* its token is not one of this client's */
	bool adopted : 1;                  /* nor were its fences, which may have gone on by hand-offs: so here is none */
	bool adopting : 1;                 /* it is asked whether the token holds the lock */
	bool waited : 1;                   /* it had a place in the queue, so others are likely to have one now */
	bool sharded : 1;                  /* it is told by the lock's own channel */
	bool full : 1;                     /* HELD: for all that is wanted, and not only for a claim */
	bool answered : 1;                 /* ENDING: `ended` was told for good */
	bool trades : 1;                   /* it is asked for in place of another one, */
	bool traded : 1;                   /* which is HELD until that is answered: that it is gone is no loss */
	bool breaks : 1;                   /* ENDING: it is to go wherever it is, and nobody counts on having had it */
	bool watched : 1;                  /* HELD: who has it leads, and others are told of its end */
	bool left : 1;                     /* ENDING: `user` had it, and is to hear of what `ended` tells, once */
	unsigned char count;               /* of its votes */
	unsigned char handed_off;          /* HELD: how often, within the process */
	unsigned char failures;            /* of renewals in a row */
	uint16_t depth;                    /* HELD: for people who look */
	int32_t lease_ms;                  /* asked for */
	int32_t claim_ms;
	int32_t longest_ms;                /* of all leases that were asked for */
	int32_t span_ms;                   /* of the lease that valid_until follows from */
	int32_t extend_ms;                 /* HELD: an extension is awaited, for at least so long; 0: none is */
	uint32_t need;                     /* of a shared kind */
	uint32_t held_after_us;            /* HELD: the present hold began so long after turn_began */
	struct lsh_resource *resource;     /* referenced */
	struct lsh_list link;              /* in resource->leases */
	union {                            /* NULL: nobody */
		struct lsh_wish *want;         /* before it is HELD: of whoever it is for */
		void *user;                    /* HELD, `left`: of the core, whoever has it, or had it */
	};
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
	union {
		int64_t wanted_at;             /* HELD: a renewal was wanted then and is not settled; 0: there is none */
		const char *old;               /* before, if it trades: the other's token with its need */
	};
	struct lsh_safety safety;          /* PENDING, HELD */
	struct lsh_vote votes[];
};

/* A resource for the key, which lies behind it in one piece of memory, with what is shown of it so far behind its
 * beginning. False: there is no server for it, or no memory. */
bool lsh_resource_init(struct lsh_resource *resource, struct lsh_backend *backend, const struct lsh_kind *kind,
                       const char *key, size_t key_size, size_t shown_at);
void lsh_resource_opened(struct lsh_resource *resource); /* it is told of changes, also of those since it was made */
void lsh_resource_destroy(struct lsh_resource *resource); /* nobody else has it */

struct lsh_lease *lsh_lease_new(struct lsh_resource *resource, const struct lsh_wish *want); /* NULL: no memory */
struct lsh_lease *lsh_lease_new_for(struct lsh_resource *resource, const struct lsh_wish *want, const char *token,
                                    size_t size); /* that is there */
struct lsh_lease *lsh_lease_new_instead(struct lsh_lease *old, const struct lsh_wish *want); /* HELD, to be traded */
void lsh_lease_inherit(struct lsh_lease *lease, const struct lsh_lease *old); /* granted: on the terms of the other, */
void lsh_lease_replaced(struct lsh_lease *old); /* which the server has no more; the caller's reference goes with it */
bool lsh_lease_is_unsure(const struct lsh_lease *lease); /* failed: and yet it may have been granted, or be so still */
/* Write its token, with a NUL; returns the length. */
size_t lsh_lease_token(const struct lsh_lease *lease, char out[static LSH_TOKEN_SIZE]);
bool lsh_lease_has_token(const struct lsh_lease *lease, const char *token, size_t size);
/* not ENDED; or NULL */
struct lsh_lease *lsh_lease_find(const struct lsh_resource *resource, const char *token, size_t size);
void lsh_lease_unref(struct lsh_lease *lease); /* entered or not, where another reference keeps it; else not entered */

bool lsh_lease_fits(struct lsh_lease *lease, const struct lsh_wish *want);
void lsh_lease_serve(struct lsh_lease *lease, struct lsh_wish *want); /* it fits: from now on it is for this one */
int64_t lsh_lease_acquire(struct lsh_lease *lease, struct lsh_wish *want); /* see backend.h */
int64_t lsh_lease_adopt(struct lsh_lease *lease, struct lsh_wish *want);
/* HELD: see that it lasts for extend_ms from now. False: it cannot be said now. */
bool lsh_lease_extend(struct lsh_lease *lease, struct lsh_parker *reader);
int64_t lsh_lease_extend_limit(const struct lsh_lease *lease, int64_t now); /* until when it is of use; LSH_NEVER */
void lsh_lease_hand_off(struct lsh_lease *lease); /* from one who held it, on to another one */
int64_t lsh_lease_wants_ms(struct lsh_lease *lease, int64_t now); /* HELD: it is renewed for so long; 0: it must not */
int64_t lsh_lease_renewing_ms(const struct lsh_lease *lease); /* HELD: a renewal under way is for so long, or less */
void lsh_lease_hurry(struct lsh_lease *lease); /* HELD: see to renewals at once, after they were put off */
/* Whoever had it, or waited for it, has no more use for it: what servers may know of it is canceled. The caller's
 * reference goes with it. */
void lsh_lease_release(struct lsh_lease *lease, struct lsh_parker *reader);
/* A token that any server may know: whatever there is of it is to go. */
void lsh_lease_release_everywhere(struct lsh_lease *lease, struct lsh_parker *reader);
bool lsh_lease_is_maybe_broken(const struct lsh_lease *lease); /* somebody may have released it by now */
/* that failed: nothing is tried behind the back of whoever was told so; but on a quorum it goes on */
void lsh_lease_stop_breaking(struct lsh_lease *lease);
void lsh_lease_describe(struct lsh_lease *lease, leash_error *why);
void lsh_lease_check(struct lsh_lease *lease); /* HELD: does the server have it? */

/* Entered. It is ENDING from now on: lost for whoever holds it, or waits for it to be acknowledged; or ACQUIRING,
 * WAITING: its token is dead, and whoever it is for begins with a new one. */
void lsh_lease_lose(struct lsh_lease *lease, const char *why);
void lsh_lease_give_up(struct lsh_lease *lease);

static inline void
lsh_lease_retain(struct lsh_lease *lease)
{
	atomic_fetch_add_explicit(&lease->references, 1, memory_order_relaxed);
}

/* Visit the leases of a resource; the body may end the one that it is at. */
#define lsh_each_lease(at, resource) lsh_list_each(struct lsh_lease, link, at, &(resource)->leases)

static inline const char *
lsh_resource_key(const struct lsh_resource *resource)
{
	return (const char *)resource + resource->key_at;
}

static inline const char *
lsh_resource_shown(const struct lsh_resource *resource)
{
	return lsh_resource_key(resource) + resource->shown_at;
}

static inline struct lsh_host *
lsh_resource_host(const struct lsh_resource *resource)
{
	return atomic_load_explicit(&resource->host, memory_order_acquire);
}

#endif
