/* leash run and signals: who gets them, what is left when leash itself is killed, and what CMD inherits. */
#include "tests/support/lag.h"
#include "tests/support/one_server.h"
#include "tests/support/test.h"
#include "tests/support/tool.h"
#include "tests/support/trouble.h"

#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FOR_EVER "while :; do sleep 0.02; done"

static int64_t
waiting(void)
{
	return server_integer(server, "ZCOUNT leash:{taken}:queue (0 +inf");
}

/* A pidfd of the process that said "NAME pid." */
static int
process_called(struct tool *tool, const char *name)
{
	char what[40];
	const char *at;
	int fd;

	snprintf(what, sizeof what, "%s ", name);
	tool_await_out(tool, what);
	await_true(strchr(strstr(tool_out(tool), what), '.') != NULL);
	at = strstr(tool_out(tool), what);
	fd = (int)syscall(SYS_pidfd_open, atoi(at + strlen(what)), 0);
	if (fd < 0)
		trouble("%s has ended", name);
	return fd;
}

static bool
has_ended(int fd)
{
	struct pollfd end = {.fd = fd, .events = POLLIN};

	return poll(&end, 1, 0) == 1;
}

static bool
is_free(const char *name)
{
	return server_integer(server, "EXISTS leash:{%s}", name) == 0;
}

static void
start(void)
{
	static char patient[300];

	start_server();
	snprintf(patient, sizeof patient, "%s?timeout=60000", uri);
	uri = patient;
	server_integer(server, "HSET leash:{taken} 01234567-89ab-cdef-0123-456789abcdef:7 1");
	server_integer(server, "PEXPIRE leash:{taken} 86400000");
}

GROUP(start, stop_server);

/* ---- passing on ---- */

