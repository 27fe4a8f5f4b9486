/* The tools of the tests: where one that did nothing would let a test pass. What would fail by itself is not tried here. */
#include "tests/unit/tools.h"

#include "tests/support/child.h"
#include "tests/support/fake.h"
#include "tests/support/frame.h"
#include "tests/support/judge.h"
#include "tests/support/monitor.h"
#include "tests/support/test.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static char
state_of(pid_t pid)
{
	char path[64], line[512];
	FILE *file;
	size_t n;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return 'X';
	n = fread(line, 1, sizeof line - 1, file);
	fclose(file);
	line[n] = '\0';
	return strrchr(line, ')')[2];
}

/* Neither running nor about to be. (Whoever adopts a dead process may take a while to reap it.) */
static bool
gone(pid_t pid)
{
	return strchr("ZX", state_of(pid)) != NULL;
}

/* ---- children ---- */

static void
hush(void)
{
	int null = open("/dev/null", O_WRONLY);
	struct rlimit none = { 0, 0 };

	dup2(null, STDERR_FILENO);
	close(null);
	setrlimit(RLIMIT_CORE, &none);
}

static int
assert_what_is_false(void *arg)
{
	(void)arg;
	hush();
	assert_int_equal(1, 2);
	return 0;
}

static int
await_what_never_comes(void *arg)
{
	(void)arg;
	hush();
	await_true_for(false, 0.01);
	return 0;
}

static int
return_five(void *arg)
{
	(void)arg;
	return 5;
}

static int
wait_for_a_child_that_fails(void *arg)
{
	(void)arg;
	hush();
	child_wait(child_run(return_five, NULL));
	return 0;
}

SENTENCE(a_failure_in_a_child_ends_the_child_and_waiting_for_it_demands_success)
{
	int (*const fails[])(void *) = {assert_what_is_false, await_what_never_comes, wait_for_a_child_that_fails};

	for (size_t i = 0; i < COUNT(fails); i++) {
		int status = child_end(child_run(fails[i], NULL));

		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	}
	assert_int_equal(WEXITSTATUS(child_end(child_run(return_five, NULL))), 5);
}

SENTENCE(what_is_paused_stands_still)
{
	pid_t pid = child_run(sleep_for_ever, NULL);
	struct server *s = server_start(NULL);
	int fd = dial_raw(server_socket(s));

	child_pause(pid);
	assert_int_equal(state_of(pid), 'T');
	child_resume(pid);
	assert_int_not_equal(state_of(pid), 'T');
	child_kill(pid);
	assert_int_equal(kill(pid, 0), -1);
	server_pause(s);
	assert_int_equal(state_of(server_pid(s)), 'T');
	say(fd, "PING\r\n");
	assert_true(silent_for(fd, 5));
	server_resume(s);
	hear(fd, "+PONG\r\n");
	close(fd);
	server_stop(s);
}

/* What a process leaves behind, told to its parent. */
struct estate {
	struct stage stage;
	pid_t server, child;
	char folder[128];
};

static void *
start_one(void *arg)
{
	*(struct server **)arg = server_start(NULL);
	return NULL;
}

static int
build_up_and_wait(void *arg)
{
	struct estate *e = arg;
	struct server *s;
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, start_one, &s), 0); /* no signal at the death of that */
	pthread_join(thread, NULL);
	server_pause(s);
	e->server = server_pid(s);
	e->child = child_run(sleep_for_ever, NULL);
	snprintf(e->folder, sizeof e->folder, "%s", server_folder(s));
	stage_set(&e->stage, 1);
	return sleep_for_ever(NULL);
}

SENTENCE(a_killed_process_leaves_nothing_behind)
{
	struct estate *e = child_share(sizeof *e);
	pid_t pid = child_run(build_up_and_wait, e);

	stage_await(&e->stage, 1);
	assert_int_equal(access(e->folder, F_OK), 0);
	child_kill(pid);
	await_true(gone(e->server) && gone(e->child) && access(e->folder, F_OK) != 0);
	child_unshare(e, sizeof *e);
}

/* ---- what is counted ---- */

SENTENCE(a_monitor_counts_what_clients_sent_since_the_mark_and_what_scripts_call_apart)
{
	struct server *s = server_start(NULL);
	struct monitor *m = monitor_start(s);
	char *last;

	server_text(s, "SET early 1");
	assert_int_equal(monitor_count(m, "early"), 1);
	monitor_mark(m);
	assert_int_equal(monitor_count(m, NULL), 0);
	for (int i = 0; i < 100; i++)
		server_text(s, "SET key %d", i);
	assert_int_equal(monitor_count(m, "\"set\""), 100);
	assert_int_equal(monitor_count(m, NULL), 100);
	last = monitor_last(m, "key");
	assert_non_null(strstr(last, "\"99\""));
	free(last);
	assert_null(monitor_last(m, "GET"));
	server_integer(s, "EVAL %s 0", "redis.call('INCR', 'n') return redis.call('INCR', 'n')");
	assert_int_equal(monitor_count(m, "EVAL"), 1);
	assert_int_equal(monitor_count(m, "\"INCR\""), 0);
	assert_int_equal(monitor_count_in_scripts(m, "\"INCR\""), 2);
	monitor_stop(m);
	server_stop(s);
}

