/* The faults that the nemesis knows: what each does, to whom, and what it does to what leash promises. */
#ifndef LEASH_TEST_FAULTS_H
#define LEASH_TEST_FAULTS_H

#include "tests/fault/nemesis.h"

/* Where it takes place. Two at one place never overlap, so that each can undo just what it did. */
enum seat { SEAT_SERVER, SEAT_PROCESS, SEAT_PROXY, SEATS };

/* What it does to locks that are held while it lasts. */
enum harm {
	HARM_NONE,
	HARM_LOST,       /* they are lost, and told so; but nobody else may have one before its valid-until */
	HARM_BREACH,     /* keys are lost or expire early: nothing is promised */
};

struct fault {
	const char *name;
	enum seat seat;
	enum harm harm;
	bool delays;     /* commands may be executed long after they were sent */
	int64_t least, most;   /* how long it lasts, in % of the lease */
	void (*begin)(struct run *run, struct blow *blow);
	void (*again)(struct run *run, struct blow *blow);   /* every few dozen ms while it lasts; or NULL */
	void (*end)(struct run *run, struct blow *blow);     /* or NULL: there is nothing to undo */
};

extern const struct fault faults[];
extern const size_t fault_count;

#endif
