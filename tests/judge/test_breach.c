/* What the nemesis's own breaches excuse, and what they do not. */
#include "tests/judge/trial.h"
#include "tests/support/test.h"

#include <inttypes.h>

FIXTURE(trial_start, trial_stop);

SENTENCE(a_breach_excuses_two_holders_at_once)
{
	take(&run.one, 1, 256, 1000, 9000);
	say(&run.nemesis, 1500, "breach the server starts without its data");
	say(&run.nemesis, 1600, "mended");
	keep(&run.two, 1, 512, 1700, 3000);
	give(&run.one, 1, 4000, 4001, "OK");
	accepted();
	assert_int_equal(run.verdict.breaches, 1);
	assert_int_equal(run.verdict.excused, 1);
}

SENTENCE(who_asks_after_a_breach_is_excused_by_it_no_more)
{
	say(&run.nemesis, 800, "breach again and again");
	say(&run.nemesis, 810, "breach");
	say(&run.nemesis, 820, "mended");
	say(&run.nemesis, 990, "mended");
	keep(&run.one, 1, 256, 1000, 2000);
	keep(&run.two, 1, 512, 1700, 3000);
	judge();
	assert_int_equal(run.verdict.violations[VERDICT_EXCLUSION], 1);
	assert_int_equal(run.verdict.violations[VERDICT_RELEASES], 1);
}

SENTENCE(who_asked_within_a_breach_may_have_got_what_was_lost_in_it)
{
	say(&run.nemesis, 800, "breach");
	say(&run.one, 900, "ask 1 a -1 plain");
	say(&run.nemesis, 990, "mended");
	say(&run.one, 1000, "got 1 OK 256 t:256 %" PRId64, 5000 * MS);
	keep(&run.two, 1, 512, 1001, 3000);
	give(&run.one, 1, 4000, 4001, "LOST");
	accepted();
}

SENTENCE(a_breach_excuses_a_broken_promise_and_a_loss_that_the_release_finds)
{
	take(&run.one, 1, 256, 1000, 5000);
	take(&run.two, 1, 256, 1000, 5000);
	say(&run.nemesis, 1500, "breach");
	say(&run.one, 1600, "lost a 256");
	give(&run.one, 1, 1700, 1701, "LOST");
	give(&run.two, 1, 1700, 1701, "LOST");
	say(&run.nemesis, 1800, "mended");
	judge();
	assert_int_equal(verdict_violations(&run.verdict), 1);
	assert_int_equal(run.verdict.violations[VERDICT_FENCES], 1);   /* it excuses no fence that two have */
	assert_int_equal(run.verdict.losses, 2);
	assert_int_equal(run.verdict.found, 1);
}

SENTENCE(a_breach_excuses_the_release_under_way)
{
	take(&run.one, 1, 256, 1000, 9000);
	say(&run.one, 2000, "give 1");
	say(&run.nemesis, 2001, "breach");
	say(&run.one, 2002, "gave 1 LOST");
	say(&run.nemesis, 2003, "mended");
	accepted();
}

SENTENCE(a_breach_after_the_release_excuses_it_no_more)
{
	take(&run.one, 1, 256, 1000, 9000);
	give(&run.one, 1, 2000, 2001, "LOST");
	say(&run.nemesis, 2002, "breach");
	rejected(VERDICT_RELEASES, 1);
}

SENTENCE(a_breach_excuses_who_was_told_too_late_or_never)
{
	take(&run.one, 1, 256, 1000, 5000);
	say(&run.nemesis, 5500, "breach");   /* it had been renewed until then, and nobody had looked */
	say(&run.nemesis, 5600, "mended");
	keep(&run.two, 1, 512, 5700, 6000);
	give(&run.one, 1, 7000, 7001, "LOST");
	accepted();
}

SENTENCE(a_breach_that_is_over_before_excuses_nobody_from_telling)
{
	say(&run.nemesis, 500, "breach");
	say(&run.nemesis, 600, "mended");
	take(&run.one, 1, 256, 1000, 5000);
	keep(&run.two, 1, 512, 5700, 6000);
	give(&run.one, 1, 7000, 7001, "LOST");
	rejected(VERDICT_TOLD, 1);
}

/* As the nemesis does with what it has not ordered: its line comes behind later ones. */
SENTENCE(a_breach_that_is_noted_afterwards_excuses_from_its_moment_on)
{
	say(&run.nemesis, 2500, "over something");
	say(&run.nemesis, 1500, "breach failover");
	say(&run.nemesis, 2600, "mended");
	take(&run.one, 1, 256, 1000, 9000);
	say(&run.one, 1600, "lost a 256");
	give(&run.one, 1, 1700, 1701, "LOST");
	keep(&run.two, 1, 512, 1550, 2000);
	accepted();
	assert_int_equal(run.verdict.excused, 2);
}

SENTENCE(a_breach_that_is_noted_afterwards_excuses_nothing_before_its_moment)
{
	say(&run.nemesis, 2500, "over something");
	say(&run.nemesis, 1800, "breach failover");
	say(&run.nemesis, 2600, "mended");
	take(&run.one, 1, 256, 1000, 9000);
	say(&run.one, 1600, "lost a 256");
	give(&run.one, 1, 1700, 1701, "LOST");
	rejected(VERDICT_PROMISE, 1);
}

