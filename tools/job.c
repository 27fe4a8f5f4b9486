/* Starting CMD and reaping it. See job.h.
 *
 * Between leash and CMD is a guard (guard.h), in case leash is killed. When it is forked leash has threads already, so
 * from the fork to the exec only async-signal-safe functions are called, and all memory is allocated before. The guard
 * and CMD both ask for a signal at the death of their parent, and then look whether it has died already: no `kill -9`
 * of leash or of the guard, at whatever moment, leaves CMD behind.
 *
 * The news come through a pipe, each an int: first CMD's pid, when its process group is made and has the terminal; then
 * the signals that stop it. A failure is a negative errno. All signals are blocked from the fork to the exec, so that a
 * signal which comes between them waits for CMD.
 *
 * The terminal. If our process group is in the foreground, and both standard input and output are that terminal, CMD
 * gets the foreground at once. Otherwise (leash run a -- make | less) another part of the pipeline may be reading keys:
 * then CMD gets it when the kernel stops it for wanting it (SIGTTIN, SIGTTOU).
 *
 * Called by the main thread only. */
#include "tools/job.h"

#include "tools/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- signals ---- */

/* They would end leash, or stop it, while CMD goes on: a closed pipe, and terminal access from the background. */
static const int unwanted[] = {SIGPIPE, SIGTTOU, SIGTTIN};

void
job_prepare(struct job *job)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN}, usual = {.sa_handler = SIG_DFL};

	job->news = job->terminal = -1;
	sigprocmask(SIG_SETMASK, NULL, &job->origin.mask);
	for (int i = 1; i < NSIG; i++)
		sigaction(i, NULL, &job->origin.actions[i]);
	for (size_t i = 0; i < sizeof unwanted / sizeof *unwanted; i++)
		sigaction(unwanted[i], &ignore, NULL);
	sigaction(SIGCHLD, &usual, NULL); /* if it were ignored no child could be reaped */
}

bool
job_was_ignored(const struct job *job, int signal)
{
	return job->origin.actions[signal].sa_handler == SIG_IGN;
}

/* In CMD, before its exec. */
static void
restore_signals(const struct job_origin *origin)
{
	for (int i = 1; i < NSIG; i++) {
		struct sigaction action = {.sa_handler = origin->actions[i].sa_handler == SIG_IGN ? SIG_IGN : SIG_DFL};

		sigaction(i, &action, NULL);
	}
	sigprocmask(SIG_SETMASK, &origin->mask, NULL);
}

/* ---- the terminal ---- */

bool
job_owns_terminal(const struct job *job)
{
	return job->terminal >= 0 && tcgetpgrp(job->terminal) == getpgrp();
}

void
job_give_terminal(const struct job *job)
{
	if (job->group != 0 && job_owns_terminal(job))
		tcsetpgrp(job->terminal, job->group);
}

bool
job_take_terminal(const struct job *job)
{
	return job->group != 0 && job->terminal >= 0 && tcgetpgrp(job->terminal) == job->group &&
	       tcsetpgrp(job->terminal, getpgrp()) == 0;
}

/* CMD alone uses it. */
static bool
is_interactive(const struct job *job)
{
	return !job->foreground && job_owns_terminal(job) && tcgetpgrp(STDIN_FILENO) > 0 && tcgetpgrp(STDOUT_FILENO) > 0;
}

/* ---- starting ---- */

/* In the guard's child. */
static _Noreturn void
become_cmd(const struct job *job, pid_t guard, pid_t group, int news, bool interactive)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0 || getppid() != guard)
		_exit(EXIT_FAILURE); /* the guard is dead, and so is the reader of the pipe */
	setpgid(0, job->foreground ? group : 0);
	if (interactive)
		tcsetpgrp(job->terminal, getpid()); /* SIGTTOU is still ignored */
	guard_tell(news, getpid());
	restore_signals(&job->origin);
	execvpe(job->argv[0], (char *const *)job->argv, job->environment);
	guard_tell(news, -errno);
	_exit(EXIT_FAILURE);
}

