/* The parts of leash bench: in each of them threads do one thing with locks for a while, again and again, and write down how long each
 * time took. The loop is closed: a thread goes on when it was answered, so a server that stands still for a moment is met
 * by each thread once, and not by all those who would have come meanwhile. */
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
	leash_cancel *cancel; /* fired: stop, in order */
};

/* Thread i uses client i % clients and lock i % locks. */
struct part {
	const char *id, *label;
	int clients, threads, locks;
	bool only_ask; /* leash_lock_inspect(), one round trip, instead of an acquire and a release */
};

/* What came of a part. Times are in ns. */
struct figures {
	struct histogram took;    /* from before the acquire to after the release, the wait for others included */
	struct histogram handoff; /* from just before a client released to when another one, which had asked before that, had the lock */
	double seconds, cpus;     /* how long it went on, and how many CPUs of this machine this process used during it */
	uint64_t acquired, handed_on, commands, reconnects, lost;
};

/* Run it for about `ms`. Other than LEASH_OK: it ended early; `*out` has what there is. LEASH_CANCELED: by `cancel`. */
leash_status part_run(const struct bench *bench, const struct part *part, int64_t ms, struct figures *out, leash_error *err);

#endif
