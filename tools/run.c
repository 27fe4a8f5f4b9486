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
#include "tools/holder_report.h"
#include "tools/lock_wait.h"
#include "tools/nesting.h"
#include "tools/notify.h"
#include "tools/run.h"
#include "tools/run_report.h"
#include "tools/run_request.h"
#include "tools/supervisor.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

struct run {
	struct run_request asked;
	int lost_fd;
	struct stderr_writer *writer;
	struct notify *notify;
	leash_client *client;
	struct hold_set held;
	struct holder_report *report;
	struct job job;
	struct supervisor supervisor;
	int64_t began_ns, acquired_ns, released_ns; /* 0: it was never held; it is still held */
	const char *reason;  /* of the end, for --report; NULL: how CMD ended says it */
	int signal;          /* the one that ended the wait; 0: none */
	bool lost_later;     /* after the end of CMD, while --at-least kept the lock */
	int64_t left_until_ns; /* for --at-least: the lock outlives us; 0: it does not */
	bool is_reported;
};

/* What has happened to a hold, which may be unknown; `left_ms` is what is left of its lease. */
#define NEWS_OF(holding, level_, name_, left_ms)                                                   \
	(&(const struct cli_news){.level = (level_), .event = (name_), .remaining_ms = (left_ms),      \
	                          .lock = (holding) != NULL ? (holding)->name : NULL,                  \
	                          .fence = (holding) != NULL ? (holding)->fence : 0})

/* ---- setting up ---- */

/* The program that others see as the holder: --label, or CMD; marked so that leash's pid beside it is not taken for
 * CMD's. Of a shell string it is the first word, if that is a plain one: it might be a secret. */
static const char *
program_name(const struct run *r, char *out, size_t size)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/+-";
	const char *word = r->asked.label != NULL ? r->asked.label : r->asked.words[0], *slash;
	size_t n = strlen(word);

	if (r->asked.label == NULL && r->asked.words == r->asked.shell) {
		word = r->asked.shell[2] + strspn(r->asked.shell[2], " \t\n");
		n = strspn(word, plain);
		n = strchr(" \t\n;|&", word[n]) != NULL ? n : 0;
	}
	slash = r->asked.label == NULL ? memrchr(word, '/', n) : NULL;
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
	struct cli_news news = {.event = leash_event_name(event->type), .fence = event->fence,
	                        .remaining_ms = event->remaining_ms};
	char left[CLI_TIME_SIZE];

	if (held == NULL) {
		writer_say(r->writer, CLI_DETAIL, "%s", event->text);
		return;
	}
	news.lock = held->name; /* which outlives the event */
	switch (event->type) {
	case LEASH_EVENT_JEOPARDY:
		news.level = CLI_WARNING;
		writer_tell(r->writer, &news, "%s is in danger: %s; it lasts for %s more", held->shown, event->text,
		            cli_span(left, event->remaining_ms));
		return;
	case LEASH_EVENT_LOST:
		news.level = CLI_ERROR;
		writer_tell(r->writer, &news, "%s was lost: %s", held->shown, event->text);
		thread_ring(r->lost_fd);
		return;
	case LEASH_EVENT_RECOVERED:
	case LEASH_EVENT_FENCE_REGRESSION:
		news.level = event->type == LEASH_EVENT_RECOVERED ? CLI_INFO : CLI_WARNING;
		writer_tell(r->writer, &news, "%s: %s", held->shown, event->text);
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
	leash_options how = cli_client_options(&r->asked.cli, program_name(r, program, sizeof program));
	struct run_request *a = &r->asked;
	/* what the server takes is off the time for the lock */
	int64_t *patience_ms = a->connect_wait_ms == RUN_AS_LONG ? &a->wait_ms : &a->connect_wait_ms;
	const struct holding *about = NULL;
	leash_error err;
	sigset_t set;
	int status;

	status = hold_set_begin(&r->held, &r->asked.cli, r->asked.names, r->asked.name_count, &r->asked.need);
	if (status != CLI_GO_ON)
		return status;
	r->lost_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r->writer = writer_new(&r->asked.cli);
	if (r->lost_fd < 0 || r->writer == NULL)
		return cli_fail(&r->asked.cli, EXIT_INTERNAL, "cannot begin: %s", strerror(errno));
	r->notify = notify_begin();
	notify_wait(r->notify, "waiting for the server");
	how.on_event = on_event;
	how.event_arg = r;
	how.on_log = r->asked.cli.verbose ? on_log : NULL;
	how.log_arg = r;
	status = cli_open_patiently(&a->cli, &how, patience_ms, &r->client);
	if (status != CLI_GO_ON)
		return status;
	/* until here a signal ends leash at once: there is nothing to clean up */
	if (hold_set_open(&r->held, r->client, HOLD_OPTIONS(a, .fair = a->fair), &about, &err) != LEASH_OK)
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
	int status = nesting_enter(&r->held, r->asked.wait_ms != 0, r->writer, r->lost_fd, &lease_ms);

	if (status == CLI_GO_ON && r->asked.value != NULL && !hold_set_has_own(&r->held))
		return writer_fail(r->writer, r->asked.conflict_exit,
		                   "%s is held by the leash run around this one, so the wait would never end",
		                   r->held.held->shown);
	if (status == CLI_GO_ON && lease_ms > 0)
		grace_shorten(&r->asked.grace, lease_ms < r->asked.ttl_ms ? lease_ms : r->asked.ttl_ms);
	return status;
}

