/* The lock: take it, nest it, keep it for as long as it takes, let it go. */
#ifndef LEASH_LOCK_H
#define LEASH_LOCK_H

#include <leash/api.h>
#include <leash/cancel.h>
#include <leash/client.h>
#include <leash/event.h>
#include <leash/owner.h>
#include <leash/status.h>

LEASH_BEGIN_DECLS

/**
 * A handle: this program's view of one lock. Handles of one name in one client share their state, and any number of threads may
 * share a handle. The owner of a hold is the thread that acquired it, or the handle's `owner`.
 */
typedef struct leash_lock leash_lock;

enum {
	LEASH_NAME_MAX = 512,    /**< bytes in a lock's name */
	LEASH_DEPTH_MAX = 65535, /**< how deep one owner may nest one lock */
	LEASH_TOKEN_MAX = 64,    /**< bytes that hold any owner token, with its NUL */
};

/** How a lock behaves. Zero means the default; build it with LEASH_LOCK_OPTIONS(). The handle of the outermost acquire rules. */
typedef struct leash_lock_options {
	size_t size;              /**< set by LEASH_LOCK_OPTIONS() */
	int64_t lease_ms;         /**< default: the client's; 100 to 86400000 */
	leash_event_fn on_event;  /**< events of holds through this handle; default: the client's */
	void *event_arg;          /**< handed to `on_event`; must live until leash_close() returns */
	int64_t max_hold_ms;      /**< the lease never reaches further than this after the ask that got it (a waiter's last word); 0: no limit; at least 100 */
	int64_t alive_ms;         /**< the holder calls leash_lock_alive() at least this often, or the lock lapses; 0: need not; at least 100 */
	int64_t restart_guard_ms; /**< after a restart of the server acquire nothing for so long: the longest lease in use; 0: what the URI says, else off.
	                               A quorum needs it: a server counts only once it has been up for so long, and no lease may be longer. The server says
	                               how long it has been up (INFO, else DENIED), by its wall clock: one that is set forward after a restart passes for
	                               older, but for a client that had met it before. See docs/deployments.md */
	bool no_renew;            /**< let the lease run out instead of renewing it */
	bool fair;                /**< every thread waits in one order over all processes, see leash_lock_acquire(); handles of a name agree on it */
	bool no_handoff;          /**< what is held through this handle is handed on to no thread of this process without asking Redis */
	bool fsynced;             /**< acknowledged means written to disk, by fsync, by the server and so many replicas, see leash_lock_acquire() */
	bool reserved_[4];
	int64_t handoffs;         /**< how often in a row a plain lock passes between threads of this process, as the present holder's handle says; default 64, 1 to 255 */
	int64_t handoff_ms;       /**< and for how long in a row; default 10, 1 to 60000 */
	leash_owner *owner;       /**< on whose behalf calls through this handle are made; default: the calling thread's */
	int64_t min_replicas;     /**< nothing counts before so many replicas have acknowledged it, see leash_lock_acquire(); 0: off; 1 to 16 */
	int64_t replicas_ms;      /**< for which it is waited at most so long, and no longer than the lease; default: the client's `timeout_ms`; 1 to 86400000 */
	/* Add fields here, at the end, and nowhere else. */
} leash_lock_options;

/** For the call that it is an argument of; to keep it, copy it: `leash_lock_options kept = *LEASH_LOCK_OPTIONS(...);`. C++ wants the fields in order. See leash/api.h. */
#define LEASH_LOCK_OPTIONS(...) LEASH_STRUCT_(leash_lock_options, __VA_ARGS__)

/** How to acquire. Zero means the default; build it with LEASH_ACQUIRE(). */
typedef struct leash_acquire {
	size_t size;      /**< set by LEASH_ACQUIRE() */
	int64_t wait_ms;  /**< 0 tries once; LEASH_FOREVER does not give up */
	int64_t lease_ms; /**< of this hold; default: the handle's; 100 to 86400000. Ignored by a nested acquire */
	leash_cancel *cancel; /**< ends the wait when it is fired; must live until the call returns; may be NULL. Ignored by a nested acquire */
	/* Add fields here, at the end, and nowhere else. */
} leash_acquire;

/** For the call that it is an argument of; to keep it, copy it: `leash_acquire kept = *LEASH_ACQUIRE(...);`. C++ wants the fields in order. See leash/api.h. */
#define LEASH_ACQUIRE(...) LEASH_STRUCT_(leash_acquire, __VA_ARGS__)

