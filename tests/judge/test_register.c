/* The fenced register and its twin: by one writer, by many at once, and by some who are killed or frozen in the middle. */
#include "tests/judge/register.h"
#include "tests/support/child.h"
#include "tests/support/sweep.h"
#include "tests/support/test.h"

#include <stdatomic.h>

/* What the children of a test share. */
struct shared {
	struct stage ready;
	_Atomic uint64_t next;        /* the fence of the next hold */
	_Atomic uint64_t taken, refused, harm;
	_Atomic bool enough;
};

static char *folder;
static struct fenced *all;
static struct shared *shared;

static void
start(void)
{
	folder = sweep_folder();
	all = fenced_create(folder, 3);
	shared = child_share(sizeof(*shared));
}

static void
stop(void)
{
	fenced_close(all);
	child_unshare(shared, sizeof(*shared));
	sweep_remove(folder);
}

FIXTURE(start, stop);

/* What one process wrote another finds: they write by turns. */
SENTENCE(a_smaller_fence_of_its_lock_is_refused_and_an_equal_one_is_the_same_holder_again)
{
	static const struct {
		size_t lock;
		uint64_t fence;
		bool taken;
	} writes[] = {
		{ 0, 512, true }, { 0, 511, false }, { 0, 512, true }, { 0, 513, true }, { 2, 1, true }, { 0, 512, false },
	};
	struct fenced *two[] = { all, fenced_open(folder) };

	for (size_t i = 0; i < COUNT(writes); i++)
		assert_int_equal(fenced_write(two[i % 2], writes[i].lock, writes[i].fence), writes[i].taken);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(fenced_greatest(two[i], 0), 513);
		assert_int_equal(fenced_greatest(two[i], 1), 0);
		assert_int_equal(fenced_greatest(two[i], 2), 1);
		assert_int_equal(fenced_refused(two[i]), 2);
		assert_int_equal(fenced_corrupted(two[i]), 2);
	}
	fenced_close(two[1]);
}

SENTENCE(a_twin_without_a_fence_is_corrupted_once_for_each_smaller_fence_behind_a_larger)
{
	static const uint64_t fences[] = { 5, 7, 6, 6, 9, 3, 4, 10 };   /* 7 6, and 9 3: what is written over 3 does no harm any more */

	for (size_t i = 0; i < COUNT(fences); i++)
		fenced_write(all, 1, fences[i]);
	assert_int_equal(fenced_corrupted(all), 2);
	assert_int_equal(fenced_refused(all), 4);
}

SENTENCE(a_visit_is_seen_and_is_never_refused)
{
	for (int i = 0; i < 2; i++)
		fenced_visit(all, 1);
	assert_int_equal(fenced_greatest(all, 1), 2);
	assert_int_equal(fenced_greatest(all, 0), 0);
	assert_int_equal(fenced_refused(all), 0);
}

/* Each write has a fence larger than all that were known before it began, or one that is smaller than one already written. */
static int
write_on(void *unused)
{
	struct fenced *registers = fenced_open(folder);

	(void)unused;
	stage_raise(&shared->ready);
	for (int i = 0; !shared->enough; i++) {
		uint64_t before = fenced_greatest(registers, 0);
		uint64_t fence = i % 3 == 0 && before > 1 ? before - 1 : atomic_fetch_add(&shared->next, 1) + 1;
		bool taken = fenced_write(registers, 0, fence);

		atomic_fetch_add(taken ? &shared->taken : &shared->refused, 1);
		if ((taken && fence < before) || fenced_greatest(registers, 0) < (taken && fence > before ? fence : before))
			atomic_fetch_add(&shared->harm, 1);
	}
	fenced_close(registers);
	return 0;
}

SENTENCE(writers_at_once_never_get_a_smaller_fence_in)
{
	pid_t children[4];

	for (size_t i = 0; i < COUNT(children); i++)
		children[i] = child_run(write_on, NULL);
	stage_await(&shared->ready, COUNT(children));
	await_true(shared->taken + shared->refused > 200000);
	shared->enough = true;
	for (size_t i = 0; i < COUNT(children); i++)
		child_wait(children[i]);
	assert_int_equal(shared->harm, 0);
	assert_int_equal(fenced_refused(all), shared->refused);
	assert_int_equal(fenced_greatest(all, 0), shared->next);
	assert_true(shared->refused > (shared->taken + shared->refused) / 4);
}

SENTENCE(a_writer_that_is_killed_or_frozen_anywhere_is_in_nobodys_way)
{
	pid_t steady = child_run(write_on, NULL);

	for (uint32_t i = 0; i < 60; i++) {
		pid_t victim = child_run(write_on, NULL);

		stage_await(&shared->ready, i + 2);   /* both write, or are about to */
		if (i % 2 == 0)
			child_kill(victim);
		else
			child_pause(victim);
		uint64_t then = fenced_greatest(all, 0);
		await_true(fenced_greatest(all, 0) > then + 100);   /* the other goes on */
		if (i % 2 != 0) {
			child_resume(victim);
			child_kill(victim);
		}
	}
	shared->enough = true;
	child_wait(steady);
	assert_int_equal(shared->harm, 0);
	assert_true(fenced_write(all, 0, shared->next + 1));
}
