/* The rule of gates. Who is let in at a barrier was there together with enough others at some moment; who finds a latch open does so after
 * enough had begun to arrive. */
#include "tests/judge/account.h"

#include "tests/support/trouble.h"

#include <inttypes.h>
#include <stdlib.h>

/* At a barrier: from its ask on, to when nobody can count on it any more. */
struct presence {
	int64_t from, to;
	uint32_t lock;
	const struct hold *hold;
};

ORDER(by_from, struct presence, from)
ORDER(by_to, struct presence, to)
ORDER(by_moment, struct arrival, moment)

#define POINTERS(type, to_all, array) \
	type **to_all = zeroed((array).count * sizeof(type *)); \
	for (size_t i_ = 0; i_ < (array).count; i_++) \
		(to_all)[i_] = &(array).at[i_]

/* Who was told that it has left was not there; of others the barrier notices it after a while. */
static int64_t
leaves(const struct account *a, const struct hold *hold)
{
	const struct process *p = &a->processes.at[hold->process];
	int64_t grace = VERDICT_PLACE_GRACE_MS * MS;

	switch (hold->got_answer) {
	case ANSWER_OK: case ANSWER_TIMEOUT: case ANSWER_CANCELED: case ANSWER_UNAVAILABLE:
		return hold->got;
	case ANSWER_NONE:
		return account_cut_short(p) ? p->killed + grace : NEVER;
	default:
		return hold->got + grace;
	}
}

static void
barriers(struct account *a)
{
	ARRAY(struct presence) all = { .count = 0 };

	EACH(const struct hold, hold, a->holds)
		if (hold->meets)
			PUSH(&all, (struct presence){ .from = hold->asked, .to = leaves(a, hold), .lock = hold->lock, .hold = hold });
	POINTERS(struct presence, pointers, all);
	struct presence **by_begin = account_sorted(pointers, all.count, by_from), **by_end = account_sorted(pointers, all.count, by_to);
	int64_t there = 0, enough = 0;   /* how many are, and when they were enough last, at the one barrier */

	for (size_t begun = 0, ended = 0; ended < all.count; ended++) {
		const struct presence *one = by_end[ended];
		const struct hold *hold = one->hold;

		if (ended > 0 && by_end[ended - 1]->lock != one->lock)
			enough = 0;
		for (; begun < all.count && by_begin[begun]->lock == one->lock && by_begin[begun]->from <= one->to; begun++)
			if (++there >= hold->limit)
				enough = by_begin[begun]->from;
		if (there-- >= hold->limit)
			enough = one->to;
		if (hold->got_answer != ANSWER_OK)
			continue;
		a->verdict->met++;
		/* a server that lost data, or got old ones, may have kept the place of who had left */
		if (enough < hold->asked && !account_breached(a, hold->asked - VERDICT_PLACE_GRACE_MS * MS, hold->got, false))
			account_object_to(a, VERDICT_GATES, hold->lock, "%s was let in at %" PRId64 ", but since its ask, at %" PRId64 ", there were never "
			                  "%" PRIu32, account_hold(a, hold, hold->got_line), hold->got, hold->asked, hold->limit);
	}
	free(by_end);
	free(by_begin);
	free(pointers);
	free(all.at);
}

static void
latches(struct account *a)
{
	POINTERS(struct arrival, order, a->arrivals);
	size_t all = a->arrivals.count;

	qsort(order, all, sizeof(*order), by_moment);
	EACH(const struct hold, hold, a->holds) {
		if (!hold->awaits || hold->got_answer != ANSWER_OK)
			continue;
		FIRST_NOT(first, all, order[first]->lock < hold->lock)
		FIRST_NOT(end, all, order[end]->lock < hold->lock || (order[end]->lock == hold->lock && order[end]->moment <= hold->got))
		a->verdict->opened++;
		if (end - first < hold->limit)
			account_object_to(a, VERDICT_GATES, hold->lock, "%s found it open at %" PRId64 ", when %zu of %" PRIu32 " had begun to arrive",
			                  account_hold(a, hold, hold->got_line), hold->got, end - first, hold->limit);
	}
	free(order);
}

void
verdict_gates(struct account *a)
{
	barriers(a);
	latches(a);
}
