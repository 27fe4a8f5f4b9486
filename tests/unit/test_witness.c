/* The judge reports every overlap of two holds, and nothing else. */
#include "tests/unit/tools.h"

#include "tests/support/child.h"
#include "tests/support/judge.h"
#include "tests/support/test.h"

struct court {
	struct judge *judge;
	struct stage *stage;
};

static int
enter_first(void *arg)
{
	struct court *c = arg;

	judge_enter(c->judge, 1, 1);
	stage_set(c->stage, 1);
	stage_await(c->stage, 2);
	judge_leave(c->judge, 1);
	return 0;
}

static int
enter_before_the_first_has_left(void *arg)
{
	struct court *c = arg;

	stage_await(c->stage, 1);
	judge_enter(c->judge, 1, 2);
	stage_set(c->stage, 2);
	judge_leave(c->judge, 1);
	return 0;
}

SENTENCE(the_judge_reports_an_overlap_of_two_processes)
{
	struct court c = { judge_new(2, 0), child_share(sizeof(struct stage)) };
	pid_t first = child_run(enter_first, &c), second = child_run(enter_before_the_first_has_left, &c);

	child_wait(first);
	child_wait(second);
	assert_int_equal(judge_entries(c.judge), 2);
	assert_int_equal(judge_violations(c.judge), 1);
	judge_enter(c.judge, 1, 3);   /* it was the last to leave that left: nobody is inside */
	assert_int_equal(judge_violations(c.judge), 1);
	judge_free(c.judge);
	child_unshare(c.stage, sizeof(struct stage));
}

static int
enter_and_leave(void *arg)
{
	struct court *c = arg;
	uint32_t turn = stage_now(c->stage);

	judge_enter(c->judge, 1, turn + 1);
	judge_turn(c->judge, turn, 1000 * ((int64_t)turn + 1));
	judge_leave(c->judge, 1);
	stage_raise(c->stage);
	return 0;
}

SENTENCE(the_judge_is_content_with_those_who_take_turns)
{
	struct court c = { judge_new(2, 2), child_share(sizeof(struct stage)) };

	child_wait(child_run(enter_and_leave, &c));
	child_wait(child_run(enter_and_leave, &c));
	judge_enter(c.judge, 1, 3);
	judge_enter(c.judge, 0, 1);   /* another lock */
	assert_int_equal(judge_entries(c.judge), 4);
	assert_int_equal(judge_violations(c.judge), 0);
	judge_free(c.judge);
	child_unshare(c.stage, sizeof(struct stage));
}

SENTENCE(the_judge_knows_who_had_turns_and_who_waited)
{
	struct judge *j = judge_new(1, 3);

	for (size_t i = 0; i < 3; i++)
		for (size_t turn = 0; turn <= i; turn++)
			judge_turn(j, i, 1000 * (int64_t)(i + 1 - turn));
	assert_int_equal(judge_turns(j, 1), 2);
	assert_int_equal(judge_longest_wait_ns(j, 1), 2000);
	assert_int_equal(judge_fewest_turns(j), 1);
	assert_int_equal(judge_most_turns(j), 3);
	assert_int_equal(judge_longest_wait_of_all_ns(j), 3000);
	judge_free(j);
}

SENTENCE(the_judge_reports_a_fence_that_does_not_grow)
{
	struct judge *j = judge_new(1, 0);

	for (uint64_t fence = 5; fence < 8; fence++) {
		judge_enter(j, 0, fence);
		judge_leave(j, 0);
	}
	assert_int_equal(judge_violations(j), 0);
	judge_enter(j, 0, 7);
	judge_leave(j, 0);
	assert_int_equal(judge_violations(j), 1);
	judge_enter(j, 0, 3);
	judge_leave(j, 0);
	assert_int_equal(judge_violations(j), 2);
	judge_free(j);
}

static int
enter_and_stay(void *arg)
{
	judge_enter(arg, 0, 1);
	return sleep_for_ever(NULL);
}

SENTENCE(the_judge_buries_the_dead)
{
	struct judge *j = judge_new(1, 0);
	pid_t pid = child_run(enter_and_stay, j);

	await_true(judge_entries(j) == 1);
	child_kill(pid);
	judge_bury(j, pid);
	judge_enter(j, 0, 2);
	assert_int_equal(judge_violations(j), 0);
	judge_enter(j, 0, 3);
	assert_int_equal(judge_violations(j), 1);
	judge_free(j);
}
