/* Arriving at a latch. */
#ifndef LSH_ADMIN_ARRIVE_H
#define LSH_ADMIN_ARRIVE_H

#include "core/engine.h"

enum { LSH_ARRIVAL_MS = 86400000 }; /* for how long it counts */

/* This token has arrived. Where it fails it may be done all the same; said again it has arrived once. */
leash_status lsh_arrive(struct lsh_lock *lock, const char *token, leash_error *err);

#endif
