/* What the lock layer keeps in memory. Only this folder includes it.
 *
 * One token's life in Redis is a tenure; what an owner has while it lasts is a hold; who wants one is a waiter, in a line:
 *
 *   tenure   NEW --ask sent--> ASKING --answered: queued--> QUEUED --granted: message or word--> HELD --handed on here--> HELD
 *                                 |                                                               ^
 *                                 +--answered: held-----------------------------------------------+
 *            any of them --released, canceled, lost, unknown--> ENDING --answered for good--> ENDED
 *
 *   hold     (waiter) --grant--> UNCONFIRMED --enough replicas acknowledged it--> HELD      (where its terms ask for that, confirm.h:
 *                                   +--too few in time, lost, canceled, closed--> gone       of one that is not, nobody is told)
 *            (waiter) --grant, or handed on here--> HELD <--renewal fails/succeeds--> JEOPARDY
 *            either --outermost release--> gone        either --"not yours", or valid-until is past--> LOST --released as
 *            often as acquired--> gone
 *
 *   waiter   WAITING --grant, or handed on here--> has a hold             WAITING --deadline, cancel, fault, close--> gone
 *
 * The waiters of a line have one tenure between them, which the first of them drives: its thread asks; the keeper says the
 * words. If that one leaves, the next goes on with the same token, where that stands; with the last one it is canceled.
 * A plain lock has one line for all threads of the process, which rests while one of them holds the lock: then the
 * tenure is the hold's, and may be handed on to the first in the line. In a fair lock each waiter is a line of its own, so
 * that each has a place in Redis.
 *
 * A lock has at most one hold that is not LOST, with the one tenure that is HELD. Once ENDING a token is never asked, adopted
 * or held again.
 *
 * Mutexes, in the order in which they are taken: engine->names_mutex, lock->mutex, then the leaves: engine->work_mutex,
 * engine->sites_mutex, and those inside the introduction, the watchdog, the pipe, the courier and, also within work_mutex, the cluster. None
 * is held across I/O or a callback. */
#ifndef LSH_LOCK_STATE_H
#define LSH_LOCK_STATE_H

#include "base/cancel.h"
#include "base/clock.h"
#include "base/courier.h"
#include "base/list.h"
#include "base/map.h"
#include "base/thread.h"
#include "base/token.h"
#include "lock/engine.h"
#include "lock/introduce.h"
#include "redis/command.h"
#include "redis/node.h"
#include "watchdog/watchdog.h"

#include <leash/inspect.h>
#include <leash/lock.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The largest that a script counts exactly, of fences and of the server's clock. Shown it is 256 times that, and fits into 64 bits. */
#define LSH_FENCE_MAX ((INT64_C(1) << 53) - 1)
/* For the scripts a fence is no further ahead of the server's clock than that. */
#define LSH_FENCE_AHEAD_US (INT64_C(31536000) * 1000000)

enum {
	LSH_SUFFIX_SIZE = 160, /* of cfg, behind the claim */
	LSH_CFG_SIZE = LSH_SUFFIX_SIZE + LSH_DECIMAL_DIGITS,
	LSH_CHANNEL_SIZE = 80 + LSH_UUID_SIZE,
	LSH_SITES_MAX = 1024,
};

/* What is told of a hold; the letters lie in it, so that telling allocates nothing. */
struct lsh_notice {
	struct lsh_letter letter;
	struct lsh_hold *hold;
	leash_event_type type;
	int64_t remaining_ms;
	const char *text;
	unsigned acknowledged, wanted; /* replicas: "1 of 2" in front of the text, unless 0 were wanted */
};

struct lsh_hold {
	struct lsh_list link;    /* lost: in lock->lost */
	struct lsh_lock *lock;
	struct leash_owner *owner; /* referenced */
	struct lsh_tenure *tenure; /* unless it is lost */
	unsigned depth;
	uint64_t fence;          /* as shown */
	struct lsh_terms terms;
	int64_t ends_at;         /* by max_hold_ms; LSH_NEVER: no limit */
	_Atomic int64_t alive_at; /* the last leash_lock_alive() */
	bool jeopardy;
	bool confirmed;          /* until then it is not its owner's yet, and its reference, once it is over, its waiter's again */
	struct lsh_list awaiting; /* struct lsh_confirmation */
	atomic_uint references;  /* the lock's or its waiter's, and one for each notice under way */
	struct lsh_notice jeopardized, recovered, lost, abandoned, regressed;
};

