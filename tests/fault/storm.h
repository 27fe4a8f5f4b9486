/* A storm over the five servers: they are killed and frozen, one after the other and never more than two at a time. */
#ifndef LEASH_TEST_FAULT_STORM_H
#define LEASH_TEST_FAULT_STORM_H

#include "tests/fault/five.h"

#include <pthread.h>
#include <stdbool.h>

enum { STORM_LEASE_MS = 500 }; /* of those who are in it */

struct storm;

/* What takes servers from a part of them, which no other takes from. */
struct gust {
	struct storm *storm;
	int from, servers;
	unsigned seed;
	pthread_t thread;
};

struct storm {
	struct gust gusts[2];
	_Atomic bool over;
	_Atomic unsigned killed, frozen;
};

void storm_begin(struct storm *storm);
void storm_end(struct storm *storm);

int dice(unsigned *seed, int below);

#endif
