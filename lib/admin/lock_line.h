/* Reading what Redis says of a lock, and of a client. Memory only. */
#ifndef LSH_ADMIN_LOCK_LINE_H
#define LSH_ADMIN_LOCK_LINE_H

#include <leash/inspect.h>

#include <stdbool.h>
#include <stddef.h>

/* Read what inspect.lua answers, a line for each of its items: all of `info` but its size and name, and `*count`
 * holds, `most` or less, which is 1 or more; of each who has it by the token only. False, and `info` untouched: that is
 * none, or a hold is none. */
bool lsh_lock_lines_read(const char *lines, leash_lock_info *info, leash_hold_info *holds, size_t most, size_t *count);

/* Read the member of a queue: a place, "<token> <claim>" or "<token> <need> <claim>": the token and the need. False: it
 * is none. */
bool lsh_place_read(const char *text, size_t size, leash_waiter_info *waiter);

/* Read what a client says of itself, "<pid> <since_ms> <host> <program>", into all of `party` but its token. False, and
 * `party` untouched: it is anything else. Anybody may write there, so nothing in it is to be relied on. */
bool lsh_party_read(const char *text, size_t size, leash_party *party);

/* Are these bytes a token of whichever client? If not `*why`, which may be NULL, says what is wrong with them. */
bool lsh_token_is_one(const char *text, size_t size, const char **why);

#endif
