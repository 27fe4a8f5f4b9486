#include "tools/ranking.h"

#include <stdlib.h>
#include <string.h>

const char *
rank_name(enum rank_by by)
{
	static const char *const names[RANKS] = {"waiting", "held", "lease", "name"};

	return names[by];
}

const char *
order_text(struct order order)
{
	static const char *const texts[RANKS][2] = {
		{"most waiting first", "fewest waiting first"},
		{"longest held first", "shortest held first"},
		{"lease that ends soonest first", "lease that ends latest first"},
		{"by name", "by name, backwards"},
	};

	return texts[order.by][order.reverse];
}

/* ---- the order ---- */

static int
compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* Equal rows are ordered by name, so that they stay where they are. */
static int
compare(struct order order, const leash_lock_info *a, const leash_lock_info *b)
{
	int result = 0;

	if (order.by == RANK_WAITING)
		result = compare_numbers(b->waiting, a->waiting);
	else if (order.by == RANK_LEASE)
		result = compare_numbers((uint64_t)a->remaining_ms, (uint64_t)b->remaining_ms); /* -1 is the largest */
	if (result == 0 && order.by != RANK_NAME && order.by != RANK_LEASE)
		/* less 1, so that 0, which is not known, becomes the largest */
		result = compare_numbers((uint64_t)a->held_since_ms - 1, (uint64_t)b->held_since_ms - 1);
	if (result == 0)
		result = strcmp(a->name, b->name);
	return order.reverse ? -result : result;
}

static int
compare_rows(const void *a, const void *b, void *order)
{
	const struct rank_row *const *x = a, *const *y = b;

	return compare(*(const struct order *)order, &(*x)->info, &(*y)->info);
}

/* ---- the heap ---- */

static bool
is_after(const struct ranking *r, size_t a, size_t b)
{
	return compare(r->order, &r->at[a]->info, &r->at[b]->info) > 0;
}

static void
put(struct ranking *r, size_t i, struct rank_row *row)
{
	r->at[i] = row;
	row->at = i;
}

static void
swap(struct ranking *r, size_t a, size_t b)
{
	struct rank_row *row = r->at[a];

	put(r, a, r->at[b]);
	put(r, b, row);
}

static void
sift_up(struct ranking *r, size_t i)
{
	for (; i > 0 && is_after(r, i, (i - 1) / 2); i = (i - 1) / 2)
		swap(r, i, (i - 1) / 2);
}

static void
sift_down(struct ranking *r, size_t i)
{
	for (;;) {
		size_t last = i, child = 2 * i + 1;

		for (size_t c = child; c < child + 2 && c < r->count; c++)
			if (is_after(r, c, last))
				last = c;
		if (last == i)
			return;
		swap(r, i, last);
		i = last;
	}
}

/* ---- by name ---- */

/* FNV-1a */
static uint32_t
hash_of(const char *name)
{
	uint32_t hash = 2166136261U;

	for (const unsigned char *c = (const unsigned char *)name; *c != '\0'; c++)
		hash = (hash ^ *c) * 16777619U;
	return hash;
}

static struct rank_row **
bucket_of(const struct ranking *r, uint32_t hash)
{
	return &r->buckets[hash & (r->bucket_count - 1)];
}

static struct rank_row *
find(const struct ranking *r, const char *name, uint32_t hash)
{
	struct rank_row *row = *bucket_of(r, hash);

	while (row != NULL && (row->hash != hash || strcmp(row->info.name, name) != 0))
		row = row->next;
	return row;
}

static void
forget(const struct ranking *r, const struct rank_row *row)
{
	struct rank_row **at = bucket_of(r, row->hash);

	while (*at != row)
		at = &(*at)->next;
	*at = row->next;
}

static void
remember(const struct ranking *r, struct rank_row *row, uint32_t hash)
{
	struct rank_row **at = bucket_of(r, hash);

	row->hash = hash;
	row->next = *at;
	*at = row;
}

/* ---- from outside ---- */

bool
ranking_init(struct ranking *r, size_t room)
{
	*r = (struct ranking){.room = room, .bucket_count = 16};
	while (r->bucket_count < room)
		r->bucket_count *= 2;
	r->rows = calloc(room, sizeof *r->rows);
	r->at = calloc(room, sizeof(struct rank_row *));
	r->buckets = calloc(r->bucket_count, sizeof(struct rank_row *));
	if (r->rows != NULL && r->at != NULL && r->buckets != NULL)
		return true;
	ranking_destroy(r);
	return false;
}

void
ranking_destroy(struct ranking *r)
{
	free(r->rows);
	free(r->at);
	free(r->buckets);
	*r = (struct ranking){.room = 0};
}

void
ranking_clear(struct ranking *r, struct order order)
{
	r->order = order;
	r->count = 0;
	memset(r->buckets, 0, r->bucket_count * sizeof(struct rank_row *));
}

const struct rank_row *
ranking_find(const struct ranking *r, const char *name)
{
	return find(r, name, hash_of(name));
}

bool
ranking_add(struct ranking *r, const leash_lock_info *info)
{
	uint32_t hash = hash_of(info->name);
	struct rank_row *row = find(r, info->name, hash);
	bool is_new = row == NULL;

	if (is_new && r->count == r->room) {
		if (r->room == 0 || compare(r->order, info, &r->at[0]->info) >= 0)
			return true;
		row = r->at[0]; /* the last one is dropped */
		forget(r, row);
	} else if (is_new) {
		row = &r->rows[r->count]; /* they are used in their order */
		put(r, r->count++, row);
	}
	if (is_new)
		remember(r, row, hash);
	row->info = *info;
	sift_up(r, row->at);
	sift_down(r, row->at);
	return is_new;
}

void
ranking_sort(struct ranking *r, struct order order)
{
	r->order = order;
	qsort_r(r->at, r->count, sizeof(struct rank_row *), compare_rows, &order);
}
