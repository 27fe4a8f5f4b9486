/* The first of many: whatever comes, in whatever order, and however little room there is, those that are kept are those that a sort of
 * all would have put first. */
#include "tools/ranking.h"

#include "tests/support/test.h"

enum { LOCKS = 2000, ROOMS = 5 };

static leash_lock_info locks[LOCKS];
static const size_t rooms[ROOMS] = {0, 1, 20, LOCKS, LOCKS + 10};
static unsigned seed = 7;

static void
make_locks(void)
{
	for (int i = 0; i < LOCKS; i++) {
		int r = rand_r(&seed);

		locks[i] = (leash_lock_info){.size = sizeof locks[i], .held = true, .depth = 1};
		snprintf(locks[i].name, sizeof locks[i].name, "job-%d", (i * 7919) % LOCKS);
		locks[i].waiting = (uint32_t)r % 5;
		locks[i].held_since_ms = r % 7 == 0 ? 0 : 1700000000000 + r / 7 % 300;
		locks[i].remaining_ms = r % 11 == 0 ? -1 : r / 11 % 500;
	}
}

FIXTURE(make_locks, NULL);

/* All of them, by a ranking that has room for so many, in order. */
static void
sort_all(struct ranking *r, size_t room, struct order order)
{
	assert_true(ranking_init(r, room));
	ranking_clear(r, order);
	for (int i = 0; i < LOCKS; i++)
		ranking_add(r, &locks[i]);
	ranking_sort(r, order);
	assert_int_equal(r->count, room < LOCKS ? room : LOCKS);
}

SENTENCE(what_is_kept_is_what_a_sort_puts_first)
{
	for (int by = 0; by < RANKS; by++)
		for (int reverse = 0; reverse < 2; reverse++)
			for (int i = 0; i < ROOMS; i++) {
				struct order order = {(enum rank_by)by, reverse};
				struct ranking all, some;

				sort_all(&all, LOCKS, order);
				sort_all(&some, rooms[i], order);
				for (size_t n = 0; n < some.count; n++)
					assert_string_equal(some.at[n]->info.name, all.at[n]->info.name);
				ranking_destroy(&some);
				ranking_destroy(&all);
			}
}

SENTENCE(the_order_is_what_it_says)
{
	struct ranking r;

	sort_all(&r, LOCKS, (struct order){RANK_WAITING, false});
	for (size_t i = 1; i < r.count; i++)
		assert_true(r.at[i - 1]->info.waiting >= r.at[i]->info.waiting);
	ranking_sort(&r, (struct order){RANK_LEASE, false});
	for (size_t i = 1; i < r.count; i++)
		assert_true((uint64_t)r.at[i - 1]->info.remaining_ms <= (uint64_t)r.at[i]->info.remaining_ms); /* without an end: last */
	ranking_sort(&r, (struct order){RANK_HELD, false});
	assert_true(r.at[0]->info.held_since_ms > 0);
	assert_int_equal(r.at[LOCKS - 1]->info.held_since_ms, 0); /* not known: last */
	ranking_sort(&r, (struct order){RANK_NAME, true});
	for (size_t i = 1; i < r.count; i++)
		assert_true(strcmp(r.at[i - 1]->info.name, r.at[i]->info.name) > 0);
	ranking_destroy(&r);
}

/* SCAN may give some twice, and what they are like may have changed meanwhile. */
SENTENCE(a_name_that_comes_again_is_not_kept_twice)
{
	struct order order = {RANK_WAITING, false};
	struct ranking r;

	assert_true(ranking_init(&r, 20));
	ranking_clear(&r, order);
	for (int again = 0; again < 3; again++)
		for (int i = 0; i < LOCKS; i++) {
			locks[i].waiting += again > 0;
			ranking_add(&r, &locks[i]);
		}
	ranking_sort(&r, order);
	assert_int_equal(r.count, 20);
	for (size_t i = 0; i < r.count; i++) {
		assert_int_equal(r.at[i]->info.waiting, 4 + 2);
		for (size_t n = 0; n < i; n++)
			assert_string_not_equal(r.at[i]->info.name, r.at[n]->info.name);
	}
	ranking_destroy(&r);
}
