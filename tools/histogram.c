/* Where a value goes, and what a bucket stands for. See histogram.h. */
#include "tools/histogram.h"

enum { SUB = 1 << HISTOGRAM_SUB_BITS };

/* With 2^k <= value < 2^(k+1): k, and the SUB_BITS bits behind the first one, as a number that grows with the value. */
static unsigned
bucket_of(uint64_t value)
{
	unsigned shift = 0;

	if (value >> HISTOGRAM_BITS != 0)
		return HISTOGRAM_BUCKETS - 1;
	if (value >= SUB)
		shift = 63 - (unsigned)__builtin_clzll(value) - HISTOGRAM_SUB_BITS;
	return (shift << HISTOGRAM_SUB_BITS) + (unsigned)(value >> shift);
}

static uint64_t
middle_of(unsigned bucket)
{
	unsigned shift = bucket < SUB ? 0 : (bucket >> HISTOGRAM_SUB_BITS) - 1;
	uint64_t low = (uint64_t)(bucket - (shift << HISTOGRAM_SUB_BITS)) << shift;

	return low + (UINT64_C(1) << shift) / 2;
}

void
histogram_add(struct histogram *h, uint64_t value)
{
	if (h->count == 0 || value < h->min)
		h->min = value;
	if (value > h->max)
		h->max = value;
	h->count++;
	h->bucket[bucket_of(value)]++;
}

void
histogram_merge(struct histogram *into, const struct histogram *from)
{
	if (from->count == 0)
		return;
	if (into->count == 0 || from->min < into->min)
		into->min = from->min;
	if (from->max > into->max)
		into->max = from->max;
	into->count += from->count;
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
		into->bucket[i] += from->bucket[i];
}

uint64_t
histogram_at(const struct histogram *h, double fraction)
{
	double rank = fraction * (double)h->count * (1 - 1e-12); /* 0.07 * 10000 is more than 700 */
	uint64_t seen = 0, value;

	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
		seen += h->bucket[i];
		if (h->bucket[i] == 0 || (double)seen < rank)
			continue;
		value = i < HISTOGRAM_BUCKETS - 1 ? middle_of(i) : h->max;
		/* the middle may be outside the values that were added */
		return value < h->min ? h->min : value > h->max ? h->max : value;
	}
	return h->max;
}