/* Others have it. */
static int
say_conflict(struct run *r, const struct holding *about, const leash_error *err)
{
	char who[HOLDING_WHO_SIZE], whose[LEASH_TOKEN_MAX];

	r->reason = "conflict";
	if (r->asked.cli.quiet)
		return r->asked.conflict_exit;
	if (about != NULL)
		holding_who(about, who, whose);
	writer_say(r->writer, CLI_INFO, "%s", about != NULL ? who : err->text);
	return r->asked.conflict_exit;
}

static void
tell_manager(const struct run *r, void (*tell)(struct notify *, const char *), const char *what)
{
	char status[HOLDING_SHOWN_SIZE + 80], fence[HOLDING_FENCE_SIZE], more[40] = "";

	if (r->held.count > 1)
		snprintf(more, sizeof more, " and %zu more", r->held.count - 1);
	snprintf(status, sizeof status, "%s %s%s%s", what, r->held.held->shown,
	         tell == notify_ready ? holding_fence(fence, r->held.held) : "", more);
	tell(r->notify, status);
}

/* On a terminal, to a service manager, or where it was asked for. */
static void
report_holders(struct run *r)
{
	bool says = r->asked.cli.verbose || isatty(STDERR_FILENO) == 1;

	tell_manager(r, notify_wait, "waiting for");
	holder_report_end(r->report); /* of an earlier election */
	r->report = (says || r->notify != NULL) && r->asked.wait_ms != 0
	                    ? holder_report_new(says ? r->writer : NULL, r->notify, &r->held, r->asked.cli.verbose)
	                    : NULL;
}

