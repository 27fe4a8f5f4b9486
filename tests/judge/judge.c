/* The judge: says whether the histories of one or several runs could be so if leash kept its promises (verdict.h).
 *
 *   judge FOLDER...
 *
 * Prints figures and violations of each. Exit status: 0, there are none; 1, there are; 2, a folder could not be read. */
#include "tests/judge/verdict.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int
judge(const char *folder)
{
	struct verdict verdict;
	int result;

	if (!verdict_find(&verdict, folder)) {
		fprintf(stderr, "judge: %s: %s\n", folder, strerror(errno));
		return 2;
	}
	if (verdict.files == 0) {
		fprintf(stderr, "judge: %s: no histories\n", folder);
		result = 2;
	} else {
		verdict_print(&verdict, stdout);
		result = verdict_violations(&verdict) > 0;
	}
	verdict_clear(&verdict);
	return result;
}

int
main(int argc, char **argv)
{
	int worst = 0;

	if (argc < 2 || argv[1][0] == '-') {
		fprintf(stderr, "usage: judge FOLDER...\n");
		return 2;
	}
	for (int i = 1; i < argc; i++) {
		int result = judge(argv[i]);

		if (result > worst)
			worst = result;
	}
	return worst;
}
