/* Histories as files: which of them make no sense, how they are written, and how long many of them take to judge. And the program. */
#include "tests/judge/trial.h"

#include "tests/support/test.h"
#include "tests/support/trouble.h"

#include <errno.h>
#include <inttypes.h>
#include <libgen.h>
#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Lines beside the others', as they are. */
static void
raw(const char *text)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/raw.history", run.folder);
	f = fopen(path, "w");
	if (!f || fputs(text, f) == EOF || fclose(f) != 0)
		trouble("%s: %s", path, strerror(errno));
}

struct text {
	const char *name, *text;
};

#define HELD "5 process 13 c\n6 ask 1 a 0 plain\n7 got 1 OK 1 t 9\n"

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
	{ "who_is_neither_plain_nor_fair_is_rejected", "5 process 13 c\n6 ask 1 a 0 foul\n7 end\n" },
	{ "a_hold_that_was_never_asked_for_is_rejected", "5 process 13 c\n6 got 1 OK 1 t 9\n7 end\n" },
	{ "a_hold_that_was_asked_for_twice_is_rejected", "5 process 13 c\n6 ask 1 a 0 plain\n7 ask 1 a 0 plain\n8 got 1 TIMEOUT 0 - 0\n9 end\n" },
	{ "an_acquire_that_returns_twice_is_rejected", "5 process 13 c\n6 ask 1 a 0 plain\n7 got 1 TIMEOUT 0 - 0\n8 got 1 TIMEOUT 0 - 0\n9 end\n" },
	{ "a_hold_does_not_go_back_in_time", HELD "6 look 1 20\n8 give 1\n8 gave 1 OK\n9 end\n" },
	{ "a_status_that_there_is_not_is_rejected", "5 process 13 c\n6 ask 1 a 0 plain\n7 got 1 WELL 0 - 0\n8 got 1 TIMEOUT 0 - 0\n9 end\n" },
	{ "who_got_nothing_has_no_fence", "5 process 13 c\n6 ask 1 a 0 plain\n7 got 1 TIMEOUT 7 - 0\n8 got 1 TIMEOUT 0 - 0\n9 end\n" },
	{ "a_valid_hold_has_a_fence", "5 process 13 c\n6 ask 1 a 0 plain\n7 got 1 OK 0 t 10\n9 give 1\n9 gave 1 OK\n10 end\n" },
	{ "a_valid_hold_has_a_token", "5 process 13 c\n6 ask 1 a 0 plain\n7 got 1 OK 3 - 10\n9 give 1\n9 gave 1 OK\n10 end\n" },
	{ "a_look_at_what_was_not_got_is_rejected", "5 process 13 c\n6 ask 1 a 0 plain\n7 got 1 TIMEOUT 0 - 0\n8 look 1 20\n9 end\n" },
	{ "what_was_not_got_is_not_given", "5 process 13 c\n6 ask 1 a 0 plain\n7 got 1 TIMEOUT 0 - 0\n8 give 1\n9 end\n" },
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

FIXTURE(trial_start, trial_stop);

/* ---- the writer ---- */

enum { WRITERS = 4, LINES = 5000 };

static void *
write_lines(void *arg)
{
	for (int i = 0; i < LINES; i++)
		history_note(arg, "fault %0*d", 40 + i % 60, i);
	return NULL;
}

SENTENCE(lines_of_several_threads_stay_whole)
{
	pthread_t threads[WRITERS];

	for (int i = 0; i < WRITERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, write_lines, run.nemesis.history), 0);
	for (int i = 0; i < WRITERS; i++)
		pthread_join(threads[i], NULL);
	found("");
	assert_int_equal(run.verdict.faults, WRITERS * LINES);
}

SENTENCE(no_more_than_the_first_violations_are_spelled_out)
{
	for (int i = 1; i <= 50; i++)
		say(&run.nemesis, i, "left leash:{%d}", i);
	judge();
	assert_int_equal(run.verdict.violations[VERDICT_KEYS], 50);
	assert_non_null(run.verdict.texts[VERDICT_KEYS][VERDICT_TEXTS - 1]);
	assert_non_null(strstr(run.verdict.texts[VERDICT_KEYS][0], "nemesis.history:1"));
}

/* ---- the program ---- */

static int
run_program(const char *folder)
{
	char self[4096] = "", command[8192];
	int status;

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		trouble("/proc/self/exe: %s", strerror(errno));
	snprintf(command, sizeof(command), "'%s/judge' '%s' >/dev/null 2>&1", dirname(self), folder);
	status = system(command);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

SENTENCE(the_program_exits_with_0_1_or_2)
{
	char nowhere[128];

	judge();
	assert_int_equal(run_program(run.folder), 0);
	say(&run.nemesis, 1000, "left leash:{a}");
	assert_int_equal(run_program(run.folder), 1);
	snprintf(nowhere, sizeof(nowhere), "%s/nowhere", run.folder);
	assert_int_equal(run_program(nowhere), 2);
}

/* ---- many ---- */

/* Two processes take a lock in turns; and how long it took to judge that, in seconds of CPU time. */
static double
judge_turns(int turns)
{
	struct timespec from, to;
	double seconds;

	trial_start();
	for (int i = 1; i <= turns; i++) {
		struct party *p = i % 2 == 0 ? &run.one : &run.two;
		int64_t at = i * MS;

		history_note_at(p->history, at, "ask %d lock-%d 100 plain", i, i % 7);
		history_note_at(p->history, at + 1, "got %d OK %d 6f9619ff8b86d011b42d00c04fc964ff:%d %" PRId64, i, i, i, at + 30000 * MS);
		history_note_at(p->history, at + 2, "wrote %d lock-%d %d taken", i, i % 7, i);
		history_note_at(p->history, at + 3, "give %d", i);
		history_note_at(p->history, at + 4, "gave %d OK", i);
	}
	run.one.silent = run.two.silent = true;
	history_note_at(run.one.history, turns * 2 * MS, "end");
	history_note_at(run.two.history, turns * 2 * MS, "end");
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	found("");
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	assert_int_equal(run.verdict.holds, turns);
	seconds = (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) * 1e-9;
	trial_stop();
	return seconds;
}

SENTENCE(ten_times_as_many_holds_take_not_much_more_than_ten_times_as_long, BETWEEN(NULL, NULL))
{
	double few = judge_turns(20000), many = judge_turns(200000);

	print_message("%.3f s of CPU for 20,000 holds, %.3f s for 200,000\n", few, many);
	assert_true(many < 40 * (few > 0.005 ? few : 0.005));   /* 100 times, if each were compared with each */
}

SENTENCES(the_wrong_line_is_rejected, wrongs)
{
	raw(((const struct text *)given)->text);
	found("history");
}

SENTENCES(what_may_be_left_is_accepted, rights)
{
	raw(((const struct text *)given)->text);
	say(&run.nemesis, 100, "killed 13");
	found("");
}
