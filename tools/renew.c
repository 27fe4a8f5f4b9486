/* leash renew: prolong the lease of what leash acquire has taken.
 *
 * Takes the hold over by its token, which renews it, and ends without closing its client, which would release it. */
#include "tools/holding.h"

#include <stdlib.h>
#include <unistd.h>

static int
renew(struct holding *held, const char *token, int64_t ttl_ms, const struct hold_replicas *replicas)
{
	const struct cli *cli = held->cli;
	leash_client *client = NULL;
	int status = holding_take_over(held, token, ttl_ms, replicas, &client);

	if (status == CLI_GO_ON) {
		if (cli->json)
			cli_print(holding_json(held, "remaining_ms", held->kind->remaining_ms(held)));
		_exit(cli_finish(cli, EXIT_OK));
	}
	leash_close(client);
	holding_end(held);
	return status;
}

static int
run(const struct command *command, int argc, char **argv)
{
	static const struct option options[] = {{"ttl", required_argument, NULL, CLI_OWN}, HOLD_REPLICAS_LONG,
	                                        HOLD_NEED_LONG, CLI_LONG, CLI_LONG_END};
	struct cli cli;
	struct hold_replicas replicas = {0};
	struct hold_need need = {0};
	struct holding held;
	const char *name, *token;
	int64_t ttl_ms = HOLD_TTL_MS;
	int c, status = CLI_GO_ON;

	cli_begin(&cli, command);
	while (status == CLI_GO_ON && (c = getopt_long(argc, argv, ":" HOLD_NEED_SHORT CLI_SHORT, options, NULL)) != -1)
		status = c == CLI_OWN ? hold_ttl_option(&cli, optarg, &ttl_ms) : hold_option(&cli, c, argv, &need, &replicas);
	if (status == CLI_GO_ON)
		status = hold_check(&cli, &need, &replicas);
	if (status != CLI_GO_ON)
		return status;
	name = hold_name_and_token(&cli, argc, argv, &token);
	if (name == NULL)
		return EXIT_USAGE;
	holding_begin(&held, &cli, name, &need);
	return renew(&held, token, ttl_ms, &replicas);
}

const struct command command_renew = {
	"renew",
	"prolong what leash acquire has taken",
	"Usage: leash renew [OPTION...] NAME TOKEN\n"
	"Let the lease of the lock NAME last for at least --ttl from now; never shorter.\n"
	"TOKEN is what leash acquire printed. Renew in time: after half a lease, say.\n"
	"\n"
	"      --ttl DUR      lease, 100ms to 1d (default 30s)\n"
	"      --min-replicas N, --fsynced, --replicas-timeout DUR\n"
	"                     as leash acquire was told: the new lease is acknowledged\n"
	"  -s, --shared  -x, --exclusive  --slots N, --take K\n"
	"                     as leash acquire was told\n"
	"      --escaped      NAME is as leash list shows it: \\x20 is a space\n"
	"      --json         {\"name\",\"token\",\"fence\",\"remaining_ms\"}\n"
	"  -q, --quiet        -v, --verbose\n"
	"  -r, --redis URI    the server, else $LEASH_URI     --prefix TEXT  of its keys\n"
	"\n"
	"Exit: 0 renewed; 64 usage; 69 no server: held for what is left of its lease;\n"
	"79 not held by that token any more: stop at once, somebody else may have it.\n",
	run,
};
