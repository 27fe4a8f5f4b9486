/* leash release: give back what leash acquire has taken.
 *
 * Takes the hold over by its token, so that it cannot be another's, and releases it. Who keeps it on this machine
 * (leash acquire --keep) is told before. */
#include "tools/caller.h"
#include "tools/holding.h"

enum { LEASE_MS = 1000 }; /* to adopt it with; a longer one is not cut */

static int
release(struct holding *held, const char *token)
{
	const struct cli *cli = held->cli;
	leash_client *client = NULL;
	leash_error err;
	int status = holding_take_over(held, token, LEASE_MS, NULL, &client);

	if (status == CLI_GO_ON) {
		caller_let_go(token);
		status = holding_release(held, &err) == LEASH_OK ? EXIT_OK : cli_fail_with(cli, &err);
		if (status == EXIT_OK && cli->json)
			cli_print(cli_json_named(held->name, json_pack("{ss sb}", "token", token, "released", true)));
	}
	leash_close(client);
	holding_end(held);
	return cli_finish(cli, status);
}

struct request {
	struct cli cli;
	struct hold_need need;
};

static int
run(const struct command *command, int argc, char **argv)
{
	struct request r = {.need = {0}};
	struct holding held;
	const char *name, *token;
	int status = cli_read(&r, command, argc, argv);

	if (status == CLI_GO_ON)
		status = hold_check(&r.cli, &r.need, NULL);
	if (status != CLI_GO_ON)
		return status;
	name = hold_name_and_token(&r.cli, argc, argv, &token);
	if (name == NULL)
		return EXIT_USAGE;
	holding_begin(&held, &r.cli, name, &r.need);
	return release(&held, token);
}

static const struct cli_group groups[] = {
	{"The same as for leash acquire", hold_need_options, offsetof(struct request, need)},
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
	         "any more: what it protected was not protected any more.\n",
	.operands = A_NAME,
	.run = run,
};
