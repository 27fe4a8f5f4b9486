/* leash run: a command under a lock, or under several; and leash elect, under one that it leads by.
 *
 * Read the options; acquire the lock, or find that a run around this one holds it (nesting.h); start CMD (job.h),
 * watch it (supervisor.h); release the lock; exit as CMD did, or as the table in the manual says. What is said while
 * CMD runs goes through the stderr writer, so that a blocked standard error cannot delay the end of CMD.
 *
 * Who leads proclaims its value before CMD is started; and who lost that stands again, once CMD is dead. */
#include "tools/cli.h"
#include "tools/clock.h"
#include "tools/thread.h"
#include "tools/stderr_writer.h"
#include "tools/hold_set.h"
#include "tools/job.h"
#include "tools/environment.h"
#include "tools/grace.h"
#include "tools/holder_report.h"
#include "tools/lock_wait.h"
#include "tools/nesting.h"
#include "tools/run.h"
#include "tools/supervisor.h"
#include "tools/value.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

struct run {
	struct cli cli;

	/* what was asked for */
	char **words;        /* CMD and its arguments */
	char *shell[4];      /* of -c */
	int64_t wait_ms, ttl_ms, max_run_ms, at_least_ms;
	int conflict_exit, lost_exit;
	struct grace grace;
	bool fair, skip_ok;
	struct hold_replicas replicas;
	struct hold_need need;
	const char *value;   /* what a leader says of itself; NULL: it is no leader */

	/* what it takes */
	int lost_fd;
	struct stderr_writer *writer;
	leash_client *client;
	struct hold_set held;
	struct holder_report *report;
	struct job job;
	struct supervisor supervisor;
	int64_t acquired_ns;
	int signal;          /* the one that ended the wait; 0: none */
	bool lost_later;     /* after the end of CMD, while --at-least kept the lock */
};

/* ---- options ---- */

/* "TERM", "SIGTERM", "15". 0: it is none. */
static int
signal_number(const char *text)
{
	int n;

	if (cli_number(text, SIGRTMAX, &n))
		return n;
	if (strncasecmp(text, "SIG", 3) == 0)
		text += 3;
	for (int i = 1; i < NSIG; i++) {
		const char *name = sigabbrev_np(i);

		if (name != NULL && strcasecmp(name, text) == 0)
			return i;
	}
	return 0;
}

static int
take_on_lost(const struct cli *cli, const struct cli_option *option, char *text, void *into)
{
	int *number = into;
	char shown[80];

	(void)option;
	*number = strcmp(text, "keep") == 0 ? 0 : signal_number(text);
	if (*number > 0 || strcmp(text, "keep") == 0)
		return CLI_GO_ON;
	return cli_usage(cli, "--on-lost: '%s' is none of term, kill, keep, and no signal",
	                 cli_show_word(shown, sizeof shown, text));
}

static int
take_kill_after(const struct cli *cli, const struct cli_option *option, char *text, void *into)
{
	struct grace *grace = into;

	grace->given = true;
	return cli_take_duration(cli, option, text, &grace->kill_after_ms);
}

static const struct cli_option waiting_options[] = {
	{.letter = 'n', .name = "nonblock", .take = cli_take_no_time, .at = offsetof(struct run, wait_ms),
	 .help = "wait neither for the lock nor for the server"},
	{.letter = 'w', .name = "wait", .value = "DUR", .take = cli_take_duration, .at = offsetof(struct run, wait_ms),
	 .help = "wait at most this long: 30s, 5m (default: for ever)"},
	{.letter = 'E', .name = "conflict-exit-code", .value = "N", .take = cli_take_status,
	 .at = offsetof(struct run, conflict_exit), .help = "exit status if another has it (default 75)"},
	{.name = "fair", .take = cli_take_flag, .at = offsetof(struct run, fair),
	 .help = "first come, first served, over all processes"},
	{.name = NULL},
};