static int
take_locks(struct run *r)
{
	struct lock_wait wait = {.set = &r->held, .wait_ms = r->asked.wait_ms, .lease_ms = r->asked.ttl_ms,
	                         .needs_ms = grace_needs_ms(&r->asked.grace)};
	int64_t began = clock_boot_ns();
	char took[CLI_TIME_SIZE], fence[HOLDING_FENCE_SIZE];
	leash_status status;
	leash_error err;

	report_holders(r);
	status = lock_wait_take(&wait, &r->job, &err);
	holder_report_mute(r->report);
	r->signal = wait.signal;
	if (wait.signal != 0)
		return EXIT_BY_SIGNAL + wait.signal;
	if (status == LEASH_TIMEOUT)
		return say_conflict(r, wait.about, &err);
	if (status != LEASH_OK)
		return fail(r, wait.about, &err);
	r->acquired_ns = clock_boot_ns();
	for (const struct holding *h = r->held.held; h < r->held.held + r->held.count; h++)
		if (h->outer == NULL)
			writer_tell(r->writer, NEWS_OF(h, CLI_DETAIL, "ACQUIRED", holding_remaining_ms(h)),
			            "%s acquired after %s%s", h->shown, cli_span(took, (r->acquired_ns - began) / MS),
			            holding_fence(fence, h));
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
		status = leash_lock_proclaim(h->lock, r->asked.value, &err);
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

	if (!hold_set_has_own(&r->held) || r->left_until_ns != 0)
		return status;
	how = hold_set_release(&r->held, &about, &err);
	for (const struct holding *h = r->held.held; how == LEASH_OK && h < r->held.held + r->held.count; h++)
		if (h->outer == NULL)
			writer_tell(r->writer, NEWS_OF(h, CLI_DETAIL, "RELEASED", 0), "%s released after %s", h->shown,
			            cli_span(held, (clock_boot_ns() - r->acquired_ns) / MS));
	if (how != LEASH_OK && how != LEASH_LOST)
		/* it ends with its lease */
		writer_tell(r->writer, NEWS_OF(about, CLI_WARNING, leash_status_name(how), 0), "%s", err.text);
	if (how != LEASH_LOST || r->job.error != 0 || !r->job.ended || r->lost_later ||
	    r->supervisor.cause == SUPERVISOR_LOST)
		return status;
	/* at the last moment: nobody has been told */
	writer_tell(r->writer, NEWS_OF(about, CLI_ERROR, "LOST", 0), "%s", err.text);
	r->reason = "lost";
	return r->asked.lost_exit;
}

/* ---- the command ---- */

static int
say_not_run(const struct run *r, int e)
{
	char shown[4 * 80];
	const char *command = cli_show(shown, sizeof shown, r->asked.words[0]);

	if (e == ENOENT && strchr(r->asked.words[0], '/') != NULL && access(r->asked.words[0], F_OK) == 0)
		return writer_fail(r->writer, EXIT_NOT_THERE,
		                   "cannot run '%s': the interpreter in its first line does not exist", command);
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
		return r->asked.lost_exit;
	if (r->supervisor.cause == SUPERVISOR_TOO_LONG)
		return EXIT_TOO_LONG;
	return WIFSIGNALED(r->job.status) ? EXIT_BY_SIGNAL + WTERMSIG(r->job.status) : WEXITSTATUS(r->job.status);
}

/* Run `words` to their end, under what is `held`. */
static int
run_job(struct run *r, const char *const *words, const struct hold_set *held, int64_t max_run_ms)
{
	char **environment = environment_new(&r->asked.cli, !r->asked.no_uri_env, r->asked.value, &r->held);
	int status;

	r->job.argv = words;
	r->job.environment = environment;
	r->supervisor = (struct supervisor){
		.job = &r->job,
		.writer = r->writer,
		.notify = r->notify,
		.held = held,
		.lost_fd = r->lost_fd,
		.on_lost = r->asked.grace.on_lost,
		.kill_after_ms = r->asked.grace.kill_after_ms,
		.margin_ms = r->asked.grace.margin_ms,
		.max_run_ms = max_run_ms,
	};
	if (environment == NULL || !supervisor_begin(&r->supervisor) || !job_start(&r->job)) {
		status = writer_fail(r->writer, EXIT_INTERNAL, "cannot start a process: %s", strerror(errno));
	} else {
		supervisor_keep(&r->supervisor);
		status = exit_of_job(r);
	}
	notify_rest(r->notify);
	free(environment);
	return status;
}

/* For --at-least. The lock outlives us if its lease can be made to last just as long; else we stay, which is for less
 * than a lease. */
