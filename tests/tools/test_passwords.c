/* Passwords: whatever way they came in by, and whatever goes wrong, the command shows them to nobody: not on a terminal, in a log, in
 * JSON, in ps, to the server's other clients, or to the command that it runs. */
#include "tests/support/fake.h"
#include "tests/support/server.h"
#include "tests/support/test.h"
#include "tests/support/tool.h"
#include "tests/support/trouble.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

enum { USAGE = 64, NO_SERVER = 69 };

/* A password that needs encoding in a URI, and breaks what reads one carelessly. */
struct secret {
	const char *plain, *encoded;
};

static const struct secret right = {"hun:ter/2@x%y", "hun%3Ater%2F2%40x%25y"};
static const struct secret wrong = {"swo/rd:fish@%41", "swo%2Frd%3Afish%40%2541"};

static struct server *server; /* wants `right`, also of the user ann */

static void
start(void)
{
	server = server_start((const char *const[]){"--requirepass", right.plain, NULL});
	freeReplyObject(server_command(server, "ACL SETUSER ann on ~* &* +@all >%s", right.plain));
}

static void
end(void)
{
	server_stop(server);
}

GROUP(start, end);

/* ---- looking for them ---- */

/* Anything that would give it away: parts of it that stand between what a URI may be cut at count as well. */
static const char *
traitor(const char *text, const struct secret *secret)
{
	static const char *const parts[] = {"ter/2", "ter%2F2", "2@x", "2%40x", "rd:fish", "rd%3Afish", "swo/", "swo%2F", "hun:", "hun%3A"};

	if (strstr(text, secret->plain) != NULL || strstr(text, secret->encoded) != NULL)
		return secret->plain;
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (strstr(text, parts[i]) != NULL)
			return parts[i];
	return NULL;
}

static void
check_hidden(const char *where, const char *of, const char *text)
{
	const char *found = traitor(text, &right);

	if (found == NULL)
		found = traitor(text, &wrong);
	if (found != NULL)
		fail_msg("%s of %s has '%s' of a password:\n%s", where, of, found, text);
}

static void
check_run_hides(const char *of)
{
	check_hidden("standard output", of, tool_said());
	check_hidden("standard error", of, tool_complained());
}

/* What a file of /proc says of a process; empty if that has gone. To be freed. */
static char *
read_proc(pid_t pid, const char *file)
{
	char path[64], *text = calloc(1, 65536);
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, text, 65535);
		close(fd);
	}
	for (ssize_t i = 0; i < n; i++)
		if (text[i] == '\0')
			text[i] = ' ';
	return text;
}

/* ---- ways of handing one over ---- */

enum way { BY_URI, BY_FILE, BY_VARIABLE, WAYS };

static void
write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0)
		trouble("%s cannot be written", path);
}

/* A URI of the unix socket `path` with that password, of ann if `named`. */
static void
make_uri(char uri[500], enum way way, const struct secret *secret, const char *path, bool named)
{
	const char *user = named ? "ann" : "";

	if (way == BY_URI) {
		snprintf(uri, 500, "unix://%s:%s@%s?timeout=2000", user, secret->encoded, path);
	} else if (way == BY_FILE) {
		char file[200], line[100];

		snprintf(file, sizeof file, "%s/password", server_folder(server));
		snprintf(line, sizeof line, "%s\n", secret->plain);
		write_file(file, line);
		snprintf(uri, 500, "unix://%s%s%s?timeout=2000&password_file=%s", user, named ? "@" : "", path, file);
	} else {
		tool_setenv("THE_PASSWORD", secret->plain);
		snprintf(uri, 500, "unix://%s%s%s?timeout=2000&password_env=THE_PASSWORD", user, named ? "@" : "", path);
	}
}

/* ---- all commands ---- */

static const char *const lines[][8] = {
	{"run", "-w", "100ms", "job", "--", "true"},
	{"run", "-n", "--ttl", "10s", "job", "-c", "true"},
	{"acquire", "-n", "--ttl", "1s", "job"},
	{"renew", "job", "01234567-89ab-4def-8123-456789abcdef:1"},
	{"release", "job", "01234567-89ab-4def-8123-456789abcdef:1"},
	{"status", "job", "other"},
	{"list"},
	{"wait", "-w", "100ms", "free"},
	{"break", "--force", "job"},
	{"top", "--once"},
	{"doctor"},
	{"bench", "-t", "100ms", "-p", "2"},
};

enum { LINES = sizeof lines / sizeof *lines };