enum lsh_channel_state { LSH_DEAF, LSH_LISTENS_SOON, LSH_LISTENS };

enum lsh_phase { LSH_NEW, LSH_ASKING, LSH_QUEUED, LSH_HELD, LSH_ENDING, LSH_ENDED };

struct lsh_tenure {
	struct lsh_timer timer;      /* the next renewal, word, or repeated cancel; its slot is reserved for the tenure's life */
	atomic_uint references;
	struct lsh_lock *lock;       /* referenced; lock->mutex guards all below */
	struct lsh_line *line;       /* for which it asks or waits; else NULL */
	enum lsh_phase phase;
	char token[LSH_TOKEN_SIZE];
	size_t token_size;
	char cfg[LSH_CFG_SIZE];
	bool sharded;                /* that says SPUBLISH */
	int64_t lease_ms;            /* asked for, and told to Redis in words */
	int64_t claim_ms;
	bool asked;                  /* an ask has been appended to a pipe: Redis may know the token */
	bool asked_again;            /* when it perhaps had a place already: that may have been granted, and the claim have run out, unknown to us */
	bool owed;                   /* ENDING: its cancel is the keeper's to send */
	int64_t longest_ms;          /* of all leases that were asked for */
	int64_t lapses_at;           /* ENDING: nothing of it can be in Redis any more, whatever became of the cancel */
	bool adopted;                /* the token is another client's: whose fences may have gone on by hand-offs, so here is none */
	bool told;                   /* a message for it was asked about before (wakeup.c) */
	bool hinted;                 /* it was heard to be granted before its ask was answered, by hearsay (wakeup.c) */
	bool waited;                 /* it had a place in the queue, so others are likely to have one now */
	bool send_whole;             /* the server lacks the script */
	int64_t counted_from;        /* a grant's claim counts from here: the send time of the first ask, or, if that was the only one, of the last word answered "queued" */
	int64_t valid_until;         /* HELD */
	int64_t span;                /* HELD: of the lease that valid_until follows from, ns */
	bool full_lease;             /* HELD: for all that the hold asks for, and not only for a claim */
	int64_t turn_began;          /* HELD: when this process got it */
	unsigned handed_on;          /* HELD: how often since then, within the process */
	int64_t wanted_at;           /* HELD: the keeper, or a confirmer, was asked for a renewal then and has not settled it; 0: there is none */
	unsigned failures;           /* of renewals, or of cancels, in a row */
	unsigned redirections;       /* of what the keeper sent, in a row */
	bool plain;                  /* ENDING: its slot is moving, try HDEL alone; */
	bool forgotten;              /* that was done, and what is left is to hand the lock on */
	struct lsh_site *ask_site;   /* where the last ask went (in use), */
	uint64_t ask_home;           /* where the lock lived then (serial), and */
	uint64_t ask_epoch;          /* over which connection; no two of all sites have the same */
	int64_t not_after_us;        /* of the last ask, by the server's clock */
	int64_t ghost_until_us;      /* asks that went down with earlier connections may still be executed until then; 0: there are none */

	/* The ask that is on its way; the tenure is referenced for it. Its waiter, and nobody else, hears the answer. */
	struct lsh_ticket ticket;
	int64_t ask_sent;
	bool ask_placed;             /* it asked for a place */
	bool asked_before;           /* what `asked` was, */
	int64_t not_after_before_us; /* and not_after_us */

	struct lsh_ballot *ballot;   /* of a quorum: what each of its servers knows of the token; else NULL */

	struct lsh_list work_link;   /* in the `work` of a site, which then has a reference; engine->work_mutex guards these four */
	struct lsh_site *work_site;  /* of which; in use while it is in the list */
	bool asks;                   /* that is not where the lock lives: it was sent there for once (ASK) */
	struct lsh_list owed_link;   /* in engine->owed, likewise */
	struct lsh_list confirm_link; /* in the `work` of a confirmer, likewise, */
	struct lsh_confirmer *confirmer; /* of which, */
	bool confirm_asks;           /* which is not one where the lock lives: it was sent there for once (ASK) */
};

