/* What the tools of the tests do when they cannot do what they were asked: the test fails, in words.
 *
 * In the thread that runs cmocka's tests that is a failed test, and the next one follows. Anywhere else (a thread of a
 * test, a forked child, a program without cmocka) a longjmp would go astray, so there the process aborts. */
#pragma once

#include <stdarg.h>
#include <stddef.h>

#define trouble(...) trouble_at(__FILE__, __LINE__, __VA_ARGS__)

_Noreturn void trouble_at(const char *file, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Zeroed memory, and a text, each to be freed. */
void *zeroed(size_t size);
char *text_of(const char *format, ...) __attribute__((format(printf, 1, 2)));
