#include "tools/cli.h"

#include "tools/aside.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- speaking ---- */

enum { PATIENCE_MS = 100 };

/* All of it at once where that can be done: several of us may share a log. What only informs is dropped if nobody takes it (a pager
 * that has shown its page, a terminal that is stopped): the command that it is about is worth more. An error waits. */
static void
write_line(const char *line, size_t size, bool patient)
{
	while (size > 0) {
		struct pollfd err = {.fd = STDERR_FILENO, .events = POLLOUT};
		int ready = poll(&err, 1, patient ? -1 : PATIENCE_MS);
		size_t part = size < PIPE_BUF ? size : PIPE_BUF; /* a pipe that is ready takes so much without making us wait */
		ssize_t n;

		if (ready < 0 && errno == EINTR)
			continue;
		if (ready <= 0)
			return;
		n = write(STDERR_FILENO, line, part);
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return;
		if (n > 0) {
			line += n;
			size -= (size_t)n;
		}
	}
}

/* RFC 3339, in UTC: logs of several machines are sorted by it. */
static char *
utc(char out[static CLI_TIME_SIZE], int64_t ms)
{
	time_t s = (time_t)(ms / 1000);
	struct tm tm;
	size_t n = gmtime_r(&s, &tm) != NULL ? strftime(out, CLI_TIME_SIZE, "%Y-%m-%dT%H:%M:%S", &tm) : 0;

	snprintf(out + n, CLI_TIME_SIZE - n, ".%03dZ", (int)(ms % 1000));
	return out;
}

int64_t
cli_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static json_t *
message(const struct cli *cli, const struct cli_news *news, const char *text)
{
	json_t *object = json_pack("{ss ss so}", "command", cli->command->name, "level", news->level, "text", cli_json_text(text));
	char time[CLI_TIME_SIZE];

	if (news->event != 0) {
		cli_json_set_name(object, "lock", news->lock);
		json_object_set_new(object, "event", json_string(leash_event_name(news->event)));
		json_object_set_new(object, "fence", cli_json_fence(news->fence));
		json_object_set_new(object, "remaining_ms", json_integer((json_int_t)news->remaining_ms));
	}
	json_object_set_new(object, "time", json_string(utc(time, news->time_ms)));
	return object;
}

static void
speak(const struct cli *cli, const struct cli_news *news, const char *text)
{
	json_t *object = NULL;
	char *dumped = NULL, *line = NULL;
	int n;

	if (cli->json) {
		object = message(cli, news, text);
		dumped = object != NULL ? json_dumps(object, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;
		n = dumped != NULL ? asprintf(&line, "%s\n", dumped) : -1;
	} else {
		n = asprintf(&line, "leash %s: %s\n", cli->command->name, text);
	}
	if (n >= 0)
		write_line(line, (size_t)n, news->level[0] == 'e');
	else
		fputs("leash: out of memory\n", stderr);
	free(n >= 0 ? line : NULL);
	free(dumped);
	json_decref(object);
}

static void __attribute__((format(printf, 3, 0)))
speak_by(const struct cli *cli, const char *level, const char *format, va_list args)
{
	struct cli_news news = {.level = level, .time_ms = cli_now_ms()};
	char text[1024];

	vsnprintf(text, sizeof text, format, args);
	speak(cli, &news, text);
}

void
cli_report(const struct cli *cli, const struct cli_news *news, const char *text)
{
	if (!cli->quiet || news->level[0] == 'e')
		speak(cli, news, text);
}

void
cli_say(const struct cli *cli, const char *format, ...)
{
	va_list args;

	if (cli->quiet)
		return;
	va_start(args, format);
	speak_by(cli, "info", format, args);
	va_end(args);
}

void
cli_warn(const struct cli *cli, const char *format, ...)
{
	va_list args;

	if (cli->quiet)
		return;
	va_start(args, format);
	speak_by(cli, "warning", format, args);
	va_end(args);
}

void
cli_tell(const struct cli *cli, const char *format, ...)
{
	va_list args;

	if (!cli->verbose)
		return;
	va_start(args, format);
	speak_by(cli, "info", format, args);
	va_end(args);
}

int
cli_fail(const struct cli *cli, int status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	speak_by(cli, "error", format, args);
	va_end(args);
	return status;
}

int
cli_usage(const struct cli *cli, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	return cli_fail(cli, EXIT_USAGE, "%s; see leash %s --help", text, cli->command->name);
}

int
cli_exit_of(leash_status status)
{
	switch (status) {
	case LEASH_OK:
		return EXIT_OK;
	case LEASH_TIMEOUT:
		return EXIT_CONFLICT;
	case LEASH_LOST:
	case LEASH_NOT_HELD:
		return EXIT_LOST;
	case LEASH_INVALID:
		return EXIT_USAGE;
	case LEASH_UNAVAILABLE:
	case LEASH_UNKNOWN:
	case LEASH_DENIED:
	case LEASH_MISMATCH:
	case LEASH_PROTOCOL:
	case LEASH_UNSUPPORTED:
		return EXIT_NO_SERVER;
	default:
		return EXIT_INTERNAL;
	}
}

int
cli_fail_with(const struct cli *cli, const leash_error *err)
{
	return cli_fail(cli, cli_exit_of(err->status), "%s", err->text);
}

char *
cli_show(char *out, size_t size, const char *text)
{
	static const char cut[] = "...";
	size_t n = 0, fits = 0; /* `fits`: so far, with room for the dots */

	for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++) {
		bool plain = *c >= ' ' && *c <= '~' && *c != '\\';
		size_t more = plain ? 1 : 4;

		if (n + more >= size) {
			n = fits;
			n += (size_t)snprintf(out + n, size - n, "%s", size - n > sizeof cut - 1 ? cut : "");
			break;
		}
		if (plain)
			out[n] = (char)*c;
		else
			snprintf(out + n, size - n, "\\x%02x", *c);
		n += more;
		if (n + sizeof cut <= size)
			fits = n;
	}
	out[n] = '\0';
	return out;
}

