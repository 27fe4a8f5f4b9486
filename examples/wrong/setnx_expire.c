/* A wrong lock: SETNX, and then an expiry, so that the lock of a dead process does not stay.
 *
 *   setnx_expire [--leash] [--seconds N] [URI]
 *
 * These are two commands. A process that is killed between them leaves a lock without an expiry. See
 * ../../docs/why-other-ways-break.md. */
#include "contest.h"

#define KEY "wrong:setnx-expire"

enum { LEASE_MS = 30 };

static bool
try_lock(redisContext *redis)
{
	if (ask(redis, "SETNX " KEY " 1") == 0)
		return false;
	ask(redis, "PEXPIRE " KEY " %d", LEASE_MS); /* EXPIRE, in ms */
	return true;
}

static void
unlock(redisContext *redis)
{
	ask(redis, "DEL " KEY);
}

int
main(int argc, char **argv)
{
	static const struct contest contest = {
		.title = "SETNX, then EXPIRE",
		.key = KEY,
		.try_lock = try_lock,
		.unlock = unlock,
		.fault = CONTEST_KILLS,
		.lease_ms = LEASE_MS,
		.job_us = 50,
	};

	return contest_run(&contest, argc, argv);
}
