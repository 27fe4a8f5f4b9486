/* How long things take: for dashboards. Each client measures, always: what is measured costs two atomic additions, and
 * no look at a clock.
 *
 * In the text format of Prometheus, for whatever answers its scrapes (Content-Type: text/plain; version=0.0.4):
 *
 *     static bool to_response(void *arg, const char *text, size_t size) { return response_append(arg, text, size); }
 *     ...
 *     leash_metrics_write(&client, 1, to_response, response, &err);
 *
 * Times of some locks apart: make their handles with the same `group`, a word of the program's own ("orders", for all
 * of orders/1, orders/2, ...). */
#ifndef LEASH_METRICS_H
#define LEASH_METRICS_H

#include <leash/client.h>

LEASH_BEGIN_DECLS

enum {
	LEASH_GROUPS_MAX = 64, /**< groups of a client */
};

/** What is measured. Nested acquires and releases are not. */
typedef enum leash_time {
	LEASH_TIME_WAIT = 0, /**< of each acquire that succeeded: from the call until it had the lock */
	LEASH_TIME_HOLD = 1, /**< from then until it was released or lost; of readers of one process that share a hold: from
	                          the first in to the last out */
	LEASH_TIME_LEFT = 2, /**< what was left of the lease when its renewal was sent: two thirds of it, as a rule. Near
	                          zero: the next delay loses a lock */
	LEASH_TIME_ROUND_TRIP = 3, /**< of each command of a lock: from when it was sent to when its answer was read */
} leash_time;

/** A distribution. Set `size` before the call. All but count and sum are within 1/32. */
typedef struct leash_times {
	size_t size;     /**< sizeof(leash_times) */
	uint64_t count;  /**< how many were measured since the client was opened */
	uint64_t sum_ns; /**< of all together; by `count` that is the mean */
	int64_t p50_ns;  /**< half of them took no longer; 0 if there are none */
	int64_t p90_ns;  /**< nine in ten */
	int64_t p99_ns;  /**< 99 in a hundred */
	int64_t p999_ns; /**< 999 in a thousand */
	int64_t max_ns;  /**< all; for more than 4398 s that is what it says */
	/* Add fields here, at the end, and nowhere else. */
} leash_times;

/**
 * How long things took so far. Memory only.
 *
 * @param group  NULL: of all of the client; else of the handles that were made with this `group`. There is no
 *               LEASH_TIME_ROUND_TRIP of a group.
 * @param which  what is asked for.
 * @param times  receives it; its `size` must be set. Untouched unless the result is LEASH_OK.
 * @param err    filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK       done; what is measured meanwhile may be in it or not
 * @retval LEASH_INVALID  no client, no such time, no such group so far, no times, or its size is not set
 * @retval LEASH_CLOSED, LEASH_FORKED as leash_lock_acquire()
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API leash_status
leash_client_times(leash_client *client, const char *group, leash_time which, leash_times *times, leash_error *err);

/** Receives a text, on the thread that asked. False: it could not be taken. */
typedef bool (*leash_write_fn)(void *arg, const char *text, size_t size);

/**
 * Write what clients have done, and how long it took, in Prometheus' text format. Memory only.
 *
 * Counts are those of leash_stats, as leash_acquired_total and so on; times are histograms in seconds:
 * leash_wait_seconds, leash_hold_seconds, leash_lease_left_seconds, leash_round_trip_seconds, with limits that are
 * powers of two of a ns, so that none is split; those of a group are leash_group_wait_seconds and so on. Each line
 * has the label `client`, the client's name, and `server`, where its locks live, without secrets.
 *
 * @param clients  which ones, in one text, as each metric may be in it once only.
 * @param count    how many; at least 1.
 * @param write    called once, with all of it; no mutex is held, and it may make any call of leash.
 * @param arg      for `write`.
 * @param err      filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK         it was written
 * @retval LEASH_CANCELED   `write` returned false
 * @retval LEASH_INVALID    no clients, no `write`, or two of the clients have the same name: give each a `client_name`
 * @retval LEASH_NO_MEMORY  nothing is written
 * @retval LEASH_CLOSED, LEASH_FORKED as leash_lock_acquire(); nothing is written
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API leash_status
leash_metrics_write(leash_client *const *clients, size_t count, leash_write_fn write, void *arg, leash_error *err);

LEASH_END_DECLS

#endif
