/* Filling in a leash_error. */
#ifndef LSH_BASE_ERROR_H
#define LSH_BASE_ERROR_H

#include <leash/status.h>

#include <stdbool.h>

/* Fill in `err`, unless it is NULL, and return `status`, so that a failing path is one statement. Bytes of the text
 * that are not printable ASCII become \xHH: a terminal must not get the bytes of a name or of a server as they are. */
leash_status lsh_fail(leash_error *err, leash_status status, int sys_errno, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

enum { LSH_ERRNO_TEXT = 120 };

/* Unless that is LEASH_OK: name what it is about in front of the text, "<kind> '<name>': ", or "<kind>: " where `name`
 * is NULL. Returns `status`. `err` may be NULL. */
leash_status lsh_fail_about(leash_error *err, leash_status status, const char *kind, const char *name);

/* Is `e` what the system says when memory or descriptors are used up? (It says EAGAIN of threads, and of much else.) */
bool lsh_is_shortage(int e);

/* What such an errno is told as, NO_MEMORY; of any other `otherwise`. */
leash_status lsh_errno_status(int e, leash_status otherwise);

/* The system's words for an errno, in `text` or elsewhere. Of a shortage: what is used up, and which limit says so. */
const char *lsh_errno_text(int e, char text[static LSH_ERRNO_TEXT]);

/* The same where something could not be made: EAGAIN is what lsh_thread_start() said, and any other is memory. */
const char *lsh_shortage_text(int e, char text[static LSH_ERRNO_TEXT]);

/* NO_MEMORY with that errno and that text, behind `what` and a colon. */
leash_status lsh_fail_short(leash_error *err, int e, const char *what);

#endif
