/* A poll: what the servers of a quorum say of the locks that one of them has, for a scan that goes through them one after the other.
 *
 * A lock is held if a majority has it for the same token, and it is told of when the first server of those is gone through. So nothing
 * has to be kept of what was told before. Most often the first N - majority + 1 servers are enough: a majority has one of them.
 *
 * A server that does not answer, or refuses, is given up for the rest of the scan, which goes on as long as a majority is left; what it
 * was the first to have is then told by the next one, and may be told twice. */
#ifndef LSH_ADMIN_POLL_H
#define LSH_ADMIN_POLL_H

#include "admin/window.h"

struct lsh_poll;

struct lsh_poll *lsh_poll_new(struct lsh_engine *engine); /* NULL: no memory */
void lsh_poll_free(struct lsh_poll *poll);                /* NULL is allowed */

/* Is server `i` to be gone through, those before it having been? */
bool lsh_poll_wants(const struct lsh_poll *poll, size_t i);

/* Ask the others about what server `i` has said of the locks in the window. Those that are held are to be told of; their tokens stay. */
leash_status lsh_poll_count(struct lsh_poll *poll, size_t i, struct lsh_window *window, leash_error *err);

/* Server `i` has failed, for the reason `why`. LEASH_OK: go on without it. */
leash_status lsh_poll_give_up(struct lsh_poll *poll, size_t i, const leash_error *why, leash_error *err);

#endif