SENTENCE(each_signal_reaches_the_command)
{
	static const struct {
		const char *name;
		int number;
	} signals[] = {{"HUP", SIGHUP},   {"INT", SIGINT},   {"QUIT", SIGQUIT}, {"TERM", SIGTERM},
	               {"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"CONT", SIGCONT}, {"WINCH", SIGWINCH}};
	char script[200], name[40];

	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
		struct tool *tool;

		snprintf(script, sizeof script, "trap 'echo got %s; exit 5' %s; echo ready; " FOR_EVER, signals[i].name, signals[i].name);
		tool = TOOL_START(uri, "run", "job-1", "-c", script);
		tool_await_out(tool, "ready");
		tool_signal(tool, signals[i].number);
		assert_int_equal(tool_wait(tool), 5);
		snprintf(name, sizeof name, "got %s\n", signals[i].name);
		assert_non_null(strstr(tool_out(tool), name));
		tool_free(tool);
		assert_true(is_free("job-1"));
	}
}

SENTENCE(a_signal_reaches_the_whole_group)
{
	struct tool *tool = TOOL_START(uri, "run", "job-2", "-c", "sh -c 'echo child $$.; " FOR_EVER "' & echo ready $$.; " FOR_EVER);
	int child = process_called(tool, "child");

	tool_await_out(tool, "ready");
	tool_signal(tool, SIGTERM);
	assert_int_equal(tool_wait(tool), 128 + SIGTERM);
	await_true(has_ended(child));
	close(child);
	tool_free(tool);
}

SENTENCE(with_foreground_the_command_stays_in_the_group_of_leash)
{
	char line[40];
	struct tool *tool = TOOL_START(uri, "run", "--foreground", "job-3", "-c",
	                               "trap 'exit 5' TERM; echo group $(($(ps -o pgid= -p $$))).; " FOR_EVER);

	tool_await_out(tool, ".");
	snprintf(line, sizeof line, "group %d.", (int)getpgid(tool_pid(tool))); /* the one that it has by now */
	assert_non_null(strstr(tool_out(tool), line));
	tool_signal(tool, SIGTERM);
	assert_int_equal(tool_wait(tool), 5);
	tool_free(tool);
	tool = TOOL_START(uri, "run", "job-3", "-c", "echo group $(($(ps -o pgid= -p $$))) of $$.");
	assert_int_equal(tool_wait(tool), 0);
	assert_int_equal(atoi(strchr(tool_out(tool), 'p') + 1), atoi(strchr(tool_out(tool), 'f') + 1));
	tool_free(tool);
}

SENTENCE(with_foreground_too_all_are_ended_that_must_be)
{
	struct tool *tool = TOOL_START(uri, "run", "--foreground", "--max-run", "300ms", "-k", "100ms", "job-4", "-c",
	                               "trap '' TERM; setsid sh -c 'echo child $$.; " FOR_EVER "' & " FOR_EVER);
	int child = process_called(tool, "child");

	assert_int_equal(tool_wait(tool), 124);
	assert_true(has_ended(child));
	close(child);
	tool_free(tool);
}

SENTENCE(those_who_left_are_told_when_the_command_has_ended)
{
	struct tool *tool = TOOL_START(uri, "run", "--max-run", "300ms", "-k", "60s", "--ttl", "10m", "job-5", "-c",
	                               "setsid sh -c 'trap \"echo told; exit\" TERM; echo child $$.; " FOR_EVER "' & " FOR_EVER);

	assert_int_equal(tool_wait(tool), 124);
	assert_non_null(strstr(tool_out(tool), "told"));
	tool_free(tool);
}

/* Who cannot look does not take it for an answer. */
SENTENCE(without_descriptors_nobody_is_taken_for_gone)
{
	struct tool *tool = TOOL_START(uri, "run", "--ttl", "1s", "job-9", "-c",
	                               "setsid sh -c 'trap \"\" TERM; echo child $$.; " FOR_EVER "' & trap 'exit 0' TERM; " FOR_EVER);
	const struct rlimit none = {3, 4096}, many = {1024, 4096};
	int child = process_called(tool, "child");

	assert_int_equal(prlimit(tool_pid(tool), RLIMIT_NOFILE, &none, NULL), 0);
	freeReplyObject(server_command(server, "DEL leash:{job-9}"));
	tool_await_err(tool, "cannot look for what the command has started");
	assert_false(tool_has_ended(tool));
	assert_false(has_ended(child));
	assert_int_equal(prlimit(tool_pid(tool), RLIMIT_NOFILE, &many, NULL), 0);
	assert_int_equal(tool_wait(tool), 79);
	assert_true(has_ended(child));
	close(child);
	tool_free(tool);
}

SENTENCE(who_is_left_behind_by_a_command_that_ended_by_itself_is_left_alone)
{
	struct tool *tool = TOOL_START(uri, "run", "job-6", "-c", "setsid sh -c 'echo child $$.; " FOR_EVER "' & sleep 0.2; exit 3");
	int child = process_called(tool, "child");

	assert_int_equal(tool_wait(tool), 3);
	assert_true(is_free("job-6"));
	assert_false(has_ended(child));
	syscall(SYS_pidfd_send_signal, child, SIGKILL, NULL, 0);
	close(child);
	tool_free(tool);
}

/* ---- waiting ---- */

SENTENCE(a_signal_ends_the_wait_and_leaves_the_queue)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	int64_t longest = 0, shortest = INT64_MAX;

	lag_begin();
	for (int i = 0; i < 12; i++) {
		struct tool *tool = TOOL_START(uri, "run", "taken", "--", "echo", "run");
		int64_t began;

		await_true(waiting() == 1);
		began = await_now_ns();
		tool_signal(tool, signals[i % 4]);
		while (waiting() != 0)
			if (await_now_ns() - began > 3000 * MS * (int64_t)await_slowness())
				fail_msg("it is in the queue still");
		began = await_now_ns() - began;
		longest = began > longest ? began : longest;
		shortest = began < shortest ? began : shortest;
		assert_int_equal(tool_wait(tool), 128 + signals[i % 4]);
		assert_string_equal(tool_out(tool), "");
		tool_free(tool);
	}
	print_message("# the queue was left %lld to %lld us after the signal\n", (long long)(shortest / 1000), (long long)(longest / 1000));
	assert_true(shortest < 100 * MS * (int64_t)await_slowness() + lag_end());
}

SENTENCE(a_signal_that_was_ignored_at_the_start_ends_no_wait)
{
	struct tool *tool;
	int64_t began = await_now_ns();

	tool_setenv("LEASH", tool_path());
	tool = TOOL_START(uri, "run", "outer", "-c", "trap '' HUP; exec $LEASH run -w 700ms taken -- true");
	await_true(waiting() == 1);
	for (int i = 0; i < 10; i++)
		tool_signal(tool, SIGHUP);
	assert_int_equal(tool_wait(tool), 75);
	assert_true(await_now_ns() - began >= 700 * MS);
	tool_setenv("LEASH", NULL);
	tool_free(tool);
}

