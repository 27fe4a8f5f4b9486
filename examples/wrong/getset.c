/* A wrong lock: its value is the time at which it ends, and whoever sees that this time has passed takes it by GETSET.
 *
 *   getset [--leash] [--seconds N] [URI]
 *
 * GETSET tells whether somebody else was faster, so only one of those who agree on the time wins. But each process uses
 * the clock of its own machine. One whose clock is ahead takes the lock from a holder whose lease is not over. See
 * ../../docs/why-other-ways-break.md.
 *
 * Here the first process plays a machine whose clock is ahead by AHEAD_MS. */
#include "contest.h"

#include <time.h>

#define KEY "wrong:getset"

enum { LEASE_MS = 100, AHEAD_MS = 80 };

static long long ends; /* when our lock ends, by our clock */

static long long
wall_clock_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000 + (contest_me() == 0 ? AHEAD_MS : 0);
}

static bool
try_lock(redisContext *redis)
{
	ends = wall_clock_ms() + LEASE_MS;
	if (ask(redis, "SETNX " KEY " %lld", ends) == 1)
		return true;
	if (ask(redis, "GET " KEY) > wall_clock_ms())
		return false;
	return ask(redis, "GETSET " KEY " %lld", ends) <= wall_clock_ms(); /* else somebody else was faster */
}

static void
unlock(redisContext *redis)
{
	if (wall_clock_ms() < ends)
		ask(redis, "DEL " KEY);
}

int
main(int argc, char **argv)
{
	static const struct contest contest = {
		.title = "SETNX with a time, GETSET",
		.key = KEY,
		.try_lock = try_lock,
		.unlock = unlock,
		.fault = CONTEST_CLOCKS,
		.lease_ms = LEASE_MS,
		.job_us = 40000,
	};

	return contest_run(&contest, argc, argv);
}
