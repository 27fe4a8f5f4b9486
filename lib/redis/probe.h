/* A probe: does a server speak plainly, where it does not answer to TLS? Redis takes the beginning of TLS for half a line, and waits for
 * the rest of it for ever; but to a line of plain text it has an answer. Asked on a connection of its own. One thread at a time. */
#ifndef LSH_REDIS_PROBE_H
#define LSH_REDIS_PROBE_H

#include "redis/resolve.h"

#include <stdbool.h>

struct lsh_probe {
	int fd;     /* -1: none is under way */
	bool asked;
};

/* Begin, or go on as far as possible without waiting. True: it does. Says nothing that is secret. */
bool lsh_probe_step(struct lsh_probe *probe, const struct lsh_address *address);
void lsh_probe_end(struct lsh_probe *probe);

#endif