/* Waiters for whom one tenure speaks. */
struct lsh_line {
	struct lsh_list link;        /* in lock->lines */
	struct lsh_list waiters;     /* struct lsh_waiter, in order of arrival */
	struct lsh_tenure *tenure;   /* NEW, ASKING or QUEUED; or NULL */
};

struct lsh_waiter {
	struct lsh_list link;        /* in line->waiters */
	struct lsh_lock *lock;
	struct lsh_line *line;
	struct lsh_line own;         /* the line, in a fair lock */
	struct lsh_thread *thread;
	struct leash_cancel *cancel; /* or NULL */
	struct lsh_hold *hold;       /* made beforehand, so that a grant cannot fail */
	struct lsh_tenure *asking;   /* whose ask is on its way, for this one to hear; or NULL */
	int64_t deadline;
	bool tries;                  /* once, and takes no place */
	bool granted;
	bool refused;                /* by the last answer: somebody else had it */
	atomic_bool signaled;        /* look again */
	bool answered;               /* the trouble is in the server's own words */
	bool denied;                 /* an attempt to connect was refused while it waited: `trouble` says why, and stands */
	bool denied_before;          /* the trouble was a refused password, before the last attempt to connect */
	struct lsh_site *asks;       /* where its next ask goes, for once (ASK; in use); or NULL */
	unsigned redirections;       /* in a row */
	bool hopeless;               /* of a quorum: there is to be no further round */
	unsigned rounds;             /* likewise: that it lost, */
	int64_t rests_until;         /* and when the next one may begin */
	leash_status trouble;        /* why the server did not serve it, the last time */
	int trouble_errno;
	char trouble_text[200];
};

/* What was done, for leash_client_stats(). */
struct lsh_counts {
	uint64_t acquired, handed_on, waited, released, lost, abandoned, renewed, renewals_failed, gave_up;
};

/* A release whose answer a thread awaits; it lies on that thread's stack. */
struct lsh_releasing {
	struct lsh_list link; /* in lock->releasing */
	struct lsh_tenure *tenure;
};

struct lsh_lock {
	struct lsh_map_node node;    /* in engine->names, by its key */
	struct lsh_engine *engine;
	struct lsh_site *_Atomic site; /* where it lives (in use); in a cluster it may move, with the mutex held */
	unsigned slot;               /* in a cluster */
	atomic_uint references;      /* handles, tenures, holds */
	unsigned handles;            /* engine->names_mutex guards it */
	char *name, *shown;          /* as given; for messages */
	char *key[3];                /* lock, fence, queue */
	size_t key_size[3];

	bool fair;                   /* as its handles agree; engine->names_mutex guards it while there are none */

	/* What leash_lock_held() reads without the mutex: whose the hold is, 0 if there is none, and until when it is valid. */
	_Atomic uint64_t holder;
	_Atomic int64_t valid_until;

	pthread_mutex_t mutex;       /* guards the rest */
	struct lsh_hold *hold;
	struct lsh_list lost;        /* holds that are still to be unwound */
	struct lsh_list lines;       /* struct lsh_line; of a fair lock in order of arrival */
	struct lsh_line plain;       /* the one line of a lock that is not fair */
	struct lsh_list releasing;   /* struct lsh_releasing */
	struct lsh_list questions;   /* of a quorum: struct lsh_ballot, that are awaited */
	int64_t rests_until;         /* likewise: others are let in, see lsh_round_let_others(); */
	int64_t contended_at;        /* when another client was in the way last; 0: never */
	unsigned turns;              /* that ended while threads waited here */
	enum lsh_channel_state channel; /* of its own channel in a cluster, see channel.h, */
	struct lsh_site *channel_site; /* of where it was asked for (NULL or where the lock lives), */
	int64_t channel_wanted;      /* and when somebody needed it last */
	unsigned disowned;           /* how often a hold of an adopted token has ended here, or the lock was broken from here */
	struct lsh_counts counts;
	uint64_t last_fence;
};

struct lsh_ballot;
struct lsh_cluster;
struct lsh_confirmer;
struct lsh_job;
struct lsh_quorum;

