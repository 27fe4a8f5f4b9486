/* Tally: the arithmetic of majorities. No state; any thread. */
#ifndef LSH_LEASE_TALLY_H
#define LSH_LEASE_TALLY_H

#include <stddef.h>
#include <stdint.h>

unsigned lsh_tally_majority(size_t servers);

/* The `majority`-th largest of `count` moments; 0 if there are fewer. */
int64_t lsh_tally_nth_largest(const int64_t *moments, size_t count, unsigned majority);

/* How long to wait after the `rounds`-th round has failed, which took `round` (ns): 1 to 3 times that, by `random`, and
 * more with each round. */
int64_t lsh_tally_pause(int64_t round, unsigned rounds, uint32_t random);

/* ms after which a majority would be free if others let their votes lapse; -1: that cannot be told. `votes`: that were
 * won; `ttls`: of the `refusals` votes that others have, in ms, -1 where there is no end. */
int64_t lsh_tally_lapses_ms(const int64_t *ttls, size_t refusals, unsigned votes, unsigned majority);

#endif
