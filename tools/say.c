#include "tools/say.h"

#include "tools/cli.h"
#include "tools/clock.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_MS = 100 };

/* In one write() where that is possible: several processes may share a log. What is not an error is dropped if
 * nobody reads it (a pager that shows a page, a stopped terminal): the command that it is about must not wait. An
 * error waits. */
void
cli_write_line(const char *line, size_t size, bool patient)
{
	while (size > 0) {
		struct pollfd err = {.fd = STDERR_FILENO, .events = POLLOUT};
		int ready = poll(&err, 1, patient ? -1 : PATIENCE_MS);
		size_t part = size < PIPE_BUF ? size : PIPE_BUF; /* a ready pipe takes this much without blocking */
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

/* RFC 3339, in UTC, so that the logs of several machines can be merged. */
static char *
utc(char out[static CLI_TIME_SIZE], int64_t ms)
{
	time_t s = (time_t)(ms / 1000);
	struct tm tm;
	size_t n = gmtime_r(&s, &tm) != NULL ? strftime(out, CLI_TIME_SIZE, "%Y-%m-%dT%H:%M:%S", &tm) : 0;

	snprintf(out + n, CLI_TIME_SIZE - n, ".%03dZ", (int)(ms % 1000));
	return out;
}

static json_t *
message(const struct cli *cli, const struct cli_news *news, const char *text)
{
	static const char *const levels[] = {
		[CLI_DETAIL] = "info", [CLI_INFO] = "info", [CLI_WARNING] = "warning", [CLI_ERROR] = "error"};
	json_t *object = json_pack("{ss ss so}", "command", cli->command->name, "level", levels[news->level], "text",
	                           cli_json_text(text));
	char time[CLI_TIME_SIZE];

	if (news->event != NULL) {
		cli_json_set_name(object, "lock", news->lock);
		json_object_set_new(object, "event", json_string(news->event));
		json_object_set_new(object, "fence", cli_json_hold_fence(news->fence));
		json_object_set_new(object, "remaining_ms", json_integer((json_int_t)news->remaining_ms));
	}
	json_object_set_new(object, "time", json_string(utc(time, news->time_ms)));
	return object;
}

static void
write_text(const struct cli *cli, enum cli_level level, const char *text, const char *json)
{
	char *line;
	int n = !cli->json     ? asprintf(&line, "leash %s: %s\n", cli->command->name, text)
	        : json != NULL ? asprintf(&line, "%s\n", json)
	                       : -1;

	if (n >= 0)
		cli_write_line(line, (size_t)n, level == CLI_ERROR);
	else
		fputs("leash: out of memory\n", stderr);
	free(n >= 0 ? line : NULL);
}

bool
cli_is_said(const struct cli *cli, enum cli_level level)
{
	return level == CLI_ERROR || (level == CLI_DETAIL ? cli->verbose : !cli->quiet);
}

void
cli_report(const struct cli *cli, const struct cli_news *news, const char *text)
{
	json_t *object;
	char *dumped;

	if (!cli_is_said(cli, news->level))
		return;
	object = cli->json ? message(cli, news, text) : NULL;
	dumped = object != NULL ? json_dumps(object, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;
	if (!log_send(cli, news, text, dumped))
		write_text(cli, news->level, text, dumped);
	free(dumped);
	json_decref(object);
}

static void __attribute__((format(printf, 3, 0)))
say_by(const struct cli *cli, enum cli_level level, const char *format, va_list args)
{
	struct cli_news news = {.level = level, .time_ms = clock_wall_ms()};
	char text[1024];

	vsnprintf(text, sizeof text, format, args);
	cli_report(cli, &news, text);
}

void
cli_say(const struct cli *cli, enum cli_level level, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say_by(cli, level, format, args);
	va_end(args);
}

int
cli_fail(const struct cli *cli, int status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say_by(cli, CLI_ERROR, format, args);
	va_end(args);
	return status;
}

int
cli_usage(const struct cli *cli, const char *format, ...)
{
	struct cli own = *cli;
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	own.log = (struct log){.kind = LOG_TO_STDERR};
	return cli_fail(&own, EXIT_USAGE, "%s; see leash %s --help", text, cli->command->name);
}

int
cli_exit_of(leash_status status)
{
	switch (status) {
	case LEASH_OK:
		return EXIT_OK;
	case LEASH_TIMEOUT:
	case LEASH_DEADLOCK:
		return EXIT_CONFLICT;
	case LEASH_LOST:
	case LEASH_NOT_HELD:
		return EXIT_LOST;
	case LEASH_INVALID:
		return EXIT_USAGE;
	case LEASH_UNAVAILABLE:
	case LEASH_UNKNOWN:
	case LEASH_PROTOCOL:
		return EXIT_NO_SERVER;
	case LEASH_DENIED:
		return EXIT_DENIED;
	case LEASH_MISMATCH:
	case LEASH_UNSUPPORTED:
		return EXIT_CONFIG;
	default:
		return EXIT_INTERNAL;
	}
}

int
cli_fail_with(const struct cli *cli, const leash_error *err)
{
	return cli_fail(cli, cli_exit_of(err->status), "%s", err->text);
}
