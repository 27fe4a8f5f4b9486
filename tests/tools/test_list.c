/* leash list: all locks that are held, as many as there may be, in columns or as JSON. */
#include "tests/support/child.h"
#include "tests/support/leashed.h"
#include "tests/support/one_server.h"
#include "tests/support/test.h"
#include "tests/support/tool.h"

#include <leash.h>

#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { USAGE = 64, NO_SERVER = 69, INTERNAL = 70, FEW = 1000, MANY = 100000, COLUMNS = 9 };

static leash_error err;

static void
set_up(void)
{
	freeReplyObject(server_command(server, "FLUSHALL"));
}

FIXTURE(set_up, NULL);
GROUP(start_server, stop_server);

/* ---- locks ---- */

/* Locks "job-<n>" without a client behind them, as they look after a client has died. */
static void
make_locks(int from, int to)
{
	server_text(server, "EVAL %s 0 %d %d",
	            "local t = redis.call('TIME')\n"
	            "local fence = string.format('%.0f', t[1] * 1000000 + t[2])\n"
	            "for i = tonumber(ARGV[1]), tonumber(ARGV[2]) do\n"
	            "	local key = string.format('leash:{job-%06d}', i)\n"
	            "	redis.call('HSET', key, string.format('01234567-89ab-cdef-0123-%012d:%d', i % 100, i), 1)\n"
	            "	redis.call('PEXPIRE', key, 3600000)\n"
	            "	redis.call('SET', key .. ':fence', fence, 'EX', 86400)\n"
	            "end",
	            from, to);
}

/* Held until this process ends, or release_all(). */
static leash_client *client;
static leash_lock *lock;

static void
take(const char *name)
{
	client = leashed_open(uri, LEASH_OPTIONS(.client_name = "backup"));
	lock = leashed_lock(client, name, NULL);
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
}

static void
release(void)
{
	leash_close(client);
	leash_lock_free(lock);
}

/* ---- what it said ---- */

static size_t
count_lines(const char *text)
{
	size_t n = 0;

	for (; *text != '\0'; text++)
		n += *text == '\n';
	return n;
}

/* Field `n` of the first line that begins with `name` and a space; "" if there are not so many. Until the next call. */
static const char *
field_of(const char *text, const char *name, int n)
{
	static char field[4096];
	size_t size = strlen(name);

	while (strncmp(text, name, size) != 0 || text[size] != ' ') {
		text += strcspn(text, "\n");
		if (*text == '\0')
			fail_msg("there is no line of '%s':\n%s", name, tool_said());
		text++;
	}
	for (; n > 0; n--) {
		text += strcspn(text, " \n");
		text += strspn(text, " ");
	}
	snprintf(field, sizeof field, "%.*s", (int)strcspn(text, " \n"), text);
	return field;
}

static void
check_field(const char *name, int n, const char *expected)
{
	const char *field = field_of(tool_said(), name, n);

	if (strcmp(field, expected) != 0)
		fail_msg("field %d of %s is '%s', not '%s':\n%s", n, name, field, expected, tool_said());
}

/* ---- runs whose standard output is ours ---- */

struct run {
	int out; /* what becomes its standard output */
	bool ignores_pipe;
	const char *const *words;
	pid_t pid;
	int from; /* what the test reads from */
};

