/* Scopes: a block, or a function, that runs with a lock held. */
#ifndef LEASH_SCOPE_H
#define LEASH_SCOPE_H

#include <leash/api.h>
#include <leash/lock.h>

LEASH_BEGIN_DECLS

/**
 * Acquire `lock`, call `fn(arg)`, and release it. If it cannot be acquired, `fn` is not called.
 *
 * What `fn` finds out it tells by `arg`: the status is about the lock alone. With the lock held `fn` may do all that
 * its caller may, also acquire `lock` again. If the lock is lost meanwhile, `fn` goes on: it learns of that by
 * leash_lock_held(), or by the event LOST, and its caller by LEASH_LOST.
 *
 * It must come back: a longjmp() out of it, or an exception in C++, leaves the lock held, and pthread_exit() or a
 * cancellation to the end of the thread, with which the lock is released in the background (ABANDONED). After exit()
 * or _exit() it is free when its lease ends; leash_close() before that frees it at once.
 *
 * @param err  filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK       `fn` has run with the lock held, and it is released
 * @retval LEASH_INVALID  `fn` is NULL; and as leash_lock_acquire()
 * @return else what leash_lock_acquire() says, and `fn` was not called, or leash_lock_release(), and it was. Both say
 *         LEASH_LOST, UNAVAILABLE and others: where it matters `fn` notes that it was called
 *
 * Threads: as leash_lock_acquire(). Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_with(leash_lock *lock, int64_t wait_ms, void (*fn)(void *arg), void *arg, leash_error *err);

/** What LEASH_SCOPED() keeps meanwhile. */
typedef struct leash_scope {
	leash_lock *lock; /**< NULL: it is not held through this scope, or not any more */
	leash_error *err; /**< may be NULL */
} leash_scope;

/**
 * Acquire `lock` for a scope. Where LEASH_SCOPED() is not, this and leash_scope_end() are a pair to be called.
 *
 * @param err  its status becomes what leash_lock_acquire() says, also LEASH_OK; must outlive the scope; may be NULL.
 * @return a scope, whose `lock` is NULL if it was not acquired.
 *
 * Threads: as leash_lock_acquire(). Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_scope leash_scope_begin(leash_lock *lock, int64_t wait_ms, leash_error *err);

/**
 * Release what the scope has acquired, if that was not done yet. Where it fails (LEASH_LOST, LEASH_UNKNOWN, ...) its
 * `err` is filled in.
 *
 * Threads: as leash_lock_release(). Since 0.1.
 */
LEASH_API void leash_scope_end(leash_scope *scope);

/**
 * Run the block behind it with `lock` held; gcc and clang only:
 *
 *     LEASH_SCOPED(orders, 5000, &err) {
 *             ...
 *     }
 *     if (err.status != LEASH_OK)
 *             fprintf(stderr, "%s\n", err.text);
 *
 * The lock is acquired as by leash_lock_acquire(lock, wait_ms, err), and the block runs only if that succeeded. It is
 * released however the block is left: at its end, by break, continue, goto or return, and in C++ by an exception.
 * Afterwards `err->status` is LEASH_OK, or says why it was not acquired, or what the release found. A block may stand
 * in another one, also with the same `err`: a release that succeeds leaves what the inner block said.
 *
 * Traps:
 * - `err` must outlive the block: do not declare it in there. Of NULL nobody learns that the block did not run.
 * - `break` and `continue` leave this block, not a loop around it.
 * - `return x;` computes x before the lock is released: what the release found is in `err` only, not in x.
 * - If the lock is lost meanwhile, the block goes on: look at leash_lock_held(). At the end `err` says LEASH_LOST.
 * - If the block releases the lock itself, `err` says LEASH_NOT_HELD.
 * - longjmp() out of it leaves the lock held. pthread_exit() and a cancellation do so to the end of the thread, with
 *   which it is released in the background (ABANDONED); with -fexceptions they release it at once. After exit() or
 *   _exit() it is free when its lease ends; leash_close() before that frees it at once.
 * - goto, or a case of a switch, INTO it has no lock, and releases at the end what was never there. clang, and C++,
 *   refuse it; gcc does not in C.
 */
#ifdef __GNUC__
#define LEASH_SCOPED(lock, wait_ms, err) LEASH_SCOPED_AS_(__COUNTER__, (lock), (wait_ms), (err))
#define LEASH_SCOPED_AS_(n, ...) LEASH_SCOPED_BY_(n, __VA_ARGS__)
#define LEASH_SCOPED_BY_(n, ...)                                                                                       \
	for (leash_scope leash_scope_##n##_ __attribute__((cleanup(leash_scope_end))) = leash_scope_begin(__VA_ARGS__);    \
	     leash_scope_##n##_.lock != NULL; leash_scope_end(&leash_scope_##n##_))
#endif

LEASH_END_DECLS

#endif
