/* See play.h. A line begins with a verb (VERB, DOES), or each other kind of statement tries it in turn. */
#include "tests/tools/play.h"

#include "tests/support/asleep.h"
#include "tests/support/kept.h"
#include "tests/support/leashed.h"
#include "tests/support/one_server.h"
#include "tests/support/socket.h"
#include "tests/support/quorum.h"
#include "tests/support/test.h"
#include "tests/support/tool.h"
#include "tests/support/trouble.h"

#include <ctype.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <unistd.h>

enum { WORDS = 64, TEXT = 9000, FEW = 8, LOCKS = 16, VARIABLES = 48, SECRETS = 16, SCENES = 200, NAME = 24 };

struct text { /* a file */
	const char *path;
	const char *line[2000];
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

static void
must(bool is_so, const char *else_it)
{
	if (!is_so)
		wrong("%s", else_it);
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

__attribute__((format(printf, 2, 3))) static void
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
#define set_of(name, what, ...) \
	do { \
		char both_[2 * NAME]; \
		snprintf(both_, sizeof both_, "%s_" what, (name)); \
		set(both_, __VA_ARGS__); \
	} while (0)

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

static const char *words[WORDS + 1]; /* of what was split last: so many, and NULL */
static int word_count;

static void
split(const char *from)
{
	static char texts[TEXT];
	const char *end = texts + TEXT;
	char *to = texts;

	for (word_count = 0; *(from += strspn(from, " ")) != '\0'; *to++ = '\0') {
		if (word_count == WORDS)
			wrong("there are too many words");
		words[word_count++] = to;
		for (char quote = '\0'; *from != '\0' && (quote != '\0' || *from != ' ');) {
			check_room(to, end, 1);
			if (quote != '\'' && quote != '"' && (*from == '\'' || *from == '"'))
				quote = *from++;
			else if (quote != '\0' && *from == quote)
				quote = *from++ == '\0';
			else if (quote == '\'')
				*to++ = *from++;
			else
				to = take(to, end, &from);
		}
		check_room(to, end, 0);
	}
	words[word_count] = NULL;
}

/* ---- statements that begin with a verb, and what is behind it ---- */

static struct verb {
	const char *name;
	void (*act)(char *rest);
	struct verb *next;
} *verbs;

#define VERB(title) VERB_AS(title, #title)
#define VERB_AS(id, text) \
	static void verb_##id(char *rest); \
	__attribute__((constructor)) static void add_verb_##id(void) \
	{ \
		static struct verb verb = {.name = (text), .act = verb_##id}; \
		verb.next = verbs; \
		verbs = &verb; \
	} \
	static void verb_##id(__attribute__((unused)) char *rest)

#define DOES(title, ...) VERB(title) { __VA_ARGS__; }

/* ---- what is said ---- */

/* Is it `pattern`, or has it that in it? Each "..." stands for anything. */
static bool
fits(const char *said, const char *pattern, bool from_begin, bool to_end)
{
	char glob[2 * TEXT + 3], *to = stpcpy(glob, from_begin ? "" : "*");

	for (; *pattern != '\0'; pattern++) {
		bool is_gap = strncmp(pattern, "...", 3) == 0;

		if (!is_gap && strchr("*?[\\", *pattern) != NULL)
			*to++ = '\\';
		*to++ = is_gap ? '*' : *pattern;
		pattern += is_gap ? 2 : 0;
	}
	strcpy(to, to_end ? "" : "*");
	return fnmatch(glob, said, 0) == 0;
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

static bool
is_said(const char *said, char how, const char *pattern)
{
	char line[TEXT];
	char *rest;
	long n;

	switch (how) {
	case '=':
		snprintf(line, sizeof line, "%s%s", pattern, *pattern != '\0' ? "\n" : "");
		return fits(said, line, true, true);
	case '!':
		return !fits(said, pattern, false, false);
	case '^':
		return fits(said, pattern, true, false);
	case '*':
		n = strtol(pattern, &rest, 10);
		for (rest += *rest == ' '; (said = strstr(said, rest)) != NULL; said += strlen(rest))
			n--;
		return n == 0;
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
	int64_t limit = await_limit_ns(AWAIT_S);
	const char *pattern = line + (stream == OUT ? 1 : 2);
	char how = how_of(&pattern);

	last = run;
	run->is_said[stream] = true;
	bool has_ended = false; /* before it was looked at: it may have been said right before its end */
	for (; !is_said(tool_said(run->tool, stream), how, pattern); has_ended = how == '!' || tool_has_ended(run->tool)) {
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
	split(line);
	run->line = at;
	tool_free(run->tool);
	last = run;
	run->tool = tool_start(*where != '\0' ? where : NULL, words, at_terminal);
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

/* What stands behind the last " => " in it, which ends before that; NULL: there is none. */
static const char *
cut_status(char *line)
{
	char *arrow = NULL;

	for (char *rest = line; (rest = strstr(rest, " => ")) != NULL; rest += 4)
		arrow = rest;
	if (arrow != NULL)
		*arrow = '\0';
	return arrow != NULL ? expand(arrow + 4) : NULL;
}

/* "$ words => 75", "&w words", "@w words"; NULL: it is none of them */
static struct run *
play_run(char *line)
{
	char *command = strchr(line, ' ');
	struct run *run = &foreground;

	if (line[0] == '$') {
		settle();
		const char *status = cut_status(line);
		start(run, line + 1, false);
		end(run, status != NULL ? atoi(status) : 0);
		return run;
	}
	if (line[0] != '&' && line[0] != '@')
		return NULL;
	*command = '\0';
	run = ENTRY(background, expand(line + 1));
	start(run, command + 1, line[0] == '@');
	set(run->name, "%d", (int)run->tool->pid);
	return run;
}

static int
signal_called(const char *name)
{
	for (int i = 1; i < NSIG; i++)
		if (sigabbrev_np(i) != NULL && strcmp(name, sigabbrev_np(i)) == 0)
			return i;
	wrong("there is no signal %s", name);
}

/* "w> text", "w! TERM", "w< yes\n", each with " => 0" or not; "w runs", "w => 0"; NULL: nobody is called so */
static struct run *
play_running(char *line)
{
	size_t n = strspn(line, "abcdefghijklmnopqrstuvwxyz");
	struct run *run = background;
	const char *rest = line + n, *status;

	while (run->tool != NULL && (strlen(run->name) != n || strncmp(run->name, line, n) != 0))
		if (++run == background + FEW)
			return NULL;
	if (run->tool == NULL)
		return NULL;
	last = run;
	if (is_expectation(rest)) {
		expect(run, rest);
		return run;
	}
	status = cut_status(line);
	if (strcmp(rest, " runs") == 0)
		must(!tool_has_ended(run->tool), "it has ended");
	else if (rest[0] == '<')
		tool_type(run->tool, expand(rest + 2));
	else if (rest[0] == '!')
		tool_signal(run->tool, signal_called(expand(rest + 2)));
	else if (rest[0] != '\0')
		return NULL;
	if (status != NULL)
		end(run, atoi(status));
	return run;
}

static bool play_variable(char *line);

/* Behind what is run, or runs, each " ;; " begins what it is to say, or a variable that is what it has said. */
static bool
play_saying(char *line)
{
	char *more = strstr(line, " ;; ");

	if (more != NULL)
		*more = '\0';
	struct run *run = play_run(line);
	if (run == NULL)
		run = play_running(line);
	for (char *next; run != NULL && more != NULL; more = next) {
		if ((next = strstr(more + 4, " ;; ")) != NULL)
			*next = '\0';
		if (!play_variable(more + 4))
			expect(run, more + 4);
	}
	return run != NULL;
}

/* ---- who holds ---- */

static struct person *
person_called(const char *name)
{
	struct person *p = ENTRY(people, name);

	if (p->client == NULL)
		p->client = kept(leashed_open(where, LEASH_OPTIONS(.client_name = p->name)));
	return p;
}

static struct hold *
hold_called(struct person *p, const char *name, int64_t lease_ms)
{
	struct hold *h = ENTRY(p->holds, name);

	if (h->lock == NULL)
		h->lock = kept(leashed_lock(p->client, name, LEASH_LOCK_OPTIONS(
			.lease_ms = (uint32_t)lease_ms, .on_event = leashed_note_event, .event_arg = &h->events)));
	return h;
}

static leash_status
take_lock(const struct person *p, struct hold *h)
{
	leash_status status = leash_lock_acquire(h->lock, 60000, &err);

	set_of(p->name, "fence", "%" PRIu64, leash_lock_fence(h->lock));
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
	leash_status status = LEASH_OK;

	split(line);
	if (word_count < 3)
		return false;
	leash_status expected = word_count > 4 && strcmp(words[4], "LOST") == 0 ? LEASH_LOST : LEASH_OK;
	struct person *p = person_called(words[0]);
	if (strcmp(words[1], "takes") == 0)
		status = take_lock(p, hold_called(p, words[2], word_count > 3 ? atoi(words[3]) : 0));
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
	if (*name == '\0')
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

VERB(quorum) /* n 2000 */
{
	split(rest);
	struct another *a = ENTRY(servers, words[0]);
	a->quorum = quorum_start(&(struct nodes_options){.count = 3});
	afterwards(nodes_stop, a->quorum);
	set(a->name, "%s", quorum_uri_guarded(a->quorum, atoi(words[1])));
	quorum_await_uptime(a->quorum, atoi(words[1]));
}

VERB(stranger)
{
	set(expand(rest), "%s", fake_uri(kept(fake_start(answer_as_a_web_server, NULL))));
}

static void
add_server(const char *name, struct server *s)
{
	struct another *a = ENTRY(servers, name);

	a->server = kept(s);
	set(a->name, "%s", server_uri(s));
	set("started", "%s", server_uri(s));
	set_of(a->name, "tcp", "%s", server_uri_tcp(s));
	set_of(a->name, "socket", "%s", server_socket(s));
	set_of(a->name, "port", "%d", server_port(s));
}

DOES(server, split(rest); add_server(words[0], SERVER_WITH(.port = ports_take(), .args = words + 1)))
DOES(clocked, split(rest); add_server(words[0], server_start_clocked(words + 1)))
DOES(ahead, split(rest); server_set_clock(server_called(words[0]), atoll(words[1])))

static void
go_on(void *paused)
{
	struct server *s = paused;

	if (server_pid(s) != 0)
		server_resume(s);
}

VERB(pause)
{
	struct server *s = server_called(expand(rest));

	server_pause(s);
	afterwards(go_on, s); /* before those are ended who came before */
}

DOES(resume, server_resume(server_called(expand(rest))))
DOES(kill, server_kill(server_called(expand(rest))))
DOES(restart, server_restart(server_called(expand(rest))))

/* What a server answers: "HKEYS leash:{job}", "@n HKEYS leash:{job}" */
static const char *
answer(const char *line)
{
	split(line);
	int other = word_count > 0 && words[0][0] == '@';
	return server_text_of(server_called(other ? words[0] + 1 : ""), word_count - other, words + other);
}

static bool
is_answer(const char *got, const char *expected)
{
	if (expected[0] == '!')
		return !fits(got, expected + 1, true, true);
	if (expected[0] == '>' || expected[0] == '<')
		return expected[0] == '>' ? atoll(got) > atoll(expected + 1) : atoll(got) < atoll(expected + 1);
	return fits(got, expected, true, true);
}

static void
check_answer(char *line, bool waits, bool again)
{
	char *arrow = strstr(line, " =>"); /* with nothing behind it, if nothing is expected */
	int64_t limit = await_limit_ns(AWAIT_S);
	const char *got;

	if (arrow != NULL)
		*arrow = '\0';
	const char *expected = arrow != NULL ? expand(arrow + 3 + (arrow[3] == ' ')) : NULL;
	while (got = answer(again ? expand(line) : line), expected != NULL && !is_answer(got, expected)) {
		if (!waits || await_is_past(limit))
			wrong("it answers '%s'", got);
		await_ms(2);
	}
}

DOES(redis, check_answer(rest, false, false)) /* GET a => b */
VERB_AS(await_redis, "redis~") { check_answer(rest, true, false); }
VERB_AS(expand_redis, "redis!") { check_answer(rest, false, true); }

/* ---- a window with a shell, which tmux shows: one at a time ---- */

static struct tool *tmux, *asked; /* its server, and who asked that last */

#define ASK(...) ask((const char *const[]){__VA_ARGS__, NULL})

/* tmux's answer, until the next one; NULL: it said no. -N: it must not start a server, which would outlive us. */
static const char *
ask(const char *const more[])
{
	const char *argv[WORDS] = {"/usr/bin/env", "tmux", "-N", "-S", value_of("tmux")};

	for (int n = 5; *more != NULL; n++)
		argv[n] = *more++;
	tool_free(asked);
	asked = tool_start(where, argv, false);
	return tool_wait(asked) == 0 ? tool_out(asked) : NULL;
}

/* What stands on it, or in one line of it from 0 on; -1: all. */
static const char *
shown(int row)
{
	char number[16];

	snprintf(number, sizeof number, "%d", row);
	const char *lines = row < 0 ? ASK("capture-pane", "-p", "-t", "w")
		: ASK("capture-pane", "-p", "-t", "w", "-S", number, "-E", number);
	return lines != NULL ? lines : "";
}

static void
close_window(void)
{
	tool_free(asked);
	tool_free(tmux);
	asked = tmux = NULL;
}

VERB(window) /* 80 24 */
{
	split(rest);
	close_window();
	set("tmux", "%s/tmux", server_folder(server));
	set("take_down", "cat >'%s/raw'", server_folder(server));
	tool_setenv("TMUX", NULL);
	const char *const start_it[] = {"/usr/bin/env", "tmux", "-S", value_of("tmux"), "-f", "/dev/null", "-D", NULL};
	tmux = tool_start(where, start_it, false);
	await_true(ASK("new-session", "-d", "-s", "w", "-x", words[0], "-y", words[1],
	               "exec env -i PATH=\"$PATH\" TERM=screen-256color ENV= PS1='$ ' LD_LIBRARY_PATH=\"$LD_LIBRARY_PATH\" "
	               "LEASH_URI=\"$LEASH_URI\" LEASH=\"$LEASH\" sh -i") != NULL);
	await_true(ASK("pipe-pane", "-t", "w", "-O", value_of("take_down")) != NULL);
	await_true(shown(0)[0] == '$');
}

DOES(resize, split(rest); must(ASK("resize-window", "-t", "w", "-x", words[0], "-y", words[1]), "it is as it was"))

/* "%> text", "row 4>^ text" */
static void
check_window(int row, const char *pattern)
{
	int64_t limit = await_limit_ns(AWAIT_S);
	char how = how_of(&pattern);

	while (!is_said(shown(row), how, pattern)) {
		if (await_is_past(limit))
			wrong("the window does not show '%s':\n%s", pattern, shown(-1));
		await_ms(10);
	}
}

DOES(row, check_window(atoi(expand(rest)), strchr(rest, '>') + 1))

VERB(keys)
{
	char *shown = strstr(rest, " ;; %>");

	if (shown != NULL)
		*shown = '\0';
	split(rest);
	for (int i = 0; i < word_count; i++)
		must(*words[i] == '\0' || ASK("send-keys", "-t", "w", words[i]) != NULL, "the window takes no keys");
	if (shown != NULL)
		check_window(-1, shown + strlen(" ;; %>"));
}

/* ---- the rest ---- */

static void
check_plain(void)
{
	for (int i = 0; i < 2; i++)
		for (const char *c = tool_said(last->tool, (enum stream)i); *c != '\0'; c++)
			must(*c == '\n' || (*c >= ' ' && *c <= '~'), "it shows a byte that a terminal would obey");
}

/* A line of what is shown; how many went before it. */
static void
check_line(const char *what, const char *line, size_t before)
{
	size_t n = strcspn(line, "\n");

	if (strcmp(what, "a screen") == 0) {
		must(n <= 80 && line[n] != '\0' && before < 24, "it fits no screen");
		return;
	}
	json_t *object = json_loadb(line, n, 0, NULL);
	must(json_is_object(object), "that is no object a line");
	json_decref(object);
}

/* No line on the terminal of who was looked at last is wider. */
VERB(columns)
{
	size_t most = (size_t)atoll(expand(rest)), n;

	for (const char *line = tool_said(last->tool, SHOWN); *line != '\0'; line += n + strspn(line + n, "\r\n"))
		must((n = strcspn(line, "\r\n")) <= most, "a line is wider");
}

VERB(shows) /* plain, json, a screen */
{
	size_t count = 0;

	last = &foreground;
	last->is_said[OUT] = last->is_said[ERR] = true;
	if (strcmp(rest, "json") != 0)
		check_plain();
	if (strcmp(rest, "plain") == 0)
		return;
	const char *line = *tool_out(last->tool) != '\0' ? tool_out(last->tool) : tool_err(last->tool);
	for (; *line != '\0'; line += strcspn(line, "\n") + 1)
		check_line(rest, line, count++);
}

/* What is said behind `mark`, to a ", } or a comma. */
static const char *
said_behind(const char *mark)
{
	int64_t limit = await_limit_ns(AWAIT_S);
	bool has_ended = false;

	must(last != NULL, "nobody says anything");
	last->is_said[OUT] = true;
	for (;; has_ended = tool_has_ended(last->tool)) {
		const char *found = strstr(tool_out(last->tool), mark);
		if (found != NULL && strpbrk(found + strlen(mark), "\",}") != NULL)
			return found + strlen(mark);
		must(!has_ended && !await_is_past(limit), "it does not say that");
		await_ms(1);
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
	if (strcmp(sign, "out") == 0 || strncmp(sign, "row ", 4) == 0) {
		value = *sign == 'o' ? tool_out(foreground.tool) : shown(atoi(sign + 4));
		foreground.is_said[OUT] |= *sign == 'o';
		set(line + 1, "%.*s", (int)strcspn(value, "\n"), value);
	} else if (strncmp(sign, "behind ", 7) == 0) {
		value = said_behind(sign + 7);
		set(line + 1, "%.*s", (int)strcspn(value, "\",}"), value);
	} else {
		set(line + 1, "%s", strncmp(sign, "redis ", 6) == 0 ? answer(sign + 6) : expand(sign));
	}
	return true;
}

/* It has ended, be it that nobody has reaped it. */
static bool
is_gone(const char *pid)
{
	return strchr("ZX", state_of(atoi(pid))) != NULL;
}

VERB(needs)
{
	char command[TEXT + 32];

	snprintf(command, sizeof command, "command -v %s >/dev/null", rest);
	if (system(command) != 0)
		skip();
}

VERB(secret) /* a b */
{
	char **next = secrets;

	split(rest);
	while (next < secrets + SECRETS && *next != NULL)
		next++;
	if (next + word_count > secrets + SECRETS)
		wrong("there are too many secrets");
	for (int i = 0; i < word_count; i++)
		next[i] = strdup(words[i]);
}

VERB(env) /* NAME value */
{
	char *value = strchr(rest, ' ');

	if (value != NULL)
		*value++ = '\0';
	tool_setenv(rest, value != NULL ? expand(value) : NULL);
}

DOES(clock, clock_ns = await_now_ns())
DOES(took, must(await_now_ns() - clock_ns >= atoll(rest) * MS, "it took less"))
DOES(sleep, await_ms(atoll(rest)))
DOES(goes, await_true(is_gone(expand(rest))))
DOES(gone, must(is_gone(expand(rest)), "it lives"))
DOES(lives, must(!is_gone(expand(rest)), "it has ended"))
DOES(uri, snprintf(where, sizeof where, "%s", expand(rest)))

static bool
play_verb(char *line)
{
	size_t n = strcspn(line, " ");

	for (const struct verb *verb = verbs; verb != NULL; verb = verb->next)
		if (strlen(verb->name) == n && strncmp(verb->name, line, n) == 0) {
			verb->act(line + n + (line[n] == ' '));
			return true;
		}
	return false;
}

static void
play_line(const char *from)
{
	char line[TEXT];

	if (*from == '\0' || *from == '#')
		return;
	snprintf(line, sizeof line, "%s", from);
	if (is_expectation(line))
		expect(&foreground, line);
	else if (line[0] == '%')
		check_window(-1, line + 2);
	else if (!play_variable(line) && !play_verb(line) && !play_saying(line) && !play_person(line))
		wrong("that is no statement");
}

static int play_block(int from, int to, int depth);

/* "each $a $b in x 1 | y 2", and its block */
static int
play_each(int from, int to, int depth)
{
	const char *names[WORDS + 1];
	char head[TEXT], *next;
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
		split(list);
		if (word_count != n)
			wrong("'%s' are not %d words", list, n);
		for (int i = 0; i < n; i++)
			set(names[i], "%s", words[i]);
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
	snprintf(where, sizeof where, "%s?timeout=60000", uri); /* a machine that stands still is no server that is away */
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
	close_window();
	tool_free(foreground.tool);
	for (int i = 0; i < FEW; i++)
		tool_free(background[i].tool);
	if (server_pid(server) == 0)
		server_restart(server);
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
add_scene(struct text *t, int at_line, const char *title)
{
	struct scene *scene = &scenes[scene_count];
	char *name;

	if (scene_count == SCENES || asprintf(&name, "%.*s: %s", (int)strcspn(t->path, "."), t->path, title) < 0)
		trouble("there are too many scenes");
	if (t->first < 0)
		t->first = at_line;
	else
		scene[-1].to = at_line;
	*scene = (struct scene){
		.sentence = {.name = name, .body = play, .own = &around_scene, .given = scene, .order = (unsigned)scene_count},
		.text = t, .from = at_line + 1};
	scene_count++;
	sentence_add(&scene->sentence);
}

static void
add(const char *path)
{
	struct text *t = calloc(1, sizeof *t);
	FILE *file = fopen(path, "re");
	char *rest = NULL, *line;
	size_t size = 0, n;

	if (t == NULL || file == NULL || getdelim(&rest, &size, '\0', file) < 0)
		trouble("%s cannot be read", path);
	fclose(file);
	t->path = strdup(strrchr(path, '/') + 1);
	t->first = -1;
	while ((line = strsep(&rest, "\n")) != NULL && t->count < (int)COUNT(t->line)) {
		int begun = t->count;

		t->line[t->count++] = line;
		while ((n = strlen(line)) > 0 && line[n - 1] == '\\' && t->count < (int)COUNT(t->line)) { /* it goes on */
			const char *more = strsep(&rest, "\n");

			more += strspn(more, "\t");
			memmove(line + n - 1, more, strlen(more) + 1);
			t->line[t->count++] = "";
		}
		if (strncmp(line, "== ", 3) == 0)
			add_scene(t, begun, line + 3);
	}
	scenes[scene_count - 1].to = t->count;
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
