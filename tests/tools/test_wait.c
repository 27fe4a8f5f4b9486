/* leash wait: until nobody has a lock, without standing in anybody's way. */
#include "tests/support/leashed.h"
#include "tests/support/monitor.h"
#include "tests/support/one_server.h"
#include "tests/support/test.h"
#include "tests/support/tool.h"

#include <leash.h>

#include <signal.h>

enum { USAGE = 64, NO_SERVER = 69, CONFLICT = 75, LOCKS = 3 };

static leash_client *client;
static leash_lock *lock[LOCKS]; /* "job0"..., of that client */
static leash_error err;

static void
set_up(void)
{
	char name[8];

	freeReplyObject(server_command(server, "FLUSHALL"));
	client = leashed_open(uri, NULL);
	for (int i = 0; i < LOCKS; i++) {
		snprintf(name, sizeof name, "job%d", i);
		lock[i] = leashed_lock(client, name, NULL);
	}
}

static void
tear_down(void)
{
	if (server_pid(server) == 0)
		server_restart(server);
	server_resume(server);
	leash_close(client);
	for (int i = 0; i < LOCKS; i++)
		leash_lock_free(lock[i]);
}

FIXTURE(set_up, tear_down);
GROUP(start_server, stop_server);

static void
hold(int i)
{
	assert_status(LEASH_OK, leash_lock_acquire(lock[i], 30000, &err));
}

static void
let_go(int i)
{
	assert_status(LEASH_OK, leash_lock_release(lock[i], &err));
}

SENTENCE(free_locks_are_not_waited_for)
{
	assert_int_equal(TOOL(uri, "wait", "job0"), 0);
	assert_string_equal(tool_said(), "");
	assert_string_equal(tool_complained(), "");
	assert_int_equal(TOOL(uri, "wait", "-n", "job0", "job1", "job2", "job0"), 0);
	assert_int_equal(TOOL(uri, "wait", "-w", "0", "job0"), 0);
	assert_string_equal(server_text(server, "KEYS leash:{*"), ""); /* and nothing was made */
}

SENTENCE(it_ends_when_the_holder_has_let_go_and_not_before)
{
	struct tool *tool;

	hold(0);
	tool = TOOL_START(uri, "wait", "-v", "job0");
	tool_await_err(tool, "lock 'job0' is held by test_wait, pid ");
	assert_false(tool_has_ended(tool));
	assert_int_equal(server_integer(server, "EXISTS leash:{job0}:queue"), 0); /* it takes no part in the queue */
	assert_true(leash_lock_held(lock[0]));
	let_go(0);
	assert_int_equal(tool_wait(tool), 0);
	assert_string_equal(server_text(server, "KEYS leash:{job0}"), ""); /* nor the lock */
	tool_free(tool);
}

SENTENCE(it_ends_when_the_lease_of_a_dead_holder_has)
{
	int64_t from_ns = await_now_ns();

	assert_int_equal(TOOL(uri, "acquire", "job0", "--ttl", "900ms"), 0);
	assert_int_equal(TOOL(uri, "wait", "job0"), 0);
	assert_true(await_now_ns() - from_ns >= 900 * INT64_C(1000000));
	assert_int_equal(server_integer(server, "EXISTS leash:{job0}"), 0);
}

SENTENCE(of_several_it_waits_for_all)
{
	struct tool *tool;

	hold(0);
	hold(2);
	tool = TOOL_START(uri, "wait", "-v", "job0", "job1", "job2");
	tool_await_err(tool, "lock 'job0' is held by");
	let_go(0);
	tool_await_err(tool, "lock 'job2' is held by");
	hold(0); /* again: what was free before counts no more */
	let_go(2);
	await_ms(600); /* for what should not come */
	assert_false(tool_has_ended(tool));
	let_go(0);
	assert_int_equal(tool_wait(tool), 0);
	tool_free(tool);
}

