#include "tests/support/groups.h"

#include "tests/support/trouble.h"

#include <stdio.h>

static int
start(void **state)
{
	const struct group *group = *state;

	group->start(group->arg);
	return 0;
}

static int
stop(void **state)
{
	const struct group *group = *state;

	group->stop();
	return 0;
}

int
groups_run(const char *name, const struct group *groups, size_t count)
{
	static struct CMUnitTest tests[GROUPS_TESTS];
	static char names[GROUPS_TESTS][160];
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < groups[i].count; j++, n++) {
			if (n == GROUPS_TESTS)
				trouble("more than %d tests", GROUPS_TESTS);
			snprintf(names[n], sizeof names[n], "%s: %s", groups[i].name, groups[i].tests[j].name);
			tests[n] = groups[i].tests[j];
			tests[n].name = names[n];
			tests[n].initial_state = (void *)(uintptr_t)&groups[i];
			tests[n].setup_func = j == 0 ? start : NULL;
			tests[n].teardown_func = j + 1 == groups[i].count ? stop : NULL;
		}
	return _cmocka_run_group_tests(name, tests, n, NULL, NULL);
}