/* A server, as the engine uses it: the node, and what its keeper has to do there. */
struct lsh_site {
	struct lsh_engine *engine;
	_Atomic int64_t accused_at;  /* when the log was told last of a fence that cannot be; 0: never */
	uint64_t serial;             /* no two sites of the process have the same */
	const struct lsh_uri *uri;   /* of the server; outlives the site */
	struct lsh_node *node;
	struct lsh_confirmer *confirmers; /* a list that only grows; engine->work_mutex guards it */
	struct lsh_job *jobs;        /* the keeper's */
	struct lsh_list work;        /* tenures for which the keeper has something to send; engine->work_mutex guards it */
	struct lsh_introduction introduction;
	int number;                  /* in a cluster: of the server */
	atomic_bool serves;          /* some slot, by the map */
	atomic_bool unheard;         /* something was appended whose answer nobody hears: the keeper is to see that it is read */
	atomic_bool sharded;         /* in a cluster: the server has channels in slots */
	struct lsh_list left;        /* channels that the keeper is to leave; engine->work_mutex guards it */
	int64_t swept;               /* the keeper's: when it looked for such */
	_Atomic int64_t introduce_ms; /* in a cluster: the keeper is to introduce the client, for a lease so long; 0: it need not, */
	_Atomic int64_t introduce_after; /* or not yet */
	int64_t doubt_at;            /* the keeper's: from then on it is not reached for too long; 0: at once; LSH_NEVER: it was not tried yet */

	/* of a quorum */
	size_t index;                /* in engine->sites */
	struct lsh_list legs;        /* in place of `work`, likewise: those of which there is something to send or to hear */
	struct lsh_parker *_Atomic keeper; /* who hears; NULL: it has not been there yet */
	atomic_uint owed_legs;       /* whose cancel is not answered for good, */
	atomic_uint loose_legs;      /* and of those the ones for which none is on its way */
	_Atomic uint64_t released_epoch; /* the connection over which a cancel was executed last: so it is known to need no second try there */
};

struct lsh_engine {
	struct lsh_engine_options options;
	const struct lsh_engine_ops *ops;
	void *ctx;
	char uuid[LSH_UUID_SIZE + 1];
	char client_name[80];             /* what options.client_name points to */
	char channel[LSH_CHANNEL_SIZE];   /* on which grants are told to this client */
	char fence_ttl[LSH_DECIMAL_SIZE]; /* options.fence_ttl_ms */
	char cfg_suffix[LSH_SUFFIX_SIZE]; /* " <fence> <alive> <exact> <PUBLISH> <channel prefix>" */
	char cfg_try[LSH_CFG_SIZE];       /* the same behind a claim of 0: take no place */
	char cfg_sharded_suffix[LSH_SUFFIX_SIZE], cfg_sharded_try[LSH_CFG_SIZE]; /* both where the server has channels in slots */
	struct lsh_cluster *cluster;      /* NULL: all locks live at the one site */
	unsigned client_slot;             /* of the key where the client introduces itself */
	_Atomic size_t site_count;        /* all are below that */
	struct lsh_site *_Atomic sites[LSH_SITES_MAX]; /* in a cluster by the numbers of the servers, some of which may have none */
	struct lsh_site *_Atomic ending;  /* in a cluster: one that is being given up */
	_Atomic uint64_t commands_gone, connects_gone; /* of sites that were */
	struct lsh_quorum *quorum;        /* or NULL: a lock is on one server at a time */
	struct lsh_watchdog *watchdog;
	struct lsh_courier *courier;
	struct lsh_numbers numbers;       /* of its tokens */
	_Atomic int64_t asks_spent, ghosts_spent, warnings_spent; /* because of messages, see wakeup.c */
	atomic_bool closing;
	_Atomic int32_t inside;           /* threads that wait for a lock, or for an answer; the closer waits for them */
	struct lsh_parker *_Atomic closer;

	pthread_mutex_t sites_mutex; /* held while a site is added or taken away */
	bool sites_closed;           /* none is added any more; it guards this */

	pthread_mutex_t names_mutex; /* guards names, gone, and the handles of each lock */
	struct lsh_map names;
	struct lsh_counts gone;      /* of locks that were freed */

	pthread_mutex_t work_mutex;  /* guards the rest, and the links of tenures in the lists */
	bool stopped;                /* there is no keeper any more: what is not canceled lapses */
	struct lsh_list owed;        /* ENDING tenures whose cancel is not answered for good */
};

