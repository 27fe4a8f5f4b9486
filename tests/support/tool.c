/* Runs of the leash command. See tool.h.
 *
 * What it says goes to files in memory, which nobody need read for it to go on, and which can be looked at while it
 * runs and after it has been killed. All of it is done by the main thread. */
#include "tests/support/tool.h"

#include "tests/support/await.h"
#include "tests/support/child.h"
#include "tests/support/trouble.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

const char *
tool_path(void)
{
	static char path[4096];

	snprintf(path, sizeof path, "%s/tools/leash", BUILD_FOLDER);
	if (access(path, X_OK) == 0)
		return path;
	fprintf(stderr, "skipped: the leash command was not built\n");
	exit(77);
}

/* ---- its environment, which is ours ---- */

void
tool_setenv(const char *name, const char *value)
{
	if ((value != NULL ? setenv(name, value, 1) : unsetenv(name)) != 0)
		trouble("no memory");
}

/* What somebody who runs the tests has set for leash. */
static void
forget_theirs(void)
{
	static const char *const names[] = {"NO_COLOR", "LEASH_PREFIX", "LEASH_HELD", "LEASH_NAME", "LEASH_TOKEN", "LEASH_FENCE"};
	static bool done;

	for (size_t i = 0; i < sizeof names / sizeof *names && !done; i++)
		unsetenv(names[i]);
	done = true;
}

STOP_BY(tool_free)

struct tool *
tool_start(const char *uri, const char *const words[], bool at_terminal)
{
	struct tool *tool = zeroed(sizeof *tool);
	const char *path = words[0] != NULL && words[0][0] == '/' ? words[0] : tool_path();
	char *argv[TOOL_WORDS + 2], terminal[64];
	size_t n = 1;

	forget_theirs();
	tool_setenv("LEASH_URI", uri);
	argv[0] = (char *)(uintptr_t)path; /* exec changes none of them */
	for (size_t i = path == words[0]; words[i] != NULL; i++) {
		if (n > TOOL_WORDS)
			trouble("more than %d words", TOOL_WORDS);
		argv[n++] = (char *)(uintptr_t)words[i];
	}
	argv[n] = NULL;
	tool->terminal = at_terminal ? posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC) : -1;
	if (at_terminal && (tool->terminal < 0 || grantpt(tool->terminal) != 0 || unlockpt(tool->terminal) != 0 ||
	                    fcntl(tool->terminal, F_SETFL, O_NONBLOCK) != 0 ||
	                    ptsname_r(tool->terminal, terminal, sizeof terminal) != 0))
		trouble("no terminal: %s", strerror(errno));
	for (int i = 0; i < STREAMS; i++)
		/* to append, as several write: the kernel guards the common offset of a file, but not of a memfd, and lines
		 * would be lost */
		if ((tool->file[i] = memfd_create("said", MFD_CLOEXEC)) < 0 || fcntl(tool->file[i], F_SETFL, O_APPEND) != 0)
			trouble("memfd_create: %s", strerror(errno));
	/* In a session of its own, or it would ask the developer who runs the tests. */
	int streams[] = {-1, tool->file[OUT], tool->file[ERR]};
	int error = sweep_spawn(&tool->pid, argv, environ, streams, at_terminal ? terminal : NULL);
	if (error != 0)
		trouble("cannot run %s: %s", path, strerror(error));
	sweep_process(tool->pid);
	sweep_add(&tool->item, stop, tool);
	return tool;
}

/* ---- while it runs ---- */

void
tool_signal(struct tool *tool, int signal)
{
	if (tool->pid == 0 || kill(tool->pid, signal) != 0)
		trouble("leash has ended before it was sent signal %d; it said:\n%s%s", signal, tool_out(tool), tool_err(tool));
}

/* What it has shown since the last look goes to the file of that. */
static void
read_terminal(struct tool *tool)
{
	char shown[4096];
	ssize_t n;

	while (tool->terminal >= 0 && (n = read(tool->terminal, shown, sizeof shown)) > 0)
		if (write(tool->file[SHOWN], shown, (size_t)n) != n)
			trouble("no memory for what leash shows");
}

const char *
tool_said(struct tool *tool, enum stream which)
{
	struct stat stat;

	read_terminal(tool);
	free(tool->text[which]);
	tool->text[which] = NULL;
	if (fstat(tool->file[which], &stat) != 0 || (tool->text[which] = malloc((size_t)stat.st_size + 1)) == NULL)
		trouble("no memory");
	ssize_t n = pread(tool->file[which], tool->text[which], (size_t)stat.st_size, 0);
	tool->text[which][n > 0 ? n : 0] = '\0';
	return tool->text[which];
}

void
tool_type(struct tool *tool, const char *text)
{
	if (write(tool->terminal, text, strlen(text)) != (ssize_t)strlen(text))
		trouble("leash has no terminal on which '%s' could be typed: %s", text, strerror(errno));
}

/* Then it is reaped. */
bool
tool_has_ended(struct tool *tool)
{
	int status;

	read_terminal(tool); /* it might wait for that */
	if (tool->pid == 0)
		return true;
	if (waitpid(tool->pid, &status, WNOHANG) != tool->pid)
		return false;
	tool->pid = 0;
	tool->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	return true;
}

int
tool_wait(struct tool *tool)
{
	int64_t limit = await_limit_ns(600);

	for (; !tool_has_ended(tool); await_ms(1))
		if (await_is_past(limit))
			trouble("leash does not come to its end; so far it has said:\n%s%s", tool_out(tool), tool_err(tool));
	return tool->status;
}

void
tool_free(struct tool *tool)
{
	if (tool == NULL || !sweep_drop(&tool->item))
		return;
	if (tool->pid > 0)
		child_kill(tool->pid);
	if (tool->terminal >= 0)
		close(tool->terminal);
	for (int i = 0; i < STREAMS; i++) {
		close(tool->file[i]);
		free(tool->text[i]);
	}
	free(tool);
}
