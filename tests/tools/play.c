/* See play.h. A line is tried by each kind of statement in turn; who knows it does it. */
#include "tests/tools/play.h"

#include "tests/support/asleep.h"
#include "tests/support/fake.h"
#include "tests/support/leashed.h"
#include "tests/support/one_server.h"
#include "tests/support/ports.h"
#include "tests/support/quorum.h"
#include "tests/support/test.h"
#include "tests/support/tool.h"
#include "tests/support/trouble.h"
#include "tests/tools/screen.h"

#include <ctype.h>
#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <unistd.h>

enum { WORDS = 64, TEXT = 9000, FEW = 8, LOCKS = 12, VARIABLES = 48, SECRETS = 16, SCENES = 200, NAME = 24 };

struct text { /* a file */
	const char *path;
	char *line[2000];
	int count, first; /* the first scene */
};

struct scene {
	struct sentence sentence;
	const struct text *text;
	int from, to; /* its lines */
};

static struct scene scenes[SCENES];
static int scene_count;

/* ---- what there is in a scene ---- */

struct run {
	char name[NAME];
	struct tool *tool;
	int status;
	int line;              /* by which it was started */
	bool is_said[STREAMS]; /* something was expected of it */
};

struct hold {
	char name[LEASH_NAME_MAX + 1];
	leash_lock *lock;
	struct leashed_events events;
};

struct person {
	char name[NAME];
	leash_client *client;
	struct hold holds[LOCKS];
};

static struct variable {
	char name[NAME], *value;
} variables[VARIABLES];

static char *secrets[SECRETS]; /* nobody may say them */
static struct run foreground, background[FEW];
static struct person people[FEW];
static struct another {
	char name[NAME];
	struct server *server;
	struct quorum *quorum;
	struct fake *stranger;
} servers[FEW];

static const struct text *text; /* what is played, and the line of it */
static int at;
static char where[1000];        /* LEASH_URI; "": none */
static int64_t clock_ns;
static leash_error err;

/* ---- what is wrong ---- */

static struct run *last; /* who was looked at last */

static _Noreturn void
wrong(const char *format, ...)
{
	char what[TEXT];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof what, format, args);
	va_end(args);
	trouble("%s:%d: %s\n    %s%s%s\n%s\n%s", text->path, at + 1, text->line[at], what,
	        last != NULL ? "; it said:\n" : "",
	        last != NULL ? tool_out(last->tool) : "", last != NULL ? tool_err(last->tool) : "",
	        last != NULL ? tool_said(last->tool, SHOWN) : "");
}

/* ---- names and words ---- */

/* The entry of that name, or else a new one, in a table of so many that begin with their names, each of so much room. */
static void *
entry(char *e, size_t count, size_t size, size_t room, const char *name)
{
	while (*e != '\0' && strcmp(e, name) != 0)
		if (e += size, --count == 0)
			wrong("there is no room for %s", name);
	snprintf(e, room, "%s", name);
	return e;
}

#define ENTRY(table, name_) entry((table)->name, COUNT(table), sizeof *(table), sizeof (table)->name, (name_))

static const char *
value_of(const char *name)
{
	for (int i = 0; i < VARIABLES; i++)
		if (variables[i].value != NULL && strcmp(variables[i].name, name) == 0)
			return variables[i].value;
	wrong("there is no $%s", name);
}

static void
set(const char *name, const char *format, ...)
{
	struct variable *variable = ENTRY(variables, name);
	char *before = variable->value; /* which may be said */
	va_list args;

	va_start(args, format);
	if (vasprintf(&variable->value, format, args) < 0)
		trouble("no memory");
	va_end(args);
	free(before);
}

/* Of a name, "n_port" or the like. */
static void
set_of(const char *name, const char *what, const char *value)
{
	char both[2 * NAME];

	snprintf(both, sizeof both, "%s_%s", name, what);
	set(both, "%s", value);
}

static void
check_room(const char *to, const char *end, size_t n)
{
	if (n >= (size_t)(end - to))
		wrong("a text is too long with its variables");
}

