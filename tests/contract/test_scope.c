/* Scopes: what runs with the lock held is a block or a function, and the lock is released however that ends. */
#include "tests/contract/interface.h"

static leash_lock *lock;

static void
set_up(void)
{
	note_what_there_is();
	lock = kept(leashed_lock(kept(open_client()), "scope", NULL));
}

FIXTURE(set_up, nothing_is_left);
PLACE(life_open);

/* By each of its ways: the number of the one that was taken. */
static int
leave(int way)
{
	int left = 0;

	for (int i = 0; i < 2; i++) /* is not left with the block */
		LEASH_SCOPED(lock, 5000, &err) {
			assert_int_equal(leash_lock_depth(lock), 1);
			if (way == 1)
				break;
			if (way == 2)
				continue;
			if (way == 3)
				return left + 3;
			if (way == 4)
				goto out;
			left += 10;
		}
	return left;
out:
	return left + 4;
}

SENTENCE(a_block_releases_however_it_is_left)
{
	static const int left[] = {20, 0, 0, 3, 4};

	for (int way = 0; way < (int)COUNT(left); way++) {
		spoil_error();
		assert_int_equal(leave(way), left[way]);
		assert_status(LEASH_OK, err.status);
		assert_int_equal(leash_lock_depth(lock), 0);
	}
	place_assert_free("scope");
}

SENTENCE(a_block_stands_in_another_one)
{
	leash_lock *other = kept(leashed_lock(leash_lock_client(lock), "other", NULL));

	LEASH_SCOPED(lock, 5000, &err)
		LEASH_SCOPED(lock, 5000, &err) {
			LEASH_SCOPED(other, 5000, NULL)
				assert_true(leash_lock_held(other));
			assert_int_equal(leash_lock_depth(other), 0);
			assert_int_equal(leash_lock_depth(lock), 2);
		}
	assert_status(LEASH_OK, err.status);
	assert_int_equal(leash_lock_depth(lock), 0);
}

static void
count(void *arg)
{
	++*(int *)arg;
	assert_true(leash_lock_held(lock));
}

static void
release_in_between(void *arg)
{
	(void)arg;
	assert_status(LEASH_OK, leash_lock_release(lock, NULL));
}

SENTENCE(neither_runs_without_the_lock)
{
	leash_lock *others = kept(leashed_lock(kept(open_client()), "scope", NULL));
	int runs = 0;

	assert_status(LEASH_OK, leash_lock_acquire(others, 5000, &err));
	spoil_error();
	LEASH_SCOPED(lock, 0, &err)
		runs++;
	assert_status(LEASH_TIMEOUT, err.status);
	check_text("lock 'scope'");
	assert_refused(LEASH_TIMEOUT, "lock 'scope'", leash_with(lock, 0, count, &runs, &err));
	assert_int_equal(runs, 0);
	assert_status(LEASH_OK, leash_lock_release(others, &err));
}

SENTENCE(a_function_runs_with_the_lock_held)
{
	int runs = 0;

	assert_status(LEASH_OK, leash_with(lock, 5000, count, &runs, &err));
	assert_int_equal(runs, 1);
	place_assert_free("scope");
	assert_refused(LEASH_INVALID, "leash_with", leash_with(lock, 0, NULL, &runs, &err));
	assert_refused(LEASH_NOT_HELD, "lock 'scope'", leash_with(lock, 5000, release_in_between, NULL, &err));
}

static void
lose(void *arg)
{
	(void)arg;
	place_take_away("scope");
	await_true(!leash_lock_held(lock));
}

SENTENCE(what_was_lost_meanwhile_is_told_at_the_end)
{
	leash_lock *brief = kept(leashed_lock(leash_lock_client(lock), "scope", LEASH_LOCK_OPTIONS(.lease_ms = 300)));

	LEASH_SCOPED(brief, 5000, &err)
		lose(NULL);
	assert_status(LEASH_LOST, err.status);
	assert_int_equal(leash_lock_depth(lock), 0);
	acquires(brief); /* once it is free again */
	releases(brief);
	assert_refused(LEASH_LOST, "lock 'scope'", leash_with(brief, 5000, lose, NULL, &err));
}
