/* Operations that nobody waits for: for programs around an event loop (epoll, libuv, libevent, ...).
 *
 * A call whose name ends in _start begins an operation and returns at once. What came of it is told by a function of
 * the program, which leash_client_dispatch() calls: on the thread that calls that, whenever leash_client_fd() is
 * readable. No thread waits meanwhile; ten thousand operations under way are ten thousand small structs.
 *
 *     leash_client_fd(client, &fd, &err);                      and let the loop watch it, for reading
 *     leash_lock_acquire_start(lock, LEASH_ACQUIRE(.wait_ms = LEASH_FOREVER), acquired, request, NULL, &err);
 *     ...
 *     when fd is readable: leash_client_dispatch(client, &err);
 *
 * The life of an operation:
 *
 *     _start --> UNDER WAY --ended, canceled, or its time is over--> OVER --leash_client_dispatch()--> told, gone
 *
 * Owners: an operation ends on whatever thread dispatches, so a thread cannot own what it acquires. The handle needs an
 * `owner` (leash/owner.h): one for each request, connection or job that holds locks for itself. A handle without one is
 * refused: LEASH_INVALID. Permits (leash/semaphore.h) belong to nobody, and need none.
 *
 * docs/event-loops.md says how a server uses them: with libuv and libevent, when a request goes away, at a loss. */
#ifndef LEASH_LOOP_H
#define LEASH_LOOP_H

#include <leash/lock.h>

LEASH_BEGIN_DECLS

/** An operation that was begun by a _start. It is gone when its end was told. */
typedef struct leash_op leash_op;

/**
 * What a program does when an operation has ended; called once, by leash_client_dispatch() or leash_close().
 *
 * It may make any call of leash but leash_client_dispatch() and leash_close() for the same client: begin the next
 * operation, free the handle that this one was for. Calls that wait are allowed, and let the whole loop wait. It must
 * return: no longjmp(3), no exception.
 *
 * @param arg     as given to the _start
 * @param status  what the call of the same name without _start would have returned
 * @param err     says why; until the function returns. NULL with LEASH_OK
 */
typedef void (*leash_done_fn)(void *arg, leash_status status, const leash_error *err);

/** A client that is being opened. */
typedef struct leash_opening leash_opening;

/**
 * Begin to open a client, as leash_open() does, without waiting for its server: a thread of leash's own does, and ends
 * with that.
 *
 *     leash_open_start(&opening, &fd, LEASH_OPTIONS(.open_wait_ms = LEASH_FOREVER), &err);     watch fd for reading
 *     ...
 *     when it is readable, stop watching it: leash_open_end(opening, &client, &err);
 *
 * @param opening  receives it; for leash_open_end(), which must be called
 * @param fd       receives what is readable once it is over. Do nothing else with it; leash_open_end() closes it
 * @param options  as for leash_open(). What they point to must be there until leash_open_end(). `open_cancel` ends it
 * @param err      filled in unless the result is LEASH_OK; may be NULL
 *
 * @retval LEASH_OK         it is under way
 * @retval LEASH_INVALID, LEASH_UNSUPPORTED  as leash_open(), of the options; or no `opening`, or no `fd`. What is wrong
 *                          with the URI is said by leash_open_end()
 * @retval LEASH_NO_MEMORY  no memory, or no more descriptors or threads
 * Unless it is LEASH_OK nothing was begun.
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_open_start(leash_opening **opening, int *fd, const leash_options *options, leash_error *err);

/**
 * Receive what leash_open_start() has opened. Waits until that is over: fire the `open_cancel` before, if it is not
 * wanted any more. Frees the opening, whatever it returns.
 *
 * @param client  receives the client if the result is LEASH_OK, else it is untouched. NULL: it is not wanted: closed
 * @param err     filled in unless the result is LEASH_OK; may be NULL
 *
 * @retval LEASH_INVALID  no opening
 * @retval LEASH_FORKED   it belongs to the parent process
 * @return otherwise as leash_open()
 *
 * Threads: any; not from a leash callback. Since 0.1.
 */
LEASH_API leash_status leash_open_end(leash_opening *opening, leash_client **client, leash_error *err);

