/* The rules of the judge: it accepts a run that could be, and for each rule rejects one that breaks it, by that rule only. */
#include "tests/judge/trial.h"
#include "tests/support/test.h"

#include <inttypes.h>

FIXTURE(trial_start, trial_stop);

/* ---- a run that could be ---- */

SENTENCE(turns_one_after_the_other_are_accepted)
{
	say(&run.nemesis, 5, "seed 18446744073709551615");
	say(&run.nemesis, 6, "fault pause 100 ms");
	keep(&run.one, 1, 256, 1000, 2000);
	keep(&run.two, 1, 512, 2002, 3000);
	say(&run.one, 2500, "ask 2 a 100 fair");
	say(&run.one, 2601, "got 2 TIMEOUT 0 - 0");
	take(&run.one, 3, 513, 3002, 5000);
	say(&run.one, 3003, "look 3 %" PRId64, 9000 * MS);
	say(&run.one, 3004, "wrote 3 a 513 taken");
	say(&run.one, 3005, "event JEOPARDY a 513");
	say(&run.one, 3006, "event CLOCK_JUMP - 0");
	say(&run.nemesis, 4000, "renew t:513");
	give(&run.one, 3, 8000, 8001, "OK");
	say(&run.nemesis, 9000, "over pause");
	accepted();
}

SENTENCE(what_was_seen_is_counted)
{
	turns_one_after_the_other_are_accepted();
	assert_int_equal(run.verdict.files, 3);
	assert_int_equal(run.verdict.processes, 2);
	assert_int_equal(run.verdict.records, 27);
	assert_int_equal(run.verdict.locks, 1);
	assert_int_equal(run.verdict.asks, 4);
	assert_int_equal(run.verdict.holds, 3);
	assert_int_equal(run.verdict.taken, 1);
	assert_int_equal(run.verdict.renewals, 1);
	assert_int_equal(run.verdict.strangers, 0);
	assert_int_equal(run.verdict.faults, 1);
	assert_int_equal(run.verdict.longest_wait_ns, 101 * MS);
	assert_true(run.verdict.bytes > 500);
}

/* ---- exclusion ---- */

SENTENCE(two_holds_valid_at_once_break_exclusion)
{
	take(&run.one, 1, 256, 1000, 2500);
	keep(&run.two, 1, 512, 1999, 3000);
	give(&run.one, 1, 2000, 2001, "UNKNOWN");
	rejected(VERDICT_EXCLUSION, 1);
}

SENTENCE(a_hold_is_valid_until_its_release_begins_and_not_until_it_is_answered)
{
	take(&run.one, 1, 256, 1000, 9000);
	give(&run.one, 1, 2000, 2600, "OK");
	keep(&run.two, 1, 512, 2001, 3000);
	accepted();
}

SENTENCE(a_killed_holder_is_valid_until_its_lease_ends)
{
	take(&run.one, 1, 256, 1000, 5000);
	say(&run.nemesis, 1500, "killed 11");
	run.one.silent = true;
	keep(&run.two, 1, 512, 4999, 6000);
	rejected(VERDICT_EXCLUSION, 1);
}

SENTENCE(whoever_comes_after_the_lease_of_a_killed_holder_is_right)
{
	take(&run.one, 1, 256, 1000, 5000);
	say(&run.nemesis, 1500, "killed 11");
	run.one.silent = true;
	keep(&run.two, 1, 512, 5000, 6000);
	accepted();
	assert_int_equal(run.verdict.killed, 1);
}

SENTENCE(a_frozen_holder_is_valid_until_its_lease_ends)
{
	take(&run.one, 1, 256, 1000, 5000);
	say(&run.nemesis, 1500, "frozen 11");
	keep(&run.two, 1, 512, 4999, 6000);
	say(&run.nemesis, 8000, "thawed 11");
	say(&run.one, 8001, "lost a 256");
	give(&run.one, 1, 8002, 8003, "LOST");
	rejected(VERDICT_EXCLUSION, 1);
}

SENTENCE(the_greatest_valid_until_that_was_noted_counts)
{
	take(&run.one, 1, 256, 1000, 5000);
	say(&run.one, 2000, "look 1 %" PRId64, 7000 * MS);
	say(&run.one, 2001, "look 1 %" PRId64, 6000 * MS);
	say(&run.nemesis, 2500, "killed 11");
	run.one.silent = true;
	keep(&run.two, 1, 512, 6500, 8000);
	rejected(VERDICT_EXCLUSION, 1);
}

