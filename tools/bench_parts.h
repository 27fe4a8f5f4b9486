/* The parts of leash bench: in each of them threads do one thing with locks for a while, again and again, and write
 * down how long each time took. The loop is closed: a thread goes on when it was answered, so a server that stands
 * still for a moment is met by each thread once, and not by all those who would have come meanwhile. */
#ifndef LEASH_TOOLS_BENCH_PARTS_H
#define LEASH_TOOLS_BENCH_PARTS_H

#include "tools/histogram.h"

#include <leash.h>

#include <stdbool.h>
#include <stdint.h>

enum { BENCH_LEASE_MS = 3000, BENCH_CLIENTS = 4, BENCH_THREADS = 256 };

/* What all parts share. */
struct bench {
	leash_options options;
	const char *name;     /* the locks are called "<name>-0" and so on */
	leash_cancel *cancel; /* fired: stop, and release the locks */
};

/* Thread i uses client i % clients and lock i % locks. */
struct part {
	const char *id, *label;
	int clients, threads, locks;
	bool only_ask; /* leash_lock_inspect(), one round trip, instead of an acquire and a release */
};

/* The result of a part. Times are in ns. */
struct figures {
	/* From before the acquire to after the release, the wait for others included. */
	struct histogram took;
	/* From just before a client's release until another, which had asked before that, has the lock. */
	struct histogram handoff;
	double seconds, cpus;     /* how long it took, and how many CPUs this process used meanwhile */
	uint64_t acquired, handed_on, commands, reconnects, lost;
};

/* Run it for about `ms`. Other than LEASH_OK: it ended early; `*out` has what there is. LEASH_CANCELED: by `cancel`. */
leash_status part_run(const struct bench *bench, const struct part *part, int64_t ms, struct figures *out,
                      leash_error *err);

#endif
