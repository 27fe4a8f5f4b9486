/* An acquire of several locks, as a machine that whoever drives it asks what is next: a thread that waits (multi.c),
 * or a loop (start_multi.c). Only this folder includes it. */
#ifndef LSH_CLIENT_MULTI_H
#define LSH_CLIENT_MULTI_H

#include "client/wait.h"

#include <leash/multi.h>

struct leash_multi {
	size_t count;
	leash_lock *locks[]; /* in order */
};

struct lsh_member {
	leash_lock *lock;
	bool had;  /* before this call */
	bool has;  /* by this call */
	bool asks; /* an acquire of it is to be begun, or is under way */
	int64_t began; /* of what was asked last: when, and what came of it */
	leash_status status;
	leash_error why;
};

struct lsh_set {
	leash_acquire how;
	struct lsh_backend *backend;
	const struct leash_owner *owner;
	int64_t deadline;
	struct lsh_member *waits_for; /* alone; NULL: all that ask try */
	bool tried;                   /* what is missing now */
	leash_status status;          /* in the end, */
	leash_error why;              /* and why */
	size_t count;
	struct lsh_member members[];
};

/* Of a checked call. NULL: no memory; else lsh_free() frees it. */
struct lsh_set *lsh_set_new(const leash_multi *multi, const leash_acquire *how);
/* For the owner of `op`, and as of when that was made. Else it cannot begin: LOST, NO_MEMORY */
leash_status lsh_set_begin(struct lsh_set *set, const struct lsh_op *op, leash_error *err);
/* All that asked was answered. True: those that ask now are to be asked for; else it is over, as `status` says, and
 * what it had is given back unless that is OK. */
bool lsh_set_next(struct lsh_set *set);
void lsh_set_aim(struct lsh_set *set, size_t i, struct lsh_op *op); /* of a member that asks, by an op that was made */
void lsh_set_answer(struct lsh_set *set, size_t i, leash_status status, const leash_error *why); /* that is over */

/* Of a release of many: is this to be told, and not what was so far? The first failure, but rather a loss. */
bool lsh_set_is_told(leash_status so_far, leash_status status);

/* Of a call: `check_handle` says whether it may go on. With `a` it acquires. */
leash_status lsh_multi_check(const leash_multi *multi, leash_acquire *a, const leash_acquire *how,
                             leash_status (*check_handle)(const leash_lock *, const char *, leash_error *),
                             const char *call, leash_error *err);

#endif
