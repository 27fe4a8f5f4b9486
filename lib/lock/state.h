/* What the lock layer keeps in memory. Only this folder includes it.
 *
 * One token's life in Redis is a tenure; what an owner has while it lasts is a hold; who wants one is a waiter:
 *
 *   tenure   NEW --ask sent--> ASKING --answered: queued--> QUEUED --granted: message or word--> HELD
 *                                 |                                                               ^
 *                                 +--answered: held-----------------------------------------------+
 *            any of them --released, canceled, lost, unknown--> ENDING --answered for good--> ENDED
 *
 *   hold     (waiter) --grant--> HELD <--renewal fails/succeeds--> JEOPARDY
 *            either --outermost release--> gone        either --"not yours", or valid-until is past--> LOST --released as
 *            often as acquired--> gone
 *
 *   waiter   WAITING --grant--> has a hold             WAITING --deadline, fault, close--> gone
 *
 * A lock of one process has at most one tenure that is not ENDING, and one hold that is not LOST. The first of its waiters drives
 * the tenure: its thread asks; the keeper says the words. Once ENDING a token is never asked, adopted or held again.
 *
 * Mutexes, in the order in which they are taken: engine->names_mutex, lock->mutex, then the leaves: engine->work_mutex, and
 * those inside the watchdog, the pipe and the courier. None is held across I/O or a callback. */
#ifndef LSH_LOCK_STATE_H
#define LSH_LOCK_STATE_H

#include "base/clock.h"
#include "base/courier.h"
#include "base/list.h"
#include "base/map.h"
#include "base/thread.h"
#include "base/token.h"
#include "lock/engine.h"
#include "redis/command.h"
#include "redis/node.h"
#include "watchdog/watchdog.h"

#include <leash/lock.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define LSH_FENCE_MAX (INT64_MAX / 256) /* of the server: what is shown is 256 times that */

enum {
	LSH_SUFFIX_SIZE = 160, /* of cfg, behind the claim */
	LSH_CFG_SIZE = LSH_SUFFIX_SIZE + LSH_DECIMAL_DIGITS,
};

/* What is told of a hold; the letters lie in it, so that telling allocates nothing. */
struct lsh_notice {
	struct lsh_letter letter;
	struct lsh_hold *hold;
	leash_event_type type;
	int64_t remaining_ms;
	const char *text;
};

struct lsh_hold {
	struct lsh_list link;    /* lost: in lock->lost */
	struct lsh_lock *lock;
	struct lsh_thread *thread;
	uint64_t owner;          /* the thread's id */
	unsigned depth;
	uint64_t fence;          /* as shown */
	struct lsh_terms terms;
	int64_t ends_at;         /* by max_hold_ms; LSH_NEVER: no limit */
	_Atomic int64_t alive_at; /* the last leash_lock_alive() */
	bool jeopardy;
	atomic_uint references;  /* the lock's or its waiter's, and one for each notice under way */
	struct lsh_notice jeopardized, recovered, lost, abandoned, regressed;
};

enum lsh_phase { LSH_NEW, LSH_ASKING, LSH_QUEUED, LSH_HELD, LSH_ENDING, LSH_ENDED };

struct lsh_tenure {
	struct lsh_timer timer;      /* the next renewal, word, or repeated cancel; its slot is reserved for the tenure's life */
	atomic_uint references;
	struct lsh_lock *lock;       /* referenced; lock->mutex guards all below */
	enum lsh_phase phase;
	char token[LSH_TOKEN_SIZE];
	size_t token_size;
	char cfg[LSH_CFG_SIZE];
	int64_t lease_ms;            /* asked for, and told to Redis in words */
	int64_t claim_ms;
	bool asked;                  /* an ask has been appended to a pipe: Redis may know the token */
	bool owed;                   /* ENDING: its cancel is the keeper's to send */
	int64_t longest_ms;          /* of all leases that were asked for */
	int64_t lapses_at;           /* ENDING: nothing of it can be in Redis any more, whatever became of the cancel */
	bool send_whole;             /* the server lacks the script */
	int64_t counted_from;        /* a grant's claim counts from here: the send time of the first ask, or of the last word answered "queued" */
	int64_t valid_until;         /* HELD */
	bool full_lease;             /* HELD: for all that the hold asks for, and not only for a claim */
	int64_t wanted_at;           /* HELD: the keeper was asked for a renewal then and has not settled it; 0: there is none */
	unsigned failures;           /* of renewals, or of cancels, in a row */
	uint64_t ask_epoch;          /* of the connection that carried the last ask */
	int64_t not_after_us;        /* of the last ask, by the server's clock */
	int64_t ghost_until_us;      /* asks that went down with earlier connections may still be executed until then; 0: there are none */

