/* leash break: nothing is taken from anybody without a yes, or --force; and then from nobody but the one who was named. */
#include "tests/support/leashed.h"
#include "tests/support/one_server.h"
#include "tests/support/test.h"
#include "tests/support/tool.h"

#include <leash.h>

#include <signal.h>
#include <sys/wait.h>

enum { USAGE = 64, NO_SERVER = 69, CONFLICT = 75 };

static leash_client *client, *other;
static leash_lock *lock, *theirs; /* "job": of `client`, who holds it, and of `other` */
static leash_error err;
static struct leashed_events events; /* of `lock` */

static void
set_up(void)
{
	freeReplyObject(server_command(server, "FLUSHALL"));
	memset(&events, 0, sizeof events);
	client = leashed_open(uri, NULL);
	other = leashed_open(uri, NULL);
	lock = leashed_lock(client, "job", LEASH_LOCK_OPTIONS(.lease_ms = 3000, .on_event = leashed_note_event, .event_arg = &events));
	theirs = leashed_lock(other, "job", NULL);
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
}

static void
tear_down(void)
{
	leash_close(client);
	leash_close(other);
	leash_lock_free(lock);
	leash_lock_free(theirs);
}

FIXTURE(set_up, tear_down);
GROUP(start_server, stop_server);

static const char *
holder(void)
{
	return server_text(server, "HKEYS leash:{job}");
}

/* `client` has it still, and is sure of it. */
static void
check_left_alone(void)
{
	char token[LEASH_TOKEN_MAX];

	assert_true(leash_lock_token(lock, token, sizeof token) > 0);
	assert_string_equal(holder(), token);
	assert_true(leash_lock_held(lock));
	assert_int_equal(events.count[LEASH_EVENT_LOST], 0);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
}

/* ---- asked ---- */

SENTENCE(it_names_the_holder_and_says_what_will_happen_before_it_asks)
{
	struct tool *tool = TOOL_START_AT_TERMINAL(uri, "break", "job");

	tool_await_shown(tool, "Take it away? [y/N] ");
	assert_non_null(strstr(tool_shown(tool), "'job' is held by\r\n  test_break, pid "));
	assert_non_null(strstr(tool_shown(tool), "left of its lease"));
	assert_non_null(strstr(tool_shown(tool), "renewal"));
	assert_string_equal(tool_out(tool), "");
	assert_string_equal(tool_err(tool), "");
	tool_free(tool);
	check_left_alone();
}

static bool
waits_to_be_reaped(pid_t pid)
{
	siginfo_t info = {.si_pid = 0};

	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

/* Of this machine, and gone, or a zombie; not whom leash acquire left behind for a script that goes on. */
SENTENCE(a_dead_holder_is_not_called_alive)
{
	struct tool *run = TOOL_START(uri, "run", "--ttl", "1h", "orphan", "--", "sleep", "1000"), *tool;

	await_true(server_integer(server, "EXISTS leash:{orphan}") == 1);
	assert_int_equal(kill(tool_pid(run), SIGKILL), 0); /* and is not reaped yet */
	await_true(waits_to_be_reaped(tool_pid(run)));
	for (int reaped = 0; reaped < 2; reaped++) {
		tool = TOOL_START_AT_TERMINAL(uri, "break", "orphan");
		tool_await_shown(tool, "[y/N] ");
		assert_non_null(strstr(tool_shown(tool), "does not run on this machine any more"));
		assert_null(strstr(tool_shown(tool), "alive"));
		tool_type(tool, "n\n");
		assert_int_equal(tool_wait(tool), CONFLICT);
		tool_free(tool);
		tool_wait(run);
	}
	assert_int_equal(TOOL(uri, "break", "-f", "orphan"), 0);
	assert_non_null(strstr(tool_complained(), "does not run on this machine any more"));
	assert_int_equal(TOOL(uri, "acquire", "left"), 0);
	assert_int_equal(TOOL(uri, "break", "-f", "left"), 0);
	assert_non_null(strstr(tool_complained(), "alive"));
	tool_free(run);
}

SENTENCE(a_yes_takes_it_away)
{
	static const char *const answers[] = {"y\n", "Y\n", "yes\n", "YES\n"};

	for (int i = 0; i < 4; i++) {
		struct tool *tool = TOOL_START_AT_TERMINAL(uri, "break", "job");

		tool_await_shown(tool, "[y/N] ");
		tool_type(tool, answers[i]);
		assert_int_equal(tool_wait(tool), 0);
		assert_string_equal(holder(), "");
		assert_non_null(strstr(tool_err(tool), "lock 'job' was taken from test_break, pid "));
		tool_free(tool);
		assert_status(LEASH_LOST, leash_lock_release(lock, &err));
		assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	}
}

SENTENCE(anything_else_leaves_it_alone)
{
	static const char *const answers[] = {"n\n", "\n", "no\n", "yeah, why not\n", "y n\n", "nyes\n", " y\n", "\004"};

	for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
		struct tool *tool = TOOL_START_AT_TERMINAL(uri, "break", "job");

		tool_await_shown(tool, "[y/N] ");
		tool_type(tool, answers[i]);
		if (tool_wait(tool) != CONFLICT)
			fail_msg("'%s': %s", answers[i], tool_err(tool));
		assert_non_null(strstr(tool_err(tool), "left alone"));
		tool_free(tool);
	}
	check_left_alone();
}

