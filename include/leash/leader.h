/* Leaders: one of many leads, and all may know who it is.
 *
 * Whoever holds a lock leads; to stand is to acquire it, to resign is to release it. A leader proclaims a value, such
 * as its address, and any number of others watch who leads. They need not stand themselves.
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
 * leash_lock_held(), and passes its fence to whatever it changes.
 *
 * A quorum has no leaders: LEASH_UNSUPPORTED. */
#ifndef LEASH_LEADER_H
#define LEASH_LEADER_H

#include <leash/lock.h>

LEASH_BEGIN_DECLS

enum {
	LEASH_VALUE_MAX = 4096, /**< bytes of what a leader says of itself */
};

/**
 * Let all who watch know `value`. It ends with the hold, and is never shown as another leader's. A later one replaces
 * it. Once a value was proclaimed, the hold is not handed off within the process.
 *
 * @param lock   a mutex that the calling owner holds.
 * @param value  1 to LEASH_VALUE_MAX bytes of any text; copied.
 * @param err    filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK           the server has it, and tells all who watch. A server that is replaced by one with older
 *                            data may have lost the value, though not the hold, and no event tells so: to be sure,
 *                            proclaim it again from time to time. If the connection broke meanwhile the call lasts for
 *                            all of `timeout_ms`: what was sent over that does not replace a later value
 * @retval LEASH_NOT_HELD     this owner does not hold the lock
 * @retval LEASH_LOST         it did, and the hold was lost
 * @retval LEASH_INVALID      no lock, no value, a value out of range, or the lock is no mutex of leash
 * @retval LEASH_UNSUPPORTED  on a quorum
 * @retval LEASH_UNAVAILABLE  the server did not answer within the client's `timeout_ms`: it may have it all the same,
 *                            but does not get it later, so what is proclaimed next is what stays
 * @retval LEASH_DENIED, LEASH_PROTOCOL, LEASH_NO_MEMORY, LEASH_CLOSED, LEASH_FORKED, LEASH_IN_CALLBACK as
 *                            leash_lock_extend()
 *
 * Threads: any; not from a leash callback. Not a cancellation point. Since 0.1.
 */
LEASH_API leash_status leash_lock_proclaim(leash_lock *lock, const char *value, leash_error *err);

/** Who leads. Set `size` before the call. */
typedef struct leash_leader {
	size_t size;                       /**< sizeof(leash_leader) */
	bool leads;                        /**< somebody does; else all that follows is zero */
	char token[LEASH_TOKEN_MAX];       /**< of its hold */
	uint64_t fence;                    /**< of its hold, as leash_lock_fence() first had it; 0: not known */
	int64_t remaining_ms;              /**< of its lease if not renewed; -1: no end, so not made by leash */
	char value[LEASH_VALUE_MAX + 8];   /**< what it proclaimed; empty: nothing so far */
	/* Add fields here, at the end, and nowhere else. */
} leash_leader;

/** Watches who leads. One thread at a time may use it. */
typedef struct leash_watch leash_watch;

/**
 * Watch who holds the lock called `name`. Talks to nobody.
 *
 * @param out   receives the watch; untouched unless the result is LEASH_OK.
 * @param name  as for leash_lock_new(): that of the lock for which they stand. This client may use it, too.
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
 * Free a watch. Talks to nobody. NULL is allowed.
 *
 * Threads: any, while no other call uses it; allowed in callbacks. Since 0.1.
 */
LEASH_API void leash_watch_free(leash_watch *watch);

/**
 * Wait until who leads, or what it proclaimed, is not what this watch told last, and tell that. The first call tells
 * at once how it is.
 *
 * Changes are told in their order; of several in quick succession perhaps only the last. Watchers hear at once that a
 * leader resigned or proclaimed a value, at the end of its lease that it died, and within a second that one leads
 * without a value.
 *
 * @param wait_ms  0 asks once; LEASH_FOREVER does not give up.
 * @param leader   receives who leads, or that nobody does; its `size` must be set. Untouched unless the result is
 *                 LEASH_OK.
 * @param err      filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK           `*leader` is news
 * @retval LEASH_TIMEOUT      nothing changed during `wait_ms`
 * @retval LEASH_MISMATCH     the name is used for something that is no mutex
 * @retval LEASH_INVALID      no watch, no leader, or its size is not set; or a negative wait
 * @retval LEASH_UNAVAILABLE  the server could not be asked in time
 * @retval LEASH_DENIED, LEASH_PROTOCOL, LEASH_NO_MEMORY, LEASH_CLOSED, LEASH_FORKED, LEASH_IN_CALLBACK as
 *                            leash_lock_acquire()
 *
 * Threads: any, one at a time for a watch; not from a leash callback. Not a cancellation point. Since 0.1.
 */
LEASH_API leash_status
leash_watch_next(leash_watch *watch, int64_t wait_ms, leash_leader *leader, leash_error *err);

/**
 * Wait for news of who leads as `how` says: `.wait_ms`, and a `.cancel` that ends it with LEASH_CANCELED. All else is
 * ignored.
 *
 * Threads: as leash_watch_next(). Since 0.1.
 */
LEASH_API leash_status
leash_watch_next_with(leash_watch *watch, const leash_acquire *how, leash_leader *leader, leash_error *err);

/**
 * Tell who leads now, whatever was told before: as the first leash_watch_next(). It does not wait.
 *
 * Threads: as leash_watch_next(). Since 0.1.
 */
LEASH_API leash_status leash_watch_look(leash_watch *watch, leash_leader *leader, leash_error *err);

LEASH_END_DECLS

#endif
