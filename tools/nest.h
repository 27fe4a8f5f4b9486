/* Runs inside of runs: what CMD is told of its lock by variables, and how a run finds that an outer one holds what it wants. */
#ifndef LEASH_TOOLS_NEST_H
#define LEASH_TOOLS_NEST_H

#include "tools/cli.h"

/* Does the token stand in $LEASH_HELD, the tokens of the runs that we are in? */
bool nest_has(const char *token);
bool nest_is_empty(void);

/* The environment for CMD, to be freed as one block; NULL: out of memory. `ours`: the token is new in $LEASH_HELD. */
char **nest_environment(const struct cli *cli, const char *name, uint64_t fence, const char *token, bool ours);

#endif