static const struct cli_option job_options[] = {
	HOLD_TTL_OPTION(struct run),
	{.name = "on-lost", .value = "HOW", .choices = "term kill keep HUP INT QUIT USR1 USR2", .take = take_on_lost,
	 .at = offsetof(struct run, grace.on_lost), .help = "what CMD gets if the lock is lost: term (default), kill, keep "
	                                                    "(nothing), or a signal"},
	{.letter = 'k', .name = "kill-after", .value = "DUR", .take = take_kill_after, .at = offsetof(struct run, grace),
	 .help = "from TERM to KILL (default 5s, at most ttl / 4)"},
	{.name = "max-run", .value = "DUR", .take = cli_take_duration, .at = offsetof(struct run, max_run_ms),
	 .help = "end CMD after this time, and exit with 124"},
	{.name = "foreground", .take = cli_take_flag, .at = offsetof(struct run, job.foreground),
	 .help = "CMD stays in our process group"},
	{.name = NULL},
};

static const struct cli_option end_options[] = {
	{.name = "skip-ok", .take = cli_take_flag, .at = offsetof(struct run, skip_ok),
	 .help = "if another has it: exit with 0, and say nothing (for cron)"},
	{.name = "at-least", .value = "DUR", .take = cli_take_duration, .at = offsetof(struct run, at_least_ms),
	 .help = "keep the lock for at least this time"},
	{.name = "lost-exit-code", .value = "N", .take = cli_take_status, .at = offsetof(struct run, lost_exit),
	 .help = "exit status if the lock was lost (default 79)"},
	{.name = NULL},
};

static const struct cli_option value_options[] = {
	{.name = "value", .value = "TEXT", .take = cli_take_text, .at = offsetof(struct run, value),
	 .help = "what others are told of this leader (default host:pid)"},
	{.name = NULL},
};

static const struct cli_group run_groups[] = {
	{"Waiting", waiting_options, 0},
	{"What to hold", hold_need_options, offsetof(struct run, need)},
	{"The lease and CMD", job_options, 0},
	{"The end", end_options, 0},
	{"Replicas", hold_replicas_options, offsetof(struct run, replicas)},
	{.options = NULL},
};

const struct cli_group run_groups_of_a_leader[] = {
	{"Leading", value_options, 0},
	{"Waiting", waiting_options, 0},
	{"The lease and CMD", job_options, 0},
	{"Replicas", hold_replicas_options, offsetof(struct run, replicas)},
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
take_names(struct run *r, char **names, int count)
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
	return hold_set_begin(&r->held, &r->cli, names, (size_t)count, &r->need);
}

/* Names and CMD, which begin at `at`. */
static int
take_words(struct run *r, int argc, char **argv, int at)
{
	static char sh[] = "/bin/sh", c[] = "-c";
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
		r->shell[0] = sh;
		r->shell[1] = c;
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
		                 cli_show(shown, sizeof shown, r->held.held->name));
	r->words = argv + at;
	return CLI_GO_ON;
}

static int
check_value(const struct run *r)
{
	size_t size = strlen(r->value);

	if (size >= 1 && size <= LEASH_VALUE_MAX)
		return CLI_GO_ON;
	return cli_usage(&r->cli, "--value: it must have 1 to %d bytes, and has %zu", LEASH_VALUE_MAX, size);
}

static int
read_command_line(struct run *r, const struct command *command, int argc, char **argv)
{
	int status = cli_read(r, command, argc, argv);

	if (status == CLI_GO_ON)
		status = hold_check(&r->cli, &r->need, &r->replicas);
	if (status == CLI_GO_ON && r->value != NULL)
		status = check_value(r);
	if (status == CLI_GO_ON)
		status = take_words(r, argc, argv, optind);
	return status == CLI_GO_ON ? grace_set(&r->grace, &r->cli, r->ttl_ms) : status;
}

/* ---- setting up ---- */

/* The program that others see as the holder: CMD, marked so that leash's pid beside it is not taken for CMD's; of a
 * shell string the first word, if it is a plain one: it might be a secret. */
