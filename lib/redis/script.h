/* A script as a command: by its SHA-1, or whole where the server does not have it. */
#ifndef LSH_REDIS_SCRIPT_H
#define LSH_REDIS_SCRIPT_H

#include "lua/scripts.h"
#include "redis/command.h"

#include <stdbool.h>

enum { LSH_SCRIPT_ARGS = 416, LSH_SCRIPT_ARENA = 12288 };

/* The arguments that are pushed as they are belong to the caller and must last until the command has been appended to a
 * pipeline; what is made for it lies in the arena. */
struct lsh_script_call {
	const struct lsh_script *script; /* or NULL: it is a plain command */
	size_t count, used;
	struct lsh_arg args[LSH_SCRIPT_ARGS];
	char arena[LSH_SCRIPT_ARENA];
};

/* Begin a call with so many keys; push the keys, then the arguments. */
void lsh_script_begin(struct lsh_script_call *call, const struct lsh_script *script, unsigned keys);
void lsh_script_push(struct lsh_script_call *call, struct lsh_arg arg);
void lsh_script_push_number(struct lsh_script_call *call, int64_t n);
void lsh_script_push_joined(struct lsh_script_call *call, struct lsh_arg head, const char *tail);

/* Send the text with it from now on. The server keeps it, so this heals NOSCRIPT, and it cannot race with a SCRIPT
 * FLUSH as a separate SCRIPT LOAD would. */
void lsh_script_send_whole(struct lsh_script_call *call);

/* Which command a script was calling when it failed with `error`: Redis says the line, "... on @user_script:12.", but
 * not always the command; our own scripts append it, "... (PEXPIRE)". Writes its name; false: it cannot be told. */
bool lsh_script_blame(const struct lsh_script *script, const char *error, char *name, size_t size);

/* And the number of the key that it was about, from 1 on; 0: that cannot be told. */
unsigned lsh_script_blame_key(const struct lsh_script *script, const char *error);

#endif