SENTENCE(a_signal_at_any_moment_is_not_lost)
{
	for (int i = 0; i < 60; i++) {
		struct tool *tool = TOOL_START(uri, "run", "job-7", "--", "sleep", "600");

		usleep((useconds_t)(i * 150));
		tool_signal(tool, SIGTERM);
		assert_int_equal(tool_wait(tool), 128 + SIGTERM);
		tool_free(tool);
		await_true(is_free("job-7"));
	}
}

/* ---- leash itself is killed ---- */

/* leash is killed while `script` runs, which calls its process "child", or its whole group is. */
static void
kill_leash(const char *name, const char *script, bool with_its_group)
{
	struct tool *tool = TOOL_START(uri, "run", "--ttl", "10m", name, "-c", script);
	int child = process_called(tool, "child");

	if (with_its_group)
		assert_int_equal(kill(-tool_pid(tool), SIGKILL), 0); /* it leads one: the guard is not in that */
	else
		tool_signal(tool, SIGKILL);
	assert_int_equal(tool_wait(tool), 128 + SIGKILL);
	await_true(has_ended(child));
	assert_false(is_free(name)); /* it did not take the end of the lease */
	close(child);
	tool_free(tool);
}

SENTENCE(a_command_does_not_outlive_a_leash_that_was_killed)
{
	static const char *const names[] = {"killed-1", "killed-2", "killed-3", "killed-4", "killed-5"};

	for (int i = 0; i < 5; i++)
		kill_leash(names[i], "trap '' TERM HUP INT; echo child $$.; " FOR_EVER, false);
}

/* Runs CMD as the kernel sees one that changed its user, which only root can: without its death signal. */
static const char *
as_another_user(void)
{
	return geteuid() == 0 ? "setpriv --reuid=65534 --clear-groups" : "setpriv --pdeathsig=clear";
}

SENTENCE(a_command_that_changed_its_user_does_not_outlive_a_leash_that_was_killed)
{
	char script[200];

	snprintf(script, sizeof script, "exec %s sh -c 'trap \"\" TERM HUP; echo child $$.; " FOR_EVER "'", as_another_user());
	kill_leash("killed-6", script, false);
	kill_leash("killed-7", script, true);
}

SENTENCE(what_the_command_has_started_does_not_outlive_a_leash_that_was_killed)
{
	kill_leash("killed-8", "sh -c 'echo child $$.; " FOR_EVER "' & wait", false);
	kill_leash("killed-9", "(setsid sh -c 'trap \"\" TERM HUP; echo child $$.; " FOR_EVER "' &); " FOR_EVER, false); /* a daemon */
}

SENTENCE(a_guard_that_is_killed_takes_the_command_along)
{
	assert_int_equal(TOOL(uri, "run", "job-10", "-c", "kill -KILL $PPID; " FOR_EVER), 128 + SIGKILL);
	assert_true(is_free("job-10"));
	/* but not one that the kernel does not kill: that is watched over to its end */
	assert_int_equal(TOOL(uri, "run", "job-10", "setpriv", "--pdeathsig=clear", "sh", "-c", "kill -KILL $PPID; sleep 0.1; exit 5"), 5);
	assert_true(is_free("job-10"));
}

SENTENCE(an_inner_command_does_not_outlive_an_outer_leash_that_was_killed)
{
	/* the guard kills both; without it the shell between them dies, and the inner one is left, and sees its lease end */
	static const char *const scripts[] = {"echo guard $PPID.; exec $LEASH run -k 100ms nested -- sh -c 'echo child $$.; " FOR_EVER "'",
	                                      "echo guard $PPID.; $LEASH run -k 100ms nested -- sh -c 'echo child $$.; " FOR_EVER "'; true"};

	tool_setenv("LEASH", tool_path());
	for (int i = 0; i < 2; i++) {
		struct tool *tool = TOOL_START(uri, "run", "--ttl", "9s", "nested", "-c", scripts[i]);
		int child = process_called(tool, "child"), guard = process_called(tool, "guard");

		if (i == 1) {
			tool_signal(tool, SIGSTOP); /* or it would see the end of its command */
			assert_int_equal(syscall(SYS_pidfd_send_signal, guard, SIGKILL, NULL, 0), 0);
			await_true(has_ended(guard));
		}
		tool_signal(tool, SIGKILL);
		assert_int_equal(tool_wait(tool), 128 + SIGKILL);
		while (!has_ended(child))
			if (is_free("nested") && !has_ended(child))
				fail_msg("it lives on without the lock");
		close(child);
		close(guard);
		tool_free(tool);
		await_true(is_free("nested"));
	}
	tool_setenv("LEASH", NULL);
}

