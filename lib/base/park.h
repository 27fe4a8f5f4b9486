/* A parker: where one thread sleeps until another wakes it.
 *
 *            park()                      unpark()
 *   IDLE -----------> ASLEEP ----------------------------> IDLE, and the sleeper runs
 *   IDLE --unpark()--> PERMIT --park() or poll_begin()--> IDLE, without sleeping
 *   IDLE --poll_begin(fd)--> POLLING ---unpark(): a write to the eventfd fd---> PERMIT
 *
 * A wake-up that comes first is kept, and none is lost. A spurious one is possible: the sleeper rechecks what it waits for.
 *
 * The memory of a parker stays readable for the life of the process (base/thread.c keeps it), because a waker may come to
 * unpark() when what the sleeper waited for, and so the sleeper's stack frame, is long gone. A thread that sleeps in
 * poll() carries the number of its eventfd in the word itself; the waker must be one of those for whom that descriptor is
 * still open, which everybody is who serves the client that owns it. */
#ifndef LSH_BASE_PARK_H
#define LSH_BASE_PARK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct lsh_parker {
	_Atomic uint32_t word;
};

/* Sleep until unparked or until `deadline` (ns, LSH_NEVER: no end). */
void lsh_park(struct lsh_parker *parker, int64_t deadline);

/* Before sleeping in poll() with the eventfd `fd` among what is polled. False: a wake-up is there already, do not sleep. */
bool lsh_park_poll_begin(struct lsh_parker *parker, int fd);
void lsh_park_poll_end(struct lsh_parker *parker);

void lsh_unpark(struct lsh_parker *parker);

#endif
