/* How commands speak: on standard error, as lines or with --json as objects; or to a log. */
#ifndef LEASH_TOOLS_SAY_H
#define LEASH_TOOLS_SAY_H

#include <leash.h>

#include <stdbool.h>
#include <stdint.h>

struct cli;

enum cli_level {
	CLI_DETAIL,  /* only with --verbose; in JSON "info" */
	CLI_INFO,    /* this and warnings: not with --quiet */
	CLI_WARNING,
	CLI_ERROR,   /* always */
};

bool cli_is_said(const struct cli *cli, enum cli_level level);

/* To the log that --log names, or to stderr: "leash run: ...", or as JSON. What a log does not take within 0.1 s goes
 * to stderr. Whatever is not an error is dropped if stderr does not take it within 0.1 s: a terminal that was stopped
 * must not stop a command that holds a lock. */
void cli_say(const struct cli *cli, enum cli_level level, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* As that is written: a line that is not `patient` may be dropped. */
void cli_write_line(const char *line, size_t size, bool patient);

/* Say what is wrong, and return `status`. */
int cli_fail(const struct cli *cli, int status, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* EXIT_USAGE, with a hint at --help; always to stderr, where who typed it looks. */
int cli_usage(const struct cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The status that cli_exit_of() gives. */
int cli_fail_with(const struct cli *cli, const leash_error *err);
int cli_exit_of(leash_status status);

/* What has happened to a hold: with `event`, JSON and journal have its fields. */
struct cli_news {
	enum cli_level level;
	const char *lock;  /* its name; NULL: none in particular */
	const char *event; /* "LOST"; NULL: none */
	uint64_t fence;
	int64_t remaining_ms;
	int64_t time_ms; /* when it happened, since 1970 */
};
void cli_report(const struct cli *cli, const struct cli_news *news, const char *text);

#endif
