/* Read-write locks: many readers, or one writer.
 *
 * A read-write lock is a leash_lock whose handles have a mode: .mode = LEASH_READ or LEASH_WRITE in their options. All
 * calls of leash/lock.h work with it, too. A program that reads and writes has two handles of the name:
 *
 *     leash_lock_new(&reads, client, "config", LEASH_LOCK_OPTIONS(.mode = LEASH_READ), &err);
 *     leash_lock_new(&writes, client, "config", LEASH_LOCK_OPTIONS(.mode = LEASH_WRITE), &err);
 *
 * First come, first served. Readers at the head of the queue come in together, up to the first writer; everyone else
 * waits behind that writer. So neither side starves, however busy the other one is.
 *
 * What an owner that already holds the lock gets, at once and from memory:
 *
 *   it reads,  acquires to read             depth + 1
 *   it writes, acquires to write or read    depth + 1 of that mode. Each is released by a handle of its mode, in any
 *                                           order. An owner that releases its last write and still reads goes back to
 *                                           reading, with a new fence, and other readers come in (downgrade)
 *   it reads,  acquires to write            LEASH_DEADLOCK: it would wait for itself, and two such readers would wait
 *                                           for each other. See leash_lock_upgrade()
 *
 * leash_lock_held(), _remaining_ms, _fence and _token of a LEASH_READ handle also answer for an owner that writes,
 * since it may read. leash_lock_depth() counts only the acquires of its own mode.
 *
 * Readers of one process share one hold on the server. They do not share it if their handles are `.fair`, or have
 * `no_handoff`, `no_renew`, `max_hold_ms` or `alive_ms`; if one of them asks for another lease or for more replicas; or
 * if the hold was extended, adopted, or is in jeopardy. While one of them reads, another one comes in without asking
 * the server. This lasts for `handoff_ms` (default 10) from when the first of them came in, and only while no thread of
 * the process waits to write; the next reader then asks the server. So a process that reads without a pause keeps
 * writers out only for that time, plus the reads that are then under way. The watchdog renews the shared hold with one
 * command.
 *
 * Each writer gets a new fence, and so does the first reader after a write. Readers that come in with that reader get
 * the same fence. A resource that remembers the largest fence refuses a writer that comes too late, after readers or
 * another writer, and a reader that comes too late, after a writer.
 *
 * A name is used for a mutex or for a read-write lock. Using it for the other kind returns LEASH_MISMATCH, or
 * LEASH_INVALID within a client. A quorum, which has no queue, has no read-write locks: LEASH_UNSUPPORTED. */
#ifndef LEASH_READWRITE_H
#define LEASH_READWRITE_H

#include <leash/lock.h>

LEASH_BEGIN_DECLS

/**
 * Go from reading to writing: at once, ahead of all waiters, if no other owner reads the lock; otherwise not at all.
 * Nobody writes in between, so what was read is still true.
 *
 * From then on the owner writes as after an acquire with this handle, with a new fence, until it releases with this
 * handle. If it already writes, this is one more acquire, from memory.
 *
 * Like the release of the last write by an owner that still reads, this waits for the server's answer. Without a
 * connection it gives up after twice the client's `timeout_ms`. After the request was sent, it may wait until the lease
 * is over, because without the answer nobody knows in which mode the lock is held.
 *
 * @param lock  a handle with .mode = LEASH_WRITE.
 * @param err   filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK           the calling owner writes
 * @retval LEASH_TIMEOUT      other owners, of this process or another one, read it, or an operator's limit is 0; this
 *                            owner still reads. Release the lock and acquire it to write; what was read may have
 *                            changed by then
 * @retval LEASH_NOT_HELD     the calling owner does not hold it, or another thread has released it for this owner
 *                            during the call
 * @retval LEASH_LOST         it was lost, or the server did not answer before its lease was over
 * @retval LEASH_UNAVAILABLE  the server refuses it at the moment (full, just restarted), or is away; this owner still
 *                            reads
 * @retval LEASH_DENIED       the server does not permit a command; the text names it. This owner still reads
 * @retval LEASH_INVALID      no handle, a handle that does not write, nested deeper than LEASH_DEPTH_MAX, or another
 *                            thread makes this call for this owner at this moment
 * @retval LEASH_NO_MEMORY    this owner still reads
 * @retval LEASH_MISMATCH, LEASH_PROTOCOL, LEASH_CLOSED, LEASH_FORKED, LEASH_IN_CALLBACK as leash_lock_acquire()
 *
 * Threads: any; not from a leash callback. Not a cancellation point. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status leash_lock_upgrade(leash_lock *lock, leash_error *err);

LEASH_END_DECLS

#endif
