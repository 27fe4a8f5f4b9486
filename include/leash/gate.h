/* Gates: a latch opens once enough parties have arrived; a barrier lets its waiters in once enough of them wait. */
#ifndef LEASH_GATE_H
#define LEASH_GATE_H

#include <leash/lock.h>

LEASH_BEGIN_DECLS

enum {
	LEASH_LATCH_MAX = 1000000,  /**< most arrivals that a latch can need */
	LEASH_BARRIER_MAX = 1000,   /**< parties of a barrier */
};

/**
 * A handle for a latch: a name, and how many arrivals it needs. It opens for all waiters once that many have arrived,
 * across all machines, and stays open.
 *
 * Nothing is set up on the server: each wait states its own count and is judged by it. An arrival counts for a day, and
 * a latch is used once. For the next use, take another name ("deploy-1234"), or call leash_latch_break().
 *
 * Handles of one name in one client share their state, and any number of threads may share a handle.
 */
typedef struct leash_latch leash_latch;

/**
 * Make a handle for the latch called `name`. Sends nothing to the server.
 *
 * @param out    receives the handle; untouched unless the result is LEASH_OK.
 * @param name   as for leash_lock_new(). A name that is used as a latch cannot be used as anything else: MISMATCH.
 * @param count  1 to LEASH_LATCH_MAX: how many arrivals the latch needs.
 * @param err    filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK           `*out` is a handle; free it with leash_latch_free()
 * @retval LEASH_INVALID      a count out of range; or as leash_lock_new()
 * @retval LEASH_UNSUPPORTED  on a quorum, whose servers have no common queue for waiters
 * @retval LEASH_NO_MEMORY, LEASH_FORKED, LEASH_CLOSED as leash_lock_new()
 *
 * There are no options: nobody holds a latch, so there is no lease to renew or to lose. Threads: any; allowed in
 * callbacks. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_latch_new(leash_latch **out, leash_client *client, const char *name, int64_t count, leash_error *err);

/** Free a handle; NULL is allowed. Sends nothing. Threads: any, while no other call uses it; allowed in callbacks.
 * Since 0.1. */
LEASH_API void leash_latch_free(leash_latch *latch);

/**
 * Arrive: count `latch` down by one.
 *
 * @param party  who arrives, 1 to LEASH_NAME_MAX bytes, such as "worker-3". A party counts once, however often it
 *               arrives, also from other processes and after a restart. NULL: each call is another arrival.
 * @param err    filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK           the arrival counts, for a day; waiters for whom it was the last one have been let in
 * @retval LEASH_UNAVAILABLE  the server did not answer within the client's `timeout_ms`: the arrival may count now or a
 *                            little later. With a party, call again; without one the arrival may then count twice
 * @retval LEASH_MISMATCH     the name is used as something else
 * @retval LEASH_DENIED       the server does not permit a command; the text names it
 * @retval LEASH_PROTOCOL     the answer is not what a Redis server sends
 * @retval LEASH_INVALID      no latch, or a party that is empty or too long
 * @retval LEASH_NO_MEMORY, LEASH_CLOSED, LEASH_FORKED, LEASH_IN_CALLBACK as leash_lock_acquire()
 *
 * Threads: any; not from a leash callback. Not a cancellation point. Since 0.1.
 */
LEASH_API leash_status leash_latch_count_down(leash_latch *latch, const char *party, leash_error *err);

/**
 * Ask the server how many have arrived at `latch`.
 *
 * @param arrived  receives the number; untouched unless the result is LEASH_OK.
 * @param err      filled in unless the result is LEASH_OK; may be NULL.
 *
 * @return as leash_lock_inspect(). Threads: any; not from a leash callback. Since 0.1.
 */
LEASH_API leash_status leash_latch_arrived(leash_latch *latch, int64_t *arrived, leash_error *err);

/**
 * Reset `latch`: all arrivals are forgotten.
 *
 * One call forgets at most LEASH_HOLDS_MAX arrivals. If there are more, call again until the result is LEASH_NOT_HELD.
 * New arrivals during the call stay.
 *
 * @retval LEASH_OK        the arrivals have been forgotten
 * @retval LEASH_NOT_HELD  nobody had arrived
 *
 * Otherwise as leash_lock_break(). Threads: any; not from a leash callback. Since 0.1.
 */
LEASH_API leash_status leash_latch_break(leash_latch *latch, leash_error *err);

