/* The memory of this process that is resident. */
#pragma once

#include <stdio.h>

/* In bytes; of what it shares with others its part (Pss). -1: the system does not say. */
static inline double
resident_bytes(void)
{
	FILE *file = fopen("/proc/self/smaps_rollup", "re");
	char line[256];
	double kib = -1;

	while (file != NULL && kib < 0 && fgets(line, sizeof line, file) != NULL)
		sscanf(line, "Pss: %lf kB", &kib);
	if (file != NULL)
		fclose(file);
	return kib < 0 ? -1 : kib * 1024;
}
