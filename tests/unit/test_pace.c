/* When things happen: the bounds that each moment keeps, over all that can be asked for and at the ends of the range. */
#include "watchdog/pace.h"

#include "base/clock.h"

#include "tests/support/test.h"

#define LEAST_LEASE (100 * LSH_MS)
#define MOST_LEASE  (24 * 3600 * LSH_S)

#define each_lease(lease) for (int64_t lease = LEAST_LEASE; lease <= MOST_LEASE; lease = longer(lease))
#define each_luck(r)      for (size_t r = 0; r < COUNT(luck); r++)

static const uint32_t luck[] = {0, 1, 0x3fffffff, 0x7fffffff, 0x80000000, 0xc0000001, 0xfffffffe, UINT32_MAX};

static const int64_t moments[] = {INT64_MIN, -LSH_S, -1, 0, 1, 3 * LSH_MS, 77777777777, 86400 * LSH_S, INT64_MAX / 3,
	INT64_MAX - LSH_S, INT64_MAX - 1, INT64_MAX};

static const int64_t leases[] = {INT64_MIN, -1, 0, 1, 2, 99, 100, 101, LSH_MS - 1, LSH_MS, 2 * LSH_MS, 3 * LSH_MS, 4 * LSH_MS,
	LEAST_LEASE, 1234567891, 3 * LSH_S, 30 * LSH_S, MOST_LEASE, INT64_MAX / 2, INT64_MAX - 1, INT64_MAX};

/* From the least lease to the most in steps of 7 %, odd numbers too. */
static int64_t
longer(int64_t lease)
{
	return lease + lease / 14 + 1;
}

SENTENCE(a_lease_counts_for_less_than_the_server_gives)
{
	assert_true(lsh_pace_valid_until(5 * LSH_S, 30 * LSH_S) == 35 * LSH_S - 300 * LSH_MS - 2 * LSH_MS);
	assert_true(lsh_pace_valid_until(0, 100 * LSH_MS) == 97 * LSH_MS);
	assert_true(lsh_pace_valid_until(0, 100 * LSH_MS + 1) == 97 * LSH_MS); /* a part of the margin is all of it */
	each_lease(lease) {
		int64_t valid = lsh_pace_valid_until(LSH_S, lease) - LSH_S;

		/* a server whose clock is 1 % fast and cuts off 1 ms has not let go yet */
		assert_true(valid < lease - LSH_MS - valid / 100);
		assert_true(valid > lease / 100 * 98 - 3 * LSH_MS);
	}
}

SENTENCE(a_longer_lease_or_a_later_request_never_counts_for_less)
{
	for (int64_t lease = 0; lease < 1000; lease++)
		assert_true(lsh_pace_valid_until(0, lease + 1) >= lsh_pace_valid_until(0, lease));
	for (size_t s = 0; s < COUNT(moments); s++)
		for (size_t l = 1; l < COUNT(leases); l++)
			assert_true(lsh_pace_valid_until(moments[s], leases[l]) >= lsh_pace_valid_until(moments[s], leases[l - 1]));
	for (size_t l = 0; l < COUNT(leases); l++)
		for (size_t s = 1; s < COUNT(moments) - 1; s++) /* the last is LSH_NEVER, which is no moment */
			assert_true(lsh_pace_valid_until(moments[s], leases[l]) >= lsh_pace_valid_until(moments[s - 1], leases[l]));
}

SENTENCE(a_request_sent_at_an_unknown_time_gives_nothing)
{
	for (size_t l = 0; l < COUNT(leases); l++) {
		assert_true(lsh_pace_valid_until(LSH_NEVER, leases[l]) == 0);
		assert_true(lsh_pace_next(LSH_NEVER, leases[l], 0) == 0); /* at once, so that the loss is seen */
	}
}

SENTENCE(moments_out_of_range_stop_at_the_end_of_it)
{
	assert_true(lsh_pace_valid_until(INT64_MIN, -5) == INT64_MIN);
	assert_true(lsh_pace_valid_until(INT64_MAX - 1, 30 * LSH_S) == INT64_MAX);
	assert_true(lsh_pace_next(INT64_MAX - 1, 30 * LSH_S, 0) == INT64_MAX);
	assert_true(lsh_pace_next(INT64_MIN, INT64_MIN, 0) == INT64_MIN);
	assert_true(lsh_pace_retry(INT64_MAX - 1, 5, INT64_MAX, 0) == INT64_MAX);
	assert_true(lsh_pace_word(INT64_MAX - 1, INT64_MAX - 1, INT64_MAX, INT64_MAX) == INT64_MAX);
	assert_true(lsh_pace_word(0, INT64_MAX, 3 * LSH_S, 5) == LSH_S);
	assert_true(lsh_pace_slack(INT64_MIN) == 0);
	assert_true(lsh_pace_slack(INT64_MAX) == LSH_S);
}

