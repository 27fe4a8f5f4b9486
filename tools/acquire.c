/* leash acquire: take a lock and leave it behind, for scripts that cannot wrap what they do in leash run.
 *
 * The process ends without closing its client, so that the lock stays, until somebody releases it by its token or
 * its lease ends; with --keep another goes on, the renewer (keep.h). Up to the moment at which the token has been
 * written down somewhere, whatever goes wrong gives the lock back: one that nobody can release would block everybody
 * for a whole lease.
 *
 *   waiting --granted--> held --lease extended--> told --_exit(), or --keep--> left behind
 *      |                  |  --cannot, or cannot tell--> released --> error
 *      |                  `--a signal came--.
 *      `--INT, TERM, HUP-------------------> released, or out of the queue --> died of that signal
 */
#include "tools/clock.h"
#include "tools/environment.h"
#include "tools/holding.h"
#include "tools/keep.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct request {
	struct cli cli;
	struct holding held;
	int64_t wait_ms, ttl_ms;
	bool fair;
	struct hold_replicas replicas;
	struct hold_need need;
	struct keep keep;
	char caller[CALLER_NAME_SIZE]; /* what others see as the holder: when they ask, we have ended */
	int conflict_exit;             /* the status to exit with if somebody else has it */
};

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

enum { SIGNALS = sizeof signals / sizeof *signals };

static leash_cancel *cancel;
static volatile sig_atomic_t received;

/* ---- signals ---- */

static void
on_signal(int number)
{
	received = number;
	leash_cancel_fire(cancel);
}

/* They also interrupt a write to a full pipe. A second signal of the same kind kills at once. Signals that the parent
 * ignores (nohup) stay ignored. */
static void
listen_to_signals(void)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND}, old;

	for (int i = 0; i < SIGNALS; i++)
		if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
}

/* Die of the signal, as without a handler: then a shell that got Ctrl-C as well ends its script. */
static int
die_of_signal(void)
{
	signal(received, SIG_DFL);
	raise(received);
	return EXIT_BY_SIGNAL + received;
}

/* ---- taking it ---- */

/* Would we wait for a leash run that waits for us? CLI_GO_ON, or what to exit with; then it has been told. */
static int
check_outer(struct request *r)
{
	struct holding_outer outer;
	leash_error err;

	if (r->wait_ms == 0 || environment_has_no_token())
		return CLI_GO_ON;
	if (holding_look(&r->held, &outer, &err) != LEASH_OK) {
		holding_explain(&r->held, &err);
		return cli_fail_with(&r->cli, &err);
	}
	if (outer.never[0] != '\0')
		return cli_fail(&r->cli, EXIT_CONFLICT, HOLDING_NEVER, r->held.shown, outer.never);
	return CLI_GO_ON;
}

/* With --verbose before the wait; and when it was in vain. */
static void
say_who_has_it(const struct request *r)
{
	char who[HOLDING_WHO_SIZE], whose[LEASH_TOKEN_MAX];

	holding_who(&r->held, who, whose);
	cli_say(&r->cli, CLI_INFO, "%s", who);
}

static leash_status
take(struct request *r, int64_t wait_ms, leash_error *err)
{
	int64_t from_ns = clock_boot_ns();
	char span[CLI_TIME_SIZE], fence[HOLDING_FENCE_SIZE];
	leash_status st = LEASH_TIMEOUT;

	if (r->cli.verbose && wait_ms != 0) {
		st = holding_acquire(&r->held, LEASH_ACQUIRE(.cancel = cancel), err);
		if (st == LEASH_TIMEOUT)
			say_who_has_it(r);
	}
	if (st != LEASH_OK)
		st = holding_acquire(&r->held, LEASH_ACQUIRE(.wait_ms = wait_ms, .cancel = cancel), err);
	if (st == LEASH_OK)
		cli_say(&r->cli, CLI_DETAIL, "%s acquired after %s%s", r->held.shown,
		        cli_span(span, (clock_boot_ns() - from_ns) / MS), holding_fence(fence, &r->held));
	return st;
}

/* False: errno says why. */
static bool
print_token(const struct request *r)
{
	errno = 0;
	if (r->cli.json)
		cli_print(holding_json(&r->held, "lease_ms", r->ttl_ms));
	else
		puts(r->held.token);
	if (fflush(stdout) != 0 || ferror(stdout) || cli_finish(&r->cli, EXIT_OK) != EXIT_OK)
		return false;
	/* some file systems report a full disk only now */
	return close(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)) == 0;
}

/* CLI_GO_ON, or what to exit with, which has been told. */
static int
make_ready(struct request *r)
{
	leash_error err;

	if (holding_extend(&r->held, r->ttl_ms, &err) != LEASH_OK)
		return cli_fail_with(&r->cli, &err);
	return r->keep.wanted ? keep_prepare(&r->keep, &r->held) : CLI_GO_ON;
}

/* The lock is held. Returns only if it could not be left behind, and then it is not held any more; or if it was kept to
 * the end. */