static void
keep_a_while(struct run *r)
{
	int64_t until_ns = r->acquired_ns + r->asked.at_least_ms * MS, left_ms = (until_ns - clock_boot_ns()) / MS;
	char left[CLI_TIME_SIZE];

	if (left_ms > 0 && r->supervisor.passed_on == 0 && r->supervisor.was_held &&
	    hold_set_may_leave(&r->held, left_ms)) {
		r->left_until_ns = until_ns;
		writer_say(r->writer, CLI_DETAIL, "%s stays for %s", r->held.held->shown, cli_span(left, left_ms));
		return;
	}
	r->lost_later = !supervisor_stay(&r->supervisor, until_ns) && r->supervisor.was_held;
}

static int
run_cmd(struct run *r)
{
	int status = run_job(r, r->asked.words, &r->held, r->asked.max_run_ms);

	if (hold_set_has_own(&r->held) && r->supervisor.cause == SUPERVISOR_ENDED && r->job.ended && r->job.error == 0)
		keep_a_while(r);
	notify_rest(r->notify);
	return status;
}

/* So that another can be run. */
static void
forget_job(struct run *r)
{
	supervisor_end(&r->supervisor);
	job_end(&r->job);
	r->supervisor = (struct supervisor){.signal_fd = -1, .timer_fd = -1};
	r->job.pid = r->job.group = 0;
	r->job.error = r->job.status = 0;
	r->job.ended = r->lost_later = false;
}

static int
run_hook(struct run *r, const char *string, const struct hold_set *held)
{
	return run_job(r, (const char *const[]){"/bin/sh", "-c", string, NULL}, held, 0);
}

/* CMD is run if it succeeds. */
static int
run_on_acquired(struct run *r)
{
	int status = run_hook(r, r->asked.on_acquired, &r->held);

	if (status == EXIT_OK && r->supervisor.cause == SUPERVISOR_ENDED && r->supervisor.passed_on == 0) {
		forget_job(r);
		return CLI_GO_ON;
	}
	if (r->supervisor.cause == SUPERVISOR_ENDED && status != EXIT_OK)
		writer_say(r->writer, CLI_ERROR, "--on-acquired ended with %d: the command is not run", status);
	r->reason = "--on-acquired";
	return status != EXIT_OK || r->supervisor.passed_on == 0 ? status : EXIT_BY_SIGNAL + r->supervisor.passed_on;
}

/* It is over: nothing is held meanwhile. */
static void
run_on_lost(struct run *r)
{
	static const struct hold_set none = {.count = 0};
	int status;

	forget_job(r);
	status = run_hook(r, r->asked.on_lost_command, &none);
	if (status != EXIT_OK)
		writer_say(r->writer, CLI_WARNING, "--on-lost-command ended with %d", status);
}

/* ---- all of it ---- */

static int
hold_and_run(struct run *r)
{
	int status = hold_set_has_own(&r->held) ? take_locks(r) : CLI_GO_ON;

	if (status == CLI_GO_ON && r->asked.value != NULL)
		status = proclaim(r);
	if (status != CLI_GO_ON)
		return status;
	tell_manager(r, notify_ready, "holding");
	if (r->asked.on_acquired != NULL)
		status = run_on_acquired(r);
	return let_go(r, status == CLI_GO_ON ? run_cmd(r) : status);
}

static const char *
reason_of(const struct run *r)
{
	if (r->supervisor.cause == SUPERVISOR_LOST)
		return "lost";
	if (r->reason != NULL)
		return r->reason;
	if (r->signal != 0)
		return "interrupted";
	if (r->supervisor.cause == SUPERVISOR_TOO_LONG)
		return "too long";
	return r->job.error == 0 && r->job.ended ? "ended" : "failed";
}

/* It led, and lost that; and nobody wanted it to end, nor has CMD ended by itself, as where it was kept. */
static bool
may_stand_again(const struct run *r)
{
	return r->asked.value != NULL && r->supervisor.cause == SUPERVISOR_LOST && r->supervisor.passed_on == 0 &&
	       r->signal == 0 && (r->asked.grace.on_lost != 0 || !r->job.ended);
}

