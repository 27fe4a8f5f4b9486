/* leash acquire, renew and release: a lock that outlives the process that took it, and its token, by which it is prolonged and given back. */
#include "tests/support/child.h"
#include "tests/support/leashed.h"
#include "tests/support/one_server.h"
#include "tests/support/test.h"
#include "tests/support/tool.h"

#include <leash.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { USAGE = 64, NO_SERVER = 69, INTERNAL = 70, CONFLICT = 75, LOST = 79 };

static leash_client *client; /* for looking, and for being in the way */
static leash_lock *lock;     /* "job", of that client */
static leash_error err;

static void
set_up(void)
{
	freeReplyObject(server_command(server, "FLUSHALL"));
	client = leashed_open(uri, NULL);
	lock = leashed_lock(client, "job", NULL);
}

static void
tear_down(void)
{
	server_resume(server);
	leash_close(client);
	leash_lock_free(lock);
}

FIXTURE(set_up, tear_down);
GROUP(start_server, stop_server);

/* ---- the lock "job" ---- */

/* What the last run printed, a token and nothing else. */
static void
read_token(char *token)
{
	const char *said = tool_said();
	size_t n = strlen(said);

	if (n < 38 || n > LEASH_TOKEN_MAX || said[n - 1] != '\n' || strspn(said, "0123456789abcdef-:") != n - 1 || said[36] != ':')
		fail_msg("that is no token on a line: '%s'", said);
	memcpy(token, said, n - 1);
	token[n - 1] = '\0';
	assert_string_equal(tool_complained(), "");
}

#define ACQUIRE(token, ...) \
	do { \
		assert_int_equal(TOOL(uri, "acquire", "job", __VA_ARGS__), 0); \
		read_token(token); \
	} while (0)

/* Who has it, "" if nobody has. */
static const char *
holder(void)
{
	return server_text(server, "HKEYS leash:{job}");
}

static int64_t
remaining_ms(void)
{
	return server_integer(server, "PTTL leash:{job}");
}

static int64_t
places(void)
{
	return server_integer(server, "ZCOUNT leash:{job}:queue (0 +inf");
}

/* ---- across processes ---- */

SENTENCE(a_lock_outlives_the_process_that_acquired_it)
{
	char token[LEASH_TOKEN_MAX], other[LEASH_TOKEN_MAX];

	ACQUIRE(token, "-n");
	assert_string_equal(holder(), token);
	assert_int_equal(TOOL(uri, "acquire", "-n", "job"), CONFLICT);
	assert_string_equal(tool_said(), "");
	assert_int_equal(TOOL(uri, "renew", "job", token), 0);
	assert_string_equal(tool_said(), "");
	assert_string_equal(tool_complained(), "");
	assert_string_equal(holder(), token);
	assert_int_equal(TOOL(uri, "release", "job", token), 0);
	assert_string_equal(tool_said(), "");
	assert_string_equal(tool_complained(), "");
	assert_string_equal(holder(), "");
	ACQUIRE(other, "-n");
	assert_string_not_equal(token, other);
}

SENTENCE(it_lapses_when_its_lease_is_over)
{
	int64_t from_ns = await_now_ns();
	char token[LEASH_TOKEN_MAX], other[LEASH_TOKEN_MAX];

	ACQUIRE(token, "--ttl", "700ms");
	ACQUIRE(other, "--wait=60s");
	assert_true(await_now_ns() - from_ns >= 700 * INT64_C(1000000));
	assert_string_equal(holder(), other);
}

SENTENCE(the_lease_is_30_s_unless_another_is_asked_for)
{
	char token[LEASH_TOKEN_MAX];
	int64_t ms;

	ACQUIRE(token, "-n");
	ms = remaining_ms();
	assert_true(ms > 5000 && ms <= 30000);
	assert_int_equal(TOOL(uri, "renew", "--ttl", "2m", "job", token), 0);
	ms = remaining_ms();
	assert_true(ms > 95000 && ms <= 120000);
	assert_int_equal(TOOL(uri, "release", "job", token), 0);
	ACQUIRE(token, "--ttl", "1d");
	ms = remaining_ms();
	assert_true(ms > 86300000 && ms <= 86400000);
}

/* A lock that is handed over to one who waits has a claim of seconds at first. */
SENTENCE(the_whole_lease_is_left_when_the_token_is_printed_however_long_it_took)
{
	struct tool *tool;

	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	tool = TOOL_START(uri, "acquire", "job", "--ttl", "10m");
	await_true(places() == 1);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	assert_int_equal(tool_wait(tool), 0);
	assert_true(remaining_ms() > 500000);
	assert_int_equal(strlen(tool_out(tool)), strlen(holder()) + 1);
	tool_free(tool);
}

