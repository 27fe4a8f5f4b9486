/* leash top on a terminal, which tmux is here; as plain lines: top.txt.
 *
 * Fifty locks change hands all the time while it is looked at. What it writes is taken down byte by byte, from before
 * it was started. */
#include "tests/support/child.h"
#include "tests/support/leashed.h"
#include "tests/support/one_server.h"
#include "tests/support/test.h"
#include "tests/support/tool.h"
#include "tests/support/trouble.h"

#include <leash.h>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOCKS = 50, SHOWN = 20 };

static leash_error err;

/* ---- fifty locks that change hands ---- */

static struct {
	atomic_bool enough;
	_Atomic uint64_t taken;
	pthread_t thread;
	leash_client *client;
	leash_lock *lock[LOCKS];
} bustle;

static void *
go_on(void *arg)
{
	(void)arg;
	for (int i = 0; !atomic_load(&bustle.enough); i = (i + 1) % LOCKS) {
		assert_status(LEASH_OK, leash_lock_release(bustle.lock[i], &err));
		assert_status(LEASH_OK, leash_lock_acquire(bustle.lock[i], LEASH_FOREVER, &err));
		bustle.taken++;
		await_ms(5);
	}
	for (int i = 0; i < LOCKS; i++)
		assert_status(LEASH_OK, leash_lock_release(bustle.lock[i], &err));
	return NULL;
}

static void *
begin(void *arg)
{
	(void)arg;
	for (int i = 0; i < LOCKS; i++)
		assert_status(LEASH_OK, leash_lock_acquire(bustle.lock[i], LEASH_FOREVER, &err));
	return go_on(arg);
}

static void
set_up(void)
{
	char name[32];

	freeReplyObject(server_command(server, "FLUSHALL"));
	atomic_store(&bustle.enough, false);
	bustle.taken = 0;
	bustle.client = leashed_open(uri, LEASH_OPTIONS(.client_name = "bustle", .lease_ms = 60000, .timeout_ms = 60000));
	for (int i = 0; i < LOCKS; i++) {
		snprintf(name, sizeof name, "job-%02d", i);
		bustle.lock[i] = leashed_lock(bustle.client, name, NULL);
	}
	assert_int_equal(pthread_create(&bustle.thread, NULL, begin, NULL), 0);
	await_true(bustle.taken > 0);
}

/* ---- the terminal ---- */

static char tmux_socket[512], raw_path[512];
static pid_t tmux;

static int
become_tmux(void *arg)
{
	(void)arg;
	unsetenv("TMUX");
	execlp("tmux", "tmux", "-S", tmux_socket, "-f", "/dev/null", "-D", (char *)NULL);
	return 1;
}

/* tmux's answer, until the next one. NULL: it said no. (-N: it must not start a server of its own, which would outlive
 * us.) */
static const char *
ask_tmux(const char *format, ...) __attribute__((format(printf, 1, 2)));

static const char *
ask_tmux(const char *format, ...)
{
	static char answer[65536];
	char words[1024], command[2048];
	va_list args;
	FILE *pipe;
	size_t n;

	va_start(args, format);
	vsnprintf(words, sizeof words, format, args);
	va_end(args);
	snprintf(command, sizeof command, "TMUX= exec tmux -N -S '%s' %s 2>&1", tmux_socket, words);
	pipe = popen(command, "re");
	if (pipe == NULL)
		trouble("popen: no");
	n = fread(answer, 1, sizeof answer - 1, pipe);
	answer[n] = '\0';
	return pclose(pipe) == 0 ? answer : NULL;
}

static const char *
screen(void)
{
	const char *text = ask_tmux("capture-pane -p -t w");

	return text != NULL ? text : "";
}

/* The shell wants a command: whatever ran before has ended, and the terminal is as that left it. */
static bool
is_at_prompt(void)
{
	const char *text = screen(), *end = text + strlen(text);

	while (end > text && (end[-1] == '\n' || end[-1] == ' '))
		end--;
	return end > text && end[-1] == '$' && (end - 1 == text || end[-2] == '\n');
}

