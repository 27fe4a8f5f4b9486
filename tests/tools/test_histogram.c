/* The histogram of leash bench: what it is exact in, and how far off it may be in the rest. */
#include "tools/histogram.h"

#include "tests/support/random.h"
#include "tests/support/test.h"

static struct histogram h, other;

static void
empty(void)
{
	memset(&h, 0, sizeof h);
	memset(&other, 0, sizeof other);
}

FIXTURE(empty, NULL);

/* Of any size up to 2^42, each power of two as likely as the next. */
static uint64_t
any_value(uint64_t *seed)
{
	unsigned bits = (unsigned)(random_next(seed) % HISTOGRAM_BITS);

	return (UINT64_C(1) << bits) + random_next(seed) % (UINT64_C(1) << bits);
}

/* As far from `value` as a bucket's middle may be, and no farther. */
static void
check_near(uint64_t value, uint64_t found)
{
	uint64_t off = found > value ? found - value : value - found;

	if (off > value / 128)
		fail_msg("%llu came out as %llu", (unsigned long long)value, (unsigned long long)found);
}

/* Whatever part of it is asked for. */
static void
check_all_is(uint64_t value)
{
	assert_true(histogram_at(&h, 0) == value);
	assert_true(histogram_at(&h, 0.5) == value);
	assert_true(histogram_at(&h, 1) == value);
	assert_true(h.min == value && h.max == value);
}

SENTENCE(there_is_nothing_in_an_empty_one)
{
	check_all_is(0);
	assert_int_equal(h.count, 0);
}

SENTENCE(a_single_value_is_all_there_is)
{
	static const uint64_t values[] = {0, 1, 127, 128, 129, 1000003, (UINT64_C(1) << 42) - 1, UINT64_C(1) << 42, UINT64_MAX};

	for (size_t i = 0; i < COUNT(values); i++) {
		empty();
		histogram_add(&h, values[i]);
		check_all_is(values[i]);
		assert_int_equal(h.count, 1);
	}
}

SENTENCE(both_sides_of_every_power_of_two_are_apart_from_each_other)
{
	for (int bits = 7; bits <= HISTOGRAM_BITS; bits++) {
		uint64_t power = UINT64_C(1) << bits;

		empty();
		histogram_add(&h, 0);
		histogram_add(&h, power - 1);
		histogram_add(&h, power);
		histogram_add(&h, UINT64_MAX);
		assert_true(histogram_at(&h, 0.5) < power);
		if (bits < HISTOGRAM_BITS)
			assert_true(histogram_at(&h, 0.75) >= power);
	}
}

static int
compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Of many, with all that is below 128 among them, which comes out as it went in. */
SENTENCE(whatever_part_is_asked_for_comes_out_within_a_128th_of_that_of_the_sorted_values)
{
	enum { VALUES = 20000 };
	static uint64_t values[VALUES];
	uint64_t seed = 7;

	for (uint64_t i = 0; i < VALUES; i++)
		histogram_add(&h, values[i] = i < 128 ? i : any_value(&seed));
	qsort(values, VALUES, sizeof *values, compare);
	assert_true(h.min == values[0] && h.max == values[VALUES - 1] && h.count == VALUES);
	for (int i = 0; i < VALUES; i++)
		check_near(values[i], histogram_at(&h, (i + 1) / (double)VALUES));
}

SENTENCE(merging_is_the_same_as_having_added_to_one)
{
	static struct histogram all;
	uint64_t seed = 3;

	for (int i = 0; i < 1000; i++) {
		uint64_t value = any_value(&seed);

		histogram_add(i % 3 == 0 ? &h : &other, value);
		histogram_add(&all, value);
	}
	histogram_merge(&h, &other);
	assert_memory_equal(&h, &all, sizeof h);
	memset(&other, 0, sizeof other);
	histogram_merge(&h, &other); /* of nothing, whose smallest is none */
	assert_memory_equal(&h, &all, sizeof h);
	histogram_merge(&other, &h);
	assert_memory_equal(&other, &all, sizeof h);
}
