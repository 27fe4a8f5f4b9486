/* A monitor: a mutex, and what is to be done as soon as it is free.
 *
 * Whoever decides something under the mutex and has to tell a thread of it, or to call back, says so by
 * lsh_monitor_later(): this mutex is not held across a callback, and whoever is woken does not run into it. The links
 * lie in their owners' memory.
 *
 * The mutex is a futex, of 4 bytes and not of 40: there is one for each lock. It is the third one of Drepper's Futexes
 * Are Tricky: who finds it taken says so by AWAITED, and sleeps; who frees it wakes one of them, who says AWAITED
 * again, as there may be others. */
#ifndef LSH_BASE_MONITOR_H
#define LSH_BASE_MONITOR_H

#include <linux/futex.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct lsh_later {
	struct lsh_later *next;
	void (*run)(struct lsh_later *self); /* the monitor is left, but not what was locked before it; its last touch */
};

enum lsh_monitor_state { LSH_MONITOR_FREE, LSH_MONITOR_TAKEN, LSH_MONITOR_AWAITED };

struct lsh_monitor {
	struct lsh_later *last; /* the others behind it, the first one in the end */
	_Atomic uint32_t state;
};

void lsh_monitor_futex(struct lsh_monitor *monitor, int operation, uint32_t value); /* futex(2); errno stays */

static inline void
lsh_monitor_init(struct lsh_monitor *monitor)
{
	monitor->last = NULL;
	atomic_init(&monitor->state, LSH_MONITOR_FREE);
}

static inline void
lsh_monitor_enter(struct lsh_monitor *monitor)
{
	uint32_t is_free = LSH_MONITOR_FREE;

	if (atomic_compare_exchange_strong(&monitor->state, &is_free, LSH_MONITOR_TAKEN))
		return;
	while (atomic_exchange(&monitor->state, LSH_MONITOR_AWAITED) != LSH_MONITOR_FREE)
		lsh_monitor_futex(monitor, FUTEX_WAIT_PRIVATE, LSH_MONITOR_AWAITED);
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
	if (atomic_exchange(&monitor->state, LSH_MONITOR_FREE) == LSH_MONITOR_AWAITED)
		lsh_monitor_futex(monitor, FUTEX_WAKE_PRIVATE, 1);
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

/* Enter it from here on to the end of the block, in which it must not go. */
#define lsh_within(monitor)                                                             \
	__attribute__((cleanup(lsh_monitor_leave_), unused)) struct lsh_monitor *const entered_ = \
		lsh_monitor_entered_(monitor)

static inline struct lsh_monitor *
lsh_monitor_entered_(struct lsh_monitor *monitor)
{
	lsh_monitor_enter(monitor);
	return monitor;
}

static inline void
lsh_monitor_leave_(struct lsh_monitor *const *monitor)
{
	lsh_monitor_leave(*monitor);
}

#endif