SENTENCE(a_long_hold_clashes_with_all_that_begin_in_it)
{
	keep(&run.one, 1, 256, 1000, 9000);
	take(&run.two, 1, 512, 2000, 3500);
	give(&run.two, 1, 3000, 3001, "UNKNOWN");
	take(&run.two, 2, 768, 4000, 5500);
	give(&run.two, 2, 5000, 5001, "UNKNOWN");
	judge();
	assert_int_equal(run.verdict.violations[VERDICT_EXCLUSION], 2);
	assert_int_equal(run.verdict.violations[VERDICT_RELEASES], 1);   /* nor was it one's to give */
}

SENTENCE(a_hold_that_came_after_its_valid_until_was_never_valid)
{
	say(&run.one, 1000, "ask 1 a -1 plain");
	keep(&run.two, 1, 512, 2000, 4000);
	say(&run.one, 3000, "got 1 OK 256 t:256 %" PRId64, 1900 * MS);
	say(&run.one, 3001, "lost a 256");
	give(&run.one, 1, 3002, 3003, "LOST");
	say(&run.one, 3003, "still 2500");
	accepted();
}

SENTENCE(locks_have_nothing_to_do_with_each_other)
{
	keep(&run.one, 1, 512, 1000, 3000);
	say(&run.two, 1500, "ask 1 b -1 plain");
	say(&run.two, 1501, "got 1 OK 256 u:1 %" PRId64, 9000 * MS);
	give(&run.two, 1, 2000, 2001, "OK");
	accepted();
	assert_int_equal(run.verdict.locks, 2);
}

SENTENCE(what_a_process_that_ended_did_not_give_was_valid_to_its_last_line)
{
	take(&run.one, 1, 256, 1000, 9000);
	say(&run.one, 2000, "look 1 %" PRId64, 9000 * MS);
	say(&run.one, 2100, "end");
	run.one.silent = true;
	keep(&run.two, 1, 512, 2050, 6000);
	accepted();
}

SENTENCE(what_an_ended_process_held_at_its_last_line_was_its_own)
{
	take(&run.one, 1, 256, 1000, 9000);
	say(&run.one, 2000, "look 1 %" PRId64, 9000 * MS);
	say(&run.one, 2100, "end");
	run.one.silent = true;
	keep(&run.two, 1, 512, 1999, 6000);
	rejected(VERDICT_EXCLUSION, 1);
}

SENTENCE(an_abandoned_hold_was_valid_to_its_last_line)
{
	take(&run.one, 1, 256, 1000, 90000);
	say(&run.one, 2100, "event ABANDONED a 256");
	keep(&run.two, 1, 512, 2050, 6000);
	say(&run.nemesis, 50000, "killed 11");   /* so that it is not its end that says so */
	run.one.silent = true;
	accepted();
}

/* ---- promise ---- */

SENTENCE(a_loss_before_the_lease_ends_breaks_the_promise)
{
	take(&run.one, 1, 256, 1000, 5000);
	say(&run.one, 4998, "lost a 256");
	keep(&run.two, 1, 512, 4999, 6000);   /* which is not two at once: nobody relied on the first any more */
	give(&run.one, 1, 6000, 6001, "LOST");
	rejected(VERDICT_PROMISE, 1);
}

SENTENCE(a_look_that_says_no_before_the_lease_ends_breaks_the_promise)
{
	take(&run.one, 1, 256, 1000, 5000);
	say(&run.one, 3000, "look 1 0");
	give(&run.one, 1, 3001, 3002, "LOST");   /* which is what it had been told */
	rejected(VERDICT_PROMISE, 1);
}

SENTENCE(a_millisecond_of_rounding_breaks_no_promise)
{
	take(&run.one, 1, 256, 1000, 5000);
	say(&run.one, 4999, "lost a 256");
	give(&run.one, 1, 6000, 6001, "LOST");
	accepted();
	assert_int_equal(run.verdict.losses, 1);
	assert_int_equal(run.verdict.told_in_time, 1);
}

/* ---- fences ---- */

