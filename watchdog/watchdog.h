/* The watchdog: one thread per client that hands out timers when they are due. What a timer stands for (a lease to
 * renew, a place in a queue to speak for) is for those who made it to know; this knows no Redis and no locks.
 *
 * The life of a timer:
 *
 *                 arm()                   due, or nearly: retain()
 *      IDLE ----------------> ARMED -----------------------------------> IDLE
 *       ^                    |  ^  |                                      and (timer, generation), with its reference,
 *       |      forget()      |  |  | arm(): moved                         goes through fire() to whoever serves it
 *       +--------------------+  +--+
 *
 *   Every arm() and every forget(), in whatever state, adds one to the generation. Whoever was handed (timer,
 *   generation) compares it with the timer's. If they are equal the timer is due, and nothing was decided about it
 *   since. Else it is stale: a decision was made meanwhile, and it is left alone. So at most one of those that are
 *   under way is ever served.
 *
 * Mutexes. Each timer belongs to something that has a mutex (a lock's, "the owner's"). arm() and forget() are called
 * with the owner's mutex held and take the watchdog's inside. So whoever writes the generation, due_ns or slack_ns
 * holds both mutexes, and holding one of them is enough to read: those who serve a timer hold the owner's, the
 * watchdog's thread its own, and neither needs atomics. The index belongs to the heap alone and is not read by
 * owners. Nothing is locked inside the watchdog's mutex: it is the last in every order.
 *
 * References. A timer may be freed only when it was forgotten and every reference that retain() counted was given back.
 *
 * Memory. lsh_watchdog_reserve() allocates; nothing else does after lsh_watchdog_new(). Reserve before there is
 * something to lose, then arming cannot fail. A reservation may outlive many rounds of arm() and forget().
 *
 * System calls. The thread sleeps on a timerfd, which arm() sets earlier if need be, but which nobody sets later and
 * forget() does not disarm: an acquire and a release between two renewals cost none. The price is one wake-up for
 * nothing per renewal period at most, which then sets the timer to what comes next.
 *
 * A child of fork() must call none of this: the timerfd is one with the parent's. */
#ifndef LSH_WATCHDOG_WATCHDOG_H
#define LSH_WATCHDOG_WATCHDOG_H

#include "watchdog/heap.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As many timers at most are handed to one call of fire(). */
#define LSH_WATCHDOG_BATCH 256

struct lsh_watchdog;

/* A timer that came due, as it was then. */
struct lsh_due {
	struct lsh_timer *timer;
	uint64_t generation;
};

struct lsh_watchdog_ops {
	/* lsh_now_ns(), or what a test likes. LSH_NEVER (a clock that cannot be read): everything is due. */
	int64_t (*now)(void);

	/* Count one reference to what holds the timer. The watchdog's mutex is held: lock nothing. */
	void (*retain)(struct lsh_timer *timer);

	/* Serve `count` timers (1 to LSH_WATCHDOG_BATCH), the first due first, and give back a reference each. On the
	 * watchdog's thread with no mutex held. All other timers wait for it to return. Stale ones are among them. */
	void (*fire)(void *ctx, const struct lsh_due *due, size_t count);
};

/* `ops` is copied. NULL: no memory. */
struct lsh_watchdog *lsh_watchdog_new(const struct lsh_watchdog_ops *ops, void *ctx);

/* Start the thread. Returns 0 or an errno; then it may be tried again. Timers may have been armed before. */
int lsh_watchdog_start(struct lsh_watchdog *w);

/* End the thread: nothing fires after this has returned; what was being fired has been. No-op if it does not run.
 * Timers may be armed and forgotten before, meanwhile and after. Not from fire(), nor with a mutex that fire()
 * takes. */
void lsh_watchdog_stop(struct lsh_watchdog *w);

/* Stop it if it runs, and free it. Nobody else uses it any more. NULL is fine. */
void lsh_watchdog_free(struct lsh_watchdog *w);

/* In a forked child: close the child's copy of the descriptor, and touch nothing else. */
void lsh_watchdog_after_fork(struct lsh_watchdog *w);

/* Room for one more timer. False: no memory. */
bool lsh_watchdog_reserve(struct lsh_watchdog *w);

/* Give up the room of a timer that was forgotten. */
void lsh_watchdog_unreserve(struct lsh_watchdog *w);

/* Let the timer, for which room was reserved, fire at due_ns and not before (LSH_NEVER: not at all), or, if another
 * timer fires at that time, up to slack_ns before; less than 0 counts as 0. Moves it if it is armed. The owner's
 * mutex is held. */
void lsh_watchdog_arm(struct lsh_watchdog *w, struct lsh_timer *timer, int64_t due_ns, int64_t slack_ns);

/* Let it not fire; what was handed out before is stale from now on. The owner's mutex is held. */
void lsh_watchdog_forget(struct lsh_watchdog *w, struct lsh_timer *timer);

/* What the thread does at `now`: take out up to `max` timers that are due; and if one is, those next in order too,
 * as long as each is within its slack. Retains them and returns how many. Here for the tests. */
size_t lsh_watchdog_take_due(struct lsh_watchdog *w, int64_t now, struct lsh_due *due, size_t max);

/* When the first timer is due; LSH_NEVER: none is armed. Here for the tests. */
int64_t lsh_watchdog_next(struct lsh_watchdog *w);

#endif
