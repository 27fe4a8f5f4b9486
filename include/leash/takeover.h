/* Taking a lock from somebody else: to go on with it, or to let the next one have it. */
#ifndef LEASH_TAKEOVER_H
#define LEASH_TAKEOVER_H

#include <leash/api.h>
#include <leash/lock.h>
#include <leash/status.h>

LEASH_BEGIN_DECLS

/**
 * Take over a hold of another process, by its owner token: from now on the calling thread (or the handle's owner) holds
 * the lock, with the same fence and a depth of 1, on the terms of this handle, and the watchdog renews it.
 *
 * For work that moves on to another process, and for tools. The process that had it must have ended without giving it
 * up (killed, or by _exit()): of two that believe they hold one token, leash can tell none. A release that it sent
 * before its end may reach the server afterwards, and ends the adopted hold, too. One that was merely frozen
 * finds out, should it ever go on, that it lost the hold, and lets it go, which ends it here as well; the adopter
 * learns of that at the next renewal. A hold of this client is not for adoption: share the handle's `owner` instead.
 * Who waits for the lock, here or elsewhere, waits on.
 *
 * The fence is the one that the server has for the hold. Where the former process had handed a plain lock on between
 * its threads, which it does without the server, the last of them saw one that was larger, by at most `handoffs`: a
 * resource that has seen that one refuses the adopter. So acquire what may have to be adopted through fair handles, or
 * with `no_handoff` through every handle that the process has of the lock. What was adopted is handed on to no thread
 * without asking the server; the next hold has a larger fence than all of these.
 *
 * On a quorum a majority of the servers must have the hold; those that lack it get it at the next renewal. Its
 * fence is the one that a majority knows; where none is left that does, because servers lost it, it may be larger
 * than the former process had it, and is never smaller.
 *
 * @param token  as leash_lock_token() gave it.
 * @param err    filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK           the calling thread holds the lock, for at least the handle's lease from now
 * @retval LEASH_NOT_HELD     nobody holds it by that token (any more), or this client is just releasing it
 * @retval LEASH_UNAVAILABLE  the server did not answer in time, or so many of a quorum that it cannot be known, or too
 *                            few replicas acknowledged it; nothing is held here, and the other's hold stays as it was,
 *                            perhaps with a longer lease
 * @retval LEASH_INVALID      that is no token, or one of this client's own, or another owner has adopted it here; or
 *                            the calling owner holds the lock already, or another thread acquires for it at this moment
 * @retval LEASH_LOST         an earlier hold of the calling thread was lost and is not unwound yet: release it first
 * @retval LEASH_DENIED, LEASH_MISMATCH, LEASH_UNSUPPORTED, LEASH_PROTOCOL, LEASH_NO_MEMORY, LEASH_CLOSED, LEASH_FORKED,
 *         LEASH_IN_CALLBACK as leash_lock_acquire()
 *
 * Threads: any; not from a leash callback. Not a cancellation point. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status leash_lock_adopt(leash_lock *lock, const char *token, leash_error *err);

/**
 * Take the lock from whoever has it. The next in its queue gets it, with a larger fence; the caller does not.
 *
 * Of a read-write lock all who have it lose it, whichever mode the handle has: those who were found to, and nobody who
 * comes in meanwhile. If more than LEASH_HOLDS_MAX share it, those lose it whose leases end last: call it again. To the
 * server permits of a semaphore are the same, and a handle of a read-write lock breaks them, too. A hold that is being
 * upgraded or downgraded just then may be missed: it has another token from then on.
 *
 * For people who know that the holder is of no use any more. It is not asked; a live one learns of it at its next
 * renewal, at most a third of its lease later (one that does not renew: when its lease ends), and until then goes on
 * as if it held the lock: only fences protect what both of them write to. A hold of this very client, the caller's own
 * not excepted, is lost when this returns LEASH_OK.
 *
 * @param err  filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK           whoever had it when this was called has it no more
 * @retval LEASH_NOT_HELD     nobody has it
 * @retval LEASH_UNKNOWN      the server did not answer in time: perhaps it was done. Of several holds the text says how
 *                            many were broken before, as with each failure
 * @retval LEASH_UNAVAILABLE  the server could not be asked who has it; nothing was done
 * @retval LEASH_MISMATCH     the key holds something that is not this kind of lock; it was left alone
 * @retval LEASH_DENIED, LEASH_UNSUPPORTED, LEASH_PROTOCOL, LEASH_INVALID, LEASH_NO_MEMORY, LEASH_CLOSED, LEASH_FORKED,
 *         LEASH_IN_CALLBACK as leash_lock_acquire()
 *
 * Threads: any; not from a leash callback. Not a cancellation point. Since 0.1.
 */
LEASH_API leash_status leash_lock_break(leash_lock *lock, leash_error *err);

LEASH_END_DECLS

#endif
