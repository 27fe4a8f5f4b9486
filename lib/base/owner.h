/* Owners: who holds. Each thread is one, and so is what an application makes to let a hold move between its threads. */
#ifndef LSH_BASE_OWNER_H
#define LSH_BASE_OWNER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct leash_owner {
	uint64_t id;            /* never 0, never used again in this process */
	uint64_t process;       /* an application's own: the one that made it */
	atomic_uint holds;      /* of locks, over all clients */
	atomic_uint references; /* an application's own; 0: a thread's, whose memory stays (thread.h) */
	atomic_bool busy;       /* an application's own: a thread acquires for it at this moment */
	atomic_bool gone;       /* an application's own: it was freed, and only handles and holds know of it */
};

/* A number for a new owner. */
uint64_t lsh_owner_id(void);

/* Of an application's own; nothing for a thread's. */
void lsh_owner_retain(struct leash_owner *owner);
void lsh_owner_unref(struct leash_owner *owner);

#endif
