#include "tools/open.h"

#include "tools/cli.h"
#include "tools/clock.h"
#include "tools/config.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static void
log_line(void *arg, leash_log_level level, const char *line)
{
	const struct cli *cli = arg;

	(void)level;
	cli_say(cli, CLI_DETAIL, "%s", line);
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

int
cli_check_server(const struct cli *cli)
{
	if (cli->uri != NULL)
		return CLI_GO_ON;
	return cli_usage(cli, "which server? Give --redis URI, set LEASH_URI (sudo and cron drop yours), or write "
	                      "uri = URI into /etc/leash.conf; the one on this machine is redis://127.0.0.1:6379");
}

/* Of a wait of `wait_ms` that began then. */
static int64_t
time_left(int64_t wait_ms, int64_t began_ns)
{
	int64_t spent_ms = (clock_boot_ns() - began_ns) / MS;

	return wait_ms == LEASH_FOREVER ? wait_ms : wait_ms > spent_ms ? wait_ms - spent_ms : 0;
}

enum { RETRY_LEAST_MS = 50, RETRY_MOST_MS = 1000 };

/* From half of `pause_ms` to all of it, at random, so that jobs which all started at 3:00 do not retry together. */
static void
sleep_about(int64_t pause_ms, int64_t at_most_ms)
{
	int64_t half = pause_ms / 2, ms = half + clock_boot_ns() / 1000 % (half + 1);

	clock_sleep_ms(at_most_ms != LEASH_FOREVER && ms > at_most_ms ? at_most_ms : ms);
}

static void
end(int signal)
{
	_exit(128 + signal);
}

/* Process 1 of a container gets no signal without a handler for it: without this nothing but KILL could end its
 * wait. */
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
cli_fail_to_open(const struct cli *cli, const leash_error *err)
{
	int status = config_blame(cli, err);

	return status == CLI_GO_ON ? cli_fail_with(cli, err) : status;
}

/* `*wait_ms`: as cli_open_patiently() has it. */
static int
keep_trying(const struct cli *cli, const leash_options *options, int64_t *wait_ms, leash_client **out)
{
	const leash_options usual = cli_client_options(cli, NULL);
	const int64_t began = clock_boot_ns(), limit_ms = *wait_ms;
	int64_t pause_ms = RETRY_LEAST_MS;
	leash_error err;

	if (cli->uri_from != NULL)
		cli_say(cli, CLI_DETAIL, "%s says which server", cli->uri_from);
	end_by_signals_as_others_do();
	for (bool told = false; leash_open(out, options != NULL ? options : &usual, &err) != LEASH_OK; told = true) {
		if (*wait_ms == 0 || !may_pass(&err))
			return cli_fail_to_open(cli, &err);
		if (!told)
			cli_say(cli, CLI_INFO, "%s; retrying", err.text);
		sleep_about(pause_ms, *wait_ms);
		pause_ms = 2 * pause_ms < RETRY_MOST_MS ? 2 * pause_ms : RETRY_MOST_MS;
		*wait_ms = time_left(limit_ms, began);
	}
	*wait_ms = time_left(limit_ms, began);
	return CLI_GO_ON;
}

int
cli_open_patiently(const struct cli *cli, const leash_options *options, int64_t *wait_ms, leash_client **out)
{
	return cli_check_server(cli) == CLI_GO_ON ? keep_trying(cli, options, wait_ms, out) : EXIT_USAGE;
}

int
cli_open(const struct cli *cli, leash_client **out)
{
	return cli_open_patiently(cli, NULL, &(int64_t){0}, out);
}

int
cli_open_to_look(const struct cli *cli, leash_client **out)
{
	if (cli->uri == NULL)
		cli_say(cli, CLI_INFO,
		        "neither --redis nor LEASH_URI nor a file names a server: asking redis://127.0.0.1:6379");
	return keep_trying(cli, NULL, &(int64_t){0}, out);
}
