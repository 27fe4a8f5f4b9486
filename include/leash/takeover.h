/* Taking a lock from another owner: to continue its work, or to let the next waiter have the lock. */
#ifndef LEASH_TAKEOVER_H
#define LEASH_TAKEOVER_H

#include <leash/api.h>
#include <leash/lock.h>
#include <leash/status.h>

LEASH_BEGIN_DECLS

/**
 * Take over a hold of another process by its owner token. From now on the calling thread (or the handle's owner) holds
 * the lock, with the same fence, a depth of 1, and the options of this handle. The watchdog renews it.
 *
 * Use this for work that moves to another process, and for tools. The process that held the lock must have ended
 * without releasing it (killed, or by _exit()): if two processes both use one token, leash cannot tell them apart. A
 * release that the old process sent before its end may reach the server afterwards, and then ends the adopted hold,
 * too. If the old process was only frozen and runs again, it finds out that it lost the hold and releases it, which
 * ends the hold here as well; the adopter learns of that at its next renewal. A hold of this client cannot be adopted:
 * share the handle's `owner` instead. Waiters for the lock, here or elsewhere, continue to wait.
 *
 * The fence is the one that the server has for the hold. If the old process handed a plain lock from thread to thread,
 * which it does without the server, its last thread saw a fence that is larger by at most `handoffs`. A resource that
 * has seen that fence refuses the adopter. So if a lock may have to be adopted, acquire it through fair handles, or set
 * `no_handoff` on every handle that the process has of the lock. An adopted hold is not handed to another thread
 * without asking the server. The next hold has a larger fence than all of these.
 *
 * On a quorum, a majority of the servers must have the hold; the other servers get it at the next renewal. The fence is
 * the one that a majority knows. If no majority knows it any more, because servers lost it, the fence may be larger
 * than the old process had it, but is never smaller.
 *
 * @param token  as leash_lock_token() returned it.
 * @param err    filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK           the calling thread holds the lock, for at least the handle's lease from now
 * @retval LEASH_NOT_HELD     nobody holds it by this token (any more), or this client is releasing it at this moment
 * @retval LEASH_UNAVAILABLE  the server did not answer in time, or too few servers of a quorum did to decide it, or too
 *                            few replicas acknowledged it. Nothing is held here. The old hold stays as it was, perhaps
 *                            with a longer lease
 * @retval LEASH_INVALID      it is not a token, or a token of this client; or another owner has adopted it here; or the
 *                            calling owner already holds the lock, or another thread acquires for that owner at this
 *                            moment
 * @retval LEASH_LOST         an earlier hold of the calling thread was lost, and must be released first
 * @retval LEASH_DENIED, LEASH_MISMATCH, LEASH_UNSUPPORTED, LEASH_PROTOCOL, LEASH_NO_MEMORY, LEASH_CLOSED, LEASH_FORKED,
 *         LEASH_IN_CALLBACK as leash_lock_acquire()
 *
 * Threads: any; not from a leash callback. Not a cancellation point. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status leash_lock_adopt(leash_lock *lock, const char *token, leash_error *err);

/**
 * Take the lock from its holders. The next waiter in its queue gets it, with a larger fence; the caller does not.
 *
 * All holders of a read-write lock lose it, whichever mode the handle has: those that held it when the call asked, not
 * those that come in later. If more than LEASH_HOLDS_MAX share it, those whose leases end last lose it: call again. To
 * the server, permits of a semaphore are the same, so a handle of a read-write lock breaks them, too. A hold that is
 * being upgraded or downgraded at that moment may be missed, because its token changes.
 *
 * For people who know that the holder will not finish. The holder is not asked. A live holder learns of it at its next
 * renewal, at most a third of its lease later (without renewal: when its lease ends). Until then it continues as if it
 * held the lock: only fences protect what both of them write to. A hold of this client, also of the caller itself, is
 * lost when this returns LEASH_OK.
 *
 * @param err  filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK           the owners that held it at the call do not hold it any more
 * @retval LEASH_NOT_HELD     nobody holds it
 * @retval LEASH_UNKNOWN      the server did not answer in time: perhaps it was done. If there were several holds, the
 *                            text says how many had been broken by then, as with each failure
 * @retval LEASH_UNAVAILABLE  the server could not be asked who holds it; nothing was done
 * @retval LEASH_MISMATCH     the key holds something that is not this kind of lock; the key was not changed
 * @retval LEASH_DENIED, LEASH_UNSUPPORTED, LEASH_PROTOCOL, LEASH_INVALID, LEASH_NO_MEMORY, LEASH_CLOSED, LEASH_FORKED,
 *         LEASH_IN_CALLBACK as leash_lock_acquire()
 *
 * Threads: any; not from a leash callback. Not a cancellation point. Since 0.1.
 */
LEASH_API leash_status leash_lock_break(leash_lock *lock, leash_error *err);

LEASH_END_DECLS

#endif