SENTENCE(every_combination_of_extremes_is_defined)
{
	for (size_t s = 0; s < COUNT(moments); s++) {
		for (size_t l = 0; l < COUNT(leases); l++) {
			each_luck(r) {
				assert_true(lsh_pace_next(moments[s], leases[l], luck[r]) <= lsh_pace_valid_until(moments[s], leases[l]));
				assert_true(lsh_pace_retry(moments[s], 9, leases[l], luck[r]) <= leases[l]);
			}
			for (size_t t = 0; t < COUNT(leases); t++)
				(void)lsh_pace_word(moments[s], moments[(s + 3) % COUNT(moments)], leases[l], leases[t]);
		}
	}
}

SENTENCE(a_renewal_comes_within_the_last_twelfth_of_a_third_and_finds_half_of_the_lease)
{
	assert_true(lsh_pace_next(7 * LSH_S, 30 * LSH_S, 0) == 17 * LSH_S);
	each_lease(lease) {
		int64_t slack = lsh_pace_slack(lease);

		each_luck(r) {
			int64_t period = lsh_pace_next(LSH_S, lease, luck[r]) - LSH_S;

			assert_true(period <= lease / 3);
			assert_true(period > lease / 3 - lease / 36 - 1);
			/* one that takes a sixth of it, after one that took no time, still finds half of it */
			assert_true(lease - (period + lease / 6) >= lease / 2);
		}
		/* the jitter uses its span */
		assert_true(lsh_pace_next(0, lease, 0) - lsh_pace_next(0, lease, UINT32_MAX) >= lease / 36 - lease / 36 / 1000 - 2);
		/* and with its slack it does not come before a quarter */
		assert_true(slack > 0 && slack <= LSH_S && slack <= lease / 24);
		assert_true(lsh_pace_next(0, lease, UINT32_MAX) - slack >= lease / 4);
	}
	assert_true(lsh_pace_slack(12 * LSH_S) == LSH_S / 2);
	assert_true(lsh_pace_slack(0) == 0);
}

SENTENCE(more_luck_is_sooner_and_a_longer_lease_is_later)
{
	for (int64_t lease = 1; lease <= MOST_LEASE; lease = longer(lease)) {
		for (size_t r = 1; r < COUNT(luck); r++)
			assert_true(lsh_pace_next(0, lease, luck[r]) <= lsh_pace_next(0, lease, luck[r - 1]));
		each_luck(r) {
			assert_true(lsh_pace_next(0, lease, luck[r]) <= lsh_pace_next(0, lease + 1, luck[r]));
			assert_true(lsh_pace_next(0, lease, luck[r]) <= lsh_pace_next(1, lease, luck[r]));
		}
	}
}

SENTENCE(the_first_retry_is_at_once_and_others_grow_from_10_to_250_ms)
{
	static const int64_t most[] = {0, 0, 10, 20, 40, 80, 160, 250, 250, 250};

	for (unsigned n = 0; n < COUNT(most); n++) {
		assert_true(lsh_pace_retry(LSH_S, n, LSH_NEVER, 0) == LSH_S + most[n] * LSH_MS);
		each_luck(r) {
			int64_t wait = lsh_pace_retry(LSH_S, n, LSH_NEVER, luck[r]) - LSH_S;

			assert_true(wait > most[n] * LSH_MS / 2 || (most[n] == 0 && wait == 0));
			assert_true(wait <= most[n] * LSH_MS);
		}
	}
	assert_true(lsh_pace_retry(0, UINT32_MAX, LSH_NEVER, 0) == 250 * LSH_MS);
}

SENTENCE(no_retry_is_past_the_end_of_the_lease)
{
	for (unsigned failures = 0; failures < 40; failures++) {
		for (size_t s = 0; s < COUNT(moments); s++) {
			for (int64_t left = -LSH_S; left < LSH_S; left += 13 * LSH_MS) {
				int64_t valid = 0;

				if (__builtin_add_overflow(moments[s], left, &valid))
					continue;
				each_luck(r) {
					int64_t at = lsh_pace_retry(moments[s], failures, valid, luck[r]);

					assert_true(at <= valid);
					assert_true(at >= moments[s] || at == valid);
				}
			}
		}
	}
}

SENTENCE(a_claim_is_the_lease_but_at_most_3_s)
{
	static const int64_t claims[][2] = {{100, 100}, {2999, 2999}, {3000, 3000}, {30000, 3000}, {INT64_MAX, 3000}};

	for (size_t i = 0; i < COUNT(claims); i++)
		assert_true(lsh_pace_claim_ms(claims[i][0]) == claims[i][1]);
}

/* Answered 5 ms after it was sent that the holder has so long. */
SENTENCE(a_word_is_said_after_a_third_of_the_claim_or_when_the_holders_lease_is_over)
{
	static const int64_t words[][2] = {
		{30000, 1000}, {-1, 1000}, {-2, 1000}, {INT64_MIN, 1000}, {0, 6}, {400, 406}, {993, 999}, {994, 1000}, {995, 1000},
	};

	for (size_t i = 0; i < COUNT(words); i++)
		assert_true(lsh_pace_word(10 * LSH_S, 10 * LSH_S + 5 * LSH_MS, 3 * LSH_S, words[i][0]) ==
		            10 * LSH_S + words[i][1] * LSH_MS);
}
