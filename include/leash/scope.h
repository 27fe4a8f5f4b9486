/* Scopes: a block or a function that runs with a lock held. */
#ifndef LEASH_SCOPE_H
#define LEASH_SCOPE_H

#include <leash/api.h>
#include <leash/lock.h>

LEASH_BEGIN_DECLS

/**
 * Acquire `lock`, call `fn(arg)`, and release it. If it cannot be acquired, `fn` is not called.
 *
 * `fn` returns its results through `arg`; the status is about the lock alone. With the lock held, `fn` may do
 * everything that its caller may, and may also acquire `lock` again. If the lock is lost meanwhile, `fn` continues. It
 * can notice the loss by leash_lock_held() or the event LOST, and its caller by LEASH_LOST.
 *
 * `fn` must return. A longjmp() out of it, or an exception in C++, leaves the lock held. After pthread_exit() or a
 * cancellation, the lock stays held until the thread ends, and is then released in the background (ABANDONED). After
 * exit() or _exit() it is free when its lease ends; a leash_close() before that frees it at once.
 *
 * @param err  filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK       `fn` has run with the lock held, and the lock is released
 * @retval LEASH_INVALID  `fn` is NULL; or as leash_lock_acquire()
 * @return otherwise what leash_lock_acquire() returned (`fn` was not called), or leash_lock_release() (it was called).
 *         Both may return LEASH_LOST, LEASH_UNAVAILABLE and others: if the difference matters, let `fn` note that it
 *         was called
 *
 * Threads: as leash_lock_acquire(). Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_with(leash_lock *lock, int64_t wait_ms, void (*fn)(void *arg), void *arg, leash_error *err);

/** What LEASH_SCOPED() keeps during its block. */
typedef struct leash_scope {
	leash_lock *lock; /**< NULL: not, or no longer, held through this scope */
	leash_error *err; /**< may be NULL */
} leash_scope;

/**
 * Acquire `lock` for a scope. If LEASH_SCOPED() is not available, call this and leash_scope_end() as a pair.
 *
 * @param err  its status becomes the result of leash_lock_acquire(), also LEASH_OK; must outlive the scope; may be
 *             NULL.
 * @return a scope, whose `lock` is NULL if it was not acquired.
 *
 * Threads: as leash_lock_acquire(). Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_scope leash_scope_begin(leash_lock *lock, int64_t wait_ms, leash_error *err);

/**
 * Release what the scope has acquired, unless that was done already. If the release fails (LEASH_LOST, LEASH_UNKNOWN,
 * ...), the scope's `err` is filled in.
 *
 * Threads: as leash_lock_release(). Since 0.1.
 */
LEASH_API void leash_scope_end(leash_scope *scope);

/**
 * Run the following block with `lock` held; gcc and clang only:
 *
 *     LEASH_SCOPED(orders, 5000, &err) {
 *             ...
 *     }
 *     if (err.status != LEASH_OK)
 *             fprintf(stderr, "%s\n", err.text);
 *
 * The lock is acquired as by leash_lock_acquire(lock, wait_ms, err), and the block runs only if that succeeds. The lock
 * is released however the block is left: at its end, by break, continue, goto or return, and in C++ by an exception.
 * Afterwards `err->status` is LEASH_OK, the reason why the lock was not acquired, or the failure of the release. Blocks
 * may be nested, also with the same `err`: a release that succeeds does not overwrite what the inner block reported.
 *
 * Take care:
 * - `err` must outlive the block: declare it outside. If it is NULL, nothing tells you that the block did not run.
 * - `break` and `continue` leave this block, not a loop around it.
 * - `return x;` computes x before the lock is released: a failure of the release is only in `err`, not in x.
 * - If the lock is lost meanwhile, the block continues: check leash_lock_held(). At the end `err` says LEASH_LOST.
 * - If the block releases the lock itself, `err` says LEASH_NOT_HELD.
 * - longjmp() out of the block leaves the lock held. After pthread_exit() or a cancellation the lock stays held until
 *   the thread ends, and is then released in the background (ABANDONED); with -fexceptions it is released at once.
 *   After exit() or _exit() it is free when its lease ends; a leash_close() before that frees it at once.
 * - A goto, or a case of a switch, INTO the block does not acquire the lock, and at the end releases what was never
 *   acquired. clang, and any C++ compiler, refuses it; gcc in C does not.
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
