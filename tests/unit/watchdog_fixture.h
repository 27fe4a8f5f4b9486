/* What the tests of the watchdog share: a watchdog, owners whose timers it serves, and what it costs in system calls. */
#ifndef LEASH_TEST_WATCHDOG_FIXTURE_H
#define LEASH_TEST_WATCHDOG_FIXTURE_H

#include "base/clock.h"
#include "watchdog/watchdog.h"

#include "tests/support/counted.h"
#include "tests/support/test.h"

#include <pthread.h>
#include <stdatomic.h>

#define HOUR (3600 * LSH_S)

/* The system call by which the thread is woken. */
extern atomic_uint settings;
extern _Atomic int64_t last_setting;

/* What a lock is to the watchdog. */
struct owner {
	struct lsh_timer timer; /* first, so that one is the other */
	pthread_mutex_t mutex;  /* guards what follows, and arms and forgets the timer */
	bool armed;
	bool again;             /* arm it anew when it fires, as a renewal does */
	int64_t from_ns;        /* not to fire before */
	unsigned fired;
	atomic_int references;
};

/* The context of a watchdog under test. */
struct fixture {
	struct lsh_watchdog *w;
	atomic_uint batches, fired, stale, wrong, largest_batch;
	atomic_int owners;
	atomic_bool hold, holding, left; /* whether fire() is to stay; stays; has returned */
};

extern struct fixture *fixture; /* where drop() counts */

struct owner *owner_of(struct lsh_timer *timer);
struct owner *new_owner(void); /* with room for its timer */
void drop(struct owner *o);
void drop_all(struct owner *const *o, size_t n, int times);
void arm(struct owner *o, int64_t due, int64_t slack);
void forget(struct owner *o);

/* What a watchdog is told to do. */
void retain(struct lsh_timer *timer);
/* What everybody does who serves a timer. */
void serve(struct fixture *f, struct lsh_due due);
void fire(void *ctx, const struct lsh_due *due, size_t count);

extern const struct lsh_watchdog_ops ops; /* those, by the clock */

/* Before and after each test. */
void fixture_open_with(const struct lsh_watchdog_ops *how);
void fixture_open(void);
void fixture_close(void);

/* Start the thread, and wait until it sleeps. */
void start(struct fixture *f);

#endif