#define await_prompt() await_true(is_at_prompt())

/* A shell in a window of so many columns and lines, all of whose output is taken down. */
static void
open_window(int columns, int lines)
{
	snprintf(tmux_socket, sizeof tmux_socket, "%s/tmux", server_folder(server));
	snprintf(raw_path, sizeof raw_path, "%s/raw", server_folder(server));
	unlink(raw_path);
	tmux = child_run(become_tmux, NULL);
	await_true(ask_tmux("new-session -d -s w -x %d -y %d 'env -i PATH=\"$PATH\" TERM=screen-256color ENV= PS1=\"$ \" "
	                    "LD_LIBRARY_PATH=\"%s\" "
	                    "LEASH_URI=\"%s\" LEASH=\"%s\" sh -i'",
	                    columns, lines, getenv("LD_LIBRARY_PATH") != NULL ? getenv("LD_LIBRARY_PATH") : "", uri,
	                    tool_path()) != NULL);
	await_true(ask_tmux("pipe-pane -t w -O 'cat >\"%s\"'", raw_path) != NULL);
	await_prompt();
}

/* If there is one. */
static void
close_window(void)
{
	if (tmux == 0)
		return;
	child_kill(tmux);
	tmux = 0;
	unlink(tmux_socket);
}

static void
tear_down(void)
{
	server_resume(server);
	close_window();
	atomic_store(&bustle.enough, true);
	pthread_join(bustle.thread, NULL);
	leash_close(bustle.client);
	for (int i = 0; i < LOCKS; i++)
		leash_lock_free(bustle.lock[i]);
}

FIXTURE(set_up, tear_down);

static void
type(const char *keys)
{
	assert_non_null(ask_tmux("send-keys -t w %s", keys));
}

#define await_screen(text) await_true(strstr(screen(), (text)) != NULL)

static void
resize(int columns, int lines)
{
	assert_non_null(ask_tmux("resize-window -t w -x %d -y %d", columns, lines));
}

static void
start_top(const char *options)
{
	char line[256];

	snprintf(line, sizeof line, "'\"$LEASH\" top -d 100ms %s; echo status=$?' Enter", options);
	type(line);
	await_screen("leash top  ");
	await_screen("50 locks");
	await_screen("job-");
}

/* Line `n` of the screen, from 0; until the next call. */
static const char *
line_of(const char *text, int n)
{
	static char line[1024];

	for (; n > 0 && *text != '\0'; n--) {
		text += strcspn(text, "\n");
		text += *text != '\0';
	}
	snprintf(line, sizeof line, "%.*s", (int)strcspn(text, "\n"), text);
	return line;
}

/* All lines of the table are those of locks, in this order. */
static bool
is_sorted_by_name(int direction)
{
	char text[65536], before[256] = "";

	snprintf(text, sizeof text, "%s", screen());
	for (int i = 0; i < SHOWN; i++) {
		const char *line = line_of(text, 4 + i);

		if (strncmp(line, "job-", 4) != 0 || (i > 0 && strncmp(before, line, 6) * direction >= 0))
			return false;
		snprintf(before, sizeof before, "%.6s", line);
	}
	return true;
}

/* ---- what it wrote ---- */

static size_t
raw_size(void)
{
	struct stat stat_of;

	return stat(raw_path, &stat_of) == 0 ? (size_t)stat_of.st_size : 0;
}

/* All from there on. To be freed. */
static char *
raw_from(size_t from)
{
	size_t size = raw_size() - from;
	char *text = calloc(1, size + 1);
	FILE *file = fopen(raw_path, "re");

	assert_true(file != NULL && text != NULL && fseek(file, (long)from, SEEK_SET) == 0);
	assert_int_equal(fread(text, 1, size, file), size);
	fclose(file);
	for (size_t i = 0; i < size; i++)
		if (text[i] == '\0')
			text[i] = '0';
	return text;
}

