/* The tools of the tests do what they say: or no other test would prove anything. */
#include "tests/support/await.h"
#include "tests/support/child.h"
#include "tests/support/fake.h"
#include "tests/support/frame.h"
#include "tests/support/judge.h"
#include "tests/support/leashed.h"
#include "tests/support/monitor.h"
#include "tests/support/proxy.h"
#include "tests/support/server.h"
#include "tests/support/socket.h"
#include "tests/support/sweep.h"
#include "tests/support/witness.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* --- help --- */

/* A connection to a proxy, a fake or a server, by its target. */
static redisContext *
dial(const char *target)
{
	const char *colon = strchr(target, ':');
	redisContext *c = target[0] == '/' ? redisConnectUnix(target) : redisConnect("127.0.0.1", atoi(colon + 1));

	assert_non_null(c);
	assert_int_equal(c->err, 0);
	redisSetTimeout(c, (struct timeval){ .tv_sec = (time_t)(30 * await_slowness()) });
	return c;
}

/* Is the answer to a command this status or string? */
static bool
says(redisContext *c, const char *expected, const char *command)
{
	redisReply *reply = redisCommand(c, command);
	bool yes = reply && reply->str && strcmp(reply->str, expected) == 0;

	if (reply)
		freeReplyObject(reply);
	return yes;
}

/* A socket to be read and written as it is. */
static int
dial_raw(const char *target)
{
	int fd = socket_dial(target);

	assert_true(fd >= 0);
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
	return fd;
}

static void
say(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

/* All that comes until the connection ends; how many bytes those are. */
static size_t
hear_all(int fd, char *out, size_t size)
{
	size_t n = 0;
	ssize_t got;

	while ((got = recv(fd, out + n, size - n - 1, 0)) > 0)
		n += (size_t)got;
	out[n] = '\0';
	return n;
}

/* Exactly so many bytes. */
static void
hear(int fd, const char *expected)
{
	char text[256];
	size_t n = 0, size = strlen(expected);

	while (n < size) {
		ssize_t got = recv(fd, text + n, size - n, 0);

		assert_true(got > 0);
		n += (size_t)got;
	}
	assert_memory_equal(text, expected, size);
}

static bool
silent_for(int fd, int ms)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

	return poll(&poll_fd, 1, ms) == 0;
}

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

/* --- server --- */