	struct lsh_list work_link;   /* in engine->work, which then has a reference; engine->work_mutex guards both */
	struct lsh_list owed_link;   /* in engine->owed, likewise */
};

struct lsh_waiter {
	struct lsh_list link;        /* in lock->waiters */
	struct lsh_thread *thread;
	struct lsh_hold *hold;       /* made beforehand, so that a grant cannot fail */
	int64_t deadline;
	bool tries;                  /* once, and takes no place */
	bool granted;
	bool refused;                /* by the last answer: somebody else had it */
	atomic_bool signaled;        /* look again */
	bool answered;               /* the trouble is in the server's own words */
	bool denied_before;          /* the trouble was a refused password, before the last attempt to connect */
	leash_status trouble;        /* why the server did not serve it, the last time */
	int trouble_errno;
	char trouble_text[200];
};

struct lsh_lock {
	struct lsh_map_node node;    /* in engine->names, by its key */
	struct lsh_engine *engine;
	atomic_uint references;      /* handles, tenures, holds */
	unsigned handles;            /* engine->names_mutex guards it */
	char *name, *shown;          /* as given; for messages */
	char *key[3];                /* lock, fence, queue */
	size_t key_size[3];

	/* What leash_lock_held() reads without the mutex: whose the hold is, 0 if there is none, and until when it is valid. */
	_Atomic uint64_t holder;
	_Atomic int64_t valid_until;

	pthread_mutex_t mutex;       /* guards the rest */
	struct lsh_tenure *tenure;
	struct lsh_hold *hold;
	struct lsh_list lost;        /* holds that are still to be unwound */
	struct lsh_list waiters;     /* struct lsh_waiter, in order of arrival */
	unsigned releasing;          /* threads that await the answer to a release */
	uint64_t last_fence;
};

struct lsh_job;

struct lsh_engine {
	struct lsh_engine_options options;
	const struct lsh_engine_ops *ops;
	void *ctx;
	char uuid[LSH_UUID_SIZE + 1];
	char cfg_suffix[LSH_SUFFIX_SIZE]; /* " <alive> <exact> <PUBLISH> <channel prefix>" */
	char cfg_try[LSH_CFG_SIZE];       /* the same behind a claim of 0: take no place */
	struct lsh_node *node;
	struct lsh_watchdog *watchdog;
	struct lsh_courier *courier;
	struct lsh_job *jobs;             /* the keeper's */
	_Atomic uint64_t last_token;
	atomic_bool closing;
	_Atomic int32_t inside;           /* threads that wait for a lock, or for an answer; the closer waits for them */
	struct lsh_parker *_Atomic closer;

	pthread_mutex_t names_mutex; /* guards names, and the handles of each lock */
	struct lsh_map names;

	pthread_mutex_t work_mutex;  /* guards the rest, and the links of tenures in the lists */
	bool stopped;                /* there is no keeper any more: what is not canceled lapses */
	struct lsh_list work;        /* tenures for which the keeper has something to send */
	struct lsh_list owed;        /* ENDING tenures whose cancel is not answered for good */
};

/* names.c */
/* Call `last` with lock->mutex held if it was the last one. The reference is still the caller's. */
void lsh_lock_drop_handle(struct lsh_lock *lock, void (*last)(struct lsh_lock *lock));
void lsh_lock_retain(struct lsh_lock *lock);
void lsh_lock_unref(struct lsh_lock *lock);
struct lsh_lock *lsh_lock_find_by_key(struct lsh_engine *engine, const char *key, size_t size); /* with a reference; or NULL */
/* Call `visit` with each lock and its mutex held. */
void lsh_lock_each(struct lsh_engine *engine, void (*visit)(struct lsh_lock *lock, void *arg), void *arg);