SENTENCE(renewing_keeps_it_and_never_shortens_its_lease)
{
	char token[LEASH_TOKEN_MAX];

	ACQUIRE(token, "--ttl", "5s");
	assert_int_equal(TOOL(uri, "renew", "job", token, "--ttl", "10m"), 0);
	assert_true(remaining_ms() > 500000);
	assert_int_equal(TOOL(uri, "renew", "job", token, "--ttl", "1s"), 0);
	assert_true(remaining_ms() > 500000);
	assert_int_equal(TOOL(uri, "renew", "job", token), 0);
	assert_true(remaining_ms() > 500000);
	assert_string_equal(holder(), token);
	assert_string_equal(server_text(server, "HVALS leash:{job}"), "1");
}

SENTENCE(of_five_that_try_at_once_exactly_one_gets_a_token)
{
	struct tool *tools[5];
	int got = 0, refused = 0;

	for (int i = 0; i < 5; i++)
		tools[i] = TOOL_START(uri, "acquire", "-n", "job");
	for (int i = 0; i < 5; i++) {
		int status = tool_wait(tools[i]);

		got += status == 0;
		refused += status == CONFLICT;
		if (status == 0)
			assert_memory_equal(tool_out(tools[i]), holder(), strlen(holder()));
		else
			assert_string_equal(tool_out(tools[i]), "");
		tool_free(tools[i]);
	}
	assert_int_equal(got, 1);
	assert_int_equal(refused, 4);
	assert_int_equal(server_integer(server, "EXISTS leash:{job}:queue"), 0);
}

/* ---- tokens that hold nothing ---- */

SENTENCE(a_wrong_token_does_nothing_and_says_so)
{
	static const char *const commands[] = {"renew", "release"};
	char token[LEASH_TOKEN_MAX], before[64];

	ACQUIRE(token, "--ttl", "1d");
	snprintf(before, sizeof before, "%s", server_text(server, "PEXPIRETIME leash:{job}"));
	for (int i = 0; i < 2; i++) {
		assert_int_equal(TOOL(uri, commands[i], "job", "01234567-89ab-4def-8123-456789abcdef:1"), LOST);
		assert_string_equal(tool_said(), "");
		assert_non_null(strstr(tool_complained(), "lock 'job'"));
		assert_non_null(strstr(tool_complained(), "not held"));
		assert_int_equal(TOOL(uri, commands[i], "another", token), LOST);
		assert_int_equal(TOOL(uri, commands[i], "job", "nonsense"), USAGE);
		assert_int_equal(TOOL(uri, commands[i], "job", ""), USAGE);
		assert_string_equal(holder(), token);
		assert_string_equal(server_text(server, "PEXPIRETIME leash:{job}"), before);
	}
	assert_string_equal(server_text(server, "KEYS leash:{another}*"), "");
}

SENTENCE(what_was_released_is_not_released_or_renewed_again)
{
	char token[LEASH_TOKEN_MAX];

	ACQUIRE(token, "-n");
	assert_int_equal(TOOL(uri, "release", "job", token), 0);
	assert_int_equal(TOOL(uri, "release", "job", token), LOST);
	assert_int_equal(TOOL(uri, "renew", "job", token), LOST);
	assert_string_equal(holder(), "");
}

SENTENCE(what_somebody_else_has_got_meanwhile_is_not_touched)
{
	char token[LEASH_TOKEN_MAX], other[LEASH_TOKEN_MAX], before[64];

	ACQUIRE(token, "--ttl", "100ms");
	ACQUIRE(other, "--ttl", "10m");
	snprintf(before, sizeof before, "%s", server_text(server, "PEXPIRETIME leash:{job}"));
	assert_int_equal(TOOL(uri, "release", "job", token), LOST);
	assert_int_equal(TOOL(uri, "renew", "job", token), LOST);
	assert_string_equal(holder(), other);
	assert_string_equal(server_text(server, "PEXPIRETIME leash:{job}"), before);
	assert_int_equal(TOOL(uri, "release", "job", other), 0);
}

/* ---- in the queue ---- */

SENTENCE(the_next_in_the_queue_gets_what_is_released)
{
	char token[LEASH_TOKEN_MAX];
	struct tool *waiter;

	for (int fair = 0; fair < 2; fair++) {
		ACQUIRE(token, fair ? "--fair" : "-n");
		waiter = fair ? TOOL_START(uri, "acquire", "job", "--fair", "-v") : TOOL_START(uri, "acquire", "job", "-v");
		await_true(places() == 1);
		tool_await_err(waiter, "lock 'job' is held by test_hold[");
		assert_int_equal(TOOL(uri, "release", "job", token), 0);
		assert_int_equal(tool_wait(waiter), 0);
		assert_memory_equal(tool_out(waiter), holder(), strlen(holder()));
		assert_non_null(strstr(tool_err(waiter), "acquired after"));
		snprintf(token, sizeof token, "%s", holder());
		assert_int_equal(TOOL(uri, "release", "job", token), 0);
		tool_free(waiter);
	}
}