/**
 * Make a handle for the lock called `name`. Talks to nobody.
 *
 * @param out      receives the handle; untouched unless the result is LEASH_OK.
 * @param name     1 to 512 bytes of any kind but NUL, which ends it; copied. Bytes that Redis, a script or a terminal would stumble over are
 *                 escaped in keys and in messages, each in its own way.
 * @param options  NULL, or LEASH_LOCK_OPTIONS(...); copied.
 * @param err      filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK         `*out` is a handle; free it with leash_lock_free()
 * @retval LEASH_INVALID    no client, no name, a name too long, an option out of range, or the name is open in this client
 *                          and not with the same fairness; on a quorum also without a restart_guard_ms, with a lease that is longer than
 *                          that, and with min_replicas or fsynced; the text says which
 * @retval LEASH_UNSUPPORTED `fair` on a quorum, which has no queue
 * @retval LEASH_NO_MEMORY  nothing was made
 * @retval LEASH_FORKED     the client, or the owner, belongs to the parent process
 * @retval LEASH_CLOSED     the client is closed; this may be asked only while a handle of it is there
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_lock_new(leash_lock **out, leash_client *client, const char *name, const leash_lock_options *options, leash_error *err);

/**
 * Free a handle. Talks to nobody. NULL is allowed.
 *
 * If it is the last handle of a name that is still held, by whichever thread, the lock is released in the background and the event
 * ABANDONED is raised.
 *
 * Threads: any, while no other call uses this handle; allowed in callbacks. Since 0.1.
 */
LEASH_API void leash_lock_free(leash_lock *lock);

/**
 * Acquire `lock`, waiting up to `wait_ms`.
 *
 * If the calling thread already holds it, this adds one to its depth and talks to nobody. From then until the matching
 * release the watchdog keeps the lease alive.
 *
 * Nobody starves. A fair lock goes to the threads of all processes strictly in the order in which they came to Redis. A plain
 * one goes to processes in that order (one comes when none of its threads holds the lock and the first of them asks), and within a process to its threads in the order in which they came: from thread to
 * thread without asking Redis, which is many times faster, for at most `handoffs` times or `handoff_ms` in a row.
 *
 * With `min_replicas` = n the call returns LEASH_OK, and leash_lock_held() is true, only once n replicas of the server have the lock as
 * well, with all of its lease (WAIT), and a renewal counts only once they have that. So the lock outlives the loss of the server if one of
 * those n takes its place. Where another replica may be promoted (Sentinel takes the one that has received most, of those that it can
 * reach; only with n = all of them there is no other) the lock can be gone without its holder knowing it before its next renewal: LOST is told
 * then, and the next holder has a larger fence. The same where the one that is promoted has a clock that is ahead by more than what is left
 * of the lease: replicas drop it by their own clock. After the lock was had the replicas have `replicas_ms`, on top of `wait_ms`; if too few have
 * acknowledged it by then it is released again. With `fsynced` they must have written it to disk by fsync, and so must the server
 * (WAITAOF: Redis 7.2, Valkey 8; `min_replicas` may be 0 then): with appendfsync everysec that takes a second and more.
 *
 * It costs one more trip to the server, and one from it to its replicas, for each acquire that asks Redis, and a connection and a thread
 * for each number of replicas in use. A lease should be ten times as long as replicas may be late. A nested acquire, a hand-off between
 * threads (to a handle that asks for no more) and a release wait for no replica.
 *
 * @param wait_ms  0 tries once (its one round trip is bounded by the client's `timeout_ms`); LEASH_FOREVER does not give up.
 * @param err      filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK           the calling thread holds the lock
 * @retval LEASH_TIMEOUT      another owner still held it at the end of `wait_ms`
 * @retval LEASH_UNAVAILABLE  the server could not be asked in time (away, loading, full, read-only, just restarted: the text says
 *                            which), or too few replicas acknowledged the lock in time ("1 of 2 replicas"); the caller does not hold
 *                            the lock, and what may still arrive is being canceled
 * @retval LEASH_LOST         an earlier hold of the calling thread was lost and is not unwound yet: release it first
 * @retval LEASH_DENIED       the server does not permit a command, with a restart_guard_ms also INFO; the text names it. Or a connection that had to be made anew was
 *                            refused, twice in a row (user, password, certificate, by the server or by us): that ends all waits for
 *                            its locks at once, however long they may take, also if it is mended a moment later. Holders go on
 *                            trying to renew
 * @retval LEASH_MISMATCH     the key holds something that is not this kind of lock; it was left alone
 * @retval LEASH_UNSUPPORTED  the server is part of a cluster, which this URI does not name; or it cannot do what `fsynced` asks for
 * @retval LEASH_PROTOCOL     the answer is not what a Redis server says
 * @retval LEASH_CANCELED     the wait was canceled (`.cancel`); the caller does not hold the lock
 * @retval LEASH_INVALID      no handle, a negative wait, nested deeper than LEASH_DEPTH_MAX, or the handle's owner was freed, or
 *                            another thread acquires for it at this moment
 * @retval LEASH_NO_MEMORY    nothing is held
 * @retval LEASH_CLOSED       the client is closed, or was during the wait
 * @retval LEASH_FORKED       the client, or the cancel, belongs to the parent process
 * @retval LEASH_IN_CALLBACK  called from a leash callback
 *
 * Threads: any; not from a leash callback. Not a cancellation point. Since 0.1.
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
LEASH_API LEASH_MUST_CHECK leash_status leash_lock_acquire_with(leash_lock *lock, const leash_acquire *how, leash_error *err);

/**
 * Undo one acquire of the calling thread; the outermost release gives the lock up.
 *
 * Whatever it returns, but for the refusals in the last line below, the calling thread (or the handle's owner) then has one acquire
 * less to undo, and none if it was the outermost.
 *
 * @param err  filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK        released, or one level less deep. A release whose answer was lost is sent again and finds nothing: this is
 *                         LEASH_OK, too, and cannot tell whether the lock had been taken away (broken, deleted) just before
 * @retval LEASH_LOST      the hold had been lost; what another owner holds by now is not touched
 * @retval LEASH_NOT_HELD  the calling thread has nothing to release here
 * @retval LEASH_UNKNOWN   the server did not answer in time, or there was no memory to wait for that: it is being released in the background,
 *                         and ends with its lease at the latest
 * @retval LEASH_DENIED, LEASH_PROTOCOL  likewise, because of what the server answered
 * @retval LEASH_INVALID, LEASH_CLOSED, LEASH_FORKED, LEASH_IN_CALLBACK as leash_lock_acquire()
 *
 * Threads: the one that acquired, or any that acts for the handle's owner; not from a leash callback. Not a cancellation point. Since 0.1.
 */
