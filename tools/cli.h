/* What all commands have in common: their options, how they speak, and how they reach the server. */
#ifndef LEASH_TOOLS_CLI_H
#define LEASH_TOOLS_CLI_H

#include "tools/command.h"

#include <leash.h>

#include <getopt.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What one command was told by the options that all have. */
struct cli {
	const struct command *command;
	const char *uri;    /* --redis; NULL: $LEASH_URI, see cli_check_server() */
	const char *prefix; /* --prefix, else $LEASH_PREFIX; NULL: the default */
	bool json, quiet, verbose;
	bool escaped; /* --escaped: names are as leash list shows them */
};

/* For getopt_long: put these into a command's own lists. */
#define CLI_SHORT "r:qvh"
#define CLI_LONG                                     \
	{"redis", required_argument, NULL, 'r'},         \
	{"prefix", required_argument, NULL, CLI_PREFIX}, \
	{"json", no_argument, NULL, CLI_JSON},           \
	{"escaped", no_argument, NULL, CLI_ESCAPED},     \
	{"quiet", no_argument, NULL, 'q'},               \
	{"verbose", no_argument, NULL, 'v'},             \
	{"help", no_argument, NULL, 'h'}
#define CLI_LONG_END {NULL, 0, NULL, 0}

enum { CLI_JSON = 0x100, CLI_PREFIX, CLI_ESCAPED, CLI_OWN }; /* values of long options without a letter; a command's own begin with CLI_OWN */

enum { CLI_GO_ON = -1 }; /* instead of an exit status */

/* Begin: before getopt_long(), whose opterr is off from now on. */
void cli_begin(struct cli *cli, const struct command *command);

/* What getopt_long() returned is none of the command's own: CLI_GO_ON, or the status to exit with at once (--help, or a mistake, which
 * has been told). */
int cli_option(struct cli *cli, int c, char **argv);

/* A word of the command line is a lock's name, or a pattern of such (NULL: none): with --escaped each \xHH in it becomes its byte, in
 * place. A server's URI with a password, for want of -r before it, is none: a name goes to the server, and is shown to everybody.
 * CLI_GO_ON, or usage, which has been told. */
int cli_take_name(const struct cli *cli, char *name);
int cli_take_pattern(const struct cli *cli, char *pattern);

/* One name or several behind the options. CLI_GO_ON, or usage, which has been told. */
int cli_names(const struct cli *cli, int argc, char **argv);

/* The one argument that there must be behind the options, and none behind it: a lock's name. NULL: usage, which has been told. */
const char *cli_only_name(const struct cli *cli, int argc, char **argv);

/* "30", "30s", "500ms", "1.5m", "2h", "1d" in ms. False: it is none, or not from 0 to ten years. */
bool cli_duration(const char *text, int64_t *ms);

/* The same for the argument of `option`; what is wrong has been told if it is not CLI_GO_ON. */
int cli_duration_option(const struct cli *cli, const char *option, const char *text, int64_t *ms);

/* Digits, from 0 to `max`. False: it is something else. */
bool cli_number(const char *text, int max, int *out);

/* An exit status as the argument of `option`: as cli_duration_option(). */
int cli_status_option(const struct cli *cli, const char *option, const char *text, int *status);

/* Was a server named, by --redis or $LEASH_URI? Else a command that looks goes on and says which one it asks, and any other is usage: a
 * lock in a server that nobody else uses keeps nobody out. CLI_GO_ON, or what to exit with; then it has been told. */
int cli_check_server(const struct cli *cli);

/* Connect; `program` is what others are told that has the lock, NULL: "leash". CLI_GO_ON, or what to exit with; then it has been told. */
int cli_open(const struct cli *cli, const char *program, leash_client **out);

/* The same with options, and again and again while the server is away, for at most `*wait_ms`, of which the rest is left. That is told, too.
 * What will not pass is not waited for: a password that is refused, a host name that does not exist, a socket that is not for us. */
int cli_open_patiently(const struct cli *cli, const leash_options *options, int64_t *wait_ms, leash_client **out);

