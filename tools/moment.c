#include "tools/moment.h"

#include <time.h>

static int64_t
read_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t
moment_ns(void)
{
	return read_ns(CLOCK_MONOTONIC);
}

struct moment
moment_now(leash_client *client)
{
	leash_stats stats = {.size = sizeof stats};

	/* What fails here will fail again where it is told. */
	return (struct moment){
		.here_ms = read_ns(CLOCK_REALTIME) / 1000000,
		.ahead_ms = leash_client_stats(client, &stats, NULL) == LEASH_OK ? stats.server_ahead_ms : 0,
	};
}

int64_t
moment_age(const struct moment *now, int64_t server_ms)
{
	int64_t ms = now->here_ms + now->ahead_ms - server_ms;

	return ms > 0 ? ms : 0;
}

int64_t
moment_here(const struct moment *now, int64_t server_ms)
{
	return server_ms - now->ahead_ms;
}
