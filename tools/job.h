/* The job: CMD as a process, with its group, its terminal, its environment, and how it ended. */
#ifndef LEASH_TOOLS_JOB_H
#define LEASH_TOOLS_JOB_H

#include "tools/caller.h"
#include "tools/process_tree.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/* How signals were set when leash was started: CMD gets them so. */
struct job_origin {
	sigset_t mask;
	struct sigaction actions[NSIG];
};

struct job {
	const char *const *argv;
	char *const *environment;
	struct caller *caller;    /* NULL: it is our child; else it is this process, which runs already */
	bool foreground;          /* it stays in our process group */
	char *title;              /* where the command line lies that ps shows */
	size_t title_size;
	struct job_origin origin;
	struct process_tree tree;
	pid_t pid, group;         /* group 0: ours */
	int news;                 /* a pipe from the guard, or the caller's; -1: closed */
	int error;                /* errno of a failed exec; 0: none */
	int terminal;             /* the one that controls us; -1: none */
	bool ended;
	int status;               /* waitpid's */
};

/* First of all: remember how signals are set, and ignore those that would disturb leash. */
void job_prepare(struct job *job);

/* Was leash started with `signal` ignored, as nohup(1) and shells without job control do? */
bool job_was_ignored(const struct job *job, int signal);

/* Start it. False: errno says why. By the main thread only: the guard kills CMD when the thread that forked it ends. */
bool job_start(struct job *job);

/* After SIGCHLD, or when `news` is readable: reap, or look whether the caller is over. Returns the signal that has
 * stopped CMD since, or 0. */
int job_reap(struct job *job);

/* To CMD's process group; to CMD alone if that group is ours, or it is our caller; to all it left behind if it has
 * ended. */
void job_signal(const struct job *job, int signal);

/* Is our process group in the foreground of the terminal? Give the foreground to CMD; take it back (false: CMD did not
 * have it). */
bool job_owns_terminal(const struct job *job);
void job_give_terminal(const struct job *job);
bool job_take_terminal(const struct job *job);

void job_end(struct job *job);

#endif
