/* Threads that `leash run` has beside its main one, with all signals blocked, and a bell that ends their sleep. */
#ifndef LEASH_TOOLS_THREAD_H
#define LEASH_TOOLS_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct side_thread {
	pthread_t thread;
	int bell; /* an eventfd */
};

/* False: no thread, or no descriptor. */
bool thread_begin(struct side_thread *thread, void *(*run)(void *), void *arg);

/* By the thread itself. False: the bell has rung. */
bool thread_sleep(const struct side_thread *thread, int64_t ms);

void thread_ring(int bell);
void thread_end(struct side_thread *thread); /* rings, and waits for the thread's end */

#endif
