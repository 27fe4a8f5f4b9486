/* Figures: what they are exact in, and how far off they may be in the rest. */
#include "base/figure.h"

#include "tests/support/random.h"
#include "tests/support/test.h"

#include <pthread.h>

static struct lsh_figure figure;
static struct lsh_figures_seen seen;

static void
empty(void)
{
	memset(&figure, 0, sizeof figure);
}

FIXTURE(empty, NULL);

static int64_t
at(double fraction)
{
	lsh_figure_read(&seen, &figure);
	return lsh_figure_at(&seen, fraction);
}

/* As far from `value` as a bucket's middle may be, and no farther. */
static void
check_near(int64_t value, int64_t found)
{
	if (llabs(found - value) > value / 32)
		fail_msg("%lld came out as %lld", (long long)value, (long long)found);
}

/* Of any size up to 2^42, each power of two as likely as the next. */
static int64_t
any_value(uint64_t *seed)
{
	unsigned bits = (unsigned)(random_next(seed) % (LSH_FIGURE_BITS - 1));

	return (int64_t)((UINT64_C(1) << bits) + random_next(seed) % (UINT64_C(1) << bits));
}

SENTENCE(there_is_nothing_in_an_empty_one)
{
	assert_int_equal(at(0.5), 0);
	assert_int_equal(seen.count, 0);
	assert_int_equal(seen.sum, 0);
}

SENTENCE(a_single_value_is_all_there_is)
{
	static const int64_t values[] = {0, 1, 31, 32, 33, 1000003, (INT64_C(1) << 41), (INT64_C(1) << 42) - 1};

	for (size_t i = 0; i < COUNT(values); i++) {
		empty();
		lsh_figure_add(&figure, values[i]);
		check_near(values[i], at(0));
		check_near(values[i], at(1));
		assert_int_equal(seen.count, 1);
		assert_int_equal(seen.sum, values[i]);
	}
}

SENTENCE(what_is_too_long_is_in_the_last_bucket_and_less_than_nothing_is_nothing)
{
	lsh_figure_add(&figure, INT64_MAX);
	lsh_figure_add(&figure, -5);
	assert_int_equal(at(0), 0);
	assert_int_equal(at(1), INT64_C(1) << LSH_FIGURE_BITS);
	assert_true(seen.sum == INT64_MAX);
}

SENTENCE(a_power_of_two_is_a_limit_between_buckets)
{
	for (unsigned bits = LSH_FIGURE_FINE + 1; bits < LSH_FIGURE_BITS; bits++) {
		empty();
		lsh_figure_add(&figure, (INT64_C(1) << bits) - 1);
		lsh_figure_add(&figure, INT64_C(1) << bits);
		lsh_figure_read(&seen, &figure);
		assert_int_equal(lsh_figure_below(&seen, bits), 1);
		assert_int_equal(lsh_figure_below(&seen, bits - 1), 0);
	}
}

static int
compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

SENTENCE(whatever_part_is_asked_for_comes_out_within_a_32nd_of_that_of_the_sorted_values)
{
	enum { VALUES = 2000 };
	static int64_t values[VALUES];
	uint64_t seed = 7;

	for (int i = 0; i < VALUES; i++)
		lsh_figure_add(&figure, values[i] = i < 32 ? i : any_value(&seed));
	qsort(values, VALUES, sizeof *values, compare);
	for (int i = 0; i < VALUES; i++)
		check_near(values[i], at((i + 1) / (double)VALUES));
}

enum { THREADS = 4, EACH = 20000 };

static void *
add_many(void *arg)
{
	for (int i = 0; i < EACH; i++)
		lsh_figure_add(&figure, i % 7);
	return arg;
}

SENTENCE(what_many_threads_add_at_once_is_all_there)
{
	pthread_t thread[THREADS];

	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, add_many, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	lsh_figure_read(&seen, &figure);
	assert_int_equal(seen.count, THREADS * EACH);
	for (int i = 0; i < EACH; i++)
		seen.sum -= (uint64_t)(THREADS * (i % 7));
	assert_int_equal(seen.sum, 0);
}
