/* What a test process would leave behind, and what sees to it that it does not: folders, processes, threads.
 *
 * Whatever is registered here is ended when the process exits, by failed tests too. Should the process die without
 * exit (a signal, a sanitizer's report), a sweeper does the rest: a child, running a shell that reads a pipe until the
 * process is gone and then kills the processes and removes the folders that it was told of.
 * A forked child keeps nothing of its parent's: what it registers itself is its own. */
#pragma once

#include <sys/types.h>

/* Make a folder with a short path, to be freed and removed by sweep_remove. */
char *sweep_folder(void);
void sweep_remove(char *folder);   /* with all that is in it; NULL is allowed */

/* Write a file there: its path, to be freed. */
char *sweep_file(const char *folder, const char *name, const char *text);
void sweep_process(pid_t pid); /* a child process, which dies at the latest with this process */

/* Run a program in a session of its own, with that terminal (NULL: none). `streams` are its input and outputs, -1:
 * /dev/null; nothing else is open, and no signal is blocked or ignored. 0, or the error. See sweep_process. */
int sweep_spawn(pid_t *pid, char *const argv[], char *const environment[], const int streams[3], const char *terminal);

/* To be embedded in what must be stopped at exit. */
struct sweep_item {
	void (*stop)(void *what);   /* is what calls sweep_drop, too */
	void *what;
	pid_t owner;
	struct sweep_item *next;
};

/* A `stop` for sweep_add that is a call of `end`. */
#define STOP_BY(end) static void stop(void *what) { end(what); }

/* At exit `stop(what)` is called for what was added last first. */
void sweep_add(struct sweep_item *item, void (*stop)(void *what), void *what);

/* Take it out again. False if this is a forked child of the process that it belongs to: then it must not be touched. */
int sweep_drop(struct sweep_item *item);
