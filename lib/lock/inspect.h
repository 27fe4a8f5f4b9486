/* What Redis says of a lock, and of a client: the step that asks, and how its answer is read. For whoever asks, over whatever
 * connection. Memory only. */
#ifndef LSH_LOCK_INSPECT_H
#define LSH_LOCK_INSPECT_H

#include "redis/script.h"

#include <leash/inspect.h>

#include <stdbool.h>
#include <stddef.h>

enum {
	LSH_LOCK_KEY_MAX = 64 + 3 + 3 * LEASH_NAME_MAX,           /* bytes of "<prefix>:{<name>}" */
	LSH_LOCK_KEYS_SIZE = 3 * LSH_LOCK_KEY_MAX + 6 + 6,        /* of it, and of those that end in ":fence" and ":queue" */
	LSH_PARTY_KEY_SIZE = 64 + sizeof(":client:") + 36,        /* of "<prefix>:client:<uuid>", with its NUL */
};

/* The step lib/lua/inspect.lua for one lock. */
struct lsh_inspect_step {
	struct lsh_script_call call;
	char keys[LSH_LOCK_KEYS_SIZE];
};

/* For the lock with this key. False: no lock of ours has a key of that size. Its arguments lie in `step`. */
bool lsh_inspect_make(struct lsh_inspect_step *step, const char *key, size_t size);

/* Read the line that it answers. All of `info` but its size and name is written; of the holder that is the token. False, and `info`
 * untouched: that is not such a line. */
bool lsh_lock_line_read(const char *text, size_t size, leash_lock_info *info);

/* Where the client of a token says who it is. Returns the length. */
size_t lsh_party_key(char out[static LSH_PARTY_KEY_SIZE], const char *prefix, const char *token);

/* Asking for it. Not GET: anybody may have written there, and a value of any size. */
enum { LSH_PARTY_ARGS = 4 };

struct lsh_party_question {
	struct lsh_arg args[LSH_PARTY_ARGS]; /* they lie in here */
	char key[LSH_PARTY_KEY_SIZE];
	char last[LSH_DECIMAL_SIZE];
};

void lsh_party_ask(struct lsh_party_question *question, const char *prefix, const char *token);

/* Read what it says there, "<pid> <since_ms> <host> <program>", into all of `party` but its token. False, and `party` untouched: it
 * is anything else. Anybody may write there, so nothing in it is to be relied on. */
bool lsh_party_read(const char *text, size_t size, leash_party *party);

/* Are these bytes a token of whichever client? If not `*why`, which may be NULL, says what is wrong with them. */
bool lsh_token_is_one(const char *text, size_t size, const char **why);

#endif