SENTENCE(a_later_holder_with_a_smaller_fence_is_rejected)
{
	say(&run.two, 900, "ask 1 a -1 plain");   /* it waited: by the asks alone it could have been first */
	keep(&run.one, 1, 512, 1000, 2000);
	say(&run.two, 3000, "got 1 OK 256 t:256 %" PRId64, 9000 * MS);
	give(&run.two, 1, 4000, 4001, "OK");
	rejected(VERDICT_FENCES, 1);
}

SENTENCE(one_fence_too_large_is_one_violation)
{
	for (int i = 1; i < 9; i++) {
		say(&run.two, 900, "ask %d a -1 plain", i);
		say(&run.two, i * 1000, "got %d OK %d t:%d %" PRId64, i, i == 2 ? 999 : i, i, (i * 1000 + 800) * MS);
		give(&run.two, i, i * 1000 + 700, i * 1000 + 701, "UNKNOWN");
	}
	rejected(VERDICT_FENCES, 1);
}

SENTENCE(a_fence_that_was_never_valid_must_grow_too)
{
	keep(&run.one, 1, 512, 1000, 2000);
	say(&run.two, 3000, "ask 1 a -1 plain");
	say(&run.two, 5000, "got 1 OK 256 t:256 %" PRId64, 4000 * MS);
	say(&run.two, 5000, "lost a 256");
	give(&run.two, 1, 5001, 5002, "LOST");
	rejected(VERDICT_FENCES, 1);
}

SENTENCE(a_fence_that_is_over_before_a_valid_one_is_smaller)
{
	say(&run.one, 900, "ask 1 a -1 plain");
	say(&run.two, 900, "ask 1 a -1 plain");
	say(&run.two, 3000, "got 1 OK 512 t:512 %" PRId64, 2000 * MS);
	say(&run.two, 3000, "lost a 512");
	give(&run.two, 1, 3001, 3002, "LOST");
	say(&run.one, 4000, "got 1 OK 256 t:256 %" PRId64, 9000 * MS);
	give(&run.one, 1, 5000, 5001, "OK");
	rejected(VERDICT_FENCES, 1);
}

SENTENCE(a_small_fence_that_was_never_valid_hides_no_larger_one)
{
	for (int i = 1; i < 3; i++)
		say(&run.two, 900, "ask %d a -1 plain", i);
	keep(&run.one, 1, 512, 1000, 2000);
	say(&run.two, 2500, "still 1600");
	say(&run.two, 2500, "got 1 OK 100 t:100 %" PRId64, 950 * MS);
	say(&run.two, 2500, "lost a 100");
	give(&run.two, 1, 2501, 2502, "LOST");
	say(&run.two, 3000, "got 2 OK 300 t:300 %" PRId64, 9000 * MS);
	give(&run.two, 2, 4000, 4001, "OK");
	rejected(VERDICT_FENCES, 1);
}

SENTENCE(a_smaller_fence_is_one_violation_however_it_is_seen)
{
	keep(&run.one, 1, 512, 1000, 2000);
	keep(&run.two, 1, 256, 3000, 4000);
	rejected(VERDICT_FENCES, 1);
}

SENTENCE(a_fence_is_had_only_once)
{
	keep(&run.one, 1, 512, 1000, 2000);
	keep(&run.two, 1, 512, 3000, 4000);
	rejected(VERDICT_FENCES, 1);
}

SENTENCE(a_hold_that_was_lost_before_it_could_be_looked_at_has_no_fence)
{
	for (int i = 1; i < 3; i++) {
		say(&run.one, i * 1000, "ask %d a -1 plain", i);
		say(&run.one, i * 1000 + 500, "lost a %d", i);
		say(&run.one, i * 1000 + 501, "got %d OK 0 - 0", i);
		give(&run.one, i, i * 1000 + 502, i * 1000 + 503, "LOST");
	}
	accepted();
	assert_int_equal(run.verdict.losses, 2);
}

/* ---- releases ---- */

SENTENCE(a_release_is_not_ok_after_the_loss_was_told)
{
	take(&run.one, 1, 256, 1000, 5000);
	say(&run.one, 5000, "lost a 256");
	give(&run.one, 1, 5001, 5002, "OK");
	rejected(VERDICT_RELEASES, 1);
}

SENTENCE(a_release_is_not_ok_after_a_look_said_no)
{
	take(&run.one, 1, 256, 1000, 5000);
	say(&run.one, 5000, "look 1 0");
	say(&run.one, 5000, "lost a 256");
	give(&run.one, 1, 5001, 5002, "OK");
	rejected(VERDICT_RELEASES, 1);
}

