/* Threads that a command has beside its main one, with all signals blocked; those of `leash run` have a bell that ends
 * their sleep. */
#ifndef LEASH_TOOLS_THREAD_H
#define LEASH_TOOLS_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct side_thread {
	pthread_t thread;
	int bell; /* an eventfd */
};

/* False: no thread. */
bool thread_start(pthread_t *thread, void *(*run)(void *), void *arg);

/* A condition that waits by the clock of clock_steady_ns(). */
void thread_init_monitor(pthread_mutex_t *mutex, pthread_cond_t *changed);

/* Mutex held: wait until `*flag`, for at most `ms`. Returns it. */
enum { THREAD_BLINK_MS = 100 }; /* which nobody minds waiting for */
bool thread_await(pthread_mutex_t *mutex, pthread_cond_t *changed, const bool *flag, int64_t ms);

/* False: no thread, or no descriptor. */
bool thread_begin(struct side_thread *thread, void *(*run)(void *), void *arg);

/* By the thread itself. False: the bell has rung. */
bool thread_sleep(const struct side_thread *thread, int64_t ms);

void thread_ring(int bell);
void thread_end(struct side_thread *thread); /* rings, and waits for the thread's end */

#endif
