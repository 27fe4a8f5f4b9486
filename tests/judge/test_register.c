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

static struct {
	char *folder;
	struct fenced *registers;
	struct shared *shared;
} test;

static void
start(void)
{
	test.folder = sweep_folder();
	test.registers = fenced_create(test.folder, 3);
	test.shared = child_share(sizeof(*test.shared));
}

static void
stop(void)
{
	fenced_close(test.registers);
	child_unshare(test.shared, sizeof(*test.shared));
	sweep_remove(test.folder);
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
	struct fenced *two[] = { test.registers, fenced_open(test.folder) };

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
		fenced_write(test.registers, 1, fences[i]);
	assert_int_equal(fenced_corrupted(test.registers), 2);
	assert_int_equal(fenced_refused(test.registers), 4);
}

SENTENCE(a_visit_is_seen_and_is_never_refused)
{
	fenced_visit(test.registers, 1);
	fenced_visit(test.registers, 1);
	assert_int_equal(fenced_greatest(test.registers, 1), 2);
	assert_int_equal(fenced_greatest(test.registers, 0), 0);
	assert_int_equal(fenced_refused(test.registers), 0);
}

/* Each write has a fence larger than all that were known before it began, or one that is smaller than one already written. */
static int
write_on(void *arg)
{
	struct fenced *registers = fenced_open(test.folder);
	struct shared *shared = arg;

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
	struct shared *s = test.shared;
	pid_t children[4];

	for (size_t i = 0; i < COUNT(children); i++)
		children[i] = child_run(write_on, s);
	stage_await(&s->ready, COUNT(children));
	await_true(s->taken + s->refused > 200000);
	s->enough = true;
	for (size_t i = 0; i < COUNT(children); i++)
		child_wait(children[i]);
	assert_int_equal(s->harm, 0);
	assert_int_equal(fenced_refused(test.registers), s->refused);
	assert_int_equal(fenced_greatest(test.registers, 0), s->next);
	assert_true(s->refused > (s->taken + s->refused) / 4);
}

SENTENCE(a_writer_that_is_killed_or_frozen_anywhere_is_in_nobodys_way)
{
	struct shared *s = test.shared;
	pid_t steady = child_run(write_on, s);

	for (uint32_t i = 0; i < 60; i++) {
		pid_t victim = child_run(write_on, s);

		stage_await(&s->ready, i + 2);   /* both write, or are about to */
		if (i % 2 == 0)
			child_kill(victim);
		else
			child_pause(victim);
		uint64_t then = fenced_greatest(test.registers, 0);
		await_true(fenced_greatest(test.registers, 0) > then + 100);   /* the other goes on */
		if (i % 2 != 0) {
			child_resume(victim);
			child_kill(victim);
		}
	}
	s->enough = true;
	child_wait(steady);
	assert_int_equal(s->harm, 0);
	assert_true(fenced_write(test.registers, 0, s->next + 1));
}
