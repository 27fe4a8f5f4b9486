/* The delay queue: order, removal anywhere, room that was reserved, memory that is not there. */
#include "watchdog/heap.h"

#include "base/clock.h"

#include "tests/support/random.h"
#include "tests/support/test.h"

#include <leash/memory.h>

static bool no_memory;
static size_t reallocations;

static void *
counted_realloc(void *old, size_t size)
{
	if (no_memory)
		return NULL;
	reallocations++;
	return realloc(old, size);
}

static const leash_memory memory = {malloc, counted_realloc, free};

static void
use_memory(void)
{
	assert_int_equal(leash_set_memory(&memory), LEASH_OK);
}

GROUP(use_memory, NULL);

static uint64_t seed;

static void
start(void)
{
	seed = UINT64_C(0x9e3779b97f4a7c15);
	no_memory = false;
	reallocations = 0;
}

FIXTURE(start, NULL);

static void
check(const struct lsh_heap *heap)
{
	assert_true(heap->count <= heap->reserved);
	assert_true(heap->reserved <= heap->capacity);
	for (size_t i = 0; i < heap->count; i++) {
		assert_int_equal(heap->slot[i]->index, i + 1);
		assert_true(heap->slot[(i + 1) / 2 - (i > 0)]->due_ns <= heap->slot[i]->due_ns);
	}
}

static void
reserve(struct lsh_heap *heap, size_t n)
{
	for (size_t i = 0; i < n; i++)
		assert_true(lsh_heap_reserve(heap));
}

static void
unreserve(struct lsh_heap *heap, size_t n)
{
	for (size_t i = 0; i < n; i++)
		lsh_heap_unreserve(heap);
}

SENTENCE(an_empty_heap_has_no_top)
{
	struct lsh_heap heap = {0};
	struct lsh_timer timer = {0};

	assert_null(lsh_heap_top(&heap));
	lsh_heap_remove(&heap, &timer);
	lsh_heap_clear(&heap);
	assert_null(lsh_heap_top(&heap));
}

SENTENCE(timers_leave_in_the_order_in_which_they_are_due)
{
	struct lsh_heap heap = {0};
	struct lsh_timer timer[500] = {0}, *top;
	int64_t last = INT64_MIN;
	size_t left = 0;

	reserve(&heap, COUNT(timer));
	for (size_t i = 0; i < COUNT(timer); i++) {
		timer[i].due_ns = (int64_t)random_below(&seed, 300) - 150;
		lsh_heap_put(&heap, &timer[i]);
	}
	timer[7].due_ns = LSH_NEVER;
	lsh_heap_put(&heap, &timer[7]);
	timer[8].due_ns = INT64_MIN;
	lsh_heap_put(&heap, &timer[8]);
	assert_int_equal(heap.count, COUNT(timer));

	assert_ptr_equal(lsh_heap_top(&heap), &timer[8]);
	while ((top = lsh_heap_top(&heap)) != NULL) {
		assert_true(top->due_ns >= last);
		last = top->due_ns;
		lsh_heap_remove(&heap, top);
		assert_int_equal(top->index, 0);
		left++;
	}
	assert_int_equal(left, COUNT(timer));
	assert_true(last == LSH_NEVER);
	lsh_heap_clear(&heap);
}

SENTENCE(every_place_can_be_taken_out)
{
	for (size_t n = 1; n <= 40; n++) {
		for (size_t out = 0; out < n; out++) {
			struct lsh_heap heap = {0};
			struct lsh_timer timer[40] = {0};

			reserve(&heap, n);
			for (size_t i = 0; i < n; i++) {
				timer[i].due_ns = random_below(&seed, 50);
				lsh_heap_put(&heap, &timer[i]);
			}
			lsh_heap_remove(&heap, heap.slot[out]);
			assert_int_equal(heap.count, n - 1);
			check(&heap);
			lsh_heap_clear(&heap);
		}
	}
}

/* The model: an array in which the first is searched. */
static int64_t
first_of(const struct lsh_timer *timer, const bool *in, size_t n)
{
	int64_t first = LSH_NEVER;

	for (size_t i = 0; i < n; i++)
		if (in[i] && timer[i].due_ns < first)
			first = timer[i].due_ns;
	return first;
}

