/* A scan: every lock that is held in a deployment, one after the other, in constant memory. It is an inquiry, see there.
 *
 * In a cluster it goes through the servers that have slots, one after the other. A lock whose slot moves meanwhile, or is taken over by a
 * replica, may be missed, or told of twice. On a quorum a lock is one that a majority has; one whose holder changes meanwhile, or all that
 * a server has that fails meanwhile, may be told of twice, too. */
#ifndef LSH_ADMIN_SCAN_H
#define LSH_ADMIN_SCAN_H

#include <leash/inspect.h>

struct lsh_engine;
struct lsh_scan;

enum { LSH_PATTERN_MAX = 1024 }; /* bytes */

/* `pattern`, which may be NULL and is not longer than that, is copied. `*out` is untouched unless the result is LEASH_OK. */
leash_status lsh_scan_open(struct lsh_scan **out, struct lsh_engine *engine, const char *pattern, leash_error *err);
void lsh_scan_close(struct lsh_scan *scan); /* NULL is allowed */

/* The next lock, valid until the next call; or NULL: that was all. */
leash_status lsh_scan_next(struct lsh_scan *scan, const leash_lock_info **info, leash_error *err);

#endif
