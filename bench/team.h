/* Threads that do one thing over and over for a while: one side of a comparison. */
#ifndef LEASH_BENCH_TEAM_H
#define LEASH_BENCH_TEAM_H

#include <stddef.h>
#include <stdint.h>

struct team_result {
	double per_second; /* calls of all threads together */
	double cpu_us;     /* CPU time of these threads for each call */
};

/* A thread for each of `desks` calls `pair` with it: a tenth of `ns` uncounted, then for `ns`. `cpu` -1: anywhere. */
struct team_result team_run(void (*pair)(void *desk), void *const *desks, size_t threads, int cpu, int64_t ns);

#endif