SENTENCE(ctrl_c_at_the_question_leaves_it_alone)
{
	struct tool *tool = TOOL_START_AT_TERMINAL(uri, "break", "job");

	tool_await_shown(tool, "[y/N] ");
	tool_type(tool, "\003");
	assert_int_equal(tool_wait(tool), 128 + SIGINT);
	tool_free(tool);
	check_left_alone();
}

SENTENCE(a_yes_does_not_hit_who_has_got_it_while_the_question_stood_there)
{
	struct tool *tool = TOOL_START_AT_TERMINAL(uri, "break", "job");

	tool_await_shown(tool, "[y/N] ");
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	assert_status(LEASH_OK, leash_lock_acquire(theirs, 0, &err));
	tool_type(tool, "y\n");
	assert_int_equal(tool_wait(tool), CONFLICT);
	assert_non_null(strstr(tool_err(tool), "meanwhile"));
	tool_free(tool);
	assert_status(LEASH_OK, leash_lock_release(theirs, &err));
	/* nor the same client with another hold, which has not hung either */
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	tool = TOOL_START_AT_TERMINAL(uri, "break", "job");
	tool_await_shown(tool, "[y/N] ");
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	tool_type(tool, "y\n");
	assert_int_equal(tool_wait(tool), CONFLICT);
	tool_free(tool);
	check_left_alone();
}

SENTENCE(a_yes_to_a_holder_that_has_let_go_meanwhile_is_no_failure)
{
	struct tool *tool = TOOL_START_AT_TERMINAL(uri, "break", "job");

	tool_await_shown(tool, "[y/N] ");
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	tool_type(tool, "y\n");
	assert_int_equal(tool_wait(tool), 0);
	assert_non_null(strstr(tool_err(tool), "nobody has lock 'job'"));
	tool_free(tool);
}

SENTENCE(without_a_terminal_it_does_nothing_and_names_the_option)
{
	assert_int_equal(TOOL(uri, "break", "job"), USAGE);
	assert_non_null(strstr(tool_complained(), "terminal"));
	assert_non_null(strstr(tool_complained(), "--force"));
	assert_int_equal(TOOL(uri, "break", "--json", "-q", "job"), USAGE);
	check_left_alone();
}

/* ---- not asked ---- */

SENTENCE(force_takes_it_away_without_a_question)
{
	assert_int_equal(TOOL(uri, "break", "--force", "job"), 0);
	assert_string_equal(tool_said(), "");
	assert_non_null(strstr(tool_complained(), "lock 'job' was taken from test_break, pid "));
	assert_string_equal(holder(), "");
	await_true(events.count[LEASH_EVENT_LOST] == 1); /* the holder learns of it at its next renewal */
	assert_false(leash_lock_held(lock));
	assert_status(LEASH_LOST, leash_lock_release(lock, &err));
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	assert_int_equal(TOOL(uri, "break", "-fq", "job"), 0);
	assert_string_equal(tool_complained(), "");
}

SENTENCE(at_a_terminal_force_asks_nothing_either)
{
	struct tool *tool = TOOL_START_AT_TERMINAL(uri, "break", "-f", "job");

	assert_int_equal(tool_wait(tool), 0);
	assert_string_equal(tool_shown(tool), "");
	assert_string_equal(holder(), "");
	tool_free(tool);
}

