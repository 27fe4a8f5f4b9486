/* What the commands that take a lock are told of it: leases, replicas, tokens; and holders in words. */
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

/* What is to be held of a name; zero: a mutex. */
struct hold_need {
	int slots, take;        /* permits */
	bool shared, exclusive; /* a read-write lock, to read or to write */
};

/* What has to acknowledge a lock before it counts; zero: nothing. */
struct hold_replicas {
	int min;
	int64_t timeout_ms; /* 0: the default */
	bool fsynced;
};

/* For getopt_long: put these into a command's own lists. */
enum { HOLD_SLOTS = CLI_OWN + 0x100, HOLD_TAKE, HOLD_MIN_REPLICAS, HOLD_REPLICAS_TIMEOUT, HOLD_FSYNCED };
#define HOLD_NEED_SHORT "sx"
#define HOLD_NEED_LONG                              \
	{"shared", no_argument, NULL, 's'},             \
	{"exclusive", no_argument, NULL, 'x'},          \
	{"slots", required_argument, NULL, HOLD_SLOTS}, \
	{"take", required_argument, NULL, HOLD_TAKE}
#define HOLD_REPLICAS_LONG                                              \
	{"min-replicas", required_argument, NULL, HOLD_MIN_REPLICAS},       \
	{"replicas-timeout", required_argument, NULL, HOLD_REPLICAS_TIMEOUT}, \
	{"fsynced", no_argument, NULL, HOLD_FSYNCED}

/* What getopt_long() returned, if it is one of these: as hold_ttl_option(). Any other is for cli_option(). A command
 * without the options of replicas may have NULL for them, here and below. */
int hold_option(struct cli *cli, int c, char **argv, struct hold_need *need, struct hold_replicas *replicas);

/* After all options: do they fit together? CLI_GO_ON, or usage, which has been told. Of permits `take` is 1 from now
 * on, unless it was said. */
int hold_check(const struct cli *cli, struct hold_need *need, const struct hold_replicas *replicas);

/* The two arguments behind the options. NULL: usage, which has been told. */
const char *hold_name_and_token(const struct cli *cli, int argc, char **argv, const char **token);

/* "backup.sh, pid 4711 on web3, since 2026-11-20 08:42:05, 12.3 s left of its lease, 2 waiting", by our clock;
 * `client` knows the server's. Where several share it, how many are out, too. On a quorum nobody knows who waits.
 * Returns `out`, of HOLD_HOLDER_SIZE. */
char *hold_holder(char *out, leash_client *client, const leash_lock_info *info);

/* Is that this process? */
bool hold_is_ours(const leash_party *holder);

/* Was the holder a process of this machine that has ended? For a leash acquire, also the process that called it. */
bool hold_is_of_the_dead(const leash_party *holder);

#endif