/* Line `n`, with these options behind the command's name. Returns its exit status. */
static int
run_line(int n, const char *uri, const char *option, const char *option2)
{
	const char *words[16] = {lines[n][0]};
	int i = 1;

	if (option != NULL)
		words[i++] = option;
	if (option2 != NULL)
		words[i++] = option2;
	for (int k = 1; k < 8 && lines[n][k] != NULL; k++)
		words[i++] = lines[n][k];
	return tool_run(uri, words);
}

/* Every command: if the URI has it, however much or little each is to say; else they take turns at that. `fails`: none may
 * succeed, which would show that they did nothing of what is looked at. */
static void
try_all(const char *what, const char *uri, enum way way, bool fails)
{
	static const char *const options[][2] = {{"-v", NULL}, {"-v", "--json"}, {"-q", "--json"}, {"-q", NULL}};

	for (int n = 0; n < LINES; n++)
		for (int i = 0; i < (way == BY_URI ? 4 : 1); i++) {
			const char *const *option = options[(n + (int)way + i) % 4];
			int status = run_line(n, uri, option[0], option[1]);
			char of[100];

			snprintf(of, sizeof of, "leash %s %s %s (%s)", lines[n][0], option[0], option[1] != NULL ? option[1] : "", what);
			check_run_hides(of);
			if (status == USAGE || (fails && status == 0))
				fail_msg("%s exits with %d: %s%s", of, status, tool_said(), tool_complained());
		}
}

SENTENCE(the_right_one_is_shown_by_no_command)
{
	static const char *const names[] = {"in the URI", "in a file", "in a variable"};
	char uri[500];

	for (enum way way = 0; way < WAYS; way++) {
		make_uri(uri, way, &right, server_socket(server), way != BY_FILE);
		assert_int_equal(TOOL(uri, "run", "job", "--", "true"), 0); /* it is right */
		try_all(names[way], uri, way, false);
	}
}

SENTENCE(a_wrong_one_is_shown_by_no_command)
{
	static const char *const names[] = {"wrong in the URI", "wrong in a file", "wrong in a variable"};
	char uri[500];

	for (enum way way = 0; way < WAYS; way++) {
		make_uri(uri, way, &wrong, server_socket(server), way == BY_FILE);
		try_all(names[way], uri, way, true);
	}
}

SENTENCE(one_for_a_server_that_is_not_there_is_shown_by_no_command)
{
	char uri[500], path[200];

	snprintf(path, sizeof path, "%s/nobody", server_folder(server));
	for (enum way way = 0; way < WAYS; way++) {
		make_uri(uri, way, &right, path, true);
		try_all("nobody there", uri, way, true);
	}
}

/* A URI that is none is where careless programs show all of it. All commands read it with the same function: they take turns. */
SENTENCE(one_in_a_uri_that_is_malformed_is_shown_by_no_command)
{
	static const char *const uris[] = {"redis://ann:%s@127.0.0.1:x",  "redis://ann:%s@127.0.0.1/x", "redis://ann:%s@[::1", "gopher://ann:%s@x",
	                                   "redis://:%s@h?password_env=X", "ann:%s@h",                  "redis:/ann:%s@h",     "redis://:%s"};
	const struct secret *secrets[] = {&right, &wrong};
	char uri[200];

	for (size_t i = 0; i < sizeof uris / sizeof *uris; i++)
		for (int raw = 0; raw < 4; raw++)
			for (int n = (int)i % 4; n < LINES; n += 4) {
				const struct secret *secret = secrets[raw / 2];

				snprintf(uri, sizeof uri, uris[i], raw % 2 ? secret->plain : secret->encoded);
				if (run_line(n, uri, "-v", (n / 4 + raw) % 2 ? "--json" : NULL) == 0)
					fail_msg("leash %s takes %s", lines[n][0], uri);
				check_run_hides(lines[n][0]);
			}
}

/* ---- a server that repeats what it hears ---- */

/* Refuse, and quote it: the login alone, or else everything. */
static size_t
quote(void *everything, int argc, const char **argv, const size_t *argl, char *out, size_t size)
{
	size_t n = 0;

	if (!fake_is(argc, argv, argl, 0, "AUTH") && !fake_is(argc, argv, argl, 0, "HELLO") && *(bool *)everything == false)
		return FAKE_DEFAULT;
	n += fake_say(out, size, "-WRONGPASS no '");
	for (int i = 0; i < argc; i++) {
		for (size_t k = 0; k < argl[i] && n < size - 8; k++)
			out[n++] = argv[i][k] == '\r' || argv[i][k] == '\n' ? ' ' : argv[i][k];
		out[n++] = ' ';
	}
	return n + fake_say(out + n, size - n, "' is not right\r\n");
}

