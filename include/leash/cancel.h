/* Cancel: end waits from another thread, or from a signal handler. */
#ifndef LEASH_CANCEL_H
#define LEASH_CANCEL_H

#include <leash/api.h>
#include <leash/status.h>

LEASH_BEGIN_DECLS

/**
 * A switch that ends waits. Pass it to acquires as `.cancel`. Any number of threads, locks and clients of a process may
 * share one. A forked child must make its own.
 */
typedef struct leash_cancel leash_cancel;

/**
 * Make a switch that has not been fired. Sends nothing to the server.
 *
 * @param out  receives the switch; untouched unless the result is LEASH_OK. Free it with leash_cancel_free().
 * @param err  filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK           `*out` is a switch
 * @retval LEASH_INVALID      `out` is NULL
 * @retval LEASH_NO_MEMORY    nothing was made
 * @retval LEASH_UNSUPPORTED  the system lacks something that leash needs
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status leash_cancel_new(leash_cancel **out, leash_error *err);

/**
 * Fire it. Every acquire that waits with it returns LEASH_CANCELED as soon as its thread runs, and so does each later
 * one.
 *
 * It stays fired. A wait that is granted the lock at the same moment may return LEASH_OK instead. A wait for a server
 * that does not answer ends, too. What the acquire left behind in Redis is canceled in the background.
 *
 * Threads: any; allowed in callbacks and in signal handlers; any number of times. In a forked child it does not end
 * waits of the parent. NULL is allowed. Since 0.1.
 */
LEASH_API void leash_cancel_fire(leash_cancel *cancel);

/**
 * Has a cancel been fired? False for NULL.
 *
 * Threads: any; allowed in callbacks and in signal handlers. Since 0.1.
 */
LEASH_API bool leash_cancel_is_fired(const leash_cancel *cancel);

/**
 * A descriptor that is readable while the switch is fired, for poll() or the program's event loop. The first call makes
 * it; it stays the same until the switch is freed. Only watch it, and do not read from it: leash_cancel_reset() makes
 * it unreadable again.
 *
 * @param fd   receives the descriptor; untouched unless the result is LEASH_OK
 * @param err  filled in unless the result is LEASH_OK; may be NULL
 *
 * @retval LEASH_OK         watch `*fd` for reading, level-triggered or edge-triggered
 * @retval LEASH_INVALID    `cancel` or `fd` is NULL
 * @retval LEASH_NO_MEMORY  no more descriptors
 * @retval LEASH_FORKED     the switch belongs to the parent process
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status leash_cancel_fd(leash_cancel *cancel, int *fd, leash_error *err);

/**
 * Undo a fire, so that the switch can be fired again: between two jobs of a thread, for example. NULL is allowed. In a
 * forked child this does nothing to a switch of the parent.
 *
 * If it is fired at the same moment, its descriptor may stay readable although the switch is not fired. Then reset it
 * again.
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API void leash_cancel_reset(leash_cancel *cancel);

/**
 * Free it. NULL is allowed. Handles that have it as `.on_lost` still work; the descriptor is closed with the last of
 * them.
 *
 * Threads: any, when no acquire uses it and no thread will fire it again. Since 0.1.
 */
LEASH_API void leash_cancel_free(leash_cancel *cancel);

LEASH_END_DECLS

#endif
