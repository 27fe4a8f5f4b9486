/* All calls of a client or a lock, as one table: what refuses one of them refuses them all. */
#pragma once

#include <leash.h>

/* "", if each is refused with that status, and its text names the lock, the client or the call; also with no `err`.
 * Else what is wrong; it lasts until the next call. Without a client and a lock (NULL, LEASH_INVALID) the text names the
 * call. In a callback (LEASH_IN_CALLBACK) those succeed that may be made there. */
const char *calls_not_refused(leash_client *client, leash_lock *lock, leash_status expected);
