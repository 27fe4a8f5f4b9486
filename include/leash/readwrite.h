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
 *                                           order; who releases the last write and still reads is not alone any more
 *   it reads,  acquires to write            LEASH_DEADLOCK: it would wait for itself, and two such readers for each
 *                                           other
 *
 * leash_lock_held() and the like are true of a LEASH_READ handle also for an owner that writes: it may read.
 *
 * Within a process readers share one hold on the server, unless their handles are `.fair`, or have `no_handoff`,
 * `no_renew`, `max_hold_ms` or `alive_ms`: while one of them is in, another one comes in without asking the server, for
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

#endif
