/* A wrong lock: SET with NX and PX, one command. But the value does not say whose lock it is.
 *
 *   no_token [--leash] [--seconds N] [URI]
 *
 * Once in a while a job takes longer than the lease. By then another process has the lock, and the DEL of the late one
 * deletes that lock. A third process gets in beside the second, which did nothing wrong. See
 * ../../docs/why-other-ways-break.md. */
#include "contest.h"

#define KEY "wrong:no-token"

enum { LEASE_MS = 100 };

static bool
try_lock(redisContext *redis)
{
	return ask(redis, "SET " KEY " 1 NX PX %d", LEASE_MS) == 1;
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
		.title = "SET NX PX without a token",
		.key = KEY,
		.try_lock = try_lock,
		.unlock = unlock,
		.fault = CONTEST_SLOW,
		.lease_ms = LEASE_MS,
		.job_us = 5000,
	};

	return contest_run(&contest, argc, argv);
}