/* site.c */
/* Connects by itself; `number` is that of the server in a cluster. NULL: no memory, threads or descriptors. */
struct lsh_site *lsh_site_new(struct lsh_engine *engine, const struct lsh_uri *uri, int number);
void lsh_site_free(struct lsh_site *site); /* when its node is stopped, or was never started; NULL is allowed */
/* A command that asks for a lease of so many ms is about to be appended at the site, whose connection is or was `epoch`: see that people
 * can be told who that is. */
void lsh_site_introduce(struct lsh_site *site, uint64_t epoch, int64_t lease_ms, int64_t now);
/* And that they can still be told who another one is, whose token is held on here. */
void lsh_site_prolong(struct lsh_site *site, const char *token, int64_t lease_ms, int64_t now);
void lsh_sites_bring_up_owed(struct lsh_engine *engine, const struct lsh_site *site); /* there; or, NULL, everywhere */

/* In a cluster a site is given up once its server has no slot and the site is in use by nobody (route.c). In use it is by each lock that lives
 * there, by what is marked so above, and by whoever holds no mutex under which that stays so: by lsh_site_use() where it is in use anyway, else by
 * lsh_site_get() or what else says that it returns one in use. lsh_site_leave() ends that; NULL is allowed. */
void lsh_site_use(struct lsh_site *site);
void lsh_site_leave(struct lsh_site *site);
void lsh_site_keep(struct lsh_site **kept, struct lsh_site *site); /* use this one, and leave the one before; either may be NULL */
/* The sites that there are at the moment: for (i = 0; i < lsh_site_count(e); i++) if ((site = lsh_site_get(e, i)) != NULL) ... */
struct lsh_site *lsh_site_get(struct lsh_engine *engine, size_t i);

/* The same without a use: where none is given up (no cluster, or after lsh_route_stop()), or the number is in use. */
static inline size_t
lsh_site_count(const struct lsh_engine *engine)
{
	return atomic_load_explicit(&engine->site_count, memory_order_acquire);
}

static inline struct lsh_site *
lsh_site_at(const struct lsh_engine *engine, size_t i)
{
	return atomic_load_explicit(&engine->sites[i], memory_order_acquire);
}

static inline struct lsh_site *
lsh_lock_site(const struct lsh_lock *lock)
{
	return atomic_load_explicit(&lock->site, memory_order_acquire);
}

static inline struct lsh_node *
lsh_lock_node(const struct lsh_lock *lock)
{
	return lsh_lock_site(lock)->node;
}

/* stats.c */
void lsh_counts_add(struct lsh_counts *sum, const struct lsh_counts *counts);

/* names.c */
/* Call `last` with lock->mutex held if it was the last one. The reference is still the caller's. */
void lsh_lock_drop_handle(struct lsh_lock *lock, void (*last)(struct lsh_lock *lock));
void lsh_lock_retain(struct lsh_lock *lock);
void lsh_lock_unref(struct lsh_lock *lock);
struct lsh_lock *lsh_lock_find_by_key(struct lsh_engine *engine, const char *key, size_t size); /* with a reference; or NULL */
/* Call `visit` with each lock and its mutex held. */
void lsh_lock_each(struct lsh_engine *engine, void (*visit)(struct lsh_lock *lock, void *arg), void *arg);
/* The same, and what was done through those that are there no more: each lock is in one of both. */
void lsh_lock_each_and_gone(struct lsh_engine *engine, struct lsh_counts *gone, void (*visit)(struct lsh_lock *lock, void *arg), void *arg);

