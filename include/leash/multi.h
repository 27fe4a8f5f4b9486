/* Several locks as one: all are acquired, or none, and users of sets never wait for each other in a circle. */
#ifndef LEASH_MULTI_H
#define LEASH_MULTI_H

#include <leash/lock.h>

LEASH_BEGIN_DECLS

enum { LEASH_MULTI_MAX = 64 /**< locks in a set */ };

/**
 * A set of locks. In a cluster they may be in different slots. Any number of threads may share a set. A lock may be in
 * any number of sets, and may also be used alone.
 *
 * A set waits for its locks in the order of their keys' bytes, in whatever order the caller named them. While it waits
 * for one lock, it holds none that comes later. So programs never wait for each other in a circle if they hold at most
 * one set at a time, and no other locks.
 */
typedef struct leash_multi leash_multi;

/**
 * Make a set of `count` locks. Sends nothing to the server.
 *
 * @param out    receives the set; untouched unless the result is LEASH_OK.
 * @param locks  handles of one client, of one owner (or none), each with another name. The array is copied. The handles
 *               stay the caller's, and must not be freed before the set.
 * @param count  1 to LEASH_MULTI_MAX.
 * @param err    filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK         `*out` is a set; free it with leash_multi_free()
 * @retval LEASH_INVALID    no locks or too many, a lock that is NULL, the same name twice, several clients or owners;
 *                          or a handle with `no_renew`, `max_hold_ms` or `alive_ms`, since the first locks must be
 *                          renewed while the set waits for its last one. The text says which
 * @retval LEASH_NO_MEMORY  nothing was made
 * @retval LEASH_FORKED     the client belongs to the parent process
 * @retval LEASH_CLOSED     the client is closed
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_multi_new(leash_multi **out, leash_lock *const *locks, size_t count, leash_error *err);

/**
 * Free a set. NULL is allowed. Nothing is released: what is held through the set stays held, and each lock can be
 * released alone. No other call may use the set during or after this call.
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API void leash_multi_free(leash_multi *multi);

/**
 * Acquire all locks of the set, waiting up to `wait_ms`.
 *
 * If all are free, this is one round trip to the server. Otherwise the call keeps the locks that come before the first
 * taken one, gives the others back, waits in the queue of the taken one, and then continues with the rest. Other owners
 * may see a lock taken for a moment. Two callers that try the same set at the same time, without waiting, may both
 * fail.
 *
 * A lock that the owner already holds is nested; the limits of the handle that first acquired it still apply. Each lock
 * has its own lease, fence and events, and is renewed until it is released. An event of a lock may come before the
 * whole set is held. A lock that is lost while the call waits for another one is acquired again.
 *
 * @param wait_ms  for the whole set; 0 tries once; LEASH_FOREVER waits without limit.
 * @param err      filled in unless the result is LEASH_OK: it names the lock that was in the way; may be NULL.
 *
 * @retval LEASH_OK           the owner holds all of them
 * @retval LEASH_TIMEOUT      another owner still held one of them at the end of `wait_ms`
 * @retval LEASH_DEADLOCK     the owner held a lock of the set before this call, and another owner holds one whose key
 *                            comes earlier (perhaps only for a moment). That owner may be waiting for ours. Acquire
 *                            both in one set; or release, and start again. With `wait_ms` 0 this is not returned for
 *                            that reason. Also: a handle of the set writes what the owner reads; see
 *                            leash_lock_acquire()
 * @retval LEASH_UNAVAILABLE  as leash_lock_acquire(). It is returned before the end of `wait_ms` if the owner held a
 *                            lock of the set before this call. It is also returned if the time ended before all locks
 *                            could be asked for, or a lock was lost at that moment
 * @retval LEASH_LOST         an earlier hold of one of them was lost, and must be released first
 *
 * Otherwise as leash_lock_acquire(). Unless the result is LEASH_OK, the owner holds only what it held before; what the
 * call had acquired is given back in the background.
 *
 * Threads: any; not from a leash callback. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status leash_multi_acquire(leash_multi *multi, int64_t wait_ms, leash_error *err);

/**
 * Acquire all as `how` says. The lease applies to each lock. A cancel ends the wait for any of them.
 *
 * @param how  NULL means LEASH_ACQUIRE(): try once.
 * @param err  filled in unless the result is LEASH_OK; may be NULL.
 *
 * @return as leash_multi_acquire(); also LEASH_CANCELED, and LEASH_INVALID for a lease out of range.
 *
 * Threads: as leash_multi_acquire(). Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_multi_acquire_with(leash_multi *multi, const leash_acquire *how, leash_error *err);

/**
 * Undo one acquire of each lock of the set, in one round trip. Locks that were nested stay held. If one of them fails,
 * the others are still released.
 *
 * @param err  filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK    this acquire is undone for every lock of the set
 * @retval LEASH_LOST  the lock that the text names was lost: another owner may have held it meanwhile. This acquire is
 *                     undone for every lock anyway; what the server has not released yet is released in the background
 *
 * Otherwise as leash_lock_release(), for the first lock that did not end with LEASH_OK.
 *
 * Threads: any; not from a leash callback. Since 0.1.
 */
LEASH_API leash_status leash_multi_release(leash_multi *multi, leash_error *err);

/**
 * Does the calling owner hold all of them now? Memory only. If one of them is lost, this is false.
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API bool leash_multi_held(const leash_multi *multi);

/**
 * For how many ms all of them are valid without another renewal; 0 if they are not all held.
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API int64_t leash_multi_remaining_ms(const leash_multi *multi);

LEASH_END_DECLS

#endif