SENTENCE(a_fake_counts_what_it_hears_and_who_is_there)
{
	struct fake *f = fake_start(NULL, NULL);
	redisContext *c = dial(fake_target(f));
	char *command;

	assert_true(says(c, "OK", "AUTH somebody secret"));
	assert_true(says(c, "PONG", "PING"));
	assert_int_equal(fake_count(f, NULL), 2);
	assert_int_equal(fake_count(f, "auth"), 1);
	assert_int_equal(fake_count(f, "AUT"), 0);
	command = fake_command(f, 1);
	assert_string_equal(command, "PING");
	free(command);
	assert_null(fake_command(f, 2));
	fake_forget(f);
	assert_int_equal(fake_count(f, NULL), 0);
	assert_int_equal(fake_open(f), 1);
	redisFree(c);
	await_true(fake_open(f) == 0);
	assert_int_equal(fake_accepted(f), 1);
	fake_stop(f);
}

SENTENCE(the_end_of_a_value_is_found_however_it_is_split)
{
	static const char *const values[] = {
		"+OK\r\n", "-ERR no\r\n", ":-12\r\n", "$5\r\na\r\nbc\r\n", "$-1\r\n", "$0\r\n\r\n", "*0\r\n", "*-1\r\n",
		"*2\r\n$1\r\na\r\n:1\r\n", "*2\r\n*2\r\n:1\r\n*0\r\n$2\r\n*9\r\n", "PING\r\n", "%1\r\n+a\r\n*1\r\n:1\r\n",
		">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\np\r\n", "|1\r\n+ttl\r\n:3\r\n+x\r\n", "_\r\n", "\r\n",
	};
	char all[512] = "";
	size_t ends[COUNT(values)], n = 0;

	for (size_t i = 0; i < COUNT(values); i++) {
		strcat(all, values[i]);
		ends[i] = strlen(all);
	}
	for (size_t step = 1; step <= strlen(all); step++, n = 0) {
		struct frame frame = { 0 };
		bool whole;

		for (size_t at = 0, rest; (rest = strlen(all) - at) > 0;) {
			at += frame_feed(&frame, all + at, step < rest ? step : rest, &whole);
			if (whole)
				assert_int_equal(at, ends[n++]);
		}
		assert_int_equal(n, COUNT(values));
	}
}

/* ---- the judge ---- */

struct court {
	struct judge *judge;
	struct stage *stage;
};

static int
enter_first(void *arg)
{
	struct court *c = arg;

	judge_enter(c->judge, 1, 1);
	stage_set(c->stage, 1);
	stage_await(c->stage, 2);
	judge_leave(c->judge, 1);
	return 0;
}

static int
enter_before_the_first_has_left(void *arg)
{
	struct court *c = arg;

	stage_await(c->stage, 1);
	judge_enter(c->judge, 1, 2);
	stage_set(c->stage, 2);
	judge_leave(c->judge, 1);
	return 0;
}

SENTENCE(the_judge_reports_an_overlap_of_two_processes)
{
	struct court c = { judge_new(2), child_share(sizeof(struct stage)) };
	pid_t first = child_run(enter_first, &c), second = child_run(enter_before_the_first_has_left, &c);

	child_wait(first);
	child_wait(second);
	assert_int_equal(judge_entries(c.judge), 2);
	assert_int_equal(judge_violations(c.judge), 1);
	judge_enter(c.judge, 1, 3); /* it was the last to leave that left: nobody is inside */
	judge_enter(c.judge, 0, 1); /* another lock */
	assert_int_equal(judge_violations(c.judge), 1);
	judge_free(c.judge);
	child_unshare(c.stage, sizeof(struct stage));
}

SENTENCE(the_judge_reports_a_fence_that_does_not_grow)
{
	static const uint64_t fences[] = {5, 6, 7, 7, 3};
	static const size_t violations[] = {0, 0, 0, 1, 2};
	struct judge *j = judge_new(1);

	for (size_t i = 0; i < COUNT(fences); i++) {
		judge_enter(j, 0, fences[i]);
		judge_leave(j, 0);
		assert_int_equal(judge_violations(j), violations[i]);
	}
	judge_free(j);
}
