/* All that a run holds: of one name, or of several, and then all or none. */
#ifndef LEASH_TOOLS_HOLD_SET_H
#define LEASH_TOOLS_HOLD_SET_H

#include "tools/holding.h"

#define HOLD_SET_EVER_MS (INT64_C(10) * 365 * 86400000)

struct hold_set {
	size_t count;
	struct holding *held; /* in the order in which they were named */
	leash_multi *multi;   /* of those that are our own, if they are several */
};

/* `names` must be as they are to the server, and are not copied. CLI_GO_ON, or what to exit with; then it has been
 * told. */
int hold_set_begin(struct hold_set *set, const struct cli *cli, char *const *names, size_t count,
                   const struct hold_need *need);
void hold_set_end(struct hold_set *set); /* one that was not begun is allowed */

/* Make the handles. Where a function fails, `*about` (NULL is allowed) is the one that is in the way; NULL: unknown. */
leash_status hold_set_open(struct hold_set *set, leash_client *client, const leash_lock_options *options,
                           const struct holding **about, leash_error *err);

/* ---- Our own: all but those with an `outer`, which is set between the opening and the first of these. ---- */

bool hold_set_has_own(const struct hold_set *set);
leash_status hold_set_acquire(struct hold_set *set, const leash_acquire *how, const struct holding **about,
                              leash_error *err);
leash_status hold_set_release(struct hold_set *set, const struct holding **about, leash_error *err);

/* Extend those that last for less than three quarters of `lease_ms`, to all of it; `*remaining_ms`: for how long all of
 * our own are held now, also if it fails. */
leash_status hold_set_fill_up(struct hold_set *set, int64_t lease_ms, int64_t *remaining_ms, leash_error *err);

/* For one who ends without releasing: make the leases last for `ms` from now. False: one lasts longer, as a lease is
 * never shortened, or could not be extended. */
bool hold_set_may_leave(const struct hold_set *set, int64_t ms); /* none lasts longer now */
bool hold_set_leave(struct hold_set *set, int64_t ms);

/* ---- All of them. ---- */

/* For how long all are held at least; HOLD_SET_EVER_MS: there are none. `*first` (NULL is allowed): the one that ends
 * first. */
int64_t hold_set_remaining_ms(const struct hold_set *set, const struct holding **first);

const struct holding *hold_set_find(const struct hold_set *set, const char *name); /* NULL: none has it */

/* Why we cannot have all, as `who` of a kind: of the first that others have. */
bool hold_set_who(const struct hold_set *set, char *out, char *whose);

/* Our place in the first queue that we stand in, from 1; 0: not known. */
uint64_t hold_set_place(const struct hold_set *set);

#endif
