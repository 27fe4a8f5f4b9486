/* What all commands have in common: --help, usage, durations, how they speak, and what they keep to themselves. */
#include "tests/support/child.h"
#include "tests/support/one_server.h"
#include "tests/support/test.h"
#include "tests/support/tool.h"

#include <leash.h>

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { USAGE = 64, NO_SERVER = 69, LINES = 24, COLUMNS = 80 };

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

/* One line that names the command, or leash itself, and shows a way on. */
static void
check_complaint(const char *by)
{
	const char *text = tool_complained();
	char begin[40];

	snprintf(begin, sizeof begin, "leash%s%s: ", *by != '\0' ? " " : "", by);
	if (strncmp(text, begin, strlen(begin)) != 0 || tool_count(text, "\n") != 1 || text[strlen(text) - 1] != '\n')
		fail_msg("'%s': %s", by, text);
	if (tool_said()[0] != '\0')
		fail_msg("'%s' said as well: %s", by, tool_said());
}

GROUP(start_server, stop_server);

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

SENTENCE(without_a_command_it_shows_the_help_and_fails)
{
	static const char *const nothing[] = {NULL};

	assert_int_equal(tool_run(NULL, nothing), USAGE);
	assert_string_equal(tool_said(), "");
	assert_true(fits_a_screen("", tool_complained()));
	assert_non_null(strstr(tool_complained(), "Usage: leash"));
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

/* ---- usage ---- */

SENTENCE(a_command_that_there_is_not_is_usage)
{
	static const char *const words[] = {"rum", "", "--hepl", "-x", "Run"};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		assert_int_equal(TOOL(NULL, words[i], "job"), USAGE);
		check_complaint("");
		assert_non_null(strstr(tool_complained(), words[i]));
		assert_non_null(strstr(tool_complained(), "--help"));
	}
}

SENTENCE(an_option_that_there_is_not_is_usage)
{
	for (int i = 0; i < COMMANDS; i++) {
		assert_int_equal(TOOL(NULL, commands[i], "--no-such-option", "job"), USAGE);
		check_complaint(commands[i]);
		assert_non_null(strstr(tool_complained(), "--no-such-option"));
		assert_non_null(strstr(tool_complained(), "--help"));
		assert_int_equal(TOOL(NULL, commands[i], "-Z", "job"), USAGE);
		check_complaint(commands[i]);
		assert_non_null(strstr(tool_complained(), "-Z"));
		assert_int_equal(TOOL(NULL, commands[i], "--json=hunter2", "job"), USAGE);
		check_complaint(commands[i]);
		assert_non_null(strstr(tool_complained(), "--json"));
		assert_null(strstr(tool_complained(), "hunter2")); /* it may have been meant for another option */
	}
}

SENTENCE(an_option_without_its_argument_is_usage)
{
	for (int i = 0; i < COMMANDS; i++) {
		assert_int_equal(TOOL(NULL, commands[i], "--redis"), USAGE);
		check_complaint(commands[i]);
		assert_non_null(strstr(tool_complained(), "--redis"));
		assert_int_equal(TOOL(NULL, commands[i], "-r"), USAGE);
		check_complaint(commands[i]);
		assert_non_null(strstr(tool_complained(), "-r"));
	}
}

SENTENCE(a_command_without_its_arguments_is_usage)
{
	static const char *const of_a_lock[] = {"run", "acquire", "renew", "release", "status", "wait", "break"};

	for (size_t i = 0; i < sizeof of_a_lock / sizeof *of_a_lock; i++) {
		assert_int_equal(TOOL(NULL, of_a_lock[i]), USAGE);
		check_complaint(of_a_lock[i]);
		assert_non_null(strstr(tool_complained(), "name"));
	}
	assert_int_equal(TOOL(NULL, "run", "job"), USAGE);
	check_complaint("run");
	assert_int_equal(TOOL(NULL, "renew", "job"), USAGE);
	check_complaint("renew");
	assert_int_equal(TOOL(NULL, "release", "job"), USAGE);
	check_complaint("release");
}