static const char *
program_name(const struct run *r, char *out, size_t size)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/+-";
	const char *word = r->words[0], *slash;
	size_t n = strlen(word);

	if (r->words == r->shell) {
		word = r->shell[2] + strspn(r->shell[2], " \t\n");
		n = strspn(word, plain);
		if (n == 0 || strchr(" \t\n;|&", word[n]) == NULL) {
			word = "sh";
			n = 2;
		}
	}
	slash = memrchr(word, '/', n);
	if (slash != NULL && slash + 1 < word + n) {
		n -= (size_t)(slash + 1 - word);
		word = slash + 1;
	}
	if (n == 0) {
		word = "sh";
		n = 2;
	}
	n = n < size - sizeof CLI_UNDER_RUN ? n : size - sizeof CLI_UNDER_RUN;
	for (size_t i = 0; i < n; i++)
		out[i] = (word[i] > ' ' && word[i] <= '~') ? word[i] : '_';
	strcpy(out + n, CLI_UNDER_RUN);
	return out;
}

static void
on_log(void *arg, leash_log_level level, const char *line)
{
	const struct run *r = arg;

	(void)level;
	writer_say(r->writer, CLI_DETAIL, "%s", line);
}

static void
on_event(void *arg, const leash_event *event)
{
	const struct run *r = arg;
	const struct holding *held = event->lock != NULL ? hold_set_find(&r->held, event->lock) : NULL;
	char left[CLI_TIME_SIZE];

	if (held == NULL) {
		writer_say(r->writer, CLI_DETAIL, "%s", event->text);
		return;
	}
	switch (event->type) {
	case LEASH_EVENT_JEOPARDY:
		cli_span(left, event->remaining_ms);
		writer_report(r->writer, CLI_WARNING, held->name, event, "%s is in danger: %s; it lasts for %s more",
		              held->shown, event->text, left);
		return;
	case LEASH_EVENT_LOST:
		writer_report(r->writer, CLI_ERROR, held->name, event, "%s was lost: %s", held->shown, event->text);
		thread_ring(r->lost_fd);
		return;
	case LEASH_EVENT_RECOVERED:
		writer_report(r->writer, CLI_INFO, held->name, event, "%s: %s", held->shown, event->text);
		return;
	case LEASH_EVENT_FENCE_REGRESSION:
		writer_report(r->writer, CLI_WARNING, held->name, event, "%s: %s", held->shown, event->text);
		return;
	default:
		writer_say(r->writer, CLI_DETAIL, "%s", event->text);
	}
}

/* We cannot begin, or cannot have it. `about`: what is in the way, or NULL. */
static int
fail(const struct run *r, const struct holding *about, leash_error *err)
{
	if (about != NULL)
		holding_explain(about, err);
	return writer_fail(r->writer, cli_exit_of(err->status), "%s", err->text);
}

