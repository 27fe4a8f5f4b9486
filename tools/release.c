/* leash release: give back what leash acquire has taken.
 *
 * Takes the hold over by its token, so that it cannot be another's, and releases it. Who keeps it on this machine
 * (leash acquire --keep) is told before. */
#include "tools/caller.h"
#include "tools/holding.h"

enum { LEASE_MS = 1000 }; /* to adopt it with; a longer one is not cut */

static int
run(const struct command *command, int argc, char **argv)
{
	struct holding_request r = {.ttl_ms = LEASE_MS};
	struct holding held;
	leash_error err;
	int status = holding_take_over(&held, &r, command, argc, argv);

	if (status == CLI_GO_ON) {
		caller_let_go(held.token);
		status = holding_release(&held, &err) == LEASH_OK ? EXIT_OK : cli_fail_with(&r.cli, &err);
		if (status == EXIT_OK && r.cli.json)
			cli_print(cli_json_named(held.name, json_pack("{ss sb}", "token", held.token, "released", true)));
		status = cli_finish(&r.cli, status);
	}
	leash_close(held.client);
	holding_end(&held);
	return status;
}

static const struct cli_group groups[] = {
	{"The same as for leash acquire", hold_need_options, offsetof(struct holding_request, need)},
	{.options = NULL},
};

const struct command command_release = {
	.name = "release",
	.summary = "give back what leash acquire has taken",
	.usage = "NAME TOKEN",
	.about = "Release the lock NAME; the next waiter in its queue gets it. TOKEN is what leash acquire printed. A "
	         "hold that somebody else has got meanwhile is not changed.\n",
	.groups = groups,
	.notes = "With --json: {\"name\",\"token\",\"released\":true}.\n"
	         "Exit: 0 released; 64 usage; 69 no server: the lock ends with its lease; 79 not held by that token "
	         "any more: another owner may have had the lock.\n",
	.operands = A_NAME,
	.run = run,
};
