/* The threads count for themselves, each in a cache line of its own; who measures reads the counts at the beginning and at
 * the end of the time, while all are at work: so it does not matter how long it takes to start and stop them. */
#include "bench/team.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SECOND_NS INT64_C(1000000000)

struct member {
	alignas(64) _Atomic uint64_t count;
	struct team *team;
	void *desk;
	pthread_t thread;
};

struct team {
	void (*pair)(void *desk);
	int cpu;
	size_t threads;
	pthread_barrier_t gate; /* passed by all, and who measures, before and after each run */
	atomic_bool running, over;
	struct member *members;
};

void
die(const char *format, ...)
{
	va_list args;

	fflush(stdout);
	va_start(args, format);
	fputs("bench: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	exit(2);
}

static int64_t
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
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
	for (;;) {
		pthread_barrier_wait(&team->gate);
		if (atomic_load(&team->over))
			return NULL;
		while (atomic_load_explicit(&team->running, memory_order_relaxed)) {
			team->pair(me->desk);
			atomic_fetch_add_explicit(&me->count, 1, memory_order_relaxed);
		}
		pthread_barrier_wait(&team->gate);
	}
}

static uint64_t
count(const struct team *team)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < team->threads; i++)
		sum += atomic_load_explicit(&team->members[i].count, memory_order_relaxed);
	return sum;
}

double
team_run(struct team *team, int64_t warm_ns, int64_t count_ns)
{
	uint64_t from, to;
	int64_t began, ended;

	atomic_store(&team->running, true);
	pthread_barrier_wait(&team->gate);
	sleep_ns(warm_ns);
	began = now_ns();
	from = count(team);
	do { /* on a busy machine it may take several times to see a single one */
		sleep_ns(count_ns);
		ended = now_ns();
		to = count(team);
	} while (to == from && ended - began < 60 * SECOND_NS);
	atomic_store(&team->running, false);
	pthread_barrier_wait(&team->gate);
	if (to == from)
		die("not a single acquire and release in a minute");
	return (double)(to - from) * (double)SECOND_NS / (double)(ended - began);
}

int64_t
team_cpu_ns(struct team *team)
{
	int64_t sum = 0;

	for (size_t i = 0; i < team->threads; i++) {
		struct timespec t;
		clockid_t clock;

		if (pthread_getcpuclockid(team->members[i].thread, &clock) == 0 && clock_gettime(clock, &t) == 0)
			sum += (int64_t)t.tv_sec * SECOND_NS + t.tv_nsec;
	}
	return sum;
}

struct team *
team_new(void (*pair)(void *desk), void *const *desks, size_t threads, int cpu)
{
	struct team *team = calloc(1, sizeof *team);

	if (team == NULL || (team->members = aligned_alloc(64, threads * sizeof *team->members)) == NULL)
		die("no memory");
	team->pair = pair;
	team->cpu = cpu;
	team->threads = threads;
	pthread_barrier_init(&team->gate, NULL, (unsigned)threads + 1);
	for (size_t i = 0; i < threads; i++) {
		struct member *member = &team->members[i];

		*member = (struct member){ .team = team, .desk = desks[i] };
		if (pthread_create(&member->thread, NULL, work, member) != 0)
			die("cannot start %zu threads", threads);
	}
	return team;
}

void
team_free(struct team *team)
{
	atomic_store(&team->over, true);
	pthread_barrier_wait(&team->gate);
	for (size_t i = 0; i < team->threads; i++)
		pthread_join(team->members[i].thread, NULL);
	pthread_barrier_destroy(&team->gate);
	free(team->members);
	free(team);
}
