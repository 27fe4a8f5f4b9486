/* Threads that do one thing over and over, for as long as they are told to: one side of a comparison. */
#ifndef LEASH_BENCH_TEAM_H
#define LEASH_BENCH_TEAM_H

#include <stddef.h>
#include <stdint.h>

struct team;

/* A thread for each of `desks`, which calls `pair` with it; all stand still between runs. `cpu`: where they run, -1: anywhere. */
struct team *team_new(void (*pair)(void *desk), void *const *desks, size_t threads, int cpu);
void team_free(struct team *team);

/* Let all run for `warm_ns`, and then count for `count_ns`: calls per second, of all threads together. */
double team_run(struct team *team, int64_t warm_ns, int64_t count_ns);

/* The CPU time in ns that the threads have used so far. */
int64_t team_cpu_ns(struct team *team);

/* Say why nothing can be measured, and exit. */
_Noreturn void die(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
