/* What Redis says of a lock, and of a client: the step that asks, and how its answer is read. For whoever asks, over whatever
 * connection. Memory only. */
#ifndef LSH_ADMIN_LOCK_LINE_H
#define LSH_ADMIN_LOCK_LINE_H

#include "lease/presence.h"
#include "redis/script.h"

#include <leash/inspect.h>

#include <stdbool.h>
#include <stddef.h>

enum {
	LSH_LOCK_KEY_MAX = 64 + 3 + 3 * LEASH_NAME_MAX, /* bytes of "<prefix>:{<name>}" */
};

/* The script that asks, for the lock with this key. False: no lock of ours has a key of that size. */
bool lsh_inspect_make(struct lsh_script_call *command, struct lsh_arg key);

/* Read the line that it answers. All of `info` but its size and name is written; of the holder that is the token. False, and `info`
 * untouched: that is not such a line. */
bool lsh_lock_line_read(const char *text, size_t size, leash_lock_info *info);

/* Ask who the client of a token is. Not by GET: anybody may have written there, and a value of any size. */
void lsh_party_ask(struct lsh_script_call *command, const char *prefix, const char *token);

/* Read what it says there, "<pid> <since_ms> <host> <program>", into all of `party` but its token. False, and `party` untouched: it
 * is anything else. Anybody may write there, so nothing in it is to be relied on. */
bool lsh_party_read(const char *text, size_t size, leash_party *party);

/* Are these bytes a token of whichever client? If not `*why`, which may be NULL, says what is wrong with them. */
bool lsh_token_is_one(const char *text, size_t size, const char **why);

#endif
