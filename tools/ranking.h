/* The first of many locks, by an order that people choose. However many are added, only as many are kept as there
 * was room for. */
#ifndef LEASH_TOOLS_RANKING_H
#define LEASH_TOOLS_RANKING_H

#include <leash.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum rank_by {
	RANK_WAITING, /* most first */
	RANK_HELD,    /* longest first */
	RANK_LEASE,   /* what ends soonest first; what does not end, last */
	RANK_NAME,
	RANKS,
};

struct order {
	enum rank_by by;
	bool reverse;
};

/* As it is spelt on a command line, and in a few words. */
const char *rank_name(enum rank_by by);
const char *order_text(struct order order);

struct rank_row {
	struct rank_row *next; /* in its bucket */
	size_t at;             /* while they come in: where it is in the heap */
	uint32_t hash;         /* of the name */
	leash_lock_info info;
};

struct ranking {
	struct order order;
	size_t room, count, bucket_count;
	struct rank_row *rows;
	struct rank_row **at; /* the rows: a heap with the last of them on top; after ranking_sort(), in order */
	struct rank_row **buckets; /* by name */
};

/* False: no memory. What is not used costs none. */
bool ranking_init(struct ranking *ranking, size_t room);
void ranking_destroy(struct ranking *ranking);

/* Begin anew. */
void ranking_clear(struct ranking *ranking, struct order order);

/* Add one, unless so many come before it that there is no room. False: that name was there already; it was
 * overwritten, and is not kept twice. */
bool ranking_add(struct ranking *ranking, const leash_lock_info *info);

/* NULL: it is not among those that were kept. */
const struct rank_row *ranking_find(const struct ranking *ranking, const char *name);

/* No more come: put them in this order, which is that in which they were chosen if there were more than there was
 * room for. */
void ranking_sort(struct ranking *ranking, struct order order);

#endif
