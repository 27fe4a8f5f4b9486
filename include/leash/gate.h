/* Gates: a latch opens once enough have arrived at it, a barrier lets in those who wait once they are enough. */
#ifndef LEASH_GATE_H
#define LEASH_GATE_H

#include <leash/lock.h>

LEASH_BEGIN_DECLS

enum {
	LEASH_LATCH_MAX = 1000000,  /**< arrivals that a latch can be told to wait for */
	LEASH_BARRIER_MAX = 1000,   /**< parties of a barrier */
};

/**
 * A handle of a latch: a name, and how many are to arrive. It opens for those who wait once that many have arrived,
 * over all machines, and stays open.
 *
 * Nothing is set up: the count is said with each wait, and each wait is judged by its own. An arrival counts for a day,
 * and a latch is used once: for the next time take another name, "deploy-1234", or leash_latch_break().
 *
 * Handles of one name in one client share their state, and any number of threads may share a handle.
 */
typedef struct leash_latch leash_latch;

/**
 * Make a handle of the latch called `name`. Talks to nobody.
 *
 * @param out    receives the handle; untouched unless the result is LEASH_OK.
 * @param name   as for leash_lock_new(). What is used as a latch cannot be used as anything else: MISMATCH.
 * @param count  1 to LEASH_LATCH_MAX: how many are to arrive.
 * @param err    filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK           `*out` is a handle; free it with leash_latch_free()
 * @retval LEASH_INVALID      a count out of range, or as leash_lock_new()
 * @retval LEASH_UNSUPPORTED  on a quorum, whose servers have no common queue for those who wait
 * @retval LEASH_NO_MEMORY, LEASH_FORKED, LEASH_CLOSED as leash_lock_new()
 *
 * There are no options: nobody holds a latch, so there is no lease to renew, or to lose. Threads: any; allowed in
 * callbacks. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_latch_new(leash_latch **out, leash_client *client, const char *name, int64_t count, leash_error *err);

/** Free a handle; NULL is allowed. Talks to nobody. Threads: any, while no other call uses it; allowed in callbacks.
 * Since 0.1. */
LEASH_API void leash_latch_free(leash_latch *latch);

/**
 * Arrive: count `latch` down by one.
 *
 * @param party  who arrives, 1 to LEASH_NAME_MAX bytes, such as "worker-3": it counts once, however often it arrives,
 *               also in other processes, and after a restart. NULL: each call is another arrival.
 * @param err    filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK           it counts, for a day; those for whom that is enough have been let in
 * @retval LEASH_UNAVAILABLE  the server did not answer within the client's `timeout_ms`: it may have arrived, or do so
 *                            a little later. Saying it again is right for a party; without one it may count twice
 * @retval LEASH_MISMATCH     the name is used as something else
 * @retval LEASH_DENIED       the server does not permit a command; the text names it
 * @retval LEASH_PROTOCOL     the answer is not what a Redis server says
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
 * Let `latch` begin again: nobody has arrived.
 *
 * It forgets LEASH_HOLDS_MAX of them, and where there are more, call it again until it says NOT_HELD. Those who arrive
 * meanwhile stay.
 *
 * @retval LEASH_OK        those have been forgotten
 * @retval LEASH_NOT_HELD  nobody had arrived
 *
 * All else is as leash_lock_break() says. Threads: any; not from a leash callback. Since 0.1.
 */
LEASH_API leash_status leash_latch_break(leash_latch *latch, leash_error *err);

/**
 * Wait until enough have arrived at `latch`, for up to `wait_ms`. Does not arrive itself.
 *
 * @param wait_ms  0 asks once; LEASH_FOREVER does not give up.
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
 * Wait at `latch` as `how` says: with a wait that can be canceled. Its lease changes nothing.
 *
 * @param how  NULL means LEASH_ACQUIRE(): ask once.
 *
 * @return as leash_latch_await(); also LEASH_CANCELED. Threads: any; not from a leash callback. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_latch_await_with(leash_latch *latch, const leash_acquire *how, leash_error *err);

/**
 * A handle of a barrier: a name, and how many parties meet there. Whoever waits at it is let in when that many wait,
 * all at once; who comes next begins the next round. So any number of rounds is possible, one after the other, with
 * no party ever a round ahead.
 *
 * Only those who wait count: who gives up its wait, or dies, does not. So a call that gives up ends when the
 * server has let go of its place, or says that the last one came before that. A process that ended is noticed before
 * the others are let in, and a machine that is gone, or stands still, within 10 s. Who is let in and dies just then
 * has been there.
 *
 * Handles of one name in one client share their state, and any number of threads may share a handle; each that waits is
 * a party of its own. Programs should agree on how many there are; while they do not, the first who waits says it.
 */
typedef struct leash_barrier leash_barrier;

/**
 * Make a handle of the barrier called `name`. Talks to nobody.
 *
 * @param parties  1 to LEASH_BARRIER_MAX: how many make a round.
 *
 * All else is as leash_latch_new() says. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_barrier_new(leash_barrier **out, leash_client *client, const char *name, int64_t parties, leash_error *err);

/** Free a handle; NULL is allowed. Talks to nobody. Threads: any, while no other call uses it; allowed in callbacks.
 * Since 0.1. */
LEASH_API void leash_barrier_free(leash_barrier *barrier);

/**
 * Be one of the parties at `barrier`, and wait until all are there, for up to `wait_ms`.
 *
 * @param wait_ms  0: is this the last one? Then all are let in, this one included; else TIMEOUT, and it was not there.
 *                 LEASH_FOREVER does not give up. What giving up takes is not in it: a trip to the server; after a
 *                 connection that was lost up to the client's `timeout_ms`, and without an answer up to twice that.
 * @param err      filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK           all were there
 * @retval LEASH_TIMEOUT      not all were there at the end of `wait_ms`, and nobody has counted on this one
 * @retval LEASH_UNAVAILABLE  the server could not be asked in time; nor has anybody counted on this one
 * @retval LEASH_UNKNOWN      the server did not say in time whether all came before this one gave up
 * @retval LEASH_MISMATCH     the name is used as something else
 * @retval LEASH_INVALID      no barrier, or a negative wait
 * @retval LEASH_DENIED, LEASH_PROTOCOL, LEASH_NO_MEMORY, LEASH_CLOSED, LEASH_FORKED, LEASH_IN_CALLBACK as
 *         leash_lock_acquire(). The text says so if it is not known whether others have counted on this one
 *
 * Threads: any; not from a leash callback. Not a cancellation point. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status leash_barrier_wait(leash_barrier *barrier, int64_t wait_ms, leash_error *err);

/**
 * Be one of the parties at `barrier` as `how` says: with a wait that can be canceled. Its lease changes nothing.
 *
 * @param how  NULL means LEASH_ACQUIRE(): is this the last one?
 *
 * @return as leash_barrier_wait(); also LEASH_CANCELED, and nobody has counted on this one. Threads: any; not from a
 *         leash callback. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_barrier_wait_with(leash_barrier *barrier, const leash_acquire *how, leash_error *err);

LEASH_END_DECLS

#endif