SENTENCE(a_release_is_not_ok_once_another_holds_the_lock)
{
	take(&run.one, 1, 256, 1000, 5000);
	keep(&run.two, 1, 512, 5001, 6000);
	give(&run.one, 1, 5002, 5003, "OK");
	say(&run.one, 5003, "lost a 256");     /* which excuses that it was not told yet */
	rejected(VERDICT_RELEASES, 1);
}

SENTENCE(a_release_does_not_answer_lost_while_the_hold_is_valid)
{
	take(&run.one, 1, 256, 1000, 5000);
	give(&run.one, 1, 2000, 2001, "LOST");
	rejected(VERDICT_RELEASES, 1);
}

SENTENCE(a_release_does_not_answer_not_held_while_the_hold_is_valid)
{
	take(&run.one, 1, 256, 1000, 5000);
	give(&run.one, 1, 2000, 2001, "NOT_HELD");
	say(&run.one, 2002, "lost a 256");   /* the event comes behind the answer: it excuses nothing */
	rejected(VERDICT_RELEASES, 1);
}

SENTENCE(a_look_during_the_release_says_nothing)
{
	take(&run.one, 1, 256, 1000, 5000);
	say(&run.one, 5000, "give 1");
	say(&run.one, 5001, "lost a 256");
	say(&run.one, 5001, "look 1 %" PRId64, 9000 * MS);   /* by another thread, which asked before */
	say(&run.one, 5002, "gave 1 LOST");
	accepted();
}

SENTENCE(a_release_that_cannot_say_contradicts_nothing)
{
	static const char *const answers[] = { "UNKNOWN", "UNAVAILABLE", "DENIED", "PROTOCOL", "CLOSED", "NO_MEMORY" };

	for (int i = 0; i < 6; i++) {
		take(&run.one, i, 256 + i, 1000 + i * 1000, 1500 + i * 1000);
		if (i % 2 == 0)
			say(&run.one, 1500 + i * 1000, "lost a %d", 256 + i);
		give(&run.one, i, 1600 + i * 1000, 1601 + i * 1000, answers[i]);
	}
	accepted();
}

/* ---- waits ---- */

SENTENCE(an_acquire_that_does_not_return_is_rejected)
{
	say(&run.one, 1000, "ask 1 a 500 plain");
	rejected(VERDICT_WAITS, 1);
}

SENTENCE(a_release_that_does_not_return_is_rejected)
{
	take(&run.one, 1, 256, 1000, 5000);
	say(&run.one, 2000, "give 1");
	rejected(VERDICT_WAITS, 1);
}

SENTENCE(a_process_that_neither_ends_nor_is_killed_is_rejected)
{
	keep(&run.one, 1, 256, 1000, 2000);
	run.one.silent = true;
	rejected(VERDICT_WAITS, 1);
}

SENTENCE(who_is_killed_leaves_open_what_it_did)
{
	take(&run.one, 1, 256, 1000, 5000);
	say(&run.one, 2000, "ask 2 b 10 plain");
	say(&run.one, 2001, "give 1");
	say(&run.nemesis, 2500, "killed 11");
	run.one.silent = true;
	accepted();
}

SENTENCE(who_is_killed_after_its_end_has_completed_everything)
{
	say(&run.one, 2000, "ask 1 b 10 plain");
	say(&run.one, 2001, "end");
	say(&run.nemesis, 2500, "killed 11");
	run.one.silent = true;
	rejected(VERDICT_WAITS, 1);
}

SENTENCE(the_killing_of_another_process_of_that_number_excuses_nothing)
{
	history_note_at(run.nemesis.history, 0, "killed 11");   /* before this one began */
	say(&run.nemesis, 2500, "killed 13");
	run.one.silent = true;
	rejected(VERDICT_WAITS, 1);
}