/* One byte, or one variable, of `*from`, which goes on behind it; before `end`. */
static char *
take(char *to, const char *end, const char **from)
{
	const char *f = *from;
	char name[24];
	int n;

	if (f[0] == '$' && isalpha((unsigned char)f[1])) {
		n = (int)strspn(f + 1, "abcdefghijklmnopqrstuvwxyz_0123456789");
		snprintf(name, sizeof name, "%.*s", n, f + 1);
		*from = f + 1 + n;
		check_room(to, end, strlen(value_of(name)));
		return stpcpy(to, value_of(name));
	}
	check_room(to, end, 1);
	*from += f[0] == '\\' && f[1] != '\0' ? 2 : 1;
	if (f[0] == '\\' && f[1] == 'x') {
		*to = (char)strtol((char[]){f[2], f[3], '\0'}, NULL, 16);
		*from = f + 4;
	} else if (f[0] == '\\' && f[1] != '\0') {
		*to = f[1] == 'n' ? '\n' : f[1] == 't' ? '\t' : f[1] == 'r' ? '\r' : f[1];
	} else {
		*to = f[0];
	}
	return to + 1;
}

/* All of `from`, with its variables and escapes. Until the fourth call from now. */
static const char *
expand(const char *from)
{
	static char texts[4][TEXT];
	static int next;
	char *to = texts[next = (next + 1) % 4], *end = to;

	while (*from != '\0')
		end = take(end, to + TEXT, &from);
	*end = '\0';
	return to;
}

/* The words of `from`, in `space`, ended by NULL; how many. */
static int
split(const char *from, const char *words[WORDS + 1], char space[TEXT])
{
	const char *end = space + TEXT;
	int n = 0;

	for (; *(from += strspn(from, " ")) != '\0'; *space++ = '\0') {
		if (n == WORDS)
			wrong("there are too many words");
		words[n++] = space;
		for (char quote = '\0'; *from != '\0' && (quote != '\0' || *from != ' ');) {
			check_room(space, end, 1);
			if (quote != '\'' && quote != '"' && (*from == '\'' || *from == '"'))
				quote = *from++;
			else if (quote != '\0' && *from == quote)
				quote = *from++ == '\0';
			else if (quote == '\'')
				*space++ = *from++;
			else
				space = take(space, end, &from);
		}
		check_room(space, end, 0);
	}
	words[n] = NULL;
	return n;
}

/* ---- what is said ---- */

/* Is it `pattern`, or has it that in it? Each "..." stands for anything. */
static bool
fits(const char *said, const char *pattern, bool from_begin, bool to_end)
{
	while (*pattern != '\0') {
		const char *gap = strstr(pattern, "...");
		size_t n = gap != NULL ? (size_t)(gap - pattern) : strlen(pattern), left = strlen(said);
		char part[TEXT];

		snprintf(part, sizeof part, "%.*s", (int)n, pattern);
		const char *found = gap == NULL && to_end && left >= n && !from_begin ? said + left - n : said;
		if (from_begin || (gap == NULL && to_end)) {
			if (strncmp(found, part, n) != 0 || (gap == NULL && to_end && found[n] != '\0'))
				return false;
		} else if ((found = strstr(said, part)) == NULL) {
			return false;
		}
		if (gap == NULL)
			return true;
		said = found + n;
		pattern = gap + 3;
		from_begin = false;
	}
	return !to_end || *said == '\0' || !from_begin; /* it has ended with "..." */
}

/* How `*line`, behind a '>', is to fit, and what. */
static char
how_of(const char **line)
{
	char how = **line;

	*line += how != ' ' && how != '\0';
	*line = expand(*line + (**line == ' '));
	return how;
}

/* How often it is in there. */
static long
times(const char *said, const char *what)
{
	long n = 0;

	for (; (said = strstr(said, what)) != NULL; said += strlen(what))
		n++;
	return n;
}

static bool
is_said(const char *said, char how, const char *pattern)
{
	char line[TEXT];
	char *rest;
	long n;

	switch (how) {
	case '=':
		snprintf(line, sizeof line, "%s%s", pattern, *pattern != '\0' ? "\n" : "");
		return fits(said, line, true, true) && (*line != '\0' || *said == '\0');
	case '!':
		return !fits(said, pattern, false, false);
	case '^':
		return fits(said, pattern, true, false);
	case '*':
		n = strtol(pattern, &rest, 10);
		return times(said, rest + (*rest == ' ')) == n;
	default:
		snprintf(line, sizeof line, "%s", pattern);
		for (char *part = line; part != NULL; part = rest) {
			if ((rest = strstr(part, " || ")) != NULL) {
				*rest = '\0';
				rest += 4;
			}
			if (fits(said, part, false, false))
				return true;
		}
		return false;
	}
}

