/* Fibers: the threads of simulated clients. One runs until it blocks; then the next event happens.
 *
 *   RUNNING --block()--> BLOCKED --woken, or its time has come--> RUNNING (a little later) --returns--> ENDED
 *
 * Whoever waits for something waits on an address: that of a futex, a condition, a descriptor, a fiber that ends. */
#pragma once

#include "base/thread.h"
#include "tests/sim/world.h"

#include <poll.h>

struct sim_fiber;

/* Start one; it runs soon. */
struct sim_fiber *sim_fiber_start(struct sim_process *process, void *(*run)(void *arg), void *arg);
/* Run one now. False: it does not come to its end. */
bool sim_fiber_run(struct sim_process *process, void *(*run)(void *arg), void *arg);

struct sim_process *sim_process_self(void);   /* likewise */
bool sim_runs_short(void);                    /* does it get no memory just now, and no descriptor? */
struct lsh_thread *sim_fiber_thread(void);    /* what leash knows of the running fiber as a thread */
void sim_fiber_join(struct sim_fiber *fiber); /* blocks until it has ended */
bool sim_block(const void *address, int64_t until); /* block on an address until it is woken (true), or until `until` */
/* The same on any of these descriptors. */
bool sim_block_polling(const struct pollfd *polled, nfds_t count, int64_t until);
void sim_sleep(int64_t ns);

/* Wake those of the process that block on the address, at most so many; or poll the descriptor. */
void sim_wake(const struct sim_process *process, const void *address, int most);
void sim_wake_pollers(const struct sim_process *process, int fd);
extern int64_t sim_sluggishness; /* how long a thread that can run waits for a processor, at most */

/* What to call where a thread ends that holds locks, as lsh_thread_observe() was told. */
extern void (*sim_observer)(struct lsh_thread *thread);
