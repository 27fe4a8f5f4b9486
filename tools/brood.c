/* Finding and signaling the descendants of this process. See brood.h.
 *
 * A process whose parent ends becomes the child of its next ancestor that is a "subreaper", and we are one: so all that descends from us
 * is below us in the tree for as long as it lives, whatever it did to be forgotten (double fork, setsid), and a walk over /proc from child
 * to parent finds it.
 *
 * Between that walk and the signal a number may have passed to a stranger. So each is opened first (a pidfd goes on meaning the same
 * process), then looked at once more, and only if it started when the one that we meant had started does it get the signal.
 *
 * Called by the main thread only. */
#include "tools/brood.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum kin { UNKNOWN, OURS, FOREIGN };

struct process {
	pid_t pid, parent, group;
	unsigned long long started; /* ticks since the boot */
	char state;
	enum kin kin;
};

struct census {
	struct process *all; /* by pid */
	size_t count, room;
};

/* NULL: there is none, or it shows the numbers of another PID namespace (unshare -p without a /proc of its own): those are others' here. */
static DIR *
open_proc(void)
{
	char self[24] = "", us[24];

	snprintf(us, sizeof us, "%d", (int)getpid());
	if (readlink("/proc/self", self, sizeof self - 1) < 0 || strcmp(self, us) != 0)
		return NULL;
	return opendir("/proc");
}

static bool
read_process(int proc, const char *number, struct process *out)
{
	char path[64], text[512], *at;
	ssize_t n;
	int fd;

	if (snprintf(path, sizeof path, "%s/stat", number) >= (int)sizeof path)
		return false;
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
	*out = (struct process){.pid = (pid_t)strtol(number, NULL, 10)};
	return sscanf(at + 1, " %c %d %d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu", &out->state, &out->parent,
	              &out->group, &out->started) == 4;
}

static int
by_pid(const void *a, const void *b)
{
	const struct process *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

static bool
add(struct census *census, const struct process *process)
{
	if (census->count == census->room) {
		size_t room = census->room > 0 ? 2 * census->room : 256;
		struct process *all = realloc(census->all, room * sizeof *all);

		if (all == NULL)
			return false;
		census->all = all;
		census->room = room;
	}
	census->all[census->count++] = *process;
	return true;
}

/* Does it lack what may be there the next time? */
static bool
is_shortage(int e)
{
	return e == EMFILE || e == ENFILE || e == ENOMEM;
}

/* All processes there are. False: errno says why. */
static bool
take_census(DIR *proc, struct census *census)
{
	const struct dirent *entry;

	while ((entry = readdir(proc)) != NULL) {
		struct process process;

		if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
			continue;
		errno = 0;
		if (read_process(dirfd(proc), entry->d_name, &process) ? !add(census, &process) : is_shortage(errno))
			return false;
	}
	if (census->count > 0)
		qsort(census->all, census->count, sizeof *census->all, by_pid);
	return true;
}

static bool
is_stranger(const struct brood *brood, pid_t pid)
{
	for (size_t i = 0; i < brood->count; i++)
		if (brood->strangers[i] == pid)
			return true;
	return false;
}

/* Does it descend from us? Ancestors that were asked about already answer for themselves; the limit is for a census that was taken
 * while numbers changed hands, and may have circles. */
static enum kin
find_kin(const struct brood *brood, const struct census *census, const struct process *process)
{
	const struct process *at = process;

	for (size_t steps = 0; at != NULL && steps < 10000; steps++) {
		struct process key = {.pid = at->parent};

		if (at->kin != UNKNOWN)
			return at->kin;
		if (at->parent == getpid())
			return is_stranger(brood, at->pid) ? FOREIGN : OURS;
		if (at->parent <= 1)
			return FOREIGN;
		at = bsearch(&key, census->all, census->count, sizeof *census->all, by_pid);
	}
	return FOREIGN;
}

/* 0, or an errno; ESRCH: it has gone. */
static int
send_signal(int proc, const struct process *meant, int number)
{
	char name[24];
	struct process now;
	int fd = (int)syscall(SYS_pidfd_open, meant->pid, 0), e = 0;

	if (fd < 0)
		return errno == ENOSYS ? (kill(meant->pid, number) == 0 ? 0 : errno) : errno;
	snprintf(name, sizeof name, "%d", meant->pid);
	if (!read_process(proc, name, &now) || now.started != meant->started)
		e = ESRCH;
	else if (syscall(SYS_pidfd_send_signal, fd, number, NULL, 0) != 0)
		e = errno;
	close(fd);
	return e;
}

struct brood_found
brood_signal(const struct brood *brood, int signal, pid_t spared)
{
	struct brood_found found = {0};
	struct census census = {0};
	DIR *proc;

	errno = 0;
	proc = open_proc();
	if (proc == NULL || !take_census(proc, &census)) {
		found.hindered = is_shortage(errno) ? errno : 0;
		census.count = 0;
	}
	for (size_t i = 0; i < census.count; i++) {
		struct process *p = &census.all[i];
		int e;

		p->kin = find_kin(brood, &census, p);
		if (p->kin != OURS || p->state == 'Z' || p->state == 'X' || (spared != 0 && p->group == spared))
			continue;
		e = send_signal(dirfd(proc), p, signal);
		found.alive += e == 0 || is_shortage(e);
		if (e == EPERM) {
			found.forbidden++;
			found.one_of_them = p->pid;
		}
	}
	free(census.all);
	if (proc != NULL)
		closedir(proc);
	return found;
}

/* `job & exec leash run ...` in a shell: that job is our child, and none of our business. */
static bool
note_strangers(struct brood *brood)
{
	struct census census = {0};
	siginfo_t info;
	DIR *proc;
	bool done;

	if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0)
		return true; /* the usual case: no child at all */
	proc = open_proc();
	if (proc == NULL)
		return true; /* nobody will be found, then no stranger either */
	done = take_census(proc, &census);
	for (size_t i = 0; i < census.count && done; i++)
		if (census.all[i].parent == getpid()) {
			pid_t *more = realloc(brood->strangers, (brood->count + 1) * sizeof *more);

			done = more != NULL;
			if (done) {
				brood->strangers = more;
				more[brood->count++] = census.all[i].pid;
			}
		}
	free(census.all);
	closedir(proc);
	return done;
}

bool
brood_begin(struct brood *brood)
{
	*brood = (struct brood){0};
	return note_strangers(brood) && prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0;
}

void
brood_end(struct brood *brood)
{
	prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
	free(brood->strangers);
	*brood = (struct brood){0};
}

void
brood_reaped(struct brood *brood, pid_t pid)
{
	for (size_t i = 0; i < brood->count; i++)
		if (brood->strangers[i] == pid)
			brood->strangers[i] = 0;
}
