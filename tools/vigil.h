/* The vigil: what leash does while CMD runs. */
#ifndef LEASH_TOOLS_VIGIL_H
#define LEASH_TOOLS_VIGIL_H

#include "tools/herald.h"
#include "tools/job.h"

#include <stdbool.h>
#include <stdint.h>

enum vigil_cause { VIGIL_ENDED, VIGIL_LOST, VIGIL_TOO_LONG };
enum vigil_stage { VIGIL_WATCHING, VIGIL_TOLD, VIGIL_KILLING };

struct vigil {
	/* To be set before. */
	struct job *job;
	struct herald *herald;
	const char *name;                    /* of the lock, fit to be shown */
	int64_t (*remaining_ms)(void *hold); /* as leash_lock_remaining_ms() */
	void *hold;
	int lost_fd;                         /* an eventfd that is written to when the hold is lost, that can be read without waiting */
	int on_lost;                         /* the signal that CMD gets; 0: none, it goes on */
	int64_t kill_after_ms, margin_ms;    /* from TERM to KILL; from KILL to the end of the lease */
	int64_t max_run_ms;                  /* 0: for as long as it likes */

	/* Its own. */
	int signal_fd, timer_fd;
	enum vigil_stage stage;
	enum vigil_cause cause;
	int64_t began, valid_until, told_at; /* ns of CLOCK_BOOTTIME */
	bool gone;                           /* the hold is */
	bool stopped;                        /* CMD is, by the terminal */
	bool swept;                          /* those whom CMD left behind were told */
	bool forbidden_told, hindered_told;
	int told;                            /* the signal that CMD was told with */
	bool had_terminal;                   /* CMD, at its end */
	bool was_held;                       /* the lock, at CMD's end */
	int passed_on;                       /* the last of HUP INT QUIT TERM that came for CMD; 0: none */
};

/* Signals that vigil_begin() takes from now on: blocked, and kept until vigil_keep() looks. Not those that leash was started with
 * ignored, and not those of a terminal that CMD gets from it itself. */
void vigil_signals(const struct job *job, sigset_t *set);

/* Before CMD is started. False: errno says why. */
bool vigil_begin(struct vigil *vigil);

/* From CMD's start to its end; where it had to be ended, also to the end of all whom it left behind. */
void vigil_keep(struct vigil *vigil);

/* After it: until that moment, a signal that ends leash, or the loss of the lock. False: that was it. */
bool vigil_stay(struct vigil *vigil, int64_t until_ns);

void vigil_end(struct vigil *vigil);

#endif