static void
a_server_answers_by_socket_and_by_port(void **state)
{
	struct server *s = server_start_tcp(NULL);
	char target[64];
	redisContext *c;

	(void)state;
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

static void
a_restarted_server_is_empty_and_at_the_same_address(void **state)
{
	struct server *s = server_start_tcp(NULL);
	pid_t pid = server_pid(s);
	int port = server_port(s);

	(void)state;
	assert_string_equal(server_text(s, "SET key 1"), "OK");
	server_restart(s);
	assert_int_not_equal(server_pid(s), pid);
	assert_int_equal(server_port(s), port);
	assert_int_equal(server_integer(s, "DBSIZE"), 0);
	server_stop(s);
}

static void
a_server_keeps_its_data_if_its_arguments_say_so(void **state)
{
	struct server *s = server_start((const char *const[]){ "--appendonly", "yes", "--appendfsync", "always", NULL });

	(void)state;
	assert_string_equal(server_text(s, "SET key 1"), "OK");
	server_kill(s);
	server_restart(s);
	assert_int_equal(server_integer(s, "DBSIZE"), 1);
	server_stop(s);
}

static void
a_killed_server_takes_no_connections(void **state)
{
	struct server *s = server_start(NULL);
	pid_t pid = server_pid(s);

	(void)state;
	server_kill(s);
	assert_int_equal(kill(pid, 0), -1);
	assert_int_equal(socket_dial(server_socket(s)), -1);
	server_kill(s);
	server_stop(s);
}

static void
a_paused_server_stands_still_until_it_is_resumed(void **state)
{
	struct server *s = server_start(NULL);
	int fd = dial_raw(server_socket(s));

	(void)state;
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

static void
a_server_with_a_password_is_asked_with_it(void **state)
{
	struct server *s = server_start((const char *const[]){ "--requirepass", "open sesame", NULL });
	redisContext *c = dial(server_socket(s));

	(void)state;
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

static void
a_server_outlives_the_thread_that_started_it(void **state)
{
	struct server *s = NULL;
	pthread_t thread;

	(void)state;
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
sleep_for_ever(void *arg)
{
	(void)arg;
	for (;;)
		pause();
	return 0;
}

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

static void
a_killed_process_leaves_nothing_behind(void **state)
{
	struct estate *e = child_share(sizeof *e);
	pid_t pid = child_run(build_up_and_wait, e);

	(void)state;
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

static void
an_exiting_process_leaves_nothing_behind(void **state)
{
	struct estate *e = child_share(sizeof *e);
	struct server *ours = server_start(NULL);
	int status = child_end(child_run(build_up_and_exit, e));

	(void)state;
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 3);
	assert_true(gone(e->server));
	assert_int_not_equal(access(e->folder, F_OK), 0);
	assert_string_equal(server_text(ours, "PING"), "PONG");   /* its parent's are none of its business */
	server_stop(ours);
	child_unshare(e, sizeof *e);
}

/* --- child, stage, await --- */

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

static void
a_failure_in_a_child_ends_the_child(void **state)
{
	(void)state;
	assert_true(aborted(child_end(child_run(assert_what_is_false, NULL))));
	assert_true(aborted(child_end(child_run(await_what_never_comes, NULL))));
	assert_int_equal(WEXITSTATUS(child_end(child_run(return_five, NULL))), 5);
}

static int
wait_for_a_child_that_fails(void *arg)
{
	(void)arg;
	hush();
	child_wait(child_run(return_five, NULL));
	return 0;
}

static void
waiting_for_a_child_demands_that_it_succeeded(void **state)
{
	(void)state;
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

static void
stages_are_shared_by_processes(void **state)
{
	struct stage *stages = child_share(2 * sizeof *stages);
	pid_t first = child_run(go_through_the_stages, stages);
	pid_t second = child_run(go_through_the_stages, stages);

	(void)state;
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

static void
a_paused_child_stands_still(void **state)
{
	pid_t pid = child_run(sleep_for_ever, NULL);

	(void)state;
	child_pause(pid);
	assert_int_equal(state_of(pid), 'T');
	child_resume(pid);
	assert_int_not_equal(state_of(pid), 'T');
	child_kill(pid);
	assert_int_equal(kill(pid, 0), -1);
}

/* --- monitor --- */

static void
a_monitor_counts_what_clients_sent_since_the_mark(void **state)
{
	struct server *s = server_start(NULL);
	struct monitor *m = monitor_start(s);
	char *last;

	(void)state;
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

static void
a_monitor_counts_what_scripts_call_apart(void **state)
{
	struct server *s = server_start(NULL);
	struct monitor *m = monitor_start(s);

	(void)state;
	server_integer(s, "EVAL %s 0", "redis.call('INCR', 'n') return redis.call('INCR', 'n')");
	assert_int_equal(monitor_count(m, "EVAL"), 1);
	assert_int_equal(monitor_count(m, "\"INCR\""), 0);
	assert_int_equal(monitor_count_in_scripts(m, "\"INCR\""), 2);
	monitor_stop(m);
	server_stop(s);
}

/* --- frame --- */

static void
the_end_of_a_value_is_found_however_it_is_split(void **state)
{
	static const char *const values[] = {
		"+OK\r\n", "-ERR no\r\n", ":-12\r\n", "$5\r\na\r\nbc\r\n", "$-1\r\n", "$0\r\n\r\n", "*0\r\n", "*-1\r\n",
		"*2\r\n$1\r\na\r\n:1\r\n", "*2\r\n*2\r\n:1\r\n*0\r\n$2\r\n*9\r\n", "PING\r\n", "%1\r\n+a\r\n*1\r\n:1\r\n",
		">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\np\r\n", "|1\r\n+ttl\r\n:3\r\n+x\r\n", "_\r\n", "\r\n",
	};
	char all[512] = "";
	size_t ends[sizeof values / sizeof *values], n = 0;

	(void)state;
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

/* --- proxy --- */

/* Fixture of the tests with a proxy before a real server. */
struct way_station {
	struct server *server;
	struct proxy *proxy;
};

static struct way_station
way_station(bool tcp)
{
	struct way_station w;

	w.server = server_start(NULL);
	w.proxy = tcp ? proxy_start_tcp(server_socket(w.server)) : proxy_start(server_socket(w.server));
	return w;
}

static void
tear_down(struct way_station w)
{
	proxy_stop(w.proxy);
	server_stop(w.server);
}

static void
a_proxy_passes_everything(void **state)
{
	static char big[300001];

	(void)state;
	for (int tcp = 0; tcp < 2; tcp++) {
		struct way_station w = way_station(tcp);
		redisContext *c = dial(proxy_target(w.proxy));
		redisReply *reply;

		memset(big, 'x', sizeof big - 1);
		reply = redisCommand(c, "SET big %s", big);
		assert_non_null(reply);
		freeReplyObject(reply);
		assert_true(says(c, big, "GET big"));
		assert_int_equal(proxy_accepted(w.proxy), 1);
		assert_int_equal(proxy_requests(w.proxy), 2);
		assert_int_equal(proxy_bytes(w.proxy, PROXY_TO_CLIENT), strlen("+OK\r\n$300000\r\n\r\n") + 300000);
		assert_true(proxy_bytes(w.proxy, PROXY_BOTH) > 600000);
		redisFree(c);
		await_true(proxy_open(w.proxy) == 0);
		tear_down(w);
	}
}

static int64_t
shortest_trip_us(redisContext *c, int times)
{
	int64_t shortest = INT64_MAX;

	for (int i = 0; i < times; i++) {
		int64_t start = await_now_ns(), took;

		assert_true(says(c, "PONG", "PING"));
		took = (await_now_ns() - start) / 1000;
		shortest = took < shortest ? took : shortest;
	}
	return shortest;
}

static void
a_proxy_delays_each_way_by_what_was_asked(void **state)
{
	struct way_station w = way_station(false);
	redisContext *c = dial(proxy_target(w.proxy));
	int64_t delayed;

	(void)state;
	proxy_delay(w.proxy, PROXY_BOTH, 250);
	assert_true(shortest_trip_us(c, 20) >= 500);
	proxy_delay(w.proxy, PROXY_TO_CLIENT, 5000);
	assert_true(shortest_trip_us(c, 5) >= 5250);
	proxy_delay(w.proxy, PROXY_TO_SERVER, 3000);
	delayed = shortest_trip_us(c, 5);
	assert_true(delayed >= 8000);
	proxy_delay(w.proxy, PROXY_BOTH, 0);
	assert_true(shortest_trip_us(c, 20) < delayed);
	redisFree(c);
	tear_down(w);
}

/* So many commands in one go, and all their answers. */
static int64_t
time_at_once(redisContext *c, int commands)
{
	int64_t start = await_now_ns();
	redisReply *reply;

	for (int i = 0; i < commands; i++)
		redisAppendCommand(c, "ECHO %d", i);
	for (int i = 0; i < commands; i++) {
		assert_int_equal(redisGetReply(c, (void **)&reply), REDIS_OK);
		assert_int_equal(atoi(reply->str), i);
		freeReplyObject(reply);
	}
	return await_now_ns() - start;
}

static int64_t
time_one_by_one(redisContext *c, int commands)
{
	int64_t start = await_now_ns();

	for (int i = 0; i < commands; i++)
		assert_true(says(c, "PONG", "PING"));
	return await_now_ns() - start;
}

static void
a_delay_does_not_cost_throughput(void **state)
{
	struct way_station w = way_station(false);
	redisContext *c = dial(proxy_target(w.proxy));
	int64_t shortest = INT64_MAX;

	(void)state;
	proxy_delay(w.proxy, PROXY_BOTH, 10000);
	for (int i = 0; i < 3; i++) {
		int64_t took = time_at_once(c, 30);

		assert_true(took >= 20000000);
		shortest = took < shortest ? took : shortest;
	}
	assert_true(shortest * 2 < time_one_by_one(c, 30));
	redisFree(c);
	tear_down(w);
}

static void
a_holding_proxy_delivers_nothing_until_it_is_released(void **state)
{
	struct way_station w = way_station(false);
	int fd = dial_raw(proxy_target(w.proxy));

	(void)state;
	for (enum proxy_way way = PROXY_TO_SERVER; way <= PROXY_BOTH; way++) {
		proxy_hold(w.proxy, way);
		say(fd, "INCR key\r\n");
		assert_true(silent_for(fd, 20));
		if (way == PROXY_TO_CLIENT)
			await_true(server_text(w.server, "GET key")[0] == '2');
		proxy_release(w.proxy);
		hear(fd, way == PROXY_TO_SERVER ? ":1\r\n" : way == PROXY_TO_CLIENT ? ":2\r\n" : ":3\r\n");
	}
	close(fd);
	tear_down(w);
}

static void
a_client_that_left_is_no_reason_to_lose_its_commands(void **state)
{
	struct way_station w = way_station(true);
	int fd = dial_raw(proxy_target(w.proxy));

	(void)state;
	proxy_hold(w.proxy, PROXY_TO_SERVER);
	say(fd, "INCR key\r\nINCR key\r\n");
	close(fd);
	assert_null(server_text(w.server, "GET key"));
	proxy_release(w.proxy);
	await_true(server_text(w.server, "GET key") && server_text(w.server, "GET key")[0] == '2');
	await_true(proxy_open(w.proxy) == 0);
	tear_down(w);
}

static void
an_answer_that_finds_its_client_gone_stops_no_command(void **state)
{
	struct way_station w = way_station(false);
	int fd = dial_raw(proxy_target(w.proxy));

	(void)state;
	proxy_hold(w.proxy, PROXY_TO_CLIENT);
	say(fd, "PING\r\n");
	await_true(proxy_bytes(w.proxy, PROXY_TO_CLIENT) == strlen("+PONG\r\n"));
	proxy_drip(w.proxy, PROXY_TO_SERVER, 5000);
	say(fd, "INCR key\r\n");
	close(fd);
	proxy_release(w.proxy);   /* the answer fails at once, while the command is on its way */
	await_true(proxy_open(w.proxy) == 0);
	assert_string_equal(server_text(w.server, "GET key"), "1");
	tear_down(w);
}

static void
a_cut_request_never_reaches_the_server(void **state)
{
	struct way_station w = way_station(false);
	redisContext *c = dial(proxy_target(w.proxy));

	(void)state;
	proxy_cut_request(w.proxy, "key:2");
	assert_true(says(c, "OK", "SET key:1 x"));
	assert_false(proxy_hit(w.proxy));
	assert_false(says(c, "OK", "SET key:2 x"));
	proxy_wait_hit(w.proxy);
	redisFree(c);
	assert_int_equal(server_integer(w.server, "EXISTS key:1"), 1);
	assert_int_equal(server_integer(w.server, "EXISTS key:2"), 0);

	c = dial(proxy_target(w.proxy));   /* once is enough */
	assert_true(says(c, "OK", "SET key:2 x"));
	redisFree(c);
	tear_down(w);
}

static void
a_cut_reply_is_of_a_request_that_was_executed(void **state)
{
	struct way_station w = way_station(false);
	redisContext *c = dial(proxy_target(w.proxy));

	(void)state;
	proxy_cut_reply(w.proxy, "INCR", 0);
	assert_true(says(c, "PONG", "PING"));
	assert_null(redisCommand(c, "INCR key"));
	proxy_wait_hit(w.proxy);
	redisFree(c);
	assert_string_equal(server_text(w.server, "GET key"), "1");
	tear_down(w);
}

static void
a_reply_is_cut_at_the_byte_among_other_replies(void **state)
{
	static const char before[] = "+PONG\r\n$4\r\npast\r\n", answer[] = "$6\r\nanswer\r\n";
	struct way_station w = way_station(false);
	char heard[256];

	(void)state;
	for (size_t n = 0; n <= strlen(answer); n++) {
		int fd = dial_raw(proxy_target(w.proxy));

		proxy_skip(w.proxy, 1);
		proxy_cut_reply(w.proxy, "echo", n);
		say(fd, "PING\r\nECHO past\r\nECHO answer\r\nECHO future\r\n");
		assert_int_equal(hear_all(fd, heard, sizeof heard), strlen(before) + n);
		assert_memory_equal(heard, before, strlen(before));
		assert_memory_equal(heard + strlen(before), answer, n);
		proxy_wait_hit(w.proxy);
		close(fd);
	}
	tear_down(w);
}

static void
a_cut_over_tcp_is_a_reset(void **state)
{
	struct way_station w = way_station(true);
	int fd = dial_raw(proxy_target(w.proxy));
	char byte;

	(void)state;
	proxy_cut_request(w.proxy, NULL);
	say(fd, "PING\r\n");
	assert_int_equal(recv(fd, &byte, 1, 0), -1);
	assert_int_equal(errno, ECONNRESET);
	close(fd);
	tear_down(w);
}

static void
a_disarmed_fault_does_not_happen(void **state)
{
	struct way_station w = way_station(false);
	redisContext *c = dial(proxy_target(w.proxy));

	(void)state;
	proxy_cut_request(w.proxy, "PING");
	proxy_disarm(w.proxy);
	assert_true(says(c, "PONG", "PING"));
	assert_false(proxy_hit(w.proxy));
	redisFree(c);
	tear_down(w);
}

static void
a_held_reply_comes_when_it_is_released(void **state)
{
	struct way_station w = way_station(false);
	int held = dial_raw(proxy_target(w.proxy)), other = dial_raw(proxy_target(w.proxy));

	(void)state;
	proxy_hold_reply(w.proxy, "INCR");
	say(held, "INCR key\r\n");
	proxy_wait_hit(w.proxy);
	say(other, "GET key\r\n");
	hear(other, "$1\r\n1\r\n");
	assert_true(silent_for(held, 5));
	proxy_release(w.proxy);
	hear(held, ":1\r\n");
	close(held);
	close(other);
	tear_down(w);
}

static void
all_connections_can_be_reset_and_refused(void **state)
{
	struct way_station w = way_station(true);
	int first = dial_raw(proxy_target(w.proxy)), second = dial_raw(proxy_target(w.proxy));
	char byte;

	(void)state;
	say(first, "PING\r\n");
	hear(first, "+PONG\r\n");
	say(second, "PING\r\n");
	hear(second, "+PONG\r\n");
	proxy_reset_all(w.proxy);
	assert_int_equal(proxy_open(w.proxy), 0);
	assert_true(recv(first, &byte, 1, 0) <= 0);
	assert_true(recv(second, &byte, 1, 0) <= 0);
	close(first);
	close(second);

	proxy_refuse(w.proxy, true);
	first = dial_raw(proxy_target(w.proxy));
	assert_true(recv(first, &byte, 1, 0) <= 0);
	close(first);
	proxy_refuse(w.proxy, false);
	first = dial_raw(proxy_target(w.proxy));
	say(first, "PING\r\n");
	hear(first, "+PONG\r\n");
	close(first);
	assert_int_equal(proxy_accepted(w.proxy), 4);
	tear_down(w);
}

static void
a_child_does_not_keep_a_connection_open(void **state)
{
	struct way_station w = way_station(true);
	int fd = dial_raw(proxy_target(w.proxy));
	pid_t child;
	char byte;

	(void)state;
	say(fd, "PING\r\n");
	hear(fd, "+PONG\r\n");
	child = child_run(sleep_for_ever, NULL);
	proxy_reset_all(w.proxy);
	assert_int_equal(recv(fd, &byte, 1, 0), -1);
	assert_int_equal(errno, ECONNRESET);
	child_kill(child);
	close(fd);
	tear_down(w);
}

static void
a_proxy_outlives_its_target(void **state)
{
	struct way_station w = way_station(false);
	int fd = dial_raw(proxy_target(w.proxy));
	char byte;

	(void)state;
	say(fd, "PING\r\n");
	hear(fd, "+PONG\r\n");
	server_kill(w.server);
	assert_true(recv(fd, &byte, 1, 0) <= 0);
	close(fd);
	fd = dial_raw(proxy_target(w.proxy));
	assert_true(recv(fd, &byte, 1, 0) <= 0);
	close(fd);
	server_restart(w.server);
	fd = dial_raw(proxy_target(w.proxy));
	say(fd, "PING\r\n");
	hear(fd, "+PONG\r\n");
	close(fd);
	tear_down(w);
}

static void
a_dripping_proxy_takes_its_time_for_each_byte(void **state)
{
	struct way_station w = way_station(false);
	redisContext *c = dial(proxy_target(w.proxy));
	int64_t dripped;

	(void)state;
	assert_true(says(c, "PONG", "PING"));
	proxy_drip(w.proxy, PROXY_TO_CLIENT, 2000);
	dripped = shortest_trip_us(c, 2);
	assert_true(dripped >= 6 * 2000);   /* "+PONG\r\n": six times from one byte to the next */
	proxy_drip(w.proxy, PROXY_BOTH, 0);
	assert_true(shortest_trip_us(c, 20) < dripped);
	redisFree(c);
	tear_down(w);
}

/* Messages that reach a subscriber through the proxy, of so many that are published. */
static int
messages_of(struct way_station w, int published)
{
	redisContext *c = dial(proxy_target(w.proxy));
	redisReply *reply = redisCommand(c, "SUBSCRIBE news");
	int count = -1;

	assert_non_null(reply);
	assert_string_equal(reply->element[0]->str, "subscribe");
	freeReplyObject(reply);
	for (int i = 0; i < published; i++)
		assert_int_equal(server_integer(w.server, "PUBLISH news %d", i), 1);
	redisAppendCommand(c, "UNSUBSCRIBE news");
	do {
		assert_int_equal(redisGetReply(c, (void **)&reply), REDIS_OK);
		count++;
		published = strcmp(reply->element[0]->str, "message") == 0;
		freeReplyObject(reply);
	} while (published);
	redisFree(c);
	return count;
}

static void
a_proxy_loses_as_many_messages_as_was_asked(void **state)
{
	struct way_station w = way_station(false);
	int some;

	(void)state;
	assert_int_equal(messages_of(w, 20), 20);
	proxy_drop_messages(w.proxy, 100);
	assert_int_equal(messages_of(w, 20), 0);
	assert_int_equal(proxy_dropped(w.proxy), 20);
	proxy_drop_messages(w.proxy, 50);
	some = messages_of(w, 200);
	assert_int_equal(proxy_dropped(w.proxy), 20 + 200 - some);
	assert_true(some > 50 && some < 150);
	proxy_drop_messages(w.proxy, 0);
	assert_int_equal(messages_of(w, 20), 20);
	tear_down(w);
}

static void
a_stranded_request_is_executed_when_its_client_is_long_gone(void **state)
{
	struct way_station w = way_station(false);
	redisContext *c = dial(proxy_target(w.proxy));

	(void)state;
	proxy_strand_request(w.proxy, "key:2");
	assert_true(says(c, "OK", "SET key:1 x"));
	assert_false(says(c, "OK", "SET key:2 x"));   /* the connection has ended */
	proxy_wait_hit(w.proxy);
	redisFree(c);
	c = dial(proxy_target(w.proxy));
	assert_true(says(c, "OK", "SET key:3 x"));
	assert_int_equal(server_integer(w.server, "EXISTS key:2"), 0);
	proxy_release(w.proxy);
	await_true(server_integer(w.server, "EXISTS key:2") == 1);
	redisFree(c);
	await_true(proxy_open(w.proxy) == 0);
	tear_down(w);
}

static void
held_messages_come_when_they_are_let_go_and_other_answers_before(void **state)
{
	struct way_station w = way_station(false);
	redisContext *subscriber = dial(proxy_target(w.proxy)), *c = dial(proxy_target(w.proxy));
	redisReply *reply = redisCommand(subscriber, "SUBSCRIBE news");

	(void)state;
	freeReplyObject(reply);
	proxy_hold_messages(w.proxy, true);
	assert_int_equal(server_integer(w.server, "PUBLISH news 1"), 1);
	assert_true(says(c, "PONG", "PING"));
	redisSetTimeout(subscriber, (struct timeval){ .tv_usec = 50000 });
	assert_int_equal(redisGetReply(subscriber, (void **)&reply), REDIS_ERR);
	assert_int_equal(proxy_dropped(w.proxy), 0);
	redisFree(subscriber);

	subscriber = dial(proxy_target(w.proxy));
	freeReplyObject(redisCommand(subscriber, "SUBSCRIBE news"));
	server_integer(w.server, "PUBLISH news 2");
	proxy_hold_messages(w.proxy, false);
	assert_int_equal(redisGetReply(subscriber, (void **)&reply), REDIS_OK);
	assert_string_equal(reply->element[2]->str, "2");
	freeReplyObject(reply);
	redisFree(subscriber);
	redisFree(c);
	tear_down(w);
}

static void
the_weather_drops_doubles_and_delays_as_many_as_was_asked(void **state)
{
	struct way_station w = way_station(false);
	int64_t begun;
	redisContext *c;

	(void)state;
	proxy_weather(w.proxy, &(struct proxy_weather){ .messages_dropped = 100, .seed = 1 });
	assert_int_equal(messages_of(w, 20), 0);
	assert_int_equal(proxy_dropped(w.proxy), 20);
	proxy_weather(w.proxy, &(struct proxy_weather){ .messages_doubled = 100, .seed = 1 });
	assert_int_equal(messages_of(w, 20), 40);
	assert_int_equal(proxy_doubled(w.proxy), 20);
	assert_int_equal(proxy_late(w.proxy), 0);
	proxy_weather(w.proxy, &(struct proxy_weather){ .late = 100, .late_us = 10000, .seed = 1 });
	c = dial(proxy_target(w.proxy));
	begun = await_now_ns();
	for (int i = 0; i < 20; i++)
		assert_true(says(c, "PONG", "PING"));
	/* 40 times something between 0 and 10 ms */
	assert_true(await_now_ns() - begun > 50000000);
	assert_int_equal(proxy_late(w.proxy), 40);
	proxy_weather(w.proxy, NULL);
	assert_true(says(c, "PONG", "PING"));
	assert_int_equal(proxy_late(w.proxy), 40);
	redisFree(c);
	tear_down(w);
}

static void
what_was_late_when_the_weather_ended_its_connection_is_executed(void **state)
{
	struct way_station w = way_station(false);
	int fd = dial_raw(proxy_target(w.proxy));
	char rest[64];

	(void)state;
	proxy_delay(w.proxy, PROXY_TO_SERVER, 100000);
	say(fd, "INCR key\r\n");
	await_true(proxy_requests(w.proxy) == 1);
	proxy_weather(w.proxy, &(struct proxy_weather){ .lost = 10000, .seed = 1 });
	say(fd, "INCR lost\r\nINCR lost\r\n");
	assert_int_equal(hear_all(fd, rest, sizeof rest), 0);
	assert_int_equal(proxy_lost(w.proxy), 1);
	close(fd);
	await_true(proxy_open(w.proxy) == 0);
	assert_string_equal(server_text(w.server, "GET key"), "1");
	assert_null(server_text(w.server, "GET lost"));
	tear_down(w);
}

/* --- fake --- */

static void
a_fake_greets_like_redis(void **state)
{
	struct fake *f = fake_start(NULL, NULL);
	redisContext *c = dial(fake_target(f));
	redisReply *reply;

	(void)state;
	assert_true(says(c, "OK", "AUTH somebody secret"));
	assert_true(says(c, "OK", "SELECT 3"));
	assert_true(says(c, "OK", "CLIENT SETNAME me"));
	reply = redisCommand(c, "INFO server");
	assert_int_equal(reply->type, REDIS_REPLY_STRING);
	assert_non_null(strstr(reply->str, "run_id:"));
	freeReplyObject(reply);
	reply = redisCommand(c, "TIME");
	assert_int_equal(reply->elements, 2);
	freeReplyObject(reply);
	reply = redisCommand(c, "EVALSHA abc 0");
	assert_int_equal(reply->type, REDIS_REPLY_ERROR);
	assert_true(strncmp(reply->str, "NOSCRIPT", 8) == 0);
	freeReplyObject(reply);
	assert_int_equal(fake_count(f, NULL), 6);
	assert_int_equal(fake_count(f, "evalsha"), 1);
	assert_int_equal(fake_count(f, "EVAL"), 0);
	assert_true(fake_saw(f, "somebody secret"));
	fake_forget(f);
	assert_int_equal(fake_count(f, NULL), 0);
	redisFree(c);
	await_true(fake_open(f) == 0);
	fake_stop(f);
}

static void
a_fake_tells_subscribers(void **state)
{
	struct fake *f = fake_start(NULL, NULL);
	int fd = dial_raw(fake_target(f)), other = dial_raw(fake_target(f));

	(void)state;
	say(fd, "*2\r\n$9\r\nSUBSCRIBE\r\n$2\r\nch\r\n");
	hear(fd, "*3\r\n$9\r\nsubscribe\r\n$2\r\nch\r\n:1\r\n");
	assert_int_equal(fake_publish(f, "ch", "hello"), 1);
	assert_int_equal(fake_publish(f, "c", "hello"), 0);
	hear(fd, "*3\r\n$7\r\nmessage\r\n$2\r\nch\r\n$5\r\nhello\r\n");
	say(other, "PING\r\n");
	hear(other, "+PONG\r\n");
	assert_int_equal(fake_send(f, "+GHOST\r\n", 8), 1);
	hear(other, "+GHOST\r\n");
	assert_int_equal(fake_send_subscribers(f, "+MORE\r\n", 7), 1);
	hear(fd, "+MORE\r\n");
	fake_hang_up(f);
	assert_int_equal(fake_open(f), 0);
	close(fd);
	close(other);
	fake_stop(f);
}

/* GET <n>: n bytes of an answer, and the end; SILENT, RESET, AGAIN <n>. */
static size_t
odd_answers(void *ctx, int argc, const char **argv, const size_t *argl, char *out, size_t size)
{
	++*(_Atomic int *)ctx;
	if (fake_is(argc, argv, argl, 0, "get")) {
		fake_say(out, size, "$6\r\nabcdef\r\n");
		return (size_t)atoi(argv[1]) | FAKE_CLOSE;
	}
	if (fake_is(argc, argv, argl, 0, "SILENT"))
		return FAKE_SILENT;
	if (fake_has(argc, argv, argl, "RESET"))
		return FAKE_RESET;
	return FAKE_DEFAULT;
}

static void
a_fake_says_what_it_is_told_to_say(void **state)
{
	_Atomic int asked = 0;
	struct fake *f = fake_start_tcp(odd_answers, &asked);
	char heard[64], command[64];
	int fd;

	(void)state;
	for (size_t n = 1; n <= 12; n++) {
		fd = dial_raw(fake_target(f));
		snprintf(command, sizeof command, "SILENT\r\nGET %zu \r\nPING\r\n", n);
		say(fd, command);
		assert_int_equal(hear_all(fd, heard, sizeof heard), n);
		assert_memory_equal(heard, "$6\r\nabcdef\r\n", n);
		close(fd);
	}
	assert_int_equal(asked, 24);
	assert_int_equal(fake_count(f, "PING"), 0);
	fd = dial_raw(fake_target(f));
	say(fd, "RESET\r\n");
	assert_int_equal(recv(fd, heard, 1, 0), -1);
	assert_int_equal(errno, ECONNRESET);
	close(fd);
	assert_int_equal(fake_accepted(f), 13);
	fake_stop(f);
}

static void
a_fake_reads_commands_however_they_come(void **state)
{
	struct fake *f = fake_start(NULL, NULL);
	struct proxy *p = proxy_start(fake_target(f));
	redisContext *c = dial(proxy_target(p));
	char *command;

	(void)state;
	proxy_drip(p, PROXY_TO_SERVER, 10);
	assert_true(says(c, "abc", "ECHO abc"));
	assert_true(says(c, "PONG", "PING"));
	command = fake_command(f, fake_count(f, NULL) - 1);
	assert_string_equal(command, "PING");
	free(command);
	assert_null(fake_command(f, 1000));
	redisFree(c);
	proxy_stop(p);
	fake_stop(f);
}

/* --- judge --- */

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

static void
the_judge_reports_an_overlap_of_two_processes(void **state)
{
	struct court c = { judge_new(2, 0), child_share(sizeof(struct stage)) };
	pid_t first = child_run(enter_first, &c), second = child_run(enter_before_the_first_has_left, &c);

	(void)state;
	child_wait(first);
	child_wait(second);
	assert_int_equal(judge_entries(c.judge), 2);
	assert_int_equal(judge_violations(c.judge), 1);
	judge_enter(c.judge, 1, 3);   /* it was the last to leave that left: nobody is inside */
	assert_int_equal(judge_violations(c.judge), 1);
	judge_free(c.judge);
	child_unshare(c.stage, sizeof(struct stage));
}

static int
enter_and_leave(void *arg)
{
	struct court *c = arg;
	uint32_t turn = stage_now(c->stage);

	judge_enter(c->judge, 1, turn + 1);
	judge_turn(c->judge, turn, 1000 * ((int64_t)turn + 1));
	judge_leave(c->judge, 1);
	stage_raise(c->stage);
	return 0;
}

static void
the_judge_is_content_with_those_who_take_turns(void **state)
{
	struct court c = { judge_new(2, 2), child_share(sizeof(struct stage)) };

	(void)state;
	child_wait(child_run(enter_and_leave, &c));
	child_wait(child_run(enter_and_leave, &c));
	judge_enter(c.judge, 1, 3);
	judge_enter(c.judge, 0, 1);   /* another lock */
	assert_int_equal(judge_entries(c.judge), 4);
	assert_int_equal(judge_violations(c.judge), 0);
	judge_free(c.judge);
	child_unshare(c.stage, sizeof(struct stage));
}

static void
the_judge_knows_who_had_turns_and_who_waited(void **state)
{
	struct judge *j = judge_new(1, 3);

	(void)state;
	for (size_t i = 0; i < 3; i++)
		for (size_t turn = 0; turn <= i; turn++)
			judge_turn(j, i, 1000 * (int64_t)(i + 1 - turn));
	assert_int_equal(judge_turns(j, 1), 2);
	assert_int_equal(judge_longest_wait_ns(j, 1), 2000);
	assert_int_equal(judge_fewest_turns(j), 1);
	assert_int_equal(judge_most_turns(j), 3);
	assert_int_equal(judge_longest_wait_of_all_ns(j), 3000);
	judge_free(j);
}

static void
the_judge_reports_a_fence_that_does_not_grow(void **state)
{
	struct judge *j = judge_new(1, 0);

	(void)state;
	for (uint64_t fence = 5; fence < 8; fence++) {
		judge_enter(j, 0, fence);
		judge_leave(j, 0);
	}
	assert_int_equal(judge_violations(j), 0);
	judge_enter(j, 0, 7);
	judge_leave(j, 0);
	assert_int_equal(judge_violations(j), 1);
	judge_enter(j, 0, 3);
	judge_leave(j, 0);
	assert_int_equal(judge_violations(j), 2);
	judge_free(j);
}

static int
enter_and_stay(void *arg)
{
	judge_enter(arg, 0, 1);
	return sleep_for_ever(NULL);
}

static void
the_judge_buries_the_dead(void **state)
{
	struct judge *j = judge_new(1, 0);
	pid_t pid = child_run(enter_and_stay, j);

	(void)state;
	await_true(judge_entries(j) == 1);
	child_kill(pid);
	judge_bury(j, pid);
	judge_enter(j, 0, 2);
	assert_int_equal(judge_violations(j), 0);
	judge_enter(j, 0, 3);
	assert_int_equal(judge_violations(j), 1);
	judge_free(j);
}

/* --- witness --- */

static void
the_witness_reports_a_hold_that_was_valid_after_a_later_one_began(void **state)
{
	struct server *server = server_start(NULL);
	leash_client *client = leashed_open(server_uri(server), NULL);
	leash_lock *lock = leashed_lock(client, "witnessed", NULL), *other = leashed_lock(client, "other", NULL);
	struct witness *witness = witness_new(4);
	struct testimony *first, *second;
	char text[256] = "";
	leash_error err;

	(void)state;
	assert_null(witness_enter(witness, 0, lock));   /* it is not held */
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	assert_non_null(first = witness_enter(witness, 0, lock));
	assert_true(witness_look(first, lock));
	assert_true(first->first < first->last);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	assert_false(witness_look(first, lock));
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	assert_status(LEASH_OK, leash_lock_acquire(other, 0, &err));
	assert_non_null(second = witness_enter(witness, 0, lock));
	assert_non_null(witness_enter(witness, 1, other));
	assert_int_equal(witness_violations(witness, text, sizeof text), 0);
	first->last = second->first + 1000000;
	assert_int_equal(witness_violations(witness, text, sizeof text), 1);
	assert_non_null(strstr(text, "1.000 ms"));
	assert_int_equal(witness_holds(witness), 3);
	leash_lock_free(lock);
	leash_lock_free(other);
	leash_close(client);
	witness_free(witness);
	server_stop(server);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_failure_in_a_child_ends_the_child),
		cmocka_unit_test(waiting_for_a_child_demands_that_it_succeeded),
		cmocka_unit_test(stages_are_shared_by_processes),
		cmocka_unit_test(a_paused_child_stands_still),
		cmocka_unit_test(a_server_answers_by_socket_and_by_port),
		cmocka_unit_test(a_restarted_server_is_empty_and_at_the_same_address),
		cmocka_unit_test(a_server_keeps_its_data_if_its_arguments_say_so),
		cmocka_unit_test(a_killed_server_takes_no_connections),
		cmocka_unit_test(a_paused_server_stands_still_until_it_is_resumed),
		cmocka_unit_test(a_server_with_a_password_is_asked_with_it),
		cmocka_unit_test(a_server_outlives_the_thread_that_started_it),
		cmocka_unit_test(a_killed_process_leaves_nothing_behind),
		cmocka_unit_test(an_exiting_process_leaves_nothing_behind),
		cmocka_unit_test(a_monitor_counts_what_clients_sent_since_the_mark),
		cmocka_unit_test(a_monitor_counts_what_scripts_call_apart),
		cmocka_unit_test(the_end_of_a_value_is_found_however_it_is_split),
		cmocka_unit_test(a_proxy_passes_everything),
		cmocka_unit_test(a_proxy_delays_each_way_by_what_was_asked),
		cmocka_unit_test(a_delay_does_not_cost_throughput),
		cmocka_unit_test(a_holding_proxy_delivers_nothing_until_it_is_released),
		cmocka_unit_test(a_client_that_left_is_no_reason_to_lose_its_commands),
		cmocka_unit_test(an_answer_that_finds_its_client_gone_stops_no_command),
		cmocka_unit_test(a_cut_request_never_reaches_the_server),
		cmocka_unit_test(a_cut_reply_is_of_a_request_that_was_executed),
		cmocka_unit_test(a_reply_is_cut_at_the_byte_among_other_replies),
		cmocka_unit_test(a_cut_over_tcp_is_a_reset),
		cmocka_unit_test(a_disarmed_fault_does_not_happen),
		cmocka_unit_test(a_held_reply_comes_when_it_is_released),
		cmocka_unit_test(all_connections_can_be_reset_and_refused),
		cmocka_unit_test(a_child_does_not_keep_a_connection_open),
		cmocka_unit_test(a_proxy_outlives_its_target),
		cmocka_unit_test(a_dripping_proxy_takes_its_time_for_each_byte),
		cmocka_unit_test(a_proxy_loses_as_many_messages_as_was_asked),
		cmocka_unit_test(a_stranded_request_is_executed_when_its_client_is_long_gone),
		cmocka_unit_test(held_messages_come_when_they_are_let_go_and_other_answers_before),
		cmocka_unit_test(the_weather_drops_doubles_and_delays_as_many_as_was_asked),
		cmocka_unit_test(what_was_late_when_the_weather_ended_its_connection_is_executed),
		cmocka_unit_test(a_fake_greets_like_redis),
		cmocka_unit_test(a_fake_tells_subscribers),
		cmocka_unit_test(a_fake_says_what_it_is_told_to_say),
		cmocka_unit_test(a_fake_reads_commands_however_they_come),
		cmocka_unit_test(the_judge_reports_an_overlap_of_two_processes),
		cmocka_unit_test(the_judge_is_content_with_those_who_take_turns),
		cmocka_unit_test(the_judge_knows_who_had_turns_and_who_waited),
		cmocka_unit_test(the_judge_reports_a_fence_that_does_not_grow),
		cmocka_unit_test(the_judge_buries_the_dead),
		cmocka_unit_test(the_witness_reports_a_hold_that_was_valid_after_a_later_one_began),
	};

	return cmocka_run_group_tests_name("support", tests, NULL, NULL);
}
