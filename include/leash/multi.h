/* Several locks as one: all are taken, or none; and whoever takes them so never waits in a circle. */
#ifndef LEASH_MULTI_H
#define LEASH_MULTI_H

#include <leash/lock.h>

LEASH_BEGIN_DECLS

enum { LEASH_MULTI_MAX = 64 /**< locks in a set */ };

/**
 * A set of locks. In a cluster they may be in different slots. Any number of threads may share a set; a lock may be
 * in any number of sets, and be used by itself as well.
 *
 * A set waits for its locks in the order of their keys' bytes, however the caller named them. While it waits for one it
 * holds none that comes behind. So programs that hold at most one set at a time, and no other locks, never wait for
 * each other in a circle.
 */
typedef struct leash_multi leash_multi;

/**
 * Make a set of `count` locks. Talks to nobody.
 *
 * @param out    receives the set; untouched unless the result is LEASH_OK.
 * @param locks  handles of one client, of one owner (or none), each of another name. The array is copied; the handles
 *               stay the caller's, and must not be freed before the set.
 * @param count  1 to LEASH_MULTI_MAX.
 * @param err    filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK         `*out` is a set; free it with leash_multi_free()
 * @retval LEASH_INVALID    no locks or too many, one that is NULL, a name twice, several clients or owners; or a handle
 *                          with `no_renew`, `max_hold_ms` or `alive_ms`: while the set waits for its last lock, the
 *                          first ones must be renewed. The text says which
 * @retval LEASH_NO_MEMORY  nothing was made
 * @retval LEASH_FORKED     the client belongs to the parent process
 * @retval LEASH_CLOSED     the client is closed
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_multi_new(leash_multi **out, leash_lock *const *locks, size_t count, leash_error *err);

/**
 * Free a set; NULL is allowed. Releases nothing: what is held through it stays held, and each lock can be released by
 * itself. No other call may use the set at that time or later.
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API void leash_multi_free(leash_multi *multi);

/**
 * Acquire all locks of the set, waiting up to `wait_ms`.
 *
 * If all are free this is one trip to the server. Otherwise the call keeps the locks before the first one that is
 * taken, gives the others back, waits for that one in its queue, and goes on behind it. Other owners may see a lock
 * taken for a moment: two that try the same set at the same time, without waiting, may both fail.
 *
 * A lock that the owner holds already is nested; the hold keeps the limits of the handle that made it. Each lock has a
 * lease, a fence and events of its own, and is renewed until it is released. An event of a lock may come before the
 * whole set is held. A lock that is lost while the call waits for another one is acquired again.
 *
 * @param wait_ms  for the whole set; 0 tries once, and LEASH_FOREVER does not give up.
 * @param err      filled in unless the result is LEASH_OK: it names the lock that was in the way; may be NULL.
 *
 * @retval LEASH_OK           the owner holds all of them
 * @retval LEASH_TIMEOUT      another owner still held one of them at the end of `wait_ms`
 * @retval LEASH_DEADLOCK     the owner held a lock of the set before this call, and another owner has one whose key
 *                            comes earlier (perhaps just for a moment). That owner may be waiting for ours. Take both
 *                            in one set; or release, and begin again. With `wait_ms` 0 that is never the result. Or a
 *                            handle of the set is to write what the owner reads: see leash_lock_acquire()
 * @retval LEASH_UNAVAILABLE  as leash_lock_acquire(). It comes before the end of `wait_ms` if the owner held a lock of
 *                            the set before this call. It also comes if the time was over before all locks could be
 *                            asked for, or one of them was lost just then
 * @retval LEASH_LOST         an earlier hold of one of them was lost and is not unwound yet: release that lock first
 *
 * All else is as leash_lock_acquire() says. Unless the result is LEASH_OK the owner holds what it held before, and
 * nothing else: what the call had acquired is given back in the background.
 *
 * Threads: any; not from a leash callback. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status leash_multi_acquire(leash_multi *multi, int64_t wait_ms, leash_error *err);

/**
 * Acquire all as `how` says: the lease is that of each lock, a cancel ends the wait for whichever is waited for.
 *
 * @param how  NULL means LEASH_ACQUIRE(): try once.
 * @param err  filled in unless the result is LEASH_OK; may be NULL.
 *
 * @return as leash_multi_acquire(); LEASH_INVALID also for a lease out of range, LEASH_CANCELED.
 *
 * Threads: as leash_multi_acquire(). Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_multi_acquire_with(leash_multi *multi, const leash_acquire *how, leash_error *err);

/**
 * Undo one acquire of each lock of the set, in one trip; locks that were nested stay held. A failure with one of them
 * does not keep the others from being released.
 *
 * @param err  filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK    none is held any more by this acquire
 * @retval LEASH_LOST  the lock that the text names was lost: another owner may have had it meanwhile. The owner holds
 *                     none of them by this acquire any more; what the server did not release yet ends in the background
 *
 * All else is as leash_lock_release() says, of the first lock that did not end with LEASH_OK.
 *
 * Threads: any; not from a leash callback. Since 0.1.
 */
LEASH_API leash_status leash_multi_release(leash_multi *multi, leash_error *err);

/**
 * Does the calling owner hold all of them now? From memory. If one of them is lost, this is false.
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API bool leash_multi_held(const leash_multi *multi);

/**
 * For how long all of them are held at least, in ms, if nothing is renewed any more; 0: they are not all held.
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API int64_t leash_multi_remaining_ms(const leash_multi *multi);

LEASH_END_DECLS

#endif
