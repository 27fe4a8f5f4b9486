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

void
take(struct party *p, int hold, int fence, int from, int until)
{
	say(p, from - 1, "ask %d a -1 plain", hold);
	say(p, from, "got %d OK %d t:%d %" PRId64, hold, fence, fence, until * MS);
}

void
give(struct party *p, int hold, int from, int to, const char *status)
{
	say(p, from, "give %d", hold);
	say(p, to, "gave %d %s", hold, status);
}

void
keep(struct party *p, int hold, int fence, int from, int to)
{
	take(p, hold, fence, from, to + 500);
	give(p, hold, to, to + 1, "OK");
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

void
rejected(enum verdict_rule rule, uint64_t times)
{
	judge();
	if (verdict_violations(&run.verdict) != times || run.verdict.violations[rule] != times) {
		verdict_print(&run.verdict, stderr);
		fail_msg("not as expected: %" PRIu64 " violations of %s", times, verdict_rule_name(rule));
	}
	for (uint64_t i = 0; i < times; i++)
		assert_non_null(strstr(run.verdict.texts[rule][i], ".history:"));   /* it says where */
}

void
accepted(void)
{
	rejected(VERDICT_HISTORY, 0);
}
