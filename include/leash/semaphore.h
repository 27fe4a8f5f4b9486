/* The semaphore: at most N at once, over all machines. */
#ifndef LEASH_SEMAPHORE_H
#define LEASH_SEMAPHORE_H

#include <leash/inspect.h>
#include <leash/lock.h>

LEASH_BEGIN_DECLS

/**
 * A handle of a semaphore: a name, and how many permits there are. Handles of one name in one client share their state,
 * and any number of threads may share a handle.
 *
 * The limit is said with each acquire, and kept nowhere: nothing is set up, and nothing can be out of date. Who asks
 * for `count` permits gets them once no more than the limit are out, `count` included. Programs should agree on the
 * limit; while they do not, each is served by its own.
 *
 * Nobody starves: who comes first is served first, and who wants many permits is not passed by those who want few.
 */
typedef struct leash_semaphore leash_semaphore;

/**
 * One or several permits that were acquired together. They belong to nobody: any thread may use and release them, but
 * one at a time. Their lease is renewed until they are released; if the process dies they are free when it ends.
 */
typedef struct leash_permit leash_permit;

enum {
	LEASH_PERMITS_MAX = 1000,         /**< permits acquired together */
	LEASH_SEMAPHORE_LIMIT_MAX = 1000000, /**< permits of a semaphore */
};

/**
 * Make a handle of the semaphore called `name`. Talks to nobody.
 *
 * @param out      receives the handle; untouched unless the result is LEASH_OK.
 * @param name     as for leash_lock_new(). A lock and a semaphore of one name are not possible at once: MISMATCH.
 * @param limit    1 to LEASH_SEMAPHORE_LIMIT_MAX: how many permits there are.
 * @param options  NULL, or LEASH_LOCK_OPTIONS(...), for each hold of permits; copied. `fair`, `handoffs`, `handoff_ms`
 *                 and `no_handoff` change nothing: all is fair, and each permit is one on the server.
 * @param err      filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK           `*out` is a handle; free it with leash_semaphore_free()
 * @retval LEASH_INVALID      a limit out of range, an `owner` (permits have none), or as leash_lock_new()
 * @retval LEASH_UNSUPPORTED  on a quorum: each of its servers counts for itself. Of five, each lets in n, and three are
 *                            enough for a holder: together they could let in 5n/3
 * @retval LEASH_NO_MEMORY, LEASH_FORKED, LEASH_CLOSED as leash_lock_new()
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_semaphore_new(leash_semaphore **out, leash_client *client, const char *name, int64_t limit,
                    const leash_lock_options *options, leash_error *err);

/**
 * Free a handle. Permits that were acquired with it stay as they are. Talks to nobody. NULL is allowed.
 *
 * Threads: any, while no other call uses this handle; allowed in callbacks. Since 0.1.
 */
LEASH_API void leash_semaphore_free(leash_semaphore *semaphore);

/**
 * Acquire `count` permits, all or none, waiting up to `wait_ms`.
 *
 * @param count    1 to LEASH_PERMITS_MAX, and at most the limit.
 * @param wait_ms  0 tries once; LEASH_FOREVER does not give up.
 * @param out      receives the permits; untouched unless the result is LEASH_OK. Give them back with
 *                 leash_permit_release().
 * @param err      filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK       `*out` holds that many permits
 * @retval LEASH_TIMEOUT  too many were out at the end of `wait_ms`, or others came first and were still waiting
 * @retval LEASH_INVALID  no semaphore, no `out`, a negative wait, or a count out of range
 *
 * All else is as leash_lock_acquire() says. Threads: any; not from a leash callback. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_semaphore_acquire(leash_semaphore *semaphore, int64_t count, int64_t wait_ms, leash_permit **out,
                        leash_error *err);

/**
 * Acquire `count` permits as `how` says: with a lease of their own, or a wait that can be canceled.
 *
 * @param how  NULL means LEASH_ACQUIRE(): try once.
 *
 * @return as leash_semaphore_acquire(); also LEASH_CANCELED, and LEASH_INVALID for a lease out of range.
 *
 * Threads: any; not from a leash callback. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_semaphore_acquire_with(leash_semaphore *semaphore, int64_t count, const leash_acquire *how, leash_permit **out,
                             leash_error *err);

/**
 * Go on with permits of another client, which has ended or lets them be; see leash_lock_adopt().
 *
 * @param count  and the limit of `semaphore` are what the permits were acquired with: they are a part of their name.
 * @param token  what leash_permit_token() says of them.
 * @param out    receives the permits; untouched unless the result is LEASH_OK.
 *
 * @retval LEASH_OK        `*out` has them now, and renews them
 * @retval LEASH_NOT_HELD  nobody holds that many by that token
 *
 * All else is as leash_lock_adopt() says. Threads: any; not from a leash callback. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_semaphore_adopt(leash_semaphore *semaphore, int64_t count, const char *token, leash_permit **out,
                      leash_error *err);

/**
 * Give permits back, and free them, whatever the result is but LEASH_IN_CALLBACK.
 *
 * @param permit  NULL is LEASH_INVALID.
 * @param err     filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK       released
 * @retval LEASH_LOST     they had been lost
 * @retval LEASH_UNKNOWN  the server did not answer in time: they are being released in the background, and are free
 *                        when their lease ends at the latest
 *
 * All else is as leash_lock_release() says; in a forked child LEASH_FORKED frees the child's memory, and the permits
 * stay those of the parent. Threads: any, while no other call uses `permit`; not from a leash callback. Since 0.1.
 */
