/* A queue as it is in Redis: the places of those who wait for a lock, first comes first, batch by batch. */
#ifndef LSH_ADMIN_WAITERS_H
#define LSH_ADMIN_WAITERS_H

#include <leash/inspect.h>

struct lsh_lock;
struct lsh_waiters;

/* `lock` must outlive it. `*out` is untouched unless the result is LEASH_OK. */
leash_status lsh_waiters_open(struct lsh_waiters **out, struct lsh_lock *lock, leash_error *err);
void lsh_waiters_close(struct lsh_waiters *queue); /* NULL is allowed */

/* The next one, valid until the next call; or NULL: that was all. */
leash_status lsh_waiters_next(struct lsh_waiters *queue, const leash_waiter_info **waiter, leash_error *err);

#endif