/* A `killall -9 leash` must not kill the guard as well. */
static void
rename_guard(const struct job *job, pid_t leash)
{
	prctl(PR_SET_NAME, "guard", 0, 0, 0);
	memset(job->title, 0, job->title_size);
	snprintf(job->title, job->title_size, "guard of %d", (int)leash);
}

/* In the child. */
static _Noreturn void
become_guard(const struct job *job, pid_t leash, int news, bool interactive)
{
	pid_t guard = getpid(), group = getpgrp(), cmd;

	if (!guard_begin(leash))
		_exit(EXIT_FAILURE);
	cmd = _Fork(); /* without the library's fork handlers, which have run for this process already */
	if (cmd == 0)
		become_cmd(job, guard, group, news, interactive);
	if (cmd < 0) {
		guard_tell(news, -errno);
		_exit(EXIT_FAILURE);
	}
	rename_guard(job, leash);
	guard_keep(leash, cmd, job->foreground ? 0 : cmd, news);
}

bool
job_start(struct job *job)
{
	sigset_t all, before;
	int ends[2], first = 0;
	pid_t leash = getpid(), guard;
	bool interactive;

	if (!tree_begin(&job->tree) || pipe2(ends, O_CLOEXEC) != 0)
		return false;
	job->terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	interactive = is_interactive(job);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	guard = fork();
	if (guard == 0)
		become_guard(job, leash, ends[1], interactive);
	if (guard < 0)
		first = -errno;
	close(ends[1]);
	job->news = ends[0];
	if (guard > 0 && read(job->news, &first, sizeof first) != sizeof first)
		first = -ECHILD; /* it was killed at once */
	sigprocmask(SIG_SETMASK, &before, NULL);
	fcntl(job->news, F_SETFL, O_NONBLOCK);
	if (first > 0) {
		job->pid = first;
		job->group = job->foreground ? 0 : job->pid;
	}
	errno = first > 0 ? 0 : -first;
	return first > 0;
}

/* The signal that stopped CMD last, or 0. */
static int
read_news(struct job *job)
{
	int what, stopped_by = 0;
	ssize_t n;

	while (job->news >= 0 && (n = read(job->news, &what, sizeof what)) >= 0) {
		if (n != sizeof what) { /* the guard has ended, and closed it */
			close(job->news);
			job->news = -1;
		} else if (what < 0) {
			job->error = -what;
		} else {
			stopped_by = what;
		}
	}
	return stopped_by;
}

/* ---- its life ---- */

int
job_reap(struct job *job)
{
	int status, stopped_by = 0, told;
	pid_t pid;

	if (job->caller != NULL) {
		job->ended = caller_is_over(job->caller);
		return 0;
	}
	while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
		if (pid == job->pid && WIFSTOPPED(status))
			stopped_by = WSTOPSIG(status); /* we are its parent only if the guard was killed */
		if (WIFSTOPPED(status))
			continue;
		tree_reaped(&job->tree, pid);
		if (pid == job->pid) {
			job->ended = true;
			job->status = status;
		}
	}
	told = read_news(job); /* after waitpid(): a failed exec is reported before CMD ends */
	return job->ended ? 0 : told != 0 ? told : stopped_by;
}

void
job_signal(const struct job *job, int signal)
{
	if (job->caller != NULL)
		caller_signal(job->caller, signal);
	else if (job->ended)
		tree_signal(&job->tree, signal); /* the pids of CMD and of its group may be reused by now */
	else
		kill(job->group != 0 ? -job->group : job->pid, signal);
}

void
job_end(struct job *job)
{
	job_take_terminal(job);
	if (job->terminal >= 0)
		close(job->terminal);
	if (job->news >= 0)
		close(job->news);
	tree_end(&job->tree);
	job->terminal = job->news = -1;
}
