/* Who shares a name: the holds of a read-write lock, or of a semaphore, which the server keeps alike. */
#ifndef LEASH_TOOLS_SHARING_H
#define LEASH_TOOLS_SHARING_H

#include "tools/cli.h"

#include <leash.h>

/* A look has a client of its own: within one client a name is of one kind. All zero at first. */
struct sharing {
	leash_client *client;
	leash_semaphore *semaphore;
};

/* Of the first LEASH_HOLDS_MAX holds. */
struct sharing_found {
	int64_t holds, others; /* of all; of those that are not this process's */
	leash_permit_info one; /* the first of all */
	leash_party other;     /* the first of the others */

	/* Of the runs around this one. */
	int64_t out;           /* how many shares they have: permits, and one for each who reads or writes */
	leash_permit_info own; /* one that reads or writes; its `size` is 0: there is none */
};

/* Ask the server. The first look opens the client. */
leash_status sharing_look(struct sharing *sharing, const struct cli *cli, const char *name, struct sharing_found *found,
                          leash_error *err);

void sharing_end(struct sharing *sharing);

static inline bool
sharing_writes(const leash_permit_info *hold)
{
	return hold->count == 0;
}

static inline bool
sharing_reads(const leash_permit_info *hold)
{
	return hold->count > 0 && hold->limit == 0;
}

#endif
