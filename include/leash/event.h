/* What leash reports by itself: events of a hold or of the client, and log lines. */
#ifndef LEASH_EVENT_H
#define LEASH_EVENT_H

#include <leash/api.h>

LEASH_BEGIN_DECLS

/**
 * What can happen to a hold, or to the client (if `lock` is NULL).
 *
 * JEOPARDY and RECOVERED alternate. LOST, ABANDONED or NOT_RELEASED is the last event of a hold.
 */
typedef enum leash_event_type {
	LEASH_EVENT_JEOPARDY = 1,  /**< renewals are failing, or leash_lock_alive() is overdue, or only a bare majority of a
	                                quorum is left; still held until the lease ends */
	LEASH_EVENT_RECOVERED = 2, /**< a renewal succeeded again */
	LEASH_EVENT_LOST = 3,      /**< the hold is gone although its owner did not release it; or it was gone already at a
	                                release that did not wait for the answer */
	LEASH_EVENT_ABANDONED = 4, /**< its thread ended, or its last handle was freed, while it was held; it is being
	                                released */
	LEASH_EVENT_CLOCK_JUMP = 5,       /**< the server's clock moved more than a second away from ours; `lock` is NULL */
	LEASH_EVENT_FENCE_REGRESSION = 6, /**< a fence is not larger than the last one: data was lost, and a clock is
	                                       behind */
	LEASH_EVENT_NOT_RELEASED = 7,     /**< a release that did not wait for its answer (`release_nowait`) was refused and
	                                       is being retried, or was not answered before the lease was certainly over.
	                                       The lock is free when its lease ends at the latest */
} leash_event_type;

struct leash_permit;

/** An event. It and its strings belong to leash and are valid only during the callback. */
typedef struct leash_event {
	size_t size;           /**< of this struct, as leash was built; new fields are only added at the end */
	const char *lock;      /**< the lock's name as given to leash_lock_new(); NULL for an event of the client */
	uint64_t fence;        /**< of the hold; 0 for an event of the client, or of permits (they have no fence) */
	int64_t remaining_ms;  /**< what was left of the lease when the event was raised; 0 if nothing */
	const char *text;      /**< why, in one line of printable characters */
	leash_event_type type;
	int32_t reserved_;
	const struct leash_permit *permit; /**< the permits of a semaphore that the event is about. Only compare it: they
	                                        may have been released already. NULL for an event of a lock or of the
	                                        client */
} leash_event;

/**
 * Receives events, one at a time, in order for each lock, on a thread of the client.
 *
 * It may take any time: renewals do not wait for it, only later events do. It may make calls that only read memory,
 * such as leash_lock_held(); calls that may wait return LEASH_IN_CALLBACK. It must return: no longjmp, no exception, no
 * pthread_exit.
 */
typedef void (*leash_event_fn)(void *arg, const leash_event *event);

/** How much a log line matters. */
typedef enum leash_log_level {
	LEASH_LOG_ERROR = 1,   /**< a promise of leash is in danger */
	LEASH_LOG_WARNING = 2, /**< a fault that was handled, or a setting that endangers locks */
	LEASH_LOG_INFO = 3,    /**< connected, lost the connection */
	LEASH_LOG_DEBUG = 4,   /**< for the developers of leash */
} leash_log_level;

/**
 * Receives log lines, on the same thread and under the same rules as events. `line` is printable, without a line end.
 * Lines that arrive faster than they are received are dropped and counted.
 */
typedef void (*leash_log_fn)(void *arg, leash_log_level level, const char *line);

/**
 * The name of an event type as the headers spell it, without the prefix: "LOST"; "?" for any other number.
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API const char *leash_event_name(leash_event_type type);

LEASH_END_DECLS

#endif
