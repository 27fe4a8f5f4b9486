/* The condition: wait under a lock until somebody says that something has changed. Words as with pthreads. */
#ifndef LEASH_CONDITION_H
#define LEASH_CONDITION_H

#include <leash/lock.h>

LEASH_BEGIN_DECLS

/**
 * A condition of a lock, over all machines: "not empty" of a queue that the lock guards, say. Who waits gives the lock
 * up meanwhile, and has it again afterwards.
 *
 *     leash_lock_acquire(lock, LEASH_FOREVER, &err);
 *     while (queue_is_empty() && status == LEASH_OK)
 *             status = leash_condition_wait(not_empty, LEASH_FOREVER, &err);
 *
 * Look again, in a loop, after whatever wait: one may end without a signal. It does so at the latest after
 * `recheck_ms`, which makes good a signal that was lost: with a process that died when it was woken, or with a server
 * that was replaced.
 *
 * A signal wakes who waits, first come, first served, and nobody else: where nobody waits it is lost. Signal while you
 * hold the lock, so that nobody looks, finds nothing and begins to wait in between. Who is woken then waits for the
 * lock, as everybody does.
 *
 * Its name in Redis, and for `leash status`, is that of the lock, `?`, and its own: "orders?not empty". In a cluster
 * that has a slot of its own.
 */
typedef struct leash_condition leash_condition;

enum {
	LEASH_SIGNALS_MAX = 1000, /**< who are woken by one broadcast */
};

/** How to wait for a condition. Zero means the default; build it with LEASH_CONDITION_OPTIONS(). */
typedef struct leash_condition_options {
	size_t size;           /**< set by LEASH_CONDITION_OPTIONS() */
	int64_t recheck_ms;    /**< a wait ends after at most this long, as if signaled; 100 to 86400000; default: the
	                            `lease_ms` of the lock's handle */
	int64_t reacquire_ms;  /**< how long a wait, once it is over, waits for the lock; default LEASH_FOREVER; else at
	                            least 1 */
	/* Add fields here, at the end, and nowhere else. */
} leash_condition_options;

/** For the call that it is an argument of. C++ wants the fields in order. See leash/api.h. */
#define LEASH_CONDITION_OPTIONS(...) LEASH_STRUCT_(leash_condition_options, __VA_ARGS__)

/**
 * Make a handle of the condition `name` of `lock`. Talks to nobody.
 *
 * @param out      receives the handle; untouched unless the result is LEASH_OK.
 * @param lock     a handle that excludes all others: plain, `fair`, LEASH_WRITE or LEASH_REDISSON. It stays the
 *                 caller's, and must not be freed before the condition.
 * @param name     1 byte or more, without a `?`, and with the lock's name no more than LEASH_NAME_MAX - 1.
 * @param options  NULL, or LEASH_CONDITION_OPTIONS(...); copied.
 * @param err      filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK           `*out` is a handle; free it with leash_condition_free()
 * @retval LEASH_INVALID      no lock, no name, one that is too long or has a `?`, an option out of range, a handle to
 *                            read, or something of another kind has the condition's name; the text says which
 * @retval LEASH_UNSUPPORTED  on a quorum, which has no queue to wait in
 * @retval LEASH_NO_MEMORY, LEASH_FORKED, LEASH_CLOSED as leash_lock_new()
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_condition_new(leash_condition **out, leash_lock *lock, const char *name, const leash_condition_options *options,
                    leash_error *err);

/**
 * Free a handle. Talks to nobody. NULL is allowed.
 *
 * Threads: any, while no other call uses this handle; allowed in callbacks. Since 0.1.
 */
LEASH_API void leash_condition_free(leash_condition *condition);