SENTENCE(a_breach_excuses_no_fence)
{
	keep(&run.one, 1, 512, 1000, 2000);
	say(&run.nemesis, 1500, "breach");
	keep(&run.two, 1, 256, 3000, 4000);
	rejected(VERDICT_FENCES, 1);
}

SENTENCE(a_breach_excuses_no_wait)
{
	say(&run.nemesis, 1500, "breach");
	say(&run.one, 2000, "ask 1 a 500 plain");
	rejected(VERDICT_WAITS, 1);
}

SENTENCE(a_breach_excuses_no_renewal)
{
	say(&run.nemesis, 500, "breach");
	take(&run.one, 1, 256, 1000, 5000);
	give(&run.one, 1, 2000, 2001, "OK");
	say(&run.nemesis, 2002 + VERDICT_RENEW_GRACE_MS, "renew t:256");
	rejected(VERDICT_RENEWALS, 1);
}

SENTENCE(a_breach_excuses_no_register)
{
	say(&run.nemesis, 500, "breach");
	keep(&run.one, 1, 256, 1000, 2000);
	take(&run.two, 1, 512, 3000, 9000);
	say(&run.two, 3001, "wrote 1 a 512 taken");
	give(&run.two, 1, 4000, 4001, "OK");
	say(&run.one, 5000, "ask 2 a -1 plain");
	say(&run.one, 5001, "got 2 OK 257 t:257 %" PRId64, 9000 * MS);
	say(&run.one, 5002, "wrote 2 a 257 taken");
	give(&run.one, 2, 6000, 6001, "OK");
	judge();
	assert_int_equal(run.verdict.violations[VERDICT_REGISTER], 1);
	assert_int_equal(run.verdict.violations[VERDICT_FENCES], 1);
	assert_int_equal(verdict_violations(&run.verdict), 2);
}

SENTENCE(a_breach_excuses_no_key)
{
	say(&run.nemesis, 500, "breach");
	say(&run.nemesis, 1000, "endless leash:{a}");
	rejected(VERDICT_KEYS, 1);
}

SENTENCE(an_emptied_server_excuses_losses)
{
	take(&run.one, 1, 256, 1000, 5000);
	say(&run.nemesis, 1500, "breach emptied");
	say(&run.one, 1600, "lost a 256");
	say(&run.nemesis, 1700, "mended");
	give(&run.one, 1, 1800, 1801, "LOST");
	accepted();
}

SENTENCE(an_emptied_server_excuses_no_two_holders)
{
	take(&run.one, 1, 256, 1000, 9000);
	say(&run.nemesis, 1500, "breach emptied");
	say(&run.nemesis, 1600, "mended");
	keep(&run.two, 1, 512, 1700, 3000);
	give(&run.one, 1, 4000, 4001, "OK");
	judge();
	assert_int_equal(run.verdict.violations[VERDICT_EXCLUSION], 1);
}

SENTENCE(what_is_worse_within_an_emptied_time_counts)
{
	take(&run.one, 1, 256, 1000, 9000);
	say(&run.nemesis, 1500, "breach emptied");
	say(&run.nemesis, 1510, "breach FLUSHALL");
	say(&run.nemesis, 1520, "mended");
	say(&run.nemesis, 1600, "mended");
	keep(&run.two, 1, 512, 1700, 3000);
	give(&run.one, 1, 4000, 4001, "OK");
	accepted();
}

/* The second has the token of the first, locally, as long as its process does not know that the key is gone. */
SENTENCE(who_has_the_token_of_one_who_lived_in_a_breach_is_excused_too)
{
	take(&run.one, 1, 256, 1000, 9000);
	say(&run.nemesis, 1500, "breach DEL");
	say(&run.nemesis, 1600, "mended");
	take(&run.two, 1, 512, 1700, 9000);
	say(&run.one, 1800, "ask 2 a -1 plain");
	give(&run.one, 1, 1900, 1901, "OK");
	say(&run.one, 1902, "got 2 OK 257 t:256 %" PRId64, 9000 * MS);
	say(&run.one, 1903, "lost a 257");
	give(&run.one, 2, 1904, 1905, "LOST");
	give(&run.two, 1, 5000, 5001, "OK");
	accepted();
	assert_int_equal(run.verdict.excused, 2);
}

SENTENCE(who_has_a_token_of_its_own_is_excused_by_no_other)
{
	take(&run.one, 1, 256, 1000, 9000);
	say(&run.nemesis, 1500, "breach DEL");
	say(&run.nemesis, 1600, "mended");
	give(&run.one, 1, 1650, 1651, "OK");
	take(&run.two, 1, 512, 1700, 9000);
	give(&run.two, 1, 1850, 1851, "OK");
	take(&run.one, 2, 257, 1902, 9000);
	give(&run.one, 2, 1904, 1905, "OK");
	rejected(VERDICT_FENCES, 1);
}
