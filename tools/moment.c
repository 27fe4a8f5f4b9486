#include "tools/moment.h"

#include "tools/clock.h"

struct moment
moment_now(leash_client *client)
{
	leash_stats stats = {.size = sizeof stats};

	/* A failure here comes again in the call that follows, and is reported there. */
	return (struct moment){
		.here_ms = clock_wall_ms(),
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
