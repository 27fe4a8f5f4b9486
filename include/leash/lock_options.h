/* How a lock behaves: the options of a handle. */
#ifndef LEASH_LOCK_OPTIONS_H
#define LEASH_LOCK_OPTIONS_H

#include <leash/api.h>
#include <leash/cancel.h>
#include <leash/event.h>
#include <leash/owner.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

LEASH_BEGIN_DECLS

/** How a handle acquires its lock; see leash/readwrite.h and leash/redisson.h. */
typedef enum leash_mode {
	LEASH_MUTEX, /**< exclusive; the lock has no readers */
	LEASH_READ,  /**< shared with other readers */
	LEASH_WRITE, /**< exclusive; the lock also has readers */
	LEASH_REDISSON, /**< exclusive, also for Java: the lock is Redisson's RLock of that name */
} leash_mode;

/**
 * Zero means the default; build it with LEASH_LOCK_OPTIONS(). The handle of the outermost acquire decides. An option
 * that would have no effect beside another one is refused (LEASH_INVALID); the fields below say which ones exclude each
 * other.
 *
 * With `min_replicas` = n, leash_lock_acquire() returns LEASH_OK, and leash_lock_held() is true, only after n replicas
 * of the server also have the lock, with its full lease (WAIT). A renewal also counts only after that. So the lock
 * survives the loss of the server if one of those n replicas is promoted. If another replica is promoted, the lock can
 * be gone without its holder knowing until its next renewal. LOST is reported then, and the next holder has a larger
 * fence. (Of the replicas that it can reach, Sentinel promotes the one that has received most. Only if n is the number
 * of all replicas is no other replica left.) The same happens if the promoted replica has a clock that is ahead by more
 * than the rest of the lease, because replicas drop the lock by their own clock.
 *
 * Once the lock is acquired, the replicas have `replicas_ms` to acknowledge it, in addition to `wait_ms`. If too few
 * have done so by then, the lock is released again. With `fsynced` they must have written it to disk by fsync, and so
 * must the server (WAITAOF: Redis 7.2, Valkey 8; `min_replicas` may be 0 then). With appendfsync everysec this takes a
 * second or more.
 *
 * With these options, each acquire that asks Redis costs one more round trip to the server, and one from the server to
 * its replicas. Each number of replicas in use costs a connection and a thread. Choose a lease ten times as long as
 * replicas may be late. A nested acquire, a hand-off between threads (to a handle that requires no more) and a release
 * do not wait for replicas.
 */
typedef struct leash_lock_options {
	size_t size;              /**< set by LEASH_LOCK_OPTIONS() */
	int64_t lease_ms;         /**< default: the client's; 100 to 86400000 */
	leash_event_fn on_event;  /**< events of holds through this handle; default: the client's */
	void *event_arg;          /**< handed to `on_event`; must live until leash_close() returns */
	int64_t max_hold_ms;      /**< the lease ends at most this long after the request for the lock (or its last
	                               heartbeat). 0: no limit, else at least 100 */
	int64_t alive_ms;         /**< call leash_lock_alive() at least this often, or the hold ends; 0: not needed; at
	                               least 100, at most `max_hold_ms`; not with `no_renew`, which ends the hold anyway */
	int64_t restart_guard_ms; /**< after a restart of the server, acquire nothing for this long; 0: as in the URI, else
	                               off. Set it to the longest lease in use. A quorum needs it: a server counts only once
	                               it has been up for that long, and no lease may be longer. The server reports how long
	                               it has been up (INFO, else DENIED), by its wall clock. If that clock is set forward
	                               after a restart, the server seems older than it is, except to a client that knew it
	                               before. See docs/deployments.md */
	bool no_renew;            /**< let the lease run out instead of renewing it */
	bool fair;                /**< all threads of all processes wait in one order; all handles of a name must agree on
	                               it */
	bool no_handoff;          /**< never hand a hold of this handle to a thread of this process without asking Redis */
	bool fsynced;             /**< nothing counts before the server and `min_replicas` replicas have written it to
	                               disk */
	bool release_nowait;      /**< a release does not wait for the server's answer. It returns LEASH_OK as soon as it is
	                               under way. A failure is reported as an event, LOST or NOT_RELEASED, and does not fire
	                               `on_lost`. A release that goes back from writing to reading always waits */
	leash_mode mode;          /**< LEASH_MUTEX, the default; LEASH_READ or LEASH_WRITE, for a read-write lock; or
	                               LEASH_REDISSON */
	int64_t handoffs;         /**< how many times in a row a plain lock may pass between threads of this process; the
	                               present holder's handle decides; default 64, 1 to 255; not with `fair` or
	                               `no_handoff` */
	int64_t handoff_ms;       /**< and for how long in a row; default 10, 1 to 60000; not with the same options */
	leash_owner *owner;       /**< who owns what is acquired through this handle; default: the calling thread */
	int64_t min_replicas;     /**< nothing counts before this many replicas have acknowledged it; 0: off; 1 to 16 */
	int64_t replicas_ms;      /**< how long the replicas have; at most the lease; default: the client's `timeout_ms`; 1
	                               to 86400000; only with `min_replicas` or `fsynced` */
	leash_cancel *on_lost;    /**< fired when a hold through this handle is lost, before the event LOST; or NULL. It
	                               wakes a poll() on its leash_cancel_fd(), and ends waits that have it as `.cancel`.
	                               May be freed before the handle */
	const char *group;        /**< the times of holds through this handle are also counted under this name; see
	                               leash/metrics.h. 1 to 64 printable, no spaces. NULL: under none. Copied */
	/* Add fields here, at the end, and nowhere else. */
} leash_lock_options;

/** Use it as an argument; the struct may end with the call. To keep one, copy it:
 * `leash_lock_options kept = *LEASH_LOCK_OPTIONS(...);`. In C++, name the fields in order. See leash/api.h. */
#define LEASH_LOCK_OPTIONS(...) LEASH_STRUCT_(leash_lock_options, __VA_ARGS__)

LEASH_END_DECLS

#endif
