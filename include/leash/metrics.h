/* How long things take, for dashboards. Each client always measures. One measurement costs two atomic additions and
 * reads no clock.
 *
 * In the text format of Prometheus, for the code that answers its scrapes (Content-Type: text/plain; version=0.0.4):
 *
 *     static bool to_response(void *arg, const char *text, size_t size) { return response_append(arg, text, size); }
 *     ...
 *     leash_metrics_write(&client, 1, to_response, response, &err);
 *
 * To measure some locks separately, make their handles with the same `group`, a word of your own ("orders", for all of
 * orders/1, orders/2, ...). */
#ifndef LEASH_METRICS_H
#define LEASH_METRICS_H

#include <leash/client.h>

LEASH_BEGIN_DECLS

enum {
	LEASH_GROUPS_MAX = 64, /**< groups of a client */
};

/** What is measured. Nested acquires and releases are not measured. */
typedef enum leash_time {
	LEASH_TIME_WAIT = 0, /**< for each acquire that succeeded: from the call until it had the lock */
	LEASH_TIME_HOLD = 1, /**< from then until it was released or lost; when readers of one process share a hold: from
	                          the first reader's acquire to the last reader's release */
	LEASH_TIME_LEFT = 2, /**< the rest of the lease when its renewal was sent; normally two thirds of it. Near zero, the
	                          next delay loses a lock */
	LEASH_TIME_ROUND_TRIP = 3, /**< for each command of a lock: from when it was sent to when its answer was read */
} leash_time;

/** A distribution. Set `size` before the call. All values except count and sum are accurate to 1/32. */
typedef struct leash_times {
	size_t size;     /**< sizeof(leash_times) */
	uint64_t count;  /**< how many were measured since the client was opened */
	uint64_t sum_ns; /**< the sum of all; divided by `count` it is the mean */
	int64_t p50_ns;  /**< half of them took at most this; 0 if there are none */
	int64_t p90_ns;  /**< nine in ten */
	int64_t p99_ns;  /**< 99 in a hundred */
	int64_t p999_ns; /**< 999 in a thousand */
	int64_t max_ns;  /**< the longest; anything above 4398 s is reported as that */
	/* Add fields here, at the end, and nowhere else. */
} leash_times;

/**
 * How long things have taken so far. Memory only.
 *
 * @param group  NULL: the whole client; else the handles that were made with this `group`. There is no
 *               LEASH_TIME_ROUND_TRIP for a group.
 * @param which  which time to report.
 * @param times  receives the times; its `size` must be set. Untouched unless the result is LEASH_OK.
 * @param err    filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK       done; what is measured during the call may be included or not
 * @retval LEASH_INVALID  no client, no such time, no such group so far, no times, or the size of `times` is not set
 * @retval LEASH_CLOSED, LEASH_FORKED as leash_lock_acquire()
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API leash_status
leash_client_times(leash_client *client, const char *group, leash_time which, leash_times *times, leash_error *err);

/** Receives a text, on the thread that asked. Returns false if it cannot take the text. */
typedef bool (*leash_write_fn)(void *arg, const char *text, size_t size);

/**
 * Write what clients have done, and how long it took, in the text format of Prometheus. Memory only.
 *
 * Counts are those of leash_stats, as leash_acquired_total and so on. Times are histograms in seconds:
 * leash_wait_seconds, leash_hold_seconds, leash_lease_left_seconds, leash_round_trip_seconds. Their limits are powers
 * of two in ns, so that no bucket is split. Times of a group are leash_group_wait_seconds and so on. Each line has two
 * labels: `client`, the client's name, and `server`, where its locks live, without secrets.
 *
 * @param clients  the clients. Write them all into one text, because each metric may occur only once in it.
 * @param count    how many; at least 1.
 * @param write    called once, with the whole text. No mutex is held, and it may make any call of leash.
 * @param arg      for `write`.
 * @param err      filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK         it was written
 * @retval LEASH_CANCELED   `write` returned false
 * @retval LEASH_INVALID    no clients, no `write`, or two clients have the same name: give each its own `client_name`
 * @retval LEASH_NO_MEMORY  nothing is written
 * @retval LEASH_CLOSED, LEASH_FORKED as leash_lock_acquire(); nothing is written
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API leash_status
leash_metrics_write(leash_client *const *clients, size_t count, leash_write_fn write, void *arg, leash_error *err);

LEASH_END_DECLS

#endif
