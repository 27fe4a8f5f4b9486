/* leash run: a command under a lock.
 *
 * Read the options; acquire the lock, or find that a run around this one holds it (environment.h); start CMD (job.h),
 * watch it (supervisor.h); release the lock; exit as CMD did, or as the table in the manual says. What is said while
 * CMD runs goes through the stderr writer, so that a blocked standard error cannot delay the end of CMD. */
#include "tools/cli.h"
#include "tools/clock.h"
#include "tools/thread.h"
#include "tools/stderr_writer.h"
#include "tools/holding.h"
#include "tools/job.h"
#include "tools/environment.h"
#include "tools/holder_watch.h"
#include "tools/lock_wait.h"
#include "tools/supervisor.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TTL_MS = 30000, KILL_AFTER_MS = 5000, TTL_MIN_MS = 1000, TTL_MAX_MS = 86400000 };

struct run {
	struct cli cli;

	/* what was asked for */
	const char *name;
	char **words;        /* CMD and its arguments */
	char *shell[4];      /* of -c */
	int64_t wait_ms, ttl_ms, kill_after_ms, max_run_ms, at_least_ms;
	int conflict_exit, lost_exit;
	int on_lost;         /* a signal; 0: keep */
	bool fair, skip_ok, grace_given;
	struct hold_replicas replicas;
	struct hold_need need;

	/* what it takes */
	int64_t margin_ms;   /* between KILL and the end of the lease */
	int lost_fd;
	struct stderr_writer *writer;
	leash_client *client;
	struct holding held;
	struct holder_watch *outer; /* of the hold of a run around this one; NULL: the hold is our own */
	struct holder_report *report;
	struct job job;
	struct supervisor supervisor;
	int64_t acquired_ns;
	int signal;          /* the one that ended the wait; 0: none */
	bool lost_later;     /* after the end of CMD, while --at-least kept the lock */
};

/* ---- options ---- */

enum { SKIP_OK = CLI_OWN, FAIR, TTL, ON_LOST, LOST_EXIT, MAX_RUN, AT_LEAST, FOREGROUND };

static const struct option options[] = {
	CLI_LONG,
	{"nonblock", no_argument, NULL, 'n'},
	{"wait", required_argument, NULL, 'w'},
	{"conflict-exit-code", required_argument, NULL, 'E'},
	{"skip-ok", no_argument, NULL, SKIP_OK},
	{"fair", no_argument, NULL, FAIR},
	{"ttl", required_argument, NULL, TTL},
	{"on-lost", required_argument, NULL, ON_LOST},
	{"kill-after", required_argument, NULL, 'k'},
	{"lost-exit-code", required_argument, NULL, LOST_EXIT},
	{"max-run", required_argument, NULL, MAX_RUN},
	{"at-least", required_argument, NULL, AT_LEAST},
	{"foreground", no_argument, NULL, FOREGROUND},
	HOLD_REPLICAS_LONG,
	HOLD_NEED_LONG,
	CLI_LONG_END,
};

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
take_on_lost(struct run *r)
{
	char shown[80];

	r->on_lost = 0;
	if (strcmp(optarg, "keep") == 0)
		return CLI_GO_ON;
	r->on_lost = signal_number(optarg);
	if (r->on_lost > 0)
		return CLI_GO_ON;
	return cli_usage(&r->cli, "--on-lost: '%s' is none of term, kill, keep, and no signal",
	                 cli_show_word(shown, sizeof shown, optarg));
}

