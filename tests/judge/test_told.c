/* The rule that who loses a lease is told so, and in time: what breaks it, and who need not be told. */
#include "tests/judge/trial.h"
#include "tests/support/test.h"

#include <inttypes.h>

FIXTURE(trial_start, trial_stop);

SENTENCE(a_loss_that_is_never_told_is_rejected)
{
	take(&run.one, 1, 256, 1000, 5000);
	keep(&run.two, 1, 512, 5100, 6000);
	give(&run.one, 1, 7000, 7001, "UNKNOWN");
	rejected(VERDICT_TOLD, 1);
}

SENTENCE(a_loss_that_only_the_release_tells_is_rejected)
{
	take(&run.one, 1, 256, 1000, 5000);
	give(&run.one, 1, 7000, 7001, "LOST");
	rejected(VERDICT_TOLD, 1);
}

SENTENCE(a_loss_that_only_a_look_tells_is_rejected)
{
	take(&run.one, 1, 256, 1000, 5000);
	say(&run.one, 5000, "look 1 0");
	give(&run.one, 1, 7000, 7001, "UNKNOWN");
	rejected(VERDICT_TOLD, 1);
}

SENTENCE(an_event_long_after_a_look_found_the_loss_is_rejected)
{
	take(&run.one, 1, 256, 1000, 5000);
	say(&run.one, 5000, "look 1 0");
	say(&run.one, 5001 + VERDICT_EVENT_GRACE_MS, "lost a 256");
	give(&run.one, 1, 7000, 7001, "LOST");
	rejected(VERDICT_TOLD, 1);
}

SENTENCE(an_event_may_come_a_little_after_a_look_or_release_found_the_loss)
{
	take(&run.one, 1, 256, 1000, 5000);
	say(&run.one, 5000, "look 1 0");
	say(&run.one, 5000 + VERDICT_EVENT_GRACE_MS, "lost a 256");
	give(&run.one, 1, 7000, 7001, "LOST");
	take(&run.two, 1, 512, 7002, 9000);
	give(&run.two, 1, 10000, 10001, "LOST");
	say(&run.two, 10001 + VERDICT_EVENT_GRACE_MS, "lost a 512");
	accepted();
}

SENTENCE(who_is_killed_before_the_event_comes_need_not_be_told)
{
	take(&run.one, 1, 256, 1000, 5000);
	say(&run.one, 5000, "look 1 0");
	say(&run.one, 5000 + VERDICT_EVENT_GRACE_MS, "event JEOPARDY a 256");   /* its last line */
	say(&run.nemesis, 7000, "killed 11");
	run.one.silent = true;
	accepted();
}

SENTENCE(a_loss_that_is_told_after_the_next_holder_began_is_rejected)
{
	take(&run.one, 1, 256, 1000, 5000);
	keep(&run.two, 1, 512, 5100, 6000);
	say(&run.one, 5100 + VERDICT_TOLD_GRACE_MS + 1, "lost a 256");
	give(&run.one, 1, 7000, 7001, "LOST");
	rejected(VERDICT_TOLD, 1);
}

SENTENCE(it_is_the_first_of_all_later_holders_that_counts)
{
	take(&run.one, 1, 256, 1000, 5000);
	say(&run.two, 5001, "ask 1 a -1 plain");
	keep(&run.two, 2, 768, 5100, 6000);
	say(&run.one, 7000, "lost a 256");
	give(&run.one, 1, 7001, 7002, "LOST");
	say(&run.two, 9000, "still 3900");
	say(&run.two, 9000, "got 1 OK 512 t:512 %" PRId64, 5050 * MS);
	say(&run.two, 9000, "lost a 512");
	give(&run.two, 1, 9001, 9002, "LOST");
	rejected(VERDICT_TOLD, 1);
}

SENTENCE(a_thread_that_has_to_be_woken_may_take_its_time_to_tell)
{
	take(&run.one, 1, 256, 1000, 5000);
	keep(&run.two, 1, 512, 5100, 6000);
	say(&run.one, 5100 + VERDICT_TOLD_GRACE_MS, "lost a 256");
	give(&run.one, 1, 7000, 7001, "LOST");
	accepted();
	assert_int_equal(run.verdict.told_after_others, 1);
	assert_int_equal(run.verdict.worst_told_ns, VERDICT_TOLD_GRACE_MS * MS);
	assert_int_equal(run.verdict.latest_told_ns, (100 + VERDICT_TOLD_GRACE_MS) * MS);
}

