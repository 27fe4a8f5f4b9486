/* Many acquires that wait at once, on one client. */
#ifndef LEASH_BENCH_PENDING_H
#define LEASH_BENCH_PENDING_H

#include "tests/support/server.h"

#include <stddef.h>

struct pending {
	double bytes;    /* that each keeps resident, with its handle and its owner, */
	double begin_us; /* until it was begun, */
	double serve_us; /* and from then on, until all had their turn: for each */
};

/* `count` owners wait for one lock of `name` that another client holds; and then have it, one after the other. */
struct pending pending_measure(struct server *server, const char *name, size_t count);

#endif
