/* Who came to a lock's queue, in which order: seen by the server, not by leash. */
#ifndef LEASH_BENCH_ARRIVALS_H
#define LEASH_BENCH_ARRIVALS_H

#include "tests/support/server.h"

#include <stddef.h>

struct arrivals;

/* From now on, of the lock `name`, which has no byte that would be escaped. */
struct arrivals *arrivals_watch(struct server *server, const char *name);

/* Stop watching. The tokens in order of arrival, all that came until now; they belong to the arrivals. */
const char *const *arrivals_end(struct arrivals *arrivals, size_t *count, size_t *queued);
void arrivals_free(struct arrivals *arrivals);

#endif
