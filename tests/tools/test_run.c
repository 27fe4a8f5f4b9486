/* leash run as its users know it: exit statuses, waiting, environment, times, and what it refuses. */
#include "tests/support/quorum.h"
#include "tests/support/test.h"
#include "tests/support/tool.h"
#include "tests/tools/taken.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

static bool
complained_of(const char *text)
{
	return strstr(tool_complained(), text) != NULL;
}

GROUP(start_with_taken, stop_with_taken);

/* ---- the table ---- */

SENTENCE(the_exit_status_is_that_of_the_command)
{
	assert_int_equal(TOOL(uri, "run", "job", "--", "true"), 0);
	assert_int_equal(TOOL(uri, "run", "job", "--", "sh", "-c", "exit 7"), 7);
	assert_int_equal(TOOL(uri, "run", "job", "sh", "-c", "exit 255"), 255);
	assert_int_equal(TOOL(uri, "run", "job", "-c", "exit 8"), 8);
	assert_string_equal(tool_complained(), "");
	assert_true(is_free("job"));
}

SENTENCE(a_command_that_died_of_signal_N_gives_128_and_N)
{
	assert_int_equal(TOOL(uri, "run", "job", "-c", "kill -SEGV $$"), 128 + SIGSEGV);
	assert_int_equal(TOOL(uri, "run", "job", "-c", "kill -KILL $$"), 128 + SIGKILL);
	assert_int_equal(TOOL(uri, "run", "job", "-c", "kill -INT $$"), 128 + SIGINT);
	assert_true(is_free("job"));
}

SENTENCE(a_command_that_is_not_there_gives_127)
{
	assert_int_equal(TOOL(uri, "run", "job", "--", "/not/there"), 127);
	assert_true(complained_of("'/not/there'") && complained_of("no such command"));
	assert_int_equal(TOOL(uri, "run", "job", "--", "a-command-that-nobody-has"), 127);
	assert_true(is_free("job"));
}

SENTENCE(a_command_that_cannot_be_run_gives_126)
{
	char path[] = "/tmp/leash-run-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(TOOL(uri, "run", "job", "--", path), 126);
	assert_true(complained_of("ermission"));
	assert_int_equal(TOOL(uri, "run", "job", "--", "/"), 126);
	assert_int_equal(write(fd, "#!/not/there\n", 13), 13);
	assert_int_equal(fchmod(fd, 0700), 0);
	close(fd);
	assert_int_equal(TOOL(uri, "run", "job", "--", path), 127);
	assert_true(complained_of("interpreter"));
	unlink(path);
	assert_true(is_free("job"));
}

SENTENCE(a_lock_that_is_not_to_be_had_gives_75_or_what_was_asked_for)
{
	assert_int_equal(TOOL(uri, "run", "-n", "taken", "--", "echo", "run"), 75);
	assert_true(complained_of("lock 'taken' is held by ") && complained_of(", pid "));
	assert_int_equal(TOOL(uri, "run", "-n", "-E", "9", "taken", "--", "echo", "run"), 9);
	assert_int_equal(TOOL(uri, "run", "-w", "0", "taken", "--", "echo", "run"), 75);
	assert_int_equal(TOOL(uri, "run", "-w", "1s", "--conflict-exit-code=0", "taken", "--", "echo", "run"), 0);
	assert_int_equal(TOOL(uri, "run", "-q", "-n", "taken", "--", "echo", "run"), 75);
	assert_string_equal(tool_complained(), "");
	assert_int_equal(TOOL(uri, "run", "-n", "--skip-ok", "taken", "--", "echo", "run"), 0);
	assert_string_equal(tool_complained(), "");
	assert_string_equal(tool_said(), "");
}

SENTENCE(a_server_that_is_not_there_gives_69)
{
	assert_int_equal(TOOL("unix:///not/there", "run", "-w", "100ms", "job", "--", "echo", "run"), 69);
	assert_true(complained_of("/not/there"));
	assert_int_equal(TOOL("unix:///not/there", "run", "-n", "--skip-ok", "job", "--", "echo", "run"), 69);
	assert_string_equal(tool_said(), "");
}