SENTENCE(puts_moves_and_removals_in_any_order_leave_a_heap)
{
	struct lsh_heap heap = {0};
	struct lsh_timer timer[120] = {0};
	bool in[120] = {false};
	size_t count = 0;

	reserve(&heap, COUNT(timer));
	for (int turn = 0; turn < 20000; turn++) {
		size_t i = random_below(&seed, COUNT(timer));

		/* by spells rather filling and rather emptying it, so that all sizes come up */
		if (random_below(&seed, 10) < (turn / 1000 % 2 == 0 ? 7 : 3)) {
			timer[i].due_ns = random_below(&seed, 1000);
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
		check(&heap);
		if (count == 0)
			assert_null(lsh_heap_top(&heap));
		else
			assert_true(lsh_heap_top(&heap)->due_ns == first_of(timer, in, COUNT(timer)));
	}
	lsh_heap_clear(&heap);
}

SENTENCE(what_was_reserved_can_be_put_without_memory)
{
	struct lsh_heap heap = {0};
	struct lsh_timer timer[1000] = {0};

	reserve(&heap, COUNT(timer));
	no_memory = true;
	for (size_t i = 0; i < COUNT(timer); i++) {
		timer[i].due_ns = random_below(&seed, 1000);
		lsh_heap_put(&heap, &timer[i]);
	}
	check(&heap);
	assert_int_equal(heap.count, COUNT(timer));
	lsh_heap_clear(&heap);
}

SENTENCE(a_reservation_without_memory_fails_and_changes_nothing)
{
	struct lsh_heap heap = {0}, before;
	struct lsh_timer timer = {.due_ns = 5};

	no_memory = true;
	assert_false(lsh_heap_reserve(&heap));
	assert_int_equal(heap.reserved, 0);
	assert_int_equal(heap.capacity, 0);

	no_memory = false;
	reserve(&heap, 1);
	lsh_heap_put(&heap, &timer);
	while (heap.reserved < heap.capacity)
		reserve(&heap, 1);
	no_memory = true;
	before = heap;
	assert_false(lsh_heap_reserve(&heap));
	assert_memory_equal(&heap, &before, sizeof heap);
	assert_ptr_equal(lsh_heap_top(&heap), &timer);

	no_memory = false;
	assert_true(lsh_heap_reserve(&heap));
	assert_ptr_equal(lsh_heap_top(&heap), &timer);
	lsh_heap_clear(&heap);
}

SENTENCE(a_heap_that_was_large_becomes_small_again)
{
	struct lsh_heap heap = {0};
	size_t small;

	reserve(&heap, 1);
	small = heap.capacity;
	reserve(&heap, 100000);
	assert_true(heap.capacity > 100000);
	unreserve(&heap, 100000);
	assert_int_equal(heap.reserved, 1);
	for (int i = 0; i < 20; i++) {
		reserve(&heap, 1);
		unreserve(&heap, 1);
	}
	assert_int_equal(heap.capacity, small);
	lsh_heap_clear(&heap);
}

SENTENCE(going_to_and_fro_over_any_size_costs_no_reallocation_each_time)
{
	struct lsh_heap heap = {0};

	reserve(&heap, 1);
	for (size_t n = 1; n < 600; n++) {
		reserve(&heap, 1);
		reallocations = 0;
		for (int i = 0; i < 20; i++) {
			unreserve(&heap, 1);
			reserve(&heap, 1);
		}
		assert_true(reallocations <= 1);
	}
	for (size_t n = 1; n < 590; n++) {
		unreserve(&heap, 1);
		reallocations = 0;
		for (int i = 0; i < 20; i++) {
			reserve(&heap, 1);
			unreserve(&heap, 1);
		}
		assert_true(reallocations <= 1);
	}
	lsh_heap_clear(&heap);
}

SENTENCE(a_heap_that_cannot_shrink_stays_as_it_is)
{
	struct lsh_heap heap = {0};
	struct lsh_timer timer[3] = {{.due_ns = 3}, {.due_ns = 1}, {.due_ns = 2}};
	size_t large;

	reserve(&heap, 1000);
	for (size_t i = 0; i < COUNT(timer); i++)
		lsh_heap_put(&heap, &timer[i]);
	large = heap.capacity;
	no_memory = true;
	unreserve(&heap, 990);
	assert_int_equal(heap.reserved, 10);
	assert_int_equal(heap.capacity, large);
	check(&heap);
	assert_ptr_equal(lsh_heap_top(&heap), &timer[1]);

	/* and makes up for it once it can */
	no_memory = false;
	unreserve(&heap, 5);
	assert_int_equal(heap.capacity, large);
	reserve(&heap, 1);
	assert_true(heap.capacity < large);
	check(&heap);
	assert_ptr_equal(lsh_heap_top(&heap), &timer[1]);
	lsh_heap_clear(&heap);
}

SENTENCE(the_timers_survive_growing_and_shrinking)
{
	struct lsh_heap heap = {0};
	struct lsh_timer timer[60] = {0};

	reserve(&heap, COUNT(timer));
	for (size_t i = 0; i < COUNT(timer); i++) {
		timer[i].due_ns = random_below(&seed, 1000);
		lsh_heap_put(&heap, &timer[i]);
	}
	reserve(&heap, 10000);
	check(&heap);
	unreserve(&heap, 10000);
	check(&heap);
	assert_int_equal(heap.count, COUNT(timer));
	lsh_heap_clear(&heap);
}

SENTENCE(clearing_lets_every_timer_go)
{
	struct lsh_heap heap = {0};
	struct lsh_timer timer[30] = {0};

	for (int round = 0; round < 2; round++) {
		reserve(&heap, COUNT(timer));
		for (size_t i = 0; i < COUNT(timer); i++)
			lsh_heap_put(&heap, &timer[i]);
		lsh_heap_clear(&heap);
		for (size_t i = 0; i < COUNT(timer); i++)
			assert_int_equal(timer[i].index, 0);
		assert_null(heap.slot);
		assert_int_equal(heap.count + heap.capacity + heap.reserved, 0);
	}
}