static int
take_option(struct run *r, int c, char **argv)
{
	switch (c) {
	case 'n':
		r->wait_ms = 0;
		return CLI_GO_ON;
	case 'w':
		return cli_duration_option(&r->cli, "--wait", optarg, &r->wait_ms);
	case 'E':
		return cli_status_option(&r->cli, "--conflict-exit-code", optarg, &r->conflict_exit);
	case SKIP_OK:
		r->skip_ok = true;
		return CLI_GO_ON;
	case FAIR:
		r->fair = true;
		return CLI_GO_ON;
	case TTL:
		return cli_duration_option(&r->cli, "--ttl", optarg, &r->ttl_ms);
	case ON_LOST:
		return take_on_lost(r);
	case 'k':
		r->grace_given = true;
		return cli_duration_option(&r->cli, "--kill-after", optarg, &r->kill_after_ms);
	case LOST_EXIT:
		return cli_status_option(&r->cli, "--lost-exit-code", optarg, &r->lost_exit);
	case MAX_RUN:
		return cli_duration_option(&r->cli, "--max-run", optarg, &r->max_run_ms);
	case AT_LEAST:
		return cli_duration_option(&r->cli, "--at-least", optarg, &r->at_least_ms);
	case FOREGROUND:
		r->job.foreground = true;
		return CLI_GO_ON;
	case HOLD_SLOTS:
	case HOLD_TAKE:
		return hold_need_option(&r->cli, c, &r->need);
	default:
		return hold_replicas_option(&r->cli, c, argv, &r->replicas);
	}
}

/* NAME and CMD, which begin at `at`. */
static int
take_words(struct run *r, int argc, char **argv, int at)
{
	static char sh[] = "/bin/sh", c[] = "-c";
	char shown[80];

	if (at == argc)
		return cli_usage(&r->cli, "which lock? A name is missing");
	if (cli_take_name(&r->cli, argv[at]) != CLI_GO_ON)
		return EXIT_USAGE;
	r->name = argv[at++];
	if (r->name[0] == '\0' || strlen(r->name) > LEASH_NAME_MAX)
		return cli_usage(&r->cli, "a lock's name has 1 to %d bytes, this one has %zu", LEASH_NAME_MAX, strlen(r->name));
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
		                 cli_show(shown, sizeof shown, r->name));
	r->words = argv + at;
	return CLI_GO_ON;
}

/* ---- times ---- */

static int64_t
margin_of(int64_t ttl_ms)
{
	int64_t margin_ms = ttl_ms / 20;

	return margin_ms < 100 ? 100 : margin_ms > 1000 ? 1000 : margin_ms;
}

/* The part of a lease that the margin, differing clocks and one retry of a renewal take. */
static int64_t
taken_of(int64_t ttl_ms)
{
	return margin_of(ttl_ms) + ttl_ms / 100 + 2 + (ttl_ms < 6000 ? ttl_ms / 6 : 1000);
}

/* The longest grace: a renewal comes at a third of the lease, and TERM must not be due before it can have succeeded. */
static int64_t
longest_grace(int64_t ttl_ms)
{
	return ttl_ms - ttl_ms / 3 - taken_of(ttl_ms);
}

static int
refuse_grace(const struct run *r)
{
	char grace[CLI_TIME_SIZE], ttl[CLI_TIME_SIZE], third[CLI_TIME_SIZE], taken[CLI_TIME_SIZE], longest[CLI_TIME_SIZE];
	char enough[48] = "";
	int64_t enough_ms = r->ttl_ms;

	while (longest_grace(enough_ms) < r->kill_after_ms && enough_ms < TTL_MAX_MS)
		enough_ms = enough_ms / 1000 * 1000 + 1000;
	if (enough_ms <= TTL_MAX_MS && longest_grace(enough_ms) >= r->kill_after_ms)
		snprintf(enough, sizeof enough, ", or --ttl %llds at least", (long long)(enough_ms / 1000));
	return cli_usage(&r->cli,
	                 "--kill-after %s does not fit into a lease of %s: it is renewed after %s, a retry and "
	                 "killing take %s, so %s are left; give --kill-after %lldms at most%s",
	                 cli_span(grace, r->kill_after_ms), cli_span(ttl, r->ttl_ms), cli_span(third, r->ttl_ms / 3),
	                 cli_span(taken, taken_of(r->ttl_ms)), cli_span(longest, longest_grace(r->ttl_ms)),
	                 (long long)longest_grace(r->ttl_ms), enough);
}

/* Does CMD get TERM before KILL? */
static bool
has_grace(const struct run *r)
{
	return r->on_lost != 0 && r->on_lost != SIGKILL;
}

