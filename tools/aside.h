/* Threads that `leash run` has beside its main one, with all signals blocked, and a bell that ends their sleep. */
#ifndef LEASH_TOOLS_ASIDE_H
#define LEASH_TOOLS_ASIDE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct aside {
	pthread_t thread;
	int bell; /* an eventfd */
};

/* CLOCK_BOOTTIME: it goes on while the machine sleeps, as leases do. */
int64_t aside_now_ns(void);

/* False: no thread, or no descriptor. */
bool aside_begin(struct aside *aside, void *(*run)(void *), void *arg);

/* By the thread: sleep so long. False: the bell has rung. */
bool aside_sleep(const struct aside *aside, int64_t ms);

void aside_ring(int bell);
void aside_end(struct aside *aside); /* rings, and waits for the thread's end */

#endif
