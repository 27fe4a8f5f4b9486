/* A scan: every lock that is held in a deployment, of whatever kind, one after the other, in constant memory.
 *
 * In a cluster it goes through the servers that have slots. A lock whose slot moves meanwhile, or is taken over by a
 * replica, may be missed, or told of twice.
 *
 * On a quorum a lock is one that a majority has for the same token, and it is told of when the first server of those is
 * gone through; so nothing has to be kept of what was told before. The first N - majority + 1 servers are enough: any
 * majority has one of them. A server that does not answer, or refuses, is given up for the rest of the scan, which goes
 * on as long as a majority is left; what it was the first to have is told by the next one, and may be told twice. */
#ifndef LSH_ADMIN_SCAN_H
#define LSH_ADMIN_SCAN_H

#include <leash/inspect.h>

struct lsh_backend;
struct lsh_scan;

enum { LSH_PATTERN_MAX = 1024 }; /* bytes */

/* `pattern`, which may be NULL and is not longer than that, is copied. `*out` is set only with LEASH_OK. */
leash_status lsh_scan_open(struct lsh_scan **out, struct lsh_backend *backend, const char *pattern, leash_error *err);
void lsh_scan_close(struct lsh_scan *scan); /* NULL is allowed */

/* The next lock, valid until the next call; or NULL: that was all. */
leash_status lsh_scan_next(struct lsh_scan *scan, const leash_lock_info **info, leash_error *err);

#endif
