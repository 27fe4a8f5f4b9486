/* The condition: wait under a lock until another owner signals that something has changed. As in pthreads. */
#ifndef LEASH_CONDITION_H
#define LEASH_CONDITION_H

#include <leash/lock.h>

LEASH_BEGIN_DECLS

/**
 * A condition of a lock, across all machines: "not empty" for a queue that the lock guards, for example. A waiter
 * releases the lock during the wait and holds it again afterwards.
 *
 *     status = leash_lock_acquire(lock, LEASH_FOREVER, &err);
 *     while (status == LEASH_OK && queue_is_empty())
 *             status = leash_condition_wait(not_empty, LEASH_FOREVER, &err);
 *
 * After every wait, check again in a loop, because a wait may end without a signal. It ends after `recheck_ms` at the
 * latest. This makes up for a lost signal: the woken process may die, or the server may be replaced.
 *
 * A signal wakes the waiters in the order in which they came. If nobody waits, the signal is lost. Signal while you
 * hold the lock; otherwise another owner may check, find nothing, and begin to wait just after the signal. A woken
 * waiter then waits for the lock, like any other.
 *
 * Its name in Redis, and in `leash status`, is the name of the lock, `?`, and its own name: "orders?not empty". In a
 * cluster it has a slot of its own.
 */
typedef struct leash_condition leash_condition;

enum {
	LEASH_SIGNALS_MAX = 1000, /**< most waiters that one broadcast wakes */
};

/** How to wait for a condition. Zero means the default; build it with LEASH_CONDITION_OPTIONS(). */
typedef struct leash_condition_options {
	size_t size;           /**< set by LEASH_CONDITION_OPTIONS() */
	int64_t recheck_ms;    /**< a wait ends after at most this long, as if signaled; 100 to 86400000; default: the
	                            `lease_ms` of the lock's handle */
	int64_t reacquire_ms;  /**< after the wait for the signal, how long to wait for the lock; default LEASH_FOREVER;
	                            else at least 1 */
	/* Add fields here, at the end, and nowhere else. */
} leash_condition_options;

/** Use it as an argument; the struct may end with the call. In C++, name the fields in order. See leash/api.h. */
#define LEASH_CONDITION_OPTIONS(...) LEASH_STRUCT_(leash_condition_options, __VA_ARGS__)

/**
 * Make a handle for the condition `name` of `lock`. Sends nothing to the server.
 *
 * @param out      receives the handle; untouched unless the result is LEASH_OK.
 * @param lock     an exclusive handle: plain, `fair`, LEASH_WRITE or LEASH_REDISSON. It stays the caller's, and must
 *                 not be freed before the condition.
 * @param name     at least 1 byte, without a `?`; together with the lock's name at most LEASH_NAME_MAX - 1 bytes.
 * @param options  NULL, or LEASH_CONDITION_OPTIONS(...); copied.
 * @param err      filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK           `*out` is a handle; free it with leash_condition_free()
 * @retval LEASH_INVALID      no lock, no name, a name that is too long or has a `?`, an option out of range, a handle
 *                            that reads, or the condition's name is used by something of another kind; the text says
 *                            which
 * @retval LEASH_UNSUPPORTED  on a quorum, which has no queue to wait in
 * @retval LEASH_NO_MEMORY, LEASH_FORKED, LEASH_CLOSED as leash_lock_new()
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_condition_new(leash_condition **out, leash_lock *lock, const char *name, const leash_condition_options *options,
                    leash_error *err);

/**
 * Free a handle. Sends nothing to the server. NULL is allowed.
 *
 * Threads: any, while no other call uses this handle; allowed in callbacks. Since 0.1.
 */
LEASH_API void leash_condition_free(leash_condition *condition);

/**
 * Release the lock, at any depth, wait up to `wait_ms` for a signal, and acquire the lock again at the same depth.
 *
 * The lock is released only after the server has queued the caller, so a signal from the next owner reaches the caller.
 * (If the server does not answer for twice the client's `timeout_ms`, the lock is released anyway. The wait then ends
 * when the server answers, as if signaled.) If a signal comes, or the time ends, before the lock is released, the lock
 * stays held. Otherwise the hold after the wait is a new one, with a larger fence, and the `lease_ms` and `max_hold_ms`
 * of its handle.
 *
 * @param wait_ms  for a signal; 0 does not wait: TIMEOUT, and the lock stays held. LEASH_FOREVER waits without limit.
 *                 It does not include the time to get the lock back (see `reacquire_ms`), nor the time to leave the
 *                 queue, as for leash_barrier_wait(): then the server says whether a signal came just before the end.
 *                 If the server does not answer, the wait ends as if signaled.
 * @param err      filled in unless the result is LEASH_OK; may be NULL.
 *
 * The lock is held again, or was never released:
 * @retval LEASH_OK        signaled, or it is time to check again
 * @retval LEASH_TIMEOUT   no signal came in `wait_ms`. Check anyway: the condition may be true without a signal
 * @retval LEASH_CANCELED  the wait was canceled (leash_condition_wait_with()); check anyway
 *
 * Nothing was done:
 * @retval LEASH_NOT_HELD  the calling thread does not hold the lock
 * @retval LEASH_INVALID   no condition, a negative wait, or the calling thread also reads the lock; or as
 *                         leash_lock_acquire()
 * @retval LEASH_FORKED, LEASH_IN_CALLBACK as leash_lock_acquire()
 *
 * The lock is no longer held, at any depth, and there is nothing to release:
 * @retval LEASH_LOST         it was lost before it could be released, or before this call: as leash_lock_release()
 * @retval LEASH_UNAVAILABLE  it was not acquired again within `reacquire_ms`; or the server refuses waiters (it is
 *                            full)
 * @retval LEASH_DENIED, LEASH_MISMATCH, LEASH_PROTOCOL, LEASH_NO_MEMORY, LEASH_CLOSED as leash_lock_acquire(), for the
 *                            condition or the lock
 *
 * While a thread waits, no other thread can acquire for the same `owner`. Threads: the one that acquired, or any that
 * acts for the handle's owner; not from a leash callback. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_condition_wait(leash_condition *condition, int64_t wait_ms, leash_error *err);

/**
 * Wait as `how` says. A cancel ends the wait for the signal, but not the wait for the lock, which is held again at the
 * end. `lease_ms` is the lease of the hold after the wait.
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
 * Wake the waiter that has waited longest, if there is one. One round trip to the server.
 *
 * @param err  filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK           the waiter was woken, or nobody waits
 * @retval LEASH_UNAVAILABLE  the server did not answer within the client's `timeout_ms`; the signal may have been sent
 * @retval LEASH_MISMATCH, LEASH_DENIED, LEASH_PROTOCOL, LEASH_NO_MEMORY, LEASH_CLOSED, LEASH_FORKED, LEASH_IN_CALLBACK
 *                            as leash_lock_acquire()
 * @retval LEASH_INVALID      no condition
 *
 * A signal whose answer is lost is sent again, and may wake one more waiter. You may signal without the lock, but such
 * a signal may miss a waiter that has just checked and is about to wait.
 *
 * Threads: any; not from a leash callback. Not a cancellation point. Since 0.1.
 */
LEASH_API leash_status leash_condition_signal(leash_condition *condition, leash_error *err);

/**
 * Wake all waiters, up to LEASH_SIGNALS_MAX. Otherwise as leash_condition_signal().
 *
 * Threads: any; not from a leash callback. Not a cancellation point. Since 0.1.
 */
LEASH_API leash_status leash_condition_broadcast(leash_condition *condition, leash_error *err);

LEASH_END_DECLS

#endif
