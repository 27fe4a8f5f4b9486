/* The semaphore: at most N at once, across all machines. */
#ifndef LEASH_SEMAPHORE_H
#define LEASH_SEMAPHORE_H

#include <leash/inspect.h>
#include <leash/lock.h>

LEASH_BEGIN_DECLS

/**
 * A handle for a semaphore: a name, and how many permits there are. Handles of one name in one client share their
 * state, and any number of threads may share a handle.
 *
 * The limit is sent with each acquire and stored nowhere. So nothing needs to be set up, and nothing can be out of
 * date. A call gets its `count` permits once this brings no more than the limit out. Programs should agree on the
 * limit. If they do not, each is served by its own limit.
 *
 * No waiter starves. Calls are served in the order in which they came, and a call for many permits is not overtaken by
 * calls for few.
 */
typedef struct leash_semaphore leash_semaphore;

/**
 * One or several permits that were acquired together. They have no owner: any thread may use and release them, but only
 * one at a time. Their lease is renewed until they are released. If the process dies, they are free when the lease
 * ends.
 */
typedef struct leash_permit leash_permit;

enum {
	LEASH_PERMITS_MAX = 1000,         /**< permits acquired together */
	LEASH_SEMAPHORE_LIMIT_MAX = 1000000, /**< permits of a semaphore */
};

/**
 * Make a handle for the semaphore called `name`. Sends nothing to the server.
 *
 * @param out      receives the handle; untouched unless the result is LEASH_OK.
 * @param name     as for leash_lock_new(). A lock and a semaphore cannot have the same name at the same time: MISMATCH.
 * @param limit    1 to LEASH_SEMAPHORE_LIMIT_MAX: how many permits there are.
 * @param options  NULL, or LEASH_LOCK_OPTIONS(...), for each hold of permits; copied. `fair`, `handoffs`, `handoff_ms`
 *                 and `no_handoff` have no effect: a semaphore is always fair, and each acquire goes to the server.
 * @param err      filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK           `*out` is a handle; free it with leash_semaphore_free()
 * @retval LEASH_INVALID      a limit out of range, an `owner` (permits have none); or as leash_lock_new()
 * @retval LEASH_UNSUPPORTED  on a quorum, where each server counts alone. Three of five servers are enough for a
 *                            holder. If each of the five lets in n holders, they could let in 5n/3 together
 * @retval LEASH_NO_MEMORY, LEASH_FORKED, LEASH_CLOSED as leash_lock_new()
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_semaphore_new(leash_semaphore **out, leash_client *client, const char *name, int64_t limit,
                    const leash_lock_options *options, leash_error *err);

/**
 * Free a handle. Permits that were acquired with it stay as they are. Sends nothing to the server. NULL is allowed.
 *
 * Threads: any, while no other call uses this handle; allowed in callbacks. Since 0.1.
 */
LEASH_API void leash_semaphore_free(leash_semaphore *semaphore);

/**
 * Acquire `count` permits, all or none, waiting up to `wait_ms`.
 *
 * @param count    1 to LEASH_PERMITS_MAX, and at most the limit.
 * @param wait_ms  0 tries once; LEASH_FOREVER waits without limit.
 * @param out      receives the permits; untouched unless the result is LEASH_OK. Give them back with
 *                 leash_permit_release().
 * @param err      filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK       `*out` holds that many permits
 * @retval LEASH_TIMEOUT  too many permits were out at the end of `wait_ms`, or earlier calls were still waiting
 * @retval LEASH_INVALID  no semaphore, no `out`, a negative wait, or a count out of range
 *
 * Otherwise as leash_lock_acquire(). Threads: any; not from a leash callback. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_semaphore_acquire(leash_semaphore *semaphore, int64_t count, int64_t wait_ms, leash_permit **out,
                        leash_error *err);

/**
 * Acquire `count` permits as `how` says: with their own lease, or a wait that can be canceled.
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
 * Take over permits of another client, which has ended or no longer uses them; see leash_lock_adopt().
 *
 * @param count  the number that was acquired. It and the limit of `semaphore` must be those of the acquire: they are a
 *               part of the permits' name.
 * @param token  as leash_permit_token() returned it.
 * @param out    receives the permits; untouched unless the result is LEASH_OK.
 *
 * @retval LEASH_OK        `*out` holds them now, and renews them
 * @retval LEASH_NOT_HELD  nobody holds that many permits by this token
 *
 * Otherwise as leash_lock_adopt(). Threads: any; not from a leash callback. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_semaphore_adopt(leash_semaphore *semaphore, int64_t count, const char *token, leash_permit **out,
                      leash_error *err);

/**
 * Give permits back, and free `permit`, whatever the result is, except LEASH_IN_CALLBACK.
 *
 * @param permit  NULL is LEASH_INVALID.
 * @param err     filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK       released
 * @retval LEASH_LOST     the permits had been lost
 * @retval LEASH_UNKNOWN  the server did not answer in time: the permits are being released in the background, and are
 *                        free when their lease ends at the latest
 *
 * Otherwise as leash_lock_release(). In a forked child the result is LEASH_FORKED: the child's memory is freed, and the
 * permits stay the parent's. Threads: any, while no other call uses `permit`; not from a leash callback. Since 0.1.
 */
LEASH_API leash_status leash_permit_release(leash_permit *permit, leash_error *err);