/* Of all of the screen: what terminals call clear. */
static size_t
count_clears(size_t from)
{
	static const char *const ways[] =
		{"\033[2J", "\033[3J", "\033[H\033[J", "\033[H\033[0J", "\033[1;1H\033[J", "\033c"};
	char *text = raw_from(from);
	size_t n = 0;

	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
		for (const char *at = text; (at = strstr(at, ways[i])) != NULL; at++)
			n++;
	free(text);
	return n;
}

/* Its time, which the first line tells, has gone on by so many seconds: so many frames were drawn at least. */
static void
await_frames(int seconds)
{
	char before[64];

	for (; seconds > 0; seconds--) {
		snprintf(before, sizeof before, "%.19s", line_of(screen(), 0));
		await_true(strncmp(line_of(screen(), 0), before, 19) != 0);
	}
}

/* ---- on a screen ---- */

SENTENCE(no_frame_after_the_first_clears_the_screen)
{
	size_t first;

	open_window(80, 24);
	start_top("");
	assert_true(count_clears(0) >= 1); /* so this knows a clear when it sees one */
	first = raw_size();
	await_frames(3);
	type("s");
	await_screen("longest held first");
	type("h");
	await_screen("quit");
	type("h");
	await_screen("HOLDER");
	type("j j j k p");
	await_screen("PAUSED");
	type("p r");
	await_screen("shortest held first");
	assert_true(raw_size() > first + 1000);
	assert_int_equal(count_clears(first), 0);
	type("q");
	await_screen("status=0");
	close_window();
}

SENTENCE(it_names_who_has_what)
{
	char host[65] = "", holder[128];

	open_window(160, 60);
	start_top("");
	gethostname(host, sizeof host - 1);
	snprintf(holder, sizeof holder, " %s:%d ", host, (int)getpid());
	await_screen(holder);
	await_screen(" bustle ");
	await_screen(" taken in the last ");
	await_screen("\njob-49 ");
	type("q");
	close_window();
}

SENTENCE(it_sorts_by_what_is_asked_for)
{
	server_integer(server, "ZADD leash:{job-33}:queue 1700000000000000 a 1700000000000001 b");
	open_window(80, 24);
	start_top("");
	await_screen("most waiting first");
	await_true(strncmp(line_of(screen(), 4), "job-33 ", 7) == 0);
	type("s");
	await_screen("longest held first");
	type("Right");
	await_screen("lease that ends soonest first");
	type("Right");
	await_screen("by name");
	await_true(is_sorted_by_name(1));
	type("r");
	await_screen("backwards");
	await_true(is_sorted_by_name(-1));
	type("Left s");
	await_true(is_sorted_by_name(1));
	type("End");
	await_true(strncmp(line_of(screen(), 4 + SHOWN - 1), "job-49", 6) == 0);
	type("Home");
	await_true(strncmp(line_of(screen(), 4), "job-00", 6) == 0);
	type("q");
	close_window();
}

SENTENCE(it_takes_any_size)
{
	static const int sizes[][2] = {{200, 50}, {10, 3}, {1, 1}, {40, 8}, {2, 30}, {200, 2}, {80, 24}};

	open_window(80, 24);
	start_top("-s name");
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		char first[16];

		resize(sizes[i][0], sizes[i][1]);
		/* of the line that is always there, as much as there is room for */
		snprintf(first, sizeof first, "%.*s", sizes[i][0] < 8 ? sizes[i][0] : 8,
		         sizes[i][1] < 8 ? "50 locks" : "leash top");
		if (sizes[i][0] * sizes[i][1] > 1) /* of the one cell in the corner curses makes no use */
			await_true(strncmp(screen(), first, strlen(first)) == 0);
		if (sizes[i][1] >= 8 && sizes[i][0] >= 40)
			await_true(strncmp(line_of(screen(), 3), "NAME ", 5) == 0 &&
			           strncmp(line_of(screen(), sizes[i][1] - 1), "job-", 4) == 0);
		else if (sizes[i][1] >= 3 && sizes[i][0] >= 10)
			await_true(strncmp(line_of(screen(), 2), "job-", 4) == 0);
	}
	await_true(is_sorted_by_name(1)); /* nothing is left of other sizes */
	assert_int_equal(strlen(line_of(screen(), 3)), 80);
	type("q");
	await_screen("status=0");
	close_window();
}