LEASH_API leash_status leash_permit_release(leash_permit *permit, leash_error *err);

/**
 * Give back `count` of them; the others stay, and nobody comes in in between who would need all of them. It waits as
 * leash_lock_upgrade() does.
 * @param count  at least 1, and less than leash_permit_count(), which is less by that many with LEASH_OK.
 * @param err    filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK           they are free, and whoever is first in the queue and has room now is in
 * @retval LEASH_LOST         all of them were lost, or the server did not answer before their lease was over
 * @retval LEASH_UNAVAILABLE  the server refuses it at the moment, or is away; all are held on
 * @retval LEASH_DENIED       the server does not permit a command; all are held on
 * @retval LEASH_INVALID      no permits, a count out of range, or another thread gives some back at this moment
 * @retval LEASH_NO_MEMORY    all are held on
 * @retval LEASH_MISMATCH, LEASH_PROTOCOL, LEASH_CLOSED, LEASH_FORKED, LEASH_IN_CALLBACK as leash_lock_release()
 *
 * Threads: any; not from a leash callback. Since 0.1.
 */
LEASH_API leash_status leash_permit_release_some(leash_permit *permit, int64_t count, leash_error *err);

/**
 * Make sure that their lease lasts at least `lease_ms` from now; as leash_lock_extend(). It never gets shorter.
 *
 * Threads: any; not from a leash callback. Since 0.1.
 */
LEASH_API leash_status leash_permit_extend(leash_permit *permit, int64_t lease_ms, leash_error *err);

/**
 * Are the permits held, and is their lease still valid? From memory, in nanoseconds; never true past the moment at
 * which others could have them.
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API bool leash_permit_held(const leash_permit *permit);

/** For how many ms permits are held at least if nothing is renewed any more; 0: not held. Threads: any. Since 0.1. */
LEASH_API int64_t leash_permit_remaining_ms(const leash_permit *permit);

/** How many permits these are; 0 for NULL. Threads: any. Since 0.1. */
LEASH_API int64_t leash_permit_count(const leash_permit *permit);

/** Copy the token of permits into `out`, as leash_lock_token(). Threads: any. Since 0.1. */
LEASH_API size_t leash_permit_token(const leash_permit *permit, char *out, size_t size);

/** Tell the watchdog that work goes on, see `alive_ms`; as leash_lock_alive(). Threads: any. Since 0.1. */
LEASH_API void leash_permit_alive(leash_permit *permit);

/**
 * Ask the server about `semaphore`: how many permits are out, how many calls wait, and who has them; as
 * leash_lock_holders().
 *
 * Threads: any; not from a leash callback. Not a cancellation point, except for what `visit` does. Since 0.1.
 */
LEASH_API leash_status
leash_semaphore_inspect(leash_semaphore *semaphore, leash_lock_info *info, leash_hold_fn visit, void *arg,
                        leash_error *err);

/**
 * Take the permits that are out from whoever has them; those who wait get them. As leash_lock_break().
 *
 * Threads: any; not from a leash callback. Not a cancellation point. Since 0.1.
 */
LEASH_API leash_status leash_semaphore_break(leash_semaphore *semaphore, leash_error *err);

/**
 * Ask the server who waits for permits, first comes first.
 *
 * @param visit  called for each place in the queue, with no mutex held; may call leash, but not free `semaphore`.
 * @param err    filled in unless the result is LEASH_OK; may be NULL.
 *
 * @return as leash_semaphore_inspect(); what was visited before a failure was true.
 *
 * Threads: any; not from a leash callback. Not a cancellation point, except for what `visit` does. Since 0.1.
 */
LEASH_API leash_status
leash_semaphore_waiters(leash_semaphore *semaphore, leash_waiter_fn visit, void *arg, leash_error *err);

/**
 * Let no more than `limit` permits be out, for a while, whatever limit they are acquired with: an operator's means to
 * relieve what the semaphore protects. It is for all clients, and is kept by the server.
 *
 * Permits that are out stay so. Who wants more than the limit at once gets them while no others are out. Who waits, and
 * has room when the limit is raised or ended by a call, comes in at once; when it ends by itself, within seconds. What
 * is to last belongs into the programs' own configuration.
 *
 * @param limit   0 to LEASH_SEMAPHORE_LIMIT_MAX, in place of the one before; 0: closed, nobody comes in.
 * @param for_ms  for how long, from now on: up to a day, 86400000; 0 ends the limit, whatever `limit` says.
 * @param err     filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK           done. If the connection broke meanwhile the call lasts for all of `timeout_ms`, so that
 *                            nothing that was sent over that undoes a later call
 * @retval LEASH_UNAVAILABLE  the server did not answer within the client's `timeout_ms`: it may be done, but is not
 *                            done later. Call again to be sure: a limit that is set twice is set once
 * @retval LEASH_MISMATCH     a key holds something that is no semaphore, or no limit
 * @retval LEASH_DENIED       the server does not permit a command; the text names it
 * @retval LEASH_PROTOCOL     the answer is not what a Redis server says
 * @retval LEASH_INVALID      no semaphore, or a number out of range
 * @retval LEASH_UNSUPPORTED, LEASH_NO_MEMORY, LEASH_CLOSED, LEASH_FORKED, LEASH_IN_CALLBACK as leash_lock_acquire()
 *
 * Threads: any; not from a leash callback. Not a cancellation point. Since 0.1.
 */
LEASH_API leash_status
leash_semaphore_limit(leash_semaphore *semaphore, int64_t limit, int64_t for_ms, leash_error *err);

LEASH_END_DECLS

#endif
