/* The judge: it accepts a run that could be, and for each rule rejects one that breaks it, by that rule only; that who
 * loses a lease is told so, and in time; what the nemesis's own breaches excuse; and which histories make no sense. */
#include "tests/judge/history.h"
#include "tests/judge/verdict.h"
#include "tests/support/sweep.h"
#include "tests/support/test.h"
#include "tests/support/trouble.h"

#include <errno.h>
#include <inttypes.h>

/* ---- a made-up run ---- */

enum { THE_END = 100000 }; /* in ms: when both processes end, unless they are silent */

struct party {
	struct history *history;
	bool silent;
};

static char *folder;
static struct party one, two, nemesis; /* processes 11 and 12 */
static struct verdict verdict;

#define say(party, ms, ...) history_note_at((party)->history, (ms) * MS, __VA_ARGS__)

static void
start(void)
{
	folder = sweep_folder();
	one = (struct party){ .history = history_open(folder, "one") };
	two = (struct party){ .history = history_open(folder, "two") };
	nemesis = (struct party){ .history = history_open(folder, "nemesis") };
	say(&one, 1, "process 11 one");
	say(&two, 1, "process 12 two");
}

static void
stop(void)
{
	history_close(one.history);
	history_close(two.history);
	history_close(nemesis.history);
	verdict_clear(&verdict);
	sweep_remove(folder);
}

FIXTURE(start, stop);

static void
give(struct party *p, int hold, int from, int to, const char *status)
{
	say(p, from, "give %d", hold);
	say(p, to, "gave %d %s", hold, status);
}

static int64_t
sum(char *terms)
{
	static const struct {
		const char *name;
		int64_t ms;
	} graces[] = {
		{"TOLD", VERDICT_TOLD_GRACE_MS}, {"EVENT", VERDICT_EVENT_GRACE_MS}, {"RENEW", VERDICT_RENEW_GRACE_MS},
		{"LATE", VERDICT_LATE_GRACE_MS}, {"WAIT", VERDICT_WAIT_GRACE_MS}, {"PLACE", VERDICT_PLACE_GRACE_MS},
	};
	int64_t ms = 0;

	for (char *term; (term = strsep(&terms, "+")) != NULL;) {
		ms += strtoll(term, NULL, 10);
		for (size_t i = 0; i < COUNT(graces); i++)
			ms += strcmp(term, graces[i].name) == 0 ? graces[i].ms : 0;
	}
	return ms;
}

/* What is done, in steps "<who> <what>", with a semicolon between them. Who is 1, 2, or N for the nemesis. What is
 *
 *     take HOLD FENCE FROM UNTIL      held from then on, valid to the latter, with token t:FENCE
 *     holds                           take 1 256 1000 5000
 *     give HOLD FROM [TO] STATUS      its release; without TO it is answered in a millisecond
 *     keep HOLD FENCE FROM TO         take, valid for longer, and give at TO, OK
 *     take:NEED ..., keep:NEED ...    likewise, of what is not a plain lock; of permits FENCE is 0
 *     silent                          it says no "end" of its own accord
 *     MOMENT LINE                     a line, in which the valid-until of "got" and "look" is in milliseconds, too
 *
 * All is held of lock a, unless a line says otherwise. A moment is in milliseconds: a sum of numbers and of the graces
 * TOLD, EVENT, RENEW, LATE, WAIT and PLACE. */
static void
tell_step(char *step)
{
	struct party *p = step[0] == '1' ? &one : step[0] == '2' ? &two : &nemesis;
	char *line = step + 2, *at, *last, what[8], need[16] = "plain", status[16], holds[] = "take 1 256 1000 5000";
	int hold, fence, from, to;

	if (strcmp(line, "holds") == 0)
		line = holds;
	if (strcmp(line, "silent") == 0) {
		p->silent = true;
	} else if (sscanf(line, "%4[takep] %d %d %d %d", what, &hold, &fence, &from, &to) == 5 ||
	           sscanf(line, "%4[takep]:%15s %d %d %d %d", what, need, &hold, &fence, &from, &to) == 6) {
		bool keeps = strcmp(what, "keep") == 0;

		say(p, from - 1, "ask %d a -1 %s", hold, need);
		say(p, from, "got %d OK %d t:%d %" PRId64, hold, fence, fence, (keeps ? to + 500 : to) * MS);
		if (keeps)
			give(p, hold, to, to + 1, "OK");
	} else if (sscanf(line, "give %d %d %d %15s", &hold, &from, &to, status) == 4) {
		give(p, hold, from, to, status);
	} else if (sscanf(line, "give %d %d %15s", &hold, &from, status) == 3) {
		give(p, hold, from, from + 1, status);
	} else {
		at = strsep(&line, " ");
		last = strncmp(line, "got ", 4) == 0 || strncmp(line, "look ", 5) == 0 ? strrchr(line, ' ') : NULL;
		if (last != NULL)
			say(p, sum(at), "%.*s %" PRId64, (int)(last - line), line, (int64_t)strtoll(last, NULL, 10) * MS);
		else
			say(p, sum(at), "%s", line);
	}
}

static void
tell(const char *steps)
{
	char copy[1024], *rest = copy;

	assert_in_range(snprintf(copy, sizeof(copy), "%s", steps), 1, sizeof(copy) - 1);
	for (char *step; (step = strsep(&rest, ";")) != NULL;)
		tell_step(step + strspn(step, " "));
}

static void
judge(void)
{
	if (!one.silent)
		say(&one, THE_END, "end");
	if (!two.silent)
		say(&two, THE_END, "end");
	say(&nemesis, THE_END, "over all");
	if (!verdict_find(&verdict, folder))
		trouble("%s: %s", folder, strerror(errno));
}

