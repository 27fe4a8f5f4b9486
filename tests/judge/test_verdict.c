/* The rules of the judge: it accepts a run that could be, and for each rule rejects one that breaks it, by that rule only;
 * that who loses a lease is told so, and in time; and what the nemesis's own breaches excuse. */
#include "tests/judge/trial.h"
#include "tests/support/test.h"

#include <inttypes.h>

FIXTURE(trial_start, trial_stop);

/* Each story is of steps as tell() has them. */
struct story {
	const char *name;
	enum verdict_rule rule; /* that rejects it, as often as `times` says; 0 times: it is accepted */
	uint64_t times;
	const char *steps;
};

#define ACCEPTED VERDICT_HISTORY, 0
#define REJECTED(rule) VERDICT_##rule, 1

static const struct story stories[] = {
	/* a run that could be */
	{"turns_one_after_the_other_are_accepted", ACCEPTED,
	 "N 5 seed 18446744073709551615; N 6 fault pause 100 ms; 1 keep 1 256 1000 2000; 2 keep 1 512 2002 3000; "
	 "1 2500 ask 2 a 100 fair; 1 2601 got 2 TIMEOUT 0 - 0; 1 take 3 513 3002 5000; 1 3003 look 3 9000; "
	 "1 3004 wrote 3 a 513 taken; 1 3005 event JEOPARDY a 513; 1 3006 event CLOCK_JUMP - 0; "
	 "N 4000 renew t:513; 1 give 3 8000 8001 OK; N 9000 over pause"},

	/* exclusion */
	{"two_holds_valid_at_once_break_exclusion", REJECTED(EXCLUSION),
	 "1 take 1 256 1000 2500; 2 keep 1 512 1999 3000; 1 give 1 2000 2001 UNKNOWN"},
	{"a_hold_is_valid_until_its_release_begins_and_not_until_it_is_answered", ACCEPTED,
	 "1 take 1 256 1000 9000; 1 give 1 2000 2600 OK; 2 keep 1 512 2001 3000"},
	{"a_killed_holder_is_valid_until_its_lease_ends", REJECTED(EXCLUSION),
	 "1 take 1 256 1000 5000; N 1500 killed 11; 1 silent; 2 keep 1 512 4999 6000"},
	{"a_frozen_holder_is_valid_until_its_lease_ends", REJECTED(EXCLUSION),
	 "1 take 1 256 1000 5000; N 1500 frozen 11; 2 keep 1 512 4999 6000; N 8000 thawed 11; 1 8001 lost a 256; "
	 "1 give 1 8002 8003 LOST"},
	{"the_greatest_valid_until_that_was_noted_counts", REJECTED(EXCLUSION),
	 "1 take 1 256 1000 5000; 1 2000 look 1 7000; 1 2001 look 1 6000; N 2500 killed 11; 1 silent; "
	 "2 keep 1 512 6500 8000"},
	{"a_hold_that_came_after_its_valid_until_was_never_valid", ACCEPTED,
	 "1 1000 ask 1 a -1 plain; 2 keep 1 512 2000 4000; 1 3000 got 1 OK 256 t:256 1900; 1 3001 lost a 256; "
	 "1 give 1 3002 3003 LOST; 1 3003 still 2500"},
	{"what_a_process_that_ended_did_not_give_was_valid_to_its_last_line", ACCEPTED,
	 "1 take 1 256 1000 9000; 1 2000 look 1 9000; 1 2100 end; 1 silent; 2 keep 1 512 2050 6000"},
	{"what_an_ended_process_held_at_its_last_line_was_its_own", REJECTED(EXCLUSION),
	 "1 take 1 256 1000 9000; 1 2000 look 1 9000; 1 2100 end; 1 silent; 2 keep 1 512 1999 6000"},
	{"an_abandoned_hold_was_valid_to_its_last_line", ACCEPTED,
	 "1 take 1 256 1000 90000; 1 2100 event ABANDONED a 256; 2 keep 1 512 2050 6000; "
	 "N 50000 killed 11; " /* so that it is not its end that says so */
	 "1 silent"},

	/* promise */
	{"a_loss_before_the_lease_ends_breaks_the_promise", REJECTED(PROMISE),
	 "1 take 1 256 1000 5000; 1 4998 lost a 256; "
	 "2 keep 1 512 4999 6000; " /* which is not two at once: nobody relied on the first any more */
	 "1 give 1 6000 6001 LOST"},
	{"a_look_that_says_no_before_the_lease_ends_breaks_the_promise", REJECTED(PROMISE),
	 "1 take 1 256 1000 5000; 1 3000 look 1 0; 1 give 1 3001 3002 LOST"}, /* which is what it had been told */

	/* fences */
	{"a_later_holder_with_a_smaller_fence_is_rejected", REJECTED(FENCES),
	 "2 900 ask 1 a -1 plain; " /* it waited: by the asks alone it could have been first */
	 "1 keep 1 512 1000 2000; 2 3000 got 1 OK 256 t:256 9000; 2 give 1 4000 4001 OK"},
	{"a_fence_that_was_never_valid_must_grow_too", REJECTED(FENCES),
	 "1 keep 1 512 1000 2000; 2 3000 ask 1 a -1 plain; 2 5000 got 1 OK 256 t:256 4000; 2 5000 lost a 256; "
	 "2 give 1 5001 5002 LOST"},
	{"a_fence_that_is_over_before_a_valid_one_is_smaller", REJECTED(FENCES),
	 "1 900 ask 1 a -1 plain; 2 900 ask 1 a -1 plain; 2 3000 got 1 OK 512 t:512 2000; 2 3000 lost a 512; "
	 "2 give 1 3001 3002 LOST; 1 4000 got 1 OK 256 t:256 9000; 1 give 1 5000 5001 OK"},
	{"a_smaller_fence_is_one_violation_however_it_is_seen", REJECTED(FENCES),
	 "1 keep 1 512 1000 2000; 2 keep 1 256 3000 4000"},
	{"a_fence_is_had_only_once", REJECTED(FENCES),
	 "1 keep 1 512 1000 2000; 2 keep 1 512 3000 4000"},

	/* releases */
	{"a_release_is_not_ok_after_the_loss_was_told", REJECTED(RELEASES),
	 "1 take 1 256 1000 5000; 1 5000 lost a 256; 1 give 1 5001 5002 OK"},
	{"a_release_is_not_ok_after_a_look_said_no", REJECTED(RELEASES),
	 "1 take 1 256 1000 5000; 1 5000 look 1 0; 1 5000 lost a 256; 1 give 1 5001 5002 OK"},
	{"a_release_is_not_ok_once_another_holds_the_lock", REJECTED(RELEASES),
	 "1 take 1 256 1000 5000; 2 keep 1 512 5001 6000; 1 give 1 5002 5003 OK; "
	 "1 5003 lost a 256"}, /* which excuses that it was not told yet */
	{"a_release_does_not_answer_lost_while_the_hold_is_valid", REJECTED(RELEASES),
	 "1 take 1 256 1000 5000; 1 give 1 2000 2001 LOST"},
	{"a_release_does_not_answer_not_held_while_the_hold_is_valid", REJECTED(RELEASES),
	 "1 take 1 256 1000 5000; 1 give 1 2000 2001 NOT_HELD; "
	 "1 2002 lost a 256"}, /* the event comes behind the answer: it excuses nothing */
	{"a_look_during_the_release_says_nothing", ACCEPTED,
	 "1 take 1 256 1000 5000; 1 5000 give 1; 1 5001 lost a 256; "
	 "1 5001 look 1 9000; " /* by another thread, which asked before */
	 "1 5002 gave 1 LOST"},

	/* waits */
	{"an_acquire_that_does_not_return_is_rejected", REJECTED(WAITS),
	 "1 1000 ask 1 a 500 plain"},
	{"a_release_that_does_not_return_is_rejected", REJECTED(WAITS),
	 "1 take 1 256 1000 5000; 1 2000 give 1"},
	{"a_process_that_neither_ends_nor_is_killed_is_rejected", REJECTED(WAITS),
	 "1 keep 1 256 1000 2000; 1 silent"},
	{"who_is_killed_leaves_open_what_it_did", ACCEPTED,
	 "1 take 1 256 1000 5000; 1 2000 ask 2 b 10 plain; 1 2001 give 1; N 2500 killed 11; 1 silent"},
	{"who_is_killed_after_its_end_has_completed_everything", REJECTED(WAITS),
	 "1 2000 ask 1 b 10 plain; 1 2001 end; N 2500 killed 11; 1 silent"},
	{"a_timeout_does_not_come_before_the_wait_is_over", REJECTED(WAITS),
	 "1 1000 ask 1 a 100 plain; 1 1098 got 1 TIMEOUT 0 - 0; 1 2000 ask 2 a 100 plain; "
	 "1 2099 got 2 TIMEOUT 0 - 0"},
	{"a_wait_without_an_end_has_no_timeout", REJECTED(WAITS),
	 "1 1000 ask 1 a -1 plain; 1 90000 got 1 TIMEOUT 0 - 0"},

	/* renewals */
	{"a_renewal_long_after_the_release_is_rejected", REJECTED(RENEWALS),
	 "1 take 1 256 1000 5000; 1 give 1 2000 2001 OK; N 2002+RENEW renew t:256"},
	{"a_late_renewal_long_after_the_release_is_rejected", REJECTED(RENEWALS),
	 "1 take 1 256 1000 5000; 1 give 1 2000 2001 OK; N 2002+LATE renew t:256 late"},
	{"who_was_killed_may_have_handed_its_token_on_without_a_word", ACCEPTED,
	 "1 keep 1 256 1000 2000; 1 2001 ask 2 a -1 plain; N 2002+RENEW renew t:256; N 3000 killed 11; 1 silent"},
	{"a_release_ends_the_renewals_whatever_it_answers", REJECTED(RENEWALS),
	 "1 take 1 256 1000 5000; 1 give 1 2000 2001 UNKNOWN; N 2001+LATE renew t:256; N 2002+LATE renew t:256"},
	{"a_token_that_was_handed_on_is_renewed_for_the_next", ACCEPTED,
	 "1 keep 1 256 1000 2000; 1 1500 ask 2 a -1 plain; 1 2001 got 2 OK 257 t:256 90000; N 40000 renew t:256; "
	 "1 give 2 41000 41001 OK"},
	{"a_token_that_was_handed_on_is_not_renewed_after_the_last", REJECTED(RENEWALS),
	 "1 keep 1 256 1000 2000; 1 1500 ask 2 a -1 plain; 1 2001 got 2 OK 257 t:256 90000; "
	 "1 give 2 41000 41001 OK; N 60000 renew t:256"},

	/* keys */
	{"a_key_without_an_end_is_rejected", REJECTED(KEYS),
	 "N 1000 endless leash:{a}"},
	{"a_key_that_is_left_over_is_rejected", REJECTED(KEYS),
	 "N 1000 left leash:{a}:queue"},

	/* register */
	{"a_register_that_refuses_who_is_valid_is_rejected", REJECTED(REGISTER),
	 "1 take 1 256 1000 5000; "
	 "1 4999 wrote 1 a 256 refused; " /* by whomever: who was killed may not have written it down */
	 "1 5000 lost a 256; 1 5000 wrote 1 a 256 refused; 1 give 1 6000 6001 LOST"},

	/* who loses a lease is told so, and in time */
	{"a_loss_that_is_never_told_is_rejected", REJECTED(TOLD),
	 "1 take 1 256 1000 5000; 2 keep 1 512 5100 6000; 1 give 1 7000 7001 UNKNOWN"},
	{"a_loss_that_only_the_release_tells_is_rejected", REJECTED(TOLD),
	 "1 take 1 256 1000 5000; 1 give 1 7000 7001 LOST"},
	{"a_loss_that_only_a_look_tells_is_rejected", REJECTED(TOLD),
	 "1 take 1 256 1000 5000; 1 5000 look 1 0; 1 give 1 7000 7001 UNKNOWN"},
	{"an_event_long_after_a_look_found_the_loss_is_rejected", REJECTED(TOLD),
	 "1 take 1 256 1000 5000; 1 5000 look 1 0; 1 5001+EVENT lost a 256; 1 give 1 7000 7001 LOST"},
	{"an_event_may_come_a_little_after_a_look_or_release_found_the_loss", ACCEPTED,
	 "1 take 1 256 1000 5000; 1 5000 look 1 0; 1 5000+EVENT lost a 256; 1 give 1 7000 7001 LOST; "
	 "2 take 1 512 7002 9000; 2 give 1 10000 10001 LOST; 2 10001+EVENT lost a 512"},
	{"who_is_killed_before_the_event_comes_need_not_be_told", ACCEPTED,
	 "1 take 1 256 1000 5000; 1 5000 look 1 0; 1 5000+EVENT event JEOPARDY a 256; " /* its last line */
	 "N 7000 killed 11; 1 silent"},
	{"a_loss_that_is_told_after_the_next_holder_began_is_rejected", REJECTED(TOLD),
	 "1 take 1 256 1000 5000; 2 keep 1 512 5100 6000; 1 5100+TOLD+1 lost a 256; 1 give 1 7000 7001 LOST"},
	{"it_is_the_first_of_all_later_holders_that_counts", REJECTED(TOLD),
	 "1 take 1 256 1000 5000; 2 5001 ask 1 a -1 plain; 2 keep 2 768 5100 6000; 1 7000 lost a 256; "
	 "1 give 1 7001 7002 LOST; 2 9000 still 3900; 2 9000 got 1 OK 512 t:512 5050; 2 9000 lost a 512; "
	 "2 give 1 9001 9002 LOST"},
	{"a_hold_that_is_never_given_nor_told_is_rejected", REJECTED(TOLD),
	 "1 take 1 256 1000 5000; 1 5900 look 1 5001; 2 keep 1 512 5100 6000"},
	{"who_stood_still_is_told_when_it_runs_again", ACCEPTED,
	 "1 take 1 256 1000 5000; 2 keep 1 512 5100 6000; 1 7000 still 2500; 1 7001 lost a 256; "
	 "1 give 1 7002 7003 LOST"},
	{"who_was_frozen_is_told_when_it_is_thawed", ACCEPTED,
	 "1 take 1 256 1000 5000; N 1500 frozen 11; 2 keep 1 512 5100 6000; N 7000 thawed 11; 1 7001 lost a 256; "
	 "1 give 1 7002 7003 LOST"},
	{"who_was_thawed_long_ago_is_excused_no_more", REJECTED(TOLD),
	 "1 take 1 256 1000 5000; N 1500 frozen 11; 2 keep 1 512 5100 6000; N 7000 thawed 11; "
	 "1 7000+TOLD+1 lost a 256; 1 give 1 8002 8003 LOST"},
	{"who_is_frozen_for_good_need_not_be_told_but_has_not_ended", REJECTED(WAITS),
	 "1 take 1 256 1000 5000; N 1500 frozen 11; 1 silent; 2 keep 1 512 5100 6000"},
	{"the_stillness_of_another_process_excuses_nobody", REJECTED(TOLD),
	 "1 take 1 256 1000 5000; 2 keep 1 512 5100 6000; 2 7000 still 2500; 1 7001 lost a 256; "
	 "1 give 1 7002 7003 LOST"},
	{"who_was_killed_in_time_need_not_be_told", ACCEPTED,
	 "1 take 1 256 1000 5000; 1 5100 ask 2 b 0 plain; " /* its last line */
	 "2 keep 1 512 5100 6000; N 7000 killed 11; 1 silent"},
	{"who_lived_on_and_was_killed_later_had_to_be_told", REJECTED(TOLD),
	 "1 take 1 256 1000 5000; 2 keep 1 512 5100 6000; 1 6500 ask 2 b 0 plain; N 7000 killed 11; 1 silent"},
	{"what_is_lost_is_not_held_again", REJECTED(TOLD),
	 "1 take 1 256 1000 5000; 1 5000 look 1 0; 1 5001 look 1 4000; 1 5002 lost a 256; 1 give 1 7000 7001 LOST"},

	/* what the nemesis's own breaches excuse, and what they do not */
	{"who_asked_within_a_breach_may_have_got_what_was_lost_in_it", ACCEPTED,
	 "N 800 breach; 1 900 ask 1 a -1 plain; N 990 mended; 1 1000 got 1 OK 256 t:256 5000; "
	 "2 keep 1 512 1001 3000; 1 give 1 4000 4001 LOST"},
	{"a_breach_excuses_the_release_under_way", ACCEPTED,
	 "1 take 1 256 1000 9000; 1 2000 give 1; N 2001 breach; 1 2002 gave 1 LOST; N 2003 mended"},
	{"a_breach_after_the_release_excuses_it_no_more", REJECTED(RELEASES),
	 "1 take 1 256 1000 9000; 1 give 1 2000 2001 LOST; N 2002 breach"},
	{"a_breach_excuses_who_was_told_too_late_or_never", ACCEPTED,
	 "1 take 1 256 1000 5000; N 5500 breach; " /* it had been renewed until then, and nobody had looked */
	 "N 5600 mended; 2 keep 1 512 5700 6000; 1 give 1 7000 7001 LOST"},
	{"a_breach_that_is_over_before_excuses_nobody_from_telling", REJECTED(TOLD),
	 "N 500 breach; N 600 mended; 1 take 1 256 1000 5000; 2 keep 1 512 5700 6000; 1 give 1 7000 7001 LOST"},
	{"a_breach_that_is_noted_afterwards_excuses_nothing_before_its_moment", REJECTED(PROMISE),
	 "N 2500 over something; N 1800 breach failover; N 2600 mended; 1 take 1 256 1000 9000; "
	 "1 1600 lost a 256; 1 give 1 1700 1701 LOST"},
	{"a_breach_excuses_no_fence", REJECTED(FENCES),
	 "1 keep 1 512 1000 2000; N 1500 breach; 2 keep 1 256 3000 4000"},
	{"a_breach_excuses_no_wait", REJECTED(WAITS),
	 "N 1500 breach; 1 2000 ask 1 a 500 plain"},
	{"a_breach_excuses_no_renewal", REJECTED(RENEWALS),
	 "N 500 breach; 1 take 1 256 1000 5000; 1 give 1 2000 2001 OK; N 2002+RENEW renew t:256"},
	{"a_breach_excuses_no_key", REJECTED(KEYS),
	 "N 500 breach; N 1000 endless leash:{a}"},
	{"an_emptied_server_excuses_losses", ACCEPTED,
	 "1 take 1 256 1000 5000; N 1500 breach emptied; 1 1600 lost a 256; N 1700 mended; 1 give 1 1800 1801 LOST"},
	{"what_is_worse_within_an_emptied_time_counts", ACCEPTED,
	 "1 take 1 256 1000 9000; N 1500 breach emptied; N 1510 breach FLUSHALL; N 1520 mended; N 1600 mended; "
	 "2 keep 1 512 1700 3000; 1 give 1 4000 4001 OK"},
	{"who_has_a_token_of_its_own_is_excused_by_no_other", REJECTED(FENCES),
	 "1 take 1 256 1000 9000; N 1500 breach DEL; N 1600 mended; 1 give 1 1650 1651 OK; "
	 "2 take 1 512 1700 9000; 2 give 1 1850 1851 OK; 1 take 2 257 1902 9000; 1 give 2 1904 1905 OK"},
};