static int
become_leash(void *arg)
{
	const struct run *run = arg;
	char *argv[16] = {"leash", "list"};

	for (int i = 0; run->words[i] != NULL; i++)
		argv[2 + i] = (char *)(uintptr_t)run->words[i];
	setenv("LEASH_URI", uri, 1);
	signal(SIGPIPE, run->ignores_pipe ? SIG_IGN : SIG_DFL);
	dup2(run->out, STDOUT_FILENO);
	execv(tool_path(), argv);
	return 99;
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void
start_into_pipe(struct run *run, const char *const *words)
{
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	run->words = words;
	run->from = ends[0];
	run->out = ends[1];
	run->pid = child_run(become_leash, run);
	close(ends[1]);
}

/* Read until so many lines have come, or all of them. Returns how many came. */
static size_t
read_lines(const struct run *run, size_t lines)
{
	char text[4096];
	size_t count = 0;
	ssize_t n = 1;

	while (count < lines && (n = read(run->from, text, sizeof text)) > 0)
		for (ssize_t i = 0; i < n; i++)
			count += text[i] == '\n';
	return count;
}

/* The most memory that it has ever had, in KiB. It must be running. */
static long
peak_of(pid_t pid)
{
	char path[64], line[256];
	long peak = 0;
	FILE *file;

	snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	file = fopen(path, "re");
	assert_non_null(file);
	while (fgets(line, sizeof line, file) != NULL)
		if (sscanf(line, "VmHWM: %ld kB", &peak) == 1)
			break;
	fclose(file);
	assert_true(peak > 0);
	return peak;
}

/* ---- columns ---- */

SENTENCE(a_lock_has_a_line_with_all_that_people_ask_for)
{
	char holder[300], fence[24], name[256] = "";

	take("nightly");
	gethostname(name, sizeof name - 1);
	snprintf(holder, sizeof holder, "%s:%d", name, (int)getpid());
	snprintf(fence, sizeof fence, "%" PRIu64, leash_lock_fence(lock));
	server_integer(server, "ZADD leash:{nightly}:queue 1700000000000000 a 1700000000000001 b");
	assert_int_equal(TOOL(uri, "list"), 0);
	assert_string_equal(tool_complained(), "");
	assert_int_equal(count_lines(tool_said()), 2);
	check_field("NAME", 1, "HOLDER");
	check_field("NAME", 8, "FENCE");
	check_field("nightly", 1, holder);
	check_field("nightly", 2, "backup");
	assert_int_equal(strlen(field_of(tool_said(), "nightly", 3)), strlen("2026-11-20T08:42:05"));
	check_field("nightly", 6, "1");
	check_field("nightly", 7, "2");
	check_field("nightly", 8, fence);
	release();
}

SENTENCE(each_line_has_nine_fields_whatever_the_name)
{
	static const char *const names[][2] = {
		{"a b", "a\\x20b"}, {" ", "\\x20"}, {"{x}:fence", "{x}:fence"}, {"\033[2J\n", "\\x1b[2J\\x0a"}, {"\303\274", "\\xc3\\xbc"}, {"100%", "100%"},
		{"a\\b", "a\\x5cb"}, {"\\xff", "\\x5cxff"}, {"\377", "\\xff"},
	};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		take(names[i][0]);
		assert_int_equal(TOOL(uri, "list", "-q"), 0);
		assert_int_equal(count_lines(tool_said()), 1);
		check_field(names[i][1], 6, "1");
		assert_int_equal(strlen(field_of(tool_said(), names[i][1], COLUMNS)), 0);
		assert_int_equal(TOOL(uri, "list", "-q", "--escaped", names[i][1]), 0); /* and as a pattern it means itself */
		check_field(names[i][1], 6, "1");
		release();
	}
}

SENTENCE(a_name_of_full_length_is_shown_to_its_last_byte)
{
	char name[LEASH_NAME_MAX + 1], shown[4 * LEASH_NAME_MAX + 1] = "", *at = shown;

	for (int i = 0; i < LEASH_NAME_MAX; i++) {
		name[i] = ' ';
		at = stpcpy(at, "\\x20");
	}
	name[LEASH_NAME_MAX] = '\0';
	take(name);
	assert_int_equal(TOOL(uri, "list", "-q"), 0);
	check_field(shown, 6, "1");
	release();
}

/* An escaped byte that means something in a pattern does not there; what is not escaped does. */
SENTENCE(an_escaped_pattern_still_is_a_pattern)
{
	take("a*\303\274");
	assert_int_equal(TOOL(uri, "list", "-q", "--escaped", "a\\x2a\\xc3?"), 0);
	assert_int_equal(count_lines(tool_said()), 1);
	assert_int_equal(TOOL(uri, "list", "-q", "--escaped", "a\\**"), 0);
	assert_int_equal(count_lines(tool_said()), 1);
	assert_int_equal(TOOL(uri, "list", "-q", "--escaped", "\\x2a"), 0);
	assert_int_equal(count_lines(tool_said()), 0);
	assert_int_equal(TOOL(uri, "list", "--escaped", "a\\x2"), USAGE);
	release();
}

SENTENCE(what_is_not_known_is_a_question_mark)
{
	server_integer(server, "HSET leash:{odd} 01234567-89ab-cdef-0123-456789abcdef:7 1");
	assert_int_equal(TOOL(uri, "list"), 0);
	for (int i = 1; i <= 4; i++)
		check_field("odd", i, "?");
	check_field("odd", 5, "none");
	check_field("odd", 8, "?");
}

SENTENCE(a_pattern_chooses_and_what_is_no_lock_is_passed_over)
{
	make_locks(1, 20);
	server_text(server, "SET leash:{text} 1");
	server_integer(server, "HSET leash:{hash} field value");
	server_integer(server, "ZADD leash:{free}:queue 1 a");
	server_text(server, "SET other 1");
	assert_int_equal(TOOL(uri, "list", "-q"), 0);
	assert_int_equal(count_lines(tool_said()), 20);
	assert_int_equal(TOOL(uri, "list", "-q", "job-00001?"), 0);
	assert_int_equal(count_lines(tool_said()), 10);
	assert_int_equal(TOOL(uri, "list", "-v", "-q", "*[12]"), 0);
	assert_int_equal(count_lines(tool_said()), 4);
	assert_non_null(strstr(tool_complained(), "4 locks"));
	assert_int_equal(TOOL(uri, "list", "one", "two"), USAGE);
}

SENTENCE(where_nothing_is_held_it_says_so_beside_its_output)
{
	assert_int_equal(TOOL(uri, "list"), 0);
	assert_string_equal(tool_said(), "");
	assert_non_null(strstr(tool_complained(), "no lock is held"));
	assert_int_equal(TOOL(uri, "list", "-q"), 0);
	assert_string_equal(tool_complained(), "");
	assert_int_equal(TOOL(uri, "list", "--json"), 0);
	assert_string_equal(tool_said(), "");
	assert_string_equal(tool_complained(), "");
}

