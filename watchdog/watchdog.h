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
 * Every arm() and every forget() adds one to the generation. Whoever was handed (timer, generation) compares it with
 * the timer's: if they are equal the timer is due, else something was decided meanwhile, and it is left alone.
 *
 * Each timer belongs to something that has a mutex. arm() and forget() are called with that held and take the
 * watchdog's inside, which is the last in every order. So whoever writes the generation, due_ns or slack_ns holds both,
 * and holding one of them is enough to read. The index is the heap's alone.
 *
 * A timer may be freed when it was forgotten and every reference that retain() counted was given back.
 *
 * lsh_watchdog_reserve() allocates; nothing else does after lsh_watchdog_new(). Reserve before there is something to
 * lose, then arming cannot fail.
 *
 * The thread sleeps on a timerfd, which arm() sets earlier if need be, but which nobody sets later and forget() does
 * not disarm: an acquire and a release between two renewals cost no system call, for at most one wake-up in vain per
 * period.
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
	uint32_t generation;
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

/* Start the thread. Returns 0 or an errno. Timers may have been armed before. */
int lsh_watchdog_start(struct lsh_watchdog *w);

/* End the thread, if it runs: nothing fires after this. Timers may be armed and forgotten all the time. Not from
 * fire(), nor with a mutex that fire() takes. */
void lsh_watchdog_stop(struct lsh_watchdog *w);

/* Stop it if it runs, and free it. Nobody else uses it any more. NULL is fine. */
void lsh_watchdog_free(struct lsh_watchdog *w);

/* Room for one more timer. False: no memory. */
bool lsh_watchdog_reserve(struct lsh_watchdog *w);

/* Give up the room of a timer that was forgotten. */
void lsh_watchdog_unreserve(struct lsh_watchdog *w);

/* Let the timer, for which room was reserved, fire at due_ns (LSH_NEVER: not at all), or, if another timer fires at
 * that time, up to slack_ns before, at most 4 s; less than 0 counts as 0. Moves it if it is armed. */
void lsh_watchdog_arm(struct lsh_watchdog *w, struct lsh_timer *timer, int64_t due_ns, int64_t slack_ns);

/* Let it not fire; what was handed out before is stale from now on. */
void lsh_watchdog_forget(struct lsh_watchdog *w, struct lsh_timer *timer);

/* What the thread does at `now`: take out up to `max` timers that are due; and if one is, those behind it too that are
 * within their slack. Retains them and returns how many. Here for the tests. */
size_t lsh_watchdog_take_due(struct lsh_watchdog *w, int64_t now, struct lsh_due *due, size_t max);

/* When the first timer is due; LSH_NEVER: none is armed. Here for the tests. */
int64_t lsh_watchdog_next(struct lsh_watchdog *w);

#endif
