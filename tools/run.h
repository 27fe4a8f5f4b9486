/* A command under locks: leash run, and leash elect, which does the same while it leads. */
#ifndef LEASH_TOOLS_RUN_H
#define LEASH_TOOLS_RUN_H

#include "tools/hold.h"

/* Their options. */
extern const struct cli_group run_groups[], run_groups_of_a_leader[];

/* All that the command does. `value`: what a leader says of itself, unless --value says it; NULL: it is no leader. */
int run_under(const struct command *command, int argc, char **argv, const char *value);

#endif