static int
leave_behind(struct request *r)
{
	int status = received == 0 ? make_ready(r) : CLI_GO_ON, failed;
	leash_error why;

	if (status != CLI_GO_ON) {
		holding_release(&r->held, NULL);
		return status;
	}
	if (received == 0 && print_token(r)) {
		if (r->keep.wanted) {
			keep_stay(&r->keep);
			return EXIT_OK;
		}
		_exit(holding_remaining_ms(&r->held) > 0
		              ? EXIT_OK
		              : cli_fail(&r->cli, EXIT_LOST, "%s has lapsed before its token was taken", r->held.shown));
	}
	failed = errno;
	if (holding_release(&r->held, &why) != LEASH_OK)
		cli_fail(&r->cli, EXIT_NO_SERVER, "%s; it stays until its lease ends", why.text);
	if (received != 0)
		return EXIT_BY_SIGNAL;
	return cli_fail(&r->cli, EXIT_INTERNAL,
	                "standard output: %s: the token could not be printed, so %s was released",
	                failed != 0 ? strerror(failed) : "not all was written", r->held.shown);
}

/* With a client, and for so long. Returns only if it could not be left behind. */
static int
take_and_leave(struct request *r, leash_client *client, int64_t wait_ms)
{
	leash_error err;
	leash_status st = holding_open(&r->held, client,
	                               HOLD_OPTIONS(r, .no_renew = !r->keep.wanted, .fair = r->fair), &err);
	int status = st == LEASH_OK ? check_outer(r) : CLI_GO_ON;

	if (status != CLI_GO_ON)
		return status;
	if (st == LEASH_OK)
		st = take(r, wait_ms, &err);
	if (st == LEASH_OK)
		return leave_behind(r);
	if (received != 0)
		return EXIT_BY_SIGNAL;
	if (st == LEASH_TIMEOUT) {
		say_who_has_it(r);
		return r->conflict_exit;
	}
	holding_explain(&r->held, &err);
	return cli_fail_with(&r->cli, &err);
}

static int
acquire(struct request *r)
{
	leash_client *client = NULL;
	leash_options options = cli_client_options(&r->cli, r->caller[0] != '\0' ? r->caller : NULL);
	int64_t wait_ms = r->wait_ms;
	leash_error err;
	int status;

	options.on_event = r->keep.wanted ? keep_on_event : NULL;
	options.event_arg = &r->keep;
	if (leash_cancel_new(&cancel, &err) != LEASH_OK)
		return cli_fail_with(&r->cli, &err);
	/* until the server is there a signal ends us at once: nothing is held */
	status = cli_open_patiently(&r->cli, &options, &wait_ms, &client);
	if (status == CLI_GO_ON) {
		listen_to_signals();
		status = take_and_leave(r, client, wait_ms);
	}
	leash_close(client); /* which also leaves the queue */
	holding_end(&r->held);
	return received != 0 ? die_of_signal() : status;
}

/* ---- the command line ---- */

static int
run(const struct command *command, int argc, char **argv)
{
	struct request r = {.wait_ms = LEASH_FOREVER, .ttl_ms = HOLD_TTL_MS, .conflict_exit = EXIT_CONFLICT,
	                    .keep = {.grace = {.on_lost = -1}}};
	const char *name;
	int status = cli_read(&r, command, argc, argv);

	if (status == CLI_GO_ON)
		status = hold_check(&r.cli, &r.need, &r.replicas);
	if (status == CLI_GO_ON)
		status = keep_check(&r.keep, &r.cli, r.ttl_ms);
	if (status != CLI_GO_ON)
		return status;
	name = cli_only_name(&r.cli, argc, argv);
	if (name == NULL)
		return EXIT_USAGE;
	holding_begin(&r.held, &r.cli, name, &r.need);
	if ((fcntl(STDOUT_FILENO, F_GETFL) & O_ACCMODE) == O_RDONLY) /* what main() opens in place of a closed one */
		return cli_fail(&r.cli, EXIT_INTERNAL, "standard output is closed: the token could not be printed");
	signal(SIGPIPE, SIG_IGN); /* a failed write then gives the lock back */
	caller_name(r.keep.pid != 0 ? r.keep.pid : caller_find(), r.caller);
	if (r.keep.wanted)
		status = keep_fork(&r.keep, &r.cli);
	return status == CLI_GO_ON ? acquire(&r) : status;
}

static const struct cli_option options[] = {
	HOLD_WAIT_OPTIONS(struct request, "wait neither for the lock nor for a server that is away", " for both"),
	HOLD_CONFLICT_OPTION(struct request),
	HOLD_TTL_OPTION(struct request, "100ms"),
	{.name = "fair", .take = cli_take_flag, .at = offsetof(struct request, fair),
	 .help = "strictly first come, first served, over all processes"},
	HOLD_LOG_OPTION,
	{.name = NULL},
};

static const struct cli_group groups[] = {
	{"Options", options, 0},
	{"Keeping it", keep_options, offsetof(struct request, keep)},
	{"What to hold", hold_need_options, offsetof(struct request, need)},
	{"Replicas", hold_replicas_options, offsetof(struct request, replicas)},
	{.options = NULL},
};

const struct command command_acquire = {
	.name = "acquire",
	.summary = "take a lock and print its token, for scripts",
	.usage = "NAME",
	.about = "Acquire the lock NAME, print its token, and end. The lock stays until leash release NAME TOKEN, or "
	         "until its lease ends, which leash renew NAME TOKEN prolongs. With --keep a process stays behind. It "
	         "renews the lock, and releases it when the calling shell ends. Where a command can be wrapped, leash run "
	         "is safer: it also ends what the command has started. Others see the caller as the holder: "
	         "PROGRAM[PID].\n",
	.groups = groups,
	.notes = "With --json: {\"name\",\"token\",\"fence\",\"lease_ms\"}.\n"
	         "Exit: 0 held; 75 somebody else has it; 64 usage; 69 no server.\n",
	.operands = A_NAME,
	.run = run,
};