/**
 * Wait until enough have arrived at `latch`, for up to `wait_ms`. Does not arrive itself.
 *
 * @param wait_ms  0 asks once; LEASH_FOREVER waits without limit.
 * @param err      filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK           enough have arrived
 * @retval LEASH_TIMEOUT      not enough had arrived at the end of `wait_ms`
 * @retval LEASH_UNAVAILABLE  the server could not be asked in time
 * @retval LEASH_MISMATCH     the name is used as something else
 * @retval LEASH_INVALID      no latch, or a negative wait
 * @retval LEASH_DENIED, LEASH_PROTOCOL, LEASH_NO_MEMORY, LEASH_CLOSED, LEASH_FORKED, LEASH_IN_CALLBACK as
 *         leash_lock_acquire()
 *
 * Threads: any; not from a leash callback. Not a cancellation point. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status leash_latch_await(leash_latch *latch, int64_t wait_ms, leash_error *err);

/**
 * The same, as `how` says: the wait can be canceled. The lease is ignored.
 *
 * @param how  NULL means LEASH_ACQUIRE(): ask once.
 *
 * @return as leash_latch_await(); also LEASH_CANCELED. Threads: any; not from a leash callback. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_latch_await_with(leash_latch *latch, const leash_acquire *how, leash_error *err);

/**
 * A handle for a barrier: a name, and how many parties meet there. Its waiters are let in all at once, as soon as that
 * many wait. The next waiter begins the next round. So there can be any number of rounds, one after the other, and no
 * party is ever a round ahead.
 *
 * Only waiting parties count, not one that gave up or died. So a call that gives up returns only when the server has
 * removed its place, or says that the last party came before that. A process that ended is noticed before the others
 * are let in; a machine that is gone or frozen is noticed within 10 s. A party that is let in and dies at that moment
 * has counted.
 *
 * Handles of one name in one client share their state, and any number of threads may share a handle; each waiting
 * thread is a party of its own. Programs should agree on the number of parties. If they do not, the first waiter
 * decides.
 */
typedef struct leash_barrier leash_barrier;

/**
 * Make a handle for the barrier called `name`. Sends nothing to the server.
 *
 * @param parties  1 to LEASH_BARRIER_MAX: how many make a round.
 *
 * Otherwise as leash_latch_new(). Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_barrier_new(leash_barrier **out, leash_client *client, const char *name, int64_t parties, leash_error *err);

/** Free a handle; NULL is allowed. Sends nothing. Threads: any, while no other call uses it; allowed in callbacks.
 * Since 0.1. */
LEASH_API void leash_barrier_free(leash_barrier *barrier);

/**
 * Join the parties at `barrier`, and wait up to `wait_ms` until all are there.
 *
 * @param wait_ms  0: if this is the last party, all are let in, including this one; else TIMEOUT, and this party does
 *                 not count. LEASH_FOREVER waits without limit. `wait_ms` does not include the time to give up: one
 *                 round trip to the server; up to the client's `timeout_ms` after a lost connection; up to twice that
 *                 without an answer.
 * @param err      filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK           all were there
 * @retval LEASH_TIMEOUT      not all were there at the end of `wait_ms`, and this party was not counted
 * @retval LEASH_UNAVAILABLE  the server could not be asked in time, and this party was not counted
 * @retval LEASH_UNKNOWN      the server did not say in time whether all parties came before this one gave up
 * @retval LEASH_MISMATCH     the name is used as something else
 * @retval LEASH_INVALID      no barrier, or a negative wait
 * @retval LEASH_DENIED, LEASH_PROTOCOL, LEASH_NO_MEMORY, LEASH_CLOSED, LEASH_FORKED, LEASH_IN_CALLBACK as
 *         leash_lock_acquire(). If it is not known whether this party was counted, the text says so
 *
 * Threads: any; not from a leash callback. Not a cancellation point. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status leash_barrier_wait(leash_barrier *barrier, int64_t wait_ms, leash_error *err);

/**
 * The same, as `how` says: the wait can be canceled. The lease is ignored.
 *
 * @param how  NULL means LEASH_ACQUIRE(): do not wait.
 *
 * @return as leash_barrier_wait(); also LEASH_CANCELED, and this party was not counted. Threads: any; not from a leash
 *         callback. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_barrier_wait_with(leash_barrier *barrier, const leash_acquire *how, leash_error *err);

LEASH_END_DECLS

#endif
