#include "tests/tools/screen.h"

#include "tests/support/await.h"
#include "tests/support/child.h"
#include "tests/support/tool.h"
#include "tests/support/trouble.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char tmux_socket[512];
static pid_t tmux;

static int
become_tmux(void *arg)
{
	(void)arg;
	unsetenv("TMUX");
	execlp("tmux", "tmux", "-S", tmux_socket, "-f", "/dev/null", "-D", (char *)NULL);
	return 1;
}

/* tmux's answer, until the next one; NULL: it said no. -N: it must not start a server of its own, which would
 * outlive us. */
__attribute__((format(printf, 1, 2))) static char *
ask(const char *format, ...)
{
	static char answer[65536];
	char words[2048], command[4096];
	va_list args;

	va_start(args, format);
	vsnprintf(words, sizeof words, format, args);
	va_end(args);
	snprintf(command, sizeof command, "TMUX= exec tmux -N -S '%s' %s 2>&1", tmux_socket, words);
	FILE *pipe = popen(command, "re");
	if (pipe == NULL)
		trouble("popen: no");
	size_t n = fread(answer, 1, sizeof answer - 1, pipe);
	answer[n] = '\0';
	return pclose(pipe) == 0 ? answer : NULL;
}

const char *
screen_text(int row)
{
	char *text = row < 0 ? ask("capture-pane -p -t w") : ask("capture-pane -p -t w -S %d -E %d", row, row);

	if (text != NULL && row >= 0)
		text[strcspn(text, "\n")] = '\0';
	return text != NULL ? text : "";
}

void
screen_open(const char *folder, const char *uri, int columns, int lines)
{
	const char *libraries = getenv("LD_LIBRARY_PATH");

	screen_close();
	snprintf(tmux_socket, sizeof tmux_socket, "%s/tmux", folder);
	tmux = child_run(become_tmux, NULL);
	await_true(ask("new-session -d -s w -x %d -y %d 'env -i PATH=\"$PATH\" TERM=screen-256color ENV= PS1=\"$ \" "
	                "LD_LIBRARY_PATH=\"%s\" LEASH_URI=\"%s\" LEASH=\"%s\" sh -i'",
	                columns, lines, libraries != NULL ? libraries : "", uri, tool_path()) != NULL);
	await_true(ask("pipe-pane -t w -O 'cat >\"%s/raw\"'", folder) != NULL);
	await_true(strncmp(screen_text(0), "$", 1) == 0);
}

void
screen_resize(int columns, int lines)
{
	if (ask("resize-window -t w -x %d -y %d", columns, lines) == NULL)
		trouble("the window takes no other size");
}

void
screen_type(const char *key)
{
	char quoted[1024], *to = quoted;

	for (; *key != '\0' && to < quoted + sizeof quoted - 5; key++)
		to = *key == '\'' ? stpcpy(to, "'\\''") : stpcpy(to, (char[]){*key, '\0'});
	*to = '\0';
	if (to > quoted && ask("send-keys -t w '%s'", quoted) == NULL)
		trouble("the window takes no keys");
}

void
screen_close(void)
{
	if (tmux == 0)
		return;
	child_kill(tmux);
	tmux = 0;
	unlink(tmux_socket);
}