LEASH_API leash_status leash_lock_release(leash_lock *lock, leash_error *err);

/**
 * Make sure that the lease of the calling thread's hold lasts at least `lease_ms` from now. It never gets shorter.
 *
 * Meant for holds that are not renewed (`no_renew`), and before work during which the server may be away. Renewals go on as before.
 *
 * @param lease_ms  100 to 86400000; cut to what `max_hold_ms` leaves.
 * @param err       filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK           the lease lasts that long
 * @retval LEASH_LOST         the hold is lost
 * @retval LEASH_NOT_HELD     the calling thread does not hold the lock
 * @retval LEASH_UNAVAILABLE  the server did not answer in time, or too few replicas did; still held for leash_lock_remaining_ms()
 * @retval LEASH_DENIED, LEASH_UNSUPPORTED, LEASH_PROTOCOL, LEASH_NO_MEMORY, LEASH_INVALID, LEASH_CLOSED, LEASH_FORKED, LEASH_IN_CALLBACK as
 *         leash_lock_acquire()
 *
 * Threads: the one that acquired, or any that acts for the handle's owner; not from a leash callback. Not a cancellation point. Since 0.1.
 */
LEASH_API leash_status leash_lock_extend(leash_lock *lock, int64_t lease_ms, leash_error *err);