/* The client, and the handles of what is to be held. CLI_GO_ON, or what to exit with. */
static int
set_up(struct run *r)
{
	char program[65];
	leash_options how = cli_client_options(&r->cli, program_name(r, program, sizeof program));
	const struct holding *about = NULL;
	leash_error err;
	sigset_t set;
	int status;

	r->lost_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r->writer = writer_new(&r->cli);
	if (r->lost_fd < 0 || r->writer == NULL)
		return cli_fail(&r->cli, EXIT_INTERNAL, "cannot begin: %s", strerror(errno));
	how.on_event = on_event;
	how.event_arg = r;
	how.on_log = r->cli.verbose ? on_log : NULL;
	how.log_arg = r;
	status = cli_open_patiently(&r->cli, &how, &r->wait_ms, &r->client);
	if (status != CLI_GO_ON)
		return status;
	/* until here a signal ends leash at once: there is nothing to clean up */
	if (hold_set_open(&r->held, r->client,
	                  LEASH_LOCK_OPTIONS(.lease_ms = r->ttl_ms, .fair = r->fair, .min_replicas = r->replicas.min,
	                                     .replicas_ms = r->replicas.timeout_ms, .fsynced = r->replicas.fsynced),
	                  &about, &err) != LEASH_OK)
		return fail(r, about, &err);
	supervisor_signals(&r->job, &set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return CLI_GO_ON;
}

/* ---- the lock ---- */

/* Does a run around this one hold some of it? Then we work under that hold; but nobody is led by what another has. */
static int
look_around(struct run *r)
{
	int64_t lease_ms;
	int status = nesting_enter(&r->held, r->wait_ms != 0, r->writer, r->lost_fd, &lease_ms);

	if (status == CLI_GO_ON && r->value != NULL && !hold_set_has_own(&r->held))
		return writer_fail(r->writer, r->conflict_exit, "%s is held by the leash around this one: it never ends",
		                   r->held.held->shown);
	if (status == CLI_GO_ON && lease_ms > 0)
		grace_shorten(&r->grace, lease_ms < r->ttl_ms ? lease_ms : r->ttl_ms);
	return status;
}

/* Others have it. */
static int
say_conflict(struct run *r, const struct holding *about, const leash_error *err)
{
	char who[HOLDING_WHO_SIZE], whose[LEASH_TOKEN_MAX];

	if (r->skip_ok)
		return EXIT_OK;
	if (r->cli.quiet)
		return r->conflict_exit;
	if (about != NULL)
		about->kind->who(about, who, whose);
	writer_say(r->writer, CLI_INFO, "%s", about != NULL ? who : err->text);
	return r->conflict_exit;
}

static int
take_locks(struct run *r)
{
	struct lock_wait wait = {
		.set = &r->held, .wait_ms = r->wait_ms, .lease_ms = r->ttl_ms, .needs_ms = grace_needs_ms(&r->grace)};
	int64_t began = clock_boot_ns();
	char took[CLI_TIME_SIZE], fence[HOLDING_FENCE_SIZE];
	leash_status status;
	leash_error err;

	if (r->cli.verbose && r->wait_ms != 0)
		r->report = holder_report_new(r->writer, &r->held);
	status = lock_wait_take(&wait, &r->job, &err);
	holder_report_mute(r->report);
	r->acquired_ns = clock_boot_ns();
	r->signal = wait.signal;
	if (wait.signal != 0)
		return EXIT_BY_SIGNAL + wait.signal;
	if (status == LEASH_TIMEOUT)
		return say_conflict(r, wait.about, &err);
	if (status != LEASH_OK)
		return fail(r, wait.about, &err);
	for (const struct holding *h = r->held.held; h < r->held.held + r->held.count; h++)
		if (h->outer == NULL)
			writer_say(r->writer, CLI_DETAIL, "%s acquired after %s%s", h->shown,
			           cli_span(took, (r->acquired_ns - began) / MS), holding_fence(fence, h));
	return CLI_GO_ON;
}

/* CMD is not started before all can know it. A full server may grant a lock and take no value for as long as it is
 * full. */
static int
proclaim(struct run *r)
{
	const struct holding *h = r->held.held;
	bool told = false;
	leash_error err;
	leash_status status;

	for (;;) {
		status = leash_lock_proclaim(h->lock, r->value, &err);
		if (status == LEASH_OK)
			return CLI_GO_ON;
		if (status != LEASH_UNAVAILABLE || !leash_lock_held(h->lock) || (r->signal = lock_wait_signal(&r->job)) != 0)
			break;
		if (!told)
			writer_say(r->writer, CLI_INFO, "%s; retrying", err.text);
		told = true;
	}
	hold_set_release(&r->held, NULL, NULL);
	if (r->signal != 0)
		return EXIT_BY_SIGNAL + r->signal;
	if (status == LEASH_LOST || status == LEASH_UNAVAILABLE)
		r->supervisor.cause = SUPERVISOR_LOST;
	return fail(r, h, &err);
}

static int
let_go(struct run *r, int status)
{
	const struct holding *about = NULL;
	leash_error err;
	leash_status how;
	char held[CLI_TIME_SIZE];

	if (!hold_set_has_own(&r->held))
		return status;
	how = hold_set_release(&r->held, &about, &err);
	for (const struct holding *h = r->held.held; how == LEASH_OK && h < r->held.held + r->held.count; h++)
		if (h->outer == NULL)
			writer_say(r->writer, CLI_DETAIL, "%s released after %s", h->shown,
			           cli_span(held, (clock_boot_ns() - r->acquired_ns) / MS));
	if (how != LEASH_OK && how != LEASH_LOST)
		writer_say(r->writer, CLI_WARNING, "%s", err.text); /* it ends with its lease */
	if (how != LEASH_LOST || r->job.error != 0 || !r->job.ended || r->lost_later ||
	    r->supervisor.cause == SUPERVISOR_LOST)
		return status;
	/* at the last moment: nobody has been told */
	writer_report(r->writer, CLI_ERROR, about != NULL ? about->name : NULL,
	              &(leash_event){.type = LEASH_EVENT_LOST, .fence = about != NULL ? about->fence : 0}, "%s", err.text);
	return r->lost_exit;
}

/* ---- the command ---- */

static int
say_not_run(const struct run *r, int e)
{
	char shown[4 * 80];
	const char *command = cli_show(shown, sizeof shown, r->words[0]);

	if (e == ENOENT && strchr(r->words[0], '/') != NULL && access(r->words[0], F_OK) == 0)
		return writer_fail(r->writer, EXIT_NOT_THERE, "cannot run '%s': the interpreter in its first line is not there",
		                   command);
	if (e == ENOENT)
		return writer_fail(r->writer, EXIT_NOT_THERE, "cannot run '%s': there is no such command", command);
	return writer_fail(r->writer, EXIT_NOT_RUNNABLE, "cannot run '%s': %s", command, strerror(e));
}

/* How CMD ended, as an exit status of leash run. */
static int
exit_of_job(const struct run *r)
{
	if (r->job.error != 0)
		return say_not_run(r, r->job.error);
	if (r->supervisor.cause == SUPERVISOR_LOST)
		return r->lost_exit;
	if (r->supervisor.cause == SUPERVISOR_TOO_LONG)
		return EXIT_TOO_LONG;
	return WIFSIGNALED(r->job.status) ? EXIT_BY_SIGNAL + WTERMSIG(r->job.status) : WEXITSTATUS(r->job.status);
}

static char **
environment_of(const struct run *r)
{
	struct environment_hold holds[LEASH_MULTI_MAX];

	for (size_t i = 0; i < r->held.count; i++) {
		const struct holding *h = &r->held.held[i];

		holds[i] = (struct environment_hold){h->name, h->token, h->fence, h->outer == NULL};
	}
	return environment_new(&r->cli, r->value, holds, r->held.count);
}

static int
run_job(struct run *r)
{
	char **environment = environment_of(r);
	int status;

	r->job.argv = r->words;
	r->job.environment = environment;
	r->supervisor = (struct supervisor){
		.job = &r->job,
		.writer = r->writer,
		.held = &r->held,
		.lost_fd = r->lost_fd,
		.on_lost = r->grace.on_lost,
		.kill_after_ms = r->grace.kill_after_ms,
		.margin_ms = r->grace.margin_ms,
		.max_run_ms = r->max_run_ms,
	};
	if (environment == NULL || !supervisor_begin(&r->supervisor) || !job_start(&r->job)) {
		status = writer_fail(r->writer, EXIT_INTERNAL, "cannot start a process: %s", strerror(errno));
	} else {
		supervisor_keep(&r->supervisor);
		status = exit_of_job(r);
		if (hold_set_has_own(&r->held) && r->supervisor.cause == SUPERVISOR_ENDED && r->job.error == 0)
			r->lost_later = !supervisor_stay(&r->supervisor, r->acquired_ns + r->at_least_ms * MS) &&
			                r->supervisor.was_held;
	}
	free(environment);
	return status;
}

/* ---- all of it ---- */

static int
hold_and_run(struct run *r)
{
	int status = hold_set_has_own(&r->held) ? take_locks(r) : CLI_GO_ON;

	if (status == CLI_GO_ON && r->value != NULL)
		status = proclaim(r);
	return status == CLI_GO_ON ? let_go(r, run_job(r)) : status;
}

/* It led, and lost that; and nobody wanted it to end, nor has CMD ended by itself, as where it was kept. Then all is as
 * it was before it led. */
static bool
stands_again(struct run *r)
{
	uint64_t rings;

	if (r->value == NULL || r->supervisor.cause != SUPERVISOR_LOST || r->supervisor.passed_on != 0 || r->signal != 0 ||
	    (r->grace.on_lost == 0 && r->job.ended))
		return false;
	supervisor_end(&r->supervisor);
	job_end(&r->job);
	r->supervisor = (struct supervisor){.signal_fd = -1, .timer_fd = -1};
	r->job.pid = r->job.group = 0;
	r->job.error = r->job.status = 0;
	r->job.ended = r->lost_later = false;
	if (read(r->lost_fd, &rings, sizeof rings) < 0 && errno != EAGAIN)
		return false;
	writer_say(r->writer, CLI_INFO, "%s: standing again", r->held.held->shown);
	return true;
}

static void
clean_up(struct run *r)
{
	supervisor_end(&r->supervisor);
	job_end(&r->job);
	holder_report_end(r->report);
	nesting_end(&r->held);
	leash_close(r->client); /* before its handles, whose names on_event() looks up */
	hold_set_end(&r->held);
	writer_end(r->writer); /* last: the others use it */
}

static bool
was_interrupted(const struct run *r)
{
	if (r->signal == SIGINT)
		return true;
	return r->supervisor.cause == SUPERVISOR_ENDED && r->job.ended && WIFSIGNALED(r->job.status) &&
	       WTERMSIG(r->job.status) == SIGINT;
}

/* A shell script ends on Ctrl-C only if the shell gets SIGINT itself, and the command that it waits for dies of it;
 * exit status 130 is not enough. While CMD was in the foreground only CMD got SIGINT: so now all of our process group
 * gets it, as it would have without leash. Without a terminal there is no Ctrl-C. */
static void
die_of_interrupt(const struct run *r)
{
	sigset_t set;

	if (tcgetpgrp(STDIN_FILENO) < 0 && tcgetpgrp(STDERR_FILENO) < 0)
		return;
	signal(SIGINT, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	if (r->supervisor.had_terminal)
		kill(0, SIGINT);
	else
		raise(SIGINT);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

int
run_under(const struct command *command, int argc, char **argv, const char *value)
{
	struct run r = {
		.wait_ms = LEASH_FOREVER,
		.ttl_ms = HOLD_TTL_MS,
		.conflict_exit = EXIT_CONFLICT,
		.lost_exit = EXIT_LOST,
		.grace = {.on_lost = SIGTERM},
		.value = value,
		.supervisor = {.signal_fd = -1, .timer_fd = -1},
	};
	int status;

	status = read_command_line(&r, command, argc, argv);
	if (status != CLI_GO_ON) {
		hold_set_end(&r.held);
		return status;
	}
	job_prepare(&r.job);
	r.job.title = argv[0];
	r.job.title_size = (size_t)(argv[argc - 1] + strlen(argv[argc - 1]) - argv[0]);
	status = set_up(&r);
	if (status == CLI_GO_ON)
		status = look_around(&r);
	if (status == CLI_GO_ON)
		do
			status = hold_and_run(&r);
		while (stands_again(&r));
	clean_up(&r);
	if (status == EXIT_BY_SIGNAL + SIGINT && was_interrupted(&r))
		die_of_interrupt(&r);
	return status;
}

static int
run(const struct command *command, int argc, char **argv)
{
	return run_under(command, argc, argv, NULL);
}

const struct command command_run = {
	.name = "run",
	.summary = "run a command while holding a lock",
	.usage = "NAME... -- CMD [ARG...]    (all of them, or none)\n"
	         "NAME -c 'SHELL STRING'",
	.about = "Run CMD while holding the lock NAME, or several. If the lock is lost, CMD is dead before somebody "
	         "else can have it.\n",
	.groups = run_groups,
	.notes = "CMD has its locks in LEASH_NAME(S), LEASH_FENCE(S), LEASH_TOKEN. Exit: its own, 64 usage, 69 no "
	         "server, 75 another has it, 77 not permitted, 78 not possible there, 79 lost, 124 too long, 126 "
	         "cannot be run, 127 not there, 128+N died of signal N\n",
	.operands = NAMES_AND_A_JOB,
	.run = run,
};
