/* leash status: who has a lock, since when, for how long still, and who waits; and what it says of what is no lock, or no name. */
#include "tests/support/child.h"
#include "tests/support/leashed.h"
#include "tests/support/one_server.h"
#include "tests/support/quorum.h"
#include "tests/support/test.h"
#include "tests/support/tool.h"

#include <leash.h>

#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <unistd.h>

enum { USAGE = 64, NO_SERVER = 69, WAITERS = 3, PLACES = 12 };

static leash_error err;

/* ---- those who hold, and wait ---- */

/* Shared with the children. */
struct scene {
	struct stage stage;    /* raised by each child that holds */
	struct stage over;     /* 1: release, and go */
	_Atomic uint64_t fence; /* of the holder */
	char token[LEASH_TOKEN_MAX];
	char uri[512];
	int64_t lease_ms;
	int depth;
};

static struct scene *scene;

static int
hold(void *name)
{
	leash_client *client = leashed_open(scene->uri, LEASH_OPTIONS(.client_name = "backup"));
	leash_lock *lock = leashed_lock(client, name, LEASH_LOCK_OPTIONS(.lease_ms = scene->lease_ms));
	int depth = scene->depth;

	for (int i = 0; i < depth; i++)
		assert_status(LEASH_OK, leash_lock_acquire(lock, LEASH_FOREVER, &err));
	scene->fence = leash_lock_fence(lock);
	leash_lock_token(lock, scene->token, sizeof scene->token);
	stage_raise(&scene->stage);
	stage_await(&scene->over, 1);
	for (int i = 0; i < depth; i++)
		assert_status(LEASH_OK, leash_lock_release(lock, &err));
	leash_close(client);
	leash_lock_free(lock);
	return 0;
}

/* A process that holds the lock. */
static pid_t
start_holder(const char *name)
{
	pid_t pid = child_run(hold, (void *)(uintptr_t)name);

	stage_await(&scene->stage, 1);
	return pid;
}

static void
set_up(void)
{
	freeReplyObject(server_command(server, "FLUSHALL"));
	scene = child_share(sizeof *scene);
	scene->lease_ms = 60000;
	scene->depth = 1;
	snprintf(scene->uri, sizeof scene->uri, "%s", uri);
}

static void
tear_down(void)
{
	child_unshare(scene, sizeof *scene);
}

FIXTURE(set_up, tear_down);
GROUP(start_server, stop_server);

/* ---- what it said ---- */

static const char *
host(void)
{
	static char name[256];

	gethostname(name, sizeof name - 1);
	return name;
}

