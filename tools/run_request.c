#include "tools/run_request.h"

#include "tools/run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { LABEL_MAX = 50 };

static const struct cli_option waiting_options[] = {
	HOLD_WAIT_OPTIONS(struct run_request, "wait neither for the lock nor for the server", " for both"),
	HOLD_CONFLICT_OPTION(struct run_request),
	{.name = "connect-wait", .value = "DUR", .take = cli_take_duration,
	 .at = offsetof(struct run_request, connect_wait_ms), .help = "wait for a server that is away at most this long, "
	                                                              "whatever -n and -w say about the lock"},
	{.name = "fair", .take = cli_take_flag, .at = offsetof(struct run_request, fair),
	 .help = "strictly first come, first served, over all processes"},
	{.name = NULL},
};

static const struct cli_option job_options[] = {
	HOLD_TTL_OPTION(struct run_request, "1s"),
	{.name = "on-lost", .value = "HOW", .choices = GRACE_ON_LOST, .take = grace_take_on_lost,
	 .at = offsetof(struct run_request, grace),
	 .help = "what CMD gets if the lock is lost: term (default), kill, keep (nothing), or a signal"},
	{.letter = 'k', .name = "kill-after", .value = "DUR", .take = grace_take_kill_after,
	 .at = offsetof(struct run_request, grace),
	 .help = "time from TERM to KILL (default 5s, or a quarter of the lease if that is less)"},
	{.name = "max-run", .value = "DUR", .take = cli_take_duration, .at = offsetof(struct run_request, max_run_ms),
	 .help = "end CMD after this time, and exit with 124"},
	{.name = "foreground", .take = cli_take_flag, .at = offsetof(struct run_request, foreground),
	 .help = "CMD stays in the process group of leash"},
	HOLD_LOG_OPTION,
	{.name = NULL},
};

static const struct cli_option telling_options[] = {
	{.name = "label", .value = "TEXT", .take = cli_take_text, .at = offsetof(struct run_request, label),
	 .help = "the program name that others see (default: the name of CMD)"},
	{.name = "on-acquired", .value = "STRING", .take = cli_take_text, .at = offsetof(struct run_request, on_acquired),
	 .help = "run STRING with the shell once the lock is held, before CMD; if it fails, CMD is not run"},
	{.name = "on-lost-command", .value = "STRING", .take = cli_take_text,
	 .at = offsetof(struct run_request, on_lost_command),
	 .help = "run STRING with the shell if the lock was lost, once CMD is dead"},
	{.name = "report", .value = "FILE", .take = cli_take_text, .at = offsetof(struct run_request, report),
	 .help = "append a line of JSON to FILE that says how the run ended"},
	{.name = "no-uri-env", .take = cli_take_flag, .at = offsetof(struct run_request, no_uri_env),
	 .help = "remove LEASH_URI from the environment of CMD"},
	{.name = NULL},
};

static const struct cli_option end_options[] = {
	{.name = "skip-ok", .take = cli_take_flag, .at = offsetof(struct run_request, skip_ok),
	 .help = "like -q, and exit with 0 if another has it (for cron)"},
	{.name = "at-least", .value = "DUR", .take = cli_take_duration, .at = offsetof(struct run_request, at_least_ms),
	 .help = "keep the lock for at least this time"},
	{.name = "lost-exit-code", .value = "N", .take = cli_take_number, .at = offsetof(struct run_request, lost_exit),
	 .most = 255, .help = "exit status if the lock was lost (default 79)"},
	{.name = NULL},
};

static const struct cli_option value_options[] = {
	{.name = "value", .value = "TEXT", .take = cli_take_text, .at = offsetof(struct run_request, value),
	 .help = "the value that others see for this leader (default host:pid)"},
	{.name = NULL},
};

const struct cli_group run_groups[] = {
	{"Waiting", waiting_options, 0},
	{"What to hold", hold_need_options, offsetof(struct run_request, need)},
	{"The lease and CMD", job_options, 0},
	{"The end", end_options, 0},
	{"Telling others", telling_options, 0},
	{"Replicas", hold_replicas_options, offsetof(struct run_request, replicas)},
	{.options = NULL},
};

const struct cli_group run_groups_of_a_leader[] = {
	{"Leading", value_options, 0},
	{"Waiting", waiting_options, 0},
	{"The lease and CMD", job_options, 0},
	{"Telling others", telling_options, 0},
	{"Replicas", hold_replicas_options, offsetof(struct run_request, replicas)},
	{.options = NULL},
};

/* How many names there are at `at`: all up to "--"; without it one. The command of -c is behind one name. */
static int
count_names(int argc, char **argv, int at)
{
	if (at + 1 < argc && strcmp(argv[at + 1], "-c") == 0)
		return 1;
	for (int i = at + 1; i < argc; i++)
		if (strcmp(argv[i], "--") == 0)
			return i - at;
	return 1;
}

