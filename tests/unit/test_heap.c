/* The delay queue: order, removal anywhere, room that was reserved, memory that is not there. */
#include "watchdog/heap.h"

#include "base/clock.h"

#include "tests/support/counted.h"
#include "tests/support/random.h"
#include "tests/support/test.h"

GROUP(counted_start, NULL);

enum { TIMERS = 120 };

static uint64_t seed;
static struct lsh_heap heap;
static struct lsh_timer timer[TIMERS];

static void
start(void)
{
	seed = UINT64_C(0x9e3779b97f4a7c15);
	memset(timer, 0, sizeof timer);
	counted_withhold(false);
}

static void
end(void)
{
	lsh_heap_clear(&heap);
	assert_null(heap.slot);
	assert_int_equal(heap.count + heap.capacity + heap.reserved, 0);
	for (size_t i = 0; i < TIMERS; i++)
		assert_int_equal(timer[i].index, 0);
}

FIXTURE(start, end);

static void
check(void)
{
	assert_true(heap.count <= heap.reserved);
	assert_true(heap.reserved <= heap.capacity);
	for (size_t i = 0; i < heap.count; i++) {
		assert_int_equal(heap.slot[i]->index, i + 1);
		assert_true(heap.slot[(i + 1) / 2 - (i > 0)]->due_ns <= heap.slot[i]->due_ns);
	}
}

static void
reserve(size_t n)
{
	for (size_t i = 0; i < n; i++)
		assert_true(lsh_heap_reserve(&heap));
}

static void
unreserve(size_t n)
{
	for (size_t i = 0; i < n; i++)
		lsh_heap_unreserve(&heap);
}

static void
put_all(void)
{
	for (size_t i = 0; i < TIMERS; i++) {
		timer[i].due_ns = random_below(&seed, 1000);
		lsh_heap_put(&heap, &timer[i]);
	}
}

/* The model: an array in which the first is searched. */
static int64_t
first_of(const bool *in)
{
	int64_t first = LSH_NEVER;

	for (size_t i = 0; i < TIMERS; i++)
		if (in[i] && timer[i].due_ns < first)
			first = timer[i].due_ns;
	return first;
}

SENTENCE(puts_moves_and_removals_in_any_order_leave_a_heap)
{
	static const int64_t ends[] = {INT64_MIN, LSH_NEVER, -5, 5};
	bool in[TIMERS] = {false};
	size_t count = 0;

	reserve(TIMERS);
	for (int turn = 0; turn < 40000; turn++) {
		size_t i = random_below(&seed, TIMERS);

		/* by spells rather filling and rather emptying it, so that all sizes come up */
		if (random_below(&seed, 10) < (turn / 1000 % 2 == 0 ? 7 : 3)) {
			timer[i].due_ns = random_below(&seed, 20) == 0 ? ends[random_below(&seed, 4)] : random_below(&seed, 1000);
			lsh_heap_put(&heap, &timer[i]);
			count += !in[i];
			in[i] = true;
		} else {
			lsh_heap_remove(&heap, &timer[i]);
			count -= in[i];
			in[i] = false;
			assert_int_equal(timer[i].index, 0);
		}
		assert_int_equal(heap.count, count);
		check();
		if (count == 0)
			assert_null(lsh_heap_top(&heap));
		else
			assert_true(lsh_heap_top(&heap)->due_ns == first_of(in));
	}
}

SENTENCE(what_was_reserved_can_be_put_without_memory_and_survives_growing_and_shrinking)
{
	reserve(TIMERS);
	counted_withhold(true);
	put_all();
	check();
	counted_withhold(false);
	reserve(10000);
	check();
	unreserve(10000);
	check();
	assert_int_equal(heap.count, TIMERS);
}

SENTENCE(a_reservation_without_memory_fails_and_changes_nothing)
{
	struct lsh_heap before = heap;

	for (int round = 0; round < 2; round++) {
		counted_withhold(true);
		assert_false(lsh_heap_reserve(&heap));
		assert_memory_equal(&heap, &before, sizeof heap);
		counted_withhold(false);
		reserve(1);
		lsh_heap_put(&heap, &timer[0]);
		while (heap.reserved < heap.capacity)
			reserve(1);
		before = heap;
	}
	assert_ptr_equal(lsh_heap_top(&heap), &timer[0]);
}

SENTENCE(a_heap_that_was_large_becomes_small_again)
{
	reserve(1);
	size_t small = heap.capacity;
	reserve(100000);
	assert_true(heap.capacity > 100000);
	unreserve(100000);
	assert_int_equal(heap.reserved, 1);
	for (int i = 0; i < 20; i++) {
		reserve(1);
		unreserve(1);
	}
	assert_int_equal(heap.capacity, small);
}

SENTENCE(going_to_and_fro_over_any_size_costs_no_reallocation_each_time)
{
	reserve(1);
	for (size_t n = 1; n < 1190; n++) {
		bool grows = n < 600;

		grows ? reserve(1) : unreserve(1);
		counted.calls = 0;
		for (int i = 0; i < 40; i++)
			(i % 2 == 0) == grows ? unreserve(1) : reserve(1);
		assert_true(counted.calls <= 1);
	}
}

SENTENCE(a_heap_that_cannot_shrink_stays_as_it_is)
{
	reserve(10 * TIMERS);
	put_all();
	struct lsh_timer *top = lsh_heap_top(&heap);
	size_t large = heap.capacity;
	counted_withhold(true);
	unreserve(9 * TIMERS);
	assert_int_equal(heap.reserved, TIMERS);
	assert_int_equal(heap.capacity, large);
	check();

	/* and makes up for it once it can */
	counted_withhold(false);
	reserve(1);
	unreserve(1);
	assert_true(heap.capacity < large);
	check();
	assert_ptr_equal(lsh_heap_top(&heap), top);
}
