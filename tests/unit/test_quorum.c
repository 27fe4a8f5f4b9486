/* The arithmetic of a quorum: what a majority is, until when it is valid, when to ask again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lock/quorum.h"

#define MS INT64_C(1000000)

static void
a_majority_is_more_than_half(void **state)
{
	(void)state;
	assert_int_equal(lsh_quorum_majority(3), 2);
	assert_int_equal(lsh_quorum_majority(5), 3);
	assert_int_equal(lsh_quorum_majority(7), 4);
}

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

static void
a_hold_is_valid_as_long_as_a_majority_of_its_votes(void **state)
{
	(void)state;
	assert_int_equal(lsh_quorum_nth_largest((int64_t[]){10, 20, 30}, 3, 2), 20);
	assert_int_equal(lsh_quorum_nth_largest((int64_t[]){0, 0, 30}, 3, 2), 0);
	assert_int_equal(lsh_quorum_nth_largest((int64_t[]){0, 40, 30, 50, 0}, 5, 3), 30);
	assert_int_equal(lsh_quorum_nth_largest((int64_t[]){7, 7, 7, 7, 7}, 5, 3), 7);
	assert_int_equal(lsh_quorum_nth_largest((int64_t[]){7, 9, 7, 9, 7}, 5, 3), 7);
	assert_int_equal(lsh_quorum_nth_largest((int64_t[]){1}, 1, 2), 0);
}

static void
it_is_the_latest_moment_to_which_so_many_reach(void **state)
{
	(void)state;
	/* all of three values on five and on seven servers */
	for (int n = 3; n <= 7; n += 2)
		for (int code = 0, codes = n == 3 ? 27 : n == 5 ? 243 : 2187; code < codes; code++) {
			int64_t moments[7];

			for (int i = 0, rest = code; i < n; i++, rest /= 3)
				moments[i] = rest % 3;
			for (unsigned m = 1; m <= (unsigned)n; m++)
				assert_int_equal(lsh_quorum_nth_largest(moments, (size_t)n, m), slowly(moments, (size_t)n, m));
		}
}

/* ---- asking again ---- */

static void
a_pause_is_longer_than_the_round_was(void **state)
{
	(void)state;
	for (int64_t round = 0; round <= 2000 * MS; round += 7 * MS)
		for (unsigned rounds = 1; rounds < 40; rounds += 3)
			for (uint32_t random = 0; random < 65536; random += 4681) {
				int64_t pause = lsh_quorum_pause(round, rounds, random);

				assert_true(pause >= round);
				assert_true(pause >= 2 * MS);
				assert_true(pause <= 3 * round || pause <= 250 * MS);
			}
}

static void
pauses_grow_with_the_rounds_and_differ(void **state)
{
	(void)state;
	assert_int_equal(lsh_quorum_pause(10 * MS, 1, 0), 10 * MS);
	assert_true(lsh_quorum_pause(10 * MS, 1, 65535) > 29 * MS);
	assert_true(lsh_quorum_pause(10 * MS, 1, 65535) < 30 * MS);
	assert_int_equal(lsh_quorum_pause(10 * MS, 2, 0), 15 * MS);
	for (unsigned rounds = 1; rounds < 20; rounds++)
		assert_true(lsh_quorum_pause(10 * MS, rounds + 1, 0) >= lsh_quorum_pause(10 * MS, rounds, 0));
	assert_true(lsh_quorum_pause(10 * MS, 1000000, UINT32_MAX) <= 250 * MS);
}

static void
a_majority_is_free_when_enough_of_the_others_lapse(void **state)
{
	(void)state;
	/* three of five needed: all are others' */
	assert_int_equal(lsh_quorum_lapses_ms((int64_t[]){50, 10, 40, 20, 30}, 5, 0, 3), 30);
	/* two are ours: the first that lapses is enough */
	assert_int_equal(lsh_quorum_lapses_ms((int64_t[]){50, 10, 40}, 3, 2, 3), 10);
	assert_int_equal(lsh_quorum_lapses_ms((int64_t[]){20, 20, 20}, 3, 1, 3), 20);
	/* one has no end, or too few have answered */
	assert_int_equal(lsh_quorum_lapses_ms((int64_t[]){-1, 10, -1}, 3, 1, 3), -1);
	assert_int_equal(lsh_quorum_lapses_ms((int64_t[]){10}, 1, 0, 3), -1);
	assert_int_equal(lsh_quorum_lapses_ms(NULL, 0, 0, 3), -1);
}

/* ---- fences ---- */

static void
a_proposal_is_larger_than_all_that_was_seen(void **state)
{
	struct lsh_quorum q = {0};
	int64_t first = lsh_quorum_propose(&q), second = lsh_quorum_propose(&q);

	(void)state;
	assert_true(first > INT64_C(1600000000000000)); /* about the time, in us */
	assert_true(second > first);
	lsh_quorum_learn_fence(&q, second + 1000000000000);
	assert_int_equal(lsh_quorum_propose(&q), second + 1000000000001);
	lsh_quorum_learn_fence(&q, 5); /* an old one changes nothing */
	assert_int_equal(lsh_quorum_propose(&q), second + 1000000000002);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_majority_is_more_than_half),
		cmocka_unit_test(a_hold_is_valid_as_long_as_a_majority_of_its_votes),
		cmocka_unit_test(it_is_the_latest_moment_to_which_so_many_reach),
		cmocka_unit_test(a_pause_is_longer_than_the_round_was),
		cmocka_unit_test(pauses_grow_with_the_rounds_and_differ),
		cmocka_unit_test(a_majority_is_free_when_enough_of_the_others_lapse),
		cmocka_unit_test(a_proposal_is_larger_than_all_that_was_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
