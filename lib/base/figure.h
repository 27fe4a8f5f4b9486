/* A figure: how many took how long, in constant memory, for any number of threads.
 *
 * Log-linear, as HdrHistogram (Gil Tene) has it: below 32 ns each value has a bucket; from there on each power of two
 * is cut into 16 of the same width. So the middle of a bucket is within 1/32 of what went in, and a limit that is a
 * power of two lies between two buckets. The sum is exact. */
#ifndef LSH_BASE_FIGURE_H
#define LSH_BASE_FIGURE_H

#include <stdatomic.h>
#include <stdint.h>

enum {
	LSH_FIGURE_FINE = 4,  /* bits behind the first one that count */
	LSH_FIGURE_BITS = 42, /* longer times, of more than an hour, share the last bucket */
	LSH_FIGURE_BUCKETS = ((LSH_FIGURE_BITS - LSH_FIGURE_FINE + 1) << LSH_FIGURE_FINE) + 1,
};

/* All zero: empty. */
struct lsh_figure {
	_Atomic uint64_t sum;
	_Atomic uint64_t bucket[LSH_FIGURE_BUCKETS];
};

/* What was in a figure at one moment, or nearly: what is added meanwhile may be in it or not. */
struct lsh_figures_seen {
	uint64_t count, sum;
	uint64_t bucket[LSH_FIGURE_BUCKETS];
};

void lsh_figure_add(struct lsh_figure *figure, int64_t ns); /* less than nothing is nothing */
void lsh_figure_read(struct lsh_figures_seen *out, const struct lsh_figure *figure);

/* How many took less than 2^bits ns; `bits` is more than LSH_FIGURE_FINE, and less than LSH_FIGURE_BITS. */
uint64_t lsh_figure_below(const struct lsh_figures_seen *seen, unsigned bits);
/* What `fraction` (0 to 1) of all do not exceed: 0.5 is the median. 0 if there are none. */
int64_t lsh_figure_at(const struct lsh_figures_seen *seen, double fraction);

#endif
