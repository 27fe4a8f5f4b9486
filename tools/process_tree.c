/* Finding and signaling the descendants of this process. See process_tree.h.
 *
 * When a process ends, its children become those of its next ancestor that is a "subreaper", as we are. So our
 * descendants stay below us in the tree whatever they do (double fork, setsid), and a walk over /proc from child to
 * parent finds them.
 *
 * Between that walk and the signal a pid may be reused. So we open a pidfd, which goes on meaning the same process,
 * read its start time once more, and send the signal only if that has not changed.
 *
 * Called by the main thread only. */
#include "tools/process_tree.h"

#include "tools/process.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum kin { UNKNOWN, OURS, FOREIGN };

struct relative {
	struct process process;
	enum kin kin;
};

struct census {
	struct relative *all; /* by pid */
	size_t count, room;
};

static int
by_pid(const void *a, const void *b)
{
	const struct relative *x = a, *y = b;

	return (x->process.pid > y->process.pid) - (x->process.pid < y->process.pid);
}

static bool
add(struct census *census, const struct process *process)
{
	if (census->count == census->room) {
		size_t room = census->room > 0 ? 2 * census->room : 256;
		struct relative *all = realloc(census->all, room * sizeof *all);

		if (all == NULL)
			return false;
		census->all = all;
		census->room = room;
	}
	census->all[census->count++] = (struct relative){.process = *process};
	return true;
}

/* A shortage that may be over at the next try? */
static bool
is_shortage(int e)
{
	return e == EMFILE || e == ENFILE || e == ENOMEM;
}

/* All processes. False: errno says why. */
static bool
take_census(DIR *proc, struct census *census)
{
	const struct dirent *entry;

	while ((entry = readdir(proc)) != NULL) {
		struct process process;

		if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
			continue;
		errno = 0;
		if (!process_read(dirfd(proc), (pid_t)strtol(entry->d_name, NULL, 10), &process)) {
			if (is_shortage(errno))
				return false;
		} else if (!add(census, &process)) {
			return false;
		}
	}
	if (census->count > 0)
		qsort(census->all, census->count, sizeof *census->all, by_pid);
	return true;
}

static bool
is_stranger(const struct process_tree *tree, pid_t pid)
{
	for (size_t i = 0; i < tree->count; i++)
		if (tree->strangers[i] == pid)
			return true;
	return false;
}

/* Does it descend from us? An ancestor whose kin is known decides. The limit on steps is for a census that has a
 * circle, because pids were reused while it was taken. */
static enum kin
find_kin(const struct process_tree *tree, const struct census *census, const struct relative *relative)
{
	const struct relative *at = relative;

	for (size_t steps = 0; at != NULL && steps < 10000; steps++) {
		pid_t parent = at->process.parent;
		struct relative key = {.process = {.pid = parent}};

		if (at->kin != UNKNOWN)
			return at->kin;
		if (parent == getpid())
			return is_stranger(tree, at->process.pid) ? FOREIGN : OURS;
		if (parent <= 1)
			return FOREIGN;
		at = bsearch(&key, census->all, census->count, sizeof *census->all, by_pid);
	}
	return FOREIGN;
}

/* 0, or an errno; ESRCH: it has ended. */
static int
send_signal(int proc, const struct process *meant, int number)
{
	struct process now;
	int fd = (int)syscall(SYS_pidfd_open, meant->pid, 0), e = 0;

	if (fd < 0)
		return errno == ENOSYS ? (kill(meant->pid, number) == 0 ? 0 : errno) : errno;
	if (!process_read(proc, meant->pid, &now) || now.started != meant->started)
		e = ESRCH;
	else if (syscall(SYS_pidfd_send_signal, fd, number, NULL, 0) != 0)
		e = errno;
	close(fd);
	return e;
}

struct tree_found
tree_signal(const struct process_tree *tree, int signal)
{
	struct tree_found found = {0};
	struct census census = {0};
	DIR *proc;

	errno = 0;
	proc = process_open_proc();
	if (proc == NULL || !take_census(proc, &census)) {
		found.hindered = is_shortage(errno) ? errno : 0;
		census.count = 0;
	}
	for (size_t i = 0; i < census.count; i++) {
		const struct process *p = &census.all[i].process;
		enum kin kin = census.all[i].kin = find_kin(tree, &census, &census.all[i]);
		int e;

		if (kin != OURS || process_has_ended(p))
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

/* After `job & exec leash run ...` in a shell that job is our child, but CMD did not start it. */
static bool
note_strangers(struct process_tree *tree)
{
	struct census census = {0};
	siginfo_t info;
	DIR *proc;
	bool done;

	if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0)
		return true; /* the usual case: no child at all */
	proc = process_open_proc();
	if (proc == NULL)
		return true; /* no process will be found later, so no stranger either */
	done = take_census(proc, &census);
	for (size_t i = 0; i < census.count && done; i++)
		if (census.all[i].process.parent == getpid()) {
			pid_t *more = realloc(tree->strangers, (tree->count + 1) * sizeof *more);

			done = more != NULL;
			if (done) {
				tree->strangers = more;
				more[tree->count++] = census.all[i].process.pid;
			}
		}
	free(census.all);
	closedir(proc);
	return done;
}

bool
tree_begin(struct process_tree *tree)
{
	*tree = (struct process_tree){0};
	return note_strangers(tree) && prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0;
}

void
tree_end(struct process_tree *tree)
{
	prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
	free(tree->strangers);
	*tree = (struct process_tree){0};
}

void
tree_reaped(struct process_tree *tree, pid_t pid)
{
	for (size_t i = 0; i < tree->count; i++)
		if (tree->strangers[i] == pid)
			tree->strangers[i] = 0;
}
