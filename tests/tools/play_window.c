/* A window with a shell, which tmux shows: one at a time. */
#include "tests/tools/play_parts.h"

#define ASK(...) ask((const char *const[]){__VA_ARGS__, NULL})

/* tmux's answer, until the next one; NULL: it said no. -N: it must not start a server, which would outlive us. */
static const char *
ask(const char *const more[])
{
	const char *argv[WORDS] = {"/usr/bin/env", "tmux", "-N", "-S", play_value("tmux")};

	for (int n = 5; *more != NULL; n++)
		argv[n] = *more++;
	tool_free(play.asked);
	play.asked = tool_start(play.where, argv, false);
	return tool_wait(play.asked) == 0 ? tool_out(play.asked) : NULL;
}

const char *
play_shown(int row)
{
	char number[16];

	snprintf(number, sizeof number, "%d", row);
	const char *lines = row < 0 ? ASK("capture-pane", "-p", "-t", "w")
		: ASK("capture-pane", "-p", "-t", "w", "-S", number, "-E", number);
	return lines != NULL ? lines : "";
}

void
play_close_window(void)
{
	tool_free(play.asked);
	tool_free(play.tmux);
	play.asked = play.tmux = NULL;
}

VERB(window) /* 80 24 */
{
	play_split(rest);
	play_close_window();
	play_set("tmux", "%s/tmux", server_folder(server));
	play_set("take_down", "cat >'%s/raw'", server_folder(server));
	tool_setenv("TMUX", NULL);
	const char *const start_it[] = {"/usr/bin/env", "tmux", "-S", play_value("tmux"), "-f", "/dev/null", "-D", NULL};
	play.tmux = tool_start(play.where, start_it, false);
	await_true(ASK("new-session", "-d", "-s", "w", "-x", play.words[0], "-y", play.words[1],
	               "exec env -i PATH=\"$PATH\" TERM=screen-256color ENV= PS1='$ ' LD_LIBRARY_PATH=\"$LD_LIBRARY_PATH\" "
	               "LEASH_URI=\"$LEASH_URI\" LEASH=\"$LEASH\" sh -i") != NULL);
	await_true(ASK("pipe-pane", "-t", "w", "-O", play_value("take_down")) != NULL);
	await_true(play_shown(0)[0] == '$');
}

DOES(resize, play_split(rest); play_must(ASK("resize-window", "-t", "w", "-x", play.words[0], "-y", play.words[1]),
                                         "it is as it was"))

void
play_check_window(int row, const char *pattern)
{
	int64_t limit = await_limit_ns(AWAIT_S);
	char how = play_how_of(&pattern);

	while (!play_is_said(play_shown(row), how, pattern)) {
		if (await_is_past(limit))
			play_wrong("the window does not show '%s':\n%s", pattern, play_shown(-1));
		await_ms(10);
	}
}

DOES(row, play_check_window(atoi(play_expand(rest)), strchr(rest, '>') + 1))

VERB(keys)
{
	char *shown = strstr(rest, " ;; %>");

	if (shown != NULL)
		*shown = '\0';
	play_split(rest);
	for (int i = 0; i < play.word_count; i++)
		play_must(*play.words[i] == '\0' || ASK("send-keys", "-t", "w", play.words[i]), "the window takes no keys");
	if (shown != NULL)
		play_check_window(-1, shown + strlen(" ;; %>"));
}
