/* What the commands that take a lock are told of it: leases, replicas, tokens; and holders in words. */
#ifndef LEASH_TOOLS_HOLD_H
#define LEASH_TOOLS_HOLD_H

#include "tools/cli.h"

enum {
	HOLD_TTL_MS = 30000,    /* unless --ttl says otherwise */
	HOLD_NAME_SIZE = 200,   /* a lock's name in a message: what is longer is cut off */
	HOLD_HOLDER_SIZE = CLI_PARTY_SIZE + 200,
};

/* What is to be held of a name; zero: a mutex. */
struct hold_need {
	int slots, take;        /* permits */
	bool shared, exclusive; /* a read-write lock, to read or to write */
};

/* For the struct cli at the beginning of a request. */
#define HOLD_LOG_OPTION                                                                                             \
	{.name = "log", .value = "WHERE", .choices = "stderr syslog journald", .take = cli_take_log,                    \
	 .at = offsetof(struct cli, log), .help = "where messages go: stderr (default), syslog or journald"}

/* How long to wait, for a request with `wait_ms`: `what` stands behind "wait at most this long". And the status to exit
 * with, for one with `conflict_exit`. */
#define HOLD_WAIT_OPTIONS(type, nonblock, what)                                                                       \
	{.letter = 'n', .name = "nonblock", .take = cli_take_no_time, .at = offsetof(type, wait_ms), .help = (nonblock)}, \
	{.letter = 'w', .name = "wait", .value = "DUR", .take = cli_take_duration, .at = offsetof(type, wait_ms),         \
	 .help = "wait at most this long" what ": 30s, 5m (default: forever)"}
#define HOLD_CONFLICT_OPTION(type)                                                                                    \
	{.letter = 'E', .name = "conflict-exit-code", .value = "N", .take = cli_take_number, .most = 255,                 \
	 .at = offsetof(type, conflict_exit), .help = "exit status if another process holds it (default 75)"}

/* What has to acknowledge a lock before it counts; zero: nothing. */
struct hold_replicas {
	int min;
	int64_t timeout_ms; /* 0: the default */
	bool fsynced;
};

/* The options of a handle, for a request with `ttl_ms` and `replicas`. */
#define HOLD_OPTIONS(request, ...)                                                                              \
	LEASH_LOCK_OPTIONS(.lease_ms = (request)->ttl_ms, .min_replicas = (request)->replicas.min,                  \
	                   .replicas_ms = (request)->replicas.timeout_ms, .fsynced = (request)->replicas.fsynced,   \
	                   __VA_ARGS__)

/* Their options; and those of a lease. */
extern const struct cli_option hold_need_options[], hold_replicas_options[];
#define HOLD_TTL_OPTION(type, from)                                                                                 \
	{.name = "ttl", .value = "DUR", .take = cli_take_duration, .at = offsetof(type, ttl_ms), .least = 100,          \
	 .most = 86400000, .help = "the lease, from " from " to 1d (default 30s)"}

/* After all options: do they fit together? CLI_GO_ON, or usage, which has been told. Of permits `take` is 1 from now
 * on, unless it was said. */
int hold_check(const struct cli *cli, struct hold_need *need, const struct hold_replicas *replicas);

/* "backup.sh, pid 4711 on web3, since 2026-11-20 08:42:05, 12.3 s left of its lease, 2 waiting", by our clock;
 * `client` knows the server's. Where several share it, how many are out, too. On a quorum nobody knows who waits.
 * Returns `out`, of HOLD_HOLDER_SIZE. */
char *hold_holder(char *out, leash_client *client, const leash_lock_info *info);

/* Is that this process? */
bool hold_is_ours(const leash_party *holder);

/* Was the holder a process of this machine that has ended? For a leash acquire, also the process that called it. */
bool hold_is_of_the_dead(const leash_party *holder);

#endif
