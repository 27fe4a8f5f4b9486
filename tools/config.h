/* Where the server is, and what its keys are called, if the command line does not say: the environment, or a file. */
#ifndef LEASH_TOOLS_CONFIG_H
#define LEASH_TOOLS_CONFIG_H

#include <leash.h>

struct cli;

/* After the options: sets cli->uri and cli->prefix where these are NULL, from $LEASH_URI and $LEASH_PREFIX, else from
 * the file: $LEASH_CONFIG names it, else it is $XDG_CONFIG_HOME/leash/leash.conf (or ~/.config/...), else
 * /etc/leash.conf, the first of these that is there. In set-user-ID programs only the last. CLI_GO_ON, or what to exit
 * with; then it has been told. */
int config_take(struct cli *cli);

/* The library refuses a URI. If it came from a file: the status to exit with, and it has been told with the file and
 * the line. Else CLI_GO_ON. */
int config_blame(const struct cli *cli, const leash_error *err);

#endif
