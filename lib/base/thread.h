/* Threads: our own, which the application must not notice, and what we know of the application's. And owners, who hold:
 * each thread is one, and so is what an application makes to let a hold move between its threads. */
#ifndef LSH_BASE_THREAD_H
#define LSH_BASE_THREAD_H

#include "base/park.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct leash_owner {
	uint64_t id;            /* never 0, never used again in this process */
	uint64_t process;       /* an application's own: the one that made it */
	atomic_uint holds;      /* of locks, over all clients */
	atomic_uint references; /* an application's own; 0: a thread's, whose memory stays */
	_Atomic int64_t valid_until; /* of a permit, whose owner this is: its end */
	atomic_bool busy;       /* an application's own: a thread acquires for it at this moment */
	atomic_bool gone;       /* an application's own: it was freed, and only handles and holds know of it */
};

/* A number for a new owner. */
uint64_t lsh_owner_id(void);

void lsh_owner_unref(struct leash_owner *owner); /* NULL is allowed */

/* What leash knows of one thread of the application, or of its own. Made at the thread's first call; reused, as a new
 * owner, after the thread has ended; never unmapped (park.h says why). */
struct lsh_thread {
	struct lsh_parker parker;
	struct leash_owner owner; /* an ending thread whose owner has no holds costs nothing */
	struct lsh_thread *next_free;
};

/* The calling thread; NULL if there is no memory for it. A forked child starts anew, with threads of its own. */
struct lsh_thread *lsh_self(void);

/* The calling thread if it has ever called, else NULL: for questions that need not make it known. */
struct lsh_thread *lsh_self_if_known(void);

/* `ended` is called on a thread that ends while its owner has holds. One observer, set once, at the first open. */
void lsh_thread_observe(void (*ended)(struct lsh_thread *thread));

/* What surrounds each way into the library, a call as well as the end of a thread: errno stays as it was, and
 * nothing in it is a cancellation point. */
struct lsh_guard {
	int saved_errno, cancel_state, cancel_type;
};

struct lsh_guard lsh_enter(void);
void lsh_leave(const struct lsh_guard *guard);

/* From here on to the end of the block. */
#define lsh_guarded() __attribute__((cleanup(lsh_leave), unused)) const struct lsh_guard guard_ = lsh_enter()

/* Start a thread of our own: all signals blocked. Returns 0 or an errno (ENOMEM, EAGAIN), which is errno then, too. */
int lsh_thread_start(pthread_t *thread, void *(*run)(void *), void *arg);

/* The first thing that it does: take a name of up to 15 bytes, for debugging, and refuse to be canceled, as a callback
 * on it could ask for: it would end with a mutex held. No other thread may name it: glibc would open a file for that,
 * which a program executed by a third thread at that moment would inherit. */
void lsh_thread_begin(const char *name);

#endif