static void
check_says(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void
check_says(const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	if (strstr(tool_said(), text) == NULL)
		fail_msg("it does not say '%s' but:\n%s%s", text, tool_said(), tool_complained());
}

static bool
says(const char *text)
{
	return strstr(tool_said(), text) != NULL;
}

/* Line `n` of what it said, read. */
static json_t *
object_at(int n)
{
	const char *line = tool_said();
	json_error_t wrong;
	json_t *object;

	for (; n > 0 && line != NULL; n--)
		line = strchr(line, '\n') != NULL ? strchr(line, '\n') + 1 : NULL;
	if (line == NULL || *line == '\0')
		fail_msg("there is no such line:\n%s", tool_said());
	object = json_loadb(line, strcspn(line, "\n"), 0, &wrong);
	if (object == NULL)
		fail_msg("%s: %s", wrong.text, line);
	return object;
}

static const char *
string_of(json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	if (text == NULL)
		fail_msg("'%s' is no string: %s", key, tool_said());
	return text;
}

static int64_t
integer_of(json_t *object, const char *key)
{
	if (!json_is_integer(json_object_get(object, key)))
		fail_msg("'%s' is no integer: %s", key, tool_said());
	return json_integer_value(json_object_get(object, key));
}

static int64_t
server_ms(void)
{
	const char *time = server_text(server, "TIME"); /* s us */

	return atoll(time) * 1000 + atoll(strchr(time, ' ')) / 1000;
}

/* ---- held ---- */

SENTENCE(a_lock_of_a_c_program_is_told_in_full)
{
	pid_t pid = start_holder("job");

	assert_int_equal(TOOL(uri, "status", "job"), 0);
	assert_string_equal(tool_complained(), "");
	assert_int_equal(strncmp(tool_said(), "job\n", 4), 0);
	check_says("\n  held by  backup, pid %d on %s\n", (int)pid, host());
	check_says("\n  token    %s\n", scene->token);
	check_says("\n  since    20");
	check_says(" ago\n");
	check_says("\n  lease    ");
	check_says(" s left");
	check_says("\n  depth    1\n");
	check_says("\n  fence    %" PRIu64 "\n", (uint64_t)scene->fence);
	check_says("\n  waiting  nobody\n");
	assert_int_equal(TOOL(uri, "status", "-v", "job"), 0);
	check_says("running since 20");
	stage_set(&scene->over, 1);
	child_wait(pid);
}

SENTENCE(json_has_every_field_and_fences_are_strings)
{
	int64_t before_ms = server_ms(), after_ms;
	pid_t pid = start_holder("job");
	char fence[24];
	json_t *object, *holder;

	after_ms = server_ms();
	assert_int_equal(TOOL(uri, "status", "--json", "job"), 0);
	object = object_at(0);
	holder = json_object_get(object, "holder");
	snprintf(fence, sizeof fence, "%" PRIu64, (uint64_t)scene->fence);
	assert_string_equal(string_of(object, "name"), "job");
	assert_true(json_is_true(json_object_get(object, "held")));
	assert_string_equal(string_of(object, "fence"), fence);
	assert_in_range(integer_of(object, "held_since_ms"), before_ms, after_ms);
	assert_in_range(integer_of(object, "remaining_ms"), 1, 60000);
	assert_int_equal(integer_of(object, "depth"), 1);
	assert_int_equal(integer_of(object, "waiting"), 0);
	assert_int_equal(json_array_size(json_object_get(object, "waiters")), 0);
	assert_string_equal(string_of(holder, "token"), scene->token);
	assert_string_equal(string_of(holder, "host"), host());
	assert_string_equal(string_of(holder, "program"), "backup");
	assert_int_equal(integer_of(holder, "pid"), pid);
	assert_in_range(integer_of(holder, "since_ms"), before_ms - 60000, after_ms);
	json_decref(object);
	stage_set(&scene->over, 1);
	child_wait(pid);
}

/* The server is told the depth with each renewal. */
SENTENCE(depth_is_told_once_it_was_renewed)
{
	pid_t pid;

	scene->lease_ms = 600;
	scene->depth = 3;
	pid = start_holder("job");
	await_true(TOOL(uri, "status", "job") == 0 && says("\n  depth    3\n"));
	stage_set(&scene->over, 1);
	child_wait(pid);
}

SENTENCE(a_lock_of_leash_run_names_its_process)
{
	struct tool *run = TOOL_START(uri, "run", "job", "--", "sleep", "1000");

	await_true(TOOL(uri, "status", "job") == 0 && says("held by"));
	check_says(", pid %d on %s\n", (int)tool_pid(run), host());
	assert_int_equal(TOOL(uri, "status", "--json", "job"), 0);
	check_says("\"pid\":%d", (int)tool_pid(run));
	tool_signal(run, SIGTERM);
	tool_wait(run);
	tool_free(run);
}

SENTENCE(a_holder_that_was_killed_is_named_until_its_lease_ends)
{
	pid_t pid;

	scene->lease_ms = 3000;
	pid = start_holder("job");
	child_kill(pid);
	assert_int_equal(TOOL(uri, "status", "job"), 0);
	if (server_integer(server, "EXISTS leash:{job}") == 1) { /* a lease is longer than this takes, but not on every machine */
		check_says("\n  held by  backup, pid %d on %s\n", (int)pid, host());
		check_says(" left");
	}
	await_true(TOOL(uri, "status", "job") == 0 && says("\n  free\n"));
	check_says("\n  fence    %" PRIu64 "\n", (uint64_t)scene->fence);
	assert_false(says("held by"));
}

SENTENCE(quiet_it_tells_by_its_exit_status_alone)
{
	pid_t pid = start_holder("job");

	assert_int_equal(TOOL(uri, "status", "-q", "free"), 0);
	assert_string_equal(tool_said(), "");
	assert_int_equal(TOOL(uri, "status", "-q", "job", "free"), 75);
	assert_string_equal(tool_said(), "");
	assert_string_equal(tool_complained(), "");
	assert_int_equal(TOOL(uri, "status", "-q", "--json", "job"), 75);
	check_says("\"held\":true");
	server_text(server, "SET leash:{text} 1");
	assert_int_equal(TOOL(uri, "status", "-q", "job", "text"), NO_SERVER);
	assert_string_equal(tool_said(), "");
	assert_int_equal(TOOL(uri, "status", "job"), 0);
	stage_set(&scene->over, 1);
	child_wait(pid);
}

/* Whatever the server's clock says, a lock that was just taken was taken just now. */
SENTENCE(times_are_by_our_clock)
{
	struct server *ahead = server_start_clocked(NULL);
	pid_t pid;

	server_set_clock(ahead, 7200000);
	snprintf(scene->uri, sizeof scene->uri, "%s", server_uri(ahead));
	pid = start_holder("job");
	assert_int_equal(TOOL(server_uri(ahead), "status", "job"), 0);
	if (strstr(tool_said(), " h ") != NULL)
		fail_msg("hours, of a lock that was just taken:\n%s", tool_said());
	stage_set(&scene->over, 1);
	child_wait(pid);
	server_stop(ahead);
}

/* ---- free, and no lock ---- */

SENTENCE(a_free_lock_says_so_with_its_last_fence)
{
	pid_t pid = start_holder("job");
	json_t *object;
	char fence[24];

	stage_set(&scene->over, 1);
	child_wait(pid);
	assert_int_equal(TOOL(uri, "status", "job", "never"), 0);
	check_says("job\n  free\n  fence    %" PRIu64 "\n  waiting  nobody\n", (uint64_t)scene->fence);
	check_says("\n\nnever\n  free\n  fence    none that is still kept\n");
	assert_int_equal(TOOL(uri, "status", "--json", "job"), 0);
	object = object_at(0);
	snprintf(fence, sizeof fence, "%" PRIu64, (uint64_t)scene->fence);
	assert_true(json_is_false(json_object_get(object, "held")));
	assert_true(json_is_null(json_object_get(object, "holder")));
	assert_string_equal(string_of(object, "fence"), fence);
	assert_int_equal(integer_of(object, "remaining_ms"), 0);
	json_decref(object);
}

SENTENCE(a_key_without_an_expiry_is_told_as_such)
{
	server_integer(server, "HSET leash:{job} 01234567-89ab-cdef-0123-456789abcdef:7 1");
	assert_int_equal(TOOL(uri, "status", "job"), 0);
	check_says("held by  a client that left no name\n");
	check_says("since    not known\n");
	check_says("lease    none: its key has no expiry");
	check_says("fence    not known\n");
	assert_int_equal(TOOL(uri, "status", "--json", "job"), 0);
	check_says("\"remaining_ms\":-1");
}

SENTENCE(one_name_that_fails_does_not_stop_the_others)
{
	json_t *object;

	server_text(server, "SET leash:{text} 1");
	assert_int_equal(TOOL(uri, "status", "one", "text", "two"), NO_SERVER);
	check_says("one\n  free\n");
	check_says("\n\ntwo\n  free\n");
	assert_non_null(strstr(tool_complained(), "'text'"));
	assert_int_equal(TOOL(uri, "status", "", "text", "two"), USAGE); /* the first failure's */
	assert_int_equal(strncmp(tool_said(), "two\n  free\n", 11), 0);
	assert_int_equal(TOOL(uri, "status", "--json", "one", "text", "two"), NO_SERVER);
	object = object_at(1);
	assert_string_equal(string_of(object, "name"), "text");
	assert_string_equal(string_of(object, "error"), "MISMATCH");
	assert_non_null(strstr(string_of(object, "text"), "'text'"));
	json_decref(object);
	object = object_at(2);
	assert_string_equal(string_of(object, "name"), "two");
	json_decref(object);
}

/* ---- queues ---- */

static int
wait_in_turn(void *name)
{
	leash_client *client = leashed_open(scene->uri, LEASH_OPTIONS(.client_name = "waiter"));
	leash_lock *lock = leashed_lock(client, name, NULL);

	assert_status(LEASH_OK, leash_lock_acquire(lock, LEASH_FOREVER, &err));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	leash_close(client);
	leash_lock_free(lock);
	return 0;
}

SENTENCE(those_who_wait_are_named_in_their_order)
{
	pid_t holder = start_holder("job"), waiter[WAITERS];
	json_t *object, *waiters;

	for (int i = 0; i < WAITERS; i++) {
		waiter[i] = child_run(wait_in_turn, (void *)(uintptr_t)"job");
		await_true(server_integer(server, "ZCOUNT leash:{job}:queue (0 +inf") == i + 1);
	}
	assert_int_equal(TOOL(uri, "status", "job"), 0);
	check_says("\n  waiting  3\n");
	for (int i = 0; i < WAITERS; i++)
		check_says("\n       %d.  waiter, pid %d on %s, since 20", i + 1, (int)waiter[i], host());
	assert_false(says(" more"));
	assert_int_equal(TOOL(uri, "status", "--json", "job"), 0);
	object = object_at(0);
	waiters = json_object_get(object, "waiters");
	assert_int_equal(json_array_size(waiters), WAITERS);
	for (int i = 0; i < WAITERS; i++) {
		json_t *who = json_array_get(waiters, (size_t)i);

		assert_int_equal(integer_of(who, "position"), i + 1);
		assert_int_equal(integer_of(who, "pid"), waiter[i]);
		assert_string_equal(string_of(who, "program"), "waiter");
		assert_string_equal(string_of(who, "host"), host());
		assert_int_equal(strlen(string_of(who, "token")) > 37, 1);
		assert_in_range(integer_of(who, "waiting_since_ms"), server_ms() - 600000, server_ms());
	}
	json_decref(object);
	stage_set(&scene->over, 1);
	child_wait(holder);
	for (int i = 0; i < WAITERS; i++)
		child_wait(waiter[i]);
}

static const char *
place(int n)
{
	static char text[80];

	snprintf(text, sizeof text, "01234567-89ab-cdef-0123-0123456789%02d:%d 3000", n, n);
	return text;
}

SENTENCE(of_a_long_queue_the_first_ten_are_told_or_all)
{
	pid_t holder = start_holder("job");
	int64_t now_us = server_ms() * 1000;
	json_t *object;

	for (int i = 1; i <= PLACES; i++)
		server_integer(server, "ZADD leash:{job}:queue %lld %s", (long long)now_us + i, place(i));
	assert_int_equal(TOOL(uri, "status", "job"), 0);
	check_says("\n  waiting  12\n");
	check_says("\n      10.  a client that left no name, since 20");
	assert_false(says("\n      11. "));
	check_says("\n           and 2 more\n");
	assert_int_equal(TOOL(uri, "status", "--all", "job"), 0);
	check_says("\n      12. ");
	assert_false(says(" more"));
	assert_int_equal(TOOL(uri, "status", "--json", "job"), 0);
	object = object_at(0);
	assert_int_equal(integer_of(object, "waiting"), PLACES);
	assert_int_equal(json_array_size(json_object_get(object, "waiters")), 10);
	json_decref(object);
	stage_set(&scene->over, 1);
	child_kill(holder); /* nobody would take over from it */
}

/* ---- names ---- */

SENTENCE(odd_names_are_found_and_shown_harmlessly)
{
	static const char *const names[][2] = {
		{"a b", "a b"},
		{"{a}:queue", "{a}:queue"},
		{"100%", "100%"},
		{"\033[2Jx\n", "\\x1b[2Jx\\x0a"},
		{"gr\303\274n", "gr\\xc3\\xbcn"},
		{"\377", "\\xff"},
		{"\\xff", "\\x5cxff"},
		{"a\\b", "a\\x5cb"},
		{"it's", "it's"},
		{"*", "*"},
		{"--json", "--json"},
	};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		leash_client *client = leashed_open(uri, NULL);
		leash_lock *lock = leashed_lock(client, names[i][0], NULL);
		json_t *object;

		assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
		assert_int_equal(TOOL(uri, "status", "--", names[i][0]), 0);
		check_says("%s\n  held by  ", names[i][1]);
		for (const char *c = tool_said(); *c != '\0'; c++)
			if (*c != '\n' && (*c < ' ' || *c > '~'))
				fail_msg("a byte %d is shown: %s", *c, tool_said());
		assert_int_equal(TOOL(uri, "status", "--json", "--", names[i][0]), 0);
		object = object_at(0);
		if (names[i][0][0] == '\377') {
			assert_true(json_is_null(json_object_get(object, "name")));
			assert_string_equal(string_of(object, "name_base64"), "/w==");
		} else {
			assert_string_equal(string_of(object, "name"), names[i][0]);
			assert_null(json_object_get(object, "name_base64"));
		}
		json_decref(object);
		assert_int_equal(TOOL(uri, "status", "--escaped", "--", names[i][1]), 0); /* given back as it is shown */
		check_says("%s\n  held by  ", names[i][1]);
		leash_close(client);
		leash_lock_free(lock);
	}
}