char *
cli_time(char *out, int64_t ms)
{
	time_t s = (time_t)(ms / 1000);
	struct tm tm;

	if (ms == 0 || localtime_r(&s, &tm) == NULL || strftime(out, CLI_TIME_SIZE, "%Y-%m-%d %H:%M:%S", &tm) == 0)
		out[0] = '\0';
	return out;
}

char *
cli_span(char *out, int64_t ms)
{
	long long s = ms / 1000;

	if (ms < 1000)
		snprintf(out, CLI_TIME_SIZE, "%lld ms", (long long)ms);
	else if (s < 60)
		snprintf(out, CLI_TIME_SIZE, "%lld.%lld s", s, (long long)ms % 1000 / 100);
	else if (s < 3600)
		snprintf(out, CLI_TIME_SIZE, "%lld min %lld s", s / 60, s % 60);
	else if (s < 86400)
		snprintf(out, CLI_TIME_SIZE, "%lld h %lld min", s / 3600, s % 3600 / 60);
	else
		snprintf(out, CLI_TIME_SIZE, "%lld d %lld h", s / 86400, s % 86400 / 3600);
	return out;
}

char *
cli_party(char *out, const leash_party *p)
{
	static const char under_run[] = CLI_UNDER_RUN;
	char program[4 * LEASH_PROGRAM_SIZE], host[4 * LEASH_HOST_SIZE], *end;
	bool is_run;

	cli_show(program, sizeof program, p->program);
	end = program + strlen(program) - (sizeof under_run - 1);
	is_run = end > program && strcmp(end, under_run) == 0;
	if (is_run)
		*end = '\0';
	if (p->pid == 0)
		snprintf(out, CLI_PARTY_SIZE, "a client that left no name");
	else
		snprintf(out, CLI_PARTY_SIZE, "%s%s, pid %lld on %s", program, is_run ? " run by leash" : "", (long long)p->pid,
		         cli_show(host, sizeof host, p->host));
	return out;
}

bool
cli_has_colour(int fd)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return (no == NULL || no[0] == '\0') && term != NULL && strcmp(term, "dumb") != 0 && isatty(fd) == 1;
}

/* ---- JSON ---- */

static bool unwritten; /* something could not be said for lack of memory */

