/* Failing loudly: to cmocka where that is safe, else by abort. */
#include "tests/support/trouble.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* cmocka's, if the program is linked with it. Its header is not included: programs without it use these tools too. */
extern void _fail(const char *file, int line) __attribute__((weak));

void
trouble_at(const char *file, int line, const char *format, ...)
{
	va_list args;

	flockfile(stderr);
	fprintf(stderr, "%s:%d: ", file, line);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	funlockfile(stderr);

	/* In a child of child_run, CMOCKA_TEST_ABORT makes an abort of this as well. */
	if (_fail && gettid() == getpid())
		_fail(file, line);
	abort();
}

void *
zeroed(size_t size)
{
	void *memory = calloc(1, size);

	if (!memory)
		trouble("no memory");
	return memory;
}

char *
text_of(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		trouble("no memory");
	va_end(args);
	return text;
}
