#include "base/error.h"

#include "base/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

leash_status
lsh_fail(leash_error *err, leash_status status, int sys_errno, const char *format, ...)
{
	int e = errno;
	char line[sizeof(err->text) + 1]; /* one byte more than fits, so that the cut is seen and marked */
	va_list args;
	int n;

	if (err == NULL)
		return status;

	/* first aside: an argument may be the text that is about to be overwritten */
	va_start(args, format);
	n = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (n < 0) {
		/* an argument that printf cannot take is no reason to say nothing */
		const char *text = leash_status_text(status);

		n = (int)strnlen(text, sizeof(line) - 1);
		memcpy(line, text, (size_t)n);
	}

	/* the words of a server end with a full stop at times */
	n = (size_t)n < sizeof(line) ? n : (int)sizeof(line) - 1;
	if (n >= 2 && line[n - 1] == '.' && line[n - 2] != '.')
		n--;
	err->status = status;
	err->sys_errno = sys_errno;
	lsh_show_text(err->text, sizeof(err->text), line, (size_t)n);
	errno = e;
	return status;
}
