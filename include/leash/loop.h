/* Asynchronous operations, for programs with an event loop (epoll, libuv, libevent, ...).
 *
 * A call whose name ends in _start begins an operation and returns at once. The result is reported to a function of the
 * program. leash_client_dispatch() calls this function, on the thread of its caller. Call leash_client_dispatch()
 * whenever leash_client_fd() is readable. No thread waits meanwhile: ten thousand operations under way are ten thousand
 * small structs.
 *
 *     leash_client_fd(client, &fd, &err);                      the loop watches fd for reading
 *     leash_lock_acquire_start(lock, LEASH_ACQUIRE(.wait_ms = LEASH_FOREVER), acquired, request, NULL, &err);
 *     ...
 *     when fd is readable: leash_client_dispatch(client, &err);      calls acquired(request, status, err)
 *
 * The life of an operation:
 *
 *     _start --> UNDER WAY --ended, canceled, or its time is over--> OVER --leash_client_dispatch()--> reported, gone
 *
 * Owners: an operation may end on any thread that dispatches, so a thread cannot own what it acquires. The handle needs
 * an `owner` (leash/owner.h): one for each request, connection or job that holds locks of its own. A handle without one
 * is refused: LEASH_INVALID. Permits (leash/semaphore.h) have no owner, and need none.
 *
 * docs/event-loops.md says how a server uses them: with libuv and libevent, when a request is dropped, and when a lock
 * is lost. */
#ifndef LEASH_LOOP_H
#define LEASH_LOOP_H

#include <leash/lock.h>

LEASH_BEGIN_DECLS

/** An operation begun by a _start. It no longer exists after its end was reported. */
typedef struct leash_op leash_op;

/**
 * What a program does when an operation has ended. Called once, by leash_client_dispatch() or leash_close(). If
 * leash_close() calls it, nothing is held any more, whatever the status.
 *
 * It may make any call of leash except leash_client_dispatch() and leash_close() for the same client: begin the next
 * operation, or free the handle of this one. Calls that wait are allowed, but make the whole loop wait. It must return:
 * no longjmp(3), no exception.
 *
 * @param arg     as given to the _start
 * @param status  what the call of the same name without _start would have returned
 * @param err     says why; valid until the function returns. NULL with LEASH_OK
 */
typedef void (*leash_done_fn)(void *arg, leash_status status, const leash_error *err);

/** A client that is being opened; see leash_open_start(). */
typedef struct leash_opening leash_opening;

/**
 * Begin to open a client, as leash_open() does, without waiting for its server. A thread of leash waits instead, and
 * ends when the opening is over.
 *
 *     leash_open_start(&opening, &fd, LEASH_OPTIONS(.open_wait_ms = LEASH_FOREVER), &err);     watch fd for reading
 *     ...
 *     when it is readable, stop watching it: leash_open_end(opening, &client, &err);
 *
 * @param opening  receives the opening; pass it to leash_open_end(), which must be called
 * @param fd       receives a descriptor that is readable once the opening is over. Only watch it; leash_open_end()
 *                 closes it
 * @param options  as for leash_open(). What they point to must exist until leash_open_end(). `open_cancel` ends the
 *                 opening
 * @param err      filled in unless the result is LEASH_OK; may be NULL
 *
 * @retval LEASH_OK         it is under way
 * @retval LEASH_INVALID, LEASH_UNSUPPORTED  as leash_open(), for the options; or no `opening`, or no `fd`. Errors in
 *                         the URI are reported by leash_open_end()
 * @retval LEASH_NO_MEMORY  no memory, or no more descriptors or threads
 * With any other result nothing was begun.
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_open_start(leash_opening **opening, int *fd, const leash_options *options, leash_error *err);

/**
 * End the opening. This waits if the opening is not over; to stop it early, fire its `open_cancel` first. It frees the
 * opening, whatever it returns.
 *
 * @param client  receives the client if the result is LEASH_OK; else untouched. NULL: the client is not wanted, and is
 *                closed
 * @param err     filled in unless the result is LEASH_OK; may be NULL
 *
 * @retval LEASH_INVALID  no opening
 * @retval LEASH_FORKED   the opening belongs to the parent process
 * @return otherwise as leash_open()
 *
 * Threads: any; not from a leash callback. Since 0.1.
 */
LEASH_API leash_status leash_open_end(leash_opening *opening, leash_client **client, leash_error *err);

/**
 * The descriptor to watch for reading: it is readable while leash_client_dispatch() has something to do. The first call
 * makes it. It stays the same until leash_close(), which closes it. Only watch it, and do not read from it.
 *
 * @param fd   receives the descriptor; untouched unless the result is LEASH_OK
 * @param err  filled in unless the result is LEASH_OK; may be NULL
 *
 * @retval LEASH_OK         watch `*fd`, by level or by edge
 * @retval LEASH_INVALID    `client` or `fd` is NULL
 * @retval LEASH_NO_MEMORY  no memory, or no more descriptors
 * @retval LEASH_CLOSED     the client is closed
 * @retval LEASH_FORKED     the client belongs to the parent process
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status leash_client_fd(leash_client *client, int *fd, leash_error *err);

/**
 * Report the operations that have ended, and do what has become due. Does not wait. What ends during the call is
 * reported by the next call, and the descriptor stays readable for it.
 *
 * @param err  filled in unless the result is LEASH_OK; may be NULL
 *
 * @retval LEASH_OK           whether there was anything to do or not
 * @retval LEASH_INVALID      `client` is NULL; or another thread dispatches for it at this moment; or this is called
 *                            from a leash_done_fn
 * @retval LEASH_NO_MEMORY    nothing was reported
 * @retval LEASH_CLOSED       the client is closed
 * @retval LEASH_FORKED       the client belongs to the parent process, perhaps because a leash_done_fn has forked:
 *                            nothing is reported in the child
 * @retval LEASH_IN_CALLBACK  called from a leash callback (an event, a log line)
 *
 * Threads: one at a time. Since 0.1.
 */
