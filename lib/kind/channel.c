/* The channels on which all hear the same; which kinds have one. */
#include "kind/kind.h"

bool
lsh_kind_read_channel(const char *channel, size_t size, struct lsh_arg *key,
                      char scratch[static LSH_CHANNEL_SCRATCH])
{
	return lsh_redisson_read_channel(channel, size, key) || lsh_watch_read_channel(channel, size, key, scratch);
}
