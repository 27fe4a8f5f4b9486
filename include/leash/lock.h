/* The lock: acquire it, nest it, hold it for as long as needed, release it. */
#ifndef LEASH_LOCK_H
#define LEASH_LOCK_H

#include <leash/api.h>
#include <leash/cancel.h>
#include <leash/client.h>
#include <leash/event.h>
#include <leash/lock_options.h>
#include <leash/owner.h>
#include <leash/status.h>

LEASH_BEGIN_DECLS

/**
 * A handle: this program's view of one lock. Handles of one name in one client share their state, and any number of
 * threads may share a handle. A hold is owned by the thread that acquired it, or by the handle's `owner`. No call is a
 * cancellation point.
 */
typedef struct leash_lock leash_lock;

enum {
	LEASH_NAME_MAX = 512,    /**< bytes in a lock's name */
	LEASH_DEPTH_MAX = 65535, /**< how deep one owner may nest one lock */
	LEASH_TOKEN_MAX = 64,    /**< bytes that hold any owner token, with its NUL */
};

/** How to acquire. Zero means the default; build it with LEASH_ACQUIRE(). */
typedef struct leash_acquire {
	size_t size;      /**< set by LEASH_ACQUIRE() */
	int64_t wait_ms;  /**< 0 tries once; LEASH_FOREVER waits without limit */
	int64_t lease_ms; /**< of this hold; default: the handle's; 100 to 86400000. Ignored by a nested acquire */
	leash_cancel *cancel; /**< fire it to end the wait; must outlive the call; may be NULL. Ignored when nested */
	/* Add fields here, at the end, and nowhere else. */
} leash_acquire;

/** Use it as an argument; the struct may end with the call. To keep one, copy it: `leash_acquire kept =
 * *LEASH_ACQUIRE(...);`. In C++, name the fields in order. See leash/api.h. */
#define LEASH_ACQUIRE(...) LEASH_STRUCT_(leash_acquire, __VA_ARGS__)

/**
 * Make a handle for the lock called `name`. Sends nothing to the server.
 *
 * @param out      receives the handle; untouched unless the result is LEASH_OK.
 * @param name     1 to 512 bytes, with a NUL at the end; copied. Bytes that could harm Redis, a script or a terminal
 *                 are escaped, in keys and in messages.
 * @param options  NULL, or LEASH_LOCK_OPTIONS(...); copied.
 * @param err      filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK         `*out` is a handle; free it with leash_lock_free()
 * @retval LEASH_INVALID    no client, no name, a name too long, an option out of range, or an option that has no effect
 *                          beside another one (see leash/lock_options.h). Or the name is open in this client with
 *                          another fairness, or as another kind of lock. On a quorum also: no restart_guard_ms, a lease
 *                          longer than restart_guard_ms, min_replicas or fsynced. The text says which
 * @retval LEASH_UNSUPPORTED on a quorum, which has no queue: `fair`, or any `mode` except LEASH_MUTEX; `fair` with
 *                          LEASH_REDISSON
 * @retval LEASH_NO_MEMORY  nothing was made
 * @retval LEASH_FORKED     the client, or the owner, belongs to the parent process
 * @retval LEASH_CLOSED     the client is closed; the call is allowed only while a handle of that client exists
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_lock_new(leash_lock **out, leash_client *client, const char *name, const leash_lock_options *options,
               leash_error *err);

/**
 * Free a handle. Sends nothing to the server. NULL is allowed.
 *
 * If it is the last handle of a name that any thread still holds, the lock is released in the background (ABANDONED).
 *
 * Threads: any, while no other call uses this handle; allowed in callbacks. Since 0.1.
 */
LEASH_API void leash_lock_free(leash_lock *lock);

