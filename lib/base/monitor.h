/* A monitor: a mutex, and what is to be done as soon as it is free.
 *
 * Whoever decides something under the mutex and has to tell a thread of it, or to call back, says so by
 * lsh_monitor_later(): this mutex is not held across a callback, and whoever is woken does not run into it. The links
 * lie in their owners' memory. */
#ifndef LSH_BASE_MONITOR_H
#define LSH_BASE_MONITOR_H

#include <pthread.h>
#include <stddef.h>

struct lsh_later {
	struct lsh_later *next;
	void (*run)(struct lsh_later *self); /* the monitor is left, but not what was locked before it; its last touch */
};

struct lsh_monitor {
	pthread_mutex_t mutex;
	struct lsh_later *last; /* the others behind it, the first one in the end */
};

static inline void
lsh_monitor_init(struct lsh_monitor *monitor)
{
	pthread_mutex_init(&monitor->mutex, NULL);
	monitor->last = NULL;
}

static inline void
lsh_monitor_destroy(struct lsh_monitor *monitor)
{
	pthread_mutex_destroy(&monitor->mutex);
}

static inline void
lsh_monitor_enter(struct lsh_monitor *monitor)
{
	pthread_mutex_lock(&monitor->mutex);
}

/* Entered. `later` is in no monitor yet. */
static inline void
lsh_monitor_later(struct lsh_monitor *monitor, struct lsh_later *later)
{
	later->next = monitor->last;
	monitor->last = later;
}

static inline void
lsh_monitor_leave(struct lsh_monitor *monitor)
{
	struct lsh_later *at = monitor->last, *first = NULL;

	monitor->last = NULL;
	pthread_mutex_unlock(&monitor->mutex);
	while (at != NULL) {
		struct lsh_later *next = at->next;

		at->next = first;
		first = at;
		at = next;
	}
	while (first != NULL) {
		struct lsh_later *next = first->next;

		first->run(first);
		first = next;
	}
}

#endif
