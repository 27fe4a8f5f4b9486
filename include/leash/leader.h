/* Leaders: one of many candidates leads, and all can know who it is.
 *
 * The holder of a lock leads. A candidate acquires the lock, and a leader resigns by releasing it. A leader proclaims a
 * value, such as its address. Any number of others watch who leads; they need not be candidates.
 *
 *     leash_leader leader = {.size = sizeof leader};
 *
 *     leash_lock_acquire(lock, LEASH_FOREVER, &err);                        the leader
 *     leash_lock_proclaim(lock, "10.0.0.7:8080", &err);
 *
 *     while (leash_watch_next(watch, LEASH_FOREVER, &leader, &err) == LEASH_OK)      all others
 *         route_to(leader.leads ? leader.value : NULL);
 *
 * News of a leader may be out of date when it arrives: another one may lead by then. So a leader asks
 * leash_lock_held(), and passes its fence to everything that it changes.
 *
 * A quorum has no leaders: LEASH_UNSUPPORTED. */
#ifndef LEASH_LEADER_H
#define LEASH_LEADER_H

#include <leash/lock.h>

LEASH_BEGIN_DECLS

enum {
	LEASH_VALUE_MAX = 4096, /**< bytes in the value of a leader */
};

/**
 * Let all watchers know `value`. The value ends with the hold, and is never shown for another leader. A later value
 * replaces it. After a value was proclaimed, the hold is not handed off within the process.
 *
 * @param lock   a mutex that the calling owner holds.
 * @param value  1 to LEASH_VALUE_MAX bytes of text; copied.
 * @param err    filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK           the server has the value, and tells all watchers. If the server is replaced by one with
 *                            older data, the value may be lost although the hold is not, and no event reports that. To
 *                            be sure, proclaim it again from time to time. If the connection broke during the call, the
 *                            call takes all of `timeout_ms`, so that what was sent over that connection cannot replace
 *                            a later value
 * @retval LEASH_NOT_HELD     this owner does not hold the lock
 * @retval LEASH_LOST         this owner held it, and the hold was lost
 * @retval LEASH_INVALID      no lock, no value, a value out of range, or the lock is not a mutex of leash
 * @retval LEASH_UNSUPPORTED  on a quorum
 * @retval LEASH_UNAVAILABLE  the server did not answer within the client's `timeout_ms`. It may have the value anyway,
 *                            but cannot get it later, so the next value that is proclaimed stays
 * @retval LEASH_DENIED, LEASH_PROTOCOL, LEASH_NO_MEMORY, LEASH_CLOSED, LEASH_FORKED, LEASH_IN_CALLBACK as
 *                            leash_lock_extend()
 *
 * Threads: any; not from a leash callback. Not a cancellation point. Since 0.1.
 */
LEASH_API leash_status leash_lock_proclaim(leash_lock *lock, const char *value, leash_error *err);

/** Who leads. Set `size` before the call. */
typedef struct leash_leader {
	size_t size;                       /**< sizeof(leash_leader) */
	bool leads;                        /**< there is a leader; if not, all other fields are zero */
	char token[LEASH_TOKEN_MAX];       /**< of its hold */
	uint64_t fence;                    /**< of its hold, as leash_lock_fence() first returned it; 0: not known */
	int64_t remaining_ms;              /**< rest of its lease if not renewed; -1: no end, so not made by leash */
	char value[LEASH_VALUE_MAX + 8];   /**< what it proclaimed; empty: nothing yet */
	/* Add fields here, at the end, and nowhere else. */
} leash_leader;

/** Watches who leads. One thread at a time may use it. */
typedef struct leash_watch leash_watch;

/**
 * Make a watch of who holds the lock called `name`. Sends nothing to the server.
 *
 * @param out   receives the watch; untouched unless the result is LEASH_OK.
 * @param name  as for leash_lock_new(): the lock that the candidates acquire. This client may also use that lock.
 * @param err   filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK           `*out` is a watch; free it with leash_watch_free()
 * @retval LEASH_UNSUPPORTED  on a quorum
 * @retval LEASH_INVALID, LEASH_NO_MEMORY, LEASH_FORKED, LEASH_CLOSED as leash_lock_new()
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_watch_new(leash_watch **out, leash_client *client, const char *name, leash_error *err);

/**
 * Free a watch. Sends nothing to the server. NULL is allowed.
 *
 * Threads: any, while no other call uses it; allowed in callbacks. Since 0.1.
 */
LEASH_API void leash_watch_free(leash_watch *watch);

/**
 * Wait until the leader, or its value, differs from what this watch reported last, and report it. The first call
 * reports the present state at once.
 *
 * Changes are reported in order; of several in quick succession, perhaps only the last one. Watchers learn at once that
 * a leader resigned or proclaimed a value. They learn that a leader died when its lease ends, and within a second that
 * a new leader leads without a value.
 *
 * @param wait_ms  0 asks once; LEASH_FOREVER waits without limit.
 * @param leader   receives the leader, or the fact that nobody leads; its `size` must be set. Untouched unless the
 *                 result is LEASH_OK.
 * @param err      filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK           `*leader` is new
 * @retval LEASH_TIMEOUT      nothing changed during `wait_ms`
 * @retval LEASH_MISMATCH     the name is used for something that is not a mutex
 * @retval LEASH_INVALID      no watch, no leader, the size of `leader` is not set, or a negative wait
 * @retval LEASH_UNAVAILABLE  the server could not be asked in time
 * @retval LEASH_DENIED, LEASH_PROTOCOL, LEASH_NO_MEMORY, LEASH_CLOSED, LEASH_FORKED, LEASH_IN_CALLBACK as
 *                            leash_lock_acquire()
 *
 * Threads: any, one at a time for a watch; not from a leash callback. Not a cancellation point. Since 0.1.
 */
LEASH_API leash_status
leash_watch_next(leash_watch *watch, int64_t wait_ms, leash_leader *leader, leash_error *err);

/**
 * The same, with LEASH_ACQUIRE(...): `.wait_ms`, and a `.cancel` that ends the wait with LEASH_CANCELED. Other fields
 * are ignored.
 *
 * Threads: as leash_watch_next(). Since 0.1.
 */
LEASH_API leash_status
leash_watch_next_with(leash_watch *watch, const leash_acquire *how, leash_leader *leader, leash_error *err);

/**
 * Report who leads now, whatever was reported before, like the first leash_watch_next(). It does not wait.
 *
 * Threads: as leash_watch_next(). Since 0.1.
 */
LEASH_API leash_status leash_watch_look(leash_watch *watch, leash_leader *leader, leash_error *err);

LEASH_END_DECLS

#endif