/* Can CMD be dead before the lease ends? */
static int
set_times(struct run *r)
{
	if (r->ttl_ms < TTL_MIN_MS || r->ttl_ms > TTL_MAX_MS)
		return cli_usage(&r->cli,
		                 "--ttl: a lease is 1s to 1d long: in less, CMD cannot be ended in time when the server is "
		                 "away");
	r->margin_ms = margin_of(r->ttl_ms);
	if (r->grace_given)
		return has_grace(r) && r->kill_after_ms > longest_grace(r->ttl_ms) ? refuse_grace(r) : CLI_GO_ON;
	r->kill_after_ms = KILL_AFTER_MS < r->ttl_ms / 4 ? KILL_AFTER_MS : r->ttl_ms / 4;
	return CLI_GO_ON;
}

static int
read_command_line(struct run *r, int argc, char **argv)
{
	int c, status;

	while ((c = getopt_long(argc, argv, "+:nw:E:k:" CLI_SHORT, options, NULL)) != -1) {
		status = take_option(r, c, argv);
		if (status != CLI_GO_ON)
			return status;
	}
	status = hold_replicas_check(&r->cli, &r->replicas);
	if (status == CLI_GO_ON)
		status = hold_need_check(&r->cli, &r->need);
	if (status == CLI_GO_ON)
		status = take_words(r, argc, argv, optind);
	return status == CLI_GO_ON ? set_times(r) : status;
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
	leash_event news = *event;
	char left[CLI_TIME_SIZE];

	if (!r->held.kind->fenced)
		news.fence = 0;
	switch (event->type) {
	case LEASH_EVENT_JEOPARDY:
		cli_span(left, event->remaining_ms);
		writer_report(r->writer, CLI_WARNING, &news, "%s is in danger: %s; it lasts for %s more", r->held.shown,
		              event->text, left);
		return;
	case LEASH_EVENT_LOST:
		writer_report(r->writer, CLI_ERROR, &news, "%s was lost: %s", r->held.shown, event->text);
		thread_ring(r->lost_fd);
		return;
	case LEASH_EVENT_RECOVERED:
		writer_report(r->writer, CLI_INFO, &news, "%s: %s", r->held.shown, event->text);
		return;
	case LEASH_EVENT_FENCE_REGRESSION:
		writer_report(r->writer, CLI_WARNING, &news, "%s: %s", r->held.shown, event->text);
		return;
	default:
		writer_say(r->writer, CLI_DETAIL, "%s", event->text);
	}
}