/**
 * What to watch for reading: it is readable while leash_client_dispatch() has something to do. Made by the first call,
 * and the same until leash_close(), which closes it. Do nothing else with it.
 *
 * @param fd   receives it; untouched unless the result is LEASH_OK
 * @param err  filled in unless the result is LEASH_OK; may be NULL
 *
 * @retval LEASH_OK         watch `*fd`, by level or by edge, as you like
 * @retval LEASH_INVALID    `client` or `fd` is NULL
 * @retval LEASH_NO_MEMORY  no memory, or no more descriptors
 * @retval LEASH_CLOSED     the client is closed
 * @retval LEASH_FORKED     the client belongs to the parent process
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status leash_client_fd(leash_client *client, int *fd, leash_error *err);

/**
 * Tell what has ended, and do what has become due. Does not wait. What ends meanwhile is for the next
 * call, and the descriptor is readable then.
 *
 * @param err  filled in unless the result is LEASH_OK; may be NULL
 *
 * @retval LEASH_OK           whether there was something to do or not
 * @retval LEASH_INVALID      `client` is NULL; or another thread dispatches for it at this moment, or this one does,
 *                            and this is called from a leash_done_fn
 * @retval LEASH_NO_MEMORY    nothing was told
 * @retval LEASH_CLOSED       the client is closed
 * @retval LEASH_FORKED       the client belongs to the parent process, perhaps since a leash_done_fn has forked:
 *                            nothing is told in the child
 * @retval LEASH_IN_CALLBACK  called from a leash callback (an event, a log line)
 *
 * Threads: one at a time. Since 0.1.
 */
LEASH_API leash_status leash_client_dispatch(leash_client *client, leash_error *err);

/**
 * Cancel an operation that is not wanted any more. An acquire ends with LEASH_CANCELED soon, unless it has ended
 * otherwise meanwhile; others go on. Its end is told as always. Calling it again does nothing.
 *
 * @param op  under way, or over and not told yet; NULL does nothing
 *
 * Threads: any, but not after its end was told, so best the one that dispatches; allowed in callbacks. Since 0.1.
 */
LEASH_API void leash_op_cancel(leash_op *op);

/**
 * Begin to acquire, as leash_lock_acquire_with() does. Only one acquire for an owner may be under way.
 *
 * The handle must not be freed before the end was told: with the last handle of a name nobody could release what is
 * acquired then, before its owner is freed or the client closed. An owner that is freed first has nothing in the end.
 *
 * @param how   as there; but `cancel` must be NULL: leash_op_cancel() is for that
 * @param done  is called in the end; NULL: nobody wants to know
 * @param arg   for `done`
 * @param op    receives the operation, before `done` may be called; may be NULL. Where another thread dispatches it may
 *              be gone when this returns
 * @param err   filled in unless the result is LEASH_OK; may be NULL
 *
 * @retval LEASH_OK         it is under way: `done` will be called with what would have been returned
 * @retval LEASH_INVALID    no handle, a handle without an owner, or one whose owner was freed or acquires already; a
 *                          wait or a lease out of range; or a `cancel`
 * @retval LEASH_NO_MEMORY  no memory, or no more descriptors
 * @retval LEASH_CLOSED     the client is closed
 * @retval LEASH_FORKED     the client belongs to the parent process
 * Unless it is LEASH_OK nothing was begun, and `done` is not called.
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_lock_acquire_start(leash_lock *lock, const leash_acquire *how, leash_done_fn done, void *arg, leash_op **op,
                         leash_error *err);

/**
 * Begin to release, as leash_lock_release() does: from now on the owner does not hold it. What is told in the end is
 * whether it had held it until now; with `release_nowait` that is an event.
 *
 * @retval LEASH_NO_MEMORY  it is released in the background all the same, and `done` is not called
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
 * Begin to go from reading to writing, as leash_lock_upgrade() does.
 *
 * @return as leash_lock_acquire_start(); LEASH_INVALID also for a handle that is not to write
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
 * @return as leash_lock_acquire_start(); LEASH_INVALID also for what is no token, or one of this client's own
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_lock_adopt_start(leash_lock *lock, const char *token, leash_done_fn done, void *arg, leash_op **op,
                       leash_error *err);

LEASH_END_DECLS

#endif
