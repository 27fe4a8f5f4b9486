/* Filling in a leash_error. */
#ifndef LSH_BASE_ERROR_H
#define LSH_BASE_ERROR_H

#include <leash/status.h>

/* Fill in `err`, unless it is NULL, and return `status`, so that a failing path is one statement. Bytes of the text that are
 * not printable ASCII come out as \xHH: names and the words of a server are not to be trusted on a terminal. */
leash_status lsh_fail(leash_error *err, leash_status status, int sys_errno, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

#endif