SENTENCE(one_that_waits_in_vain_leaves_the_queue_and_exits_as_it_was_told)
{
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	assert_int_equal(TOOL(uri, "acquire", "-w", "200ms", "job"), CONFLICT);
	assert_non_null(strstr(tool_complained(), "lock 'job'"));
	assert_int_equal(places(), 0);
	assert_int_equal(TOOL(uri, "acquire", "-w", "0", "job"), CONFLICT);
	assert_int_equal(TOOL(uri, "acquire", "-n", "-E", "9", "job"), 9);
	assert_int_equal(TOOL(uri, "acquire", "-n", "--conflict-exit-code=0", "-q", "job"), 0);
	assert_string_equal(tool_said(), "");
	assert_string_equal(tool_complained(), "");
	assert_int_equal(TOOL(uri, "acquire", "-n", "-E", "255", "-v", "job"), 255);
	assert_non_null(strstr(tool_complained(), "is held by test_hold, pid "));
	assert_int_equal(TOOL(uri, "acquire", "-n", "-E", "256", "job"), USAGE);
	assert_int_equal(TOOL(uri, "acquire", "-n", "-E", "-1", "job"), USAGE);
	assert_int_equal(TOOL(uri, "acquire", "-n", "-E", "", "job"), USAGE);
	assert_int_equal(TOOL(uri, "acquire", "-n", "-E", "9x", "job"), USAGE);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
}

SENTENCE(a_signal_ends_the_wait_and_leaves_the_queue)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	for (int i = 0; i < 3; i++) {
		struct tool *tool = TOOL_START(uri, "acquire", "job");

		await_true(places() == 1);
		tool_signal(tool, signals[i]);
		assert_int_equal(tool_wait(tool), 128 + signals[i]);
		assert_int_equal(server_integer(server, "EXISTS leash:{job}:queue"), 0);
		assert_string_equal(tool_out(tool), "");
		tool_free(tool);
	}
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	assert_string_equal(holder(), "");
}

/* Nohup, and what a shell without job control starts in the background. */
static int
acquire_without_hangup(void *arg)
{
	(void)arg;
	dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDOUT_FILENO);
	signal(SIGHUP, SIG_IGN);
	setenv("LEASH_URI", uri, 1);
	return execl(tool_path(), "leash", "acquire", "-q", "-w", "60s", "job", (char *)NULL);
}

SENTENCE(a_signal_that_its_parent_has_it_ignore_stays_ignored)
{
	pid_t pid;

	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	pid = child_run(acquire_without_hangup, NULL);
	await_true(places() == 1);
	assert_int_equal(kill(pid, SIGHUP), 0);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	child_wait(pid);
	assert_string_not_equal(holder(), "");
}

/* ---- a token that nobody would know ---- */

static int
acquire_onto(void *fd)
{
	dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
	if (*(int *)fd < 0)
		close(STDOUT_FILENO);
	else
		dup2(*(int *)fd, STDOUT_FILENO);
	setenv("LEASH_URI", uri, 1);
	return execl(tool_path(), "leash", "acquire", "job", (char *)NULL);
}

SENTENCE(a_lock_whose_token_cannot_be_told_is_given_back)
{
	int ends[2], fds[3];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	close(ends[0]); /* nobody reads it */
	fds[0] = ends[1];
	fds[1] = open("/dev/full", O_WRONLY | O_CLOEXEC);
	fds[2] = -1; /* closed */
	for (int i = 0; i < 3; i++) {
		int status = child_end(child_run(acquire_onto, &fds[i]));

		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), INTERNAL);
		assert_string_equal(holder(), "");
	}
	close(fds[0]);
	close(fds[1]);
}

/* ---- what others see ---- */

SENTENCE(others_see_its_caller_as_the_holder)
{
	leash_lock_info info = {.size = sizeof info};
	char token[LEASH_TOKEN_MAX], expected[64], host[256];

	ACQUIRE(token, "-n");
	assert_int_equal(gethostname(host, sizeof host), 0);
	host[LEASH_HOST_SIZE - 1] = '\0';
	snprintf(expected, sizeof expected, "test_hold[%d]", (int)getpid());
	for (int renewed = 0; renewed < 2; renewed++) {
		assert_status(LEASH_OK, leash_lock_inspect(lock, &info, &err));
		assert_true(info.held);
		assert_string_equal(info.holder.token, token);
		assert_string_equal(info.holder.program, expected);
		assert_string_equal(info.holder.host, host);
		assert_int_equal(TOOL(uri, "renew", "job", token, "--ttl", "10m"), 0);
		assert_true(server_integer(server, "PTTL leash:client:%b", token, (size_t)36) > 600000);
	}
}

