/* What /proc says of processes. */
#ifndef LEASH_TOOLS_PROCESS_H
#define LEASH_TOOLS_PROCESS_H

#include <dirent.h>
#include <stdbool.h>
#include <sys/types.h>

struct process {
	pid_t pid, parent, group;
	unsigned long long started; /* ticks since the boot */
	unsigned long stack;        /* where its stack begins; 0: we may not see that */
	char state;
};

/* NULL: there is no /proc, or it shows another PID namespace (unshare -p without a /proc of its own), whose numbers
 * mean other processes than ours. */
DIR *process_open_proc(void);

/* False: there is no such process, or errno says why it cannot be read. */
bool process_read(int proc, pid_t pid, struct process *out);

/* A zombie has ended, and only waits to be reaped. */
bool process_has_ended(const struct process *process);

/* Does a process of this number run? One that /proc hides counts as running. */
bool process_runs(pid_t pid);

#endif