/* For the handle of one who only looks: a quorum wants to be told a lease, and a guard that is no shorter, all the same. */
#define CLI_LOOKING LEASH_LOCK_OPTIONS(.lease_ms = 100, .restart_guard_ms = 100)

/* The options that cli_open() goes by. */
leash_options cli_client_options(const struct cli *cli, const char *program);

/* ---- speaking ---- */

/* To stderr, "leash run: ...", or as JSON; not if --quiet. What nobody takes within a tenth of a second is dropped: whoever holds a lock
 * does not stand still because a terminal does. */
void cli_say(const struct cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));
void cli_warn(const struct cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3))); /* in JSON a warning */
/* Only if --verbose. */
void cli_tell(const struct cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Say what is wrong, also if --quiet, for as long as that takes, and return `status`. */
int cli_fail(const struct cli *cli, int status, const char *format, ...) __attribute__((format(printf, 3, 4)));
int cli_usage(const struct cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3))); /* with a hint at --help */
int cli_fail_with(const struct cli *cli, const leash_error *err);                                    /* and as cli_exit_of() says */

/* What has happened to a hold, with its particulars as fields of the JSON. Errors also if --quiet. */
struct cli_news {
	const char *level; /* "error", "warning", "info" */
	const char *lock;  /* its name; NULL: none in particular */
	leash_event_type event;
	uint64_t fence;
	int64_t remaining_ms;
	int64_t time_ms; /* when it happened, since 1970 */
};
void cli_report(const struct cli *cli, const struct cli_news *news, const char *text);
int64_t cli_now_ms(void);

int cli_exit_of(leash_status status);

/* Bytes that nobody vouches for, fit for a terminal: what is not printable ASCII, and a \, as \xHH, so that it can be read back
 * (--escaped); what does not fit is cut off, and "..." says so. Returns `out`. */
char *cli_show(char *out, size_t size, const char *text);

/* The same for a word of the command line that is not what we expected there. It may have a password in it, which is not shown: a URI with
 * one, or whatever stands behind the '=' of an option. */
char *cli_show_word(char *out, size_t size, const char *word);

/* ms since 1970 as local time, "2026-11-20 08:42:05"; "" for 0. Returns `out`, which has room for CLI_TIME_SIZE. */
enum { CLI_TIME_SIZE = 32 };
char *cli_time(char *out, int64_t ms);

/* A span: "850 ms", "12.3 s", "4 min 5 s", "3 h 12 min", "2 d 4 h". Returns `out`, which has room for CLI_TIME_SIZE. */
char *cli_span(char *out, int64_t ms);

/* What leash run puts behind the name of its command, so that nobody takes leash's own pid, which goes with it, for that of the command. */
#define CLI_UNDER_RUN "(leash)"

/* "backup.sh, pid 4711 on web3", "backup.sh run by leash, pid 4711 on web3", or "a client that left no name". Returns `out`, which has room for CLI_PARTY_SIZE. */
enum { CLI_PARTY_SIZE = 4 * (LEASH_HOST_SIZE + LEASH_PROGRAM_SIZE) + 64 };
char *cli_party(char *out, const leash_party *party);

/* Colour for a stream? Only on a terminal, and never with NO_COLOR or TERM=dumb. */
bool cli_has_colour(int fd);

/* One object, one line, to stdout. Takes the reference. */
void cli_print(json_t *object);
json_t *cli_json_text(const char *text);       /* as it is if it is UTF-8, else as cli_show() has it */
json_t *cli_json_fence(uint64_t fence);        /* a string: 64 bits are too much for many readers of JSON */
json_t *cli_json_info(const leash_lock_info *info);

/* The name of a lock, or NULL: as a string if it is UTF-8, else null, and base64 under "<key>_base64": no two names are one. */
void cli_json_set_name(json_t *object, const char *key, const char *name);
json_t *cli_json_named(const char *name, json_t *rest); /* an object with the "name", and then all of `rest`, whose reference it takes */

/* Everything written? Standard output that cannot be written to is an error, but not a closed pipe. Returns the exit status. */
int cli_finish(const struct cli *cli, int status);

#endif
