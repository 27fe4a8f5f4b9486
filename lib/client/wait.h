/* Waiting: the front of those who block. An op lies on its thread's stack; that reads where its news come from. */
#ifndef LSH_CLIENT_WAIT_H
#define LSH_CLIENT_WAIT_H

#include "core/op.h"

/* An op, and the thread that waits for it. */
struct lsh_wait {
	struct lsh_op op;
	struct lsh_thread *thread;
	struct lsh_seat *seat;
	atomic_bool done;
};

/* Each as the call of that name; arguments have been checked. `err` may be NULL. */
/* `lease_ms`: 0: that of the terms. */
leash_status lsh_acquire(struct lsh_lock *lock, struct leash_owner *owner, struct lsh_terms *terms, int64_t wait_ms,
                         int64_t lease_ms, struct leash_cancel *cancel, leash_error *err);
/* `owner` may be NULL: one that has nothing. */
leash_status lsh_release(struct lsh_lock *lock, struct leash_owner *owner, leash_error *err);
leash_status lsh_extend(struct lsh_lock *lock, struct leash_owner *owner, int64_t lease_ms, leash_error *err);
leash_status lsh_adopt(struct lsh_lock *lock, struct leash_owner *owner, struct lsh_terms *terms,
                       const char *token, leash_error *err);
leash_status lsh_break(struct lsh_lock *lock, leash_error *err);

#endif
