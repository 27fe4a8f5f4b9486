/* Commands to a server: arguments, and their bytes on the wire. Formats into the caller's memory and allocates
 * nothing. */
#ifndef LSH_REDIS_COMMAND_H
#define LSH_REDIS_COMMAND_H

#include <stddef.h>
#include <stdint.h>

struct lsh_arg {
	const char *bytes;
	size_t size;
};

#define LSH_ARG(literal) ((struct lsh_arg){"" literal, sizeof(literal) - 1})

enum { LSH_DECIMAL_SIZE = 21 }; /* a sign and 19 digits, or 20 digits, and a NUL */

/* `n` in decimal, into `digits`, as an argument. */
struct lsh_arg lsh_arg_decimal(char digits[static LSH_DECIMAL_SIZE], int64_t n);
struct lsh_arg lsh_arg_text(const char *text);

/* An upper bound of what lsh_command_write() writes, up to 20 bytes too large for each argument. */
size_t lsh_command_size(const struct lsh_arg *args, size_t count);

/* Write the command at `out`; returns the number of bytes. */
size_t lsh_command_write(char *out, const struct lsh_arg *args, size_t count);

#endif
