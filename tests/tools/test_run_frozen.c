/* leash run when the server stands still for longer than the lease: whoever ran under the lock is dead before its key could have expired.
 *
 *   LEASH_TEST_FREEZES  how often that is tried with each job (default 3) */
#include "tests/support/asleep.h"
#include "tests/support/knob.h"
#include "tests/support/one_server.h"
#include "tests/support/test.h"
#include "tests/support/tool.h"

enum { TTL_MS = 3000, STALL_MS = 20, PROCESSES = 4 };

static void
thaw(void)
{
	server_resume(server);
	freeReplyObject(server_command(server, "FLUSHALL"));
}

FIXTURE(NULL, thaw);
GROUP(start_server, stop_server);

#define ON "while :; do sleep 0.02; done"
#define POLITE "trap 'echo told; exit 0' TERM; echo pid $$.; " ON

/* Each process of a job says "pid N." first. */
static const struct job {
	const char *name, *script;
	int processes;
	bool obeys;
	const char *how[2]; /* it is ended */
} jobs[] = {
	{"a_job_that_obeys_is_told_and_dead_before_the_key_expires", POLITE, 1, true, {"-k", "600ms"}},
	{"with_kill_nobody_is_told_and_all_are_dead_before_the_key_expires", POLITE, 1, false, {"--on-lost", "kill"}},
	{"a_job_that_ignores_TERM_is_dead_before_the_key_expires", "trap '' TERM; echo pid $$.; " ON, 1, false, {"-k", "600ms"}},
	{"children_in_other_sessions_are_dead_before_the_key_expires",
	 "trap '' TERM; setsid sh -c 'echo pid $$.; " ON "' & (setsid sh -c 'echo pid $$.; " ON "' &); echo pid $$.; " ON, 3,
	 false, {"-k", "600ms"}},
	{"a_child_that_outlives_its_job_is_dead_before_the_key_expires",
	 "trap 'exit 0' TERM; setsid sh -c \"trap '' TERM; echo pid \\$\\$.; " ON "\" & echo pid $$.; " ON, 2,
	 false, {"-k", "600ms"}},
	{"a_job_with_a_permit_is_dead_before_the_key_expires", "trap '' TERM; echo pid $$.; " ON, 1, false,
	 {"-k600ms", "--slots=1"}},
};

/* The processes of a job that have said so, so far; how many. */
static int
said_pids(struct tool *tool, pid_t pids[PROCESSES])
{
	int n = 0;
	char end;

	for (const char *at = tool_out(tool); n < PROCESSES && (at = strstr(at, "pid ")) != NULL; at++)
		n += sscanf(at, "pid %d%c", &pids[n], &end) == 2;
	return n;
}

/* When the last of them died, at the latest. In `*late_ns`, how late the machine was meanwhile: so late may be whoever
 * kills, and whoever dies. */
static int64_t
await_deaths(const pid_t *pids, int count, int64_t *late_ns)
{
	lag_begin();
	for (int i = 0; i < count; i++)
		await_true(strchr("ZX", state_of(pids[i])) != NULL);
	int64_t last = await_now_ns();
	*late_ns = lag_end();
	return last;
}

/* So late may be each of five that have to run one after the other until the last process is dead, and there are little
 * more than 100 ms for that: it was no freeze of the server alone. */
static bool
stood_still(int64_t late_ns)
{
	if (late_ns < STALL_MS * MS)
		return false;
	print_message("# the machine was late: %lld ms for what was timed\n", (long long)(late_ns / MS));
	return true;
}

/* Stop the server right after a renewal, so that there is none on its way. When, at the earliest, the key expires.
 * 0: the machine was so slow that the next renewal may have come in between, or the lease have run out. */
static int64_t
freeze(struct tool *tool, const char *name)
{
	int64_t before = server_integer(server, "PTTL leash:{%s}", name), asked_ns, left;

	for (;;) {
		asked_ns = await_now_ns();
		left = server_integer(server, "PTTL leash:{%s}", name);
		if (left > before)
			break;
		if (tool_has_ended(tool))
			return 0;
		before = left;
		await_ms(1);
	}
	server_pause(server);
	if (await_now_ns() - asked_ns < TTL_MS / 6 * MS)
		return asked_ns + left * MS;
	server_resume(server);
	server_integer(server, "DEL leash:{%s}", name);
	return 0;
}

/* Start a run whose job says so many pids, and freeze the server under it. */
static struct tool *
run_and_freeze(const char *const words[], int processes, pid_t pids[PROCESSES], int64_t *expires_ns)
{
	struct tool *tool = tool_start(server_uri(server), words, false);

	await_true(said_pids(tool, pids) == processes || tool_has_ended(tool));
	*expires_ns = tool_has_ended(tool) ? 0 : freeze(tool, "frozen");
	if (*expires_ns != 0)
		return tool;
	print_message("# the machine was too slow to freeze the server in time\n");
	tool_wait(tool);
	tool_free(tool);
	return run_and_freeze(words, processes, pids, expires_ns);
}

/* How much of the lease was left when the last process was dead. */
static int64_t
dies_before_expiry_by(const struct job *job)
{
	const char *const words[] = {
		"run", "--ttl", "3s", job->how[0], job->how[1], "frozen", "--", "sh", "-c", job->script, NULL,
	};
	pid_t pids[PROCESSES];
	int64_t expires_ns, late_ns;
	struct tool *tool = run_and_freeze(words, job->processes, pids, &expires_ns);

	int64_t left = expires_ns - await_deaths(pids, job->processes, &late_ns);
	assert_int_equal(tool_wait(tool), 79);
	bool told = strstr(tool_out(tool), "told") != NULL;
	if (told != job->obeys) /* why it was so is known to leash alone */
		print_message("# dead %lld ms before: %s", (long long)(left / MS), tool_err(tool));
	const char *said = strstr(tool_err(tool), "'frozen'");
	assert_non_null(said);
	assert_true(strstr(said, " cannot be renewed, and its lease ends in ") || strstr(said, " was lost"));
	tool_free(tool);
	server_resume(server);
	await_true(server_integer(server, "EXISTS leash:{frozen}") == 0);
	if ((left <= 0 || told != job->obeys) && stood_still(late_ns))
		return dies_before_expiry_by(job);
	assert_int_equal(told, job->obeys);
	return left;
}

SENTENCES(is_dead_before_the_key_expires, jobs)
{
	long times = knob("LEASH_TEST_FREEZES", 3);

	for (long i = 0; i < times; i++) {
		int64_t left = dies_before_expiry_by(given);

		print_message("# dead %lld ms before its key expires\n", (long long)(left / MS));
		assert_true(left > 0);
	}
}
