/* A lock that is shared with Java: Redisson's RLock, by a leash_lock whose handle has .mode = LEASH_REDISSON.
 *
 *     leash_lock_new(&orders, client, "orders", LEASH_LOCK_OPTIONS(.mode = LEASH_REDISSON), &err);
 *
 * and redisson.getLock("orders") are one lock, of Redisson 3.24 or later: on both sides it is reentrant, is renewed
 * while it is held, and wakes those who wait. All calls of leash/lock.h are for it, too. The key is the name as it is,
 * without a prefix.
 *
 * forceUnlock() on the Java side is LEASH_LOST here, by the next renewal at the latest; leash_lock_break() here takes
 * the lock from a Java thread as well, whose unlock() throws then.
 *
 * Redisson keeps no queue. So what leash promises of order does not hold: whoever asks first when the lock becomes free
 * has it, and a process may be overtaken any number of times. `.fair` is LEASH_UNSUPPORTED, since RFairLock is another
 * lock; and so is leash_lock_waiters(). The fence orders the holds of leash alone, by the server's clock: a Java thread
 * has none to show. docs/kinds.md says what else Redisson's side cannot promise.
 *
 * On one server, behind Sentinels, or in a cluster; on a quorum there are none: LEASH_UNSUPPORTED. RReadWriteLock,
 * RFencedLock's token and RFairLock are not spoken. */
#ifndef LEASH_REDISSON_H
#define LEASH_REDISSON_H

#include <leash/lock.h>

#endif
