/* All calls of a client, a lock or several as one, a semaphore, permits, a watch or a condition, as one table: what
 * refuses one of them refuses them all. */
#pragma once

#include <leash.h>

/* What they are made on. Without a semaphore its calls are left out, and those of a watch and a condition, unless there
 * is no lock either. */
struct callee {
	leash_client *client;
	leash_lock *lock;
	leash_semaphore *semaphore;
	leash_permit *permit;
	leash_watch *watch;
	leash_condition *condition; /* of the lock */
	leash_latch *latch;
	leash_barrier *barrier;
	leash_multi *multi; /* of the lock alone */
};

/* With a set of the one lock; and a semaphore and a permit of it, "permits", which is all that there are, a watch, a
 * condition, and gates; but for a quorum, which has none. */
void callee_open(struct callee *callee, leash_client *client, leash_lock *lock);
void callee_close(struct callee *callee); /* these */

/* "", if each is refused with that status, and its text names the lock, semaphore or gate, the client or the call; also with
 * no `err`. Else what is wrong; it lasts until the next call. Without all of them (NULL, LEASH_INVALID) the text names the
 * call. In a callback (LEASH_IN_CALLBACK) those succeed that may be made there. */
const char *calls_not_refused(const struct callee *callee, leash_status expected);

/* Make the first of that name; `err` is what it says. */
leash_status calls_make(const struct callee *callee, const char *name);