SENTENCE(programs_read_what_it_did_as_json)
{
	leash_lock_info info = {.size = sizeof info};
	char token[LEASH_TOKEN_MAX], fence[64], expected[300];

	assert_int_equal(TOOL(uri, "acquire", "--json", "--ttl", "1m", "job"), 0);
	snprintf(token, sizeof token, "%s", holder());
	assert_status(LEASH_OK, leash_lock_inspect(lock, &info, &err));
	snprintf(fence, sizeof fence, "%" PRIu64, info.fence);
	snprintf(expected, sizeof expected, "{\"name\":\"job\",\"token\":\"%s\",\"fence\":\"%s\",\"lease_ms\":60000}\n", token, fence);
	assert_string_equal(tool_said(), expected);
	assert_int_equal(TOOL(uri, "renew", "--json", "job", token), 0);
	snprintf(expected, sizeof expected, "{\"name\":\"job\",\"token\":\"%s\",\"fence\":\"%s\",\"remaining_ms\":", token, fence);
	assert_memory_equal(tool_said(), expected, strlen(expected));
	assert_int_equal(TOOL(uri, "release", "--json", "job", token), 0);
	snprintf(expected, sizeof expected, "{\"name\":\"job\",\"token\":\"%s\",\"released\":true}\n", token);
	assert_string_equal(tool_said(), expected);
	assert_int_equal(TOOL(uri, "release", "--json", "job", token), LOST);
	assert_string_equal(tool_said(), "");
	assert_int_equal(tool_complained()[0], '{');
}

SENTENCE(a_name_of_any_bytes_is_a_name)
{
	static const char *const names[] = {"a b", "{x}y", "\303\244", "\377\n\033[31m", "-n", "%s%n", "*"};
	char token[LEASH_TOKEN_MAX];

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		assert_int_equal(TOOL(uri, "acquire", "--", names[i]), 0);
		read_token(token);
		assert_int_equal(TOOL(uri, "acquire", "-n", "--json", "--", names[i]), CONFLICT);
		for (const char *c = tool_complained(); *c != '\0'; c++)
			assert_true(*c == '\n' || (*c >= ' ' && *c <= '~'));
		assert_int_equal(TOOL(uri, "renew", "--json", "--", names[i], token), 0);
		assert_int_equal(TOOL(uri, "release", "--", names[i], token), 0);
	}
	assert_int_equal(TOOL(uri, "acquire", ""), USAGE);
}

/* ---- a server that does not answer ---- */

SENTENCE(what_a_server_that_stands_still_has_not_confirmed_is_not_said)
{
	char token[LEASH_TOKEN_MAX];

	ACQUIRE(token, "--ttl", "10m");
	server_pause(server);
	assert_int_equal(TOOL(uri, "acquire", "-n", "job"), NO_SERVER);
	assert_string_equal(tool_said(), "");
	assert_int_equal(TOOL(uri, "renew", "job", token), NO_SERVER);
	assert_int_equal(TOOL(uri, "release", "job", token), NO_SERVER);
	server_resume(server);
	assert_string_equal(holder(), token);
	assert_int_equal(TOOL(uri, "release", "job", token), 0);
}

SENTENCE(what_is_no_lock_is_left_alone)
{
	freeReplyObject(server_command(server, "SET leash:{job} mine"));
	assert_int_equal(TOOL(uri, "acquire", "-n", "job"), NO_SERVER);
	assert_int_equal(TOOL(uri, "renew", "job", "01234567-89ab-4def-8123-456789abcdef:1"), NO_SERVER);
	assert_int_equal(TOOL(uri, "release", "job", "01234567-89ab-4def-8123-456789abcdef:1"), NO_SERVER);
	assert_string_equal(server_text(server, "GET leash:{job}"), "mine");
}

/* ---- as it is used ---- */

static int
run_script(void *script)
{
	setenv("LEASH_URI", uri, 1);
	setenv("LEASH", tool_path(), 1);
	return execl("/bin/sh", "sh", "-euc", (char *)script, (char *)NULL);
}

SENTENCE(a_script_holds_it_over_several_commands)
{
	static char script[] = "token=$(\"$LEASH\" acquire -w 60 job)\n"
	                       "\"$LEASH\" renew --ttl 5m job \"$token\"\n"
	                       "! \"$LEASH\" acquire -nq job\n"
	                       "\"$LEASH\" release job \"$token\"\n"
	                       "\"$LEASH\" release -q job \"$token\" 2>/dev/null || [ $? -eq 79 ]\n";

	child_wait(child_run(run_script, script));
	assert_string_equal(holder(), "");
}