void
cli_print(json_t *object)
{
	char *line = object != NULL ? json_dumps(object, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;

	if (line != NULL)
		puts(line);
	else
		unwritten = true;
	free(line);
	json_decref(object);
}

json_t *
cli_json_text(const char *text)
{
	json_t *string = json_string(text);
	char shown[4 * LEASH_NAME_MAX + 1];

	return string != NULL ? string : json_string(cli_show(shown, sizeof shown, text));
}

/* RFC 4648, with padding. `out` has room for 4 bytes of each 3 that are begun, and a NUL. */
static void
encode_base64(char *out, const char *name, size_t size)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < size; i += 3) {
		size_t left = size - i;
		uint32_t bits = (uint32_t)(unsigned char)name[i] << 16;

		if (left > 1)
			bits |= (uint32_t)(unsigned char)name[i + 1] << 8;
		if (left > 2)
			bits |= (unsigned char)name[i + 2];
		*out++ = digits[bits >> 18];
		*out++ = digits[bits >> 12 & 63];
		*out++ = left > 1 ? digits[bits >> 6 & 63] : '=';
		*out++ = left > 2 ? digits[bits & 63] : '=';
	}
	*out = '\0';
}

void
cli_json_set_name(json_t *object, const char *key, const char *name)
{
	char base64_key[32], base64[(LEASH_NAME_MAX + 2) / 3 * 4 + 1];
	json_t *string = name != NULL ? json_string(name) : NULL; /* none: it is not UTF-8 */

	json_object_set_new(object, key, string != NULL ? string : json_null());
	if (string != NULL || name == NULL)
		return;
	snprintf(base64_key, sizeof base64_key, "%s_base64", key);
	encode_base64(base64, name, strnlen(name, LEASH_NAME_MAX));
	json_object_set_new(object, base64_key, json_string(base64));
}

json_t *
cli_json_named(const char *name, json_t *rest)
{
	json_t *object = json_object();

	cli_json_set_name(object, "name", name);
	if (rest == NULL || json_object_update(object, rest) != 0) {
		json_decref(object);
		object = NULL;
	}
	json_decref(rest);
	return object;
}

json_t *
cli_json_fence(uint64_t fence)
{
	char digits[24];

	snprintf(digits, sizeof digits, "%llu", (unsigned long long)fence);
	return json_string(digits);
}

/* A party as an object, or null if there is none. */
static json_t *
party(const leash_party *p)
{
	if (p->token[0] == '\0')
		return json_null();
	return json_pack("{ss so sI so sI}", "token", p->token, "host", cli_json_text(p->host), "pid", (json_int_t)p->pid, "program",
	                 cli_json_text(p->program), "since_ms", (json_int_t)p->since_ms);
}

json_t *
cli_json_info(const leash_lock_info *info)
{
	return cli_json_named(info->name, json_pack("{sb so so sI sI sI so}", "held", info->held, "holder", party(&info->holder), "fence",
	                                            cli_json_fence(info->fence), "held_since_ms", (json_int_t)info->held_since_ms, "remaining_ms",
	                                            (json_int_t)info->remaining_ms, "depth", (json_int_t)info->depth, "waiting",
	                                            info->no_queue ? json_null() : json_integer((json_int_t)info->waiting)));
}

/* ---- durations ---- */

bool
cli_duration(const char *text, int64_t *ms)
{
	static const struct {
		const char *name;
		double ms;
	} units[] = {{"", 1000}, {"ms", 1}, {"s", 1000}, {"m", 60000}, {"min", 60000}, {"h", 3600000}, {"d", 86400000}};
	size_t digits = strspn(text, "0123456789"), n = digits;
	double value;

	if (text[n] == '.')
		n += 1 + strspn(text + n + 1, "0123456789");
	if (digits == 0 || n > 20 || text[n - 1] == '.')
		return false;
	value = strtod(text, NULL); /* the C locale: nobody called setlocale */
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (strcmp(text + n, units[i].name) == 0) {
			value *= units[i].ms;
			if (value > 10 * 365.25 * 86400000)
				return false;
			*ms = (int64_t)(value + 0.5);
			if (*ms == 0 && value > 0)
				*ms = 1; /* a tenth of a millisecond is not "do not" */
			return true;
		}
	return false;
}

int
cli_duration_option(const struct cli *cli, const char *option, const char *text, int64_t *ms)
{
	char shown[80];

	if (cli_duration(text, ms))
		return CLI_GO_ON;
	return cli_usage(cli, "%s: '%s' is not a duration: write 30s, 500ms, 5m, 2h or 1d", option, cli_show_word(shown, sizeof shown, text));
}

/* ---- numbers ---- */

