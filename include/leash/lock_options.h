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

/** What a handle acquires its lock for; see leash/readwrite.h and leash/redisson.h. */
typedef enum leash_mode {
	LEASH_MUTEX, /**< to be alone; the lock has no readers */
	LEASH_READ,  /**< to be in with others who read */
	LEASH_WRITE, /**< to be alone, where others may read */
	LEASH_REDISSON, /**< to be alone, also from Java: the lock is Redisson's RLock of that name */
} leash_mode;

/**
 * How a lock behaves. Zero means the default; build it with LEASH_LOCK_OPTIONS(). The handle of the outermost acquire
 * rules. An option that would do nothing beside another one is refused (LEASH_INVALID): which are not for each other is
 * said of them.
 *
 * With `min_replicas` = n leash_lock_acquire() returns LEASH_OK, and leash_lock_held() is true, only once n replicas of
 * the server have the lock as well, with all of its lease (WAIT), and a renewal counts only once they have that. So the
 * lock outlives the loss of the server if one of those n takes its place. Where another replica may be promoted
 * (Sentinel takes the one that has received most, of those that it can reach; only with n = all of them there is no
 * other) the lock can be gone without its holder knowing it before its next renewal: LOST is told then, and the next
 * holder has a larger fence. The same where the one that is promoted has a clock that is ahead by more than what is
 * left of the lease: replicas drop it by their own clock. Once the lock is acquired the replicas have `replicas_ms`, on
 * top of `wait_ms`; if too few have acknowledged it by then it is released again. With `fsynced` they must have written
 * it to disk by fsync, and so must the server (WAITAOF: Redis 7.2, Valkey 8; `min_replicas` may be 0 then): with
 * appendfsync everysec that takes a second and more.
 *
 * It costs one more trip to the server, and one from it to its replicas, for each acquire that asks
 * Redis, and a connection and a thread for each number of replicas in use. A lease should be ten times
 * as long as replicas may be late. A nested acquire, a hand-off between threads (to a handle that asks
 * for no more) and a release wait for no replica.
 */
typedef struct leash_lock_options {
	size_t size;              /**< set by LEASH_LOCK_OPTIONS() */
	int64_t lease_ms;         /**< default: the client's; 100 to 86400000 */
	leash_event_fn on_event;  /**< events of holds through this handle; default: the client's */
	void *event_arg;          /**< handed to `on_event`; must live until leash_close() returns */
	int64_t max_hold_ms;      /**< the lease ends at most this long after the request (or last heartbeat) that got it;
	                               0: no limit, else at least 100 */
	int64_t alive_ms;         /**< leash_lock_alive() is called this often, or it lapses; 0: need not; at least 100,
	                               at most `max_hold_ms`; not with `no_renew`, with which it lapses anyway */
	int64_t restart_guard_ms; /**< after a restart of the server acquire nothing for this long; 0: as the URI, else off.
	                               It is the longest lease in use. A quorum needs it: a server counts only once it has
	                               been up for that long, and no lease may be longer. The server says how long it has
	                               been up (INFO, else DENIED), by its wall clock: one that is set forward after a
	                               restart passes for older, except to a client that knew it before. See
	                               docs/deployments.md */
	bool no_renew;            /**< let the lease run out instead of renewing it */
	bool fair;                /**< all threads of all processes wait in one order; handles of a name agree on it */
	bool no_handoff;          /**< a hold of this handle is handed to no thread of this process without asking Redis */
	bool fsynced;             /**< nothing counts before the server and `min_replicas` have written it to disk */
	bool release_nowait;      /**< a release does not wait for the server's answer: it returns LEASH_OK as soon as the
	                               release is under way, and what is wrong with it is told as an event, LOST or
	                               NOT_RELEASED, without `on_lost`. A release that goes back from writing to reading
	                               waits as always */
	leash_mode mode;          /**< LEASH_MUTEX, the default; LEASH_READ or LEASH_WRITE, of a read-write lock; or
	                               LEASH_REDISSON */
	int64_t handoffs;         /**< how often in a row a plain lock passes between threads of this process, by the
	                               present holder's handle: default 64, 1 to 255; not with `fair` or `no_handoff` */
	int64_t handoff_ms;       /**< and for how long in a row; default 10, 1 to 60000; likewise */
	leash_owner *owner;       /**< on whose behalf calls through this handle are made; default: the calling thread's */
	int64_t min_replicas;     /**< nothing counts before this many replicas have acknowledged it; 0: off; 1 to 16 */
	int64_t replicas_ms;      /**< how long the replicas have, at most the lease; default: the client's
	                               `timeout_ms`; 1 to 86400000; with `min_replicas` or `fsynced` only */
	leash_cancel *on_lost;    /**< is fired when a hold through this handle is lost, before the event LOST is told; or
	                               NULL. So poll() in a job wakes (leash_cancel_fd()), and waits end that have it as
	                               `.cancel`. May be freed while the handle goes on */
	const char *group;        /**< the times of holds through this handle are counted under this name, too: see
	                               leash/metrics.h. 1 to 64 printable, no spaces. NULL: under none. Copied */
	/* Add fields here, at the end, and nowhere else. */
} leash_lock_options;

/** For the call that it is an argument of; to keep it, copy it: `leash_lock_options kept = *LEASH_LOCK_OPTIONS(...);`.
 * C++ wants the fields in order. See leash/api.h. */
#define LEASH_LOCK_OPTIONS(...) LEASH_STRUCT_(leash_lock_options, __VA_ARGS__)

LEASH_END_DECLS

#endif
