/* Numbers by chance that are the same at every run. */
#pragma once

#include <stdint.h>

/* xorshift64*; a seed is not 0 */
static inline uint64_t
random_next(uint64_t *seed)
{
	*seed ^= *seed >> 12;
	*seed ^= *seed << 25;
	*seed ^= *seed >> 27;
	return *seed * UINT64_C(0x2545f4914f6cdd1d);
}

static inline uint32_t
random_below(uint64_t *seed, uint32_t below)
{
	return (uint32_t)(random_next(seed) >> 32) % below;
}