/* The client, and the handle of what is to be held. CLI_GO_ON, or what to exit with. */
static int
set_up(struct run *r)
{
	char program[65];
	leash_options how = cli_client_options(&r->cli, program_name(r, program, sizeof program));
	leash_error err;
	sigset_t set;
	int status;

	r->lost_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r->writer = writer_new(&r->cli, r->name);
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
	if (holding_open(&r->held, r->client,
	                 LEASH_LOCK_OPTIONS(.lease_ms = r->ttl_ms, .fair = r->fair, .min_replicas = r->replicas.min,
	                                    .replicas_ms = r->replicas.timeout_ms, .fsynced = r->replicas.fsynced),
	                 &err) != LEASH_OK)
		return writer_fail(r->writer, cli_exit_of(err.status), "%s", err.text);
	supervisor_signals(&r->job, &set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return CLI_GO_ON;
}

/* ---- the lock ---- */

/* Does a run around this one hold it? Then we work under that hold. */
static int
look_around(struct run *r)
{
	leash_lock_info info = {.size = sizeof info};
	int64_t asked_ns = clock_boot_ns(), lease_ms;
	leash_error err;

	if (environment_has_no_token())
		return CLI_GO_ON;
	if (r->held.kind->look(&r->held, &info, &err) != LEASH_OK)
		return writer_fail(r->writer, cli_exit_of(err.status), "%s", err.text);
	if (!info.held || !environment_has_token(info.holder.token) || info.remaining_ms <= 0)
		return CLI_GO_ON;
	r->outer = holder_watch_new(r->writer, &r->held, &info, asked_ns, r->lost_fd);
	if (r->outer == NULL)
		return writer_fail(r->writer, EXIT_INTERNAL, "cannot begin: %s", strerror(errno));
	/* the outer run renews it at a third, so at least two thirds of its lease are left now */
	lease_ms = info.remaining_ms;
	r->margin_ms = margin_of(lease_ms) < lease_ms / 8 ? margin_of(lease_ms) : lease_ms / 8;
	r->kill_after_ms = r->kill_after_ms < lease_ms / 4 ? r->kill_after_ms : lease_ms / 4;
	r->held.fence = info.fence;
	memcpy(r->held.token, info.holder.token, sizeof r->held.token);
	r->acquired_ns = asked_ns;
	writer_say(r->writer, CLI_DETAIL, "%s is held by the run around this one, fence %llu", r->held.shown,
	           (unsigned long long)r->held.fence);
	return CLI_GO_ON;
}

/* We cannot have it. */
static int
say_conflict(struct run *r)
{
	char who[HOLDING_WHO_SIZE], whose[LEASH_TOKEN_MAX];

	if (r->skip_ok)
		return EXIT_OK;
	if (r->cli.quiet)
		return r->conflict_exit;
	r->held.kind->who(&r->held, who, whose);
	writer_say(r->writer, CLI_INFO, "%s", who);
	return r->conflict_exit;
}

static int
take_lock(struct run *r)
{
	int64_t needs_ms = r->margin_ms + (has_grace(r) ? r->kill_after_ms : 0);
	struct lock_wait wait = {.holding = &r->held, .wait_ms = r->wait_ms, .lease_ms = r->ttl_ms, .needs_ms = needs_ms};
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
		return say_conflict(r);
	if (status != LEASH_OK)
		return writer_fail(r->writer, cli_exit_of(status), "%s", err.text);
	writer_say(r->writer, CLI_DETAIL, "%s acquired after %s%s", r->held.shown,
	           cli_span(took, (r->acquired_ns - began) / MS), holding_fence(fence, &r->held));
	return CLI_GO_ON;
}

static int
let_go(struct run *r, int status)
{
	leash_error err;
	leash_status how;
	char held[CLI_TIME_SIZE];

	if (r->outer != NULL)
		return status;
	how = r->held.kind->release(&r->held, &err);
	if (how == LEASH_OK)
		writer_say(r->writer, CLI_DETAIL, "%s released after %s", r->held.shown,
		           cli_span(held, (clock_boot_ns() - r->acquired_ns) / MS));
	else if (how != LEASH_LOST)
		writer_say(r->writer, CLI_WARNING, "%s", err.text); /* it ends with its lease */
	if (how != LEASH_LOST || r->job.error != 0 || !r->job.ended || r->lost_later ||
	    r->supervisor.cause == SUPERVISOR_LOST)
		return status;
	/* at the last moment: nobody has been told */
	writer_report(r->writer, CLI_ERROR, &(leash_event){.type = LEASH_EVENT_LOST, .fence = r->held.fence}, "%s",
	              err.text);
	return r->lost_exit;
}

/* ---- the command ---- */

static int64_t
own_remaining_ms(void *hold)
{
	const struct holding *held = hold;

	return held->kind->remaining_ms(held);
}

static int64_t
outer_remaining_ms(void *hold)
{
	return holder_watch_remaining_ms(hold);
}

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

static int
run_job(struct run *r)
{
	char **environment = environment_new(&r->cli, r->name, r->held.fence, r->held.token, r->outer == NULL);
	int status;

	r->job.argv = r->words;
	r->job.environment = environment;
	r->supervisor = (struct supervisor){
		.job = &r->job,
		.writer = r->writer,
		.shown = r->held.shown,
		.remaining_ms = r->outer != NULL ? outer_remaining_ms : own_remaining_ms,
		.hold = r->outer != NULL ? (void *)r->outer : (void *)&r->held,
		.lost_fd = r->lost_fd,
		.on_lost = r->on_lost,
		.kill_after_ms = r->kill_after_ms,
		.margin_ms = r->margin_ms,
		.max_run_ms = r->max_run_ms,
	};
	if (environment == NULL || !supervisor_begin(&r->supervisor) || !job_start(&r->job)) {
		status = writer_fail(r->writer, EXIT_INTERNAL, "cannot start a process: %s", strerror(errno));
	} else {
		supervisor_keep(&r->supervisor);
		status = exit_of_job(r);
		if (r->outer == NULL && r->supervisor.cause == SUPERVISOR_ENDED && r->job.error == 0)
			r->lost_later = !supervisor_stay(&r->supervisor, r->acquired_ns + r->at_least_ms * MS) &&
			                r->supervisor.was_held;
	}
	free(environment);
	return status;
}

/* ---- all of it ---- */

static void
clean_up(struct run *r)
{
	supervisor_end(&r->supervisor);
	job_end(&r->job);
	holder_watch_end(r->outer);
	holder_report_end(r->report);
	holding_end(&r->held);
	leash_close(r->client);
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

static int
run(const struct command *command, int argc, char **argv)
{
	struct run r = {
		.wait_ms = LEASH_FOREVER,
		.ttl_ms = TTL_MS,
		.conflict_exit = EXIT_CONFLICT,
		.lost_exit = EXIT_LOST,
		.on_lost = SIGTERM,
		.supervisor = {.signal_fd = -1, .timer_fd = -1},
	};
	int status;

	cli_begin(&r.cli, command);
	status = read_command_line(&r, argc, argv);
	if (status != CLI_GO_ON)
		return status;
	holding_begin(&r.held, r.name, &r.need);
	job_prepare(&r.job);
	r.job.title = argv[0];
	r.job.title_size = (size_t)(argv[argc - 1] + strlen(argv[argc - 1]) - argv[0]);
	status = set_up(&r);
	if (status == CLI_GO_ON)
		status = look_around(&r);
	if (status == CLI_GO_ON && r.outer == NULL)
		status = take_lock(&r);
	if (status == CLI_GO_ON)
		status = let_go(&r, run_job(&r));
	clean_up(&r);
	if (status == EXIT_BY_SIGNAL + SIGINT && was_interrupted(&r))
		die_of_interrupt(&r);
	return status;
}

const struct command command_run = {
	"run",
	"run a command while holding a lock",
	"Usage: leash run [OPTION...] NAME -- CMD [ARG...]\n"
	"       leash run [OPTION...] NAME -c 'SHELL STRING'\n"
	"  -n, --nonblock              wait neither for the lock nor for the server\n"
	"  -w, --wait DUR              wait at most this long: 30s, 5m (default for ever)\n"
	"  -E, --conflict-exit-code N  exit status if another has it (default 75)\n"
	"      --skip-ok               then exit 0, and say nothing: for cron\n"
	"      --fair                  first come, first served, over all processes\n"
	"      --slots N, --take K     hold K (default 1) of N permits, not a lock\n"
	"      --ttl DUR               the lease (default 30s)\n"
	"      --on-lost HOW           if lost: term (default), kill, keep, or a signal\n"
	"  -k, --kill-after DUR        from TERM to KILL (default 5s, at most ttl / 4)\n"
	"      --lost-exit-code N      exit status if the lock was lost (default 79)\n"
	"      --max-run DUR           end CMD after this time, and exit 124\n"
	"      --at-least DUR          keep the lock for at least this time\n"
	"      --foreground            CMD stays in our process group\n"
	"      --min-replicas N, --fsynced, --replicas-timeout DUR\n"
	"                              held once N replicas have it, on disk, within DUR\n"
	"  -r, --redis URI             the server, else $LEASH_URI; --prefix of its keys\n"
	"      --escaped               NAME is as leash list shows it: \\x20 is a space\n"
	"  -v, --verbose   -q, --quiet   --json   -h, --help\n"
	"CMD has its lock in LEASH_NAME, LEASH_FENCE, LEASH_TOKEN. Exit status: its own,\n"
	"64 usage, 69 no server, 75 another has it, 79 lost, 124 too long,\n"
	"126 cannot be run, 127 not there, 128+N died of signal N\n",
	run,
};
