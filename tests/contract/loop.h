/* What the tests of operations that nobody waits for share: a client that is dispatched for here, and what was told. */
#pragma once

#include "tests/contract/interface.h"

/* What came of one operation. */
struct told {
	int times;
	leash_status status;
	char text[256];
	pthread_t thread;
	leash_lock *lock;    /* `also` does something with it */
	leash_owner *owner;
	struct told *next;
	void (*also)(struct told *told);
};

/* Of each test. */
extern leash_client *client, *others;
extern leash_owner *owner;
extern leash_lock *lock, *theirs; /* of "law": for `owner`, and of another client */
extern struct told first, second;
extern int fd;

void loop_open(void); /* for FIXTURE(): these */

void tell(void *arg, leash_status status, const leash_error *why); /* `arg`: a struct told */
void turn(void); /* of the loop */
void await_told(const struct told *told);

#define assert_told(expected, told) \
	do { \
		await_told(told); \
		if ((told)->status != (expected)) \
			fail_msg("%s: %s", leash_status_name((told)->status), (told)->text); \
	} while (0)

/* Of `lock`. */
void start_to_acquire(int64_t wait_ms, struct told *told);
void start_to_release(struct told *told);
