/* A simulation: many clients of leash, in processes that are frozen at random, over a network that loses, delays and doubles;
 * watched by a witness. Used by the tests of the library as it is, and of its mutations. */
#ifndef LEASH_TEST_SIMULATION_H
#define LEASH_TEST_SIMULATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct simulation {
	double seconds;      /* how long it storms */
	uint64_t seed;
	bool until_caught;   /* ends with the first violation; nobody is waited for */
};

struct simulated {
	size_t violations;
	double caught_s;             /* after so long */
	char text[256];              /* which two */
	double lasted_s;
	size_t holds, timeouts, canceled, unavailable, lost, freezes;
	size_t late, dropped, doubled, cut, connections;
	double stalled;              /* share of the time in which somebody waited and nobody held, over all locks */
	double longest_stall_ms;
	size_t keys_left;            /* other than fences, a while after the end */
};

void simulation_run(const struct simulation *simulation, struct simulated *result);
void simulation_print(const struct simulated *result);

/* LEASH_TEST_SEED, else 1. The course of a run depends on the scheduler as well. */
uint64_t simulation_seed(void);

/* A number of seconds from the environment. */
double simulation_seconds(const char *variable, double otherwise);

#endif
