/* The tools of the tests do what they say, or no other test would prove anything: servers, children, the monitor, the ends of values. */
#include "tests/unit/tools.h"

#include "tests/support/child.h"
#include "tests/support/fake.h"
#include "tests/support/frame.h"
#include "tests/support/monitor.h"
#include "tests/support/proxy.h"
#include "tests/support/socket.h"
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
		return '\0';
	n = fread(line, 1, sizeof line - 1, file);
	fclose(file);
	line[n] = '\0';
	return strrchr(line, ')')[2];
}

/* Neither running nor about to be. (Whoever adopts a dead process may take a while to reap it.) */
static bool
gone(pid_t pid)
{
	char state = state_of(pid);

	return state == '\0' || state == 'Z' || state == 'X';
}

/* ---- child, stage, await ---- */

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

static bool
aborted(int status)
{
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static int
wait_for_a_child_that_fails(void *arg)
{
	(void)arg;
	hush();
	child_wait(child_run(return_five, NULL));
	return 0;
}

SENTENCE(a_failure_in_a_child_ends_the_child)
{
	assert_true(aborted(child_end(child_run(assert_what_is_false, NULL))));
	assert_true(aborted(child_end(child_run(await_what_never_comes, NULL))));
	assert_int_equal(WEXITSTATUS(child_end(child_run(return_five, NULL))), 5);
}

SENTENCE(waiting_for_a_child_demands_that_it_succeeded)
{
	assert_true(aborted(child_end(child_run(wait_for_a_child_that_fails, NULL))));
}

static int
go_through_the_stages(void *arg)
{
	struct stage *stages = arg;

	stage_raise(&stages[0]);
	stage_await(&stages[1], 1);
	stage_raise(&stages[0]);
	return 0;
}

SENTENCE(stages_are_shared_by_processes)
{
	struct stage *stages = child_share(2 * sizeof *stages);
	pid_t first = child_run(go_through_the_stages, stages);
	pid_t second = child_run(go_through_the_stages, stages);

	stage_await(&stages[0], 2);
	assert_int_equal(stage_now(&stages[0]), 2);
	stage_set(&stages[1], 3);
	stage_set(&stages[1], 1);   /* never back */
	assert_int_equal(stage_now(&stages[1]), 3);
	child_wait(first);
	child_wait(second);
	assert_int_equal(stage_now(&stages[0]), 4);
	child_unshare(stages, 2 * sizeof *stages);
}

SENTENCE(a_paused_child_stands_still)
{
	pid_t pid = child_run(sleep_for_ever, NULL);

	child_pause(pid);
	assert_int_equal(state_of(pid), 'T');
	child_resume(pid);
	assert_int_not_equal(state_of(pid), 'T');
	child_kill(pid);
	assert_int_equal(kill(pid, 0), -1);
}

/* ---- server ---- */

SENTENCE(a_server_answers_by_socket_and_by_port)
{
	struct server *s = server_start_tcp(NULL);
	char target[64];
	redisContext *c;

	assert_string_equal(server_text(s, "SET %s %d", "key", 7), "OK");
	snprintf(target, sizeof target, "127.0.0.1:%d", server_port(s));
	c = dial(target);
	assert_true(says(c, "7", "GET key"));
	redisFree(c);
	c = dial(server_socket(s));
	assert_true(says(c, "7", "GET key"));
	redisFree(c);
	assert_int_equal(server_integer(s, "INCR key"), 8);
	assert_null(server_text(s, "GET other"));
	assert_string_equal(server_text(s, "MGET key key"), "8 8");
	server_stop(s);
}

SENTENCE(a_restarted_server_is_empty_and_at_the_same_address)
{
	struct server *s = server_start_tcp(NULL);
	pid_t pid = server_pid(s);
	int port = server_port(s);

	assert_string_equal(server_text(s, "SET key 1"), "OK");
	server_restart(s);
	assert_int_not_equal(server_pid(s), pid);
	assert_int_equal(server_port(s), port);
	assert_int_equal(server_integer(s, "DBSIZE"), 0);
	server_stop(s);
}

SENTENCE(a_server_keeps_its_data_if_its_arguments_say_so)
{
	struct server *s = server_start((const char *const[]){ "--appendonly", "yes", "--appendfsync", "always", NULL });

	assert_string_equal(server_text(s, "SET key 1"), "OK");
	server_kill(s);
	server_restart(s);
	assert_int_equal(server_integer(s, "DBSIZE"), 1);
	server_stop(s);
}

SENTENCE(a_killed_server_takes_no_connections)
{
	struct server *s = server_start(NULL);
	pid_t pid = server_pid(s);

	server_kill(s);
	assert_int_equal(kill(pid, 0), -1);
	assert_int_equal(socket_dial(server_socket(s)), -1);
	server_kill(s);
	server_stop(s);
}

SENTENCE(a_paused_server_stands_still_until_it_is_resumed)
{
	struct server *s = server_start(NULL);
	int fd = dial_raw(server_socket(s));

	for (int i = 0; i < 3; i++) {
		server_pause(s);
		assert_int_equal(state_of(server_pid(s)), 'T');
		say(fd, "PING\r\n");
		assert_true(silent_for(fd, 5));
		server_pause(s);
		server_resume(s);
		assert_int_not_equal(state_of(server_pid(s)), 'T');
		hear(fd, "+PONG\r\n");
		server_resume(s);
	}
	server_pause(s);
	close(fd);
	server_stop(s);
}

SENTENCE(a_server_with_a_password_is_asked_with_it)
{
	struct server *s = server_start((const char *const[]){ "--requirepass", "open sesame", NULL });
	redisContext *c = dial(server_socket(s));

	assert_false(says(c, "PONG", "PING"));
	redisFree(c);
	assert_string_equal(server_text(s, "PING"), "PONG");
	server_restart(s);
	assert_string_equal(server_text(s, "PING"), "PONG");
	server_stop(s);
}

static void *
start_one(void *arg)
{
	*(struct server **)arg = server_start(NULL);
	return NULL;
}

SENTENCE(a_server_outlives_the_thread_that_started_it)
{
	struct server *s = NULL;
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, start_one, &s), 0);
	pthread_join(thread, NULL);
	await_ms(20);   /* a signal at the death of its thread would have come by now */
	assert_string_equal(server_text(s, "PING"), "PONG");
	server_stop(s);
}

