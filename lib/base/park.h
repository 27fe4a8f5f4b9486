/* A parker: where one thread sleeps until another wakes it.
 *
 *            park()                      unpark()
 *   IDLE -----------> ASLEEP ----------------------------> IDLE, and the sleeper runs
 *   IDLE --unpark()--> PERMIT --park() or poll_begin()--> IDLE, without sleeping
 *   IDLE --poll_begin(fd)--> POLLING ---unpark(): a write to the eventfd fd---> PERMIT
 *
 * A wake-up that comes first is kept; none is lost. Some are spurious: the sleeper rechecks what it waits for.
 *
 * The memory of a parker stays readable for the life of the process (base/thread.c keeps it), because a waker may
 * come to unpark() after the sleeper's stack frame has gone. A thread that sleeps in poll() carries the number of its
 * kick, an eventfd, in the word itself. A late waker may write to that kick after its sleeper has left, so kicks are
 * never closed, but used again: the write is then one more spurious wake-up, and not eight bytes in another file. */
#ifndef LSH_BASE_PARK_H
#define LSH_BASE_PARK_H

#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/eventfd.h>

struct lsh_parker {
	_Atomic uint32_t word;
	void *_Atomic at;         /* the pipeline in whose lsh_pipeline_wait() its thread is */
	_Atomic uint64_t untimed; /* of a pipeline: for the command before that one its thread has no timer; 0: none */
};

/* Sleep until unparked or until `deadline` (ns, LSH_NEVER: no end). */
void lsh_park(struct lsh_parker *parker, int64_t deadline);

/* An eventfd to be woken in poll() by, and its return. -1: errno says what there is no more of. */
int lsh_kick_take(void);
void lsh_kick_give(int fd); /* -1 is allowed */

/* Wake who polls it. Does not block: the counter is far from full, and a full one is as good as a wake-up. */
static inline void
lsh_kick(int fd)
{
	eventfd_write(fd, 1);
}

/* Sleep until one of `n` descriptors is ready, or it is `until`. `polled[0]` is for the kick `fd`, or -1, and is filled
 * in here. False: a signal came. */
bool lsh_kick_poll(int fd, struct pollfd *polled, nfds_t n, int64_t until);

/* Before poll() with the kick `fd` among its descriptors. False: a wake-up is there already, do not sleep. */
bool lsh_park_poll_begin(struct lsh_parker *parker, int fd);
void lsh_park_poll_end(struct lsh_parker *parker);

void lsh_unpark(struct lsh_parker *parker);

#endif