SENTENCE(one_that_the_server_quotes_is_shown_by_no_command)
{
	char uri[500];

	for (int n = 0; n < 2; n++) {
		bool everything = n == 1;
		struct fake *fake = fake_start(quote, &everything);

		make_uri(uri, BY_URI, &right, strstr(fake_uri(fake), "/") + 2, true);
		try_all("a server that quotes", uri, BY_URI, true);
		assert_true(fake_saw(fake, right.plain)); /* so it could have been shown */
		make_uri(uri, BY_VARIABLE, &right, strstr(fake_uri(fake), "/") + 2, false);
		try_all("a server that quotes", uri, BY_VARIABLE, true);
		fake_stop(fake);
	}
}

/* ---- while it runs ---- */

/* All that the server would tell others, in one text. To be freed. */
static char *
all_in_server(void)
{
	redisReply *keys = server_command(server, "KEYS *");
	char *all = NULL;
	size_t size;
	FILE *into = open_memstream(&all, &size);

	assert_int_equal(keys->type, REDIS_REPLY_ARRAY);
	fprintf(into, "%s\n%s\n", server_text(server, "CLIENT LIST"), server_text(server, "CONFIG GET proc-title-template"));
	for (size_t i = 0; i < keys->elements; i++) {
		const char *key = keys->element[i]->str, *type = server_text(server, "TYPE %s", key);

		fprintf(into, "%s\n", key);
		if (strcmp(type, "hash") == 0)
			fprintf(into, "%s\n", server_text(server, "HGETALL %s", key));
		else if (strcmp(type, "zset") == 0)
			fprintf(into, "%s\n", server_text(server, "ZRANGE %s 0 -1", key));
		else if (strcmp(type, "string") == 0)
			fprintf(into, "%s\n", server_text(server, "GET %s", key));
	}
	fclose(into);
	freeReplyObject(keys);
	return all;
}

SENTENCE(one_that_is_in_use_is_on_no_command_line_and_in_no_key_of_the_server)
{
	char uri[500], *text;

	for (enum way way = 0; way < WAYS; way++) {
		struct tool *holder, *waiter;

		make_uri(uri, way, &right, server_socket(server), true);
		holder = TOOL_START(uri, "run", "-v", "job", "--", "sh", "-c", "echo on; tr '\\0' ' ' </proc/$PPID/cmdline; exec sleep 1000");
		tool_await_out(holder, "on\n");
		waiter = TOOL_START(uri, "run", "-v", "--json", "job", "--", "true");
		await_true(server_integer(server, "EXISTS leash:{job}:queue") == 1);
		text = read_proc(tool_pid(holder), "cmdline");
		assert_non_null(strstr(text, "job"));
		check_hidden("the command line", "leash run", text);
		free(text);
		text = all_in_server();
		assert_non_null(strstr(text, "leash:{job}"));
		assert_non_null(strstr(text, "name=leash:"));
		check_hidden("what is in the server", "leash run", text);
		free(text);
		tool_signal(waiter, SIGTERM);
		tool_signal(holder, SIGTERM);
		tool_wait(waiter);
		tool_wait(holder);
		check_hidden("standard output", "leash run", tool_out(holder));
		check_hidden("standard error", "leash run", tool_err(holder));
		check_hidden("standard error", "a leash run that waits", tool_err(waiter));
		tool_free(waiter);
		tool_free(holder);
	}
}

/* What is in the environment anyway is passed on, for a leash within; but no more than that. */
SENTENCE(one_from_a_file_is_not_in_the_environment_of_what_is_run)
{
	char uri[500];

	tool_setenv("THE_PASSWORD", NULL);
	make_uri(uri, BY_FILE, &right, server_socket(server), true);
	assert_int_equal(TOOL(uri, "run", "job", "--", "env"), 0);
	assert_non_null(strstr(tool_said(), "LEASH_NAME=job"));
	check_run_hides("env");
}

/* ---- on the command line ---- */

static void
check_refused(int status, const char *what)
{
	if (status != USAGE || strstr(tool_complained(), "password_file") == NULL)
		fail_msg("%s is not refused: %s", what, tool_complained());
	check_run_hides(what);
}

