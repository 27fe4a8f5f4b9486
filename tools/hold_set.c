/* What a run holds of its names. See hold_set.h.
 *
 * Locks that are acquired together are a leash_multi, so that no two runs wait for each other, in whatever order each
 * was told its names. Those that a run around this one holds are not acquired again; see nesting.h. */
#include "tools/hold_set.h"

#include "tools/nesting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define each_held(h, set) (struct holding *h = (set)->held; h < (set)->held + (set)->count; h++)
#define each_own(h, set) each_held(h, set) if (h->outer == NULL)

int
hold_set_begin(struct hold_set *set, const struct cli *cli, char *const *names, size_t count,
               const struct hold_need *need)
{
	if (count > LEASH_MULTI_MAX)
		return cli_usage(cli, "%zu names: there are %d at most", count, LEASH_MULTI_MAX);
	if (need->slots > 0 && count > 1)
		return cli_usage(cli, "--slots %d is for one name, and here are %zu", need->slots, count);
	set->held = calloc(count, sizeof *set->held);
	if (set->held == NULL)
		return cli_fail(cli, EXIT_INTERNAL, "out of memory");
	for (; set->count < count; set->count++) {
		struct holding *h = &set->held[set->count];

		holding_begin(h, cli, names[set->count], need);
		if (hold_set_find(set, h->name) != NULL)
			return cli_usage(cli, "%s is named twice", h->shown);
	}
	return CLI_GO_ON;
}

void
hold_set_end(struct hold_set *set)
{
	leash_multi_free(set->multi);
	for each_held(h, set)
		holding_end(h);
	free(set->held);
	*set = (struct hold_set){.count = 0};
}

leash_status
hold_set_open(struct hold_set *set, leash_client *client, const leash_lock_options *options,
              const struct holding **about, leash_error *err)
{
	for each_held(h, set) {
		leash_status status = holding_open(h, client, options, err);

		*about = h;
		if (status != LEASH_OK)
			return status;
	}
	return LEASH_OK;
}

/* ---- our own ---- */

/* The only one, or NULL. */
static struct holding *
single(const struct hold_set *set)
{
	struct holding *only = NULL;

	for each_own(h, set) {
		if (only != NULL)
			return NULL;
		only = h;
	}
	return only;
}

/* Of several locks that are called at once: a text begins with the lock that it is about, "lock 'job': ..." */
static void
blame(const struct hold_set *set, const struct holding **about, const leash_error *err)
{
	const char *quoted = strchrnul(err->text, '\'');

	if (about == NULL)
		return;
	*about = single(set);
	for each_own(h, set) {
		const char *name = strchr(h->shown, '\'');
		size_t size = strlen(name);

		if (strncmp(quoted, name, size) == 0 && quoted[size] == ':')
			*about = h;
	}
}

bool
hold_set_has_own(const struct hold_set *set)
{
	for each_own(h, set)
		return true;
	return false;
}

static leash_status
gather(struct hold_set *set, leash_error *err)
{
	leash_lock *locks[LEASH_MULTI_MAX];
	size_t n = 0;

	for each_own(h, set)
		locks[n++] = h->lock;
	return set->multi != NULL ? LEASH_OK : leash_multi_new(&set->multi, locks, n, err);
}

leash_status
hold_set_acquire(struct hold_set *set, const leash_acquire *how, const struct holding **about, leash_error *err)
{
	struct holding *only = single(set);
	leash_status status = only != NULL ? holding_acquire(only, how, err) : gather(set, err);

	if (only == NULL && status == LEASH_OK)
		status = leash_multi_acquire_with(set->multi, how, err);
	if (status != LEASH_OK)
		blame(set, about, err);
	if (only == NULL && status == LEASH_OK)
		for each_own(h, set)
			holding_note(h);
	return status;
}

leash_status
hold_set_fill_up(struct hold_set *set, int64_t lease_ms, int64_t *remaining_ms, leash_error *err)
{
	leash_status status = LEASH_OK;

	*remaining_ms = lease_ms;
	for each_own(h, set) {
		if (status == LEASH_OK && holding_remaining_ms(h) < lease_ms - lease_ms / 4)
			status = holding_extend(h, lease_ms, err);
		if (holding_remaining_ms(h) < *remaining_ms)
			*remaining_ms = holding_remaining_ms(h);
	}
	return status;
}

leash_status
hold_set_release(struct hold_set *set, const struct holding **about, leash_error *err)
{
	struct holding *only = single(set);
	leash_error why;
	leash_status status = only != NULL ? holding_release(only, &why) : leash_multi_release(set->multi, &why);

	if (status != LEASH_OK)
		blame(set, about, &why);
	if (status != LEASH_OK && err != NULL)
		*err = why;
	return status;
}

/* ---- all of them ---- */

bool
hold_set_may_leave(const struct hold_set *set, int64_t ms)
{
	for each_own(h, set)
		if (holding_remaining_ms(h) > ms)
			return false;
	return true;
}

bool
hold_set_leave(struct hold_set *set, int64_t ms)
{
	if (!hold_set_may_leave(set, ms))
		return false;
	for each_own(h, set)
		if (holding_extend(h, ms, NULL) != LEASH_OK)
			return false;
	return true;
}

int64_t
hold_set_remaining_ms(const struct hold_set *set, const struct holding **first)
{
	int64_t least = HOLD_SET_EVER_MS;

	for each_held(h, set) {
		int64_t left = h->outer != NULL ? nesting_remaining_ms(h->outer) : holding_remaining_ms(h);

		if (left >= least)
			continue;
		least = left;
		if (first != NULL)
			*first = h;
	}
	return least;
}

const struct holding *
hold_set_find(const struct hold_set *set, const char *name)
{
	for each_held(h, set)
		if (strcmp(h->name, name) == 0)
			return h;
	return NULL;
}

bool
hold_set_who(const struct hold_set *set, char *out, char *whose)
{
	for each_own(h, set)
		if (holding_who(h, out, whose))
			return true;
	return false;
}

uint64_t
hold_set_place(const struct hold_set *set)
{
	for each_own(h, set) {
		uint64_t place = holding_place(h);

		if (place != 0)
			return place;
	}
	return 0;
}
