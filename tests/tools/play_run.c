/* Who runs: to the end, or in the background. */
#include "tests/tools/play_parts.h"

#include <signal.h>

void
play_settle(void)
{
	struct run *run = &play.foreground;
	int here = play.at;

	if (run->tool == NULL)
		return;
	play.at = run->line;
	if (!run->is_said[OUT])
		play_expect(run, ">=");
	if (!run->is_said[ERR] && run->status == 0)
		play_expect(run, "2>=");
	play.at = here;
}

VERB(secret) /* a b */
{
	char **next = play.secrets;

	play_split(rest);
	while (next < play.secrets + SECRETS && *next != NULL)
		next++;
	if (next + play.word_count > play.secrets + SECRETS)
		play_wrong("there are too many secrets");
	for (int i = 0; i < play.word_count; i++)
		next[i] = strdup(play.words[i]);
}

static void
start(struct run *run, const char *line, bool at_terminal)
{
	play_split(line);
	run->line = play.at;
	tool_free(run->tool);
	play.last = run;
	run->tool = tool_start(*play.where != '\0' ? play.where : NULL, play.words, at_terminal);
	memset(run->is_said, 0, sizeof run->is_said);
}

static void
end(struct run *run, int status)
{
	play.last = run;
	run->status = tool_wait(run->tool);
	for (int i = 0; i < SECRETS && play.secrets[i] != NULL; i++)
		for (enum stream stream = OUT; stream < STREAMS; stream++)
			if (strstr(tool_said(run->tool, stream), play.secrets[i]) != NULL)
				play_wrong("it tells '%s'", play.secrets[i]);
	if (run->status != status)
		play_wrong("it ended with %d", run->status);
}

/* What stands behind the last " => " in it, which ends before that; NULL: there is none. */
static const char *
cut_status(char *line)
{
	char *arrow = NULL;

	for (char *rest = line; (rest = strstr(rest, " => ")) != NULL; rest += 4)
		arrow = rest;
	if (arrow != NULL)
		*arrow = '\0';
	return arrow != NULL ? play_expand(arrow + 4) : NULL;
}

/* "$ words => 75", "&w words", "@w words"; NULL: it is none of them */
static struct run *
play_run(char *line)
{
	char *command = strchr(line, ' ');
	struct run *run = &play.foreground;

	if (line[0] == '$') {
		play_settle();
		const char *status = cut_status(line);
		start(run, line + 1, false);
		end(run, status != NULL ? atoi(status) : 0);
		return run;
	}
	if (line[0] != '&' && line[0] != '@')
		return NULL;
	*command = '\0';
	run = ENTRY(play.background, play_expand(line + 1));
	start(run, command + 1, line[0] == '@');
	play_set(run->name, "%d", (int)run->tool->pid);
	return run;
}

static int
signal_called(const char *name)
{
	for (int i = 1; i < NSIG; i++)
		if (sigabbrev_np(i) != NULL && strcmp(name, sigabbrev_np(i)) == 0)
			return i;
	play_wrong("there is no signal %s", name);
}

/* "w> text", "w! TERM", "w< yes\n", each with " => 0" or not; "w runs", "w => 0"; NULL: nobody is called so */
static struct run *
play_running(char *line)
{
	size_t n = strspn(line, "abcdefghijklmnopqrstuvwxyz");
	struct run *run = play.background;
	const char *rest = line + n, *status;

	while (run->tool != NULL && (strlen(run->name) != n || strncmp(run->name, line, n) != 0))
		if (++run == play.background + FEW)
			return NULL;
	if (run->tool == NULL)
		return NULL;
	play.last = run;
	if (play_is_expectation(rest)) {
		play_expect(run, rest);
		return run;
	}
	status = cut_status(line);
	if (strcmp(rest, " runs") == 0)
		play_must(!tool_has_ended(run->tool), "it has ended");
	else if (rest[0] == '<')
		tool_type(run->tool, play_expand(rest + 2));
	else if (rest[0] == '!')
		tool_signal(run->tool, signal_called(play_expand(rest + 2)));
	else if (rest[0] != '\0')
		return NULL;
	if (status != NULL)
		end(run, atoi(status));
	return run;
}

/* Behind what is run, or runs, each " ;; " begins what it is to say, or a variable that is what it has said. */
bool
play_command(char *line)
{
	char *more = strstr(line, " ;; ");

	if (more != NULL)
		*more = '\0';
	struct run *run = play_run(line);
	if (run == NULL)
		run = play_running(line);
	for (char *next; run != NULL && more != NULL; more = next) {
		if ((next = strstr(more + 4, " ;; ")) != NULL)
			*next = '\0';
		if (!play_variable(more + 4))
			play_expect(run, more + 4);
	}
	return run != NULL;
}
