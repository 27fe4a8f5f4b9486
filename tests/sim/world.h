/* The simulated world: one thread, a clock that goes from one event to the next, and chance that follows from a seed.
 * Two runs with the same seed do the same.
 *
 *   events.c   what happens when; the clock; chance                        this header
 *   fiber.c    the threads of clients: each runs until it blocks           fiber.h
 *   net.c      descriptors: sockets, eventfds, timerfds; what is on its way  net.h
 *   system.c   the calls that clients make to the system (--wrap)
 *   speaker.c  what a server says on a connection
 *   site.c     the servers of a deployment                                 site.h
 *   cluster.c  which of them has which slot
 *   people.c   clients and their threads, which use leash                  people.h
 *   acts.c     what such a thread does, one call or hold after another
 *   gates.c    at barriers and latches, too
 *   judge*.c   what they may never see                                     judge.h
 *   faults.c   what goes wrong
 *
 * A client is the library as it is, from leash_open() down to send(); no file of it is replaced. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_US INT64_C(1000)
#define SIM_MS (1000 * SIM_US)
#define SIM_S (1000 * SIM_MS)
#define SIM_NEVER INT64_MAX

/* A client's process. */
struct sim_process {
	int64_t frozen_until; /* none of its threads runs */
	int64_t tired;        /* it stands still for so long as soon as it sends something; 0: it does not */
	bool stood_still;     /* once, at least */
	bool dead;            /* nor ever will */
	int64_t short_until;  /* it gets memory and descriptors only now and then */
	int number;           /* from 0 on */
};

extern int64_t sim_now; /* ns: what clients see as CLOCK_BOOTTIME */
extern uint64_t sim_steps; /* events so far */

/* ---- events ---- */

/* Let happen(what, turn) be called at `at`, or now if that has passed. Of one time the first said comes first. */
void sim_at(int64_t at, void (*happen)(void *what, uint64_t turn), void *what, uint64_t turn);
void sim_step(void); /* the next event; there has to be one */

/* ---- chance ---- */

void sim_seed(uint64_t seed);
uint32_t sim_random(uint32_t below);
int64_t sim_between(int64_t least, int64_t most);
bool sim_chance(double share);

/* ---- what is told ---- */

extern bool sim_traces;
void sim_trace(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Something that must not be. Ends the process. */
void sim_breach(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
extern void (*sim_on_breach)(void); /* before that, to say where */
