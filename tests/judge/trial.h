/* A made-up run, for tests of the judge: two processes and a nemesis, whose histories a test tells line by line, in a fresh folder.
 *
 * Moments are in milliseconds, and all that is held is lock a unless a line says otherwise. */
#ifndef LEASH_TEST_TRIAL_H
#define LEASH_TEST_TRIAL_H

#include "tests/judge/history.h"
#include "tests/judge/verdict.h"
#include "tests/support/test.h"

#define THE_END 100000   /* when both processes end, unless they are silent */

struct party {
	struct history *history;
	bool silent;             /* it says no "end" of its own accord */
};

struct trial {
	char *folder;
	struct party one, two;   /* processes 11 and 12 */
	struct party nemesis;
	struct verdict verdict;
};

extern struct trial run;

void trial_start(void);
void trial_stop(void);

#define say(party, ms, ...) history_note_at((party)->history, (ms) * MS, __VA_ARGS__)

/* Held from `from`, valid to `until`, with token t:<fence>. */
void take(struct party *party, int hold, int fence, int from, int until);
void give(struct party *party, int hold, int from, int to, const char *status);
void keep(struct party *party, int hold, int fence, int from, int to);   /* take, and give OK */

/* All of that in words: steps "<who> <what>", with a semicolon between them. Who is 1, 2, or N for the nemesis. What is "take" or "keep"
 * and the four numbers, "give", the three numbers and the status, "silent", or a moment and a line. A moment is a sum of numbers and of
 * the graces TOLD, EVENT, RENEW, LATE and WAIT; the valid-until in a line of "got" or "look" is in milliseconds, too. */
void tell(const char *steps);

void judge(void);

/* Judge, and find just this: "fences, waits 4, killed 1": violations of these rules, and of no others, and the counts that are named
 * (trial.c). No number is 1; that of a time ("..._ns") is a moment as above. "": accepted. */
void found(const char *what);

#endif