LEASH_API leash_status leash_client_dispatch(leash_client *client, leash_error *err);

/**
 * Report one operation that has ended, by returning its end instead of calling a function: for bindings of languages
 * into which a C library should not call. It reports operations that were begun with an `arg` and without a `done`,
 * which leash_client_dispatch() does not report. Otherwise both calls do the same. Call it until it sets `*arg` to
 * NULL: until then, the descriptor stays readable. leash_close() ends the remaining operations without a report.
 *
 *     when fd is readable: while (leash_client_next(client, &arg, &end, &err) == LEASH_OK && arg != NULL) ...
 *
 * @param arg  receives what was given to the _start; NULL: no such operation has ended
 * @param end  receives the result if `*arg` is not NULL: `end->status`, and the reason if that is not LEASH_OK
 * @param err  filled in unless the result is LEASH_OK; may be NULL
 *
 * @retval LEASH_INVALID  also if `arg` or `end` is NULL
 * @return otherwise as leash_client_dispatch(); no end is lost
 *
 * Threads: one at a time, like leash_client_dispatch(). Since 0.1.
 */
LEASH_API leash_status leash_client_next(leash_client *client, void **arg, leash_error *end, leash_error *err);

/**
 * Cancel an operation. An acquire or a wait (for a latch, barrier, condition or leader) soon ends with LEASH_CANCELED,
 * unless it has ended otherwise by then; other operations continue. The end is reported as always. Calling this again
 * does nothing.
 *
 * @param op  an operation under way, or one that is over and not yet reported; NULL does nothing
 *
 * Threads: any, but not after the end was reported; the thread that dispatches is the safest. Allowed in callbacks.
 * Since 0.1.
 */
LEASH_API void leash_op_cancel(leash_op *op);

/**
 * Begin to acquire, as leash_lock_acquire_with() does. Only one acquire for an owner may be under way.
 *
 * Do not free the handle before the end was reported. If it was the last handle of its name, the acquired lock could be
 * released only by freeing the owner or closing the client. If the owner is freed first, it holds nothing in the end.
 *
 * @param how   as there, but `cancel` must be NULL: use leash_op_cancel()
 * @param done  called at the end; NULL: the result is not wanted, or leash_client_next() returns it
 * @param arg   for `done`, or without a `done` for leash_client_next()
 * @param op    receives the operation, before `done` may be called; may be NULL. If another thread dispatches, the
 *              operation may be gone when this returns
 * @param err   filled in unless the result is LEASH_OK; may be NULL
 *
 * @retval LEASH_OK         it is under way: `done` will be called with the result of the acquire
 * @retval LEASH_INVALID    no handle, a handle without an owner, an owner that was freed or acquires already, a wait or
 *                          a lease out of range, or a `cancel`
 * @retval LEASH_NO_MEMORY  no memory, or no more descriptors
 * @retval LEASH_CLOSED     the client is closed
 * @retval LEASH_FORKED     the client belongs to the parent process
 * With any other result nothing was begun, and `done` is not called.
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_lock_acquire_start(leash_lock *lock, const leash_acquire *how, leash_done_fn done, void *arg, leash_op **op,
                         leash_error *err);

/**
 * Begin to release, as leash_lock_release() does. From now on the owner does not hold the lock. The end reports whether
 * it had held the lock until now; with `release_nowait` an event reports that.
 *
 * @retval LEASH_NO_MEMORY  it is released in the background anyway, and `done` is not called
 * Otherwise as leash_lock_acquire_start().
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API leash_status
leash_lock_release_start(leash_lock *lock, leash_done_fn done, void *arg, leash_op **op, leash_error *err);

/**
 * Begin to extend, as leash_lock_extend() does.
 *
 * @return as leash_lock_acquire_start()
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_lock_extend_start(leash_lock *lock, int64_t lease_ms, leash_done_fn done, void *arg, leash_op **op,
                        leash_error *err);

/**
 * Begin to turn a reader into a writer, as leash_lock_upgrade() does.
 *
 * @return as leash_lock_acquire_start(); LEASH_INVALID also for a handle that does not write
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_lock_upgrade_start(leash_lock *lock, leash_done_fn done, void *arg, leash_op **op, leash_error *err);

/**
 * Begin to adopt a hold, as leash_lock_adopt() does.
 *
 * @param token  as there; it need not outlive this call
 *
 * @return as leash_lock_acquire_start(); LEASH_INVALID also if it is not a token, or a token of this client
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_lock_adopt_start(leash_lock *lock, const char *token, leash_done_fn done, void *arg, leash_op **op,
                       leash_error *err);

LEASH_END_DECLS

#endif