SENTENCES(is_judged_so, stories)
{
	const struct story *story = given;

	tell(story->steps);
	rejected(story->rule, story->times);
}

/* ---- a run that could be ---- */

SENTENCE(what_was_seen_is_counted)
{
	tell(stories[0].steps);
	accepted();
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

SENTENCE(whoever_comes_after_the_lease_of_a_killed_holder_is_right)
{
	tell("1 take 1 256 1000 5000; N 1500 killed 11; 1 silent; 2 keep 1 512 5000 6000");
	accepted();
	assert_int_equal(run.verdict.killed, 1);
}

SENTENCE(a_long_hold_clashes_with_all_that_begin_in_it)
{
	tell("1 keep 1 256 1000 9000; 2 take 1 512 2000 3500; 2 give 1 3000 3001 UNKNOWN; 2 take 2 768 4000 5500; "
	     "2 give 2 5000 5001 UNKNOWN");
	judge();
	assert_int_equal(run.verdict.violations[VERDICT_EXCLUSION], 2);
	assert_int_equal(run.verdict.violations[VERDICT_RELEASES], 1);   /* nor was it one's to give */
}

SENTENCE(locks_have_nothing_to_do_with_each_other)
{
	tell("1 keep 1 512 1000 3000; 2 1500 ask 1 b -1 plain; 2 1501 got 1 OK 256 u:1 9000; 2 give 1 2000 2001 OK");
	accepted();
	assert_int_equal(run.verdict.locks, 2);
}

/* ---- promise ---- */

SENTENCE(a_millisecond_of_rounding_breaks_no_promise)
{
	tell("1 take 1 256 1000 5000; 1 4999 lost a 256; 1 give 1 6000 6001 LOST");
	accepted();
	assert_int_equal(run.verdict.losses, 1);
	assert_int_equal(run.verdict.told_in_time, 1);
}

/* ---- fences ---- */

SENTENCE(one_fence_too_large_is_one_violation)
{
	for (int i = 1; i < 9; i++) {
		say(&run.two, 900, "ask %d a -1 plain", i);
		say(&run.two, i * 1000, "got %d OK %d t:%d %" PRId64, i, i == 2 ? 999 : i, i, (i * 1000 + 800) * MS);
		give(&run.two, i, i * 1000 + 700, i * 1000 + 701, "UNKNOWN");
	}
	rejected(VERDICT_FENCES, 1);
}

SENTENCE(a_small_fence_that_was_never_valid_hides_no_larger_one)
{
	for (int i = 1; i < 3; i++)
		say(&run.two, 900, "ask %d a -1 plain", i);
	tell("1 keep 1 512 1000 2000; 2 2500 still 1600; 2 2500 got 1 OK 100 t:100 950; 2 2500 lost a 100; "
	     "2 give 1 2501 2502 LOST; 2 3000 got 2 OK 300 t:300 9000; 2 give 2 4000 4001 OK");
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

SENTENCE(the_killing_of_another_process_of_that_number_excuses_nothing)
{
	history_note_at(run.nemesis.history, 0, "killed 11");   /* before this one began */
	tell("N 2500 killed 13; 1 silent");
	rejected(VERDICT_WAITS, 1);
}

SENTENCE(how_late_waits_end_is_measured_without_the_time_that_the_process_stood_still)
{
	tell("1 1000 ask 1 a 100 plain; 1 1120 got 1 TIMEOUT 0 - 0; 1 2000 ask 2 a 100 plain; "
	     "1 2030 still 20; " /* 2010 to 2030, */
	     "1 2300 still 250; " /* 2050 to 2300, */
	     "N 2250 frozen 11; N 2350 thawed 11; " /* and on to 2350 */
	     "1 2450 got 2 TIMEOUT 0 - 0; 1 3000 ask 3 a 100 plain; 1 3100 got 3 TIMEOUT 0 - 0; "
	     "1 4000 ask 4 a 0 plain; " /* a try is never late */
	     "1 5000 got 4 TIMEOUT 0 - 0");
	accepted();
	assert_int_equal(run.verdict.timed_waits, 3);
	assert_int_equal(run.verdict.late_waits, 2);
	assert_int_equal(run.verdict.worst_lateness_ns, 30 * MS);
	assert_int_equal(run.verdict.longest_wait_ns, 1000 * MS);
}

SENTENCE(no_answer_comes_long_after_the_end_of_the_wait)
{
	static const char *const answers[] = { "TIMEOUT", "UNAVAILABLE", "CANCELED", "DENIED" };

	for (int i = 0; i < 4; i++) {
		say(&run.one, 1000, "ask %d a 100 plain", i);
		say(&run.one, 1101 + VERDICT_WAIT_GRACE_MS, "got %d %s 0 - 0", i, answers[i]);
	}
	tell("2 1000 ask 1 a 100 plain; 2 1100+WAIT got 1 UNAVAILABLE 0 - 0");
	rejected(VERDICT_WAITS, 4);
}

/* ---- renewals ---- */

SENTENCE(a_renewal_may_be_stuck_for_a_while)
{
	tell("1 take 1 256 1000 5000; 1 give 1 2000 2001 OK; N 2001+RENEW renew t:256; "
	     "N 2001+LATE renew t:256 late; "
	     "N 90000 renew t:777"); /* whoever that is: it was killed before it could write it down */
	accepted();
	assert_int_equal(run.verdict.strangers, 1);
}

/* ---- register ---- */

/* One holds, and loses its lease; two holds next, and writes. Then one looks at its own at `looks`, and writes at `writes`. */
static void
write_late(int looks, int writes, const char *said)
{
	tell("1 take 1 256 1000 5000; 1 5000 lost a 256; 2 take 1 512 5001 9000; 2 6000 wrote 1 a 512 taken; "
	     "2 6001 wrote 1 a 512 taken; " /* the same holder again */
	     "2 6002 wrote 1 a 512 taken; 2 give 1 6500 6501 OK");
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

/* ---- losses that are told, and breaches ---- */

SENTENCE(a_thread_that_has_to_be_woken_may_take_its_time_to_tell)
{
	tell("1 take 1 256 1000 5000; 2 keep 1 512 5100 6000; 1 5100+TOLD lost a 256; 1 give 1 7000 7001 LOST");
	accepted();
	assert_int_equal(run.verdict.told_after_others, 1);
	assert_int_equal(run.verdict.worst_told_ns, VERDICT_TOLD_GRACE_MS * MS);
	assert_int_equal(run.verdict.latest_told_ns, (100 + VERDICT_TOLD_GRACE_MS) * MS);
}

SENTENCE(what_is_renewed_without_a_look_is_not_lost)
{
	tell("1 take 1 256 1000 5000; 1 give 1 50000 50001 OK; 2 keep 1 512 50002 51000");
	accepted();
	assert_int_equal(run.verdict.losses, 0);
}

SENTENCE(a_breach_excuses_two_holders_at_once)
{
	tell("1 take 1 256 1000 9000; N 1500 breach the server starts without its data; N 1600 mended; "
	     "2 keep 1 512 1700 3000; 1 give 1 4000 4001 OK");
	accepted();
	assert_int_equal(run.verdict.breaches, 1);
	assert_int_equal(run.verdict.excused, 1);
}

SENTENCE(who_asks_after_a_breach_is_excused_by_it_no_more)
{
	tell("N 800 breach again and again; N 810 breach; N 820 mended; N 990 mended; 1 keep 1 256 1000 2000; "
	     "2 keep 1 512 1700 3000");
	judge();
	assert_int_equal(run.verdict.violations[VERDICT_EXCLUSION], 1);
	assert_int_equal(run.verdict.violations[VERDICT_RELEASES], 1);
}

SENTENCE(a_breach_excuses_a_broken_promise_and_a_loss_that_the_release_finds)
{
	tell("1 take 1 256 1000 5000; 2 take 1 256 1000 5000; N 1500 breach; 1 1600 lost a 256; "
	     "1 give 1 1700 1701 LOST; 2 give 1 1700 1701 LOST; N 1800 mended");
	judge();
	assert_int_equal(verdict_violations(&run.verdict), 1);
	assert_int_equal(run.verdict.violations[VERDICT_FENCES], 1);   /* it excuses no fence that two have */
	assert_int_equal(run.verdict.losses, 2);
	assert_int_equal(run.verdict.found, 1);
}

/* As the nemesis does with what it has not ordered: its line comes behind later ones. */
SENTENCE(a_breach_that_is_noted_afterwards_excuses_from_its_moment_on)
{
	tell("N 2500 over something; N 1500 breach failover; N 2600 mended; 1 take 1 256 1000 9000; "
	     "1 1600 lost a 256; 1 give 1 1700 1701 LOST; 2 keep 1 512 1550 2000");
	accepted();
	assert_int_equal(run.verdict.excused, 2);
}

SENTENCE(a_breach_excuses_no_register)
{
	tell("N 500 breach; 1 keep 1 256 1000 2000; 2 take 1 512 3000 9000; 2 3001 wrote 1 a 512 taken; "
	     "2 give 1 4000 4001 OK; 1 5000 ask 2 a -1 plain; 1 5001 got 2 OK 257 t:257 9000; "
	     "1 5002 wrote 2 a 257 taken; 1 give 2 6000 6001 OK");
	judge();
	assert_int_equal(run.verdict.violations[VERDICT_REGISTER], 1);
	assert_int_equal(run.verdict.violations[VERDICT_FENCES], 1);
	assert_int_equal(verdict_violations(&run.verdict), 2);
}

SENTENCE(an_emptied_server_excuses_no_two_holders)
{
	tell("1 take 1 256 1000 9000; N 1500 breach emptied; N 1600 mended; 2 keep 1 512 1700 3000; "
	     "1 give 1 4000 4001 OK");
	judge();
	assert_int_equal(run.verdict.violations[VERDICT_EXCLUSION], 1);
}

/* The second has the token of the first, locally, as long as its process does not know that the key is gone. */
SENTENCE(who_has_the_token_of_one_who_lived_in_a_breach_is_excused_too)
{
	tell("1 take 1 256 1000 9000; N 1500 breach DEL; N 1600 mended; 2 take 1 512 1700 9000; "
	     "1 1800 ask 2 a -1 plain; 1 give 1 1900 1901 OK; 1 1902 got 2 OK 257 t:256 9000; 1 1903 lost a 257; "
	     "1 give 2 1904 1905 LOST; 2 give 1 5000 5001 OK");
	accepted();
	assert_int_equal(run.verdict.excused, 2);
}
