/* Owners: for holds that move between threads. */
#ifndef LEASH_OWNER_H
#define LEASH_OWNER_H

#include <leash/api.h>
#include <leash/status.h>

LEASH_BEGIN_DECLS

/**
 * An owner that is not a thread. Whoever calls through a handle that was made with `.owner` calls for it: acquires in
 * one thread, releases in another. For it alone a lock is reentrant, and the end of a thread ends none of its holds.
 *
 * It may be used with any number of locks and clients, but by one thread at a time: what a program hands from thread to
 * thread together with the work (a request, a task) needs no more. A forked child makes owners of its own.
 */
typedef struct leash_owner leash_owner;

/**
 * Make an owner. Talks to nobody.
 *
 * @param out  receives it; untouched unless the result is LEASH_OK. Free it with leash_owner_free().
 * @param err  filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK           `*out` is an owner that holds nothing
 * @retval LEASH_INVALID      `out` is NULL
 * @retval LEASH_NO_MEMORY    nothing was made
 * @retval LEASH_UNSUPPORTED  a system without what leash needs
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status leash_owner_new(leash_owner **out, leash_error *err);

/**
 * Free an owner. What it still holds is released in the background, each with the event ABANDONED, as
 * when a thread ends. Handles that were made for it then answer LEASH_INVALID, and must still be
 * freed. Talks to nobody. NULL is allowed.
 *
 * Threads: any, when no call is made for it. Since 0.1.
 */
LEASH_API void leash_owner_free(leash_owner *owner);

LEASH_END_DECLS

#endif
