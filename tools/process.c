#include "tools/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

DIR *
process_open_proc(void)
{
	char self[24] = "", us[24];

	snprintf(us, sizeof us, "%d", (int)getpid());
	if (readlink("/proc/self", self, sizeof self - 1) < 0 || strcmp(self, us) != 0)
		return NULL;
	return opendir("/proc");
}

bool
process_read(int proc, pid_t pid, struct process *out)
{
	char path[32], text[512], *at;
	ssize_t n;
	int fd;

	snprintf(path, sizeof path, "%d/stat", (int)pid);
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof text - 1);
	close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	at = strrchr(text, ')'); /* the name before it may contain anything */
	if (at == NULL)
		return false;
	*out = (struct process){.pid = pid};
	return sscanf(at + 1,
	              " %c %d %d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu %*u %*d %*u %*u %*u "
	              "%lu",
	              &out->state, &out->parent, &out->group, &out->started, &out->stack) == 5;
}

bool
process_has_ended(const struct process *process)
{
	return process->state == 'Z' || process->state == 'X';
}

bool
process_runs(pid_t pid)
{
	struct process process;
	bool ended = false;
	DIR *proc;

	if (kill(pid, 0) != 0 && errno == ESRCH)
		return false;
	proc = process_open_proc();
	if (proc != NULL) {
		ended = process_read(dirfd(proc), pid, &process) && process_has_ended(&process);
		closedir(proc);
	}
	return !ended;
}