SENTENCE(a_mistake_in_the_command_line_gives_64)
{
	static const char *const lines[][8] = {
		{"run", NULL},
		{"run", "job", NULL},
		{"run", "job", "--", NULL},
		{"run", "job", "-c", NULL},
		{"run", "job", "-c", "true", "more", NULL},
		{"run", "job", "-n", "true", NULL},
		{"run", "", "true", NULL},
		{"run", "--what", "job", "true", NULL},
		{"run", "-w", "soon", "job", "true", NULL},
		{"run", "-w", NULL},
		{"run", "-E", "256", "job", "true", NULL},
		{"run", "-E", "-1", "job", "true", NULL},
		{"run", "-E", "9x", "job", "true", NULL},
		{"run", "--lost-exit-code", "", "job", "true", NULL},
		{"run", "--on-lost", "perhaps", "job", "true", NULL},
		{"run", "--on-lost", "0", "job", "true", NULL},
		{"run", "--on-lost", "100", "job", "true", NULL},
		{"run", "--ttl", "999ms", "job", "true", NULL},
		{"run", "--ttl", "2d", "job", "true", NULL},
		{"run", "--max-run", "x", "job", "true", NULL},
	};

	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		if (tool_run(uri, lines[i]) != 64)
			fail_msg("line %zu: not refused", i);
		assert_true(complained_of("see leash run --help"));
		assert_string_equal(tool_said(), "");
	}
	/* nobody is asked for it */
	assert_int_equal(TOOL("unix:///not/there", "run", "--ttl", "0", "job", "true"), 64);
}

SENTENCE(a_command_that_runs_for_too_long_gives_124)
{
	assert_int_equal(TOOL(uri, "run", "--max-run", "200ms", "job", "-c", "trap 'echo told; exit 0' TERM; while :; do sleep 0.02; done"), 124);
	assert_string_equal(tool_said(), "told\n");
	assert_int_equal(TOOL(uri, "run", "--max-run", "200ms", "-k", "100ms", "job", "-c", "trap '' TERM; while :; do sleep 0.02; done"), 124);
	assert_int_equal(TOOL(uri, "run", "--max-run", "60s", "job", "-c", "exit 4"), 4);
	assert_int_equal(TOOL(uri, "run", "--max-run", "0", "job", "-c", "exit 4"), 4);
	assert_true(is_free("job"));
}

/* The lock is taken from a command that ends on TERM. */
static int
lose(const char *ttl, const char *grace, const char *exit_code, bool is_told)
{
	struct tool *tool = TOOL_START(uri, "run", "--ttl", ttl, "-k", grace, "--lost-exit-code", exit_code, "broken", "-c",
	                               "trap 'echo told; exit 0' TERM; echo ready; while :; do sleep 0.02; done");
	int status;

	tool_await_out(tool, "ready");
	freeReplyObject(server_command(server, "DEL leash:{broken}"));
	status = tool_wait(tool);
	if (is_told)
		assert_non_null(strstr(tool_out(tool), "told"));
	assert_non_null(strstr(tool_err(tool), "lock 'broken' was lost"));
	tool_free(tool);
	return status;
}

SENTENCE(a_lock_that_is_lost_gives_79_or_what_was_asked_for)
{
	assert_int_equal(lose("30s", "15s", "79", true), 79); /* a grace that no machine is too slow for */
	assert_int_equal(lose("1s", "100ms", "33", false), 33);
}

SENTENCE(a_lock_that_is_lost_in_the_last_moment_gives_79)
{
	struct tool *tool = TOOL_START(uri, "run", "broken", "-c", "echo ready; kill -STOP $$; exit 3");

	tool_await_out(tool, "ready");
	freeReplyObject(server_command(server, "DEL leash:{broken}"));
	while (kill(tool_pid(tool), 0) == 0 && strstr(tool_err(tool), "lock") == NULL) {
		tool_signal(tool, SIGCONT); /* it is passed on */
		await_ms(5);
	}
	assert_int_equal(tool_wait(tool), 79);
	tool_free(tool);
}

/* ---- the grace and the lease ---- */

SENTENCE(a_grace_that_does_not_fit_into_the_lease_is_refused_with_the_numbers)
{
	assert_int_equal(TOOL(uri, "run", "--ttl", "5s", "-k", "5s", "job", "true"), 64);
	assert_true(complained_of("--kill-after 5.0 s") && complained_of("lease of 5.0 s") && complained_of("--ttl 10s at least"));
	assert_int_equal(TOOL(uri, "run", "--ttl", "10s", "-k", "5s", "job", "true"), 0);
	assert_int_equal(TOOL(uri, "run", "--ttl", "30s", "-k", "20s", "job", "true"), 64);
	assert_int_equal(TOOL(uri, "run", "-k", "1d", "job", "true"), 64);
	assert_false(complained_of("or --ttl")); /* none is enough */
	/* it was not asked for, or does not matter */
	assert_int_equal(TOOL(uri, "run", "--ttl", "1s", "job", "true"), 0);
	assert_int_equal(TOOL(uri, "run", "--ttl", "5s", "-k", "5s", "--on-lost", "keep", "job", "true"), 0);
	assert_int_equal(TOOL(uri, "run", "--ttl", "5s", "-k", "5s", "--on-lost", "KILL", "job", "true"), 0);
}

