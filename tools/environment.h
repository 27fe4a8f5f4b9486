/* Environment variables: what CMD is told of its locks, and how a run sees that an outer run holds the same lock. */
#ifndef LEASH_TOOLS_ENVIRONMENT_H
#define LEASH_TOOLS_ENVIRONMENT_H

#include "tools/cli.h"

/* Is the token in $LEASH_HELD, the tokens of the runs around us? */
bool environment_has_token(const char *token);
bool environment_has_no_token(void);

/* The fence of that token, if it is the first of the innermost run; else 0. */
uint64_t environment_fence(const char *token);

/* The environment for CMD under what is held, to be freed as one block; NULL: out of memory. LEASH_NAME and so on are
 * the first's. `value`: of a leader; or NULL. Without `has_uri` there is no LEASH_URI in it. */
struct hold_set;
char **environment_new(const struct cli *cli, bool has_uri, const char *value, const struct hold_set *set);

#endif