SENTENCE(how_late_waits_end_is_measured_without_the_time_that_the_process_stood_still)
{
	say(&run.one, 1000, "ask 1 a 100 plain");
	say(&run.one, 1120, "got 1 TIMEOUT 0 - 0");
	say(&run.one, 2000, "ask 2 a 100 plain");
	say(&run.one, 2030, "still 20");           /* 2010 to 2030, */
	say(&run.one, 2300, "still 250");          /* 2050 to 2300, */
	say(&run.nemesis, 2250, "frozen 11");
	say(&run.nemesis, 2350, "thawed 11");      /* and on to 2350 */
	say(&run.one, 2450, "got 2 TIMEOUT 0 - 0");
	say(&run.one, 3000, "ask 3 a 100 plain");
	say(&run.one, 3100, "got 3 TIMEOUT 0 - 0");
	say(&run.one, 4000, "ask 4 a 0 plain");    /* a try is never late */
	say(&run.one, 5000, "got 4 TIMEOUT 0 - 0");
	accepted();
	assert_int_equal(run.verdict.timed_waits, 3);
	assert_int_equal(run.verdict.late_waits, 2);
	assert_int_equal(run.verdict.worst_lateness_ns, 30 * MS);
	assert_int_equal(run.verdict.longest_wait_ns, 1000 * MS);
}

SENTENCE(a_timeout_does_not_come_before_the_wait_is_over)
{
	say(&run.one, 1000, "ask 1 a 100 plain");
	say(&run.one, 1098, "got 1 TIMEOUT 0 - 0");
	say(&run.one, 2000, "ask 2 a 100 plain");
	say(&run.one, 2099, "got 2 TIMEOUT 0 - 0");
	rejected(VERDICT_WAITS, 1);
}

SENTENCE(a_wait_without_an_end_has_no_timeout)
{
	say(&run.one, 1000, "ask 1 a -1 plain");
	say(&run.one, 90000, "got 1 TIMEOUT 0 - 0");
	rejected(VERDICT_WAITS, 1);
}

SENTENCE(no_answer_comes_long_after_the_end_of_the_wait)
{
	static const char *const answers[] = { "TIMEOUT", "UNAVAILABLE", "CANCELED", "DENIED" };

	for (int i = 0; i < 4; i++) {
		say(&run.one, 1000, "ask %d a 100 plain", i);
		say(&run.one, 1101 + VERDICT_WAIT_GRACE_MS, "got %d %s 0 - 0", i, answers[i]);
	}
	say(&run.two, 1000, "ask 1 a 100 plain");
	say(&run.two, 1100 + VERDICT_WAIT_GRACE_MS, "got 1 UNAVAILABLE 0 - 0");
	rejected(VERDICT_WAITS, 4);
}

/* ---- renewals ---- */

SENTENCE(a_renewal_long_after_the_release_is_rejected)
{
	take(&run.one, 1, 256, 1000, 5000);
	give(&run.one, 1, 2000, 2001, "OK");
	say(&run.nemesis, 2002 + VERDICT_RENEW_GRACE_MS, "renew t:256");
	rejected(VERDICT_RENEWALS, 1);
}

SENTENCE(a_renewal_may_be_stuck_for_a_while)
{
	take(&run.one, 1, 256, 1000, 5000);
	give(&run.one, 1, 2000, 2001, "OK");
	say(&run.nemesis, 2001 + VERDICT_RENEW_GRACE_MS, "renew t:256");
	say(&run.nemesis, 2001 + VERDICT_LATE_GRACE_MS, "renew t:256 late");
	say(&run.nemesis, 90000, "renew t:777");   /* whoever that is: it was killed before it could write it down */
	accepted();
	assert_int_equal(run.verdict.strangers, 1);
}

SENTENCE(a_late_renewal_long_after_the_release_is_rejected)
{
	take(&run.one, 1, 256, 1000, 5000);
	give(&run.one, 1, 2000, 2001, "OK");
	say(&run.nemesis, 2002 + VERDICT_LATE_GRACE_MS, "renew t:256 late");
	rejected(VERDICT_RENEWALS, 1);
}

SENTENCE(who_was_killed_may_have_handed_its_token_on_without_a_word)
{
	keep(&run.one, 1, 256, 1000, 2000);
	say(&run.one, 2001, "ask 2 a -1 plain");
	say(&run.nemesis, 2002 + VERDICT_RENEW_GRACE_MS, "renew t:256");
	say(&run.nemesis, 3000, "killed 11");
	run.one.silent = true;
	accepted();
}

SENTENCE(a_release_ends_the_renewals_whatever_it_answers)
{
	take(&run.one, 1, 256, 1000, 5000);
	give(&run.one, 1, 2000, 2001, "UNKNOWN");
	say(&run.nemesis, 2001 + VERDICT_LATE_GRACE_MS, "renew t:256");
	say(&run.nemesis, 2002 + VERDICT_LATE_GRACE_MS, "renew t:256");
	rejected(VERDICT_RENEWALS, 1);
}

