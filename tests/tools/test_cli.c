/* The help of all commands, and what needs more than cli.txt can say. */
#include "tests/support/child.h"
#include "tests/support/test.h"
#include "tests/support/tool.h"

#include <leash.h>

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LINES = 24, COLUMNS = 80 };

static const char *const commands[] =
	{"run", "acquire", "renew", "release", "status", "list", "wait", "break", "top", "doctor", "scripts", "bench"};

enum { COMMANDS = sizeof commands / sizeof *commands };

/* Does `text` have at most 24 lines of at most 80 columns of plain ASCII, the last one ended? What does not is told. */
static bool
fits_a_screen(const char *of, const char *text)
{
	size_t lines = 0, n;
	bool good = true;

	for (const char *line = text; *line != '\0'; line += n + (line[n] == '\n'), lines++) {
		n = strcspn(line, "\n");
		for (size_t i = 0; i < n; i++)
			if (line[i] < ' ' || line[i] > '~' || i >= COLUMNS) {
				print_error("leash %s --help: line %zu, column %zu: '%.*s'\n", of, lines + 1, i + 1, (int)n, line);
				good = false;
				break;
			}
		if (line[n] == '\0')
			good = false;
	}
	if (lines == 0 || lines > LINES)
		print_error("leash %s --help: %zu lines\n", of, lines);
	return good && lines > 0 && lines <= LINES;
}

/* ---- help ---- */

SENTENCE(help_of_each_command_fits_a_screen)
{
	char usage[40];
	bool good = true;

	for (int i = 0; i < COMMANDS; i++) {
		assert_int_equal(TOOL(NULL, commands[i], "--help"), 0);
		good &= fits_a_screen(commands[i], tool_said());
		assert_string_equal(tool_complained(), "");
		snprintf(usage, sizeof usage, "Usage: leash %s", commands[i]);
		if (strncmp(tool_said(), usage, strlen(usage)) != 0)
			fail_msg("it does not begin with '%s':\n%s", usage, tool_said());
		assert_int_equal(TOOL(NULL, commands[i], "-h"), 0);
		assert_int_equal(strncmp(tool_said(), usage, strlen(usage)), 0);
	}
	assert_true(good);
}

/* What is said of an option begins where it begins of all others. */
SENTENCE(help_of_each_command_has_one_column)
{
	for (int i = 0; i < COMMANDS; i++) {
		size_t column = 0;

		TOOL(NULL, commands[i], "--help");
		for (const char *line = tool_said(); *line != '\0'; line += strcspn(line, "\n"), line += *line != '\0') {
			const char *gap = strncmp(line, "  -", 3) == 0 || strncmp(line, "      --", 8) == 0 ? strstr(line + 8, "  ")
				: NULL;
			size_t at = gap != NULL ? (size_t)(gap - line) + strspn(gap, " ") : 0;

			if (at == 0 || at >= strcspn(line, "\n") || line[at] == '-')
				continue; /* options alone, or what goes on in the next line */
			if (column != 0 && at != column)
				fail_msg("column %zu, not %zu, in the help of %s: %.*s", at, column, commands[i],
				         (int)strcspn(line, "\n"), line);
			column = at;
		}
	}
}

/* Nobody who reads a command's help should miss one of its options: what getopt_long takes is in the text. */
SENTENCE(help_of_each_command_names_the_options_that_all_have)
{
	static const char *const options[] = {"--json", "--redis"};

	for (int i = 0; i < COMMANDS; i++) {
		TOOL(NULL, commands[i], "--help");
		for (size_t n = 0; n < sizeof options / sizeof *options; n++)
			if (strstr(tool_said(), options[n]) == NULL)
				fail_msg("the help of %s does not name %s:\n%s", commands[i], options[n], tool_said());
	}
}

SENTENCE(help_of_leash_names_each_command)
{
	static const char *const ways[] = {"--help", "-h", "help"};
	char line[40];

	for (size_t way = 0; way < sizeof ways / sizeof *ways; way++) {
		assert_int_equal(TOOL(NULL, ways[way]), 0);
		assert_true(fits_a_screen("", tool_said()));
		assert_string_equal(tool_complained(), "");
		for (int i = 0; i < COMMANDS; i++) {
			snprintf(line, sizeof line, "\n  leash %s ", commands[i]);
			if (strstr(tool_said(), line) == NULL)
				fail_msg("it does not name %s:\n%s", commands[i], tool_said());
		}
	}
}

SENTENCE(version_is_that_of_the_library)
{
	static const char *const ways[] = {"--version", "-V"};
	char line[64];

	snprintf(line, sizeof line, "leash %s\n", leash_version());
	for (size_t way = 0; way < sizeof ways / sizeof *ways; way++) {
		assert_int_equal(TOOL(NULL, ways[way]), 0);
		assert_string_equal(tool_said(), line);
		assert_string_equal(tool_complained(), "");
	}
}

/* The kernel keeps signals without a handler from it. */
SENTENCE(the_first_process_of_a_container_can_be_ended_while_its_server_is_away)
{
	int said[2], status;
	char text[256];
	pid_t pid;

	assert_int_equal(pipe(said), 0);
	pid = (pid_t)syscall(SYS_clone, CLONE_NEWPID | (geteuid() != 0 ? CLONE_NEWUSER : 0) | SIGCHLD, NULL, NULL, NULL,
	                     NULL);
	if (pid == 0) {
		dup2(said[1], STDERR_FILENO);
		execl(tool_path(), "leash", "run", "-r", "unix:///nowhere", "job", "true", (char *)NULL);
		_exit(EXIT_FAILURE);
	}
	assert_true(pid > 0);
	assert_true(read(said[0], text, sizeof text) > 0); /* that it tries again */
	assert_int_equal(kill(pid, SIGTERM), 0);
	await_true(waitpid(pid, &status, WNOHANG) == pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 128 + SIGTERM);
	close(said[0]);
	close(said[1]);
}

/* ---- secrets: see passwords.txt ---- */

/* /proc/<pid>/cmdline; false: there is none any more. */
static bool
read_command_line(pid_t pid, char *text, size_t size)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read(fd, text, size - 1) : -1;
	if (fd >= 0)
		close(fd);
	for (ssize_t i = 0; i < n; i++)
		if (text[i] == '\0')
			text[i] = ' ';
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* leash with a standard error that is full: it can go no further than to its first complaint. */
static int
run_mute(void *full)
{
	char *argv[] = {"leash", "acquire", "-r", "redis://:hunter2@127.0.0.1:1", "job", NULL};

	dup2(*(int *)full, STDERR_FILENO);
	execv(tool_path(), argv);
	return 1;
}

SENTENCE(a_password_on_the_command_line_is_wiped_from_it)
{
	static const char filler[4096];
	char line[4096];
	int ends[2];
	pid_t pid;

	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	while (write(ends[1], filler, sizeof filler) > 0)
		continue;
	assert_int_equal(fcntl(ends[1], F_SETFL, 0), 0);
	pid = child_run(run_mute, &ends[1]);
	await_true(read_command_line(pid, line, sizeof line) && strstr(line, "acquire") != NULL &&
	           strstr(line, "hunter2") == NULL);
	assert_non_null(strstr(line, " job "));
	child_kill(pid);
	close(ends[0]);
	close(ends[1]);
}