/* The commands take turns. */
SENTENCE(on_the_command_line_it_is_refused_in_all_spellings)
{
	static const char *const formats[] = {
		"redis://ann:%s@h", "redis://:%s@h:6379/3", "unix://:%s@/run/x", "unix://ann:%s@/run/x?db=2", "ann:%s@h", "//:%s@h", "rediss://:%s@[::1]",
		"redis:/ann:%s@127.0.0.1", "redis:///:%s@h", "gopher://:%s@x", "rediss://:%s@x@127.0.0.1", "redis://:%s@a,b?cluster=yes",
	};
	static const char *const before[] = {"--redis=%s", "--red=%s", "-r%s", "-qr%s", "-vr%s"};
	const char *forms[] = {right.plain, right.encoded, wrong.plain, wrong.encoded};
	char uri[200], joined[220];

	for (size_t i = 0; i < COUNT(formats); i++)
		for (size_t n = 0; n < COUNT(forms); n++) {
			snprintf(uri, sizeof uri, formats[i], forms[n]);
			snprintf(joined, sizeof joined, before[(i + n) % COUNT(before)], uri);
			check_refused(TOOL(NULL, lines[(i + 3 * n) % LINES][0], joined, "job"), joined);
			check_refused(TOOL(NULL, lines[(i + 3 * n + 5) % LINES][0], "-v", "-r", uri, "job"), uri);
		}
}

SENTENCE(in_the_wrong_place_of_the_command_line_it_is_not_repeated)
{
	static const char *const words[] = {"redis://ann:%s@h", "--rediss=redis://:%s@h", "--password=%s", "--uri=redis://ann:%s@h", "--json=redis://:%s@h"};
	const char *forms[] = {right.plain, right.encoded, wrong.plain, wrong.encoded};
	char word[200];

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		for (int n = 0; n < 4; n++) {
			snprintf(word, sizeof word, words[i], forms[n]);
			assert_int_equal(TOOL(NULL, word), USAGE);
			check_run_hides("leash");
			for (int line = n; line < LINES; line += 4) { /* they take turns */
				bool is_lock_or_command = i == 0 && lines[line][0][0] != 'l' && lines[line][0][0] != 'd';

				if (is_lock_or_command)
					continue;
				assert_int_equal(TOOL(NULL, lines[line][0], word, "job"), USAGE);
				check_run_hides(lines[line][0]);
			}
			assert_int_equal(TOOL(NULL, "wait", "-w", word, "job"), USAGE);
			check_run_hides("wait");
			assert_int_equal(TOOL(NULL, "acquire", "job", word), USAGE);
			check_run_hides("acquire");
			assert_int_equal(TOOL(NULL, "list", "*", word), USAGE);
			check_run_hides("list");
			if (i > 0)
				assert_int_equal(TOOL(NULL, "run", "job", word, "--", "true"), USAGE);
			check_run_hides("run");
			assert_int_equal(TOOL(NULL, "run", "--on-lost", word, "job", "--", "true"), USAGE);
			check_run_hides("run");
		}
}

/* Who forgets -r names a lock like that: in the server, and in everybody's list. */
SENTENCE(as_the_name_of_a_lock_it_is_refused)
{
	const char *uri = "redis://:Zu9!secret@127.0.0.1:1";
	const char *const calls[][6] = {
		{"run", uri, "--", "true"}, {"acquire", uri}, {"renew", uri, "token"}, {"release", uri, "token"},
		{"status", "job", uri},     {"wait", uri},    {"break", "--force", uri},
		{"list", uri},              {"top", "--once", uri},
	};

	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
		assert_int_equal(tool_run(server_uri(server), calls[i]), 64);
		assert_non_null(strstr(tool_complained(), "not a lock's name"));
		assert_null(strstr(tool_complained(), "Zu9"));
	}
	assert_int_equal(TOOL(NULL, "status", "-r", "unix:///nowhere", "redis://127.0.0.1"), 69); /* without one it may be a name */
}

/* A path may have what looks like one, and a user alone is none. */
SENTENCE(what_is_none_is_not_refused)
{
	static const char *const uris[] = {"unix:///nowhere/a:b@c", "unix://ann@/nowhere", "redis://ann@127.0.0.1:1", "redis://127.0.0.1:1/0?password_env=A:B@C",
	                                   "redis://[::1]:1", "unix:///nowhere?password_file=/a:b@c"};

	for (size_t i = 0; i < sizeof uris / sizeof *uris; i++) {
		TOOL(NULL, "status", "-r", uris[i], "job");
		assert_null(strstr(tool_complained(), "on the command line"));
	}
}
