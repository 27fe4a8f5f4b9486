/* Read-write locks: many who read, or one who writes.
 *
 * A read-write lock is a leash_lock whose handles have a mode: .mode = LEASH_READ or LEASH_WRITE in their options. All
 * calls of leash/lock.h are for it, too. A program that does both has two handles of the name:
 *
 *     leash_lock_new(&reads, client, "config", LEASH_LOCK_OPTIONS(.mode = LEASH_READ), &err);
 *     leash_lock_new(&writes, client, "config", LEASH_LOCK_OPTIONS(.mode = LEASH_WRITE), &err);
 *
 * First come, first served: those who read come in together, up to the first who writes; behind that one everybody
 * waits. So neither side starves, however busy the other is.
 *
 * What an owner that holds it already gets, at once and from memory:
 *
 *   it reads,  acquires to read             depth + 1
 *   it writes, acquires to write or read    depth + 1 of that mode. Each is released by a handle of its mode, in any
 *                                           order. Who releases the last write and still reads goes on to read, with
 *                                           a new fence, and others who read come in (downgrade)
 *   it reads,  acquires to write            LEASH_DEADLOCK: it would wait for itself, and two such readers for each
 *                                           other. See leash_lock_upgrade()
 *
 * leash_lock_held(), _remaining_ms, _fence and _token of a LEASH_READ handle also answer for an owner that writes: it
 * may read. leash_lock_depth() counts the acquires of its mode alone.
 *
 * Within a process readers share one hold on the server, unless their handles are `.fair`, or have `no_handoff`,
 * `no_renew`, `max_hold_ms` or `alive_ms`, or one asks for another lease, or for more replicas; or it was extended,
 * adopted, or is in jeopardy: while one of them is in, another one comes in without asking the server, for
 * `handoff_ms` (default 10) from when the first of them came in, and while nobody of the process waits to write. Then
 * the next one asks. So a process that reads without a pause keeps no writer out for longer than that and what is read
 * then. The watchdog renews what they share with one command.
 *
 * A fence is new for who writes, and for the first who reads after somebody wrote; others who read with it have the
 * same. A resource that remembers the largest refuses a writer that comes too late behind readers or another writer,
 * and a reader that comes too late behind a writer.
 *
 * A name is for a mutex or for a read-write lock: who uses it for the other is told LEASH_MISMATCH, or LEASH_INVALID
 * within a client. On a quorum, which has no queue, there are none: LEASH_UNSUPPORTED. */
#ifndef LEASH_READWRITE_H
#define LEASH_READWRITE_H

#include <leash/lock.h>

LEASH_BEGIN_DECLS

/**
 * Write a lock that the calling owner reads: at once, if nobody else reads it, and before all who wait for it; or not
 * at all. Nobody writes in between, so that what was read is still so.
 *
 * From then on the owner writes as after an acquire by this handle, with a new fence, until it releases it by this
 * handle. If it writes already this is one acquire more, from memory.
 *
 * Like the release of the last write by an owner that reads on, it waits for the server's answer. If there is no
 * connection it gives up after twice the client's `timeout_ms`. Once it was sent, it may wait until the lease is over:
 * without the answer nobody knows as what the lock is held.
 *
 * @param lock  a handle with .mode = LEASH_WRITE.
 * @param err   filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK           the calling owner writes
 * @retval LEASH_TIMEOUT      others read it, of this process or of another one, or an operator's limit is 0; it reads
 *                            on. Release it and acquire it
 *                            to write: what was read may have changed then
 * @retval LEASH_NOT_HELD     the calling owner does not hold it, or another thread released it meanwhile for this owner
 * @retval LEASH_LOST         it was lost, or the server did not answer before its lease was over
 * @retval LEASH_UNAVAILABLE  the server refuses it at the moment (full, just restarted), or is away; it reads on
 * @retval LEASH_DENIED       the server does not permit a command; the text names it. It reads on
 * @retval LEASH_INVALID      no handle, one that is not to write, nested deeper than LEASH_DEPTH_MAX, or another thread
 *                            does the same for this owner
 * @retval LEASH_NO_MEMORY    it reads on
 * @retval LEASH_MISMATCH, LEASH_PROTOCOL, LEASH_CLOSED, LEASH_FORKED, LEASH_IN_CALLBACK as leash_lock_acquire()
 *
 * Threads: any; not from a leash callback. Not a cancellation point. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status leash_lock_upgrade(leash_lock *lock, leash_error *err);

LEASH_END_DECLS

#endif
