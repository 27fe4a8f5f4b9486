/* Several groups of tests, each with a fixture of its own, in one run: TAP wants one plan of a program, and cmocka makes one for each group. */
#ifndef LEASH_TEST_GROUPS_H
#define LEASH_TEST_GROUPS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

struct group {
	const char *name;                /* put before those of its tests */
	const struct CMUnitTest *tests;  /* without fixtures of their own */
	size_t count;                    /* at least one */
	void (*start)(void *arg);        /* before the first of them, */
	void (*stop)(void);              /* and after the last */
	void *arg;
};

enum { GROUPS_TESTS = 64 }; /* in all, at most */

/* For main to return. */
int groups_run(const char *name, const struct group *groups, size_t count);

#endif
