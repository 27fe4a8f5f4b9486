#include "tests/support/descriptors.h"

#include "tests/support/trouble.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

unsigned
descriptors_list(bool has[static DESCRIPTORS])
{
	DIR *folder = opendir("/proc/self/fd");
	struct dirent *entry;
	unsigned count = 0;

	if (folder == NULL)
		trouble("cannot look into /proc/self/fd: %m");
	memset(has, 0, DESCRIPTORS * sizeof *has);
	while ((entry = readdir(folder)) != NULL) {
		int fd = atoi(entry->d_name);

		if (entry->d_name[0] == '.' || fd == dirfd(folder) || fd >= DESCRIPTORS) /* valgrind has its own far above */
			continue;
		has[fd] = true;
		count++;
	}
	closedir(folder);
	return count;
}

unsigned
descriptors_count(void)
{
	bool has[DESCRIPTORS];

	return descriptors_list(has);
}
