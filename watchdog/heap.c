#include "watchdog/heap.h"

#include "base/memory.h"

#include <assert.h>

/* 512 bytes: most programs hold fewer locks at a time, and then the heap is allocated once. */
#define LEAST_CAPACITY 64

static bool
resize(struct lsh_heap *heap, size_t capacity)
{
	struct lsh_timer **slot;

	if (capacity > UINT32_MAX / sizeof *slot)
		return false;
	slot = lsh_realloc(heap->slot, capacity * sizeof *slot);
	if (slot == NULL)
		return false;
	heap->slot = slot;
	heap->capacity = capacity;
	return true;
}

bool
lsh_heap_reserve(struct lsh_heap *heap)
{
	if (heap->reserved == heap->capacity) {
		if (!resize(heap, heap->capacity == 0 ? LEAST_CAPACITY : heap->capacity * 2))
			return false;
	} else if (heap->capacity > LEAST_CAPACITY && heap->reserved < heap->capacity / 4) {
		/* Doubled when full, halved when less than a quarter full: after either it takes as many calls as half the
		 * slots until the next. If there is no memory for a smaller one, the old one stays. */
		(void)resize(heap, heap->capacity / 2);
	}
	heap->reserved++;
	return true;
}

void
lsh_heap_unreserve(struct lsh_heap *heap)
{
	assert(heap->reserved > heap->count);
	heap->reserved--; /* memory is given back when the next one reserves: a release must not need the allocator */
}

static void
place(struct lsh_heap *heap, size_t i, struct lsh_timer *timer)
{
	heap->slot[i] = timer;
	timer->index = (uint32_t)i + 1;
}

/* Slot i is free: find where, from there to the top, the timer belongs. */
static void
rise(struct lsh_heap *heap, size_t i, struct lsh_timer *timer)
{
	while (i > 0) {
		size_t parent = (i - 1) / 2;

		if (heap->slot[parent]->due_ns <= timer->due_ns)
			break;
		place(heap, i, heap->slot[parent]);
		i = parent;
	}
	place(heap, i, timer);
}

/* Slot i is free: find where, from there to the leaves, the timer belongs. */
static void
sink(struct lsh_heap *heap, size_t i, struct lsh_timer *timer)
{
	while (i < heap->count / 2) { /* those in the first half have a child */
		size_t child = 2 * i + 1;

		if (child + 1 < heap->count && heap->slot[child + 1]->due_ns < heap->slot[child]->due_ns)
			child++;
		if (timer->due_ns <= heap->slot[child]->due_ns)
			break;
		place(heap, i, heap->slot[child]);
		i = child;
	}
	place(heap, i, timer);
}

static void
settle(struct lsh_heap *heap, size_t i, struct lsh_timer *timer)
{
	if (i > 0 && timer->due_ns < heap->slot[(i - 1) / 2]->due_ns)
		rise(heap, i, timer);
	else
		sink(heap, i, timer);
}

void
lsh_heap_put(struct lsh_heap *heap, struct lsh_timer *timer)
{
	if (timer->index != 0) {
		assert(heap->slot[timer->index - 1] == timer);
		settle(heap, timer->index - 1, timer);
		return;
	}
	assert(heap->count < heap->reserved);
	heap->count++;
	rise(heap, heap->count - 1, timer);
}

void
lsh_heap_remove(struct lsh_heap *heap, struct lsh_timer *timer)
{
	struct lsh_timer *last;
	size_t i = timer->index;

	if (i == 0)
		return;
	assert(heap->slot[i - 1] == timer);
	timer->index = 0;
	last = heap->slot[--heap->count];
	if (last != timer)
		settle(heap, i - 1, last);
}

struct lsh_timer *
lsh_heap_top(const struct lsh_heap *heap)
{
	return heap->count == 0 ? NULL : heap->slot[0];
}

void
lsh_heap_clear(struct lsh_heap *heap)
{
	for (size_t i = 0; i < heap->count; i++)
		heap->slot[i]->index = 0;
	lsh_free(heap->slot);
	*heap = (struct lsh_heap){0};
}