SENTENCE(one_argument_too_many_is_usage)
{
	assert_int_equal(TOOL(NULL, "acquire", "job", "more"), USAGE);
	check_complaint("acquire");
	assert_non_null(strstr(tool_complained(), "'more'"));
	assert_int_equal(TOOL(NULL, "break", "job", "more"), USAGE);
	check_complaint("break");
	assert_int_equal(TOOL(NULL, "renew", "job", "token", "more"), USAGE);
	check_complaint("renew");
	assert_non_null(strstr(tool_complained(), "'more'"));
	assert_int_equal(TOOL(NULL, "release", "job", "token", "more"), USAGE);
	check_complaint("release");
	assert_int_equal(TOOL(NULL, "doctor", "more"), USAGE);
	check_complaint("doctor");
}

SENTENCE(a_duration_that_is_none_is_usage)
{
	static const char *const none[] = {
		"",     "s",    "soon", "-1",     "1 s",   "1,5s",  "5x",  "1.",      ".5s",           "5s5",
		"1e3s", "0x10", "+5s",  "5S",     "infinity", "nan", "4000d", "11000d5",
		"999999999999999999999s",
	};
	static const struct {
		const char *command, *option;
	} takers[] = {
		{"acquire", "--wait"}, {"acquire", "-w"}, {"acquire", "--ttl"}, {"renew", "--ttl"}, {"wait", "--wait"},
		{"run", "--wait"},     {"run", "--ttl"},  {"run", "--kill-after"}, {"run", "--max-run"},
		{"run", "--at-least"},
	};

	for (size_t i = 0; i < COUNT(takers); i++)
		for (size_t n = i; n < COUNT(none); n += i == 0 ? 1 : COUNT(takers)) { /* the first takes all, the others take turns */
			if (TOOL("unix:///nowhere", takers[i].command, takers[i].option, none[n], "job", "token") != USAGE)
				fail_msg("%s %s '%s': %s", takers[i].command, takers[i].option, none[n], tool_complained());
			check_complaint(takers[i].command);
			if (strstr(tool_complained(), none[n]) == NULL || strstr(tool_complained(), takers[i].option) == NULL)
				fail_msg("%s %s '%s': %s", takers[i].command, takers[i].option, none[n], tool_complained());
		}
}

SENTENCE(what_is_wrong_is_told_as_json_where_that_is_asked_for)
{
	assert_int_equal(TOOL(NULL, "acquire", "--json", "--wait", "\"so\\on\"", "job"), USAGE);
	assert_string_equal(tool_said(), "");
	assert_int_equal(tool_complained()[0], '{');
	assert_non_null(strstr(tool_complained(), "\"command\":\"acquire\""));
	assert_non_null(strstr(tool_complained(), "\"level\":\"error\""));
	assert_non_null(strstr(tool_complained(), "'\\\"so\\\\x5con\\\"'"));
	assert_int_equal(tool_count(tool_complained(), "\n"), 1);
}

/* What looks like that and is not said to be is taken as it is, and named: a mistake is seen, and a script is not
 * surprised. */
SENTENCE(a_name_is_escaped_only_if_that_is_said)
{
	static const char *const wrong[] = {"a\\b", "\\", "a\\x", "\\x4", "\\xg1", "\\x00", "\\X41"};
	static const char *const takers[] = {"run", "acquire", "wait", "status", "list"};

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		assert_int_equal(TOOL("unix:///nowhere", "status", "--escaped", wrong[i]), USAGE);
		check_complaint("status");
		assert_non_null(strstr(tool_complained(), "\\x5c"));
	}
	for (size_t i = 0; i < sizeof takers / sizeof *takers; i++) {
		const char *now = i < 3 ? "-n" : "-v"; /* the others wait for nothing */

		TOOL("unix:///nowhere", takers[i], now, "--json", "a\\x41b", i == 0 ? "true" : NULL);
		assert_int_equal(tool_count(tool_complained(), "--escaped"), 1);
		assert_non_null(strstr(tool_complained(), "\"level\":\"warning\""));
		TOOL("unix:///nowhere", takers[i], now, "--escaped", "a\\x41b", i == 0 ? "true" : NULL);
		assert_int_equal(tool_count(tool_complained(), "--escaped"), 0);
	}
	TOOL("unix:///nowhere", "status", "a\\b");
	assert_int_equal(tool_count(tool_complained(), "--escaped"), 0);
}

