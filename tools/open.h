/* Reaching the server. */
#ifndef LEASH_TOOLS_OPEN_H
#define LEASH_TOOLS_OPEN_H

#include <leash.h>

#include <stdint.h>

struct cli;

/* Is a server named, by --redis, $LEASH_URI or a file? A lock in a server that nobody else uses keeps nobody out, so
 * nothing is assumed. CLI_GO_ON, or usage, which has been told. */
int cli_check_server(const struct cli *cli);

/* The options that cli_open() uses. `program` is what others see as the holder's; NULL: "leash". */
leash_options cli_client_options(const struct cli *cli, const char *program);

/* Connect to the server that is named. CLI_GO_ON, or what to exit with; then it has been told. */
int cli_open(const struct cli *cli, leash_client **out);

/* The same for commands that only look: if no server is named they ask the one on this machine, and say so. */
int cli_open_to_look(const struct cli *cli, leash_client **out);

/* The same with options (NULL: the usual ones), and again and again while the server is away, for at most `*wait_ms`,
 * which becomes what is left of it. That is told, too. What will not get better is not waited for: a refused password,
 * a host name that does not exist, a socket that we may not use. */
int cli_open_patiently(const struct cli *cli, const leash_options *options, int64_t *wait_ms, leash_client **out);

/* A client could not be opened: says why, as cli_fail_with(); of a URI from a file, with the line. */
int cli_fail_to_open(const struct cli *cli, const leash_error *err);

/* For the handle of a command that only looks: a quorum asks for a lease, and for a guard of at least that, all the
 * same. */
#define CLI_LOOKING LEASH_LOCK_OPTIONS(.lease_ms = 100, .restart_guard_ms = 100)

#endif