SENTENCE(a_token_that_was_handed_on_is_renewed_for_the_next)
{
	keep(&run.one, 1, 256, 1000, 2000);
	say(&run.one, 1500, "ask 2 a -1 plain");
	say(&run.one, 2001, "got 2 OK 257 t:256 %" PRId64, 90000 * MS);
	say(&run.nemesis, 40000, "renew t:256");
	give(&run.one, 2, 41000, 41001, "OK");
	accepted();
}

SENTENCE(a_token_that_was_handed_on_is_not_renewed_after_the_last)
{
	keep(&run.one, 1, 256, 1000, 2000);
	say(&run.one, 1500, "ask 2 a -1 plain");
	say(&run.one, 2001, "got 2 OK 257 t:256 %" PRId64, 90000 * MS);
	give(&run.one, 2, 41000, 41001, "OK");
	say(&run.nemesis, 60000, "renew t:256");
	rejected(VERDICT_RENEWALS, 1);
}

/* ---- keys ---- */

SENTENCE(a_key_without_an_end_is_rejected)
{
	say(&run.nemesis, 1000, "endless leash:{a}");
	rejected(VERDICT_KEYS, 1);
}

SENTENCE(a_key_that_is_left_over_is_rejected)
{
	say(&run.nemesis, 1000, "left leash:{a}:queue");
	rejected(VERDICT_KEYS, 1);
}

/* ---- register ---- */

/* One holds, and loses its lease; two holds next, and writes. Then one looks at its own at `looks`, and writes at `writes`. */
static void
write_late(int looks, int writes, const char *said)
{
	take(&run.one, 1, 256, 1000, 5000);
	say(&run.one, 5000, "lost a 256");
	take(&run.two, 1, 512, 5001, 9000);
	say(&run.two, 6000, "wrote 1 a 512 taken");
	say(&run.two, 6001, "wrote 1 a 512 taken");   /* the same holder again */
	say(&run.two, 6002, "wrote 1 a 512 taken");
	give(&run.two, 1, 6500, 6501, "OK");
	say(&run.one, looks, "look 1 0");
	say(&run.one, writes, "wrote 1 a 256 %s", said);
	give(&run.one, 1, 8002, 8003, "LOST");
}

SENTENCE(a_register_that_takes_a_smaller_fence_is_rejected)
{
	write_late(6003, 7000, "taken");
	rejected(VERDICT_REGISTER, 1);
}

SENTENCE(a_write_may_be_done_long_before_it_is_written_down)
{
	write_late(5999, 7000, "taken");
	accepted();
}

SENTENCE(a_write_that_was_refused_is_counted)
{
	write_late(6003, 7000, "refused");
	accepted();
	assert_int_equal(run.verdict.taken, 3);
	assert_int_equal(run.verdict.refused, 1);
}

SENTENCE(a_register_that_refuses_who_is_valid_is_rejected)
{
	take(&run.one, 1, 256, 1000, 5000);
	say(&run.one, 4999, "wrote 1 a 256 refused");   /* by whomever: who was killed may not have written it down */
	say(&run.one, 5000, "lost a 256");
	say(&run.one, 5000, "wrote 1 a 256 refused");
	give(&run.one, 1, 6000, 6001, "LOST");
	rejected(VERDICT_REGISTER, 1);
}

SENTENCE(the_loss_of_what_has_no_fence_is_told_at_any_moment)
{
	for (int i = 1; i <= 4; i++) {
		int t = i * 1000;

		say(&run.one, t, "ask %d a -1 fair", i);
		if (i == 1)
			say(&run.one, t + 500, "lost a %d", 256 * i);
		say(&run.one, t + 501, "got %d OK 0 - 0", i);
		if (i == 2)
			say(&run.one, t + 502, "lost a %d", 256 * i);
		say(&run.one, t + 503, "look %d 0", i);
		if (i == 3)
			say(&run.one, t + 504, "lost a %d", 256 * i);
		give(&run.one, i, t + 505, t + 506, "LOST");
		if (i == 4)
			say(&run.one, t + 507, "lost a %d", 256 * i);
	}
	accepted();
}
