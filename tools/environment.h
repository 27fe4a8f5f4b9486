/* Environment variables: what CMD is told of its lock, and how a run sees that an outer run holds the same lock. */
#ifndef LEASH_TOOLS_ENVIRONMENT_H
#define LEASH_TOOLS_ENVIRONMENT_H

#include "tools/cli.h"

/* Is the token in $LEASH_HELD, the tokens of the runs around us? */
bool environment_has_token(const char *token);
bool environment_has_no_token(void);

/* The environment for CMD, to be freed as one block; NULL: out of memory. `ours`: the token is new in
 * $LEASH_HELD. A `fence` of 0 is none. */
char **environment_new(const struct cli *cli, const char *name, uint64_t fence, const char *token, bool ours);

#endif
