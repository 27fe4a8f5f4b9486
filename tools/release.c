/* leash release: give back what leash acquire has taken.
 *
 * Takes the hold over by its token, so that it cannot be another's, and releases it. */
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
		status = held->kind->release(held, &err) == LEASH_OK ? EXIT_OK : cli_fail_with(cli, &err);
		if (status == EXIT_OK && cli->json)
			cli_print(cli_json_named(held->name, json_pack("{ss sb}", "token", token, "released", true)));
	}
	leash_close(client);
	holding_end(held);
	return cli_finish(cli, status);
}

static int
run(const struct command *command, int argc, char **argv)
{
	static const struct option options[] = {HOLD_NEED_LONG, CLI_LONG, CLI_LONG_END};
	struct cli cli;
	struct hold_need need = {0};
	struct holding held;
	const char *name, *token;
	int c, status = CLI_GO_ON;

	cli_begin(&cli, command);
	while (status == CLI_GO_ON && (c = getopt_long(argc, argv, ":" HOLD_NEED_SHORT CLI_SHORT, options, NULL)) != -1)
		status = hold_option(&cli, c, argv, &need, NULL);
	if (status == CLI_GO_ON)
		status = hold_check(&cli, &need, NULL);
	if (status != CLI_GO_ON)
		return status;
	name = hold_name_and_token(&cli, argc, argv, &token);
	if (name == NULL)
		return EXIT_USAGE;
	holding_begin(&held, &cli, name, &need);
	return release(&held, token);
}

const struct command command_release = {
	"release",
	"give back what leash acquire has taken",
	"Usage: leash release [OPTION...] NAME TOKEN\n"
	"Give the lock NAME back; the next in its queue gets it. TOKEN is what leash\n"
	"acquire printed. What somebody else has got meanwhile is not touched.\n"
	"\n"
	"  -s, --shared  -x, --exclusive  --slots N, --take K\n"
	"                     as leash acquire was told\n"
	"      --escaped      NAME is as leash list shows it: \\x20 is a space\n"
	"      --json         {\"name\",\"token\",\"released\":true}\n"
	"  -q, --quiet        -v, --verbose\n"
	"  -r, --redis URI    the server, else $LEASH_URI     --prefix TEXT  of its keys\n"
	"\n"
	"Exit: 0 released; 64 usage; 69 no server: it ends with its lease;\n"
	"79 not held by that token any more: what it was to protect was not protected.\n",
	run,
};
