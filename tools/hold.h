/* What commands have in common: locks that outlive the process which acquired them, their tokens; and holders in words. */
#ifndef LEASH_TOOLS_HOLD_H
#define LEASH_TOOLS_HOLD_H

#include "tools/cli.h"

enum {
	HOLD_TTL_MS = 30000,    /* unless --ttl says otherwise */
	HOLD_NAME_SIZE = 200,   /* a lock's name in a message: what is longer is cut off */
	HOLD_HOLDER_SIZE = CLI_PARTY_SIZE + 200,
};

/* The argument of --ttl, in ms: CLI_GO_ON, or what to exit with; then it has been told. */
int hold_ttl_option(const struct cli *cli, const char *text, int64_t *ms);

/* The two arguments behind the options. NULL: usage, which has been told. */
const char *hold_name_and_token(const struct cli *cli, int argc, char **argv, const char **token);

/* Open a client, and take over the hold that `token` names, for at least `lease_ms` from now. CLI_GO_ON, or what to exit with; then it has
 * been told, and what the caller has to close is in `*client` and `*lock` all the same. */
int hold_adopt(const struct cli *cli, const char *name, const char *token, int64_t lease_ms, leash_client **client, leash_lock **lock);

/* "backup.sh, pid 4711 on web3, since 2026-11-20 08:42:05, 12.3 s left of its lease, 2 waiting", by our clock; `client` knows the server's.
 * Returns `out`, of HOLD_HOLDER_SIZE. */
char *hold_holder(char *out, leash_client *client, const leash_lock_info *info);

#endif
