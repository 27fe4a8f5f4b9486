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
			cli_print(holding_json(held, "remaining_ms", holding_remaining_ms(held)));
		_exit(cli_finish(cli, EXIT_OK));
	}
	leash_close(client);
	holding_end(held);
	return status;
}

struct request {
	struct cli cli;
	struct hold_need need;
	struct hold_replicas replicas;
	int64_t ttl_ms;
};

static int
run(const struct command *command, int argc, char **argv)
{
	struct request r = {.ttl_ms = HOLD_TTL_MS};
	struct holding held;
	const char *name, *token;
	int status = cli_read(&r, command, argc, argv);

	if (status == CLI_GO_ON)
		status = hold_check(&r.cli, &r.need, &r.replicas);
	if (status != CLI_GO_ON)
		return status;
	name = hold_name_and_token(&r.cli, argc, argv, &token);
	if (name == NULL)
		return EXIT_USAGE;
	holding_begin(&held, &r.cli, name, &r.need);
	return renew(&held, token, r.ttl_ms, &r.replicas);
}

static const struct cli_option options[] = {HOLD_TTL_OPTION(struct request, "100ms"), {.name = NULL}};

static const struct cli_group groups[] = {
	{"Options", options, 0},
	{"The same as for leash acquire", hold_need_options, offsetof(struct request, need)},
	{"Replicas have the new lease", hold_replicas_options, offsetof(struct request, replicas)},
	{.options = NULL},
};

const struct command command_renew = {
	.name = "renew",
	.summary = "prolong what leash acquire has taken",
	.usage = "NAME TOKEN",
	.about = "Make sure that the lease of the lock NAME lasts for at least --ttl from now; it is never shortened. "
	         "TOKEN is what leash acquire printed. Renew in time, for example after half a lease.\n",
	.groups = groups,
	.notes = "With --json: {\"name\",\"token\",\"fence\",\"remaining_ms\"}.\n"
	         "Exit: 0 renewed; 64 usage; 69 no server: held for what is left of its lease; 79 not held by that "
	         "token any more: stop at once, somebody else may have it.\n",
	.operands = A_NAME,
	.run = run,
};
