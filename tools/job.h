/* The job: CMD as a process, with its group, its terminal, its environment, and how it ended. */
#ifndef LEASH_TOOLS_JOB_H
#define LEASH_TOOLS_JOB_H

#include "tools/brood.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/* How signals were set when leash was started: so CMD gets them. */
struct job_origin {
	sigset_t mask;
	struct sigaction actions[NSIG];
};

struct job {
	char *const *argv, *const *environment;
	bool foreground;          /* it stays in our process group */
	char *title;              /* where the command line lies that ps shows */
	size_t title_size;
	struct job_origin origin;
	struct brood brood;
	pid_t pid, group;         /* group 0: ours */
	int news;                 /* what the guard tells us can be read from here; -1: nothing any more */
	int error;                /* errno of an exec that failed; 0 */
	int terminal;             /* the one that controls us; -1: none */
	bool ended;
	int status;               /* waitpid's */
};

/* Remember how signals are set, and ignore those that would be in leash's way. First of all. */
void job_prepare(struct job *job);

/* Was leash started with `signal` ignored, as nohup(1) and shells without job control do? */
bool job_was_ignored(const struct job *job, int signal);

/* Start it. False: errno says why. By the main thread: its guard ends it when the thread ends that forked it. */
bool job_start(struct job *job);

/* SIGCHLD came, or `news` can be read from: reap whoever has ended. The signal that stopped CMD since, or 0. */
int job_reap(struct job *job);

/* To CMD's process group; to CMD alone if it is ours; to all whom it left behind if it has ended. */
void job_signal(const struct job *job, int signal);

/* Does the terminal listen to us now? Let it listen to CMD; take it back from it (false: it did not). */
bool job_owns_terminal(const struct job *job);
void job_give_terminal(const struct job *job);
bool job_take_terminal(const struct job *job);

void job_end(struct job *job);

#endif
