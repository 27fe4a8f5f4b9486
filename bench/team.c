/* The threads are new each time: where the scheduler puts them decides much of what they achieve, and those that stayed
 * would keep a lucky or unlucky place for a whole line of the table.
 *
 * They count for themselves, each in a cache line of its own. Who measures reads the counts at the beginning and at the
 * end of the time, while all are at work: so it does not matter how long it takes to start and stop them. */
#include "bench/team.h"

#include "bench/program.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SECOND_NS INT64_C(1000000000)

struct team {
	void (*pair)(void *desk);
	int cpu;
	atomic_bool over;
};

struct member {
	alignas(64) _Atomic uint64_t count;
	struct team *team;
	void *desk;
	int64_t cpu_ns; /* when it has ended */
	pthread_t thread;
};

static int64_t
read_clock(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * SECOND_NS + t.tv_nsec;
}

static void
sleep_ns(int64_t ns)
{
	struct timespec t = { .tv_sec = ns / SECOND_NS, .tv_nsec = ns % SECOND_NS };

	while (nanosleep(&t, &t) != 0 && errno == EINTR)
		continue;
}

static void
pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	if (sched_setaffinity(0, sizeof set, &set) != 0)
		die("cannot run on CPU %d: %s", cpu, strerror(errno));
}

static void *
work(void *arg)
{
	struct member *me = arg;
	struct team *team = me->team;

	if (team->cpu >= 0)
		pin(team->cpu);
	while (!atomic_load_explicit(&team->over, memory_order_relaxed)) {
		team->pair(me->desk);
		atomic_fetch_add_explicit(&me->count, 1, memory_order_relaxed);
	}
	me->cpu_ns = read_clock(CLOCK_THREAD_CPUTIME_ID);
	return NULL;
}

static uint64_t
sum_counts(const struct member *members, size_t n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += atomic_load_explicit(&members[i].count, memory_order_relaxed);
	return sum;
}

/* Calls per second of those who are at work. On a busy machine it may take several times `ns` to see a single one. */
static double
measure(const struct member *members, size_t n, int64_t ns)
{
	int64_t began = read_clock(CLOCK_MONOTONIC), ended;
	uint64_t from = sum_counts(members, n), to;

	do {
		sleep_ns(ns);
		ended = read_clock(CLOCK_MONOTONIC);
		to = sum_counts(members, n);
	} while (to == from && ended - began < 60 * SECOND_NS);
	if (to == from)
		die("not a single acquire and release in a minute");
	return (double)(to - from) * (double)SECOND_NS / (double)(ended - began);
}

struct team_result
team_run(void (*pair)(void *desk), void *const *desks, size_t threads, int cpu, int64_t ns)
{
	struct team team = { .pair = pair, .cpu = cpu };
	struct member *members = aligned_alloc(alignof(struct member), threads * sizeof *members);
	struct team_result result = { 0 };

	if (members == NULL)
		die("no memory");
	for (size_t i = 0; i < threads; i++) {
		members[i] = (struct member){ .team = &team, .desk = desks[i] };
		if (pthread_create(&members[i].thread, NULL, work, &members[i]) != 0)
			die("cannot start %zu threads", threads);
	}
	sleep_ns(ns / 10);
	result.per_second = measure(members, threads, ns);
	atomic_store(&team.over, true);
	for (size_t i = 0; i < threads; i++) {
		pthread_join(members[i].thread, NULL);
		result.cpu_us += (double)members[i].cpu_ns / 1e3;
	}
	result.cpu_us /= (double)sum_counts(members, threads);
	free(members);
	return result;
}