SENTENCE(an_inner_command_ends_when_the_outer_run_loses_the_lock)
{
	struct tool *tool;
	int child;

	tool_setenv("LEASH", tool_path());
	tool = TOOL_START(uri, "run", "--ttl", "1s", "nested", "-c",
	                  "$LEASH run nested -- sh -c 'trap \"\" TERM; echo child $$.; " FOR_EVER "'; true");
	child = process_called(tool, "child");
	freeReplyObject(server_command(server, "DEL leash:{nested}"));
	assert_int_equal(tool_wait(tool), 79);
	assert_true(has_ended(child));
	close(child);
	tool_free(tool);
	tool_setenv("LEASH", NULL);
}

SENTENCE(a_leash_that_stood_still_past_its_lease_kills_the_command)
{
	struct tool *tool = TOOL_START(uri, "run", "--ttl", "1s", "paused", "-c", "trap 'echo told' TERM; echo child $$.; " FOR_EVER);
	int child = process_called(tool, "child");

	tool_signal(tool, SIGSTOP);
	await_true(is_free("paused"));
	assert_false(has_ended(child)); /* nobody else can see to it */
	tool_signal(tool, SIGCONT);
	assert_int_equal(tool_wait(tool), 79);
	assert_true(has_ended(child));
	assert_null(strstr(tool_out(tool), "told")); /* there was nothing left for that */
	close(child);
	tool_free(tool);
}

/* ---- what CMD inherits ---- */

SENTENCE(no_descriptor_of_leash_is_open_in_the_command)
{
	/* the fourth is the folder that ls reads; no shell, which would have pipes of its own for a moment */
	assert_int_equal(TOOL(uri, "run", "job-8", "--", "ls", "/proc/self/fd"), 0);
	assert_string_equal(tool_said(), "0\n1\n2\n3\n");
}

SENTENCE(the_guard_keeps_nothing_open_and_is_not_called_leash)
{
	/* of its own it has a pipe to leash; it closes the rest, and takes its name, while CMD begins already */
	assert_int_equal(TOOL(uri, "run", "job-8", "-c", "until [ \"$(ls /proc/$PPID/fd)\" = 0 ]; do sleep 0.01; done; readlink /proc/$PPID/fd/0; "
	                                                 "until [ $(cat /proc/$PPID/comm) = guard ]; do sleep 0.01; done; "
	                                                 "tr '\\0' ' ' </proc/$PPID/cmdline"), 0);
	assert_memory_equal(tool_said(), "pipe:", 5);
	assert_non_null(strstr(tool_said(), "leash guard of "));
	assert_null(strstr(tool_said(), "job-8"));
}

/* A set of signals in /proc/self/status, without those that belong to the C library. */
static unsigned long long
signals_of(const char *name)
{
	const char *at = strstr(tool_said(), name);

	assert_non_null(at);
	return strtoull(at + strlen(name), NULL, 16) & 0x7fffffff;
}

SENTENCE(the_command_has_the_signals_that_leash_was_started_with)
{
	assert_int_equal(TOOL(uri, "run", "job-9", "--", "cat", "/proc/self/status"), 0);
	assert_int_equal(signals_of("\nShdPnd:\t"), 0);
	assert_int_equal(signals_of("\nSigBlk:\t"), 0);
	assert_int_equal(signals_of("\nSigIgn:\t"), 0);
	tool_setenv("LEASH", tool_path());
	assert_int_equal(TOOL(uri, "run", "job-9", "-c", "trap '' HUP PIPE TTOU; exec $LEASH run inner -- cat /proc/self/status"), 0);
	tool_setenv("LEASH", NULL);
	assert_int_equal(signals_of("\nSigBlk:\t"), 0);
	assert_int_equal(signals_of("\nSigIgn:\t"), 0x201001);
}
