/* Who shares a name: the holds of a read-write lock, or of a semaphore, which the server keeps alike. */
#ifndef LEASH_TOOLS_SHARING_H
#define LEASH_TOOLS_SHARING_H

#include "tools/cli.h"

#include <leash.h>

/* Of the first LEASH_HOLDS_MAX holds. */
struct sharing {
	leash_lock_info info;  /* its `size` has to be set */
	int64_t others;        /* that are not this process's */
	leash_party other;     /* the first of them */

	/* Of the runs around this one. */
	int64_t out;           /* how many shares they have: permits, and one for each who reads or writes */
	leash_hold_info own;   /* one that reads or writes; its `size` is 0: there is none */
};

/* Visits each of them, for leash_lock_holders() and the like; what is a mutex nobody shares. */
bool sharing_note(void *sharing, const leash_hold_info *hold);

static inline bool
sharing_writes(const leash_hold_info *hold)
{
	return hold->count == 0;
}

static inline bool
sharing_reads(const leash_hold_info *hold)
{
	return hold->count > 0 && hold->limit == 0;
}

#endif
