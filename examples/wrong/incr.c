/* A wrong lock: a counter. Whoever counts to one has it, and deletes the counter afterwards.
 *
 *   incr [--leash] [--seconds N] [URI]
 *
 * INCR is atomic, so no two processes see a 1. But a process that is killed while it has the lock deletes nothing, and
 * the counter has no time to live. Nobody sees a 1 again. See ../../docs/why-other-ways-break.md. */
#include "contest.h"

#define KEY "wrong:incr"

static bool
try_lock(redisContext *redis)
{
	return ask(redis, "INCR " KEY) == 1;
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
		.title = "INCR",
		.key = KEY,
		.try_lock = try_lock,
		.unlock = unlock,
		.fault = CONTEST_KILLS,
		.job_us = 200,
	};

	return contest_run(&contest, argc, argv);
}