static void
check_terminal_is_as_before(void)
{
	type("'stty -a; echo the-\"\"end' Enter"); /* typed, it is not what is waited for: that comes when stty has ended */
	await_screen("the-end");
	assert_non_null(strstr(screen(), " icanon"));
	assert_non_null(strstr(screen(), " echo "));
	assert_null(strstr(screen(), "-icanon"));
	assert_null(strstr(screen(), "-echo "));
	assert_non_null(strstr(screen(), "before")); /* the screen that was there */
	assert_string_equal(ask_tmux("display-message -p -t w '#{cursor_flag}#{alternate_on}'"), "10\n");
}

SENTENCE(however_it_ends_the_terminal_is_as_before)
{
	for (int way = 0; way < 3; way++) {
		open_window(80, 24);
		type("'echo be\"\"fore' Enter");
		await_screen("before");
		start_top("");
		if (way == 0)
			type("q");
		else if (way == 1)
			type("C-c");
		else
			assert_non_null(ask_tmux("run-shell 'kill -TERM $(cat /proc/$(tmux -N -S %s display-message -p -t w "
			                         "\"##{pane_pid}\")/task/*/children)'",
			                         tmux_socket));
		if (way == 1) {
			await_prompt();
			type("'echo status=$?' Enter");
		}
		await_screen(way == 0 ? "status=0" : way == 1 ? "status=130" : "status=143");
		check_terminal_is_as_before();
		close_window();
	}
}

SENTENCE(behind_the_last_row_that_is_kept_it_says_how_many_are_not)
{
	int more;

	server_text(server, "EVAL %s 0",
	            "for i = 1, 4950 do\n"
	            "	redis.call('HSET', 'leash:{many-' .. i .. '}', '01234567-89ab-cdef-0123-456789abcdef:' .. i, 1)\n"
	            "	redis.call('PEXPIRE', 'leash:{many-' .. i .. '}', 3600000)\n"
	            "end");
	open_window(100, 24);
	type("'\"$LEASH\" top -d 100ms -s name; echo status=$?' Enter");
	await_screen(", 1 to 20 of the first 1000");
	type("End");
	await_screen(", 982 to 1000 of the first 1000");
	await_true(sscanf(line_of(screen(), 4 + SHOWN - 1), "%d more are not shown", &more) == 1);
	assert_in_range(more, 4000 - LOCKS, 4000); /* those that nobody had just then are missing */
	type("Home");
	await_true(strncmp(line_of(screen(), 4), "job-0", 5) == 0);
	type("q");
	await_screen("status=0");
	close_window();
}

SENTENCE(a_server_that_is_gone_is_said_to_be_and_the_table_stays)
{
	open_window(80, 24);
	start_top("");
	server_pause(server);
	await_screen("NO ANSWER");
	assert_non_null(strstr(screen(), "\njob-"));
	await_frames(2);
	type("s");
	await_true(strstr(screen(), "HOLDER") != NULL);
	server_resume(server);
	await_true(strstr(screen(), "NO ANSWER") == NULL && strstr(screen(), "50 locks") != NULL);
	await_screen("longest held first"); /* it was heard meanwhile */
	type("q");
	await_screen("status=0");
	close_window();
}

SENTENCE(it_quits_though_the_server_does_not_answer)
{
	open_window(80, 24);
	start_top("");
	server_pause(server);
	type("q");
	await_screen("status=0");
	server_resume(server);
	close_window();
}

static int
need_tmux(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	if (system("tmux -N -V >/dev/null 2>&1") == 0)
		return GO_ON;
	fputs("skipped: tmux is not installed, or older than 3.2\n", stderr);
	return 77;
}

PRELUDE(need_tmux);
GROUP(start_server, stop_server);
