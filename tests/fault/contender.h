/* A contender's parts: contender.c is the process, contender_turn.c what it does with locks of all kinds, and contender_gates.c
 * what it does where there is nothing to hold; contender_loop.c are calls for which it has a loop. */
#pragma once

#include "tests/judge/history.h"
#include "tests/judge/register.h"
#include "tests/support/await.h"
#include "tests/support/leashed.h"
#include "tests/support/random.h"
#include "tests/support/trouble.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>

enum { MAX_LOCKS = 64, MAX_THREADS = 64, SHARED = 2, PERMITS = 3, PARTIES = 3, ARRIVALS = 4, NAME = 64 };

struct worker {
	pthread_t thread;
	unsigned number;
	uint64_t random;
	leash_owner *owner;
	leash_lock *own[MAX_LOCKS];      /* handles for that owner */
	leash_cancel *_Atomic cancel;    /* of its wait, if that may be canceled; self.mutex is held while it is fired and taken away */
};

struct self {
	const char *uri, *folder, *name;
	int64_t seed, lock_count, thread_count, lease_ms, guard_ms, timeout_ms, min_replicas, plain;

	struct history *history;
	struct fenced *registers;
	leash_client *client;
	leash_lock *shared[SHARED][MAX_LOCKS];   /* of all threads; of a read-write lock and of a semaphore none */
	struct worker workers[MAX_THREADS];
	pthread_mutex_t mutex;
	_Atomic uint64_t holds;
	_Atomic bool ending, ended;
};

extern struct self self;

/* Chance, repeatable by the seed. */
static inline uint64_t
roll(uint64_t *random, uint64_t below)
{
	return (random_next(random) >> 11) % below;
}

static inline bool
once_in(uint64_t *random, uint64_t n)
{
	return roll(random, n) == 0;
}

/* An answer that no fault of a server or network explains ends the process. `number`: of the hold. */
_Noreturn void impossible(const char *call, uint64_t number, leash_status status, const leash_error *err);
/* Of a call that waits: it is done, or its wait's end, its cancel or the server is the reason. */
void accept_end(const char *call, uint64_t number, leash_status status, const leash_error *err);

/* How a wait is told that somebody cancels it; NULL: nobody does. Between the two the wait is to begin and end. */
leash_cancel *cancel_begin(struct worker *worker, bool may_be_canceled);
void cancel_end(struct worker *worker, leash_cancel *cancel);

/* ---- contender_turn.c ---- */

enum kind { KIND_LOCK, KIND_READERS, KIND_PERMITS, KIND_REDISSON };

enum kind kind_of(unsigned lock);
leash_lock *handle_new(unsigned lock, leash_owner *owner, leash_mode mode, uint64_t number);
/* That client's and locks' events are told to; `arg`: the number of the hold; NULL: the event says it by its fence. */
void note_event(void *arg, const leash_event *event);
/* Take a lock, of whatever kind, keep it for a while, and give it back. */
void take_a_turn(struct worker *worker);
/* Take each once more, however long that takes. */
void take_them_all(struct worker *worker);

/* ---- contender_loop.c ---- */

/* The thread that dispatches. */
void loop_begin(void);
void loop_end(void);
/* As the calls of leash without loop_, which are begun and told. `cancel_ms`: canceled after so long; -1: never. */
leash_status loop_acquire(leash_lock *lock, const leash_acquire *how, int64_t cancel_ms, leash_error *err);
leash_status loop_acquire_permits(leash_semaphore *semaphore, int64_t count, const leash_acquire *how, int64_t cancel_ms,
                                  leash_permit **permit, leash_error *err);
leash_status loop_release(leash_lock *lock, leash_error *err);
leash_status loop_release_permits(leash_permit *permit, leash_error *err);
leash_status loop_extend(leash_lock *lock, int64_t lease_ms, leash_error *err);

/* ---- contender_gates.c ---- */

/* Be at a barrier, arrive at a latch, or wait for one. */
void visit_a_gate(struct worker *worker);
/* Note who leads, of those who have lock-0, until the end; a thread's. */
void *watch_leaders(void *arg);