/* What comes from outside and is shown moves no cursor and begins no line. */
SENTENCE(bytes_that_a_terminal_would_obey_are_not_shown_to_it)
{
	const char *text;

	for (int i = 0; i < 3; i++) {
		if (i == 0)
			TOOL("unix:///nowhere", "acquire", "job", "\033[2J\nleash: all is well\r\377");
		else if (i == 1)
			TOOL("unix:///nowhere", "acquire", "--wait", "\033[2J\nleash: all is well\r\377", "job");
		else
			TOOL("unix:///nowhere", "\033[2J\nleash: all is well\r\377", "job");
		text = tool_complained();
		assert_int_equal(tool_count(text, "\n"), 1);
		for (const char *c = text; *c != '\0'; c++)
			if (*c != '\n' && (*c < ' ' || *c > '~'))
				fail_msg("a byte %d is shown: %s", *c, text);
	}
}

/* ---- the server ---- */

SENTENCE(a_server_that_is_not_there_is_named)
{
	char nowhere[200];

	snprintf(nowhere, sizeof nowhere, "unix://%s/nobody", server_folder(server));
	assert_int_equal(TOOL(nowhere, "acquire", "-n", "job"), NO_SERVER);
	check_complaint("acquire");
	assert_non_null(strstr(tool_complained(), "/nobody"));
	/* -r comes before $LEASH_URI */
	assert_int_equal(TOOL(server_uri(server), "acquire", "-n", "-r", nowhere, "job"), NO_SERVER);
	assert_non_null(strstr(tool_complained(), "/nobody"));
	assert_int_equal(TOOL(nowhere, "acquire", "-n", "-r", server_uri(server), "job"), 0);
}

/* Each as the lock itself is waited for: by default for ever. */
SENTENCE(a_server_that_is_away_is_waited_for_as_long_as_the_lock)
{
	static const char *const waiters[][8] = {
		{"run", "job", "--", "true"}, {"acquire", "-q", "job"}, {"wait", "job"}, {"acquire", "-w", "10m", "job"},
		{"run", "-w", "10m", "job", "--", "true"}, {"wait", "-w", "10m", "job"},
	};
	struct server *mortal = server_start(NULL);

	for (size_t i = 0; i < sizeof waiters / sizeof *waiters; i++) {
		struct tool *tool;

		server_kill(mortal);
		tool = tool_start(server_uri(mortal), waiters[i]);
		if (strcmp(waiters[i][1], "-q") != 0)
			tool_await_err(tool, "; retrying");
		server_restart(mortal);
		assert_int_equal(tool_wait(tool), 0);
		assert_true(tool_count(tool_err(tool), "retrying") <= 1);
		tool_free(tool);
	}
	server_stop(mortal);
}

