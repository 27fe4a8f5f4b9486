/* A wrong lock: SET with NX and PX, and a token. The release first checks whether the token is still its own.
 *
 *   compare_then_delete [--leash] [--seconds N] [URI]
 *
 * GET and DEL are two commands. A process that is paused between them may wake up when the lock is somebody else's, and
 * then still deletes it. See ../../docs/why-other-ways-break.md. */
#include "contest.h"

#include <unistd.h>

#define KEY "wrong:compare-then-delete"

enum { LEASE_MS = 30 };

static long long token; /* unique: the process, and a number */

static bool
try_lock(redisContext *redis)
{
	token = ((long long)getpid() << 32) + (token + 1) % (1LL << 32);
	return ask(redis, "SET " KEY " %lld NX PX %d", token, LEASE_MS) == 1;
}

static void
unlock(redisContext *redis)
{
	if (ask(redis, "GET " KEY) == token)
		ask(redis, "DEL " KEY);
}

int
main(int argc, char **argv)
{
	static const struct contest contest = {
		.title = "SET NX PX with a token, GET, then DEL",
		.key = KEY,
		.try_lock = try_lock,
		.unlock = unlock,
		.fault = CONTEST_PAUSES,
		.lease_ms = LEASE_MS,
		.job_us = 300,
	};

	return contest_run(&contest, argc, argv);
}
