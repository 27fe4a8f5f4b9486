#include "redis/command.h"

#include "base/text.h"

#include <string.h>

struct lsh_arg
lsh_arg_decimal(char digits[static LSH_DECIMAL_SIZE], int64_t n)
{
	size_t size = 0;

	if (n < 0)
		digits[size++] = '-';
	size += lsh_decimal_write(digits + size, n < 0 ? 0 - (uint64_t)n : (uint64_t)n);
	digits[size] = '\0';
	return (struct lsh_arg){digits, size};
}

struct lsh_arg
lsh_arg_text(const char *text)
{
	return (struct lsh_arg){text, strlen(text)};
}

static char *
write_line(char *out, char mark, size_t n)
{
	*out++ = mark;
	if (n >= 100) {
		out += lsh_decimal_write(out, n);
	} else { /* as nearly all are */
		if (n >= 10)
			*out++ = (char)('0' + n / 10);
		*out++ = (char)('0' + n % 10);
	}
	*out++ = '\r';
	*out++ = '\n';
	return out;
}

size_t
lsh_command_size(const struct lsh_arg *args, size_t count)
{
	const size_t line = 1 + LSH_DECIMAL_DIGITS + 2; /* a mark, a number, CR and LF */
	size_t size = line;

	for (size_t i = 0; i < count; i++)
		size += line + args[i].size + 2;
	return size;
}

size_t
lsh_command_write(char *out, const struct lsh_arg *args, size_t count)
{
	char *at = write_line(out, '*', count);

	for (size_t i = 0; i < count; i++) {
		at = write_line(at, '$', args[i].size);
		if (args[i].size > 0) /* an empty argument may have no bytes to point to */
			memcpy(at, args[i].bytes, args[i].size);
		at += args[i].size;
		*at++ = '\r';
		*at++ = '\n';
	}
	return (size_t)(at - out);
}