SENTENCE(when_the_time_is_over_it_says_who_has_it)
{
	int64_t from_ns = await_now_ns();

	hold(1);
	assert_int_equal(TOOL(uri, "wait", "-w", "400ms", "job0", "job1"), CONFLICT);
	assert_true(await_now_ns() - from_ns >= 400 * INT64_C(1000000));
	assert_non_null(strstr(tool_complained(), "lock 'job1' is held by test_wait, pid "));
	assert_int_equal(TOOL(uri, "wait", "-n", "job1"), CONFLICT);
	assert_int_equal(TOOL(uri, "wait", "-q", "--wait=0", "job1"), CONFLICT);
	assert_string_equal(tool_complained(), "");
	assert_true(leash_lock_held(lock[1]));
	let_go(1);
}

SENTENCE(programs_read_the_state_of_the_locks_as_json)
{
	assert_int_equal(TOOL(uri, "wait", "--json", "job0", "job1"), 0);
	assert_non_null(strstr(tool_said(), "{\"name\":\"job0\",\"held\":false,"));
	assert_non_null(strstr(tool_said(), "\n{\"name\":\"job1\",\"held\":false,"));
	hold(1);
	assert_int_equal(TOOL(uri, "wait", "-n", "--json", "job0", "job1"), CONFLICT);
	assert_memory_equal(tool_said(), "{\"name\":\"job1\",\"held\":true,", 27);
	assert_non_null(strstr(tool_said(), "\"program\":\"test_wait\""));
	let_go(1);
}

SENTENCE(signals_end_it)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

	hold(0);
	for (int i = 0; i < 3; i++) {
		struct tool *tool = TOOL_START(uri, "wait", "-v", "job0");

		tool_await_err(tool, "is held");
		tool_signal(tool, signals[i]);
		assert_int_equal(tool_wait(tool), 128 + signals[i]);
		tool_free(tool);
	}
	let_go(0);
}

/* At most one look in 20 ms, and soon at most four in a second. */
SENTENCE(it_looks_seldom)
{
	struct monitor *monitor = monitor_start(server);
	int64_t from_ns = await_now_ns();
	size_t looks;

	hold(0);
	monitor_mark(monitor);
	assert_int_equal(TOOL(uri, "wait", "-w", "2s", "job0"), CONFLICT);
	looks = monitor_count(monitor, "evalsha") + monitor_count(monitor, "eval\"");
	assert_true(looks >= 1);
	assert_true((int64_t)looks <= 10 + (await_now_ns() - from_ns) / INT64_C(250000000));
	monitor_stop(monitor);
	let_go(0);
}

/* ---- a server that is away ---- */

SENTENCE(a_server_that_goes_away_is_asked_on)
{
	struct tool *tool;

	hold(0);
	tool = TOOL_START(uri, "wait", "-v", "job0");
	tool_await_err(tool, "is held");
	server_kill(server);
	tool_await_err(tool, "retrying");
	server_restart(server); /* which has forgotten all */
	assert_int_equal(tool_wait(tool), 0);
	tool_free(tool);
	leash_lock_release(lock[0], NULL);
}

SENTENCE(a_server_that_stays_away_is_given_up_when_the_time_is_over)
{
	struct tool *tool;

	hold(0);
	tool = TOOL_START(uri, "wait", "-v", "-w", "2s", "job0");
	tool_await_err(tool, "is held");
	server_pause(server);
	assert_int_equal(tool_wait(tool), NO_SERVER);
	tool_free(tool);
	server_resume(server);
	leash_lock_release(lock[0], NULL);
}

SENTENCE(what_is_no_lock_is_an_error_and_not_free)
{
	freeReplyObject(server_command(server, "SET leash:{job0} mine"));
	assert_int_equal(TOOL(uri, "wait", "job0"), NO_SERVER);
	assert_non_null(strstr(tool_complained(), "job0"));
	assert_int_equal(TOOL(uri, "wait", ""), USAGE);
}
