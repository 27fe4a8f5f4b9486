/* A scene: the processes of a law, each with a client and some actors, and what they share with the test. It is set in
 * the deployment that LEASH_TEST_DEPLOYMENT names (tests/support/place.h).
 *
 * The test's own process uses nothing of leash; it tells the actors what to do and looks into Redis. It must have no
 * threads when the processes are started. After each law, once they have ended, nothing may be left in Redis but fences:
 * at once, or one lease later where one was killed; and of those who were killed, who they were. */
#pragma once

#include "tests/support/actor.h"
#include "tests/contract/laws.h"
#include "tests/support/judge.h"
#include "tests/support/place.h"

enum {
	PARTIES = 3,
	ACTORS = 4, /* of each */
};

/* A process. Its actors wait for LEASH_FOREVER for `lock` unless they are told otherwise. */
struct party {
	leash_options open_with;
	leash_lock_options options;
	struct stage ready;
	pid_t pid; /* 0: it has ended */
	struct leashed_events events;
	struct actor actor[ACTORS];

	/* its own; only it can follow these */
	leash_client *client;
	leash_lock *lock, *other; /* "law" and "other" */
	leash_semaphore *permits, *other_permits; /* or these */
};

struct scene {
	const struct kind *kind;
	struct judge *judge;     /* for the test to make, before the start */
	_Atomic uint32_t grants; /* so far, see scene_number */
	int64_t lease_ms;
	struct party party[PARTIES];
};

extern struct scene *scene; /* of the present test */

/* Around each test. */
void scene_set(void);
void scene_clear(void);

/* In a quorum no lease is longer than its guard. */
void scene_start(const struct kind *kind, int64_t lease_ms, int64_t timeout_ms);
void scene_end(void);   /* all processes, in good order: whatever their actors hold is released */
void scene_kill(struct party *party);

/* Let it wait, and see it in its line: in Redis, or within its process where it comes to no place of its own. Where there
 * is no queue in Redis: see it ask. */
void scene_let_wait(struct actor *actor, actor_act *act);

/* The channels in Redis on which clients listen for their wake-up, as each does from before its first ask. */
size_t scene_listeners(void);

/* What actors do here, besides what all can do. */
actor_act scene_take_turns; /* acquire (in `wait_ms` or less), nest now and then, release: `turns` times, of which
                             * `count` came about */
actor_act scene_number;     /* acquire, note in `count` as how manyth of all, release */
actor_act scene_close_client;
