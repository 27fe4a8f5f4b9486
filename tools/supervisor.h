/* The supervisor: watches CMD and the lock while CMD runs, and ends CMD before the lock can be another's. */
#ifndef LEASH_TOOLS_SUPERVISOR_H
#define LEASH_TOOLS_SUPERVISOR_H

#include "tools/hold_set.h"
#include "tools/stderr_writer.h"
#include "tools/job.h"

#include <stdbool.h>
#include <stdint.h>

enum supervisor_cause { SUPERVISOR_ENDED, SUPERVISOR_LOST, SUPERVISOR_TOO_LONG };
enum supervisor_stage { SUPERVISOR_WATCHING, SUPERVISOR_TOLD, SUPERVISOR_KILLING };

struct supervisor {
	/* Set by the caller. */
	struct job *job;
	struct stderr_writer *writer;
	struct notify *notify;               /* gets a sign of life each round, or NULL */
	const struct hold_set *held;         /* what CMD runs under */
	int lost_fd;                         /* a non-blocking eventfd, which is written to when the hold is lost */
	int on_lost;                         /* the signal that CMD gets; 0: none, it goes on */
	int64_t kill_after_ms, margin_ms;    /* from TERM to KILL; from KILL to the end of the lease */
	int64_t max_run_ms;                  /* 0: no limit */

	/* Written by the supervisor. */
	int signal_fd, timer_fd;
	enum supervisor_stage stage;
	enum supervisor_cause cause;
	int64_t began, valid_until, told_at; /* ns of CLOCK_BOOTTIME */
	bool gone;                           /* the hold is lost */
	bool stopped;                        /* CMD is stopped by the terminal */
	bool swept;                          /* what CMD left behind has got the signal */
	bool forbidden_told, hindered_told;
	int told;                            /* the signal that CMD has got */
	bool had_terminal;                   /* CMD was in the foreground when it ended */
	bool was_held;                       /* the lock was held when CMD ended */
	int passed_on;                       /* the last of HUP INT QUIT TERM that was passed on to CMD; 0: none */
};

/* The signals that supervisor_begin() reads: to be blocked. Not those that were ignored when leash was started, and not
 * those that the terminal sends to CMD itself. */
void supervisor_signals(const struct job *job, sigset_t *set);

/* Before CMD is started. False: errno says why. */
bool supervisor_begin(struct supervisor *supervisor);

/* From CMD's start to its end; if CMD had to be ended, until all that it left behind has ended, too. */
void supervisor_keep(struct supervisor *supervisor);

/* After that, for --at-least: until `until_ns`, or a signal that ends leash, or the loss of the lock (false). */
bool supervisor_stay(struct supervisor *supervisor, int64_t until_ns);

void supervisor_end(struct supervisor *supervisor);

#endif