SENTENCE(one_who_was_given_the_lock_starts_with_a_whole_lease)
{
	struct tool *first = TOOL_START(uri, "run", "long", "-c", "echo ready; sleep 0.3"), *second;

	tool_await_out(first, "ready");
	/* a waiter gets a claim of 3 s at first; TERM would be due at once */
	second = TOOL_START(uri, "run", "-k", "10s", "long", "-c", "sleep 0.2; exit 5");
	assert_int_equal(tool_wait(second), 5);
	assert_string_equal(tool_err(second), "");
	tool_free(first);
	tool_free(second);
}

/* ---- cron ---- */

SENTENCE(of_five_that_start_at_once_exactly_one_runs)
{
	struct tool *tools[5];
	int ran = 0;

	for (int i = 0; i < 5; i++)
		tools[i] = TOOL_START(uri, "run", "-n", "--skip-ok", "--ttl", "10m", "--at-least", "5s", "nightly", "--", "echo", "ran");
	for (int i = 0; i < 5; i++) {
		assert_int_equal(tool_wait(tools[i]), 0);
		assert_string_equal(tool_err(tools[i]), "");
		ran += strcmp(tool_out(tools[i]), "ran\n") == 0;
		tool_free(tools[i]);
	}
	assert_int_equal(ran, 1);
	assert_true(is_free("nightly"));
}

SENTENCE(a_short_job_keeps_its_lock_for_as_long_as_was_asked)
{
	int64_t began = await_now_ns();

	assert_int_equal(TOOL(uri, "run", "--at-least", "500ms", "job", "-c", "exit 6"), 6);
	assert_true(await_now_ns() - began >= INT64_C(500000000));
	assert_true(is_free("job"));
	/* a signal ends that, and a command that could not run keeps nothing */
	assert_int_equal(TOOL(uri, "run", "--at-least", "1h", "job", "--", "/not/there"), 127);
	for (int i = 0; i < 2; i++) {
		struct tool *tool = TOOL_START(uri, "run", "--at-least", "1h", "job", "-c", i == 0 ? "echo ready; exit 6" : "echo ready; exec sleep 60");

		tool_await_out(tool, "ready");
		tool_signal(tool, SIGTERM);
		if (i == 0)
			assert_true(tool_wait(tool) == 6 || tool_wait(tool) == 128 + SIGTERM); /* it may have come before its end */
		else
			assert_int_equal(tool_wait(tool), 128 + SIGTERM);
		tool_free(tool);
	}
	assert_true(is_free("job"));
}

SENTENCE(a_lock_that_is_lost_after_the_end_of_the_command_changes_nothing)
{
	struct tool *tool = TOOL_START(uri, "run", "--ttl", "1s", "--at-least", "2s", "job", "-c", "echo pid $$.; exit 6");
	char path[40];

	tool_await_out(tool, ".");
	snprintf(path, sizeof path, "/proc/%d", atoi(tool_out(tool) + 4));
	await_true(access(path, F_OK) != 0); /* reaped */
	tool_signal(tool, SIGSTOP); /* past its lease, and past the time to stay */
	await_ms(3000);
	tool_signal(tool, SIGCONT);
	assert_int_equal(tool_wait(tool), 6);
	assert_non_null(strstr(tool_err(tool), "was lost")); /* else nothing was shown by this */
	tool_free(tool);
}

/* ---- environment ---- */

static const char *
value(const char *text, const char *name)
{
	static char found[8][600];
	static int next;
	char *out = found[next = (next + 1) % 8];
	size_t size = strlen(name);

	out[0] = '\0';
	for (const char *at = text; (at = strstr(at, name)) != NULL; at += size)
		if ((at == text || at[-1] == '\n') && at[size] == '=') {
			snprintf(out, 600, "%.*s", (int)strcspn(at + size + 1, "\n"), at + size + 1);
			break;
		}
	return out;
}

