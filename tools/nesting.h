/* A run inside of another one. */
#ifndef LEASH_TOOLS_NESTING_H
#define LEASH_TOOLS_NESTING_H

#include "tools/hold_set.h"

struct stderr_writer;

/* Which names do the runs around this one hold? Of those that can be entered `outer` is set; then `*lease_ms` is what
 * is left of the shortest of their leases, else 0. To `lost_fd`, an eventfd, is written when such a hold is lost.
 * CLI_GO_ON, or what to exit with; then it has been told: EXIT_CONFLICT if we are to wait, and would wait for ourselves
 * for ever. */
int nesting_enter(struct hold_set *set, bool waits, struct stderr_writer *writer, int lost_fd, int64_t *lease_ms);

/* How long the outer hold lasts, as leash_lock_remaining_ms(). */
int64_t nesting_remaining_ms(const struct nesting *nesting);

/* Before hold_set_end(). */
void nesting_end(struct hold_set *set);

#endif
