/* The process that a lock is for: the caller of leash, or another one that is named. It is not our child. */
#ifndef LEASH_TOOLS_CALLER_H
#define LEASH_TOOLS_CALLER_H

#include <leash.h>

#include <dirent.h>
#include <stdbool.h>
#include <sys/types.h>

struct caller {
	pid_t pid;
	int fd;                      /* a pidfd; without those a timer, at which to look again */
	DIR *proc;                   /* NULL: it is a pidfd */
	unsigned long long started;  /* without a pidfd: what has the pid is this process while that stays so */
	int socket;                  /* where caller_let_go() is heard; -1: nowhere */
	int news;                    /* readable when caller_is_over() may have become true */
	bool let_go;
	char token[LEASH_TOKEN_MAX];
};

/* Our parent; in token=$(leash acquire NAME) the shell that reads the token, not a subshell between. */
pid_t caller_find(void);

/* Is that a subshell which only runs a pipeline with us in it, as in token=$(leash acquire NAME | tail -1)? It ends at
 * once. */
bool caller_is_of_pipeline(void);

/* "backup.sh[4711]"; "" if it is unknown. */
enum { CALLER_NAME_SIZE = 64 };
void caller_name(pid_t pid, char out[static CALLER_NAME_SIZE]);

/* Watch it. False: errno says why; ESRCH if there is no such process. */
bool caller_open(struct caller *caller, pid_t pid);

/* From now on caller_let_go() of that token is heard. False: errno says why. */
bool caller_listen(struct caller *caller, const char *token);

/* Has it ended, or let go? */
bool caller_is_over(struct caller *caller);

/* Nothing if it has ended. */
void caller_signal(const struct caller *caller, int signal);

/* By another process, before it releases the hold: who keeps it here is to end, and not to take that for a loss. */
void caller_let_go(const char *token);

#endif