SENTENCE(the_command_finds_its_lock_in_the_environment)
{
	const char *token, *env;
	char held[200];

	assert_int_equal(TOOL(uri, "run", "a name", "-c", "env"), 0);
	assert_string_equal(value(tool_said(), "LEASH_NAME"), "a name");
	assert_true(strtoull(value(tool_said(), "LEASH_FENCE"), NULL, 10) > 1000000);
	token = value(tool_said(), "LEASH_TOKEN");
	assert_true(strlen(token) > 36 && strchr(token, ':') != NULL);
	assert_string_equal(value(tool_said(), "LEASH_HELD"), token);
	assert_string_equal(value(tool_said(), "LEASH_PREFIX"), "");
	tool_setenv("LEASH_HELD", "x:1");
	assert_int_equal(TOOL(NULL, "run", "-r", uri, "--prefix", "other", "a", "--", "env"), 0);
	tool_setenv("LEASH_HELD", NULL);
	env = tool_said();
	assert_string_equal(value(env, "LEASH_URI"), uri);
	assert_string_equal(value(env, "LEASH_PREFIX"), "other");
	snprintf(held, sizeof held, "x:1 %s", value(env, "LEASH_TOKEN"));
	assert_string_equal(value(env, "LEASH_HELD"), held);
}

SENTENCE(the_fence_and_the_token_are_those_of_the_server)
{
	struct tool *tool = TOOL_START(uri, "run", "seen", "-c", "echo $LEASH_TOKEN $LEASH_FENCE.; exec sleep 60");
	leash_lock *lock = leashed_lock(client, "seen", NULL);
	leash_lock_info info = {.size = sizeof info};
	char line[200];

	tool_await_out(tool, ".\n");
	assert_status(LEASH_OK, leash_lock_inspect(lock, &info, &err));
	snprintf(line, sizeof line, "%s %llu.\n", info.holder.token, (unsigned long long)info.fence);
	assert_string_equal(tool_out(tool), line);
	leash_lock_free(lock);
	tool_free(tool);
}

/* ---- runs inside of runs ---- */

SENTENCE(a_run_inside_of_a_run_of_the_same_lock_enters_again)
{
	const char *leash = tool_path();
	const char *outer, *inner;

	assert_int_equal(TOOL(uri, "run", "a", "--", leash, "run", "a", "--", "sh", "-c", "exit 4"), 4);
	assert_int_equal(TOOL(uri, "run", "-n", "a", "--", leash, "run", "-n", "b", "--", leash, "run", "-n", "a", "--", "env"), 0);
	assert_string_equal(value(tool_said(), "LEASH_NAME"), "a");
	inner = value(tool_said(), "LEASH_TOKEN");
	outer = value(tool_said(), "LEASH_HELD");
	assert_memory_equal(inner, outer, strlen(inner)); /* the first of two */
	assert_non_null(strchr(outer, ' '));
	assert_true(is_free("a") && is_free("b"));
}

SENTENCE(an_inner_run_leaves_the_lock_to_the_outer_one)
{
	struct tool *tool = TOOL_START(uri, "run", "outer", "--", "sh", "-c", "\"$0\" run outer -- true; echo inner; exec sleep 60", tool_path());

	tool_await_out(tool, "inner");
	assert_false(is_free("outer"));
	tool_free(tool);
}

SENTENCE(the_values_of_an_inner_lock_win)
{
	assert_int_equal(TOOL(uri, "run", "a", "--", tool_path(), "run", "b", "--", "env"), 0);
	assert_string_equal(value(tool_said(), "LEASH_NAME"), "b");
	assert_non_null(strstr(value(tool_said(), "LEASH_HELD"), value(tool_said(), "LEASH_TOKEN")));
}

SENTENCE(a_token_that_is_not_the_holders_does_not_let_in)
{
	tool_setenv("LEASH_HELD", "8d3b1f6e-0000-4000-8000-000000000000:1");
	assert_int_equal(TOOL(uri, "run", "-n", "taken", "--", "true"), 75);
	assert_int_equal(TOOL(uri, "run", "-n", "job", "--", "true"), 0);
	tool_setenv("LEASH_HELD", NULL);
}

/* ---- speaking ---- */

/* It is being renewed all the same. */
SENTENCE(a_hold_by_just_a_majority_is_said_to_be_in_danger)
{
	struct quorum *quorum = quorum_start(&(struct quorum_options){.count = 3});
	const char *three = quorum_uri_guarded(quorum, 3000);
	struct tool *tool;

	quorum_await_uptime(quorum, 3000);
	server_kill(quorum_server(quorum, 2));
	tool = TOOL_START(three, "run", "--ttl=3s", "job", "sleep", "600");
	tool_await_err(tool, "lock 'job' is in danger: just a majority of the servers has it");
	tool_signal(tool, SIGTERM);
	tool_wait(tool);
	tool_free(tool);
	quorum_stop(quorum);
}

