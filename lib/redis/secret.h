/* Passwords: from a file or the environment straight into guarded memory, without a copy on the way.
 *
 * No message shows a byte of a password: only the file or the variable in which it was expected is named.
 *
 * Threads: any; nothing is kept. */
#ifndef LSH_REDIS_SECRET_H
#define LSH_REDIS_SECRET_H

#include <leash/status.h>

#include <stdbool.h>
#include <stddef.h>

enum { LSH_SECRET_MAX = 4096 }; /* bytes of a user or a password */

/* A copy in guarded memory; sodium_free() wipes it. NO_MEMORY; UNSUPPORTED without randomness. Then `*out` is NULL. */
leash_status lsh_secret_copy(char **out, const char *secret, leash_error *err);

/* Read the password that is the only line of the file at `path`, with or without its LF. `what` is the file in
 * messages. INVALID names it; else fails as lsh_secret_copy(). */
leash_status lsh_secret_from_file(char **out, const char *path, const char *what, leash_error *err);

/* Read the password that is in the variable `name`, in any but a set-user-ID program. Fails likewise. */
leash_status lsh_secret_from_env(char **out, const char *name, const char *what, leash_error *err);

/* Does `secret` stand in these bytes? Not if it is NULL or empty. */
bool lsh_secret_is_in(const char *secret, const char *bytes, size_t n);

#endif
