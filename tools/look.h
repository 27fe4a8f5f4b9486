/* A look at a lock of whatever kind, without being told of which: what it is, and who all have it. */
#ifndef LEASH_TOOLS_LOOK_H
#define LEASH_TOOLS_LOOK_H

#include "tools/cli.h"

struct look {
	leash_lock_info info;
	size_t count;
	leash_hold_info holds[LEASH_HOLDS_MAX]; /* those first whose leases end last */
};

/* Through a handle of whatever kind, as leash_lock_holders(). */
leash_status look_at(struct look *look, leash_lock *lock, leash_error *err);

/* From what a scan told of a lock: its holder; and all others, if there are some and the server says who. False: it
 * does not. */
bool look_further(struct look *look, leash_client *client, const leash_lock_info *info);

bool look_has(const struct look *look, const leash_party *who);

/* Has none of them the lock now who did not before? */
bool look_is_the_same(const struct look *before, const struct look *now);

/* Take it from those who have it, by a handle of its kind: the client has no other one of that name open. */
leash_status look_break(const struct look *look, leash_client *client, leash_error *err);

/* What messages call it: "lock", "read-write lock", "semaphore", "latch", "barrier". */
const char *look_noun(const leash_lock_info *info);

/* A latch, of which those are the holds who have arrived, or a barrier, which nobody holds. */
bool look_is_gate(const leash_lock_info *info);

/* What somebody has of a lock that is shared, or waits for: ", 2 of 8 permits", ", to read", ", to write", ", for 3 to
 * arrive", ", for 3"; else "".
 * Returns `out`, of LOOK_NEED_SIZE. */
enum { LOOK_NEED_SIZE = 64 };
char *look_need(char *out, const leash_lock_info *info, int64_t count, int64_t limit);

/* cli_json_info() with "holds". */
json_t *look_json(const struct look *look);

#endif
