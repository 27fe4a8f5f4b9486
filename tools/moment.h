/* The clock of the server. It says since when locks are held; people read ours. */
#ifndef LEASH_TOOLS_MOMENT_H
#define LEASH_TOOLS_MOMENT_H

#include <leash.h>

#include <stdint.h>

struct moment {
	int64_t here_ms;  /* now, by this machine's clock, in ms since 1970 */
	int64_t ahead_ms; /* how far the server's clock is ahead of it */
};

/* Now, for the client's server. Memory only. */
struct moment moment_now(leash_client *client);

/* How long ago was that, by the server's clock? Never less than 0. */
int64_t moment_age(const struct moment *now, int64_t server_ms);

/* The same moment by our clock. */
int64_t moment_here(const struct moment *now, int64_t server_ms);

#endif