/**
 * Give the lock up, however deep it is nested, wait up to `wait_ms` for a signal, and acquire it again, as deep.
 *
 * First the server queues the caller, and only then the lock is given up: a signal from whoever has it next reaches the
 * caller. (If the server does not answer for twice the client's `timeout_ms` the lock is given up all the same, and the
 * wait ends, as if signaled, when it does.) The hold after the wait is a new one, with a larger fence, and begins again
 * with what its handle says: `lease_ms`, `max_hold_ms`. Where a signal comes before the lock is given up, or the time
 * is over by then, it is not given up.
 *
 * @param wait_ms  for a signal; 0 does not wait: TIMEOUT, and the lock stays held. LEASH_FOREVER does not give up. The
 *                 time for getting the lock back is not in it, see `reacquire_ms`; nor is giving up, as for
 *                 leash_barrier_wait(): the server says whether a signal came just before the end. Where it does not
 *                 the wait ends as if signaled.
 * @param err      filled in unless the result is LEASH_OK; may be NULL.
 *
 * The lock is held again, or still:
 * @retval LEASH_OK        signaled, or it is time to look
 * @retval LEASH_TIMEOUT   no signal came in `wait_ms`. Look again all the same: what it is about may be so without one
 * @retval LEASH_CANCELED  the wait was canceled (leash_condition_wait_with()); likewise
 *
 * Nothing was done:
 * @retval LEASH_NOT_HELD  the calling thread does not hold the lock
 * @retval LEASH_INVALID   no condition, a negative wait, the calling thread also reads the lock, or as
 *                         leash_lock_acquire()
 * @retval LEASH_FORKED, LEASH_IN_CALLBACK as leash_lock_acquire()
 *
 * The lock is not held any more, however deep it was, and there is nothing to release:
 * @retval LEASH_LOST         it was lost before it could be given up, also before this call: as leash_lock_release()
 * @retval LEASH_UNAVAILABLE  it was not acquired again in `reacquire_ms`; or the server refuses who waits (it is full)
 * @retval LEASH_DENIED, LEASH_MISMATCH, LEASH_PROTOCOL, LEASH_NO_MEMORY, LEASH_CLOSED as leash_lock_acquire(), of the
 *                            condition or the lock
 *
 * While a thread waits no other one can acquire for the same `owner`. Threads: the one that acquired, or any that acts
 * for the handle's owner; not from a leash callback. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_condition_wait(leash_condition *condition, int64_t wait_ms, leash_error *err);

/**
 * Wait as `how` says: a cancel ends the wait for the signal, but not the one for the lock, which is held again then;
 * `lease_ms` is that of the hold behind the wait.
 *
 * @param how  NULL means LEASH_ACQUIRE(): do not wait.
 * @param err  filled in unless the result is LEASH_OK; may be NULL.
 *
 * @return as leash_condition_wait(); LEASH_INVALID also for a lease out of range.
 *
 * Threads: as leash_condition_wait(). Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_condition_wait_with(leash_condition *condition, const leash_acquire *how, leash_error *err);

/**
 * Wake the one who has waited longest, if anybody waits. One trip to the server.
 *
 * @param err  filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK           whoever was to be woken is told, or nobody waits
 * @retval LEASH_UNAVAILABLE  the server did not answer within the client's `timeout_ms`; it may be done all the same
 * @retval LEASH_MISMATCH, LEASH_DENIED, LEASH_PROTOCOL, LEASH_NO_MEMORY, LEASH_CLOSED, LEASH_FORKED, LEASH_IN_CALLBACK
 *                            as leash_lock_acquire()
 * @retval LEASH_INVALID      no condition
 *
 * A signal whose answer was lost is said again, and may wake one more. It may be said without the lock; then it may
 * miss one who has looked and is about to wait.
 *
 * Threads: any; not from a leash callback. Not a cancellation point. Since 0.1.
 */
LEASH_API leash_status leash_condition_signal(leash_condition *condition, leash_error *err);

/**
 * Wake all who wait, up to LEASH_SIGNALS_MAX. All else is as leash_condition_signal() says.
 *
 * Threads: any; not from a leash callback. Not a cancellation point. Since 0.1.
 */
LEASH_API leash_status leash_condition_broadcast(leash_condition *condition, leash_error *err);

LEASH_END_DECLS

#endif
