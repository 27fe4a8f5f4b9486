/* What a call returns, and the one line of text that goes with it. */
#ifndef LEASH_STATUS_H
#define LEASH_STATUS_H

#include <leash/api.h>

LEASH_BEGIN_DECLS

/**
 * The list of statuses: name, number, text. Numbers are never reused or changed.
 */
#define LEASH_STATUS_MAP(X)                                                                                            \
	X(OK, 0, "done")                                                                                                \
	X(TIMEOUT, 1, "another owner had the lock to the end of the wait")                                              \
	X(LOST, 2, "the lock was lost while it was held")                                                               \
	X(NOT_HELD, 3, "the calling owner does not hold the lock")                                                      \
	X(CANCELED, 4, "the wait was canceled")                                                                         \
	X(UNAVAILABLE, 5, "the server could not be asked in time")                                                      \
	X(UNKNOWN, 6, "the server did not say whether it was done")                                                     \
	X(INVALID, 7, "an argument is not valid")                                                                       \
	X(NO_MEMORY, 8, "out of memory")                                                                                \
	X(DENIED, 9, "the server does not permit it")                                                                   \
	X(MISMATCH, 10, "the key holds something that is not this kind of lock")                                        \
	X(FORKED, 11, "the client belongs to the parent process")                                                       \
	X(IN_CALLBACK, 12, "the call may wait, and a callback must not wait")                                           \
	X(CLOSED, 13, "the client is closed")                                                                           \
	X(PROTOCOL, 14, "the answer is not what a Redis server sends")                                                  \
	X(UNSUPPORTED, 15, "not supported here")                                                                        \
	X(DEADLOCK, 16, "waiting could take forever")

typedef enum leash_status {
#define LEASH_STATUS_ENUM_(name, number, text) LEASH_##name = number,
	LEASH_STATUS_MAP(LEASH_STATUS_ENUM_)
#undef LEASH_STATUS_ENUM_
} leash_status;

/**
 * What went wrong, stored by the caller. Its size is 256 bytes, forever.
 *
 * `text` is one line of printable characters. It names the lock and the server, never contains a secret, and has no
 * full stop at the end. A call that returns LEASH_OK does not change the struct.
 */
typedef struct leash_error {
	leash_status status; /**< what the call returned */
	int sys_errno;       /**< the system's error that caused it, or 0 */
	char text[248];      /**< NUL-terminated; cut off if too long */
} leash_error;

/**
 * The name of `status` as the headers spell it, without the prefix: "TIMEOUT".
 *
 * @return a constant string; "?" for any other number.
 *
 * Threads: any; allowed in callbacks and in signal handlers. Since 0.1.
 */
LEASH_API const char *leash_status_name(leash_status status);

/**
 * What `status` means, in a few words.
 *
 * @return a constant string; "unknown status" for any other number.
 *
 * Threads: any; allowed in callbacks and in signal handlers. Since 0.1.
 */
LEASH_API const char *leash_status_text(leash_status status);

LEASH_END_DECLS

#endif
