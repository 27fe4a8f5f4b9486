/* A lock shared with Java: Redisson's RLock, as a leash_lock whose handle has .mode = LEASH_REDISSON.
 *
 *     leash_lock_new(&orders, client, "orders", LEASH_LOCK_OPTIONS(.mode = LEASH_REDISSON), &err);
 *
 * and redisson.getLock("orders") are one lock, with Redisson 3.24 or later. On both sides it is reentrant, is renewed
 * while it is held, and wakes its waiters. All calls of leash/lock.h work with it, too. The key is the plain name,
 * without a prefix.
 *
 * forceUnlock() on the Java side is LEASH_LOST here, at the next renewal at the latest. leash_lock_break() here also
 * takes the lock from a Java thread, whose unlock() then throws.
 *
 * Redisson has no queue, so the order that leash promises elsewhere does not hold: the first one to ask when the lock
 * becomes free gets it, and a process may be overtaken any number of times. `.fair` is LEASH_UNSUPPORTED, because
 * RFairLock is another lock, and so is leash_lock_waiters(). The fence orders only the holds of leash, by the server's
 * clock; a Java thread has no fence. docs/kinds.md says what else Redisson's side cannot promise.
 *
 * It works on one server, with Sentinels, and in a cluster, but not on a quorum: LEASH_UNSUPPORTED. RReadWriteLock, the
 * token of RFencedLock, and RFairLock are not supported. */
#ifndef LEASH_REDISSON_H
#define LEASH_REDISSON_H

#include <leash/lock.h>

#endif