SENTENCE(a_name_of_full_length_is_shown_in_full)
{
	char name[LEASH_NAME_MAX + 2];

	memset(name, 'n', sizeof name);
	name[LEASH_NAME_MAX] = '\0';
	assert_int_equal(TOOL(uri, "status", name), 0);
	check_says("%s\n  free\n", name);
	name[LEASH_NAME_MAX] = 'n';
	name[LEASH_NAME_MAX + 1] = '\0';
	assert_int_equal(TOOL(uri, "status", name), USAGE);
}

SENTENCE(of_a_name_that_is_not_utf8_json_has_the_bytes)
{
	static const char *const names[][2] = {{"\377", "/w=="}, {"\377\376", "//4="}, {"gr\374", "Z3L8"}, {"gr\374n", "Z3L8bg=="}, {"\303\050", "wyg="}};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		json_t *object;

		assert_int_equal(TOOL(uri, "status", "--json", names[i][0]), 0);
		object = object_at(0);
		assert_true(json_is_null(json_object_get(object, "name")));
		assert_string_equal(string_of(object, "name_base64"), names[i][1]);
		json_decref(object);
	}
}

SENTENCE(without_a_server_it_exits_69)
{
	char nowhere[512];

	snprintf(nowhere, sizeof nowhere, "unix://%s/nobody", server_folder(server));
	assert_int_equal(TOOL(nowhere, "status", "job"), NO_SERVER);
	assert_string_equal(tool_said(), "");
	assert_non_null(strstr(tool_complained(), "/nobody"));
}

