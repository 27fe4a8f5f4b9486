#include "watchdog/pace.h"

#include "base/clock.h"

/* The server's clock may run 1 % faster than ours and we still let go first: quartz is off by 0.01 %, ntpd slews by
 * 0.05 %, the rest is for virtual machines. The 2 ms are for the grain: Redis cuts its time to whole ms, so its
 * leases are up to 1 ms short, and ours are compared with a clock that was read a moment ago. */
#define DRIFT_SHARE 100
#define DRIFT_GRAIN (2 * LSH_MS)

/* A third: when a renewal fails, two thirds of the lease are left for trying again (20 of the default 30 s, more
 * than most failovers take), and a renewal costs one command three to four times per lease. */
#define RENEWALS 3

/* Programs that started together, as cron jobs do, spread over a twelfth of the period with the first renewal and
 * further with each; renewals come 4 % more often for it, at most 9 %. It is less than the slack below, so that the
 * leases of one program stay together. */
#define JITTER_SHARE 12

/* An eighth of the period: however many leases a program has, they gather into about eight batches per period. Even
 * with the full jitter no renewal comes sooner than a quarter of the lease after the last one. At most 1 s, because
 * one wake-up per second is nothing, and long leases are not to be renewed too early for it. */
#define SLACK_SHARE 8
#define MOST_SLACK  LSH_S

/* The shortest wait is a few trips of a local network, the time in which a server that is only busy recovers. 250
 * ms: the shortest failover of a Sentinel or a cluster takes seconds, and noticing its end this much late costs
 * nothing that counts. */
#define FIRST_RETRY (10 * LSH_MS)
#define MOST_RETRY  (250 * LSH_MS)

/* A grantee that is frozen costs the others this long; long enough for any network's trip and a garbage collection. */
#define MOST_CLAIM_MS 3000

/* A grant counts from the last word that was answered: so two thirds of the claim are left when it comes, and a
 * third is even if one word was lost. */
#define WORDS 3

static int64_t
add(int64_t a, int64_t b)
{
	int64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return b < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}

static int64_t
sooner(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* span * random / 2^32 without leaving 64 bits: 0 <= result < span, or 0 for a span of 0. */
static int64_t
share(int64_t span, uint32_t random)
{
	uint64_t s = (uint64_t)span;

	return (int64_t)((s >> 32) * random + ((s & UINT32_MAX) * random >> 32));
}

/* The n-th wait (from 1) of those that double from `first` to `most`; jitter over the upper half, because over the
 * whole some would come back at once, and over nothing all would come back together. */
static int64_t
doubled(int64_t first, int64_t most, unsigned n, uint32_t random)
{
	int64_t span = first;

	for (unsigned i = 1; i < n && span < most; i++)
		span *= 2;
	span = sooner(span, most);
	return span - share(span / 2, random);
}

int64_t
lsh_pace_valid_until(int64_t sent, int64_t lease)
{
	int64_t margin;

	if (sent == LSH_NEVER)
		return 0; /* else a clock that can be read again would find a lease without an end */
	if (lease < 0)
		lease = 0;
	margin = lease / DRIFT_SHARE + (lease % DRIFT_SHARE != 0) + DRIFT_GRAIN;
	return add(sent, lease - margin);
}

int64_t
lsh_pace_next(int64_t sent, int64_t lease, uint32_t random)
{
	int64_t third = lease > 0 ? lease / RENEWALS : 0;
	int64_t next = add(sent, third - share(third / JITTER_SHARE, random));

	return sooner(next, lsh_pace_valid_until(sent, lease));
}

int64_t
lsh_pace_slack(int64_t lease)
{
	return lease > 0 ? sooner(lease / RENEWALS / SLACK_SHARE, MOST_SLACK) : 0;
}

int64_t
lsh_pace_retry(int64_t now, unsigned failures, int64_t valid_until, uint32_t random)
{
	int64_t wait = failures <= 1 ? 0 : doubled(FIRST_RETRY, MOST_RETRY, failures - 1, random);

	return sooner(add(now, wait), valid_until);
}

int64_t
lsh_pace_claim_ms(int64_t lease_ms)
{
	return sooner(lease_ms, MOST_CLAIM_MS);
}

int64_t
lsh_pace_word(int64_t sent, int64_t received, int64_t claim, int64_t ttl_ms)
{
	int64_t word = lsh_after(sent, claim > 0 ? claim / WORDS : 0);

	if (ttl_ms < 0 || received == LSH_NEVER)
		return word;
	/* The server counted the TTL before we received it, and cut off less than 1 ms: by then the lease is over. */
	return sooner(word, add(lsh_after_ms(received, ttl_ms), LSH_MS));
}
