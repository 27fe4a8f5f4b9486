/* A queue as it is in Redis: the places of those who wait for a lock, first comes first, page by page. It is an inquiry, see there. */
#ifndef LSH_LOCK_QUEUE_H
#define LSH_LOCK_QUEUE_H

#include <leash/inspect.h>

struct lsh_lock;
struct lsh_queue;

/* `lock` must outlive it. `*out` is untouched unless the result is LEASH_OK. */
leash_status lsh_queue_open(struct lsh_queue **out, struct lsh_lock *lock, leash_error *err);
void lsh_queue_close(struct lsh_queue *queue); /* NULL is allowed */

/* The next one, valid until the next call; or NULL: that was all. */
leash_status lsh_queue_next(struct lsh_queue *queue, const leash_waiter_info **waiter, leash_error *err);

#endif
