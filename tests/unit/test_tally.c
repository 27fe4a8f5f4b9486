/* The arithmetic of a quorum: what a majority is, until when it is valid, when to ask again, which fence comes next; and what the servers
 * agree on when each may tell of another holder. */
#include "admin/inspect.h"
#include "lease/electorate.h"
#include "lease/tally.h"

#include "tests/support/test.h"

#include <inttypes.h>

static int64_t
slowly(const int64_t *moments, size_t count, unsigned n)
{
	int64_t best = 0;

	/* the latest moment up to which n of them reach */
	for (size_t i = 0; i < count; i++) {
		unsigned reach = 0;

		for (size_t j = 0; j < count; j++)
			reach += moments[j] >= moments[i];
		if (reach >= n && moments[i] > best)
			best = moments[i];
	}
	return best;
}

SENTENCE(a_hold_is_valid_as_long_as_a_majority_of_its_votes)
{
	assert_int_equal(lsh_tally_majority(3), 2);
	assert_int_equal(lsh_tally_majority(5), 3);
	assert_int_equal(lsh_tally_majority(7), 4);
	assert_int_equal(lsh_tally_nth_largest((int64_t[]){0, 40, 30, 50, 0}, 5, 3), 30);
	assert_int_equal(lsh_tally_nth_largest((int64_t[]){1}, 1, 2), 0);
	/* all of three values on five and on seven servers */
	for (int n = 3; n <= 7; n += 2)
		for (int code = 0, codes = n == 3 ? 27 : n == 5 ? 243 : 2187; code < codes; code++) {
			int64_t moments[7];

			for (int i = 0, rest = code; i < n; i++, rest /= 3)
				moments[i] = rest % 3;
			for (unsigned m = 1; m <= (unsigned)n; m++)
				assert_int_equal(lsh_tally_nth_largest(moments, (size_t)n, m), slowly(moments, (size_t)n, m));
		}
}

SENTENCE(a_pause_is_longer_than_the_round_was)
{
	for (int64_t round = 0; round <= 2000 * MS; round += 7 * MS)
		for (unsigned rounds = 1; rounds < 40; rounds += 3)
			for (uint32_t random = 0; random < 65536; random += 4681) {
				int64_t pause = lsh_tally_pause(round, rounds, random);

				assert_true(pause >= round);
				assert_true(pause >= 2 * MS);
				assert_true(pause <= 3 * round || pause <= 250 * MS);
			}
}

SENTENCE(pauses_grow_with_the_rounds_and_differ)
{
	assert_int_equal(lsh_tally_pause(10 * MS, 1, 0), 10 * MS);
	assert_true(lsh_tally_pause(10 * MS, 1, 65535) > 29 * MS);
	assert_true(lsh_tally_pause(10 * MS, 1, 65535) < 30 * MS);
	assert_int_equal(lsh_tally_pause(10 * MS, 2, 0), 15 * MS);
	for (unsigned rounds = 1; rounds < 20; rounds++)
		assert_true(lsh_tally_pause(10 * MS, rounds + 1, 0) >= lsh_tally_pause(10 * MS, rounds, 0));
	assert_true(lsh_tally_pause(10 * MS, 1000000, UINT32_MAX) <= 250 * MS);
}

SENTENCE(a_majority_is_free_when_enough_of_the_others_lapse)
{
	/* three of five needed: all are others' */
	assert_int_equal(lsh_tally_lapses_ms((int64_t[]){50, 10, 40, 20, 30}, 5, 0, 3), 30);
	/* two are ours: the first that lapses is enough */
	assert_int_equal(lsh_tally_lapses_ms((int64_t[]){50, 10, 40}, 3, 2, 3), 10);
	assert_int_equal(lsh_tally_lapses_ms((int64_t[]){20, 20, 20}, 3, 1, 3), 20);
	/* one has no end, or too few have answered */
	assert_int_equal(lsh_tally_lapses_ms((int64_t[]){-1, 10, -1}, 3, 1, 3), -1);
	assert_int_equal(lsh_tally_lapses_ms((int64_t[]){10}, 1, 0, 3), -1);
	assert_int_equal(lsh_tally_lapses_ms(NULL, 0, 0, 3), -1);
}