/* tenure.c; lock->mutex held, but for the references */
struct lsh_tenure *lsh_tenure_new(struct lsh_lock *lock, const struct lsh_terms *terms); /* in no line yet. NULL: no memory */
struct lsh_tenure *lsh_tenure_new_for(struct lsh_lock *lock, const struct lsh_terms *terms, const char *token, size_t size); /* of a token that is there */
bool lsh_tenure_is_for(const struct lsh_tenure *tenure, const char *token, size_t size);
/* The one that holds the lock or waits for it by this token, or NULL. */
struct lsh_tenure *lsh_tenure_find(struct lsh_lock *lock, const char *token, size_t size);
/* The one whose cancel is owed for this token, with a reference; or NULL. No mutex needed. */
struct lsh_tenure *lsh_tenure_find_owed(struct lsh_engine *engine, const char *token, size_t size);
/* Whoever goes on with it, goes on on terms of their own; but the claim, a part of its place, stays. */
void lsh_tenure_adopt(struct lsh_tenure *tenure, const struct lsh_terms *terms);
int64_t lsh_tenure_lease_ms(const struct lsh_terms *terms); /* that is asked for on these */
void lsh_tenure_retain(struct lsh_timer *timer);
void lsh_tenure_unref(struct lsh_tenure *tenure);
/* Its token is dead from now on. What Redis may know of it is canceled by the keeper. It leaves its line, and its timer is silent. */
void lsh_tenure_end(struct lsh_tenure *tenure);
/* The same for a releaser, who cancels it itself; then either lsh_tenure_owe() or lsh_tenure_settle(). */
void lsh_tenure_begin_end(struct lsh_tenure *tenure);
void lsh_tenure_owe(struct lsh_tenure *tenure);
void lsh_tenure_settle(struct lsh_tenure *tenure);
/* A cancel sent at `sent` over connection `epoch` was answered: can no ask of it be executed later? And if one can, */
bool lsh_tenure_is_settled(const struct lsh_tenure *tenure, uint64_t epoch, int64_t sent);
int64_t lsh_tenure_settles_at(const struct lsh_tenure *tenure, uint64_t epoch, int64_t now); /* when one would be that is sent later */
void lsh_tenure_arm(struct lsh_tenure *tenure, int64_t due, int64_t slack);
/* Let the keeper see to it, of the site where the lock lives. Any mutex but work_mutex may be held. */
void lsh_tenure_give_work(struct lsh_tenure *tenure);
void lsh_tenure_give_work_next(struct lsh_tenure *tenure); /* before all others */
void lsh_tenure_give_work_to(struct lsh_tenure *tenure, struct lsh_site *site, bool asks); /* or of this one */
void lsh_tenure_put(struct lsh_tenure *tenure, struct lsh_site *site, bool asks); /* the half of that for which engine->work_mutex is held */

/* hold.c; lock->mutex held */
struct lsh_hold *lsh_hold_new(struct lsh_lock *lock, struct leash_owner *owner, const struct lsh_terms *terms); /* NULL: no memory */
void lsh_hold_unref(struct lsh_hold *hold);
struct lsh_hold *lsh_hold_of(struct lsh_lock *lock, uint64_t owner); /* held or lost; or NULL */
struct lsh_hold *lsh_hold_check(struct lsh_lock *lock, uint64_t owner); /* the same, and if its lease has run out it is lost now */
/* The mutex was released meanwhile: is it the hold that it was, of a tenure that is referenced? What was handed on, or got anew, may lie where it
 * lay. */
bool lsh_hold_is_still(const struct lsh_lock *lock, const struct lsh_hold *hold, const struct lsh_tenure *tenure);
leash_status lsh_hold_gone(struct lsh_lock *lock, uint64_t owner, leash_error *err); /* it is not, and this is why */
/* Give the lock, held by `tenure` for `lease` (ns) from `sent` on, to the first of its line. False: that is over already, or the
 * client is being closed; nothing was done. A hold that is there already has been lost, then: the server gave the lock away. */
bool lsh_hold_grant(struct lsh_lock *lock, struct lsh_tenure *tenure, int64_t fence, int64_t sent, int64_t lease, bool is_claim);
/* May a hold on these terms begin, so long after the server started? By a message: one that came now. */
extern const char lsh_hold_no_uptime[]; /* why a guard cannot be kept, behind "<server>: " */
bool lsh_hold_is_guarded(struct lsh_lock *lock, const struct lsh_terms *terms, int64_t now, bool by_message);
/* The same as lsh_hold_grant() with a token that another client got, for `hold`. */
bool lsh_hold_adopt(struct lsh_lock *lock, struct lsh_hold *hold, struct lsh_tenure *tenure, int64_t fence, int64_t sent, int64_t lease);
/* Take the lock from its hold and give it, with the tenure, to the first of the line without asking Redis. NULL: that is not
 * allowed (now), nothing was done; else the hold is over for its owner, and the thread is to be woken without the mutex. */
