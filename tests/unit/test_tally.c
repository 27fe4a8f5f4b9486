/* The arithmetic of a quorum: what a majority is, until when it is valid, when to ask again, which fence comes next; and what the servers
 * agree on when each may tell of another holder. */
#include "admin/inspect.h"
#include "lease/electorate.h"
#include "lease/tally.h"

#include "tests/support/test.h"

/* ---- validity ---- */

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

/* ---- asking again ---- */

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

/* ---- fences ---- */

SENTENCE(a_proposal_is_larger_than_all_that_was_seen)
{
	struct lsh_backend *b = calloc(1, sizeof *b);
	int64_t first, second;

	assert_non_null(b);
	first = lsh_electorate_propose(b);
	second = lsh_electorate_propose(b);
	assert_true(first > INT64_C(1600000000000000)); /* about the time, in us */
	assert_true(second > first);
	lsh_electorate_learn_fence(b, second + 1000000000000);
	assert_int_equal(lsh_electorate_propose(b), second + 1000000000001);
	lsh_electorate_learn_fence(b, 5); /* an old one changes nothing */
	assert_int_equal(lsh_electorate_propose(b), second + 1000000000002);
	free(b);
}

/* ---- agreement ---- */

static leash_lock_info
held_by(const char *token, int64_t remaining_ms, uint64_t fence)
{
	leash_lock_info info = {.size = sizeof info, .remaining_ms = remaining_ms, .fence = fence, .depth = 1, .held = true};

	strcpy(info.holder.token, token);
	return info;
}

SENTENCE(whom_most_servers_name_is_the_holder_and_so_many_agree)
{
	leash_lock_info agreed = {.fence = 77}, infos[5] = {
		held_by("ann:1", 100, 9), held_by("bob:1", 200, 3), held_by("bob:1", 300, 3), {.size = sizeof infos[0]}, held_by("bob:1", 400, 3)};

	assert_int_equal(lsh_agreement(infos, 5, 3, &agreed), 3);
	assert_string_equal(agreed.holder.token, "bob:1");
	assert_true(agreed.held);
	/* without a majority, too */
	assert_int_equal(lsh_agreement(infos, 3, 3, &agreed), 2);
	assert_string_equal(agreed.holder.token, "bob:1");
	assert_int_equal(lsh_agreement(infos, 1, 3, &agreed), 1);
	assert_string_equal(agreed.holder.token, "ann:1");
}

SENTENCE(where_nobody_is_named_nobody_agrees_and_nothing_is_changed)
{
	leash_lock_info agreed = {.fence = 77}, infos[3] = {{.fence = 1}, {.fence = 2}, {.fence = 3}};

	assert_int_equal(lsh_agreement(infos, 3, 2, &agreed), 0);
	assert_int_equal(lsh_agreement(infos, 0, 2, &agreed), 0);
	assert_true(agreed.fence == 77 && !agreed.held);
}

SENTENCE(a_hold_is_shown_with_the_time_that_is_left_of_a_majoritys)
{
	leash_lock_info agreed, infos[5] = {
		held_by("ann:1", 500, 9), held_by("ann:1", 100, 9), held_by("ann:1", 400, 9), held_by("bob:1", 900, 9), held_by("ann:1", 200, 9)};

	assert_int_equal(lsh_agreement(infos, 5, 3, &agreed), 4);
	assert_int_equal(agreed.remaining_ms, 200); /* what another has is not counted */
	infos[0].remaining_ms = infos[1].remaining_ms = -1;
	assert_int_equal(lsh_agreement(infos, 5, 3, &agreed), 4);
	assert_int_equal(agreed.remaining_ms, 400);
	infos[4].remaining_ms = -1; /* of a majority without an end */
	assert_int_equal(lsh_agreement(infos, 5, 3, &agreed), 4);
	assert_int_equal(agreed.remaining_ms, -1);
}

SENTENCE(a_hold_is_shown_with_the_fence_of_a_majority_or_the_largest)
{
	leash_lock_info agreed, infos[5] = {
		held_by("ann:1", 1, 50), held_by("ann:1", 1, 20), held_by("ann:1", 1, 20), held_by("bob:1", 1, 99), held_by("ann:1", 1, 20)};

	infos[2].depth = 4;
	for (int first = 0; first < 2; first++) { /* whichever is told of first */
		assert_int_equal(lsh_agreement(infos, 5, 3, &agreed), 4);
		assert_int_equal(agreed.fence, 20);
		assert_int_equal(agreed.depth, 4);
		infos[0] = infos[4];
		infos[4] = held_by("ann:1", 1, 50);
	}
	infos[0].fence = 30;
	assert_int_equal(lsh_agreement(infos, 5, 3, &agreed), 4);
	assert_int_equal(agreed.fence, 50);
	assert_int_equal(agreed.held_since_ms, 50 / 256 / 1000);
	infos[4].fence = UINT64_C(1700000000123456) * 256;
	assert_int_equal(lsh_agreement(infos, 5, 3, &agreed), 4);
	assert_int_equal(agreed.held_since_ms, INT64_C(1700000000123));
}