static int64_t
counted(const char *name)
{
#define ONE(field, text) \
	if (strcmp(name, #field) == 0) \
		return verdict.field;
	VERDICT_COUNTS(ONE)
	trouble("a verdict has no '%s'", name);
}

static void
violated(enum verdict_rule rule, uint64_t times)
{
	if (verdict.violations[rule] != times) {
		verdict_print(&verdict, stderr);
		fail_msg("not as expected: %" PRIu64 " violations of %s", times, verdict_rule_name(rule));
	}
	for (uint64_t i = 0; i < times; i++)
		assert_non_null(strstr(verdict.texts[rule][i], ".history:"));   /* it says where */
}

/* Judge, and find just this: "fences, waits 4, killed 1": violations of these rules, and of no others, and the counts
 * that are named. No number is 1. "": accepted. */
static void
found(const char *what)
{
	uint64_t rules[VERDICT_RULES] = { 0 };
	char copy[256], *rest = copy;

	judge();
	assert_in_range(snprintf(copy, sizeof(copy), "%s", what), 0, sizeof(copy) - 1);
	for (char *terms; (terms = strsep(&rest, ",")) != NULL && *terms;) {
		char *word = (terms += strspn(terms, " "), strsep(&terms, " "));
		int64_t expected = terms ? strtoll(terms, NULL, 10) : 1;
		int rule = 0;

		while (rule < VERDICT_RULES && strcmp(word, verdict_rule_name((enum verdict_rule)rule)) != 0)
			rule++;
		if (rule < VERDICT_RULES)
			rules[rule] = (uint64_t)expected;
		else if (counted(word) != expected)
			fail_msg("%" PRId64 " %s, not %" PRId64, counted(word), word, expected);
	}
	for (int rule = 0; rule < VERDICT_RULES; rule++)
		violated((enum verdict_rule)rule, rules[rule]);
}

/* ---- stories ---- */

struct story {
	const char *name;
	const char *found; /* as found() has it */
	const char *steps; /* as tell_step() has them */
};

/* One holds, and loses its lease; two holds next, and writes three times. */
#define TWO_WROTE \
	"1 holds; 1 5000 lost a 256; 2 take 1 512 5001 9000; 2 6000 wrote 1 a 512 taken; " \
	"2 6001 wrote 1 a 512 taken; 2 6002 wrote 1 a 512 taken; 2 give 1 6500 OK; "

static const struct story stories[] = {
	/* a run that could be */
	{"turns_one_after_the_other_are_accepted",
	 "files 3, processes 2, locks 1, asks 4, holds 3, taken 1, renewed 1, faults 1",
	 "N 5 seed 18446744073709551615; N 6 fault pause 100 ms; 1 keep 1 256 1000 2000; 2 keep 1 512 2002 3000; "
	 "1 2500 ask 2 a 100 fair; 1 2601 got 2 TIMEOUT 0 - 0; 1 take 3 513 3002 5000; 1 3003 look 3 9000; "
	 "1 3004 wrote 3 a 513 taken; 1 3005 event JEOPARDY a 513; 1 3006 event CLOCK_JUMP - 0; "
	 "N 4000 renew t:513; 1 give 3 8000 OK; N 9000 over pause"},

	/* exclusion */
	{"two_holds_valid_at_once_break_exclusion", "exclusion",
	 "1 take 1 256 1000 2500; 2 keep 1 512 1999 3000; 1 give 1 2000 UNKNOWN"},
	{"a_hold_is_valid_until_its_release_begins_and_not_until_it_is_answered", "",
	 "1 take 1 256 1000 9000; 1 give 1 2000 2600 OK; 2 keep 1 512 2001 3000"},
	{"a_killed_holder_is_valid_until_its_lease_ends", "exclusion",
	 "1 holds; N 1500 killed 11; 1 silent; 2 keep 1 512 4999 6000"},
	{"a_frozen_holder_is_valid_until_its_lease_ends", "exclusion",
	 "1 holds; N 1500 frozen 11; 2 keep 1 512 4999 6000; N 8000 thawed 11; 1 8001 lost a 256; 1 give 1 8002 LOST"},
	{"the_greatest_valid_until_that_was_noted_counts", "exclusion",
	 "1 holds; 1 2000 look 1 7000; 1 2001 look 1 6000; N 2500 killed 11; 1 silent; 2 keep 1 512 6500 8000"},
	{"a_hold_that_came_after_its_valid_until_was_never_valid", "", "1 1000 ask 1 a -1 plain; 2 keep 1 512 2000 4000; "
	 "1 3000 got 1 OK 256 t:256 1900; 1 3001 lost a 256; 1 give 1 3002 LOST; 1 3003 still 2500"},
	{"what_a_process_that_ended_did_not_give_was_valid_to_its_last_line", "",
	 "1 take 1 256 1000 9000; 1 2000 look 1 9000; 1 2100 end; 1 silent; 2 keep 1 512 2050 6000"},
	{"what_an_ended_process_held_at_its_last_line_was_its_own", "exclusion",
	 "1 take 1 256 1000 9000; 1 2000 look 1 9000; 1 2100 end; 1 silent; 2 keep 1 512 1999 6000"},
	{"whoever_comes_after_the_lease_of_a_killed_holder_is_right", "killed 1",
	 "1 holds; N 1500 killed 11; 1 silent; 2 keep 1 512 5000 6000"},
	{"a_long_hold_clashes_with_all_that_begin_in_it_and_is_not_ones_to_give", "exclusion 2, releases",
	 "1 keep 1 256 1000 9000; 2 take 1 512 2000 3500; 2 give 1 3000 UNKNOWN; 2 take 2 768 4000 5500; "
	 "2 give 2 5000 UNKNOWN"},
	{"locks_have_nothing_to_do_with_each_other", "locks 2",
	 "1 keep 1 512 1000 3000; 2 1500 ask 1 b -1 plain; 2 1501 got 1 OK 256 u:1 9000; 2 give 1 2000 OK"},

	/* those who share */
	{"who_reads_reads_together_with_others", "beside 2", "1 take:read 1 256 1000 9000; 2 keep:read 1 256 1001 3000; "
	 "1 keep:read 2 256 1002 2500; 1 give 1 8000 OK; 2 keep:write 2 512 8002 9000"},
	{"who_writes_is_alone_among_those_who_read", "exclusion",
	 "1 take:read 1 256 1000 9000; 2 keep:write 1 512 2000 2500; 1 give 1 3000 UNKNOWN"},
	{"nobody_reads_while_somebody_writes", "exclusion",
	 "1 take:write 1 256 1000 9000; 2 keep:read 1 512 2000 2500; 1 give 1 3000 UNKNOWN"},
	{"a_writer_may_come_when_the_last_reader_has_gone", "beside 1",
	 "1 keep:read 1 256 1000 5000; 2 keep:read 1 256 1001 2000; 2 keep:write 2 512 5001 6000"},
	{"a_reader_that_is_not_the_last_one_counts_too", "exclusion",
	 "1 take:read 1 256 1000 9000; 2 keep:read 1 256 1001 2000; 2 keep:write 2 512 3000 4000; 1 give 1 5000 UNKNOWN"},
	{"of_three_permits_three_are_out", "beside 2",
	 "1 take:1/3 1 0 1000 9000; 2 keep:2/3 1 0 1001 2000; 2 keep:2/3 2 0 2002 3000; 1 give 1 8000 OK"},
	{"no_more_permits_are_out_than_there_are", "exclusion",
	 "1 take:2/3 1 0 1000 9000; 2 keep:2/3 1 0 1001 2000; 1 give 1 8000 OK"},
	{"an_emptied_server_excuses_no_permit_too_many", "exclusion", "1 take:2/3 1 0 1000 9000; N 1500 breach emptied; "
	 "N 1600 mended; 2 keep:2/3 1 0 1700 3000; 1 give 1 4000 OK"},
	{"who_reads_at_once_has_one_fence", "fences",
	 "1 take:read 1 256 1000 9000; 2 keep:read 1 512 2000 3000; 1 give 1 5000 UNKNOWN"},
	{"who_reads_has_no_smaller_fence_than_who_wrote", "fences",
	 "1 keep:write 1 512 1000 2000; 2 keep:read 1 256 3000 4000"},
	{"who_reads_has_not_the_fence_of_who_wrote", "fences", "1 keep:write 1 256 1000 2000; 2 keep:read 1 256 3000 4000"},
	{"a_writer_has_not_the_fence_of_who_read", "fences", "1 keep:read 1 256 1000 2000; 2 keep:write 1 256 3000 4000"},
	{"the_fence_of_others_who_read_tells_of_no_loss", "",
	 "1 take:read 1 256 1000 1900; 1 2000 look 1 9000; 2 keep:read 1 256 1001 5000; 1 give 1 6000 OK"},
	{"a_release_of_who_reads_is_not_ok_once_another_one_writes", "releases, told",
	 "1 take:read 1 256 1000 2000; 2 keep:write 1 512 2001 6000; 1 give 1 7000 OK"},
	{"a_release_of_permits_is_not_ok_when_all_are_others", "releases, told",
	 "1 take:1/3 1 0 1000 2000; 2 keep:3/3 1 0 2001 6000; 1 give 1 7000 OK"},
	{"permits_that_may_be_free_are_had_until_all_are_others", "",
	 "1 take:1/3 1 0 1000 2000; 2 keep:2/3 1 0 2001 6000; 1 give 1 7000 OK"},
	{"who_reads_on_by_a_token_may_renew_it", "",
	 "1 keep:read 2 256 1000 20000; 1 keep:read 1 256 1001 2000; N 19000 renew t:256"},
	{"what_all_have_given_who_read_is_not_renewed", "renewals",
	 "1 keep:read 2 256 1000 20000; 1 keep:read 1 256 1001 2000; N 21000 renew t:256"},
	{"of_those_with_one_fence_the_one_is_told_that_is_named", "losses 1",
	 "1 take:read 1 256 1000 5000; 1 keep:read 2 256 1001 2000; 1 5000 lost a 256 1; 1 give 1 6000 LOST"},
	{"a_loss_of_another_one_is_none_of_its_own", "told", "1 take:read 1 256 1000 5000; 1 take:read 2 256 1001 5000; "
	 "1 5000 lost a 256 1; 1 5000 lost a 256 1; 1 give 1 6000 LOST; 1 give 2 6000 LOST"},
	{"permits_are_told_lost_by_their_number", "losses 1",
	 "1 take:1/3 1 0 1000 5000; 1 take:1/3 2 0 1001 9000; 1 5000 lost a 0 1; 1 give 1 6000 LOST; 1 give 2 6000 OK"},

	/* trades */
	{"who_reads_goes_on_to_write_and_back", "trades 2, holds 4",
	 "1 take:read 1 256 1000 9000; 1 2000 trade 1 2 write; 1 2001 got 2 OK 512 u 9000; 1 3000 trade 2 3 read; "
	 "1 3001 got 3 OK 768 v 9000; 2 keep:read 1 768 3002 4000; 1 give 3 5000 OK"},
	{"what_is_not_traded_goes_on", "exclusion, trades 0", "1 take:read 1 256 1000 9000; 1 2000 trade 1 2 write; "
	 "1 2001 got 2 TIMEOUT 0 - 0; 2 keep:write 1 512 3000 3500; 1 give 1 5000 UNKNOWN"},
	{"while_fewer_are_asked_for_it_counts_on_no_more", "",
	 "1 take:3/3 1 0 1000 9000; 1 2000 trade 1 2 2/3; 2 keep:1/3 1 0 2001 3000; 1 2002 got 2 OK 0 u 9000; 1 give 2 5000 OK"},
	{"what_is_left_of_permits_counts", "exclusion", "1 take:3/3 1 0 1000 9000; 1 2000 trade 1 2 2/3; "
	 "1 2002 got 2 OK 0 u 9000; 2 keep:2/3 1 0 2500 3000; 1 give 2 5000 OK"},
	{"who_upgrades_is_alone", "exclusion", "1 take:read 1 256 1000 9000; 2 take:read 1 256 1001 5500; "
	 "1 2000 trade 1 2 write; 1 2001 got 2 OK 512 u 9000; 2 give 1 5000 UNKNOWN; 1 give 2 6000 OK"},
	{"nobody_writes_while_one_upgrades", "exclusion", "2 1999 ask 1 a -1 write; 1 take:read 1 256 1000 9000; "
	 "1 2000 trade 1 2 write; 2 2001 got 1 OK 512 t:512 9000; 2 give 1 2002 OK; 1 2005 got 2 OK 768 u 9000; 1 give 2 6000 OK"},
	{"nobody_writes_while_one_downgrades", "exclusion", "2 1999 ask 1 a -1 write; 1 take:write 1 256 1000 9000; "
	 "1 2000 trade 1 2 read; 2 2001 got 1 OK 512 t:512 9000; 2 give 1 2002 OK; 1 2005 got 2 OK 768 u 9000; 1 give 2 6000 OK"},
	{"who_is_killed_while_it_downgrades_counts_on_nothing_more", "", "1 take:write 1 256 1000 9000; 1 2000 trade 1 2 read; "
	 "N 2500 killed 11; 1 silent; 2 keep:read 1 512 2600 3000"},
	{"who_is_killed_after_a_refused_upgrade_reads_on", "exclusion", "1 take:read 1 256 1000 9000; 1 2000 trade 1 2 write; "
	 "1 2001 got 2 TIMEOUT 0 - 0; N 2500 killed 11; 1 silent; 2 keep:write 1 512 2600 3000"},
	{"what_was_lost_while_it_was_downgraded_may_have_had_company", "losses 1", "1 take:write 1 256 1000 9000; 1 2000 trade 1 2 read; "
	 "2 keep:read 1 512 2500 3000; 1 9000 lost a 256 1; 1 9001 got 2 LOST 0 - 0; 1 give 1 9002 LOST"},
	{"what_was_lost_while_it_was_upgraded_was_read", "exclusion, told", "1 take:read 1 256 1000 9000; 1 2000 trade 1 2 write; "
	 "2 keep:write 1 512 2500 3000; 1 9000 lost a 256 1; 1 9001 got 2 LOST 0 - 0; 1 give 1 9002 LOST"},
	{"what_was_lost_is_not_traded", "releases", "1 take:read 1 256 1000 5000; 1 5000 lost a 256 1; "
	 "1 6000 trade 1 2 write; 1 6001 got 2 OK 512 u 9000; 1 give 2 7000 OK"},
	{"a_trade_is_answered", "waits 2", "1 take:read 1 256 1000 9000; 1 2000 trade 1 2 write"},
	{"what_is_lost_is_what_it_was_traded_for", "losses 1", "1 take:read 1 256 1000 9000; 1 2000 trade 1 2 write; "
	 "1 2001 got 2 OK 512 u 5000; 1 5000 lost a 512 1; 1 give 2 6000 LOST"},
	{"what_was_traded_is_not_renewed", "renewals", "1 take:read 1 256 1000 9000; 1 2000 trade 1 2 write; "
	 "1 2001 got 2 OK 512 u 9000; N 2002+RENEW renew t:256; N 4000 renew u; 1 give 2 6000 OK"},

	/* conditions */
	{"who_waits_for_a_condition_lets_others_in", "trades 0, holds 3", "1 take 1 256 1000 9000; 1 2000 wait 1 2 plain; "
	 "2 keep 1 512 2001 3000; 1 3002 got 2 OK 768 u 9000; 1 give 2 4000 OK"},
	{"who_does_not_give_up_for_a_condition_lets_nobody_in", "exclusion", "1 take 1 256 1000 9000; 1 2000 wait 1 2 plain; "
	 "1 2001 got 2 CANCELED 0 - 0; 2 keep 1 512 3000 3500; 1 give 1 5000 UNKNOWN"},
	{"who_does_not_have_it_back_from_a_condition_has_given_it_up", "", "1 take 1 256 1000 9000; 1 2000 wait 1 2 plain; "
	 "1 2001 got 2 UNAVAILABLE 0 - 0; 2 keep 1 512 3000 3500"},
	{"what_was_lost_before_a_condition_could_be_waited_for_is_told", "losses 1", "1 take 1 256 1000 5000; 1 5000 lost a 256 1; "
	 "1 5001 wait 1 2 plain; 1 5002 got 2 LOST 0 - 0; 2 keep 1 512 5003 6000"},
	{"a_wait_for_a_condition_is_answered", "waits 2", "1 take 1 256 1000 9000; 1 2000 wait 1 2 plain"},

	/* sets */
	{"what_a_set_loses_while_it_waits_for_another_lock_it_has_again", "losses 0",
	 "1 1000 ask 1 a -1 several; 1 2000 got 1 OK 512 t 9000; 1 2001 lost a 256 1; 1 give 1 3000 OK"},
	{"what_it_has_when_all_is_had_is_held", "promise", "1 1000 ask 1 a -1 several; 1 2000 got 1 OK 512 t 9000; "
	 "1 2500 lost a 512 1; 1 give 1 3000 LOST"},
	{"what_was_handed_on_to_a_set_is_renewed", "", "1 2500 ask 2 a 2500 several; 1 keep 1 256 1000 3000; N 4000 renew t:256; "
	 "1 5000 got 2 TIMEOUT 0 - 0"},
	{"what_a_set_gave_up_before_that_was_not_handed_on_to_it", "renewals", "1 900 ask 2 a 10 several; 1 911 got 2 TIMEOUT 0 - 0; "
	 "1 keep 1 256 1000 3000; N 4000 renew t:256"},
	{"but_not_long_after_that", "renewals", "1 2500 ask 2 a 9 several; 1 keep 1 256 1000 3000; N 5001+LATE renew t:256; "
	 "1 2510 got 2 TIMEOUT 0 - 0"},

	/* gates */
	{"who_meets_is_there_together_with_the_others", "met 2",
	 "1 1000 ask 1 b 500 meet/2; 2 1200 ask 1 b 500 meet/2; 2 1201 got 1 OK 0 - 0; 1 1205 got 1 OK 0 - 0"},
	{"who_has_left_is_counted_no_more", "gates", "1 1000 ask 1 b 100 meet/2; 1 1100 got 1 TIMEOUT 0 - 0; "
	 "2 1101 ask 1 b 500 meet/2; 2 1201 got 1 OK 0 - 0"},
	{"nobody_meets_alone", "gates", "2 1101 ask 1 b 500 meet/2; 2 1201 got 1 OK 0 - 0"},
	{"others_meet_elsewhere", "gates 2", "1 1000 ask 1 b 500 meet/2; 2 1000 ask 1 c 500 meet/2; 1 2000 got 1 OK 0 - 0; "
	 "2 2000 got 1 OK 0 - 0"},
	{"that_there_were_enough_before_it_came_is_not_enough", "gates", "1 1000 ask 1 b 500 meet/2; 2 1000 ask 1 b 500 meet/2; "
	 "1 1001 got 1 OK 0 - 0; 2 1001 got 1 OK 0 - 0; 1 1002 ask 2 b 500 meet/2; 1 1003 got 2 OK 0 - 0"},
	{"whether_who_does_not_know_has_left_is_not_known_for_a_while", "gates",
	 "1 1000 ask 1 b 100 meet/2; 1 1100 got 1 UNKNOWN 0 - 0; 2 1000+PLACE ask 1 b 500 meet/2; 2 1001+PLACE got 1 OK 0 - 0; "
	 "2 1200+PLACE ask 2 b 500 meet/2; 2 1201+PLACE got 2 OK 0 - 0"},
	{"nor_of_who_was_killed", "gates", "1 1000 ask 1 b 100 meet/2; N 1100 killed 11; 1 silent; 2 1000+PLACE ask 1 b 500 meet/2; "
	 "2 1001+PLACE got 1 OK 0 - 0; 2 1200+PLACE ask 2 b 500 meet/2; 2 1201+PLACE got 2 OK 0 - 0"},
	{"a_breach_may_bring_the_places_back_of_those_who_had_left", "", "1 1000 ask 1 b 100 meet/2; 1 1100 got 1 TIMEOUT 0 - 0; "
	 "N 1200 breach; N 1300 mended; 2 2000 ask 1 b 500 meet/2; 2 2001 got 1 OK 0 - 0"},
	{"an_emptied_server_does_not", "gates", "1 1000 ask 1 b 100 meet/2; 1 1100 got 1 TIMEOUT 0 - 0; "
	 "N 1200 breach emptied; N 1300 mended; 2 2000 ask 1 b 500 meet/2; 2 2001 got 1 OK 0 - 0"},
	{"what_it_takes_to_leave_a_barrier_is_the_servers", "", "1 1000 ask 1 b 100 meet/2; 1 1200+WAIT got 1 TIMEOUT 0 - 0"},
	{"who_awaits_leaves_in_time", "waits", "1 1000 ask 1 b 100 await/2; 1 1200+WAIT got 1 TIMEOUT 0 - 0"},
	{"a_latch_is_open_once_enough_have_begun_to_arrive", "opened 1",
	 "1 1000 arrive b/one; 2 1001 arrive b/two; 1 1001 ask 1 b 500 await/2; 1 1002 got 1 OK 0 - 0"},
	{"a_party_arrives_once", "gates", "1 1000 arrive b/one; 1 1001 arrive b/one; 1 1001 ask 1 b 500 await/2; 1 1002 got 1 OK 0 - 0"},
	{"who_arrives_elsewhere_or_later_opens_nothing", "gates", "1 1000 arrive b/one; 1 1001 arrive c/two; 2 1003 arrive b/two; "
	 "1 1001 ask 1 b 500 await/2; 1 1002 got 1 OK 0 - 0"},

	/* leaders */
	{"who_leads_is_known_by_what_it_proclaimed", "news 2", "1 keep 1 256 1000 2000; 2 keep 1 512 2001 3000; "
	 "2 1500 leads a 256 t:256 one/1; 2 2500 leads a 512 t:512 two/1"},
	{"nothing_is_said_of_a_leader_that_was_not_written_down", "news 1", "1 holds; 2 1500 leads a 512 t:512 three/1; 1 give 1 2000 OK"},
	{"what_one_proclaimed_is_no_others", "leaders 2", "1 keep 1 256 1000 2000; 2 keep 1 512 2001 3000; "
	 "2 2500 leads a 512 t:512 one/1; 1 2500 leads a 512 t:512 two/2"},
	{"it_is_shown_with_the_fence_of_its_hold", "leaders", "1 keep 1 256 1000 2000; 2 1500 leads a 1024 t:256 one/1"},
	{"who_proclaims_hands_nothing_on", "leaders", "1 1000 ask 1 a -1 plain; 1 1001 got 1 OK 256 t 2000; 1 give 1 1500 OK; "
	 "1 1400 ask 2 a -1 plain; 1 1502 got 2 OK 257 t 2000; 1 give 2 1600 OK; 2 1550 leads a 256 t one/2; 2 1551 leads a 256 t one/1"},
	{"leaders_are_shown_in_their_order", "leaders", "1 keep 1 256 1000 2000; 2 keep 1 512 2001 3000; "
	 "2 2500 leads a 512 t:512 two/1; 2 2501 leads a 256 t:256 one/1; 1 2600 leads a 256 t:256 one/1"},

	/* promise */
	/* The second does not break exclusion: nobody relied on the first any more. */
	{"a_loss_before_the_lease_ends_breaks_the_promise", "promise",
	 "1 holds; 1 4998 lost a 256; 2 keep 1 512 4999 6000; 1 give 1 6000 LOST"},
	{"a_look_that_says_no_before_the_lease_ends_breaks_the_promise", "promise",
	 "1 holds; 1 3000 look 1 0; 1 give 1 3001 LOST"}, /* which is what it had been told */
	{"a_millisecond_of_rounding_breaks_no_promise", "losses 1", "1 holds; 1 4999 lost a 256; 1 give 1 6000 LOST"},

	/* fences */
	{"a_later_holder_with_a_smaller_fence_is_rejected", "fences",
	 "2 900 ask 1 a -1 plain; " /* it waited: by the asks alone it could have been first */
	 "1 keep 1 512 1000 2000; 2 3000 got 1 OK 256 t:256 9000; 2 give 1 4000 OK"},
	{"a_fence_that_was_never_valid_must_grow_too", "fences", "1 keep 1 512 1000 2000; 2 3000 ask 1 a -1 plain; "
	 "2 5000 got 1 OK 256 t:256 4000; 2 5000 lost a 256; 2 give 1 5001 LOST"},
	{"a_fence_that_is_over_before_a_valid_one_is_smaller", "fences",
	 "1 900 ask 1 a -1 plain; 2 900 ask 1 a -1 plain; 2 3000 got 1 OK 512 t:512 2000; 2 3000 lost a 512; "
	 "2 give 1 3001 LOST; 1 4000 got 1 OK 256 t:256 9000; 1 give 1 5000 OK"},
	{"a_smaller_fence_is_one_violation_however_it_is_seen", "fences", "1 keep 1 512 1000 2000; 2 keep 1 256 3000 4000"},
	{"a_fence_is_had_only_once", "fences", "1 keep 1 512 1000 2000; 2 keep 1 512 3000 4000"},
	{"a_small_fence_that_was_never_valid_hides_no_larger_one", "fences", "2 900 ask 1 a -1 plain; "
	 "2 900 ask 2 a -1 plain; 1 keep 1 512 1000 2000; 2 2500 still 1600; 2 2500 got 1 OK 100 t:100 950; "
	 "2 2500 lost a 100; 2 give 1 2501 LOST; 2 3000 got 2 OK 300 t:300 9000; 2 give 2 4000 OK"},
	{"a_hold_that_was_lost_before_it_could_be_looked_at_has_no_fence", "losses 2",
	 "1 1000 ask 1 a -1 plain; 1 1500 lost a 1; 1 1501 got 1 OK 0 - 0; 1 give 1 1502 LOST; 1 2000 ask 2 a -1 plain; "
	 "1 2500 lost a 2; 1 2501 got 2 OK 0 - 0; 1 give 2 2502 LOST"},

	/* releases */
	{"a_release_is_not_ok_after_the_loss_was_told", "releases", "1 holds; 1 5000 lost a 256; 1 give 1 5001 OK"},
	{"a_release_is_not_ok_after_a_look_said_no", "releases",
	 "1 holds; 1 5000 look 1 0; 1 5000 lost a 256; 1 give 1 5001 OK"},
	{"a_release_is_not_ok_once_another_holds_the_lock", "releases",
	 "1 holds; 2 keep 1 512 5001 6000; 1 give 1 5002 OK; "
	 "1 5003 lost a 256"}, /* which excuses that it was not told yet */
	{"a_release_does_not_answer_lost_while_the_hold_is_valid", "releases", "1 holds; 1 give 1 2000 LOST"},
	{"a_release_does_not_answer_not_held_while_the_hold_is_valid", "releases",
	 "1 holds; 1 give 1 2000 NOT_HELD; 1 2002 lost a 256"}, /* the event comes behind the answer: it excuses nothing */
	/* It is by another thread, which asked before. */
	{"a_look_during_the_release_says_nothing", "",
	 "1 holds; 1 5000 give 1; 1 5001 lost a 256; 1 5001 look 1 9000; 1 5002 gave 1 LOST"},
	{"a_release_that_cannot_say_contradicts_nothing", "", "1 take 0 256 1000 1500; 1 1500 lost a 256; "
	 "1 give 0 1600 UNKNOWN; 1 take 1 257 2000 2500; 1 give 1 2600 UNAVAILABLE; 1 take 2 258 3000 3500; "
	 "1 3500 lost a 258; 1 give 2 3600 DENIED; 1 take 3 259 4000 4500; 1 give 3 4600 PROTOCOL; 1 take 4 260 5000 5500; "
	 "1 5500 lost a 260; 1 give 4 5600 CLOSED; 1 take 5 261 6000 6500; 1 give 5 6600 NO_MEMORY"},

	/* waits */
	{"an_acquire_that_does_not_return_is_rejected", "waits", "1 1000 ask 1 a 500 plain"},
	{"a_release_that_does_not_return_is_rejected", "waits", "1 holds; 1 2000 give 1"},
	{"a_process_that_neither_ends_nor_is_killed_is_rejected", "waits", "1 keep 1 256 1000 2000; 1 silent"},
	{"who_is_killed_leaves_open_what_it_did", "",
	 "1 holds; 1 2000 ask 2 b 10 plain; 1 2001 give 1; N 2500 killed 11; 1 silent"},
	{"who_is_killed_after_its_end_has_completed_everything", "waits",
	 "1 2000 ask 1 b 10 plain; 1 2001 end; N 2500 killed 11; 1 silent"},
	{"a_timeout_does_not_come_before_the_wait_is_over", "waits",
	 "1 1000 ask 1 a 100 plain; 1 1098 got 1 TIMEOUT 0 - 0; 1 2000 ask 2 a 100 plain; 1 2099 got 2 TIMEOUT 0 - 0"},
	{"a_wait_without_an_end_has_no_timeout", "waits", "1 1000 ask 1 a -1 plain; 1 90000 got 1 TIMEOUT 0 - 0"},
	{"the_killing_of_another_process_of_that_number_excuses_nothing", "waits",
	 "N 0 killed 11; N 2500 killed 13; 1 silent"}, /* the first: before this one began */
	/* from 2010 to 2030, and from 2050 on to 2350 */
	{"how_late_waits_end_is_measured_without_the_time_that_the_process_stood_still", "waits",
	 "1 2000 ask 1 a 100 plain; 1 2000 ask 2 a 100 plain; 1 2030 still 20; 1 2300 still 250; N 2250 frozen 11; "
	 "N 2350 thawed 11; 1 2420+WAIT got 1 TIMEOUT 0 - 0; 1 2421+WAIT got 2 TIMEOUT 0 - 0"},
	{"a_try_is_never_late", "", "1 4000 ask 4 a 0 plain; 1 4200+WAIT got 4 TIMEOUT 0 - 0"},
	{"no_answer_comes_long_after_the_end_of_the_wait", "waits 4", "1 1000 ask 0 a 100 plain; "
	 "1 1101+WAIT got 0 TIMEOUT 0 - 0; 1 1000 ask 1 a 100 plain; 1 1101+WAIT got 1 UNAVAILABLE 0 - 0; "
	 "1 1000 ask 2 a 100 plain; 1 1101+WAIT got 2 CANCELED 0 - 0; 1 1000 ask 3 a 100 plain; "
	 "1 1101+WAIT got 3 DENIED 0 - 0; 2 1000 ask 1 a 100 plain; 2 1100+WAIT got 1 UNAVAILABLE 0 - 0"},

	/* renewals */
	{"a_renewal_long_after_the_release_is_rejected", "renewals", "1 holds; 1 give 1 2000 OK; N 2002+RENEW renew t:256"},
	{"a_late_renewal_long_after_the_release_is_rejected", "renewals",
	 "1 holds; 1 give 1 2000 OK; N 2002+LATE renew t:256 late"},
	{"who_was_killed_may_have_handed_its_token_on_without_a_word", "",
	 "1 keep 1 256 1000 2000; 1 2001 ask 2 a -1 plain; N 2002+RENEW renew t:256; N 3000 killed 11; 1 silent"},
	{"a_release_ends_the_renewals_whatever_it_answers", "renewals",
	 "1 holds; 1 give 1 2000 UNKNOWN; N 2001+LATE renew t:256; N 2002+LATE renew t:256"},
	{"a_token_that_was_handed_on_is_renewed_for_the_next", "", "1 keep 1 256 1000 2000; 1 1500 ask 2 a -1 plain; "
	 "1 2001 got 2 OK 257 t:256 90000; N 40000 renew t:256; 1 give 2 41000 OK"},
	{"a_token_that_was_handed_on_is_not_renewed_after_the_last", "renewals", "1 keep 1 256 1000 2000; "
	 "1 1500 ask 2 a -1 plain; 1 2001 got 2 OK 257 t:256 90000; 1 give 2 41000 OK; N 60000 renew t:256"},
	{"a_renewal_may_be_stuck_for_a_while", "renewed 3",
	 "1 holds; 1 give 1 2000 OK; N 2001+RENEW renew t:256; N 2001+LATE renew t:256 late; "
	 "N 90000 renew t:777"}, /* whoever that is: it was killed before it could write it down */

	/* keys */
	{"a_key_without_an_end_is_rejected", "keys", "N 1000 endless leash:{a}"},
	{"a_key_that_is_left_over_is_rejected", "keys", "N 1000 left leash:{a}:queue"},

	/* register */
	/* By whomever it was taken: who was killed may not have written it down. */
	{"a_register_that_refuses_who_is_valid_is_rejected", "register",
	 "1 holds; 1 4999 wrote 1 a 256 refused; 1 5000 lost a 256; 1 5000 wrote 1 a 256 refused; 1 give 1 6000 LOST"},
	{"a_register_that_takes_a_smaller_fence_is_rejected", "register",
	 TWO_WROTE "1 6003 look 1 0; 1 7000 wrote 1 a 256 taken; 1 give 1 8002 LOST"},
	{"a_write_may_be_done_long_before_it_is_written_down", "",
	 TWO_WROTE "1 5999 look 1 0; 1 7000 wrote 1 a 256 taken; 1 give 1 8002 LOST"},
	{"a_write_that_was_refused_is_counted", "taken 3, refused 1",
	 TWO_WROTE "1 6003 look 1 0; 1 7000 wrote 1 a 256 refused; 1 give 1 8002 LOST"},

	/* who loses a lease is told so, and in time */
	{"a_loss_that_is_never_told_is_rejected", "told", "1 holds; 2 keep 1 512 5100 6000; 1 give 1 7000 UNKNOWN"},
	{"a_loss_that_only_the_release_tells_is_rejected", "told", "1 holds; 1 give 1 7000 LOST"},
	{"a_loss_that_only_a_look_tells_is_rejected", "told", "1 holds; 1 5000 look 1 0; 1 give 1 7000 UNKNOWN"},
	{"an_event_long_after_a_look_found_the_loss_is_rejected", "told",
	 "1 holds; 1 5000 look 1 0; 1 5001+EVENT lost a 256; 1 give 1 7000 LOST"},
	{"an_event_may_come_a_little_after_a_look_or_release_found_the_loss", "",
	 "1 holds; 1 5000 look 1 0; 1 5000+EVENT lost a 256; 1 give 1 7000 LOST; 2 take 1 512 7002 9000; "
	 "2 give 1 10000 LOST; 2 10001+EVENT lost a 512"},
	{"who_is_killed_before_the_event_comes_need_not_be_told", "",
	 "1 holds; 1 5000 look 1 0; 1 5000+EVENT event JEOPARDY a 256; N 7000 killed 11; 1 silent"}, /* JEOPARDY is last */
	{"a_loss_that_is_told_after_the_next_holder_began_is_rejected", "told",
	 "1 holds; 2 keep 1 512 5100 6000; 1 5100+TOLD+1 lost a 256; 1 give 1 7000 LOST"},
	{"it_is_the_first_of_all_later_holders_that_counts", "told",
	 "1 holds; 2 5001 ask 1 a -1 plain; 2 keep 2 768 5100 6000; 1 7000 lost a 256; 1 give 1 7001 LOST; "
	 "2 9000 still 3900; 2 9000 got 1 OK 512 t:512 5050; 2 9000 lost a 512; 2 give 1 9001 LOST"},
	{"a_hold_that_is_never_given_nor_told_is_rejected", "told", "1 holds; 1 5900 look 1 5001; 2 keep 1 512 5100 6000"},
	{"who_stood_still_is_told_when_it_runs_again", "",
	 "1 holds; 2 keep 1 512 5100 6000; 1 7000 still 2500; 1 7001 lost a 256; 1 give 1 7002 LOST"},
	{"who_was_frozen_is_told_when_it_is_thawed", "",
	 "1 holds; N 1500 frozen 11; 2 keep 1 512 5100 6000; N 7000 thawed 11; 1 7001 lost a 256; 1 give 1 7002 LOST"},
	{"who_was_thawed_long_ago_is_excused_no_more", "told", "1 holds; N 1500 frozen 11; 2 keep 1 512 5100 6000; "
	 "N 7000 thawed 11; 1 7000+TOLD+1 lost a 256; 1 give 1 8002 LOST"},
	{"who_is_frozen_for_good_need_not_be_told_but_has_not_ended", "waits",
	 "1 holds; N 1500 frozen 11; 1 silent; 2 keep 1 512 5100 6000"},
	{"the_stillness_of_another_process_excuses_nobody", "told",
	 "1 holds; 2 keep 1 512 5100 6000; 2 7000 still 2500; 1 7001 lost a 256; 1 give 1 7002 LOST"},
	{"who_was_killed_in_time_need_not_be_told", "",
	 "1 holds; 1 5100 ask 2 b 0 plain; 2 keep 1 512 5100 6000; N 7000 killed 11; 1 silent"}, /* the ask is last */
	{"who_lived_on_and_was_killed_later_had_to_be_told", "told",
	 "1 holds; 2 keep 1 512 5100 6000; 1 6500 ask 2 b 0 plain; N 7000 killed 11; 1 silent"},
	{"what_is_lost_is_not_held_again", "told",
	 "1 holds; 1 5000 look 1 0; 1 5001 look 1 4000; 1 5002 lost a 256; 1 give 1 7000 LOST"},
	{"the_loss_of_what_has_no_fence_is_told_at_any_moment", "",
	 "1 1000 ask 1 a -1 fair; 1 1500 lost a 256; 1 1501 got 1 OK 0 - 0; 1 1503 look 1 0; 1 give 1 1505 LOST; "
	 "1 2000 ask 2 a -1 fair; 1 2501 got 2 OK 0 - 0; 1 2502 lost a 512; 1 2503 look 2 0; 1 give 2 2505 LOST; "
	 "1 3000 ask 3 a -1 fair; 1 3501 got 3 OK 0 - 0; 1 3503 look 3 0; 1 3504 lost a 768; 1 give 3 3505 LOST; "
	 "1 4000 ask 4 a -1 fair; 1 4501 got 4 OK 0 - 0; 1 4503 look 4 0; 1 give 4 4505 LOST; 1 4507 lost a 1024"},
	{"a_thread_that_has_to_be_woken_may_take_its_time_to_tell", "losses 1",
	 "1 holds; 2 keep 1 512 5100 6000; 1 5100+TOLD lost a 256; 1 give 1 7000 LOST"},
	{"what_is_renewed_without_a_look_is_not_lost", "losses 0", "1 holds; 1 give 1 50000 OK; 2 keep 1 512 50002 51000"},

	/* what the nemesis's own breaches excuse, and what they do not */
	{"who_asked_within_a_breach_may_have_got_what_was_lost_in_it", "", "N 800 breach; 1 900 ask 1 a -1 plain; "
	 "N 990 mended; 1 1000 got 1 OK 256 t:256 5000; 2 keep 1 512 1001 3000; 1 give 1 4000 LOST"},
	{"a_breach_excuses_the_release_under_way", "",
	 "1 take 1 256 1000 9000; 1 2000 give 1; N 2001 breach; 1 2002 gave 1 LOST; N 2003 mended"},
	{"a_breach_after_the_release_excuses_it_no_more", "releases",
	 "1 take 1 256 1000 9000; 1 give 1 2000 LOST; N 2002 breach"},
	{"a_breach_excuses_who_was_told_too_late_or_never", "",
	 "1 holds; N 5500 breach; " /* it had been renewed until then, and nobody had looked */
	 "N 5600 mended; 2 keep 1 512 5700 6000; 1 give 1 7000 LOST"},
	{"a_breach_that_is_over_before_excuses_nobody_from_telling", "told",
	 "N 500 breach; N 600 mended; 1 holds; 2 keep 1 512 5700 6000; 1 give 1 7000 LOST"},
	{"a_breach_that_is_noted_afterwards_excuses_nothing_before_its_moment", "promise", "N 2500 over something; "
	 "N 1800 breach failover; N 2600 mended; 1 take 1 256 1000 9000; 1 1600 lost a 256; 1 give 1 1700 LOST"},
	{"a_breach_excuses_no_fence", "fences", "1 keep 1 512 1000 2000; N 1500 breach; 2 keep 1 256 3000 4000"},
	{"a_breach_excuses_no_wait", "waits", "N 1500 breach; 1 2000 ask 1 a 500 plain"},
	{"a_breach_excuses_no_renewal", "renewals", "N 500 breach; 1 holds; 1 give 1 2000 OK; N 2002+RENEW renew t:256"},
	{"a_breach_excuses_no_key", "keys", "N 500 breach; N 1000 endless leash:{a}"},
	{"an_emptied_server_excuses_losses", "",
	 "1 holds; N 1500 breach emptied; 1 1600 lost a 256; N 1700 mended; 1 give 1 1800 LOST"},
	{"what_is_worse_within_an_emptied_time_counts", "", "1 take 1 256 1000 9000; N 1500 breach emptied; "
	 "N 1510 breach FLUSHALL; N 1520 mended; N 1600 mended; 2 keep 1 512 1700 3000; 1 give 1 4000 OK"},
	{"who_has_a_token_of_its_own_is_excused_by_no_other", "fences",
	 "1 take 1 256 1000 9000; N 1500 breach DEL; N 1600 mended; 1 give 1 1650 OK; 2 take 1 512 1700 9000; "
	 "2 give 1 1850 OK; 1 take 2 257 1902 9000; 1 give 2 1904 OK"},
	{"a_breach_excuses_two_holders_at_once", "breaches 1, excused 1", "1 take 1 256 1000 9000; "
	 "N 1500 breach the server starts without its data; N 1600 mended; 2 keep 1 512 1700 3000; 1 give 1 4000 OK"},
	{"who_asks_after_a_breach_is_excused_by_it_no_more", "exclusion, releases", "N 800 breach again and again; "
	 "N 810 breach; N 820 mended; N 990 mended; 1 keep 1 256 1000 2000; 2 keep 1 512 1700 3000"},
	/* It excuses no fence that two have. */
	{"a_breach_excuses_a_broken_promise_and_a_loss_that_the_release_finds", "fences, losses 2", "1 holds; "
	 "2 take 1 256 1000 5000; N 1500 breach; 1 1600 lost a 256; 1 give 1 1700 LOST; 2 give 1 1700 LOST; N 1800 mended"},
	/* As the nemesis does with what it has not ordered: its line comes behind later ones. */
	{"a_breach_that_is_noted_afterwards_excuses_from_its_moment_on", "excused 2",
	 "N 2500 over something; N 1500 breach failover; N 2600 mended; 1 take 1 256 1000 9000; 1 1600 lost a 256; "
	 "1 give 1 1700 LOST; 2 keep 1 512 1550 2000"},
	{"a_breach_excuses_no_register", "register, fences",
	 "N 500 breach; 1 keep 1 256 1000 2000; 2 take 1 512 3000 9000; 2 3001 wrote 1 a 512 taken; 2 give 1 4000 OK; "
	 "1 5000 ask 2 a -1 plain; 1 5001 got 2 OK 257 t:257 9000; 1 5002 wrote 2 a 257 taken; 1 give 2 6000 OK"},
	{"an_emptied_server_excuses_no_two_holders", "exclusion",
	 "1 take 1 256 1000 9000; N 1500 breach emptied; N 1600 mended; 2 keep 1 512 1700 3000; 1 give 1 4000 OK"},
	/* The second has the token of the first, locally, as long as its process does not know that the key is gone. */
	{"who_has_the_token_of_one_who_lived_in_a_breach_is_excused_too", "excused 2",
	 "1 take 1 256 1000 9000; N 1500 breach DEL; N 1600 mended; 2 take 1 512 1700 9000; 1 1800 ask 2 a -1 plain; "
	 "1 give 1 1900 OK; 1 1902 got 2 OK 257 t:256 9000; 1 1903 lost a 257; 1 give 2 1904 LOST; 2 give 1 5000 OK"},
};

SENTENCES(is_judged_so, stories)
{
	const struct story *story = given;

	tell(story->steps);
	found(story->found);
}

SENTENCE(one_fence_too_large_is_one_violation)
{
	char steps[200];

	for (int i = 1; i < 9; i++) {
		snprintf(steps, sizeof(steps), "2 900 ask %d a -1 plain; 2 %d000 got %d OK %d t:%d %d800; "
		         "2 give %d %d700 %d701 UNKNOWN", i, i, i, i == 2 ? 999 : i, i, i, i, i, i);
		tell(steps);
	}
	found("fences");
}

/* ---- histories as files ---- */

/* Lines beside the others', as they are. */
struct text {
	const char *name, *text;
};

#define ASKED "5 process 13 c\n6 ask 1 a 0 plain\n"
#define HELD ASKED "7 got 1 OK 1 t 9\n"

static const struct text wrongs[] = {
	{ "a_line_without_a_moment_is_rejected", "process 13 c\n" },
	{ "a_moment_that_is_too_large_is_rejected", "9223372036854775808 seed 1\n" },
	{ "an_empty_line_is_rejected", "\n" },
	{ "a_kind_that_nobody_knows_is_rejected", "5 gives 1\n" },
	{ "a_line_with_too_few_words_is_rejected", "5 renew\n" },
	{ "a_line_with_too_many_words_is_rejected", "5 killed 1 2\n" },
	{ "two_spaces_in_a_row_are_rejected", "5 fault a  b\n" },
	{ "a_renewal_is_late_or_nothing_else", "5 renew t b\n" },
	{ "a_space_at_the_end_is_rejected", "5 mended \n" },
	{ "a_word_that_is_no_number_is_rejected", "5 killed -1\n" },
	{ "who_does_not_say_who_it_is_is_rejected", "5 ask 1 a 0 plain\n" },
	{ "who_says_who_it_is_twice_is_rejected", "5 process 13 c\n6 process 13 c\n7 end\n" },
	{ "what_nobody_can_need_is_rejected", "5 process 13 c\n6 ask 1 a 0 foul\n7 end\n" },
	{ "more_permits_than_there_are_are_rejected", "5 process 13 c\n6 ask 1 a 0 4/3\n7 end\n" },
	{ "no_permits_are_rejected", "5 process 13 c\n6 ask 1 a 0 0/3\n7 end\n" },
	{ "permits_have_no_fence", "5 process 13 c\n6 ask 1 a 0 1/3\n7 got 1 OK 1 t 9\n8 give 1\n8 gave 1 OK\n9 end\n" },
	{ "what_was_given_is_not_traded", HELD "8 give 1\n8 gave 1 OK\n9 trade 1 2 read\n9 end\n" },
	{ "a_trade_is_for_a_hold_of_its_own", HELD "8 trade 1 1 read\n8 gave 1 OK\n9 end\n" },
	{ "nobody_arrives_without_a_name", "5 process 13 c\n6 arrive b/\n7 end\n" },
	{ "what_is_shown_of_a_leader_is_a_name_and_a_hold", "5 process 13 c\n6 leads b 1 t one/two\n7 end\n" },
	{ "nobody_meets_with_nobody", "5 process 13 c\n6 ask 1 b 0 meet/0\n7 end\n" },
	{ "a_loss_of_what_was_not_asked_for_is_rejected", HELD "8 give 1\n8 gave 1 OK\n9 lost a 1 2\n9 end\n" },
	{ "a_loss_of_another_lock_than_its_own_is_rejected", HELD "8 give 1\n8 gave 1 OK\n9 lost b 1 1\n9 end\n" },
	{ "a_hold_that_was_never_asked_for_is_rejected", "5 process 13 c\n6 got 1 OK 1 t 9\n7 end\n" },
	{ "a_hold_that_was_asked_for_twice_is_rejected", ASKED "7 ask 1 a 0 plain\n8 got 1 TIMEOUT 0 - 0\n9 end\n" },
	{ "an_acquire_that_returns_twice_is_rejected", ASKED "7 got 1 TIMEOUT 0 - 0\n8 got 1 TIMEOUT 0 - 0\n9 end\n" },
	{ "a_hold_does_not_go_back_in_time", HELD "6 look 1 20\n8 give 1\n8 gave 1 OK\n9 end\n" },
	{ "a_status_that_there_is_not_is_rejected", ASKED "7 got 1 WELL 0 - 0\n8 got 1 TIMEOUT 0 - 0\n9 end\n" },
	{ "who_got_nothing_has_no_fence", ASKED "7 got 1 TIMEOUT 7 - 0\n8 got 1 TIMEOUT 0 - 0\n9 end\n" },
	{ "a_valid_hold_has_a_fence", ASKED "7 got 1 OK 0 t 10\n9 give 1\n9 gave 1 OK\n10 end\n" },
	{ "a_valid_hold_has_a_token", ASKED "7 got 1 OK 3 - 10\n9 give 1\n9 gave 1 OK\n10 end\n" },
	{ "a_look_at_what_was_not_got_is_rejected", ASKED "7 got 1 TIMEOUT 0 - 0\n8 look 1 20\n9 end\n" },
	{ "what_was_not_got_is_not_given", ASKED "7 got 1 TIMEOUT 0 - 0\n8 give 1\n9 end\n" },
	{ "what_was_given_is_not_given_again", HELD "8 give 1\n8 give 1\n8 gave 1 OK\n9 end\n" },
	{ "an_answer_to_no_release_is_rejected", HELD "8 gave 1 OK\n9 end\n" },
	{ "a_second_answer_to_a_release_is_rejected", HELD "8 give 1\n8 gave 1 OK\n8 gave 1 OK\n9 end\n" },
	{ "a_release_does_not_time_out", HELD "8 give 1\n8 gave 1 TIMEOUT\n8 gave 1 OK\n9 end\n" },
	{ "a_loss_is_not_told_as_another_event", HELD "8 give 1\n8 gave 1 OK\n9 event LOST a 1\n9 end\n" },
	{ "a_loss_of_what_nobody_had_is_rejected", HELD "8 give 1\n8 gave 1 OK\n9 lost a 2\n9 end\n" },
	{ "a_loss_of_a_lock_that_nobody_had_is_rejected", HELD "8 give 1\n8 gave 1 OK\n9 lost b 1\n9 end\n" },
	{ "a_write_by_another_fence_is_rejected", HELD "8 wrote 1 a 2 taken\n8 give 1\n8 gave 1 OK\n9 end\n" },
	{ "a_write_to_another_lock_is_rejected", HELD "8 wrote 1 b 1 taken\n8 give 1\n8 gave 1 OK\n9 end\n" },
	{ "a_write_is_taken_or_refused", HELD "8 wrote 1 a 1 perhaps\n8 give 1\n8 gave 1 OK\n9 end\n" },
	{ "nobody_stood_still_for_longer_than_there_was_time", "5 process 13 c\n2000000 still 3\n2000000 end\n" },
	{ "nothing_follows_the_end", "5 process 13 c\n6 end\n7 event RECOVERED a 1\n" },
	{ "who_was_killed_does_not_go_on", "5 process 13 c\n8 event RECOVERED a 1\n7 killed 13\n" },
	{ "what_was_not_broken_is_not_mended", "5 breach x\n6 mended\n7 mended\n" },
	{ "a_living_process_does_not_tear_its_last_line", "5 process 13 c\n6 end\n7 st" },
	{ "whoever_writes_its_first_line_only_in_part_was_killed", "5 pro" },
};

/* By one who was killed. */
static const struct text rights[] = {
	{ "who_was_killed_may_leave_a_torn_line", "5 process 13 c\n6 ask 1 a -1 pl" },
	{ "who_was_killed_may_leave_a_torn_first_line", "5 proc" },
	{ "who_was_killed_may_leave_an_empty_history", "" },
	{ "who_was_killed_may_leave_a_loss_of_what_it_had_not_written_down",
		"5 process 13 c\n6 ask 1 a -1 plain\n7 lost a 256\n" },
	{ "a_pulse_may_come_behind_the_end", "5 process 13 c\n6 end\n70000000 still 60\n" },
};

SENTENCES(the_wrong_line_is_rejected, wrongs)
{
	free(sweep_file(folder, "raw.history", ((const struct text *)given)->text));
	found("history");
}

SENTENCES(what_may_be_left_is_accepted, rights)
{
	free(sweep_file(folder, "raw.history", ((const struct text *)given)->text));
	say(&nemesis, 100, "killed 13");
	found("");
}

SENTENCE(no_more_than_the_first_violations_are_spelled_out)
{
	for (int i = 1; i <= 50; i++)
		say(&nemesis, i, "left leash:{%d}", i);
	judge();
	assert_int_equal(verdict.violations[VERDICT_KEYS], 50);
	assert_non_null(verdict.texts[VERDICT_KEYS][VERDICT_TEXTS - 1]);
	assert_non_null(strstr(verdict.texts[VERDICT_KEYS][0], "nemesis.history:1"));
}

SENTENCE(of_a_folder_that_is_not_there_nothing_is_found)
{
	assert_false(verdict_find(&verdict, "/nowhere"));
}