bool
cli_number(const char *text, int max, int *out)
{
	char *end;
	long n;

	if (text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	n = strtol(text, &end, 10);
	if (*end != '\0' || errno != 0 || n > max)
		return false;
	*out = (int)n;
	return true;
}

int
cli_status_option(const struct cli *cli, const char *option, const char *text, int *status)
{
	char shown[80];

	if (cli_number(text, 255, status))
		return CLI_GO_ON;
	return cli_usage(cli, "%s: '%s' is not an exit status: write a number from 0 to 255", option, cli_show_word(shown, sizeof shown, text));
}

/* ---- options ---- */

void
cli_begin(struct cli *cli, const struct command *command)
{
	const char *prefix = secure_getenv("LEASH_PREFIX");

	*cli = (struct cli){.command = command, .prefix = prefix != NULL && prefix[0] != '\0' ? prefix : NULL};
	opterr = 0;
	optind = 0; /* of glibc: from the start */
}

/* A URI with a password in it, or something that may have been meant as one: "redis://user:pa/ss@host" is no URI, but no less secret. */
static bool
has_password(const char *uri)
{
	const char *from = strstr(uri, "://"), *query, *at, *colon;

	if (strncasecmp(uri, "unix:///", 8) == 0)
		return false; /* a path may have any of these */
	from = from != NULL ? from + 3 : uri;
	query = from + strcspn(from, "?");
	at = memrchr(from, '@', (size_t)(query - from));
	if (at == NULL && query[strcspn(query, "=@")] == '@')
		at = strrchr(query, '@'); /* a '?' in the password */
	colon = at != NULL ? memchr(from, ':', (size_t)(at - from)) : NULL;
	return colon != NULL && colon + 1 < at;
}

/* Everybody can read a command line, in ps and in /proc. */
static int
take_uri(struct cli *cli, char *uri)
{
	if (!has_password(uri)) {
		cli->uri = uri;
		return CLI_GO_ON;
	}
	explicit_bzero(uri, strlen(uri)); /* it was there for a moment; not for longer */
	return cli_usage(cli, "--redis: a password does not belong on the command line, where everybody can read it: put the URI into "
	                      "$LEASH_URI, or the password into a file, ?password_file=PATH, or a variable, ?password_env=NAME");
}

char *
cli_show_word(char *out, size_t size, const char *word)
{
	char option[80];

	if (word[0] == '-' && strchr(word, '=') != NULL) {
		snprintf(option, sizeof option, "%.*s", (int)strcspn(word, "="), word);
		word = option;
	}
	return cli_show(out, size, has_password(word) ? "***" : word);
}

/* getopt_long() refuses a word: which, and why? It steps over words with long options before it looks at them, but stays at one of
 * letters until it has seen the last. */
static int
refuse_option(const struct cli *cli, char **argv)
{
	const char *word = argv[optind - 1], *next = argv[optind];
	bool is_letter = optopt != 0 && optopt < CLI_JSON && strchr("hqv", optopt) == NULL;
	bool in_next = is_letter && next != NULL && next[0] == '-' && next[1] != '-' && strchr(next + 1, optopt) != NULL;
	char name[80], shown[80];

	if (strncmp(word, "--", 2) != 0 || in_next) {
		snprintf(name, sizeof name, "-%c", optopt);
		return cli_usage(cli, "there is no option %s", cli_show(shown, sizeof shown, name));
	}
	cli_show_word(shown, sizeof shown, word);
	if (optopt != 0)
		return cli_usage(cli, "%s takes no argument", shown);
	return cli_usage(cli, "there is no option %s, or there are several that begin so", shown);
}

/* The same for an option whose argument is missing: the last word of all. */
static int
refuse_lack(const struct cli *cli, char **argv)
{
	const char *word = argv[optind - 1];
	char name[80], shown[80];

	if (strncmp(word, "--", 2) == 0)
		snprintf(name, sizeof name, "%s", word);
	else
		snprintf(name, sizeof name, "-%c", optopt);
	return cli_usage(cli, "%s needs an argument", cli_show(shown, sizeof shown, name));
}

int
cli_option(struct cli *cli, int c, char **argv)
{
	switch (c) {
	case 'r':
		return take_uri(cli, optarg);
	case CLI_PREFIX:
		cli->prefix = optarg;
		return CLI_GO_ON;
	case CLI_JSON:
		cli->json = true;
		return CLI_GO_ON;
	case CLI_ESCAPED:
		cli->escaped = true;
		return CLI_GO_ON;
	case 'q':
		cli->quiet = true;
		return CLI_GO_ON;
	case 'v':
		cli->verbose = true;
		return CLI_GO_ON;
	case 'h':
		fputs(cli->command->help, stdout);
		return cli_finish(cli, EXIT_OK);
	case ':':
		return refuse_lack(cli, argv);
	default:
		return refuse_option(cli, argv);
	}
}

/* ---- names ---- */

/* A URI of a server where a name is expected, for want of -r before it. */
static bool
is_uri_with_password(const char *word)
{
	static const char *const schemes[] = {"redis://", "rediss://", "redis+", "rediss+", "unix://"};

	for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
		if (strncasecmp(word, schemes[i], strlen(schemes[i])) == 0 && has_password(word))
			return true;
	return false;
}

/* "\x41" is 'A'. -1: there is no such escape. */
static int
escaped_byte(const char *at)
{
	static const char digits[] = "0123456789abcdef";
	int high, low;

	if (at[0] != '\\' || at[1] != 'x' || !isxdigit((unsigned char)at[2]) || !isxdigit((unsigned char)at[3]))
		return -1;
	high = (int)(strchr(digits, tolower((unsigned char)at[2])) - digits);
	low = (int)(strchr(digits, tolower((unsigned char)at[3])) - digits);
	return high << 4 | low;
}

static bool
looks_escaped(const char *word)
{
	for (const char *at = word; (at = strchr(at, '\\')) != NULL; at++)
		if (escaped_byte(at) > 0)
			return true;
	return false;
}

/* In place: it gets no longer. A byte that means something in a pattern means itself there if it was escaped so. */
static bool
unescape(char *word, bool pattern)
{
	char *to = word;
	int byte;

	for (const char *from = word; *from != '\0';) {
		if (*from != '\\') {
			*to++ = *from++;
			continue;
		}
		byte = escaped_byte(from);
		if (byte <= 0 && !(pattern && from[1] != 'x' && from[1] != '\0'))
			return false;
		if (byte <= 0) { /* the pattern's own \ */
			*to++ = *from++;
			*to++ = *from++;
			continue;
		}
		if (pattern && strchr("*?[]\\", byte) != NULL)
			*to++ = '\\';
		*to++ = (char)byte;
		from += 4;
	}
	*to = '\0';
	return true;
}

static int
take_word(const struct cli *cli, char *word, const char *what, bool pattern)
{
	char shown[200];

	if (is_uri_with_password(word)) {
		explicit_bzero(word, strlen(word));
		return cli_usage(cli, "that is the URI of a server, with a password, and not a lock's name: put it into $LEASH_URI");
	}
	if (!cli->escaped && looks_escaped(word))
		cli_warn(cli, "%s '%s': the \\ in it is taken literally; to give it as leash list shows names, add --escaped", what,
		         cli_show(shown, sizeof shown, word));
	if (cli->escaped && !unescape(word, pattern))
		return cli_usage(cli, "--escaped: a \\ begins \\xHH, two digits that are not 00; a \\ itself is \\x5c");
	return CLI_GO_ON;
}

int
cli_take_name(const struct cli *cli, char *name)
{
	return take_word(cli, name, "name", false);
}

int
cli_take_pattern(const struct cli *cli, char *pattern)
{
	return pattern != NULL ? take_word(cli, pattern, "pattern", true) : CLI_GO_ON;
}

int
cli_names(const struct cli *cli, int argc, char **argv)
{
	int status = optind < argc ? CLI_GO_ON : cli_usage(cli, "which lock? A name is missing (leash list shows all that are held)");

	for (int i = optind; i < argc && status == CLI_GO_ON; i++)
		status = cli_take_name(cli, argv[i]);
	return status;
}

const char *
cli_only_name(const struct cli *cli, int argc, char **argv)
{
	char shown[80];

	if (optind + 1 < argc) {
		cli_usage(cli, "one name is enough: what is '%s'?", cli_show_word(shown, sizeof shown, argv[optind + 1]));
		return NULL;
	}
	return cli_names(cli, argc, argv) == CLI_GO_ON ? argv[optind] : NULL;
}

/* ---- the server ---- */

static void
log_line(void *arg, leash_log_level level, const char *line)
{
	const struct cli *cli = arg;

	(void)level;
	cli_tell(cli, "%s", line);
}

leash_options
cli_client_options(const struct cli *cli, const char *program)
{
	return (leash_options){
		.size = sizeof(leash_options),
		.uri = cli->uri,
		.prefix = cli->prefix,
		.client_name = program,
		.on_log = cli->verbose ? log_line : NULL,
		.log_arg = (void *)(uintptr_t)cli, /* which it only reads */
	};
}

/* Those that take no lock, keep none, give none back and wait for none. */
static bool
only_looks(const struct command *command)
{
	return command == &command_status || command == &command_list || command == &command_top || command == &command_doctor;
}

int
cli_check_server(const struct cli *cli)
{
	if (cli->uri != NULL || secure_getenv("LEASH_URI") != NULL)
		return CLI_GO_ON;
	if (!only_looks(cli->command))
		return cli_usage(cli, "which server? Give --redis URI, or set LEASH_URI (sudo and cron drop yours); the one on this machine is "
		                      "redis://127.0.0.1:6379");
	cli_say(cli, "neither --redis nor LEASH_URI names a server: asking redis://127.0.0.1:6379");
	return CLI_GO_ON;
}

/* Of a wait of `wait_ms` that began then. */
static int64_t
time_left(int64_t wait_ms, int64_t began_ns)
{
	int64_t spent_ms = (aside_now_ns() - began_ns) / 1000000;

	return wait_ms == LEASH_FOREVER ? wait_ms : wait_ms > spent_ms ? wait_ms - spent_ms : 0;
}

enum { RETRY_LEAST_MS = 50, RETRY_MOST_MS = 1000 };

/* Half of `pause_ms` or more, by chance: those who were all started at three o'clock do not come back all at once. */
static void
sleep_about(int64_t pause_ms, int64_t at_most_ms)
{
	int64_t half = pause_ms / 2, ms = half + aside_now_ns() / 1000 % (half + 1);
	struct timespec t;

	if (at_most_ms != LEASH_FOREVER && ms > at_most_ms)
		ms = at_most_ms;
	t = (struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
	nanosleep(&t, NULL);
}

static void
end(int signal)
{
	_exit(128 + signal);
}

/* The first process of a container gets no signal that it has no handler for: without this nobody could end its waiting. */
static void
end_by_signals_as_others_do(void)
{
	static const int ending[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
	struct sigaction action = {.sa_handler = end}, was;

	if (getpid() != 1)
		return;
	for (size_t i = 0; i < sizeof ending / sizeof *ending; i++)
		if (sigaction(ending[i], NULL, &was) == 0 && was.sa_handler == SIG_DFL)
			sigaction(ending[i], &action, NULL);
}

static bool
may_pass(const leash_error *err)
{
	return err->status == LEASH_UNAVAILABLE && err->sys_errno != ENXIO && err->sys_errno != EACCES;
}

int
cli_open_patiently(const struct cli *cli, const leash_options *options, int64_t *wait_ms, leash_client **out)
{
	const int64_t began = aside_now_ns(), limit_ms = *wait_ms;
	int64_t pause_ms = RETRY_LEAST_MS;
	leash_error err;

	if (cli_check_server(cli) != CLI_GO_ON)
		return EXIT_USAGE;
	end_by_signals_as_others_do();
	for (bool told = false; leash_open(out, options, &err) != LEASH_OK; told = true) {
		if (*wait_ms == 0 || !may_pass(&err))
			return cli_fail_with(cli, &err);
		if (!told)
			cli_say(cli, "%s; retrying", err.text);
		sleep_about(pause_ms, *wait_ms);
		pause_ms = 2 * pause_ms < RETRY_MOST_MS ? 2 * pause_ms : RETRY_MOST_MS;
		*wait_ms = time_left(limit_ms, began);
	}
	*wait_ms = time_left(limit_ms, began);
	return CLI_GO_ON;
}

int
cli_open(const struct cli *cli, const char *program, leash_client **out)
{
	leash_options options = cli_client_options(cli, program);
	int64_t none = 0;

	return cli_open_patiently(cli, &options, &none, out);
}

int
cli_finish(const struct cli *cli, int status)
{
	bool fine = fflush(stdout) == 0;
	int error = errno;

	if (unwritten)
		return cli_fail(cli, EXIT_INTERNAL, "out of memory: not all was written");
	if (fine && !ferror(stdout))
		return status;
	if (!fine && error == EPIPE)
		return status;
	/* of an earlier write nobody kept what it said */
	return cli_fail(cli, status != EXIT_OK ? status : EXIT_INTERNAL, "standard output: %s", fine ? "not all of it could be written" : strerror(error));
}
