/* leash watch: who leads, at each change. */
#include "tools/clock.h"
#include "tools/leading.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RETRY_MS = 1000, VALUE_MS = 1000 }; /* a leader without a value is about to say one */

/* ---- one command for each change ---- */

/* In the child: all that CMD is told. */
static void
set_environment(const struct leading *l)
{
	char fence[24];

	snprintf(fence, sizeof fence, "%llu", (unsigned long long)l->is.fence);
	setenv("LEASH_NAME", l->name, 1);
	setenv("LEASH_LEADS", l->is.leads ? "1" : "0", 1);
	setenv("LEASH_VALUE", l->is.value, 1);
	setenv("LEASH_FENCE", l->is.fence != 0 ? fence : "", 1);
}

/* CLI_GO_ON, or what to exit with: CMD was not started, or failed. It is told to end when this process is gone. */
static int
run_command(const struct leading *l)
{
	pid_t self = getpid(), pid;
	int status = 0;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		if (prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0) != 0 || getppid() != self)
			_exit(EXIT_NOT_RUNNABLE);
		set_environment(l);
		execl("/bin/sh", "sh", "-c", l->command, (char *)NULL);
		_exit(EXIT_NOT_RUNNABLE);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			pid = -1;
	if (pid < 0)
		return cli_fail(&l->cli, EXIT_INTERNAL, "cannot start a process: %s", strerror(errno));
	if (status == 0)
		return CLI_GO_ON;
	return WIFSIGNALED(status) ? EXIT_BY_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}

static int
tell(const struct leading *l)
{
	char shown[LEADING_SHOWN_SIZE];

	if (l->command != NULL)
		return run_command(l);
	if (l->cli.json)
		leading_print_json(l);
	else if (!l->is.leads)
		puts("nobody");
	else
		printf("leads%s%s\n", l->is.value[0] != '\0' ? " " : "", cli_show(shown, sizeof shown, l->is.value));
	return fflush(stdout) == 0 ? CLI_GO_ON : EXIT_OK; /* nobody reads it any more */
}

/* ---- watching ---- */

/* The next news; the server may be away for a while. */
static leash_status
next(struct leading *l, leash_error *err)
{
	bool told = false;
	leash_status status;

	for (;;) {
		status = leash_watch_next(l->watch, LEASH_FOREVER, &l->is, err);
		while (status == LEASH_OK && l->is.leads && l->is.value[0] == '\0')
			if (leash_watch_next(l->watch, VALUE_MS, &l->is, NULL) != LEASH_OK)
				return LEASH_OK; /* it says none */
		if (status != LEASH_UNAVAILABLE)
			return status;
		if (!told)
			cli_say(&l->cli, CLI_INFO, "%s; retrying", err->text);
		told = true;
		clock_sleep_ms(RETRY_MS);
	}
}

static int
watch(struct leading *l)
{
	int status = CLI_GO_ON;
	leash_error err;

	while (status == CLI_GO_ON)
		status = next(l, &err) == LEASH_OK ? tell(l) : cli_fail_with(&l->cli, &err);
	return status;
}

static int
run(const struct command *command, int argc, char **argv)
{
	return leading_run(command, argc, argv, true, watch);
}

static const struct cli_option options[] = {
	{.letter = 'x', .name = "exec", .value = "STRING", .take = cli_take_text, .at = offsetof(struct leading, command),
	 .help = "run this by the shell instead, one run after the other, with LEASH_NAME, LEASH_LEADS (1 or 0), "
	         "LEASH_VALUE and LEASH_FENCE. Of changes that come meanwhile only the last is reported"},
	{.name = NULL},
};

const struct command command_watch = {
	.name = "watch",
	.summary = "say who leads, at each change",
	.usage = "NAME",
	.about = "Print a line that says who leads now, and one for each change: \"leads VALUE\", or \"nobody\". The "
	         "holder of the lock NAME leads, by leash elect or by a program. While the server is away, leash watch "
	         "retries. It goes on until a signal ends it, or until STRING fails.\n",
	.groups = CLI_OPTIONS(options),
	.notes = "With --json: an object for each change.\n"
	         "Exit: 64 usage; 69 no server; that of STRING.\n",
	.operands = A_NAME,
	.run = run,
};
