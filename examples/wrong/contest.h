/* What the wrong locks of this folder have in common: a contest that shows how each of them breaks.
 *
 *   NAME [--leash] [--seconds N] [URI]
 *
 * Four processes want one lock, all the time. Whoever has it does a short job. Meanwhile the contest causes faults
 * of production: it kills a process (kill -9) or pauses it (SIGSTOP, for longer than a lease) at a random moment, or a
 * job meets a slow disk. It never arranges the order of their calls. With --leash the same jobs meet the same faults,
 * but leash_lock_acquire() and leash_lock_release() are called in place of try_lock() and unlock().
 *
 * Two at once count only if both of them are within their leases. A process that has outlived its own lease is not
 * counted: no lock can stop it, but leash reports the loss (leash_lock_held()). What only a fence can do: ../fencing.c.
 *
 * The contest itself is in contest.c. You need not read it to understand the locks. */
#ifndef LEASH_EXAMPLES_CONTEST_H
#define LEASH_EXAMPLES_CONTEST_H

#include <hiredis/hiredis.h>

#include <stdbool.h>
#include <stdint.h>

enum contest_fault {
	CONTEST_KILLS,  /* a random process is killed, at a random moment, and started again */
	CONTEST_PAUSES, /* a process that has the lock is paused, at a random moment, for 1.2 to 2 leases */
	CONTEST_SLOW,   /* one job in four takes more than two leases */
	CONTEST_CLOCKS, /* no fault: the lock itself sets the clock of one process ahead */
};

struct contest {
	const char *title;                     /* the lock, in a few words */
	const char *key;                       /* of the wrong lock, which is also the name of the lock under leash */
	bool (*try_lock)(redisContext *redis); /* true: it is mine now */
	void (*unlock)(redisContext *redis);
	enum contest_fault fault;
	int lease_ms;                          /* 0: this lock has no lease */
	int job_us;                            /* how long a job takes, on average */
};

/* All of main(). Its status is 0 if the wrong lock broke, or leash did not; otherwise 1; 64 for wrong arguments. */
int contest_run(const struct contest *contest, int argc, char **argv);

/* Which of the processes this is, from 0 on. */
int contest_me(void);

/* Send a command. Its reply as a number: nil is 0, OK is 1. Ends the process if there is no reply. */
long long ask(redisContext *redis, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
