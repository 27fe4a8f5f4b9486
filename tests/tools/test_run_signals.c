/* leash run and signals: what signals.txt cannot say. */
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
