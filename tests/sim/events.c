/* Time, chance, and what happens when. See world.h. */
#include "tests/sim/world.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { EXIT_BREACH = 3 };

struct event {
	int64_t at;
	uint64_t order;
	void (*happen)(void *what, uint64_t turn);
	void *what;
	uint64_t turn;
};

int64_t sim_now = 100000 * SIM_S;
uint64_t sim_steps;
bool sim_traces;
void (*sim_on_breach)(void);

static struct event *heap;
static size_t count, capacity;
static uint64_t orders, state;

static bool
is_before(const struct event *a, const struct event *b)
{
	return a->at != b->at ? a->at < b->at : a->order < b->order;
}

void
sim_at(int64_t at, void (*happen)(void *what, uint64_t turn), void *what, uint64_t turn)
{
	struct event e = {at > sim_now ? at : sim_now, orders++, happen, what, turn};
	size_t i = count++;

	if (at == SIM_NEVER)
		abort();
	if (count > capacity) {
		capacity = capacity > 0 ? 2 * capacity : 1024;
		heap = realloc(heap, capacity * sizeof *heap);
		if (heap == NULL)
			abort();
	}
	for (; i > 0 && is_before(&e, &heap[(i - 1) / 2]); i = (i - 1) / 2)
		heap[i] = heap[(i - 1) / 2];
	heap[i] = e;
}

void
sim_step(void)
{
	size_t i = 0, child;

	if (count == 0)
		sim_breach("nothing would ever happen again");
	struct event first = heap[0];
	struct event last = heap[--count];
	for (; (child = 2 * i + 1) < count; i = child) {
		if (child + 1 < count && is_before(&heap[child + 1], &heap[child]))
			child++;
		if (!is_before(&heap[child], &last))
			break;
		heap[i] = heap[child];
	}
	heap[i] = last;
	sim_now = first.at > sim_now ? first.at : sim_now;
	sim_steps++;
	first.happen(first.what, first.turn);
}

void
sim_seed(uint64_t seed)
{
	state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
}

/* splitmix64, by Vigna (public domain) */
static uint64_t
draw(void)
{
	uint64_t n = state += UINT64_C(0x9e3779b97f4a7c15);

	n = (n ^ n >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	n = (n ^ n >> 27) * UINT64_C(0x94d049bb133111eb);
	return n ^ n >> 31;
}

uint32_t
sim_random(uint32_t below)
{
	return (uint32_t)((draw() >> 32) * below >> 32);
}

int64_t
sim_between(int64_t least, int64_t most)
{
	return least + (int64_t)(draw() % (uint64_t)(most - least + 1));
}

bool
sim_chance(double share)
{
	return (double)(draw() >> 11) < share * 9007199254740992.0;
}

static void
tell(FILE *out, const char *format, va_list list)
{
	fprintf(out, "%12.6f  ", (double)(sim_now - 100000 * SIM_S) / 1e9);
	vfprintf(out, format, list);
	fputc('\n', out);
}

void
sim_trace(const char *format, ...)
{
	va_list list;

	if (!sim_traces)
		return;
	va_start(list, format);
	tell(stdout, format, list);
	va_end(list);
}

void
sim_breach(const char *format, ...)
{
	va_list list;

	fflush(stdout);
	va_start(list, format);
	tell(stderr, format, list);
	va_end(list);
	fprintf(stderr, "at step %llu\n", (unsigned long long)sim_steps);
	if (sim_on_breach != NULL)
		sim_on_breach();
	fflush(stderr);
	_Exit(EXIT_BREACH);
}
