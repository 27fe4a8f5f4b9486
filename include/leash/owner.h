/* Owners: for holds that move between threads. */
#ifndef LEASH_OWNER_H
#define LEASH_OWNER_H

#include <leash/api.h>
#include <leash/status.h>

LEASH_BEGIN_DECLS

/**
 * An owner that is not a thread. Every call through a handle that was made with `.owner` is made for this owner, from
 * any thread: one thread may acquire, and another may release. A lock is reentrant for this owner only, and the end of
 * a thread ends none of its holds.
 *
 * It may be used with any number of locks and clients, but by one thread at a time. A program that hands it from thread
 * to thread together with the work (a request, a task) needs no more. A forked child makes owners of its own.
 */
typedef struct leash_owner leash_owner;

/**
 * Make an owner. Sends nothing to the server.
 *
 * @param out  receives the owner; untouched unless the result is LEASH_OK. Free it with leash_owner_free().
 * @param err  filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK           `*out` is an owner that holds nothing
 * @retval LEASH_INVALID      `out` is NULL
 * @retval LEASH_NO_MEMORY    nothing was made
 * @retval LEASH_UNSUPPORTED  the system lacks something that leash needs
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status leash_owner_new(leash_owner **out, leash_error *err);

/**
 * Free an owner. Everything that it still holds is released in the background, each hold with the event ABANDONED, as
 * when a thread ends. Handles that were made for it then return LEASH_INVALID, and must still be freed. Sends nothing
 * to the server. NULL is allowed.
 *
 * Threads: any, when no call is being made for it. Since 0.1.
 */
LEASH_API void leash_owner_free(leash_owner *owner);

LEASH_END_DECLS

#endif
