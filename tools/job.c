/* Starting CMD and reaping it. See job.h.
 *
 * When CMD is forked, leash has threads already: between fork and exec the child calls only what is safe in a signal handler, and all
 * that could fail for want of memory was made before. It asks to be killed when the forking thread ends (PDEATHSIG), and looks whether
 * that has happened already: so no `kill -9` of leash, at whatever moment, leaves it behind.
 *
 * All signals are blocked from the fork to the exec, so that one which comes in between waits until CMD is what it is meant for.
 * Parent and child both make the process group and turn the terminal to it: neither has to wait for the other.
 *
 * The terminal. If leash is what the terminal listens to, and both standard input and output are that terminal, CMD gets it at once.
 * If not (leash run a -- make | less), another part of the pipeline may be the one that reads keys: then CMD gets it when it asks,
 * that is, when the kernel stops it for it (SIGTTIN, SIGTTOU).
 *
 * Main thread only. */
#include "tools/job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- signals ---- */

/* What would end leash, or stop it, while CMD goes on: a closed pipe, and the terminal's wish that only CMD speaks. */
static const int unwanted[] = {SIGPIPE, SIGTTOU, SIGTTIN};

void
job_prepare(struct job *job)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN}, usual = {.sa_handler = SIG_DFL};

	job->report = job->terminal = -1;
	sigprocmask(SIG_SETMASK, NULL, &job->origin.mask);
	for (int i = 1; i < NSIG; i++)
		sigaction(i, NULL, &job->origin.actions[i]);
	for (size_t i = 0; i < sizeof unwanted / sizeof *unwanted; i++)
		sigaction(unwanted[i], &ignore, NULL);
	sigaction(SIGCHLD, &usual, NULL); /* where it is ignored nobody can be reaped */
}

bool
job_was_ignored(const struct job *job, int signal)
{
	return job->origin.actions[signal].sa_handler == SIG_IGN;
}

/* In the child. */
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
	return job->group != 0 && job->terminal >= 0 && tcgetpgrp(job->terminal) == job->group && tcsetpgrp(job->terminal, getpgrp()) == 0;
}

/* Nobody but CMD can be the one who uses it. */
static bool
is_interactive(const struct job *job)
{
	return !job->foreground && job_owns_terminal(job) && tcgetpgrp(STDIN_FILENO) > 0 && tcgetpgrp(STDOUT_FILENO) > 0;
}

/* ---- starting ---- */

/* The child. `report` closes when the exec has been done. */
static _Noreturn void
become_cmd(const struct job *job, pid_t parent, int report, bool interactive)
{
	int e;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0 || getppid() != parent)
		_exit(EXIT_FAILURE); /* nobody is there to be told */
	if (!job->foreground)
		setpgid(0, 0);
	if (interactive)
		tcsetpgrp(job->terminal, getpid()); /* SIGTTOU is ignored still */
	restore_signals(&job->origin);
	execvpe(job->argv[0], job->argv, job->environment);
	e = errno;
	while (write(report, &e, sizeof e) < 0 && errno == EINTR)
		continue;
	_exit(EXIT_FAILURE);
}

bool
job_start(struct job *job)
{
	sigset_t all, before;
	int ends[2], e;
	pid_t parent = getpid();
	bool interactive;

	if (!brood_begin(&job->brood) || pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
		return false;
	job->terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	interactive = is_interactive(job);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	job->pid = fork();
	e = errno;
	if (job->pid == 0)
		become_cmd(job, parent, ends[1], interactive);
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(ends[1]);
	job->report = ends[0];
	if (job->pid > 0 && !job->foreground) {
		setpgid(job->pid, job->pid); /* it fails after the exec: then the child has done it */
		job->group = job->pid;
		if (interactive)
			job_give_terminal(job);
	}
	errno = e;
	return job->pid > 0;
}

void
job_read_report(struct job *job)
{
	ssize_t n = read(job->report, &job->error, sizeof job->error);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n != sizeof job->error)
		job->error = 0;
	close(job->report);
	job->report = -1;
}

/* ---- its life ---- */

int
job_reap(struct job *job)
{
	int status, stopped_by = 0;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
		if (pid == job->pid && WIFSTOPPED(status))
			stopped_by = WSTOPSIG(status);
		if (WIFSTOPPED(status))
			continue;
		brood_reaped(&job->brood, pid);
		if (pid == job->pid) {
			job->ended = true;
			job->status = status;
			stopped_by = 0;
		}
	}
	return stopped_by;
}

void
job_signal(const struct job *job, int signal)
{
	if (job->ended)
		brood_signal(&job->brood, signal, 0); /* the numbers of CMD and of its group may be somebody else's by now */
	else
		kill(job->group != 0 ? -job->group : job->pid, signal);
}

void
job_end(struct job *job)
{
	job_take_terminal(job);
	if (job->terminal >= 0)
		close(job->terminal);
	if (job->report >= 0)
		close(job->report);
	brood_end(&job->brood);
	job->terminal = job->report = -1;
}