static int
take_names(struct run_request *r, char **names, int count)
{
	bool may_be_option = strcmp(names[-1], "--") != 0;
	char shown[80];

	for (int i = 0; i < count; i++) {
		if (i > 0 && may_be_option && names[i][0] == '-')
			return cli_usage(&r->cli, "'%s' behind a name: options come before the first, and a command behind --",
			                 cli_show_word(shown, sizeof shown, names[i]));
		if (cli_take_name(&r->cli, names[i]) != CLI_GO_ON)
			return EXIT_USAGE;
		if (names[i][0] == '\0' || strlen(names[i]) > LEASH_NAME_MAX)
			return cli_usage(&r->cli, "a lock's name has 1 to %d bytes, this one has %zu", LEASH_NAME_MAX,
			                 strlen(names[i]));
	}
	r->names = names;
	r->name_count = (size_t)count;
	return CLI_GO_ON;
}

/* Names and CMD, which begin at `at`. */
static int
take_words(struct run_request *r, int argc, char **argv, int at)
{
	int count = count_names(argc, argv, at), status;
	char shown[80];

	if (at == argc)
		return cli_usage(&r->cli, "which lock? A name is missing");
	if (r->value != NULL && count > 1)
		return cli_usage(&r->cli, "%d names: leash elect takes one", count);
	status = take_names(r, argv + at, count);
	if (status != CLI_GO_ON)
		return status;
	at += count;
	if (at < argc && strcmp(argv[at], "-c") == 0) {
		if (at + 2 != argc)
			return cli_usage(&r->cli, "-c needs one argument, a string for the shell, and nothing behind it");
		r->shell[0] = "/bin/sh";
		r->shell[1] = "-c";
		r->shell[2] = argv[at + 1];
		r->words = r->shell;
		return CLI_GO_ON;
	}
	if (at < argc && strcmp(argv[at], "--") == 0)
		at++;
	else if (at < argc && argv[at][0] == '-')
		return cli_usage(&r->cli,
		                 "'%s' behind the name: options come before it, and a command that begins with '-' after --",
		                 cli_show_word(shown, sizeof shown, argv[at]));
	if (at == argc)
		return cli_usage(&r->cli, "which command? It comes behind the name: leash run %s -- CMD",
		                 cli_show(shown, sizeof shown, r->names[0]));
	r->words = (const char *const *)argv + at;
	return CLI_GO_ON;
}

static int
check_value(const struct run_request *r)
{
	size_t size = strlen(r->value);

	if (size >= 1 && size <= LEASH_VALUE_MAX)
		return CLI_GO_ON;
	return cli_usage(&r->cli, "--value: it must have 1 to %d bytes, and has %zu", LEASH_VALUE_MAX, size);
}

/* It goes where a program's name is seen. */
static int
check_label(const struct run_request *r)
{
	size_t size = strlen(r->label);
	char shown[80];

	for (const char *c = r->label; *c != '\0'; c++)
		if (*c <= ' ' || *c > '~')
			size = 0;
	if (size >= 1 && size <= LABEL_MAX)
		return CLI_GO_ON;
	return cli_usage(&r->cli, "--label: '%s' is not 1 to %d printable characters of ASCII without a space",
	                 cli_show_word(shown, sizeof shown, r->label), LABEL_MAX);
}

/* Better now than when the run is over. */
static int
check_report(const struct run_request *r)
{
	int fd = open(r->report, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0644);
	char shown[200];

	if (fd >= 0) {
		close(fd);
		return CLI_GO_ON;
	}
	return cli_usage(&r->cli, "--report: '%s' cannot be written: %s", cli_show(shown, sizeof shown, r->report),
	                 strerror(errno));
}

int
run_request_read(struct run_request *r, const struct command *command, int argc, char **argv, const char *value)
{
	int status;

	*r = (struct run_request){
		.wait_ms = LEASH_FOREVER,
		.connect_wait_ms = RUN_AS_LONG,
		.ttl_ms = HOLD_TTL_MS,
		.conflict_exit = EXIT_CONFLICT,
		.lost_exit = EXIT_LOST,
		.grace = {.on_lost = SIGTERM},
		.value = value,
	};
	status = cli_read(r, command, argc, argv);
	if (r->skip_ok) {
		r->cli.quiet = true; /* cron mails each line: a server that was away for a second is not worth one */
		r->conflict_exit = EXIT_OK;
	}
	if (status == CLI_GO_ON)
		status = hold_check(&r->cli, &r->need, &r->replicas);
	if (status == CLI_GO_ON && r->value != NULL)
		status = check_value(r);
	if (status == CLI_GO_ON && r->label != NULL)
		status = check_label(r);
	if (status == CLI_GO_ON)
		status = take_words(r, argc, argv, optind);
	if (status == CLI_GO_ON && r->report != NULL)
		status = check_report(r);
	return status == CLI_GO_ON ? grace_set(&r->grace, &r->cli, r->ttl_ms) : status;
}