SENTENCE(verbose_says_how_long_it_took_and_who_has_it)
{
	struct tool *first = TOOL_START(uri, "run", "slow", "-c", "echo ready; exec sleep 60"), *second;

	tool_await_out(first, "ready");
	second = TOOL_START(uri, "run", "-v", "slow", "--", "echo", "mine");
	tool_await_err(second, "lock 'slow' is held by ");
	assert_non_null(strstr(tool_err(second), ", pid "));
	tool_signal(first, SIGTERM);
	assert_int_equal(tool_wait(first), 128 + SIGTERM);
	assert_int_equal(tool_wait(second), 0);
	assert_string_equal(tool_out(second), "mine\n");
	assert_non_null(strstr(tool_err(second), "acquired after"));
	assert_non_null(strstr(tool_err(second), "released after"));
	tool_free(first);
	tool_free(second);
}

SENTENCE(what_is_said_is_one_object_a_line_with_json)
{
	assert_int_equal(TOOL(uri, "run", "--json", "-n", "taken", "--", "true"), 75);
	assert_int_equal(strncmp(tool_complained(), "{\"command\":\"run\"", 16), 0);
	assert_int_equal(TOOL(uri, "run", "--json", "job", "--", "/not/there"), 127);
	assert_true(complained_of("\"level\":\"error\""));
	assert_int_equal(TOOL(uri, "run", "--json", "job", "--", "echo", "plain"), 0);
	assert_string_equal(tool_said(), "plain\n");
}

/* Also with -q: it is what is wrong. */
SENTENCE(a_lost_lock_is_an_error_that_programs_can_read)
{
	for (int quiet = 0; quiet < 2; quiet++) {
		struct tool *tool = TOOL_START(uri, "run", "--json", quiet ? "--quiet" : "--json", "lost\377", "-c", "echo $LEASH_FENCE.; sleep 1000");
		char fields[200];
		const char *fence;

		tool_await_out(tool, ".");
		fence = tool_out(tool);
		snprintf(fields, sizeof fields, "\"lock\":null,\"lock_base64\":\"bG9zdP8=\",\"event\":\"LOST\",\"fence\":\"%.*s\",\"remaining_ms\":0,\"time\":\"20",
		         (int)strcspn(fence, "."), fence);
		assert_int_equal(TOOL(uri, "break", "-f", "lost\377"), 0);
		tool_await_err(tool, fields);
		assert_non_null(strstr(tool_err(tool), "\"level\":\"error\",\"text\":\"lock 'lost\\\\xff' was lost"));
		assert_null(strstr(tool_err(tool), "\"level\":\"info\""));
		assert_int_equal(tool_wait(tool), 79);
		tool_free(tool);
	}
}

SENTENCE(a_lock_in_danger_is_a_warning)
{
	struct tool *tool = TOOL_START(uri, "run", "--json", "--ttl", "10s", "job", "-c", "echo ready; sleep 1000");
	const char *event;

	tool_await_out(tool, "ready");
	server_pause(server);
	tool_await_err(tool, "\"event\":\"");
	server_resume(server);
	event = strstr(tool_err(tool), "\"event\":\"");
	if (strncmp(event, "\"event\":\"LOST\"", 14) != 0) { /* as it is if we stood still for a lease */
		assert_int_equal(strncmp(event, "\"event\":\"JEOPARDY\"", 18), 0);
		assert_non_null(strstr(tool_err(tool), "\"level\":\"warning\",\"text\":\"lock 'job' is in danger"));
	}
	tool_signal(tool, SIGTERM);
	tool_wait(tool);
	tool_free(tool);
}

SENTENCE(others_see_the_command_as_the_holder)
{
	struct tool *tool = TOOL_START(uri, "run", "shown", "--", "/bin/sh", "-c", "echo ready; exec sleep 60");
	char holder[100];

	tool_await_out(tool, "ready");
	assert_int_equal(TOOL(uri, "run", "-n", "shown", "--", "true"), 75);
	snprintf(holder, sizeof holder, "'shown' is held by sh run by leash, pid %d on ", (int)tool_pid(tool)); /* whose pid that is */
	assert_true(complained_of(holder));
	tool_signal(tool, SIGTERM); /* to all of them */
	tool_wait(tool);
	tool_free(tool);
	tool = TOOL_START(uri, "run", "string", "-c", "/bin/sleep 60");
	await_true(!is_free("string"));
	assert_non_null(strstr(server_text(server, "CLIENT LIST"), "leash:sleep(leash) "));
	tool_signal(tool, SIGTERM); /* to all of them */
	tool_wait(tool);
	tool_free(tool);
	tool = TOOL_START(uri, "run", "secret", "-c", "SECRET=x /bin/sleep 60");
	await_true(!is_free("secret"));
	assert_null(strstr(server_text(server, "CLIENT LIST"), "SECRET"));
	tool_signal(tool, SIGTERM);
	tool_wait(tool);
	tool_free(tool);
}
