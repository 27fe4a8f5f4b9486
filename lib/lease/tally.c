#include "lease/tally.h"

#include "base/clock.h"
#include "base/mutation.h"

/* The shortest round counts as this long, so that two whose rounds meet do not meet again; a few trips of a local
 * network. */
#define SHORTEST_ROUND (2 * LSH_MS)
/* No pause is longer, unless a round is: it is how late the news may be that the lock is free. */
#define LONGEST_PAUSE (250 * LSH_MS)

unsigned
lsh_tally_majority(size_t servers)
{
	return (unsigned)(servers / 2 + (LSH_MUTATES(LSH_HALF_IS_A_MAJORITY) ? 0 : 1));
}

int64_t
lsh_tally_nth_largest(const int64_t *moments, size_t count, unsigned majority)
{
	for (size_t i = 0; i < count; i++) {
		size_t larger = 0, same = 0;

		for (size_t j = 0; j < count; j++) {
			larger += moments[j] > moments[i];
			same += moments[j] == moments[i];
		}
		if (larger < majority && larger + same >= majority)
			return moments[i];
	}
	return 0;
}

int64_t
lsh_tally_pause(int64_t round, unsigned rounds, uint32_t random)
{
	int64_t least = round > SHORTEST_ROUND ? round : SHORTEST_ROUND, span;

	/* who has waited for long need not ask so often, and many who began together drift apart */
	for (unsigned i = 1; i < rounds && least < LONGEST_PAUSE / 3; i++)
		least = least + least / 2 < LONGEST_PAUSE / 3 ? least + least / 2 : LONGEST_PAUSE / 3;
	span = 2 * least;
	return least + span / 65536 * (random % 65536);
}

int64_t
lsh_tally_lapses_ms(const int64_t *ttls, size_t refusals, unsigned votes, unsigned majority)
{
	size_t wanted = majority > votes ? majority - votes : 1;

	for (size_t i = 0; i < refusals; i++) {
		size_t sooner = 0;

		if (ttls[i] < 0)
			continue;
		for (size_t j = 0; j < refusals; j++)
			sooner += ttls[j] >= 0 && (ttls[j] < ttls[i] || (ttls[j] == ttls[i] && j < i));
		if (sooner + 1 == wanted)
			return ttls[i];
	}
	return -1;
}