SENTENCE(a_proposal_is_larger_than_all_that_was_seen)
{
	struct lsh_backend *b = calloc(1, sizeof *b);

	assert_non_null(b);
	int64_t first = lsh_electorate_propose(b);
	int64_t second = lsh_electorate_propose(b);
	assert_true(first > INT64_C(1600000000000000)); /* about the time, in us */
	assert_true(second > first);
	lsh_electorate_learn_fence(b, second + 1000000000000);
	assert_int_equal(lsh_electorate_propose(b), second + 1000000000001);
	lsh_electorate_learn_fence(b, 5); /* an old one changes nothing */
	assert_int_equal(lsh_electorate_propose(b), second + 1000000000002);
	free(b);
}

static const struct agreement {
	const char *name;
	const char *infos;  /* what each server says: the holder, its remaining_ms, fence and depth; or "-", nobody */
	const char *agreed; /* with three to agree: how many name the holder, the same of it, and its held_since_ms */
} agreements[] = {
	{"whom_most_servers_name_is_the_holder", "ann 100 9 1,bob 200 3 1,bob 300 3 1,-,bob 400 3 1", "3 bob 200 3 1 0"},
	{"whom_most_name_is_the_holder_without_a_majority_too", "ann 100 9 1,bob 200 3 1,bob 300 3 1", "2 bob 200 3 1 0"},
	{"who_alone_is_named_is_the_holder", "ann 100 9 1", "1 ann 100 9 1 0"},
	{"where_nobody_is_named_nobody_agrees_and_nothing_is_changed", "-,-,-", "0  0 77 0 0"},
	{"where_nobody_answers_nobody_agrees_and_nothing_is_changed", "", "0  0 77 0 0"},
	/* what another has is not counted */
	{"a_hold_is_shown_with_the_time_that_is_left_of_a_majoritys",
	 "ann 500 9 1,ann 100 9 1,ann 400 9 1,bob 900 9 1,ann 200 9 1", "4 ann 200 9 1 0"},
	{"time_without_an_end_is_the_longest",
	 "ann -1 9 1,ann -1 9 1,ann 400 9 1,bob 900 9 1,ann 200 9 1", "4 ann 400 9 1 0"},
	{"a_majority_without_an_end_is_shown_without_one",
	 "ann -1 9 1,ann -1 9 1,ann 400 9 1,bob 900 9 1,ann -1 9 1", "4 ann -1 9 1 0"},
	{"a_hold_is_shown_with_the_fence_and_the_depth_of_a_majority",
	 "ann 1 50 1,ann 1 20 1,ann 1 20 4,bob 1 99 1,ann 1 20 1", "4 ann 1 20 4 0"},
	{"the_fence_is_a_majoritys_whichever_is_told_of_first",
	 "ann 1 20 1,ann 1 20 1,ann 1 20 4,bob 1 99 1,ann 1 50 1", "4 ann 1 20 4 0"},
	{"without_a_majoritys_fence_it_is_the_largest",
	 "ann 1 30 1,ann 1 20 1,ann 1 20 4,bob 1 99 1,ann 1 435200000031604736 1",
	 "4 ann 1 435200000031604736 4 1700000000123"},
};

SENTENCES(is_agreed_so, agreements)
{
	const struct agreement *a = given;
	leash_lock_info infos[5], agreed = {.fence = 77};
	char copy[256], is[128], *rest = strcpy(copy, a->infos);
	size_t count = 0;

	for (char *one; (one = strsep(&rest, ",")) != NULL && *one != '\0';) {
		leash_lock_info *info = &infos[count++];

		*info = (leash_lock_info){.size = sizeof *info};
		info->held = *one != '-';
		if (info->held)
			assert_int_equal(sscanf(one, "%8s %" SCNd64 " %" SCNu64 " %u", info->holder.token,
			                        &info->remaining_ms, &info->fence, &info->depth), 4);
	}
	unsigned agree = lsh_agreement(infos, count, 3, &agreed);
	assert_int_equal(agreed.held, agree > 0);
	snprintf(is, sizeof is, "%u %s %" PRId64 " %" PRIu64 " %u %" PRId64, agree, agreed.holder.token,
	         agreed.remaining_ms, agreed.fence, agreed.depth, agreed.held_since_ms);
	assert_string_equal(is, a->agreed);
}