/**
 * Give back `count` of the permits and keep the others. A call that needs all of them cannot come in during this. This
 * call waits as leash_lock_upgrade() does.
 * @param count  at least 1, and less than leash_permit_count(), which is less by that number after LEASH_OK.
 * @param err    filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK           they are free, and the first call in the queue has got its permits if there is room for it
 * @retval LEASH_LOST         all permits were lost, or the server did not answer before their lease was over
 * @retval LEASH_UNAVAILABLE  the server refuses it at the moment, or is away; all are still held
 * @retval LEASH_DENIED       the server does not permit a command; all are still held
 * @retval LEASH_INVALID      no permits, a count out of range, or another thread gives some back at this moment
 * @retval LEASH_NO_MEMORY    all are still held
 * @retval LEASH_MISMATCH, LEASH_PROTOCOL, LEASH_CLOSED, LEASH_FORKED, LEASH_IN_CALLBACK as leash_lock_release()
 *
 * Threads: any; not from a leash callback. Since 0.1.
 */
LEASH_API leash_status leash_permit_release_some(leash_permit *permit, int64_t count, leash_error *err);

/**
 * Make sure that the permits' lease lasts at least `lease_ms` from now, as leash_lock_extend(). It never gets shorter.
 *
 * Threads: any; not from a leash callback. Since 0.1.
 */
LEASH_API leash_status leash_permit_extend(leash_permit *permit, int64_t lease_ms, leash_error *err);

/**
 * Are the permits held, and is their lease still valid? Answered from memory, in nanoseconds. It is never true after
 * the moment at which others could have them.
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API bool leash_permit_held(const leash_permit *permit);

/** For how many ms the permits are valid without another renewal; 0: not held. Threads: any. Since 0.1. */
LEASH_API int64_t leash_permit_remaining_ms(const leash_permit *permit);

/** How many permits these are; 0 for NULL. Threads: any. Since 0.1. */
LEASH_API int64_t leash_permit_count(const leash_permit *permit);

/** Copy the permits' token into `out`, as leash_lock_token(). Threads: any. Since 0.1. */
LEASH_API size_t leash_permit_token(const leash_permit *permit, char *out, size_t size);

/** Tell the watchdog that the work is making progress, as leash_lock_alive(); see `alive_ms`. Threads: any. Since
 * 0.1. */
LEASH_API void leash_permit_alive(leash_permit *permit);

/**
 * Ask the server about `semaphore`: how many permits are out, how many calls wait, and who holds permits; as
 * leash_lock_holders().
 *
 * Threads: any; not from a leash callback. Not a cancellation point, except for what `visit` does. Since 0.1.
 */
LEASH_API leash_status
leash_semaphore_inspect(leash_semaphore *semaphore, leash_lock_info *info, leash_hold_fn visit, void *arg,
                        leash_error *err);

/**
 * Take the permits that are out from their holders; waiters get them. As leash_lock_break().
 *
 * Threads: any; not from a leash callback. Not a cancellation point. Since 0.1.
 */
LEASH_API leash_status leash_semaphore_break(leash_semaphore *semaphore, leash_error *err);

/**
 * Ask the server who waits for permits, in the order of the queue.
 *
 * @param visit  called for each place in the queue, with no mutex held; may call leash, but not free `semaphore`.
 * @param err    filled in unless the result is LEASH_OK; may be NULL.
 *
 * @return as leash_semaphore_inspect(); what was visited before a failure is valid.
 *
 * Threads: any; not from a leash callback. Not a cancellation point, except for what `visit` does. Since 0.1.
 */
LEASH_API leash_status
leash_semaphore_waiters(leash_semaphore *semaphore, leash_waiter_fn visit, void *arg, leash_error *err);

/**
 * Let at most `limit` permits be out for some time, whatever limit they are acquired with. With this, an operator can
 * relieve what the semaphore protects. The limit is kept by the server and applies to all clients.
 *
 * Permits that are out stay out. A call that wants more than the limit gets its permits while no others are out. When a
 * call raises or ends the limit, waiters that now have room come in at once; when the limit ends by itself, they come
 * in within seconds. For a permanent limit, change the configuration of the programs.
 *
 * @param limit   0 to LEASH_SEMAPHORE_LIMIT_MAX; replaces the limit before it; 0: closed, nobody comes in.
 * @param for_ms  for how long from now; at most a day, 86400000; 0 ends the limit, whatever `limit` is.
 * @param err     filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK           done. If the connection broke during the call, the call takes all of `timeout_ms`, so that
 *                            what was sent over that connection cannot undo a later call
 * @retval LEASH_UNAVAILABLE  the server did not answer within the client's `timeout_ms`: it may be done, but will not
 *                            be done later. To be sure, call again: setting the same limit twice does no harm
 * @retval LEASH_MISMATCH     a key holds something that is not a semaphore, or not a limit
 * @retval LEASH_DENIED       the server does not permit a command; the text names it
 * @retval LEASH_PROTOCOL     the answer is not what a Redis server sends
 * @retval LEASH_INVALID      no semaphore, or a number out of range
 * @retval LEASH_UNSUPPORTED, LEASH_NO_MEMORY, LEASH_CLOSED, LEASH_FORKED, LEASH_IN_CALLBACK as leash_lock_acquire()
 *
 * Threads: any; not from a leash callback. Not a cancellation point. Since 0.1.
 */
LEASH_API leash_status
leash_semaphore_limit(leash_semaphore *semaphore, int64_t limit, int64_t for_ms, leash_error *err);

LEASH_END_DECLS

#endif
