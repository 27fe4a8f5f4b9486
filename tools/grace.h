/* How much of a lease the end of CMD takes: from TERM to KILL, and from KILL to the end of the lease. */
#ifndef LEASH_TOOLS_GRACE_H
#define LEASH_TOOLS_GRACE_H

#include "tools/option.h"

#include <stdbool.h>
#include <stdint.h>

struct grace {
	int on_lost;           /* the signal that CMD gets first; 0: none, it goes on */
	bool given;            /* `kill_after_ms` was asked for; else grace_set() chooses it */
	int64_t kill_after_ms; /* from that signal to KILL */
	int64_t margin_ms;     /* from KILL to the end of the lease */
};

/* For the options --on-lost and --kill-after: the words that the first takes, and what `take` of both is; `into` is a
 * struct grace. */
#define GRACE_ON_LOST "term kill keep HUP INT QUIT USR1 USR2"
cli_take_fn grace_take_on_lost, grace_take_kill_after;

/* Can CMD be dead before a lease of `ttl_ms` ends? CLI_GO_ON, or usage, which has been told. */
int grace_set(struct grace *grace, const struct cli *cli, int64_t ttl_ms);

/* `lease_ms` is what is left of the lease that an outer run renews: at a third, so that these are two thirds of it. */
void grace_shorten(struct grace *grace, int64_t lease_ms);

/* No CMD can be started with less than this left of the lease. */
int64_t grace_needs_ms(const struct grace *grace);

#endif
