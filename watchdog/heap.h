/* A delay queue: timers in the order in which they are due.
 *
 * A binary min-heap of pointers. The timer is the caller's storage and knows its own place, so that any timer can be
 * moved or taken out in O(log n): a lock that is released leaves nothing behind that would come due later.
 *
 * Room is reserved before it is needed, one place per timer: so running out of memory shows while nothing is held yet.
 * count <= reserved <= capacity holds at all times. Not for threads: the watchdog enters with its mutex held. */
#ifndef LSH_WATCHDOG_HEAP_H
#define LSH_WATCHDOG_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero: a timer that is in no heap. */
struct lsh_timer {
	int64_t due_ns;
	uint32_t slack_ns;   /* how much before due_ns it may be served when others are served anyway */
	uint32_t generation; /* see watchdog.h */
	uint32_t index;      /* its place in the heap + 1; 0: not in it */
};

/* All zero: an empty heap. */
struct lsh_heap {
	struct lsh_timer **slot;
	size_t count;    /* timers that are in it */
	size_t capacity; /* slots that there is memory for */
	size_t reserved; /* timers that may be in it */
};

/* Room for one more timer, until lsh_heap_unreserve(). False: no memory, nothing has changed. */
bool lsh_heap_reserve(struct lsh_heap *heap);

/* Give up the room for one timer that is not in the heap. What lies idle goes back bit by bit with later
 * reservations. */
void lsh_heap_unreserve(struct lsh_heap *heap);

/* Put in a timer for which room was reserved; or, when its due_ns has just been changed in the heap, move it. */
void lsh_heap_put(struct lsh_heap *heap, struct lsh_timer *timer);

/* Take a timer out; nothing if it is not in. */
void lsh_heap_remove(struct lsh_heap *heap, struct lsh_timer *timer);

/* The timer that is due first; NULL if there is none. */
struct lsh_timer *lsh_heap_top(const struct lsh_heap *heap);

/* Take out every timer, drop every reservation, give back the memory: an empty heap, as at first. */
void lsh_heap_clear(struct lsh_heap *heap);

#endif
