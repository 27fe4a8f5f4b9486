/* When: how long a lease counts, when it is renewed, tried again, asked for again.
 *
 * Pure arithmetic: no clock, no state, no chance (the caller brings the random bits). Moments and spans are ns of
 * CLOCK_BOOTTIME unless the name says _ms; whatever would leave the range stops at its end. Why each number is what
 * it is stands beside it in pace.c. Threads: any. */
#ifndef LSH_WATCHDOG_PACE_H
#define LSH_WATCHDOG_PACE_H

#include <stdint.h>

/* Until when a lease of `lease` counts that was asked for, or renewed, by a request sent at `sent`: less than what
 * the server gives. Sent at LSH_NEVER (the clock could not be read): 0, which is over. */
int64_t lsh_pace_valid_until(int64_t sent, int64_t lease);

/* When to renew it: a third of the lease after `sent`, less up to a twelfth of that third by `random`; not past its
 * valid-until. If each renewal is done at that moment and arrives within a sixth of the lease, PTTL never falls
 * under half. */
int64_t lsh_pace_next(int64_t sent, int64_t lease, uint32_t random);

/* How much before that moment it may be renewed if others are renewed anyway. */
int64_t lsh_pace_slack(int64_t lease);

/* When to try again after `failures` renewals in a row have failed, the last one at `now`: at once, then after 10 ms
 * (5 to 10 by `random`), 20, 40, ... 250. Never past `valid_until`, where it is time to say that the hold is lost. */
int64_t lsh_pace_retry(int64_t now, unsigned failures, int64_t valid_until, uint32_t random);

/* The claim of a lease: how long a grant lasts until its first renewal. */
int64_t lsh_pace_claim_ms(int64_t lease_ms);

/* When a waiting place says its word again, having said it at `sent` and heard at `received` that the holder's lease
 * has `ttl_ms` left: a third of the claim (ns) after `sent`, or 1 ms after the end of that lease if that is sooner.
 * A negative TTL (PTTL's "no such key" and "no expiry") says nothing about an end. Said at LSH_NEVER: 0, which is at
 * once. */
int64_t lsh_pace_word(int64_t sent, int64_t received, int64_t claim, int64_t ttl_ms);

#endif
