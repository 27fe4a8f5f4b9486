/* A window: locks that a scan asks about at once, by their keys. Memory of whoever scans. */
#ifndef LSH_ADMIN_WINDOW_H
#define LSH_ADMIN_WINDOW_H

#include "admin/connection.h"

struct lsh_window {
	size_t count;
	struct lsh_item key[LSH_ADMIN_WINDOW];
	leash_lock_info info[LSH_ADMIN_WINDOW]; /* `size` and `name` as they are to be told; the rest as the server says, not held at first */
};

/* Ask the server of this inquiry about all of them. What it says goes to `infos`, which may be those in the window: of each that is
 * a lock of ours all but the size, the name, and who its holder is. Untouched where it is none, or is none of this server's any more. */
leash_status lsh_window_inspect(const struct lsh_window *window, struct lsh_admin *admin, leash_lock_info *infos, leash_error *err);

#endif
