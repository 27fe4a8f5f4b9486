/* Telling histories, and what the judge must say of them. */
#include "tests/judge/trial.h"

#include "tests/support/sweep.h"
#include "tests/support/test.h"
#include "tests/support/trouble.h"

#include <errno.h>
#include <inttypes.h>

struct trial run;

static struct party
party(const char *name, int pid)
{
	struct party p = { .history = history_open(run.folder, name) };

	if (pid != 0)
		history_note_at(p.history, 1 * MS, "process %d %s", pid, name);
	return p;
}

void
trial_start(void)
{
	memset(&run, 0, sizeof(run));
	run.folder = sweep_folder();
	run.one = party("one", 11);
	run.two = party("two", 12);
	run.nemesis = party("nemesis", 0);
}

void
trial_stop(void)
{
	history_close(run.one.history);
	history_close(run.two.history);
	history_close(run.nemesis.history);
	verdict_clear(&run.verdict);
	sweep_remove(run.folder);
}

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
		{"LATE", VERDICT_LATE_GRACE_MS}, {"WAIT", VERDICT_WAIT_GRACE_MS},
	};
	int64_t ms = 0;

	for (char *term; (term = strsep(&terms, "+")) != NULL;) {
		ms += strtoll(term, NULL, 10);
		for (size_t i = 0; i < COUNT(graces); i++)
			ms += strcmp(term, graces[i].name) == 0 ? graces[i].ms : 0;
	}
	return ms;
}

static void
tell_step(char *step)
{
	struct party *p = step[0] == '1' ? &run.one : step[0] == '2' ? &run.two : &run.nemesis;
	char *line = step + 2, *at, *last, what[8], status[16];
	int hold, fence, from, to;

	if (strcmp(line, "silent") == 0) {
		p->silent = true;
	} else if (sscanf(line, "%4[takep] %d %d %d %d", what, &hold, &fence, &from, &to) == 5) {
		bool keeps = strcmp(what, "keep") == 0;

		say(p, from - 1, "ask %d a -1 plain", hold);
		say(p, from, "got %d OK %d t:%d %" PRId64, hold, fence, fence, (keeps ? to + 500 : to) * MS);
		if (keeps)
			give(p, hold, to, to + 1, "OK");
	} else if (sscanf(line, "give %d %d %d %15s", &hold, &from, &to, status) == 4) {
		give(p, hold, from, to, status);
	} else {
		at = strsep(&line, " ");
		last = strncmp(line, "got ", 4) == 0 || strncmp(line, "look ", 5) == 0 ? strrchr(line, ' ') : NULL;
		if (last != NULL)
			say(p, sum(at), "%.*s %" PRId64, (int)(last - line), line, (int64_t)strtoll(last, NULL, 10) * MS);
		else
			say(p, sum(at), "%s", line);
	}
}

void
tell(const char *steps)
{
	char copy[1024], *rest = copy;

	assert_in_range(snprintf(copy, sizeof(copy), "%s", steps), 1, sizeof(copy) - 1);
	for (char *step; (step = strsep(&rest, ";")) != NULL;)
		tell_step(step + strspn(step, " "));
}

void
judge(void)
{
	if (!run.one.silent)
		say(&run.one, THE_END, "end");
	if (!run.two.silent)
		say(&run.two, THE_END, "end");
	say(&run.nemesis, THE_END, "over all");
	if (!verdict_find(&run.verdict, run.folder))
		trouble("%s: %s", run.folder, strerror(errno));
}

static int64_t
counted(const char *name)
{
#define ONE(field, text) \
	if (strcmp(name, #field) == 0) \
		return run.verdict.field;
	VERDICT_COUNTS(ONE)
	trouble("a verdict has no '%s'", name);
}

static void
violated(enum verdict_rule rule, uint64_t times)
{
	if (run.verdict.violations[rule] != times) {
		verdict_print(&run.verdict, stderr);
		fail_msg("not as expected: %" PRIu64 " violations of %s", times, verdict_rule_name(rule));
	}
	for (uint64_t i = 0; i < times; i++)
		assert_non_null(strstr(run.verdict.texts[rule][i], ".history:"));   /* it says where */
}

void
found(const char *what)
{
	uint64_t rules[VERDICT_RULES] = { 0 };
	char copy[256], *rest = copy;

	judge();
	assert_in_range(snprintf(copy, sizeof(copy), "%s", what), 0, sizeof(copy) - 1);
	for (char *terms; (terms = strsep(&rest, ",")) != NULL && *terms;) {
		char *word = (terms += strspn(terms, " "), strsep(&terms, " "));
		int64_t expected = terms ? sum(terms) : 1;
		int rule = 0;

		while (rule < VERDICT_RULES && strcmp(word, verdict_rule_name((enum verdict_rule)rule)) != 0)
			rule++;
		if (rule < VERDICT_RULES)
			rules[rule] = (uint64_t)expected;
		else if (counted(word) != expected * (strstr(word, "_ns") ? MS : 1))
			fail_msg("%" PRId64 " %s, not %" PRId64, counted(word), word, expected);
	}
	for (int rule = 0; rule < VERDICT_RULES; rule++)
		violated((enum verdict_rule)rule, rules[rule]);
}