/* What is expected of it next, "> text" and the like. Who still runs is waited for. */
static void
expect(struct run *run, const char *line)
{
	enum stream stream = line[0] == '2' ? ERR : line[0] == '@' ? SHOWN : OUT;
	int64_t limit = await_limit_ns(60);
	const char *pattern = line + (stream == OUT ? 1 : 2);
	char how = how_of(&pattern);

	last = run;
	run->is_said[stream] = true;
	while (!is_said(tool_said(run->tool, stream), how, pattern)) {
		bool has_ended = how == '!' || tool_has_ended(run->tool);

		if (is_said(tool_said(run->tool, stream), how, pattern)) /* it may have been said right before its end */
			break;
		if (has_ended || await_is_past(limit))
			wrong("it does not say '%s'", pattern);
		await_ms(1);
	}
}

static bool
is_expectation(const char *line)
{
	return line[0] == '>' || strncmp(line, "2>", 2) == 0 || strncmp(line, "@>", 2) == 0;
}

/* Whoever was run to the end has said nothing but what was expected. */
static void
settle(void)
{
	struct run *run = &foreground;
	int here = at;

	if (run->tool == NULL)
		return;
	at = run->line;
	if (!run->is_said[OUT])
		expect(run, ">=");
	if (!run->is_said[ERR] && run->status == 0)
		expect(run, "2>=");
	at = here;
}

/* ---- who runs ---- */

static void
start(struct run *run, const char *line, bool at_terminal)
{
	const char *words[WORDS + 1];
	const char *uri_now = *where != '\0' ? where : NULL;
	char space[TEXT];

	split(line, words, space);
	run->line = at;
	tool_free(run->tool);
	run->tool = tool_start(uri_now, words, at_terminal);
	memset(run->is_said, 0, sizeof run->is_said);
}

static void
end(struct run *run, int status)
{
	last = run;
	run->status = tool_wait(run->tool);
	for (int i = 0; i < SECRETS && secrets[i] != NULL; i++)
		for (enum stream stream = OUT; stream < STREAMS; stream++)
			if (strstr(tool_said(run->tool, stream), secrets[i]) != NULL)
				wrong("it tells '%s'", secrets[i]);
	if (run->status != status)
		wrong("it ended with %d", run->status);
}

/* "$ words => 75 ;; > text", "&w words", "@w words" */
static bool
play_run(char *line)
{
	struct run *run = &foreground;
	char *more = strstr(line, " ;; "), *rest, *arrow = NULL;
	char kind = line[0];

	if (kind != '$' && kind != '&' && kind != '@')
		return false;
	if (kind != '$') {
		char *words = strchr(line, ' ');

		*words = '\0';
		run = ENTRY(background, expand(line + 1));
		start(run, words + 1, kind == '@');
		set(run->name, "%d", (int)run->tool->pid);
		return true;
	}
	settle();
	if (more != NULL)
		*more = '\0';
	for (rest = line; (rest = strstr(rest, " => ")) != NULL; rest += 4)
		arrow = rest;
	if (arrow != NULL)
		*arrow = '\0';
	start(run, line + 1, false);
	end(run, arrow != NULL ? atoi(expand(arrow + 4)) : 0);
	for (; more != NULL; more = rest) {
		if ((rest = strstr(more + 4, " ;; ")) != NULL)
			*rest = '\0';
		expect(run, more + 4);
	}
	return true;
}