/* What a process leaves behind, told to its parent. */
struct estate {
	struct stage stage;
	pid_t server, child;
	char folder[128];
};

static int
build_up_and_wait(void *arg)
{
	struct estate *e = arg;
	struct server *s;
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, start_one, &s), 0);   /* no signal at the death of that */
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
	await_true(gone(e->server));
	await_true(gone(e->child));
	await_true(access(e->folder, F_OK) != 0);
	child_unshare(e, sizeof *e);
}

static int
build_up_and_exit(void *arg)
{
	struct estate *e = arg;
	struct server *s = server_start(NULL);
	struct proxy *p = proxy_start(server_socket(s));

	e->server = server_pid(s);
	snprintf(e->folder, sizeof e->folder, "%s", server_folder(s));
	assert_non_null(monitor_start(s));
	assert_non_null(fake_start(NULL, NULL));
	redisFree(dial(proxy_target(p)));
	exit(3);   /* as a program does whose test failed */
}

SENTENCE(an_exiting_process_leaves_nothing_behind)
{
	struct estate *e = child_share(sizeof *e);
	struct server *ours = server_start(NULL);
	int status = child_end(child_run(build_up_and_exit, e));

	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 3);
	assert_true(gone(e->server));
	assert_int_not_equal(access(e->folder, F_OK), 0);
	assert_string_equal(server_text(ours, "PING"), "PONG");   /* its parent's are none of its business */
	server_stop(ours);
	child_unshare(e, sizeof *e);
}

/* ---- monitor ---- */

SENTENCE(a_monitor_counts_what_clients_sent_since_the_mark)
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
	assert_int_equal(monitor_count(m, "early"), 0);
	last = monitor_last(m, "key");
	assert_non_null(strstr(last, "\"99\""));
	free(last);
	assert_null(monitor_last(m, "GET"));
	monitor_await(m, "key", 100);
	monitor_stop(m);
	server_stop(s);
}

SENTENCE(a_monitor_counts_what_scripts_call_apart)
{
	struct server *s = server_start(NULL);
	struct monitor *m = monitor_start(s);

	server_integer(s, "EVAL %s 0", "redis.call('INCR', 'n') return redis.call('INCR', 'n')");
	assert_int_equal(monitor_count(m, "EVAL"), 1);
	assert_int_equal(monitor_count(m, "\"INCR\""), 0);
	assert_int_equal(monitor_count_in_scripts(m, "\"INCR\""), 2);
	monitor_stop(m);
	server_stop(s);
}

/* ---- frame ---- */

SENTENCE(the_end_of_a_value_is_found_however_it_is_split)
{
	static const char *const values[] = {
		"+OK\r\n", "-ERR no\r\n", ":-12\r\n", "$5\r\na\r\nbc\r\n", "$-1\r\n", "$0\r\n\r\n", "*0\r\n", "*-1\r\n",
		"*2\r\n$1\r\na\r\n:1\r\n", "*2\r\n*2\r\n:1\r\n*0\r\n$2\r\n*9\r\n", "PING\r\n", "%1\r\n+a\r\n*1\r\n:1\r\n",
		">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\np\r\n", "|1\r\n+ttl\r\n:3\r\n+x\r\n", "_\r\n", "\r\n",
	};
	char all[512] = "";
	size_t ends[sizeof values / sizeof *values], n = 0;

	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		strcat(all, values[i]);
		ends[i] = strlen(all);
	}
	for (size_t step = 1; step <= strlen(all); step++) {
		struct frame frame = { 0 };
		size_t at = 0;
		bool whole;

		n = 0;
		while (at < strlen(all)) {
			size_t rest = strlen(all) - at;

			at += frame_feed(&frame, all + at, step < rest ? step : rest, &whole);
			if (whole)
				assert_int_equal(at, ends[n++]);
		}
		assert_int_equal(n, sizeof values / sizeof *values);
	}
}
