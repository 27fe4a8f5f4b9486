/* The renewer: a process that leash acquire --keep leaves behind, which keeps the lock while its caller lives. */
#ifndef LEASH_TOOLS_KEEP_H
#define LEASH_TOOLS_KEEP_H

#include "tools/caller.h"
#include "tools/grace.h"
#include "tools/supervisor.h"

struct keep {
	/* What is asked for. */
	bool wanted;
	int pid;            /* the process that it is kept for; 0: the caller */
	struct grace grace; /* `on_lost` -1: not given */

	/* Of the renewer. */
	struct caller caller;
	int done, null, lost_fd; /* a pipe to the process that was called; /dev/null; rung when the lock is lost */
	struct job job;
	struct hold_set held;
	struct supervisor supervisor;
};

extern const struct cli_option keep_options[];

/* After all options: do they fit together? CLI_GO_ON, or usage, which has been told. */
int keep_check(struct keep *keep, const struct cli *cli, int64_t ttl_ms);

/* Fork, before there is any thread. CLI_GO_ON in the renewer, which then acquires the lock. In the process that was
 * called: what to exit with, when the renewer keeps the lock, or has failed; a signal is passed on to it meanwhile. */
int keep_fork(struct keep *keep, const struct cli *cli);

/* For the renewer's client, with the struct keep. */
void keep_on_event(void *keep, const leash_event *event);

/* It is held: get all that is needed to keep it. CLI_GO_ON, or what to exit with, which has been told. */
int keep_prepare(struct keep *keep, struct holding *held);

/* The token has been told: let the caller go on, and keep it until the caller ends, gives it back, or it is lost.
 * Then, unless it was given back, it has to be released. */
void keep_stay(struct keep *keep);

#endif
