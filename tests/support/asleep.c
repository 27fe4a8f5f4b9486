#include "tests/support/asleep.h"

#include "tests/support/trouble.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* And how often it went to sleep so far. */
static char
look_at(pid_t thread, unsigned long *times)
{
	char path[64], line[128], state = 'X';

	snprintf(path, sizeof path, "/proc/%d/status", (int)thread);
	FILE *file = fopen(path, "re");
	while (file != NULL && fgets(line, sizeof line, file) != NULL)
		if (sscanf(line, "State: %c", &state) != 1)
			sscanf(line, "voluntary_ctxt_switches: %lu", times);
	if (file != NULL)
		fclose(file);
	return state;
}

char
state_of(pid_t thread)
{
	return look_at(thread, &(unsigned long){0});
}

unsigned long
asleep_times(pid_t thread)
{
	unsigned long times = 0;
	char state = look_at(thread, &times);

	return state == 'X' ? ULONG_MAX : state == 'S' ? times : 0;
}

bool
asleep(pid_t thread)
{
	return asleep_times(thread) > 0;
}

bool
asleep_others(void)
{
	DIR *folder = opendir("/proc/self/task");
	bool all = true;

	if (folder == NULL)
		trouble("no /proc/self/task: %s", strerror(errno));
	for (const struct dirent *entry; (entry = readdir(folder)) != NULL;)
		all &= entry->d_name[0] == '.' || atoi(entry->d_name) == gettid() || asleep(atoi(entry->d_name));
	closedir(folder);
	return all;
}
