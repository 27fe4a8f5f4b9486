/* Actors: threads that do what a test tells them, one thing at a time, in the test's process or in a child of it.
 *
 * An actor lies in memory that both see, zeroed at first. What it is to do is a function, which both have at the same
 * address. One thread tells it; nobody looks at what came of it before it was heard. */
#pragma once

#include "tests/support/child.h"
#include "tests/support/leashed.h"

#include <pthread.h>

struct actor;
typedef void actor_act(struct actor *actor);

struct actor {
	/* with what; for whoever tells to set */
	leash_lock *lock;
	leash_semaphore *semaphore; /* instead of a lock: it takes one permit */
	leash_permit *permit;       /* what it has taken */
	leash_cancel *cancel;
	int64_t wait_ms;
	unsigned turns;
	void *ctx;

	/* what came of it */
	leash_status status;
	leash_error err;
	_Atomic int64_t began_ns;   /* just before leash was called */
	int64_t ended_ns;           /* just after it had returned */
	bool held;
	unsigned depth, count;
	uint64_t fence;

	/* the actor's own */
	actor_act *act;
	struct stage told, done;
	_Atomic pid_t tid;
	pthread_t thread;
};

/* In the process in which it is to act. An actor ends when it is told NULL. */
void actor_start(struct actor *actor);
void actor_begin(struct actor *actor, leash_lock *lock, int64_t wait_ms); /* the same, with these and nothing else */
void actor_join(struct actor *actor);
void actor_end(struct actor *actor);       /* it is told to end, and joined */
void actor_dismiss(struct actor *actor);   /* and its lock freed */

void actor_tell(struct actor *actor, actor_act *act);   /* returns at once */
bool actor_is_done(const struct actor *actor);
void actor_hear(struct actor *actor);                   /* until it has done what it was told */

/* Until it sleeps, and goes on sleeping, in a call of leash: it has come to where it waits. */
void actor_await_asleep(struct actor *actor);

/* Hear it, and what it did came to `expected`. */
#define assert_heard(expected, actor) actor_check((expected), (actor), __FILE__, __LINE__)

/* Have it done, and that comes to `expected`. */
#define assert_done(expected, actor, act) \
	do { \
		actor_tell((actor), (act)); \
		assert_heard((expected), (actor)); \
	} while (0)

void actor_check(leash_status expected, struct actor *actor, const char *file, int line);

/* For its acts: acquire and release with what it has. */
leash_status actor_take(struct actor *actor, const leash_acquire *how);
leash_status actor_give(struct actor *actor);

/* What it can do. After the first two it has looked as well. */
actor_act actor_acquire;   /* `lock`, with `wait_ms` and `cancel` */
actor_act actor_release;   /* `lock` */
actor_act actor_look;      /* held, depth and fence of `lock` */
actor_act actor_fire;      /* `cancel` */