SENTENCE(json_is_one_object_a_line)
{
	char *copy, *rest, *line;
	int n = 0;

	make_locks(1, 50);
	assert_int_equal(TOOL(uri, "list", "--json"), 0);
	copy = strdup(tool_said());
	for (line = strtok_r(copy, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest), n++) {
		json_t *object = json_loads(line, 0, NULL);

		assert_non_null(object);
		assert_int_equal(strncmp(json_string_value(json_object_get(object, "name")), "job-0000", 8), 0);
		assert_true(json_is_string(json_object_get(object, "fence")));
		assert_true(json_is_true(json_object_get(object, "held")));
		assert_int_equal(json_integer_value(json_object_get(object, "depth")), 1);
		json_decref(object);
	}
	assert_int_equal(n, 50);
	free(copy);
}

/* ---- terminals ---- */

SENTENCE(on_a_terminal_no_line_is_wider_than_it)
{
	static const unsigned short widths[] = {200, 80, 40, 10, 1};
	char text[65536];

	take("nightly");
	make_locks(1, 20);
	for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
		struct winsize size = {.ws_row = 24, .ws_col = widths[i]};
		struct run run = {.words = (const char *const[]){NULL}};
		size_t n = 0, column = 0, lines = 0;
		ssize_t got;

		assert_int_equal(openpty(&run.from, &run.out, NULL, NULL, &size), 0);
		run.pid = child_run(become_leash, &run);
		close(run.out);
		while ((got = read(run.from, text + n, sizeof text - n)) > 0) /* EIO at its end */
			n += (size_t)got;
		for (size_t c = 0; c < n; c++) {
			column = text[c] == '\n' || text[c] == '\r' ? 0 : column + 1;
			lines += text[c] == '\n';
			if (column > widths[i])
				fail_msg("wider than %d columns:\n%.*s", widths[i], (int)n, text);
		}
		assert_int_equal(lines, 22);
		child_wait(run.pid);
		close(run.from);
	}
	release();
}

/* ---- many ---- */

/* Of a run that has printed nearly all, and cannot print the rest because nobody takes it. */
static long
peak_of_listing(int locks)
{
	struct run run = {.out = -1};
	size_t lines;
	long peak;

	start_into_pipe(&run, WORDS("-q"));
	lines = read_lines(&run, (size_t)locks * 9 / 10);
	peak = peak_of(run.pid);
	assert_true(lines + read_lines(&run, SIZE_MAX) >= (size_t)locks); /* SCAN may give some twice */
	child_wait(run.pid);
	close(run.from);
	return peak;
}

SENTENCE(a_hundred_thousand_locks_need_no_more_memory_than_a_thousand)
{
	long few, many;

	setenv("ASAN_OPTIONS", "quarantine_size_mb=1", 0); /* AddressSanitizer keeps what was freed, up to that */
	make_locks(1, FEW);
	few = peak_of_listing(FEW);
	make_locks(FEW + 1, MANY);
	many = peak_of_listing(MANY);
	print_message("# peak with %d locks: %ld KiB, with %d: %ld KiB\n", FEW, few, MANY, many);
	if (many > few + few / 4)
		fail_msg("%ld KiB with %d locks, %ld KiB with %d", few, FEW, many, MANY);
}

/* ---- ends ---- */

SENTENCE(a_reader_who_has_seen_enough_ends_it_quietly)
{
	make_locks(1, 20000);
	for (int ignores = 0; ignores < 2; ignores++) {
		struct run run = {.ignores_pipe = ignores};
		int complaints[2], before = dup(STDERR_FILENO), status;
		char text[256];

		assert_int_equal(pipe2(complaints, O_CLOEXEC), 0);
		dup2(complaints[1], STDERR_FILENO);
		start_into_pipe(&run, WORDS("-q"));
		dup2(before, STDERR_FILENO);
		close(before);
		close(complaints[1]);
		assert_true(read_lines(&run, 1) >= 1);
		close(run.from);
		status = child_end(run.pid);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE);
		assert_int_equal(read(complaints[0], text, sizeof text), 0);
		close(complaints[0]);
	}
}

SENTENCE(a_full_disk_is_an_error)
{
	struct run run = {.out = open("/dev/full", O_WRONLY | O_CLOEXEC), .words = (const char *const[]){NULL}};

	make_locks(1, 2000);
	run.pid = child_run(become_leash, &run);
	assert_int_equal(WEXITSTATUS(child_end(run.pid)), INTERNAL);
	close(run.out);
}

SENTENCE(a_server_that_dies_half_way_is_told_after_what_there_was)
{
	struct run run = {.out = -1};
	size_t lines;

	make_locks(1, 50000);
	start_into_pipe(&run, WORDS("-q"));
	lines = read_lines(&run, 1000);
	server_kill(server);
	lines += read_lines(&run, SIZE_MAX);
	assert_true(lines >= 1000 && lines < 50000);
	assert_int_equal(WEXITSTATUS(child_end(run.pid)), NO_SERVER);
	close(run.from);
	server_restart(server);
}