/**
 * Acquire `lock`, waiting up to `wait_ms`.
 *
 * If the calling thread already holds it, this adds one to its depth and sends nothing. From then until the matching
 * release the watchdog renews the lease.
 *
 * No waiter starves. A fair lock goes to the threads of all processes strictly in the order in which they reached
 * Redis. A plain lock goes to processes in that order. (A process joins the queue when none of its threads holds the
 * lock and the first of them asks.) Within a process it goes to threads in the order in which they asked, from thread
 * to thread without asking Redis. Such a hand-off is many times faster. It happens at most `handoffs` times, or for at
 * most `handoff_ms`, in a row.
 *
 * With `min_replicas` or `fsynced` it also waits for replicas and disks; see leash/lock_options.h.
 *
 * @param wait_ms  0 tries once (its one round trip is bounded by the client's `timeout_ms`); LEASH_FOREVER waits
 *                 without limit.
 * @param err      filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK           the calling thread holds the lock
 * @retval LEASH_TIMEOUT      another owner still held it at the end of `wait_ms`; the text says that this owner is in
 *                            this client, or how to find out who it is
 * @retval LEASH_UNAVAILABLE  the server could not be asked in time (away, loading, full, read-only, just restarted: the
 *                            text says which), or too few replicas acknowledged the lock in time ("1 of 2 replicas").
 *                            The caller does not hold the lock; a request that may still arrive is being canceled
 * @retval LEASH_LOST         an earlier hold of the calling thread was lost, and must be released first
 * @retval LEASH_DEADLOCK     the calling thread reads the lock, and this handle writes: it would wait for itself
 * @retval LEASH_DENIED       the server does not permit a command (with a restart_guard_ms this includes INFO); the
 *                            text names it. Or a reconnect was refused twice in a row (user, password or certificate;
 *                            by the server or by leash). This ends all waits for locks on that server at once, even if
 *                            the cause is fixed a moment later. Holders keep trying to renew
 * @retval LEASH_MISMATCH     the key holds something that is not this kind of lock; the key was not changed
 * @retval LEASH_UNSUPPORTED  the server is part of a cluster, and this URI does not say so; or the server cannot do
 *                            what `fsynced` requires
 * @retval LEASH_PROTOCOL     the answer is not what a Redis server sends
 * @retval LEASH_CANCELED     the wait was canceled (`.cancel`); the caller does not hold the lock
 * @retval LEASH_INVALID      no handle, a negative wait, nested deeper than LEASH_DEPTH_MAX, the handle's owner was
 *                            freed, or another thread acquires for that owner at this moment
 * @retval LEASH_NO_MEMORY    nothing is held
 * @retval LEASH_CLOSED       the client is closed, or was closed during the wait
 * @retval LEASH_FORKED       the client, or the cancel, belongs to the parent process
 * @retval LEASH_IN_CALLBACK  called from a leash callback
 *
 * Threads: any; not from a leash callback. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status leash_lock_acquire(leash_lock *lock, int64_t wait_ms, leash_error *err);

/**
 * Acquire `lock` as `how` says: leash_lock_acquire_with(lock, LEASH_ACQUIRE(.wait_ms = 500, .lease_ms = 2000), &err).
 *
 * @param how  NULL means LEASH_ACQUIRE(): try once.
 * @param err  filled in unless the result is LEASH_OK; may be NULL.
 *
 * @return as leash_lock_acquire(); LEASH_INVALID also for a lease out of range.
 *
 * Threads: as leash_lock_acquire(). Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_lock_acquire_with(leash_lock *lock, const leash_acquire *how, leash_error *err);

/**
 * Undo one acquire of the calling thread. The outermost release frees the lock.
 *
 * Except for the refusals in the last line below, every result means that the calling thread (or the handle's owner)
 * has one acquire less to undo, and none left after the outermost.
 *
 * @param err  filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK        released, or one level less deep. If the answer is lost, leash sends the release again, which
 *                         then finds nothing. This is also LEASH_OK, because nobody can tell whether the lock had been
 *                         taken away (broken, deleted) just before
 * @retval LEASH_LOST      the hold had been lost; the lock of a new owner is not touched
 * @retval LEASH_NOT_HELD  the calling thread has nothing to release here
 * @retval LEASH_UNKNOWN   the server did not answer in time, or there was no memory to wait for the answer. The lock is
 *                         being released in the background, and is free when its lease ends at the latest
 * @retval LEASH_DENIED, LEASH_PROTOCOL  the same, because of what the server answered
 * @retval LEASH_UNAVAILABLE, LEASH_NO_MEMORY, LEASH_MISMATCH  when an owner releases its last write and still reads: it
 *                         no longer writes, but keeps others out as long as it reads. LEASH_DENIED and LEASH_PROTOCOL
 *                         mean the same there
 * @retval LEASH_INVALID, LEASH_CLOSED, LEASH_FORKED, LEASH_IN_CALLBACK as leash_lock_acquire()
 *
 * Threads: the one that acquired, or any that acts for the handle's owner; not from a leash callback. Since 0.1.
 */