SENTENCE(a_server_that_stays_away_is_given_up_when_the_time_is_over_or_on_a_signal)
{
	static const char *const waiters[] = {"run", "acquire", "wait"};

	for (int i = 0; i < 3; i++) {
		const char *cmd = i == 0 ? "true" : NULL;
		struct tool *tool;

		assert_int_equal(TOOL("unix:///nowhere", waiters[i], "-n", "job", cmd), NO_SERVER);
		check_complaint(waiters[i]);
		assert_int_equal(TOOL("unix:///nowhere", waiters[i], "-w", "100ms", "job", cmd), NO_SERVER);
		assert_int_equal(tool_count(tool_complained(), "/nowhere: "), 2);
		tool = TOOL_START("unix:///nowhere", waiters[i], "job", cmd);
		tool_await_err(tool, "; retrying");
		tool_signal(tool, SIGTERM);
		assert_int_equal(tool_wait(tool), 128 + SIGTERM);
		tool_free(tool);
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

SENTENCE(what_will_not_pass_is_not_waited_for)
{
	/* a part of a name has at most 63 letters: no server needs to be asked for it */
	static const char no_host[] = "redis://a234567890123456789012345678901234567890123456789012345678901234";
	struct server *guarded = server_start((const char *const[]){"--requirepass", "secret", NULL});
	const char *uris[] = {no_host, server_uri(guarded)}; /* without its password */

	for (int i = 0; i < 2; i++) {
		assert_int_equal(TOOL(uris[i], "run", "job", "--", "true"), NO_SERVER);
		check_complaint("run");
		assert_int_equal(TOOL(uris[i], "acquire", "-w", "10m", "job"), NO_SERVER);
		check_complaint("acquire");
		assert_int_equal(TOOL(uris[i], "wait", "job"), NO_SERVER);
		check_complaint("wait");
	}
	server_stop(guarded);
}

SENTENCE(a_host_that_does_not_exist_does_not_keep_from_waiting_for_the_others)
{
	static const char no_host[] = "a234567890123456789012345678901234567890123456789012345678901234";
	static const char *const forms[] = {"redis+sentinel://127.0.0.1:1,%s/main", "redis+sentinel://%s,127.0.0.1:1/main",
	                                    "redis+quorum://%s,127.0.0.1:1,127.0.0.1:2",
	                                    "redis+quorum://127.0.0.1:1,127.0.0.1:2,%s",
	                                    "redis+cluster://%s,127.0.0.1:1", "redis+cluster://127.0.0.1:1,%s"};
	char typed[200];

	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		const char *rest = strstr(forms[i], "%s");

		snprintf(typed, sizeof typed, "%.*s%s%s", (int)(rest - forms[i]), forms[i], no_host, rest + 2);
		assert_int_equal(TOOL(typed, "run", "-w", "100ms", "job", "--", "true"), NO_SERVER);
		assert_non_null(strstr(tool_complained(), "; retrying"));
	}
}

/* Under sudo and cron there is no LEASH_URI, and a lock that nobody else sees keeps nobody out. */
SENTENCE(a_server_must_be_named_but_to_those_who_look)
{
	static const char *const lines[][8] = {
		{"run", "job", "--", "true"}, {"acquire", "-n", "job"}, {"renew", "job", "token"}, {"release", "job", "token"},
		{"wait", "job"}, {"break", "-f", "job"}, {"bench"}, {"scripts", "--load"},
	};

	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		assert_int_equal(tool_run(NULL, lines[i]), USAGE);
		check_complaint(lines[i][0]);
		assert_non_null(strstr(tool_complained(), "--redis"));
		assert_non_null(strstr(tool_complained(), "LEASH_URI"));
	}
	TOOL(NULL, "status", "job");
	assert_non_null(strstr(tool_complained(), "leash status: neither --redis nor LEASH_URI names a server: asking "
	                                          "redis://127.0.0.1:6379\n"));
	TOOL(NULL, "list", "-q");
	assert_null(strstr(tool_complained(), "neither"));
}

SENTENCE(a_uri_that_is_none_is_usage)
{
	assert_int_equal(TOOL("gopher://x", "acquire", "-n", "job"), USAGE);
	check_complaint("acquire");
	assert_int_equal(TOOL(NULL, "acquire", "-n", "-r", "gopher://x", "job"), USAGE);
	check_complaint("acquire");
}

SENTENCE(a_prefix_keeps_deployments_apart)
{
	assert_int_equal(TOOL(uri, "acquire", "-n", "--prefix", "one", "apart"), 0);
	assert_int_equal(TOOL(uri, "acquire", "-n", "--prefix", "one", "apart"), 75);
	assert_int_equal(TOOL(uri, "acquire", "-n", "--prefix=two", "apart"), 0);
	tool_setenv("LEASH_PREFIX", "one");
	assert_int_equal(TOOL(uri, "acquire", "-n", "apart"), 75);
	assert_int_equal(TOOL(uri, "acquire", "-n", "--prefix", "three", "apart"), 0); /* the option wins */
	tool_setenv("LEASH_PREFIX", NULL);
	assert_int_equal(TOOL(uri, "acquire", "-n", "apart"), 0);
}

/* ---- secrets: see test_passwords.c ---- */

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