SENTENCE(a_hold_that_is_never_given_nor_told_is_rejected)
{
	take(&run.one, 1, 256, 1000, 5000);
	say(&run.one, 5900, "look 1 %" PRId64, 5001 * MS);
	keep(&run.two, 1, 512, 5100, 6000);
	rejected(VERDICT_TOLD, 1);
}

SENTENCE(who_stood_still_is_told_when_it_runs_again)
{
	take(&run.one, 1, 256, 1000, 5000);
	keep(&run.two, 1, 512, 5100, 6000);
	say(&run.one, 7000, "still 2500");
	say(&run.one, 7001, "lost a 256");
	give(&run.one, 1, 7002, 7003, "LOST");
	accepted();
}

SENTENCE(who_was_frozen_is_told_when_it_is_thawed)
{
	take(&run.one, 1, 256, 1000, 5000);
	say(&run.nemesis, 1500, "frozen 11");
	keep(&run.two, 1, 512, 5100, 6000);
	say(&run.nemesis, 7000, "thawed 11");
	say(&run.one, 7001, "lost a 256");
	give(&run.one, 1, 7002, 7003, "LOST");
	accepted();
}

SENTENCE(who_was_thawed_long_ago_is_excused_no_more)
{
	take(&run.one, 1, 256, 1000, 5000);
	say(&run.nemesis, 1500, "frozen 11");
	keep(&run.two, 1, 512, 5100, 6000);
	say(&run.nemesis, 7000, "thawed 11");
	say(&run.one, 7000 + VERDICT_TOLD_GRACE_MS + 1, "lost a 256");
	give(&run.one, 1, 8002, 8003, "LOST");
	rejected(VERDICT_TOLD, 1);
}

SENTENCE(who_is_frozen_for_good_need_not_be_told_but_has_not_ended)
{
	take(&run.one, 1, 256, 1000, 5000);
	say(&run.nemesis, 1500, "frozen 11");
	run.one.silent = true;
	keep(&run.two, 1, 512, 5100, 6000);
	rejected(VERDICT_WAITS, 1);
}

SENTENCE(the_stillness_of_another_process_excuses_nobody)
{
	take(&run.one, 1, 256, 1000, 5000);
	keep(&run.two, 1, 512, 5100, 6000);
	say(&run.two, 7000, "still 2500");
	say(&run.one, 7001, "lost a 256");
	give(&run.one, 1, 7002, 7003, "LOST");
	rejected(VERDICT_TOLD, 1);
}

SENTENCE(who_was_killed_in_time_need_not_be_told)
{
	take(&run.one, 1, 256, 1000, 5000);
	say(&run.one, 5100, "ask 2 b 0 plain");   /* its last line */
	keep(&run.two, 1, 512, 5100, 6000);
	say(&run.nemesis, 7000, "killed 11");
	run.one.silent = true;
	accepted();
}

SENTENCE(who_lived_on_and_was_killed_later_had_to_be_told)
{
	take(&run.one, 1, 256, 1000, 5000);
	keep(&run.two, 1, 512, 5100, 6000);
	say(&run.one, 6500, "ask 2 b 0 plain");
	say(&run.nemesis, 7000, "killed 11");
	run.one.silent = true;
	rejected(VERDICT_TOLD, 1);
}

SENTENCE(what_is_renewed_without_a_look_is_not_lost)
{
	take(&run.one, 1, 256, 1000, 5000);
	give(&run.one, 1, 50000, 50001, "OK");
	keep(&run.two, 1, 512, 50002, 51000);
	accepted();
	assert_int_equal(run.verdict.losses, 0);
}

SENTENCE(what_is_lost_is_not_held_again)
{
	take(&run.one, 1, 256, 1000, 5000);
	say(&run.one, 5000, "look 1 0");
	say(&run.one, 5001, "look 1 %" PRId64, 4000 * MS);
	say(&run.one, 5002, "lost a 256");
	give(&run.one, 1, 7000, 7001, "LOST");
	rejected(VERDICT_TOLD, 1);
}
