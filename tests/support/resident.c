/* See resident.h. */
#include "tests/support/resident.h"

#include <stdio.h>

double
resident_bytes(void)
{
	FILE *file = fopen("/proc/self/smaps_rollup", "re");
	char line[256];
	double kib = -1;

	if (file == NULL)
		return -1;
	while (kib < 0 && fgets(line, sizeof line, file) != NULL)
		sscanf(line, "Pss: %lf kB", &kib);
	fclose(file);
	return kib < 0 ? -1 : kib * 1024;
}