SENTENCE(the_next_in_the_queue_gets_it_with_a_larger_fence)
{
	uint64_t fence = leash_lock_fence(lock);
	struct tool *waiter = TOOL_START(uri, "acquire", "--json", "job");
	const char *at;

	await_true(server_integer(server, "ZCOUNT leash:{job}:queue (0 +inf") == 1);
	assert_int_equal(TOOL(uri, "break", "-f", "job"), 0);
	assert_non_null(strstr(tool_complained(), "1 waiting"));
	assert_int_equal(tool_wait(waiter), 0);
	at = strstr(tool_out(waiter), "\"fence\":\"");
	assert_non_null(at);
	assert_true(strtoull(at + 9, NULL, 10) > fence);
	tool_free(waiter);
}

SENTENCE(what_leash_acquire_has_left_behind_can_be_broken)
{
	char token[LEASH_TOKEN_MAX];

	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	assert_int_equal(TOOL(uri, "acquire", "--ttl", "1d", "job"), 0);
	snprintf(token, sizeof token, "%s", holder());
	assert_int_equal(TOOL(uri, "break", "-f", "job"), 0);
	assert_non_null(strstr(tool_complained(), "taken from test_break["));
	assert_int_equal(TOOL(uri, "renew", "job", token), 79);
	assert_string_equal(holder(), "");
}

SENTENCE(a_lock_that_nobody_has_is_no_failure)
{
	struct tool *tool;

	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	assert_int_equal(TOOL(uri, "break", "-f", "job"), 0);
	assert_string_equal(tool_said(), "");
	assert_non_null(strstr(tool_complained(), "nobody has lock 'job'"));
	assert_int_equal(TOOL(uri, "break", "-f", "--json", "-q", "job"), 0);
	assert_non_null(strstr(tool_said(), "\"held\":false"));
	assert_non_null(strstr(tool_said(), "\"broken\":false"));
	tool = TOOL_START_AT_TERMINAL(uri, "break", "job");
	assert_int_equal(tool_wait(tool), 0); /* and is not asked about */
	assert_string_equal(tool_shown(tool), "");
	tool_free(tool);
}

SENTENCE(programs_read_from_whom_it_was_taken_as_json)
{
	char token[LEASH_TOKEN_MAX];

	leash_lock_token(lock, token, sizeof token);
	assert_int_equal(TOOL(uri, "break", "-f", "-q", "--json", "job"), 0);
	assert_non_null(strstr(tool_said(), "\"broken\":true"));
	assert_non_null(strstr(tool_said(), token));
	assert_non_null(strstr(tool_said(), "\"program\":\"test_break\""));
	assert_string_equal(tool_complained(), "");
}

/* ---- what it does not do ---- */

SENTENCE(what_is_no_lock_is_left_alone)
{
	freeReplyObject(server_command(server, "SET leash:{thing} mine"));
	assert_int_equal(TOOL(uri, "break", "-f", "thing"), NO_SERVER);
	assert_string_equal(server_text(server, "GET leash:{thing}"), "mine");
	assert_int_equal(TOOL(uri, "break", "-f", ""), USAGE);
	check_left_alone();
}

SENTENCE(the_terminal_is_shown_no_bytes_that_it_would_obey)
{
	leash_lock *evil = leashed_lock(other, "\033[2J\r\377evil", NULL);
	struct tool *tool;

	assert_status(LEASH_OK, leash_lock_acquire(evil, 0, &err));
	tool = TOOL_START_AT_TERMINAL(uri, "break", "\033[2J\r\377evil");
	tool_await_shown(tool, "[y/N] ");
	assert_non_null(strstr(tool_shown(tool), "'\\x1b[2J\\x0d\\xffevil'"));
	assert_null(strchr(tool_shown(tool), '\033'));
	tool_type(tool, "n\n");
	assert_int_equal(tool_wait(tool), CONFLICT);
	assert_null(strchr(tool_err(tool), '\033'));
	tool_free(tool);
	assert_status(LEASH_OK, leash_lock_release(evil, &err));
	leash_lock_free(evil);
}

SENTENCE(without_a_server_nothing_is_asked)
{
	struct tool *tool;
	char nowhere[300];

	snprintf(nowhere, sizeof nowhere, "%s.not", uri);
	tool = TOOL_START_AT_TERMINAL(nowhere, "break", "job");
	assert_int_equal(tool_wait(tool), NO_SERVER);
	assert_string_equal(tool_shown(tool), "");
	tool_free(tool);
}
