/* Reading what Redis says of a lock, and of a client. Memory only. */
#ifndef LSH_ADMIN_LOCK_LINE_H
#define LSH_ADMIN_LOCK_LINE_H

#include <leash/inspect.h>
#include <leash/semaphore.h>

#include <stdbool.h>
#include <stddef.h>

/* Read the line that inspect.lua answers. All of `info` but its size and name is written; of the holder that is the
 * token. False, and `info` untouched: that is not such a line. */
bool lsh_lock_line_read(const char *text, size_t size, leash_lock_info *info);

/* Read what share_inspect.lua answers, a line for each of its items: all of `info` but its size and name, and up to
 * `most` holds, of each who has it by the token only. False, in parts written: that is none, or a hold is none. */
bool lsh_share_lines_read(const char *lines, leash_semaphore_info *info, leash_permit_info *permits, size_t most,
                          size_t *count);

/* Read the member of a queue: a place, "<token> <claim>", or "<token> <need> <claim>" where it is `shared`: the token
 * and the count. False: it is none. */
bool lsh_place_read(const char *text, size_t size, bool shared, leash_waiter_info *waiter);

/* Read what a client says of itself, "<pid> <since_ms> <host> <program>", into all of `party` but its token. False, and
 * `party` untouched: it is anything else. Anybody may write there, so nothing in it is to be relied on. */
bool lsh_party_read(const char *text, size_t size, leash_party *party);

/* Are these bytes a token of whichever client? If not `*why`, which may be NULL, says what is wrong with them. */
bool lsh_token_is_one(const char *text, size_t size, const char **why);

#endif
