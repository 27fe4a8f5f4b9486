/* Confirming: with `min_replicas`, or `fsynced`, a hold counts only as far as enough replicas have acknowledged it.
 *
 * Called with lock->mutex held unless it is about a whole site. */
#ifndef LSH_LOCK_CONFIRM_H
#define LSH_LOCK_CONFIRM_H

#include "base/list.h"
#include "lock/engine.h"

#include <leash/status.h>

#include <stdbool.h>
#include <stdint.h>

struct leash_cancel;
struct lsh_hold;
struct lsh_lock;
struct lsh_site;
struct lsh_tenure;
struct lsh_thread;

/* A caller who does not return before its hold is acknowledged; it lies on its stack. */
struct lsh_confirmation {
	struct lsh_list link;      /* in hold->awaiting, until it is done */
	struct lsh_thread *thread;
	int64_t lease_ms;          /* an extension: for at least so long */
	int64_t until;             /* then it gives up */
	int64_t picked;            /* the last step that was sent for it, by when it was */
	bool done;                 /* OK, or LOST: the hold has ended */
	bool hopeless;             /* it need not be waited for: it is as `status` says */
	leash_status status;
	int sys_errno;
	bool counted;              /* there was an answer: */
	unsigned acknowledged;     /* by so many replicas, */
	bool written;              /* and it was on the server's own disk */
	char text[200];            /* else, why not; "": nothing is known */
};

/* Do the terms ask for it? */
static inline bool
lsh_terms_confirm(const struct lsh_terms *terms)
{
	return terms->min_replicas > 0 || terms->fsynced;
}

/* See that what confirms is there, before the server is asked for a lock. The mutex is released meanwhile if it has to be made. False: errno
 * says that there is no memory, thread or descriptor, or the client is being closed. */
bool lsh_confirm_prepare(struct lsh_lock *lock, const struct lsh_terms *terms);
bool lsh_confirm_prepare_at(struct lsh_site *site, const struct lsh_terms *terms); /* for a whole site; no mutex held */

/* Who makes a hold, or extends one, registers before and awaits afterwards. */
void lsh_confirm_expect(struct lsh_confirmation *confirmation, struct lsh_hold *hold, struct lsh_thread *self);

/* The server gave the lock to the hold: have it confirmed. */
void lsh_confirm_begin(struct lsh_lock *lock, int64_t now);

/* Have its step sent and acknowledged: the first one of a hold, or a renewal. HELD. */
void lsh_confirm_give(struct lsh_tenure *tenure);
void lsh_confirm_give_to(struct lsh_tenure *tenure, struct lsh_site *site, bool asks); /* there; for once, if `asks` (ASK) */
void lsh_confirm_lacks_means(struct lsh_tenure *tenure, int e); /* there was none of what this errno says: the watchdog tries again */

/* Wait for it. lock->mutex released meanwhile. The cancel may be NULL. Other than OK: `confirmation` has the status and the text to say,
 * and is in no list; *over says whether the hold has ended (then its reference is the caller's), else that is the caller's to see to. */
leash_status lsh_confirm_await(struct lsh_lock *lock, struct lsh_confirmation *confirmation, struct leash_cancel *cancel, bool *over);

/* The same for the lock's hold, and somebody who registered for a longer lease. */
leash_status lsh_confirm_extend(struct lsh_lock *lock, struct lsh_confirmation *confirmation, bool *over);

/* All who await it are done. `why` is for LOST. */
void lsh_confirm_tell(struct lsh_hold *hold, leash_status status, const char *why);

/* For the engine. */
void lsh_confirm_stop(struct lsh_site *site);    /* end the threads */
void lsh_confirm_forsake(struct lsh_site *site); /* in a forked child: close its copies of the descriptors, and touch nothing else */
void lsh_confirm_free(struct lsh_site *site);

#endif
