#include "admin/agreement.h"

#include "lease/tally.h"
#include "redis/uri.h"

#include <string.h>

static bool
is_same_hold(const leash_lock_info *a, const leash_lock_info *b)
{
	return a->held && b->held && strcmp(a->holder.token, b->holder.token) == 0;
}

/* The hold that is told of in `of`, as all see it who do. */
static leash_lock_info
hold_of(const leash_lock_info *infos, size_t count, unsigned majority, const leash_lock_info *of)
{
	leash_lock_info hold = *of;
	int64_t ends[LSH_QUORUM_MAX] = {0}, nth;
	bool known = false;

	for (size_t i = 0; i < count; i++) {
		unsigned same = 0;

		if (!is_same_hold(&infos[i], of))
			continue;
		ends[i] = infos[i].remaining_ms < 0 ? INT64_MAX : infos[i].remaining_ms;
		if (infos[i].depth > hold.depth)
			hold.depth = infos[i].depth;
		for (size_t j = 0; j < count; j++)
			same += is_same_hold(&infos[j], of) && infos[j].fence == infos[i].fence;
		if (same >= majority || (!known && infos[i].fence > hold.fence))
			hold.fence = infos[i].fence;
		known |= same >= majority;
	}
	nth = lsh_tally_nth_largest(ends, count, majority);
	if (nth > 0)
		hold.remaining_ms = nth == INT64_MAX ? -1 : nth;
	hold.held_since_ms = (int64_t)(hold.fence / 256 / 1000);
	return hold;
}

unsigned
lsh_agreement(const leash_lock_info *infos, size_t count, unsigned majority, leash_lock_info *agreed)
{
	unsigned most = 0;

	for (size_t i = 0; i < count; i++) {
		unsigned agree = 0;

		for (size_t j = 0; j < count; j++)
			agree += is_same_hold(&infos[j], &infos[i]);
		if (agree > most) {
			most = agree;
			*agreed = hold_of(infos, count, majority, &infos[i]);
		}
	}
	return most;
}
