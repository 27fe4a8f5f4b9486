/* Cancel: end waits from another thread, or from a signal handler. */
#ifndef LEASH_CANCEL_H
#define LEASH_CANCEL_H

#include <leash/api.h>
#include <leash/status.h>

LEASH_BEGIN_DECLS

/**
 * A switch that ends waits. Hand it to acquires as `.cancel`; any number of threads, locks and clients of a
 * process may share one; a forked child makes its own.
 */
typedef struct leash_cancel leash_cancel;

/**
 * Make a cancel, which has not been fired. Talks to nobody.
 *
 * @param out  receives it; untouched unless the result is LEASH_OK. Free it with leash_cancel_free().
 * @param err  filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK           `*out` is one
 * @retval LEASH_INVALID      `out` is NULL
 * @retval LEASH_NO_MEMORY    nothing was made
 * @retval LEASH_UNSUPPORTED  a system without what leash needs
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status leash_cancel_new(leash_cancel **out, leash_error *err);

/**
 * Fire: every acquire that waits with it returns LEASH_CANCELED, once its thread runs, and so does each later one.
 *
 * It stays fired. A wait that is granted the lock at the same moment may return LEASH_OK instead. Also a wait for a
 * server that does not answer ends. What the acquire left behind in Redis is canceled in the background.
 *
 * Threads: any; allowed in callbacks and in signal handlers; again and again. In a forked child it ends no waits of the
 * parent's. NULL is allowed. Since 0.1.
 */
LEASH_API void leash_cancel_fire(leash_cancel *cancel);

/**
 * Has a cancel been fired? False for NULL.
 *
 * Threads: any; allowed in callbacks and in signal handlers. Since 0.1.
 */
LEASH_API bool leash_cancel_is_fired(const leash_cancel *cancel);

/**
 * A descriptor that is readable while a cancel is fired: for poll(), or the loop of the program. Made by the first
 * call, and the same until the cancel is freed. Do nothing else with it: leash_cancel_reset() takes back what is
 * readable.
 *
 * @param fd   receives it; untouched unless the result is LEASH_OK
 * @param err  filled in unless the result is LEASH_OK; may be NULL
 *
 * @retval LEASH_OK         watch `*fd` for reading, by level or by edge
 * @retval LEASH_INVALID    `cancel` or `fd` is NULL
 * @retval LEASH_NO_MEMORY  no more descriptors
 * @retval LEASH_FORKED     it belongs to the parent process
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status leash_cancel_fd(leash_cancel *cancel, int *fd, leash_error *err);

/**
 * Undo the firing, so that a cancel can be fired again: between two jobs of a thread, say. NULL is allowed; in a forked
 * child nothing is done to one of the parent's.
 *
 * If it is fired at the same moment, its descriptor may stay readable though it is not fired: reset it again then.
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API void leash_cancel_reset(leash_cancel *cancel);

/**
 * Free a cancel. NULL is allowed. Handles that have it as `.on_lost` go on; with the last of them its
 * descriptor is closed.
 *
 * Threads: any, when no acquire uses it and nobody will fire it any more. Since 0.1.
 */
LEASH_API void leash_cancel_free(leash_cancel *cancel);

LEASH_END_DECLS

#endif