/* Then all is as it was before it led. */
static bool
stand_again(struct run *r)
{
	uint64_t rings;

	forget_job(r);
	r->reason = NULL;
	r->began_ns = clock_boot_ns();
	r->acquired_ns = 0;
	if (read(r->lost_fd, &rings, sizeof rings) < 0 && errno != EAGAIN)
		return false;
	writer_say(r->writer, CLI_INFO, "%s: candidate again", r->held.held->shown);
	return true;
}

static int
hold_and_run_till_the_end(struct run *r)
{
	bool again, lost;
	int status;

	do {
		status = hold_and_run(r);
		r->released_ns = r->left_until_ns == 0 ? clock_boot_ns() : 0;
		again = may_stand_again(r);
		r->reason = reason_of(r);
		lost = strcmp(r->reason, "lost") == 0;
		if (lost)
			tell_manager(r, notify_wait, "lost");
		if (lost && r->asked.on_lost_command != NULL)
			run_on_lost(r);
	} while (again && r->supervisor.passed_on == 0 && stand_again(r));
	return status;
}

/* When all has been said. */
static void
report(const struct run *r, int status)
{
	int64_t until = r->released_ns != 0 ? r->released_ns : clock_boot_ns(), since = r->acquired_ns;

	run_report_write(&(struct run_report){.set = &r->held, .reason = r->reason != NULL ? r->reason : "failed",
	                                      .status = status, .acquired = since != 0,
	                                      .waited_ms = ((since != 0 ? since : until) - r->began_ns) / MS,
	                                      .held_ms = since != 0 ? (until - since) / MS : 0},
	                 &r->asked.cli, r->asked.report);
}

/* Last of all, as the lease is renewed until we are gone. Returns if it could not be made to last just as long: then
 * that was waited for. */
static void
leave_lock(struct run *r, int status)
{
	int64_t left_ms;

	writer_pass(r->writer);
	report(r, status);
	r->is_reported = true;
	left_ms = (r->left_until_ns - clock_boot_ns()) / MS;
	if (left_ms > 0 && hold_set_leave(&r->held, left_ms))
		_exit(status);
	if (left_ms > 0)
		clock_sleep_ms(left_ms);
}

static void
clean_up(struct run *r, int status)
{
	supervisor_end(&r->supervisor);
	job_end(&r->job);
	notify_stop(r->notify);
	holder_report_end(r->report);
	notify_end(r->notify);
	nesting_end(&r->held);
	if (r->left_until_ns != 0)
		leave_lock(r, status);
	leash_close(r->client); /* before its handles, whose names on_event() looks up */
	writer_end(r->writer); /* last: the others use it */
	if (r->held.count > 0 && !r->is_reported)
		report(r, status);
	hold_set_end(&r->held);
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
	struct run r = {.supervisor = {.signal_fd = -1, .timer_fd = -1}};
	int status = run_request_read(&r.asked, command, argc, argv, value);

	if (status != CLI_GO_ON)
		return status;
	job_prepare(&r.job);
	r.job.foreground = r.asked.foreground;
	r.job.title = argv[0];
	r.job.title_size = (size_t)(argv[argc - 1] + strlen(argv[argc - 1]) - argv[0]);
	r.began_ns = clock_boot_ns();
	status = set_up(&r);
	if (status == CLI_GO_ON)
		status = look_around(&r);
	if (status == CLI_GO_ON)
		status = hold_and_run_till_the_end(&r);
	clean_up(&r, status);
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
	.usage = "NAME... -- CMD [ARG...]\n"
	         "NAME -c STRING",
	.about = "Run CMD while holding the lock NAME, or several, all or none. The shell runs STRING. If the lock "
	         "is lost, CMD is dead before somebody else can have it.\n",
	.groups = run_groups,
	.notes = "CMD has its locks in LEASH_NAME(S), LEASH_FENCE(S), LEASH_TOKEN. Exit: its own, 64 usage, 69 no server, "
	         "75 somebody else has it, 77 denied, 78 not possible on this server, 79 lost, 124 too long, 126 cannot "
	         "be executed, 127 does not exist, 128+N died of signal N\n",
	.operands = NAMES_AND_A_JOB,
	.run = run,
};
