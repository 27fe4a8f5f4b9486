/* What the tests of URIs share: texts that are understood or refused, and a secret that must not get out.
 *
 * Memory counts, fails when told to, and has a look for the secret in what is given back. */
#ifndef LEASH_TEST_URIS_H
#define LEASH_TEST_URIS_H

#include "redis/uri.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define SECRET "QJXZWVKQ"

extern size_t blocks;        /* there are */
extern size_t until_failure; /* so many allocations, the last of which fails; 0: never */
extern bool secret_freed;    /* without having been wiped */

extern char *folder; /* for files */

const char *in_folder(const char *name); /* its path, until the next call */
void write_file(const char *name, const char *bytes, size_t n);

struct lsh_uri understood(const char *text);

/* The password is this one now. */
void check_password(const struct lsh_uri *uri, const char *wanted);

#define assert_text(value, wanted)                        \
	do {                                              \
		assert_non_null(value);                   \
		assert_string_equal((value), (wanted));   \
	} while (0)

/* `words`: what the text must have in it, each followed by a '|'. */
void refused_as(leash_status status, const char *text, const char *words);
void refused(const char *text, const char *words);

/* Before and after each test, which may leave neither a block nor the secret behind. */
int uri_start(void **state);
int uri_end(void **state);

#define uri_test(name) cmocka_unit_test_setup_teardown(name, uri_start, uri_end)

/* With that memory, and a folder: for main to return. */
int uris_run(const char *name, const struct CMUnitTest *tests, size_t count);

#endif
