#include "base/figure.h"

static unsigned
bucket_of(uint64_t ns)
{
	unsigned shift = 0;

	if (ns >> LSH_FIGURE_BITS != 0)
		return LSH_FIGURE_BUCKETS - 1;
	if (ns >> LSH_FIGURE_FINE != 0)
		shift = 63 - (unsigned)__builtin_clzll(ns) - LSH_FIGURE_FINE;
	return (shift << LSH_FIGURE_FINE) + (unsigned)(ns >> shift);
}

static int64_t
middle_of(unsigned bucket)
{
	unsigned shift = bucket >> LSH_FIGURE_FINE;

	shift -= shift > 0;
	return (int64_t)((((uint64_t)bucket - (shift << LSH_FIGURE_FINE)) << shift) + ((UINT64_C(1) << shift) >> 1));
}

void
lsh_figure_add(struct lsh_figure *figure, int64_t ns)
{
	uint64_t value = ns > 0 ? (uint64_t)ns : 0;

	atomic_fetch_add_explicit(&figure->sum, value, memory_order_relaxed);
	atomic_fetch_add_explicit(&figure->bucket[bucket_of(value)], 1, memory_order_relaxed);
}

void
lsh_figure_read(struct lsh_figures_seen *out, const struct lsh_figure *figure)
{
	out->sum = atomic_load_explicit(&figure->sum, memory_order_relaxed);
	out->count = 0;
	for (unsigned i = 0; i < LSH_FIGURE_BUCKETS; i++) {
		out->bucket[i] = atomic_load_explicit(&figure->bucket[i], memory_order_relaxed);
		out->count += out->bucket[i];
	}
}

uint64_t
lsh_figure_below(const struct lsh_figures_seen *seen, unsigned bits)
{
	unsigned end = bucket_of(UINT64_C(1) << bits);
	uint64_t count = 0;

	for (unsigned i = 0; i < end; i++)
		count += seen->bucket[i];
	return count;
}

int64_t
lsh_figure_at(const struct lsh_figures_seen *seen, double fraction)
{
	double rank = fraction * (double)seen->count * (1 - 1e-12); /* 0.07 * 10000 is more than 700 */
	uint64_t count = 0;
	int64_t at = 0;

	for (unsigned i = 0; i < LSH_FIGURE_BUCKETS; i++) {
		count += seen->bucket[i];
		if (seen->bucket[i] == 0)
			continue;
		at = i < LSH_FIGURE_BUCKETS - 1 ? middle_of(i) : INT64_C(1) << LSH_FIGURE_BITS;
		if ((double)count >= rank)
			break;
	}
	return at;
}
