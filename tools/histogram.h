/* A histogram: how long many things took, in constant memory, with an error that is known.
 *
 * Log-linear: the values below 128 have a bucket each; from there on every power of two is cut into 64 of the same
 * width, so what comes out of a bucket (its middle) is within 1/128 of what went in. Count, smallest and
 * largest are exact. One thread at a time. */
#ifndef LEASH_TOOLS_HISTOGRAM_H
#define LEASH_TOOLS_HISTOGRAM_H

#include <stdint.h>

enum {
	HISTOGRAM_BITS = 42, /* larger values share the last bucket; in ns that is more than an hour */
	HISTOGRAM_SUB_BITS = 6,
	HISTOGRAM_BUCKETS = ((HISTOGRAM_BITS - HISTOGRAM_SUB_BITS + 1) << HISTOGRAM_SUB_BITS) + 1,
};

/* All zero: empty. */
struct histogram {
	uint64_t count, min, max;
	uint64_t bucket[HISTOGRAM_BUCKETS];
};

void histogram_add(struct histogram *h, uint64_t value);
void histogram_merge(struct histogram *into, const struct histogram *from);

/* The value that `fraction` (0 to 1) of all are not above: 0.5 is the median. 0 if there are none. */
uint64_t histogram_at(const struct histogram *h, double fraction);

#endif