/* tenure.c; lock->mutex held, but for the references */
struct lsh_tenure *lsh_tenure_new(struct lsh_lock *lock, const struct lsh_terms *terms); /* NULL: no memory */
void lsh_tenure_retain(struct lsh_timer *timer);
void lsh_tenure_unref(struct lsh_tenure *tenure);
/* Its token is dead from now on. What Redis may know of it is canceled by the keeper. It leaves its lock, and its timer is silent. */
void lsh_tenure_end(struct lsh_tenure *tenure);
/* The same for a releaser, who cancels it itself; then either lsh_tenure_owe() or lsh_tenure_settle(). */
void lsh_tenure_begin_end(struct lsh_tenure *tenure);
void lsh_tenure_owe(struct lsh_tenure *tenure);
void lsh_tenure_settle(struct lsh_tenure *tenure);
/* A cancel sent at `sent` over connection `epoch` was answered: can no ask of it be executed later? */
bool lsh_tenure_is_settled(const struct lsh_tenure *tenure, uint64_t epoch, int64_t sent);
void lsh_tenure_arm(struct lsh_tenure *tenure, int64_t due, int64_t slack);
/* Let the keeper see to it. Any mutex but work_mutex may be held. */
void lsh_tenure_give_work(struct lsh_tenure *tenure);

/* hold.c; lock->mutex held */
struct lsh_hold *lsh_hold_new(struct lsh_lock *lock, struct lsh_thread *thread, const struct lsh_terms *terms); /* NULL: no memory */
void lsh_hold_unref(struct lsh_hold *hold);
struct lsh_hold *lsh_hold_of(struct lsh_lock *lock, uint64_t owner); /* held or lost; or NULL */
struct lsh_hold *lsh_hold_check(struct lsh_lock *lock, uint64_t owner); /* the same, and if its lease has run out it is lost now */
/* Give the lock, held by `tenure` for `lease` (ns) from `sent` on, to the first waiter. False: that is over already, or the
 * client is being closed; nothing was done. */
bool lsh_hold_grant(struct lsh_lock *lock, struct lsh_tenure *tenure, int64_t fence, int64_t sent, int64_t lease, bool is_claim);
/* Set the watchdog, after the lease was taken or renewed for `lease` (ns) by a command sent at `sent`. */
void lsh_hold_schedule(struct lsh_lock *lock, struct lsh_tenure *tenure, int64_t sent, int64_t lease);
void lsh_hold_renewed(struct lsh_lock *lock, struct lsh_tenure *tenure, int64_t valid_until);
void lsh_hold_endanger(struct lsh_lock *lock, const char *why);
void lsh_hold_recover(struct lsh_lock *lock);
void lsh_hold_lose(struct lsh_lock *lock, const char *why);
/* The hold is over for its owner: take it off the lock and return the tenure, for the caller to end. */
struct lsh_tenure *lsh_hold_finish(struct lsh_lock *lock);
void lsh_hold_abandon(struct lsh_lock *lock, struct lsh_hold *hold, const char *why);
void lsh_hold_unwind(struct lsh_lock *lock, struct lsh_hold *hold); /* a lost one: forget it */
/* How long a renewal at `now` may ask for; 0: it must not be renewed (any more, or at the moment). */
int64_t lsh_hold_wants_ms(const struct lsh_hold *hold, const struct lsh_tenure *tenure, int64_t now);
bool lsh_hold_is_hung(const struct lsh_hold *hold, int64_t now);

/* waiter.c; lock->mutex held */
void lsh_waiter_wake(struct lsh_waiter *waiter);
struct lsh_waiter *lsh_waiter_first(struct lsh_lock *lock); /* or NULL */
void lsh_lock_wake_first(struct lsh_lock *lock);

/* Around what close has to wait for. */
void lsh_engine_go_in(struct lsh_engine *engine);
void lsh_engine_go_out(struct lsh_engine *engine);

/* renewal.c */
void lsh_renewal_fire(void *ctx, const struct lsh_due *due, size_t count); /* the watchdog's thread */
void lsh_renewal_work(struct lsh_engine *engine);                         /* the keeper's */
bool lsh_renewal_jobs_new(struct lsh_engine *engine);

/* wakeup.c */
void lsh_wakeup_message(struct lsh_engine *engine, const char *text, size_t size);

#endif