/* "w> text", "w! TERM", "w< yes\n", "w runs", "w => 0" */
static bool
play_running(char *line)
{
	static const struct {
		const char *name;
		int signal;
	} signals[] = {{"INT", SIGINT}, {"TERM", SIGTERM}, {"HUP", SIGHUP}, {"KILL", SIGKILL}, {"CONT", SIGCONT},
	             {"STOP", SIGSTOP}, {"QUIT", SIGQUIT}, {"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"WINCH", SIGWINCH}};
	size_t n = strspn(line, "abcdefghijklmnopqrstuvwxyz");
	struct run *run = background;
	const char *rest = line + n;

	while (run->tool != NULL && (strlen(run->name) != n || strncmp(run->name, line, n) != 0))
		if (++run == background + FEW)
			return false;
	if (run->tool == NULL)
		return false;
	last = run;
	if (strncmp(rest, " => ", 4) == 0) {
		end(run, atoi(expand(rest + 4)));
	} else if (strcmp(rest, " runs") == 0) {
		if (tool_has_ended(run->tool))
			wrong("it has ended");
	} else if (rest[0] == '<') {
		tool_type(run->tool, expand(rest + 2));
	} else if (rest[0] == '!') {
		const char *name = expand(rest + 2);

		for (size_t i = 0; i < COUNT(signals); i++)
			if (strcmp(name, signals[i].name) == 0)
				tool_signal(run->tool, signals[i].signal);
	} else if (is_expectation(rest)) {
		expect(run, rest);
	} else {
		return false;
	}
	return true;
}

/* ---- who holds ---- */

static struct person *
person_called(const char *name)
{
	struct person *p = ENTRY(people, name);

	if (p->client == NULL)
		p->client = leashed_open(where, LEASH_OPTIONS(.client_name = p->name));
	return p;
}

static struct hold *
hold_called(struct person *p, const char *name, int64_t lease_ms)
{
	struct hold *h = ENTRY(p->holds, name);

	if (h->lock == NULL)
		h->lock = leashed_lock(p->client, name, LEASH_LOCK_OPTIONS(.lease_ms = (uint32_t)lease_ms,
		                                                           .on_event = leashed_note_event, .event_arg = &h->events));
	return h;
}

static leash_status
take_lock(const struct person *p, struct hold *h)
{
	leash_status status = leash_lock_acquire(h->lock, 60000, &err);
	char fence[24];

	snprintf(fence, sizeof fence, "%" PRIu64, leash_lock_fence(h->lock));
	set_of(p->name, "fence", fence);
	return status;
}

/* She is sure of it, and the server says so, too. */
static void
check_held(struct hold *h)
{
	char token[LEASH_TOKEN_MAX] = "";

	leash_lock_token(h->lock, token, sizeof token);
	if (!leash_lock_held(h->lock) || h->events.count[LEASH_EVENT_LOST] > 0 ||
	    strcmp(server_text(server, "HKEYS leash:{%s}", h->name), token) != 0)
		wrong("she does not");
}

/* "ann takes job 3000", "ann releases job => LOST" */
static bool
play_person(char *line)
{
	const char *words[WORDS + 1];
	char space[TEXT];
	int n = split(line, words, space);
	leash_status status = LEASH_OK, expected = n > 4 && strcmp(words[4], "LOST") == 0 ? LEASH_LOST : LEASH_OK;

	if (n < 3)
		return false;
	struct person *p = person_called(words[0]);
	if (strcmp(words[1], "takes") == 0)
		status = take_lock(p, hold_called(p, words[2], n > 3 ? atoi(words[3]) : 0));
	else if (strcmp(words[1], "releases") == 0)
		status = leash_lock_release(hold_called(p, words[2], 0)->lock, &err);
	else if (strcmp(words[1], "lost") == 0)
		await_true(hold_called(p, words[2], 0)->events.count[LEASH_EVENT_LOST] > 0);
	else if (strcmp(words[1], "holds") == 0)
		check_held(hold_called(p, words[2], 0));
	else
		return false;
	if (status != expected)
		wrong("%s: %s", leash_status_name(status), err.text);
	return true;
}

/* ---- servers ---- */

static struct server *
server_called(const char *name)
{
	if (name == NULL)
		return server;
	for (int i = 0; i < FEW; i++)
		if (strcmp(servers[i].name, name) == 0)
			return servers[i].quorum != NULL ? quorum_server(servers[i].quorum, 2) : servers[i].server;
	wrong("there is no server %s", name);
}

static size_t
answer_as_a_web_server(void *ctx, int argc, const char **argv, const size_t *argl, char *out, size_t size)
{
	(void)ctx, (void)argc, (void)argv, (void)argl;
	return fake_say(out, size, "HTTP/1.1 400 Bad Request\r\n\r\n");
}

/* "server n --save ''", "quorum n 2000", "stranger n" */
static void
start_another(const char *const *words)
{
	struct another *a = ENTRY(servers, words[1]);
	char port[16];

	if (words[0][0] == 'q') {
		a->quorum = quorum_start(&(struct nodes_options){.count = 3});
		set(a->name, "%s", quorum_uri_guarded(a->quorum, atoi(words[2])));
		quorum_await_uptime(a->quorum, atoi(words[2]));
		return;
	}
	if (words[0][1] == 't') {
		a->stranger = fake_start(answer_as_a_web_server, NULL);
		set(a->name, "%s", fake_uri(a->stranger));
		return;
	}
	a->server = words[0][0] == 'c' ? server_start_clocked(words + 2)
	                               : SERVER_WITH(.port = ports_take(), .args = words + 2);
	snprintf(port, sizeof port, "%d", server_port(a->server));
	set(a->name, "%s", server_uri(a->server));
	set("started", "%s", server_uri(a->server));
	set_of(a->name, "tcp", server_uri_tcp(a->server));
	set_of(a->name, "socket", server_socket(a->server));
	set_of(a->name, "port", port);
}

static bool
play_server(char *line)
{
	const char *words[WORDS + 1];
	char space[TEXT];
	int n = split(line, words, space);

	if (n == 0)
		return false;
	if (strcmp(words[0], "server") == 0 || strcmp(words[0], "quorum") == 0 || strcmp(words[0], "clocked") == 0 ||
	    strcmp(words[0], "stranger") == 0)
		start_another(words);
	else if (strcmp(words[0], "ahead") == 0)
		server_set_clock(server_called(words[1]), atoll(words[2]));
	else if (strcmp(words[0], "pause") == 0)
		server_pause(server_called(words[1]));
	else if (strcmp(words[0], "resume") == 0)
		server_resume(server_called(words[1]));
	else if (strcmp(words[0], "kill") == 0)
		server_kill(server_called(words[1]));
	else if (strcmp(words[0], "restart") == 0)
		server_restart(server_called(words[1]));
	else if (strcmp(words[0], "boot") == 0)
		server_boot(server_called(words[1]));
	else
		return false;
	return true;
}

/* What a server answers: "HKEYS leash:{job}", "@n HKEYS leash:{job}" */
static const char *
answer(const char *line)
{
	const char *words[WORDS + 1];
	char space[TEXT];
	int n = split(line, words, space), other = n > 0 && words[0][0] == '@';

	return server_text_of(server_called(other ? words[0] + 1 : NULL), n - other, words + other);
}

static bool
is_answer(const char *got, const char *expected)
{
	if (expected[0] == '!')
		return strcmp(got, expected + 1) != 0;
	if (expected[0] == '>' || expected[0] == '<')
		return expected[0] == '>' ? atoll(got) > atoll(expected + 1) : atoll(got) < atoll(expected + 1);
	return fits(got, expected, true, true) && (*expected != '\0' || *got == '\0');
}

/* "redis GET a => b", "redis~ GET a => b" */
static bool
play_redis(char *line)
{
	char *arrow = strstr(line, " =>"); /* with nothing behind it, if nothing is expected */
	bool waits = strncmp(line, "redis~ ", 7) == 0, again = strncmp(line, "redis! ", 7) == 0;
	int64_t limit = await_limit_ns(60);
	const char *got;

	if (strncmp(line, "redis ", 6) != 0 && !waits && !again)
		return false;
	if (arrow != NULL)
		*arrow = '\0';
	const char *expected = arrow != NULL ? expand(arrow + 3 + (arrow[3] == ' ')) : NULL;
	while (got = answer(again ? expand(line + 7) : line + 6 + waits), expected != NULL && !is_answer(got, expected)) {
		if (!waits || await_is_past(limit))
			wrong("it answers '%s'", got);
		await_ms(2);
	}
	return true;
}

/* ---- a window ---- */

/* "window 80 24", "resize 10 3", "keys s Right 'echo it' Enter", "%> text", "row 4>^ text" */
static bool
play_window(char *line)
{
	int64_t limit = await_limit_ns(60);
	const char *words[WORDS + 1], *pattern;
	char space[TEXT], how;
	int n, row;

	if (line[0] == '%' || strncmp(line, "row ", 4) == 0) {
		row = line[0] == '%' ? -1 : atoi(expand(line + 4));
		pattern = strchr(line, '>') + 1;
		how = how_of(&pattern);
		while (!is_said(screen_text(row), how, pattern)) {
			if (await_is_past(limit))
				wrong("the window does not show '%s':\n%s", pattern, screen_text(-1));
			await_ms(10);
		}
		return true;
	}
	n = split(line, words, space);
	if (strcmp(words[0], "window") == 0)
		screen_open(server_folder(server), where, atoi(words[1]), atoi(words[2]));
	else if (strcmp(words[0], "resize") == 0)
		screen_resize(atoi(words[1]), atoi(words[2]));
	else if (strcmp(words[0], "keys") == 0)
		for (int i = 1; i < n; i++)
			screen_type(words[i]);
	else
		return false;
	return true;
}

/* ---- the rest ---- */

/* "shows plain", "shows json": each line is an object, and each of the words is a field of the first: holder.pid=5 */
static void
check_shows(const char *line)
{
	const char *text_of = NULL;
	struct run *shown = last;
	json_t *object;
	size_t most;

	last = strncmp(line, "at", 2) != 0 ? &foreground : shown;
	last->is_said[OUT] = last->is_said[ERR] = true;
	if (sscanf(line, "at most %zu columns", &most) == 1) {
		for (const char *at_line = tool_said(shown->tool, SHOWN); *at_line != '\0'; at_line += strspn(at_line, "\r\n"))
			if (strcspn(at_line, "\r\n") > most)
				wrong("a line is wider");
			else
				at_line += strcspn(at_line, "\r\n");
		return;
	}
	if (strcmp(line, "plain") == 0) {
		for (int i = 0; i < 2; i++)
			for (const char *c = tool_said(last->tool, (enum stream)i); *c != '\0'; c++)
				if (*c != '\n' && (*c < ' ' || *c > '~'))
					wrong("a byte %d is shown", *c);
		return;
	}
	text_of = *tool_out(last->tool) != '\0' ? tool_out(last->tool) : tool_err(last->tool);
	if (strcmp(line, "a screen") == 0) {
		for (most = 0; *text_of != '\0'; most++, text_of += strcspn(text_of, "\n") + 1)
			if (strcspn(text_of, "\n") > 80 || strchr(text_of, '\n') == NULL || most == 24)
				wrong("it fits no screen");
		check_shows("plain");
		return;
	}
	for (; *text_of != '\0'; text_of += strcspn(text_of, "\n") + 1) {
		object = json_loadb(text_of, strcspn(text_of, "\n"), 0, NULL);
		if (!json_is_object(object))
			wrong("that is no object a line");
		json_decref(object);
	}
}

/* "$t = out", "$t = behind \"fence\":\"", "$t = redis HKEYS k", "$t = anything" */
static bool
play_variable(char *line)
{
	char *sign = strstr(line, " = ");
	const char *value;

	if (line[0] != '$' || !isalpha((unsigned char)line[1]) || sign == NULL)
		return false;
	*sign = '\0';
	sign += 3;
	if (strcmp(sign, "out") == 0) {
		value = tool_out(foreground.tool);
		foreground.is_said[OUT] = true;
		set(line + 1, "%.*s", (int)strcspn(value, "\n"), value);
	} else if (strncmp(sign, "behind ", 7) == 0) {
		value = last != NULL ? strstr(tool_out(last->tool), sign + 7) : NULL;
		if (value == NULL)
			wrong("it does not say that");
		last->is_said[OUT] = true;
		value += strlen(sign + 7);
		set(line + 1, "%.*s", (int)strcspn(value, "\",}"), value);
	} else {
		value = strncmp(sign, "redis ", 6) == 0 ? answer(sign + 6)
			: strncmp(sign, "row ", 4) == 0 ? screen_text(atoi(sign + 4)) : expand(sign);
		set(line + 1, "%s", value);
	}
	return true;
}

/* It has ended, be it that nobody has reaped it. */
static bool
is_gone(const char *pid)
{
	return strchr("ZX", state_of(atoi(pid))) != NULL;
}

static bool
is_installed(const char *program)
{
	char command[TEXT + 32];

	snprintf(command, sizeof command, "command -v %s >/dev/null", program);
	return system(command) == 0;
}

/* "secret a b" */
static void
keep_secret(const char *line)
{
	const char *words[WORDS + 1];
	char space[TEXT];
	int n = split(line, words, space), i = 0;

	while (i < SECRETS && secrets[i] != NULL)
		i++;
	if (i + n > SECRETS)
		wrong("there are too many secrets");
	for (int k = 0; k < n; k++)
		secrets[i + k] = strdup(words[k]);
}

static bool
play_other(char *line)
{
	if (strcmp(line, "clock") == 0)
		clock_ns = await_now_ns();
	else if (strncmp(line, "took ", 5) == 0) {
		if (await_now_ns() - clock_ns < atoll(line + 5) * MS)
			wrong("it took less");
	} else if (strncmp(line, "goes ", 5) == 0)
		await_true(is_gone(expand(line + 5)));
	else if (strncmp(line, "gone ", 5) == 0 || strncmp(line, "lives ", 6) == 0) {
		if (is_gone(expand(line + 5 + (line[0] == 'l'))) != (line[0] == 'g'))
			wrong(line[0] == 'g' ? "it lives" : "it has ended");
	} else if (strncmp(line, "needs ", 6) == 0) {
		if (!is_installed(line + 6))
			skip();
	} else if (strncmp(line, "secret ", 7) == 0)
		keep_secret(line + 7);
	else if (strncmp(line, "sleep ", 6) == 0)
		await_ms(atoll(line + 6));
	else if (strncmp(line, "shows ", 6) == 0)
		check_shows(expand(line + 6));
	else if (strncmp(line, "uri", 3) == 0)
		snprintf(where, sizeof where, "%s", line[3] == ' ' ? expand(line + 4) : "");
	else if (strncmp(line, "env ", 4) == 0) {
		char *value = strchr(line + 4, ' ');

		if (value != NULL)
			*value++ = '\0';
		tool_setenv(line + 4, value != NULL ? expand(value) : NULL);
	} else
		return false;
	return true;
}

static void
play_line(const char *from)
{
	char line[TEXT];

	if (*from == '\0' || *from == '#')
		return;
	snprintf(line, sizeof line, "%s", from);
	if (is_expectation(line)) {
		expect(&foreground, line);
		return;
	}
	if (play_variable(line) || play_run(line) || play_running(line) || play_other(line) || play_server(line) ||
	    play_redis(line) || play_window(line) || play_person(line))
		return;
	wrong("that is no statement");
}

static int play_block(int from, int to, int depth);

/* "each $a $b in x 1 | y 2", and its block */
static int
play_each(int from, int to, int depth)
{
	const char *names[WORDS + 1], *values[WORDS + 1];
	char head[TEXT], space[TEXT], others[TEXT], *next;
	int n = 0, end_of = from + 1;

	snprintf(head, sizeof head, "%s", text->line[from] + depth + strlen("each "));
	char *list = strstr(head, " in ");
	if (list == NULL)
		wrong("that is no statement");
	*list = '\0';
	for (char *name = strtok_r(head, " $", &next); name != NULL; name = strtok_r(NULL, " $", &next))
		names[n++] = name;
	for (list += 4; list != NULL; list = next) {
		if ((next = strstr(list, " | ")) != NULL) {
			*next = '\0';
			next += 3;
		}
		at = from;
		snprintf(others, sizeof others, "%s", list);
		if (split(others, values, space) != n)
			wrong("'%s' are not %d words", list, n);
		for (int i = 0; i < n; i++)
			set(names[i], "%s", values[i]);
		end_of = play_block(from + 1, to, depth + 1);
	}
	return end_of;
}

/* All lines that are as deep; returns the one behind them. */
static int
play_block(int from, int to, int depth)
{
	for (int i = from; i < to;) {
		const char *line = text->line[i];

		if (*line != '\0' && (int)strspn(line, "\t") < depth)
			return i;
		at = i;
		line += *line != '\0' ? depth : 0;
		if (strncmp(line, "each ", 5) == 0) {
			i = play_each(i, to, depth);
		} else {
			play_line(line);
			i++;
		}
	}
	return to;
}

/* ---- scenes ---- */

static void
begin(void)
{
	char host[256] = "";

	gethostname(host, sizeof host - 1);
	freeReplyObject(server_command(server, "FLUSHALL"));
	snprintf(where, sizeof where, "%s", uri);
	set("uri", "%s", uri);
	set("host", "%s", host);
	set("me", "%d", (int)getpid());
	set("folder", "%s", server_folder(server));
	set("socket", "%s", server_socket(server));
	set("leash", "%s", tool_path());
	set("version", "%s", leash_version());
	set("free_port", "%d", ports_take());
}

static void
end_scene(void)
{
	last = NULL;
	screen_close();
	tool_free(foreground.tool);
	for (int i = 0; i < FEW; i++)
		tool_free(background[i].tool);
	if (server_pid(server) == 0)
		server_restart(server);
	server_resume(server);
	for (int i = 0; i < FEW; i++) {
		leash_close(people[i].client);
		for (int k = 0; k < LOCKS; k++)
			leash_lock_free(people[i].holds[k].lock);
	}
	for (int i = 0; i < FEW; i++) {
		server_stop(servers[i].server);
		quorum_stop(servers[i].quorum);
		fake_stop(servers[i].stranger);
	}
	for (int i = 0; i < VARIABLES; i++)
		free(variables[i].value);
	for (int i = 0; i < SECRETS; i++)
		free(secrets[i]);
	memset(&foreground, 0, sizeof foreground);
	memset(background, 0, sizeof background);
	memset(secrets, 0, sizeof secrets);
	memset(people, 0, sizeof people);
	memset(servers, 0, sizeof servers);
	memset(variables, 0, sizeof variables);
}

static void
play(void)
{
	const struct scene *scene = given;

	text = scene->text;
	play_block(0, text->first, 0);
	play_block(scene->from, scene->to, 0);
	settle();
}

static const struct between around_scene = {begin, end_scene};

static void
add(const char *path)
{
	struct text *t = calloc(1, sizeof *t);
	FILE *file = fopen(path, "re");
	char *line = NULL, *name, *at_end;
	int begun = -1; /* the line that goes on */
	size_t size = 0;

	if (t == NULL || file == NULL)
		trouble("%s cannot be read", path);
	t->path = strdup(strrchr(path, '/') + 1);
	t->first = -1;
	for (ssize_t n; (n = getline(&line, &size, file)) > 0 && t->count < (int)COUNT(t->line); t->count++) {
		line[n - 1] = '\0';
		t->line[t->count] = strdup(begun < 0 ? line : "");
		if (begun >= 0) { /* it goes on */
			char *both;

			if (asprintf(&both, "%s%s", t->line[begun], line + strspn(line, "\t")) < 0)
				trouble("no memory");
			free(t->line[begun]);
			t->line[begun] = both;
		}
		at_end = t->line[begun < 0 ? begun = t->count : begun];
		at_end += strlen(at_end) - (*at_end != '\0');
		if (*at_end == '\\')
			*at_end = '\0';
		else
			begun = -1;
		if (strncmp(line, "== ", 3) != 0)
			continue;
		if (asprintf(&name, "%.*s: %s", (int)strcspn(t->path, "."), t->path, line + 3) < 0)
			trouble("no memory");
		if (t->first < 0)
			t->first = t->count;
		else
			scenes[scene_count - 1].to = t->count;
		if (scene_count == SCENES)
			trouble("there are too many scenes");
		scenes[scene_count] = (struct scene){
			.sentence = {.name = name, .body = play, .own = &around_scene, .given = &scenes[scene_count],
			             .order = (unsigned)scene_count},
			.text = t, .from = t->count + 1, .to = INT32_MAX};
		sentence_add(&scenes[scene_count++].sentence);
	}
	scenes[scene_count - 1].to = t->count;
	free(line);
	fclose(file);
}

void
play_texts(const char *const *names, int count)
{
	char path[4096];

	for (int i = 0; i < count; i++) {
		snprintf(path, sizeof path, "%s/tests/tools/%s.txt", SOURCE_FOLDER, names[i]);
		add(path);
	}
}

void
play_begin(void)
{
	start_server();
	tool_setenv("LEASH", tool_path());
}

void
play_end(void)
{
	stop_server();
}