LEASH_API leash_status leash_lock_release(leash_lock *lock, leash_error *err);

/**
 * Release, and wait for the answer at most `wait_ms`. leash_lock_release() waits about twice `timeout_ms`; so does this
 * call when it goes back from writing to reading.
 * @param wait_ms  0 to 86400000. 0 does not wait, like the option `release_nowait`
 * @return as leash_lock_release(); LEASH_INVALID also for a wait out of range, and then nothing is released
 *
 * Threads: as leash_lock_release(). Since 0.1.
 */
LEASH_API leash_status leash_lock_release_within(leash_lock *lock, int64_t wait_ms, leash_error *err);

/**
 * Make sure that the lease of the calling thread's hold lasts at least `lease_ms` from now, and never shorten it.
 *
 * Use it for holds that are not renewed (`no_renew`), and before work during which the server may be unreachable.
 * Renewals continue as before.
 *
 * @param lease_ms  100 to 86400000; shortened to what `max_hold_ms` allows.
 * @param err       filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK           the lease lasts at least that long
 * @retval LEASH_LOST         the hold is lost
 * @retval LEASH_NOT_HELD     the calling thread does not hold the lock
 * @retval LEASH_UNAVAILABLE  the server did not answer in time, or too few replicas did; the lock is still held for
 *                            leash_lock_remaining_ms()
 * @retval LEASH_DENIED, LEASH_UNSUPPORTED, LEASH_PROTOCOL, LEASH_NO_MEMORY, LEASH_INVALID, LEASH_CLOSED, LEASH_FORKED,
 *         LEASH_IN_CALLBACK as leash_lock_acquire()
 *
 * Threads: the one that acquired, or any that acts for the handle's owner; not from a leash callback. Since 0.1.
 */
LEASH_API leash_status leash_lock_extend(leash_lock *lock, int64_t lease_ms, leash_error *err);

/**
 * Does the calling thread hold `lock`, and is the lease still valid? Answered from memory, in nanoseconds.
 *
 * It is never true after the moment at which another owner could have the lock, even after the machine was suspended.
 * It says nothing about the next moment: a resource that must be safe checks fences.
 *
 * Threads: any; allowed in callbacks (which own nothing). Since 0.1.
 */
LEASH_API bool leash_lock_held(const leash_lock *lock);

/**
 * For how many ms the calling thread's hold is valid without another renewal; 0 if it is not held. Memory only.
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API int64_t leash_lock_remaining_ms(const leash_lock *lock);

/**
 * How deep the calling thread has nested `lock`; 0 if it has nothing to release. A lost hold counts, too. Memory only.
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API unsigned leash_lock_depth(const leash_lock *lock);

/**
 * The fence of the calling thread's hold; 0 if it is not held. Memory only.
 *
 * Each new hold of a lock has a larger fence than the one before. Readers that read together share one, and an upgrade
 * or a downgrade gives a new one. Hand it to the resource that the lock protects, also before you read what you will
 * change, and let it refuse any number smaller than the largest it has seen (docs/guide.md). It is below 2^63.
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API uint64_t leash_lock_fence(const leash_lock *lock);

/**
 * Copy the owner token of the calling thread's hold, "<uuid>:<n>", into `out`. Memory only.
 *
 * @param out   may be NULL if `size` is 0.
 * @param size  of `out`, in bytes; LEASH_TOKEN_MAX is always enough.
 * @return the token's length without its NUL; 0 if the lock is not held. If `size` is too small, the token is cut off.
 *         It is always NUL-terminated unless `size` is 0.
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API size_t leash_lock_token(const leash_lock *lock, char *out, size_t size);

/**
 * The name of `lock`; NULL for NULL. Memory only. It is valid as long as the handle, also in a forked child.
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API const char *leash_lock_name(const leash_lock *lock);

/**
 * The client of `lock`, also after it is closed and in a forked child (LEASH_FORKED); NULL for NULL. Memory only.
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API leash_client *leash_lock_client(const leash_lock *lock);

/**
 * Tell the watchdog that the holder's work is making progress; see `alive_ms`. Memory only. Does nothing if the lock is
 * not held.
 */
LEASH_API void leash_lock_alive(leash_lock *lock);

LEASH_END_DECLS

#endif