/**
 * Take over a hold of another process, by its owner token: from now on the calling thread (or the handle's owner) holds the lock, with the
 * same fence and a depth of 1, on the terms of this handle, and the watchdog renews it.
 *
 * For work that moves on to another process, and for tools. The process that had it must have ended without giving it up (killed, or by
 * _exit()): of two that believe they hold one token, leash can tell none. One that was merely frozen finds out, should it ever go on,
 * that it lost the hold, and lets it go, which ends it here as well; the adopter learns of that at the next renewal. A hold of
 * this client is not for adoption: share the handle's `owner` instead. Who waits for the lock, here or elsewhere, waits on.
 *
 * The fence is the one that the server has for the hold. Where the former process had handed a plain lock on between its threads, which
 * it does without the server, the last of them saw one that was larger, by at most `handoffs`: a resource that has seen that one refuses
 * the adopter. So acquire what may have to be adopted through fair handles, or with `no_handoff` through every handle that the process
 * has of the lock. What was adopted is handed on to no thread without asking the server; the next hold has a larger fence than all of these.
 *
 * On a quorum a majority of the servers must have the hold; those that lack it get it at the next renewal. Its fence is the one that a majority
 * knows; where none is left that does, because servers lost it, it may be larger than the former process had it, and is never smaller.
 *
 * @param token  as leash_lock_token() gave it.
 * @param err    filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK           the calling thread holds the lock, for at least the handle's lease from now
 * @retval LEASH_NOT_HELD     nobody holds it by that token (any more), or this client is just releasing it
 * @retval LEASH_UNAVAILABLE  the server did not answer in time, or so many of a quorum that it cannot be known; nothing is held here, and
 *                            the other's hold stays as it was, perhaps with a longer lease
 * @retval LEASH_INVALID      that is no token, or one of this client's own, or another owner has adopted it here; or the calling owner
 *                            holds the lock already, or another thread acquires for it at this moment
 * @retval LEASH_LOST         an earlier hold of the calling thread was lost and is not unwound yet: release it first
 * @retval LEASH_DENIED, LEASH_MISMATCH, LEASH_UNSUPPORTED, LEASH_PROTOCOL, LEASH_NO_MEMORY, LEASH_CLOSED, LEASH_FORKED, LEASH_IN_CALLBACK as
 *         leash_lock_acquire()
 *
 * Threads: any; not from a leash callback. Not a cancellation point. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status leash_lock_adopt(leash_lock *lock, const char *token, leash_error *err);

/**
 * Take the lock from whoever has it. The next in its queue gets it, with a larger fence; the caller does not.
 *
 * For people who know that the holder is of no use any more. It is not asked; a live one learns of it at its next renewal, at most a
 * third of its lease later (one that does not renew: when its lease ends), and until then goes on as if it held the lock: only fences
 * protect what both of them write to. A hold of this very client, the caller's own not excepted, is lost when this returns LEASH_OK.
 *
 * @param err  filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK           whoever had it when this was called has it no more
 * @retval LEASH_NOT_HELD     nobody has it
 * @retval LEASH_UNKNOWN      the server did not answer in time: perhaps it was done
 * @retval LEASH_UNAVAILABLE  the server could not be asked who has it; nothing was done
 * @retval LEASH_MISMATCH     the key holds something that is not this kind of lock; it was left alone
 * @retval LEASH_DENIED, LEASH_UNSUPPORTED, LEASH_PROTOCOL, LEASH_INVALID, LEASH_NO_MEMORY, LEASH_CLOSED, LEASH_FORKED, LEASH_IN_CALLBACK as
 *         leash_lock_acquire()
 *
 * Threads: any; not from a leash callback. Not a cancellation point. Since 0.1.
 */
LEASH_API leash_status leash_lock_break(leash_lock *lock, leash_error *err);

/**
 * Does the calling thread hold `lock`, and is the lease still valid? Answered from memory, in nanoseconds.
 *
 * Never true past the moment at which another owner could have the lock, also after the machine was suspended. It says
 * nothing about the next moment: a resource that must be safe checks fences.
 *
 * Threads: any; allowed in callbacks (which own nothing). Since 0.1.
 */
LEASH_API bool leash_lock_held(const leash_lock *lock);

/**
 * How many milliseconds the calling thread's hold is valid for if no renewal succeeds any more; 0 if it is not held. Memory only.
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API int64_t leash_lock_remaining_ms(const leash_lock *lock);

/**
 * How deep the calling thread has nested `lock`; 0 if it has no hold to unwind. Also counts a lost hold. Memory only.
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API unsigned leash_lock_depth(const leash_lock *lock);

/**
 * The fence of the calling thread's hold; 0 if it is not held. Memory only.
 *
 * Each new hold of a lock, whoever has it, gets a larger fence than the one before. Hand it to the resource that the lock
 * protects and let that refuse any number smaller than the largest it has seen. It is below 2^63.
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API uint64_t leash_lock_fence(const leash_lock *lock);

/**
 * Copy the owner token of the calling thread's hold, "<uuid>:<n>", into `out`. Memory only.
 *
 * @param out   may be NULL if `size` is 0.
 * @param size  of `out`, in bytes; LEASH_TOKEN_MAX is always enough.
 * @return the token's length without its NUL, 0 if it is not held. Where `size` is too small the token is cut off, and
 *         always NUL-terminated unless `size` is 0.
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API size_t leash_lock_token(const leash_lock *lock, char *out, size_t size);

/**
 * Tell the watchdog that the holder's work is going on; see `alive_ms`. Memory only. Does nothing if it is not held.
 *
 * Threads: the one that acquired, or any that acts for the handle's owner. Since 0.1.
 */
LEASH_API void leash_lock_alive(leash_lock *lock);

LEASH_END_DECLS

#endif
