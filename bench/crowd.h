/* Processes that want one lock, over and over, and what each of their turns was like. */
#ifndef LEASH_BENCH_CROWD_H
#define LEASH_BENCH_CROWD_H

#include <leash.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	CROWD_MAX = 64,     /* processes */
	CROWD_HOLD_MS = 1,  /* slept while holding */
};

/* Moments are ns of CLOCK_MONOTONIC, which is the same for all processes. */
struct crowd_turn {
	int64_t asked;      /* just before leash_lock_acquire */
	int64_t got;        /* just after it */
	int64_t gave;       /* just before leash_lock_release */
	uint64_t fence;
	unsigned who;
	char token[LEASH_TOKEN_MAX];
};

struct crowd;

struct crowd_result {
	const struct crowd_turn *turns; /* in the order in which the lock was held; the crowd's */
	size_t count;
	size_t overlaps;    /* somebody else was inside */
	size_t regressions; /* turns whose fence was not larger than that of the turn before */
	unsigned hung;      /* processes that had to be killed */
	int64_t began, ended; /* between these all of them contended; then they left one after another */
};

/* Fork `processes`, each with a client and a handle of the lock `name` of its own. Then all are connected, and wait. */
struct crowd *crowd_new(const char *uri, const char *name, bool fair, unsigned processes, int64_t run_ns);

/* Let them contend, and see them out. Says on stderr which of them hangs. */
struct crowd_result crowd_run(struct crowd *crowd);
void crowd_free(struct crowd *crowd);

/* The median of what a blocking PING takes, in ns. Processes send one in turn, each after sleeping like a holder. */
double crowd_ping(int port, unsigned processes, int64_t run_ns);

int64_t crowd_now(void);

#endif