SENTENCE(a_quorum_has_no_queue_and_says_so, BETWEEN(NULL, NULL))
{
	struct quorum *quorum = quorum_start(&(struct quorum_options){.count = 3});
	const char *many = quorum_uri_guarded(quorum, 2000);
	leash_client *client;
	leash_lock *lock;
	json_t *object;

	quorum_await_uptime(quorum, 2000); /* each client finds out for itself that they count */
	client = leashed_open(many, LEASH_OPTIONS(.lease_ms = 2000));
	lock = leashed_lock(client, "job", NULL);
	assert_status(LEASH_OK, leash_lock_acquire(lock, 60000, &err));
	assert_int_equal(TOOL(many, "status", "job", "free"), 0);
	check_says("\n  depth    1\n");
	check_says("\n  waiting  not known: a quorum has no queue\n");
	assert_null(strstr(tool_said(), "nobody"));
	assert_int_equal(TOOL(many, "status", "--json", "job"), 0);
	object = object_at(0);
	assert_true(json_is_true(json_object_get(object, "held")));
	assert_true(json_is_null(json_object_get(object, "waiting")));
	assert_true(json_is_null(json_object_get(object, "waiters")));
	json_decref(object);
	assert_int_equal(TOOL(many, "list", "--json"), 0);
	object = object_at(0);
	assert_true(json_is_null(json_object_get(object, "waiting")));
	json_decref(object);
	assert_int_equal(TOOL(many, "top", "--once"), 0);
	check_says("\n1 lock, 1 ends within");
	assert_int_equal(TOOL(many, "acquire", "-v", "--ttl=2s", "-w", "100ms", "job"), 75);
	assert_non_null(strstr(tool_complained(), " left of its lease"));
	assert_null(strstr(tool_complained(), "0 waiting"));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	leash_lock_free(lock);
	leash_close(client);
	quorum_stop(quorum);
}