struct lsh_thread *lsh_hold_hand_on(struct lsh_lock *lock);
/* The lock's hold is its owner's from now on, until the tenure's valid-until. */
void lsh_hold_confirm(struct lsh_lock *lock, int64_t now);
/* An answer to its renewal: say so where the key had no TTL, for the reader of the log. Nobody else notices. */
void lsh_hold_heed_renewal(const struct lsh_lock *lock, const struct lsh_node *node, int64_t answer);
/* Set the watchdog, after the lease was taken or renewed for `lease` (ns) by a command sent at `sent`. */
void lsh_hold_schedule(struct lsh_lock *lock, struct lsh_tenure *tenure, int64_t sent, int64_t lease);
void lsh_hold_renewed(struct lsh_lock *lock, struct lsh_tenure *tenure, int64_t sent, int64_t lease); /* ns */
void lsh_hold_endanger(struct lsh_lock *lock, const char *why);
void lsh_hold_endanger_short(struct lsh_lock *lock, unsigned acknowledged, unsigned wanted, const char *why); /* "1 of 2", and `why` */
void lsh_hold_recover(struct lsh_lock *lock);
void lsh_hold_lose(struct lsh_lock *lock, const char *why);
/* The hold is over for its owner: take it off the lock and return the tenure, for the caller to end. Who awaits that it is confirmed is
 * told, and then has the reference to one that was not. */
struct lsh_tenure *lsh_hold_finish(struct lsh_lock *lock);
void lsh_hold_abandon(struct lsh_lock *lock, struct lsh_hold *hold, const char *why);
void lsh_hold_unwind(struct lsh_lock *lock, struct lsh_hold *hold); /* a lost one: forget it */
/* How long a renewal at `now` may ask for; 0: it must not be renewed (any more, or at the moment). */
int64_t lsh_hold_wants_ms(const struct lsh_hold *hold, const struct lsh_tenure *tenure, int64_t now);
bool lsh_hold_is_hung(const struct lsh_hold *hold, int64_t now);
/* Past its valid-until: why it ends there. */
const char *lsh_hold_why_over(const struct lsh_hold *hold, const struct lsh_tenure *tenure, int64_t now);

/* waiter.c; lock->mutex held */
void lsh_waiter_wake(struct lsh_waiter *waiter);
/* No mutex needed: canceled, or the client is being closed; and that or told to look again. */
bool lsh_waiter_is_over(const struct lsh_waiter *waiter);
bool lsh_waiter_is_signaled(const struct lsh_waiter *waiter);
/* Sleep until `at`, a signal or the deadline. The mutex is released meanwhile. */
void lsh_waiter_sleep(struct lsh_waiter *waiter, int64_t at);
struct lsh_waiter *lsh_line_first(const struct lsh_line *line); /* or NULL */
void lsh_line_wake(struct lsh_line *line);                      /* the first of it */
void lsh_lines_deny(struct lsh_lock *lock, const leash_error *why); /* no waiter of this lock is served: each is told so */
void lsh_lock_wake(struct lsh_lock *lock); /* after a hold has ended: a plain line rests no more */

/* ask.c; lock->mutex held. Ask for the first of the line, which then hears the answer, if that needs no waiting; else wake it. */
void lsh_line_ask(struct lsh_lock *lock, struct lsh_line *line);

/* Around what close has to wait for. */
void lsh_engine_go_in(struct lsh_engine *engine);
void lsh_engine_go_out(struct lsh_engine *engine);

/* look.c: the server's answer about the lock, all but who its holder is. lock->mutex held; released meanwhile. */
leash_status lsh_look(struct lsh_lock *lock, int64_t deadline, struct lsh_thread *self, leash_lock_info *info, leash_error *err);

/* renewal.c */
void lsh_renewal_fire(void *ctx, const struct lsh_due *due, size_t count); /* the watchdog's thread */
void lsh_renewal_work(struct lsh_site *site);                             /* the keeper's */
bool lsh_renewal_jobs_new(struct lsh_site *site);

/* wakeup.c */
void lsh_wakeup_message(struct lsh_site *site, const char *text, size_t size);

#endif
