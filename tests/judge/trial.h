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
	bool silent;
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

/* What they do, in steps "<who> <what>", with a semicolon between them. Who is 1, 2, or N for the nemesis. What is
 *
 *     take HOLD FENCE FROM UNTIL      held from then on, valid to the latter, with token t:FENCE
 *     give HOLD FROM TO STATUS        its release
 *     keep HOLD FENCE FROM TO         take, valid for longer, and give at TO, OK
 *     silent                          it says no "end" of its own accord
 *     MOMENT LINE                     a line, in which the valid-until of "got" and "look" is in milliseconds, too
 *
 * A moment is a sum of numbers and of the graces TOLD, EVENT, RENEW, LATE and WAIT. */
void tell(const char *steps);

void judge(void);

/* Judge, and find just this: "fences, waits 4, killed 1": violations of these rules, and of no others, and the counts that are named
 * (trial.c). No number is 1; that of a time ("..._ns") is a moment as above. "": accepted. */
void found(const char *what);

#endif
